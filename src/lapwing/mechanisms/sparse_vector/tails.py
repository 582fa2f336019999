"""Probabilities of the noise laws in floating point, for statements about accuracy. No noise is drawn from them.

Arguments are numbers of lattice steps. The formulas are right at integers and smooth between half-integers, so that a
sum over many lattice points may be taken as an integral: from n - 1/2 to m + 1/2 it differs from the sum over n ... m
by a relative 1/(24 scale²).
"""

import itertools
import math
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.special import log_ndtr

from lapwing.noise.laws import DiscreteLaplace, Geometric, RoundedGaussian

Law: TypeAlias = Geometric | DiscreteLaplace | RoundedGaussian
Floats: TypeAlias = NDArray[np.float64]

_MOST_POINTS = 4096  # a law with more likely values is integrated, not summed
_NODES, _WEIGHTS = leggauss(12)
_HALF = 0.5


def width(law: Law) -> float:
    """Return the scale of the law: how far it reaches, up to a small factor."""
    match law:
        case Geometric() | DiscreteLaplace():
            return float(law.scale)
        case RoundedGaussian():
            return float(law.sigma_used)


def mean(law: Law) -> float:
    """Return the mean of the law."""
    return 1 / math.expm1(1 / width(law)) if isinstance(law, Geometric) else 0.0


def variance(law: Law) -> float:
    """Return the variance of the law."""
    b = width(law)
    match law:
        case Geometric():
            return 1 / (4 * math.sinh(1 / (2 * b)) ** 2)
        case DiscreteLaplace():
            return 1 / (2 * math.sinh(1 / (2 * b)) ** 2)
        case RoundedGaussian():
            return b**2 + 1 / 12


def log_at_least(law: Law, x: Floats) -> Floats:
    """Return ln P(noise >= x)."""
    b = width(law)
    match law:
        case Geometric():
            return np.where(x > -_HALF, -x / b, 0.0)
        case DiscreteLaplace():
            tail = -np.where(x > _HALF, x, 1 - x) / b - math.log1p(math.exp(-1 / b))
            return np.where(x > _HALF, tail, np.log1p(-np.exp(tail)))
        case RoundedGaussian():
            return np.asarray(log_ndtr((0.5 - x) / b), np.float64)


def log_below(law: Law, x: Floats) -> Floats:
    """Return ln P(noise < x)."""
    match law:
        case Geometric():
            with np.errstate(divide="ignore"):
                return np.log(-np.expm1(-np.where(x > _HALF, x, 0.0) / width(law)))
        case DiscreteLaplace():
            return log_at_least(law, 1 - x)
        case RoundedGaussian():
            return np.asarray(log_ndtr((x - 0.5) / width(law)), np.float64)


def reach(law: Law, chance: float) -> int:
    """Return the smallest r >= 0 such that the noise exceeds r with probability at most `chance`."""
    low, high = 0, 1
    while log_at_least(law, np.array([high + 1.0]))[0] > math.log(chance):
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if log_at_least(law, np.array([middle + 1.0]))[0] > math.log(chance):
            low = middle + 1
        else:
            high = middle
    return high


def depth(law: Law, chance: float) -> int:
    """Return the smallest r >= 0 such that the noise is below -r with probability at most `chance`."""
    return 0 if isinstance(law, Geometric) else reach(law, chance)


def quadrature(law: Law, breaks: Iterable[float], finest: float) -> tuple[Floats, Floats]:
    """Return points z and log weights such that the sum of weight * f(z) is the mean of f under the law.

    `breaks` are the integers from which on f follows another formula, `finest` the smallest length over which f bends.
    """
    b = width(law)
    far = (9.5 if isinstance(law, RoundedGaussian) else 42.0) * b + 1
    low, high = math.floor(0 if isinstance(law, Geometric) else -far), math.ceil(far)
    if high - low < _MOST_POINTS:
        z = np.arange(low, high + 1, dtype=np.float64)
        return z, _log_mass(law, z)
    inner = {round(at) - 0.5 for at in (*breaks, 0.0) if low < round(at) - 0.5 < high}
    corners = sorted({low - 0.5, high + 0.5, *inner})
    edges = np.concatenate(
        [np.linspace(a, e, math.ceil((e - a) / min(b, finest)) + 1)[:-1] for a, e in itertools.pairwise(corners)]
        + [np.array([high + 0.5])]
    )
    half, middle = np.diff(edges) / 2, (edges[:-1] + edges[1:]) / 2
    z = (middle[:, None] + half[:, None] * _NODES).ravel()
    return z, _log_mass(law, z) + np.log(half[:, None] * _WEIGHTS).ravel()


def _log_mass(law: Law, z: Floats) -> Floats:
    b = width(law)
    match law:
        case Geometric():
            return math.log(-math.expm1(-1 / b)) - z / b
        case DiscreteLaplace():
            return math.log(math.tanh(0.5 / b)) - np.abs(z) / b
        case RoundedGaussian():
            log_density: Floats = -(z**2) / (2 * b**2) - math.log(b * math.sqrt(2 * math.pi))
            if b > _MOST_POINTS:
                return log_density
            outer, inner = log_ndtr((-np.abs(z) - 0.5) / b), log_ndtr((0.5 - np.abs(z)) / b)
            return np.asarray(inner + np.log(-np.expm1(outer - inner)), np.float64)
