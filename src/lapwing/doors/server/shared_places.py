"""Places for the jobs of a person over all hosts of a ledger: whoever waits at one holds no thread and no other place.

A person has as many places as jobs may run at once. Each is a lock of the ledger's database that belongs to the
connection of a process, so that those of a process that dies are free again with it, and no clock decides about it.
Taking one is one round trip, as long as no other host has it. It is given back when nobody waits for that.

Nothing about money is decided here: should the database be restarted, and all locks be gone with it, somebody has more
jobs than they should until those end.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Lock
from typing import Final

from anyio import to_thread

from lapwing.ledger.database import Holder, Turns
from lapwing.ledger.queue import place_of

_SHORTEST, _LONGEST = 0.01, 0.2
"""Seconds between two looks whether a place is free."""
_WHAT: Final = "job"


class SharedPlaces:
    """The places of all persons: `at_once` of each, in the gate of a ledger of this name."""

    def __init__(self, gate: Turns, ledger: str, at_once: int) -> None:
        self._gate, self._ledger, self._at_once = gate, ledger, at_once
        self._first = os.getpid() % at_once  # hosts begin at different ones: then the first is mostly free
        self._leaving = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def of(self, person: str) -> AsyncIterator[None]:
        """Wait for a place of a person, and hold it."""
        taken = await self._take(person)
        try:
            yield
        finally:
            self._leave(taken)

    async def _take(self, person: str) -> "_Place":
        pause = _SHORTEST
        while True:
            for number in range(self._at_once):
                turn = (self._first + number) % self._at_once
                place = _Place(self._gate, place_of(_WHAT, self._ledger, person, str(turn)))
                try:
                    if await to_thread.run_sync(place.take):
                        return place
                except BaseException:  # it may have been cancelled while a thread took it
                    self._leave(place)
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    def _leave(self, place: "_Place") -> None:
        leaving = asyncio.create_task(to_thread.run_sync(place.leave))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)

    async def stop(self) -> None:
        """Wait until all that were left are given back, before the gate is closed."""
        if self._leaving:
            await asyncio.wait(self._leaving)


class _Place:
    """One place that a job takes once and leaves once, in whichever order these come."""

    def __init__(self, gate: Turns, number: int) -> None:
        self._gate, self._number, self._holder = gate, number, Holder()
        self._lock, self._is_left = Lock(), False

    def take(self) -> bool:
        """Take it, if it is free and was not left before."""
        with self._lock:
            return not self._is_left and self._gate.enter(self._number, self._holder)

    def leave(self) -> None:
        """Give it back, if it was taken; it is not taken any more."""
        with self._lock:
            self._is_left = True
            self._gate.leave(self._number, self._holder)
