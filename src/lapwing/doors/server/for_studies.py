"""Studies over the wire: analyses in rounds of graphs and of people, previewed, drawn, and read again.

A study is a job: it is charged once under its key, before its first round, and what each round released is in the
ledger. Its result is computed from that, now and later. The same study of the same data is free under any key.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.for_publishing import columns_of
from lapwing.doors.server.jobs import Job, JobName, JobState, ending_of, state_after
from lapwing.doors.server.memory import LEDGER
from lapwing.doors.server.problems import ProblemError, body_of
from lapwing.doors.server.wire import StudyBody
from lapwing.doors.studies import PlannedStudy, ReadBack, plan_study, preview_of, read_study
from lapwing.session import Session
from lapwing.vocabulary.codec import parse
from lapwing.vocabulary.errors import UnansweredError

STUDY = "study"
"""What a study is remembered as."""


async def preview_study(call: ServerCall) -> Reply:
    """Say what an analysis in rounds would cost, and what is known of its error before. It is free."""
    return await foretell(call, _preview)


def _preview(call: ServerCall) -> bytes:
    session, (name, words) = call.session(), _words(call.body)
    told = preview_of(session, name, words)
    planned = plan_study(session, name, words)
    call.require_meaning(lambda: [planned.meaning])
    stopped = session.budget().suspension
    record = {
        "means": planned.meaning,
        "stored": _studied_before(session, planned) is not None,
        "stopped": None if stopped is None else stopped.to_dict(),
    }
    return msgspec.json.encode({**told.to_dict(), **record})


async def study(call: ServerCall) -> Reply:
    """Do an analysis in rounds, and pay for all of them, once under the key."""
    return await call.run(lambda job: _study(call, job))


def _study(call: ServerCall, job: Job) -> bytes:
    name, words = _words(call.body)
    planned = plan_study(job.session, name, words)
    call.require_meaning(lambda: [planned.meaning])
    before = _studied_before(job.session, planned)
    call.remember(LEDGER if before is None else call.reserved_entry(before.name))
    if (told := call.told_before()) is not None:
        return told

    def reserve(planned: PlannedStudy) -> Any:
        job.after_data = True
        return planned.reserve(job.session, call.key)

    drawn = reserve if before is None else lambda _: before
    record = _record(job.session, call.body, drawn, free=before is not None)
    call.audit.update(price=str(record["told"].get("price")), free=before is not None)
    return call.end(record)


def list_studies(call: ServerCall) -> Any:
    """List the studies of whoever calls here, the newest first."""
    return [
        {"key": one["key"], "at": one["at"], "of": one["body"]["study"]["of"], "body": one["body"]}
        for one in call.server.memory.of_kind(call.population, call.person.id, STUDY)
    ]


def show_study(call: ServerCall) -> Reply:
    """Return a study again, as it was; it never charges, and needs no database."""
    key = call.path["key"]
    known = call.server.memory.recall(call.population, call.person.id, key)
    job = call.server.jobs.find(JobName(call.population, call.person.id, key))
    if known is None or known["kind"] != STUDY or (job is not None and ending_of(job) is None):
        raise ProblemError.not_there()  # it may stand in the ledger before its tick
    found = study_under(call, key, known)
    if found is None or found[0] is not JobState.ANSWERED:
        raise ProblemError.not_there()
    return Reply(body=msgspec.json.encode(found[1]))


def study_under(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    """Say what became of a study under a key: what is kept of it, or what the ledger has; None if it has nothing.

    Nothing is drawn here: a study that was charged and whose process died before its last round is said to be stopped.
    """
    ended = call.server.memory.ending(call.population, call.person.id, key)
    if ended is not None:
        return state_after(ended[0]), msgspec.Raw(ended[1])
    opened = call.server.state.ledger.request(call.population, call.person.id, key)
    if opened is None:
        return None
    if call.is_worked_on(key):
        return JobState.RUNNING, None
    body = msgspec.convert(known["body"], StudyBody)
    session = call.session(body)
    planned = plan_study(session, *_words(body))
    told = session.ledger.reservations.outcomes(opened["stream"])
    if len(told) < planned.rounds and all(one.answer is not None for one in told):
        stopped = "it was stopped after it was charged; ask again under this key: it is not charged again"
        return JobState.CANCELLED, ProblemError(409, "cancelled", stopped).body()
    try:
        drawn = _read_back(session, opened["stream"])
        return JobState.ANSWERED, _record(session, body, lambda _: drawn, free=False)
    except UnansweredError as lost:
        return JobState.LOST, body_of(lost)


def _studied_before(session: Session, planned: PlannedStudy) -> ReadBack | None:
    """Return the same study of the same data, under any key of this analyst, if all its rounds have an outcome."""
    ledger, population = session.ledger, session.population.name
    now = ledger.population(population).tables
    for one in ledger.reservations.all(population, kind=planned.kind, analyst=session.analyst):
        if (one.terms, one.tables, one.rounds) != (planned.agreed, frozenset(planned.tables), planned.rounds):
            continue
        told = ledger.reservations.outcomes(one.name)
        whole = len(told) == planned.rounds and all(each.answer is not None for each in told)
        if whole and all(each.versions.get(name) == now.get(name) for each in told for name in planned.tables):
            return _read_back(session, one.name)
    return None


def _read_back(session: Session, name: str) -> ReadBack:
    told = session.ledger.reservations.outcomes(name)
    outcomes = [None if one.answer is None else parse(one.answer) for one in told]
    return ReadBack(name, outcomes, [one.receipt for one in told])


def _record(session: Session, body: StudyBody, reserve: Callable[[PlannedStudy], Any], *, free: bool) -> dict[str, Any]:
    """Return a study as JSON values: its rounds, from which everything follows, and what follows from them here.

    `reserve` returns its rounds; those that have no outcome yet are drawn now.
    """
    name, words = _words(body)
    record: dict[str, Any] = {"of": name, "free": free}

    def reserved(planned: PlannedStudy) -> Any:
        record["means"], record["rounds"] = planned.meaning, reserve(planned)
        return record["rounds"]

    told = read_study(session, name, words, reserved).to_dict()
    rounds = record.pop("rounds")
    drawn = {"study": rounds.name, "outcomes": list(rounds.committed)}
    return {**record, **drawn, "receipts": [str(one) for one in rounds.receipts], "told": told}


def _words(body: StudyBody) -> tuple[str, dict[str, Any]]:
    """Return what is studied, and the words of the verb: those of the study and of its price."""
    asked = body.study
    words = {**asked.words(), **body.price.words()}
    if "between" in words:
        words["between"] = tuple(words["between"])
    if asked.__struct_config__.tag in {"decision_tree", "train"}:
        several = "columns" if "columns" in words else "features"
        words[several] = columns_of(words[several])
    return str(asked.__struct_config__.tag), words
