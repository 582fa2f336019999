"""Zero-concentrated differential privacy: rho adds up, and says this about epsilon and delta.

Proof: proofs/renyi_divergence.md
"""

from fractions import Fraction

import numpy as np

from lapwing.accounting.renyi import delta_from_renyi, epsilon_from_renyi
from lapwing.accounting.rounding import float_above

_ORDERS = 1 + np.geomspace(1e-3, 1e6, 2049)


def epsilon_from_rho(rho: Fraction, delta: float) -> float:
    """Return the epsilon at `delta` that rho-zCDP implies, by the best of 2049 orders.

    Examples
    --------
    >>> round(epsilon_from_rho(Fraction(28, 1000), 1e-6), 4)
    1.0776
    """
    return epsilon_from_renyi(float_above(rho) * _ORDERS, delta, _ORDERS)


def delta_from_rho(rho: Fraction, epsilon: float) -> float:
    """Return the delta at `epsilon` that rho-zCDP implies."""
    return delta_from_renyi(float_above(rho) * _ORDERS, epsilon, _ORDERS)
