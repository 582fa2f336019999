"""The one shape of every law here: weights e^(-rate * j^power) on j = 0, 1, 2, ..., summed up to any precision.

Power 1 makes the Laplace and geometric laws, power 2 the Gaussian ones. Plain integers only, and nothing is ever a
rounded probability: each number is kept as a pair (low, high) of integers that enclose it, rounded outwards at every
step, and a decision that the pair leaves open is made again with more bits.

Small scales are drawn by a table, with two random bytes and one look for each draw, more only where two do not do. A
uniform number U between 0 and 1 picks the magnitude j with F(j - 1) <= U < F(j), F being the distribution function.
The first bits of U say in which of 2^15 or 2^16 equal cells it lies. Few cells hold one of the F(j); the others lie
between two of them, so that those first bits decide, whatever bits would follow. The rest is resolved by 48 bits more
against the thresholds floor(2^64 F(j)), and where even those touch a threshold (once in 2^40 draws, or less) by as
many bits as it takes, on integers of any size. So the law is exact, although no F(j) is a number a computer can hold.

The rule not to break: a cell is used only where `Decay.thresholds` is certified; there are no "close enough" cells.
"""

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from math import isqrt
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.randomness import RandomSource
from lapwing.vocabulary.errors import RandomnessError
from lapwing.vocabulary.frozen import frozen

Bounds: TypeAlias = Callable[[int], tuple[int, int]]
"""A real number p in [0, 1], known as bounds(bits) = (low, high) with low <= 2^bits * p <= high."""

_GUARD = 32
_STEP = 64
_MOST_GUARD = 1024


