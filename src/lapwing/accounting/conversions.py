"""Conversions between guarantees: Renyi divergences and rho to epsilon and delta, and one person to a group.

The best order may be chosen at the end only if everything was fixed in advance. A filter must fix one order, or demand
a bound at every order, as rho does.

Proof: proofs/renyi_divergence.md
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from lapwing.accounting.dominating_pair import Floats
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import ROUND_OFF, as_int, float_above, fraction_above
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

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


def guarantee_for_group(guarantee: Guarantee, size: int) -> Guarantee:
    """Return what a guarantee for one person means for a group of `size`, rounded up.

    The people of the group come and go together (or are exchanged together): they are one larger person, and the chain
    of `size` neighbouring tables is followed, which holds for every mechanism.

    Epsilon grows like the size, rho and mu^2 like its square, delta by the factor (e^(k epsilon) - 1)/(e^epsilon - 1),
    which is less than the k e^((k - 1) epsilon) of document 000 (Theorem 2).

    >>> guarantee_for_group(PureDP(epsilon=Fraction(1, 10)), 4)
    PureDP(epsilon=Fraction(2, 5))
    >>> guarantee_for_group(ConcentratedDP(rho=Fraction(1, 10)), 4)
    ConcentratedDP(rho=Fraction(8, 5))

    Proof: proofs/group_privacy.md
    """
    k = as_int("size", size)
    match guarantee:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=k * epsilon)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=k * epsilon, delta=_group_delta(epsilon, delta, k))
        case ConcentratedDP(rho=rho):
            return ConcentratedDP(rho=k * k * rho)
        case GaussianDP(mu_squared=mu_squared):
            return GaussianDP(mu_squared=k * k * mu_squared)


def _group_delta(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    e = float_above(epsilon)
    growth = math.expm1(k * e) / math.expm1(e) if k * e < 600 else math.inf  # noqa: PLR2004 - too large to grow by
    grown = fraction_above(float_above(delta) * growth) if math.isfinite(growth) else Fraction(1)
    if grown >= 1:
        remedy = "nothing is promised to so large a group; lower epsilon or delta"
        raise ParameterError("size", k, reason=f"makes delta {float(delta):.3g} grow beyond 1", remedy=remedy)
    return grown
