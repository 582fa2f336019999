"""The contract of a database that holds a ledger, and the tables of it; SQLite and PostgreSQL are such databases.

Everything a ledger knows is in `entries`, as canonical JSON. `record` is the same JSON as the database parses it, so
that indexes on its fields can never differ from the entry; PostgreSQL, which has to store it, leaves out what nothing
is found by (`FINDABLE`). `ledger` is the one row that is locked, with the end of the chain. `secrets` holds sealed
noise until it has been used: outside the chain, because no hash may depend on it, and in no export. `recalls` finds the
answers of batches, many in one entry, by the digests of their questions; it is an index, and every row of it must agree
with its entry.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Final, Protocol, TypeAlias

from lapwing.ledger.entries import Asked, Entry, HeadFile
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerError
from lapwing.vocabulary.lifetime import closing_on_failure

Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[str, Sequence[Value]]
"""A statement with `?` for values, and its values."""


class Connection(Protocol):
    """The part of DB-API connections that sqlite3 and psycopg have in common."""

    def execute(self, statement: str, values: Sequence[Value] = ..., /) -> Any:
        """Run one statement and return a cursor."""

    def close(self) -> None:
        """Close the connection."""


class ConflictError(Exception):
    """The chain has grown since its end was read, or the connection had gone before anything was written: try again."""


class Holder:
    """The holder of a place of a gate. A place whose holder was collected is free, also after an interrupt."""

    __slots__ = ("__weakref__",)


class Turns(Protocol):
    """Locks that serialize requests for the same work."""

    def enter(self, place: int, holder: Holder) -> bool:
        """Take a place, unless another holder has it; return whether it is ours now."""

    def leave(self, place: int, holder: Holder) -> None:
        """Give a place back, if this holder has it."""

    def working(self, name: str, patience: float = 0.0) -> AbstractContextManager[bool]:
        """Hold the lock of a name, such as that of a stream while its question is decided; yield whether it is ours."""

    def close(self) -> None:
        """Close files and connections."""


class Database(ABC):
    """A database server or file with one ledger: the part that differs between SQLite and PostgreSQL."""

    begin_writing: ClassVar[Sequence[str]]  # the statements after which this transaction is the only one that may write
    begin_reading: ClassVar[Sequence[str]]  # the statements after which this transaction sees one moment
    appends_atomically: ClassVar[bool]  # whether `append` outside a transaction is atomic and durable by itself
    keeps_head: ClassVar[bool]  # whether the head is as old as the ledger, so that one without it is refused
    head: HeadFile | None  # where the receipt of the newest acknowledged entry is kept, outside the database

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, for messages: never a password."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """The identity of the place: equal for two objects if and only if they are the same database."""

    def connect(self) -> Connection:
        """Return a new connection in autocommit mode whose durability settings were read back and are strong."""
        connection = self._dial()
        with closing_on_failure(connection):
            self._insist(connection)
        return connection

    @abstractmethod
    def _dial(self) -> Connection: ...

    @abstractmethod
    def _insist(self, connection: Connection) -> None: ...

    @abstractmethod
    def phrase(self, statement: str) -> str:
        """Return a statement that is written with `?` for values as this database wants it."""

    @abstractmethod
    def translate(self, error: Exception) -> LedgerError | None:
        """Translate an error of the database; return `None` if the error is not the database's."""

    @abstractmethod
    def append(self, connection: Connection, entries: Sequence[Entry], before: Entry, *, commit: bool = False) -> bool:
        """Add `entries` to a chain that ends with `before`, and move its end; return whether that is where it ended.

        `commit` says that this is the last statement of a transaction, which is committed with it.
        """

    @abstractmethod
    def hashes(self, connection: Connection, numbers: Sequence[int]) -> list[Row]:
        """Return the numbers and hashes of entries, of those that there are, by one statement for all of them."""

    def look_up(self, connection: Connection, asked: Sequence["Asked"]) -> dict["Asked", int | None]:  # noqa: ARG002
        """Return the results of many lookups, in one round trip; none if single lookups are as fast."""
        return {}

    def together(self, connection: Connection, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run statements one after the other and return the rows of each: in one round trip where that is faster."""
        return [connection.execute(self.phrase(text), values).fetchall() for text, values in statements]

    def stamp(self, connection: Connection) -> object:  # noqa: ARG002 - not every database has one
        """Return a value that changes on this connection with every commit of another one; None if there is none."""
        return None

    def is_lost(self, connection: Connection) -> bool:  # noqa: ARG002 - a file has no connection to lose
        """Return whether the other end of a connection is gone, so that a new one must be made."""
        return False

    def may_have_committed(self, connection: Connection, error: Exception) -> bool:  # noqa: ARG002 - in doubt, yes
        """Return whether a statement that failed with `error` may have been committed all the same."""
        return True

    @abstractmethod
    def shred(self, connection: Connection) -> None:
        """Overwrite what was deleted, as far as this database can."""

    @abstractmethod
    def inspect(self, connection: Connection) -> None:
        """Look for damage in the structures of the database, and for an index that disagrees with the entries."""

    @abstractmethod
    def interrupt(self, connection: Connection) -> None:
        """Interrupt the statement of a connection, from another thread."""

    @abstractmethod
    def create(self, ledger: str, head: bytes) -> None:
        """Make an empty ledger with the name `ledger` and begin its head, whole or not at all."""

    @abstractmethod
    def gate(self) -> Turns:
        """Return where requests take turns."""


def misplaced_answers(place: str) -> LedgerDamagedError:
    """Return the error of an index of the answers of batches that differs from the entries."""
    return LedgerDamagedError(
        f"the index of the answers of batches in {place} says something else than the entries: it is damaged"
    )


_INDEXES: Final = (
    """create index entries_policy on entries ((record ->> 'population'), seq)
       where record ->> 'policy' is not null""",
    """create index entries_account on entries ((record ->> 'population'), seq)
       where record ->> 'account' is not null""",
    """create index entries_allowance on entries ((record ->> 'population'), (record ->> 'analyst'), seq)
       where record ->> 'allowance' is not null""",
    """create unique index entries_request
       on entries ((record ->> 'population'), (record ->> 'analyst'), (record ->> 'request'))
       where record ->> 'request' is not null""",
    """create index entries_recall on entries ((record ->> 'recall'), seq)
       where record ->> 'recall' is not null""",
    """create unique index entries_settles on entries ((cast(record ->> 'settles' as bigint)))
       where record ->> 'settles' is not null""",
    """create index entries_stream on entries ((record ->> 'stream'), seq)
       where record ->> 'stream' is not null""",
    """create unique index entries_question on entries ((record ->> 'stream'), (cast(record ->> 'number' as bigint)))
       where record ->> 'kind' = 'intent'""",
    """create index entries_asked on entries ((record ->> 'population'), (record ->> 'analyst'), seq)
       where record ->> 'kind' = 'intent'""",
    # On other expressions than the lookups above: otherwise SQLite's planner would scan these indexes for them.
    """create index entries_about on entries ((coalesce(record ->> 'population', '')), seq)""",
    """create index entries_caused on entries
       ((coalesce(record ->> 'population', '')), (coalesce(record ->> 'analyst', '')), seq)""",
    """create index entries_budget_request on entries ((record ->> 'population'), seq)
       where record ->> 'budget_request' is not null""",
    """create unique index entries_population on entries ((record ->> 'population'))
       where record ->> 'kind' = 'population'""",
)

SQLITE_TABLES: Final = (
    """create table ledger (one integer primary key check (one = 1), name text not null, version integer not null,
       seq integer not null, hash blob not null) strict""",
    """create table entries (seq integer primary key, body text not null, hash blob not null,
       record text generated always as (body) virtual) strict""",
    """create table secrets (stream text not null, number integer not null, sealed blob not null,
       primary key (stream, number)) strict""",
    """create table recalls (digest text not null, seq integer not null, place integer not null,
       primary key (digest, seq)) strict, without rowid""",
    """create trigger entries_are_never_changed before update on entries
       begin select raise(abort, 'entries of a ledger are never changed'); end""",
    """create trigger entries_are_never_deleted before delete on entries
       begin select raise(abort, 'entries of a ledger are never deleted'); end""",
    *_INDEXES,
)

_LONG: Final = "seq question questions words digest terms versions tables answer answers remark reason purpose"
FINDABLE: Final = f"""jsonb_set(jsonb_set(jsonb_set(body::jsonb - '{{{",".join(_LONG.split())}}}'::text[],
    '{{policy}}', '0', false), '{{account}}', '0', false), '{{allowance}}', '0', false)"""
"""What a record in PostgreSQL has of an entry: no long texts, and of states only that they are there."""

POSTGRES_TABLES: Final = (
    """create table ledger (one integer primary key check (one = 1), name text not null, version integer not null,
       seq bigint not null, hash bytea not null)""",
    f"""create table entries (seq bigint primary key, body text not null, hash bytea not null,
       record jsonb generated always as ({FINDABLE}) stored)""",
    # A long entry is compressed where it lies: what is stored elsewhere costs a second look.
    "alter table entries alter body set storage main, alter record set storage main",
    """create table secrets (stream text not null, number bigint not null, sealed bytea not null,
       primary key (stream, number))""",
    """create table recalls (digest text not null, seq bigint not null, place bigint not null,
       primary key (digest, seq))""",
    """create function entries_are_for_ever() returns trigger language plpgsql as
       $$ begin raise exception 'entries of a ledger are never changed and never deleted'; end $$""",
    """create trigger entries_are_for_ever before update or delete or truncate on entries
       execute function entries_are_for_ever()""",
    *_INDEXES,
)
