"""Discrete Gaussian noise: exact atoms where one coordinate moves, a shifted Gaussian where many may.

Proof: proofs/discrete_gaussian_loss.md
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.gaussian import GaussianLaw
from lapwing.accounting.rounding import ROUND_OFF, float_above, float_below

_REACH = 15
_BEYOND = 1e-48
"""More than the mass beyond `_REACH` standard deviations: the tails lie below 2 e^(-15^2/2)."""

_MOST_ATOMS = 8192
_LARGEST_SIGMA = 2.0e4
"""Up to here every atom is looked at; a larger sigma is close enough to a continuous Gaussian."""

_LARGEST_EXPONENT = 50.0

_MOST_MOVES = 24
"""So many different moves are looked at one by one."""


def discrete_gaussian(
    l2_sensitivity_squared: int, sigma_squared: Fraction, dimension: int
) -> list[list[tuple[AtomicLaw, int]]]:
    """Return the moves that are worst cases, each as laws and how often each is met.

    The noise is on `dimension` integers that move by that length together. Each integer that moves by a is one use of
    the law of one coordinate moved by a.
    """
    moves = list(islice(_largest_moves(l2_sensitivity_squared, dimension), _MOST_MOVES + 1))
    if sigma_squared > _LARGEST_SIGMA**2 or len(moves) > _MOST_MOVES:
        moved = math.isqrt(l2_sensitivity_squared) ** 2 if dimension == 1 else l2_sensitivity_squared
        return [[(_shifted_gaussian(moved, sigma_squared, dimension), 1)]]
    laws = {entry: _one_coordinate(entry, sigma_squared) for move in moves for entry in move}
    return [[(laws[entry], times) for entry, times in move.items()] for move in moves]


def _largest_moves(squared: int, dimension: int, most: int | None = None) -> Iterator[dict[int, int]]:
    """Yield every way to move `dimension` integers that cannot be made longer: how often each entry occurs.

    Entries come in falling order, none above `most`. A move is one of the largest if no entry, zero included, can grow.
    """
    longest = math.isqrt(squared) if most is None else min(most, math.isqrt(squared))
    if dimension == 0 or longest == 0:
        yield {}
        return
    if longest == 1 or dimension == 1:
        yield {longest: min(squared, dimension)}
        return
    for entry in range(longest, 0, -1):
        for rest in _largest_moves(squared - entry * entry, dimension - 1, entry):
            move = {entry: rest.get(entry, 0) + 1, **{key: times for key, times in rest.items() if key != entry}}
            left = squared - sum(times * key * key for key, times in move.items())
            idle = sum(move.values()) < dimension
            if left < (1 if idle else 2 * min(move) + 1):
                yield move


def _one_coordinate(sensitivity: int, sigma_squared: Fraction) -> AtomicLaw:
    """Return the law of a discrete Gaussian against itself moved by `sensitivity`."""
    variance = float(sigma_squared)
    reach = math.ceil(_REACH * math.sqrt(variance)) + 1
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    masses = np.exp(-(x**2) / (2 * variance))
    losses = (sensitivity**2 + 2.0 * sensitivity * x) / (2 * variance)
    losses += ROUND_OFF * float(losses[-1])
    spacing: float | None = sensitivity / variance
    pair = DominatingPair.of_total_one(losses, masses / masses.sum() * (1 + ROUND_OFF), _BEYOND)
    if len(x) > _MOST_ATOMS:
        pair, spacing = pair.onto(np.linspace(pair.losses[0], pair.losses[-1], _MOST_ATOMS)), None
    return _law(pair, Fraction(sensitivity**2) / (2 * sigma_squared), spacing)


def _shifted_gaussian(l2_sensitivity_squared: int, sigma_squared: Fraction, dimension: int) -> AtomicLaw:
    """Return the law of a continuous Gaussian, moved up by what rounding to integers can add to the loss.

    A discrete Gaussian's probability of x is at most e^(1/24 sigma^2) times that of the unit cell around x under the
    continuous one, and in that cell the continuous loss differs by at most (L1 length of the move) / (2 sigma^2).
    """
    variance = float_below(sigma_squared)
    continuous = GaussianLaw(Fraction(l2_sensitivity_squared) / sigma_squared)
    l1 = min(math.sqrt(dimension * l2_sensitivity_squared), float(l2_sensitivity_squared))
    shift = l1 / (2 * variance) * (1 + ROUND_OFF)
    if dimension > _LARGEST_EXPONENT * 24 * variance:
        return _law(DominatingPair.worst(), continuous.rho, None)
    inflation = math.exp(dimension / (24 * variance)) * (1 + ROUND_OFF)
    (pair,) = continuous.members(_MOST_ATOMS)
    moved = DominatingPair.of_total_one(
        pair.losses + shift, pair.masses * inflation, min(1.0, pair.infinite_mass * inflation)
    )
    return _law(moved, continuous.rho, None)


def _law(pair: DominatingPair, rho: Fraction, spacing: float | None) -> AtomicLaw:
    bound = float_above(rho) * (1 + ROUND_OFF)
    return AtomicLaw(
        pair=pair,
        reverse=pair,
        pure_epsilon=None,
        rho=rho,
        spacing=spacing,
        is_attained=spacing is not None,
        renyi_bound=lambda alpha: alpha * bound,
    )
