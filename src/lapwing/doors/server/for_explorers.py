"""Explorers over the wire: preview, open, guess, count, close.

An explorer is opened by a job, under its key: the model is made first, then its checks are set apart. What it counts is
free as long as the model is right, and uses one of the answers that were paid at the opening where it is not. Which of
the two it is only the data knows: so `counts` may use one, and `guesses` never do.
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.releases import Price
from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.for_publishing import columns_of
from lapwing.doors.server.jobs import Job, JobState, at_a_tick, state_after
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.server_state import KeptExplorer
from lapwing.doors.server.wire import ExplorerBody, ExplorerQuestions
from lapwing.ledger.reservation_states import ReservationStatus
from lapwing.publishing.explorer import Explorer, ExplorerCount
from lapwing.publishing.explorer_meaning import explorer_meaning, preview_model
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.guarantee import currency_of

OPEN: Final = "open_explorer"
"""What an explorer is remembered as."""


async def preview_explorer(call: ServerCall) -> Reply:
    """Say how an explorer would divide its price, and how exact its free and its paid answers would be. It is free."""
    return await foretell(call, _preview)


def _preview(call: ServerCall) -> bytes:
    session, words = call.session(), _words(call.body)
    confidence = {} if call.body.confidence is UNSET else {"confidence": call.body.confidence}
    told = session.preview_explorer(**words, **confidence)
    model = preview_model(session, words["table"], words["columns"], told)
    meaning = explorer_meaning(model, told)
    call.require_meaning(lambda: [meaning])
    stopped = told.before.suspension
    record = {
        "means": meaning,
        "columns": model.to_dict()["columns"],
        "model_price": model.price.to_dict(),
        "checks": str(told.terms.epsilon),
        "checks_price": _checks_price(session, told.terms),
        "stopped": None if stopped is None else stopped.to_dict(),
    }
    return msgspec.json.encode({**told.to_dict(), **record})


async def open_explorer(call: ServerCall) -> Reply:
    """Make the model of an explorer and set its checks apart, and pay for both, once under the key."""

    def work(job: Job) -> Any:
        words = _words(call.body)
        told = job.session.preview_explorer(**words)
        meaning = explorer_meaning(preview_model(job.session, words["table"], words["columns"], told), told)
        call.require_meaning(lambda: [meaning])
        call.remember()
        if (before := call.told_before()) is not None:
            return before
        job.after_data = True
        opened = job.session.explorer(**words, key=call.key)
        call.audit["explorer"] = opened.name
        _keep(call, call.key, opened, job.session)
        columns = {one.name: list(one.called) for one in opened.people.columns}
        price = _checks_price(job.session, opened.terms)
        told_of = {"key": call.key, **opened.to_dict(), "codes": columns, "means": meaning, "checks_price": price}
        return call.end(told_of)

    return await call.run(work)


def list_explorers(call: ServerCall) -> Any:
    """List the explorers of whoever calls, the newest first, with what is left of each."""
    found = call.server.memory.of_kind(call.population, call.person.id, OPEN)
    told = ((one, call.server.memory.ending(call.population, call.person.id, one["key"])) for one in found)
    return [
        {**_standing(call, msgspec.json.decode(ended[1])), "at": one["at"]}
        for one, ended in told
        if ended is not None and state_after(ended[0]) is JobState.ANSWERED
    ]


def show_explorer(call: ServerCall) -> Any:
    """Show how an explorer stands: how far off its answers are at most, and how many paid ones are left."""
    return _standing(call, _opened(call))


async def guess(call: ServerCall) -> Reply:
    """Say what the model of an explorer says about cohorts, without a check; what was checked before has an interval.

    It is free, and asks nothing of the data.
    """
    told, was_read = await call.in_thread(_guess)
    if was_read:  # what a dead process left in flight was decided first, from data
        await at_a_tick(call.begun, call.server.tick)
    return Reply(body=msgspec.json.encode(told))


def _guess(call: ServerCall) -> tuple[dict[str, Any], bool]:
    known, was_read = _explorer(call)
    wheres = [where.strip() or None for where in call.body.wheres]
    told = known.explorer.count_many(wheres, pay=False, **_beside(call.body))
    return {"answers": [_answer(one) for one in told], **_left(known.explorer)}, was_read


async def count(call: ServerCall) -> Reply:
    """Count cohorts: free where the model is near enough, and for one of the answers that were paid where it is not."""

    def work(job: Job) -> Any:
        _opened(call)
        call.remember()
        if (told := call.told_before()) is not None:
            return told
        job.after_data = True
        known, _ = _explorer(call)
        job.session, found = known.session, known.explorer  # stopping the job stops the session that works on it
        wheres = [where.strip() or None for where in call.body.wheres]
        beside = _beside(call.body)
        answers: list[ExplorerCount | None]
        if call.body.buy:
            check_most("answers to buy", len(wheres), found.paid_answers_left, "buy fewer")
            answers = [found.buy(where, confidence=beside.get("confidence", "0.95")) for where in wheres]
        else:
            answers = found.count_many(wheres, **beside)
        if call.body.concept_sets is UNSET:
            _keep(call, call.path["key"], found, known.session)
        paid = sum(one is not None and not one.free for one in answers)
        call.audit.update(questions=len(answers), paid=paid)
        if not paid:  # what is free must not make what is kept grow without end
            call.server.memory.free(*call.job_name, entry=call.reserved_entry(found.name))
        return call.end({"key": call.key, "answers": [_answer(one) for one in answers], **_left(found)})

    return await call.run(work, stream=f"explorer {call.path['key']}")


async def close_explorer(call: ServerCall) -> Reply:
    """Close an explorer. Where epsilons are added up, what no answer has used goes back; elsewhere nothing does."""

    def work(job: Job) -> Any:
        opened = _opened(call)
        call.remember()
        job.after_data = True
        job.session.resume(opened["explorer"]).close()  # also where the data has another version by now
        return call.end({"key": call.key, **_standing(call, opened)})

    return await call.run(work, stream=f"explorer {call.path['key']}")


def explorer_under(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    """Say what became of a request to an explorer, or for one: what is kept of it, or that it was stopped."""
    ended = call.server.memory.ending(call.population, call.person.id, key)
    if ended is not None:
        return state_after(ended[0]), msgspec.Raw(ended[1])
    if call.is_worked_on(key):
        return JobState.RUNNING, None
    if (
        known["kind"] == OPEN
        and call.server.state.ledger.request(call.population, call.person.id, f"{key} model") is None
    ):
        return None
    stopped = "it was stopped; ask again under this key: it goes on, and what was paid is not paid again"
    return JobState.CANCELLED, ProblemError(409, "cancelled", stopped).body()


def _explorer(call: ServerCall) -> tuple[KeptExplorer, bool]:
    """Return an explorer of the caller as the ledger has it, and whether it was made again.

    One that learned elsewhere meanwhile learns it here.
    """
    own = call.body.concept_sets is not UNSET  # which are of this request alone
    known = None if own else call.server.state.explorers.get((call.population, call.person.id, call.path["key"]))
    _opened(call)
    if known is not None and known.left == known.explorer.paid_answers_left:
        return known, False
    body = _with_sets(call, _asked_for(call))
    session = call.session(body)
    found = session.explorer(**_words(body), key=call.path["key"])
    if own:
        return KeptExplorer(found, found.paid_answers_left, session), True
    return _keep(call, call.path["key"], found, session), True


def _keep(call: ServerCall, key: str, found: Explorer, session: Session) -> KeptExplorer:
    """Keep an explorer with how many paid answers it has left: where that is another number, it has more to learn."""
    kept = KeptExplorer(found, found.paid_answers_left, session)
    call.server.state.explorers.put((call.population, call.person.id, key), kept)
    return kept


def _with_sets(call: ServerCall, body: ExplorerBody) -> ExplorerBody:
    """Return the body that opened an explorer, with the concept sets that came with this request as well."""
    both = [one for one in (body.concept_sets, call.body.concept_sets) if one is not UNSET]
    merged: dict[str, Any] = {}
    for one in both:
        merged |= one
    return msgspec.structs.replace(body, concept_sets=merged) if merged else body


def _asked_for(call: ServerCall) -> ExplorerBody:
    """Return the body that opened the explorer in the path; one of somebody else, or not opened, is not there."""
    _opened(call)
    known = call.server.memory.recall(call.population, call.person.id, call.path["key"])
    if known is None:  # pragma: no cover - it was there just now
        raise ProblemError.not_there()
    return msgspec.convert(known["body"], ExplorerBody)


def _opened(call: ServerCall) -> dict[str, Any]:
    """Return what was told when the explorer in the path was opened."""
    memory, name = call.server.memory, (call.population, call.person.id, call.path["key"])
    known, ended = memory.recall(*name), memory.ending(*name)
    if known is None or known["kind"] != OPEN or ended is None or state_after(ended[0]) is not JobState.ANSWERED:
        raise ProblemError.not_there()
    told: dict[str, Any] = msgspec.json.decode(ended[1])
    return told


def _standing(call: ServerCall, told: dict[str, Any]) -> dict[str, Any]:
    """Return what was told of an explorer, with what the ledger says of it now."""
    try:
        record = call.ledger.reservations.find(told["explorer"])
    except LapwingError:
        raise ProblemError.not_there() from None
    is_open = record.status is ReservationStatus.OPEN
    left = record.units - record.used if is_open else 0
    return {**told, "status": record.status.value, "asked": record.asked, "paid_answers_left": left}


def _checks_price(session: Session, terms: CorridorTerms) -> dict[str, Any]:
    """Return what the checks cost in all: they are pure, and every kind of budget has a price for that."""
    return Price.of(PureRelease(epsilon=terms.epsilon), currency_of(session.budget().account.budget)).to_dict()


def _left(found: Explorer) -> dict[str, Any]:
    return {"paid_answers_left": found.paid_answers_left, "paid_answers": found.terms.yeses}


def _answer(one: ExplorerCount | None) -> dict[str, Any] | None:
    return None if one is None else one.to_dict()


def _beside(body: ExplorerQuestions) -> dict[str, Any]:
    return {name: value for name, value in body.words().items() if name in {"guesses", "confidence"}}


def _words(body: ExplorerBody) -> dict[str, Any]:
    """Return the words of a session's `explorer`."""
    names = {"epsilon", "delta", "rho", "checks", "yeses", "questions", "half_width"}
    given = {name: value for name, value in body.words().items() if name in names}
    return {"table": body.table, "columns": None if body.columns is UNSET else columns_of(body.columns), **given}
