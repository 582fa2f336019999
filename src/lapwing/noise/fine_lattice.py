"""For scales that come and go: one standard variate on a fine lattice, divided down to any scale.

A standard exponential or half-normal variate is drawn, whatever the scale, as W, the number of whole steps of 2^-56
below it, by strips (`strips`). A scale of 2^56/Q, Q a whole number, then costs one integer division: the integer
part of scale * variate is W // Q, because what W leaves out is less than a step and cannot reach the next multiple of
Q. And rounding to the nearest integer is (W + Q/2) // Q, for even Q.

The scale is rounded up to the next 2^56/Q, Q even: by a factor of at most 1 + scale * 2^-54. The noise is thus never
smaller than asked for, and `scale_of` says what it is.

The rule not to break: W is the integer part of a variate. Add only whole numbers to it before dividing.

Proof: proofs/lattice.md
"""

from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.decay import CHUNK, Decay
from lapwing.noise.randomness import RandomSource
from lapwing.noise.strips import Strips

UNIT_BITS: Final = 56  # a standard variate of 1 is 2^56 steps of the lattice


@cache
def standard_exponential() -> Strips:
    """Return the sampler of W = floor(2^56 E), E a standard exponential variate: P(W >= w) = e^(-w 2^-56)."""
    return Strips(Decay.exponential(Fraction(1 << UNIT_BITS), sides=1))


@cache
def standard_half_normal() -> Strips:
    """Return the sampler of W = floor(2^56 |Z|), Z a standard normal variate."""
    return Strips(Decay.gaussian(Fraction(1 << (2 * UNIT_BITS)), sides=1), width=1)


def steps_of(scale: Fraction) -> int:
    """Return the largest even Q with 2^56/Q >= scale."""
    return (scale.denominator << UNIT_BITS) // scale.numerator & ~1


def scale_of(steps: int) -> Fraction:
    """Return the scale 2^56/Q that is used."""
    return Fraction(1 << UNIT_BITS, steps)


class RoundedSampler:
    """Draws round(variate * 2^56/steps) under a fair sign; `steps` is even."""

    def __init__(self, standard: Strips, steps: int) -> None:
        self._standard, self._steps = standard, np.uint64(steps)

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """Return `count` independent draws."""
        draws = np.empty(count, np.int64)
        for start in range(0, count, CHUNK):
            chunk = draws[start : start + CHUNK]
            lattice, negative = self._standard.draw(chunk.size, source)
            magnitudes = lattice.view(np.uint64)
            magnitudes += self._steps >> np.uint64(1)  # W < 2^63 and Q/2 < 2^60: the sum does not wrap
            magnitudes //= self._steps
            np.bitwise_xor(magnitudes.view(np.int64), -negative, out=chunk)  # -x is x with all bits turned, plus 1
            chunk += negative
        return draws
