"""Lane B, for large scales: a strip from a table, a place in it from fair bits, an exact coin that keeps or drops it.

The magnitudes are cut into strips of 2^bits each, 64 to 128 of them to one scale. A strip is drawn by a guide table,
with the weight of its first magnitude; the place in it is `bits` fair bits; and the candidate is kept with probability
e^(-y), where y is how far the exponent has grown since the strip began, about 1/100. So about 1 in 100 is dropped and
drawn again, and what is kept has exactly the wanted weight.

The coin is tossed lazily too. Sixteen bits settle it for all places of the strip at once, 98 times in 100; 32 bits and
a few terms of e^(-y) on 64-bit integers settle nearly all the rest; a few in a million need larger integers.

The rule not to break: a bound may be loose, but always towards "not settled yet".

Proof: proofs/strips.md
"""

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.decay import Decay
from lapwing.noise.exact_exponential import exponential_bounds, is_below
from lapwing.noise.guide_table import CHUNK, UNSURE, GuideTable
from lapwing.noise.randomness import RandomSource

_STRIPS_PER_SCALE_BITS: Final = 6
_PLACE_BITS: Final = 20  # of the place in a strip, as 64-bit integers see it
_RATE_BITS: Final = 44
_COIN_BITS: Final = 32
_LARGEST_EXPONENT: Final = 1 << (_COIN_BITS - 4)  # y = 1/16: beyond, three terms of e^-y say too little
_LAST_STRIP: Final = 1023  # of a Gaussian law, about 8 sigma: beyond, y would not fit into 64 bits


