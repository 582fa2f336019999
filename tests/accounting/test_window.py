"""The optimal composition of equal releases, against the printed formula in fifty digits."""

import math
from fractions import Fraction

import pytest
from mpmath import mpf

from accounting import reference
from lapwing.accounting.pricing import price
from lapwing.accounting.window import optimal_epsilon, optimal_window
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    DiscreteLaplaceNoise,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
)

CASES = [
    (Fraction(1, 10), 10, Fraction(0)),
    (Fraction(1, 100), 300, Fraction(0)),
    (Fraction(2), 7, Fraction(0)),
    (Fraction(1, 4), 50, Fraction(1, 10**8)),
    (Fraction(9), 400, Fraction(0)),
    (Fraction(1, 10**6), 3, Fraction(0)),
]


def number(value):
    return mpf(value.numerator) / value.denominator


@pytest.mark.parametrize(("epsilon", "times", "lost"), CASES, ids=str)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.8])
def test_delta_is_the_printed_formula_from_above(epsilon, times, lost, share) -> None:
    level = share * float(epsilon) * times
    truth = reference.optimal_delta(times, number(epsilon), mpf(level), number(lost))
    found = optimal_window(epsilon, times, lost).delta(level)
    assert truth * (1 - mpf(10) ** -30) <= mpf(found) <= truth * (1 + mpf(10) ** -9) + mpf(10) ** -300


@pytest.mark.parametrize(("epsilon", "times", "lost"), CASES, ids=str)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_epsilon_is_the_printed_formula_solved_from_above(epsilon, times, lost, delta) -> None:
    found = optimal_epsilon(epsilon=epsilon, times=times, delta=delta, delta_each=lost)
    if delta <= float(1 - (1 - number(lost)) ** times):
        assert found == math.inf
        return

    def truth(level):
        return reference.optimal_delta(times, number(epsilon), level, number(lost))

    assert truth(mpf(found)) <= mpf(delta)
    assert found == 0 or truth(mpf(found) * (1 - mpf(10) ** -9) - mpf(10) ** -13) > mpf(delta)


def test_ten_thousand_releases_have_the_epsilon_of_an_independent_computation() -> None:
    """The figure was computed once with the printed formula in 50 digits."""
    found = optimal_epsilon(epsilon=Fraction(0.002368289729087967), times=10_000, delta=1e-6)
    assert 1.0004150 < found < 1.0004152


def test_randomized_response_and_geometric_noise_attain_it() -> None:
    expected = optimal_epsilon(epsilon=Fraction(1, 10), times=40, delta=1e-6)
    for part in (
        PureRelease(epsilon=Fraction(1, 10)),
        RandomizedResponseRelease(epsilon=Fraction(1, 10)),
        DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(10)),
    ):
        assert price(Repeated(part=part, times=40)).epsilon(1e-6) == expected


def test_a_hundred_randomized_responses_are_charged_a_hundred_times() -> None:
    """A widely used accountant (dp-accounting 0.6.0) charges one: 1.0987 instead of 94.3."""
    coin = RandomizedResponseRelease(epsilon=Fraction(math.log(3)))
    assert price(coin).epsilon(1e-6) == pytest.approx(math.log(3), rel=1e-5)
    assert price(Repeated(part=coin, times=100)).epsilon(1e-6) == pytest.approx(94.3, abs=0.05)


def test_pure_releases_are_composed_as_well_as_they_can_be() -> None:
    """The same accountant rounds each loss up to its grid and says 1.4923 here."""
    part = PureRelease(epsilon=Fraction(0.002368289729087967))
    assert price(Repeated(part=part, times=10_000)).epsilon(1e-6) < 1.00042


def test_failures_add_up_exactly() -> None:
    loss = price(Repeated(part=ApproximateRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6)), times=10))
    assert loss.delta(1.0) == pytest.approx(1e-5, rel=1e-5)
    assert loss.epsilon(9e-6) == math.inf


def test_more_releases_than_can_be_summed_are_refused_here_and_priced_elsewhere() -> None:
    with pytest.raises(ParameterError, match="from 1 to 1000000"):
        optimal_epsilon(epsilon=Fraction(1, 1000), times=10**7, delta=1e-6)
    many = Repeated(part=PureRelease(epsilon=Fraction(1, 10**6)), times=10**8)
    mu = math.sqrt(10**8) * 1e-6
    gaussian = reference.solve(lambda e: reference.gaussian_delta(mu, e), 1e-6, 2)
    assert price(many).epsilon(1e-6) == pytest.approx(float(gaussian), rel=1e-4)
