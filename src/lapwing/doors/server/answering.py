"""The way of a program's request behind the guard: its token, its admission, its body; then the work; then its answer.

The order matters: nothing is read for a request without a token, and a body is read only when the call is admitted.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from anyio import to_thread
from starlette.requests import Request

from lapwing.doors.server.authority import NOBODY, admit, perform
from lapwing.doors.server.calls import API, Operation, Reply, Server, ServerCall
from lapwing.doors.server.people import Person
from lapwing.doors.server.problems import AFTER_DATA, ProblemError, body_of, headers_of, problem_bytes, status_of
from lapwing.doors.server.rates import Buckets, RateLimit
from lapwing.doors.server.sign_in_limits import NEAR, network_of
from lapwing.doors.server.wire import MalformedError, read_body
from lapwing.vocabulary.errors import LapwingError

_ENCODER: Final = msgspec.json.Encoder()
_NO_TOKEN: Final = "a valid token is needed: Authorization: Bearer lw_..."  # noqa: S105 - it is a sentence


class Answering:
    """Calls operations for those who may call them, as often as they may."""

    def __init__(self, server: Server) -> None:
        self._server, limits = server, server.limits
        self._looks, self._rates = Buckets(limits.looks), server.rates

    async def answer(self, operation: Operation, request: Request) -> Reply:
        """Return the reply to a request."""
        request.scope["audit"]["operation"] = API + operation.path
        try:
            if self._server.is_remote:  # the person and the state of the ledger are queried over a network
                call = await to_thread.run_sync(self._call, operation, request, limiter=self._server.threads)
            else:
                call = self._call(operation, request)
            told = await perform(call)
        except ProblemError as problem:
            return Reply(body=_ENCODER.encode(problem.body()), status=problem.status, headers=problem.headers)
        except LapwingError as failure:
            return Reply(body=_ENCODER.encode(body_of(failure)), status=status_of(failure), headers=headers_of(failure))
        except Exception as failure:  # noqa: BLE001 - it may depend on data: one body for all of it
            self._server.state.log(failure)
            status, code, message = AFTER_DATA
            return Reply(body=problem_bytes(code, message), status=status)
        return told if isinstance(told, Reply) else Reply(body=_ENCODER.encode(told), status=operation.status)

    def _call(self, operation: Operation, request: Request) -> ServerCall:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in request.scope["headers"]}
        key = headers.get("idempotency-key", "")
        if operation.roles is None:
            self._spare(request, self._looks)
            admitted = admit(self._server, operation, NOBODY, request.path_params, key)
        else:
            person = self._who(request, headers)
            request.scope["audit"]["who"] = person.id
            rate = self._rates.asks if operation.charges else self._looks
            admitted = admit(self._server, operation, person, request.path_params, key, rate=rate)
        raw: bytes = b"" if operation.body is None else request.scope["body"]
        body = None if operation.body is None else _body(operation, headers, raw)
        return admitted.call(request, query=_query(operation, request), body=body, raw=raw, headers=headers)

    def _who(self, request: Request, headers: Mapping[str, str]) -> Person:
        """Return whose token it is. Cookies are not looked at: there is nothing that another site could forge."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        person = self._server.people.by_token(token.strip()) if scheme.casefold() == "bearer" else None
        if person is None:
            self._spare(request, self._rates.wrong_tokens)
            raise ProblemError(401, "token", _NO_TOKEN, headers={"WWW-Authenticate": 'Bearer realm="lapwing"'})
        return person

    @staticmethod
    def _spare(request: Request, limit: RateLimit) -> None:
        """Let an address try so often, and no more often."""
        if wait := limit.take(network_of(request.client.host if request.client else "", NEAR)):
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
