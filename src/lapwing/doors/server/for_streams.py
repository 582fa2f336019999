"""Streams of "at least N people?" over the wire: preview, open, ask, ask many, close."""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from lapwing.answers.budget import budget_record
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.stream_answers import StreamAnswers
from lapwing.answers.stream_preview import terms_record
from lapwing.answers.stream_terms import StreamTerms
from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.jobs import Job, JobState, state_after
from lapwing.doors.server.memory import conflict
from lapwing.doors.server.problems import ProblemError, body_of, status_of
from lapwing.doors.server.wire import StreamBatch, StreamQuestion
from lapwing.ledger.reservation_states import STREAM, ReservationRecord, ReservationStatus
from lapwing.streams import QuestionStream, name_of_key
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.wording import format_exact

_BODIES: Final = {"ask_stream": StreamQuestion, "ask_stream_many": StreamBatch}
_CLOSING: Final = "close_stream"


async def preview_stream(call: ServerCall) -> Reply:
    """Say what a stream would cost, and how sure its verdicts would be."""
    return await foretell(call, _preview)


def _preview(call: ServerCall) -> bytes:
    told = call.session().preview_stream(**call.body.terms())
    stopped = None if (one := told.before.suspension) is None else one.to_dict()
    return msgspec.json.encode({**told.to_dict(), "terms": told.terms.to_text(), "stopped": stopped})


def list_streams(call: ServerCall) -> Any:
    """List the streams of whoever calls."""
    state = call.server.state
    known = call.ledger.reservations.all(call.population, analyst=call.person.id)
    account = state.ledger.account(call.population)
    titles = _titles(call)
    return [_record(one, account, titles) for one in known if not _is_of_explorer(one)]


def show_stream(call: ServerCall) -> Any:
    """Show how a stream stands, and what it has cost."""
    return _record(_own(call), call.server.state.ledger.account(call.population), _titles(call))


async def open_stream(call: ServerCall) -> Reply:
    """Open a stream; its name follows from the key."""

    def work(job: Job) -> Any:
        call.remember()
        stream = job.session.stream(key=call.key, **call.body.terms())
        call.audit["stream"] = stream.name
        return _record(stream.record, job.session.ledger.account(call.population), _titles(call))

    return await call.run(work)


async def ask_stream(call: ServerCall) -> Reply:
    """Ask a stream one question: a no is free, a yes is paid."""

    def work(job: Job) -> Any:
        stream, words = _resumed(call, job), _words(call)
        where = words.pop("where").strip() or None
        call.require_meaning(lambda: [stream.meaning([where], **words)])
        if (told := call.told_before()) is not None:
            return told
        known = _known(call, stream, [where], words)
        answer = next((one for one in known or () if one is not None), None)
        if answer is None:
            answer = stream.ask(where, key=call.key, **words)
        call.audit.update(price=format_exact(answer.price), free=answer.free)
        return _ended(call, {"key": call.key, **answer.to_dict()}, is_free=known is not None)

    return await call.run(work, stream=call.path["stream"])


async def ask_stream_many(call: ServerCall) -> Reply:
    """Ask a stream many questions as one; after its last yes the rest have no answer."""

    def work(job: Job) -> Any:
        stream, words = _resumed(call, job), _words(call)
        wheres = [where.strip() or None for where in words.pop("wheres")]
        call.require_meaning(lambda: [stream.meaning(wheres, **words)])
        if (told := call.told_before()) is not None:
            return told
        answers = _known(call, stream, wheres, words)
        is_free = answers is not None
        if answers is None:
            answers = stream.ask_many(wheres, key=call.key, progress=job.advance, **words)
            is_free = all(one is None or one.free for one in answers)
        call.audit.update(price=format_exact(answers.price))
        return _ended(call, {"key": call.key, **answers.to_dict()}, is_free=is_free)

    return await call.run(work, stream=call.path["stream"])


async def close_stream(call: ServerCall) -> Reply:
    """Close a stream; what no yes has used comes back."""

    def work(job: Job) -> Any:
        stream = _resumed(call, job)
        stream.close()
        told = _record(stream.record, job.session.ledger.account(call.population), _titles(call))
        return _ended(call, told, is_free=True)  # the ledger has no key of it

    return await call.run(work, stream=call.path["stream"])


def _known(
    call: ServerCall, stream: QuestionStream, wheres: list[str | None], words: dict[str, Any]
) -> StreamAnswers | None:
    """Return what a stream has answered before, if that is all that is asked, under a key that is new to the ledger.

    So what is free as a whole leaves nothing in the ledger.
    """
    if call.server.state.ledger.request(call.population, call.person.id, call.key) is not None:
        return None
    return stream.stored(wheres, **words)


