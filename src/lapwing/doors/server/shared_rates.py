"""Rate limits that hold over all processes and hosts of one ledger: token buckets in the store of people.

What keeps guessing and spending slow is counted here: tries with wrong tokens, tries with passwords, and, where the
store is shared by hosts, whatever may spend. Looks that cost nothing are counted by each process for itself, because
what they must not use up is the processor of that process.

A bucket is one number, the moment at which it will be full again. Taking one moves it by the time that one takes to
come back, in one statement that does nothing where too little is left, so that two hosts at once do not both find the
last one. The clock is that of the database: those of the hosts may differ. A moment further away than any that can be
reached by taking shows that the clock was set back, and counts as a full bucket.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Final

from lapwing.doors.server.door_store import DoorStore
from lapwing.doors.server.rates import Buckets, Limits, Rate, RateLimit
from lapwing.doors.server.sign_in_limits import SignInLimits
from lapwing.vocabulary.frozen import frozen

_SECOND: Final = 1_000_000
"""Moments are whole microseconds."""
_JITTER: Final = 60 * _SECOND
"""By how much a clock may go back before a full bucket is assumed."""
_TIDY: Final = 60.0
"""Seconds between two removals of buckets that are full: a full one and a missing one are the same."""

_TAKE: Final = """
insert into tries (name, full_at) values (?, {now} + cast(? as bigint))
on conflict (name) do update
    set full_at = cast(? as bigint) + case
        when tries.full_at > {now} and tries.full_at <= {now} + cast(? as bigint) then tries.full_at else {now} end
    where tries.full_at <= {now} + cast(? as bigint) or tries.full_at > {now} + cast(? as bigint)
"""
_LEFT: Final = "select full_at - {now} from tries where name = ?"
_GIVE_BACK: Final = "update tries set full_at = full_at - ? where name = ?"
_REMOVE_FULL: Final = "delete from tries where full_at <= {now}"


class SharedBuckets:
    """Token buckets that all processes of a store share, each kind of try with names of its own.

    The buckets of this process come first, with the same rate: what they refuse is refused without asking the store,
    so that a flood of tries does not become one of statements.
    """

    def __init__(
        self,
        store: DoorStore,
        kind: str,
        rate: Rate,
        *,
        most_names: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._own = Buckets(rate, most_names=most_names, clock=clock)
        self._store, self._kind, self._clock = store, kind, clock
        self._one = max(1, math.ceil(_SECOND / rate.a_second))
        self._slack = int(max(rate.burst - 1, 0) * self._one)
        self._tidied, self._tidying = clock(), threading.Lock()

    def take(self, name: str) -> float:
        """Take one and return 0, or return in how many seconds there will be one."""
        if wait := self._own.take(name):
            return wait
        self._tidy()
        place, furthest = f"{self._kind} {name}", self._slack + self._one + _JITTER
        values = (place, self._one, self._one, furthest, self._slack, furthest)
        if self._store.do(_TAKE.format(now=self._store.now), *values):
            return 0.0
        self._own.give_back(name)
        found = self._store.one(_LEFT.format(now=self._store.now), place)
        ahead = self._slack + 1 if found is None else int(found[0])
        return max(ahead - self._slack, 1) / _SECOND

    def give_back(self, name: str) -> None:
        """Give back one that was taken."""
        self._own.give_back(name)
        self._store.do(_GIVE_BACK, self._one, f"{self._kind} {name}")

    def _tidy(self) -> None:
        with self._tidying:
            now = self._clock()
            if now - self._tidied < _TIDY:
                return
            self._tidied = now
        self._store.do(_REMOVE_FULL.format(now=self._store.now))


@frozen()
class RateLimits:
    """The rate limits of a process that programs and pages share: on spending, and on guesses."""

    asks: RateLimit
    wrong_tokens: RateLimit
    sign_ins: SignInLimits


def rate_limits(store: DoorStore, limits: Limits) -> RateLimits:
    """Return the rate limits of a server: those on guesses hold wherever the store is shared, as far as it is.

    Those on spending hold over all hosts of a store that is reached through a network. With a file they hold in each
    process: a charge would wait for one more write, and all processes are on one machine, whose operator starts them.
    """

    def shared(kind: str, rate: Rate, most_names: int = 10_000) -> RateLimit:
        return SharedBuckets(store, kind, rate, most_names=most_names)

    return RateLimits(
        asks=shared("asks", limits.asks) if store.is_remote else Buckets(limits.asks),
        wrong_tokens=shared("wrong tokens", limits.wrong_tokens),
        sign_ins=SignInLimits(limits.sign_ins, shared),
    )
