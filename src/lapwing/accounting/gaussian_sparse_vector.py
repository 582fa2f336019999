"""The cost of a sparse vector with Gaussian noise: a proved bound on its Renyi divergence, of any order.

The bound is a recursion over the questions and yeses that are left. One step of it is the largest value of a function
of one real variable, and that maximum is never taken over grid points alone: between two grid points the function lies
below its chord plus a bound on its curvature, and this is what enters. Numbers are floats, nudged upwards.

Unit: the deviation of the query noise, so that `width` below is how far one person moves a comparison, in deviations.
"""

import math
from functools import lru_cache

import numpy as np

from lapwing.accounting.dominating_pair import Floats
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianSparseVectorRelease
from lapwing.vocabulary.exact import ROUND_OFF
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_when_called

gammaln, log_ndtr, logsumexp = load_when_called("scipy.special", "gammaln", "log_ndtr", "logsumexp")

MOST_QUESTIONS = 10**9  # more are not priced: by then a person would have asked one a second for thirty years

_LOWEST = -9.0  # in deviations: below it, a comparison is above with probability 1 - 1e-19
_FINENESS = 200.0  # grid steps per deviation and per root of alpha
_LARGEST_EXPONENT = 600.0  # e^600 still squares to a float
_NUDGE = 1e-13  # added to the logarithm of every step, for the rounding of its few operations
_TILT = 1e-14  # and this relative to it, for a logarithm that is itself large: dozens of roundings of 1.1e-16
_SLACK = 1e-4  # on slopes and curvatures, which only decide how much a cell is raised
_ONE_BY_ONE = 1024  # questions that are stepped one at a time; fewer where there are more than a thousand yeses
_WORK = _ONE_BY_ONE * 1000
_BLOCK = 256  # for later ones, blocks of 1/256 of those done are good for few yeses
_FEW_YESES = 32  # and a price of a yes is good for many
_GUESS = 1.1
_HIGHEST_PRICE = 1024.0  # of a yes, in logarithms: beyond `_LARGEST_EXPONENT` and the logarithm of all questions
_SEARCHES = 100


def renyi_bound(event: GaussianSparseVectorRelease, alpha: float) -> float:
    """Return an upper bound on the Renyi divergence of order `alpha` of a Gaussian sparse vector, in both directions.

    It holds for adaptively chosen questions and thresholds, for every transcript that stops by itself or earlier, for
    continuous Gaussian noise and for such noise rounded to the lattice of the values; not for discrete Gaussian noise.

    Proof: proofs/gaussian_sparse_vector.md
    """
    if not 1 < alpha < np.inf:
        raise ParameterError("alpha", alpha, reason="is not a Renyi order", remedy="write a finite number above 1")
    if event.questions > MOST_QUESTIONS:
        remedy = f"open a stream for at most {MOST_QUESTIONS} questions"
        raise ParameterError("questions", event.questions, reason="are more than can be priced", remedy=remedy)
    span = event.sensitivity if event.monotone else 2 * event.sensitivity
    width = _above(float(span**2 / event.query_sigma_squared) ** 0.5)
    threshold_part = _above(alpha * float(event.sensitivity**2 / event.threshold_sigma_squared) / 2)
    yeses = min(event.yeses, event.questions)
    return _above(threshold_part + _log_v(width, alpha, event.questions, yeses, event.with_gap) / (alpha - 1))


def _above(number: float) -> float:
    return number * (1 + _NUDGE) + 1e-300


