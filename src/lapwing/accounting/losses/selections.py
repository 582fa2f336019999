"""Several exponential selections at one epsilon: the best that an adversary can do, found level by level.

Each selection has a worst case of its own, and which one it is may depend on what was selected before. Composing the
envelope of one selection with itself would let the adversary have a different worst case at every level at once; here
the worst case of each selection is chosen once the loss so far is known, which is all that can really happen.

Proof: proofs/selections.md
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from lapwing.accounting.concentrated import delta_from_rho, epsilon_from_rho
from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.bounded_range import BoundedRangeLaw
from lapwing.accounting.losses.law import LossLattice, LossLaw, Orders
from lapwing.accounting.rounding import ROUND_OFF, UNIT, float_above

_FEWEST_STEPS, _STEPS_OF_ALL = 48, 384
"""How many steps of the grid one epsilon has: n steps cost about 1/n^2 of the variance. Few selections afford more."""

_MOST_USES = 256
"""So many selections are one law; more are so many laws, which are then composed."""

_RARE = 1e-40
_LARGEST = 300.0


def selections(epsilon: Fraction, times: int) -> list[tuple[LossLaw, int]]:
    """Return laws, with how often each is met, that dominate `times` selections at `epsilon`, each chosen on the way.

    Examples
    --------
    >>> [(law.times, met) for law, met in selections(Fraction(1, 10), 1000)]
    [(256, 3), (232, 1)]
    """
    if float_above(epsilon) > _LARGEST:
        return [(BoundedRangeLaw(epsilon), times)]
    blocks, rest = divmod(times, _MOST_USES)
    single: LossLaw = BoundedRangeLaw(epsilon) if rest == 1 else SelectionsLaw(epsilon, rest)
    many = [(SelectionsLaw(epsilon, _MOST_USES), blocks)] if blocks else []
    return [*many, *([(single, 1)] if rest else [])]


@dataclass(frozen=True, eq=False)
class SelectionsLaw:
    """The upper envelope of all adaptive sequences of `times` pairs with losses in intervals of length `epsilon`."""

    epsilon: Fraction
    times: int

    mu_squared = None
    is_attained = False
    spacing = None

    @property
    def pure_epsilon(self) -> Fraction:
        """The sum of the epsilons."""
        return self.times * self.epsilon

    @property
    def rho(self) -> Fraction:
        """The sum of the zCDP bounds."""
        return self.times * self.one.rho

    @property
    def other_order(self) -> "SelectionsLaw":
        """The family is its own other order, and so is its envelope."""
        return self

    @cached_property
    def one(self) -> BoundedRangeLaw:
        """The law of a single selection."""
        return BoundedRangeLaw(self.epsilon)

    @cached_property
    def atoms(self) -> AtomicLaw:
        """The envelope as atoms. It takes a while, so it is made when it is first asked for."""
        pair = _worst_of_all(self.one.top, self.times, self.rho)
        return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=self.pure_epsilon, rho=self.rho, is_attained=False)

    @property
    def infinite_mass(self) -> float:
        """What lies beyond the grid."""
        return self.atoms.infinite_mass

    def delta(self, epsilon: float) -> float:
        """Return the profile of the envelope."""
        return 0.0 if epsilon >= self.pure_epsilon else self.atoms.delta(epsilon)

    def renyi(self, alpha: float) -> float:
        """Return the sum of the divergences, each at its own worst case."""
        return self.times * self.one.renyi(alpha) * (1 + ROUND_OFF)

    def cumulant(self, order: Orders) -> Orders:
        """Return the cumulant of the envelope."""
        return self.atoms.cumulant(order)

    def span(self, tail: float) -> tuple[float, float]:
        """Return the lowest and highest atom."""
        return self.atoms.span(tail)

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return the envelope on a grid."""
        return self.atoms.on_grid(step, tail)

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return the envelope, coarsened."""
        return self.atoms.members(at_most)


def _worst_of_all(e: float, times: int, rho: Fraction) -> DominatingPair:
    """Return the envelope of `times` selections as a pair, on an even grid of losses."""
    steps = max(_FEWEST_STEPS, _STEPS_OF_ALL // times)
    step = math.nextafter(e / steps, math.inf)
    last, beyond = times * steps, 0.0
    if (needed := math.ceil(epsilon_from_rho(rho, _RARE) / step)) < last:
        last, beyond = needed, delta_from_rho(rho, needed * step * (1 - ROUND_OFF))
    heights = np.full(last + 1, beyond)
    for _ in range(times):
        heights = np.maximum(_before_one_more(heights, beyond, step, steps), beyond)
    knots = step * np.arange(-last, last + 1.0)
    margin = 4 * UNIT * float(knots[-1])
    return DominatingPair.through(knots + margin, np.append(_mirrored(heights, step, last), heights) * (1 + ROUND_OFF))


def _before_one_more(heights: Floats, beyond: float, step: float, steps: int) -> Floats:
    """Return the profile at levels 0, step, 2 step, ... before one selection, if `heights` is the one after it.

    At level r the selection with t leads to the level r - t with probability p(t), and to r - t + e else. In between
    two t of the grid the mean is concave in e^t: it exceeds the larger end by at most an eighth of the squared width
    times the curvature.
    """
    e, size = step * steps, len(heights)
    around = np.concatenate([_mirrored(heights, step, steps), heights, np.full(steps, beyond)])
    width = math.expm1(step) ** 2 / (4 * math.expm1(-e) * math.expm1(-step))
    worst, mean = np.zeros(size), around[steps:][:size]
    for t in range(1, steps + 1):
        up, down = math.expm1(step * (t - steps)) / math.expm1(-e), math.expm1(step * t) / math.expm1(e)
        rise_up, rise_down = (around[first - t :][: size + 1] for first in (steps, 2 * steps))
        before, mean = mean, up * rise_up[:-1] + down * rise_down[:-1]
        bend = np.diff(rise_down) * math.exp(-e) - np.diff(rise_up) * (1 + ROUND_OFF)
        np.maximum(worst, np.maximum(mean, before) + width * np.maximum(bend, 0.0), out=worst)
    return np.asarray(worst * (1 + 16 * UNIT))


def _mirrored(heights: Floats, step: float, reach: int) -> Floats:
    """Return the profile at -reach, ..., -2, -1 steps: by symmetry it is 1 - e^-x + e^-x times that at x."""
    x = step * np.arange(1.0, reach + 1)
    padded = np.append(heights, np.full(max(0, reach + 1 - len(heights)), heights[-1]))
    return np.asarray((-np.expm1(-x) + np.exp(-x) * padded[1 : reach + 1])[::-1])
