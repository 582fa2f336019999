"""Public facts are told at every door: from how many people on a group is shown, and advice on budgets."""

import json
import re
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

import lapwing as lw
from doors.server.doors import Door, add_people, serving
from lapwing.doors.cli import main

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = { epsilon = "10", delta = "1e-5" }
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
city = { type = "text" }
"""
SELECT = "select city, count(*) as n from patient group by city"
pytestmark = pytest.mark.one_budget("groups whose keys only the data knows need a delta; others are refused by name")


@pytest.fixture(scope="module")
def door(tmp_path_factory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("clinic")
    rows = "".join(f"{i},{'Bern' if i % 3 else 'Thun'}\n" for i in range(1, 401))
    (folder / "patient.csv").write_text(f"patient_id,city\n{rows}")
    lw.create(folder, SETTINGS).close()
    tokens = add_people(folder)
    with serving(folder, tokens=tokens) as opened:
        yield opened


def test_from_how_many_people_on_a_group_is_shown_is_told_before_and_after_asking(door) -> None:
    with lw.open(door.folder, analyst="ana") as here:
        people, margin = here.preview(SELECT, epsilon="0.5", delta="1e-8").shown_from["n"]
    told = {"n": {"people": people, "margin": margin}}
    with lw.connect(door.url, door.tokens["ana"]) as there:
        assert there.preview(SELECT, epsilon="0.5", delta="1e-8").shown_from == {"n": (people, margin)}
        answer = there.sql(SELECT, epsilon="0.5", delta="1e-8")
        assert answer.to_dict()["shown_from"] == told
        assert f"about {people}" in str(answer)
        assert f"about {people}" in answer._repr_html_()
    words = ["preview", SELECT, "--epsilon", "0.6", "--delta", "1e-8", "-w", str(door.folder)]
    printed = CliRunner().invoke(main, words).output
    assert re.search(r"shown from about \d+ people on", " ".join(printed.split()))
    assert json.loads(CliRunner().invoke(main, [*words, "--json"]).output)["shown_from"]["n"]["people"] > 10


def test_what_speaks_against_a_budget_is_told_when_one_is_raised(door) -> None:
    held = door.call("cleo", "GET", "/api/v1/populations/clinic/policy").json()
    assert isinstance(held["advice"], list)
    raised = {"budget": {"epsilon": "10", "delta": "0.1"}}
    told = door.call("cleo", "PATCH", "/api/v1/populations/clinic/policy", raised).json()
    assert any("delta" in one for one in told["advice"])
