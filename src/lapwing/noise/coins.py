"""Biased coins and fair dice, exact for every rational parameter.

A coin of bias p compares the bits of a uniform number with those of p, from the first on, until they differ; p itself,
however irrational, is only ever known between two integers (`exact_exponential`). Sixteen bits settle nearly every
throw, so that a million throws cost two million random bytes.

Every function has a vector form that ends in `_many`, whose array is the caller's own.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import lcm
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.exact_exponential import Bounds, exponential_bounds, is_below
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, exact

_BITS: Final = 64
_CHUNK: Final = 1 << 18
_COINS_KEPT: Final = 256


class Coin:
    """A coin that shows heads with probability p, for p in [0, 1] known as bounds.

    Proof: proofs/lazy_inverse.md
    """

    def __init__(self, p: Bounds) -> None:
        self._p = p
        self._heads_below, self._tails_from = p(_BITS)
        self._undecided = range(self._heads_below, self._tails_from)

    def toss(self, source: RandomSource) -> bool:
        """Return one toss."""
        uniform = int.from_bytes(source.take(_BITS >> 3), "little")
        if uniform in self._undecided:
            return is_below(self._p, source, uniform, _BITS)
        return uniform < self._heads_below  # the same work for heads and for tails: their times tell nothing

    def toss_many(self, count: int, source: RandomSource) -> NDArray[np.bool_]:
        """Return `count` independent tosses."""
        heads = np.empty(count, np.bool_)
        for start in range(0, count, _CHUNK):
            self._fill(heads[start : start + _CHUNK], source)
        return heads

    def _fill(self, heads: NDArray[np.bool_], source: RandomSource) -> None:
        rest = _BITS - 16
        words = np.frombuffer(source.take(2 * heads.size), "<u2")
        np.less(words, self._heads_below >> rest, out=heads)
        open_ = np.flatnonzero((words <= self._tails_from >> rest) & ~heads)
        if open_.size:
            extra = np.frombuffer(source.take(8 * open_.size), "<u8") >> np.uint64(16)
            uniform = (words[open_].astype(np.uint64) << np.uint64(rest)) | extra
            heads[open_] = uniform < self._heads_below
            touching = (uniform >= self._heads_below) & (uniform < self._tails_from)
            for i in np.flatnonzero(touching):
                heads[open_[i]] = is_below(self._p, source, int(uniform[i]), _BITS)


def bernoulli(p: Exact, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly `p`.

    Examples
    --------
    >>> bernoulli(1), bernoulli(0)
    (True, False)
    >>> bernoulli("1.5")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: p = '1.5' is no probability; write a number from 0 to 1
    """
    return _rational_coin(_probability(p)).toss(source)


def bernoulli_many(p: Exact, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.bool_]:
    """Return `count` independent `bernoulli(p)`."""
    return _rational_coin(_probability(p)).toss_many(as_int("count", count, least=0), source)


