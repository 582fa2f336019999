"""The price list as a whole: what is refused, what is exact, and in which order the rules stand."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.accounting.composition import CompositionRule, compose
from lapwing.accounting.pricing import price
from lapwing.vocabulary import event as events
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
    Loss,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
)

ONE, HALF = Fraction(1), Fraction(1, 2)
LAPLACE = LaplaceNoise(l1_sensitivity=ONE, scale=Fraction(10))
GAUSSIAN = GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=Fraction(50))

REFUSED = {
    "no scale": lambda: LaplaceNoise(l1_sensitivity=ONE, scale=Fraction(0)),
    "a negative scale": lambda: LaplaceNoise(l1_sensitivity=ONE, scale=Fraction(-1)),
    "no sensitivity": lambda: DiscreteLaplaceNoise(l1_sensitivity=0, scale=ONE),
    "half a step": lambda: DiscreteLaplaceNoise(l1_sensitivity=HALF, scale=ONE),
    "no variance": lambda: GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=Fraction(0)),
    "no dimension": lambda: DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=ONE, dimension=0),
    "no epsilon": lambda: PureRelease(epsilon=Fraction(0)),
    "not a number": lambda: PureRelease(epsilon=float("nan")),
    "a delta of one": lambda: ApproximateRelease(epsilon=ONE, delta=ONE),
    "a negative selection": lambda: ExponentialSelection(epsilon=-ONE),
    "one category": lambda: RandomizedResponseRelease(epsilon=ONE, categories=1),
    "nothing composed": lambda: Composed(parts=()),
    "nothing in parallel": lambda: InParallel(parts=()),
    "never repeated": lambda: Repeated(part=LAPLACE, times=0),
    "a rate above one": lambda: PoissonSampled(part=LAPLACE, rate=Fraction(3, 2)),
    "an empty sample": lambda: PoissonSampled(part=LAPLACE, rate=Fraction(0)),
    "more sampled than there are": lambda: SampledWithoutReplacement(part=LAPLACE, sample_size=11, population_size=10),
    "a bad part": lambda: Repeated(part=PureRelease(epsilon=Fraction(0)), times=2),
}


@pytest.mark.parametrize("nonsense", REFUSED.values(), ids=REFUSED)
def test_nonsense_is_refused_before_it_is_priced(nonsense) -> None:
    with pytest.raises(ParameterError) as refusal:
        nonsense()
    assert refusal.value.remedy


@pytest.mark.parametrize("delta", [-0.1, 1.0, 2.0, float("nan")])
def test_a_delta_that_is_none_is_refused(delta) -> None:
    with pytest.raises(ParameterError, match="delta"):
        price(LAPLACE).epsilon(delta)


@pytest.mark.parametrize("alpha", [1.0, 0.5, -2.0, float("nan")])
def test_an_order_that_is_none_is_refused(alpha) -> None:
    with pytest.raises(ParameterError, match="alpha"):
        price(LAPLACE).renyi(alpha)


STREAM = GaussianSparseVectorRelease(
    sensitivity=ONE,
    threshold_sigma_squared=Fraction(100),
    query_sigma_squared=Fraction(400),
    questions=1000,
    yeses=1,
    monotone=False,
)


def test_every_kind_of_event_has_a_line_in_the_price_list() -> None:
    samples = [
        STREAM,
        LAPLACE,
        GAUSSIAN,
        DiscreteLaplaceNoise(l1_sensitivity=1, scale=ONE),
        DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=ONE),
        PureRelease(epsilon=ONE),
        ApproximateRelease(epsilon=ONE, delta=Fraction(1, 10**9)),
        ExponentialSelection(epsilon=ONE),
        RandomizedResponseRelease(epsilon=ONE),
        Composed(parts=(LAPLACE,)),
        InParallel(parts=(LAPLACE,)),
        Repeated(part=LAPLACE, times=2),
        PoissonSampled(part=LAPLACE, rate=HALF),
        SampledWithoutReplacement(part=LAPLACE, sample_size=1, population_size=2),
    ]
    assert all(0 < price(event).epsilon(1e-6) < math.inf for event in samples)
    assert set(get_args(events.Event)) - {type(event) for event in samples} == set()


def test_a_gaussian_sparse_vector_is_priced_by_its_divergences() -> None:
    loss = price(STREAM)
    assert loss.pure_epsilon is None
    assert loss.rho is None
    assert loss.epsilon(1e-6) == pytest.approx(0.7685, abs=1e-3)
    (pair,) = loss.pairs()
    for level in (0.0, 0.2, 0.5, 1.0):
        assert loss.delta(level) <= pair.delta(level) * (1 + 1e-9)
        assert pair.delta(level) <= loss.delta(level) * 1.1
    with_noise = price(Composed(parts=(STREAM, GAUSSIAN)))
    assert loss.epsilon(1e-6) < with_noise.epsilon(1e-6) < loss.epsilon(1e-6) + price(GAUSSIAN).epsilon(1e-6)


EXTREMES = {
    "tiny": Repeated(part=PureRelease(epsilon=Fraction(1, 10**12)), times=7),
    "huge": Composed(parts=(PureRelease(epsilon=Fraction(1000)), LaplaceNoise(l1_sensitivity=ONE, scale=ONE / 900))),
    "often": Repeated(part=ExponentialSelection(epsilon=Fraction(1, 10**6)), times=10**9),
    "far": Repeated(part=DiscreteGaussianNoise(l2_sensitivity_squared=10**8, sigma_squared=ONE), times=3),
    "wide": Repeated(part=DiscreteLaplaceNoise(l1_sensitivity=10**6, scale=Fraction(10**5)), times=10**6),
    "rare": Repeated(part=PoissonSampled(part=GAUSSIAN, rate=Fraction(1, 10**6)), times=7),
    "loud": Repeated(
        part=PoissonSampled(part=GaussianNoise(l2_sensitivity_squared=Fraction(2500), sigma_squared=ONE), rate=HALF),
        times=7,
    ),
}


@pytest.mark.parametrize("event", EXTREMES.values(), ids=EXTREMES)
def test_extreme_parameters_give_a_falling_profile_and_no_warning(event) -> None:
    loss = price(event)
    deltas = [loss.delta(level) for level in (0.0, 1e-7, 1.0, 50.0, 1e9)]
    assert all(0 <= delta <= 1 for delta in deltas)
    assert all(left >= right * (1 - 1e-6) for left, right in pairwise(deltas))
    epsilons = [loss.epsilon(delta) for delta in (0.3, 1e-6, 1e-40)]
    assert all(left <= right * (1 + 1e-6) + 1e-9 for left, right in pairwise(epsilons))


def test_losses_beyond_the_largest_exponent_are_not_cut_off() -> None:
    """Seven coin flips decide how often she is in the sample; each time she is costs about 1250.

    So P(loss > 5000) is about P(5 or more) + P(4)/2 = 0.36, and P(7) alone is 1/128.
    """
    loss = price(EXTREMES["loud"])
    assert 5000 < loss.epsilon(0.3) < 5100
    assert loss.epsilon(1e-3) > 8600


def test_exact_numbers_stay_exact() -> None:
    assert price(LAPLACE).pure_epsilon == Fraction(1, 10)
    assert price(Repeated(part=LAPLACE, times=7)).pure_epsilon == Fraction(7, 10)
    assert price(GAUSSIAN).gaussian_mu_squared == Fraction(1, 50)
    assert price(GAUSSIAN).rho == Fraction(1, 100)
    assert price(GAUSSIAN).pure_epsilon is None
    assert price(Composed(parts=(GAUSSIAN, GAUSSIAN, GAUSSIAN))).gaussian_mu_squared == Fraction(3, 50)
    assert price(Composed(parts=(GAUSSIAN, LAPLACE))).gaussian_mu_squared is None
    assert price(ExponentialSelection(epsilon=HALF)).rho == Fraction(1, 32)
    assert price(ApproximateRelease(epsilon=ONE, delta=HALF)).rho is None
    assert price(DiscreteGaussianNoise(l2_sensitivity_squared=4, sigma_squared=ONE, dimension=3)).rho == 2


def test_a_priced_event_answers_every_question_of_a_loss() -> None:
    loss: Loss = price(LAPLACE)
    assert loss.delta(0.05) > 0
    assert loss.epsilon(0.0) == 0.1
    assert loss.delta(0.1) == 0.0
    assert loss.renyi(2.0) < 0.1


def test_a_plan_costs_the_same_however_it_is_written_down() -> None:
    flat = Composed(parts=(LAPLACE, LAPLACE, LAPLACE, GAUSSIAN))
    nested = Composed(parts=(Repeated(part=Composed(parts=(LAPLACE,)), times=3), Composed(parts=(GAUSSIAN,))))
    assert price(flat).epsilon(1e-6) == pytest.approx(price(nested).epsilon(1e-6), rel=1e-9)
    assert price(flat).renyi(3.0) == pytest.approx(price(nested).renyi(3.0))


def test_partitions_cost_what_the_worst_of_them_costs_at_every_level() -> None:
    parts = (LAPLACE, GAUSSIAN, PureRelease(epsilon=Fraction(1, 4)))
    together, apart = price(InParallel(parts=parts)), [price(part) for part in parts]
    for level in (0.0, 0.05, 0.2, 0.5):
        worst = max(loss.delta(level) for loss in apart)
        assert worst <= together.delta(level) + 1e-12 <= worst * 1.01 + 2e-5
    assert together.renyi(4.0) >= max(loss.renyi(4.0) for loss in apart) * (1 - 1e-12)
    assert price(InParallel(parts=(LAPLACE, LAPLACE))).epsilon(1e-6) == price(LAPLACE).epsilon(1e-6)


def test_partitions_of_pure_releases_are_pure() -> None:
    parts = tuple(PureRelease(epsilon=Fraction(k, 10)) for k in (1, 2, 5))
    assert price(InParallel(parts=parts)).pure_epsilon == HALF


fractions = st.fractions(min_value=Fraction(1, 200), max_value=Fraction(1), max_denominator=1000)
leaves = st.one_of(
    st.builds(LaplaceNoise, l1_sensitivity=st.just(ONE), scale=fractions.map(lambda f: 1 / f)),
    st.builds(DiscreteLaplaceNoise, l1_sensitivity=st.integers(1, 3), scale=fractions.map(lambda f: 4 / f)),
    st.builds(PureRelease, epsilon=fractions),
    st.builds(RandomizedResponseRelease, epsilon=fractions, categories=st.integers(2, 9)),
    st.builds(ExponentialSelection, epsilon=fractions),
    st.builds(GaussianNoise, l2_sensitivity_squared=st.just(ONE), sigma_squared=fractions.map(lambda f: 9 / f**2)),
)
plans = st.lists(st.builds(Repeated, part=leaves, times=st.integers(1, 40)), min_size=1, max_size=4)


@settings(max_examples=60)
@given(plans, st.sampled_from(["1e-3", "1e-6", "1e-10"]))
def test_what_knows_more_never_costs_more(plan, delta) -> None:
    """Adding up >= optimal >= the loss distribution; zCDP >= Renyi >= it; advanced >= optimal."""
    comparison = compose(plan, delta=delta)
    cost = {rule: comparison.by(rule).epsilon for rule in CompositionRule if comparison.by(rule)}
    best = cost[CompositionRule.DISTRIBUTION]
    slack = 1 + 1e-3
    assert comparison.best.epsilon == min(cost.values())
    assert best <= cost[CompositionRule.BASIC] * slack
    assert best <= cost[CompositionRule.RENYI] * slack
    assert cost.get(CompositionRule.CONCENTRATED, best) >= best / slack
    if CompositionRule.OPTIMAL in cost:
        assert best <= cost[CompositionRule.OPTIMAL] * slack
        assert cost[CompositionRule.OPTIMAL] <= min(cost[CompositionRule.BASIC], cost[CompositionRule.ADVANCED]) * (
            1 + 1e-9
        )


@settings(max_examples=30)
@given(plans, st.floats(1e-9, 1e-2))
def test_epsilon_and_delta_are_two_sides_of_one_profile(plan, delta) -> None:
    loss = price(Composed(parts=tuple(plan)))
    epsilon = loss.epsilon(delta)
    assert loss.delta(epsilon) <= delta * 1.01
    if epsilon > 1e-6:
        assert loss.delta(epsilon * 0.98) >= delta * 0.9


@settings(max_examples=30)
@given(plans, leaves)
def test_one_release_more_never_costs_less(plan, more) -> None:
    less, all_ = price(Composed(parts=tuple(plan))), price(Composed(parts=(*plan, more)))
    assert less.epsilon(1e-6) <= all_.epsilon(1e-6) * (1 + 1e-4)
    assert less.renyi(5.0) <= all_.renyi(5.0)
