"""The application: a workspace, the people of its door, and the routes of the table, behind the guard.

A request goes to the first route that its path and its method fit: operations first, what is asked most often before
the others, then the pages.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from functools import cache
from itertools import count
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.doors.server.answering import Answering
from lapwing.doors.server.audit_log import AuditLog
from lapwing.doors.server.calls import API, Operation, Reply, Server
from lapwing.doors.server.door_store import DoorStore
from lapwing.doors.server.guard import Guard, GuardLimits, Receive, Scope, Send
from lapwing.doors.server.jobs import Jobs, JobState
from lapwing.doors.server.lru_cache import LruCache
from lapwing.doors.server.memory import Memory
from lapwing.doors.server.metrics import Labels, Metrics
from lapwing.doors.server.openapi import describe
from lapwing.doors.server.operations import LARGER, OPERATIONS
from lapwing.doors.server.pages.page_visit import Site
from lapwing.doors.server.pages.routes import is_for_people, lost_page, make_site, page_routes
from lapwing.doors.server.people import Directory
from lapwing.doors.server.problems import AFTER_DATA, NOT_THERE, problem_bytes
from lapwing.doors.server.rates import AtOnce, Limits
from lapwing.doors.server.roles import Right
from lapwing.doors.server.saved_questions import SavedQuestions
from lapwing.doors.server.server_state import SEALING, ServerState
from lapwing.doors.server.shared_places import SharedPlaces
from lapwing.doors.server.shared_rates import rate_limits
from lapwing.doors.server.sign_in_provider import Provider
from lapwing.doors.server.trusted_proxy import TrustedProxy
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.workspace import Workspace

RECOVERY = 30
"""Seconds between two recoveries of what dead processes left behind; the first is at the start."""
PATIENCE = 10.0
"""Grace period in seconds for questions under way, when the server is stopped."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_EMPTY: Final = frozenset({204, 304})
"""Statuses whose answers have no body, and so no length."""


@frozen()
class DoorSettings:
    """Settings of the server: its names and address, whether clients come by TLS, limits, and the tick."""

    hosts: frozenset[str] = LOOPBACK
    address: str = "http://127.0.0.1:8431"
    secure: bool = False
    tick: float = 0.1
    limits: Limits = field(default_factory=Limits)
    guard: GuardLimits = field(default_factory=lambda: GuardLimits(larger=LARGER))
    proxy: TrustedProxy | None = None
    provider: Provider | None = None


class Endpoint:
    """One operation, as ASGI."""

    def __init__(self, answering: Answering, operation: Operation) -> None:
        self.operation, self._answering = operation, answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        reply = await self._answering.answer(self.operation, Request(scope, receive))
        await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply)})
        await send({"type": "http.response.body", "body": reply.body})


def operation_routes(answering: Answering) -> list[Route]:
    """Return a route for each operation of the table, in its order."""
    paths = {one.name: one.path.replace("{receipt}", "{receipt:path}") for one in OPERATIONS}  # it has a slash in it
    return [Route(API + paths[one.name], Endpoint(answering, one), methods=[one.method]) for one in OPERATIONS]


def make_server(workspace: Workspace, store: DoorStore, settings: DoorSettings) -> Server:
    """Return the server that handlers use, from a workspace and the store of its people."""
    state, limits = ServerState(workspace), settings.limits
    places = SharedPlaces(state.ledger.gate, state.ledger.name, limits.at_once) if store.is_remote else None
    made = Server(
        state=state,
        people=Directory(store, most_tokens=limits.tokens),
        memory=Memory(store),
        saved=SavedQuestions(store),
        jobs=Jobs(
            tick=settings.tick,
            at_once=limits.at_once,
            most_waiting=limits.waiting,
            on_failure=state.log,
            places=places,
        ),
        limits=limits,
        rates=rate_limits(store, limits),
        metrics=Metrics(fine=_timed_finely(), appends=state.ledger.appends),
        address=settings.address,
        tick=settings.tick,
        threads=CapacityLimiter(8),
        looks=AtOnce(limits.at_once),
        answers=LruCache(),
        is_remote=store.is_remote,
    )
    _watch_queues(made)
    return made


