"""The privacy profile of one Gaussian release, which is what the residue filter measures everything else against.

For mu > 0 and real r, with u = r/mu - mu/2 and w = r/mu + mu/2,

    profile(r) = Phi(-u) - e^r Phi(-w),

the hockey-stick divergence of order e^r between N(mu, 1) and N(0, 1). Both terms are computed through Mills' ratio
R(x) = Phi(-x)/phi(x), because e^r phi(w) = phi(u): nothing overflows, and each term keeps its relative accuracy far
into the tail, where filters with a small delta live.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from lapwing.accounting.rounding import float_below

Array = NDArray[np.float64]

ROUNDING = 2.0**-40
"""A bound on the relative error of each term of a profile, as computed: measured below 1e-13, and stated with room."""

_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_SQRT_TWO_PI = math.sqrt(2 * math.pi)
_LARGEST_MU = 32.0  # where epsilon is some 500: nothing is gained beyond


class Terms(NamedTuple):
    """What a profile is made of: `upper` = Phi(-u), `lower` = e^r Phi(-w), `density` = phi(u), and u itself.

    profile = upper - lower, its slope in r is -lower, its second derivative density/mu - lower, and its derivative in
    mu^2 is density/(2 mu).
    """

    upper: Array
    lower: Array
    density: Array
    u: Array


def terms(mu: float, r: Array) -> Terms:
    """Return the terms of the profile of a Gaussian release with `mu` > 0 at the levels `r`.

    Examples
    --------
    >>> parts = terms(1.0, np.array([0.0]))
    >>> round(float((parts.upper - parts.lower)[0]), 12)  # the total variation 2 Phi(1/2) - 1
    0.382924922548
    """
    u = r / mu - mu / 2
    w = u + mu
    density = np.exp(-0.5 * u * u) / _SQRT_TWO_PI
    upper_tail, lower_tail = density * _mills(np.abs(u)), density * _mills(np.abs(w))
    upper = np.where(u >= 0, upper_tail, 1.0 - upper_tail)
    lower = np.where(w >= 0, lower_tail, np.exp(np.minimum(r, 0.0)) - lower_tail)  # w < 0 only where r < 0
    return Terms(upper, lower, density, u)


def largest_mu_squared(epsilon: Fraction, delta: Fraction) -> float:
    """Return a mu^2, rounded down, for which a Gaussian release is (`epsilon`, `delta`)-differentially private.

    The analytic Gaussian mechanism (Balle and Wang 2018), solved for mu: mu-GDP is (epsilon, delta)-DP exactly when
    profile(epsilon) <= delta (Dong, Roth and Su 2022, Corollary 2.13).

    Examples
    --------
    >>> round(largest_mu_squared(Fraction(1), Fraction(1, 10**6)) ** 0.5, 6)
    0.236704
    """
    level, target = float_below(epsilon), float_below(delta)

    def promised(mu: float) -> bool:
        parts = terms(mu, np.array([level]))
        return float((parts.upper * (1 + ROUNDING) - parts.lower * (1 - ROUNDING))[0]) <= target

    low, high = 0.0, 1.0
    while promised(high) and high < _LARGEST_MU:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if promised(middle) else (low, middle)
    return float_below(Fraction(low) ** 2)


def _mills(x: Array) -> Array:
    return _SQRT_HALF_PI * erfcx(x / math.sqrt(2))
