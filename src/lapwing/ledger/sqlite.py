"""A ledger in one SQLite file: write-ahead log, every commit synced, one writer at a time among all processes.

The file must be on a local disk: SQLite's locks do not work over network file systems.
"""

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final

from lapwing.ledger.database import (
    INDEXES,
    NOTHING_EXPECTED,
    SQLITE_TABLES,
    SQLITE_VIEWS,
    Connection,
    Database,
    Expected,
    Row,
    misplaced_answers,
    require_found,
)
from lapwing.ledger.entries import Entry, sync_folder
from lapwing.ledger.queue import Gate
from lapwing.ledger.store import fault_point
from lapwing.vocabulary.codec import FORMAT
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerDurabilityError,
    LedgerError,
    LedgerSchemaError,
    LedgerUnwritableError,
)

if sys.platform != "win32":
    import fcntl

_APPLICATION: Final = 0x6C617077  # "lapw": the application id that makes this SQLite file a ledger
_OLDEST: Final = (3, 38, 0)  # the first with ->>
_FULL: Final = 2

_SETTINGS: Final = (
    ("journal_mode", "wal", "wal"),
    ("synchronous", "full", _FULL),
    ("fullfsync", "on", 1),  # macOS syncs to the platter only when asked in these words; elsewhere it means nothing
    ("checkpoint_fullfsync", "on", 1),
    ("secure_delete", "on", 1),
    ("cell_size_check", "on", 1),
    ("temp_store", "memory", 2),  # for the views of its chain
)

_MISPLACED: Final = """
with said as materialized (
    select answer.value as digest, entries.seq as seq, answer.key as place
    from all_entries as entries {0}, json_each(entries.record, '$.recalls') as answer
    where entries.chain = ? and entries.record ->> 'stream' is not null and answer.type = 'text'
)
select * from (select * from said except select digest, seq, place from recalls)
union all select * from (select digest, seq, place from recalls except select * from said)
limit 1"""
"""Answers of batches that their index does not find where an entry has them, or finds where none has."""

_IS_MOST: Final = "select (select seq from chains where chain = ?) >= sum(seq) * 0.5 from chains"
_INDEXED: Final = "select sql from sqlite_schema where type = 'index' and sql is not null"

_UNWRITABLE: Final = {
    sqlite3.SQLITE_PERM: "permission was denied",
    sqlite3.SQLITE_BUSY: "another process has held its lock for too long",
    sqlite3.SQLITE_LOCKED: "another connection has held its lock for too long",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_IOERR: "the disk failed",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
}


