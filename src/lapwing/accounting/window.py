"""A stretch of a lattice law, and how its profile is read and solved.

The masses are never below the true ones, so neither is what is read from them.
"""

import math
from dataclasses import dataclass

import numpy as np

from lapwing.accounting.dominating_pair import Floats
from lapwing.accounting.rounding import ROUND_OFF

_WIDEST = 500.0


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Masses at evenly spaced losses, and a bound of what lies above them.

    Parameters
    ----------
    losses : evenly spaced, increasing
    masses : under P, from above
    infinite_mass : what lies higher, at infinity included
    margin : how far the losses may be too low by rounding
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
