"""Renyi divergences and zero-concentrated differential privacy: what they say about epsilon and delta.

The best order may be chosen at the end only if everything was fixed in advance. A filter must fix one order, or demand
a bound at every order, as rho does.

Proof: proofs/renyi_divergence.md
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from lapwing.accounting.dominating_pair import Floats
from lapwing.vocabulary.exact import ROUND_OFF, float_above

ORDERS: Floats = np.array(
    [
        *(1.125, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 24.0),
        *(28.0, 32.0, 40.0, 48.0, 64.0, 80.0, 96.0, 128.0, 192.0, 256.0, 384.0, 512.0, 1024.0),
    ]
)
"""Fixed once and for all, so that a stored price can be compared with a new one."""


_SMALLEST_DELTA = 1e-300  # an exponential that underflows is not taken for zero


def curve(renyi: Callable[[float], float]) -> Floats:
    """Return the divergences at `ORDERS`."""
    return np.array([renyi(float(alpha)) for alpha in ORDERS])


def epsilon_from_renyi(divergences: Floats, delta: float, orders: Floats = ORDERS) -> float:
    """Return the best epsilon at `delta` over all orders (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    bounds = divergences + np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    return max(0.0, float(np.min(bounds)) + ROUND_OFF * (1 - math.log(delta)))


def delta_from_renyi(divergences: Floats, epsilon: float, orders: Floats = ORDERS) -> float:
    """Return the best delta at `epsilon` over all orders: the same bound, read the other way."""
    bounds = (orders - 1) * (divergences - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    least = float(np.min(bounds))
    return min(1.0, max(math.exp(min(0.0, least)) * (1 + ROUND_OFF * (1 + abs(least))), _SMALLEST_DELTA))


_ORDERS = 1 + np.geomspace(1e-3, 1e6, 2049)


def epsilon_from_rho(rho: Fraction, delta: float) -> float:
    """Return the epsilon at `delta` that rho-zCDP implies, by the best of 2049 orders."""
    return epsilon_from_renyi(float_above(rho) * _ORDERS, delta, _ORDERS)


def delta_from_rho(rho: Fraction, epsilon: float) -> float:
    """Return the delta at `epsilon` that rho-zCDP implies."""
    return delta_from_renyi(float_above(rho) * _ORDERS, epsilon, _ORDERS)
