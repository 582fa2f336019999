"""Where entries are kept: one serialised, durable transaction at a time, in a file or in a database server.

A store knows nothing of budgets. It promises three things: a writing block is alone and commits as a whole; when it
ends without an error, what it wrote survives a power cut; when it ends with `LedgerInDoubtError`, nobody knows.

A block that appends one entry and does nothing else may hurry: it reads without a lock, and its entry is added by one
statement that does nothing if the chain has grown meanwhile. Where that is no gain, hurrying is writing.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import ref

from lapwing.ledger.entries import Entry
from lapwing.ledger.faults import fault_point
from lapwing.ledger.head import HeadFile
from lapwing.ledger.schema import Migration
from lapwing.vocabulary.errors import LedgerError, LedgerInDoubtError, LedgerUnwritableError

if TYPE_CHECKING:
    from lapwing.ledger.gates import Gate

Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Any, ...]


class Connection(Protocol):
    """What sqlite3 and psycopg have in common."""

    def execute(self, statement: str, values: Sequence[Value] = ..., /) -> Any:
        """Run one statement and return a cursor."""

    def close(self) -> None:
        """Let go of it."""


class Database(Protocol):
    """What differs between SQLite and PostgreSQL."""

    @property
    def place(self) -> str:
        """Where it is, for messages: never a password."""

    head: HeadFile | None
    """Where the newest entry that was told of is kept, outside the database."""

    @property
    def keeps_head(self) -> bool:
        """Whether that file has been there for as long as the ledger, so that one without it is refused."""

    @property
    def begin_writing(self) -> Sequence[str]:
        """The statements after which this transaction is the only one that may write."""

    @property
    def begin_reading(self) -> Sequence[str]:
        """The statements after which this transaction sees one moment."""

    def connect(self) -> Connection:
        """Return a new connection in autocommit mode whose durability settings were read back and are strong."""

    def phrase(self, statement: str) -> str:
        """Return a statement that is written with `?` for values as this database wants it."""

    def translate(self, error: Exception) -> LedgerError | None:
        """Return what a failure of the database means, or `None` if the error is not the database's."""

    @property
    def hurries(self) -> bool:
        """Whether `append` outside a transaction is atomic and durable by itself."""

    def append(self, connection: Connection, entry: Entry, before: Entry) -> bool:
        """Add `entry` to a chain that ends with `before`, and move its end; return whether that is where it ended."""

    def is_lost(self, connection: Connection) -> bool:
        """Say whether the other end of a connection is gone, so that a new one must be made."""

    def may_have_committed(self, connection: Connection, error: Exception) -> bool:
        """Say whether a statement that failed with `error` may have been committed all the same."""

    def shred(self, connection: Connection) -> None:
        """Overwrite what was deleted, as far as this database can."""

    def inspect(self, connection: Connection) -> None:
        """Look for damage in the structures of the database, and for an index that disagrees with the entries."""

    def create(self, steps: Sequence[Migration], ledger: str, head: bytes) -> None:
        """Make an empty ledger with the name `ledger` and begin its head, whole or not at all."""

    def statements(self, step: Migration) -> Sequence[str]:
        """Return a step of the schema in the words of this database."""

    def gate(self) -> "Gate":
        """Return where requests take turns."""


class Rows:
    """What can be asked inside a transaction. Statements have `?` for values."""

    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection, self._database = connection, database

    def append(self, entry: Entry, before: Entry) -> None:
        """Add an entry to a chain that ends with `before`."""
        if not self._database.append(self._connection, entry, before):
            raise ConflictError

    def all(self, statement: str, *values: Value) -> list[Row]:
        """Return every row."""
        rows: list[Row] = self._connection.execute(self._database.phrase(statement), values).fetchall()
        return rows

    def one(self, statement: str, *values: Value) -> Row | None:
        """Return the first row, if there is one."""
        row: Row | None = self._connection.execute(self._database.phrase(statement), values).fetchone()
        return row

    def do(self, statement: str, *values: Value) -> None:
        """Change something."""
        self._connection.execute(self._database.phrase(statement), values)


class HurriedRows(Rows):
    """Rows without a transaction: what is read is the newest, and to append is to commit."""

    def __init__(self, connection: Connection, database: Database, act: str) -> None:
        super().__init__(connection, database)
        self._act = act

    def append(self, entry: Entry, before: Entry) -> None:
        """Add an entry and make it durable, if the chain still ends with `before`."""
        fault_point(f"{self._act}.written")
        try:
            super().append(entry, before)
            fault_point(f"{self._act}.committed")
        except ConflictError:
            raise
        except Exception as error:
            if isinstance(error, OSError) or self._database.may_have_committed(self._connection, error):
                raise _in_doubt(self._database, error) from error
            raise

    def do(self, statement: str, *values: Value) -> None:
        """Refuse: what is done besides appending needs a transaction."""
        del values
        raise LedgerError(f"{self._act} hurries: it may append an entry, and for {statement!r} it must write instead")


class ConflictError(Exception):
    """The chain has grown since its end was read, or the connection had gone before anything was written: try again."""


