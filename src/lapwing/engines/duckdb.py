"""DuckDB inside this process: Parquet and CSV files, DuckDB files, and data frames of pandas, Polars and Arrow.

The database is private to the engine and locked once the tables are registered: no file but the registered ones can be
opened, nothing can be installed, no setting can be changed.

Each table becomes one that holds the declared columns and nothing else, in the five types that the emitter writes for.
Types are checked when tables are registered, and every declared cell is read once, to the custodian's face: a cell that
does not fit must not wait for a question. A caller with the mark of an earlier read can skip that (`readable`).

Data that does not fit into memory spills to a folder (`SpillFolder`): rows of people, so only the owner may read them
and none may be left over. A process that is killed removes nothing. Its folder is recognized by a lock that died with
it, and the next process to open one removes it; the id of a process would not do, for ids are reused.
"""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import duckdb

from lapwing.engines.cell_formats import spelled_cell
from lapwing.engines.dialect import StoredColumn, literal
from lapwing.engines.emitter import Statement, emit_codes
from lapwing.engines.engine import BITMAP_MEMORY, Engine, Row
from lapwing.engines.files import (
    DUCKDB,
    INCOMING,
    MOMENT,
    CSVFile,
    literal_path,
    names_of_frame,
    outermost,
    parquet_relation,
    parquet_tree,
    refusal_of_name,
    register_frame,
    without_columns,
)
from lapwing.engines.packed_codes import Packing, counted_in_sets
from lapwing.engines.reading import TIME_LIMIT, hide_failures, stoppable
from lapwing.engines.rows_of_person import Integers
from lapwing.engines.stored_columns import Registered, declared_names, select_list, source_of, stored_name
from lapwing.queries.algebra.aggregate import Aggregate
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.exact import Sensitive, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.lifetime import closing_on_failure

T = TypeVar("T")

