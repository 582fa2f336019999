"""Sums of Bernstein polynomials: what one row adds to them, and what is read from them, with its bounds.

For a value that has been put on a grid, X = low..high with R = high - low, the polynomials

    B_i(X) = C(d, i) (X - low)^i (high - X)^(d - i),    i = 0..d,

are never negative and add up to R^d, whatever X is. So a row moves the vector of their sums by exactly R^d in L1 norm,
no more than it moves a count in units of R^d, and yet all moments up to degree d are linear in these sums.

What is read from released sums is arithmetic, so it costs nothing. Where a formula has no meaning (a mean over no
rows), a fixed public rule answers instead: the middle of the range, no variance, no correlation. Answers are moved into
the range that the bounds allow; where the sums leave open whether there is a row at all, the bounds also hold what the
public rule answers for nobody.

Proof: proofs/bernstein_moments.md, proofs/moment_bounds.md
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.plan import Estimate, Scale
from lapwing.queries.term import ConstantTerm, Term, bounds, plus, times

Bounds: TypeAlias = tuple[Fraction, Fraction]
_QUARTER = Fraction(1, 4)


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
    degree = _degree_of(scales, sums)
    rows = _raw(sums, degree, (0,) * len(scales))
    if rows <= 0:
        return scales[0].low + scales[0].width / 2 if kind is Moment.MEAN else Fraction(0)

    def average(*powers: int) -> Fraction:
        return _raw(sums, degree, powers) / rows

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


def _degree_of(scales: Sequence[Scale], sums: Sequence[int]) -> int:
    """Return the degree of the polynomials whose sums these are."""
    return next(d for d in itertools.count(1) if (d + 1) ** len(scales) >= len(sums))


def _raw(sums: Sequence[int], degree: int, powers: tuple[int, ...]) -> Fraction:
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


@dataclass(frozen=True, slots=True)
class Box:
    """What the exact sums of one cell may be: none is negative, and each is within a margin of the released one."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    degree: int
    values: int

    @staticmethod
    def around(scales: Sequence[Scale], sums: Sequence[int], margin: int) -> "Box":
        """Return the box of these sums."""
        return Box(
            low=tuple(max(0, number - margin) for number in sums),
            high=tuple(max(0, number + margin) for number in sums),
            degree=_degree_of(scales, sums),
            values=len(scales),
        )

    def average(self, *terms: tuple[Fraction | int, tuple[int, ...]]) -> Bounds:
        """Bound the average over rows of a polynomial, given as coefficients with the powers of the values.

        It is a quotient of two sums with weights, which is largest where all sums of large weight are as large as they
        can be and all others as small: there is one such corner for each place to draw the line.
        """
        places = itertools.product(range(self.degree + 1), repeat=self.values)
        weights = [
            sum((coefficient * weight_of(self.degree, place, powers) for coefficient, powers in terms), Fraction(0))
            for place in places
        ]
        order = sorted(range(len(weights)), key=weights.__getitem__)
        return min(self._corners(weights, order)), max(self._corners(weights, order[::-1]))

    def least_variance(self, axis: int) -> Fraction:
        """Return the least variance of one value: it is at a corner where sums of the same weight are alike."""
        places = list(itertools.product(range(self.degree + 1), repeat=self.values))
        ends = [
            {sum(bound[i] for i, place in enumerate(places) if place[axis] == step) for bound in (self.low, self.high)}
            for step in range(self.degree + 1)
        ]
        return min(_variance_of(corner) for corner in itertools.product(*ends) if any(corner))

    def _corners(self, weights: Sequence[Fraction], order: Sequence[int]) -> list[Fraction]:
        """Return the quotients at the corners where the first few sums in this order are high, the others low."""
        sums = list(self.low)
        found = []
        for place in order:
            sums[place] = self.high[place]
            if rows := sum(sums):
                found.append(sum((w * n for w, n in zip(weights, sums, strict=True)), Fraction(0)) / rows)
        return found


