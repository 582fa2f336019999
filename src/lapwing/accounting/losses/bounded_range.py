"""The exponential mechanism: all its losses on one pair of neighbours lie in an interval of length epsilon.

Where the interval lies depends on the pair: it is [t - epsilon, t] for some t in [0, epsilon], and nobody says which.
One use is described exactly by the upper envelope over t. For several uses the envelope is safe but not tight, and
Renyi divergences, which take the worst t one by one, are often better.

Proof: proofs/bounded_range.md
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.law import Lattice, Orders, Tails, half_exponential_lattice, renyi_from_cumulant
from lapwing.accounting.rounding import ROUND_OFF, float_above

_HUGE = 300.0
_MEMBERS = 64


@dataclass(frozen=True, eq=False)
class BoundedRangeLaw:
    """The upper envelope of all pairs whose losses lie in an interval of length epsilon (Durfee and Rogers 2019)."""

    pure_epsilon: Fraction

    mu_squared = None
    infinite_mass = 0.0
    is_attained = False
    spacing = None

    @cached_property
    def top(self) -> float:
        """Epsilon, rounded up."""
        return float_above(self.pure_epsilon)

    @property
    def rho(self) -> Fraction:
        """The eighth of epsilon^2 of Cesar and Rogers 2021, exactly."""
        return self.pure_epsilon**2 / 8

    @property
    def other_order(self) -> "BoundedRangeLaw":
        """The interval of the other order is [-t, epsilon - t]: the family is the same."""
        return self

    def delta(self, epsilon: float) -> float:
        """Return (e^(e/2) - e^(epsilon/2))^2 / (e^e - 1) inside [-e, e]."""
        e = self.top
        if epsilon >= e:
            return 0.0
        if epsilon < -e:
            return min(1.0, -math.expm1(epsilon) * (1 + ROUND_OFF))
        return min(1.0, math.expm1((epsilon - e) / 2) ** 2 / -math.expm1(-e) * (1 + ROUND_OFF))

    def renyi(self, alpha: float) -> float:
        """Return the largest divergence over all t: x^a (A - B x) has its maximum at x = a A / ((a + 1) B)."""
        e, a = self.top, alpha - 1
        if e > _HUGE:
            return e
        b = -math.expm1(-a * e)
        s = math.expm1(e) + b
        cumulant = a * math.log(a * s / (alpha * b)) + math.log(s / (alpha * math.expm1(e)))
        return min(renyi_from_cumulant(cumulant, alpha, e), alpha * float_above(self.rho) * (1 + ROUND_OFF))

    def cumulant(self, order: Orders) -> Orders:
        """Return log(sinh(c e) / (2 c sinh(e/2))) at c = order + 1/2."""
        c, e = order + 0.5, self.top
        return order * e + np.log(-np.expm1(-2 * c * e) / (2 * c)) - math.log(-math.expm1(-e))

    def tails(self, x: Floats) -> Tails:
        """Return the tails of the half-exponential density."""
        inside = np.clip(x, -self.top, self.top) / 2
        below, above, whole = self.top / 2 + inside, self.top / 2 - inside, -math.expm1(-self.top)
        p_above, q_below = -np.expm1(-above) / whole, -np.expm1(-below) / whole
        return np.exp(below - self.top) * q_below, p_above, q_below, np.exp(above - self.top) * p_above

    def span(self, tail: float) -> tuple[float, float]:
        """Return -e and e, whatever the tail."""
        del tail
        return -self.top, self.top

    def on_grid(self, step: float, tail: float) -> Lattice:
        """Return the envelope on a grid that ends at its largest loss."""
        del tail
        return half_exponential_lattice(
            self.top, step, top_density=-0.5 / math.expm1(-self.top), top_atom=0.0, bottom_atom=0.0
        )

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return pairs of ten atoms, each of which dominates every t in one of `_MEMBERS` intervals."""
        del at_most
        edges = np.linspace(0.0, self.top, _MEMBERS + 1).tolist()
        return tuple(self._member(low, high) for low, high in pairwise(edges))

    def _member(self, low: float, high: float) -> DominatingPair:
        """Return the chord of the envelope over t in [low, high]."""
        upper, middle = np.linspace(low, high, 4), np.linspace(high - self.top, low, 4)
        knots = np.unique(np.concatenate([upper - self.top, middle, upper]))
        return DominatingPair.through(knots, np.array([self._highest(low, high, x) for x in knots.tolist()]))

    def _highest(self, low: float, high: float, x: float) -> float:
        """Return the largest profile at x over t in [low, high]: it rises in t up to (x + e)/2 and falls behind."""
        e, t = self.top, min(max((x + self.top) / 2, low), high)
        if not t - e < x < t:
            return max(0.0, -math.expm1(min(x, 0.0)))
        return math.expm1(t - e) / math.expm1(-e) * -math.expm1(x - t)
