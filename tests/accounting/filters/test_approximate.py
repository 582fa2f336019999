"""A filter books what it has weighed, and refuses steps and costs that it cannot have weighed or cannot carry."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from lapwing.accounting.filters.approximate import ApproximateFilter, power_of_two_below
from lapwing.accounting.filters.charge import (
    Accepted,
    ConcentratedFilter,
    Cost,
    DeltaShares,
    PureFilter,
    cost_of_event,
)
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise

FRESH = ApproximateFilter.fresh(Fraction(1), Fraction(1, 10**6), DeltaShares())
COST = Cost(epsilon=Fraction(1, 10), reserved=Fraction(0), delta=Fraction(0), rho=Fraction(1, 200))
STEP = Accepted(residue=FRESH.residue / 2, slack=FRESH.slack, failure=FRESH.failures)
ODD = Fraction(1, 10**9 + 7)


def test_a_step_may_take_all_that_is_left_of_each_share_of_delta() -> None:
    after = FRESH.book(COST, STEP)
    assert (after.slack, after.failures, after.residue) == (0, 0, FRESH.residue / 2)
    assert after.pure.left == Fraction(9, 10)


@pytest.mark.parametrize("taken", ["slack", "failure"])
def test_a_step_that_takes_more_than_a_share_of_delta_is_refused(taken) -> None:
    with pytest.raises(ParameterError, match="cannot follow on"):
        FRESH.book(COST, replace(STEP, **{taken: getattr(STEP, taken) + Fraction(1, 10**12)}))


def test_a_step_that_leaves_as_much_residue_as_there_was_is_refused() -> None:
    with pytest.raises(ParameterError, match="cannot follow on"):
        FRESH.book(COST, replace(STEP, residue=FRESH.residue))


@pytest.mark.parametrize(
    ("account", "odd"),
    [
        (FRESH, "epsilon"),
        (FRESH, "reserved"),
        (FRESH, "delta"),
        (PureFilter(epsilon=Fraction(1)), "epsilon"),
        (PureFilter(epsilon=Fraction(1)), "reserved"),
        (ConcentratedFilter(rho=Fraction(1)), "rho"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_a_cost_with_which_sums_would_grow_longer_for_ever_is_refused(account, odd) -> None:
    account.require_carried(COST)
    with pytest.raises(ParameterError, match="has a denominator that an account cannot"):
        account.require_carried(replace(COST, **{odd: ODD}))


def test_what_was_reserved_is_settled_and_given_back_in_the_pure_arm_while_it_lives() -> None:
    held = FRESH.book(replace(COST, reserved=Fraction(1, 5)), STEP)
    settled = held.settle(spent=Fraction(1, 10))
    assert (settled.pure.spent, settled.pure.reserved) == (Fraction(1, 5), Fraction(1, 10))
    assert settled.settle(returned=Fraction(1, 10)).pure.left == Fraction(4, 5)
    dead = replace(held, pure=None)
    assert dead.settle(spent=Fraction(1, 10)) == dead.settle(returned=Fraction(1, 10)) == dead


def test_a_gaussian_release_takes_exactly_its_square_from_the_residue() -> None:
    fresh = ApproximateFilter.fresh(Fraction(1), Fraction(1, 10**6), DeltaShares())
    event = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(900))
    step = fresh.weigh(event, cost_of_event(event))
    left = Fraction(fresh.residue) - Fraction(1, 900)
    assert Fraction(step.residue) <= left < Fraction(math.nextafter(step.residue, math.inf))
    assert (step.slack, step.failure) == (0, 0)


@pytest.mark.parametrize("number", ["1", "5", "7/8", "1/1000", "1/1023", "1e-30", "123456789/7"])
def test_a_power_of_two_below_a_number_is_no_more_and_not_much_less(number) -> None:
    power = power_of_two_below(Fraction(number))
    assert Fraction(number) / 4 < power <= Fraction(number)
    assert power.numerator & (power.numerator - 1) == power.denominator & (power.denominator - 1) == 0
