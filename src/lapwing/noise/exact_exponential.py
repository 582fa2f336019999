"""e^(-x) between two integers, as tightly as anyone asks, and coins that ask only as tightly as they must.

Plain integers only. The enclosure is what every exact decision of this folder rests on.
"""

from collections.abc import Callable
from typing import TypeAlias

from lapwing.noise.randomness import RandomSource

Bounds: TypeAlias = Callable[[int], tuple[int, int]]
"""A real number p in [0, 1], known as bounds(bits) = (low, high) with low <= 2^bits * p <= high."""

_GUARD = 32
_STEP = 64


def exponential_bounds(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return integers (low, high), at most 2 apart, with low <= 2^bits * e^(-numerator/denominator) <= high.

    Parameters
    ----------
    numerator, denominator : the exponent; at least 0, and above 0
    bits : the precision, at least 1

    Examples
    --------
    >>> low, high = exponential_bounds(1, 1, 20)
    >>> low <= 2**20 * 0.36787944117144233 <= high, high - low <= 2
    (True, True)
    """
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

    Parameters
    ----------
    p : the probability, as bounds that get as tight as asked
    prefix, bits : the first `bits` bits of U, where they are known already
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
