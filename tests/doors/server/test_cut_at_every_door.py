"""A number that a bound of rows may have cut is marked at every door: HTTP, client and command line."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

import lapwing as lw
from doors.server.doors import Door, P, add_people, serving
from lapwing.doors.cli import main
from lapwing.noise.randomness import fresh_name

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = {budget}
[populations.clinic.tables.visit]
source = "visit.csv"
rows = "many"
max_rows = 2
[populations.clinic.tables.visit.columns]
kind = {{ type = "category", values = ["ER", "other"] }}
"""
CUT = "select kind, count(*) as n from visit group by kind"
WHOLE = "select count(distinct patient_id) as n from visit"


@pytest.fixture(scope="module")
def door(tmp_path_factory, budget) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("clinic")
    rows = "".join(f"{i % 100},{'ER' if i % 3 else 'other'}\n" for i in range(400))
    (folder / "visit.csv").write_text(f"patient_id,kind\n{rows}")
    lw.create(folder, SETTINGS.format(budget=budget.toml())).close()
    with serving(folder, tokens=add_people(folder)) as opened:
        yield opened


@pytest.mark.parametrize(("text", "cut"), [(CUT, ["n"]), (WHOLE, [])])
def test_what_was_cut_is_marked_at_every_door(text, cut, door, budget) -> None:
    body = {"question": {"ask": "sql", "text": text}, "price": budget.of("0.1")}
    told = door.call("ana", "POST", f"{P}/questions", body, key=fresh_name()).json()["answer"]
    assert told["cut"] == cut
    with lw.connect(door.url, door.tokens["ana"]) as there:
        answer = there.sql(text, **budget.of("0.1"))
    assert answer.to_dict()["cut"] == cut
    assert (", cut" in repr(answer) and ", cut" in answer._repr_html_()) is bool(cut)
    words = ["sql", text, *budget.options("0.1"), "-w", str(door.folder)]
    printed = CliRunner().invoke(main, words).output
    assert (", cut" in printed) is bool(cut), printed
    assert json.loads(CliRunner().invoke(main, [*words, "--json"]).output)["cut"] == cut
