"""PostgreSQL: the tables stay where they are, and every question is one read-only transaction.

Nothing that a role, a database or a server may have set differently reaches an answer: each transaction pins what the
meaning of a statement depends on. A connection that failed is thrown away, so the next question starts with a new one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict

from lapwing.engines.cancellation import LONGEST, TIME_LIMIT, stoppable
from lapwing.engines.dialect import POSTGRES
from lapwing.engines.emitter import Statement
from lapwing.engines.engine import Row
from lapwing.engines.postgres_registry import PostgresTable, register, shape_of
from lapwing.engines.sql_engine import BITMAP_MEMORY, SQLEngine
from lapwing.queries.catalogue import Population
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.exact import as_int

_PINNED = {
    "search_path": "pg_catalog, pg_temp",  # nobody's function, operator or temporary table stands in for ours
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "extra_float_digits": "3",
    "transform_null_equals": "off",
    "lock_timeout": "0",
    "parallel_tuple_cost": "0.001",  # the default keeps all of a large sort on one processor
    "jit": "off",  # it compiles for longer than most of our statements run
}
_CONNECT_SECONDS = 10


class PostgreSQL(SQLEngine):
    """An engine on PostgreSQL.

    Parameters
    ----------
    population : what the tables are and hold, as declared
    sources : where each table of the population is
    conninfo : how to connect, as libpq takes it: "host=... user=... dbname=..." or a URL; the role must be one that may
        read the tables and not change them
    time_limit : seconds after which the server gives up on a question
    work_memory : what one sort or hash table of a question may take on the server before it goes to disk
    bitmap_memory : how many bytes the bitmaps of a table may take in this process, for questions that come in thousands
    on_failure : told the reason of every failure, for the custodian's log; the reason may hold data

    It may be asked from several threads; each question has a connection of its own.
    """

    _dialect = POSTGRES

    def __init__(
        self,
        population: Population,
        sources: Mapping[str, PostgresTable],
        conninfo: str,
        *,
        time_limit: int = TIME_LIMIT,
        work_memory: str = "256MB",
        bitmap_memory: int = BITMAP_MEMORY,
        on_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._sources, self._address = sources, _address(population, conninfo)
        limit = f"{as_int('time_limit', time_limit, most=LONGEST)}s"
        self._settings = _PINNED | {"statement_timeout": limit, "work_mem": work_memory}
        self._lock = Lock()
        self._idle: list[psycopg.Connection] = []
        self._running: set[psycopg.Connection] = set()
        self._closed = False
        try:
            with self._transaction() as connection:
                self._shape = shape_of(connection, sources)
                encoding = connection.info.parameter_status("server_encoding")
        except psycopg.Error as failure:
            reason = f"cannot be reached: {self._without_password(str(failure))}"
            raise RegistrationError(population.name, reason=reason, remedy="mend the connection") from None
        if encoding != "UTF8":  # its MD5 of a text would be another than that of other engines
            self.close()
            raise RegistrationError(
                population.name, reason=f"is in a database of encoding {encoding}", remedy="use one of encoding UTF8"
            )
        try:
            registry = register(population, sources, self._shape)
        except BaseException:
            self.close()
            raise
        super().__init__(
            population,
            registry.relations,
            one_row_a_person=registry.one_row_a_person,
            bitmap_memory=bitmap_memory,
            on_failure=on_failure,
        )

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._closed = True
            open_, self._idle = [*self._idle, *self._running], []
        for connection in open_:
            connection.close()

    def _rows(self, statement: Statement) -> Sequence[Row]:
        with self._transaction() as connection, stoppable(lambda: connection.cancel_safe(timeout=_CONNECT_SECONDS)):
            if shape_of(connection, self._sources) != self._shape:
                raise ValueError("a table was altered since it was registered; register it again")
            return connection.execute(statement.text, statement.parameters).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection]:
        """Give a connection in a fresh read-only transaction; it is kept for later only if all went well."""
        connection = self._begun()
        try:
            yield connection
            connection.rollback()
        except BaseException:
            connection.close()
            raise
        finally:
            with self._lock:
                self._running.discard(connection)
                if not self._closed and not connection.closed:
                    self._idle.append(connection)

    def _begun(self) -> psycopg.Connection:
        while True:
            with self._lock:
                if self._closed:
                    raise psycopg.InterfaceError("the engine is closed")
                kept = self._idle.pop() if self._idle else None
            connection = kept or self._connect()
            with self._lock:
                self._running.add(connection)
            try:
                self._pin(connection)
            except BaseException as failure:
                with self._lock:
                    self._running.discard(connection)
                connection.close()
                # A connection may have died while it was idle. No data was read on it yet: take the next, or a new one.
                if kept is None or not isinstance(failure, psycopg.OperationalError):
                    raise
            else:
                return connection

    def _connect(self) -> psycopg.Connection:
        given: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "application_name": "lapwing"}
        given |= self._address | {"client_encoding": "UTF8"}
        connection = psycopg.connect(**given, prepare_threshold=None, cursor_factory=psycopg.RawCursor)
        connection.adapters.register_loader("numeric", _WholeNumber)
        connection.isolation_level, connection.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        return connection

    def _without_password(self, text: str) -> str:
        password = self._address.get("password")
        return text.replace(str(password), "...") if password else text

    def _pin(self, connection: psycopg.Connection) -> None:
        """Begin a transaction with the settings that the meaning of a statement depends on."""
        calls = ", ".join(
            f"pg_catalog.set_config(${2 * n + 1}, ${2 * n + 2}, TRUE)" for n in range(len(self._settings))
        )
        connection.execute(f"SELECT {calls}", [text for setting in self._settings.items() for text in setting])


def _address(population: Population, conninfo: str) -> dict[str, Any]:
    """Return what `conninfo` says. What libpq has to say about a wrong one may quote the password: it is kept back."""
    with suppress(psycopg.ProgrammingError):
        return dict(conninfo_to_dict(conninfo))
    raise RegistrationError(
        population.name,
        reason="has an address that means nothing to PostgreSQL",
        remedy='write "postgresql://user@host/database", and special characters of a password as %XX',
    )


class _WholeNumber(Loader):
    """Sums of 64-bit integers come as decimals; they are whole, or something has failed."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data))
