"""The short way to an operation is the way that the router of the site would take."""

import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Match, Route

from doors.server.doors import P
from lapwing.doors.server.application import ApiRoutes, Endpoint
from lapwing.doors.server.calls import API
from lapwing.doors.server.operations import OPERATIONS

pytestmark = pytest.mark.one_budget("routes are the same for all")

ENDPOINTS = [Endpoint(None, one) for one in OPERATIONS]
ROUTES = [Route(API + one.path, end, methods=[one.method]) for one, end in zip(OPERATIONS, ENDPOINTS, strict=True)]
SHORT = ApiRoutes(ENDPOINTS, Starlette())


def request(method: str, path: str) -> dict:
    return {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}


def by_the_router(scope: dict) -> tuple[Endpoint, dict[str, str]] | None:
    for route in ROUTES:
        matched, found = route.matches(scope)
        if matched is Match.FULL:
            return found["endpoint"], found["path_params"]
    return None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_operation_is_found_with_the_parts_of_its_path(operation) -> None:
    scope = request(operation.method, API + re.sub(r"{(\w+)}", r"the \1 {} é", operation.path))
    assert SHORT.find(scope).operation is operation
    assert by_the_router(scope) == (SHORT.find(scope), scope["path_params"])
    assert set(scope["path_params"]) == set(operation.parts)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "nothing",
        "/api",
        API,
        f"{API}/",
        f"{API}/me/",
        f"{API}//me",
        f"{API}/populations//questions",
        f"{API}/populations/{{}}/",
        f"{API}/populations/a/b/c/d/e",
        f"{P}/questions/",
        "/api/v1/{}",
        f"{API}/ledger",
        f"{P}/streams/{{}}",
        f"{P}/streams/s/questions/q",
        f"{API}/people/ana/",
        "/GET/api/v1/me",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PATCH", "PUT", "get", "", "{}", "TRACE"])
def test_what_the_router_does_not_find_is_not_found(method: str, path: str) -> None:
    scope = request(method, path)
    found, expected = SHORT.find(scope), by_the_router(scope)
    assert (found is None) == (expected is None)
    assert found is None or (found, scope["path_params"]) == expected
