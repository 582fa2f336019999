"""Groups compared, survival, and how many rows people have, over the wire: preview, ask, list, and read again.

Each is one question, which is charged and answered as any other is; what is estimated and tested is computed from its
answer, now and whenever it is looked at.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET

from lapwing.analyses.compare import compared_by, judge
from lapwing.analyses.comparison import Comparison
from lapwing.analyses.rows_a_person import RowsAPerson, asked_rows
from lapwing.analyses.survival import curves_of, histogram_of
from lapwing.analyses.survival_curves import SurvivalCurves
from lapwing.answers.answer import Answer
from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.jobs import Job, JobName, ending_of
from lapwing.doors.server.memory import LEDGER
from lapwing.doors.server.problems import ProblemError, body_of, status_of
from lapwing.doors.server.wire import ComparisonBody, RowsBody, SurvivalBody
from lapwing.queries.planning.planner import Question
from lapwing.session import Session
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import ParameterError, UnansweredError

COMPARE: Final = "compare"
SURVIVE: Final = "estimate_survival"
ROWS: Final = "rows_a_person"
"""What they are remembered as."""

Analysis: TypeAlias = Comparison | SurvivalCurves | RowsAPerson
AnalysisBody: TypeAlias = ComparisonBody | SurvivalBody | RowsBody
_BODIES: Final[dict[str, type[AnalysisBody]]] = {COMPARE: ComparisonBody, SURVIVE: SurvivalBody, ROWS: RowsBody}


class JudgedQuestion(NamedTuple):
    """The question of an analysis, and what its answer becomes."""

    question: Question
    judged: Callable[[Answer], Analysis]


async def preview_comparison(call: ServerCall) -> Reply:
    """Say what a comparison would cost, and how likely it would see an assumed difference. It is free."""
    return await foretell(call, _preview_comparison)


def _preview_comparison(call: ServerCall) -> bytes:
    body = call.body
    assume = None if body.assume is UNSET else {name: _numbers(name, given) for name, given in body.assume.items()}
    told = call.session().preview_compare(**_words(body), assume=assume, **body.price.words())
    record = {
        **told.preview.to_dict(),
        "method": told.method,
        "power": told.power,
        "assumed": {name: list(given) for name, given in told.assumed.items()},
    }
    return msgspec.json.encode({**record, **_standing(call)})


async def compare(call: ServerCall) -> Reply:
    """Compare groups of people in one outcome, and pay what one count costs, once under the key."""
    return await call.run(lambda job: _analyse(call, job))


async def preview_survival(call: ServerCall) -> Reply:
    """Say what survival curves would cost, and how far off the people of each cell would be. It is free."""
    return await foretell(call, _preview_survival)


def _preview_survival(call: ServerCall) -> bytes:
    told = call.session().preview_survival(**_words(call.body), **call.body.price.words())
    return msgspec.json.encode({**told.to_dict(), **_standing(call)})


async def estimate_survival(call: ServerCall) -> Reply:
    """Estimate survival curves, by arm if there are two, and pay what one count costs, once under the key."""
    return await call.run(lambda job: _analyse(call, job))


async def preview_rows(call: ServerCall) -> Reply:
    """Say what it would cost to say how many rows people have, and how far off each number would be. It is free."""
    return await foretell(call, _preview_rows)


def _preview_rows(call: ServerCall) -> bytes:
    told = call.session().preview_rows_a_person(**_words(call.body), **call.body.price.words())
    return msgspec.json.encode({**told.to_dict(), **_standing(call)})


async def rows_a_person(call: ServerCall) -> Reply:
    """Say how many rows people have, and what any max_rows cuts, and pay what one count costs, once under the key."""
    return await call.run(lambda job: _analyse(call, job))


def list_counted_rows(call: ServerCall) -> Any:
    """List what whoever calls has asked here about how many rows people have, the newest first."""
    return _listed(call, ROWS)


def show_rows_again(call: ServerCall) -> Reply:
    """Return again how many rows people have, as it was answered; it never charges, and needs no database."""
    return _shown(call, ROWS)


def list_comparisons(call: ServerCall) -> Any:
    """List what whoever calls has compared here, the newest first."""
    return _listed(call, COMPARE)


def list_survivals(call: ServerCall) -> Any:
    """List the survival curves of whoever calls, the newest first."""
    return _listed(call, SURVIVE)


def show_comparison(call: ServerCall) -> Reply:
    """Return a comparison again, as it was made; it never charges, and needs no database."""
    return _shown(call, COMPARE)


def show_survival(call: ServerCall) -> Reply:
    """Return survival curves again, as they were made; it never charges, and needs no database."""
    return _shown(call, SURVIVE)


def analysed_again(call: ServerCall, key: str, known: dict[str, Any]) -> dict[str, Any] | None:
    """Return the analysis under a key that is known here, if it was answered."""
    body: Any = msgspec.convert(known["body"], _BODIES[known["kind"]])
    session, entry = call.session(body), call.server.memory.entry(call.population, call.person.id, key)
    question, judged = _asked(session, body)
    answer = session.stored(question, key=key, entry=entry, **body.price.words())
    return None if answer is None else {**_record(key, answer, judged), "free": entry != LEDGER}


def _analyse(call: ServerCall, job: Job) -> dict[str, Any]:
    with deadline():
        question, judged = _asked(job.session, call.body)
    priced = job.session.price([question], **call.body.price.words())
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
    return _record(call.key, answer, judged)


def _asked(session: Session, body: AnalysisBody) -> JudgedQuestion:
    """Return the question, or refuse what cannot be asked, before anything is charged."""
    words = _words(body)
    if isinstance(body, SurvivalBody):
        told = {name: words[name] for name in ("time", "event", "grid", "by") if name in words}
        return JudgedQuestion(histogram_of(session, **words), lambda answer: curves_of(answer, **told))
    if isinstance(body, RowsBody):
        question, spans = asked_rows(session, **words)
        return JudgedQuestion(question, lambda answer: RowsAPerson(table=body.table, answer=answer, spans=spans))
    method, question = compared_by(session, **words)
    between = {name: words[name] for name in ("outcome", "by", "groups") if name in words}
    return JudgedQuestion(question, lambda answer: judge(answer, method, **between))


def _words(body: AnalysisBody) -> dict[str, Any]:
    """Return the words of the verb, without those of its price and of what is assumed."""
    beside = {"price", "assume", "means", "concept_sets", "segment"}
    return {name: given for name, given in body.words().items() if name not in beside}


def _numbers(name: str, given: list[Any]) -> list[float]:
    try:
        return [float(one) for one in given]
    except ValueError:
        raise ParameterError(name, given, reason="are no numbers", remedy=f"write [500, 500] for {name}") from None


def _standing(call: ServerCall) -> dict[str, Any]:
    """Say whether it is free, and whether the caller may spend nothing now."""
    session = call.session()
    priced = session.price([_asked(session, call.body).question], **call.body.price.words())
    call.require_meaning(priced.meanings)
    told = priced.preview()
    stopped = told.before.suspension
    return {
        "question": told.asked.text,
        "stored": priced.stored() is not None,
        "stopped": None if stopped is None else stopped.to_dict(),
    }


def _listed(call: ServerCall, kind: str) -> list[dict[str, Any]]:
    found = call.server.memory.of_kind(call.population, call.person.id, kind)
    return [{"key": one["key"], "at": one["at"], "table": one["body"]["table"], "body": one["body"]} for one in found]


def _shown(call: ServerCall, kind: str) -> Reply:
    key = call.path["key"]
    job = call.server.jobs.find(JobName(call.population, call.person.id, key))
    known = call.server.memory.recall(call.population, call.person.id, key)
    if known is None or known["kind"] != kind or (job is not None and ending_of(job) is None):
        raise ProblemError.not_there()  # it may stand in the ledger before its tick
    try:
        told = analysed_again(call, key, known)
    except UnansweredError as unanswered:
        return Reply(body=msgspec.json.encode(body_of(unanswered)), status=status_of(unanswered))
    if told is None:
        raise ProblemError.not_there()
    return Reply(body=msgspec.json.encode(told))


def _record(key: str, answer: Answer, judged: Callable[[Answer], Analysis]) -> dict[str, Any]:
    found = judged(answer)
    return {
        "key": key,
        **found.to_dict(),
        "sentence": str(found) if isinstance(found, RowsAPerson) else found.sentence,
        "question": answer.asked.text,
        "released": to_record(tuple(tuple(numbers) for numbers in answer.numbers.values())),
        "versions": dict(answer.versions),
    }
