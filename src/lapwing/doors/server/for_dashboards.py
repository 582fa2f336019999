"""Counts over time over the wire: preview, open, publish a release, list, and read again.

A dashboard is found by its name, for ever, and its releases are charged at the opening. A release is published once for
each version of the data, so a request that is sent again publishes nothing anew.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from lapwing.analyses.dashboard import DashboardPreview
from lapwing.analyses.dashboard_again import WrittenDashboard, dashboard_meaning, dashboards_of
from lapwing.analyses.dashboard_board import CountsOverTime, Dashboard, PublishedCounts
from lapwing.analyses.dashboard_grid import PeriodGrid
from lapwing.answers.releases import Price
from lapwing.doors.server.calls import Reply, ServerCall
from lapwing.doors.server.for_analysts import foretell
from lapwing.doors.server.jobs import Job, JobState, state_after
from lapwing.doors.server.memory import FREE, LEDGER
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.wire import DashboardBody
from lapwing.queries.planning.planner import Question
from lapwing.queries.statistics.counts import count
from lapwing.session import Session
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import currency_of

OPEN_DASHBOARD: Final = "open_dashboard"
PUBLISH_RELEASE: Final = "publish_release"
"""What they are remembered as."""


async def preview_dashboard(call: ServerCall) -> Reply:
    """Say what a dashboard would cost, and how far off its counts will be, release by release. It is free."""
    return await foretell(call, _preview)


def _preview(call: ServerCall) -> bytes:
    session = call.session()
    told = _foreseen(session, call.body)
    meaning = dashboard_meaning(told.terms)
    call.require_meaning(lambda: [meaning])
    stopped, same = told.before.suspension, _named(session, told.terms.name)
    record = {
        "means": meaning,
        "groups": [list(group) for group in told.terms.groups],
        **_grid(told.terms.grid),
        "stored": same is not None and dashboard_meaning(same.terms) == meaning,
        "stopped": None if stopped is None else stopped.to_dict(),
    }
    return msgspec.json.encode({**told.to_dict(), **record})


async def open_dashboard(call: ServerCall) -> Reply:
    """Open a dashboard, and pay for all of its releases, once under its name; or find the one that is open."""
    return await call.run(lambda job: _open(call, job))


def _open(call: ServerCall, job: Job) -> bytes:
    told = _foreseen(job.session, call.body)
    call.require_meaning(lambda: [dashboard_meaning(told.terms)])
    is_free = _named(job.session, told.terms.name) is not None
    call.remember(FREE if is_free else LEDGER)
    if (before := call.told_before()) is not None:
        return before
    board = job.session.dashboard(_question(call.body), **_words(call.body))
    call.audit.update(price=str(told.price), free=is_free)
    return call.end({"key": call.key, **_record(job.session, board, board.id), "free": is_free})


def list_dashboards(call: ServerCall) -> Any:
    """List the dashboards of whoever calls, the newest first, with what was published of each."""
    session = call.session()
    return [_standing(session, one, one.id) for one in reversed(dashboards_of(session))]


def show_dashboard(call: ServerCall) -> Any:
    """Return a dashboard with all that it has published; it never charges, and needs no database."""
    session = call.session()
    return _record(session, _found(call, session), call.path["dashboard"])


async def publish_release(call: ServerCall) -> Reply:
    """Publish the periods that are over and were not published: it was paid at the opening."""

    def work(job: Job) -> Any:
        name = _found(call, job.session).name
        is_known = call.server.memory.recall(*call.job_name) is not None
        call.remember()
        if (told := call.told_before()) is not None:
            return told
        board = job.session.dashboard(name=name)
        job.after_data = True
        try:
            board.publish(**call.body.words())
        except BadQuestionError:
            if not is_known or not board.published:
                raise  # under a key that was here before, it was published then
        call.audit["published"] = board.published
        return call.end({"key": call.key, **_record(job.session, board, board.id)})

    return await call.run(work, stream=f"dashboard {call.path['dashboard']}")


def dashboard_under(call: ServerCall, key: str, known: dict[str, Any]) -> tuple[JobState, Any] | None:
    """Say what became of an opening or a release: what is kept of it, or the dashboard as the ledger has it."""
    ended = call.server.memory.ending(call.population, call.person.id, key)
    if ended is not None:
        return state_after(ended[0]), msgspec.Raw(ended[1])
    if call.is_worked_on(key):
        return JobState.RUNNING, None
    if known["kind"] == PUBLISH_RELEASE:
        stopped = "it was stopped; what was published by then stands in the dashboard: ask again under this key"
        return JobState.CANCELLED, ProblemError(409, "cancelled", stopped).body()
    session = call.session()
    found = _named(session, known["body"]["name"])
    return None if found is None else (JobState.ANSWERED, {"key": key, **_record(session, found, found.id)})


def _foreseen(session: Session, body: DashboardBody) -> DashboardPreview:
    return session.preview_dashboard(_question(body), **_words(body))


def _question(body: DashboardBody) -> Question:
    by = [] if body.by is UNSET else body.by
    return count(body.table, None if body.where is UNSET else body.where, by=by)


def _words(body: DashboardBody) -> dict[str, Any]:
    names = ("name", "period", "first", "every", "releases", "last", "until")
    return {name: body.words()[name] for name in names if name in body.words()} | body.price.words()


def _named(session: Session, name: str) -> WrittenDashboard | None:
    return next((one for one in dashboards_of(session) if one.name == name), None)


def _found(call: ServerCall, session: Session) -> WrittenDashboard:
    """Return the dashboard of the caller in the path."""
    for one in dashboards_of(session):
        if one.id == call.path["dashboard"]:
            return one
    raise ProblemError.not_there()


def _standing(session: Session, board: PublishedCounts, id_: str) -> dict[str, Any]:
    """Return how a dashboard stands, without its counts."""
    grid, done = board.grid, board.published
    going_on = done < grid.releases
    return {
        "id": id_,
        "dashboard": board.name,
        "periods": str(grid),
        **_grid(grid),
        "published": done,
        "lost": list(board.lost),
        "next": {"period": grid.label(done + 1), "over_after": str(grid.ends(done + 1))} if going_on else None,
        "by": list(board.terms.by),
        "stocks": board.terms.counts.stocks,
        "price": Price.of(board.terms.counts.event, currency_of(session.budget().account.budget)).to_dict(),
    }


def _grid(grid: PeriodGrid) -> dict[str, Any]:
    return {"every": grid.every, "first": str(grid.first), "last": str(grid.last), "releases": grid.releases}


def _record(session: Session, board: PublishedCounts | Dashboard, id_: str) -> dict[str, Any]:
    """Return a dashboard with its terms, what its releases released, and its counts of each sort."""
    terms = board.terms
    shown: Mapping[str, CountsOverTime] = (
        {"cumulative": board.cumulative(), "single": board.periods()} if board.published else {}
    )
    return {
        **_standing(session, board, id_),
        "terms": terms.written(),
        "event": to_record(terms.counts.event),
        "means": dashboard_meaning(terms),
        "rounds": list(board.committed),
        "counts": {name: one.to_dict()["counts"] for name, one in shown.items()},
    }
