"""What analysts do: look at prices, rehearse, ask, and find again what they asked."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from lapwing.answers.answer import Answer
from lapwing.answers.budget import read_budget, request_record
from lapwing.answers.history import HistoryPage, read_back
from lapwing.answers.preview import QuestionLike
from lapwing.doors.server.calls import API, Reply, ServerCall
from lapwing.doors.server.jobs import Job, JobName, at_a_tick, ending_of
from lapwing.doors.server.memory import FREE, LEDGER
from lapwing.doors.server.problems import ProblemError, body_of, status_of
from lapwing.doors.server.questions_wire import asking_many_type, asking_type, read_question
from lapwing.ledger.entries import Receipt
from lapwing.session import PricedAsking, Session
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.deadline import deadline, seconds_for
from lapwing.vocabulary.errors import BadQuestionError, LedgerRolledBackError, UnansweredError
from lapwing.vocabulary.wording import format_exact

QUESTION, QUESTIONS = "ask", "ask_many"
"""What a question, and several together, are remembered as; what a stream is asked has the names of its operations."""

_LONGEST_KEY: Final = 128
_ACTS_AT_ONCE, _MOST_CHARACTERS = 25, 4_000_000


def show_budget(call: ServerCall) -> Any:
    """Say what is left, for everybody and for whoever calls."""
    status = call.session().budget()
    own = None if status.allowance is None else type(status)(account=status.allowance)
    return {
        "left": {**status.to_dict(), "text": str(status)},
        "allowance": None if own is None else {**own.to_dict(), "text": str(own)},
        "suspended": None if status.suspension is None else str(status.suspension),
        "account": to_record(status.account),
        "own_account": None if status.allowance is None else to_record(status.allowance),
        "refusal": None if status.suspension is None else status.suspension.to_dict(),
    }


async def preview(call: ServerCall) -> Reply:
    """Say what a question would cost and how far off it would be. It is free, and reads no data."""
    return await foretell(call, _preview)


async def foretell(call: ServerCall, told: Callable[[ServerCall], bytes]) -> Reply:
    """Say what would be; as long as nothing was charged since it was last said, it is known."""
    state = call.server.state
    name = (call.last_entry, call.person.id, call.population, call.operation.name.encode() + call.fingerprint)
    if (known := state.previews.get(name)) is not None:
        return Reply(body=known)
    said = await call.in_thread(told)
    state.previews.put(name, said)  # if the ledger grew meanwhile, this number is not looked up again
    return Reply(body=said)


def _preview(call: ServerCall) -> bytes:
    question, words = _asked(call)
    priced = call.session().price([question], **words)
    call.require_meaning(priced.meanings)
    told = priced.preview()
    stopped = told.before.suspension
    record = {
        "question": told.asked.text,
        "stored": priced.stored() is not None,
        "stopped": None if stopped is None else stopped.to_dict(),
    }
    plans = call.body.means is not msgspec.UNSET  # who plans by themselves find out what the account would say
    return msgspec.json.encode({**(told.offer() if plans else told.to_dict()), **record})


def _asked(call: ServerCall) -> tuple[QuestionLike, dict[str, Any]]:
    """Return the question of a call; the same object for the same bytes, so that it is planned once."""
    known = call.server.state.asked.get(call.fingerprint)
    if known is None:
        with deadline():
            question, words = read_question(call.body.question)
        known = question, {**call.body.price.words(), **words}
        call.server.state.asked.put(call.fingerprint, known, size=len(call.raw))
    return known


def rehearse(call: ServerCall) -> Any:
    """Answer from made-up rows. It is free, and about nobody."""
    question, words = _asked(call)
    answer = call.session().rehearse(question, **words)
    return _record(answer, None, words)


async def show_stored(call: ServerCall) -> Reply:
    """Return the answer that asking would give for nothing, or null; nothing is charged, written or read from data.

    An `Idempotency-Key` may be there: then it is the answer that it stands for.
    """
    told = await call.in_thread(_stored)
    await at_a_tick(call.begun, call.server.tick)  # an answer may be in the ledger before its own reply
    return Reply(body=msgspec.json.encode(told))


def _stored(call: ServerCall) -> dict[str, Any] | None:
    question, words = _asked(call)
    priced = call.session().price([question], **words)
    call.require_meaning(priced.meanings)
    entry, key = None, call.headers.get("idempotency-key", "")[:_LONGEST_KEY] or None
    if key is not None:
        job = call.server.jobs.find(JobName(call.population, call.person.id, key))
        if job is not None and ending_of(job) is None:
            return None
        if call.server.memory.recall(call.population, call.person.id, key) is not None:
            entry = call.server.memory.entry(call.population, call.person.id, key)
    answer = priced.stored(key, entry=entry)
    return None if answer is None else _record(answer, key, words)


def show_planned_total(call: ServerCall) -> Any:
    """Say what all releases so far would cost together, had everything been fixed in advance. It gates nothing."""
    delta = {name: value for name, value in call.body.words().items() if name == "delta"}
    total = call.session().planned_total(**delta)
    epsilon = None if total.epsilon is None else repr(total.epsilon)  # as text: it may be infinite
    return {"epsilon": epsilon, "delta": format_exact(total.delta), "streams": total.streams, "says": str(total)}


async def ask(call: ServerCall) -> Reply:
    """Ask a question, and pay for it, once under its key."""
    answers, name = call.server.answers, (call.job_name, call.fingerprint)
    if (known := answers.get(name)) is not None:  # an answer under its key never changes, and is not charged again
        call.audit["always"] = False
        return Reply(body=known)

    reply = await call.run(lambda job: _ask(call, job))
    if reply.status == 200:  # noqa: PLR2004 - answered, and not before its tick
        answers.put(name, reply.body)
    return reply


def _ask(call: ServerCall, job: Job) -> dict[str, Any]:
    question, words = _asked(call)
    priced = job.session.price([question], **words)
    call.require_meaning(priced.meanings)
    answer = priced.stored(call.key)
    found = LEDGER if answer is None or answer.receipt is None else answer.receipt.seq
    stands = call.remember(found)
    if stands != found:  # the key was here before
        answer = priced.stored(call.key, entry=stands)
    if answer is None:
        job.after_data = True
        answer = priced.ask(call.key)
    call.audit.update(price=str(answer.price), free=answer.free)
    return _record(answer, call.key, words)


async def preview_many(call: ServerCall) -> Reply:
    """Say what questions would cost together: the price of each that would be charged. It is free."""
    return await foretell(call, _preview_many)


def _preview_many(call: ServerCall) -> bytes:
    priced, _ = _priced_together(call.session(), call.body)
    call.require_meaning(priced.meanings)
    return msgspec.json.encode({"prices": [one.price.to_dict() for one in priced.to_be_paid()]})


async def ask_many(call: ServerCall) -> Reply:
    """Ask questions together, all or none, once under their key."""
    return await call.run(lambda job: _ask_many(call, job))


def _priced_together(session: Session, body: Any) -> tuple[PricedAsking, list[dict[str, Any]]]:
    """Price the questions that a body asks together, at one price or each at its own; return the words of each, too."""
    with deadline(seconds_for(len(body.questions))):
        several = [read_question(one) for one in body.questions]
    if (body.price is msgspec.UNSET) == (body.prices is msgspec.UNSET):
        raise BadQuestionError("what is asked together has one price for each, or prices, as many as questions")
    if body.prices is not msgspec.UNSET:
        if len(body.prices) != len(several):
            raise BadQuestionError(f"there are {len(several):,} questions and {len(body.prices):,} prices; say as many")
        offers: list[tuple[QuestionLike, Any]] = [
            (one, {**price.words(), **words}) for (one, words), price in zip(several, body.prices, strict=True)
        ]
        return session.price_each(offers), [words for _, words in offers]
    beside = several[0][1]
    if any(words != beside for _, words in several):
        raise BadQuestionError("what is asked together has one max_rows and one max_groups; ask for others by itself")
    words = {**body.price.words(), **beside}
    return session.price([question for question, _ in several], **words), [words] * len(several)


def _ask_many(call: ServerCall, job: Job) -> bytes:
    priced, words = _priced_together(job.session, call.body)
    call.require_meaning(priced.meanings)
    answers = priced.stored_together(call.key)
    call.remember(LEDGER if answers is None else FREE)  # what is free as a whole must not make the ledger grow
    if (told := call.told_before()) is not None:  # what was free among them stands under no key of the ledger
        return told
    if answers is None:
        job.after_data = True
        answers = priced.ask_together(call.key)
    call.audit.update(questions=len(answers), price=str(answers[0].price))
    return call.end(_records(answers, call.key, words))


def _record(answer: Answer, key: str | None, words: dict[str, Any]) -> dict[str, Any]:
    confidence = {"confidence": words["confidence"]} if "confidence" in words else {}
    return {
        "key": key,
        "question": answer.asked.text,
        "released": to_record(tuple(tuple(numbers) for numbers in answer.numbers.values())),
        "answer": answer.to_dict(**confidence),
    }


def _records(answers: list[Answer], key: str, words: list[dict[str, Any]]) -> dict[str, Any]:
    return {"key": key, "answers": [_record(one, None, beside) for one, beside in zip(answers, words, strict=True)]}


def list_answers(call: ServerCall) -> Any:
    """List what whoever calls has asked, the newest first, as it was put."""
    found = call.server.memory.listed(
        call.population, call.person.id, before=call.query.get("before"), limit=call.query.get("limit", 50)
    )
    return [{**one, "job": f"{API}/populations/{call.population}/jobs/{one['key']}"} for one in found]


def show_answer(call: ServerCall) -> Reply:
    """Return an answer again, as it was given; it never charges, and needs no database."""
    key = call.path["key"]
    job = call.server.jobs.find(JobName(call.population, call.person.id, key))
    known = call.server.memory.recall(call.population, call.person.id, key)
    if (job is not None and ending_of(job) is None) or (known is not None and known["kind"] != QUESTION):
        raise ProblemError.not_there()  # it may stand in the ledger before its tick
    try:
        told = _asked_elsewhere(call, key) if known is None else answered_again(call, key, known)
    except UnansweredError as unanswered:
        return Reply(body=msgspec.json.encode(body_of(unanswered)), status=status_of(unanswered))
    if told is None:
        raise ProblemError.not_there()
    return Reply(body=msgspec.json.encode(told))


def _asked_elsewhere(call: ServerCall, key: str) -> dict[str, Any] | None:
    """Return the question under a key of Python or the command line, from the entries of the ledger alone."""
    ledger = call.server.state.ledger
    charge = ledger.request(call.population, call.person.id, key)
    end = next(iter(ledger.became([charge])), None) if charge is not None and charge["kind"] == "charge" else None
    if charge is None or end is None:
        return None
    if end["kind"] == "lost":
        raise UnansweredError(key, seq=charge["seq"], lost=True)
    budget = ledger.account(call.population).budget
    answer = read_back(charge, end, ledger.of(call.population).receipt(end["seq"]), budget)
    return None if answer is None else _record(answer, key, {})


def answered_again(call: ServerCall, key: str, known: dict[str, Any]) -> dict[str, Any] | None:
    """Return what was answered under a key that is known here, if it was."""
    asked: Any = msgspec.convert(known["body"], asking_type())
    question, beside = read_question(asked.question)
    words = {**asked.price.words(), **beside}
    entry = call.server.memory.entry(call.population, call.person.id, key)
    answer = call.session(asked).stored(question, key=key, entry=entry, **words)
    return None if answer is None else _record(answer, key, words)


def answered_together_again(call: ServerCall, key: str, known: dict[str, Any]) -> dict[str, Any] | None:
    """Return what was answered under a key to several questions together, if it was."""
    asked: Any = msgspec.convert(known["body"], asking_many_type())
    priced, words = _priced_together(call.session(asked), asked)
    answers = priced.stored_together(key, entry=LEDGER)
    return None if answers is None else _records(answers, key, words)


def show_history(call: ServerCall) -> Any:
    """Tell what whoever calls has done, also in Python and at the command line, in sentences; less, if it is long."""
    before, limit = call.query.get("before"), call.query.get("limit", 50)
    ledger, told, length = call.server.state.ledger, list[dict[str, Any]](), 0
    while len(told) < limit and length <= _MOST_CHARACTERS:  # a question may have millions
        some = min(limit - len(told), _ACTS_AT_ONCE)
        page = HistoryPage.read(ledger, call.population, call.person.id, before=before, limit=some)
        told += [act.to_dict() for act in page.acts]
        length += sum(len(one.get("question", "")) for one in page.entries.values())
        if len(page.acts) < some:
            break
        before = page.acts[-1].entry
    return told


def check_receipt(call: ServerCall) -> Any:
    """Say whether the ledger agrees with a receipt."""
    receipt = Receipt.parse(call.path["receipt"])
    try:
        call.server.state.ledger.require(receipt)
    except LedgerRolledBackError:
        raise ProblemError.not_there() from None
    return {"receipt": str(receipt), "entry": receipt.seq, "agrees": True}


def make_request(call: ServerCall) -> Any:
    """Ask the custodian for more budget."""
    call.audit["always"] = True
    requests, more = call.server.state.ledger.budget_requests, read_budget(**call.body.more.entry())
    return request_record(requests.make(call.population, call.person.id, more, purpose=call.body.purpose))


def list_requests(call: ServerCall) -> Any:
    """List requests for more budget: one's own, or everybody's for those who oversee, with what a yes would change."""
    requests = call.server.state.ledger.budget_requests
    if call.operation.name == "own_requests":
        return [request_record(one) for one in requests.all(call.population, analyst=call.person.id)]
    return [request_record(one, requests.effect_of(one)) for one in requests.all(call.population)]
