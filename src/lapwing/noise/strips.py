"""For large scales: a strip from a table, a place in it from fair bits, an exact coin that keeps or drops it.

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

from lapwing.noise.decay import CHUNK, UNSURE, Decay, GuideTable, exponential_bounds, is_below
from lapwing.noise.randomness import RandomSource

_STRIPS_PER_SCALE_BITS: Final = 6
_PLACE_BITS: Final = 20  # of the place in a strip, as 64-bit integers see it
_RATE_BITS: Final = 44
_COIN_BITS: Final = 32
_LARGEST_EXPONENT: Final = 1 << (_COIN_BITS - 4)  # y = 1/16: beyond, three terms of e^-y are not enough
_LAST_STRIP: Final = 1023  # of a Gaussian law, about 8 sigma: beyond, y would not fit into 64 bits


class StripCoin:
    """The coin that keeps a candidate with probability e^-y, y being the growth of the exponent since its strip began.

    The law of the strips is weight e^(-rate h^power) for strip h, so that y = rate ((h + f)^power - h^power) at the
    fraction f of it, which is rate f or rate f (2h + f). A place in a strip is a whole number from 0 to 2^bits, and
    f = place / 2^bits. The width is 0 if the place is exact, and 1 if it is the integer part of a real one, whose
    further bits are drawn as needed.
    """

    def __init__(self, strips: Decay, bits: int, width: Literal[0, 1]) -> None:
        self._strips, self._bits, self._width = strips, bits, width
        self._rate = (strips.rate.numerator << _RATE_BITS) // strips.rate.denominator

    def exponent(self, strip: int, place: int, bits: int) -> tuple[int, int]:
        """Return y at the fraction place/2^bits of `strip`, as numerator and denominator."""
        along = place if self._strips.power == 1 else place * ((strip << (bits + 1)) + place)
        return self._strips.rate.numerator * along, self._strips.rate.denominator << (bits * self._strips.power)

    def surely_keeps_below(self, strips: int) -> list[int]:
        """Return, for each of the first `strips`, below which 16 bits of a coin every place of it is kept.

        At the end of strip h the exponent has grown by the rate, or by 2h + 1 times the rate.
        """
        rate, grown = self._strips.rate, [1] * strips if self._strips.power == 1 else range(1, 2 * strips, 2)
        return [max(0, (1 << 16) + (-rate.numerator * times << 16) // rate.denominator) for times in grown]  # 1 - y

    def keeps(
        self, strips: NDArray[np.int64], places: NDArray[np.int64], first_bits: NDArray[np.uint16], source: RandomSource
    ) -> NDArray[np.bool_]:
        """Toss a coin for each candidate; the first 16 bits of each are known already."""
        coins = (first_bits.astype(np.int64) << 16) | np.frombuffer(source.take(2 * first_bits.size), "<u2")
        least, most = self.bounds(strips, places)
        kept: NDArray[np.bool_] = coins < least
        for i in np.flatnonzero(~kept & (coins < most)):
            kept[i] = self.keeps_exactly(int(strips[i]), int(places[i]), int(coins[i]), _COIN_BITS, source)
        return kept

    def bounds(
        self, strips: NDArray[np.int64], places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return integers with least <= 2^32 e^-y <= most; 0 and 2^32 where 64 bits are too narrow for more."""
        excess = self._bits - _PLACE_BITS
        place = places >> excess if excess >= 0 else places << -excess
        if self._strips.power == 1:
            along_low, along_high = place, place + 1
        else:
            twice = np.minimum(strips, _LAST_STRIP) << (_PLACE_BITS + 1)
            along_low = place * (twice + place) >> _PLACE_BITS
            along_high = ((place + 1) * (twice + place + 1) >> _PLACE_BITS) + 1
        surplus = _PLACE_BITS + _RATE_BITS - _COIN_BITS
        low = along_low * self._rate >> surplus
        high = (along_high * (self._rate + 1) >> surplus) + 1
        narrow = high >= _LARGEST_EXPONENT
        if self._strips.power > 1:
            narrow |= strips > _LAST_STRIP
        low, high = np.where(narrow, 0, low), np.where(narrow, 0, high)
        one = 1 << _COIN_BITS
        half_square = high * high >> (_COIN_BITS + 1)
        least = one - high + half_square - (half_square + 1) * high // (3 << _COIN_BITS) - 1  # 1 - y + y²/2 - y³/6
        most = one - low + (low * low >> (_COIN_BITS + 1)) + 1  # 1 - y + y²/2
        return np.where(narrow, 0, least), np.where(narrow, one, most)

    def keeps_exactly(self, strip: int, place: int, coin: int, coin_bits: int, source: RandomSource) -> bool:
        """Decide on integers of any size, drawing further bits of the coin, and of the place where it is real."""
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


