"""Where the bits come from: the OpenSSL generator of the standard library, else the operating system.

Every sampler takes its bits from a `RandomSource`. In production that is `SYSTEM`, and there is no seed to set. Another
source is handed in where a draw must be derived again from a sealed secret, and by the tests.
"""

import os
import threading
from collections.abc import Callable
from os import getpid
from typing import Final, Protocol

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
