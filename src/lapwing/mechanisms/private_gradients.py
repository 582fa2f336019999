"""Noisy sums of people's gradients, for descent: everybody on a coin of their own, and whole numbers to the end.

A person's gradient of a dense layer is an outer product: the errors at its outputs times its inputs. So its length is
known without it (ghost clipping): the product of two lengths. Errors are scaled until all layers together are no longer
than the clip, and made whole by truncation towards zero. What remains is a person's part: whole numbers whose squared
length is computed, and compared with that of the clip, in whole numbers. Whoever is longer for any reason adds nothing.

All of it is exact: no product or sum is ever rounded, so a person's part is a function of that person and of released
weights, on every machine and whoever else is in the batch. Floating point that depends on the shape of a batch would
let one person move the last bits of others.

Proof: proofs/private_gradients.md
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.gaussian import rational_root_above
from lapwing.noise.coins_and_dice import Coin
from lapwing.noise.laws import LARGEST_SCALE, RoundedGaussian
from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event, GaussianNoise, PoissonSampled, Repeated
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, positive
from lapwing.vocabulary.frozen import frozen

Integers: TypeAlias = NDArray[np.int64]

LONGEST_CLIP: Final = 1 << 30
"""Steps of the grid in the longest clip: its square, and sums of the parts of a block, are held exactly."""
MOST_INPUT: Final = 1 << 15
"""The largest input of a layer: the square of the length of sixteen million of them fits 64 bits."""
_BLOCK_BITS: Final = 22
"""Sums of this many parts, each at most the longest clip, are below 2^53: a float64 holds each of them exactly."""
_BLOCK_CELLS: Final = 1 << 23
_SHRUNK: Final = 1 - 2.0**-40
"""More than floats lose in a scale: people whose part would be a step too long are rare, and add nothing."""


class Factors(NamedTuple):
    """The gradients of some people in one layer: those of person i are the outer product of two rows of whole numbers.

    A gradient that is no such product is one whose errors are the gradient, and whose one input is 1.
    """

    errors: Any
    inputs: Any


class Arrays(Protocol):
    """What is computed with, and where: NumPy here, or tensors of a device (`lapwing.learning.devices`)."""

    xp: Any

    def real(self, whole: Any) -> Any:
        """Return whole numbers as float64, which holds them exactly up to 2^53."""

    def whole(self, real: Any) -> Any:
        """Return whole numbers in float64 as int64."""

    def here(self, numbers: Integers) -> Any:
        """Return whole numbers of NumPy as these arrays have them."""

    def host(self, numbers: Any) -> Integers:
        """Return whole numbers as NumPy has them."""


class NumpyArrays:
    """Arrays of NumPy."""

    xp: Any = np

    def real(self, whole: Any) -> Any:
        """Return whole numbers as float64."""
        return whole.astype(np.float64)

    def whole(self, real: Any) -> Any:
        """Return whole numbers in float64 as int64."""
        return real.astype(np.int64)

    def here(self, numbers: Integers) -> Any:
        """Return them as they are."""
        return numbers

    def host(self, numbers: Any) -> Integers:
        """Return them as they are."""
        return np.asarray(numbers, np.int64)


GradientsOf: TypeAlias = Callable[[Any], Sequence[Factors]]
"""The factors of each layer, from some rows: row i of a factor is a function of row i alone, and of what is public."""


@frozen()
class PrivateGradients:
    """Steps of private gradient descent: the sum of the clipped gradients of a fresh secret sample, with noise.

    Every step holds each person on a coin of their own that falls with probability `rate`, which is public. Nobody is
    left out because others are in it, and no output depends on how many there are.

    Parameters
    ----------
    rate : the probability of a person to be in a step; 1 for everybody in every step
    sigma_squared : the variance of the noise on each number, in units of the clip's square
    clip : the length of the longest part of a person, in steps of the grid
    moved : how many clips one person, or one protected group, moves a sum by: 2 where people are replaced

    >>> descent = PrivateGradients(rate=Fraction(1, 20), sigma_squared=Fraction(4), clip=1 << 20)
    >>> descent.event(100)
    Repeated(part=PoissonSampled(part=GaussianNoise(l2_sensitivity_squared=Fraction(1, 1), \
sigma_squared=Fraction(4, 1)), rate=Fraction(1, 20)), times=100)

    Proof: proofs/private_gradients.md
    """

    rate: Fraction
    sigma_squared: Fraction
    clip: int
    moved: int = 1

    def __post_init__(self) -> None:
        as_int("clip", self.clip, most=LONGEST_CLIP)
        as_int("moved", self.moved)
        if not 0 < positive("rate", self.rate) <= 1:
            remedy = "write a number above 0 and at most 1"
            raise ParameterError("rate", str(self.rate), reason="is not a sampling rate", remedy=remedy)
        if self.rate < 1 and self.moved > 1:
            raise ParameterError(
                "rate",
                str(self.rate),
                reason="samples people one by one, so that a group, or a replaced person, has several coins",
                remedy="write 1, for everybody in every step",
            )
        positive("sigma_squared", self.sigma_squared)
        if self.law.sigma_used**2 < self.sigma_squared * self.clip**2:  # pragma: no cover - it is rounded up
            raise AssertionError

    def event(self, steps: int) -> Event:
        """Return what this many steps are, as an account sees them."""
        return descent_event(self.rate, self.sigma_squared, as_int("steps", steps), self.moved)

    @property
    def law(self) -> RoundedGaussian:
        """The noise on each number of a sum."""
        deviation = rational_root_above(self.sigma_squared) * self.clip
        if deviation > LARGEST_SCALE:
            most = float(LARGEST_SCALE / self.clip)
            reason = f"needs noise of more than {most:,.0f} clips"
            remedy = "pay more, or take fewer steps"
            raise ParameterError("sigma", f"{float(deviation / self.clip):.6g}", reason=reason, remedy=remedy)
        return RoundedGaussian(deviation)

    def prepare(self, people: Sensitive[Any] | Any, rows: Callable[[Any], Any]) -> Sensitive[Any]:
        """Return what `rows` makes of the data, row by row, wrapped again."""
        return Sensitive(rows(_opened(people)))

    def release(
        self, people: Sensitive[Any] | Any, gradients: GradientsOf, shapes: Sequence[tuple[int, int]], on: Arrays
    ) -> list[Integers]:
        """Draw a sample, and return the sum of its parts with noise on each number: a table of each of the `shapes`.

        The sample is gone through in blocks, however large it is.
        """
        rows = _opened(people)
        drawn = rows[on.here(np.flatnonzero(self._sample(len(rows))))] if self.rate < 1 else rows
        sums = [np.zeros(shape, np.int64) for shape in shapes]
        most = max(1, min(1 << _BLOCK_BITS, _BLOCK_CELLS // max(sum(shape) for shape in shapes)))
        for start in range(0, len(drawn), most):
            added = self._parts(gradients(drawn[start : start + most]), on)
            sums = [total + on.host(one) for total, one in zip(sums, added, strict=True)]
        noise = self.law
        return [total + noise.draw_many(total.size).reshape(total.shape) for total in sums]

    def _sample(self, people: int) -> NDArray[np.bool_]:
        """Toss a coin for each: exact, from the cryptographic source."""
        rate = self.rate

        def chance(bits: int) -> tuple[int, int]:
            scaled = rate * (1 << bits)
            return math.floor(scaled), math.ceil(scaled)

        return Coin(chance).toss_many(people, SYSTEM)

    def _parts(self, layers: Sequence[Factors], on: Arrays) -> list[Any]:
        """Return the sums of people's parts, in whole numbers."""
        if not all(str(part.dtype).endswith("int64") for layer in layers for part in layer):
            raise TypeError("factors of gradients are whole numbers of 64 bits")
        clipped = clip_errors(layers, self.clip, on)
        return [
            on.whole(on.real(errors).T @ on.real(layer.inputs)) for errors, layer in zip(clipped, layers, strict=True)
        ]