def exponential_bounds(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return integers (low, high), at most 2 apart, with low <= 2^bits * e^(-numerator/denominator) <= high."""
    if numerator == 0:
        return 1 << bits, 1 << bits
    if 10 * numerator > 7 * (bits + 1) * denominator:  # x > 0.7 (bits + 1) > ln 2 (bits + 1), so 2^bits e^-x < 1
        return 0, 1
    halvings = (numerator // denominator).bit_length() + 8
    precision = bits + halvings + 24
    low, high = _alternating_series(numerator, denominator << halvings, precision)
    for _ in range(halvings):
        low, high = low * low >> precision, -(-(high * high) >> precision)
    surplus = precision - bits
    return low >> surplus, -(-high >> surplus)


def _alternating_series(numerator: int, denominator: int, precision: int) -> tuple[int, int]:
    """Bound 2^precision e^-z for z = numerator/denominator < 2^-8 by 1 - z + z²/2 - z³/6 ..., rounding outwards."""
    term_low = term_high = low = high = 1 << precision
    index = 0
    while term_high > 1:
        index += 1
        divisor = denominator * index
        term_low, term_high = term_low * numerator // divisor, -(-term_high * numerator // divisor)
        if index & 1:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    return low - 1, high + 1  # what is left out is smaller than the last term, which is at most 1


def is_below(p: Bounds, source: RandomSource, prefix: int = 0, bits: int = 0) -> bool:
    """Decide exactly whether a uniform number U is below p, drawing bits of U only while they are needed.

    The first `bits` bits of U are `prefix`, where they are known already.
    """
    while True:
        if bits:
            low, high = p(bits + _GUARD)
            if (prefix + 1) << _GUARD <= low:
                return True
            if prefix << _GUARD >= high:
                return False
        prefix = (prefix << _STEP) | int.from_bytes(source.take(_STEP >> 3), "little")
        bits += _STEP


@frozen(kw_only=False)
class Decay:
    """The law P(0) ∝ 1, P(j) ∝ sides * e^(-rate * j^power) of a magnitude j = 0, 1, 2, ...

    Power 1 is exponential, 2 Gaussian. There are 2 sides if j stands for both +j and -j; zero has one sign only.
    """

    rate: Fraction
    power: Literal[1, 2]
    sides: Literal[1, 2]

    @classmethod
    def exponential(cls, scale: Fraction, *, sides: Literal[1, 2]) -> "Decay":
        """Return the law of weights e^(-j/scale)."""
        return cls(Fraction(scale.denominator, scale.numerator), 1, sides)

    @classmethod
    def gaussian(cls, sigma_squared: Fraction, *, sides: Literal[1, 2]) -> "Decay":
        """Return the law of weights e^(-j²/(2 sigma_squared))."""
        return cls(Fraction(sigma_squared.denominator, 2 * sigma_squared.numerator), 2, sides)

    def coarsened(self, step: int) -> "Decay":
        """Return the one-sided law of the weights at 0, step, 2 step, ..."""
        return Decay(self.rate * step**self.power, self.power, 1)

    def reach(self, tail_bits: int) -> int:
        """Return a magnitude beyond which about 2^-tail_bits of the law lies, or less. Speed rests on it, not truth."""
        enough = 7 * (tail_bits + 3) * self.rate.denominator // (10 * self.rate.numerator)  # 0.7 > ln 2
        return (enough if self.power == 1 else isqrt(enough)) + 2

    def whole_scale(self) -> int:
        """Return the scale (1/rate) or the standard deviation (of 1/2 rate) of the law, rounded down."""
        if self.power == 1:
            return self.rate.denominator // self.rate.numerator
        return isqrt(self.rate.denominator // (2 * self.rate.numerator))

    def cumulative_bounds(self, last: int, bits: int) -> tuple[list[int], list[int]]:
        """Return lists of integers with lows[j] <= 2^bits P(magnitude <= j) <= highs[j] for j = 0 ... last.

        Proof: proofs/thresholds.md
        """
        # An exponential tail is known in closed form. A Gaussian one is bounded by an exponential one, and summed
        # until that bound is too small to matter.
        summed = last if self.power == 1 else max(last, self.reach(bits + 8))
        precision = bits + 2 * summed.bit_length() + 24
        one = 1 << precision
        rate, denominator = self.rate.numerator, self.rate.denominator
        ratio_low, ratio_high = exponential_bounds(rate, denominator, precision)
        bend_low, bend_high = exponential_bounds(2 * rate, denominator, precision) if self.power > 1 else (one, one)
        low = high = one
        weight_low, weight_high = one, one
        lows, highs = [low], [high]
        for _ in range(summed):
            weight_low = weight_low * ratio_low >> precision
            weight_high = (weight_high * ratio_high >> precision) + 1
            low += self.sides * weight_low
            high += self.sides * weight_high
            lows.append(low)
            highs.append(high)
            if self.power > 1:
                ratio_low = ratio_low * bend_low >> precision
                ratio_high = (ratio_high * bend_high >> precision) + 1
        if self.power == 1:
            low += self.sides * (weight_low * ratio_low // (one - ratio_low))
        high += self.sides * (weight_high * ratio_high // (one - ratio_high) + 1)
        del lows[last + 1 :], highs[last + 1 :]
        return [(each << bits) // high for each in lows], [-((-each << bits) // low) for each in highs]

    def thresholds(self, bits: int, tail_bits: int) -> list[int]:
        """Return floor(2^bits P(magnitude <= j)) for j = 0, 1, ..., until less than 2^-tail_bits of the law is left.

        Proof: proofs/thresholds.md
        """
        nearly_all = (1 << bits) - (1 << (bits - tail_bits))
        guard = _GUARD
        while guard <= _MOST_GUARD:
            lows, highs = self.cumulative_bounds(self.reach(tail_bits), bits + guard)
            floors = [low >> guard for low in lows]
            del floors[bisect_right(floors, nearly_all) + 1 :]
            if floors == [high >> guard for high in highs[: len(floors)]]:
                return floors
            guard *= 2  # some threshold lies so close to an integer that its floor is not sure yet
        raise RandomnessError(f"the table of {self} could not be certified; nothing was drawn")

    def locate(self, prefix: int, bits: int, source: RandomSource) -> int:
        """Return the magnitude j with F(j - 1) <= U < F(j), for a uniform U that starts with the `bits` bits `prefix`.

        Further bits of U are drawn only while they are needed.

        Proof: proofs/lazy_inverse.md
        """
        while True:
            if bits:
                lows, highs = self.cumulative_bounds(self.reach(bits + 8), bits + _GUARD)
                least, most = prefix << _GUARD, (prefix + 1) << _GUARD
                index = bisect_right(lows, least)
                settled_below = index == 0 or highs[index - 1] <= least
                if settled_below and index < len(lows) and most <= lows[index]:
                    return index
            prefix = (prefix << _STEP) | int.from_bytes(source.take(_STEP >> 3), "little")
            bits += _STEP


TAIL_BITS: Final = 40  # a table ends where 2^-40 of the law is left: what lies beyond is found on integers of any size
CHUNK: Final = 1 << 16
"""How many draws are made at a time: the arrays in between stay near the processor, and their memory is used again."""

UNSURE: Final = -(1 << 15)  # stands in a cell that does not decide; no magnitude or value of a table is as small
LARGEST: Final = (1 << 63) - 1  # magnitudes saturate here, and never wrap
_EXTRA_BITS: Final = 48


class GuideTable:
    """A magnitude for each cell of U, where the cell decides it, and the means to decide where it does not.

    `magnitudes` has, for each of the 2^cell_bits cells, the magnitude of every U in it, or `UNSURE`; `thresholds` are
    floor(2^(cell_bits + 48) F(j)) for j = 0, 1, ...

    Proof: proofs/lazy_inverse.md
    """

    def __init__(self, decay: Decay, cell_bits: int) -> None:
        self._decay, self._bits = decay, cell_bits + _EXTRA_BITS
        self.thresholds = np.array(decay.thresholds(self._bits, TAIL_BITS), np.uint64)
        if self.thresholds.size > -UNSURE:
            raise RandomnessError(f"{decay} has {self.thresholds.size} thresholds, too many for a table; use strips")
        cells = (self.thresholds >> np.uint64(_EXTRA_BITS)).astype(np.int64)
        inside = np.bincount(cells, minlength=1 << cell_bits)
        before = np.cumsum(inside) - inside
        decided = (inside == 0) & (before < self.thresholds.size)
        self.magnitudes: NDArray[np.int16] = np.where(decided, before, UNSURE).astype(np.int16)

    def resolve(self, cells: NDArray[np.uint16], source: RandomSource) -> NDArray[np.int64]:
        """Return the magnitude of a U in each of `cells`, drawing the bits of U that follow."""
        extra = np.frombuffer(source.take(8 * cells.size), "<u8") >> np.uint64(64 - _EXTRA_BITS)
        uniform = (cells.astype(np.uint64) << np.uint64(_EXTRA_BITS)) | extra
        magnitudes = np.searchsorted(self.thresholds, uniform, side="right").astype(np.int64)
        touching = self.thresholds[np.maximum(magnitudes, 1) - 1] == uniform
        beyond = magnitudes == self.thresholds.size
        for i in np.flatnonzero(touching | beyond):
            magnitudes[i] = min(self._decay.locate(int(uniform[i]), self._bits, source), LARGEST)
        return magnitudes


class TableSampler:
    """Draws from a law whose magnitudes follow `decay`; where it has two sides, one bit of sixteen is the sign."""

    def __init__(self, decay: Decay) -> None:
        self._sign_bits = decay.sides - 1
        self.guide = GuideTable(decay, 16 - self._sign_bits)
        magnitudes = self.guide.magnitudes
        mirrored = [np.where(magnitudes == UNSURE, UNSURE, -magnitudes).astype(np.int16)] * self._sign_bits
        self._values = np.concatenate([magnitudes, *mirrored])

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:  # noqa: D102 - as Sampler says
        draws = np.empty(count, np.int64)
        for start in range(0, count, CHUNK):
            self._fill(draws[start : start + CHUNK], source)
        return draws

    def _fill(self, draws: NDArray[np.int64], source: RandomSource) -> None:
        words = np.frombuffer(source.take(2 * draws.size), "<u2")
        values = self._values.take(words)
        draws[:] = values
        unsure = np.flatnonzero(values == UNSURE)
        if unsure.size:
            doubtful = words[unsure]
            magnitudes = self.guide.resolve(doubtful & np.uint16(0xFFFF >> self._sign_bits), source)
            negative = self._sign_bits * (doubtful >> np.uint16(15))
            draws[unsure] = np.where(negative, -magnitudes, magnitudes)