def bernoulli_exp(x: Exact, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly e^(-x), for x >= 0.

    Examples
    --------
    >>> bernoulli_exp(0)
    True
    >>> bernoulli_exp(-1)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: x = -1 is negative; write an exponent of at least 0
    """
    return _exponential_coin(_exponent(x)).toss(source)


def bernoulli_exp_many(x: Exact, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.bool_]:
    """Return `count` independent `bernoulli_exp(x)`."""
    return _exponential_coin(_exponent(x)).toss_many(as_int("count", count, least=0), source)


def bernoulli_logistic(x: Exact, *, source: RandomSource = SYSTEM) -> bool:
    """Return True with probability exactly 1/(1 + e^(-x)), for x of either sign: the coin of randomized response.

    Examples
    --------
    >>> bernoulli_logistic(0) in {True, False}
    True
    """
    return _logistic_coin(_number("x", x)).toss(source)


def bernoulli_logistic_many(x: Exact, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.bool_]:
    """Return `count` independent `bernoulli_logistic(x)`."""
    return _logistic_coin(_number("x", x)).toss_many(as_int("count", count, least=0), source)


def uniform_below(n: int, *, source: RandomSource = SYSTEM) -> int:
    """Return an integer that is uniform on 0 ... n - 1, for n of any size.

    Examples
    --------
    >>> uniform_below(1)
    0
    """
    n = as_int("n", n)
    bits = (n - 1).bit_length()
    while True:
        candidate = int.from_bytes(source.take((bits + 7) >> 3), "little") & ((1 << bits) - 1)
        if candidate < n:
            return candidate


def uniform_below_many(n: int, count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return `count` independent `uniform_below(n)`, for n up to 2^63."""
    n, count = as_int("n", n, most=1 << 63), as_int("count", count, least=0)
    bits = (n - 1).bit_length()
    size = next(size for size in (1, 2, 4, 8) if bits <= 8 * size)
    mask, last = (np.array(each, f"<u{size}") for each in ((1 << bits) - 1, n - 1))
    draws = np.empty(count, np.int64)
    drawn = 0
    while drawn < count:
        words = np.frombuffer(source.take(size * min(count - drawn, _CHUNK)), f"<u{size}") & mask
        kept = words[words <= last]
        draws[drawn : drawn + kept.size] = kept
        drawn += kept.size
    return draws


def choose(weights: Sequence[Exact], *, source: RandomSource = SYSTEM) -> int:
    """Return index i with probability exactly weights[i] / sum(weights).

    Examples
    --------
    >>> choose([0, "1/3", 0])
    1
    """
    ends = _ends(weights)
    return bisect_right(ends, uniform_below(ends[-1], source=source))


def choose_many(weights: Sequence[Exact], count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.int64]:
    """Return `count` independent `choose(weights)`."""
    ends, count = _ends(weights), as_int("count", count, least=0)
    if ends[-1] < 1 << 63:
        uniform = uniform_below_many(ends[-1], count, source=source)
        return np.searchsorted(np.array(ends, np.int64), uniform, side="right").astype(np.int64)
    return np.array([bisect_right(ends, uniform_below(ends[-1], source=source)) for _ in range(count)], np.int64)


def _number(name: str, given: Exact) -> Fraction:
    return given if type(given) is Fraction else exact(name, given)  # the usual case is not worth the microseconds


def _probability(p: Exact) -> Fraction:
    number = _number("p", p)
    if not 0 <= number <= 1:
        raise ParameterError("p", p, reason="is no probability", remedy="write a number from 0 to 1")
    return number


def _exponent(x: Exact) -> Fraction:
    number = _number("x", x)
    if number < 0:
        raise ParameterError("x", x, reason="is negative", remedy="write an exponent of at least 0")
    return number


def _ends(weights: Sequence[Exact]) -> list[int]:
    """Return the running sums of whole numbers in the proportions of `weights`."""
    numbers = [exact(f"weights[{i}]", weight) for i, weight in enumerate(weights)]
    if not any(numbers) or min(numbers) < 0:
        remedy = "write numbers of at least 0, not all of them 0"
        raise ParameterError("weights", weights, reason="cannot be chosen from", remedy=remedy)
    common = lcm(*(number.denominator for number in numbers))
    return list(accumulate(int(number * common) for number in numbers))


@lru_cache(maxsize=_COINS_KEPT)
def _rational_coin(p: Fraction) -> Coin:
    def bounds(bits: int) -> tuple[int, int]:
        return (p.numerator << bits) // p.denominator, -((-p.numerator << bits) // p.denominator)

    return Coin(bounds)


@lru_cache(maxsize=_COINS_KEPT)
def _exponential_coin(x: Fraction) -> Coin:
    return Coin(lambda bits: exponential_bounds(x.numerator, x.denominator, bits))


@lru_cache(maxsize=_COINS_KEPT)
def _logistic_coin(x: Fraction) -> Coin:
    def bounds(bits: int) -> tuple[int, int]:
        low, high = exponential_bounds(abs(x.numerator), x.denominator, bits + 2)
        one = 1 << (bits + 2)
        if x < 0:  # e^x/(1 + e^x), which grows with e^x
            return (low << bits) // (one + low), -((-high << bits) // (one + high))
        return (one << bits) // (one + high), -((-one << bits) // (one + low))

    return Coin(bounds)