def _ended(call: ServerCall, told: dict[str, Any], *, is_free: bool) -> bytes | dict[str, Any]:
    """Keep what was free, and stands under no key of the ledger; all else is found there."""
    if not is_free:
        return told
    call.server.memory.free(*call.job_name, entry=call.reserved_entry(call.path["stream"]))
    return call.end(told)


def what_became(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    """Say what became of a request to a stream that nobody works on, and that may have died with its process.

    What a dead process left in flight is decided, with the noise that it has. Nothing new is asked, so nothing is
    charged that was not: what the ledger does not have under the key was never asked. None where it has nothing.
    """
    ledger = call.ledger
    entry = ledger.request(call.population, call.person.id, key)
    if entry is None or known["kind"] == _CLOSING:  # which the ledger has no key of
        return None
    began = entry if "stream" in entry else next(iter(ledger.became([entry])), {})  # or what it recalls
    if "stream" not in began or (known["kind"] == "open_stream") != (entry["kind"] == "opening"):
        return JobState.REFUSED, conflict().body()
    if known["kind"] == "open_stream":
        opened = ledger.reservations.find(name_of_key(call.population, call.person.id, key))
        return JobState.ANSWERED, _record(opened, ledger.account(call.population), _titles(call))
    try:
        stream = call.session(msgspec.convert(known["body"], _BODIES[known["kind"]])).resume(began["stream"])
        if not ledger.became([entry]):  # somebody is deciding it, for another key
            return JobState.RUNNING, None
        return _told_again(call, key, stream, known["body"])
    except LapwingError as failure:
        return state_after(status_of(failure)), body_of(failure)


def _told_again(call: ServerCall, key: str, stream: QuestionStream, body: dict[str, Any]) -> tuple[JobState, Any]:
    """Return the state and the answers of a request to a stream under a key, as far as it was asked."""
    words = {name: value for name, value in body.items() if name == "at_least"}
    if "wheres" not in body:
        return JobState.ANSWERED, {
            "key": key,
            **stream.ask(body.get("where", "").strip() or None, key=key, **words).to_dict(),
        }
    asked, ledger = [where.strip() or None for where in body["wheres"]], call.server.state.ledger
    parts = stream.keys_of(asked, key=key, **words)
    put = sum(ledger.request(call.population, call.person.id, part) is not None for part in parts)
    if put < len(parts) and stream.record.status is ReservationStatus.OPEN:  # what it lacks would be asked now
        stopped = f"it was stopped after {put} of {len(parts)} parts; ask again under this key to go on"
        problem = ProblemError(409, "cancelled", f"{stopped}, and what was answered is not asked again")
        return JobState.CANCELLED, problem.body()
    return JobState.ANSWERED, {"key": key, **stream.ask_many(asked, key=key, **words).to_dict()}


def _words(call: ServerCall) -> dict[str, Any]:
    """Return the arguments of a question of a stream, without the meaning that the client expects."""
    return {
        name: value for name, value in call.body.words().items() if name not in {"means", "concept_sets", "segment"}
    }


def _resumed(call: ServerCall, job: Job) -> QuestionStream:
    """Resume a stream of the caller, and remember the request.

    From here on data may be touched: a question that a dead process left in flight is decided first.
    """
    kept, name = call.server.state.streams, (call.population, call.person.id, call.path["stream"])
    own = any(getattr(call.body, one, UNSET) is not UNSET for one in ("concept_sets", "segment"))  # of this request
    known = None if own else kept.get(name)
    if known is None:
        _own(call)
    call.remember()
    job.after_data = True
    if known is None:
        known = job.session, job.session.resume(name[2])
        if not own:
            kept.put(name, known)
    job.session, stream = known  # stopping the job stops the session that works on it
    return stream


def _own(call: ServerCall) -> ReservationRecord:
    """Return a stream of the caller; one of somebody else is not there."""
    try:
        record = call.ledger.reservations.find(call.path["stream"])
    except LapwingError:
        raise ProblemError.not_there() from None
    if (record.analyst, record.population, record.kind) != (call.person.id, call.population, STREAM):
        raise ProblemError.not_there()
    if _is_of_explorer(record):
        raise ProblemError.not_there()
    return record


def _is_of_explorer(record: ReservationRecord) -> bool:
    """Say whether a stream checks the guesses of an explorer, which has its own operations."""
    return isinstance(StreamTerms.read(record.terms), CorridorTerms)


def _titles(call: ServerCall) -> dict[str, str]:
    return call.server.memory.titles(call.population, call.person.id)


def _record(one: ReservationRecord, account: Any, titles: dict[str, str]) -> dict[str, Any]:
    terms = StreamTerms.read(one.terms)
    return {
        "stream": one.name,
        "title": titles.get(one.name),
        "status": one.status.value,
        **terms_record(terms, account),
        "asked": one.asked,
        "given": one.used,
        "yeses_left": one.units_left,
        "spent": format_exact(terms.spent(one.used, account)),
        "terms": one.terms,
        "budget": budget_record(account.budget),
    }
