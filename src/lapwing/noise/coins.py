"""Biased coins and fair dice, exact for every rational parameter.

`p` is a probability, `x` an exponent; both are exact numbers (see `lapwing.vocabulary.exact`). Every coin has a vector
form that ends in `_many`, whose array belongs to the caller.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm

import numpy as np
from numpy.typing import NDArray

from lapwing.noise import reference_samplers
from lapwing.noise.exact_exponential import exponential_bounds, is_below
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact, whole


def bernoulli(p: Fraction, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly `p`."""
    p = exact("p", p)
    if not 0 <= p <= 1:
        raise ParameterError("p", p, reason="is no probability", remedy="write a number from 0 to 1")
    return reference_samplers.uniform_below(p.denominator, source) < p.numerator


def bernoulli_exp(x: Fraction, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly e^(-x), for x >= 0."""
    x = exact("x", x)
    if x < 0:
        raise ParameterError("x", x, reason="is negative", remedy="write an exponent of at least 0")
    return is_below(lambda bits: exponential_bounds(x.numerator, x.denominator, bits), source)


def bernoulli_logistic(x: Fraction, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly 1/(1 + e^(-x)), for x of either sign."""
    x = exact("x", x)

    def bounds(bits: int) -> tuple[int, int]:
        low, high = exponential_bounds(abs(x).numerator, x.denominator, bits + 8)
        one = 1 << (bits + 8)
        return (one << bits) // (one + high), -(-(one << bits) // (one + low))

    return is_below(bounds, source) is (x >= 0)


def uniform_below(n: int, *, source: RandomSource = SYSTEM) -> int:
    """Return an integer that is uniform on 0 ... n - 1."""
    return reference_samplers.uniform_below(whole("n", n), source)


def choose(weights: Sequence[Fraction | int], *, source: RandomSource = SYSTEM) -> int:
    """Return index i with probability exactly weights[i] / sum(weights)."""
    return int(choose_many(weights, 1, source=source)[0])


def bernoulli_many(p: Fraction, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.bool_]:
    """Return `count` independent `bernoulli(p)`."""
    return np.array([bernoulli(p, source=source) for _ in range(count)], np.bool_)


def bernoulli_exp_many(x: Fraction, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.bool_]:
    """Return `count` independent `bernoulli_exp(x)`."""
    return np.array([bernoulli_exp(x, source=source) for _ in range(count)], np.bool_)


def bernoulli_logistic_many(x: Fraction, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.bool_]:
    """Return `count` independent `bernoulli_logistic(x)`."""
    return np.array([bernoulli_logistic(x, source=source) for _ in range(count)], np.bool_)


def uniform_below_many(n: int, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return `count` independent `uniform_below(n)`, for n up to 2^63."""
    return np.array([uniform_below(n, source=source) for _ in range(count)], np.int64)


def choose_many(weights: Sequence[Fraction | int], count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return `count` independent `choose(weights)`."""
    exact_weights = [exact("weight", weight) for weight in weights]
    common = lcm(*(weight.denominator for weight in exact_weights))
    ends = list(accumulate(int(weight * common) for weight in exact_weights))
    if min(exact_weights, default=-1) < 0 or not ends[-1]:
        raise ParameterError("weights", weights, reason="are no weights", remedy="write numbers >= 0, not all 0")
    return np.array([bisect_right(ends, uniform_below(ends[-1], source=source)) for _ in range(count)], np.int64)
