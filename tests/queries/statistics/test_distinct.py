"""How many different values there are: how many of them a person brings, and what the number can be."""

from fractions import Fraction

import pytest

import lapwing as lw
from engines.clinic import clinic
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.algebra.aggregate import CountPerPerson, DeclaredKey, DistinctKeys
from lapwing.queries.planning.plan import Family
from lapwing.queries.planning.planner import plan
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.counts import People
from lapwing.queries.statistics.distinct import Distinct
from lapwing.vocabulary.errors import BadQuestionError

CLINIC = clinic()
NOISE = GeometricMechanism(l1_sensitivity=1, epsilon=1)


def test_a_person_brings_few_of_the_values_and_what_is_missing_is_none() -> None:
    planned = plan(lw.count_distinct("patients", "sex"), CLINIC)
    assert planned.aggregate.keys == (DeclaredKey(column="sex", values=("F", "M", "é"), missing=False),)
    assert (planned.aggregate.bounding, planned.meaning) == (DistinctKeys(max_cells=1), Distinct())
    several = plan(lw.count_distinct("visits", "kind", max_groups=2), CLINIC)
    assert (several.aggregate.bounding, several.sensitivity.l1) == (DistinctKeys(max_cells=2), 2)
    assert several.meaning.bounds_away(several) == ("at most 2 values a person",)


def test_different_people_are_people() -> None:
    planned = plan(lw.count_distinct("visits", "pid"), CLINIC)
    assert (planned.meaning, planned.aggregate.bounding) == (People(), CountPerPerson(max_cells=1))


def test_values_that_are_not_public_are_one_number_with_noise() -> None:
    planned = plan(lw.count_distinct("patients", "city"), CLINIC)
    assert (planned.family, planned.numbers, planned.aggregate.cell_count) == (Family.NOISE, 1, None)


@pytest.mark.parametrize(
    ("column", "released", "value"), [("sex", 2, 2), ("sex", 7, 3), ("sex", -4, 0), ("city", 7, 7), ("city", -4, 0)]
)
def test_the_number_and_its_bounds_are_moved_into_what_can_be(column, released, value) -> None:
    planned = plan(lw.count_distinct("patients", column), CLINIC)
    margin = NOISE.margin("0.95")
    (cell,) = planned.meaning.values(planned, [released], NOISE, "0.95")
    most = 3 if column == "sex" else 10**9
    expected = [min(most, max(0, released + off)) for off in (-margin, margin)]
    assert (cell.key, cell.value, [cell.low, cell.high]) == ((), value, expected)
    assert planned.meaning.estimates(planned, [released]) == {(): Fraction(released)}, "before it is moved"


def test_the_values_of_one_column_are_counted_and_not_by_groups() -> None:
    with pytest.raises(BadQuestionError, match=r"write count\(distinct column\), or"):
        read_sql("select count(distinct sex, ward) from patients")
    (grouped,) = read_sql("select ward, count(distinct sex) from patients group by ward").questions.values()
    with pytest.raises(BadQuestionError, match="this cannot be grouped"):
        plan(grouped, CLINIC)
