"""The description of the API: whatever is sent, as whoever, no failure and no answer that it does not tell of."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from doors.server.doors import Door, make_folder, serving
from lapwing.doors.server.openapi import describe
from lapwing.doors.server.operations import OPERATIONS
from postgres_server import where_there_is_room

pytestmark = pytest.mark.one_budget("the description is the same for all, and what it allows is tried at length")

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def open_door(budget):
    """A server of its own: what is sent at random may stop the spending, or people."""
    with (
        TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder,
        serving(make_folder(Path(folder) / "clinic", budget, "10000")) as door,
    ):
        yield door


@pytest.fixture(scope="module")
def cases(times: int) -> list[schemathesis.Case]:
    """What is sent: random calls of every operation. They take longer to make than to answer, so all send the same."""
    few = settings(
        max_examples=4 * times,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    made = []
    for found in schemathesis.openapi.from_dict(json.loads(describe(OPERATIONS))).get_all_operations():
        operation = found.ok()

        @few
        @given(case=operation.as_strategy())
        def make(case: schemathesis.Case) -> None:
            if "population" in (case.path_parameters or {}):
                case.path_parameters["population"] = "clinic"
            made.append(case)

        make()
    return made


@pytest.mark.parametrize("who", ["ana", "cleo", "otto", "gina", None])
def test_nothing_that_is_sent_at_random_fails(open_door: Door, cases: list[schemathesis.Case], who: str | None) -> None:
    headers = {"Authorization": f"Bearer {open_door.tokens[who]}"} if who else {}
    sent = set()
    for case in cases:
        response = case.call(base_url=f"http://127.0.0.1:{open_door.port}", headers=headers)
        case.validate_response(response, checks=CHECKS)
        sent.add(case.operation.label)
    assert len(sent) == len(OPERATIONS)
