"""A funnel: a person stops in one bin, and a step is the sum of the bins from its own on."""

from fractions import Fraction

import pytest

import lapwing as lw
from engines.clinic import clinic
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.weighted_sums import margin_of_equal_sum
from lapwing.queries.algebra.aggregate import LastStepPerPerson
from lapwing.queries.limits import MOST_FRACTIONS
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.funnel import Steps
from lapwing.vocabulary.errors import BadQuestionError

CLINIC = clinic()
STEPS = ["sex = 'M'", "age >= 20", "smoker"]
PLANNED = plan(lw.funnel("patients", STEPS), CLINIC)
NOISE = GeometricMechanism(l1_sensitivity=PLANNED.sensitivity.l1, epsilon=1)


def test_a_person_is_in_one_bin_of_one_more_than_there_are_steps() -> None:
    assert isinstance(PLANNED.aggregate.bounding, LastStepPerPerson)
    assert (PLANNED.numbers, PLANNED.sensitivity.l1, PLANNED.sensitivity.l2_squared) == (4, 1, 1)


def test_a_step_is_passed_by_all_who_stop_later() -> None:
    estimates = PLANNED.meaning.estimates(PLANNED, [1000, 100, 10, 1])
    assert estimates == {(STEPS[0],): Fraction(111), (STEPS[1],): Fraction(11), (STEPS[2],): Fraction(1)}


def test_numbers_of_another_plan_are_refused() -> None:
    with pytest.raises(BadQuestionError, match="the numbers do not fit the plan"):
        PLANNED.meaning.estimates(PLANNED, [1, 2, 3])


def test_each_step_has_the_margin_of_its_own_bins_at_a_third_of_the_failure_probability() -> None:
    values = PLANNED.meaning.values(PLANNED, [0, 0, 0, 0], NOISE, "0.97")
    margins = [margin_of_equal_sum(NOISE.event, bins, Fraction(99, 100)) for bins in (3, 2, 1)]
    assert [one.high for one in values] == [-one.low for one in values] == margins
    assert PLANNED.meaning.margin(PLANNED, NOISE, "0.97") == margins[0] > margins[2]


def test_steps_are_no_linear_forms_that_a_quotient_could_take_for_independent() -> None:
    assert PLANNED.meaning.forms(PLANNED) is None


def test_the_names_of_steps_are_no_part_of_the_question() -> None:
    other = plan(lw.funnel("patients", [lw.col("sex") == "M", lw.col("age") >= 20, "smoker"]), CLINIC)
    assert other.meaning == Steps(names=("step 1", "step 2", "smoker"))
    assert other.canonical == PLANNED.canonical
    assert lw.funnel("patients", ["smoker", "smoker"]).names == ("smoker", "smoker (step 2)")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([], r"a funnel without steps is a count; write count\(...\)"),
        (["smoker"] * (MOST_FRACTIONS + 1), f"{MOST_FRACTIONS + 1} steps, more than {MOST_FRACTIONS}"),
    ],
)
def test_no_steps_and_too_many_are_refused(steps, said) -> None:
    with pytest.raises(BadQuestionError, match=said):
        plan(lw.funnel("patients", steps), CLINIC)
