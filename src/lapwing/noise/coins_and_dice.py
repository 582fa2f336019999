"""Biased coins and fair dice, exact.

A coin of bias p compares the bits of a uniform number with those of p, from the first on, until they differ; p itself,
however irrational, is only ever known between two integers (`decay`). Sixteen bits settle nearly every toss, so that a
million tosses cost two million random bytes.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.decay import Bounds, is_below
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.exact import as_int

_BITS: Final = 64
_CHUNK: Final = 1 << 18


class Coin:
    """A coin that shows heads with probability p, for p in [0, 1] known as bounds.

    Proof: proofs/lazy_inverse.md
    """

    def __init__(self, p: Bounds) -> None:
        self.bias = p
        self._heads_below, self._tails_from = p(_BITS)
        self._undecided = range(self._heads_below, self._tails_from)

    def toss(self, source: RandomSource) -> bool:
        """Return one toss."""
        uniform = int.from_bytes(source.take(_BITS >> 3), "little")
        if uniform in self._undecided:
            return is_below(self.bias, source, uniform, _BITS)
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
                heads[open_[i]] = is_below(self.bias, source, int(uniform[i]), _BITS)


def uniform_below(n: int, *, source: RandomSource = SYSTEM) -> int:
    """Return an integer that is uniform on 0 ... n - 1, for n of any size."""
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
