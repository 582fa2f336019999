"""Leases: for a moment one process appends to a chain and others wait, where several would at once.

To hand a chain over takes longer than a charge: the next process has to wake up, to follow what the others wrote and to
read the account as they left it. So whoever has the lease keeps it for `SECONDS`, through all groups of changes that
come by then. The next in line follows the chain meanwhile, once at the beginning and once near the end.

A lease is a courtesy and no safeguard: an append checks that the chain ends where it did, with a lease and without one.
It is made of locks of the connection that writes, so it ends with the connection, and with the process.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from lapwing.ledger.database import ConflictError, Connection, Database
from lapwing.ledger.queue import LazyConnection

SECONDS: Final = 0.04
"""How long a lease is kept: some sixty charges, and less than a person notices."""
_BEFORE: Final = 0.12
"""The part of a lease that is left when the next in line follows the chain again."""


class Lease:
    """The lease of one process on one chain. Whoever uses it holds the lock of the connection that writes."""

    def __init__(self, database: Database, writer: LazyConnection) -> None:
        self._database, self._writer = database, writer
        self._holder: Connection | None = None
        self._over_at, self._is_next = 0.0, False

    def take(self, follow: Callable[[], None]) -> bool:
        """Wait until this process has the lease; return false if it had it before.

        `follow` takes in what the others have written. Where somebody who stands still does not give the lease back
        within a second, or the connection had gone, it is a `ConflictError`, and the lock of the chain decides.
        """
        if self._is_held:
            return False
        connection = self._writer.idle()
        try:
            self._wait(connection, follow)
            self._holder, self._over_at, self._is_next = connection, time.monotonic() + SECONDS, True
            self._watch()
        except BaseException as error:
            does_without = self._database.has_waited_enough(error) or self._database.is_lost(connection)
            self._holder = None
            self._writer.drop()  # its locks end with it
            if does_without:
                raise ConflictError from error
            raise
        return True

    def _watch(self) -> None:
        """Have the lease given back when its time is over, also if nothing is written any more."""
        watch = threading.Timer(SECONDS, self._end_in_time, (self._over_at,))
        watch.daemon = True
        try:
            watch.start()
        except RuntimeError as error:  # no more threads
            raise ConflictError from error

    def _wait(self, connection: Connection, follow: Callable[[], None]) -> None:
        *_, ((is_free,),) = self._database.together(connection, [(one, ()) for one in self._database.stand_in_line])
        if not is_free:
            begun = time.monotonic()
            follow()
            time.sleep(max(0.0, begun + (1 - _BEFORE) * SECONDS - time.monotonic()))
            follow()
            self._database.together(connection, [(one, ()) for one in self._database.begin_lease])

    def used(self) -> None:
        """Note that it was used: the next in line may stand behind it now, and have it once its time is over.

        Whoever comes next begins to follow the chain then, beside the holder and not before it.
        """
        if self._is_held and time.monotonic() >= self._over_at:
            self.end()
        elif self._is_held and self._is_next:
            self._is_next = False
            self._run(self._database.leave_line)

    def end(self) -> None:
        """Give the lease back, if it is held."""
        if self._is_held:
            self._holder = None
            self._run(self._database.end_lease)

    def _run(self, statements: Sequence[str]) -> None:
        """Run statements; a failure ends the connection, and is none of what was appended, which is durable already."""
        try:
            for statement in statements:
                self._writer.idle().execute(statement)
        except Exception:  # noqa: BLE001 - whatever it is, it must not look as if an append had failed
            self._writer.drop()

    @property
    def _is_held(self) -> bool:
        return self._holder is not None and self._holder is self._writer.current

    def _end_in_time(self, over_at: float) -> None:
        """Give this lease back, unless another one came after it."""
        with self._writer.lock:
            if self._over_at == over_at:
                self.end()
