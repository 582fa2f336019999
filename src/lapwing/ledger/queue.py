"""Group commit and locks: connections of a process, changes that queue for the writer, and turns of equal questions.

A thread that finds no writer at work leads: it takes all waiting changes, makes them in its own transaction, in the
order of their arrival, and reports to each thread how its change ended. The first that waits when the transaction is
over leads next. A leader never waits for more changes: a group is what arrived while the one before it was written, or
while the leader waited for the lock that another process held.
"""

import copy
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Lock
from typing import Any, Final, TypeVar
from weakref import ReferenceType, ref

from lapwing.ledger.database import ConflictError, Connection, Database, Holder
from lapwing.ledger.entries import Lookups
from lapwing.ledger.states import RefusedError
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import LapwingError, LedgerInDoubtError, LedgerUnwritableError

T = TypeVar("T")

QUIET: Final = 16
"""Leases, or groups with the lock, that find nothing new before an append is tried without either again."""
PATIENCE: Final = 900.0
"""Seconds to wait for the answer of another request: longer than the timeout of any database."""
_SHORTEST, _LONGEST = 0.002, 0.1
"""Seconds between two looks whether it is there."""
MOST: Final = 64
"""The changes of one transaction: more would keep the first one waiting for the last."""


class LazyConnection:
    """One connection that is opened when it is needed, and again when it broke or the process forked."""

    def __init__(self, database: Database) -> None:
        self._lock, self._lock_of = threading.RLock(), os.getpid()
        self._database = database
        self._connection: Connection | None = None
        self._process = os.getpid()
        self._begun = False

    @property
    def lock(self) -> threading.RLock:
        """The lock of whoever uses the connection; the thread that held it at a fork is in the parent."""
        if self._lock_of != os.getpid():
            self._lock, self._lock_of = threading.RLock(), os.getpid()
        return self._lock

    def open(self) -> Connection:
        """Return the connection, as it is."""
        if self._process != os.getpid():
            _left_to_the_parent.append(self._connection)
            self._connection, self._process, self._begun = None, os.getpid(), False
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def idle(self) -> Connection:
        """Return the connection with nothing under way on it: what was interrupted ends with its connection."""
        connection = self.open()
        if self._begun or not self._database.is_idle(connection):
            self.drop()
            connection = self.open()
        return connection

    def begin(self, start: Callable[[Connection], T]) -> T:
        """Begin a transaction by `start`; a connection that broke since it was last used is replaced, once."""
        idle = self.current  # not that of the parent of a fork: to ask about it would take what came for the parent
        try:
            return self._begin(start)
        except Exception:
            if idle is None or not self._database.is_lost(idle):
                raise
            self.drop()
            return self._begin(start)

    def _begin(self, start: Callable[[Connection], T]) -> T:
        connection = self.idle()
        self._begun = True
        return start(connection)

    def undo(self) -> None:
        """End the transaction without a trace; a connection that cannot even do that is dropped."""
        if self._connection is not None and self._begun:
            if self._database.is_busy(self._connection):  # nothing more can be said on it
                self.drop()
                return
            try:
                self._connection.execute("ROLLBACK")
                self._begun = False
            except Exception:  # noqa: BLE001 - after any error the transaction dies with its connection
                self.drop()

    @property
    def is_begun(self) -> bool:
        """Whether a transaction has begun and not ended."""
        return self._begun

    def has_ended(self) -> None:
        """Note that the transaction has ended with its last statement."""
        self._begun = False

    def commit(self) -> None:
        """Make what was written durable."""
        self.open().execute("COMMIT")
        self._begun = False

    @property
    def is_open(self) -> bool:
        """Whether there is a connection now."""
        return self._connection is not None

    @property
    def current(self) -> Connection | None:
        """The connection that this process has now, if it has one."""
        return self._connection if self._process == os.getpid() else None

    def rest(self) -> bool:
        """Close the connection, unless it is in use; return whether it is closed. Nobody waits for that."""
        if not (lock := self.lock).acquire(blocking=False):
            return False
        try:
            if not self._begun:
                self.drop()
            return not self._begun
        finally:
            lock.release()

    def drop(self) -> None:
        """Close the connection; the next use opens another."""
        if self._process != os.getpid():  # after a fork it is the parent's to close
            _left_to_the_parent.append(self._connection)
        elif self._connection is not None:
            with suppress(Exception):
                self._connection.close()
        self._connection, self._begun = None, False


_left_to_the_parent: list[Connection | None] = []
"""Connections that were open when the process forked: not to be used on both sides, nor closed on this one."""


class SpoiledError(Exception):
    """One change of a group failed after it had written: all are undone, and must be made one by one."""


class PendingChange:
    """A change whose thread waits for it, and its result or error."""

    def __init__(self, act: str, change: Callable[[Transaction], Any], lookups: Lookups, *, only_appends: bool) -> None:
        self.act, self.run, self.lookups, self.only_appends = act, change, lookups, only_appends
        self.turn = Lock()  # taken until it leads, or has its end
        self.turn.acquire()
        self.leads = self.has_end = False
        self.result: Any = None
        self.error: BaseException | None = None

    def forget(self) -> None:
        """Drop its result or error: the change was undone."""
        self.result = self.error = None

    def outcome(self) -> Any:
        """Return the result of the change, or raise its error."""
        if self.error is not None:
            raise self.error
        return self.result


