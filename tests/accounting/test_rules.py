"""The rules of composition side by side, and the conversions they rest on."""

import math
from fractions import Fraction

import pytest
from mpmath import exp, log, mpf

from lapwing.accounting.composition import CompositionRule, advanced_epsilon, compose
from lapwing.accounting.conversions import (
    ORDERS,
    delta_from_renyi,
    delta_from_rho,
    epsilon_from_renyi,
    epsilon_from_rho,
)
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    GaussianNoise,
    InParallel,
    PureRelease,
    Repeated,
)

TENTH = Fraction(1, 10)
GAUSSIAN = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))


def test_pure_releases_have_every_rule_and_the_distribution_is_optimal() -> None:
    comparison = compose([Repeated(part=PureRelease(epsilon=TENTH), times=100)], delta="1e-6")
    assert {cost.rule for cost in comparison.costs} == set(CompositionRule)
    assert comparison.by(CompositionRule.BASIC).epsilon == 10.0
    assert comparison.by(CompositionRule.OPTIMAL).epsilon == pytest.approx(
        comparison.by(CompositionRule.DISTRIBUTION).epsilon
    )
    assert comparison.best.rule in {CompositionRule.OPTIMAL, CompositionRule.DISTRIBUTION}
    assert [cost.epsilon for cost in comparison.costs] == sorted(cost.epsilon for cost in comparison.costs)


def test_a_rule_that_does_not_apply_is_not_listed() -> None:
    comparison = compose([GAUSSIAN, PureRelease(epsilon=TENTH)], delta="1e-6")
    assert comparison.by(CompositionRule.ADVANCED) is None
    assert comparison.by(CompositionRule.OPTIMAL) is None
    assert comparison.by(CompositionRule.CONCENTRATED) is not None
    mixed = compose([PureRelease(epsilon=TENTH), PureRelease(epsilon=2 * TENTH)], delta="1e-6")
    assert mixed.by(CompositionRule.OPTIMAL) is None
    assert mixed.by(CompositionRule.ADVANCED) is not None
    failing = compose([ApproximateRelease(epsilon=TENTH, delta=Fraction(1, 10**9))], delta="1e-6")
    assert failing.by(CompositionRule.CONCENTRATED) is None
    assert failing.by(CompositionRule.RENYI) is None


def test_adding_up_gives_each_gaussian_its_share_of_delta() -> None:
    comparison = compose([Repeated(part=GAUSSIAN, times=4), PureRelease(epsilon=TENTH)], delta="1e-6")
    expected = 4 * price(GAUSSIAN).epsilon(2.5e-7) + 0.1
    assert comparison.by(CompositionRule.BASIC).epsilon == pytest.approx(expected, rel=1e-9)


def test_failures_that_use_up_delta_leave_no_rule_but_the_ones_that_know_them() -> None:
    event = Repeated(part=ApproximateRelease(epsilon=TENTH, delta=Fraction(1, 10**6)), times=2)
    assert math.isinf(compose([event], delta="1e-6").best.epsilon)
    enough = compose([event], delta="3e-6")
    assert enough.by(CompositionRule.BASIC).epsilon == pytest.approx(0.2)


def test_plans_are_taken_apart_and_partitions_are_not() -> None:
    nested = Composed(parts=(Repeated(part=PureRelease(epsilon=TENTH), times=3), PureRelease(epsilon=TENTH)))
    assert compose([nested], delta="1e-6").by(CompositionRule.BASIC).epsilon == pytest.approx(0.4)
    parallel = InParallel(parts=(PureRelease(epsilon=TENTH), PureRelease(epsilon=2 * TENTH)))
    assert compose([parallel], delta="1e-6").by(CompositionRule.BASIC).epsilon == pytest.approx(0.2)


def test_nothing_is_not_composed() -> None:
    with pytest.raises(ParameterError, match="is empty"):
        compose([], delta="1e-6")


def test_a_comparison_reads_as_a_table() -> None:
    lines = str(compose([Repeated(part=PureRelease(epsilon=TENTH), times=100)], delta="1e-6")).splitlines()
    assert len(lines) == len(CompositionRule)
    assert all("epsilon" in line and "delta 1e-06" in line for line in lines)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(3)], ids=str)
def test_concentrated_privacy_is_converted_as_well_as_the_best_order_allows(rho, delta) -> None:
    r, d = mpf(rho.numerator) / rho.denominator, mpf(delta)
    best = min(
        a * r + log(1 - 1 / a) - (log(d) + log(a)) / (a - 1)
        for a in [1 + mpf(10) ** (mpf(step) / 300) for step in range(-600, 1200)]
    )
    found = epsilon_from_rho(rho, delta)
    assert best * (1 - mpf(10) ** -5) <= mpf(found) <= best * (1 + mpf(10) ** -5)
    assert delta * (1 - 1e-6) <= delta_from_rho(rho, found) <= delta * (1 + 1e-9)


def test_a_pure_release_does_not_profit_from_the_conversion() -> None:
    """The classical rho + 2 sqrt(rho log(1/delta)) is looser: 1.2723 where this gives less than 1.08."""
    rho = Fraction(28, 1000)
    textbook = float(rho) + 2 * math.sqrt(float(rho) * math.log(1e6))
    assert epsilon_from_rho(rho, 1e-6) < 1.08 < textbook


def test_the_two_conversions_of_a_divergence_are_inverse_to_each_other() -> None:
    divergences = 0.1 * ORDERS
    epsilon = epsilon_from_renyi(divergences, 1e-6)
    assert delta_from_renyi(divergences, epsilon) == pytest.approx(1e-6, rel=1e-6)
    assert delta_from_renyi(divergences, 0.0) <= 1.0


@pytest.mark.parametrize(("epsilon", "times", "delta"), [(0.1, 100, 1e-6), (0.01, 10_000, 1e-9), (1.0, 5, 0.1)])
def test_the_advanced_theorem_is_as_printed(epsilon, times, delta) -> None:
    e, k = mpf(epsilon), times
    truth = e * (2 * k * log(1 / mpf(delta))) ** mpf("0.5") + k * e * (exp(e) - 1)
    assert truth <= mpf(advanced_epsilon(epsilon=epsilon, times=times, delta=delta)) <= truth * (1 + mpf(10) ** -9)


def test_the_advanced_theorem_pays_for_the_failures_of_its_parts() -> None:
    alone = advanced_epsilon(epsilon=0.1, times=10, delta=1e-6)
    assert advanced_epsilon(epsilon=0.1, times=10, delta=1.1e-5, delta_each=1e-6) == pytest.approx(alone)
    assert math.isinf(advanced_epsilon(epsilon=0.1, times=10, delta=1e-6, delta_each=1e-6))