_PRIVATE: dict[str, str | bool | int | float | list[str]] = {
    # Optimizers that prune rows or rewrite an expression by statistics of a file or a row group: they depend on data.
    "disabled_optimizers": "statistics_propagation,filter_pushdown,join_filter_pushdown,row_group_pruner,"
    "compressed_materialization,late_materialization",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
_PREFIX: Final = "lapwing-spill-"
_OWNER: Final = "owner"
_SCHEMA: Final = "lapwing"
_QUOTED: Final = re.compile(r'value ".*"(?= is not valid)', re.DOTALL)
"""How DuckDB quotes a cell that is no text; the cell itself must not be shown."""


@frozen()
class DuckDBTable:
    """A table inside a DuckDB file, which is opened for reading only."""

    path: Path
    table: str


Source: TypeAlias = str | Path | DuckDBTable | Any
"""A .parquet or .csv file, a table of a DuckDB file, or a data frame of pandas, Polars or Arrow."""


class DuckDB(Engine):
    """An engine on DuckDB.

    Parameters
    ----------
    population, bitmap_memory, on_failure : as for every `Engine`
    sources : where each table of the population is; files are read where they lie, data frames and CSV are copied
    time_limit : seconds after which a statement is given up
    threads, memory_limit : what the database may use ("2GB"); all that there is, where they are not given
    readable : for tables in files whose content did not change since, the marks that an engine had then in its own
        `readable`: their cells need not be read once more

    >>> import pyarrow
    >>> from lapwing.queries.algebra.aggregate import Aggregate, CountPerPerson
    >>> from lapwing.queries.catalogue.population import Table
    >>> from lapwing.queries.algebra.predicate import ALWAYS
    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> clinic = Population(
    ...     name="clinic", unit=PrivacyUnit(person_key="patient_id"), tables=(Table(name="patients", columns=()),)
    ... )
    >>> bounding = CountPerPerson(max_cells=1)
    >>> with DuckDB(clinic, {"patients": pyarrow.table({"patient_id": [1, 2, 2, None]})}) as engine:
    ...     engine.number(Aggregate(table="patients", where=ALWAYS, keys=(), bounding=bounding, salt=0))
    <sensitive>
    """

    _dialect = DUCKDB

    def __init__(
        self,
        population: Population,
        sources: Mapping[str, Source],
        *,
        time_limit: float = TIME_LIMIT,
        threads: int | None = None,
        memory_limit: str | None = None,
        bitmap_memory: int = BITMAP_MEMORY,
        on_failure: Callable[[Exception], None] = lambda _: None,
        readable: Mapping[str, str] = {},
    ) -> None:
        self._spill = SpillFolder()
        self._time_limit = time_limit
        self._connection = duckdb.connect(config=_PRIVATE | {"temp_directory": str(self._spill.path)})
        with closing_on_failure(self):
            registered = register(self._connection, population, sources, readable)
            super().__init__(population, registered, bitmap_memory=bitmap_memory, on_failure=on_failure)
            self._lock_down(registered.files, threads, memory_limit)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()
        self._spill.close()

    def in_sets(self, aggregate: Aggregate) -> list[Sensitive[tuple[int, ...]]]:
        """Return the numbers of each set of keys: people are counted here, from their codes."""

        def answer() -> list[Sensitive[tuple[int, ...]]]:
            packing = Packing.for_sets(aggregate)
            one_row = aggregate.table in self._one_row
            statement = emit_codes(self._writer(), aggregate, packing.words, one_row=one_row)
            return list(map(Sensitive, counted_in_sets(aggregate, self._columns(statement, len(packing.words)))))

        return hide_failures(answer, self._on_failure)

    def _rows(self, statement: Statement) -> Sequence[Row]:
        return self._fetched(statement, lambda cursor: cursor.fetchall())

    def _columns(self, statement: Statement, width: int = 2) -> Sequence[Integers]:
        del width
        return list(self._fetched(statement, lambda cursor: cursor.fetchnumpy()).values())

    def _fetched(self, statement: Statement, fetch: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        # An open result owns its connection, so each statement has a cursor of its own and is read to the end.
        cursor = self._connection.cursor()
        try:
            with stoppable(cursor.interrupt, seconds=self._time_limit):
                return fetch(cursor.execute(statement.text, list(statement.parameters)))
        finally:
            cursor.close()

    def _lock_down(self, files: Sequence[str], threads: int | None, memory_limit: str | None) -> None:
        settings = {
            "allowed_paths": f"[{', '.join(files)}]",
            **({} if threads is None else {"threads": str(as_int("threads", threads))}),
            **({} if memory_limit is None else {"memory_limit": literal(memory_limit)}),
            "enable_external_access": "false",
            "lock_configuration": "true",
        }
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = {value}").fetchall()


class SpillFolder:
    """A folder of this process in the system's place for temporary files, readable by its user only.

    >>> folder = SpillFolder()
    >>> oct(folder.path.stat().st_mode & 0o777)
    '0o700'
    >>> folder.close()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        place = Path(tempfile.gettempdir())
        _sweep(place)
        self.path, self._process = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place)), os.getpid()
        # Locked before it has its name, so that no sweep of another process ever finds it unlocked.
        unnamed = self.path / "unlocked"
        self._lock = os.open(unnamed, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.path / _OWNER)

    def close(self) -> None:
        """Remove the folder; a process that was forked off leaves it to the one that made it."""
        if self._process == os.getpid() and self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _sweep(place: Path) -> None:
    """Remove the folders of this user whose process is gone."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is another user's, in use, or just being removed by another process
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def register(
    connection: duckdb.DuckDBPyConnection,
    population: Population,
    sources: Mapping[str, Source],
    readable: Mapping[str, str],
) -> Registered:
    """Register every table of a population in a fresh connection, or refuse and name what does not fit."""
    registry = _Registry(connection, population, readable)
    for table in population.tables:
        registry.add(table, source_of(table, sources, "name its file, its data frame or its table in a DuckDB file"))
    return registry.registered


class _Registry:
    def __init__(
        self, connection: duckdb.DuckDBPyConnection, population: Population, readable: Mapping[str, str]
    ) -> None:
        self._connection, self._population, self._readable = connection, population, readable
        self.registered = Registered()
        self._run("SET GLOBAL TimeZone = 'UTC'")  # before any day is copied, and for the cursors of questions
        self._run(f"CREATE SCHEMA {_SCHEMA}")

    def add(self, table: Table, source: Source) -> None:
        """Make a table of data that is copied, and a view of data that is read in place."""
        name, fixed = f"{_SCHEMA}.{DUCKDB.name(table.name)}", True
        if isinstance(source, str | Path) and Path(source).suffix == ".csv":
            self._copy_csv(table, CSVFile(table.name, Path(source)), name)
        else:
            relation, kind, fixed = self._relation(table, source)
            definition = self._definition(table, kind, name, relation, self._names(table, source))
            self._run(definition, table)
            self._connection.unregister(INCOMING)
            if kind == "VIEW":
                self._require_readable(table, name, definition)
        self.registered.relations[table.name] = name
        key = DUCKDB.name(self._population.person_key(table))
        if fixed and table.rows is RowsPerPerson.ONE_A_PERSON:
            ((rows, people),) = self._run(f"SELECT COUNT(*), COUNT(DISTINCT {key}) FROM {name}")
            if rows == people:
                self.registered.one_row_a_person.add(table.name)

    def _require_readable(self, table: Table, name: str, definition: str) -> None:
        """Read every cell once, so that none fails a question later; skip tables that are known to be readable."""
        mark = hashlib.sha256(f"{duckdb.__version__} {definition}".encode()).hexdigest()
        if self._readable.get(table.name) != mark:
            # Through the expressions that questions use: a file may hold a text that its own reader chokes on.
            self._run(f"SELECT max(hash(COLUMNS(*))) FROM {name}", table)
        self.registered.readable[table.name] = mark

    def _relation(self, table: Table, source: Source) -> tuple[str, str, bool]:
        """Return the SQL of the data, whether it is copied to a table, and whether it is out of reach of any change."""
        match source:
            case DuckDBTable(path=path, table=name):
                _require_no_log(table, Path(path))
                place = DUCKDB.name(f"data of {table.name}")
                self._run(f"ATTACH {literal_path(table.name, path)} AS {place} (READ_ONLY)", table)
                self._require_stored(table, f"data of {table.name}", name)
                return f"{place}.main.{DUCKDB.name(name)}", "VIEW", True
            case str() | Path() if Path(source).suffix == ".parquet":
                self.registered.files.append(literal_path(table.name, source))
                return parquet_relation(table.name, source), "VIEW", False
            case str() | Path():
                raise RegistrationError(
                    table.name, reason=f"is in {source}, which is neither", remedy="give a .parquet or a .csv file"
                )
            case frame:
                key = self._population.person_key(table)
                return register_frame(self._connection, table.name, key, frame), "TABLE", True

    def _names(self, table: Table, source: Source) -> list[str] | None:
        """Return the column names of a file or a frame, by its own schema; None for a table, which DuckDB describes."""
        match source:
            case DuckDBTable():
                return None
            case str() | Path():
                return outermost(self._run(parquet_tree(table.name, source), table))
            case frame:
                return names_of_frame(table.name, frame)

    def _require_stored(self, table: Table, place: str, name: str) -> None:
        """Refuse a view or computed column: by now(), or from another file, it changes although the file does not."""
        # DuckDB ignores the case of names, and searches other schemas for a name that it does not find.
        here = "database_name = $1 AND schema_name = 'main' AND lower({}) = lower($2)"
        views = f"SELECT count(*) FROM duckdb_views() WHERE {here.format('view_name')}"
        tables = f"SELECT count(*) FROM duckdb_tables() WHERE {here.format('table_name')}"
        computed = f"SELECT column_name FROM duckdb_columns() WHERE {here.format('table_name')} AND is_generated"
        if self._run(views, table, place, name) != [(0,)]:
            raise RegistrationError(
                table.name,
                reason=f"is a view, {name}, which may change while its file does not",
                remedy=f"store what it shows: CREATE TABLE ... AS FROM {DUCKDB.name(name)}",
            )
        if self._run(tables, table, place, name) == [(0,)]:
            raise RegistrationError(
                table.name, reason=f"is not in its file as a table {name}", remedy="name a table that the file holds"
            )
        declared = {self._population.person_key(table), *(column.name for column in table.columns)}
        for (column,) in self._run(computed, table, place, name):
            if any(column.casefold() == one.casefold() for one in declared):
                raise RegistrationError(
                    table.name,
                    reason=f"has {column!r} computed when it is read, so that it may change while its file does not",
                    remedy="store it as a plain column",
                )

    def _copy_csv(self, table: Table, file: CSVFile, name: str) -> None:
        """Make a table of a CSV file, or refuse it with the line, the column and what to do."""
        key = stored_name(table, self._population.person_key(table), file.header)
        columns = {
            stored_name(table, c.name, file.header): DUCKDB.type_of(c.type) for c in table.columns if not c.time_of
        }
        columns |= {stored_name(table, c.time_of, file.header): MOMENT for c in table.columns if c.time_of}
        types = columns | {key: DUCKDB.type_of(table.key_type)}
        if table.cells_written:
            file.spelled(lambda cell, kind: spelled_cell(cell, kind, table))
        lines = file.check_lines()
        definition = self._definition(table, "TABLE", name, file.relation(types, key))
        try:
            self._run(definition, table)
        except RegistrationError as failure:
            raise self._misfit(table, file, types, key) or file.refusal_of_line(str(failure)) from None
        ((rows,),) = self._run(f"SELECT COUNT(*) FROM {name}")
        file.check_rows(lines, rows)

    def _misfit(self, table: Table, file: CSVFile, types: Mapping[str, str], key: str) -> RegistrationError | None:
        """Return the refusal of the first cell that is none of its type, if the lines can be read and there is one."""
        with suppress(RegistrationError):
            for column, kind in types.items():
                for row, cell in self._run(file.misfit(types, key, column), table):
                    return file.refusal(row, column, kind, cell, is_key=column == key)
        return None

    def _definition(self, table: Table, kind: str, name: str, relation: str, names: list[str] | None = None) -> str:
        """Return the statement that makes a table or a view of the declared columns, or refuse what does not fit.

        `names` are those that the source itself gives its columns, where DuckDB may have given them others.
        """
        described = [(str(column), str(type_)) for column, type_, *_ in self._run(f"DESCRIBE FROM {relation}", table)]
        own = [column for column, _ in described] if names is None else names
        pairs = list(zip(own, described, strict=True))
        stored = [StoredColumn(column, type_, _digits(type_)) for column, (_, type_) in pairs]
        columns = select_list(self._population, table, stored, DUCKDB, _read, keys=self.registered.keys)
        for column, (read_as, _) in pairs:
            if column != read_as and column.casefold() in declared_names(self._population, table):
                raise refusal_of_name(table.name, column, read_as)
        return f"CREATE {kind} {name} AS SELECT {columns} FROM {relation}"

    def _run(self, text: str, table: Table | None = None, *parameters: str) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(text, parameters or None).fetchall()
        except duckdb.Error as failure:
            name = self._population.name if table is None else table.name
            reason = _QUOTED.sub("a value", str(failure))
            raise RegistrationError(
                name, reason=f"cannot be read: {reason}", remedy="mend the data or its place"
            ) from None


def _require_no_log(table: Table, path: Path) -> None:
    """Refuse a file with a write-ahead log: its changes would be read although the file itself does not change."""
    log = path.with_name(f"{path.name}.wal")
    if log.exists():
        raise RegistrationError(
            table.name,
            reason=f"is in {path}, whose latest changes are still in {log.name}",
            remedy="open the file with DuckDB, run CHECKPOINT, and close it",
        )


def _digits(stored: str) -> int | None:
    kind, _, digits = stored.partition("(")
    return int(digits.partition(",")[0]) if kind == "DECIMAL" else None


def _read(_: str, stored: StoredColumn, wanted: str) -> str:
    """Return the SQL of a column in the wanted type, in which every stored value fits; texts differ byte by byte.

    NaN becomes NULL here, so that no predicate meets it: databases disagree on what it equals, and files on whether
    their smallest and largest values count it.
    """
    column = DUCKDB.name(stored.name)
    if wanted == DUCKDB.text:
        return f"CAST({column} AS {wanted}) COLLATE C"  # a column of a DuckDB file may take "a" and "A" for the same
    if wanted == DUCKDB.day:
        return f"TRY_CAST({column} AS {wanted})"  # there are times that are on no day
    cast = f"CAST({column} AS {wanted})"
    return f"CASE WHEN isnan({column}) THEN NULL ELSE {cast} END" if stored.bare in DUCKDB.reals else cast


def columns_of_file(table: str, source: Path | DuckDBTable) -> dict[str, str | None]:
    """Return the columns of a Parquet or CSV file or of a table in a DuckDB file, each with its kind.

    A kind is "integer", "real", "text", "date" or "boolean". It is None where none of them fits, and for every column
    of a CSV file: that has names in its first line, and types only in its rows.

    No row is read, of people least of all: bounds and categories are public because the custodian declares them. Looked
    up in the data they would not be.
    """
    if isinstance(source, Path) and source.suffix == ".csv":
        return dict.fromkeys(CSVFile(table, source).header)
    place = source if isinstance(source, Path) else Path(source.path)
    if not place.is_file():
        raise without_columns(table, f"{place} is not there")
    relation = parquet_relation(table, place)
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        try:
            if isinstance(source, DuckDBTable):
                connection.execute(f"ATTACH {literal_path(table, place)} AS data (READ_ONLY)")
                relation = f"data.main.{DUCKDB.name(source.table)}"
            described = connection.execute(f"DESCRIBE FROM {relation}").fetchall()
            names = [str(name) for name, *_ in described]
            if isinstance(source, Path):
                names = outermost(connection.execute(parquet_tree(table, place)).fetchall())
        except duckdb.Error:
            if not isinstance(source, DuckDBTable):
                raise without_columns(table, f"{place} is not a Parquet file") from None
            raise _without_table(table, source, connection) from None
    return {name: DUCKDB.kind_stored(str(stored)) for name, (_, stored, *_) in zip(names, described, strict=True)}


def _without_table(table: str, source: DuckDBTable, connection: duckdb.DuckDBPyConnection) -> RegistrationError:
    """Return the refusal of a DuckDB file that has no such table, with those that it has."""
    there = "select table_name from duckdb_tables() where database_name = 'data' and schema_name = 'main' order by 1"
    names = [str(name) for (name,) in connection.execute(there).fetchall()]
    if not names:
        return without_columns(table, f"{source.path} is not a DuckDB file with tables in it")
    there = f"it has {', '.join(names)}: --name {names[0]}"
    return without_columns(table, f"{source.path} has no table {source.table}", there)
