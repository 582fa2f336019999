"""From counts to what they prove: exact bounds of two probabilities, and what a claim must answer for between them.

Everything the black box says rests on one sentence: with P(E) at least `low` on one table and at most `high` on its
neighbour, a mechanism that keeps its claim cannot be. Both numbers are Clopper-Pearson bounds, so they need no
approximation and no large sample.

Proof: proofs/black_box_audit.md
"""

from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from lapwing.auditor.outcomes import Reals
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

_SLACK = 1e-9
"""How far, relatively, every bound is moved outwards: far more than the inverse of the beta integral can be off."""

_ORDERS = (1 + 1e-6, *np.geomspace(1.05, 200, 48).tolist())


def at_least(hits: ArrayLike, draws: float, risk: float) -> Reals:
    """Return a number that P(E) is at least, wrong with probability at most `risk`: the lower Clopper-Pearson bound.

    >>> round(float(at_least(500, 1000, 1e-6)), 4), float(at_least(0, 1000, 1e-6))
    (0.4248, 0.0)
    """
    seen = np.asarray(hits, np.float64)
    inner = betaincinv(np.maximum(seen, 1e-9), draws - seen + 1, risk)
    return np.where(seen > 0, inner * (1 - _SLACK), 0.0)


def at_most(hits: ArrayLike, draws: float, risk: float) -> Reals:
    """Return a number that P(E) is at most, wrong with probability at most `risk`: the upper Clopper-Pearson bound.

    >>> round(float(at_most(0, 1000, 1e-6)), 4), float(at_most(1000, 1000, 1e-6))
    (0.0137, 1.0)
    """
    missed = draws - np.asarray(hits, np.float64)
    return 1.0 - at_least(missed, draws, risk)


def least_loss(claim: Guarantee, low: ArrayLike, high: ArrayLike) -> Reals:
    """Return the least loss, in the currency of the claim, with which P(E) >= low here and P(E) <= high there agree.

    Each claim allows a region of pairs (P(E) here, P(E) there), one for each value of its parameter. What is returned
    is the smallest parameter whose region reaches the corner (low, high); the complement of E is in it already. It is
    zero where `low` is not above `high`.

    >>> half_the_noise = least_loss(PureDP(epsilon=1), 0.49, 0.49 * np.exp(-2))
    >>> round(float(half_the_noise), 9)
    2.0
    >>> round(float(least_loss(GaussianDP(mu_squared=1), 0.5, 0.1586552539)), 6)
    1.0
    """
    p, q = np.asarray(low, np.float64), np.asarray(high, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        match claim:
            case PureDP():
                loss = _epsilon(p, q, 0.0)
            case ApproximateDP():
                loss = _epsilon(p, q, float(claim.delta))
            case ConcentratedDP():
                loss = _rho(p, q)
            case GaussianDP():
                loss = ndtri(p) - ndtri(q)
            case _:
                assert_never(claim)
    return np.where(p > q, np.maximum(np.nan_to_num(loss, nan=0.0, posinf=np.inf, neginf=0.0), 0.0), 0.0)


def _epsilon(p: Reals, q: Reals, delta: float) -> Reals:
    """E says P <= e^epsilon Q + delta; its complement says 1 - Q <= e^epsilon (1 - P) + delta."""
    of_event = np.log(np.maximum(p - delta, 0.0)) - np.log(q)
    of_complement = np.log(np.maximum(1 - q - delta, 0.0)) - np.log1p(-p)
    return np.asarray(np.maximum(of_event, of_complement))


def _rho(p: Reals, q: Reals) -> Reals:
    """Return the largest of D_alpha / alpha between the two coins, in both orders: what happened in E is a coin."""
    largest: Reals = np.zeros(np.broadcast(p, q).shape)
    for order in _ORDERS:
        largest = np.fmax(largest, np.fmax(_renyi_per_order(p, q, order), _renyi_per_order(q, p, order)))
    return largest


def _renyi_per_order(p: Reals, q: Reals, a: float) -> Reals:
    event = a * np.log(p) + (1 - a) * np.log(q)
    rest = a * np.log1p(-p) + (1 - a) * np.log1p(-q)
    return np.asarray(np.logaddexp(event, rest) / ((a - 1) * a), np.float64)
