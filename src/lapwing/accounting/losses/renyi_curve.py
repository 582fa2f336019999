"""What is known only by its Renyi divergences: the profile they allow, as a law.

Proof: proofs/renyi_divergence.md
"""

import math
from collections.abc import Callable

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.renyi import curve, delta_from_renyi, epsilon_from_renyi

_LOST = 1e-16
_KNOTS = 257
_HIGHEST = 600.0


def renyi_curve(bound: Callable[[float], float]) -> AtomicLaw:
    """Return a law that dominates every pair whose divergences, in both orders, stay below `bound`."""
    divergences = curve(bound)
    right = np.linspace(0.0, min(epsilon_from_renyi(divergences, _LOST), _HIGHEST), _KNOTS)
    heights = np.array([delta_from_renyi(divergences, x) for x in right.tolist()])
    # the other order has the same divergences, and its profile at x says what this one is at -x
    left = -right[:0:-1]
    mirrored = np.minimum(-np.expm1(left) + np.exp(left) * heights[:0:-1], 1.0)
    pair = DominatingPair.through(*_convex(np.append(left, right), np.append(mirrored, heights)))
    return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=None, rho=None, is_attained=False, renyi_bound=bound)


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
