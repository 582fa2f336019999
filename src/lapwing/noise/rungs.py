"""Noise on a ladder: how far from the truth an answer falls, where the width of each step of probability is secret.

The truth has weight 1. The numbers around it lie on rungs: on each side, the first `widths[0]` numbers are on rung 1,
the next `widths[1]` on rung 2, and so on; after the last rung all others are as wide as that one. A number on rung t
has weight e^(-rate t).

The widths are secret, and so is the rung that is drawn. So all rungs are weighed each time, whichever is drawn, with
integers whose size follows from how many rungs there are and from the last width, which the caller makes public.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Final

from lapwing.noise.decay import exponential_bounds
from lapwing.noise.laws import Geometric
from lapwing.noise.randomness import SYSTEM, RandomSource

_STEP: Final = 64
_GUARD: Final = 32


def draw_on_ladder(widths: Sequence[int], rate: Fraction, *, source: RandomSource = SYSTEM) -> int:
    """Return x with probability proportional to e^(-rate rung(|x|)), exactly; rung(0) is 0.

    Parameters
    ----------
    widths : how many numbers each rung has on each side, none of them negative; the last is that of all that follow
    rate : from 2^-38 to 20

    >>> draw_on_ladder([0, 0], Fraction(1))
    0

    Proof: proofs/ladder.md
    """
    rung = _drawn_rung(widths, rate, source)
    further = Geometric(Fraction(rate.denominator, rate.numerator)).draw(source=source)
    ends = [0, *accumulate(widths)]
    width = widths[min(rung, len(widths)) - 1]
    inside = rung <= len(widths)
    before = ends[rung - 1] if inside else ends[-1] + further * width
    place = _even_below(2 * max(width, 1), 2 * max(widths[-1], 1), source)
    far = before + 1 + (place >> 1)
    return 0 if rung == 0 else -far if place & 1 else far


def _drawn_rung(widths: Sequence[int], rate: Fraction, source: RandomSource) -> int:
    """Return t, 0 for the truth, with the weight of all numbers on rung t; one more than there are widths for the tail.

    A uniform number U picks the rung t with F(t - 1) <= U F(all) < F(t), F being the sums of weights. Its bits are
    drawn until all ways in which they could go on pick the same.
    """
    prefix = bits = 0
    while True:
        prefix = (prefix << _STEP) | int.from_bytes(source.take(_STEP >> 3), "little")
        bits += _STEP
        lows, highs = _sums_of_weights(widths, rate, bits)
        least, most = prefix * lows[-1] >> bits, -((-(prefix + 1) * highs[-1]) >> bits)
        rung = bisect_right(lows, least, hi=len(lows) - 1)  # the tail where no rung before it holds U
        settled_below = rung == 0 or highs[rung - 1] <= least
        if settled_below and (rung == len(lows) - 1 or most <= lows[rung]):
            return rung


def _sums_of_weights(widths: Sequence[int], rate: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Return integers that enclose the sums of weights up to each rung, the tail last, all times one power of 2."""
    precision = bits + _GUARD + 2 * len(widths).bit_length() + widths[-1].bit_length()
    one = 1 << precision
    ratio_low, ratio_high = exponential_bounds(rate.numerator, rate.denominator, precision)
    low = high = weight_low = weight_high = one
    lows, highs = [low], [high]
    for width in widths:
        weight_low = weight_low * ratio_low >> precision
        weight_high = (weight_high * ratio_high >> precision) + 1
        low += 2 * width * weight_low
        high += 2 * width * weight_high
        lows.append(low)
        highs.append(high)
    width = widths[-1]
    low += 2 * width * (weight_low * ratio_low // (one - ratio_low))
    high += 2 * width * (weight_high * ratio_high // (one - ratio_high) + 1)
    return [*lows, low], [*highs, high]


def _even_below(n: int, most: int, source: RandomSource) -> int:
    """Return an integer that is uniform on 0 ... n - 1, drawn from as many bits for every n up to `most`.

    It is drawn again once in 2^64 times or less: how long it takes does not depend on n.
    """
    size = (most.bit_length() + _STEP + 7) >> 3
    whole = (1 << 8 * size) // n * n
    while True:
        candidate = int.from_bytes(source.take(size), "little")
        if candidate < whole:
            return candidate % n
