"""Sums of Bernstein polynomials: what one row adds to them, and what is read from them, with its bounds.

For a value that has been put on a grid, X = low..high with R = high - low, the polynomials

    B_i(X) = C(d, i) (X - low)^i (high - X)^(d - i),    i = 0..d,

are never negative and add up to R^d, whatever X is. So a row moves the vector of their sums by exactly R^d in L1 norm,
no more than it moves a count in units of R^d, and yet all moments up to degree d are linear in these sums.

What is read from released sums is arithmetic, so it costs nothing. Where a formula has no meaning (a mean over no
rows), a fixed public rule answers instead: the middle of the range, no variance, no correlation. It is never shown:
where noise may have made a moment of nobody, its value is missing. Answers are moved into
the range that the values allow. `ReleasedSums` are those of one cell with their noise: the averages that they give, and
the lengths at which tests of them refuse.

Proof: proofs/bernstein_moments.md, proofs/moment_intervals.md for the tests
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from lapwing.mechanisms.weighted_sums import Reach, Weights
from lapwing.queries.algebra.term import ConstantTerm, Plus, Rounded, Term, bounds, plus, times
from lapwing.queries.planning.plan import Estimate, Scale

Ends: TypeAlias = tuple[float, float]

_CHORDS = 2


class Moment(Enum):
    """What is read from the moments of one or two values."""

    MEAN = "mean"
    VARIANCE = "variance"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"


def basis(term: Term, degree: int) -> list[Term]:
    """Return the `degree` + 1 polynomials of a term, in the order of i.

    Proof: proofs/bernstein_moments.md

    >>> from lapwing.queries.algebra.term import OnGrid
    >>> [bounds(b) for b in basis(OnGrid(column="age", bits=0, low=20, high=30), 1)]
    [(0, 10), (0, 10)]
    """
    low, high = bounds(term)
    above, below = plus(term, ConstantTerm(-low)), plus(times(ConstantTerm(-1), term), ConstantTerm(high))
    return [
        _product([ConstantTerm(math.comb(degree, i)), *[above] * i, *[below] * (degree - i)]) for i in range(degree + 1)
    ]


def products(bases: Sequence[Sequence[Term]]) -> tuple[Term, ...]:
    """Return all products of one polynomial from each basis, the last basis running fastest."""
    return tuple(_product(list(factors)) for factors in itertools.product(*bases))


def coarser(terms: tuple[Term, ...], whole: int, most: int) -> tuple[tuple[Term, ...], int]:
    """Return terms that add up to `whole`, rounded down to a grid on which they add up to at most `most`, and that sum.

    Proof: proofs/bernstein_moments.md

    >>> from lapwing.queries.algebra.term import OnGrid
    >>> terms, unit = coarser(tuple(basis(OnGrid(column="age", bits=0, low=0, high=1000), 2)), 10**6, 2**16)
    >>> unit, [bounds(term) for term in terms]
    (62500, [(0, 62500), (0, 125000), (0, 62500)])
    """
    bits = max(0, whole.bit_length() - most.bit_length())
    bits += whole >> bits > most
    if not bits:
        return terms, whole
    half = ConstantTerm(-(2 ** (bits - 1)))  # so that what is rounded to the nearest is rounded down
    return tuple(Rounded(plus(term, half), bits) for term in terms), whole >> bits


def unrounded(term: Term) -> Term:
    """Return what `coarser` rounded, if it did."""
    match term:
        case Rounded(Plus(ConstantTerm(), inner) | Plus(inner, ConstantTerm()), _):
            return inner
        case _:
            return term


def _product(factors: list[Term]) -> Term:
    factors = [factor for factor in factors if factor != ConstantTerm(1)]
    product = factors[0]
    for factor in factors[1:]:
        product = times(product, factor)
    return product


def moment(kind: Moment, scales: Sequence[Scale], sums: Sequence[int]) -> Estimate:
    """Return a mean, variance, covariance or correlation from the sums of Bernstein polynomials of one cell.

    Proof: proofs/bernstein_moments.md

    >>> ages = Scale(low=Fraction(0), step=Fraction(1), extent=100)
    >>> moment(Moment.MEAN, [ages], [(100 - 20) + (100 - 40), 20 + 40])
    Fraction(30, 1)
    """
    degree = degree_of(len(scales), sums)
    rows = raw(sums, degree, (0,) * len(scales))
    if rows <= 0:
        return scales[0].low + scales[0].width / 2 if kind is Moment.MEAN else Fraction(0)

    def average(*powers: int) -> Fraction:
        return raw(sums, degree, powers) / rows

    match kind:
        case Moment.MEAN:
            return scales[0].low + scales[0].width * within(average(1), 0, 1)
        case Moment.VARIANCE:
            return scales[0].width ** 2 * within(average(2) - average(1) ** 2, 0, Fraction(1, 4))
        case Moment.COVARIANCE:
            quarter = Fraction(1, 4)
            together = average(1, 1) - average(1, 0) * average(0, 1)
            return scales[0].width * scales[1].width * within(together, -quarter, quarter)
        case Moment.CORRELATION:
            together = average(1, 1) - average(1, 0) * average(0, 1)
            spread = (average(2, 0) - average(1, 0) ** 2) * (average(0, 2) - average(0, 1) ** 2)
            if spread <= 0 or average(2, 0) <= average(1, 0) ** 2:
                return 0.0
            return max(-1.0, min(1.0, float(together) / math.sqrt(spread)))


def degree_of(values: int, sums: Sequence[int]) -> int:
    """Return the degree of the polynomials of this number of values whose sums these are."""
    return next(d for d in itertools.count(1) if (d + 1) ** values >= len(sums))


def raw(sums: Sequence[int], degree: int, powers: tuple[int, ...]) -> Fraction:
    """Return the sum over rows of the product of x^power, x from 0 to 1, in units of one row times the extents."""
    whole, weights = _whole_weights(degree, powers)
    return Fraction(sum(number * weight for number, weight in zip(sums, weights, strict=True)), whole)


@lru_cache(maxsize=64)
def _whole_weights(degree: int, powers: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """Return whole numbers that are the weights of all sums, times the first: fractions would be ten times slower."""
    whole = math.prod(math.comb(degree, k) for k in powers)
    places = itertools.product(range(degree + 1), repeat=len(powers))
    return whole, tuple(int(whole * weight_of(degree, place, powers)) for place in places)


def weight_of(degree: int, places: tuple[int, ...], powers: tuple[int, ...]) -> Fraction:
    """Return how much of the sum at `places` is in the sum of the product of x^power."""
    weights = (Fraction(math.comb(i, k), math.comb(degree, k)) for i, k in zip(places, powers, strict=True))
    return math.prod(weights, start=Fraction(1))


def within(number: Fraction, low: Fraction | int, high: Fraction | int) -> Fraction:
    """Return the number, moved between two bounds."""
    return min(max(number, Fraction(low)), Fraction(high))


@dataclass(frozen=True)
class ReleasedSums:
    """The released sums of one cell, of `values` values that go from 0 to 1, and the averages over rows they give."""

    sums: tuple[int, ...]
    values: int

    @cached_property
    def degree(self) -> int:
        """The degree of the polynomials."""
        return degree_of(self.values, self.sums)

    @cached_property
    def rows(self) -> int:
        """The number of rows, in units of one row."""
        return sum(self.sums)

    @property
    def one(self) -> Weights:
        """The weights of 1: their sum is the number of rows."""
        return self.power(*[0] * self.values)

    def power(self, *powers: int) -> Weights:
        """Return the weights of a product of powers of the values."""
        return _power(self.degree, powers)

    def average(self, *powers: int) -> float:
        """Return the average of a product of powers."""
        return float(raw(self.sums, self.degree, powers) / self.rows)

    def spread(self, one: tuple[int, ...], other: tuple[int, ...]) -> float:
        """Return the covariance of two values; of a value with itself, its variance."""
        both = tuple(a + b for a, b in zip(one, other, strict=True))
        mean, mean_of_other, product = (raw(self.sums, self.degree, powers) for powers in (one, other, both))
        return float((product - mean * mean_of_other / self.rows) / self.rows)

    def centred(self, *powers: int) -> Weights:
        """Return the weights of a product of powers of the values, each around its average."""
        means = [self.average(*(int(i == axis) for i in range(self.values))) for axis in range(self.values)]
        weights = np.zeros(len(self.sums))
        for lower in itertools.product(*(range(power + 1) for power in powers)):
            parts = zip(powers, lower, means, strict=True)
            weights += math.prod(math.comb(k, i) * (-mean) ** (k - i) for k, i, mean in parts) * self.power(*lower)
        return weights

    def around(self, form: Weights, reach: Reach) -> Ends:
        """Return how far below and above 0 a c may be so that noise explains the sum of form - c, which 0 makes 0."""
        whole = reach.of(self.one)

        def far(sign: int) -> float:
            return length(self.rows, whole, lambda u: reach.of(form - sign * u * self.one))

        return far(-1), far(1)


@lru_cache(maxsize=64)
def _power(degree: int, powers: tuple[int, ...]) -> Weights:
    places = itertools.product(range(degree + 1), repeat=len(powers))
    return np.array([float(weight_of(degree, place, powers)) for place in places])


def length(rows: float, one: float, reach_at: Callable[[float], float]) -> float:
    """Return u with rows * u >= reach_at(u), near the least; `reach_at` is convex and rises by at most `one` < `rows`.

    What is left over, rows * u - reach_at(u), is concave. Where it is not negative, the chord from 0 meets zero between
    the root and there.
    """
    start = reach_at(0.0)
    far = start / (rows - one)
    for _ in range(_CHORDS):
        over = max(0.0, rows * far - reach_at(far))
        far *= start / (start + over) if start else 0.0
    return far
