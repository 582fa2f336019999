"""Laplace noise: half of P sits at the largest loss, and below it the density of L goes with e^(x/2).

Proof: proofs/laplace_loss.md
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.law import LossLattice, Orders, Tails, half_exponential_lattice, renyi_from_cumulant
from lapwing.accounting.rounding import ROUND_OFF, float_above, fraction_above


@dataclass(frozen=True, eq=False)
class LaplaceLaw:
    """Laplace(0, 1) against Laplace(epsilon, 1), which dominates every vector of L1 sensitivity epsilon."""

    pure_epsilon: Fraction

    mu_squared = None
    infinite_mass = 0.0
    is_attained = True
    spacing = None

    @cached_property
    def top(self) -> float:
        """Epsilon, rounded up."""
        return float_above(self.pure_epsilon)

    @cached_property
    def rho(self) -> Fraction:
        """The Kullback-Leibler divergence e - 1 + e^-e: no R(alpha)/alpha is larger."""
        e = self.top
        series = e * e / 2  # above the divergence; exact enough where the closed form would cancel
        return fraction_above(series if e < 1e-4 else e + math.expm1(-e) + e * ROUND_OFF)  # noqa: PLR2004

    @property
    def other_order(self) -> "LaplaceLaw":
        """The pair is symmetric."""
        return self

    def delta(self, epsilon: float) -> float:
        """Return 1 - e^((epsilon - e)/2) inside [-e, e]."""
        if epsilon >= self.top:
            return 0.0
        exponent = epsilon if epsilon < -self.top else (epsilon - self.top) / 2
        return min(1.0, -math.expm1(exponent) * (1 + ROUND_OFF))

    def renyi(self, alpha: float) -> float:
        """Return the closed form of Mironov 2017 (Table II)."""
        return renyi_from_cumulant(float(self.cumulant(np.array(alpha - 1))), alpha, self.top)

    def cumulant(self, order: Orders) -> Orders:
        """Return log(cosh(c e) + sinh(c e)/(2 c)) - e/2 at c = order + 1/2, in a form that does not overflow."""
        c = order + 0.5
        return order * self.top + np.log1p(order / (2 * c) * np.expm1(-2 * c * self.top))

    def tails(self, x: Floats) -> Tails:
        """Return the tails of the half-exponential density and its two atoms."""
        inside = np.clip(x, -self.top, self.top)
        p_below = np.where(x >= self.top, 1.0, np.where(x < -self.top, 0.0, 0.5 * np.exp((inside - self.top) / 2)))
        q_above = np.where(x >= self.top, 0.0, np.where(x < -self.top, 1.0, 0.5 * np.exp((-inside - self.top) / 2)))
        return p_below, 1 - p_below, 1 - q_above, q_above

    def span(self, tail: float) -> tuple[float, float]:
        """Return -e and e, whatever the tail."""
        del tail
        return -self.top, self.top

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return the law on a grid that ends at its largest loss."""
        del tail
        return half_exponential_lattice(
            self.top, step, top_density=0.25, top_atom=0.5, bottom_atom=0.5 * math.exp(-self.top)
        )

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return one pair on an even grid."""
        return (self.on_grid(2 * self.top / (at_most - 1), 0.0).pair(),)
