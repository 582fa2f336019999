"""The Gaussian residue: how much of a Gaussian promise is left after a charge, however the next charge is chosen.

The state is one number s, "what is left is worth a Gaussian release with mu^2 = s". A charge M leads from s to the
largest s' for which M and then a Gaussian release of s' is no worse than a Gaussian release of s, at *every* level r:

    E[profile(s', r - loss)] <= profile(s, r) + slack        for all real r, for every member, in both orders.

That is checked on every cell between grid points and beyond the last one, not at points only: a charge made of a rare
large loss fits between points (proofs/residue_certificate.md). Why the filter may be trusted is in proofs/residue.md.
"""

import math

import numpy as np
from scipy.special import ndtr, ndtri

from lapwing.accounting.dominating_pair import Floats
from lapwing.accounting.filters.loss_family import ROUNDING, LossChain, LossFamily, terms

_LONGEST_STEP = 0.16  # of a cell, in units of min(mu, 1); what it leaves in doubt shrinks with its sixth power
_SMALLEST_SHARE = 1 / 256  # a residue below this share of s would need too fine a grid: it is given up
_SMALLEST_CHARGE = 1e-12  # of s
_PRECISION = 1e-5  # of a charge: how close to the smallest one the search must come
_TOO_COARSE = 0.8
_ROUNDS = 40
LEAST_SLACK = 2.0**-365  # what a certificate needs (proofs/residue_certificate.md): with less, a filter gives up
_NOTHING = 1e-60  # a residue with which nothing can be asked, and which must not underflow
_TINY = 1e-150  # where a level gains nothing, not even by a smaller residue, the search divides by this


def residue_after(s: float, charge: LossFamily | LossChain, slack: float) -> float | None:
    """Return the residue that is left of `s` after a charge, rounded down; `None` if the charge does not fit.

    Parameters
    ----------
    s : what was left, as the mu^2 of a Gaussian release
    charge : every member of the charge; or a plan, which is charged whole and part after part, whichever leaves more
    slack : by how much the inequality may be violated, an addition to delta that the caller has to book

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
        for _ in range(times):
            left = None if left is None else _after_one(left, family, share)
    return left


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
            if missing >= -_PRECISION * charge or charge <= _SMALLEST_CHARGE * s:
                break
        charge += missing + _PRECISION * charge / 3
    return best


def fits_last(s: float, family: LossFamily, slack: float) -> bool:
    """Say whether the charge fits if nothing is asked after it: whether the family lies below the Gaussian curve.

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

        Zero or less certifies the residue `after`; how far below zero says by how much the charge may shrink.
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
