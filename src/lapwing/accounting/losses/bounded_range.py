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
from lapwing.accounting.losses.law import LossLattice, Orders, Tails, half_exponential_lattice
from lapwing.accounting.rounding import ROUND_OFF, UNIT, float_above

_HUGE = 300.0
_MEMBERS = 64
_SHORT = 1e-4
_TERMS = 18


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
        """Return the largest divergence over all t, the integral of x / ((alpha + x)(1 + x)) from 0 to `_steepness`."""
        if self.top > _HUGE:
            return self.top
        y = _steepness(alpha - 1, self.top) * (1 + ROUND_OFF)
        if y < _SHORT:  # three terms of the alternating series; the first that is left out is negative
            sums = 1 + 1 / alpha, 1 + 1 / alpha + 1 / alpha**2
            divergence = y * y / alpha * (1 / 2 - y * (sums[0] / 3 - y * sums[1] / 4))
        else:
            parts = alpha * math.log1p(y / alpha), math.log1p(y)
            divergence = (parts[0] - parts[1] + 8 * UNIT * (parts[0] + parts[1])) / (alpha - 1)
        return min(divergence * (1 + ROUND_OFF), self.top, alpha * float_above(self.rho) * (1 + ROUND_OFF))

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

    def on_grid(self, step: float, tail: float) -> LossLattice:
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


def _steepness(a: float, e: float) -> float:
    """Return (a (e^e - 1) - b)/b with b = 1 - e^(-a e), as a sum of two positive numbers over b: nothing cancels."""
    z = a * e
    return (a * _beyond_the_tangent(e) + _beyond_the_tangent(-z)) / -math.expm1(-z)


def _beyond_the_tangent(x: float) -> float:
    """Return e^x - 1 - x to a few units; near zero, where the difference would cancel, by its series."""
    if abs(x) > 1:
        return math.expm1(x) - x
    term = total = x * x / 2
    for k in range(3, _TERMS + 1):
        term *= x / k
        total += term
    return total
