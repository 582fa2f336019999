"""Limits on rate and concurrency by name: token buckets and semaphores.

The buckets are an LRU cache of names, so memory is bounded.
"""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol
from weakref import WeakValueDictionary

from lapwing.vocabulary.frozen import frozen

MOST_WAITING: Final = 20
"""Looks of one person that may wait for their turn; each takes as long as a preview, also after its client hung up."""


@frozen()
class Rate:
    """A rate limit: the size of a burst, and how many a second after that."""

    burst: float
    a_second: float


class RateLimit(Protocol):
    """What limits how often something is done under a name."""

    def take(self, name: str) -> float:
        """Take one and return 0, or return in how many seconds there will be one."""

    def give_back(self, name: str) -> None:
        """Give back one that was taken."""


class Buckets:
    """Token buckets, one for each name. Thread-safe: two threads at once must not find a full bucket each."""

    def __init__(self, rate: Rate, *, most_names: int = 10_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._most, self._clock = rate, most_names, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str) -> float:
        """Take one and return 0, or return in how many seconds there will be one.

        >>> buckets = Buckets(Rate(burst=2, a_second=0.5), clock=lambda: 0.0)
        >>> [buckets.take("ana") for _ in range(3)], buckets.take("ben")
        ([0.0, 0.0, 2.0], 0.0)
        """
        with self._lock:
            now = self._clock()
            left, seen = self._left.pop(name, (self._rate.burst, now))
            left = min(self._rate.burst, left + (now - seen) * self._rate.a_second)
            wait = 0.0 if left >= 1 else (1 - left) / self._rate.a_second
            self._left[name] = (left if wait else left - 1, now)
            if len(self._left) > self._most:
                self._left.popitem(last=False)
            return wait

    def give_back(self, name: str) -> None:
        """Give back one that was taken."""
        with self._lock:
            if name in self._left:
                left, seen = self._left[name]
                self._left[name] = min(self._rate.burst, left + 1), seen


class AtOnce:
    """A limit on concurrent work of each name: more waits for its turn, and is refused where too many wait.

    It is for the event loop: waiting holds no thread.
    """

    def __init__(self, at_once: int, most_waiting: int = MOST_WAITING) -> None:
        self._at_once, self._most = at_once, most_waiting
        self._turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Wait for a turn of a name, and hold it; where too many wait already, refuse (`TooManyError`)."""
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = _Turn(self._at_once)
        if turn.waiting >= self._at_once + self._most:
            raise TooManyError(turn.waiting)
        turn.waiting += 1
        try:
            async with turn.free:
                yield
        finally:
            turn.waiting -= 1


class TooManyError(Exception):
    """Too many are under way or wait already."""


class _Turn:
    def __init__(self, at_once: int) -> None:
        self.free, self.waiting = asyncio.Semaphore(at_once), 0


@frozen()
class Limits:
    """Rate limits of one person or one address; the defaults are those of docs/server.md."""

    looks: Rate = Rate(burst=60, a_second=30)
    asks: Rate = Rate(burst=20, a_second=4)
    wrong_tokens: Rate = Rate(burst=10, a_second=0.2)
    sign_ins: Rate = Rate(burst=8, a_second=0.2)
    at_once: int = 2
    waiting: int = 64
    tokens: int = 20
    connections: int = 200
