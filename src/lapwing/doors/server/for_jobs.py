"""How far a job has come, here or in another process, and how it is stopped."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import QUESTION, QUESTIONS, answered_again, answered_together_again
from lapwing.doors.server.for_comparing import COMPARE, ROWS, SURVIVE, analysed_again
from lapwing.doors.server.for_dashboards import OPEN_DASHBOARD, PUBLISH_RELEASE, dashboard_under
from lapwing.doors.server.for_explorers import explorer_under
from lapwing.doors.server.for_publishing import PUBLISH, publication_under
from lapwing.doors.server.for_regressions import REGRESS, regression_under
from lapwing.doors.server.for_streams import what_became
from lapwing.doors.server.for_studies import STUDY, study_under
from lapwing.doors.server.for_synthesis import SYNTHESIZE, synthesis_under
from lapwing.doors.server.jobs import JobName, JobState, at_a_tick, ending_of, state_after
from lapwing.doors.server.problems import ProblemError, body_of
from lapwing.vocabulary.errors import UnansweredError

_NEVER_ASKED: Final = ProblemError(
    409, "cancelled", "nothing was charged under this key, and nobody works on it; ask again under it if it is wanted"
)


async def show_job(call: ServerCall) -> Reply:
    """Say how far a job has come, with its answer if there is one."""
    job = call.server.jobs.find(JobName(call.population, call.person.id, call.path["key"]))
    if job is None:
        reply = await call.in_thread(_job_elsewhere)
        await at_a_tick(call.begun, call.server.tick)  # what a dead process left may have been decided, from data
        return reply
    ending = ending_of(job)
    outcome = None if ending is None else msgspec.Raw(ending.body)
    return Reply(body=msgspec.json.encode({**job.to_dict(), "outcome": outcome}))


def _job_elsewhere(call: ServerCall) -> Reply:
    """Say what is known of a job that another process has or had, or that ended long ago.

    The ledger knows best, for what was refused may have been asked again since. Of what it does not have, somebody who
    lives may be working on it, or it came to an end that nothing was charged for; else its process died before.
    """
    key, memory = call.path["key"], call.server.memory
    known = memory.recall(call.population, call.person.id, key)
    if known is None:
        raise ProblemError.not_there()
    worked_on = call.is_worked_on(key)  # before the ledger is read: what ends meanwhile is found there
    found: tuple[JobState, Any] | None = None
    if known["kind"] in _FIND:
        found = _FIND[known["kind"]](call, key, known)
    elif not worked_on:  # what a stream is asked would be waited for
        found = what_became(call, key, known)
    if found is None or found[0] is JobState.RUNNING:
        ended = memory.ending(call.population, call.person.id, key)
        if ended is not None:
            found = state_after(ended[0]), msgspec.Raw(ended[1])
        elif found is None and not worked_on:
            found = JobState.CANCELLED, _NEVER_ASKED.body()
    state, outcome = found or (JobState.RUNNING, None)
    return Reply(body=msgspec.json.encode({"key": key, "state": state.value, "progress": None, "outcome": outcome}))


def _question(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    return _answered(lambda: answered_again(call, key, known))


def _questions(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    return _answered(lambda: answered_together_again(call, key, known))


def _analysis(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    return _answered(lambda: analysed_again(call, key, known))


_FIND: Final = {
    QUESTION: _question,
    QUESTIONS: _questions,
    PUBLISH: publication_under,
    SYNTHESIZE: synthesis_under,
    REGRESS: regression_under,
    **dict.fromkeys((COMPARE, SURVIVE, ROWS), _analysis),
    **dict.fromkeys((OPEN_DASHBOARD, PUBLISH_RELEASE), dashboard_under),
    STUDY: study_under,
    **dict.fromkeys(("open_explorer", "ask_explorer", "close_explorer", "certify"), explorer_under),
}


def _answered(find: Callable[[], Any]) -> tuple[JobState, Any] | None:
    try:
        outcome = find()
    except UnansweredError as unanswered:
        return (JobState.LOST, body_of(unanswered)) if unanswered.lost else (JobState.RUNNING, None)
    return None if outcome is None else (JobState.ANSWERED, outcome)


async def cancel_job(call: ServerCall) -> Reply:
    """Stop a job: one that was not charged yet is gone, and one that was is lost, and stays charged."""
    job = call.server.jobs.find(JobName(call.population, call.person.id, call.path["key"]))
    if job is None:
        raise ProblemError.not_there()
    call.server.jobs.cancel(job)
    ending = await call.server.jobs.wait(job, 5)
    outcome = None if ending is None else msgspec.Raw(ending.body)
    return Reply(body=msgspec.json.encode({**job.to_dict(), "outcome": outcome}))
