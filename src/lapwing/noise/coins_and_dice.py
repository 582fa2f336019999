"""Biased coins, fair dice, and the choice of one among many candidates, exact.

A coin of bias p compares the bits of a uniform number with those of p, from the first on, until they differ; p itself,
however irrational, is only ever known between two integers (`decay`). Sixteen bits settle nearly every toss, so that a
million tosses cost two million random bytes.

Scores of candidates are whole numbers of steps of 2^-56 of the noise's scale, so that they and the noise live on one
lattice and nothing is rounded between them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, partial
from itertools import accumulate
from operator import index
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.decay import CHUNK, Bounds, exponential_bounds, is_below
from lapwing.noise.fine_lattice import UNIT_BITS, standard_exponential
from lapwing.noise.randomness import SYSTEM, VEIL, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int

_BITS: Final = 64
_AT_ONCE: Final = 1 << 18  # tosses, or throws
_FINE_BITS: Final = 8
_FARTHEST: Final = 64  # beyond e^-64, all weights are bounded by the same small one
_TABLE_BITS: Final = 31
_WEIGHT_BITS: Final = 40
_SIZED_BITS: Final = 192  # e^-64 of 2^53 candidates is a small part of the whole then, as it should be


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
        return uniform < self._heads_below  # constant time: the same work for heads and for tails

    def toss_many(self, count: int, source: RandomSource) -> NDArray[np.bool_]:
        """Return `count` independent tosses."""
        heads = np.empty(count, np.bool_)
        for start in range(0, count, _AT_ONCE):
            self._fill(heads[start : start + _AT_ONCE], source)
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
        words = np.frombuffer(source.take(size * min(count - drawn, _AT_ONCE)), f"<u{size}") & mask
        kept = words[words <= last]
        draws[drawn : drawn + kept.size] = kept
        drawn += kept.size
    return draws


def exponential_lattice(count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.uint64]:
    """Return `count` independent W = floor(2^56 E), E standard exponential: P(W >= w) = e^(-w 2^-56) exactly.

    The largest of scores + W is chosen by report-noisy-max with exponential noise, which is permute-and-flip (Ding,
    Kifer, Sayed, Steinke, Wang, Xiao, Zhang: The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with
    Exponential Noise. 2021) up to ties. W is below 2^63: it saturates there, at 128 scales.

    Proof: proofs/lattice.md
    """
    count = as_int("count", count, least=0)
    draws = np.empty(max(count, VEIL), np.uint64)
    for start in range(0, draws.size, CHUNK):
        chunk = draws[start : start + CHUNK]
        chunk[:], _ = standard_exponential().draw(chunk.size, source)
    return draws[:count].copy() if count < VEIL else draws


def choose_exponential(offsets: Sequence[int] | NDArray[np.integer], *, source: RandomSource = SYSTEM) -> int:
    """Return index i with probability exactly proportional to e^(offsets[i] 2^-56): the exponential mechanism.

    The offsets are 64-bit integers, and only their differences matter.

    Proof: proofs/selection.md
    """
    scores = _integers(offsets)
    gaps = scores.max().view(np.uint64) - scores.view(np.uint64)  # modulo 2^64, where every gap fits
    weights, weight_bits = _upper_weights(gaps)
    ends = np.cumsum(weights)
    while True:
        chosen = int(np.searchsorted(ends, uniform_below(int(ends[-1]), source=source), side="right"))
        if _is_kept(int(gaps[chosen]), int(weights[chosen]), weight_bits, source):
            return chosen


def choose_exponential_sized(
    offsets: Sequence[int] | NDArray[np.integer], sizes: Sequence[int], *, source: RandomSource = SYSTEM
) -> tuple[int, int]:
    """Return (i, j) with 0 <= j < sizes[i], each pair with probability exactly proportional to e^(offsets[i] 2^-56).

    `choose_exponential` among candidates of which sizes[i] have one score, without a list of them; sizes are whole
    numbers from 0 on, of any length, and not all 0.

    Proof: proofs/selection.md
    """
    scores = _integers(offsets).tolist()
    best = max(score for score, size in zip(scores, sizes, strict=True) if size)
    gaps = [max(best - score, 0) for score in scores]
    highs = {gap: exponential_bounds(gap, 1 << UNIT_BITS, _SIZED_BITS)[1] for gap in set(gaps)}
    ends = list(accumulate(size * highs[gap] for size, gap in zip(sizes, gaps, strict=True)))
    while True:
        drawn = uniform_below(ends[-1], source=source)
        chosen = bisect_right(ends, drawn)
        gap, high = gaps[chosen], highs[gaps[chosen]]
        if is_below(partial(_ratio, gap, high), source):
            return chosen, (drawn - (ends[chosen - 1] if chosen else 0)) // high


def _ratio(gap: int, high: int, bits: int) -> tuple[int, int]:
    """Bound 2^bits times the part of `high` that e^(-gap 2^-56) is, in units of 2^-_SIZED_BITS."""
    least, most = exponential_bounds(gap, 1 << UNIT_BITS, bits + _SIZED_BITS)
    return least // high, -(-most // high)


def _integers(offsets: Sequence[int] | NDArray[np.integer]) -> NDArray[np.int64]:
    try:
        scores = offsets if isinstance(offsets, np.ndarray) else np.array([index(each) for each in offsets], np.int64)
        if scores.dtype.kind in "iu" and scores.ndim == 1 and scores.size and scores.max() < 1 << 63:
            return scores.astype(np.int64)
    except (OverflowError, TypeError):
        pass
    remedy = "write at least one whole number of steps of 2^-56, each of 64 bits"
    raise ParameterError("offsets", offsets, reason="are not scores on the lattice", remedy=remedy)


def _upper_weights(gaps: NDArray[np.uint64]) -> tuple[NDArray[np.int64], int]:
    """Return whole numbers w and `bits` with w >= 2^bits e^(-gap 2^-56), hardly more where e^(-gap) matters."""
    whole_part, fine_part = _decay_tables()
    bits = _weight_bits(gaps.size)
    coarse = np.minimum(gaps >> np.uint64(UNIT_BITS - _FINE_BITS), np.uint64((_FARTHEST << _FINE_BITS) - 1))
    place = coarse.astype(np.int64)
    product = whole_part[place >> _FINE_BITS] * fine_part[place & ((1 << _FINE_BITS) - 1)]
    return (product >> (2 * _TABLE_BITS - bits)) + 1, bits


def _weight_bits(candidates: int) -> int:
    """Return how many bits a weight may have so that the sum of all of them fits into 63."""
    return min(_WEIGHT_BITS, 62 - candidates.bit_length())


@cache
def _decay_tables() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return upper bounds of 2^31 e^-j and of 2^31 e^(-j/256)."""
    whole_part = [exponential_bounds(j, 1, _TABLE_BITS)[1] for j in range(_FARTHEST)]
    fine_part = [exponential_bounds(j, 1 << _FINE_BITS, _TABLE_BITS)[1] for j in range(1 << _FINE_BITS)]
    return np.array(whole_part, np.int64), np.array(fine_part, np.int64)


def _is_kept(gap: int, weight: int, weight_bits: int, source: RandomSource) -> bool:
    """Return True with probability 2^weight_bits e^(-gap 2^-56) / weight."""

    def chance(bits: int) -> tuple[int, int]:
        low, high = exponential_bounds(gap, 1 << UNIT_BITS, bits + 8)
        divisor = weight << 8
        return (low << weight_bits) // divisor, -((-high << weight_bits) // divisor)

    return is_below(chance, source)
