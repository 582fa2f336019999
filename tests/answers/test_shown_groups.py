"""Statistics by keys that only the data knows: which groups are shown, what is told of them, and what it costs."""

from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from budgets import KindOfBudget
from engines.clinic import clinic
from lapwing.answers.releases import PricedQuestion
from lapwing.answers.target import AtEpsilon, release_together
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError, LapwingError
from lapwing.vocabulary.event import ApproximateRelease, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import ApproximateDP

EPSILON, DELTA = Fraction(3), Fraction(1, 10**12)
TEXT = "select note, count(*) as n, sum(nights) as s, avg(nights) as m from visits group by note"


def asked(text: str = TEXT, **words) -> PricedQuestion:
    selection = read_sql(text, **{"max_rows": 2, **words})
    plans = plan_together(selection, clinic())
    target, budget = AtEpsilon(epsilon=EPSILON, delta=DELTA), ApproximateDP(epsilon=9, delta=Fraction(1, 100))
    releases = release_together(selection, plans, clinic(), target, budget)
    return PricedQuestion(releases=releases, arrangement=selection.arrangement)


def exact(groups, numbers: dict[str, int]) -> list[Sensitive]:
    """Return tables in which each group has so many people, and every number of it is as large."""
    parts = [{(key,): (many,) * part.plan.aggregate.terms for key, many in numbers.items()} for part in groups.parts]
    return [Sensitive({(key,): (many,) for key, many in numbers.items()}), *map(Sensitive, parts)]


def test_the_keys_and_each_part_are_charged_and_nothing_else() -> None:
    question = asked()
    (groups,) = question.sources
    keys, *parts = groups.event.parts
    assert isinstance(keys, ApproximateRelease)
    assert keys.delta == DELTA
    assert all(isinstance(part, DiscreteLaplaceNoise) for part in parts)
    spent = keys.epsilon + sum(part.l1_sensitivity / part.scale for part in parts)
    assert EPSILON * Fraction(999, 1000) <= spent <= EPSILON
    assert (question.price.epsilon, question.price.delta) == (spent, DELTA)


def test_a_group_of_few_is_not_shown_and_no_number_of_it_is_told() -> None:
    question = asked()
    (groups,) = question.sources
    released = groups.release(exact(groups, {"many": 10_000, "one": 1, "two": 2}))
    assert [one[0] for one in released if not isinstance(one, int)] == [["many"]]
    terms = sum(part.plan.aggregate.terms for part in groups.parts)
    assert sum(isinstance(one, int) for one in released) == terms
    told = {name: question.values(name, released, Fraction(95, 100)) for name in question.releases}
    assert {name: [cell.key for cell in cells] for name, cells in told.items()} == {name: [("many",)] for name in "nsm"}


def test_where_no_group_is_shown_nothing_is_told() -> None:
    question = asked()
    (groups,) = question.sources
    for numbers in ({}, {"one": 1}):
        released = groups.release(exact(groups, numbers))
        assert released == []
        assert question.values("m", released, Fraction(95, 100)) == []


def test_a_group_that_has_people_and_no_number_is_told_with_noise_on_zero() -> None:
    question = asked("select note, sum(nights) as s from visits group by note")
    (groups,) = question.sources
    people, _ = exact(groups, {"many": 10_000})
    (cell,) = question.values("s", groups.release([people, Sensitive({})]), Fraction(95, 100))
    assert abs(cell.value) < 10_000


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100)])
def test_the_bounds_of_all_groups_that_are_shown_hold_at_once(confidence) -> None:
    question = asked("select note, sum(nights) as s from visits group by note")
    (groups,) = question.sources
    names = [f"group {n}" for n in range(9)]
    cells = question.values("s", [*([[name], 500] for name in names), *[0] * len(names)], confidence)
    scale = float(groups.parts[0].mechanism.event.scale)

    def within(margin: float) -> float:
        noise = np.exp(-np.abs(np.arange(-9_999, 10_000)) / scale)
        return float(noise[np.abs(np.arange(-9_999, 10_000)) <= margin].sum() / noise.sum())

    held = np.prod([within(cell.high) for cell in cells])
    assert {cell.high for cell in cells} == {-cell.low for cell in cells}
    assert held >= float(confidence) > np.prod([within(cell.high - 1) for cell in cells])


def test_the_people_of_a_group_are_those_by_whom_it_is_shown_and_cost_nothing_more() -> None:
    alone, beside = asked(), asked(TEXT.replace(" from", ", count(distinct pid) as people from"), max_groups=2)
    assert [len(one.sources) for one in (alone, beside)] == [1, 1]
    assert len(beside.sources[0].parts) == len(alone.sources[0].parts)


def test_other_groups_are_not_asked_for_together() -> None:
    questions = {"a": lw.mean("visits", "nights", by="note"), "b": lw.mean("patients", "age", by="city")}
    with pytest.raises(BadQuestionError, match="other groups, or other people in them"):
        release_together(
            questions,
            plan_together(questions, clinic()),
            clinic(),
            AtEpsilon(epsilon=EPSILON, delta=DELTA),
            ApproximateDP(epsilon=9, delta=Fraction(1, 100)),
        )


def test_it_is_asked_under_a_budget_with_a_delta_and_told_again_for_nothing(budget: KindOfBudget, tmp_path) -> None:
    rows = "\n".join(f"{n},{('Bern', 'Chur')[n % 2] if n else 'a hamlet'},{n % 50}" for n in range(400))
    (tmp_path / "people.csv").write_text(f"id,city,age\n{rows}\n")
    settings = f"""
[populations.town]
person_key = "id"
budget = {budget.toml()}
[populations.town.tables.people]
source = "people.csv"
[populations.town.tables.people.columns]
city = {{ type = "text" }}
age = {{ type = "integer", low = 0, high = 99 }}
"""
    with lw.create(tmp_path, settings) as workspace:
        session = workspace.session()
        question = lw.mean("people", "age", by="city")
        if budget.name != "delta":
            with pytest.raises(LapwingError, match="delta"):
                session.preview(question, epsilon=1)
            return
        offer = {"epsilon": 1, "delta": "1e-12"}
        with pytest.raises(LapwingError, match="delta"):
            session.preview(question, epsilon=1)
        assert "groups are shown from about" in str(session.preview(question, **offer))
        told = session.ask(question, **offer)
        assert [row.key for row in told.rows] == [("Bern",), ("Chur",)]
        sure = told.bounded(1 - Fraction(1, 10**9))
        assert all(row.cells["answer"].low <= 25 and row.cells["answer"].high >= 24 for row in sure)
        again = session.sql("select city, avg(age) from people group by 1", **offer)
        assert again.free
        assert [row.cells["avg"].value for row in again.rows] == [row.cells["answer"].value for row in told.rows]
