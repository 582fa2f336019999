"""Between which bounds a moment lies, from released Bernstein sums and the law of their noise: tests, inverted.

A mean m makes one weighted sum of the exact sums zero: that of x - m. So the same sum of the released ones is noise of
a known law, and those m are kept for which it is not too far from 0. The variance v, the covariance and the correlation
do the same where the means are known, with (x - m)² - v and its like. The means are known well enough: a small part of
the chance to err pays for a box in which they lie, and within it they move such a sum by squares of small numbers only.

Values are those of the scale from 0 to 1. Everything here is a function of released numbers and public ones, so it
costs nothing.

Proof: proofs/moment_intervals.md
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

from lapwing.mechanisms.weighted_sums import Reach, WholeNoise
from lapwing.queries.plan import Estimate, Scale
from lapwing.queries.statistics.bernstein import Ends, Moment, ReleasedSums, moment
from lapwing.queries.statistics.correlation_interval import correlation_ends, covariance_ends

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
    if released.rows <= boxes.of(released.one):  # there may be nobody
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
