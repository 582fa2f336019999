"""The description of the API, in OpenAPI 3.1: made from the table of operations and the types of bodies alone."""

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from lapwing import __version__
from lapwing.doors.server.authority import KEY_PATTERN
from lapwing.doors.server.calls import API, Operation
from lapwing.doors.server.for_anybody import PARQUET
from lapwing.doors.server.metrics import MEDIA_TYPE, OpenMetrics
from lapwing.doors.server.roles import Role

_JSON: Final = "application/json"
_TEXTS: Final = {bytes: ("application/jsonl",), str: ("text/plain", PARQUET), OpenMetrics: (MEDIA_TYPE,)}
"""The types of answers that are no JSON: lines of it, public files, and what monitors read."""
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": 200}


class ProblemDetails(msgspec.Struct):
    """Every refusal and every failure: a code, a sentence, and the numbers in it. After data the words never vary."""

    code: str
    message: str


class ProblemBody(msgspec.Struct):
    """What every refusal looks like."""

    error: ProblemDetails


class JobBody(msgspec.Struct):
    """A job that goes on: look for it at the address in `Location`."""

    key: str
    state: str


def describe(operations: Iterable[Operation]) -> bytes:
    """Return the description of some operations."""
    table = list(operations)
    kinds = [ProblemBody, JobBody, *(one.body for one in table if one.body)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    problem, job, *bodies = schemas
    found = iter(bodies)
    paths: dict[str, Any] = {}
    for one in table:
        described = {
            "operationId": one.name,
            "summary": one.summary,
            "parameters": _parameters(one),
            "responses": _responses(one, problem, job),
            "x-roles": None if one.roles is None else sorted(one.roles),
            "x-right": one.right.value,
            "x-charges": one.charges,
        }
        if one.roles is not None:
            described["security"] = [{"token": []}]
        if one.body is not None:
            described["requestBody"] = {"required": True, "content": {_JSON: {"schema": next(found)}}}
        paths.setdefault(API + one.path, {})[one.method.lower()] = described
    info = {
        "title": "lapwing",
        "version": __version__,
        "description": "Questions about tables of people, answered with differential privacy.",
    }
    security = {"token": {"type": "http", "scheme": "bearer"}}
    whole = {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": security},
    }
    return json.dumps(whole, indent=1).encode()


def statuses(operation: Operation) -> set[int]:
    """Return every status that an operation may answer with."""
    always = {operation.status, 429} | ({401} if operation.roles is not None else set())
    hidden = operation.roles is not None and (operation.roles != frozenset(Role) or "{" in operation.path)
    job = {202} if operation.charges else set()
    key = {400} if operation.charges else set()
    query = {422}  # an unknown word in the address
    return always | job | key | query | ({404} if hidden else set()) | set(operation.refusals)


def _parameters(one: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in one.parts
    ]
    for name, (least, most) in one.query.items():
        schema = {"type": "integer", "minimum": least, "maximum": most}
        found.append({"name": name, "in": "query", "required": False, "schema": schema})
    if one.charges:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": True,
                "schema": {"type": "string", "pattern": KEY_PATTERN},
                "description": "The same key is the same request, for ever: it is charged once and answered alike.",
            }
        )
    return found


def _responses(one: Operation, problem: Any, job: Any) -> dict[str, Any]:
    answer = {"content": {_JSON: {"schema": _schema(one.answer)}}}
    if one.answer in _TEXTS:
        answer = {"content": {kind: {"schema": {"type": "string"}} for kind in _TEXTS[one.answer]}}
    told: dict[str, Any] = {}
    for status in sorted(statuses(one)):
        match status:
            case one.status:
                told[str(status)] = {"description": "As asked.", **answer}
            case 202:
                told["202"] = {"description": "It takes longer.", "content": {_JSON: {"schema": job}}}
            case 304:
                told["304"] = {"description": "As it was."}
            case _:
                told[str(status)] = {"description": "Refused.", "content": {_JSON: {"schema": problem}}}
    return told


def _schema(answer: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([answer])
    return dict(schema)
