"""Noise with a scale of its own for every coordinate, as fast as with one scale for all.

The draws come from the lattice (`lattice`): there is no table to build for a scale, so a million different ones are no
more work than one. Each scale is rounded up to 2^56/Q, Q even, by a factor of at most 1 + scale 2^-54.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.noise import lattice
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, scale_in_range
from lapwing.noise.pools import VEIL, Sampler, veiled
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact

_FEWEST_STEPS: Final = lattice.steps_of(LARGEST_SCALE)
_MOST_STEPS: Final = lattice.steps_of(SMALLEST_SCALE)


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateScales:
    """Scales made ready for drawing: prepare them once where the same ones are drawn with again.

    Parameters
    ----------
    steps : Q for each coordinate, as `CoordinateScales.of` computes it

    Examples
    --------
    >>> scales = CoordinateScales.of(["0.5", 10, Fraction(22, 7)])
    >>> [used >= asked for used, asked in zip(scales.used, [Fraction(1, 2), 10, Fraction(22, 7)])]
    [True, True, True]
    """

    steps: NDArray[np.uint64]

    def __post_init__(self) -> None:
        steps = np.array(self.steps, np.uint64)
        even_and_in_range = (steps & np.uint64(1) == 0) & (steps >= _FEWEST_STEPS) & (steps <= _MOST_STEPS)
        if steps.ndim != 1 or not even_and_in_range.all():  # zero steps would mean no noise
            remedy = "write CoordinateScales.of([...]) with scales from 1/20 to 2^38"
            raise ParameterError("steps", self.steps, reason="are no scales of the lattice", remedy=remedy)
        steps.setflags(write=False)
        object.__setattr__(self, "steps", steps)

    @classmethod
    def of(cls, scales: Iterable[Exact]) -> "CoordinateScales":
        """Return `scales`, each from 1/20 to 2^38, made ready."""
        steps = [lattice.steps_of(scale_in_range(f"scales[{i}]", scale)) for i, scale in enumerate(scales)]
        return cls(np.array(steps, np.uint64))

    @property
    def used(self) -> list[Fraction]:
        """The exact scales of the noise, at or above those that were asked for."""
        return [lattice.scale_of(steps) for steps in self.steps.tolist()]


Scales: TypeAlias = CoordinateScales | Iterable[Exact]


def draw_discrete_laplace_each(scales: Scales, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return one draw of P(x) ∝ e^(-|x|/scale) on the integers for each scale that is used.

    Examples
    --------
    >>> draw_discrete_laplace_each([1, 10, 100]).shape
    (3,)

    Proof: proofs/lattice.md
    """
    return _one_each(lattice.DiscreteLaplaceSampler, scales, source)


def draw_rounded_laplace_each(scales: Scales, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return round(scale * L) for each scale that is used, L continuous standard Laplace.

    Proof: proofs/lattice.md
    """
    return _one_each(partial(lattice.RoundedSampler, lattice.standard_exponential()), scales, source)


def draw_rounded_gaussian_each(sigmas: Scales, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return round(sigma * Z) for each standard deviation that is used, Z continuous standard normal.

    Proof: proofs/lattice.md
    """
    return _one_each(partial(lattice.RoundedSampler, lattice.standard_half_normal()), sigmas, source)


def _one_each(
    sampler: Callable[[NDArray[np.uint64]], Sampler], scales: Scales, source: RandomSource
) -> NDArray[np.int64]:
    steps = (scales if isinstance(scales, CoordinateScales) else CoordinateScales.of(scales)).steps
    count = steps.size
    if not count:
        return np.empty(0, np.int64)
    return veiled(sampler(steps if count >= VEIL else np.resize(steps, VEIL)), count, source)
