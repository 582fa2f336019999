"""Laplace and Gaussian noise, whose losses have a density.

Laplace: half of P sits at the largest loss, and below it the density of L goes with e^(x/2) (proofs/laplace_loss.md).
Gaussian: L is normal with mean mu^2/2 and variance mu^2, mu = sensitivity / sigma. It is the one family that composes
in closed form: the squares of mu add up (proofs/gaussian_loss.md).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.law import HalfExponentialLaw, LossLattice, Orders, Tails, connect_the_dots
from lapwing.vocabulary.exact import ROUND_OFF, UNIT, float_above, fraction_above, root_above
from lapwing.vocabulary.loading import load_when_called

erfcx, log_ndtr, ndtr, ndtri = load_when_called("scipy.special", "erfcx", "log_ndtr", "ndtr", "ndtri")


class LaplaceLaw(HalfExponentialLaw):
    """Laplace(0, 1) against Laplace(epsilon, 1), which dominates every vector of L1 sensitivity epsilon."""

    is_attained = True

    @cached_property
    def rho(self) -> Fraction:
        """The Kullback-Leibler divergence e - 1 + e^-e: no R(alpha)/alpha is larger."""
        e = self.top
        series = e * e / 2  # above the divergence; exact enough where the closed form would cancel
        return fraction_above(series if e < 1e-4 else e + math.expm1(-e) + e * ROUND_OFF)  # noqa: PLR2004

    def delta(self, epsilon: float) -> float:
        """Return 1 - e^((epsilon - e)/2) inside [-e, e]."""
        if epsilon >= self.top:
            return 0.0
        exponent = epsilon if epsilon < -self.top else (epsilon - self.top) / 2
        return min(1.0, -math.expm1(exponent) * (1 + ROUND_OFF))

    def renyi(self, alpha: float) -> float:
        """Return the closed form of Mironov 2017 (Table II), rounded up, and no more than the largest loss."""
        order = alpha - 1
        cumulant = float(self.cumulant(np.array(order)))
        error = ROUND_OFF * (abs(cumulant) + order * self.top) + 8 * UNIT
        return min(self.top, (cumulant + error) / order)

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

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return the law on a grid that ends at its largest loss."""
        del tail
        return self.lattice(step, top_density=0.25, top_atom=0.5, bottom_atom=0.5 * math.exp(-self.top))

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return one pair on an even grid."""
        return (self.on_grid(2 * self.top / (at_most - 1), 0.0).pair(),)


_SQRT_HALF = math.sqrt(0.5)
_SQRT_PI_HALF = math.sqrt(math.pi / 2)
_SQRT_TWO_PI = math.sqrt(2 * math.pi)
_FAR, _LARGEST = 6.0, 1e4
_FINEST_TAIL, _SMALLEST = 1e-100, 1e-300


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """N(0, 1) against N(mu, 1), with `mu_squared` = mu^2."""

    mu_squared: Fraction

    pure_epsilon = None
    infinite_mass = 0.0
    is_attained = True
    spacing = None

    @cached_property
    def mu(self) -> float:
        """Mu, rounded up."""
        return root_above(self.mu_squared)

    @property
    def rho(self) -> Fraction:
        """Half of mu^2, exactly (Bun and Steinke 2016, Proposition 1.6)."""
        return self.mu_squared / 2

    @property
    def other_order(self) -> "GaussianLaw":
        """The pair is symmetric."""
        return self

    def delta(self, epsilon: float) -> float:
        """Return the exact profile of Balle and Wang 2018 (Theorem 8), rounded up."""
        return gaussian_delta(self.mu, epsilon)

    def renyi(self, alpha: float) -> float:
        """Return alpha mu^2 / 2."""
        return alpha * float_above(self.rho) * (1 + ROUND_OFF)

    def cumulant(self, order: Orders) -> Orders:
        """Return order (order + 1) mu^2 / 2."""
        return np.asarray(order * (order + 1) * (self.mu**2 / 2))

    def span(self, tail: float) -> tuple[float, float]:
        """Return mean and spread at the normal quantile of `tail`."""
        reach = -float(ndtri(max(tail, _FINEST_TAIL))) * self.mu
        return self.mu**2 / 2 - reach, self.mu**2 / 2 + reach

    def tails(self, x: Floats) -> Tails:
        """Return the tails of the two normal laws of L."""
        return *_both_sides((x - self.mu**2 / 2) / self.mu), *_both_sides((x + self.mu**2 / 2) / self.mu)

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return the law with its dots connected."""
        low, high = self.span(tail)
        return connect_the_dots(self.tails, low, high, step)

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return one pair, its dots closer where there is more mass; for losses too large for floats, the worst one."""
        if self.mu > _LARGEST:
            return (DominatingPair.worst(),)
        low, high = self.span(1e-32)
        return (connect_the_dots(self.tails, low, high, (high - low) / (8 * at_most)).pair().coarsened(at_most),)


def _both_sides(z: Floats) -> tuple[Floats, Floats]:
    """Return Phi(z) and Phi(-z), calling the special function once."""
    small = ndtr(-np.abs(z))
    return np.where(z < 0, small, 1 - small), np.where(z < 0, 1 - small, small)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), rounded up.

    Both terms are written as the same normal density times a Mills ratio, so that no digit is lost where they are
    nearly equal or both tiny.
    """
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    slack = ROUND_OFF * (1 + near * near) + 8 * UNIT * (1 + abs(near)) * (mu + abs(epsilon) / mu)
    if near > _FAR:  # more than half of the profile: nothing cancels
        return min(1.0, float(ndtr(near) - math.exp(epsilon + float(log_ndtr(far)))) + slack)
    density = math.exp(-near * near / 2) / _SQRT_TWO_PI
    mills_near = _SQRT_PI_HALF * float(erfcx(-near * _SQRT_HALF))
    mills_far = _SQRT_PI_HALF * float(erfcx(-far * _SQRT_HALF))
    between = (mills_near - mills_far) * (1 + slack) + mills_near * 32 * UNIT
    tangent = mu * (1 + near * mills_near) * (1 + slack)  # a Mills ratio is convex: where mu is tiny, nothing cancels
    return min(1.0, max(density * min(between, tangent), _SMALLEST))
