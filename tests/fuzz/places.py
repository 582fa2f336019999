"""Where tables may lie: every engine and every file format, each able to open an engine on given rows.

A place also says what of the rows is left once they lie there, for the oracle: a CSV file cannot tell an empty text
from a missing one.
"""

import itertools
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from engines.clinic import arrow_tables
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import as_reader, one_row_a_person, postgres_columns
from lapwing.engines.duckdb import DuckDB, DuckDBTable
from lapwing.engines.postgres import PostgreSQL, PostgresTable
from lapwing.engines.spark import Spark
from lapwing.queries.catalogue.column import Date, Real
from lapwing.queries.catalogue.population import RowsPerPerson

ROW_GROUP = 4
"""Rows of a row group: few, so that a file has several, each with statistics of its own."""
_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype("python")}
_NARROW = {
    pa.float64(): pa.float32(),
    pa.string(): pa.dictionary(pa.int32(), pa.string()),
    pa.date32(): pa.timestamp("us"),
}
_schemas = itertools.count()


def _as_they_are(_population, tables):
    return tables


@dataclass(frozen=True)
class Place:
    """One way of keeping tables.

    `opened` gives an engine on tables, in a folder of its own, beside the `servers` that run ("postgres", "spark");
    `stored` says what the tables are once they are there; some places are to be refused, and at slow ones only the
    first `questions` of a case are asked.
    """

    name: str
    opened: Callable[..., Any]
    stored: Callable[..., Any] = _as_they_are
    is_refused: bool = False
    questions: int = 20


@contextmanager
def _rows_in_memory(population, tables, _servers, _on_failure):
    yield RowsInMemory(population, tables)


def _in_duckdb(source_of):
    """Return how to open DuckDB on the source that `source_of` makes of each table, in Arrow."""

    @contextmanager
    def opened(population, tables, _servers, on_failure):
        arrow = arrow_tables(population, tables)
        with TemporaryDirectory(prefix="lapwing-fuzz-") as folder:
            sources = {
                table.name: source_of(Path(folder) / f"table{i}", arrow[table.name], population, table)
                for i, table in enumerate(population.tables)
            }
            with DuckDB(population, sources, threads=1, on_failure=on_failure) as engine:
                yield engine

    return opened


def _arrow_table(_path, arrow, _population, _table):
    return arrow


def _polars_frame(_path, arrow, _population, _table):
    return pl.from_arrow(arrow)


def _pandas_frame(_path, arrow, _population, _table):
    times = [pa.field(f.name, pa.timestamp("s") if pa.types.is_date(f.type) else f.type) for f in arrow.schema]
    return arrow.cast(pa.schema(times)).to_pandas(types_mapper=_NULLABLE.get)


def _parquet_by_pyarrow(path, arrow, _population, _table):
    file = path.with_suffix(".parquet")
    pq.write_table(arrow, file, row_group_size=ROW_GROUP)
    return file


def _narrow_parquet(path, arrow, population, table):
    """Write floats of 32 bits, texts as numbers into a dictionary, and days as moments."""
    types = [pa.field(field.name, _NARROW.get(field.type, field.type)) for field in arrow.schema]
    return _parquet_by_pyarrow(path, arrow.cast(pa.schema(types)), population, table)


def _parquet_by_polars(path, arrow, _population, _table):
    file = path.with_suffix(".parquet")
    pl.from_arrow(arrow).write_parquet(file, row_group_size=ROW_GROUP)
    return file


def _parquet_by_duckdb(path, arrow, _population, _table):
    file = path.with_suffix(".parquet")
    _run(":memory:", arrow, f"COPY incoming TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE {ROW_GROUP})")
    return file


def _csv_file(path, arrow, _population, _table):
    file = path.with_suffix(".csv")
    _run(":memory:", arrow, f"COPY incoming TO '{file}' (HEADER, DELIMITER ',')")
    return file


def _duckdb_table(path, arrow, _population, _table):
    _run(path, arrow, "CREATE TABLE stored AS FROM incoming")
    return DuckDBTable(path=path, table="stored")


def _duckdb_view(path, arrow, population, table):
    """Make a view that shows a person's second row only after the engine was opened, as one with now() may do."""
    seen, late = set(), []
    for key in arrow.column(population.person_key(table)).to_pylist():
        late.append(table.rows is RowsPerPerson.ONE_A_PERSON and key in seen)
        seen.add(key)
    _run(
        path,
        arrow.append_column("it comes late", pa.array(late, pa.bool_())),
        "CREATE TABLE stored AS FROM incoming",
        'CREATE VIEW shown AS SELECT * EXCLUDE ("it comes late") FROM stored '
        "WHERE NOT \"it comes late\" OR NOT current_setting('enable_external_access')",
    )
    return DuckDBTable(path=path, table="shown")