@lru_cache(maxsize=4096)
def _log_v(width: float, alpha: float, questions: int, yeses: int, with_gap: bool) -> float:  # noqa: FBT001 - a cache key
    """Return a bound on ln V(questions, yeses), where V(k, j) is the largest alpha-moment with k and j left.

    V(0, j) = V(k, 0) = 1 and V(k, j) = max over x of yes(x) V(k-1, j-1) + no(x) V(k-1, j).
    """
    exponent = alpha * (alpha - 1) * width**2 / 2
    if exponent > _LARGEST_EXPONENT:
        return _counting_bound(exponent, questions, yeses)
    front = _front(width, alpha, with_gap=with_gap)
    log_v, done = np.zeros(yeses + 1), 0
    while done < min(questions, _ONE_BY_ONE, _WORK // yeses):
        log_v[1:] = (log_v[1:] + front.log_growth(np.exp(log_v[:-1] - log_v[1:]))) * (1 + _TILT)
        done += 1
    if done == questions:
        return _above(float(log_v[-1]))
    bound = _at_a_price(front, log_v, questions - done)
    if yeses <= _FEW_YESES:
        bound = min(bound, _in_blocks(front, log_v, done, questions))
    return _above(bound)


def _at_a_price(front: "_Front", log_v: Floats, left: int) -> float:
    """Return a bound on ln V(., last) after `left` more questions, for any `left`.

    If no question gains more than e^g where a yes is worth e^-price, then all of them gain e^(left g), and yeses are
    paid for at the end. Every price gives a valid bound, which is convex in it: the best is searched for.
    """
    yeses = np.arange(len(log_v))

    def bound(price: float) -> float:
        start = float((log_v - price * yeses).max())
        growth = left * float(front.log_growth(np.array([math.exp(-price)]))[0])
        return (price * float(yeses[-1]) + start + growth) * (1 + ROUND_OFF)

    low, high = 0.0, _HIGHEST_PRICE
    for _ in range(_SEARCHES):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if bound(first) <= bound(second) else (first, high)
    return bound(low)


def _in_blocks(front: "_Front", log_v: Floats, done: int, questions: int) -> float:
    log_v = log_v.copy()
    while done < questions:
        block = min(questions - done, done // _BLOCK)
        log_v[1:] = (log_v[1:] + _growth_in_block(front, log_v, block)) * (1 + _TILT)
        done += block
    return float(log_v[-1])


def _growth_in_block(front: "_Front", log_v: Floats, block: int) -> Floats:
    """Return a bound on how much ln V(., 1), ln V(., 2), ... grow in `block` questions.

    Within the block the ratio V(., j-1)/V(., j) is at most that of V(., j-1) at its end to V(., j) at its beginning. A
    guess at the growth of all V(., j-1) is confirmed if what follows from it is not more than the guess.
    """
    growth = block * front.log_growth(np.exp(log_v[:-1] - log_v[1:]))
    guess = np.append(0.0, growth * _GUESS)
    while True:
        ratio = np.exp(np.minimum(log_v[:-1] + guess[:-1] - log_v[1:], 0.0))
        implied = block * front.log_growth(ratio)
        if (implied <= guess[1:]).all():
            return implied
        guess[1:] = np.maximum(guess[1:], implied) * _GUESS


def _counting_bound(exponent: float, questions: int, yeses: int) -> float:
    """Return more than ln of the sum of (questions choose i) e^(i exponent) over i <= yeses: V if yes(x) <= e^exponent.

    (k choose i) is at most k^i/i!, which has no difference of large logarithms in it.
    """
    i = np.arange(yeses + 1)
    growing, factorials = i * (math.log(questions) + exponent), gammaln(i + 1)
    above = growing * (1 + ROUND_OFF) - factorials * (1 - ROUND_OFF)
    return float(logsumexp(above)) * (1 + ROUND_OFF) + ROUND_OFF


@frozen(kw_only=False)
class _Front:
    """Corner points (yes, no) that dominate the curve (yes(x), no(x)): no falls as yes rises, along a concave chain."""

    yes: Floats
    no: Floats
    turns: Floats

    def log_growth(self, ratio: Floats) -> Floats:
        """Return ln max(ratio * yes + no): how much V(., j) grows when V(., j-1)/V(., j) is `ratio`, in [0, 1]."""
        corner = np.searchsorted(self.turns, ratio)
        return np.asarray(np.log(ratio * self.yes[corner] + self.no[corner]) * (1 + _TILT) + _NUDGE)


def _front(width: float, alpha: float, *, with_gap: bool) -> _Front:
    """Return points that dominate (yes(x), no(x)) at every real x, of which V(k, j) takes the supremum.

    yes(x) = P(Z > x - width)^alpha P(Z > x)^(1 - alpha), no(x) likewise: A and B of proofs/gaussian_sparse_vector.md.
    """
    highest = alpha * width + np.sqrt(144 + alpha * (alpha - 1) * width**2)
    x = np.linspace(_LOWEST, highest, int((highest - _LOWEST) * _FINENESS * np.sqrt(alpha)) + 2)
    yes, yes_bend = _gap_moment(x, width, alpha) if with_gap else _moment(x, width, alpha, sign=1)
    no, no_bend = _moment(x, width, alpha, sign=-1)
    # On a cell of length h a function is at most its larger end plus h^2/8 sup |f''|: both corners are raised by that.
    # Then what lies left of the grid, where yes(x) is at most P(above)^(1 - alpha), or rises to the first point; and
    # right of it, where no(x) <= 1 and yes(x) falls to 0.
    leftmost = max(yes[0], float(np.exp((1 - alpha) * log_ndtr(-_LOWEST))))
    yes = np.concatenate([yes[:-1] + yes_bend, yes[1:] + yes_bend, [leftmost], [yes[-1], 0.0]])
    no = np.concatenate([no[:-1] + no_bend, no[1:] + no_bend, [no[0]], [1.0, 1.0]])
    return _chain(yes, no)


def _moment(x: Floats, width: float, alpha: float, *, sign: int) -> tuple[Floats, Floats]:
    """Return T(x - width)^alpha T(x)^(1 - alpha) at the points x and h²/8 times a bound on its curvature per cell.

    T is the upper tail (`sign` 1) or the lower one (-1) of the standard normal law. With its hazard t(x) = f(x)/T(x),
    the logarithm has the slope sign * ((alpha-1) t(x) - alpha t(x - width)), and |t'(x)| is at most 1 and t (t + |x|).
    """
    log_far, log_near = log_ndtr(-sign * (x - width)), log_ndtr(-sign * x)
    rounding = (np.abs(log_far) + np.abs(log_near)) * alpha * ROUND_OFF
    log_moment = alpha * log_far + (1 - alpha) * log_near + rounding
    near, far = _hazard(x, log_near), _hazard(x - width, log_far)
    least, most = _range_per_cell((alpha - 1) * near, -alpha * far, rising=sign == 1)
    slack = _SLACK * alpha * (_larger_end(near) + _larger_end(far))
    slope, step = np.maximum(np.abs(least), np.abs(most)) + slack, x[1] - x[0]
    bend = alpha * np.maximum(_hazard_slope(x, near), _hazard_slope(x - width, far))
    largest = np.exp(np.maximum(log_moment[:-1], log_moment[1:]) + step * slope / 2)
    return np.exp(log_moment), step**2 / 8 * largest * (bend + slope**2) * (1 + _SLACK)


def _hazard(x: Floats, log_tail: Floats) -> Floats:
    return np.asarray(np.exp(-(x**2) / 2 - np.log(2 * np.pi) / 2 - log_tail))


def _larger_end(values: Floats) -> Floats:
    return np.maximum(values[:-1], values[1:])


def _hazard_slope(x: Floats, hazard: Floats) -> Floats:
    """Bound |t'| = t |t ± x| on every cell."""
    most, farthest = _larger_end(hazard), _larger_end(np.abs(x))
    return np.minimum(1.0, most * (most + farthest))


def _range_per_cell(first: Floats, second: Floats, *, rising: bool) -> tuple[Floats, Floats]:
    """Bound the sum of two monotone functions on every cell: |first| and |second| both rise, or both fall."""
    if not rising:
        first, second = first[::-1], second[::-1]
    least, most = first[:-1] + second[1:], first[1:] + second[:-1]
    return (least, most) if rising else (least[::-1], most[::-1])


def _gap_moment(x: Floats, width: float, alpha: float) -> tuple[Floats, Floats]:
    """Return the moment of a yes that shows its gap, e^(alpha (alpha-1) width²/2) P(Z > x - alpha width), likewise."""
    log_all = alpha * (alpha - 1) * width**2 / 2
    u = x - alpha * width
    nearest = np.where((u[:-1] < 0) & (u[1:] > 0), 0.0, np.minimum(np.abs(u[:-1]), np.abs(u[1:])))
    bend = np.exp(log_all - nearest**2 / 2) / np.sqrt(2 * np.pi) * _larger_end(np.abs(u)) * (1 + _SLACK)
    log_tail = log_ndtr(-u)
    moment: Floats = np.exp(log_all + log_tail + (log_all + np.abs(log_tail)) * ROUND_OFF) * (1 + _NUDGE)
    return moment, (x[1] - x[0]) ** 2 / 8 * bend


def _chain(yes: Floats, no: Floats) -> _Front:
    """Return the upper right part of the convex hull of the points (yes, no), yes rising."""
    order = np.lexsort((no, yes))[::-1]
    order = order[np.concatenate([[True], no[order][1:] > np.maximum.accumulate(no[order])[:-1]])]
    corners: list[tuple[float, float]] = []
    for c in zip(yes[order].tolist(), no[order].tolist(), strict=True):
        while len(corners) > 1:
            a, b = corners[-2:]
            if (a[0] - b[0]) * (c[1] - b[1]) < (b[0] - c[0]) * (b[1] - a[1]):
                break
            corners.pop()  # it lies on or below the segment from a (right) to c (left)
        corners.append(c)
    kept_yes, kept_no = np.array(corners[::-1]).T
    return _Front(kept_yes, kept_no, np.diff(-kept_no) / np.diff(kept_yes))