def _timed_finely() -> Iterator[str]:
    """Yield the operations that read no data: neither what may spend, nor what changes or settles something."""
    quick = {Right.READ, Right.PREVIEW}
    return (f"{one.method} {API}{one.path}" for one in OPERATIONS if not one.charges and one.right in quick)


def _watch_queues(server: Server) -> None:
    """Let the metrics show what waits and what is under way."""
    jobs, threads, metrics = server.jobs, server.threads, server.metrics

    def by_state(found: Mapping[JobState, int]) -> dict[Labels, int]:
        return {(("state", state.value),): number for state, number in found.items()}

    def in_threads() -> dict[Labels, int]:
        found = threads.statistics()
        return {(("state", "queued"),): found.tasks_waiting, (("state", "running"),): found.borrowed_tokens}

    metrics.watch("lapwing_jobs", "gauge", "Jobs that wait and run.", lambda: by_state(jobs.under_way()))
    metrics.watch("lapwing_jobs_ended", "counter", "Jobs by how they ended.", lambda: by_state(jobs.ended))
    metrics.watch("lapwing_looks", "gauge", "Looks that wait for a thread, and that have one.", in_threads)


@cache
def _description() -> bytes:
    """Return the OpenAPI description; it is made at the first request."""
    return describe(OPERATIONS)


def make_application(workspace: Workspace, store: DoorStore, settings: DoorSettings | None = None) -> Guard:
    """Return the server of a workspace, as ASGI; it closes the workspace and the store when it ends."""
    chosen = DoorSettings() if settings is None else settings
    server = make_server(workspace, store, chosen)
    answering, site = (
        Answering(server),
        make_site(server, store, secure=chosen.secure, proxy=chosen.proxy, provider=chosen.provider),
    )
    audit = AuditLog(workspace.folder)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await to_thread.run_sync(server.state.warm)
        watching = asyncio.create_task(_watch(server))
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            await server.jobs.stop(PATIENCE)
            server.state.close()
            store.close()
            audit.close()

    async def openapi(_: Request) -> Response:
        return Response(
            _description(), media_type="application/json", headers={"Cache-Control": "private, max-age=300"}
        )

    app = Starlette(
        routes=[
            *operation_routes(answering),
            Route(f"{API}/openapi.json", openapi, methods=["GET"]),
            *page_routes(site),
        ],
        lifespan=life,
        exception_handlers={404: _not_there(site), 405: _not_so, Exception: _broken(server)},
    )
    app.router.redirect_slashes = False
    return Guard(
        app=app,
        hosts=chosen.hosts,
        audit=audit,
        metrics=server.metrics,
        secure=chosen.secure,
        tick=chosen.tick,
        limits=chosen.guard,
        proxy=chosen.proxy,
    )


async def _watch(server: Server) -> None:
    """Look once a second whether the settings changed, and now and then whether a process died with work in hand.

    Each by itself: what fails is logged and tried again, and keeps nothing else from being done.
    """
    state = server.state
    for second in count():
        if second % RECOVERY == 0:
            await to_thread.run_sync(state.attempt, state.recover)
        if second % SEALING == SEALING - 1:
            await to_thread.run_sync(state.attempt, state.seal)
        await asyncio.sleep(1)
        await to_thread.run_sync(state.attempt, state.look_around)


def _not_there(site: Site) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def not_there(request: Request, _: Exception) -> Response:
        if is_for_people(request):
            return lost_page(site, request)
        return Response(problem_bytes(*NOT_THERE), 404, media_type="application/json")

    return not_there


async def _not_so(_: Request, error: Exception) -> Response:
    allowed = getattr(error, "headers", None) or {}
    return Response(problem_bytes("method", "this is not done in this way"), 405, dict(allowed), "application/json")


def _broken(server: Server) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def broken(_: Request, error: Exception) -> Response:
        server.state.log(error)
        status, code, message = AFTER_DATA
        return Response(problem_bytes(code, message), status, media_type="application/json")

    return broken


def _headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    typed = reply.media_type + ("; charset=utf-8" if reply.media_type.startswith("text/") else "")
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
    if reply.status not in _EMPTY:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    return [*headers, (b"content-type", typed.encode())]
