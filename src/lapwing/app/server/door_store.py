"""Where the server keeps who comes in: `door.db`, a SQLite file beside the ledger, readable by its owner only.

Nothing in it changes what was spent. If it is lost, people are invited anew, and the ledger goes on as it was.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final, Protocol, TypeAlias

Cell: TypeAlias = str | int | None

TABLES: Final = (
    """create table if not exists people (id text primary key, name text not null, role text not null, password text,
       disabled integer not null, made bigint not null)""",
    """create table if not exists tokens (hash text primary key, id text not null unique, person text not null,
       name text not null, may text not null, made bigint not null, expires bigint not null, used bigint,
       revoked integer not null)""",
    "create index if not exists tokens_person on tokens (person)",
    """create table if not exists sign_ins (hash text primary key, person text not null, made bigint not null,
       seen bigint not null)""",
    "create index if not exists sign_ins_person on sign_ins (person)",
    """create table if not exists invitations (hash text primary key, person text not null, name text not null,
       role text not null, made_by text not null, expires bigint not null, used bigint)""",
    """create table if not exists asked (population text not null, person text not null, key text not null,
       kind text not null, digest text not null, body text not null, at bigint not null, number bigint not null,
       primary key (population, person, key))""",
    "create index if not exists asked_number on asked (population, person, number)",
    """create table if not exists requests (id text primary key, population text not null, person text not null,
       wanted text not null, purpose text not null, state text not null, decided_by text, made bigint not null,
       decided bigint)""",
)
"""What stands in it, in words that SQLite and PostgreSQL share."""


class DoorStore(Protocol):
    """A database for what the server remembers; statements are written with `?` for values."""

    def all(self, statement: str, *values: Cell) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""

    def one(self, statement: str, *values: Cell) -> tuple[Any, ...] | None:
        """Return the first row of a statement, if there is one."""

    def do(self, statement: str, *values: Cell) -> int:
        """Change something, and return how many rows that were."""

    def together(self) -> "Any":
        """Return a block in which all changes are made, or none."""

    def close(self) -> None:
        """Let go of it."""


class SqliteDoorStore:
    """The store of one host: a file, one connection, one statement at a time."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self._lock = RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
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
        """Change something, and return how many rows that were."""
        with self._lock:
            return self._connection.execute(statement, values).rowcount

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