def descent_event(rate: Fraction, sigma_squared: Fraction, steps: int, moved: int = 1) -> Event:
    """Return what steps of descent are, as an account sees them; the noise is in units of the clip."""
    noise = GaussianNoise(l2_sensitivity_squared=Fraction(moved**2), sigma_squared=sigma_squared)
    return Repeated(part=PoissonSampled(part=noise, rate=rate) if rate < 1 else noise, times=steps)


def clip_errors(layers: Sequence[Factors], clip: int, on: Arrays) -> list[Any]:
    """Return the errors of each layer, scaled and truncated, so that no person's part is longer than `clip`.

    The scale is a guess in floats, made from exact whole numbers, one person at a time. What is claimed rests on the
    check that follows it alone.
    """
    xp, square = on.xp, clip * clip
    bounded = [xp.clip(one.errors, -(most := _most_error(one)), most) for one in layers]
    lengths = [_square(one.inputs) for one in layers]
    long = sum(on.real(_square(one)) * on.real(length) for one, length in zip(bounded, lengths, strict=True))
    scale = xp.where(long > square, clip * _SHRUNK / xp.sqrt(xp.where(long > square, long, 1.0)), 1.0)
    scaled = [on.whole(xp.trunc(on.real(one) * scale[:, None])) for one in bounded]
    return drop_long([Factors(one, layer.inputs) for one, layer in zip(scaled, layers, strict=True)], clip, on)


def drop_long(layers: Sequence[Factors], clip: int, on: Arrays) -> list[Any]:
    """Return the errors of each layer, 0 for whoever has a part that is longer than `clip`, in whole numbers.

    The squared lengths of a person's layers are taken from the square of the clip, one after the other: nothing wraps.
    The squares of the errors of a person in a layer add up below 2^63; what inputs are too large for that add nothing.
    """
    xp = on.xp
    room = xp.zeros_like(_square(layers[0].inputs)) + clip * clip
    fits = room >= 0
    for one in layers:
        errors, inputs = _square(one.errors), _square(one.inputs)
        fits = fits & ((one.inputs <= MOST_INPUT) & (one.inputs >= -MOST_INPUT)).all(1)
        fits = fits & ((inputs == 0) | (errors <= room // xp.where(inputs > 0, inputs, 1)))
        room = room - xp.where(fits, errors * xp.where(fits, inputs, 0), 0)
    return [one.errors * fits[:, None] for one in layers]


def _square(rows: Any) -> Any:
    return (rows * rows).sum(1)


def _most_error(layer: Factors) -> int:
    """Return the largest error of which the square of a whole row fits 62 bits."""
    return math.isqrt((1 << 62) // max(1, layer.errors.shape[1]))


def _opened(people: Sensitive[Any] | Any) -> Any:
    return people.open_for_release() if isinstance(people, Sensitive) else people


def as_rate(given: Exact) -> Fraction:
    """Return a sampling rate."""
    rate = positive("rate", given)
    if rate > 1:
        raise ParameterError("rate", given, reason="is above 1", remedy="write the share of people in a step")
    return rate
