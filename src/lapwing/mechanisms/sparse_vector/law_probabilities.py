"""Probabilities of the noise laws in floating point, for statements about accuracy. No noise is drawn from them.

Arguments are numbers of lattice steps. The formulas are right at integers, and smooth between them where they are one
formula, so that the sum over a long run of integers follows from its values at a dozen points: by the rule of Gauss for
sums, not by the one for integrals, which would be off by a relative 1/(24 scale²).
"""

import itertools
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.laws import DiscreteLaplace, Geometric, RoundedGaussian
from lapwing.vocabulary.loading import load_when_called
from lapwing.vocabulary.search import integers

(eigh_tridiagonal,) = load_when_called("scipy.linalg", "eigh_tridiagonal")
(log_ndtr,) = load_when_called("scipy.special", "log_ndtr")

Law: TypeAlias = Geometric | DiscreteLaplace | RoundedGaussian
Floats: TypeAlias = NDArray[np.float64]

_MOST_POINTS = 4096  # a law with more likely values is not summed one by one
_NODES = 12
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
            return log_of_the_rest(-np.where(x > _HALF, x, 0.0) / width(law))
        case DiscreteLaplace():
            return log_at_least(law, 1 - x)
        case RoundedGaussian():
            return np.asarray(log_ndtr((x - 0.5) / width(law)), np.float64)


def reach(law: Law, chance: float) -> int:
    """Return the smallest r >= 0 such that the noise exceeds r with probability at most `chance`."""
    search = integers()
    while search.open:
        search.tell(log_at_least(law, np.array([search.guess + 1.0]))[0] <= math.log(chance))
    return search.above


def depth(law: Law, chance: float) -> int:
    """Return the smallest r >= 0 such that the noise is below -r with probability at most `chance`."""
    return 0 if isinstance(law, Geometric) else reach(law, chance)


def log_of_the_rest(log_chance: Floats) -> Floats:
    """Return ln(1 - e^log_chance) to all digits, whether next to nothing is taken away or next to all."""
    with np.errstate(divide="ignore"):
        rest: Floats = np.where(log_chance < -math.log(2), np.log1p(-np.exp(log_chance)), np.log(-np.expm1(log_chance)))
    return rest


def outside(law: Law) -> float:
    """Return a bound on the probability of all that `quadrature` leaves out: less than 2e-18."""
    return 2 * math.exp(log_at_least(law, np.array([_far(law) + 1.0]))[0])


def quadrature(law: Law, breaks: Iterable[float], finest: float) -> tuple[Floats, Floats]:
    """Return points z and log weights such that the sum of weight * f(z) is the mean of f under the law.

    `breaks` are the integers from which on f follows another formula, `finest` the smallest length over which f bends.

    Proof: proofs/sparse_vector_margin.md
    """
    high = _far(law)
    low = 0 if isinstance(law, Geometric) else -high
    if high - low < _MOST_POINTS:
        z = np.arange(low, high + 1, dtype=np.float64)
        return z, _log_mass(law, z)
    corners = sorted({low, high + 1, *(round(at) for at in (*breaks, 0.0) if low < round(at) <= high)})
    runs = [run for a, end in itertools.pairwise(corners) for run in _runs(a, end, min(width(law), finest))]
    z = np.concatenate([points for points, _ in runs])
    return z, _log_mass(law, z) + np.concatenate([np.log(weights) for _, weights in runs])


def _far(law: Law) -> int:
    return math.ceil((9.5 if isinstance(law, RoundedGaussian) else 42.0) * width(law) + 1)


def _runs(start: int, end: int, longest: float) -> Iterator[tuple[Floats, Floats]]:
    """Yield points and weights for sums over the integers from `start` until before `end`, run by run."""
    many = end - start
    parts = math.ceil(many / max(longest, 1.0))
    shorter, one_longer = divmod(many, parts)
    for length, count in ((shorter + 1, one_longer), (shorter, parts - one_longer)):
        points, weights = _gauss_for_sums(length)
        firsts = start + length * np.arange(count, dtype=np.float64)
        yield (firsts[:, None] + points).ravel(), np.tile(weights, count)
        start += length * count


@lru_cache(maxsize=256)
def _gauss_for_sums(length: int) -> tuple[Floats, Floats]:
    """Return points in [0, length - 1] and weights that sum polynomials of degree 23 over 0 ... length - 1 exactly.

    They are the eigenvalues of the Jacobi matrix of Gram's polynomials, which are orthogonal on these integers.
    """
    if length <= _NODES:
        return np.arange(length, dtype=np.float64), np.ones(length)
    k = np.arange(1.0, _NODES)
    beside = k * length / 2 * np.sqrt((1 - (k / length) ** 2) / (4 * k**2 - 1))
    points, vectors = (np.asarray(part, np.float64) for part in eigh_tridiagonal(np.zeros(_NODES), beside))
    return points + (length - 1) / 2, length * vectors[0] ** 2


def _log_mass(law: Law, z: Floats) -> Floats:
    b = width(law)
    match law:
        case Geometric():
            return math.log(-math.expm1(-1 / b)) - z / b
        case DiscreteLaplace():
            return math.log(math.tanh(0.5 / b)) - np.abs(z) / b
        case RoundedGaussian():
            log_density: Floats = -(z**2) / (2 * b**2) - math.log(b * math.sqrt(2 * math.pi))
            if b > _MOST_POINTS:  # the difference of two tails would lose its digits; the next term is below 1e-15
                return log_density + np.log1p(((z / b) ** 2 - 1) / (24 * b**2))
            outer, inner = log_ndtr((-np.abs(z) - 0.5) / b), log_ndtr((0.5 - np.abs(z)) / b)
            return np.asarray(inner + np.log(-np.expm1(outer - inner)), np.float64)
