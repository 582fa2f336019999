"""The source of random bits, and pools of draws made in advance: the time of a draw is independent of its value.

Every sampler takes its bits from a `RandomSource`: the OpenSSL generator of the standard library, else the operating
system. In production that is `SYSTEM`, and there is no seed to set. Another source is handed in where a draw must be
derived again from a sealed secret, and by the tests.

Two random bytes settle a draw or they do not; a candidate is kept or drawn again: the work depends on the value. Timed
from outside, it would betray large noise (Jin, McMurtry, Rubinstein, Ohrimenko: Are We There Yet? Timing and
Floating-Point Attacks on Differential Privacy Systems. IEEE S&P 2022). A pool does that work for thousands of draws at
once, and then hands them out one like the other. Even handing out an integer takes longer where Python must make it,
and it keeps the small ones ready; so the integers are made in advance too.

The rule not to break: a pooled value leaves the pool once, as a copy, in the process that drew it. Forks by Python
empty all pools; forks that Python does not see (a C library's) are seen by the process id, at every draw.
"""

import os
import threading
from collections.abc import Callable
from os import getpid
from typing import Final, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from lapwing.vocabulary.errors import RandomnessError

try:
    # AES-256 in counter mode (NIST SP 800-90A), seeded from the operating system and reseeded after a fork:
    # about 17 times as fast as asking the operating system for every block.
    from ssl import RAND_bytes as _fresh_bytes  # noqa: TID251 - this is the module the ban points to
except ImportError:  # pragma: no cover - a Python without OpenSSL
    from os import urandom as _fresh_bytes  # noqa: TID251 - see above


class RandomSource(Protocol):
    """Anything that hands out bytes no one else has seen."""

    def take(self, count: int) -> bytes:
        """Return `count` bytes, uniform and independent of all bytes before."""


def forget_in_children(forget: Callable[[], None]) -> None:
    """Call `forget` in every forked child, so that no buffer of random values is ever shared by two processes."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


class SystemRandomness:
    """Cryptographic bytes, drawn in blocks: safe to share between threads, and wiped in forked children."""

    _BLOCK = 1 << 14

    _lock: threading.Lock
    _process: int
    _block: bytes
    _used: int

    def __init__(self, fresh_bytes: Callable[[int], bytes] = _fresh_bytes) -> None:
        self._fresh_bytes = fresh_bytes
        self._forget()
        forget_in_children(self._forget)

    def take(self, count: int) -> bytes:
        """Return `count` bytes that were handed out to no one else."""
        if count > self._BLOCK >> 3:
            return self._fresh(count)
        with self._lock:
            if self._process != getpid():  # a fork that Python did not see
                self._empty()
            end = self._used + count
            if end > len(self._block):
                self._block = self._fresh(self._BLOCK)
                self._used, end = 0, count
            taken = self._block[self._used : end]
            self._used = end
        return taken

    def _fresh(self, count: int) -> bytes:
        try:
            fresh = self._fresh_bytes(count)
        except (OSError, NotImplementedError) as refusal:  # ssl.SSLError is an OSError
            raise RandomnessError(f"no {count} random bytes could be had ({refusal}); nothing was drawn") from refusal
        if len(fresh) != count:
            raise RandomnessError(f"asked for {count} random bytes and got {len(fresh)}; nothing was drawn")
        return fresh

    def _forget(self) -> None:
        self._lock = threading.Lock()  # the old one may be held by a thread that does not exist in the child
        self._empty()

    def _empty(self) -> None:
        self._process = getpid()
        self._block, self._used = b"", 0


SYSTEM: Final = SystemRandomness()


def fresh_name() -> str:
    """Return a name that nothing else has."""
    return SYSTEM.take(16).hex()


INTEGERS: Final = 1 << 10  # single draws in a pool: 40 KiB
BLOCK: Final = 1 << 13  # draws for short vectors in a pool: 64 KiB
VEIL: Final = 256  # draws made at least, where there is no pool: a single one hides among these


class Sampler(Protocol):
    """A sampler of many draws at once."""

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
            return self._sampler.draw_many(count, self._source)  # draws in such numbers are a veil of their own
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
