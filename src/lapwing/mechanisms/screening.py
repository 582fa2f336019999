"""Noisy distances: how far the tables of a population are from tables that are public, all in one release.

The distance of a table of counts from a public table of whole numbers is the sum of what their cells differ by. In each
table one person is in one cell, and moves the distance by at most 1. So the distances tell where a model is wrong, and
how wrong it is, for little: one number a table, however many cells it has.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.noise_mechanism import Priced, add_noise, wrong_size
from lapwing.mechanisms.residual_basis import Axes
from lapwing.noise.laws import DiscreteLaplace, RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise, PureRelease
from lapwing.vocabulary.exact import Sensitive, fill
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

_GRID: Final = 1024


def moved_distance(unit: PrivacyUnit) -> int:
    """Return how far one protected person or group moves the distance of one table at most: two cells under REPLACE."""
    return unit.protects_groups_of * (2 if unit.adjacency is Adjacency.REPLACE else 1)


@frozen(init=False)
class ScreeningMechanism(Priced[GaussianNoise | PureRelease]):
    """Releases, for each set of columns, the L1 distance of its table of counts from the public `guesses` about it.

    `codes` says how many codes each column has. The noise is the least that `event` pays for: rounded Gaussian for a
    Gaussian event, discrete Laplace for a pure one. It is found in whole numbers, so that nothing is lost to floating
    point. If everybody is in at most one cell of every table, what is released is dominated by `event`.

    >>> event = GaussianNoise(l2_sensitivity_squared=1, sigma_squared=100)
    >>> screen = ScreeningMechanism(
    ...     codes=(2,), guesses={(0,): [50, 50]}, unit=PrivacyUnit(person_key="id"), event=event
    ... )
    >>> float(screen.noise), len(screen.release({(0,): [40, 60]}))
    (10.0009765625, 1)

    Proof: proofs/adaptive_gaussian_plan.md
    """

    codes: tuple[int, ...]
    guesses: Mapping[Axes, NDArray[Any]] = field(compare=False, repr=False)
    unit: PrivacyUnit
    noise: Fraction
    """The sigma, or the scale, of what is added to each distance."""

    def __init__(
        self,
        *,
        codes: Sequence[int],
        guesses: Mapping[Axes, Sequence[int] | NDArray[np.int64]],
        unit: PrivacyUnit,
        event: GaussianNoise | PureRelease,
    ) -> None:
        tables = {
            axes: np.array([int(one) for one in np.ravel(table)], dtype=object).reshape([codes[a] for a in axes])
            for axes, table in guesses.items()
        }
        if not tables:
            raise ParameterError("guesses", (), reason="are about no table", remedy="name one at least")
        noise = noise_of_screen(len(tables), unit, event)
        _law(event, noise)  # what cannot be drawn is refused here
        fill(self, codes=tuple(codes), guesses=tables, unit=unit, event=event, noise=noise)

    def release(self, counted: "Mapping[Axes, Sensitive[Sequence[int]] | Sequence[int]]") -> list[int]:
        """Return each distance with noise, computed from the first of the counted tables that holds its columns."""
        tables = {axes: self._opened(axes, counts) for axes, counts in counted.items()}
        distances = []
        for axes, guess in self.guesses.items():
            wider = next(one for one in tables if set(axes) <= set(one))
            table = tables[wider].sum(axis=tuple(i for i, a in enumerate(wider) if a not in axes))
            distances.append(int(np.abs(table - guess).sum()))
        noisy = add_noise(distances, _law(self.event, self.noise), len(distances))
        return [int(number) for number in np.ravel(noisy)]

    def _opened(self, axes: Axes, counts: "Sensitive[Sequence[int]] | Sequence[int]") -> NDArray[Any]:
        # As Python's whole numbers, which never wrap around.
        opened = counts.open_for_release() if isinstance(counts, Sensitive) else counts
        shape = tuple(self.codes[a] for a in axes)
        if len(opened) != math.prod(shape):
            del opened
            raise wrong_size(math.prod(shape), "hand in every cell of the columns")
        return np.array(opened, dtype=object).reshape(shape)


def _law(event: GaussianNoise | PureRelease, noise: Fraction) -> RoundedGaussian | DiscreteLaplace:
    return RoundedGaussian(noise) if isinstance(event, GaussianNoise) else DiscreteLaplace(noise)


def noise_of_screen(tables: int, unit: PrivacyUnit, event: GaussianNoise | PureRelease) -> Fraction:
    """Return the sigma, or the scale, for the distances of so many tables: the least that an event pays for.

    All of them together move by m times the root of their number in length, and by m times their number in L1 norm, m
    the most by which one moves.
    """
    moved = moved_distance(unit)
    if isinstance(event, PureRelease):
        return tables * moved / event.epsilon
    squared = tables * moved**2 * event.sigma_squared / event.l2_sensitivity_squared
    return max(Fraction(1), Fraction(math.isqrt(math.ceil(squared * _GRID**2)) + 1, _GRID))
