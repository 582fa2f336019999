"""How long appends to a ledger took, in buckets: for whoever runs it."""

from bisect import bisect_left
from threading import Lock
from typing import Final

EDGES: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5)
"""Seconds: an append is counted at the first that it does not exceed, or after the last."""


class AppendTimes:
    """Counts of appends by their duration, and of the changes that went through with them. Thread-safe.

    >>> times = AppendTimes()
    >>> times.add(0.003, 5)
    >>> times.read()
    ([0, 1, 0, 0, 0, 0, 0], 5)
    """

    def __init__(self) -> None:
        self._counts, self._changes, self._lock = [0] * (len(EDGES) + 1), 0, Lock()

    def add(self, seconds: float, changes: int) -> None:
        """Count changes that were made durable together."""
        with self._lock:
            self._counts[bisect_left(EDGES, seconds)] += 1
            self._changes += changes

    def read(self) -> tuple[list[int], int]:
        """Return the counts, and the changes in all."""
        with self._lock:
            return list(self._counts), self._changes
