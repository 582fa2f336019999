"""The server's store of people and sign-ins: kept with the ledger, so that all processes and hosts share it.

With a ledger in a file that is `door.db`, a SQLite file next to it, readable by its owner only; with one in
PostgreSQL, the schema `lapwing_door` of the same database. Nothing in it changes what was spent. If it is lost, people
are invited anew, and the ledger goes on as it was.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from lapwing.ledger.database import Connection, Database
from lapwing.vocabulary.lifetime import closing_on_failure
from lapwing.vocabulary.loading import load_extra
from lapwing.workspace.settings import read_settings

T = TypeVar("T")

Cell: TypeAlias = str | int | None

TABLES: Final = (
    """create table if not exists people (id text primary key, name text not null, role text not null, password text,
       disabled integer not null, made bigint not null)""",
    """create table if not exists tokens (hash text primary key, id text not null unique, person text not null,
       name text not null, may text not null, made bigint not null, expires bigint not null, used bigint,
       revoked integer not null)""",
    "create index if not exists tokens_person on tokens (person)",
    "create table if not exists token_makers (token text primary key, maker text not null)",
    "create index if not exists token_makers_maker on token_makers (maker)",
    """create table if not exists sign_ins (hash text primary key, person text not null, made bigint not null,
       seen bigint not null)""",
    "create index if not exists sign_ins_person on sign_ins (person)",
    """create table if not exists identities (issuer text not null, subject text not null, person text not null,
       made bigint not null, primary key (issuer, subject))""",
    """create table if not exists begun_sign_ins (hash text primary key, goal text not null, made bigint not null)""",
    """create table if not exists invitations (hash text primary key, person text not null, name text not null,
       role text not null, made_by text not null, expires bigint not null)""",
    """create table if not exists asked (population text not null, person text not null, key text not null,
       kind text not null, digest text not null, body text not null, at bigint not null, number bigint not null,
       entry bigint not null, status bigint, outcome text, primary key (population, person, key))""",
    "create index if not exists asked_number on asked (population, person, number)",
    "create index if not exists asked_free on asked (population, person, number) where entry <> 0",
    """create table if not exists cohorts (population text not null, person text not null, key text not null,
       document text not null, primary key (population, person, key))""",
    "create table if not exists tries (name text primary key, full_at bigint not null)",
    """create table if not exists saved (population text not null, person text not null, id text not null,
       name text not null, folder text not null, body text not null, page text not null, words text not null,
       at bigint not null, primary key (population, person, id), unique (population, person, folder, name))""",
)
"""Its schema, in SQL that SQLite and PostgreSQL share."""


class DoorStore(Protocol):
    """A database for what the server remembers; statements are written with `?` for values."""

    is_remote: bool  # whether it is reached through a network, so that looking something up may take its time
    now: str  # the SQL of the database's own clock, in microseconds

    def all(self, statement: str, *values: Cell) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""

    def one(self, statement: str, *values: Cell) -> tuple[Any, ...] | None:
        """Return the first row of a statement, if there is one."""

    def do(self, statement: str, *values: Cell) -> int:
        """Run a write, which a power cut may undo; return how many rows it changed."""

    def keep(self, statement: str, *values: Cell) -> int:
        """Run a write and commit it durably; return how many rows it changed."""

    def stamp(self) -> object:
        """Return a value that changes with every write of others; None where the database has none."""

    def together(self) -> "Any":
        """Return a block in which all changes are made, or none."""

    def close(self) -> None:
        """Let go of it."""


FILE: Final = "door.db"
_SCHEMA: Final = "lapwing_door"


def open_store(folder: Path, ledger: str = "") -> DoorStore:
    """Open the store of the people of a workspace; the address of its ledger is looked up where it is not given."""
    address = ledger or read_settings(folder).ledger
    if "://" not in address:
        return SqliteDoorStore(folder / FILE)
    driver = load_extra("lapwing.ledger.postgres", extra="postgres")
    return PostgresDoorStore(driver.PostgresDatabase(address))


class SqliteDoorStore:
    """The store of one host: a file, one connection, one statement at a time."""

    is_remote = False
    now = "cast((julianday('now') - 2440587.5) * 86400000000 as integer)"

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._lock = RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
        with closing_on_failure(self._connection):
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            with self.together():
                for statement in TABLES:
                    self._connection.execute(statement)

    def all(self, statement: str, *values: Cell) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def one(self, statement: str, *values: Cell) -> tuple[Any, ...] | None:
        """Return the first row of a statement, if there is one."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None

    def do(self, statement: str, *values: Cell) -> int:
        """Run a write, which a power cut may undo; return how many rows it changed."""
        with self._lock:
            return self._connection.execute(statement, values).rowcount

    def keep(self, statement: str, *values: Cell) -> int:
        """Run a write and commit it durably; return how many rows it changed."""
        with self._lock:
            self._connection.execute("pragma synchronous = full")
            try:
                return self.do(statement, *values)
            finally:
                self._connection.execute("pragma synchronous = normal")

    def stamp(self) -> object:
        """Return SQLite's count of the commits of others, and that of the rows that were changed here."""
        with self._lock:
            return self._connection.execute("pragma data_version").fetchone()[0], self._connection.total_changes

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make all changes of a block, or none, while no other process makes one."""
        with self._lock:
            self._connection.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()


class PostgresDoorStore:
    """The store of several hosts: a schema in the ledger's database. A lost connection is made anew, once."""

    is_remote = True
    now = "cast(extract(epoch from clock_timestamp()) * 1000000 as bigint)"

    def __init__(self, database: Database) -> None:
        self._database, self._lock = database, RLock()
        self._connection: Connection | None = None
        self._within = False
        with self.together():
            self.do(f"create schema if not exists {_SCHEMA}")
            for statement in TABLES:
                self.do(statement)

    def all(self, statement: str, *values: Cell) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        found: list[tuple[Any, ...]] = self._run(statement, values, lambda cursor: cursor.fetchall())
        return found

    def one(self, statement: str, *values: Cell) -> tuple[Any, ...] | None:
        """Return the first row of a statement, if there is one."""
        rows = self.all(statement, *values)
        return rows[0] if rows else None

    def do(self, statement: str, *values: Cell) -> int:
        """Run a write, which a power cut may undo; return how many rows it changed."""
        return int(self._run(statement, values, lambda cursor: cursor.rowcount))

    def keep(self, statement: str, *values: Cell) -> int:
        """Change something so that no failure of the machine takes it back: here nothing is changed otherwise."""
        return self.do(statement, *values)

    def stamp(self) -> object:
        """Return None: a server elsewhere has to be asked."""
        return None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run a block as one transaction, under the lock: all changes or none."""
        with self._lock:
            self.do("begin")
            self._within = True
            try:
                self.do("select pg_advisory_xact_lock(hashtext('lapwing_door'))")
                yield
                self.do("commit")
            except BaseException:
                self._hang_up()  # which undoes it
                raise
            finally:
                self._within = False

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._hang_up()

    def _run(self, statement: str, values: tuple[Cell, ...], take: Callable[[Any], T]) -> T:
        with self._lock:
            tries = 1 if self._within else 2  # inside a block, what came before is undone with the connection
            while True:
                tries -= 1
                try:
                    return take(self._opened().execute(self._database.phrase(statement), values))
                except Exception as error:  # noqa: BLE001 - drivers have kinds of their own, and the database knows them
                    self._hang_up()
                    translated = self._database.translate(error)
                    if translated is None or not tries:
                        raise (translated or error) from None

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.connect()
            self._connection.execute(f"set search_path = {_SCHEMA}, pg_catalog, pg_temp")
            self._connection.execute("set plan_cache_mode = auto")
            self._connection.execute("set enable_seqscan = on")
        return self._connection

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
