"""An adversary against a real account: every sequence of a menu, chosen on the way, summed over all outcomes.

Nothing of the code under test is used but `Account.admit`. The laws are written down here from their definitions, and
the value of the game is exact: the adversary knows the realised loss, and takes the best of stopping, of the next
charge from the menu, and of one last Gaussian release of all that the residue arm says is left.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import log_ndtr, ndtr

from lapwing.accounting.filters.account import Account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.vocabulary.event import (
    ApproximateRelease,
    DiscreteLaplaceNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    PoissonSampled,
    PureRelease,
    Repeated,
)


@dataclass(frozen=True)
class Move:
    """An event, and the losses and probabilities of one pair of neighbours that it may really have."""

    event: Event
    losses: tuple[float, ...]
    masses: tuple[float, ...]
    infinite: float = 0.0


def coin(epsilon: Fraction) -> Move:
    e = float(epsilon)
    truth = 1 / (1 + math.exp(-e))
    return Move(PureRelease(epsilon=epsilon), (e, -e), (truth, 1 - truth))


def selection(epsilon: Fraction, share: float) -> Move:
    """The two-point pair whose interval of losses ends at `share` of epsilon."""
    e = float(epsilon)
    t = share * e
    p = math.expm1(t - e) / math.expm1(-e)
    return Move(ExponentialSelection(epsilon=epsilon), (t, t - e), (p, 1 - p))


def selections(epsilon: Fraction, share: float, times: int) -> Move:
    """A plan of selections, all with the same worst case: a binomial number of them goes up."""
    one = selection(epsilon, share)
    p = one.masses[0]
    return Move(
        Repeated(part=one.event, times=times),
        tuple(up * one.losses[0] + (times - up) * one.losses[1] for up in range(times + 1)),
        tuple(math.comb(times, up) * p**up * (1 - p) ** (times - up) for up in range(times + 1)),
    )


def geometric(steps: int, scale: Fraction) -> Move:
    a = 1 / float(scale)
    q = math.exp(-a)
    masses = [1 / (1 + q), *((1 - q) / (1 + q) * q**j for j in range(1, steps)), q**steps / (1 + q)]
    return Move(
        DiscreteLaplaceNoise(l1_sensitivity=steps, scale=scale),
        tuple(a * (steps - 2 * j) for j in range(steps + 1)),
        tuple(masses),
    )


def sampled_coin(epsilon: Fraction, rate: Fraction, *, added: bool) -> Move:
    e, q = float(epsilon), float(rate)
    truth = 1 / (1 + math.exp(-e))
    event = PoissonSampled(part=PureRelease(epsilon=epsilon), rate=rate)
    without = (truth, 1 - truth)
    with_person = tuple((1 - q) * w + q * v for w, v in zip(without, reversed(without), strict=True))
    first, second = (without, with_person) if added else (with_person, without)
    return Move(event, tuple(math.log(a / b) for a, b in zip(first, second, strict=True)), first)


def leaky(epsilon: Fraction, delta: Fraction) -> Move:
    plain = coin(epsilon)
    kept = 1 - float(delta)
    return Move(
        ApproximateRelease(epsilon=epsilon, delta=delta),
        plain.losses,
        tuple(kept * mass for mass in plain.masses),
        float(delta),
    )


def gaussian_profile(mu_squared, r):
    mu = math.sqrt(mu_squared)
    return ndtr(mu / 2 - r / mu) - np.exp(np.minimum(r, 600) + log_ndtr(-mu / 2 - r / mu))


def value(account: Account, menu, depth: int, r, *, segments=None, excess: float = 1.0):
    """Return what the adversary reaches from `account` at the levels `r`, with at most `depth` more charges.

    Parameters
    ----------
    segments : the segments that each move of the menu may be made in; a person who moves meets all of them
    excess : by how much the last Gaussian release is larger than what is left: above 1 it is a cheat
    """
    best = np.maximum(0.0, -np.expm1(r))
    for segment, filter_ in account.filters.items():
        left = filter_.residue
        if left and left > 1e-30 and admitted(account, _gaussian(left), segments and segment) is not None:
            best = np.maximum(best, gaussian_profile(left * excess, r))
    if depth == 0:
        return best
    for move in menu:
        for segment in segments or (None,):
            after = admitted(account, move.event, segment)
            if after is None:
                continue
            reached = np.full_like(r, move.infinite)
            for loss, mass in zip(move.losses, move.masses, strict=True):
                reached += mass * value(after, menu, depth - 1, r - loss, segments=segments, excess=excess)
            best = np.maximum(best, reached)
    return best


def admitted(account: Account, event: Event, segment=None):
    after = account.admit(SingleRelease(event=event, segments=None if segment is None else frozenset({segment})))
    return after if isinstance(after, Account) else None


def _gaussian(mu_squared: float) -> Event:
    return GaussianNoise(l2_sensitivity_squared=Fraction(mu_squared), sigma_squared=1)
