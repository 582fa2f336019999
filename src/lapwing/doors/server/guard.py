"""Checks that every request passes first, and headers that every answer carries. Plain ASGI.

Host, form, size, time and origin are checked here, and the body is read here, whole or not at all: the code after the
guard has all bytes and never waits for the client. Refusals of the guard close the connection, because the rest of
what the client sends is of no interest.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from lapwing.doors.server.audit_log import AuditLog
from lapwing.doors.server.metrics import OTHER, Metrics
from lapwing.doors.server.problems import AFTER_DATA, problem_bytes
from lapwing.doors.server.trusted_proxy import NotVouchedError, TrustedProxy, Vouched
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.frozen import frozen

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lapwing"
)
_HEADERS: Final = [
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with no-referrer, browsers send "Origin: null" with every form
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), browsing-topics=()"),
]
_HEADERS_OF_JSON: Final = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""JSON is no page: it loads, runs and opens nothing, and a browser that is shown it needs no more rules."""
_JSON: Final = (b"content-type", b"application/json")
_ONCE_IN_WORDS: Final = (
    "Authorization",
    "Content-Type",
    "Cookie",
    "Host",
    "Idempotency-Key",
    "Origin",
    "Sec-Fetch-Site",
)
_ONCE: Final = frozenset(name.lower().encode() for name in _ONCE_IN_WORDS)
_HARMLESS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@frozen()
class GuardLimits:
    """Limits on size and time of a request; `larger` are the last parts of paths that take `most_in_larger`."""

    most_bytes: int = 64 * 1024
    most_in_larger: int = 1024 * 1024
    larger: frozenset[str] = frozenset()
    most_in_head: int = 16 * 1024
    seconds: float = 10.0

    def most(self, path: str) -> int:
        """Return how many bytes the body of a request to a path may have."""
        return self.most_in_larger if path.rpartition("/")[2] in self.larger else self.most_bytes


class Refused(NamedTuple):
    """A refusal of the guard."""

    status: int
    code: str
    message: str


