"""The whole hash chain is checked in the background, after an opening that took most of it from a checkpoint.

An opening that trusts a checkpoint does not read the entries before it. A thread with its own connection follows them
afterwards, from where the last such thread stopped up to the checkpoint, and then from the first entry to where it
began; at last all indexes are compared with the entries. Damage stops the ledger: nothing is released from it any more
(`require`), and the checkpoint is deleted, so that the next opening refuses.

There is one check of a ledger in a process, however often it is opened. It ends with its last user; the next opening
continues with the entries that are left. The thread works a little and rests three times as long, so that questions
hardly wait. Of many chains that are opened, `MOST` are checked at a time; one that somebody waits for is not kept
waiting.
"""

import atexit
import copy
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Final
from weakref import WeakSet

from lapwing.ledger.checkpoint import Checkpoint
from lapwing.ledger.database import Connection, Database
from lapwing.ledger.entries import Entry, Lookup, Receipt, check_chain, read_entry
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerError

SLICE: Final = 100
"""Entries that are followed in one go: less than a millisecond, for which others may have to wait."""
_REST: Final = 3
"""How many times as long as it works it rests."""
LEAST: Final = 1000
"""Entries that are followed after each opening, however short it is: so many openings see all of them. It is no
less than what lets a checkpoint say how far it has come (`checkpoint.EVERY`)."""
MOST: Final = 2
"""Checks of a process that work at the same time, each with a connection of its own."""
_SHORTEST, _LONGEST = 1.0, 60.0
"""Seconds until it is tried again, where the database cannot be reached."""
_COUNTED: Final = {Lookup.REQUEST: "request", Lookup.SETTLES: "settles"}
"""Indexes in which each key stands once, with their fields: it is counted how many they have up to an entry."""
_WORDS: Final = {Lookup.REQUEST: "used a key", Lookup.SETTLES: "settle a question"}


