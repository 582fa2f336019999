"""An LRU cache that threads share, limited in entries and in bytes."""

import threading
from collections import OrderedDict
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
_MOST_ENTRIES: Final = 2048
_MOST_BYTES: Final = 64 * 1024 * 1024


class LruCache(Generic[K, V]):
    """A least-recently-used cache, safe for threads.

    Values that are bytes, or were read from bytes, have a size, and the sum of the sizes is limited too: one answer may
    have 20 million.
    """

    def __init__(self, most: int = _MOST_ENTRIES, *, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._kept, self._lock = most, OrderedDict[K, tuple[V, int]](), threading.Lock()
        self._most_bytes, self._bytes = most_bytes, 0

    def get(self, name: K) -> V | None:
        """Return the value of a name, or None, and mark it as used."""
        with self._lock:
            found = self._kept.get(name)
            if found is not None:
                self._kept.move_to_end(name)
            return None if found is None else found[0]

    def put(self, name: K, value: V, *, size: int = 0) -> None:
        """Store a value, and evict the least recently used ones beyond the limits."""
        size = len(value) if isinstance(value, bytes) else size
        with self._lock:
            _, before = self._kept.pop(name, (None, 0))
            self._kept[name] = value, size
            self._bytes += size - before
            while len(self._kept) > self._most or self._bytes > self._most_bytes:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0
