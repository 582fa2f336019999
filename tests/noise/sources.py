"""Sources of bits for tests: reproducible, or written out by hand."""

from hashlib import shake_128


class Stream:
    """An endless stream of bytes that a seed determines. For tests only: production has no seed."""

    def __init__(self, seed: int) -> None:
        self._seed, self._calls = seed, 0

    def take(self, count: int) -> bytes:
        self._calls += 1
        return shake_128(f"{self._seed}/{self._calls}".encode()).digest(count)


class ExhaustedError(Exception):
    """More bits were drawn than were written out."""


class Script:
    """Hands out the bytes it was given, in order, and then no more."""

    def __init__(self, *parts: bytes) -> None:
        self._left = b"".join(parts)

    def take(self, count: int) -> bytes:
        if count > len(self._left):
            raise ExhaustedError
        taken, self._left = self._left[:count], self._left[count:]
        return taken
