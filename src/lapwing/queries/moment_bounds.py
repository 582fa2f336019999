"""Between which bounds a mean, variance, covariance or correlation lies, if every sum it is made of is off by so much.

All of it is arithmetic on released numbers and a public margin, so it costs nothing. Where the sums leave open whether
there is a row at all, the bounds also hold what the public rule answers for nobody.

Proof: proofs/moment_bounds.md
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.estimates import Estimate, degree_of, moment, weight_of, width_of, within
from lapwing.queries.plan import Moment, Moments

Bounds: TypeAlias = tuple[Fraction, Fraction]

_QUARTER = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class Box:
    """What the exact sums of one cell may be: none is negative, and each is within a margin of the released one."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    degree: int
    values: int

    @staticmethod
    def around(meaning: Moments, sums: Sequence[int], margin: int) -> "Box":
        """Return the box of these sums."""
        return Box(
            low=tuple(max(0, number - margin) for number in sums),
            high=tuple(max(0, number + margin) for number in sums),
            degree=degree_of(meaning, sums),
            values=len(meaning.scales),
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

    def _corners(self, weights: Sequence[Fraction], order: Sequence[int]) -> list[Fraction]:
        """Return the quotients at the corners where the first few sums in this order are high, the others low."""
        sums = list(self.low)
        found = []
        for place in order:
            sums[place] = self.high[place]
            if rows := sum(sums):
                found.append(sum((w * n for w, n in zip(weights, sums, strict=True)), Fraction(0)) / rows)
        return found


def moment_bounds(meaning: Moments, sums: Sequence[int], margin: int) -> tuple[Estimate, Estimate]:
    """Return bounds of the exact moment, if each exact sum is within `margin` of the released one.

    Proof: proofs/moment_bounds.md

    Examples
    --------
    >>> from lapwing.queries.plan import Scale
    >>> ages = Scale(low=Fraction(0), step=Fraction(1), extent=100)
    >>> moment_bounds(Moments(moment=Moment.MEAN, scales=(ages,)), [7000, 3000], margin=100)
    (Fraction(29, 1), Fraction(31, 1))
    """
    box = Box.around(meaning, sums, margin)
    of_nobody = moment(meaning, [0] * len(sums))
    if not any(box.high):
        return of_nobody, of_nobody
    low, high = _bounds(meaning, sums, box)
    return (low, high) if any(box.low) else (min(low, of_nobody), max(high, of_nobody))


def _bounds(meaning: Moments, sums: Sequence[int], box: Box) -> tuple[Estimate, Estimate]:
    widths = [width_of(scale) for scale in meaning.scales]
    match meaning.moment:
        case Moment.MEAN:
            low, high = box.average((1, (1,)))
            return meaning.scales[0].low + widths[0] * low, meaning.scales[0].low + widths[0] * high
        case Moment.VARIANCE:
            low, high = _variance(box, sums, (1,))
            return widths[0] ** 2 * low, widths[0] ** 2 * high
        case Moment.COVARIANCE:
            low, high = _covariance(box, sums)
            return widths[0] * widths[1] * low, widths[0] * widths[1] * high
        case Moment.CORRELATION:
            return _correlation(box, sums)


def _variance(box: Box, sums: Sequence[int], one: tuple[int, ...]) -> Bounds:
    """Bound E(x-t)^2 - (Ex-t)^2 for a t near the mean, where the second part is small."""
    t = _near(box, sums, one)
    nothing, square = (0,) * len(one), tuple(2 * power for power in one)
    low, high = box.average((1, square), (-2 * t, one), (t**2, nothing))
    mean_low, mean_high = box.average((1, one))
    low -= max((mean_low - t) ** 2, (mean_high - t) ** 2)
    return within(low, 0, _QUARTER), within(high, 0, _QUARTER)


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


def _near(box: Box, sums: Sequence[int], one: tuple[int, ...]) -> Fraction:
    """Return a number near the average of one value; any would do, and this one makes the bounds narrow."""
    places = itertools.product(range(box.degree + 1), repeat=box.values)
    part = sum((n * weight_of(box.degree, place, one) for place, n in zip(places, sums, strict=True)), Fraction(0))
    rows = sum(sums)
    return within(part / rows, 0, 1) if rows > 0 else Fraction(1, 2)