class SqliteDatabase(Database):
    """One file. `patience` is how many seconds it waits for other writers; tests put a failing disk into `driver`."""

    begin_writing = ("BEGIN IMMEDIATE",)
    begin_reading = ("BEGIN",)
    appends_atomically = False
    keeps_head = True

    def __init__(
        self,
        path: Path,
        *,
        patience: float = 30.0,
        driver: Callable[[Path], Connection] | None = None,
    ) -> None:
        self.path, self._patience, self._driver, self.number = path, patience, driver or _open, 0
        self.head_path: Path | None = path.with_name(path.name.removesuffix(".db") + ".head")
        self.head = self.head_of(0)

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def identity(self) -> str:
        """The path of the file, with links resolved, and the number of the chain."""
        return f"{self.path.resolve()} {self.number}"

    def _dial(self) -> Connection:
        _require_version()
        self._require_file()
        return self._driver(self.path)

    def _insist(self, connection: Connection) -> None:
        connection.execute(f"pragma busy_timeout = {int(self._patience * 1000)}")
        (application,) = connection.execute("pragma application_id").fetchone()
        if application != _APPLICATION:
            raise LedgerSchemaError(f"{self.place} is an SQLite file, but not a ledger of lapwing; name the right file")
        for setting, wanted, shown in _SETTINGS:
            connection.execute(f"pragma {setting} = {wanted}").fetchall()
            (found,) = connection.execute(f"pragma {setting}").fetchone()
            if found != shown:
                raise LedgerDurabilityError(
                    f"{setting} of {self.place}", found, remedy=f"it must be {wanted}: is the file on a local disk?"
                )
        for view in SQLITE_VIEWS:
            connection.execute(view.format(self.number))

    def _require_file(self) -> None:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            raise LedgerUnwritableError(
                f"there is no ledger at {self.place}; restore the newest backup and check it with lapwing ledger "
                "verify --receipt RECEIPT, or name the right file"
            ) from None
        if not size:
            raise LedgerDamagedError(f"{self.place} is empty, and a ledger never is")
        if not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK):
            raise LedgerUnwritableError(
                f"{self.place} or its folder is read-only, and even reading it takes a lock that is a file beside it; "
                "give this user write permission for both, or work as a user who has it"
            )

    def phrase(self, statement: str) -> str:
        """Return the statement as it is: `?` is SQLite's mark for values."""
        return statement

    def translate(self, error: Exception) -> LedgerError | None:
        """Translate an error of SQLite."""
        if isinstance(error, UnicodeDecodeError):  # the message of SQLite is not UTF-8
            return LedgerDamagedError(f"{self.place} is damaged: {error.reason}")
        if not isinstance(error, sqlite3.Error):
            return None
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in _UNWRITABLE:
            return LedgerUnwritableError(
                f"{self.place} cannot be used: {_UNWRITABLE[primary]} ({error}); nothing was charged"
            )
        return LedgerDamagedError(f"{self.place} is damaged: {error}")

    def append(
        self,
        connection: Connection,
        entries: Sequence[Entry],
        before: Entry,
        *,
        expected: Expected = NOTHING_EXPECTED,
        commit: bool = False,
    ) -> bool:
        """Add entries; the transaction is alone, so the chain ends where it did, and lookups find what they found."""
        del before, expected
        for entry in entries:
            values = (self.number, *entry)
            connection.execute("insert into all_entries (chain, seq, body, hash) values (?, ?, ?, ?)", values)
        end = (entries[-1].seq, entries[-1].hash, self.number)
        connection.execute("update chains set seq = ?, hash = ? where chain = ?", end)
        if commit:
            connection.execute("COMMIT")
        return True

    def hashes(self, connection: Connection, numbers: Sequence[int]) -> list[Row]:
        """Return the numbers and hashes of entries."""
        statement = "select seq, hash from entries where seq in (select value from json_each(?))"
        rows: list[Row] = connection.execute(statement, (json.dumps(numbers),)).fetchall()
        return rows

    def stamp(self, connection: Connection) -> object:
        """Return SQLite's count of the commits of others; a connection that only reads makes none of its own."""
        return connection.execute("pragma data_version").fetchone()[0]

    def shred(self, connection: Connection) -> None:
        """Empty the write-ahead log, the last place where deleted (and already overwritten) secrets linger."""
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()

    def inspect(self, connection: Connection) -> None:
        """Have SQLite check the whole file, where most of it is this chain, or else what is looked up in the chain.

        The answers of batches are found by a table of their own, which is compared with the entries.
        """
        (is_most,) = connection.execute(_IS_MOST, (self.number,)).fetchone()
        if is_most:
            self.inspect_all(connection)
            misplaced = _MISPLACED.format("indexed by entries_stream")  # which was found to have them all
        else:
            for (defined,) in connection.execute(_INDEXED):
                if _definition(str(defined)) not in _DEFINED:
                    raise LedgerDamagedError(f"{self.place} is damaged: one of its indexes is {defined}")
            require_found(connection, self.place, is_directory=not self.number)
            misplaced = _MISPLACED.format("")
        if connection.execute(misplaced, (self.number,)).fetchone() is not None:
            raise misplaced_answers(self.place)

    def inspect_all(self, connection: Connection) -> None:
        """Have SQLite check its pages, and its indexes against its tables."""
        (found,) = connection.execute("pragma integrity_check(1)").fetchone()
        if found != "ok":
            raise LedgerDamagedError(f"{self.place} is damaged: {found}")

    def counting(self, field: str) -> str:
        """Return the statement that counts entries by their index, which SQLite would not use if it were not told."""
        return f"""select count(*) from all_entries indexed by entries_{field}
            where chain = {self.number} and record ->> '{field}' is not null and +seq <= ?"""  # noqa: S608

    def interrupt(self, connection: Any) -> None:
        """Let a statement that another thread runs fail."""
        connection.interrupt()

    def create(self, ledger: str, head: bytes) -> None:
        """Make the file, whole or not at all; only the owner may read it."""
        _require_version()
        if self.path.exists():
            raise self._made_already()
        self.begin_head(ledger)
        making = self.path.with_name(f"{self.path.name}.creating-{os.getpid()}")
        os.close(os.open(making, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            with closing(self._driver(making)) as connection:
                connection.execute("pragma synchronous = extra")
                connection.execute(f"pragma application_id = {_APPLICATION}")
                connection.execute("BEGIN IMMEDIATE")
                for statement in SQLITE_TABLES:
                    connection.execute(statement)
                connection.execute("insert into chains values (0, ?, ?, 0, ?)", (ledger, FORMAT, head))
                connection.execute("COMMIT")
            fault_point("create.written")
            os.link(making, self.path)  # fails if someone else was faster, where a rename would overwrite
            sync_folder(self.path.parent)
            fault_point("create.committed")
        except FileExistsError:
            raise self._made_already() from None
        finally:
            with suppress(FileNotFoundError):
                making.unlink()

    def _made_already(self) -> LedgerUnwritableError:
        return LedgerUnwritableError(f"there is a ledger at {self.place} already; open it")

    def gate(self) -> "FileGate":
        """Return the gate of requests: locks on a file in the folder of the ledger."""
        return FileGate.at(self.path.resolve().with_name(f"{self.path.name}-turns"))


def _definition(statement: str) -> str:
    """Return what an index is on; SQLite spells the words before that in its own way."""
    return statement.partition("entries_")[2]


_DEFINED: Final = frozenset(map(_definition, INDEXES))


def _open(path: Path) -> Any:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def _require_version() -> None:
    if sqlite3.sqlite_version_info < _OLDEST:
        raise LedgerSchemaError(f"SQLite {sqlite3.sqlite_version} is too old; use a Python with SQLite 3.38 or newer")


def stream_names(path: Path) -> list[str]:
    """Return the streams that the ledger in a file has ever had, without opening it for writing; none if it fails.

    A shell completes names with it while a person types, so it neither waits nor checks.
    """
    opened = "select record ->> 'stream' from all_entries where record ->> 'kind' = 'opening'"
    address = f"{path.absolute().as_uri()}?mode=ro"
    with suppress(OSError, sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as ledger:
        return [str(name) for (name,) in ledger.execute(opened)]
    return []


class FileGate(Gate):
    """A gate whose places are bytes of an empty file in the folder of the ledger, locked by the operating system.

    Such locks belong to a process and not to an opened file, and closing the file anywhere in the process releases all
    of them. So each process has one gate for a file, and the gate itself records which thread holds what.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._descriptor, self._users = path, -1, 0

    @staticmethod
    def at(path: Path) -> "FileGate":
        """Return the gate of a file."""
        with _opening:
            gate = _gates.get(path)
            if gate is None or gate.process != os.getpid():  # after a fork, the copied gate belongs to the parent
                gate = _gates[path] = FileGate(path)
            gate._users += 1
            return gate

    def _take(self, place: int) -> bool:
        if sys.platform != "win32":  # where only the threads of this process take turns
            try:
                fcntl.lockf(self._open_lock(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except BlockingIOError:
                return False
        return True

    def _give_back(self, place: int) -> None:
        if sys.platform != "win32" and self._descriptor >= 0:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Close the file with its last user in this process."""
        with _opening, self._lock:
            self._users -= 1
            if self._users <= 0 and self.process == os.getpid():
                if self._descriptor >= 0:
                    os.close(self._descriptor)
                self._descriptor = -1
                _gates.pop(self._path, None)

    def _open_lock(self) -> int:
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._descriptor


_opening = Lock()
_gates: dict[Path, FileGate] = {}
