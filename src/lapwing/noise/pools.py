"""Draws made in advance, so that how long a draw takes says nothing about what was drawn.

Two random bytes settle a draw or they do not; a candidate is kept or drawn again: the work depends on the value. Timed
from outside, it would betray large noise (Jin, McMurtry, Rubinstein, Ohrimenko: Are We There Yet? Timing and
Floating-Point Attacks on Differential Privacy Systems. IEEE S&P 2022). A pool does that work for thousands of draws at
once, and then hands them out one like the other.

The rule not to break: a pooled value leaves the pool once, as a copy, in the process that drew it.
"""

import threading
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.randomness import SYSTEM, RandomSource

BLOCK: Final = 1 << 13
"""Draws in a pool: 64 KiB."""

VEIL: Final = 256
"""Draws made at least, where there is no pool: a single one hides among so many."""


class Sampler(Protocol):
    """What can draw many at once."""

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """Return `count` independent draws."""


class Pool:
    """Draws of one sampler, handed out in order; safe to share between threads."""

    def __init__(self, sampler: Sampler, source: RandomSource = SYSTEM) -> None:
        self._sampler, self._source = sampler, source
        self._lock = threading.Lock()
        self._used = BLOCK
        self._block: NDArray[np.int64] = np.empty(0, np.int64)
        self._integers = self._block.data

    def draw(self) -> int:
        """Return the next draw."""
        with self._lock:
            if self._used == BLOCK:
                self._refill()
            self._used += 1
            return int(self._integers[self._used - 1])

    def draw_many(self, count: int) -> NDArray[np.int64]:
        """Return the next `count` draws in an array of the caller's own."""
        if count > BLOCK >> 2:
            return self._sampler.draw_many(count, self._source)  # so many are a veil of their own
        with self._lock:
            if self._used + count > BLOCK:
                self._refill()
            self._used += count
            return self._block[self._used - count : self._used].copy()

    def _refill(self) -> None:
        self._block = self._sampler.draw_many(BLOCK, self._source)
        self._integers = self._block.data
        self._used = 0


def veiled(sampler: Sampler, count: int, source: RandomSource) -> NDArray[np.int64]:
    """Return `count` draws made among at least `VEIL`; what is drawn depends on the bytes of `source` alone."""
    return sampler.draw_many(max(count, VEIL), source)[:count].copy()
