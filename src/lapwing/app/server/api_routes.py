"""From a method and a path to its operation: the table as a tree of the parts of its paths.

Most requests name an operation, and are answered from here. What does not (a page, another method, something that is
not there) goes on to the router of the site, which has the same endpoints and knows what to say.
"""

from typing import Any, Final

from starlette.requests import Request

from lapwing.app.server.answering import Answering
from lapwing.app.server.calls import API, Operation, Reply
from lapwing.app.server.guard import Application, Receive, Scope, Send

_EMPTY: Final = frozenset({204, 304})
"""Statuses whose answers have no body, and so no length."""


class Endpoint:
    """One operation, as ASGI."""

    def __init__(self, answering: Answering, operation: Operation) -> None:
        self.operation, self._answering = operation, answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        reply = await self._answering.answer(self.operation, Request(scope, receive))
        await send({"type": "http.response.start", "status": reply.status, "headers": _headers(reply)})
        await send({"type": "http.response.body", "body": reply.body})


class ApiRoutes:
    """Answers what names an operation, and passes on all else."""

    def __init__(self, endpoints: list[Endpoint], otherwise: Application) -> None:
        self._otherwise = otherwise
        self._tree: dict[str, Any] = {}
        for one in endpoints:
            node = self._tree
            for part in _parts(one.operation.method, API + one.operation.path):
                node = node.setdefault("{}" if part.startswith("{") else part, {})
            node[""] = one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        endpoint = self.find(scope) if scope["type"] == "http" else None
        await (self._otherwise if endpoint is None else endpoint)(scope, receive, send)

    def find(self, scope: Scope) -> Endpoint | None:
        """Return the operation that a request names, and write down the parts of its path; None if it names none."""
        node, given = self._tree, list[str]()
        for part in _parts(scope["method"], scope["path"]):
            inner = node.get(part)
            if inner is None or part in {"", "{}"}:
                inner = node.get("{}") if part else None
                given.append(part)
            if inner is None:
                return None
            node = inner
        found: Endpoint | None = node.get("")
        if found is not None:
            scope["path_params"] = dict(zip(found.operation.parts, given, strict=True))
        return found


def _parts(method: str, path: str) -> list[str]:
    return [method, *path.split("/")[1:]]


def _headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    typed = reply.media_type + ("; charset=utf-8" if reply.media_type.startswith("text/") else "")
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
    if reply.status not in _EMPTY:
        headers.append((b"content-length", str(len(reply.body)).encode()))
    return [*headers, (b"content-type", typed.encode())]
