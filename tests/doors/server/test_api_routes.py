"""Each operation is found by its path and method, and none stands in the way of another."""

import re

import pytest
from starlette.routing import Match

from lapwing.doors.server.application import operation_routes
from lapwing.doors.server.calls import API
from lapwing.doors.server.operations import OPERATIONS

pytestmark = pytest.mark.one_budget("routes are the same for all")

ROUTES = operation_routes(None)


def found(method: str, path: str) -> list[tuple[str, dict[str, str]]]:
    """Return the operations that a request fits, with the parts of its path."""
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    matches = (route.matches(scope) for route in ROUTES)
    return [(inner["endpoint"].operation.name, inner["path_params"]) for how, inner in matches if how is Match.FULL]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_operation_is_found_with_the_parts_of_its_path_and_no_other_is(operation) -> None:
    parts = {name: f"the {name} {{}} é" for name in operation.parts}
    path = API + re.sub(r"{(\w+)}", lambda part: parts[part[1]], operation.path)
    assert found(operation.method, path) == [(operation.name, parts)]


@pytest.mark.parametrize(
    "path", ["/", "/api", API, f"{API}/", f"{API}/me/", f"{API}//me", f"{API}/populations//questions"]
)
def test_a_path_that_is_nearly_one_is_none(path: str) -> None:
    assert [found(method, path) for method in ("GET", "POST", "DELETE", "get", "")] == [[]] * 5
