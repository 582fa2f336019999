"""The Gaussian residue: how much of a Gaussian promise is left after a charge, however the next charge is chosen.

The state is one number s, "what is left is worth a Gaussian release with mu^2 = s". A charge M leads from s to the
largest s' for which M and then a Gaussian release of s' is no worse than a Gaussian release of s, at *every* level r:

    E[profile(s', r - loss)] <= profile(s, r) + slack        for all real r, for every member, in both orders.

That is checked on every cell between grid points and beyond the last one, not at points only: a charge made of a rare
large loss fits between points (proofs/residue_certificate.md). Why the filter may be trusted is in proofs/residue.md.

For mu > 0 and real r, with u = r/mu - mu/2 and w = r/mu + mu/2,

    profile(r) = Phi(-u) - e^r Phi(-w),

the hockey-stick divergence of order e^r between N(mu, 1) and N(0, 1) (Balle and Wang 2018, Theorem 8). Both terms are
computed through Mills' ratio R(x) = Phi(-x)/phi(x), because e^r phi(w) = phi(u): nothing overflows, and each term keeps
its relative accuracy far into the tail, where filters with a small delta live.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.vocabulary.exact import LARGEST_EXPONENT, float_below
from lapwing.vocabulary.loading import load_when_called
from lapwing.vocabulary.search import bisect_float

erfcx, ndtr, ndtri = load_when_called("scipy.special", "erfcx", "ndtr", "ndtri")

ROUNDING = 2.0**-40
"""A bound on the relative error of each term of a profile, as computed: measured below 1e-13, and stated with room."""

_SQRT_HALF_PI = math.sqrt(math.pi / 2)
_SQRT_TWO_PI = math.sqrt(2 * math.pi)
_LARGEST_MU = 32.0  # where epsilon is some 500: nothing is gained beyond


class Terms(NamedTuple):
    """The terms of a profile: `upper` = Phi(-u), `lower` = e^r Phi(-w), `density` = phi(u), and u itself.

    profile = upper - lower, its slope in r is -lower, its second derivative density/mu - lower, and its derivative in
    mu^2 is density/(2 mu).
    """

    upper: Floats
    lower: Floats
    density: Floats
    u: Floats


def terms(mu: float, r: Floats) -> Terms:
    """Return the terms of the profile of a Gaussian release with `mu` > 0 at the levels `r`."""
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
    return _SQRT_HALF_PI * erfcx(x / math.sqrt(2))  # type: ignore[no-any-return] # scipy, when it is called


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
            # power is size times e^t, and the size falls with t
            power=upper(fine[:-1]) * math.exp(min(fine[1], LARGEST_EXPONENT)),
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
        density = np.exp(-0.5 * nearest_to_zero**2) / _SQRT_TWO_PI
        share = self.range_ / -math.expm1(-self.range_)
        bend: Floats = (share + 1) * math.exp(span) * parts.lower + 2 * share * density / mu
        return width**2 / 7.99 * bend


@dataclass(frozen=True, eq=False, kw_only=True)
class LossChain:
    """A plan, both as one family and as the charges that it consists of, to be taken one after the other.

    The second is tighter where a part has many worst cases: one family has to stand for all of them at every level.
    `parts` are families, and how often each is charged.
    """

    together: LossFamily
    parts: tuple[tuple[LossFamily, int], ...]

    @property
    def uses(self) -> int:
        """How many charges the chain has."""
        return sum(times for _, times in self.parts)

    @property
    def infinite_mass(self) -> float:
        """An upper bound on the mass of infinite losses, of the charge as a whole and of its parts."""
        return max(self.together.infinite_mass, sum(family.infinite_mass * times for family, times in self.parts))

    @property
    def first_order_price(self) -> float:
        """First-order cost: how much mu^2 of the residue the chain uses while the residue is large."""
        return sum(family.first_order_price * times for family, times in self.parts)


_LONGEST_STEP = 0.16  # of a cell, in units of min(mu, 1); what it leaves in doubt shrinks with its sixth power
_SMALLEST_SHARE = 1 / 256  # a residue below this share of s would need too fine a grid: it is given up
_SMALLEST_CHARGE = 1e-12  # of s
_PRECISION = 1e-5  # of a charge: how close to the smallest one the search must come
_FINEST = 2.0**-46  # of s: no closer, for doubles near s are 2^-52 apart and the search would only walk between them
_TOO_COARSE = 0.8
_ROUNDS = 40
LEAST_SLACK = 2.0**-365  # what a certificate needs (proofs/residue_certificate.md): with less, a filter gives up
_NOTHING = 1e-60  # a residue with which nothing can be asked, and which must not underflow
_BLOCKS = 8  # of a long chain: each is certified once, at its end
_SMALL_CHAIN = 2.0**-10  # of s: a chain that takes no more is one block
_FEW = 2  # so few charges are certified one by one
_TRIES, _ROOM = 4, 2.0**-7  # to find where a block ends
_TINY = 1e-150  # where a level gains nothing, not even by a smaller residue, the search divides by this


def residue_after(s: float, charge: LossFamily | LossChain, slack: float) -> float | None:
    """Return the residue that is left of `s` after a charge, rounded down; `None` if the charge does not fit.

    A plan is charged whole and part after part, whichever leaves more. By `slack` the inequality may be violated, an
    addition to delta that the caller has to book.

    Proof: proofs/residue_certificate.md
    """
    if isinstance(charge, LossFamily):
        return _after_one(s, charge, slack)
    left = [_after_one(s, charge.together, slack), _after_a_chain(s, charge, slack)]
    return max((after for after in left if after is not None), default=None)


def _after_a_chain(s: float, chain: LossChain, slack: float) -> float | None:
    share = slack / chain.uses * (1 - ROUNDING)
    if share < LEAST_SLACK:
        return None
    left: float | None = s
    for family, times in chain.parts:
        left = None if left is None else _after_many(left, family, times, share)
    return left


def _after_many(s: float, family: LossFamily, times: int, slack: float) -> float | None:
    """Return the residue after the same charge `times` times; one certificate may cover a block of charges."""
    is_small = times * family.first_order_price <= _SMALL_CHAIN * s
    left, to_come, at_once = s, times, times if is_small else math.ceil(times / _BLOCKS)
    while to_come:
        few = min(at_once, to_come, int(left / (_BLOCKS * family.first_order_price)))
        block = _after_block(left, family, few, slack) if few > _FEW else None
        after = _after_one(left, family, slack) if block is None else block
        if after is None:
            return None
        left, to_come = after, to_come - (1 if block is None else few)
    return left


def _after_block(s: float, family: LossFamily, times: int, slack: float) -> float | None:
    """Return the residue after the same charge `times` times, if one certificate at the end of them covers all.

    What a charge takes from a residue it takes from every larger one, too: what is certified at `low` holds for each of
    the charges whose residue is not below that.

    Proof: proofs/residue_certificate.md
    """
    guess = family.first_order_price * (1 + family.first_order_price / (6 * s))
    for _ in range(_TRIES):
        low = s - (times - 1) * guess * (1 + _ROOM)
        after = _after_one(low, family, slack)
        if not after:
            return None
        each = Fraction(low) - Fraction(after)
        if Fraction(s) - (times - 1) * each >= low:
            return float_below(Fraction(s) - times * each)
        guess = float(each)
    return None


def _after_one(s: float, family: LossFamily, slack: float) -> float | None:
    if s < _NOTHING or not fits_last(s, family, slack):
        return None
    charge = family.first_order_price * (1 + family.first_order_price / (6 * s))
    best = 0.0
    grid: _Grid | None = None
    for _ in range(_ROUNDS):
        charge = max(charge, _SMALLEST_CHARGE * s)
        after = s - charge
        if after <= s * _SMALLEST_SHARE:
            break
        if grid is None or math.sqrt(after) < _TOO_COARSE * grid.mu:
            grid = _Grid(s, math.sqrt(after), slack, _LONGEST_STEP * min(1.0, 100 * charge / s) ** (1 / 6))
        missing = grid.missing(after, family)
        if missing <= 0:
            best = max(best, after)
            if missing >= -max(_PRECISION * charge, _FINEST * s) or charge <= _SMALLEST_CHARGE * s:
                break
        charge += missing + max(_PRECISION * charge, _FINEST * s) / 3
    return best


def fits_last(s: float, family: LossFamily, slack: float) -> bool:
    """Return whether the charge fits if nothing is asked after it: whether the family lies below the Gaussian curve.

    Proof: proofs/residue_certificate.md
    """
    mu = math.sqrt(s)
    allowed = ndtr(ndtri(np.minimum(family.size, 0.5)) + mu) * (1 - ROUNDING) + slack
    touches_below_zero = family.least_size > ndtr(-mu / 2) * (1 + ROUNDING)
    at_zero = math.erf(mu / math.sqrt(8)) * (1 - ROUNDING) + slack
    return bool(np.all((family.power <= allowed) | touches_below_zero)) and family.total_variation <= at_zero


class _Grid:
    """Cells of equal length from level 0 to one beyond which both sides are below the slack."""

    def __init__(self, s: float, mu: float, slack: float, step: float) -> None:
        self.mu, self.slack = mu, slack * (1 - ROUNDING)
        before = math.sqrt(s)
        top = before * (before / 2 - float(ndtri(slack / 4)))
        self.r = np.linspace(0.0, top, math.ceil(top / (step * min(mu, 1.0))) + 1)
        self.step = float(self.r[1])
        self.right = _Side(before, self.r[:, None, None], np.ones((1, 1)), self.step)

    def missing(self, after: float, family: LossFamily) -> float:
        """Return by how much, to first order, the charge must grow for the inequality to hold on every cell.

        Zero or less certifies the residue `after`; a value of -x means that the charge may shrink by x.
        """
        mu = math.sqrt(after)
        left = _Side(mu, self.r[:, None, None] - family.losses, family.masses, self.step)
        # d = E[profile(after, r - loss)] - profile(s, r) and its first two derivatives at the grid points
        excess, tilt, bow = left.value - self.right.value, left.slope - self.right.slope, left.bend - self.right.bend
        tilt *= self.step / 5
        bow *= self.step**2 / 20
        # the Bernstein coefficients of the quintic that agrees with d, d', d'' at both ends of a cell bound it there
        forward = np.maximum(excess, np.maximum(excess + tilt, excess + 2 * tilt + bow))
        backward = np.maximum(excess, np.maximum(excess - tilt, excess - 2 * tilt + bow))
        # Hermite interpolation: |d - quintic| <= h^6 / (6! 64) sup |d^(6)|, and 46000 < 6! 64
        doubt = self.step**6 / 46000 * math.exp(self.step + (self.step / mu) ** 2 / 8) * (left.sixth + self.right.sixth)
        doubt += 2 * ROUNDING * (left.size + self.right.size)
        on_cell = np.maximum(forward[:-1], backward[1:]) + doubt[:-1] + doubt[1:]
        # d falls by density / (2 mu) when the residue falls by 1: how much the charge must grow, to first order
        gain = np.maximum(left.density, _TINY) / (2 * mu)
        gap = family.between(mu, self.r[:-1], self.step)
        if family.range_:
            on_cell = np.maximum(on_cell, np.roll(on_cell, 1, axis=1))
        inside = (on_cell + gap - self.slack) / np.sqrt(gain[:-1] * gain[1:])
        beyond = (left.value[-1] + doubt[-1] - self.slack) / gain[-1]
        return float(max(inside.max(), beyond.max()))


class _Side:
    """One side of the inequality at the grid points, one column a member: value, slope, second derivative, bounds."""

    def __init__(self, mu: float, levels: Floats, masses: Floats, step: float) -> None:
        parts = terms(mu, levels)
        x = np.abs(parts.u) + step / mu
        polynomial = (((x + mu) * x + mu**2) * x + mu**3) * x + (mu**4 + mu**2 + 2 * mu + 3)
        hermite = parts.density * polynomial / mu**5
        upper, lower, self.density, sixth = (
            np.einsum("rmj,mj->rm", part, masses) for part in (parts.upper, parts.lower, parts.density, hermite)
        )
        self.value, self.slope, self.bend = upper - lower, -lower, self.density / mu - lower
        self.sixth, self.size = lower + sixth, upper + lower
