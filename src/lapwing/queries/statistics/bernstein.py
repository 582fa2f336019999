"""Sums of Bernstein polynomials: what one row adds to them, and what is read from them, with its bounds.

For a value that has been put on a grid, X = low..high with R = high - low, the polynomials

    B_i(X) = C(d, i) (X - low)^i (high - X)^(d - i),    i = 0..d,

are never negative and add up to R^d, whatever X is. So a row moves the vector of their sums by exactly R^d in L1 norm,
no more than it moves a count in units of R^d, and yet all moments up to degree d are linear in these sums.

What is read from released sums is arithmetic, so it costs nothing. Where a formula has no meaning (a mean over no
rows), a fixed public rule answers instead: the middle of the range, no variance, no correlation. Answers are moved into
the range that the values allow.

Proof: proofs/bernstein_moments.md
"""

import itertools
import math
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction

from lapwing.queries.plan import Estimate, Scale
from lapwing.queries.term import ConstantTerm, Term, bounds, plus, times


class Moment(Enum):
    """What is read from the moments of one or two values."""

    MEAN = "mean"
    VARIANCE = "variance"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"


def basis(term: Term, degree: int) -> list[Term]:
    """Return the `degree` + 1 polynomials of a term, in the order of i.

    Proof: proofs/bernstein_moments.md

    >>> from lapwing.queries.term import OnGrid
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
    total = Fraction(0)
    for places, number in zip(itertools.product(range(degree + 1), repeat=len(powers)), sums, strict=True):
        total += number * weight_of(degree, places, powers)
    return total


def weight_of(degree: int, places: tuple[int, ...], powers: tuple[int, ...]) -> Fraction:
    """Return how much of the sum at `places` is in the sum of the product of x^power."""
    weights = (Fraction(math.comb(i, k), math.comb(degree, k)) for i, k in zip(places, powers, strict=True))
    return math.prod(weights, start=Fraction(1))


def within(number: Fraction, low: Fraction | int, high: Fraction | int) -> Fraction:
    """Return the number, moved between two bounds."""
    return min(max(number, Fraction(low)), Fraction(high))
