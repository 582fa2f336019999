"""Losses with atoms only: randomized response, two-sided geometric noise, and what is known only by its
(epsilon, delta).

Proof: proofs/atomic_losses.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.law import Lattice, Orders, Tails, renyi_from_cumulant
from lapwing.accounting.rounding import ROUND_OFF, float_above, fraction_above


@dataclass(frozen=True, eq=False, kw_only=True)
class AtomicLaw:
    """A finite law, with what is known about it beside its atoms.

    Parameters
    ----------
    pair : the atoms of this order
    reverse : the atoms of the other order; the same object if the pair is symmetric
    spacing : the distance of the atoms if they lie on one lattice
    is_attained : whether one pair of neighbours really has these atoms
    renyi_bound : a tighter bound of the Renyi divergence than that of the atoms, if one is known
    """

    pair: DominatingPair
    reverse: DominatingPair
    pure_epsilon: Fraction | None
    rho: Fraction | None
    spacing: float | None = None
    is_attained: bool = True
    renyi_bound: Callable[[float], float] | None = field(default=None, repr=False)

    mu_squared = None

    @property
    def infinite_mass(self) -> float:
        """The mass of what is impossible under Q."""
        return self.pair.infinite_mass

    @property
    def other_order(self) -> "AtomicLaw":
        """The law with the two orders exchanged."""
        if self.reverse is self.pair:
            return self
        return AtomicLaw(
            pair=self.reverse,
            reverse=self.pair,
            pure_epsilon=self.pure_epsilon,
            rho=self.rho,
            spacing=self.spacing,
            is_attained=self.is_attained,
            renyi_bound=self.renyi_bound,
        )

    def delta(self, epsilon: float) -> float:
        """Return the profile of the atoms."""
        return self.pair.delta(epsilon)

    def renyi(self, alpha: float) -> float:
        """Return the divergence of the atoms, or a bound that is known to be tighter."""
        if self.infinite_mass > 0:
            atoms = math.inf
        else:
            cumulant = float(self.cumulant(np.array([alpha - 1.0]))[0])
            atoms = renyi_from_cumulant(cumulant, alpha, float(self.pair.losses[-1]))
        return atoms if self.renyi_bound is None else min(atoms, self.renyi_bound(alpha))

    def cumulant(self, order: Orders) -> Orders:
        """Return log of the sum of the tilted atoms."""
        powers = np.multiply.outer(np.asarray(order), self.pair.losses)
        top = powers.real.max(axis=-1, keepdims=True)
        return top[..., 0] + np.log(np.exp(powers - top) @ self.pair.masses)

    def tails(self, x: Floats) -> Tails:
        """Return the steps of the atoms."""
        at = np.searchsorted(self.pair.losses, x, side="right")
        p, q = self.pair.masses, self.pair.masses * np.exp(-self.pair.losses)
        p_below, q_below = (np.append(0.0, np.cumsum(m))[at] for m in (p, q))
        p_above, q_above = (np.append(np.cumsum(m[::-1])[::-1], 0.0)[at] for m in (p, q))
        return p_below, p_above + self.infinite_mass, q_below + max(0.0, 1.0 - float(q.sum())), q_above

    def span(self, tail: float) -> tuple[float, float]:
        """Return the lowest and highest atom, whatever the tail."""
        del tail
        return float(self.pair.losses[0]), float(self.pair.losses[-1])

    def on_grid(self, step: float, tail: float) -> Lattice:
        """Return the atoms, each split between its neighbours on a grid that ends at the highest one."""
        del tail
        top = float(self.pair.losses[-1])
        depth = (top - self.pair.losses) / step
        below = np.ceil(depth * (1 - ROUND_OFF)).astype(np.int64)
        rise = np.clip((below - depth) * step, 0.0, step)
        raised = self.pair.masses * np.minimum(np.expm1(-rise) / math.expm1(-step) * (1 + ROUND_OFF), 1.0)
        size = int(below[0]) + 1
        masses = np.bincount(below, self.pair.masses - raised, size)
        masses += np.bincount(np.maximum(below - 1, 0), raised, size)
        return Lattice(top - (size - 1) * step, step, masses[::-1] * (1 + ROUND_OFF), self.infinite_mass)

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return the atoms, coarsened if there are too many."""
        return (self.pair.coarsened(at_most),)


def pure(epsilon: Fraction) -> AtomicLaw:
    """Return the law of binary randomized response, which dominates everything that is epsilon-DP (KOV 2015)."""
    return k_ary(epsilon, 2)


def approximate(epsilon: Fraction, delta: Fraction) -> AtomicLaw:
    """Return the law that dominates everything that is (epsilon, delta)-DP (KOV 2015, Theorem 3.3)."""
    plain, lost = pure(epsilon).pair, float_above(delta)
    pair = DominatingPair(plain.losses, plain.masses * (1 - lost), lost)
    return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=None, rho=None, spacing=2 * float_above(epsilon))


def k_ary(epsilon: Fraction, categories: int) -> AtomicLaw:
    """Return the law of randomized response among `categories` answers."""
    e = float_above(epsilon)
    lie = 1 / (math.exp(min(e, 700.0)) + categories - 1)
    truth = 1 / (1 + (categories - 1) * math.exp(-e))
    if categories == 2:  # noqa: PLR2004
        pair = DominatingPair.of_total_one(np.array([-e, e]), np.array([lie, truth * (1 + ROUND_OFF)]), 0.0)
        return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=epsilon, rho=pure_rho(epsilon), spacing=2 * e)
    masses = np.array([lie, (categories - 2) * lie * (1 + ROUND_OFF), truth * (1 + ROUND_OFF)])
    pair = DominatingPair.of_total_one(np.array([-e, 0.0, e]), masses, 0.0)
    rho = pure_rho(epsilon)
    if (categories - 2) <= 2 * math.exp(e / 2):
        rho = min(rho, fraction_above(e * (truth - lie) + e * ROUND_OFF))
    return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=epsilon, rho=rho, spacing=e)


def pure_rho(epsilon: Fraction) -> Fraction:
    """Return e tanh(e/2), a zCDP bound of everything that is e-DP; never more than the e^2/2 of Bun and Steinke."""
    e = float_above(epsilon)
    return min(fraction_above(e * math.tanh(e / 2)), epsilon**2 / 2)


def discrete_laplace(sensitivity: int, scale: Fraction) -> AtomicLaw:
    """Return the law of P(x) proportional to e^(-|x|/scale), moved by `sensitivity`."""
    step = float_above(1 / scale)
    q = math.exp(-step)
    between = np.arange(1, sensitivity)
    ends = np.array([1 / (1 + q)]), np.array([q**sensitivity / (1 + q)])
    masses = np.concatenate([ends[0], -math.expm1(-step) / (1 + q) * np.exp(-step * between), ends[1]])[::-1]
    losses = step * np.arange(-sensitivity, sensitivity + 1, 2)
    pair = DominatingPair.of_total_one(losses, masses * (1 + ROUND_OFF), 0.0)
    divergence = float(pair.losses @ pair.masses)
    epsilon = sensitivity / scale
    rho = min(pure_rho(epsilon), fraction_above(divergence + ROUND_OFF * step * sensitivity))
    return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=epsilon, rho=rho, spacing=2 * step)
