"""Noise for a budget, and uses for a noise: what comes out fits, and a little less does not."""

import math
from fractions import Fraction

import pytest
from mpmath import mpf

from accounting import reference
from lapwing.accounting.calibration import (
    gaussian_mu_squared,
    gaussian_variance,
    laplace_scale,
    least_scale,
    most_uses,
    share_of,
)
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    DiscreteLaplaceNoise,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    Repeated,
)
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP

ONE = Fraction(1)
BUDGET = ApproximateDP(epsilon=ONE, delta=Fraction(1, 10**6))


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "5", "20", "100"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_the_gaussian_mu_is_the_largest_that_the_exact_profile_allows(epsilon, delta) -> None:
    mu_squared = gaussian_mu_squared(ApproximateDP(epsilon=Fraction(epsilon), delta=Fraction(delta)))
    mu = mpf(mu_squared.numerator) / mu_squared.denominator
    mu = mu ** mpf("0.5")
    assert reference.gaussian_delta(mu, mpf(epsilon)) <= mpf(delta)
    assert reference.gaussian_delta(mu * (1 + mpf(10) ** -9), mpf(epsilon)) > mpf(delta)


def test_gaussian_noise_for_each_kind_of_budget() -> None:
    assert gaussian_variance(Fraction(4), ConcentratedDP(rho=Fraction(1, 2)), uses=3) == 12
    assert gaussian_variance(Fraction(4), GaussianDP(mu_squared=ONE), uses=3) == 12
    with pytest.raises(ParameterError, match="no Gaussian is"):
        gaussian_variance(ONE, PureDP(epsilon=ONE))


def test_a_thousand_gaussians_need_the_sigma_of_the_closed_form() -> None:
    """133.59608: the exact figure; an accountant on a grid says 133.59611 after half a minute."""
    sigma = math.sqrt(gaussian_variance(ONE, BUDGET, uses=1000))
    assert sigma == pytest.approx(133.59608, abs=1e-5)


@pytest.mark.parametrize("uses", [1, 10, 1000])
def test_laplace_noise_fits_and_a_little_less_does_not(uses) -> None:
    scale = laplace_scale(ONE, BUDGET, uses=uses)
    fits = Repeated(part=LaplaceNoise(l1_sensitivity=ONE, scale=scale), times=uses)
    assert share_of(BUDGET, price(fits)) <= 1
    tight = Repeated(part=LaplaceNoise(l1_sensitivity=ONE, scale=scale * Fraction(9999, 10000)), times=uses)
    assert share_of(BUDGET, price(tight)) > 1


def test_a_thousand_laplace_releases_need_no_more_than_they_must() -> None:
    """The optimum is 133.2422; an accountant on a grid says 133.24304."""
    assert 133.2421 < laplace_scale(ONE, BUDGET, uses=1000) < 133.2426


def test_pure_budgets_are_split_exactly() -> None:
    assert laplace_scale(Fraction(3), PureDP(epsilon=Fraction(1, 2)), uses=5) == 30


def test_noise_for_a_sampled_training_run() -> None:
    """2.355708 is what an accountant on a grid of 1e-4 finds for ten thousand steps at one in a hundred."""
    budget = ApproximateDP(epsilon=Fraction(2), delta=Fraction(1, 10**6))

    def step(sigma):
        noise = GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=sigma**2)
        return PoissonSampled(part=noise, rate=Fraction(1, 100))

    sigma = least_scale(step, budget, uses=10_000)
    assert float(sigma) == pytest.approx(2.355708, rel=1e-4)
    assert share_of(budget, price(Repeated(part=step(sigma), times=10_000))) <= 1


def test_noise_for_a_concentrated_budget() -> None:
    budget = ConcentratedDP(rho=Fraction(1, 50))
    scale = least_scale(lambda b: DiscreteLaplaceNoise(l1_sensitivity=2, scale=b), budget, uses=20, near=Fraction(3))
    event = DiscreteLaplaceNoise(l1_sensitivity=2, scale=scale)
    assert price(event).rho * 20 <= budget.rho < price(event).rho * 20 * Fraction(1001, 1000)


def test_a_search_may_start_anywhere() -> None:
    def event(scale):
        return LaplaceNoise(l1_sensitivity=ONE, scale=scale)

    starts = [least_scale(event, BUDGET, uses=50, near=Fraction(near)) for near in ("1e-4", 1, "1e6")]
    assert max(starts) / min(starts) < 1 + Fraction(1, 10**5)


def test_a_budget_that_no_noise_meets_is_refused() -> None:
    with pytest.raises(ParameterError, match="met by no amount"):
        least_scale(lambda s: GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=s), PureDP(epsilon=ONE), near=ONE)


@pytest.mark.parametrize("epsilon", ["0.1", "0.05", "0.01"])
def test_as_many_coins_fit_as_the_printed_formula_allows(epsilon) -> None:
    uses = most_uses(PureRelease(epsilon=Fraction(epsilon)), BUDGET)
    assert reference.optimal_delta(uses, mpf(epsilon), 1) <= mpf(10) ** -6
    assert reference.optimal_delta(uses + 1, mpf(epsilon), 1) > mpf(10) ** -6


def test_uses_of_other_events_and_budgets() -> None:
    gaussian = GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=Fraction(1000))
    assert most_uses(gaussian, GaussianDP(mu_squared=Fraction(1, 10))) == 100
    assert most_uses(gaussian, ConcentratedDP(rho=Fraction(1, 10))) == 200
    assert most_uses(gaussian, PureDP(epsilon=ONE)) == 0
    assert most_uses(gaussian, BUDGET) == math.floor(gaussian_mu_squared(BUDGET) * 1000)
    assert most_uses(PureRelease(epsilon=Fraction(2)), BUDGET) == 0
    assert most_uses(PureRelease(epsilon=Fraction(1, 3)), PureDP(epsilon=ONE)) == 3


def test_the_share_of_a_budget_that_does_not_apply_is_infinite() -> None:
    gaussian = price(GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=ONE))
    assert share_of(PureDP(epsilon=ONE), gaussian) == math.inf
    assert share_of(GaussianDP(mu_squared=ONE), price(PureRelease(epsilon=ONE))) == math.inf
    assert share_of(GaussianDP(mu_squared=Fraction(2)), gaussian) == 0.5