class Strips:
    """Draws magnitudes of the law `decay`, whose scale is at least 64, each with a sign bit.

    With width 0 they are the integers j of weight e^(-rate j^power), with 1 the integer parts of real numbers of that
    density. `kept_below` has, for each of the 2^16 cells of the guide table, below which 16 bits of the coin nothing
    more is asked.
    """

    def __init__(self, decay: Decay, width: Literal[0, 1] = 0) -> None:
        self._bits = decay.whole_scale().bit_length() - 1 - _STRIPS_PER_SCALE_BITS
        self._two_sided = decay.sides - 1
        self._most_strips = (1 << (63 - self._bits)) - 1  # magnitudes saturate at 2^63 - 1
        strips = decay.coarsened(1 << self._bits)
        self.guide = GuideTable(strips, 16)
        self.coin = StripCoin(strips, self._bits, width)
        kept_below = self.coin.surely_keeps_below(self.guide.thresholds.size)
        unsure = self.guide.magnitudes == UNSURE
        strip_of_cell = np.where(unsure, 0, self.guide.magnitudes)
        self.kept_below = np.where(unsure, np.uint16(0), np.array(kept_below, np.uint16)[strip_of_cell])

    def draw(self, count: int, source: RandomSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return `count` magnitudes, and as many sign bits, set for negative values.

        Where the law has two sides, magnitude j with the bit set stands for -(j + 1), so that zero is not drawn twice.
        """
        spare = (count >> 5) + 32
        while True:
            magnitudes, negative, dropped = self._candidates(count + spare, source)
            missing = dropped[dropped < count]
            kept = np.ones(spare, np.bool_)
            kept[dropped[missing.size :] - count] = False
            spares = np.flatnonzero(kept)[: missing.size] + count
            if spares.size == missing.size:  # nearly always; else begin again, which is not a choice among values
                magnitudes[missing], negative[missing] = magnitudes[spares], negative[spares]
                return magnitudes[:count], negative[:count]

    def _candidates(
        self, count: int, source: RandomSource
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
        """Return candidates, and where those stand that are dropped."""
        drawn = source.take(12 * count)
        words = np.frombuffer(drawn, "<u8", count)
        cells = np.frombuffer(drawn, "<u2", count, 8 * count)
        coins = np.frombuffer(drawn, "<u2", count, 10 * count)
        strips = self.guide.magnitudes.take(cells)
        places = (words >> np.uint64(64 - self._bits)).view(np.int64)
        negative = (words & np.uint64(1)).view(np.int64)
        magnitudes = strips.astype(np.int64)
        magnitudes <<= self._bits
        magnitudes |= places
        unsettled = np.flatnonzero(coins >= self.kept_below.take(cells))
        if not unsettled.size:
            return magnitudes, negative, unsettled
        strip, place = strips[unsettled].astype(np.int64), places[unsettled]
        unsure = np.flatnonzero(strip == UNSURE)
        strip[unsure] = np.minimum(self.guide.resolve(cells[unsettled[unsure]], source), self._most_strips)
        magnitudes[unsettled] = (strip << self._bits) | place
        place += self._two_sided * negative[unsettled]  # the place of j + 1
        kept = self.coin.keeps(strip, place, coins[unsettled], source)
        return magnitudes, negative, unsettled[~kept]


class StripSampler:
    """Draws integers of the law `decay`."""

    def __init__(self, decay: Decay) -> None:
        self.strips = Strips(decay)
        self._two_sided = decay.sides - 1

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:  # noqa: D102 - as Sampler says
        draws = np.empty(count, np.int64)
        for start in range(0, count, CHUNK):
            chunk = draws[start : start + CHUNK]
            magnitudes, negative = self.strips.draw(chunk.size, source)
            np.bitwise_xor(magnitudes, -self._two_sided * negative, out=chunk)  # -(j + 1) is j with all bits turned
        return draws
