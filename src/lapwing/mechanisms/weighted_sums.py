"""How far off a weighted sum of released numbers is: the law of c·Z for independent draws Z of one law of noise.

Intervals of means, variances and correlations rest on it. Such a statistic makes one weighted sum of the exact numbers
zero, so that the same sum of the released ones is c·Z: noise of a known law, which does not depend on the data.

Whole draws are compared with continuous ones at most 1 away, whose law in any direction has a closed form or is a
contour integral. All numbers err towards a longer reach.

Proof: proofs/weighted_sums.md
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.margins import Spread, discrete_gaussian_tail, is_summed, margin_of_sum
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, float_below, probability
from lapwing.vocabulary.frozen import frozen

Weights: TypeAlias = NDArray[np.float64]
WholeNoise: TypeAlias = DiscreteLaplaceNoise | DiscreteGaussianNoise
_Beyond: TypeAlias = Callable[[float], tuple[float, float]]

_ROUNDING = 1e-9
"""More than what floating point loses, relative to a reach or to a probability."""
_SMALL_SCALE = 8
_WIDEST = 256
"""All pairs of draws are gone through up to this far from 0."""
_COARSEST = 0.99999
"""A chance above this is replaced by this one: floating point could not resolve shorter reaches."""
_FINEST = 1e-12
"""Chances below this are left to a tangent and to Chernoff's bound."""
_LINES = np.arange(1, 64) / 64
"""The lines of integration, and the exponents of Chernoff's bounds, of which the best is taken."""
_HEIGHTS = 2.0 ** np.arange(2, 12)
"""How far up the line is followed: up to the first of these beyond which next to nothing lies."""
_NODES = 2048
_ADDED = 1e-6
"""Of a chance, how much the trapezoidal rule adds at most."""
_CUT_OFF = 1e-4
"""Of a chance, what may lie beyond the last node, unless that takes too many; it is added."""
_NEWTON = 64
"""More steps than Newton's method ever takes; where it has not ended then, Chernoff's bound is the answer."""


@frozen(kw_only=False)
class Reach:
    """How far c·Z may be from 0, but for this `chance`: a norm of the weights c.

    >>> from fractions import Fraction
    >>> reach = Reach(DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(1000)), 0.05)
    >>> [round(reach.of(weights)) for weights in ([1], [0.5, 0.5], [1, -1, 0.5])]
    [2997, 2058, 4326]

    Proof: proofs/weighted_sums.md
    """

    noise: WholeNoise
    chance: float

    def of(self, weights: Sequence[float] | Weights) -> float:
        """Return r with P(|c·Z| > r) <= chance."""
        sizes = np.sort(np.abs(np.asarray(weights, dtype=np.float64)))[::-1]
        largest, all_together = float(sizes[0]), float(sizes.sum())
        if largest == 0:
            return 0.0
        match self.noise:
            case DiscreteLaplaceNoise(scale=scale):
                far = float(scale) * largest * _laplace_reach(sizes / largest, self.chance)
                if len(sizes) == 2:  # noqa: PLR2004 - two numbers, as for a mean
                    far -= (1 - _slack_of_two(scale, self.chance)) * all_together
            case DiscreteGaussianNoise(sigma_squared=variance) if variance >= 1:
                sigmas = -NormalDist().inv_cdf(self.chance * (1 - _ROUNDING) / 2)
                far = math.sqrt(variance) * float(np.linalg.norm(sizes)) * sigmas
            case DiscreteGaussianNoise(sigma_squared=variance):
                each = Spread(discrete_gaussian_tail(variance)).margin(1 - Fraction(self.chance), len(sizes))
                far = (float(each) - 1) * all_together
        return (far + all_together) * (1 + _ROUNDING)


def margin_of_equal_sum(noise: WholeNoise, terms: int, confidence: Exact) -> int:
    """Return how far off a sum of `terms` numbers is at most, with this confidence.

    Where the law of the sum is not computed (`margin_of_sum`), the smaller of two bounds is taken.
    """
    steps, chance = margin_of_sum(noise, terms, confidence), float_below(1 - probability("confidence", confidence))
    if terms == 1 or is_summed(noise, terms, chance):
        return steps
    return min(steps, math.floor(Reach(noise, chance).of([1.0] * terms)))


def _laplace_reach(sizes: Weights, chance: float) -> float:
    """Return t with P(|Σ sizes·Y| > t) <= chance, Y standard Laplace; the largest size is 1, and comes first.

    The logarithm of the tail is concave and falls, so that Newton's step never ends before the root, wherever it began.
    """
    if not sizes[1:].any():
        return -math.log(chance)
    chance = min(chance, _COARSEST)
    coarse = max(chance, _FINEST)
    moments = _Moments.of(sizes)
    beyond = _beyond_several(moments, coarse) if sizes[2:].any() else _beyond_two(float(sizes[1]))
    _, most = moments.chernoff(chance)

    def newton(t: float, wanted: float) -> float:
        tail, density = beyond(t)
        return (math.log(tail) - wanted) * tail / density

    t = -math.log(coarse) * math.pow(float(sizes @ sizes), 0.375)
    for _ in range(_NEWTON):
        step = newton(t, math.log(coarse))
        t += step
        if abs(step) <= _ROUNDING * t:
            return min(most, t if coarse == chance else t + newton(t, math.log(chance)))
    return most


