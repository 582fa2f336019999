"""Composed profiles: by enumeration, by closed forms, between two roundings, and by two ways that share no code."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from accounting import reference
from lapwing.accounting.fourier import delta_on_grid, epsilon_on_grid, pair_on_grid
from lapwing.accounting.losses import atoms
from lapwing.accounting.losses.continuous import GaussianLaw, LaplaceLaw
from lapwing.accounting.losses.sampled import SampledLaw, Sampling
from lapwing.accounting.losses.selections import BoundedRangeLaw
from lapwing.accounting.privacy_loss_distribution import _line, composed_delta, composed_epsilon
from lapwing.accounting.spectrum import Spectrum
from lapwing.accounting.tilting import Tilts


def on_line(factors, delta):
    tilts = Tilts(factors)
    target = tilts.for_delta(delta)
    return Spectrum(factors, _line(factors, target)).epsilon(delta, target.epsilon)


def on_grid(factors, delta):
    return epsilon_on_grid(factors, Tilts(factors), delta)


@cache
def optimal_epsilon(epsilon, times, delta):
    return reference.solve(lambda e: reference.optimal_delta(times, mpf(epsilon), e), delta, times * mpf(epsilon))


ENGINES = {"line": on_line, "grid": on_grid}

SMALL = {
    "three coins": (
        [(atoms.pure(Fraction(3, 10)), 2), (atoms.pure(Fraction(1, 2)), 1)],
        [reference.response("0.3")] * 2 + [reference.response("0.5")],
    ),
    "a coin and two dice": (
        [(atoms.pure(Fraction(1)), 1), (atoms.k_ary(Fraction(2), 6), 2)],
        [reference.response(1), reference.response(2, 6), reference.response(2, 6)],
    ),
    "geometric noise of several steps": (
        [(atoms.discrete_laplace(2, Fraction(3)), 2), (atoms.discrete_laplace(3, Fraction(5)), 1)],
        [reference.two_sided_geometric(2, 3, 40)] * 2 + [reference.two_sided_geometric(3, 5, 60)],
    ),
    "a release that may fail": (
        [(atoms.approximate(Fraction(1), Fraction(1, 10**5)), 2), (atoms.pure(Fraction(1, 3)), 1)],
        [[(loss, mass * (1 - mpf(10) ** -5)) for loss, mass in reference.response(1)] + [(math.inf, mpf(10) ** -5)]] * 2
        + [reference.response(mpf(1) / 3)],
    ),
}


@pytest.fixture(scope="module")
def enumerated():
    """The composed atoms, with equal losses put together."""
    sums = {}
    for name, (_, laws) in SMALL.items():
        total = {mpf(0): mpf(1)}
        for law in laws:
            together = {}
            for loss, mass in total.items():
                for more, share in law:
                    key = math.inf if math.inf in (loss, more) else mpf(round((loss + more) * 10**40)) / 10**40
                    together[key] = together.get(key, mpf(0)) + mass * share
            total = together
        sums[name] = list(total.items())
    return sums


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("delta", [0.1, 1e-2, 1e-4])
@pytest.mark.parametrize("name", SMALL)
def test_small_compositions_agree_with_enumeration_from_above(enumerated, name, delta, engine) -> None:
    truth = reference.solve(lambda e: reference.profile_of_atoms(enumerated[name], e), delta, 20)
    found = engine(SMALL[name][0], delta)
    assert truth * (1 - mpf(10) ** -15) <= mpf(found) <= truth * mpf("1.0001") + mpf("1e-6")


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("level", [0.0, 0.2, 0.7, 1.5])
def test_the_profile_of_a_small_composition_agrees_with_enumeration_from_above(enumerated, name, level) -> None:
    factors = SMALL[name][0]
    truth = reference.profile_of_atoms(enumerated[name], level)
    for found in (composed_delta([factors], level), delta_on_grid(factors, Tilts(factors), level)):
        assert truth * (1 - mpf(10) ** -15) <= mpf(found) <= truth * mpf("1.002") + mpf(10) ** -8


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("delta", [1e-6, 1e-10, 1e-20, 1e-30])
@pytest.mark.parametrize(("epsilon", "times"), [("0.02", 200), ("0.5", 60)], ids=str)
def test_coins_agree_with_the_optimal_composition_down_to_tiny_deltas(epsilon, times, delta, engine) -> None:
    truth = optimal_epsilon(epsilon, times, delta)
    found = engine([(atoms.pure(Fraction(epsilon)), times)], delta)
    assert truth <= mpf(found) <= truth * mpf("1.0001")


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12, 1e-30])
@pytest.mark.parametrize("mu", [0.05, 0.8])
def test_a_gaussian_in_pieces_is_a_gaussian(mu, delta, engine) -> None:
    """The closed form is not used here: both ways see thirteen separate laws."""
    pieces = [(GaussianLaw(Fraction(mu) ** 2 * Fraction(k, 91)), 1) for k in range(1, 14)]
    truth = reference.solve(lambda e: reference.gaussian_delta(mu, e), delta, 60)
    assert truth <= mpf(engine(pieces, delta)) <= truth * mpf("1.00002")


def laplace_bracket(scales, step, delta):
    return reference.bracket([(reference.laplace_cdf(e), -e, e, times) for e, times in scales], step, delta)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_laplace_releases_lie_between_losses_rounded_down_and_up(delta, engine) -> None:
    scales = [(0.5, 3), (0.2, 5), (0.03, 40)]
    low, high = laplace_bracket(scales, 0.0005, delta)
    found = engine([(LaplaceLaw(Fraction(e)), times) for e, times in scales], delta)
    assert low <= found <= high
    assert high - low < 0.03


LAWS = {
    "laplace": lambda e: LaplaceLaw(Fraction(e)),
    "coin": lambda e: atoms.pure(Fraction(e)),
    "gaussian": lambda e: GaussianLaw(Fraction(e) ** 2),
    "selection": lambda e: BoundedRangeLaw(Fraction(e)),
    "die": lambda e: atoms.k_ary(Fraction(e), 5),
}
releases = st.lists(
    st.tuples(st.sampled_from(sorted(LAWS)), st.floats(min_value=0.003, max_value=1.5), st.integers(1, 60)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40)
@given(releases, st.sampled_from([1e-2, 1e-5, 1e-9]))
def test_the_line_and_the_grid_agree_on_anything(mixture, delta) -> None:
    factors = [(LAWS[name](e), times) for name, e, times in mixture]
    line, grid = on_line(factors, delta), on_grid(factors, delta)
    assert line == pytest.approx(grid, rel=2e-4, abs=1e-6)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.floats(min_value=0.02, max_value=0.6), st.integers(1, 12)), min_size=1, max_size=3))
def test_laplace_mixtures_stay_above_losses_rounded_down(scales) -> None:
    low, high = laplace_bracket(scales, 0.002, 1e-4)
    found = composed_epsilon([[(LaplaceLaw(Fraction(e)), times) for e, times in scales]], 1e-4)
    assert low - 1e-12 <= found <= high + 1e-12


def test_the_orders_of_a_sampled_release_are_both_looked_at() -> None:
    removed = SampledLaw(GaussianLaw(Fraction(1)), Fraction(1, 20), Sampling.POISSON_REMOVED)
    orders = [[(removed, 100)], [(removed.other_order, 100)]]
    apart = [composed_epsilon([order], 1e-5) for order in orders]
    assert composed_epsilon(orders, 1e-5) == max(apart)
    assert composed_epsilon(orders[::-1], 1e-5) == max(apart)
    assert apart[0] != pytest.approx(apart[1], rel=0.01)


def test_a_sampled_gaussian_composed_by_hand() -> None:
    """Two uses: the profile of the pair of outputs is an integral over the plane."""
    rate, sigma, level = 0.2, 1.0, 0.3
    x, step = np.linspace(-9, 11, 2501, retstep=True)
    outside = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    inside = (1 - rate) * outside + rate * np.exp(-((x - 1) ** 2) / 2) / math.sqrt(2 * math.pi)
    plane = np.outer(inside, inside) - math.exp(level) * np.outer(outside, outside)
    truth = float(np.maximum(plane, 0).sum()) * step * step
    law = SampledLaw(GaussianLaw(Fraction(sigma)), Fraction(rate), Sampling.POISSON_REMOVED)
    assert composed_delta([[(law, 2)]], level) == pytest.approx(truth, rel=1e-4)


@pytest.mark.parametrize(
    "factors",
    [
        [(LaplaceLaw(Fraction(1, 10)), 30)],
        [(atoms.pure(Fraction(1, 10)), 30), (GaussianLaw(Fraction(1, 10)), 1)],
        [(SampledLaw(GaussianLaw(Fraction(1)), Fraction(1, 20), Sampling.POISSON_REMOVED), 200)],
        [(atoms.approximate(Fraction(1, 5), Fraction(1, 10**8)), 20)],
    ],
    ids=["laplace", "mixture", "sampled", "failing"],
)
def test_a_composition_as_a_finite_pair_dominates_it_and_stays_close(factors) -> None:
    pair = pair_on_grid(factors, Tilts(factors), Tilts([(law.other_order, n) for law, n in factors]))
    assert abs(pair.masses.sum() + pair.infinite_mass - 1) < 1e-9
    assert float((pair.masses * np.exp(-pair.losses)).sum()) <= 1 + 1e-9
    for level in (-0.5, 0.0, 0.3, 0.8, 1.2):
        exact = composed_delta([factors], level)
        assert exact * (1 - 1e-4) - 1e-13 <= pair.delta(level) <= exact * 1.001 + 1e-9


def test_the_smallest_profile_of_all_is_never_zero_by_underflow() -> None:
    assert composed_delta([[(GaussianLaw(Fraction(1, 100)), 1), (LaplaceLaw(Fraction(1, 100)), 1)]], 40.0) > 0


def test_what_is_lost_for_sure_is_part_of_the_price() -> None:
    failing = [(atoms.approximate(Fraction(1, 100), Fraction(1, 1000)), 5), (LaplaceLaw(Fraction(1, 10)), 1)]
    lost = float(1 - (1 - mpf(10) ** -3) ** 5)
    assert composed_epsilon([failing], lost * 0.999) == math.inf
    assert composed_epsilon([failing], lost * 1.01) < math.inf
    assert composed_delta([failing], 5.0) == pytest.approx(lost, rel=1e-9)
