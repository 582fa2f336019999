"""A ledger in a schema of a PostgreSQL database: for several processes on several machines.

Writers queue for the lock of one row. The connection insists on settings under which an acknowledged commit survives a
power cut, every time it is made.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from psycopg import sql

from lapwing.ledger.database import (
    FINDABLE,
    NOTHING_EXPECTED,
    POSTGRES_TABLES,
    Connection,
    Database,
    Expected,
    Row,
    Statement,
    filled,
    misplaced_answers,
    require_found,
)
from lapwing.ledger.entries import Asked, Entry, Lookup
from lapwing.ledger.queue import Gate
from lapwing.ledger.store import fault_point
from lapwing.vocabulary.codec import FORMAT
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerDurabilityError,
    LedgerError,
    LedgerSchemaError,
    LedgerUnwritableError,
    ParameterError,
)
from lapwing.vocabulary.lifetime import closing_on_failure

_STRONG: Final = {"fsync": {"on"}, "full_page_writes": {"on"}, "synchronous_commit": {"on", "remote_apply"}}
_SET: Final = """select {} set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, false)"""
_FOUND: Final = """select current_setting('server_encoding'), to_regclass('ledger') is not null, pg_is_in_recovery(),
    current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')"""
"""One statement sets all settings and one reads back: a connection that is far away is made in a few round trips."""
_UNWRITABLE: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.InsufficientPrivilege,
)
_CUT_OFF: Final = ("08", "57")  # error classes of a broken connection: the outcome of the statement is unknown
_LEASE: Final = "SELECT {}('chains'::regclass::oid::integer, current_setting('lapwing.chain')::integer)"
_LINE: Final = "SELECT {}('chains'::regclass::oid::integer, -1 - current_setting('lapwing.chain')::integer)"
"""Locks of two numbers, the ledger and a chain of it; those of the gate have one, and never meet them."""


def _waiting(lock: str) -> Sequence[str]:
    """Return the statements that wait a second for a lock which outlives its transaction."""
    return "BEGIN", "SET LOCAL lock_timeout = '1s'", lock, "COMMIT"


_APPEND: Final = """
with moved as (update ledger set seq = %s, hash = %s where seq = %s and hash = %s and version = %s{} returning name)
insert into entries (seq, body, hash) select {} from moved"""
_ONE: Final = "%s::bigint, %s::text, %s::bytea"
_SEVERAL: Final = "entry.*", "unnest(%b::bigint[], %b::text[], %b::bytea[]) as entry"
_MISREAD: Final = f"select seq from entries where record is distinct from {FINDABLE} order by seq limit 1"  # noqa: S608
"""The first entry whose record, by which indexes find it, differs from its text."""
_MISPLACED: Final = """
with said as materialized (
    select answer.digest, entries.seq, answer.place - 1 as place
    from (select seq, record -> 'recalls' as answers from entries order by seq offset 0) as entries,
        jsonb_array_elements_text(case jsonb_typeof(answers) when 'array' then answers else '[]' end)
            with ordinality as answer(digest, place)
)
(select * from said except all select digest, seq, place from recalls)
union all (select digest, seq, place from recalls except all select * from said)
limit 1"""
"""Answers of batches that their index does not find where an entry has them, or finds where none has."""


class _Found(NamedTuple):
    """What a connection has found the server, its database and its settings to be."""

    encoding: str
    has_ledger: bool
    is_standby: bool
    fsync: str
    full_page_writes: str
    synchronous_commit: str


