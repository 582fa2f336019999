"""Bernstein polynomials add up to the same for every row, and moments are read from their sums exactly."""

import statistics
from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.weighted_sums import Reach
from lapwing.queries.algebra.term import OnGrid, Rounded, bounds
from lapwing.queries.planning.plan import Scale
from lapwing.queries.statistics.bernstein import (
    Moment,
    ReleasedSums,
    basis,
    coarser,
    degree_of,
    length,
    moment,
    products,
    raw,
    unrounded,
    weight_of,
    within,
)
from lapwing.vocabulary.event import DiscreteLaplaceNoise

AGE = OnGrid(column="age", bits=0, low=20, high=30)
SCALE = Scale(low=Fraction(20), step=Fraction(1), extent=10)
AGES = (20, 23, 30, 29)


def sums_of(values, degree, extent=10, low=20):
    """The sums from their definition, C(d, i) x^i (R - x)^(d - i)."""
    binomial = {1: (1, 1), 2: (1, 2, 1)}[degree]
    return [
        sum(binomial[i] * (value - low) ** i * (extent - value + low) ** (degree - i) for value in values)
        for i in range(degree + 1)
    ]


@pytest.mark.parametrize(("degree", "most"), [(1, [10, 10]), (2, [100, 200, 100])])
def test_a_basis_has_one_polynomial_more_than_its_degree_none_of_them_negative(degree, most) -> None:
    assert [bounds(one) for one in basis(AGE, degree)] == [(0, one) for one in most]


def test_products_run_through_the_last_basis_fastest() -> None:
    one, other = basis(AGE, 1), basis(OnGrid(column="bmi", bits=0, low=0, high=3), 1)
    found = products([one, other])
    assert found == tuple(product for above in one for product in products([[above], other]))
    assert [bounds(each) for each in found] == [(0, 30)] * 4


@pytest.mark.parametrize(
    ("most", "unit"),
    [(100, 100), (99, 50), (50, 50), (49, 25), (1, 1)],
)
def test_terms_are_halved_until_they_add_up_to_few_enough(most, unit) -> None:
    terms = tuple(basis(AGE, 2))
    found, whole = coarser(terms, 100, most)
    assert whole == unit <= most
    assert [unrounded(one) for one in found] == list(terms)
    assert all(isinstance(one, Rounded) for one in found) is (unit < 100)


@pytest.mark.parametrize("degree", [1, 2])
def test_the_sums_of_a_row_are_a_row_and_its_power_its_value(degree) -> None:
    for age in AGES:
        sums, x = sums_of([age], degree), Fraction(age - 20, 10)
        assert [raw(sums, degree, (power,)) / 10**degree for power in range(degree + 1)] == [1, x, x * x][: degree + 1]


def test_a_weight_is_the_part_of_a_power_that_is_in_one_sum() -> None:
    assert [weight_of(2, (i,), (1,)) for i in range(3)] == [0, Fraction(1, 2), 1]
    assert [weight_of(2, (i,), (2,)) for i in range(3)] == [0, 0, 1]
    assert weight_of(2, (1, 2), (1, 1)) == Fraction(1, 2)


@pytest.mark.parametrize(("values", "sums", "degree"), [(1, 2, 1), (1, 3, 2), (2, 4, 1), (2, 9, 2)])
def test_the_degree_follows_from_how_many_sums_there_are(values, sums, degree) -> None:
    assert degree_of(values, [0] * sums) == degree


def test_moments_of_exact_sums_are_those_of_the_values() -> None:
    assert moment(Moment.MEAN, [SCALE], sums_of(AGES, 1)) == Fraction(sum(AGES), len(AGES))
    assert moment(Moment.MEAN, [SCALE], sums_of(AGES, 2)) == Fraction(sum(AGES), len(AGES)), "more than enough"
    assert moment(Moment.VARIANCE, [SCALE], sums_of(AGES, 2)) == statistics.pvariance(map(Fraction, AGES))


@pytest.mark.parametrize("kind", [Moment.COVARIANCE, Moment.CORRELATION])
def test_moments_of_two_values_are_those_of_the_pairs(kind) -> None:
    others, degree = (1, 2, 3, 0), 1 if kind is Moment.COVARIANCE else 2
    sums = np.zeros((degree + 1) ** 2, dtype=int)
    for x, y in zip(AGES, others, strict=True):
        sums += np.outer(sums_of([x], degree), sums_of([y], degree, extent=3, low=0)).ravel()
    found = moment(kind, [SCALE, Scale(low=Fraction(0), step=Fraction(1), extent=3)], sums.tolist())
    expected = np.cov(AGES, others, bias=True)[0, 1] if kind is Moment.COVARIANCE else np.corrcoef(AGES, others)[0, 1]
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "sums", "answer"),
    [
        (Moment.MEAN, [0, 0], 25),
        (Moment.VARIANCE, [0, 0, 0], 0),
        (Moment.MEAN, [0, 70], 30),
        (Moment.VARIANCE, [0, 0, 900], 0),
        (Moment.VARIANCE, [500, 0, 500], 25),
        (Moment.VARIANCE, [0, 900, 0], 0),  # below what any values have
    ],
)
def test_what_no_values_have_is_answered_within_what_some_have(kind, sums, answer) -> None:
    assert moment(kind, [SCALE], sums) == answer


def test_a_number_is_moved_between_its_bounds() -> None:
    assert [within(Fraction(n), 0, 2) for n in (-1, 1, 3)] == [0, 1, 2]


def test_averages_and_spreads_of_released_sums_are_those_of_the_rows() -> None:
    parts, x = ReleasedSums(tuple(sums_of(AGES, 2)), 1), [(age - 20) / 10 for age in AGES]
    assert (parts.degree, parts.rows) == (2, 400)
    assert parts.average(1) == pytest.approx(np.mean(x))
    assert parts.spread((1,), (1,)) == pytest.approx(np.var(x))
    assert parts.one == pytest.approx([1, 1, 1])
    assert parts.centred(1) @ np.array(parts.sums) == pytest.approx(0)
    assert parts.centred(2) @ np.array(parts.sums) / parts.rows == pytest.approx(np.var(x))


def test_a_form_that_noise_explains_lies_further_around_where_there_are_fewer_rows() -> None:
    reach = Reach(DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(10)), 0.05)
    few, many = (ReleasedSums((n, n, n), 1) for n in (1_000, 100_000))
    (low, high), (near, _) = (one.around(one.centred(1), reach) for one in (few, many))
    assert low == pytest.approx(high)
    assert 90 < low / near < 110


@pytest.mark.parametrize(("start", "slope"), [(3.0, 0.0), (3.0, 4.0), (0.0, 4.0)])
def test_a_length_is_at_or_beyond_the_root_and_near_it(start, slope) -> None:
    found, root = length(10, slope, lambda u: start + slope * u), start / (10 - slope)
    assert root <= found * (1 + 1e-12)
    assert found == pytest.approx(root, rel=1e-6)
