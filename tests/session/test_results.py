"""Every result describes itself: the same values in JSON, one short line, and a table that is safe in a notebook."""

import json

import pytest

import lapwing as lw
from lapwing.auditor.finding import Finding
from lapwing.ledger.replay import verify
from lapwing.vocabulary.guarantee import PureDP
from lapwing.vocabulary.results import Result

HOSTILE = "<img src=x onerror=alert(1)>"
SETTINGS = f"""
[populations.clinic]
person_key = "pid"
budget = {{ epsilon = 10 }}
[populations.clinic.tables.patient]
source = "patient.csv"
columns.sex = {{ type = "category", values = ["F", "{HOSTILE}"] }}
columns.age = {{ type = "integer", low = 0, high = 120 }}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, Result]:
    """One result of every kind."""
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "patient.csv").write_text("pid,sex,age\n" + "".join(f"{i},F,{i}\n" for i in range(100)))
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as session:
        with session.stream(at_least=20, yeses=2, epsilon="1", table="patient") as stream:
            yes, no = stream.ask("age >= 0"), stream.ask("age > 119")
        with pytest.raises(lw.LapwingError) as refused:
            session.ask(lw.count(HOSTILE), epsilon=1)
        return {
            "answer": session.ask(lw.count("patient", by="sex"), epsilon="0.1"),
            "one number": session.ask(lw.count("patient"), epsilon="0.1"),
            "quantiles": session.ask(lw.quantiles("patient", "age", ["0.5"]), epsilon="0.1"),
            "preview": session.preview(lw.count("patient", by="sex"), epsilon="0.1"),
            "refused preview": session.preview(lw.count("patient"), epsilon=15),
            "stream preview": session.preview_stream(at_least=20, yeses=2, epsilon="1", table="patient"),
            "refused stream": session.preview_stream(at_least=20, yeses=2, epsilon="15", table="patient"),
            "yes": yes,
            "no": no,
            "budget": session.budget(),
            "table": session.population.table("patient"),
            "verification": verify(session.ledger),
            "error": refused.value,
            "finding": Finding(
                suspect=HOSTILE,
                claim=PureDP(epsilon="1/3"),
                method="exact sum",
                currency="epsilon",
                achieved=float("inf"),
                confidence="0.999999",
                where="0 and 1",
                refuted=True,
            ),
        }


KINDS = [
    "answer",
    "one number",
    "quantiles",
    "preview",
    "refused preview",
    "stream preview",
    "refused stream",
    "yes",
    "no",
    "budget",
    "table",
    "verification",
    "error",
    "finding",
]


def test_every_kind_is_looked_at(results) -> None:
    assert list(results) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_json_holds_the_values_and_nothing_else(results, kind) -> None:
    assert json.loads(results[kind].to_json()) == results[kind].to_dict()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "answer"])
def test_a_result_that_is_no_table_is_one_short_line(results, kind) -> None:
    line = repr(results[kind])
    assert "\n" not in line
    assert len(line) < 150
    assert "object at 0x" not in line


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_a_table_in_which_all_is_escaped(results, kind) -> None:
    shown = results[kind]._repr_html_()
    assert shown.startswith("<table>")
    assert shown.endswith(("</table>", "</svg></div>"))  # a picture follows the table of several rows
    assert "<img" not in shown
    assert all(text is None or isinstance(text, str) for _, text in results[kind].facts())


def test_what_is_hostile_is_shown_as_text(results) -> None:
    for kind in ("answer", "table", "error", "finding"):
        assert "&lt;img src=x" in results[kind]._repr_html_(), kind


def test_a_yes_knows_where_its_count_lies(results) -> None:
    told = results["yes"].to_dict()
    assert told["verdict"] == "above"
    assert float(told["interval"]["low"]) <= 100 + told["gap"]
    assert results["no"].to_dict()["interval"] is None


def test_a_session_says_whose_it_is_and_about_what(tmp_path) -> None:
    (tmp_path / "patient.csv").write_text("pid,sex,age\n1,F,30\n")
    lw.create(tmp_path, SETTINGS).close()
    with lw.open(tmp_path, analyst="ana") as session:
        assert repr(session) == "<session of ana at clinic: patient>"
        assert repr(session.population.table("patient")) == "<table patient: sex, age; one row a person>"
