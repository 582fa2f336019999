"""What the residue filter compares: the profile of one Gaussian release, and what a charge may do to the privacy loss.

For mu > 0 and real r, with u = r/mu - mu/2 and w = r/mu + mu/2,

    profile(r) = Phi(-u) - e^r Phi(-w),

the hockey-stick divergence of order e^r between N(mu, 1) and N(0, 1) (Balle and Wang 2018, Theorem 8). Both terms are
computed through Mills' ratio R(x) = Phi(-x)/phi(x), because e^r phi(w) = phi(u): nothing overflows, and each term keeps
its relative accuracy far into the tail, where filters with a small delta live.

A charge is a family of members that must *all* fit, with one residue: the two orders of an asymmetric pair, or every
member of the bounded-range family of the exponential mechanism, of which there is one for each t in an interval. A
member is a list of losses with their probabilities under the first of two neighbouring tables.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.rounding import LARGEST_EXPONENT, float_below
from lapwing.vocabulary.search import bisect_float

ROUNDING = 2.0**-40
"""A bound on the relative error of each term of a profile, as computed: measured below 1e-13, and stated with room."""

_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_SQRT_TWO_PI = math.sqrt(2 * math.pi)
_LARGEST_MU = 32.0  # where epsilon is some 500: nothing is gained beyond


class Terms(NamedTuple):
    """What a profile is made of: `upper` = Phi(-u), `lower` = e^r Phi(-w), `density` = phi(u), and u itself.

    profile = upper - lower, its slope in r is -lower, its second derivative density/mu - lower, and its derivative in
    mu^2 is density/(2 mu).
    """

    upper: Floats
    lower: Floats
    density: Floats
    u: Floats


def terms(mu: float, r: Floats) -> Terms:
    """Return the terms of the profile of a Gaussian release with `mu` > 0 at the levels `r`.

    >>> parts = terms(1.0, np.array([0.0]))
    >>> round(float((parts.upper - parts.lower)[0]), 12)  # the total variation 2 Phi(1/2) - 1
    0.382924922548
    """
    u = r / mu - mu / 2
    w = u + mu
    density = np.exp(-0.5 * u * u) / _SQRT_TWO_PI
    upper_tail, lower_tail = density * _mills(np.abs(u)), density * _mills(np.abs(w))
    upper = np.where(u >= 0, upper_tail, 1.0 - upper_tail)
    lower = np.where(w >= 0, lower_tail, np.exp(np.minimum(r, 0.0)) - lower_tail)  # w < 0 only where r < 0
    return Terms(upper, lower, density, u)


def largest_mu_squared(epsilon: Fraction, delta: Fraction) -> float:
    """Return a mu^2, rounded down, for which a Gaussian release is (`epsilon`, `delta`)-differentially private.

    The analytic Gaussian mechanism (Balle and Wang 2018), solved for mu: mu-GDP is (epsilon, delta)-DP exactly when
    profile(epsilon) <= delta (Dong, Roth and Su 2022, Corollary 2.13).

    >>> round(largest_mu_squared(Fraction(1), Fraction(1, 10**6)) ** 0.5, 6)
    0.236704
    """
    level, target = float_below(epsilon), float_below(delta)

    def promised(mu: float) -> bool:
        parts = terms(mu, np.array([level]))
        return float((parts.upper * (1 + ROUNDING) - parts.lower * (1 - ROUNDING))[0]) <= target

    try:
        mu = bisect_float(lambda mu: not promised(mu), most=_LARGEST_MU)[0]
    except OverflowError:
        mu = _LARGEST_MU
    return float_below(Fraction(mu) ** 2)


def _mills(x: Floats) -> Floats:
    return _SQRT_HALF_PI * erfcx(x / math.sqrt(2))


_STEPS_OF_RANGE = 32  # the gap between neighbouring members costs about 2/32² of a selection's price
_STEPS_OF_LAST_TEST = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class LossFamily:
    """Members as rows of `losses` and `masses` (short rows end in masses of zero), and the worst infinite mass.

    `power` and `size` are the members' best tests: P(loss >= l) and Q(loss >= l) for each loss l; where an entry stands
    for a whole interval of members, their sizes reach down from `size` to `least_size`, and their powers, over their
    sizes, are at most `power` over `size`. `range_` is zero for a family that is complete as it stands; for a
    bounded-range family it is the length of the range, and the rows are the members at t = 0, range_/32, 2 range_/32,
    ..., range_.
    """

    losses: Floats
    masses: Floats
    infinite_mass: float
    power: Floats
    size: Floats
    least_size: Floats
    total_variation: float
    range_: float = 0.0

    @staticmethod
    def of(orders: Sequence[DominatingPair]) -> "LossFamily":
        """Return the family whose members are `orders`: both orders of a pair, or one where they are the same."""
        width = max(order.losses.size for order in orders)
        losses, masses = np.zeros((len(orders), width)), np.zeros((len(orders), width))
        for row, order in enumerate(orders):
            largest_first = np.argsort(order.losses)[::-1]
            losses[row, : order.losses.size] = order.losses[largest_first]
            masses[row, : order.losses.size] = order.masses[largest_first]
        size = np.cumsum(masses * np.exp(np.minimum(-losses, LARGEST_EXPONENT)), axis=1)
        return LossFamily(
            losses=losses,
            masses=masses,
            infinite_mass=max(order.infinite_mass for order in orders),
            power=np.cumsum(masses, axis=1),
            size=size,
            least_size=size,
            total_variation=float((masses * -np.expm1(-np.maximum(losses, 0.0))).sum(axis=1).max()),
        )

    @staticmethod
    def bounded_range(epsilon: Fraction) -> "LossFamily":
        """Return the family of everything whose loss lies in some interval of length `epsilon`.

        Its extreme members have the losses t and t - epsilon, the first with probability
        p(t) = (e^epsilon - e^t)/(e^epsilon - 1), for t from 0 to epsilon (Dong, Durfee and Rogers 2020); t and
        epsilon - t are each other's opposite order.
        """
        length = math.nextafter(float(epsilon), math.inf)

        def upper(t: Floats) -> Floats:
            return np.expm1(t - length) / math.expm1(-length)

        t, fine = (np.linspace(0.0, length, steps + 1) for steps in (_STEPS_OF_RANGE, _STEPS_OF_LAST_TEST))
        size = upper(fine) * np.exp(-fine)
        return LossFamily(
            losses=np.column_stack([t, t - length]),
            masses=np.column_stack([upper(t), 1 - upper(t)]),
            infinite_mass=0.0,
            power=upper(fine[:-1])
            * math.exp(min(fine[1], LARGEST_EXPONENT)),  # power is size times e^t, and the size falls with t
            size=size[:-1],
            least_size=size[1:],
            total_variation=math.tanh(length / 4),  # at t = epsilon/2
            range_=length,
        )

    @cached_property
    def first_order_price(self) -> float:
        """The largest mean square of a member's loss, which is what a small charge takes from a residue."""
        return float((self.masses * self.losses**2).sum(axis=1).max())

    def between(self, mu: float, r: Floats, step: float) -> Floats:
        """Bound by how much members between two rows may exceed the larger of those rows, on [r_i, r_i + step].

        One row for each r, one column for each member: column k speaks of the members between k - 1 and k.
        Proof: proofs/residue_certificate.md, section "Between members".
        """
        if not self.range_:
            return np.zeros((1, 1))
        width = self.range_ / _STEPS_OF_RANGE
        lowest = r[:, None] - self.losses[:, 0]
        span = self.range_ + width + step
        parts = terms(mu, lowest)
        nearest_to_zero = np.maximum(np.maximum(parts.u, -(parts.u + span / mu)), 0.0)
        density = np.exp(-0.5 * nearest_to_zero**2) / math.sqrt(2 * math.pi)
        share = self.range_ / -math.expm1(-self.range_)
        bend: Floats = (share + 1) * math.exp(span) * parts.lower + 2 * share * density / mu
        return width**2 / 7.99 * bend


@dataclass(frozen=True, eq=False, kw_only=True)
class LossChain:
    """A plan, both as one family and as the charges that it consists of, to be taken one after the other.

    The second is tighter where a part has many worst cases: one family has to stand for all of them at every level.

    Parameters
    ----------
    together : the whole plan as one charge
    parts : families, and how often each is charged
    """

    together: LossFamily
    parts: tuple[tuple[LossFamily, int], ...]

    @property
    def uses(self) -> int:
        """How many charges the chain has."""
        return sum(times for _, times in self.parts)

    @property
    def infinite_mass(self) -> float:
        """What covers the infinite losses either way."""
        return max(self.together.infinite_mass, sum(family.infinite_mass * times for family, times in self.parts))

    @property
    def first_order_price(self) -> float:
        """What it takes from a residue, if that is large."""
        return sum(family.first_order_price * times for family, times in self.parts)