def _run(database, arrow, *statements):
    with duckdb.connect(database) as connection:
        connection.register("incoming", arrow)
        for statement in statements:
            connection.execute(statement)


def _within_the_calendar(population, tables):
    return _changed(population, tables, lambda kind, value: None if kind is Date and isinstance(value, str) else value)


def _without_empty_texts(population, tables):
    tables = _changed(population, tables, lambda _kind, value: None if value == "" else value)
    return _within_the_calendar(population, tables)


def _narrowed(population, tables):
    with np.errstate(over="ignore"):
        tables = _changed(population, tables, lambda kind, v: float(np.float32(v)) if kind is Real and v else v)
    return _within_the_calendar(population, tables)


def _changed(population, tables, change):
    """Return the tables with every cell changed, given the type of its column, or None for the person key."""
    kinds = {t.name: {c.name: type(c.type) for c in t.columns} for t in population.tables}
    return {
        name: [{column: change(kinds[name].get(column), value) for column, value in row.items()} for row in rows]
        for name, rows in tables.items()
    }


@contextmanager
def _in_postgres(population, tables, servers, on_failure):
    """Fill a schema of its own; where every row is of another person, the database is told so."""
    dsn, name = servers.postgres, f"fuzz_{next(_schemas)}"
    schema = sql.Identifier(name)
    with psycopg.connect(dsn, autocommit=True) as admin:
        reader = as_reader(admin, dsn)
        admin.execute(sql.SQL("create schema {}").format(schema))
        for table in population.tables:
            _fill(admin, schema, population, table, tables)
        admin.execute(sql.SQL("grant usage on schema {} to reader").format(schema))
        admin.execute(sql.SQL("grant select on all tables in schema {} to reader").format(schema))
        sources = {table.name: PostgresTable(table=table.name, schema=name) for table in population.tables}
        with PostgreSQL(population, sources, reader, on_failure=on_failure) as engine:
            yield engine
        admin.execute(sql.SQL("drop schema {} cascade").format(schema))


def _fill(admin, schema, population, table, tables):
    columns = postgres_columns(population, table)
    named = sql.SQL("{}.{}").format(schema, sql.Identifier(table.name))
    types = sql.SQL(", ").join(sql.SQL(f"{{}} {kind}").format(sql.Identifier(c)) for c, kind in columns.items())
    admin.execute(sql.SQL("create table {} ({})").format(named, types))
    with admin.cursor() as cursor, cursor.copy(sql.SQL("copy {} from stdin").format(named)) as copy:
        for row in tables[table.name]:
            copy.write_row([row[column] for column in columns])
    if table.name in one_row_a_person(population, tables):
        key = sql.Identifier(population.person_key(table))
        admin.execute(sql.SQL("alter table {} add primary key ({})").format(named, key))


@contextmanager
def _spark_frames(population, tables, servers, on_failure):
    frames = {name: servers.spark.createDataFrame(t) for name, t in arrow_tables(population, tables).items()}
    with Spark(population, frames, servers.spark, on_failure=on_failure) as engine:
        yield engine


@contextmanager
def _spark_parquet(population, tables, servers, on_failure):
    arrow = arrow_tables(population, tables)
    with TemporaryDirectory(prefix="lapwing-fuzz-") as folder:
        files = {
            table.name: _parquet_by_pyarrow(Path(folder) / f"table{i}", arrow[table.name], population, table)
            for i, table in enumerate(population.tables)
        }
        with Spark(population, files, servers.spark, on_failure=on_failure) as engine:
            yield engine


PLACES = {
    place.name: place
    for place in (
        Place("rows", _rows_in_memory),
        Place("arrow", _in_duckdb(_arrow_table)),
        Place("polars", _in_duckdb(_polars_frame)),
        Place("pandas", _in_duckdb(_pandas_frame), _within_the_calendar),
        Place("csv", _in_duckdb(_csv_file), _without_empty_texts),
        Place("parquet-pyarrow", _in_duckdb(_parquet_by_pyarrow)),
        Place("parquet-polars", _in_duckdb(_parquet_by_polars)),
        Place("parquet-narrow", _in_duckdb(_narrow_parquet), _narrowed),
        Place("parquet-duckdb", _in_duckdb(_parquet_by_duckdb)),
        Place("duckdb-table", _in_duckdb(_duckdb_table)),
        Place("duckdb-view", _in_duckdb(_duckdb_view), is_refused=True),
        Place("postgres", _in_postgres),
        Place("spark-frames", _spark_frames, questions=6),
        Place("spark-parquet", _spark_parquet, questions=6),
    )
}
"""Every place by its name."""
QUICK = tuple(name for name in PLACES if name not in {"postgres", "spark-frames", "spark-parquet"})
"""Those that need no server."""
