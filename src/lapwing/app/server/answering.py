"""The way of a request behind the guard: who, which role, how often, what body; then the work; then its answer.

The order matters: nothing is read for whoever has no token, what is not for a role is not there, and a body is looked
at only when the call is allowed.
"""

import re
from collections.abc import Mapping
from functools import cache
from inspect import iscoroutinefunction
from typing import Any, Final

import msgspec
from anyio import to_thread
from starlette.requests import Request

from lapwing.app.server.calls import API, Operation, Reply, Server, ServerCall
from lapwing.app.server.people import Person
from lapwing.app.server.problems import AFTER_DATA, ProblemError, body_of, headers_of, problem_bytes, status_of
from lapwing.app.server.rates import Buckets
from lapwing.app.server.roles import Right, Role
from lapwing.app.server.wire import MalformedError, read_body
from lapwing.vocabulary.errors import LapwingError

KEY_PATTERN: Final = r"^[A-Za-z0-9._~-]{8,128}$"
_KEY: Final = re.compile(KEY_PATTERN.strip("^$"))
_ENCODER: Final = msgspec.json.Encoder()
_NOBODY: Final = Person(id="", name="", role=Role.GUEST, rights=frozenset({Right.READ}))
_NO_TOKEN: Final = "a valid token is needed: Authorization: Bearer lw_..."  # noqa: S105 - it is a sentence
_NO_KEY: Final = (
    "send an Idempotency-Key of 8 to 128 letters, digits and . _ ~ -; the same key is the same request, for ever"
)


_is_coroutine: Final = cache(iscoroutinefunction)


class Answering:
    """Calls operations for whoever may call them; it holds what everybody has left of the rates."""

    def __init__(self, server: Server) -> None:
        self._server, limits = server, server.limits
        self._looks, self._asks = Buckets(limits.looks), Buckets(limits.asks)
        self._wrong_tokens = Buckets(limits.wrong_tokens)

    async def answer(self, operation: Operation, request: Request) -> Reply:
        """Return what comes of a request."""
        audit = request.scope["audit"]
        audit["operation"] = API + operation.path
        try:
            if self._server.is_remote:  # who it is, and how the ledger stands, is asked over a network
                call = await to_thread.run_sync(self._call, operation, request, limiter=self._server.threads)
            else:
                call = self._call(operation, request)
            if operation.charges or (operation.right is Right.MANAGE and operation.method != "GET"):
                audit["always"] = True
            if _is_coroutine(operation.handler):
                told = await operation.handler(call)
            else:
                told = await call.in_thread(operation.handler)
        except ProblemError as problem:
            return Reply(body=_ENCODER.encode(problem.body()), status=problem.status, headers=problem.headers)
        except LapwingError as failure:
            return Reply(body=_ENCODER.encode(body_of(failure)), status=status_of(failure), headers=headers_of(failure))
        except Exception as failure:  # noqa: BLE001 - it may depend on data: one body for all of it
            self._server.house.log(failure)
            status, code, message = AFTER_DATA
            return Reply(body=problem_bytes(code, message), status=status)
        return told if isinstance(told, Reply) else Reply(body=_ENCODER.encode(told), status=operation.status)

    def _call(self, operation: Operation, request: Request) -> ServerCall:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.scope["headers"]}
        audit = request.scope["audit"]
        person = _NOBODY if operation.roles is None else self._who(request, headers)
        if operation.roles is None:
            self._spare(request, self._looks)
        else:
            audit["who"] = person.id
            if person.role not in operation.roles or operation.right not in person.rights:
                raise ProblemError.not_there()
            buckets = self._asks if operation.charges else self._looks
            if wait := buckets.take(person.id):
                raise ProblemError.too_many("too many requests at once; nothing was asked or charged", wait)
        path: dict[str, str] = request.path_params
        last = self._server.house.require_population(path["population"], person) if "population" in path else 0
        raw: bytes = request.scope["body"]
        body = None if operation.body is None else _body(operation, headers, raw)
        key = _key(operation, headers)
        if key:
            audit["key"] = key
        return ServerCall(
            server=self._server,
            operation=operation,
            person=person,
            path=path,
            query=_query(operation, request),
            body=body,
            raw=raw if operation.body is not None else b"",
            key=key,
            headers=headers,
            begun=request.scope["begun"],
            last_entry=last,
            audit=audit,
        )

    def _who(self, request: Request, headers: Mapping[str, str]) -> Person:
        """Return whose token it is. Cookies are not looked at: there is nothing that another site could forge."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        person = self._server.people.by_token(token.strip()) if scheme.casefold() == "bearer" else None
        if person is None:
            self._spare(request, self._wrong_tokens)
            raise ProblemError(401, "token", _NO_TOKEN, headers={"WWW-Authenticate": 'Bearer realm="lapwing"'})
        return person

    @staticmethod
    def _spare(request: Request, buckets: Buckets) -> None:
        """Let an address try so often, and no more often."""
        if wait := buckets.take(request.client.host if request.client else ""):
            raise ProblemError.too_many("too many tries from this address", wait)


def _body(operation: Operation, headers: Mapping[str, str], raw: bytes) -> Any:
    if headers.get("content-type", "").partition(";")[0].strip().casefold() != "application/json":
        raise ProblemError(415, "content_type", "send application/json")
    try:
        return read_body(raw, operation.body)
    except MalformedError as malformed:
        raise ProblemError(400, "malformed", str(malformed)) from None
    except msgspec.ValidationError as wrong:
        raise ProblemError(422, "invalid", str(wrong)[:300]) from None


def _key(operation: Operation, headers: Mapping[str, str]) -> str:
    if not operation.charges:
        return ""
    key = headers.get("idempotency-key", "")
    if not _KEY.fullmatch(key):
        raise ProblemError(400, "idempotency_key", _NO_KEY)
    return key


def _query(operation: Operation, request: Request) -> dict[str, int]:
    found: dict[str, int] = {}
    if not request.scope["query_string"]:
        return found
    for name, value in request.query_params.multi_items():
        if name not in operation.query:
            raise ProblemError(422, "invalid", f"there is no {name[:60]} here")
        least, most = operation.query[name]
        is_whole = value.isascii() and value.isdecimal() and len(value) <= len(str(most))
        if name in found or not is_whole or not least <= int(value) <= most:
            raise ProblemError(422, "invalid", f"{name} is a number from {least} to {most}, written once")
        found[name] = int(value)
    return found
