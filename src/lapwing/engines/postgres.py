"""PostgreSQL: the tables stay where they are, and every question is one read-only transaction.

Nothing that a role, a database or a server may have set differently reaches an answer: each transaction pins what the
meaning of a statement depends on. A connection that failed is thrown away, so the next question starts with a new one.

The shape of the tables is read from the system catalogue: once when they are registered, to the custodian's face, and
again in the transaction of every question. A table that was altered in between could make an expression fail, or count
a person twice, so it has to be registered again; and one that another has taken the place of is other data.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, TypeAlias

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict

from lapwing.engines.dialect import Dialect, StoredColumn
from lapwing.engines.emitter import Statement
from lapwing.engines.engine import BITMAP_MEMORY, Engine, Row
from lapwing.engines.files import without_columns
from lapwing.engines.reading import LONGEST, TIME_LIMIT, stoppable
from lapwing.engines.stored_columns import (
    Registered,
    declared_names,
    identity,
    select_list,
    source_of,
    stored_name,
)
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.lifetime import closing_on_failure

POSTGRES = Dialect(
    real="DOUBLE PRECISION",
    text="TEXT",
    integers=frozenset({"smallint", "integer", "bigint"}),
    reals=frozenset({"real", "double precision"}),
    texts=frozenset({"text", "character varying", "uuid", "enum"}),
    days=frozenset({"date", "timestamp without time zone", "timestamp with time zone"}),
    small_total="SUM(CAST({} AS INTEGER))",  # 64 bits wide, where a sum of 64-bit integers is a decimal
    ymd="CAST(date_part('year', {0}) * 10000 + date_part('month', {0}) * 100 + date_part('day', {0}) AS BIGINT)",
    time_of_day="CAST(FLOOR(EXTRACT(EPOCH FROM CAST(CAST({0} AS TIMESTAMP) AS TIME))) AS BIGINT)",
    beginning="CAST(date_trunc('{0}', CAST({1} AS TIMESTAMP)) AS DATE)",
    text_number="CAST(CAST('x' || substr(md5({}), 1, 15) AS BIT(60)) AS BIGINT)",
    text_order='{} COLLATE "C"',
    in_list="{0} = ANY(CAST({1} AS {2}[]))",
    # OFFSET keeps an expression from being copied to every place that names it, four times for a rank; and people in
    # order are grouped and ranked without a hash table that outgrows its memory.
    in_order="{0} ORDER BY {1} OFFSET 0",
)

Shape: TypeAlias = tuple[Row, ...]
"""The columns of the tables in the catalogue of the server: the number of the source, then the fields of `_Column`."""

_PINNED = {
    "search_path": "pg_catalog, pg_temp",  # no user's function, operator or temporary table shadows those of PostgreSQL
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "extra_float_digits": "3",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",  # types are looked up by how the server writes them
    "lock_timeout": "0",
    "parallel_tuple_cost": "0.001",  # the default keeps all of a large sort on one processor
    "jit": "off",  # it compiles for longer than most of our statements run
}
_CONNECT_SECONDS = 10
_CAN_BE_NAN = POSTGRES.reals | {"numeric"}
_REMEDY = "store it as {}, show it so in a view, or declare what it is"

# Decimals have a number of digits, and a scale with a sign in eleven bits. One below zero or above the number of digits
# allows cells that no double holds, such as 1e400: then, as where a column declares none, the digits are unknown.
_SHAPE = """
WITH relations AS MATERIALIZED (
    SELECT place, pg_class.oid, relkind, relhassubclass,
           has_table_privilege(pg_class.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') AS writable,
           (WITH RECURSIVE parts (part) AS (  -- what is read with it: its children, and what a view is made of
                SELECT pg_class.oid UNION SELECT beneath FROM parts CROSS JOIN LATERAL (
                    SELECT inhrelid FROM pg_inherits WHERE inhparent = part UNION ALL
                    SELECT refobjid FROM pg_rewrite
                    JOIN pg_class AS views ON views.oid = ev_class AND views.relkind = 'v'
                    JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = pg_rewrite.oid
                    WHERE ev_class = part AND refclassid = 'pg_class'::regclass) AS below (beneath))
            SELECT min(fdwname) FROM parts JOIN pg_foreign_table ON ftrelid = part
            JOIN pg_foreign_server ON pg_foreign_server.oid = ftserver
            JOIN pg_foreign_data_wrapper ON pg_foreign_data_wrapper.oid = srvfdw) AS wrapper,
           hashtextextended(concat_ws(' ', pg_class.oid, relkind, pg_get_viewdef(pg_class.oid),
               (SELECT concat_ws(' ', srvname, srvoptions, ftoptions) FROM pg_foreign_table
                JOIN pg_foreign_server ON pg_foreign_server.oid = ftserver WHERE ftrelid = pg_class.oid)), 0) AS itself
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS sources (schema, name, place)
    JOIN pg_namespace ON nspname = schema
    JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = name AND relkind IN ('r', 'p', 'v', 'm', 'f'))
SELECT place, attname,
       CASE typtype WHEN 'e' THEN 'enum' ELSE format_type(atttypid, NULL) END,
       CASE WHEN atttypid = 'numeric'::regtype AND atttypmod >= 4 AND scale BETWEEN 0 AND digits THEN digits END,
       attnotnull AND (relkind = 'p' OR relkind = 'r' AND NOT relhassubclass) AND EXISTS (
           SELECT 1 FROM pg_index
           WHERE indrelid = relations.oid AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL
             AND indnkeyatts = 1 AND indkey[0] = attnum) AND NOT EXISTS (
           SELECT 1 FROM pg_constraint  -- NOT NULL may have been declared for the rows to come only
           WHERE conrelid = relations.oid AND contype = 'n' AND conkey = ARRAY[attnum] AND NOT convalidated),
       attgenerated = 'v', writable, wrapper, itself
FROM relations
JOIN pg_attribute ON attrelid = relations.oid AND attnum > 0 AND NOT attisdropped
JOIN pg_type ON pg_type.oid = atttypid
CROSS JOIN LATERAL (SELECT ((atttypmod - 4) >> 16) & 65535, (((atttypmod - 4) & 2047) # 1024) - 1024)
    AS decimals (digits, scale)
ORDER BY place, attnum
"""
_DATABASE = "SELECT oid FROM pg_database WHERE datname = current_database()"
_SERVER = f"SELECT system_identifier, ({_DATABASE}) FROM pg_control_system()"


@frozen()
class PostgresTable:
    """A table or view of the database."""

    table: str
    schema: str = "public"


class PostgreSQL(Engine):
    """An engine on PostgreSQL.

    Parameters
    ----------
    population, bitmap_memory, on_failure : as for every `Engine`
    sources : where each table of the population is
    conninfo : how to connect, as libpq takes it: "host=... user=... dbname=..." or a URL; the role must be one that may
        read the tables and not change them
    time_limit : seconds after which the server gives up on a question
    work_memory : what one sort or hash table of a question may take on the server before it goes to disk

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
        self._read = {table.name: declared_names(population, table) for table in population.tables}
        try:
            with self._transaction() as connection:
                shape = shape_of(connection, sources)
                encoding = connection.info.parameter_status("server_encoding")
                self._where = _which_server(connection)
                server = connection.execute(self._where).fetchone()
        except psycopg.Error as failure:
            reason = f"cannot be reached: {self._without_password(str(failure))}"
            raise RegistrationError(population.name, reason=reason, remedy="mend the connection") from None
        with closing_on_failure(self):
            if encoding != "UTF8":  # its MD5 of a text would be another than that of other engines
                reason = f"is in a database of encoding {encoding}"
                raise RegistrationError(population.name, reason=reason, remedy="use one of encoding UTF8")
            registered = register(population, sources, shape)
            self._shape = self._of_what_is_read(shape)
            registered.identities.update(self._identities(server, shape))
        super().__init__(population, registered, bitmap_memory=bitmap_memory, on_failure=on_failure)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._closed = True
            open_, self._idle = [*self._idle, *self._running], []
        for connection in open_:
            connection.close()

    def identities_now(self) -> Mapping[str, str]:
        """Return the current identities of the tables; fail if no transaction can be begun."""
        with self._transaction() as connection:
            server, shape = connection.execute(self._where).fetchone(), shape_of(connection, self._sources)
        return self._identities(server, shape)

    def _identities(self, server: Row | None, shape: Shape) -> dict[str, str]:
        found: dict[str, list[_Column]] = {name: [] for name in self._sources}
        for place, *column in self._of_what_is_read(shape):
            found[list(self._sources)[place - 1]].append(_Column(*column))
        return {
            name: identity((server, self._sources[name], *{column.relation for column in columns}), columns)
            for name, columns in found.items()
        }

    def _of_what_is_read(self, shape: Shape) -> Shape:
        """Return the rows of a shape for declared columns; others may be added and dropped."""
        names = list(self._sources)
        return tuple(row for row in shape if row[1].casefold() in self._read.get(names[row[0] - 1], ()))

    def _rows(self, statement: Statement) -> Sequence[Row]:
        with self._transaction() as connection, stoppable(lambda: connection.cancel_safe(timeout=_CONNECT_SECONDS)):
            if self._of_what_is_read(shape_of(connection, self._sources)) != self._shape:
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
        marks = range(1, 2 * len(self._settings), 2)
        calls = ", ".join(f"pg_catalog.set_config(${n}, ${n + 1}, TRUE)" for n in marks)
        connection.execute(f"SELECT {calls}", [text for setting in self._settings.items() for text in setting])


def _address(population: Population, conninfo: str) -> dict[str, Any]:
    """Return the parameters of `conninfo`. The error of libpq for a wrong one may quote the password: it is hidden."""
    with suppress(psycopg.ProgrammingError):
        return dict(conninfo_to_dict(conninfo))
    raise RegistrationError(
        population.name,
        reason="has an address that PostgreSQL cannot read",
        remedy='write "postgresql://user@host/database", and special characters of a password as %XX',
    )


def _which_server(connection: psycopg.Connection) -> str:
    """Return the statement that identifies this database; some roles may not ask for the server."""
    with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
        connection.execute(_SERVER)
        return _SERVER
    return _DATABASE


class _WholeNumber(Loader):
    """Sums of 64-bit integers come as decimals; one that is not whole is a failure."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data))


def shape_of(connection: psycopg.Connection, sources: Mapping[str, PostgresTable]) -> Shape:
    """Return the columns of all `sources` from the catalogue of the database."""
    places = sources.values()
    rows = connection.execute(_SHAPE, [[place.schema for place in places], [place.table for place in places]])
    return tuple(rows.fetchall())


@frozen(kw_only=False)
class _Column(StoredColumn):
    """A stored column, with further facts from the catalogue of the database."""

    unique: bool = False
    computed: bool = False
    writable: bool = False
    wrapper: str | None = None
    relation: int = 0


def register(population: Population, sources: Mapping[str, PostgresTable], shape: Shape) -> Registered:
    """Return how to read the tables of `population`, or refuse one that disagrees with its declaration.

    A table has one row a person where its key is declared unique and never missing in the database itself.
    """
    registered = Registered()
    for table in population.tables:
        source = source_of(table, sources, "name its PostgresTable")
        place = list(sources).index(table.name) + 1
        stored = [_Column(*column) for number, *column in shape if number == place]
        name = f"{POSTGRES.name(source.schema)}.{POSTGRES.name(source.table)}"
        if not stored:
            reason, remedy = f"is not in the database as {name}", "name its PostgresTable, schema included"
            raise RegistrationError(table.name, reason=reason, remedy=remedy)
        if stored[0].writable:
            remedy = f"connect as a role that has been granted nothing but SELECT ON {name}"
            raise RegistrationError(table.name, reason=f"is open for writing to this role as {name}", remedy=remedy)
        if stored[0].wrapper is not None and table.key_type is KeyType.INTEGER:
            reason = f"comes through {stored[0].wrapper}, which may read the person keys 7 and 007 as one number"
            remedy = 'copy it into a table of the database, or show its keys as texts: key_type = "text"'
            raise RegistrationError(table.name, reason=reason, remedy=remedy)
        columns = select_list(population, table, stored, POSTGRES, _reader(table), keys=registered.keys, remedy=_REMEDY)
        # A foreign server compares by its own rules: the optimization fence keeps conditions and groups here.
        fence = "" if stored[0].wrapper is None else " OFFSET 0"
        registered.relations[table.name] = f"(SELECT {columns} FROM {name}{fence})"
        key = stored_name(table, population.person_key(table), [column.name for column in stored])
        if table.rows is RowsPerPerson.ONE_A_PERSON and any(c.name == key and c.unique for c in stored):
            registered.one_row_a_person.add(table.name)
    return registered


def _reader(table: Table) -> Callable[[str, _Column, str], str]:
    def read(name: str, stored: _Column, wanted: str) -> str:
        if stored.computed:
            raise RegistrationError(
                table.name,
                reason=f"has {name!r} computed when it is read, which may fail on a single row",
                remedy="store it: GENERATED ALWAYS AS (...) STORED, or a plain column",
            )
        column = POSTGRES.name(stored.name)
        if stored.type.upper() != wanted:
            column = f"CAST({column} AS {wanted})"
        if stored.type in _CAN_BE_NAN:  # which other databases treat differently: it is read as missing
            column = f"NULLIF({column}, CAST('NaN' AS {wanted}))"
        # A collation may take different texts for the same; two columns of two collations cannot be compared at all.
        return f'{column} COLLATE "C"' if wanted == POSTGRES.text else column

    return read


def columns_in_postgres(table: str, address: str, *, schema: str, name: str) -> dict[str, str | None]:
    """Return the columns of a table in PostgreSQL, each with its kind."""
    question = (
        "select column_name, data_type from information_schema.columns "
        "where table_schema = %s and table_name = %s order by ordinal_position"
    )
    try:
        with psycopg.connect(address) as connection:
            found: Mapping[str, str] = dict(connection.execute(question, (schema, name)).fetchall())
    except psycopg.Error:
        raise without_columns(table, "the database cannot be reached") from None
    if not found:
        remedy = "name it with --name, and its schema with --schema"
        raise without_columns(table, f"there is no table {schema}.{name} that this role may see", remedy)
    return {column: POSTGRES.kind_stored(stored) for column, stored in found.items()}
