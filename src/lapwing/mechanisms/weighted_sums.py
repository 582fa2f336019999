"""How far off a weighted sum of released numbers is: the law of c·Z for independent draws Z of one law of noise.

Intervals of means, variances and correlations rest on it. Such a statistic makes one weighted sum of the exact numbers
zero, so that the same sum of the released ones is c·Z: noise of a law that is known, whatever the data are.

Whole draws are compared with continuous ones at most 1 away, whose law in any direction has a closed form or is a
contour integral. All numbers err towards a longer reach.

Proof: proofs/weighted_sums.md
"""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.margins import Spread, discrete_gaussian_tail
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.frozen import frozen

Weights: TypeAlias = NDArray[np.float64]
WholeNoise: TypeAlias = DiscreteLaplaceNoise | DiscreteGaussianNoise
_Beyond: TypeAlias = Callable[[float], tuple[float, float]]

_ROUNDING = 1e-9
"""More than what floating point loses, relative to a reach or to a probability."""
_SMALL_SCALE = 8
_HEIGHT = 30.0
"""How far up the contour is followed; what lies beyond is bounded."""
_PERIODS = 8.0
"""How many times e^-1 the first number that the trapezoidal rule adds is smaller than the one that is wanted."""


@frozen(kw_only=False)
class Reach:
    """How far c·Z may be from 0, but for this `chance`: a norm of the weights c.

    >>> from fractions import Fraction
    >>> reach = Reach(DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(1000)), 0.05)
    >>> [round(reach.of(weights)) for weights in ([1], [0.5, 0.5], [1, -1, 0.5])]
    [2997, 2058, 4328]

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
                sigmas = NormalDist().inv_cdf(1 - self.chance * (1 - _ROUNDING) / 2)
                far = math.sqrt(variance) * float(np.linalg.norm(sizes)) * sigmas
            case DiscreteGaussianNoise(sigma_squared=variance):
                each = Spread(discrete_gaussian_tail(variance)).margin(1 - self.chance, len(sizes))
                far = (float(each) - 1) * all_together
        return (far + all_together) * (1 + _ROUNDING)


def _laplace_reach(sizes: Weights, chance: float) -> float:
    """Return t with P(|Σ sizes·Y| > t) <= chance, Y standard Laplace; the largest size is 1, and comes first.

    The logarithm of the tail is concave and falls, so that Newton's step never ends before the root.
    """
    if not sizes[1:].any():
        return -math.log(chance)
    beyond = _beyond_several(sizes, chance) if sizes[2:].any() else _beyond_two(float(sizes[1]))
    wanted = math.log(chance)
    t, step = -wanted * math.pow(float(sizes @ sizes), 0.375), math.inf
    while abs(step) > _ROUNDING * t:
        tail, density = beyond(t)
        step = (math.log(tail) - wanted) * tail / density
        t += step
    return t


@lru_cache(maxsize=256)
def _slack_of_two(scale: Fraction, chance: float) -> float:
    """Return s such that two whole draws reach at most s(|c_1| + |c_2|) further than continuous ones, whatever c is.

    It is at most 1, and found by going through all pairs of draws where noise is small; elsewhere it hardly matters.
    """
    if scale > _SMALL_SCALE:
        return 1.0
    size = float(scale)
    numbers = np.arange(-math.ceil(size * (16 - math.log(chance))), 1 + math.ceil(size * (16 - math.log(chance))))
    weights = np.exp(-np.abs(numbers) / size) * math.tanh(1 / (2 * size))
    law, slack = np.multiply.outer(weights, weights), 0.0
    outside = 1 - float(law.sum())
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


def _beyond_several(sizes: Weights, chance: float) -> _Beyond:
    """Return P(|S| > t) and its density, from (1/πi) ∫ e^(-tz) E[e^(zS)] dz/z along Re z = a, by the trapezoidal rule.

    What the rule adds is positive, and what lies beyond its last node is added.
    """
    a = min(0.92, 1 - 1 / (1 - 0.7 * math.log(chance)))
    step = 2 * math.pi * (1 - a) / _PERIODS
    z = a + 1j * np.arange(0.0, _HEIGHT + step, step)
    moment = 1 / np.prod(1 - np.multiply.outer(sizes * sizes, z * z), axis=0)
    weighted = 2 * step / math.pi * moment
    weighted[0] /= 2
    parts = np.stack([weighted / z, weighted])
    rest = 1.01 / math.pi * abs(moment[-1])

    def beyond(t: float) -> tuple[float, float]:
        tail, density = (parts @ np.exp(-t * z)).real
        return float(tail) + rest * math.exp(-t * a), float(density)

    return beyond