class Store:
    """The ledger's place: one connection to write and one to read, safe to share among threads and after a fork."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._writer, self._reader = _Line(database), _Line(database)
        # The block of whoever holds the reader's lock. It is weak, so that one whose end was interrupted is forgotten.
        self._reading: Callable[[], Rows | None] = _nothing

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """Open a block that sees one moment of the ledger, whatever others write meanwhile.

        A block inside another one of the same thread sees the same moment.
        """
        with self._reader.lock:
            around = self._reading()
            if around is not None:
                yield around
                return
            try:
                with self._understood(self._reader):
                    rows = Rows(self._reader.begin(self.database.begin_reading), self.database)
                    self._reading = ref(rows)
                    yield rows
            finally:
                self._reading = _nothing
                self._reader.undo()

    @contextmanager
    def writing(self, act: str) -> Iterator[Rows]:
        """Open the one block that may write; leaving it commits, an error undoes it all.

        Parameters
        ----------
        act : how the fault points of this block are called

        Raises
        ------
        LedgerUnwritableError : nothing was written
        LedgerInDoubtError : the commit was sent, and no one knows what became of it
        """
        with self._writer.lock:
            with self._understood(self._writer):
                connection = self._writer.begin(self.database.begin_writing)
                fault_point(f"{act}.begun")
                yield Rows(connection, self.database)
                fault_point(f"{act}.written")
            try:
                self._writer.commit()
                fault_point(f"{act}.committed")
            except BaseException as error:
                self._writer.drop()
                if isinstance(error, Exception):
                    raise _in_doubt(self.database, error) from error
                raise

    @contextmanager
    def hurrying(self, act: str) -> Iterator[Rows]:
        """Open a block that appends one entry, or none, and does nothing else.

        Raises
        ------
        OvertakenError : nothing was written, because somebody else was faster; the block must be run again
        LedgerUnwritableError, LedgerInDoubtError : as for `writing`
        """
        if not self.database.hurries:
            with self.writing(act) as rows:
                yield rows
            return
        with self._writer.lock, self._understood(self._writer):
            connection = self._writer.idle()
            fault_point(f"{act}.begun")
            try:
                yield HurriedRows(connection, self.database, act)
            except LedgerError:
                raise
            except Exception as error:
                if self.database.is_lost(connection):
                    raise ConflictError from error
                raise

    def create(self, steps: Sequence[Migration], ledger: str, head: bytes) -> None:
        """Make an empty ledger, whole or not at all."""
        with self._understood(self._writer):
            self.database.create(steps, ledger, head)

    def shred(self) -> None:
        """Overwrite what was deleted, as far as the database can; it is tidying up, and failing at it is no failure."""
        with suppress(LedgerError), self._writer.lock, self._understood(self._writer):
            self.database.shred(self._writer.open())

    def inspect(self) -> None:
        """Look for damage in the structures of the database, beside whoever reads."""
        with self._writer.lock, self._understood(self._writer):
            self.database.inspect(self._writer.open())

    def close(self) -> None:
        """Let go of files and connections; the next block opens them again."""
        for line in (self._writer, self._reader):
            with line.lock:
                line.drop()

    @contextmanager
    def _understood(self, line: "_Line") -> Iterator[None]:
        """Undo what was begun when an error passes, and say what a failure of the database means."""
        try:
            yield
        except BaseException as error:
            line.undo()
            meaning = self._meaning(error)
            if meaning is None:
                raise
            raise meaning from error

    def _meaning(self, error: BaseException) -> LedgerError | None:
        match error:
            case LedgerError():
                return None
            case OSError():
                return LedgerUnwritableError(f"{self.database.place} cannot be written: {error}; nothing was charged")
            case Exception():
                return self.database.translate(error)
            case _:
                return None


def _nothing() -> None:
    """Stand for no block."""


def _in_doubt(database: Database, error: Exception) -> LedgerInDoubtError:
    return LedgerInDoubtError(
        f"{database.place} failed while it committed ({error}); what was being written counts as charged, and asking "
        "again under the same key finds out"
    )


class _Line:
    """One connection that is opened when it is needed, and again when it broke or the process forked."""

    def __init__(self, database: Database) -> None:
        self.lock = threading.RLock()
        self._database = database
        self._connection: Connection | None = None
        self._process = os.getpid()
        self._begun = False

    def open(self) -> Connection:
        if self._process != os.getpid():
            _left_to_the_parent.append(self._connection)
            self._connection, self._process, self._begun = None, os.getpid(), False
        if self._connection is None:
            self._connection = self._database.connect()
        return self._connection

    def idle(self) -> Connection:
        """Return the connection outside any transaction: one whose end was interrupted ends with its connection."""
        connection = self.open()
        if self._begun:
            self.drop()
            connection = self.open()
        return connection

    def begin(self, statements: Sequence[str]) -> Connection:
        """Begin a transaction; a connection that broke since it was last used is replaced, once."""
        idle = self._connection
        try:
            return self._begin(statements)
        except Exception:
            if idle is None or not self._database.is_lost(idle):
                raise
            self.drop()
            return self._begin(statements)

    def _begin(self, statements: Sequence[str]) -> Connection:
        connection = self.idle()
        self._begun = True
        for statement in statements:
            connection.execute(statement)
        return connection

    def undo(self) -> None:
        """End the transaction without a trace; a connection that cannot even do that is dropped."""
        if self._connection is not None and self._begun:
            try:
                self._connection.execute("ROLLBACK")
                self._begun = False
            except Exception:  # noqa: BLE001 - whatever it is, the transaction dies with its connection
                self.drop()

    def commit(self) -> None:
        self.open().execute("COMMIT")
        self._begun = False

    def drop(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            with suppress(Exception):
                self._connection.close()
        self._connection, self._begun = None, False


_left_to_the_parent: list[Connection | None] = []
"""Connections that were open when the process forked: not to be used on both sides, nor closed on this one."""
