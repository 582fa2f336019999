"""Groups: by enumeration where that is possible, by the theorem where not."""

import math
from fractions import Fraction

import pytest
from mpmath import exp, mpf

from lapwing.accounting.conversions import guarantee_for_group
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    GaussianNoise,
    LaplaceNoise,
    PureRelease,
)
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP

ONE, TENTH = Fraction(1), Fraction(1, 10)
LAPLACE = LaplaceNoise(l1_sensitivity=ONE, scale=Fraction(10))
GAUSSIAN = GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=Fraction(100))


def test_guarantees_grow_as_the_theorems_say() -> None:
    assert guarantee_for_group(PureDP(epsilon=TENTH), 5) == PureDP(epsilon=5 * TENTH)
    assert guarantee_for_group(ConcentratedDP(rho=TENTH), 5) == ConcentratedDP(rho=25 * TENTH)
    assert guarantee_for_group(GaussianDP(mu_squared=TENTH), 5) == GaussianDP(mu_squared=25 * TENTH)
    grown = guarantee_for_group(ApproximateDP(epsilon=ONE, delta=Fraction(1, 10**6)), 3)
    truth = mpf(10) ** -6 * (exp(mpf(3)) - 1) / (exp(mpf(1)) - 1)
    assert grown.epsilon == 3
    assert truth <= mpf(grown.delta.numerator) / grown.delta.denominator <= truth * (1 + mpf(10) ** -9)
    assert float(grown.delta) < 3 * math.exp(2) * 1e-6  # document 000, Theorem 2


def test_delta_grows_exponentially_until_nothing_is_promised() -> None:
    budget = ApproximateDP(epsilon=ONE, delta=Fraction(1, 10**6))
    assert float(guarantee_for_group(budget, 13).delta) > 0.2
    with pytest.raises(ParameterError, match="nothing is promised"):
        guarantee_for_group(budget, 16)
    with pytest.raises(ParameterError, match="nothing is promised"):
        guarantee_for_group(budget, 10_000)


def parity(table, epsilon, steps):
    """Randomized response to one bit of the table, epsilon apart per person: a mechanism on a chain of tables."""
    weight = math.exp(epsilon * min(sum(table), steps))
    return {1: weight / (1 + weight), 0: 1 / (1 + weight)}


def test_a_chain_of_neighbours_attains_the_pure_bound_for_groups() -> None:
    """P(1) goes through logistic steps: its odds grow by e^epsilon with each person, so k people give e^(k epsilon)."""
    epsilon = 0.3
    for k in (1, 2, 4):
        with_, without = parity((1,) * k, epsilon, 9), parity((), epsilon, 9)
        odds = (with_[1] / with_[0]) / (without[1] / without[0])
        assert math.log(odds) == pytest.approx(k * epsilon)
        loss = price(PureRelease(epsilon=guarantee_for_group(PureDP(epsilon=Fraction(epsilon)), k).epsilon))
        for level in (0.0, 0.2, 0.5):
            stick = sum(max(0.0, with_[o] - math.exp(level) * without[o]) for o in (0, 1))
            assert stick <= loss.delta(level) + 1e-12


@pytest.mark.parametrize("size", [0, -1, "1.5"])
def test_a_group_has_at_least_one_member(size) -> None:
    with pytest.raises(ParameterError, match="size"):
        guarantee_for_group(PureDP(epsilon=ONE), size)