class TooMuchError(Exception):
    """A body that came too slowly, or is too large."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused
        super().__init__(refused.message)


@dataclass(slots=True)
class _Progress:
    """How far the answer to one request has come."""

    begun: float
    status: int = 500
    started: bool = False
    hangs_up: bool = False


@frozen()
class Guard:
    """Refuses what no page and no program of ours would send, and writes one line about each request that matters.

    Parameters
    ----------
    app : what is guarded
    hosts : the names under which the server is known, in small letters and without a port
    secure : whether clients reach it by TLS, here or at a proxy
    tick : seconds, to which the audit rounds up how long a request took
    proxy : the trusted proxy that may name the person of a request; None: there is none
    """

    app: Application
    hosts: frozenset[str]
    audit: AuditLog
    metrics: Metrics
    secure: bool = False
    tick: float = 0.1
    proxy: TrustedProxy | None = None
    limits: GuardLimits = field(default_factory=GuardLimits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no web sockets here
        progress = _Progress(begun=time.perf_counter())
        scope["begun"], scope["id"], scope["audit"] = progress.begun, fresh_name()[:16], {}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                if progress.started:
                    return  # one answer, also if something fails after it
                progress.started, progress.status = True, message["status"]
                message["headers"] = self._dressed(message["headers"], scope, hangs_up=progress.hangs_up)
            await send(message)

        try:
            refused = self._introduce(scope)
            headers = dict(scope["headers"])
            refused = refused or self._problem(scope, headers)
            if refused is None:
                scope["body"] = await self._body(scope["path"], headers, receive)
                await self.app(scope, _replayed(scope["body"], receive), answer)
        except TooMuchError as failure:
            refused = failure.refused
        except Exception:  # noqa: BLE001 - any failure may depend on data: one body for all
            refused = Refused(*AFTER_DATA)
        try:
            if refused is not None and not progress.started:
                progress.hangs_up = True
                await _refuse(answer, refused)
        finally:
            self._count(scope, progress)
            self._write_down(scope, progress)

    def _count(self, scope: Scope, progress: _Progress) -> None:
        """Count a request by the template of its route; what fits none is counted together, whatever it says."""
        route = scope["audit"].get("operation")
        operation = OTHER if route is None else f"{scope['method']} {route}"
        self.metrics.count_request(operation, progress.status, time.perf_counter() - progress.begun)

    def _introduce(self, scope: Scope) -> Refused | None:
        """Set the person a trusted proxy vouches for, and their address, in the scope; no person without a proxy."""
        scope["vouched"] = ""
        try:
            told = Vouched() if self.proxy is None else self.proxy.read(scope)
        except NotVouchedError as wrong:
            return Refused(400, "proxy", str(wrong))
        scope["vouched"] = told.person
        if told.address:
            scope["client"] = (told.address, 0)
        return None

    def _problem(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Refused | None:
        host = headers.get(b"host", b"").decode("latin-1").casefold()
        if _name_of(host) not in self.hosts:
            return Refused(421, "host", "this server is not called so")
        if not scope["path"].startswith("/") or "\0" in scope["path"]:
            return Refused(400, "malformed", "a path begins with /")
        head = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["query_string"])
        if head > self.limits.most_in_head:
            return Refused(431, "too_large", f"the head of a request has at most {self.limits.most_in_head:,} bytes")
        names = [name for name, _ in scope["headers"] if name in _ONCE]
        if len(names) > len(set(names)):  # a proxy on the way may have read the other one
            return Refused(400, "ambiguous", f"a request has one of each of these: {', '.join(_ONCE_IN_WORDS)}")
        if b"transfer-encoding" in headers and b"content-length" in headers:
            return Refused(400, "ambiguous", "a request has a length or comes in chunks, not both")
        if b"content-encoding" in headers:
            return Refused(415, "content_type", "send the body as it is, and not packed")
        if scope["method"] not in _HARMLESS and not _same_site(headers, host):
            return Refused(403, "origin", "this came from another site")
        return None

    async def _body(self, path: str, headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """Read the body of a request, or refuse it as soon as it is known to be too much."""
        most, length = self.limits.most(path), headers.get(b"content-length")
        too_large = Refused(413, "too_large", f"a request has at most {most:,} bytes here")
        if length is not None and (not length.isdigit() or int(length) > most):
            raise TooMuchError(too_large)
        if length is None and b"transfer-encoding" not in headers:
            return b""
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise TooMuchError(too_large)
                    if message["type"] != "http.request" or not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            raise TooMuchError(Refused(408, "too_slow", "the request came too slowly")) from None

    def _dressed(
        self, headers: list[tuple[bytes, bytes]], scope: Scope, *, hangs_up: bool
    ) -> list[tuple[bytes, bytes]]:
        """Return the headers of an answer with those that every answer has."""
        always = _HEADERS_OF_JSON if _JSON in headers else _HEADERS
        more = [*headers, *always, (b"x-request-id", scope["id"].encode())]
        if all(name != b"cache-control" for name, _ in headers):
            more.append((b"cache-control", b"no-store"))
        if self.secure:
            more.append((b"strict-transport-security", b"max-age=31536000"))
        if hangs_up:
            more.append((b"connection", b"close"))
        return more

    def _write_down(self, scope: Scope, progress: _Progress) -> None:
        """Write the line about a request that was refused, or whose operation wants one. It holds no data."""
        about: dict[str, Any] = scope["audit"]
        is_refused, matters = progress.status >= 400, about.pop("always", False)  # noqa: PLR2004 - where refusals begin
        if not is_refused and not matters:
            return
        took = math.ceil((time.perf_counter() - progress.begun) / self.tick) * self.tick
        self.audit.write(
            {
                "id": scope["id"],
                "from": (scope.get("client") or ("",))[0],
                "did": f"{scope['method'][:10]} {about.pop('operation', '-')}",
                "status": progress.status,
                "ms": round(took * 1000),
                **about,
            },
            always=not is_refused or progress.status >= AFTER_DATA[0],
        )


def _name_of(host: str) -> str:
    """Return the name in a Host header, without its port.

    >>> _name_of("127.0.0.1:8000"), _name_of("[::1]:8000"), _name_of("clinic.example.org"), _name_of("a:b:c")
    ('127.0.0.1', '[::1]', 'clinic.example.org', 'a:b:c')
    """
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and (":" not in name or name.endswith("]")) else host


def _same_site(headers: Mapping[bytes, bytes], host: str) -> bool:
    site = headers.get(b"sec-fetch-site")
    if site is not None and site not in {b"same-origin", b"none"}:
        return False
    origin = headers.get(b"origin")
    return origin is None or urlsplit(origin.decode("latin-1")).netloc.casefold() == host


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that hands out a body that was read already, and then later messages."""
    told = False

    async def replayed() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def _refuse(send: Send, refused: Refused) -> None:
    body = problem_bytes(refused.code, refused.message)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