class BackgroundCheck:
    """The check of one ledger in one process, of all entries up to a checkpoint.

    Proof: proofs/ledger.md
    """

    def __init__(self, database: Database, checkpoint: Checkpoint) -> None:
        self.database, self.until, self._keys = database, checkpoint.receipt, checkpoint.keys
        self._began_at, self._at = checkpoint.followed, _end(checkpoint.followed)
        self._has_come_round = self._is_over = False
        self._damage: LedgerDamagedError | None = None
        self._users = 0
        self._begin()

    @staticmethod
    def of(database: Database, checkpoint: Checkpoint) -> "BackgroundCheck":
        """Return the check of a ledger: the running one of this process, if it covers this checkpoint."""
        until = checkpoint.receipt
        with _opening:
            known = _checks.get(database.identity)
            if known is None or not known.covers(until):
                known = _checks[database.identity] = BackgroundCheck(database, checkpoint)
            known._users += 1
            return known

    @property
    def followed(self) -> Receipt | None:
        """The last entry that was followed, from which the next check goes on; None once this one is complete."""
        if self._is_over or self._at is None:
            return None
        seq, hash_ = self._at
        return Receipt(ledger=self.until.ledger, seq=seq, hash=hash_.hex())

    @property
    def has_failed(self) -> bool:
        """Whether damage was found."""
        return self._damage is not None

    def require(self) -> None:
        """Refuse if damage was found so far; this does not wait for the entries that are not checked yet."""
        if self._process != os.getpid() and not self._is_over:  # a fork takes no threads along
            self._begin()
        if self._damage is not None:
            raise copy.copy(self._damage)  # each thread raises its own, or all would write into one traceback

    def wait(self) -> None:
        """Wait until all entries are checked; fail if damage is found."""
        self.require()
        _places.hurry(self)
        self._thread.join()
        self.require()
        if not self._is_over:
            raise LedgerError("the ledger was closed before all of it was checked; open it again")

    def leave(self) -> None:
        """Release one use of the check; it ends with the last."""
        with _opening:
            self._users -= 1
            if self._users:
                return
            if _checks.get(self.database.identity) is self:
                del _checks[self.database.identity]
        self.stop()

    def stop(self) -> None:
        """End the thread, also in the middle of a statement; return when it no longer uses the database."""
        self._stopping.set()
        _places.hurry(self)
        while self._process == os.getpid() and self._thread.is_alive():
            if (connection := self._interruptible) is not None:
                with suppress(Exception):  # it may be closed just now
                    self.database.interrupt(connection)
            self._thread.join(0.01)

    def covers(self, until: Receipt) -> bool:
        """Return whether this check reads all entries of a ledger up to entry `until`."""
        return self.until.ledger == until.ledger and self.until.seq >= until.seq and self._process == os.getpid()

    def _begin(self) -> None:
        self._process, self._stopping = os.getpid(), threading.Event()
        self._interruptible: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="lapwing ledger check", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = _SHORTEST
        while not (self._is_over or self._damage):
            try:
                with _places.place(self):
                    self._check()
                self._is_over = True
            except _StoppedError:
                return
            except Exception as error:  # noqa: BLE001 - raised at the next question, unless the database is only away
                meaning = error if isinstance(error, LedgerError) else self.database.translate(error)
                if isinstance(meaning, LedgerDamagedError):
                    self._damage = meaning
                elif self._stopping.wait(pause):
                    return
                pause = min(2 * pause, _LONGEST)

    def _check(self) -> None:
        miscounted: LedgerDamagedError | None = None
        followed, is_counted, began = 0, False, time.perf_counter()
        with closing(self.database.connect()) as connection:
            for some in self._slices(connection):
                followed += some
                if followed >= LEAST and not is_counted:
                    miscounted, is_counted = self._miscounted(connection), True
                if followed >= LEAST and self._stopping.wait(_REST * (time.perf_counter() - began)):
                    raise _StoppedError
                began = time.perf_counter()
            if miscounted := miscounted if is_counted else self._miscounted(connection):
                raise miscounted  # the chain names no entry that is wrong
            with self._interrupted(connection):
                self.database.inspect(connection)

    @contextmanager
    def _interrupted(self, connection: Connection) -> Iterator[None]:
        """Let `stop` interrupt a long statement."""
        if self._stopping.is_set():
            raise _StoppedError
        self._interruptible = connection
        try:
            yield
        except Exception as error:
            if self._stopping.is_set():
                raise _StoppedError from error
            raise
        finally:
            self._interruptible = None

    def _miscounted(self, connection: Connection) -> LedgerDamagedError | None:
        """Return an error that names an index with fewer or more keys than the entries have; None if all agree."""
        for lookup, field in _COUNTED.items():
            statement = self.database.phrase(self.database.counting(field))
            with self._interrupted(connection):
                (found,) = connection.execute(statement, (self.until.seq,)).fetchone()
            if found != self._keys.count(lookup):
                what = f"{found:,} of the {self._keys.count(lookup):,} entries that {_WORDS[lookup]}"
                where = f"up to entry {self.until.seq} of {self.database.place}"
                return LedgerDamagedError(f"an index finds {what}, {where}: it is damaged")
        return None

    def _slices(self, connection: Connection) -> Iterator[int]:
        """Follow the chain from where it was left up to the end, and then from the first entry to there."""
        if not self._has_come_round:
            yield from self._leg(connection, self.until)
            self._has_come_round, self._at = True, None
        if self._began_at is not None:
            yield from self._leg(connection, self._began_at)

    def _leg(self, connection: Connection, until: Receipt) -> Iterator[int]:
        after, followed = self.followed, 0
        entries = self._entries(connection, after.seq if after else 0, until.seq)
        for entry in check_chain(until.ledger, entries, last=until.seq, head=bytes.fromhex(until.hash), after=after):
            self._at, followed = (entry.seq, entry.hash), followed + 1
            if followed == SLICE:
                yield followed
                followed = 0
        yield followed

    def _entries(self, connection: Connection, after: int, until: int) -> Iterator[Entry]:
        page = self.database.phrase(f"{_ENTRIES} where seq > ? and seq <= ? order by seq limit {SLICE}")
        while after < until:
            try:
                rows = connection.execute(page, (after, until)).fetchall()
            except Exception:
                self._name_unreadable(connection, after, min(after + SLICE, until))
                raise
            if not rows:
                return
            for row in rows:
                yield read_entry(row)
            after = rows[-1][0]

    def _name_unreadable(self, connection: Connection, after: int, until: int) -> None:
        """Refuse with the number of the first unreadable entry, after a page of entries could not be read."""
        one = self.database.phrase(f"{_ENTRIES} where seq = ?")
        for seq in range(after + 1, until + 1):
            try:
                connection.execute(one, (seq,)).fetchall()
            except Exception as error:
                meaning = self.database.translate(error)
                if isinstance(meaning, LedgerDamagedError):
                    raise LedgerDamagedError(f"cannot be read ({error})", seq=seq) from error
                raise


def _end(receipt: Receipt | None) -> tuple[int, bytes] | None:
    return None if receipt is None else (receipt.seq, bytes.fromhex(receipt.hash))


class _StoppedError(Exception):
    """The last user of the ledger is gone: the check ends here."""


class _Places:
    """The places of the checks that work at the same time."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Let all be free: also after a fork, which takes no threads along, but the locks that they held."""
        self._changed = threading.Condition()
        self._taken, self._hurried = set[BackgroundCheck](), WeakSet[BackgroundCheck]()

    @contextmanager
    def place(self, check: BackgroundCheck) -> Iterator[None]:
        """Wait for a place, and have it for a while."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._taken) < MOST or check in self._hurried)
            self._taken.add(check)
        try:
            yield
        finally:
            with self._changed:
                self._taken.remove(check)
                self._changed.notify_all()

    def hurry(self, check: BackgroundCheck) -> None:
        """Let a check work whether there is a place or not: somebody waits for its end."""
        with self._changed:
            self._hurried.add(check)
            self._changed.notify_all()


_ENTRIES: Final = "select seq, body, hash from entries"
_places = _Places()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_places.begin)
_opening = threading.Lock()
_checks: dict[str, BackgroundCheck] = {}


@atexit.register
def _stop_all() -> None:
    """End all threads before the interpreter does, also those of ledgers that were never closed."""
    for one in list(_checks.values()):
        one.stop()
