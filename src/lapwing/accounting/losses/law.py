"""The interface of a family of losses, and how a law in closed form is put on a grid.

A law describes one ordered pair (P, Q) that dominates a mechanism: L = log P/Q under P. Its `other_order` describes
(Q, P). All that a law returns is an upper bound: masses and losses are only ever moved upwards.

Proof: proofs/connect_the_dots.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.vocabulary.exact import LARGEST_EXPONENT, ROUND_OFF, UNIT, float_above
from lapwing.vocabulary.frozen import frozen

Orders: TypeAlias = NDArray[Any]  # at which cumulants are asked: real for moments, complex for Fourier transforms
# P(L <= x), P(L > x), Q(L <= x) and Q(L > x), each to a relative error of `ROUND_OFF`
Tails: TypeAlias = tuple[Floats, Floats, Floats, Floats]


@frozen(kw_only=False, eq=False)
class LossLattice:
    """Masses at `lowest`, `lowest + step`, ...; they may sum to a little more than 1, never to less than the truth."""

    lowest: float
    step: float
    masses: Floats
    infinite_mass: float

    @property
    def losses(self) -> Floats:
        """The losses at which the masses sit."""
        return self.lowest + self.step * np.arange(len(self.masses), dtype=np.float64)

    @property
    def highest(self) -> float:
        """The highest of the losses."""
        return self.lowest + self.step * (len(self.masses) - 1)

    def cumulant(self, order: float) -> float:
        """Return log E[e^(order L)] over the finite losses."""
        met = self.masses > 0
        powers = order * self.losses[met]
        top = float(powers.max())
        return top + math.log(float((np.exp(powers - top) * self.masses[met]).sum()))

    @property
    def reach(self) -> float:
        """The largest absolute loss."""
        return max(abs(self.lowest), abs(self.highest))

    @property
    def margin(self) -> float:
        """How far the losses may be too low: the tails at a loss x are those of a number this close to x."""
        return UNIT * (64 * min(self.reach, 1.0) + 16 * self.reach)

    def pair(self) -> DominatingPair:
        """Return the masses as a dominating pair."""
        return DominatingPair.of_total_one(self.losses + self.margin, self.masses, self.infinite_mass)


class LossLaw(Protocol):
    """The law of the privacy loss of one ordered pair that dominates a mechanism."""

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The largest loss in either order, if there is one."""

    @property
    def rho(self) -> Fraction | None:
        """A zCDP bound, in both orders, if one is known."""

    @property
    def mu_squared(self) -> Fraction | None:
        """The exact square of mu, if the pair is N(0, 1) against N(mu, 1)."""

    @property
    def infinite_mass(self) -> float:
        """The mass under P of what is impossible under Q."""

    @property
    def is_attained(self) -> bool:
        """Whether one pair of neighbours really has this law, so that composing it loses nothing."""

    @property
    def spacing(self) -> float | None:
        """The distance of the atoms if all of them lie on one lattice."""

    @property
    def other_order(self) -> "LossLaw":
        """The law of (Q, P): the same object if the pair is symmetric."""

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of E[(1 - e^(epsilon - L))_+]."""

    def renyi(self, alpha: float) -> float:
        """Return an upper bound of the Renyi divergence of order `alpha` > 1 of this order."""

    def cumulant(self, order: Orders) -> Orders:
        """Return log E[e^(order L)] over the finite losses, not rounded."""

    def span(self, tail: float) -> tuple[float, float]:
        """Return bounds outside which at most `tail` of P lies, on either side."""

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return masses on a grid that dominate this law; at most `tail` is moved to infinity."""

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return finite pairs, of at most `at_most` atoms each, one of which dominates any pair of this order."""


def connect_the_dots(tails: Callable[[Floats], Tails], low: float, high: float, step: float) -> LossLattice:
    """Return a lattice that ends at `high` and dominates the law with these tails.

    The masses p under P and q under Q of a cell (x, x + step] go to its ends so that both stay what they are: the upper
    end gets (p - e^x q) / (1 - e^-step). The profile of the result is the chord of the true one. What lies below the
    grid is lifted to its lowest point, what lies above goes to infinity. (Doroshenko, Ghazi, Kamath, Kumar and
    Manurangsi 2022.)
    """
    cells = max(1, math.ceil((high - low) / step))
    x = high - step * np.arange(cells, -1, -1, dtype=np.float64)
    p_below, p_above, q_below, q_above = tails(x)
    p, p_error = _cells(p_below, p_above)
    q, q_error = _cells(q_below, q_above)
    ratio = np.exp(np.minimum(x[:-1], LARGEST_EXPONENT))  # less than e^x moves more mass up
    upper = (p - ratio * q + p_error + ratio * q_error) / -math.expm1(-step)
    p = p + p_error
    upper = np.clip(upper * (1 + ROUND_OFF), 0.0, p)
    masses = np.append(p - upper, 0.0)
    masses[1:] += upper
    masses[0] += p_below[0] * (1 + ROUND_OFF)
    return LossLattice(float(x[0]), step, masses, float(p_above[-1]) * (1 + ROUND_OFF))


def _cells(below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Return the masses of the cells, each from the smaller side, and bounds of their errors."""
    from_below = below[1:] < above[:-1]
    mass = np.where(from_below, np.diff(below), -np.diff(above))
    error = 2 * ROUND_OFF * np.where(from_below, below[1:], above[:-1])
    return np.maximum(mass, 0.0), error


@dataclass(frozen=True, eq=False)
class HalfExponentialLaw:
    """A symmetric law on [-epsilon, epsilon] whose density goes with e^(x/2), perhaps with an atom at either end."""

    pure_epsilon: Fraction

    mu_squared = None
    infinite_mass = 0.0
    spacing = None

    @cached_property
    def top(self) -> float:
        """Epsilon, rounded up."""
        return float_above(self.pure_epsilon)

    @property
    def other_order(self) -> Self:
        """The pair is symmetric."""
        return self

    def span(self, tail: float) -> tuple[float, float]:
        """Return -epsilon and epsilon, for every tail."""
        del tail
        return -self.top, self.top

    def lattice(self, step: float, *, top_density: float, top_atom: float, bottom_atom: float) -> LossLattice:
        """Return the density `top_density` e^((x - top)/2) and the atoms on a grid that ends at `top`.

        A cell of this density splits between its ends in the ratio 1 : e^(-step/2), so nothing cancels.
        """
        top = self.top
        cells = math.floor(2 * top / step)
        rest = max(0.0, 2 * top - cells * step)
        share = 1 / (1 + math.exp(-step / 2))
        cell = -2 * top_density * math.expm1(-step / 2) * np.exp(-step / 2 * np.arange(cells))
        last = 2 * top_density * math.exp(rest / 2 - top) * -math.expm1(-rest / 2)
        width = -math.expm1(-step)
        lifted = bottom_atom * -math.expm1(rest - step) / width + last * -math.expm1(rest / 2 - step) / width
        lifted = min(lifted * (1 + ROUND_OFF), bottom_atom + last)
        masses = np.zeros(cells + 2)
        masses[0] = top_atom
        masses[:cells] += share * cell
        masses[1 : cells + 1] += (1 - share) * cell
        masses[cells] += lifted
        masses[cells + 1] += bottom_atom + last - lifted
        return LossLattice(top - (cells + 1) * step, step, masses[::-1] * (1 + ROUND_OFF), 0.0)
