"""What the tables must hold, computed another way: term by term in 400-bit floating point, by mpmath."""

from fractions import Fraction
from functools import cache

import mpmath as mp

PRECISION = 400


def real(number: Fraction | int):
    number = Fraction(number)
    return mp.mpf(number.numerator) / number.denominator


@cache
def cumulative(rate: Fraction, power: int, sides: int, last: int) -> list:
    """Return P(magnitude <= j), j = 0 ... last, for P(0) ∝ 1 and P(j) ∝ sides e^(-rate j^power)."""
    with mp.workprec(PRECISION):
        weights = [mp.mpf(1)]
        while len(weights) <= last or weights[-1] > mp.ldexp(1, -PRECISION):
            weights.append(sides * mp.exp(-real(rate) * len(weights) ** power))
        ends = [weights[0]]
        for weight in weights[1:]:
            ends.append(ends[-1] + weight)
        # What is left after the last term is less than 2^-400 times a few thousand.
        return [end / ends[-1] for end in ends[: last + 1]]


def floors(probabilities: list, bits: int) -> list[int]:
    with mp.workprec(PRECISION):
        return [int(mp.floor(mp.ldexp(p, bits))) for p in probabilities]
