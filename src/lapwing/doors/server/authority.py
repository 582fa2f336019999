"""The one place that decides whether somebody may call an operation; programs and pages both come through it.

In this order: the role and the right, the rate, the population, the idempotency key. What is not for somebody is not
there, and the body of a request is read only after it was admitted.
"""

import re
from collections.abc import Mapping
from functools import cache
from inspect import iscoroutinefunction
from typing import Any, Final

from starlette.requests import Request

from lapwing.doors.server.allowed_again import require_told
from lapwing.doors.server.calls import Operation, Server, ServerCall
from lapwing.doors.server.people import Person
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.rates import RateLimit
from lapwing.doors.server.roles import Right, Role
from lapwing.vocabulary.frozen import frozen

NOBODY: Final = Person(id="", name="", role=Role.GUEST, rights=frozenset({Right.READ}))
"""The person of a request without a sign-in or a token."""

KEY_PATTERN: Final = r"^[A-Za-z0-9._~-]{8,128}$"
_KEY: Final = re.compile(KEY_PATTERN.strip("^$"))
_NO_KEY: Final = (
    "send an Idempotency-Key of 8 to 128 letters, digits and . _ ~ -; the same key is the same request, for ever"
)

_is_coroutine: Final = cache(iscoroutinefunction)


def may_call(operation: Operation, person: Person) -> bool:
    """Say whether the role and the rights of a person allow an operation."""
    return operation.roles is None or (
        bool(person.id) and person.role in operation.roles and operation.right in person.rights
    )


@frozen()
class AdmittedCaller:
    """A person who may call an operation, on the population of its path if it has one. `admit` alone makes it."""

    server: Server
    operation: Operation
    person: Person
    path: Mapping[str, str]
    last_entry: int
    key: str

    def call(
        self, request: Request, *, query: Mapping[str, int], body: Any, raw: bytes, headers: Mapping[str, str]
    ) -> ServerCall:
        """Return the call of a request, and note in the audit log what must be kept of it."""
        audit, operation = request.scope["audit"], self.operation
        if operation.charges or (operation.right is Right.MANAGE and operation.method != "GET"):
            audit["always"] = True
        if self.key:
            audit["key"] = self.key
        return ServerCall(
            server=self.server,
            operation=operation,
            person=self.person,
            path=self.path,
            query=query,
            body=body,
            raw=raw,
            key=self.key,
            headers=headers,
            begun=request.scope["begun"],
            last_entry=self.last_entry,
            audit=audit,
        )


def admit(
    server: Server,
    operation: Operation,
    person: Person,
    path: Mapping[str, str],
    key: str = "",
    *,
    rate: RateLimit | None = None,
) -> AdmittedCaller:
    """Admit a person to an operation, or refuse it; with `rate`, at most so often."""
    if not may_call(operation, person):
        raise ProblemError.not_there()
    if rate is not None and (wait := rate.take(person.id)):
        raise ProblemError.too_many("too many requests at once; nothing was asked or charged", wait)
    last = server.state.require_population(path["population"], person) if "population" in operation.parts else 0
    if operation.charges and not _KEY.fullmatch(key):
        raise ProblemError(400, "idempotency_key", _NO_KEY)
    if last and operation.method != "DELETE":  # what was opened may be closed whatever it is about
        require_keys(server, path["population"], person, last, key if operation.charges else "", path.get("key", ""))
    return AdmittedCaller(
        server=server,
        operation=operation,
        person=person,
        path=path,
        last_entry=last,
        key=key if operation.charges else "",
    )


def require_keys(server: Server, population: str, person: Person, last: int, *keys: str) -> None:
    """Refuse somebody who may not ask about the tables of what stands under keys; `last` is the ledger's last entry."""
    if any(keys) and server.state.is_limited(population, person, last):
        for key in {*keys} - {""}:
            require_told(server.state.ledger, server.memory, population, person.id, key)


async def perform(call: ServerCall) -> Any:
    """Do what a call asks for: a coroutine here, everything else in a thread."""
    handler = call.operation.handler
    return await handler(call) if _is_coroutine(handler) else await call.in_thread(handler)
