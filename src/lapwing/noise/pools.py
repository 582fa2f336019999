"""Draws made in advance, so that how long a draw takes says nothing about what was drawn.

Two random bytes settle a draw or they do not; a candidate is kept or drawn again: the work depends on the value. Timed
from outside, it would betray large noise (Jin, McMurtry, Rubinstein, Ohrimenko: Are We There Yet? Timing and
Floating-Point Attacks on Differential Privacy Systems. IEEE S&P 2022). A pool does that work for thousands of draws at
once, and then hands them out one like the other.

Even handing out an integer takes longer where Python must make it, and it keeps the small ones ready. So the integers
are made in advance too.

The rule not to break: a pooled value leaves the pool once, as a copy, in the process that drew it. Forks by Python
empty all pools; forks that Python does not see (a C library's) are seen by the process id, at every draw.
"""

import threading
from os import getpid
from typing import Final, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.randomness import SYSTEM, RandomSource, forget_in_children

INTEGERS: Final = 1 << 10
"""Single draws in a pool: 40 KiB."""

BLOCK: Final = 1 << 13
"""Draws for short vectors in a pool: 64 KiB."""

VEIL: Final = 256
"""Draws made at least, where there is no pool: a single one hides among so many."""


class Sampler(Protocol):
    """What can draw many at once."""

    def draw_many(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """Return `count` independent draws."""


class Pool:
    """Draws of one sampler, handed out in order; safe to share between threads, and empty in forked children.

    Proof: proofs/laws.md
    """

    _lock: threading.Lock
    _integers: list[int]
    _block: NDArray[np.int64]
    _used: int
    _process: int

    def __init__(self, sampler: Sampler, source: RandomSource = SYSTEM) -> None:
        self._sampler, self._source = sampler, source
        self.forget()
        _POOLS.add(self)

    def forget(self) -> None:
        """Drop all draws that were made in advance."""
        self._lock = threading.Lock()  # in a child, the old one may be held by a thread that does not exist there
        self._empty()

    def _empty(self) -> None:
        self._process = getpid()
        self._integers = []
        self._block, self._used = np.empty(BLOCK, np.int64), BLOCK

    def draw(self) -> int:
        """Return the next draw."""
        with self._lock:
            if self._process != getpid():
                self._empty()
            if not self._integers:
                self._integers = self._sampler.draw_many(INTEGERS, self._source).tolist()
            return self._integers.pop()

    def draw_many(self, count: int) -> NDArray[np.int64]:
        """Return the next `count` draws in an array of the caller's own."""
        if count > BLOCK >> 2:
            return self._sampler.draw_many(count, self._source)  # so many are a veil of their own
        with self._lock:
            if self._process != getpid():
                self._empty()
            if self._used + count > BLOCK:
                self._block, self._used = self._sampler.draw_many(BLOCK, self._source), 0
            self._used += count
            return self._block[self._used - count : self._used].copy()


_POOLS: WeakSet[Pool] = WeakSet()


def _forget_all() -> None:
    for pool in list(_POOLS):
        pool.forget()


forget_in_children(_forget_all)


def drawn_among_many(sampler: Sampler, count: int, source: RandomSource) -> NDArray[np.int64]:
    """Return `count` draws made among at least `VEIL`; what is drawn depends on the bytes of `source` alone."""
    return sampler.draw_many(max(count, VEIL), source)[:count].copy()