class Strips:
    """Draws magnitudes of the law `decay`, each with a sign bit.

    Parameters
    ----------
    decay : the law; its scale is at least 64
    width : 0 for the integers j of weight e^(-rate j^power). 1 for real numbers of that density, of which j is the
        integer part: what follows the point is drawn only if the coin asks for it
    """

    def __init__(self, decay: Decay, width: Literal[0, 1] = 0) -> None:
        self._bits = decay.whole_scale().bit_length() - 1 - _STRIPS_PER_SCALE_BITS
        self._width, self._two_sided = width, decay.sides - 1
        self._coarse = coarse = decay.coarsened(1 << self._bits)
        self.guide = GuideTable(coarse, 16)
        self._most_strips = (1 << (63 - self._bits)) - 1
        self._rate = (coarse.rate.numerator << _RATE_BITS) // coarse.rate.denominator
        kept = np.array([self._surely_kept(strip) for strip in range(self.guide.thresholds.size)], np.uint16)
        undecided = self.guide.magnitudes == UNSURE
        self.kept_below = np.where(undecided, np.uint16(0), kept[np.where(undecided, 0, self.guide.magnitudes)])

    def draw(self, count: int, source: RandomSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return `count` magnitudes and as many bits that say whether they are negative.

        Where the law has two sides, magnitude j with the bit set stands for -(j + 1), so that zero is not drawn twice.
        """
        magnitudes, negative, dropped = self._candidates(count, source)
        if dropped.size:
            magnitudes[dropped], negative[dropped] = self.draw(dropped.size, source)
        return magnitudes, negative

    def _candidates(
        self, count: int, source: RandomSource
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
        random = source.take(12 * count)
        words = np.frombuffer(random, "<u8", count)
        cells = np.frombuffer(random, "<u2", count, 8 * count)
        coins = np.frombuffer(random, "<u2", count, 10 * count)
        strips = self.guide.magnitudes.take(cells)
        places = (words >> np.uint64(64 - self._bits)).view(np.int64)
        negative = (words & np.uint64(1)).view(np.int64)
        magnitudes = strips.astype(np.int64)
        magnitudes <<= self._bits
        magnitudes |= places
        open_ = np.flatnonzero(coins >= self.kept_below.take(cells))
        if not open_.size:
            return magnitudes, negative, open_
        strip, place = strips[open_].astype(np.int64), places[open_]
        unsure = np.flatnonzero(strip == UNSURE)
        strip[unsure] = np.minimum(self.guide.resolve(cells[open_[unsure]], source), self._most_strips)
        magnitudes[open_] = (strip << self._bits) | place
        kept = self.keeps(strip, place + self._two_sided * negative[open_], coins[open_], source)
        return magnitudes, negative, open_[~kept]

    def _surely_kept(self, strip: int) -> int:
        """Return the largest number so that a 16-bit coin below it keeps every place of `strip`: e^-y >= 1 - y."""
        numerator, denominator = self.exponent(strip, 1 << self._bits, self._bits)
        return max(0, (1 << 16) + (-numerator << 16) // denominator)

    def exponent(self, strip: int, place: int, bits: int) -> tuple[int, int]:
        """Return y, the growth of the exponent from the start of `strip` to the fraction place/2^bits of it."""
        along = place if self._coarse.power == 1 else place * ((strip << (bits + 1)) + place)
        return self._coarse.rate.numerator * along, self._coarse.rate.denominator << (bits * self._coarse.power)

    def keeps(
        self,
        strips: NDArray[np.int64],
        places: NDArray[np.int64],
        coins: NDArray[np.uint16],
        source: RandomSource,
    ) -> NDArray[np.bool_]:
        """Decide for each candidate whether its coin, of which sixteen bits are known, falls below e^-y."""
        coin = (coins.astype(np.int64) << 16) | np.frombuffer(source.take(2 * coins.size), "<u2")
        least, most = self.kept_bounds(strips, places)
        kept: NDArray[np.bool_] = coin < least
        for i in np.flatnonzero(~kept & (coin < most)):
            kept[i] = self.keeps_exactly(int(strips[i]), int(places[i]), int(coin[i]), _COIN_BITS, source)
        return kept

    def kept_bounds(
        self, strips: NDArray[np.int64], places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return integers with least <= 2^32 e^-y <= most; 0 and 2^32 where 64-bit integers are too narrow to say."""
        place = places >> self._bits - _PLACE_BITS if self._bits >= _PLACE_BITS else places << _PLACE_BITS - self._bits
        if self._coarse.power == 1:
            along_low, along_high = place, place + 1
        else:
            twice = np.minimum(strips, _LAST_STRIP) << (_PLACE_BITS + 1)
            along_low = place * (twice + place) >> _PLACE_BITS
            along_high = ((place + 1) * (twice + place + 1) >> _PLACE_BITS) + 1
        surplus = _PLACE_BITS + _RATE_BITS - _COIN_BITS
        low = along_low * self._rate >> surplus
        high = (along_high * (self._rate + 1) >> surplus) + 1
        narrow = (high >= _LARGEST_EXPONENT) | (strips > _LAST_STRIP if self._coarse.power > 1 else False)
        low, high = np.where(narrow, 0, low), np.where(narrow, 0, high)
        one = 1 << _COIN_BITS
        half_square = high * high >> (_COIN_BITS + 1)
        least = one - high + half_square - (half_square + 1) * high // (3 << _COIN_BITS) - 1
        most = one - low + (low * low >> (_COIN_BITS + 1)) + 1
        return np.where(narrow, 0, least), np.where(narrow, one, most)

    def keeps_exactly(self, strip: int, place: int, coin: int, coin_bits: int, source: RandomSource) -> bool:
        """Decide the same on integers of any size, refining the coin, and the place if the law is continuous."""
        place_bits = self._bits

        def chance(bits: int) -> tuple[int, int]:
            nonlocal place, place_bits
            while self._width and place_bits < bits:
                place = (place << 64) | int.from_bytes(source.take(8), "little")
                place_bits += 64
            low, _ = exponential_bounds(*self.exponent(strip, place + self._width, place_bits), bits)
            _, high = exponential_bounds(*self.exponent(strip, place, place_bits), bits)
            return low, high

        return is_below(chance, source, coin, coin_bits)


class StripSampler:
    """Draws integers of the law `decay`."""

    def __init__(self, decay: Decay) -> None:
        self.strips = Strips(decay)
        self._two_sided = decay.sides - 1

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """Return `count` independent draws."""
        draws = np.empty(count, np.int64)
        for start in range(0, count, CHUNK):
            chunk = draws[start : start + CHUNK]
            magnitudes, negative = self.strips.draw(chunk.size, source)
            # -(j + 1) is j with all bits turned
            np.bitwise_xor(magnitudes, -self._two_sided * negative, out=chunk)
        return draws