@dataclass(frozen=True)
class _Moments:
    """E e^(zS) of S = Σ sizes·Y, Y standard Laplace: by its logarithm, and by Chernoff's bounds that follow."""

    squares: Weights
    many: Weights

    @staticmethod
    def of(sizes: Weights) -> "_Moments":
        """Count sizes that are the same together."""
        values, many = np.unique(sizes, return_counts=True)
        return _Moments(values * values, many.astype(np.float64))

    def log(self, z: NDArray[Any]) -> NDArray[Any]:
        """Return the logarithm of E e^(zS), where |Re z| < 1."""
        logarithm: NDArray[Any] = -(self.many @ np.log(1 - np.multiply.outer(self.squares, z * z)))
        return logarithm

    @cached_property
    def on_lines(self) -> Weights:
        """The logarithm on all lines."""
        return self.log(_LINES)

    def chernoff(self, chance: float) -> tuple[int, float]:
        """Return the line b for which t with 2 E e^(bS) e^(-bt) = chance is least, by its place, and that t."""
        bounds = (self.on_lines + math.log(2 / chance)) / _LINES
        best = int(bounds.argmin())
        return best, float(bounds[best])


@lru_cache(maxsize=256)
def _slack_of_two(scale: Fraction, chance: float) -> float:
    """Return s such that two whole draws reach at most s(|c_1| + |c_2|) further than continuous ones, for every c.

    It is at most 1, and found by going through all pairs of draws where noise is small; elsewhere it hardly matters.
    """
    size = float(scale)
    last = math.ceil(size * (16 - math.log(chance)))
    if size > _SMALL_SCALE or last > _WIDEST:
        return 1.0
    numbers = np.arange(-last, last + 1)
    weights = np.exp(-np.abs(numbers) / size) * math.tanh(1 / (2 * size))
    law, slack = np.multiply.outer(weights, weights), 0.0
    outside = 4 * math.exp(-(last + 1) / size)
    for m, n in itertools.pairwise(np.linspace(0, 0.5, 129)):
        far = np.maximum(*(np.abs(np.subtract.outer((1 - d) * numbers, d * numbers)) for d in (m, n)))
        near = size * (1 - n) * _laplace_reach(np.array([1, n / (1 - n)]), chance)
        while slack < 1 and float(law[far > near + slack].sum()) + outside > chance * (1 - _ROUNDING):
            slack += 1 / 32
    return slack


def _beyond_two(r: float) -> _Beyond:
    """Return P(|X + rY| > t) and its density, for 0 < r <= 1: (e^-t - r² e^(-t/r))/(1 - r²), without cancellation."""

    def beyond(t: float) -> tuple[float, float]:
        bent = t * (1 - r) / r
        part = t * (-math.expm1(-bent) / bent if bent else 1.0)
        return math.exp(-t) * (1 + r * part / (1 + r)), math.exp(-t) * (1 + part) / (1 + r)

    return beyond


def _beyond_several(moments: _Moments, chance: float) -> _Beyond:
    """Return P(|S| > t) and its density, from (1/πi) ∫ e^(-tz) E[e^(zS)] dz/z along Re z = a, by the trapezoidal rule.

    What the rule adds is positive, and next to nothing of the chance where t is a reach of it. What lies beyond its
    last node is added.
    """
    best, least, slack = moments.chernoff(chance)[0], -math.log(chance), math.log(8 / (_ADDED * chance))
    a, later = float(_LINES[best]), _LINES[best + 1 :]
    beside = (slack + moments.on_lines[best + 1 :] - later * least) / (later - a)
    step = 2 * math.pi / max(slack / a, float(beside.min()))
    heights = _HEIGHTS[: max(1, int(np.searchsorted(_HEIGHTS, _NODES * step)))]
    rests = (1 + 2 / heights**2) / math.pi * np.exp(moments.log(a + 1j * heights).real)
    ends = np.flatnonzero(rests * math.exp(-a * least) <= _CUT_OFF * chance)
    end = int(ends[0]) if len(ends) else -1
    rest = float(rests[end])
    z = a + 1j * np.arange(0.0, float(heights[end]) + step, step)
    weighted = 2 * step / math.pi * np.exp(moments.log(z))
    weighted[0] /= 2
    parts = np.stack([weighted / z, weighted])

    def beyond(t: float) -> tuple[float, float]:
        tail, density = (parts @ np.exp(-t * z)).real
        return float(tail) + rest * math.exp(-t * a), float(density)

    return beyond
