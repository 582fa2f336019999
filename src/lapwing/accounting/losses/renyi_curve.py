"""What is known only by its Renyi divergences: the profile they allow, as a law.

Proof: proofs/renyi_divergence.md
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.rounding import ROUND_OFF

ORDERS = np.array(
    [
        1.125,
        1.25,
        1.5,
        1.75,
        2,
        2.5,
        3,
        3.5,
        4,
        5,
        6,
        7,
        8,
        10,
        12,
        14,
        16,
        20,
        24,
        28,
        32,
        40,
        48,
        64,
        80,
        96,
        128,
        192,
        256,
        384,
        512,
        1024,
    ]
)
"""The orders at which divergences are asked: fixed, so that a price does not depend on a search."""

_LOG_LOST = -36.0
_KNOTS = 257


def log_delta_from_renyi(divergence: Floats, alpha: Floats, epsilon: float) -> Floats:
    """Return log delta(epsilon) at each order (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    return (alpha - 1) * (divergence - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)


def epsilon_from_renyi(divergence: Floats, alpha: Floats, delta: float) -> Floats:
    """Return epsilon(delta) at each order: the same bound, solved for epsilon."""
    return divergence + np.log1p(-1 / alpha) - (math.log(delta) + np.log(alpha)) / (alpha - 1)


def renyi_curve(bound: Callable[[float], float], rho: Fraction | None = None) -> AtomicLaw:
    """Return a law that dominates every pair whose divergences, in both orders, stay below `bound`."""
    divergence = np.array([bound(float(alpha)) for alpha in ORDERS])

    def highest(x: float) -> float:
        return min(
            1.0, math.exp(min(0.0, float(np.min(log_delta_from_renyi(divergence, ORDERS, x))))) * (1 + ROUND_OFF)
        )

    top = float(np.min(divergence + (ORDERS * np.log1p(-1 / ORDERS) - np.log(ORDERS - 1) - _LOG_LOST) / (ORDERS - 1)))
    right = np.linspace(0.0, top, _KNOTS)
    heights = np.array([highest(float(x)) for x in right])
    left, mirrored = -right[:0:-1], -np.expm1(-right[:0:-1]) + np.exp(-right[:0:-1]) * heights[:0:-1]
    knots, kept = _convex(np.concatenate([left, right]), np.minimum(np.concatenate([mirrored, heights]), 1.0))
    pair = DominatingPair.through(knots, kept)
    return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=None, rho=rho, is_attained=False, renyi_bound=bound)


def _convex(knots: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the greatest function below `heights` that is convex in e^knot."""
    corners: list[tuple[float, float, float]] = []
    for x, y in zip(knots.tolist(), heights.tolist(), strict=True):
        t = math.exp(x)
        while len(corners) > 1:
            (_, t0, y0), (_, t1, y1) = corners[-2:]
            if (y1 - y0) * (t - t0) < (y - y0) * (t1 - t0):
                break
            corners.pop()
        corners.append((x, t, y))
    return np.array([x for x, _, _ in corners]), np.array([y for _, _, y in corners])
