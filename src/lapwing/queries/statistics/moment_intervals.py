"""Between which bounds a moment lies, from released Bernstein sums and the law of their noise: tests, inverted.

A mean m makes one weighted sum of the exact sums zero: that of x - m. So the same sum of the released ones is noise of
a known law, and those m are kept for which it is not too far from 0. The variance v, the covariance and the correlation
do the same where the means are known, with (x - m)² - v and its like. The means are known well enough: a small part of
the chance to err pays for a box in which they lie, and within it they move such a sum by squares of small numbers only.

Values are those of the scale from 0 to 1. Everything here is a function of released numbers and public ones, so it
costs nothing.

A covariance and a correlation are looked at through u = kx + y/k and w = kx - y/k, around the means of x and y: xy is
(u² - w²)/4. Where k² is the quotient of the standard deviations of y and x, the correlation r makes the sum of (1 - r)
u² - (1 + r) w² zero. The means of u and w, and k, are known within boxes only, and move such sums by squares of small
numbers.

Proof: proofs/moment_intervals.md
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from lapwing.mechanisms.weighted_sums import Reach, Weights, WholeNoise
from lapwing.queries.planning.plan import Estimate, Scale
from lapwing.queries.statistics.bernstein import Ends, Moment, ReleasedSums, length, moment

_X, _Y = (1, 0), (0, 1)
_CHORDS = 2
_SIGNS = (-1, 1)


@dataclass(frozen=True)
class TwoValues:
    """u and w around the means that the released sums give; the exact means are at most `away` from these."""

    released: ReleasedSums
    k: float
    u: Weights
    w: Weights
    away: Ends

    @property
    def corners(self) -> Iterator[tuple[float, float]]:
        """How far the exact means may be from the released ones, at the corners of the box."""
        return ((i * self.away[0], j * self.away[1]) for i, j in itertools.product(_SIGNS, repeat=2))


def covariance_ends(released: ReleasedSums, boxes: Reach, reach: Reach) -> Ends:
    """Bound the covariance: keep C where the sum of xy - C is near 0 for means in their box."""
    x, y, found = released.centred(*_X), released.centred(*_Y), released.spread(_X, _Y)
    p, m = (max(released.around(form, boxes)) for form in (x + y, x - y))
    values, both = TwoValues(released, 1.0, x + y, x - y, (p, m)), released.centred(1, 1) - found
    lengths = [released.around(both - (i - j) / 2 * x - (i + j) / 2 * y, reach) for i, j in values.corners]
    return (
        found - max(below for below, _ in lengths) - m * m / 4,
        found + max(above for _, above in lengths) + p * p / 4,
    )


def correlation_ends(released: ReleasedSums, boxes: Reach, reach: Reach) -> Ends:
    """Bound the correlation; `boxes` is for what is known only within a box, `reach` for the test itself."""
    variances = released.spread(_X, _X), released.spread(_Y, _Y)
    if min(variances) <= 0:
        return -1.0, 1.0
    k = (variances[1] / variances[0]) ** 0.25
    x, y = k * released.centred(*_X), released.centred(*_Y) / k
    values = TwoValues(released, k, x + y, x - y, _away(released, k, Reach(boxes.noise, boxes.chance / 2)))
    squares = _Squares.of(values, released.spread(_X, _Y), math.sqrt(variances[0] * variances[1]))
    turned = squares.turned(boxes)
    if turned >= 1:
        return -1.0, 1.0
    test = _Test(squares, math.atanh(turned), reach)
    return -test.last(-1), test.last(1)


def _away(released: ReleasedSums, k: float, reach: Reach) -> Ends:
    """Bound how far off the means of u and w are by those of x, y, x + y and x - y, which no released number chose."""
    x, y = released.centred(*_X), released.centred(*_Y)
    s, t, *both = (max(released.around(form, reach)) for form in (x, y, x + y, x - y))
    more = (k - 1 / k) * s if k >= 1 else (1 / k - k) * t
    p, m = (min(k * s + t / k, more + min(k, 1 / k) * one) for one in both)
    return p, m


@dataclass(frozen=True)
class _Squares:
    """The weights of u², w² and uw, with the covariance of x and y, and the product of their standard deviations."""

    values: TwoValues
    uu: Weights
    ww: Weights
    uw: Weights
    covariance: float
    spread: float

    @staticmethod
    def of(values: TwoValues, covariance: float, spread: float) -> "_Squares":
        """Compute the weights, from those of x², y² and xy."""
        k, centred = values.k, values.released.centred
        xx, yy, xy = k * k * centred(2, 0), centred(0, 2) / (k * k), centred(1, 1)
        return _Squares(values, xx + yy + 2 * xy, xx + yy - 2 * xy, xx - yy, covariance, spread)

    def turned(self, reach: Reach) -> float:
        """Bound |tanh ln(k²/k'²)|, k' as the released sums give it: it makes the sum of uw + tanh(u² + w²)/2 zero."""
        released, (p, m) = self.values.released, self.values.away
        whole, bend = reach.of(released.one), (p * p + m * m) / 2
        u, w = self.values.u, self.values.w
        parts = [(self.uw - i * w - j * u, (self.uu + self.ww) / 2 - i * u - j * w) for i, j in self.values.corners]
        rise = max(reach.of(even) for _, even in parts) + bend * whole
        if released.rows * 2 * self.spread <= rise:
            return 1.0

        def far(sign: int) -> float:
            def reach_at(t: float) -> float:
                corner = max(reach.of(odd + sign * t * even) for odd, even in parts)
                return corner + (p * m + t * bend) * whole + released.rows * p * m

            return length(released.rows * 2 * self.spread, rise, reach_at)

        return max(map(far, _SIGNS))


@dataclass(frozen=True)
class _Test:
    """The test of r, where the logarithm of k²/k'² is at most `turn` from 0."""

    squares: _Squares
    turn: float
    reach: Reach

    @cached_property
    def rest(self) -> tuple[float, float]:
        """How far the noise reaches of what is bent, for r = 0, and how much further for r = 1."""
        (p, m), values, reach = self.squares.values.away, self.squares.values, self.reach
        whole, u, w = reach.of(values.released.one), reach.of(values.u), reach.of(values.w)
        bend, grown, sine = (p * p + m * m) / 4 * whole, math.cosh(self.turn) - 1, math.sinh(self.turn)
        squares = reach.of(self.squares.uu) + reach.of(self.squares.ww) + 2 * p * u + 2 * m * w
        further = math.cosh(self.turn) * bend + grown / 4 * squares + sine / 2 * (p * m * whole + p * w + m * u)
        return bend, further

    def noise(self, r: float) -> float:
        """Return how far the sum may be from 0 by noise, for any u, w and k within their boxes."""
        squares, values = self.squares, self.squares.values
        turned = r / 2 * math.sinh(self.turn) * squares.uw
        corners = (
            ((1 - r) * (squares.uu - 2 * p * values.u) - (1 + r) * (squares.ww - 2 * m * values.w)) / 4 + i * turned
            for (p, m), i in itertools.product(values.corners, _SIGNS)
        )
        bend, further = self.rest
        return max(map(self.reach.of, corners)) + bend + abs(r) * further

    def left(self, sign: int, r: float) -> float:
        """Return more than how far the test is from refusing sign * r for being too large; below 0 it is refused."""
        (p, m), squares = self.squares.values.away[::sign], self.squares
        found = sign * squares.covariance + self.noise(sign * r) / squares.values.released.rows
        if r >= 0:
            return found - r * squares.spread + (1 - r) * p * p / 4 + r / 2 * math.sinh(self.turn) * p * m
        large = -r * math.cosh(self.turn)
        return found + large * squares.spread + ((1 + large) * p * p + large * m * m) / 4 + large * p * m / 2

    def last(self, sign: int) -> float:
        """Return the last r for which sign * r is not refused, or one a little beyond it.

        From 0 outwards `left` is convex on either side, so that what is refused is an interval and a chord lies above.
        """
        at_nought = self.left(sign, 0.0)
        end = 1.0 if at_nought >= 0 else -1.0
        beyond = self.left(sign, end)
        kept, refused = ((0.0, at_nought), (end, beyond)) if at_nought >= 0 else ((end, beyond), (0.0, at_nought))
        if kept[1] < 0 or refused[1] >= 0:
            return end
        for _ in range(_CHORDS):
            at = (kept[0] * refused[1] - refused[0] * kept[1]) / (refused[1] - kept[1])
            refused = at, min(self.left(sign, at), 0.0)
        return refused[0]


_SHARE = 50
"""Each number that is known only within a box gets this part of the chance to err."""
_BOXES = {Moment.MEAN: 0, Moment.VARIANCE: 1, Moment.COVARIANCE: 2, Moment.CORRELATION: 3}
_RANGES = {
    Moment.MEAN: (0.0, 1.0),
    Moment.VARIANCE: (0.0, 0.25),
    Moment.COVARIANCE: (-0.25, 0.25),
    Moment.CORRELATION: (-1.0, 1.0),
}
"""Between which numbers a moment of values from 0 to 1 lies, whatever they are."""
_GRID = 2.0**36
"""Bounds are rounded outwards to multiples of 2^-36: so they are the same on machines that add in another order."""


@lru_cache(maxsize=1 << 12)
def moment_interval(
    kind: Moment, scales: tuple[Scale, ...], sums: tuple[int, ...], noise: WholeNoise, chance: float
) -> tuple[Estimate, Estimate]:
    """Return bounds between which the exact moment of one cell lies, but for this chance, and the told one always.

    >>> from fractions import Fraction
    >>> from lapwing.vocabulary.event import DiscreteLaplaceNoise
    >>> ages = Scale(low=Fraction(0), step=Fraction(1), extent=100)
    >>> noise = DiscreteLaplaceNoise(l1_sensitivity=100, scale=Fraction(100))
    >>> low, high = moment_interval(Moment.MEAN, (ages,), (70_000, 30_000), noise, 0.05)
    >>> round(low, 2), round(high, 2)
    (29.77, 30.22)

    Proof: proofs/moment_intervals.md
    """
    told = moment(kind, scales, [max(0, number) for number in sums])
    low, high = _ends(kind, ReleasedSums(sums, len(scales)), noise, chance)
    start = float(scales[0].low) if kind is Moment.MEAN else 0.0
    width = _width(kind, scales)
    return min(start + width * low, told), max(start + width * high, told)


def is_known(kind: Moment, scales: tuple[Scale, ...], sums: tuple[int, ...], noise: WholeNoise, chance: float) -> bool:
    """Say whether the bounds of a moment are less than all that it can be, whatever the rows are."""
    low, high = moment_interval(kind, scales, sums, noise, chance)
    start, width = float(scales[0].low) if kind is Moment.MEAN else 0.0, _width(kind, scales)
    least, most = _RANGES[kind]
    return low == high or (low, high) != (start + width * least, start + width * most)


def _width(kind: Moment, scales: Sequence[Scale]) -> float:
    match kind:
        case Moment.MEAN:
            return float(scales[0].width)
        case Moment.VARIANCE:
            return float(scales[0].width ** 2)
        case Moment.COVARIANCE:
            return float(scales[0].width * scales[1].width)
        case Moment.CORRELATION:
            return 1.0


def _ends(kind: Moment, released: ReleasedSums, noise: WholeNoise, chance: float) -> Ends:
    """Return bounds of a moment of values from 0 to 1."""
    least, most = _RANGES[kind]
    reach = Reach(noise, chance * (1 - _BOXES[kind] / _SHARE))
    boxes = Reach(noise, chance / _SHARE) if _BOXES[kind] else reach
    finest = Reach(noise, boxes.chance / 2) if kind is Moment.CORRELATION else boxes  # the longest that is used
    if released.rows <= finest.of(released.one):  # there may be nobody
        return least, most
    match kind:
        case Moment.MEAN:
            low, high = _mean(released, reach)
        case Moment.VARIANCE:
            low, high = _variance(released, _mean(released, boxes), reach)
        case Moment.COVARIANCE:
            low, high = covariance_ends(released, boxes, reach)
        case Moment.CORRELATION:
            low, high = correlation_ends(released, boxes, reach)
    low, high = math.floor(low * _GRID) / _GRID, math.ceil(high * _GRID) / _GRID
    return min(max(low, least), most), max(min(high, most), least)


def _mean(released: ReleasedSums, reach: Reach) -> Ends:
    """Bound the mean: keep m where the sum of x - m is no further from 0 than noise reaches."""
    mean, (below, above) = released.average(1), released.around(released.centred(1), reach)
    return min(max(mean - below, 0.0), 1.0), min(max(mean + above, 0.0), 1.0)


def _variance(released: ReleasedSums, box: Ends, reach: Reach) -> Ends:
    """Bound the variance: keep v where the sum of (x - t)² - v is near 0 for a t in the box of the mean."""
    mean, found = released.average(1), released.spread((1,), (1,))
    nodes, lows, highs = sorted({*box, min(max(mean, box[0]), box[1])}), [], []
    for t in nodes:
        form = released.centred(2) - 2 * (t - mean) * released.centred(1) - found
        below, above = released.around(form, reach)
        lows.append(found + (t - mean) ** 2 - below)
        highs.append(found + (t - mean) ** 2 + above)
    return min(_least_between(nodes, lows)), max(highs)


def _least_between(nodes: Sequence[float], lows: Sequence[float]) -> list[float]:
    """Return the lows at the nodes and, between each two, the least of t² + the chord of low - t²."""
    found = list(lows)
    for (t, low), (s, other) in itertools.pairwise(zip(nodes, lows, strict=True)):
        slope = (other - s * s - low + t * t) / (s - t)
        if t < -slope / 2 < s:
            found.append(low - t * t - slope * t - slope * slope / 4)
    return found
