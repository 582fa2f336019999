"""The application: a workspace, the people of its door, and the routes of the table, behind the guard."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lapwing.app.server.answering import Answering
from lapwing.app.server.api_routes import ApiRoutes, Endpoint
from lapwing.app.server.audit_log import AuditFiles, AuditLog
from lapwing.app.server.calls import API, Server
from lapwing.app.server.door_store import DoorStore
from lapwing.app.server.guard import Guard, GuardLimits
from lapwing.app.server.house import House, Recent
from lapwing.app.server.jobs import Jobs
from lapwing.app.server.memory import Memory
from lapwing.app.server.openapi import describe
from lapwing.app.server.operations import LARGER, OPERATIONS
from lapwing.app.server.pages.routes import is_for_people, lost_page, make_site, page_routes
from lapwing.app.server.pages.visits import Site
from lapwing.app.server.people import Directory
from lapwing.app.server.problems import AFTER_DATA, NOT_THERE, problem_bytes
from lapwing.app.server.rates import Limits
from lapwing.app.server.sign_in_provider import Provider
from lapwing.app.server.trusted_proxy import TrustedProxy
from lapwing.workspace.workspace import Workspace

RECOVERY = 30
"""How many seconds there are between two looks for what dead processes left behind; the first is at the start."""
PATIENCE = 10.0
"""How many seconds questions that are under way have, when the server is told to end."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorSettings:
    """How the server shows itself: its names and address, whether clients come by TLS, limits, and the tick."""

    hosts: frozenset[str] = LOOPBACK
    address: str = "http://127.0.0.1:8431"
    secure: bool = False
    tick: float = 0.1
    limits: Limits = field(default_factory=Limits)
    guard: GuardLimits = field(default_factory=lambda: GuardLimits(larger=LARGER))
    audit: AuditLog | None = None
    proxy: TrustedProxy | None = None
    provider: Provider | None = None


def make_server(workspace: Workspace, store: DoorStore, settings: DoorSettings) -> Server:
    """Return what handlers need, around a workspace and the store of its people."""
    house, limits = House(workspace), settings.limits
    return Server(
        house=house,
        people=Directory(store, most_tokens=limits.tokens),
        memory=Memory(store),
        jobs=Jobs(tick=settings.tick, at_once=limits.at_once, most_waiting=limits.waiting, on_failure=house.log),
        limits=limits,
        address=settings.address,
        tick=settings.tick,
        threads=CapacityLimiter(8),
        answers=Recent(),
        is_remote=store.is_remote,
    )


def make_application(workspace: Workspace, store: DoorStore, settings: DoorSettings | None = None) -> Guard:
    """Return the server of a workspace, as ASGI; it closes the workspace and the store when it ends."""
    chosen = DoorSettings() if settings is None else settings
    server = make_server(workspace, store, chosen)
    answering, site = (
        Answering(server),
        make_site(server, store, secure=chosen.secure, proxy=chosen.proxy, provider=chosen.provider),
    )
    audit = AuditFiles(workspace.folder) if chosen.audit is None else chosen.audit
    description = describe(OPERATIONS)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        await to_thread.run_sync(server.house.warm)
        gc.collect()
        gc.freeze()  # what is here now stays: looking through it for garbage would cost every request
        watching = asyncio.create_task(_watch(server))
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            gc.unfreeze()
            await server.jobs.stop(PATIENCE)
            server.house.close()
            store.close()
            audit.close()

    async def openapi(_: Request) -> Response:
        return Response(description, media_type="application/json", headers={"Cache-Control": "private, max-age=300"})

    endpoints = [Endpoint(answering, one) for one in OPERATIONS]
    app = Starlette(
        routes=[
            *(Route(API + one.operation.path, one, methods=[one.operation.method]) for one in endpoints),
            Route(f"{API}/openapi.json", openapi, methods=["GET"]),
            *page_routes(site),
        ],
        lifespan=life,
        exception_handlers={404: _not_there(site), 405: _not_so, Exception: _broken(server)},
    )
    app.router.redirect_slashes = False
    return Guard(
        app=ApiRoutes(endpoints, app),
        hosts=chosen.hosts,
        audit=audit,
        secure=chosen.secure,
        tick=chosen.tick,
        limits=chosen.guard,
        proxy=chosen.proxy,
    )


async def _watch(server: Server) -> None:
    """Look once a second whether the settings changed, and now and then whether a process died with work in hand."""
    for second in count():
        try:
            if second % RECOVERY == 0:
                await to_thread.run_sync(server.house.workspace.recover)
            await asyncio.sleep(1)
            await to_thread.run_sync(server.house.look_around)
        except Exception as failure:  # noqa: BLE001 - the custodian is told, and it is tried again
            server.house.log(failure)


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
        server.house.log(error)
        status, code, message = AFTER_DATA
        return Response(problem_bytes(code, message), status, media_type="application/json")

    return broken
