"""Composition as it is taught: basic, advanced, and the corollary everybody remembers.

They are here to be compared. The advanced theorem is often worse than adding up, and never better than the optimal
composition, so nothing in lapwing is priced by it.

Proof: proofs/classical_composition.md
"""

import math

from lapwing.accounting.rounding import ROUND_OFF
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, positive, probability


def advanced_epsilon(*, epsilon: float, times: int, delta: float, delta_each: float = 0.0) -> float:
    """Return epsilon sqrt(2 k ln(1/delta')) + k epsilon (e^epsilon - 1), delta' = delta - k delta_each, rounded up.

    This is Theorem 4 of document 000 and Theorem 2.1 of document 001 (Dwork, Rothblum and Vadhan 2010), for k = `times`
    releases that are (epsilon, delta_each)-DP each. Infinite if the deltas of the releases already use up `delta`.

    Examples
    --------
    At epsilon = 1/2 a hundred times, it promises less than adding up does:

    >>> round(advanced_epsilon(epsilon=0.5, times=100, delta=1e-6), 1), 0.5 * 100
    (58.7, 50.0)
    """
    e, k = float(positive("epsilon", epsilon)), as_int("times", times)
    left = float(probability("delta", delta)) - k * delta_each
    if left <= 0:
        return math.inf
    return (e * math.sqrt(-2 * k * math.log(left)) + k * e * math.expm1(e)) * (1 + ROUND_OFF)


def corollary_epsilon_each(*, epsilon: float, times: int, delta: float) -> float:
    """Return epsilon / sqrt(8 k ln(1/delta)), what Corollary 5 of document 000 lets each of k pure releases spend.

    It is safe for epsilon < 1 and delta < 0.88, and wasteful: below 8 ln(1/delta) releases, epsilon / k is more.

    Examples
    --------
    >>> round(corollary_epsilon_each(epsilon=0.5, times=50, delta=1e-6), 4), 0.5 / 50
    (0.0067, 0.01)
    """
    e, k = float(positive("epsilon", epsilon)), as_int("times", times)
    if e >= 1:
        raise ParameterError("epsilon", epsilon, reason="is not below 1", remedy="ask calibration for the best split")
    if probability("delta", delta) > _LARGEST_DELTA:
        raise ParameterError("delta", delta, reason="is so large that the corollary fails", remedy="stay below 0.88")
    return e / math.sqrt(-8 * k * math.log(float(probability("delta", delta)))) * (1 - ROUND_OFF)


_LARGEST_DELTA = 0.88
