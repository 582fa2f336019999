"""For scales that come and go: one standard variate on a fine lattice, divided down to any scale.

A standard exponential or half-normal variate is drawn, whatever the scale, as W, the number of whole steps of 2^-56
below it, by strips (`strips`). A scale of 2^56/Q, Q a whole number, then costs one integer division: the integer
part of scale * variate is W // Q, because what W leaves out is less than a step and cannot reach the next multiple of
Q. And rounding to the nearest integer is (W + Q/2) // Q, for even Q.

The scale is rounded up to the next 2^56/Q, Q even: by a factor of at most 1 + scale * 2^-54. The noise is thus never
smaller than asked for, and `scale_of` returns its scale.

The rule not to break: W is the integer part of a variate. Add only whole numbers to it before dividing.

A law that was never drawn from before has no table of its own, which pays for itself over many draws; a question at a
price that is asked once wants one draw. So all scales share one pool of the exponential W. The integer part of scale *
E is a geometric draw, exactly, and whole numbers find it: what W leaves out is less than a step, which decides the
integer part but for about scale * 2^-56 of the cases. In those the missing part is compared, bit by bit. A geometric
magnitude under a fair sign, drawn again where it is a negative zero, is discrete Laplace noise; and such noise, kept
with the right chance, is discrete Gaussian noise (Canonne, Kamath, Steinke 2020, algorithm 3). How often something is
drawn again does not depend on what is kept in the end.

Proof: proofs/lattice.md, proofs/single_draws.md
"""

from fractions import Fraction
from functools import cache, partial
from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.decay import CHUNK, Decay, exponential_bounds, is_below
from lapwing.noise.randomness import SYSTEM, Pool, RandomSource
from lapwing.noise.strips import Strips

UNIT_BITS: Final = 56  # a standard variate of 1 is 2^56 steps of the lattice
_UNIT: Final = 1 << UNIT_BITS
_GUARD: Final = UNIT_BITS + 8
_STEADY_BITS: Final = 96
_HALVINGS: Final = 16
_TERMS: Final = 16


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

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:  # noqa: D102 - as Sampler says
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


def draw_geometric(scale: Fraction, source: RandomSource = SYSTEM) -> int:
    """Return one draw of P(x) = (1 - e^(-1/scale)) e^(-x/scale) on 0, 1, 2, ..."""
    steps = _steps(source)
    whole, rest = divmod(scale.numerator * steps, scale.denominator << UNIT_BITS)
    missing = (scale.denominator << UNIT_BITS) - rest
    if missing < scale.numerator:  # what the lattice leaves out may reach the next whole number
        return whole + (not _is_part_below(missing, scale.numerator, source))
    return whole


def draw_laplace(scale: Fraction, source: RandomSource = SYSTEM) -> int:
    """Return one draw of P(x) ∝ e^(-|x|/scale) on the integers."""
    while True:
        magnitude, negative = draw_geometric(scale, source), source.take(1)[0] & 1
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def draw_gaussian(sigma_squared: Fraction, source: RandomSource = SYSTEM) -> int:
    """Return one draw of P(x) ∝ e^(-x²/(2 sigma_squared)) on the integers.

    A Laplace draw is kept with the probability that turns its law into this one (Canonne, Kamath and Steinke 2020,
    Algorithm 3).
    """
    numerator, denominator = sigma_squared.numerator, sigma_squared.denominator
    scale = isqrt(numerator // denominator) + 1
    below = 2 * numerator * denominator * scale**2
    while True:
        candidate = draw_laplace(Fraction(scale), source)
        away = abs(candidate) * denominator * scale - numerator  # (|x| - sigma²/scale)² / (2 sigma²), as a fraction
        if is_below(partial(_steady_bounds, away * away, below), source):
            return candidate


def _steady_bounds(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return the bounds of `exponential_bounds`; for the first bits, which nearly always do, in the same steps for all.

    Otherwise the time of a draw would reveal its size.
    """
    if bits != _STEADY_BITS or numerator >= denominator << 8:  # the next bits; or a chance below e^-256
        return exponential_bounds(numerator, denominator, bits)
    precision = bits + _HALVINGS + 24
    term_low = term_high = low = high = 1 << precision
    for index in range(1, _TERMS):  # of e^-z for z = exponent / 2^16 < 2^-8, rounded outwards
        divisor = denominator * index << _HALVINGS
        term_low, term_high = term_low * numerator // divisor, -(-term_high * numerator // divisor)
        low, high = (low - term_high, high - term_low) if index & 1 else (low + term_low, high + term_high)
    low, high = low - term_high - 1, high + term_high + 1  # what is left out is smaller than the last term
    for _ in range(_HALVINGS):
        low, high = low * low >> precision, -(-(high * high) >> precision)
    return low >> precision - bits, -(-high >> precision - bits)


def _is_part_below(numerator: int, denominator: int, source: RandomSource) -> bool:
    """Return whether the part of a step that W leaves out is below a fraction t: its density falls as e^(-part 2^-56).

    The probability is (1 - e^(-t 2^-56)) / (1 - e^(-2^-56)).
    """

    def chance(bits: int) -> tuple[int, int]:
        fine = bits + _GUARD
        low, high = exponential_bounds(numerator, denominator << UNIT_BITS, fine)
        all_low, all_high = exponential_bounds(1, _UNIT, fine)
        one = 1 << fine
        return ((one - high) << bits) // (one - all_low), -((-(one - low) << bits) // (one - all_high))

    return is_below(chance, source)


class _Lattice:
    """The standard exponential variate as a sampler: whole steps of 2^-56."""

    @staticmethod
    def draw_many(count: int, source: RandomSource) -> NDArray[np.int64]:
        steps, _ = standard_exponential().draw(count, source)
        return steps


@cache
def _pool() -> Pool:
    return Pool(_Lattice())


def _steps(source: RandomSource) -> int:
    return _pool().draw() if source is SYSTEM else int(_Lattice.draw_many(1, source)[0])
