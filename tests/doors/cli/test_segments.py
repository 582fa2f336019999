"""A public partition at the command line: `--segment` asks about one segment, and `budget` has a line for each."""

from pathlib import Path

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run, write_patients

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = { epsilon = "10" }

[populations.clinic.segments]
north = { first = 0, last = 499 }
south = { first = 500, last = 799 }

[populations.clinic.tables.patients]
source = "patients.csv"
columns.age = { type = "integer", low = 0, high = 120 }
"""


@pytest.fixture
def folder(quick_path) -> Path:
    write_patients(quick_path, people=1000)
    lw.create(quick_path, SETTINGS).close()
    return quick_path


def test_a_segment_is_asked_about_and_pays_alone(folder) -> None:
    told = run(folder, "count", "patients", "--segment", "north", "--epsilon", "9", "--json").json
    assert abs(int(told["rows"][0]["values"]["people"]["value"]) - 500) <= 5
    budget = run(folder, "budget", "--json").json
    assert {segment: one["spent"] for segment, one in budget["segments"].items()} == {
        "north: 0 to 499": "9",
        "south: 500 to 799": "0",
        "elsewhere": "0",
    }
    assert run(folder, "count", "patients", "--segment", "south", "--epsilon", "9").code == 0
    assert run(folder, "count", "patients", "--epsilon", "2").code == 3


def test_the_budget_of_a_segment_is_shown_alone_when_it_is_named(folder) -> None:
    run(folder, "count", "patients", "--segment", "north", "--epsilon", "9")
    assert run(folder, "budget", "--segment", "south", "--json").json["spent"] == "0"
    shown = run(folder, "budget").out
    assert "segment north: 0 to 499" in shown
    assert "segment elsewhere" in shown


def test_an_unknown_segment_is_refused_with_those_there_are(folder) -> None:
    told = run(folder, "count", "patients", "--segment", "west", "--epsilon", "1")
    assert told.code == 2
    assert "it has north, south, elsewhere" in told.err
