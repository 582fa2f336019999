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
from typing import Any, Protocol

if sys.platform != "win32":
    import fcntl


class Gate(Protocol):
    """Numbered places."""

    def enter(self, place: int) -> bool:
        """Take a place, unless somebody has it; return whether it is ours now."""

    def leave(self, place: int) -> None:
        """Give a place back."""

    def close(self) -> None:
        """Let go of files and connections."""


class FileGate:
    """Places are bytes of an empty file beside the ledger, locked by the operating system.

    Such locks belong to a process and not to an opened file, and all of them go when the process closes the file
    anywhere. So there is one gate a file in each process, and it knows by itself which thread has what.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock, self._held = Lock(), set[int]()
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

    def enter(self, place: int) -> bool:
        """Take a place, unless somebody has it."""
        with self._lock:
            if place in self._held:
                return False
            if sys.platform != "win32":  # where only the threads of this process take turns
                try:
                    fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                except BlockingIOError:
                    return False
            self._held.add(place)
            return True

    def leave(self, place: int) -> None:
        """Give a place back."""
        with self._lock:
            self._held.discard(place)
            if sys.platform != "win32" and self._descriptor >= 0:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)

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


class AdvisoryGate:
    """Places are advisory locks of PostgreSQL, held by a connection of their own; they go when it does."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._lock, self._held = Lock(), set[int]()
        self._process = os.getpid()
        self._connection: Any = None

    def enter(self, place: int) -> bool:
        """Take a place, unless somebody has it."""
        with self._lock:
            if place in self._held or not self._asked("select pg_try_advisory_lock(%s)", place):
                return False
            self._held.add(place)
            return True

    def leave(self, place: int) -> None:
        """Give a place back."""
        with self._lock:
            self._held.discard(place)
            with suppress(Exception):  # where the connection is gone, so is the lock
                self._asked("select pg_advisory_unlock(%s)", place)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

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
