"""Groups: by enumeration where that is possible, by the theorem where not."""

import math
from fractions import Fraction

import pytest
from mpmath import exp, mpf

from lapwing.accounting.groups import event_for_group, guarantee_for_group, renyi_for_group
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    GaussianSparseVectorRelease,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
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


def test_noise_is_compared_with_k_times_the_sensitivity() -> None:
    for k in (2, 5):
        assert price(event_for_group(LAPLACE, k)).pure_epsilon == k * TENTH
        assert price(event_for_group(GAUSSIAN, k)).gaussian_mu_squared == Fraction(k * k, 100)
    geometric = DiscreteLaplaceNoise(l1_sensitivity=2, scale=Fraction(7))
    assert event_for_group(geometric, 3) == DiscreteLaplaceNoise(l1_sensitivity=6, scale=Fraction(7))
    discrete = DiscreteGaussianNoise(l2_sensitivity_squared=2, sigma_squared=Fraction(7), dimension=4)
    assert event_for_group(discrete, 3).l2_sensitivity_squared == 18


def test_recomputing_noise_is_tighter_than_following_the_chain() -> None:
    """Three Laplace neighbours in a row: the noise itself says less than what k epsilon would allow."""
    recomputed = price(event_for_group(LAPLACE, 3))
    chain = price(PureRelease(epsilon=3 * TENTH))
    for level in (0.0, 0.1, 0.2):
        assert recomputed.delta(level) < chain.delta(level)
    single = price(GAUSSIAN)
    chained_delta = guarantee_for_group(
        ApproximateDP(epsilon=Fraction(single.epsilon(1e-6)), delta=Fraction(1, 10**6)), 3
    )
    assert price(event_for_group(GAUSSIAN, 3)).delta(float(chained_delta.epsilon)) < float(chained_delta.delta)


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
        loss = price(event_for_group(PureRelease(epsilon=Fraction(epsilon)), k))
        for level in (0.0, 0.2, 0.5):
            stick = sum(max(0.0, with_[o] - math.exp(level) * without[o]) for o in (0, 1))
            assert stick <= loss.delta(level) + 1e-12


def test_every_event_has_a_price_for_groups_that_is_no_lower() -> None:
    events = [
        LAPLACE,
        GAUSSIAN,
        PureRelease(epsilon=TENTH),
        ApproximateRelease(epsilon=TENTH, delta=Fraction(1, 10**9)),
        ExponentialSelection(epsilon=TENTH),
        RandomizedResponseRelease(epsilon=TENTH, categories=3),
        Composed(parts=(LAPLACE, GAUSSIAN)),
        Repeated(part=LAPLACE, times=3),
        InParallel(parts=(LAPLACE, GAUSSIAN)),
        PoissonSampled(part=GAUSSIAN, rate=TENTH),
        SampledWithoutReplacement(part=GAUSSIAN, sample_size=10, population_size=100),
    ]
    for event in events:
        assert event_for_group(event, 1) == event
        assert price(event_for_group(event, 3)).epsilon(1e-6) > price(event).epsilon(1e-6)


def test_a_group_may_be_spread_over_all_partitions() -> None:
    spread = event_for_group(InParallel(parts=(LAPLACE, GAUSSIAN)), 2)
    assert spread == Composed(parts=(event_for_group(LAPLACE, 2), event_for_group(GAUSSIAN, 2)))


def test_a_group_is_in_a_sample_if_any_of_it_is() -> None:
    grown = event_for_group(PoissonSampled(part=GAUSSIAN, rate=TENTH), 3)
    assert grown.rate == 1 - Fraction(9, 10) ** 3
    fixed = event_for_group(SampledWithoutReplacement(part=GAUSSIAN, sample_size=10, population_size=25), 3)
    assert (fixed.sample_size, fixed.population_size) == (25, 25)


def test_a_sparse_vector_is_asked_with_k_times_the_sensitivity() -> None:
    stream = GaussianSparseVectorRelease(
        sensitivity=ONE,
        threshold_sigma_squared=ONE,
        query_sigma_squared=ONE,
        questions=10,
        yeses=1,
        monotone=True,
    )
    assert event_for_group(stream, 4).sensitivity == 4


def test_divergences_of_groups_are_bounded_but_loosely() -> None:
    loss = price(GAUSSIAN)
    exact = price(event_for_group(GAUSSIAN, 4)).renyi(2.0)
    assert exact <= renyi_for_group(loss.renyi, 2.0, 4) <= 10 * exact
    assert renyi_for_group(loss.renyi, 2.0, 1) == loss.renyi(2.0)
    with pytest.raises(ParameterError, match="below 2"):
        renyi_for_group(loss.renyi, 1.5, 2)


@pytest.mark.parametrize("size", [0, -1, "1.5"])
def test_a_group_has_at_least_one_member(size) -> None:
    with pytest.raises(ParameterError, match="size"):
        event_for_group(LAPLACE, size)
