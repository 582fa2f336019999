"""How often: token buckets by name. A name that was not seen for longest is forgotten first, so memory is bounded."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from lapwing.vocabulary.frozen import frozen


@frozen()
class Rate:
    """How many are let in at once, and how many a second after that."""

    burst: float
    a_second: float


class Buckets:
    """What each name has left of a rate. Threads may share it: two at once must not find a full bucket each."""

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


@frozen()
class Limits:
    """What one person, or one address, may do how often; the defaults are those of docs/server.md."""

    looks: Rate = Rate(burst=60, a_second=30)
    asks: Rate = Rate(burst=20, a_second=4)
    wrong_tokens: Rate = Rate(burst=10, a_second=0.2)
    sign_ins: Rate = Rate(burst=8, a_second=0.2)
    at_once: int = 2
    waiting: int = 64
    tokens: int = 20
    connections: int = 200
