"""A group of one width is told by its lower end at every door: HTTP, client and command line."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

import lapwing as lw
from doors.server.doors import Door, P, add_people, make_folder, serving
from lapwing.doors.cli import main
from lapwing.noise.randomness import fresh_name

TEXT = "select floor(age / 30) * 30 as part, count(*) as n from patient group by 1"
KEYS = [0, 30, 60, 90, 120]


@pytest.fixture(scope="module")
def door(tmp_path_factory, budget) -> Iterator[Door]:
    folder = make_folder(tmp_path_factory.mktemp("clinic"), budget)
    tokens = add_people(folder)
    with serving(folder, tokens=tokens) as opened:
        yield opened


def test_a_step_is_its_lower_end_at_every_door(door, budget) -> None:
    body = {"question": {"ask": "sql", "text": TEXT}, "price": budget.of("0.1")}
    answer = door.call("ana", "POST", f"{P}/questions", body, key=fresh_name())
    assert [row["key"] for row in answer.json()["answer"]["rows"]] == [[key] for key in KEYS]
    with lw.connect(door.url, door.tokens["ana"]) as there:
        told = there.sql(f"{TEXT} having part >= 60", **budget.of("0.1"))
        assert told["part"] == [60, 90, 120]
        assert [row["part"] for row in told.to_rows()] == [60, 90, 120]
    words = ["sql", TEXT, *budget.options("0.1"), "-w", str(door.folder)]
    printed = CliRunner().invoke(main, words).output
    assert [line.split()[0] for line in printed.splitlines()[1:6]] == list(map(str, KEYS)), printed
    rows = json.loads(CliRunner().invoke(main, [*words, "--json"]).output)["rows"]
    assert [row["key"] for row in rows] == [[key] for key in KEYS]
