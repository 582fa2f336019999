"""How far a job has come, here or in another process, and how it is stopped."""

from typing import Any

import msgspec

from lapwing.app.server.calls import Reply, ServerCall
from lapwing.app.server.for_analysts import QUESTION, answered_again
from lapwing.app.server.for_streams import what_became
from lapwing.app.server.jobs import JobName, JobState, at_a_tick, ending_of, state_after
from lapwing.app.server.problems import ProblemError, body_of
from lapwing.vocabulary.errors import UnansweredError


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
    """Say what is known of a job that another process has or had, or that ended long ago."""
    key, memory = call.path["key"], call.server.memory
    known = memory.recall(call.population, call.person.id, key)
    if known is None:
        raise ProblemError.not_there()
    ended = memory.ending(call.population, call.person.id, key)
    state, outcome = _in_the_ledger(call, key, known) if known["kind"] == QUESTION else (JobState.RUNNING, None)
    if ended is not None and state is JobState.RUNNING:
        state, outcome = state_after(ended[0]), msgspec.Raw(ended[1])
    elif known["kind"] != QUESTION:
        state, outcome = what_became(call, key, known)
    return Reply(body=msgspec.json.encode({"key": key, "state": state.value, "progress": None, "outcome": outcome}))


def _in_the_ledger(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any]:
    """Say what became of a question: the ledger knows best, for what was refused may have been asked again since."""
    try:
        outcome = answered_again(call, key, known)
    except UnansweredError as unanswered:
        return (JobState.LOST, body_of(unanswered)) if unanswered.lost else (JobState.RUNNING, None)
    return (JobState.RUNNING if outcome is None else JobState.ANSWERED), outcome


async def cancel_job(call: ServerCall) -> Reply:
    """Stop a job: one that was not charged yet is gone, and one that was is lost, and stays charged."""
    job = call.server.jobs.find(JobName(call.population, call.person.id, call.path["key"]))
    if job is None:
        raise ProblemError.not_there()
    call.server.jobs.cancel(job)
    ending = await call.server.jobs.wait(job, 5)
    outcome = None if ending is None else msgspec.Raw(ending.body)
    return Reply(body=msgspec.json.encode({**job.to_dict(), "outcome": outcome}))
