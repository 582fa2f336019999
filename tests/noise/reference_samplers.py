"""The samplers of Canonne, Kamath and Steinke, on plain integers: slow, short, and exact for plain reasons.

C. Canonne, G. Kamath, T. Steinke: The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Algorithms 1 to 3.
"""

from fractions import Fraction
from math import isqrt

from lapwing.noise.randomness import RandomSource


def uniform_below(bound: int, source: RandomSource) -> int:
    """Return an integer, uniform on 0 ... bound - 1."""
    bits = (bound - 1).bit_length()
    while True:
        candidate = int.from_bytes(source.take((bits + 7) >> 3), "little") & ((1 << bits) - 1)
        if candidate < bound:
            return candidate


def decays(exponent: Fraction, source: RandomSource) -> bool:
    """Return True with probability e^(-exponent), for exponent >= 0."""
    whole, rest = divmod(exponent, 1)
    return all(_decays_within_one(1, 1, source) for _ in range(whole)) and _decays_within_one(
        rest.numerator, rest.denominator, source
    )


def _decays_within_one(numerator: int, denominator: int, source: RandomSource) -> bool:
    """Algorithm 1: the first k whose coin of bias x/k fails is odd with probability e^(-x), for 0 <= x <= 1."""
    k = 1
    while uniform_below(denominator * k, source) < numerator:
        k += 1
    return k & 1 == 1


def geometric(scale: Fraction, source: RandomSource) -> int:
    """Algorithm 2, lines 3 to 15: P(x) ∝ e^(-x/scale) on 0, 1, 2, ..."""
    numerator, denominator = scale.numerator, scale.denominator
    while True:
        fine = uniform_below(numerator, source)
        if _decays_within_one(fine, numerator, source):
            break
    coarse = 0
    while _decays_within_one(1, 1, source):
        coarse += 1
    return (fine + numerator * coarse) // denominator


def discrete_laplace(scale: Fraction, source: RandomSource) -> int:
    """Algorithm 2: P(x) ∝ e^(-|x|/scale) on the integers."""
    while True:
        magnitude = geometric(scale, source)
        negative = source.take(1)[0] & 1
        if magnitude or not negative:  # zero has one sign only
            return -magnitude if negative else magnitude


def discrete_gaussian(sigma_squared: Fraction, source: RandomSource) -> int:
    """Algorithm 3: P(x) ∝ e^(-x²/2σ²) on the integers."""
    t = isqrt(sigma_squared.numerator // sigma_squared.denominator) + 1
    while True:
        candidate = discrete_laplace(Fraction(t), source)
        if decays((abs(candidate) - sigma_squared / t) ** 2 / (2 * sigma_squared), source):
            return candidate
