"""Regressions over the wire: preview, fit round by round as a job, list, and read again.

A regression is charged once under its key, before data is read. One that was stopped between two rounds, or whose
process died there, goes on where it was when it is asked for again. What its rounds released comes with it: whoever
asked computes the same regression from it.
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from lapwing.analyses.regress import asked_regression
from lapwing.analyses.regression import Regression
from lapwing.analyses.regression_again import AskedRegression, drawn_before, regression_of_rounds
from lapwing.analyses.regression_course import ROUNDS
from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.jobs import STOPPED, Job, JobName, JobState, ending_of, state_after
from lapwing.doors.server.memory import LEDGER
from lapwing.doors.server.problems import ProblemError, body_of
from lapwing.doors.server.wire import RegressionBody
from lapwing.session import Session
from lapwing.vocabulary.codec import parse
from lapwing.vocabulary.errors import UnansweredError

REGRESS: Final = "regress"
"""What a regression is remembered as."""


async def preview_regression(call: ServerCall) -> Reply:
    """Say what a regression would cost, and how wide its intervals would be if people are as assumed. It is free."""
    return await foretell(call, _preview)


def _preview(call: ServerCall) -> bytes:
    session, body = call.session(), call.body
    told = session.preview_regress(**_words(body), **_assumed(body))
    asked = _asked(session, body)
    call.require_meaning(lambda: [asked.meaning])
    stopped = told.before.suspension
    record = {
        "means": asked.meaning,
        "stored": drawn_before(session, asked) is not None,
        "stopped": None if stopped is None else stopped.to_dict(),
    }
    return msgspec.json.encode({**told.to_dict(), **record})


async def regress(call: ServerCall) -> Reply:
    """Fit a regression in five rounds, and pay for all of them at once, once under the key."""
    return await call.run(lambda job: _regress(call, job))


def _regress(call: ServerCall, job: Job) -> bytes:
    asked = _asked(job.session, call.body)
    call.require_meaning(lambda: [asked.meaning])
    before = drawn_before(job.session, asked)
    call.remember(LEDGER if before is None else call.reserved_entry(before[0]))
    if (told := call.told_before()) is not None:
        return told
    if before is None:
        job.after_data = True
        words = {**_words(call.body), **_assumed(call.body)}
        found = job.session.regress(**words, key=call.key, progress=job.step)
        rounds = _rounds(job.session, found.name)
    else:
        name, rounds = before
        found = regression_of_rounds(job.session, asked, rounds, name=name)
    call.audit.update(price=str(found.price), free=before is not None)
    return call.end(_record(call.key, found, asked, rounds, free=before is not None))


def list_regressions(call: ServerCall) -> Any:
    """List the regressions of whoever calls, the newest first."""
    found = call.server.memory.of_kind(call.population, call.person.id, REGRESS)
    return [{"key": one["key"], "at": one["at"], "table": one["body"]["table"], "body": one["body"]} for one in found]


def show_regression(call: ServerCall) -> Reply:
    """Return a regression again, as it was fitted; it never charges, and needs no database."""
    key = call.path["key"]
    known = call.server.memory.recall(call.population, call.person.id, key)
    job = call.server.jobs.find(JobName(call.population, call.person.id, key))
    if known is None or known["kind"] != REGRESS or (job is not None and ending_of(job) is None):
        raise ProblemError.not_there()  # it may stand in the ledger before its tick
    found = regression_under(call, key, known)
    if found is None or found[0] is not JobState.ANSWERED:
        raise ProblemError.not_there()
    return Reply(body=msgspec.json.encode(found[1]))


def regression_under(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    """Say what became of a regression under a key: what is kept of it, or what the ledger has; None if it has nothing.

    Nothing is drawn here: one that was stopped between two rounds goes on when it is asked for again.
    """
    ended = call.server.memory.ending(call.population, call.person.id, key)
    if ended is not None and state_after(ended[0]) is not JobState.REFUSED:
        return state_after(ended[0]), msgspec.Raw(ended[1])
    opened = call.server.state.ledger.request(call.population, call.person.id, key)
    if opened is None:
        return None
    if call.is_worked_on(key):
        return JobState.RUNNING, None
    body = msgspec.convert(known["body"], RegressionBody)
    session = call.session(body)
    rounds = _rounds(session, opened["stream"])
    if None in rounds:
        return JobState.LOST, body_of(UnansweredError(key, seq=opened["seq"], lost=True))
    if len(rounds) < ROUNDS:
        return JobState.CANCELLED, ProblemError(409, "cancelled", STOPPED).body()
    asked = _asked(session, body)
    found = regression_of_rounds(session, asked, rounds, name=opened["stream"])
    return JobState.ANSWERED, _record(key, found, asked, rounds, free=False)


def _rounds(session: Session, name: str) -> list[Any]:
    """Return what the rounds under a reservation have released; None for one that was lost."""
    told = session.ledger.reservations.outcomes(name)
    return [None if one.answer is None else parse(one.answer) for one in told]


def _asked(session: Session, body: RegressionBody) -> AskedRegression:
    words = _words(body)
    words.setdefault("where", None)
    return asked_regression(session, **words)


def _words(body: RegressionBody) -> dict[str, Any]:
    """Return the words of a session's `regress`, with its price, and without what is assumed."""
    beside = {"price", "assume", "means", "concept_sets", "segment"}
    return {name: given for name, given in body.words().items() if name not in beside} | body.price.words()


def _assumed(body: RegressionBody) -> dict[str, Any]:
    return {} if body.assume is UNSET else {"assume": body.assume}


def _record(key: str, found: Regression, asked: AskedRegression, rounds: list[Any], *, free: bool) -> dict[str, Any]:
    """Return a regression as it is told: its table and what it is compared with, and what its rounds released."""
    return {
        "key": key,
        **found.to_dict(),
        "ratio": found.ratio,
        "references": [list(one) for one in asked.design.references],
        "outcome": found.event_words,
        "means": asked.meaning,
        "rounds": rounds,
        "free": free,
    }
