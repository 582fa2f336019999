"""Totals: how a person's part is clipped or picked, on which grid, and what is said about it."""

from fractions import Fraction

import pytest

import lapwing as lw
from engines.clinic import clinic
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.total import Total
from lapwing.vocabulary.errors import BadQuestionError

CLINIC = clinic()


def planned(*given, **words):
    return plan(lw.total(*given, **words), CLINIC)


@pytest.mark.parametrize(
    ("asked", "low", "high", "step", "l1"),
    [
        (planned("patients", "age"), 0, 120, 1, 120),
        (planned("patients", "age - 20"), -20, 100, 1, 100),
        (planned("patients", "bmi"), 0, 60 * 64, Fraction(1, 64), 60 * 64),
        (planned("visits", "nights", max_rows=3), 0, 90, 1, 90),
        (planned("visits", "cost", max_rows=3, by="kind", max_groups=2), -150, 3000, 1, 6000),
    ],
)
def test_a_persons_total_is_clipped_to_so_many_times_the_bounds_of_the_value(asked, low, high, step, l1) -> None:
    clipped = asked.bounded_by(ClippedSumPerPerson)
    assert (clipped.low, clipped.high, asked.meaning, asked.sensitivity.l1) == (low, high, Total(step=step), l1)


def test_in_all_groups_together_rows_are_picked_where_no_value_is_negative() -> None:
    picked = planned("visits", "nights", by="kind", max_rows=3).bounded_by(BoundedRowsPerPerson)
    assert (picked.most, picked.max_rows, picked.max_cells) == (30, 3, None)
    with pytest.raises(BadQuestionError, match="say in how many they count"):
        planned("visits", "cost", by="kind", max_rows=3)


def test_a_value_of_the_person_is_not_added_up_for_each_of_their_rows() -> None:
    with pytest.raises(BadQuestionError, match="a total would count it once for each; ask for its mean"):
        planned("visits", "patients.age")


def test_numbers_and_margins_are_in_steps() -> None:
    asked = planned("patients", "bmi", by="ward")
    noise = GeometricMechanism(l1_sensitivity=asked.sensitivity.l1, epsilon=1)
    assert asked.meaning.estimates(asked, [64, 32, 0, -1]) == {
        (1,): 1,
        (2,): Fraction(1, 2),
        (3,): 0,
        (-7,): Fraction(-1, 64),
    }
    assert asked.meaning.margin(asked, noise, "0.95") == noise.margin("0.95", values=4) * Fraction(1, 64)
    assert asked.meaning.forms(asked) == {
        key: {i: Fraction(1, 64)} for i, (key) in enumerate([(1,), (2,), (3,), (-7,)])
    }


@pytest.mark.parametrize(
    ("asked", "bounded", "hidden"),
    [
        (planned("patients", "age"), "a person's total is clipped to 0..120.", "the total by at most 120, and"),
        (
            planned("visits", "cost", max_rows=3, by="kind", max_groups=2),
            "a person's total is clipped to -150..3000 in each of at most 2 groups.",
            "the total by at most 6000 in all groups together, and",
        ),
    ],
)
def test_what_is_clipped_and_what_is_hidden_is_said_in_the_unit_of_the_value(asked, bounded, hidden) -> None:
    assert asked.meaning.bounding(asked) == bounded
    assert hidden in asked.meaning.hidden(asked)


def test_what_the_bounds_leave_out_names_values_and_the_total_of_a_person_where_it_is_another() -> None:
    one, several = planned("patients", "age"), planned("visits", "nights", max_rows=3)
    assert one.meaning.bounds_away(one) == ("values clipped to 0..120",)
    assert several.meaning.bounds_away(several) == ("values clipped to 0..30, a person's total to 0..90",)