class PostgresDatabase(Database):
    """One schema of one database; several ledgers may share a database.

    `patience` is how many seconds it waits for other writers, and `head` where this host keeps the receipt of the
    newest acknowledged entry; another host may come without one.
    """

    begin_writing = ("BEGIN", "SELECT 1 FROM ledger FOR UPDATE")
    begin_reading = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
    appends_atomically = True
    stand_in_line = (*_waiting(_LINE.format("pg_advisory_lock")), _LEASE.format("pg_try_advisory_lock"))
    begin_lease = _waiting(_LEASE.format("pg_advisory_lock"))
    leave_line = (_LINE.format("pg_advisory_unlock"),)
    end_lease = ("SELECT pg_advisory_unlock_all()",)  # a connection that writes holds no other
    keeps_head = False

    def __init__(self, dsn: str, *, schema: str = "lapwing", patience: float = 30.0, head: Path | None = None) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
            raise ParameterError("schema", schema, reason="is not a plain name", remedy='write for example "lapwing"')
        self._dsn, self._schema, self._patience, self.number, self.head_path = dsn, schema, patience, 0, head
        self.head = self.head_of(0)

    @property
    def place(self) -> str:
        """The host, the database and the schema, without the password."""
        known = psycopg.conninfo.conninfo_to_dict(self._dsn)
        return f"schema {self._schema} of PostgreSQL database {known.get('dbname')} at {known.get('host')}"

    @property
    def identity(self) -> str:
        """The address, the schema, and the number of the chain."""
        return f"{self._dsn} {self._schema} {self.number}"

    def _insist(self, connection: Connection) -> None:
        found = self._found(connection)
        if not found.has_ledger:
            raise LedgerSchemaError(
                f"there is no ledger in {self.place}; restore the newest backup and check it with lapwing ledger "
                "verify --receipt RECEIPT, or name the right database"
            )
        if found.is_standby:
            raise LedgerUnwritableError(f"{self.place} is a standby, which cannot be charged; connect to the primary")
        self._require_durable(found)

    def _dial(self) -> Any:
        connection = psycopg.connect(self._dsn, autocommit=True)
        with closing_on_failure(connection):
            settings = {
                "search_path": f"{self._schema}, pg_catalog, pg_temp",
                "lapwing.chain": str(self.number),
                "default_transaction_isolation": "read committed",
                "lock_timeout": f"{int(self._patience * 1000)}ms",
                "standard_conforming_strings": "on",
                "plan_cache_mode": "force_generic_plan",  # each lookup has one good plan, by its index
                "enable_seqscan": "off",
                "jit": "off",
            }
            statement = _SET.format("set_config(%s, %s, false), " * len(settings))
            connection.execute(statement, [*chain.from_iterable(settings.items())])
        return connection

    @staticmethod
    def _found(connection: Any) -> "_Found":
        return _Found(*connection.execute(_FOUND).fetchone())

    def _require_durable(self, found: "_Found") -> None:
        if found.encoding != "UTF8":
            raise LedgerSchemaError(f"the encoding of {self.place} is not UTF8; make a database whose encoding is")
        for setting, strong in _STRONG.items():
            if (value := getattr(found, setting)) not in strong:
                raise LedgerDurabilityError(
                    f"{setting} of {self.place}", value, remedy=f"set {setting} = on in the server's configuration"
                )

    def phrase(self, statement: str) -> str:
        """Return the statement with PostgreSQL's mark for values."""
        return _phrase(statement)

    def translate(self, error: Exception) -> LedgerError | None:
        """Translate an error of PostgreSQL."""
        if not isinstance(error, psycopg.Error):
            return None
        if isinstance(error, (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted)):
            return LedgerDamagedError(f"{self.place} is damaged: {error}")
        if isinstance(error, _UNWRITABLE):
            return LedgerUnwritableError(f"{self.place} cannot be used: {error}; nothing was charged")
        return LedgerDamagedError(f"{self.place} refuses what a ledger does: {error}")

    def append(
        self,
        connection: Any,
        entries: Sequence[Entry],
        before: Entry,
        *,
        expected: Expected = NOTHING_EXPECTED,
        commit: bool = False,
    ) -> bool:
        """Add entries and move the end of the chain in one statement, which does nothing if the end is elsewhere.

        Nor does it where a lookup finds something else than `expected`. A commit goes with it in one round trip, so
        that those who wait for the lock wait no longer than they must.
        """
        last, is_one = entries[-1], len(entries) == 1
        columns: Any = last if is_one else _columns(entries)
        kinds, found = _of_each_kind(expected)
        values = (last.seq, last.hash, before.seq, before.hash, FORMAT, *found, *columns)
        with _together(connection) if commit else nullcontext():
            added = connection.execute(_append(kinds, is_one=is_one), values)
            if commit:
                connection.execute("COMMIT")
        return bool(added.rowcount)

    def hashes(self, connection: Any, numbers: Sequence[int]) -> list[Row]:
        """Return the numbers and hashes of entries."""
        statement = "select seq, hash from entries where seq = any(%b::bigint[])"
        rows: list[Row] = connection.execute(statement, (list(numbers),)).fetchall()
        return rows

    def look_up(self, connection: Connection, asked: Sequence[Asked]) -> dict[Asked, int | None]:
        """Return the results of many lookups, with one statement for all of a kind."""
        found: dict[Asked, int | None] = {}
        for lookup in dict.fromkeys(lookup for lookup, _ in asked):
            same = [values for one, values in asked if one is lookup]
            columns: Any = _columns(same)
            rows = connection.execute(_many(lookup, len(columns)), columns).fetchall()
            found.update({(lookup, values): seq for values, (seq,) in zip(same, rows, strict=True)})
        return found

    def together(self, connection: Any, statements: Sequence[Statement]) -> list[list[Row]]:
        """Run statements one after the other, without waiting for the end of one before the next is sent."""
        with _together(connection):
            cursors = [connection.execute(_phrase(text), values) for text, values in statements]
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]

    def is_lost(self, connection: Any) -> bool:
        """Return whether the server closed the connection, as far as it has said so by now."""
        with suppress(Exception):
            connection.pgconn.consume_input()  # its last words
            connection.pgconn.consume_input()  # and then the end
        return bool(getattr(connection, "closed", True))

    def is_idle(self, connection: Any) -> bool:
        """Return whether nothing is under way: what is sent in a pipeline that was never left, is never committed."""
        status = connection.pgconn.transaction_status
        return not self.is_busy(connection) and status == psycopg.pq.TransactionStatus.IDLE

    def is_busy(self, connection: Any) -> bool:
        """Return whether an interrupt has left the answer of a statement, or a pipeline."""
        known = connection.pgconn
        is_in_pipeline = known.pipeline_status != psycopg.pq.PipelineStatus.OFF
        is_left = getattr(connection, "_pipeline", None) is None  # psycopg forgets it after the server's library has
        return bool(is_in_pipeline or not is_left or known.transaction_status == psycopg.pq.TransactionStatus.ACTIVE)

    def has_waited_enough(self, error: BaseException) -> bool:
        """Return whether the server gave up waiting for a lock."""
        return isinstance(error, psycopg.errors.LockNotAvailable)

    def may_have_committed(self, error: Exception) -> bool:
        """Return true unless the server itself reported that the statement failed."""
        state = getattr(error, "sqlstate", None)
        return state is None or state.startswith(_CUT_OFF)

    def shred(self, connection: Connection) -> None:
        """Give the space of deleted secrets free to be overwritten; only destroying their key makes them unreadable."""
        connection.execute("vacuum all_secrets")

    def inspect(self, connection: Connection) -> None:
        """Compare the results of lookups with the texts of the entries; PostgreSQL itself keeps checksums of pages.

        Entries are read in their order, by the index that the chain is followed by: one that it lacks is missing there.
        First the record of each entry, which the indexes are made of, is compared with its text.
        """
        if (row := connection.execute(_MISREAD).fetchone()) is not None:
            raise LedgerDamagedError("is found by other words than it says", seq=row[0])
        require_found(connection, self.place, is_directory=not self.number)
        if connection.execute(_MISPLACED).fetchone() is not None:
            raise misplaced_answers(self.place)

    def interrupt(self, connection: Any) -> None:
        """Have the server cancel the statement of a connection."""
        connection.cancel_safe(timeout=1.0)

    def create(self, ledger: str, head: bytes) -> None:
        """Make the schema, whole or not at all."""
        connection = self._dial()
        try:
            self._require_durable(self._found(connection))
            with connection.transaction():
                connection.execute(sql.SQL("create schema {}").format(sql.Identifier(self._schema)))
                self.begin_head(ledger)
                for statement in POSTGRES_TABLES:
                    connection.execute(statement)
                connection.execute("insert into chains values (0, %s, %s, 0, %s)", (ledger, FORMAT, head))
                fault_point("create.written")
            fault_point("create.committed")
        except psycopg.errors.DuplicateSchema:
            raise LedgerUnwritableError(
                f"{self.place} exists already; lapwing join makes the workspace of a further host on it"
            ) from None
        finally:
            connection.close()

    def gate(self) -> "AdvisoryGate":
        """Return where requests take turns: advisory locks of the database."""
        return AdvisoryGate(self.connect)


