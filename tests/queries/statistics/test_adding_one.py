"""A statistic is one file: a toy that is registered is asked through every door, and nothing else knows of it."""

from fractions import Fraction

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run, write_patients
from lapwing.errors import BadQuestionError
from lapwing.queries.algebra.aggregate import CountPerPerson
from lapwing.queries.language.builders import as_condition, as_groups
from lapwing.queries.language.sql.nodes import only
from lapwing.queries.planning.plan import CanonicalQuestion, NoisyMeaning
from lapwing.queries.planning.planner import Question, plan
from lapwing.queries.statistics import STATISTICS
from lapwing.queries.statistics.statistic import Statistic
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.frozen import frozen

# The toy: how many dozens of people there are. This is all of it.


@frozen(eq=False, repr=False)
class CountDozens(Question):
    def plan(self, planner):
        return planner.build(CountPerPerson(max_cells=planner.groups()), Dozens())


def dozens(table, where=None, *, by=(), max_groups=None):
    return CountDozens(table=table, where=as_condition(where), by=as_groups(by), max_groups=max_groups)


@stored("toy-dozens")
class Dozens(NoisyMeaning):
    unit = "dozens"
    asks = "how many dozens of people there are"

    def estimates(self, plan, released):
        return {key: Fraction(number, 12) for key, (number,) in plan.blocks(released)}

    def margin(self, plan, noise, confidence):
        return Fraction(plan.margin_of_each(noise, confidence), 12)


def _read(selected, node):
    only(node, "this", "expressions")
    for star in node.expressions:
        only(star)
    return CountDozens(**selected.common)


DOZENS = Statistic(name="dozens", ask=dozens, result="dozens", sql={"dozens": ("dozens", _read)})


# And how it is asked.

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = { epsilon = "1000" }

[populations.clinic.tables.patients]
source = "patients.csv"
columns.age = { type = "integer", low = 0, high = 120 }
"""
SQL = "select dozens(*) from patients"


@pytest.fixture
def folder(quick_path):
    write_patients(quick_path, people=1200)
    lw.create(quick_path, SETTINGS).close()
    return quick_path


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setitem(STATISTICS, DOZENS.name, DOZENS)


def test_it_is_previewed_asked_and_explained(folder) -> None:
    with lw.open(folder, analyst="ana") as clinic:
        preview = clinic.preview(dozens("patients"), within=2)
        assert preview.margin == {"answer": 2}
        answer = clinic.ask(dozens("patients"), epsilon=10)
        assert abs(answer.value - 100) < 1
        assert answer.asked.units == {"answer": "dozens"}
        assert answer.sentence.startswith("how many dozens of people there are, in patients: ")
        assert clinic.ask(dozens("patients"), epsilon=10).free
        assert not clinic.ask(lw.count("patients"), epsilon=10).free, "which is another question"
        grouped = clinic.ask(dozens("patients", by=lw.bins("age", [0, 60, 121])), epsilon=10)
        assert abs(sum(row["answer"] for row in grouped.rows) - 100) < 2
        asked = plan(dozens("patients"), clinic.population)
    assert CanonicalQuestion.read(asked.canonical).meaning == Dozens()
    assert "a person counts once" in asked.explain()


@pytest.mark.usefixtures("known")
def test_it_is_asked_in_sql(folder) -> None:
    with lw.open(folder, analyst="ana") as clinic:
        answer = clinic.sql(f"{SQL} where age >= 0", epsilon=10)
        assert answer.columns == ("dozens",)
        assert abs(answer.value - 100) < 1
        with pytest.raises(BadQuestionError, match=r"the statistics are count, .*, dozens$"):
            clinic.sql("select scores(*) from patients", epsilon=10)


def test_sql_does_not_know_what_is_not_registered(folder) -> None:
    with lw.open(folder, analyst="ana") as clinic, pytest.raises(BadQuestionError, match="no function 'dozens'"):
        clinic.sql(SQL, epsilon=10)


@pytest.mark.usefixtures("known")
def test_it_is_asked_at_the_command_line(folder) -> None:
    told = run(folder, "ask", "dozens", "patients", "--where", "age >= 0", "--epsilon", "10", "--json").json
    value = told["rows"][0]["values"]["dozens"]["rounded"]["value"]
    assert abs(value - 100) < 1
    assert "dozens" in run(folder, "ask", "scores", "patients", "--epsilon", "10").err
    refused = run(folder, "ask", "dozens", "patients", "--max-rows", "3", "--epsilon", "10")
    assert refused.code == 2
    assert "--max-rows 3 does not go with dozens; it takes --by, --max-groups, --where" in refused.err
    assert "dozens TABLE\n" in run(folder, "ask", "--help").out
    explained = run(folder, "explain", "dozens", "patients").out
    assert "how many dozens of people there are, in patients" in " ".join(explained.split())
