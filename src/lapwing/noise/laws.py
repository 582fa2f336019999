"""The laws of noise, each exactly what its formula says.

A law is a value: two laws of the same parameter are equal. `draw` gives one integer, `draw_many` a fresh array.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.noise import reference_samplers
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import positive

SMALLEST_SCALE = Fraction(1, 20)
LARGEST_SCALE = Fraction(1 << 38)
_ONE = 1 << 56


def _in_range(name: str, given: object, smallest: Fraction, largest: Fraction) -> Fraction:
    number = positive(name, given)
    if not smallest <= number <= largest:
        raise ParameterError(name, given, reason="is out of range", remedy=f"stay between {smallest} and {largest}")
    return number


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P(x) ∝ e^(-|x|/scale) on the integers."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _in_range("scale", self.scale, SMALLEST_SCALE, LARGEST_SCALE))

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return one draw."""
        return reference_samplers.discrete_laplace(self.scale, source)

    def draw_many(self, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
        """Return `count` independent draws in an array of the caller's own."""
        return np.array([self.draw(source=source) for _ in range(count)], np.int64)


@dataclass(frozen=True, slots=True)
class Geometric:
    """P(x) = (1 - e^(-1/scale)) e^(-x/scale) on 0, 1, 2, ..."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _in_range("scale", self.scale, SMALLEST_SCALE, LARGEST_SCALE))

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return one draw."""
        return reference_samplers.geometric(self.scale, source)

    def draw_many(self, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
        """Return `count` independent draws in an array of the caller's own."""
        return np.array([self.draw(source=source) for _ in range(count)], np.int64)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(x) ∝ e^(-x²/(2 sigma_squared)) on the integers."""

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        bounds = SMALLEST_SCALE**2, LARGEST_SCALE**2
        object.__setattr__(self, "sigma_squared", _in_range("sigma_squared", self.sigma_squared, *bounds))

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return one draw."""
        return reference_samplers.discrete_gaussian(self.sigma_squared, source)

    def draw_many(self, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
        """Return `count` independent draws in an array of the caller's own."""
        return np.array([self.draw(source=source) for _ in range(count)], np.int64)


def _even_steps(scale: Fraction) -> int:
    """Return the largest even Q with 2^56/Q >= scale."""
    return _ONE * scale.denominator // scale.numerator & ~1


@dataclass(frozen=True, slots=True)
class RoundedLaplace:
    """round(scale_used * L), L standard continuous Laplace."""

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _in_range("scale", self.scale, SMALLEST_SCALE, LARGEST_SCALE))

    @property
    def scale_used(self) -> Fraction:
        """The scale of the noise: `scale` rounded up by a relative 2^-16 at most."""
        return Fraction(_ONE, _even_steps(self.scale))

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return one draw."""
        steps = _even_steps(self.scale)
        magnitude = (reference_samplers.geometric(Fraction(_ONE), source) + steps // 2) // steps
        return -magnitude if source.take(1)[0] & 1 else magnitude

    def draw_many(self, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
        """Return `count` independent draws in an array of the caller's own."""
        return np.array([self.draw(source=source) for _ in range(count)], np.int64)


def _half_normal(source: RandomSource) -> int:
    """Return floor(2^56 |Z|), Z standard normal: rejection from exponential noise, the fraction refined as needed."""
    while True:
        point, bits = reference_samplers.geometric(Fraction(_ONE), source), 56
        point, bits = (point << 64) | int.from_bytes(source.take(8), "little"), bits + 64
        # Not exact below 2^-120: the strips of the final sampler refine this fraction without end.
        if reference_samplers.decays((Fraction(point, 1 << bits) - 1) ** 2 / 2, source):
            return point >> 64


@dataclass(frozen=True, slots=True)
class RoundedGaussian:
    """round(sigma_used * Z), Z standard normal."""

    sigma: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _in_range("sigma", self.sigma, SMALLEST_SCALE, LARGEST_SCALE))

    @property
    def sigma_used(self) -> Fraction:
        """The deviation of the noise: `sigma` rounded up by a relative 2^-16 at most."""
        return Fraction(_ONE, _even_steps(self.sigma))

    def draw(self, *, source: RandomSource = SYSTEM) -> int:
        """Return one draw."""
        steps = _even_steps(self.sigma)
        magnitude = (_half_normal(source) + steps // 2) // steps
        return -magnitude if source.take(1)[0] & 1 else magnitude

    def draw_many(self, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
        """Return `count` independent draws in an array of the caller's own."""
        return np.array([self.draw(source=source) for _ in range(count)], np.int64)


def draw_discrete_laplace_each(scales: Sequence[Fraction], *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return one discrete Laplace draw per entry of `scales`."""
    return np.array([DiscreteLaplace(scale).draw(source=source) for scale in scales], np.int64)


def draw_rounded_gaussian_each(sigmas: Sequence[Fraction], *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return one rounded Gaussian draw per entry of `sigmas`."""
    return np.array([RoundedGaussian(sigma).draw(source=source) for sigma in sigmas], np.int64)