def _together(connection: Any) -> AbstractContextManager[object]:
    """Send statements without waiting for the results of those before them."""
    return connection.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()


@lru_cache
def _many(lookup: Lookup, values: int) -> str:
    """Return the statement that runs a lookup for each of many values, in their order."""
    one, arrays, columns = _for_each(lookup, values)
    return f"select {one} from unnest({arrays}) with ordinality as asked({columns}, place) order by place"  # noqa: S608


def _for_each(lookup: Lookup, values: int) -> tuple[str, str, str]:
    """Return a lookup of the columns of many values, the arrays that these are in, and the names of the columns."""
    kind, names = "bigint" if lookup is Lookup.SETTLES else "text", [f"value{i}" for i in range(values)]
    one = filled(lookup, [f"asked.{name}" for name in names])
    return one, ", ".join([f"%b::{kind}[]"] * values), ", ".join(names)


def _columns(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


_Kind: TypeAlias = tuple[Lookup, int, bool]
"""Expected lookups of one kind: how many values each has, and whether there is only one."""


def _of_each_kind(expected: Expected) -> tuple[tuple[_Kind, ...], list[Any]]:
    """Return the kinds of expected lookups, and the values of the statement that checks them."""
    rows: dict[Lookup, list[tuple[str | int, ...]]] = {}
    for (lookup, values), seq in expected.items():
        rows.setdefault(lookup, []).append((*values, seq))
    kinds = tuple((lookup, len(same[0]) - 1, len(same) == 1) for lookup, same in rows.items())
    return kinds, [value for same in rows.values() for value in (same[0] if len(same) == 1 else _columns(same))]


@lru_cache
def _append(kinds: Sequence[_Kind], *, is_one: bool) -> str:
    """Return the statement that appends entries if the chain ends where it did and lookups find what is expected."""
    guards = []
    for lookup, values, is_alone in kinds:
        if is_alone:
            guards.append(f"coalesce({filled(lookup, ['%s'] * values)}, 0) = %s")
        else:
            one, arrays, columns = _for_each(lookup, values)
            asked = f"unnest({arrays}, %b::bigint[]) as asked({columns}, seq)"
            guards.append(f"not exists (select 1 from {asked} where coalesce({one}, 0) <> asked.seq)")  # noqa: S608
    added, *source = (_ONE,) if is_one else _SEVERAL
    return ", ".join([_APPEND.format("".join(f" and {guard}" for guard in guards), added), *source])


@lru_cache
def _phrase(statement: str) -> str:
    return statement.replace("%", "%%").replace("?", "%s")


class AdvisoryGate(Gate):
    """A gate whose places are advisory locks of PostgreSQL, held by its own connection and released with it."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        super().__init__()
        self._connect = connect
        self._connection: Any = None

    def _give_back(self, place: int) -> None:
        with suppress(Exception):  # where the connection is gone, so is the lock
            self._ask("select pg_advisory_unlock(%s)", place)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _take(self, place: int) -> bool:
        """Try to lock; a connection that broke since it was last used is replaced, once."""
        was_open, statement = self._connection is not None, "select pg_try_advisory_lock(%s)"
        try:
            return self._ask(statement, place)
        except Exception:
            if not was_open:
                raise
        return self._ask(statement, place)

    def _ask(self, statement: str, place: int) -> bool:
        if self._connection is None or self.process != os.getpid():
            self._connection, self.process = self._connect(), os.getpid()
        try:
            (answer,) = self._connection.execute(statement, (place,)).fetchone()
        except BaseException:
            self._drop()
            raise
        return bool(answer)

    def _drop(self) -> None:
        if self._connection is not None and self.process == os.getpid():
            with suppress(Exception):
                self._connection.close()
        self._connection = None
