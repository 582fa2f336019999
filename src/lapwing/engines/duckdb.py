"""DuckDB inside this process: Parquet and CSV files, DuckDB files, and data frames of pandas, Polars and Arrow.

The database is private to the engine and locked once the tables are registered: no file but the registered ones can be
opened, nothing can be installed, no setting can be changed.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

import duckdb

from lapwing.engines.dialect import DUCKDB
from lapwing.engines.duckdb_registry import Source, literal, register
from lapwing.engines.emitter import Statement, emit
from lapwing.engines.engine import (
    CellKey,
    Row,
    all_numbers,
    check_keyed,
    check_number,
    check_vector,
    numbers_by_cell,
    one_number,
    unless_it_fails,
)
from lapwing.queries.aggregate import Aggregate
from lapwing.queries.catalogue import Population
from lapwing.vocabulary.exact import whole
from lapwing.vocabulary.sensitive import Sensitive

T = TypeVar("T")

_PRIVATE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}


class DuckDB:
    """An engine on DuckDB.

    Parameters
    ----------
    population : what the tables are and hold, as declared
    sources : where each table of the population is; files are read where they lie, data frames and CSV are copied
    threads, memory_limit : what the database may use ("2GB"); all that there is, where they are not given
    on_failure : told the reason of every failure, for the custodian's log; the reason may hold data

    Examples
    --------
    >>> import pyarrow
    >>> from lapwing.queries.aggregate import Aggregate, Once
    >>> from lapwing.queries.catalogue import Table
    >>> from lapwing.queries.predicate import ALWAYS
    >>> from lapwing.vocabulary.privacy_unit import PrivacyUnit
    >>> clinic = Population(
    ...     name="clinic", unit=PrivacyUnit(person_key="patient_id"), tables=(Table(name="patients", columns=()),)
    ... )
    >>> with DuckDB(clinic, {"patients": pyarrow.table({"patient_id": [1, 2, 2, None]})}) as engine:
    ...     engine.number(Aggregate(table="patients", where=ALWAYS, keys=(), bounding=Once(max_cells=1), salt=0))
    <sensitive>
    """

    def __init__(
        self,
        population: Population,
        sources: Mapping[str, Source],
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        on_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._population, self._on_failure = population, on_failure
        self._spill = tempfile.TemporaryDirectory(prefix="lapwing-")
        self._running: set[duckdb.DuckDBPyConnection] = set()
        self._lock = Lock()
        self._connection = duckdb.connect(config=_PRIVATE | {"temp_directory": self._spill.name})
        try:
            registered = register(self._connection, population, sources)
            self._relations, self._one_row = registered.relations, registered.one_row_a_person
            self._lock_down(registered.files, threads, memory_limit)
        except BaseException:
            self.close()
            raise

    def number(self, aggregate: Aggregate) -> Sensitive[int]:
        """Return the one number of an aggregate that has one public cell and one term."""
        check_number(aggregate)
        return self._run(aggregate, one_number)

    def vector(self, aggregate: Aggregate) -> Sensitive[tuple[int, ...]]:
        """Return all numbers of an aggregate with public cells: cell after cell, the terms of a cell together."""
        check_vector(aggregate)
        return self._run(aggregate, all_numbers)

    def keyed(self, aggregate: Aggregate) -> Sensitive[Mapping[CellKey, tuple[int, ...]]]:
        """Return the numbers of an aggregate whose cells only the data knows, by cell."""
        check_keyed(aggregate)
        return self._run(aggregate, numbers_by_cell)

    def cancel(self) -> None:
        """Stop what is running, from any thread."""
        with self._lock:
            for cursor in self._running:
                cursor.interrupt()

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()
        self._spill.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self, aggregate: Aggregate, shape: Callable[[Aggregate, Sequence[Row]], T]) -> Sensitive[T]:
        statement = emit(aggregate, self._population, DUCKDB, self._relations, self._one_row)
        return unless_it_fails(lambda: Sensitive(shape(aggregate, self._rows(statement))), self._on_failure)

    def _rows(self, statement: Statement) -> Sequence[Row]:
        # An open result owns its connection, so each statement has a cursor of its own and is read to the end.
        cursor = self._connection.cursor()
        with self._lock:
            self._running.add(cursor)
        try:
            return cursor.execute(statement.text, list(statement.parameters)).fetchall()
        finally:
            with self._lock:
                self._running.discard(cursor)
            cursor.close()

    def _lock_down(self, files: Sequence[str], threads: int | None, memory_limit: str | None) -> None:
        settings = {
            "TimeZone": literal("UTC"),
            "allowed_paths": f"[{', '.join(literal(file) for file in files)}]",
            **({} if threads is None else {"threads": str(whole("threads", threads))}),
            **({} if memory_limit is None else {"memory_limit": literal(memory_limit)}),
            "enable_external_access": "false",
            "lock_configuration": "true",
        }
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = {value}").fetchall()
