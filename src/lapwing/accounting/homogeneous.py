"""The optimal composition of k equal (epsilon, delta)-DP releases: Kairouz, Oh and Viswanath 2015, Theorem 3.3.

Randomized response attains it, and so does geometric noise of sensitivity 1.

Proof: proofs/homogeneous_composition.md
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import gammaln

from lapwing.accounting.rounding import UNIT, float_above
from lapwing.accounting.window import Window
from lapwing.vocabulary.exact import as_int, positive

MOST_USES = 10**6
"""Beyond so many uses the sum over all of them would be slow; the other rules take over."""


def optimal_epsilon(*, epsilon: Fraction, times: int, delta: float, delta_each: Fraction = Fraction(0)) -> float:
    """Return the epsilon at `delta` of `times` releases that are (epsilon, delta_each)-DP each, and no more is known.

    Examples
    --------
    >>> round(optimal_epsilon(epsilon=Fraction(1, 100), times=1000, delta=1e-6), 4)
    1.3654
    """
    found = optimal_window(epsilon, times, delta_each).epsilon(delta)
    return math.inf if found is None else found


def optimal_delta(*, epsilon: Fraction, times: int, at: float, delta_each: Fraction = Fraction(0)) -> float:
    """Return the delta at epsilon = `at` of `times` releases that are (epsilon, delta_each)-DP each."""
    return optimal_window(epsilon, times, delta_each).delta(at)


def optimal_window(epsilon: Fraction, times: int, delta_each: Fraction = Fraction(0)) -> Window:
    """Return the whole composed law: losses (times - 2 lies) epsilon with binomial masses, rounded up."""
    e, k = float_above(positive("epsilon", epsilon)), as_int("times", times, most=MOST_USES)
    lies = np.arange(k, -1.0, -1.0)
    log_truth = -math.log1p(math.exp(-e))
    log_fact = gammaln(lies + 1)
    exponent = gammaln(k + 1) - log_fact - log_fact[::-1] + k * log_truth - lies * e
    lost = float_above(delta_each)
    slack = 8 * UNIT * (float(gammaln(k + 1)) + k * (e + 1))
    masses = np.exp(exponent + slack + k * math.log1p(-lost))
    return Window((k - 2 * lies) * e, masses, -math.expm1(k * math.log1p(-lost)), margin=4 * UNIT * k * e)
