"""The closed forms of single releases, against fifty digits and against enumeration."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import exp, log, mpf

from accounting import reference
from lapwing.accounting.fourier import LossGrid, convolve
from lapwing.accounting.losses import atoms
from lapwing.accounting.losses.continuous import GaussianLaw, LaplaceLaw, gaussian_delta
from lapwing.accounting.losses.selections import BoundedRangeLaw, _beyond_the_tangent
from lapwing.accounting.privacy_loss_distribution import epsilon_at

EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(5), Fraction(30)]
LEVELS = [-2.0, -0.5, -0.01, 0.0, 0.005, 0.3, 0.9, 2.0, 4.9, 20.0]
ALPHAS = [1.001, 1.1, 1.5, 2.0, 3.7, 8.0, 40.0, 300.0]


def from_above(value, truth, within):
    """Say whether `value` is no less than the truth and no more than `within` of it above."""
    return truth <= mpf(value) <= truth * (1 + mpf(within)) + mpf(10) ** -299


@pytest.mark.parametrize("mu", [1e-4, 1e-3, 0.03, 0.2367, 1.0, 4.0, 11.0, 40.0])
@pytest.mark.parametrize("level", [0.0, 1e-5, 0.01, 0.3, 1.0, 4.0, 20.0, 80.0, 700.0])
def test_the_gaussian_profile_is_exact_to_nine_digits_and_from_above(mu, level) -> None:
    assert from_above(gaussian_delta(mu, level), reference.gaussian_delta(mu, level), 1e-9)


@pytest.mark.parametrize("mu", [0.01, 0.2367, 1.0, 6.0])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-6, 1e-12, 1e-30, 1e-100])
def test_the_gaussian_epsilon_is_exact_to_nine_digits_and_from_above(mu, delta) -> None:
    truth = reference.solve(lambda e: reference.gaussian_delta(mu, e), delta, 500)
    found = epsilon_at(GaussianLaw(Fraction(mu) ** 2).delta, delta)
    assert truth <= mpf(found) <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_laplace_profile_is_that_of_the_two_densities(epsilon, level) -> None:
    e, x = mpf(epsilon.numerator) / epsilon.denominator, mpf(level)
    # the best event is {z < t}: F(t) - e^x F(t - e), where F is the cdf of Laplace(0, 1) and t the crossing point
    truth = 1 - exp((x - e) / 2) if -e <= x <= e else max(mpf(0), 1 - exp(x))
    assert from_above(LaplaceLaw(epsilon).delta(level), truth, 1e-11)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_laplace_divergence_is_mironovs(epsilon, alpha) -> None:
    truth = reference.laplace_renyi(mpf(epsilon.numerator) / epsilon.denominator, alpha)
    assert truth <= mpf(LaplaceLaw(epsilon).renyi(alpha)) <= truth * (1 + mpf(10) ** -6) + mpf(10) ** -12


FINITE = {
    "coin": (atoms.pure(Fraction(7, 10)), reference.response(mpf("0.7"))),
    "die": (atoms.k_ary(Fraction(7, 10), 6), reference.response(mpf("0.7"), 6)),
    "urn": (atoms.k_ary(Fraction(1, 10), 1000), reference.response(mpf("0.1"), 1000)),
    "geometric, one step": (atoms.discrete_laplace(1, Fraction(2)), reference.two_sided_geometric(1, 2)),
    "geometric, three steps": (atoms.discrete_laplace(3, Fraction(2)), reference.two_sided_geometric(3, 2)),
    "geometric, twenty steps": (atoms.discrete_laplace(20, Fraction(3, 2)), reference.two_sided_geometric(20, "1.5")),
}


@pytest.mark.parametrize(("law", "outcomes"), FINITE.values(), ids=FINITE)
@pytest.mark.parametrize("level", LEVELS)
def test_the_profile_of_a_discrete_release_is_the_sum_over_its_outcomes(law, outcomes, level) -> None:
    truth = reference.profile_of_atoms(outcomes, mpf(level))
    assert truth * (1 - mpf(10) ** -25) <= mpf(law.delta(level)) <= truth * (1 + mpf(10) ** -10) + mpf(10) ** -15


@pytest.mark.parametrize(("law", "outcomes"), FINITE.values(), ids=FINITE)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_divergence_of_a_discrete_release_is_the_sum_over_its_outcomes(law, outcomes, alpha) -> None:
    truth = log(sum(mass * exp((alpha - 1) * loss) for loss, mass in outcomes)) / (alpha - 1)
    assert truth * (1 - mpf(10) ** -25) <= mpf(law.renyi(alpha)) <= truth * (1 + mpf(10) ** -6) + mpf(10) ** -12


@pytest.mark.parametrize(("law", "outcomes"), FINITE.values(), ids=FINITE)
def test_rho_bounds_every_divergence_and_is_no_larger_than_it_must_be(law, outcomes) -> None:
    """R(alpha) <= rho alpha for all alpha; as alpha falls to 1 the left side is the Kullback-Leibler divergence."""
    rho = mpf(law.rho.numerator) / law.rho.denominator
    for alpha in [mpf(a) for a in ALPHAS]:
        assert log(sum(mass * exp((alpha - 1) * loss) for loss, mass in outcomes)) / (alpha - 1) <= rho * alpha
    divergence = sum(mass * loss for loss, mass in outcomes)
    assert rho <= law.pure_epsilon**2 / 2
    assert divergence <= rho
    steepest = max(
        log(sum(mass * exp((alpha - 1) * loss) for loss, mass in outcomes)) / (alpha - 1) / alpha
        for alpha in [1 + mpf(10) ** (mpf(step) / 8) for step in range(-24, 28, 3)]
    )
    assert rho <= steepest * mpf("1.5")
    if law.spacing == 2 * float(law.pure_epsilon):  # two answers only: the divergence itself
        assert rho <= divergence * (1 + mpf(10) ** -9)


def test_rho_of_laplace_noise_is_its_divergence_and_bounds_all_others() -> None:
    for epsilon in EPSILONS:
        law, e = LaplaceLaw(epsilon), mpf(epsilon.numerator) / epsilon.denominator
        rho = mpf(law.rho.numerator) / law.rho.denominator
        assert e - 1 + exp(-e) <= rho <= (e - 1 + exp(-e)) * (1 + mpf(10) ** -3)
        assert all(reference.laplace_renyi(e, alpha) <= rho * mpf(alpha) for alpha in ALPHAS)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(6)], ids=str)
def test_the_divergence_of_the_exponential_mechanism_is_the_worst_over_all_ranges(epsilon, alpha) -> None:
    e = mpf(epsilon.numerator) / epsilon.denominator
    worst = mpf(0)
    for step in range(1, 400):
        t = e * step / 400
        p = (exp(e) - exp(t)) / (exp(e) - 1)
        worst = max(worst, log(p * exp((alpha - 1) * t) + (1 - p) * exp((alpha - 1) * (t - e))) / (mpf(alpha) - 1))
    found = mpf(BoundedRangeLaw(epsilon).renyi(alpha))
    assert worst <= found <= worst * mpf("1.002") + mpf(10) ** -11
    assert found <= e * e / 8 * alpha * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3)], ids=str)
def test_the_envelope_of_the_exponential_mechanism_touches_each_of_its_members(epsilon) -> None:
    e, law = float(epsilon), BoundedRangeLaw(epsilon)
    for level in np.linspace(-e, e, 41):
        heights = []
        for t in np.linspace(0, e, 2001):
            p = (math.exp(e) - math.exp(t)) / math.expm1(e)
            heights.append(p * max(0, -math.expm1(level - t)) + (1 - p) * max(0, -math.expm1(level - t + e)))
        assert max(heights) <= law.delta(float(level)) * (1 + 1e-12) + 1e-15
        assert law.delta(float(level)) <= max(heights) + 1e-6


@pytest.mark.parametrize(
    "law",
    [LaplaceLaw(Fraction(1, 3)), BoundedRangeLaw(Fraction(1, 3)), GaussianLaw(Fraction(1, 5))],
    ids=lambda law: type(law).__name__,
)
def test_a_law_says_the_same_by_its_tails_its_profile_its_grid_and_its_cumulant(law) -> None:
    levels = np.linspace(-0.3, 0.3, 13)
    p_below, p_above, q_below, q_above = law.tails(levels)
    assert np.allclose(p_below + p_above, 1)
    assert np.allclose(q_below + q_above, 1)
    assert np.allclose([law.delta(x) for x in levels.tolist()], p_above - np.exp(levels) * q_above, atol=1e-9)
    lattice = law.on_grid(1e-4, 1e-30)
    for order in (0.5, 2.0, 9.0):
        on_grid = lattice.cumulant(order)
        assert 0 <= on_grid - float(law.cumulant(np.array([order]))[0]) < 1e-6
        assert float(law.cumulant(np.array([order]))[0]) / order <= law.renyi(order + 1) + 1e-9 or not law.is_attained


@pytest.mark.parametrize(
    "law", [LaplaceLaw(Fraction(1)), BoundedRangeLaw(Fraction(1))], ids=lambda law: type(law).__name__
)
@pytest.mark.parametrize("step", [0.03, 0.3, 0.7, 1.9])
def test_a_grid_that_does_not_divide_the_losses_keeps_the_mass_under_both_laws(law, step) -> None:
    lattice = law.on_grid(step, 0.0)
    assert lattice.masses.sum() == pytest.approx(1, abs=1e-11)
    assert (np.exp(-lattice.losses) * lattice.masses).sum() == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("x", [-20.0, -2.0, -1.9, -1.0, -0.3, -1e-9, 1e-300, 1e-9, 0.3, 1.0, 1.9, 2.0, 20.0])
def test_what_an_exponential_exceeds_its_tangent_by_is_known_to_a_few_units(x) -> None:
    with mpmath.workdps(700):
        truth = mpmath.expm1(mpf(x)) - mpf(x)
        assert abs(mpf(_beyond_the_tangent(x)) - truth) <= truth * 2.0**-49 + mpf(10) ** -320


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 10**8), Fraction(1, 10**5), Fraction(1, 10**4), Fraction(1), Fraction(9)]
)
def test_the_rho_of_laplace_noise_is_its_divergence_where_the_closed_form_would_cancel_too(epsilon) -> None:
    e = mpf(epsilon.numerator) / epsilon.denominator
    with mpmath.workdps(50):
        truth = e + mpmath.expm1(-e)
        found = LaplaceLaw(epsilon).rho
        assert truth <= mpf(found.numerator) / found.denominator <= truth * (1 + mpf(10) ** -4)


@pytest.mark.parametrize("mu_squared", [Fraction(1, 100), Fraction(3), Fraction(50)])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_rho_of_a_gaussian_is_half_of_mu_squared_and_its_renyi_divergence_alpha_times_that(
    mu_squared, alpha
) -> None:
    law = GaussianLaw(mu_squared)
    assert law.rho == mu_squared / 2
    assert from_above(law.renyi(alpha), mpf(alpha) * mpf(mu_squared.numerator) / mpf(2 * mu_squared.denominator), 1e-12)


def test_what_rounding_may_hide_adds_up_over_releases() -> None:
    """Of k releases on a grid, each of which may be too low by its margin, the sum may be too low by k margins."""
    law, grid = LaplaceLaw(Fraction(1, 10)), LossGrid(step=1e-3, low=-2.0, high=2.0, slope=1.0, steeper=2.0, tail=1e-20)
    one, many = (convolve([(law.on_grid(grid.step, grid.tail), times)], grid).margin for times in (1, 50))
    assert one > 0
    assert many == pytest.approx(50 * one)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(30)], ids=str)
def test_the_rho_of_whatever_is_pure_is_the_lesser_of_its_two_bounds(epsilon) -> None:
    e = float(epsilon)
    assert float(atoms.pure_rho(epsilon)) == pytest.approx(e * math.tanh(e / 2), rel=1e-9)
    assert atoms.pure_rho(epsilon) <= epsilon**2 / 2


@pytest.mark.parametrize(("moved", "scale"), [(2, Fraction(3)), (5, Fraction(1, 2)), (40, Fraction(7))])
def test_the_rho_of_discrete_laplace_noise_is_its_divergence_where_that_is_the_lesser(moved, scale) -> None:
    law = atoms.discrete_laplace(moved, scale)
    x = np.arange(-400, 401 + moved)
    noise = np.exp(-np.abs(x) / float(scale))
    noise /= noise.sum()
    divergence = float((noise * (np.abs(x - moved) - np.abs(x)) / float(scale)).sum())
    assert float(law.rho) == pytest.approx(min(divergence, float(atoms.pure_rho(moved / scale))), rel=1e-6)
