"""The exponential mechanism: one selection, and several at one epsilon.

All losses of one selection on one pair of neighbours lie in an interval of length epsilon: [t - epsilon, t] for some t
in [0, epsilon] that is not known. One use is described exactly by the upper envelope over t
(proofs/bounded_range.md). For several uses that envelope, composed with itself, would let the adversary have a
different worst case at every level at once. `SelectionsLaw` chooses the worst case of each selection once the loss so
far is known, which is all that can really happen (proofs/selections.md).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from lapwing.accounting.conversions import delta_from_rho, epsilon_from_rho
from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.law import HalfExponentialLaw, LossLattice, LossLaw, Orders, Tails
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.exact import ROUND_OFF, UNIT, float_above

_HUGE = 300.0
_MEMBERS = 64
_SHORT = 1e-4
_TERMS = 18


class BoundedRangeLaw(HalfExponentialLaw):
    """The upper envelope of all pairs whose losses lie in an interval of length epsilon (Durfee and Rogers 2019).

    The interval of the other order is [-t, epsilon - t]: the family is the same.
    """

    is_attained = False

    @property
    def rho(self) -> Fraction:
        """The eighth of epsilon^2 of Cesar and Rogers 2021, exactly."""
        return self.pure_epsilon**2 / 8

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

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return the envelope on a grid that ends at its largest loss."""
        del tail
        return self.lattice(step, top_density=-0.5 / math.expm1(-self.top), top_atom=0.0, bottom_atom=0.0)

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


# how many steps of the grid one epsilon has: n steps cost about 1/n^2 of the variance; few selections afford more
_FEWEST_STEPS, _STEPS_OF_ALL = 48, 384
_MOST_USES = 256  # up to this many selections are one law; more are several laws, which are then composed
_RARE = 1e-40
_LARGEST = 300.0


def selections(epsilon: Fraction, times: int) -> list[tuple[LossLaw, int]]:
    """Return laws, and how often each is met, that dominate `times` selections at `epsilon`, each chosen on the way."""
    if float_above(epsilon) > _LARGEST:
        return [(BoundedRangeLaw(epsilon), times)]
    blocks, rest = divmod(times, _MOST_USES)
    single: LossLaw = BoundedRangeLaw(epsilon) if rest == 1 else SelectionsLaw(epsilon, rest)
    return [(law, met) for law, met in ((SelectionsLaw(epsilon, _MOST_USES), blocks), (single, min(rest, 1))) if met]


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
        return AtomicLaw(pair=pair, pure_epsilon=self.pure_epsilon, rho=self.rho, is_attained=False)

    @property
    def infinite_mass(self) -> float:
        """The mass beyond the grid."""
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
        spend()
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