class WriterQueue:
    """The queue of changes that wait for the writer; the first of them leads."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._lock, self._waiting, self._is_led, self._process = Lock(), deque[PendingChange](), False, os.getpid()

    def wait(self, one: PendingChange) -> None:
        """Return when a change leads, or has its end."""
        if self._process != os.getpid():  # the threads that waited are in the parent of the fork
            self._begin()
        with self._lock:
            if not self._is_led:
                self._is_led = one.leads = True
                return
            self._waiting.append(one)
        one.turn.acquire()

    def join(self, group: list[PendingChange]) -> None:
        """Add the changes that wait behind the leader to its group, which has at most `MOST`."""
        with self._lock:
            while self._waiting and len(group) < MOST:
                group.append(self._waiting.popleft())

    def leave(self, one: PendingChange) -> None:
        """Remove a change from the queue; if it led, the next one leads."""
        with self._lock:
            if one.leads:
                one.leads, self._is_led = False, bool(self._waiting)
                if self._waiting:
                    following = self._waiting.popleft()
                    following.leads = True
                    following.turn.release()
            elif not one.has_end and one in self._waiting:
                self._waiting.remove(one)


class Rivals:
    """Whether other processes write to the same chain just now, so that it is better to wait for a lease.

    They do from an append that lost the race on, until so many groups in a row found the chain as the last one left it.

    >>> rivals = Rivals()
    >>> rivals.won()
    >>> rivals.are_busy
    True
    >>> for _ in range(QUIET):
    ...     rivals.left(7)
    ...     rivals.found(7)
    >>> rivals.are_busy
    False
    """

    def __init__(self) -> None:
        self._end, self._left = -1, 0

    @property
    def are_busy(self) -> bool:
        """Whether another process is likely to write next."""
        return self._left > 0

    def won(self) -> None:
        """Note that another process was faster."""
        self._left = QUIET

    def found(self, end: int) -> None:
        """Note the number of the last entry when the lock was there."""
        if self._left:
            self._left = self._left - 1 if end == self._end else QUIET

    def left(self, end: int) -> None:
        """Note the number of the last entry after this process has written."""
        self._end = end


def run(group: Sequence[PendingChange], transaction: Transaction) -> None:
    """Make changes one after the other; the error of one that wrote nothing is its own."""
    if len(group) > 1:
        transaction.look_up(tuple(asked for one in group for asked in one.lookups))
    for one in group:
        one.forget()
        before = transaction.writes
        try:
            one.result = one.run(transaction)
        except (LapwingError, RefusedError) as error:
            if len(group) == 1 or transaction.writes != before:
                raise
            one.error = error


@contextmanager
def spoiling(group: Sequence[PendingChange]) -> Iterator[None]:
    """Raise `SpoiledError` where a group fails: an error of one change must not fail the others."""
    try:
        yield
    except (ConflictError, LedgerInDoubtError):
        raise
    except Exception as error:
        if len(group) == 1:
            raise
        raise SpoiledError from error


def end(group: Sequence[PendingChange], error: Exception | None = None) -> None:
    """Wake every thread of a group, with the error if the group failed."""
    for one in group:
        if error is not None:
            # each thread raises its own, or all of them would write into one traceback
            one.error = copy.copy(error) if isinstance(error, LapwingError) else error
        one.has_end = True
        one.turn.release()


class Gate(ABC):
    """Numbered places that one request at a time may hold, among all threads and processes that use a ledger.

    A place is given back when its holder leaves, and also when its process dies: nothing is ever left locked by the
    dead. Nothing about money is decided here; a gate that fails lets two do the same work, and the ledger charges both.
    """

    def __init__(self) -> None:
        self._lock, self._held = Lock(), dict[int, ReferenceType[Holder]]()
        self.process = os.getpid()

    def enter(self, place: int, holder: Holder) -> bool:
        """Take a place, unless another holder has it; return whether it is ours now, or fail if that is unknown."""
        with self._lock:
            last = self._held.get(place)
            if last is not None and last() is not None:
                return False
            self._held[place] = ref(holder)  # first, so that `leave` finds it after any interrupt
            try:
                if last is not None:
                    self._give_back(place)
                granted = self._take(place)
            except Exception as error:
                del self._held[place]
                if isinstance(error, LapwingError):
                    raise
                unknown = "nobody can say whether the same question is being answered just now"
                raise LedgerUnwritableError(f"{unknown} ({error}); nothing was charged") from error
            if not granted:
                del self._held[place]
            return granted

    def leave(self, place: int, holder: Holder) -> None:
        """Give a place back, if this holder has it: also one that was interrupted while it took it."""
        with self._lock:
            if (held := self._held.get(place)) is not None and held() is holder:
                self._give_back(place)
                del self._held[place]

    @abstractmethod
    def _take(self, place: int) -> bool:
        """Lock a place that no thread of this process holds; return whether it is ours now."""

    @abstractmethod
    def _give_back(self, place: int) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Close files and connections."""

    @contextmanager
    def working(self, name: str, patience: float = 0.0) -> Iterator[bool]:
        """Hold a stream while a question of it is decided; yield whether it is ours, after `patience` seconds at most.

        If it is not, a live process is deciding, and the question in flight is its own. Any other work with a `name`
        can be held in the same way, so that other processes see it in progress.
        """
        place, holder = place_of("stream", name), Holder()
        try:
            yield any(self.enter(place, holder) for _ in pauses(patience))
        finally:
            self.leave(place, holder)


@lru_cache(maxsize=256)  # a stream has the same place for each of its questions
def place_of(*what: str) -> int:
    """Return the place of a gate for requests of the same work: a digest of its name."""
    return int(digest(list(what))[:15], 16)


def pauses(patience: float) -> Iterator[None]:
    """Go on at once, and then again and again after a while, for `patience` seconds."""
    pause, end = _SHORTEST, time.monotonic() + patience
    while True:
        yield
        if time.monotonic() >= end:
            return
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
