"""Gates: numbered places that one request at a time may hold, among all threads and processes that use a ledger.

A place is given back when its holder leaves, and also when its process dies: nothing is ever left locked by the dead.
Nothing about money is decided here; a gate that fails lets two do the same work, and the ledger charges both.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol

from lapwing.vocabulary.errors import LapwingError, LedgerUnwritableError

if sys.platform != "win32":
    import fcntl


_TRY: Final = "select pg_try_advisory_lock(%s)"


class Gate(Protocol):
    """Numbered places."""

    def enter(self, place: int, holder: object) -> bool:
        """Take a place, unless somebody has it; return whether it is ours now.

        Raises
        ------
        LedgerUnwritableError : nobody can be asked whether it is free
        """

    def leave(self, place: int, holder: object) -> None:
        """Give a place back, if this holder has it: also one that was interrupted while it took it."""

    def close(self) -> None:
        """Let go of files and connections."""


class FileGate:
    """Places are bytes of an empty file beside the ledger, locked by the operating system.

    Such locks belong to a process and not to an opened file, and all of them go when the process closes the file
    anywhere. So there is one gate a file in each process, and it knows by itself which thread has what.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock, self._held = Lock(), dict[int, object]()
        self.process, self._descriptor, self._users = os.getpid(), -1, 0

    @staticmethod
    def at(path: Path) -> "FileGate":
        """Return the gate of a file."""
        with _opening:
            gate = _gates.get(path)
            if gate is None or gate.process != os.getpid():  # what a fork has copied belongs to the other process
                gate = _gates[path] = FileGate(path)
            gate._users += 1
            return gate

    def enter(self, place: int, holder: object) -> bool:
        """Take a place, unless somebody has it."""
        with self._lock:
            if place in self._held:
                return False
            self._held[place] = holder  # first, so that `leave` finds it after any interrupt
            if sys.platform != "win32":  # where only the threads of this process take turns
                try:
                    fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                except BlockingIOError:
                    del self._held[place]
                    return False
                except OSError as error:
                    del self._held[place]
                    raise _closed(error) from error
            return True

    def leave(self, place: int, holder: object) -> None:
        """Give a place back."""
        with self._lock:
            if self._held.get(place) is holder:
                if sys.platform != "win32" and self._descriptor >= 0:
                    fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
                del self._held[place]

    def close(self) -> None:
        """Close the file, if nobody else in this process uses it."""
        with _opening, self._lock:
            self._users -= 1
            if self._users <= 0 and self.process == os.getpid():
                if self._descriptor >= 0:
                    os.close(self._descriptor)
                self._descriptor = -1
                _gates.pop(self._path, None)

    def _opened(self) -> int:
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._descriptor


_opening = Lock()
_gates: dict[Path, FileGate] = {}


def _closed(error: Exception) -> LedgerUnwritableError:
    return LedgerUnwritableError(
        f"nobody can say whether the same question is being answered just now ({error}); nothing was charged"
    )


class AdvisoryGate:
    """Places are advisory locks of PostgreSQL, held by a connection of their own; they go when it does."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._lock, self._held = Lock(), dict[int, object]()
        self._process = os.getpid()
        self._connection: Any = None

    def enter(self, place: int, holder: object) -> bool:
        """Take a place, unless somebody has it."""
        with self._lock:
            if place in self._held:
                return False
            self._held[place] = holder  # first, so that `leave` finds it after any interrupt
            try:
                granted = self._tried(place)
            except Exception as error:
                del self._held[place]
                raise error if isinstance(error, LapwingError) else _closed(error) from error
            if not granted:
                del self._held[place]
            return granted

    def leave(self, place: int, holder: object) -> None:
        """Give a place back."""
        with self._lock:
            if self._held.get(place) is holder:
                with suppress(Exception):  # where the connection is gone, so is the lock
                    self._asked("select pg_advisory_unlock(%s)", place)
                del self._held[place]

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _tried(self, place: int) -> bool:
        """Try to lock; a connection that broke since it was last used is replaced, once."""
        was_open = self._connection is not None
        try:
            return self._asked(_TRY, place)
        except Exception:
            if not was_open:
                raise
        return self._asked(_TRY, place)

    def _asked(self, statement: str, place: int) -> bool:
        if self._connection is None or self._process != os.getpid():
            self._connection, self._process = self._connect(), os.getpid()
        try:
            (answer,) = self._connection.execute(statement, (place,)).fetchone()
        except BaseException:
            self._drop()
            raise
        return bool(answer)

    def _drop(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            with suppress(Exception):
                self._connection.close()
        self._connection = None