def moment_bounds(kind: Moment, scales: Sequence[Scale], sums: Sequence[int], margin: int) -> tuple[Estimate, Estimate]:
    """Return bounds of the exact moment, if each exact sum is within `margin` of the released one.

    Proof: proofs/moment_bounds.md

    >>> ages = Scale(low=Fraction(0), step=Fraction(1), extent=100)
    >>> moment_bounds(Moment.MEAN, [ages], [7000, 3000], margin=100)
    (Fraction(29, 1), Fraction(31, 1))
    """
    box = Box.around(scales, sums, margin)
    of_nobody = moment(kind, scales, [0] * len(sums))
    if not any(box.high):
        return of_nobody, of_nobody
    low, high = _bounds(kind, scales, sums, box)
    return (low, high) if any(box.low) else (min(low, of_nobody), max(high, of_nobody))


def _bounds(kind: Moment, scales: Sequence[Scale], sums: Sequence[int], box: Box) -> tuple[Estimate, Estimate]:
    widths = [scale.width for scale in scales]
    match kind:
        case Moment.MEAN:
            low, high = box.average((1, (1,)))
            return scales[0].low + widths[0] * low, scales[0].low + widths[0] * high
        case Moment.VARIANCE:
            low, high = _variance(box, sums, (1,))
            return widths[0] ** 2 * low, widths[0] ** 2 * high
        case Moment.COVARIANCE:
            low, high = _covariance(box, sums)
            return widths[0] * widths[1] * low, widths[0] * widths[1] * high
        case Moment.CORRELATION:
            return _correlation(box, sums)


def _variance(box: Box, sums: Sequence[int], one: tuple[int, ...]) -> Bounds:
    """Bound a variance: from below exactly, from above by E(x-t)^2 for a t near the mean."""
    t = _near(box, sums, one)
    nothing, square = (0,) * len(one), tuple(2 * power for power in one)
    _, high = box.average((1, square), (-2 * t, one), (t**2, nothing))
    return within(box.least_variance(one.index(1)), 0, _QUARTER), within(high, 0, _QUARTER)


def _covariance(box: Box, sums: Sequence[int]) -> Bounds:
    """Bound E(x-s)(y-t) - (Ex-s)(Ey-t) for an s and a t near the means."""
    s, t = _near(box, sums, (1, 0)), _near(box, sums, (0, 1))
    low, high = box.average((1, (1, 1)), (-t, (1, 0)), (-s, (0, 1)), (s * t, (0, 0)))
    off = [(x - s) * (y - t) for x, y in itertools.product(box.average((1, (1, 0))), box.average((1, (0, 1))))]
    return within(low - max(off), -_QUARTER, _QUARTER), within(high - min(off), -_QUARTER, _QUARTER)


def _correlation(box: Box, sums: Sequence[int]) -> tuple[float, float]:
    together = _covariance(box, sums)
    (least_x, most_x), (least_y, most_y) = _variance(box, sums, (1, 0)), _variance(box, sums, (0, 1))
    if not (least_x and least_y):
        return -1.0, 1.0
    narrow, wide = math.sqrt(least_x * least_y), math.sqrt(most_x * most_y)
    low, high = (float(bound) for bound in together)
    rounding = 1e-12
    low = low / (narrow if low < 0 else wide) - rounding
    high = high / (wide if high < 0 else narrow) + rounding
    return min(1.0, max(-1.0, low)), min(1.0, max(-1.0, high))


def _variance_of(sums: Sequence[int]) -> Fraction:
    """Return E x^2 - (E x)^2 for the sums of one value."""
    square, mean = (_raw(sums, len(sums) - 1, (power,)) / sum(sums) for power in (2, 1))
    return square - mean**2


def _near(box: Box, sums: Sequence[int], one: tuple[int, ...]) -> Fraction:
    """Return a number near the average of one value; any would do, and this one makes the bounds narrow."""
    rows = sum(sums)
    return within(_raw(sums, box.degree, one) / rows, 0, 1) if rows > 0 else Fraction(1, 2)
