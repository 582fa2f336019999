"""A stretch of a lattice law, how its profile is read and solved, and the law of k equal (epsilon, delta)-DP releases.

The masses are never below the true ones, so neither is what is read from them.
"""

import math
from fractions import Fraction

import numpy as np

from lapwing.accounting.dominating_pair import Floats
from lapwing.vocabulary.exact import ROUND_OFF, UNIT, as_int, float_above, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_when_called

(gammaln,) = load_when_called("scipy.special", "gammaln")

_WIDEST = 500.0


@frozen(kw_only=False, eq=False)
class Window:
    """Masses under P, from above, at evenly spaced increasing losses, and a bound of what lies above them.

    What lies higher, at infinity included, is `infinite_mass`; by `margin` the losses may be too low, from rounding.
    """

    losses: Floats
    masses: Floats
    infinite_mass: float
    margin: float = 0.0

    def delta(self, epsilon: float) -> float:
        """Return the profile at `epsilon`, which must not lie below the window."""
        above = int(np.searchsorted(self.losses, epsilon - self.margin, side="right"))
        gain = -np.expm1(epsilon - self.margin - self.losses[above:])
        return min(1.0, (float((gain * self.masses[above:]).sum()) + self.infinite_mass) * (1 + ROUND_OFF))

    def epsilon(self, delta: float) -> float | None:
        """Return the smallest epsilon >= 0 with a profile of at most `delta`; None if it lies below the window.

        Between two losses the profile falls linearly in e^epsilon. From one loss down to the next it rises by
        (1 - e^-gap) u, where u is the sum of all masses at or above the upper one, each discounted by e^-(distance).
        """
        if self.infinite_mass >= delta:
            return math.inf
        start = int(np.searchsorted(self.losses, 0.0))
        losses, masses = self.losses[start:], self.masses[start:]
        if len(losses) == 0:
            return 0.0
        discounted = _discounted(losses, masses)
        rises = np.append(discounted[1:] * -np.expm1(-np.diff(losses)), self.infinite_mass)
        profile = np.cumsum(rises[::-1])[::-1]
        cell = min(int(np.searchsorted(-profile, -delta)), len(losses) - 1)
        if cell == 0 and start == 0 and losses[0] > 0:
            return None
        share = max(0.0, float((delta - profile[cell]) / discounted[cell]))
        epsilon = float(losses[cell]) + (math.log1p(-share) if share < 1 else -math.inf)
        epsilon, nudge = max(0.0, epsilon + self.margin), 1e-12
        while self.delta(epsilon) > delta:  # the last digits
            epsilon, nudge = epsilon * (1 + nudge) + 1e-16, 4 * nudge
        return epsilon


def _discounted(losses: Floats, masses: Floats) -> Floats:
    """Return the sums of masses[j] e^-(losses[j] - losses[i]) over j >= i, block by block so that nothing overflows."""
    result = np.empty(len(masses))
    block = max(1, int(_WIDEST / (losses[1] - losses[0]))) if len(losses) > 1 else 1
    carried, above = 0.0, float(losses[-1])
    for low in range((len(losses) - 1) // block * block, -1, -block):
        here = slice(low, min(low + block, len(losses)))
        factor = np.exp(losses[low] - losses[here])
        inside = np.cumsum((masses[here] * factor)[::-1])[::-1]
        result[here] = inside / factor + carried * np.exp(losses[here] - above)
        carried, above = float(result[low]), float(losses[low])
    return result


MOST_USES = 10**6  # beyond, the sum over all of them would be slow; the other rules take over


def optimal_epsilon(*, epsilon: Fraction, times: int, delta: float, delta_each: Fraction = Fraction(0)) -> float:
    """Return the epsilon at `delta` of `times` releases that are (epsilon, delta_each)-DP each, if no more is known."""
    found = optimal_window(epsilon, times, delta_each).epsilon(delta)
    return math.inf if found is None else found


def optimal_window(epsilon: Fraction, times: int, delta_each: Fraction = Fraction(0)) -> Window:
    """Return the whole composed law: losses (times - 2 lies) epsilon with binomial masses, rounded up.

    Kairouz, Oh and Viswanath 2015, Theorem 3.3. Randomized response attains it, and so does geometric noise of
    sensitivity 1. Proof: proofs/homogeneous_composition.md
    """
    e, k = float_above(positive("epsilon", epsilon)), as_int("times", times, most=MOST_USES)
    lies = np.arange(k, -1.0, -1.0)
    log_truth = -math.log1p(math.exp(-e))
    log_fact = gammaln(lies + 1)
    exponent = gammaln(k + 1) - log_fact - log_fact[::-1] + k * log_truth - lies * e
    lost = float_above(delta_each)
    slack = 8 * UNIT * (float(gammaln(k + 1)) + k * (e + 1))
    masses = np.exp(exponent + slack + k * math.log1p(-lost))
    return Window((k - 2 * lies) * e, masses, -math.expm1(k * math.log1p(-lost)), margin=4 * UNIT * k * e)
