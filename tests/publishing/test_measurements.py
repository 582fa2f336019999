"""Noise on marginals: variances against linear algebra on the whole domain, best shares, and intervals that hold."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.mechanisms.residual_basis import squared_move, squared_mu, whole_residual
from lapwing.mechanisms.weighted_sums import Reach
from lapwing.publishing import measurements
from lapwing.publishing.measurements import (
    GaussianResiduals,
    GeometricCover,
    gaussian_residuals,
    geometric_cover,
    moved_in_one_table,
    subsets,
    weights_of_draws,
    weights_of_variances,
)
from lapwing.queries.algebra.aggregate import Aggregate, CountPerPerson, DeclaredKey, sensitivity
from lapwing.queries.algebra.predicate import ALWAYS
from lapwing.vocabulary.event import DiscreteLaplaceNoise, GaussianNoise
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

CODES = (2, 3, 4)
PAIRS = [(0, 1), (0, 2), (1, 2)]
UNITS = [PrivacyUnit(person_key="id", adjacency=one, protects_groups_of=k) for one in Adjacency for k in (1, 3)]
UNIT = UNITS[0]


def gaussian(wanted=PAIRS, codes=CODES, unit=UNIT, variance="25"):
    event = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(variance))
    return gaussian_residuals(codes, wanted, unit, event)


def geometric(wanted=PAIRS, codes=CODES, unit=UNIT, epsilon="0.2"):
    return geometric_cover(codes, wanted, unit, Fraction(epsilon))


def marginal(axes, codes=CODES):
    """Return the matrix that makes a table of some columns from the table of all of them."""
    parts = [np.eye(n) if a in axes else np.ones((1, n)) for a, n in enumerate(codes)]
    whole = np.ones((1, 1))
    for part in parts:
        whole = np.kron(whole, part)
    return whole


def residual(axes, codes=CODES):
    matrix = marginal(axes, codes)
    shape = [codes[a] for a in axes]
    return np.stack([whole_residual(column.reshape(shape)).ravel() for column in matrix.T], axis=1)


def dense(measured):
    """Return what is released as a matrix, and the variance of each number: plain linear algebra."""
    if isinstance(measured, GaussianResiduals):
        sigmas = measured.mechanism.sigmas
        rows = [residual(axes, measured.codes) for axes in sigmas]
        noise = [float(sigma) ** 2 + 1 / 12 for sigma in sigmas.values()]
    else:
        rows = [marginal(axes, measured.codes) for axes in measured.counted]
        scale = float(measured.mechanism.event.scale)
        whole = np.arange(-200_000, 200_001)
        law = np.exp(-np.abs(whole) / scale)
        noise = [float((law * whole**2).sum() / law.sum())] * len(rows)
    return np.vstack(rows), np.repeat(noise, [len(one) for one in rows])


BOXES = [((0, 1), (1, 1)), ((1, 2), (2, 3)), ((0,), (1,)), ((), ()), ((0, 2), (2, 1)), ((1, 2), (0, 2))]


@pytest.mark.parametrize(("axes", "widths"), BOXES)
@pytest.mark.parametrize("make", [gaussian, geometric])
def test_variances_are_those_of_least_squares_over_the_whole_domain(make, axes, widths) -> None:
    measured = make()
    rows, noise = dense(measured)
    information = rows.T @ (rows / noise[:, None])
    masks = [np.arange(CODES[a]) < (widths[axes.index(a)] if a in axes else CODES[a]) for a in range(3)]
    box = np.einsum("i,j,k->ijk", *[mask.astype(float) for mask in masks]).ravel()
    expected = float(box @ np.linalg.pinv(information) @ box)
    assert measured.variance(axes, widths) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("make", [gaussian, geometric])
def test_estimates_are_those_of_least_squares(make) -> None:
    measured, table = make(), np.random.default_rng(2).integers(0, 50, CODES)
    counted = {axes: Sensitive(tuple(map(int, (marginal(axes) @ table.ravel())))) for axes in measured.counted}
    released = measured.release(counted)
    rows, noise = dense(measured)
    weighted = rows / np.sqrt(noise)[:, None]
    best, *_ = np.linalg.lstsq(weighted, np.concatenate(released) / np.sqrt(noise), rcond=None)
    found = measured.residuals(released)
    for axes in PAIRS:
        shape = [CODES[a] for a in axes]
        made = np.zeros(shape)
        for inner in subsets(axes):
            spread = math.prod(CODES[a] for a in axes if a not in inner)
            made = made + found[inner].reshape([CODES[a] if a in inner else 1 for a in axes]) / spread
        assert np.allclose(made.ravel(), marginal(axes) @ best, atol=1e-6)


def test_the_weights_of_the_draws_are_those_of_linear_algebra() -> None:
    measured = geometric(wanted=[(0, 1), (1, 2)])
    rows, _ = dense(measured)
    for axes, widths in [((0, 1), (1, 2)), ((1, 2), (2, 3)), ((1,), (1,))]:
        masks = [np.arange(CODES[a]) < (widths[axes.index(a)] if a in axes else CODES[a]) for a in range(3)]
        box = np.einsum("i,j,k->ijk", *[mask.astype(float) for mask in masks]).ravel()
        expected = np.linalg.pinv(rows).T @ box
        found = np.repeat(*weights_of_draws(CODES, measured.counted, axes, widths))
        assert np.allclose(np.sort(found), np.sort(expected), atol=1e-12)


@pytest.mark.parametrize("unit", UNITS)
def test_no_other_shares_of_the_price_have_a_smaller_sum_of_variances(unit) -> None:
    measured = gaussian(unit=unit, variance="2500")
    weights = weights_of_variances(CODES, PAIRS)
    price = squared_mu(CODES, measured.mechanism.sigmas, unit)
    assert float(price) == pytest.approx(1 / 2500, rel=2e-3), "what is paid is used"
    alone = replace(unit, adjacency=Adjacency.ADD_REMOVE)
    moved = {s: squared_move([CODES[a] for a in s], alone) / math.prod(CODES[a] for a in s) ** 2 for s in weights}
    used = sum(moved[s] / v for s, v in measured.variances.items())
    for number in range(50):
        factors = np.exp(np.random.default_rng(number).normal(0, 0.3, len(weights)))
        tried = {s: v * f for (s, v), f in zip(measured.variances.items(), factors, strict=True)}
        stretch = sum(moved[s] / v for s, v in tried.items()) / used
        assert sum(weights[s] * v * stretch for s, v in tried.items()) > measured.off


def test_tables_of_few_cells_and_of_many_have_nearly_the_same_noise() -> None:
    codes = (3, 11, 9, 3, 7, 2, 2, 2, 2, 6, 7, 5, 2, 2, 2, 2)
    pairs = list(itertools.combinations(range(16), 2))
    noise = [math.sqrt(gaussian(wanted=pairs, codes=codes).variance(axes, (1, 1))) for axes in pairs]
    assert max(noise) < 1.2 * min(noise), "from 4 to 99 cells"
    by_itself = math.sqrt(len(pairs) * 25)
    assert max(noise) < 0.61 * by_itself


@pytest.mark.parametrize("make", [gaussian, geometric])
def test_it_is_better_than_each_table_by_itself(make) -> None:
    codes = (2, 5, 3, 4, 2, 6)
    pairs = list(itertools.combinations(range(6), 2))
    together, alone = make(wanted=pairs, codes=codes), 0.0
    for axes in pairs:
        shared = {"variance": "375"} if make is gaussian else {"epsilon": str(Fraction(2, 150))}
        alone += make(wanted=[axes], codes=codes, **shared).off
    assert together.off < 0.6 * alone


def test_the_weighted_variances_are_those_of_all_cells() -> None:
    for measured in (gaussian(), geometric()):
        cells = sum(math.sqrt(math.prod(CODES[a] for a in axes)) * measured.variance(axes, (1, 1)) for axes in PAIRS)
        assert measured.off == pytest.approx(cells)
    assert set(gaussian().variances) == {(), (0,), (1,), (2,), *PAIRS}


def test_one_wide_table_is_taken_under_a_pure_budget_where_it_is_better_than_many() -> None:
    few = geometric(wanted=list(itertools.combinations(range(4), 2)), codes=(2, 2, 2, 2))
    assert few.counted == ((0, 1, 2, 3),)
    many = geometric(wanted=list(itertools.combinations(range(4), 2)), codes=(30, 30, 30, 30))
    assert len(many.counted) == 6


@pytest.mark.parametrize("unit", UNITS)
def test_geometric_noise_pays_for_what_the_house_derives_for_each_table(unit) -> None:
    key = DeclaredKey(column="code", values=(0, 1, 2), missing=False)
    table = Aggregate(table="t", where=ALWAYS, keys=(key,), bounding=CountPerPerson(max_cells=1), salt=0)
    assert moved_in_one_table(unit) == sensitivity(table, unit).l1
    measured = geometric(unit=unit)
    assert measured.event.l1_sensitivity == len(measured.counted) * moved_in_one_table(unit)
    assert measured.mechanism.epsilon == Fraction("0.2")


@pytest.mark.parametrize("unit", [UNITS[0], UNITS[2]])
def test_nobody_moves_the_counted_tables_further_than_is_paid_for_and_somebody_does_so_far(unit) -> None:
    """All people of the domain, and all pairs of them where people are exchanged: who comes may have no row."""
    measured = geometric(unit=unit, codes=(2, 3, 4), wanted=[(0, 1), (1, 2)])
    people = list(np.eye(24, dtype=int))
    nobody = np.zeros(24, int)
    befores = [nobody] if unit.adjacency is Adjacency.ADD_REMOVE else [nobody, *people]
    rows = np.vstack([marginal(axes) for axes in measured.counted])
    moves = [int(np.abs(rows @ (after - before)).sum()) for after in people for before in befores]
    assert max(moves) == measured.event.l1_sensitivity


@pytest.mark.parametrize(("axes", "widths"), [((0, 1), (1, 1)), ((1, 2), (2, 3)), ((), ())])
@pytest.mark.parametrize("make", [gaussian, geometric])
def test_intervals_hold_as_often_as_they_say(make, axes, widths) -> None:
    """At 90 %, in 3,000 releases; one that is a fifth too short is seen, and so is one that is a quarter too long."""
    measured = make() if make is gaussian else make(epsilon="0.02")
    counted = {one: [0] * math.prod(CODES[a] for a in one) for one in measured.counted}
    reach, many, misses = measured.reach(axes, widths, 0.1), 3000, {1.0: 0, 0.8: 0, 1.25: 0}
    inside = [np.arange(CODES[a]) < m for a, m in zip(axes, widths, strict=True)]
    for _ in range(many):
        found = measured.residuals(measured.release(counted))
        error = 0.0
        for inner in subsets(axes):
            part = found[inner]
            for place, a in reversed(list(enumerate(inner))):
                part = part.compress(inside[axes.index(a)], axis=place).sum(axis=place)
            spread = [m / CODES[a] for a, m in zip(axes, widths, strict=True) if a not in inner]
            error += float(part) * math.prod(spread)
        for factor in misses:
            misses[factor] += abs(error) > factor * reach
    assert misses[1.0] <= binom.isf(1e-6, many, 0.1)
    assert misses[1.0] >= binom.ppf(1e-6, many, 0.08)
    assert misses[0.8] > binom.isf(1e-6, many, 0.1)
    assert misses[1.25] < binom.ppf(1e-6, many, 0.08)


@pytest.mark.parametrize("scale", ["1/2", "3", "40"])
@pytest.mark.parametrize("weights", [[1.0] * 4, [1.0] * 30, [0.7, -0.2, 0.1, 0.1, 0.3], [1.0, 0.5]])
def test_reaches_of_sums_are_long_enough_by_the_exact_law(scale, weights) -> None:
    """The law of the sum, by convolution on a lattice of tenths; a reach that is three quarters of it is too short."""
    tenths = np.rint(np.array(weights) * 10).astype(int)
    reach = measurements._reach_of_sum(Fraction(scale), np.array(weights), 0.05)
    quick = measurements.chernoff(float(Fraction(scale)) * np.array(weights), np.ones(len(weights), int), 0.05)
    far = math.ceil(30 * float(Fraction(scale))) + 2
    draws = np.arange(-far, far + 1)
    one = np.exp(-np.abs(draws) / float(Fraction(scale)))
    one /= one.sum()
    size = 1 << math.ceil(math.log2(2 * far * int(np.abs(tenths).sum()) + 2))
    spectrum = np.ones(size // 2 + 1, complex)
    for weight in tenths:
        law = np.zeros(size)
        np.add.at(law, (draws * weight) % size, one)
        spectrum *= np.fft.rfft(law)
    law = np.fft.irfft(spectrum, size)
    places = np.fft.fftfreq(size, 1 / size) / 10
    assert law[np.abs(places) > reach].sum() <= 0.05
    assert law[np.abs(places) > quick].sum() <= 0.05
    assert law[np.abs(places) > 0.75 * reach].sum() > 0.05 or scale == "1/2"
    assert reach <= Reach(DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(scale)), 0.05).of(weights) * 1.001


def test_a_quick_bound_is_never_below_a_reach() -> None:
    for measured, (axes, widths), chance in itertools.product((gaussian(), geometric()), BOXES, (0.3, 0.05, 1e-7)):
        assert measured.bound(axes, widths, chance) >= measured.reach(axes, widths, chance)


def test_both_kinds_release_as_many_numbers_as_they_say() -> None:
    for measured in (gaussian(), geometric()):
        counted = {one: [7] * math.prod(CODES[a] for a in one) for one in measured.counted}
        assert sum(map(len, measured.release(counted))) == measured.numbers
    assert isinstance(geometric(), GeometricCover)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**place) for place in (0, 3, 6, 9)])
def test_the_least_price_has_a_variance_too(epsilon) -> None:
    """That of discrete Laplace noise of a large scale b is 2b² - 1/6, but for less than 1/b²."""
    unit = PrivacyUnit(person_key="id")
    codes, wanted = (2,) * 12, list(itertools.combinations(range(12), 2))
    one = geometric_cover(codes, wanted, unit, epsilon)
    scale = one.mechanism.event.scale
    for axes, variance in one.variances.items():
        precision = sum(Fraction(1, 2 ** (len(table) - len(axes))) for table in one.counted if set(axes) <= set(table))
        assert variance * float(precision) == pytest.approx(
            float(2 * scale**2 - Fraction(1, 6)), rel=1e-4 * float(epsilon) + 1e-9
        )
