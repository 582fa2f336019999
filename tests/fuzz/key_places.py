"""Where person keys may stand: file formats, frames and databases, in every type in which somebody may keep keys.

A place says what a spelling is once it stands there, and whether tables with such keys must be refused. What a typed
column makes of a text (a number, a UUID) it makes before lapwing sees it: there the value is what is written.
"""

import csv
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from engines.workbenches import as_reader
from lapwing.engines.duckdb import DuckDB, DuckDBTable
from lapwing.engines.postgres import PostgreSQL, PostgresTable
from lapwing.engines.spark import Spark, SparkTable
from lapwing.queries.catalogue.population import KeyType

_ROUNDED = re.compile(r"\s*[+-]?\d+([.,]\d+e\+\d+|e\+1\d)\s*", re.IGNORECASE)
_CANONICAL = re.compile(r"0|-?[1-9][0-9]*")
_names = count()


@dataclass(frozen=True)
class KeyPlace:
    """A way of keeping keys.

    `held` gives what a spelling is there (None: nobody's), and a ValueError where it cannot stand there; `opened` gives
    an engine on tables of (key, number) pairs; `refused` says of the keys of all tables whether they must be refused
    (True), must not be (False), or may be (None).
    """

    name: str
    key_type: KeyType
    held: Callable[[str], Any]
    opened: Callable[..., Any]
    refused: Callable[[list], bool | None] = lambda _: False


def _always(_):
    return True


def _never(_):
    return False


def text(spelling):
    """Return a text as it is."""
    return spelling


def or_nothing(spelling):
    """Return a cell of CSV: an empty one is missing."""
    return spelling or None


def without_nul(spelling):
    if "\0" in spelling:
        raise ValueError(spelling)
    return spelling


def short(spelling):
    if len(spelling) > 40:
        raise ValueError(spelling)
    return without_nul(spelling)


def whole(spelling):
    """Return a whole number of 64 bits: what another program would have stored."""
    number = int(spelling)
    if not -(2**63) <= number < 2**63:
        raise ValueError(spelling)
    return number


def small(spelling):
    number = int(spelling)
    if not -(2**31) <= number < 2**31:
        raise ValueError(spelling)
    return number


def decimal(spelling):
    try:
        number = Decimal(spelling)
    except InvalidOperation:
        raise ValueError(spelling) from None
    if not number.is_finite() or abs(number) >= 10**18:
        raise ValueError(spelling)
    return round(number, 6)


def moment(spelling):
    return datetime.fromisoformat(spelling).replace(tzinfo=None)


def number_or_text(spelling):
    """Return what a careless program puts into a column of objects."""
    return int(spelling) if _CANONICAL.fullmatch(spelling) else spelling


def _not_canonical(keys):
    return not all(_CANONICAL.fullmatch(key) and -(2**63) <= int(key) < 2**63 for key in keys if key is not None)


def _not_in_lines(keys):
    if any(_ROUNDED.fullmatch(key) for key in keys if key is not None):
        return True
    return False if all(key.isprintable() for key in keys if key is not None) else None


def _of_two_types(keys):
    return len({type(key) for key in keys}) > 1 or (False if isinstance(keys[0], str) else None)


def in_duckdb(source_of):
    """Return how to open DuckDB on what `source_of` makes of a place, the keys and the numbers of a table."""

    @contextmanager
    def opened(population, tables, _servers, on_failure):
        with TemporaryDirectory(prefix="lapwing-fuzz-") as folder:
            sources = {
                name: source_of(Path(folder) / name, [key for key, _ in rows], [x for _, x in rows])
                for name, rows in tables.items()
            }
            with DuckDB(population, sources, threads=1, on_failure=on_failure) as engine:
                yield engine

    return opened


def arrow(kind):
    return lambda _path, keys, numbers: pa.table({"pid": pa.array(keys, kind), "x": pa.array(numbers, pa.int64())})


def _lines(quoting):
    def source_of(path, keys, numbers):
        file = path.with_suffix(".csv")
        with file.open("w", newline="", encoding="utf-8") as opened:
            writer = csv.writer(opened, quoting=quoting, lineterminator="\n")
            writer.writerow(["pid", "x"])
            writer.writerows(zip(keys, numbers, strict=True))
        return file

    return source_of


def _parquet(kind):
    def source_of(path, keys, numbers):
        file = path.with_suffix(".parquet")
        pq.write_table(arrow(kind)(path, keys, numbers), file, row_group_size=2)
        return file

    return source_of


def _beside_another(source_of):
    """Return tables with one more column before the keys, called the same but for its case: all are one there."""

    def beside(path, keys, numbers):
        table = arrow(pa.string() if isinstance(keys[0], str) else pa.int64())(path, keys, numbers)
        return source_of(path, table.add_column(0, "PID", table.column("pid").slice(0, 1).take([0] * len(keys))))

    return beside


def _written(path, table):
    pq.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def _polars(kind):
    return lambda _path, keys, numbers: pl.DataFrame({"pid": pl.Series(keys, dtype=kind), "x": numbers})


def _pandas(kind):
    return lambda _path, keys, numbers: pd.DataFrame({"pid": pd.Series(keys, dtype=kind), "x": numbers})


def _duckdb_file(kind, *, other=None):
    """Return tables in DuckDB files; the second one may be of another type."""

    def source_of(path, keys, numbers):
        as_text = [None if key is None else str(key) for key in keys]
        with duckdb.connect(str(path)) as connection:
            connection.register("incoming", arrow(pa.string())(path, as_text, numbers))
            stored = other if other and path.name == "u" else kind
            if stored == "enum":
                connection.execute("create type stored as enum (select distinct pid from incoming order by 1)")
                stored = "stored"
            connection.execute(f"create table people (pid {stored}, x bigint)")
            connection.execute("insert into people from incoming")
        return DuckDBTable(path=path, table="people")

    return source_of


def in_postgres(kind, other=None):
    """Return how to open PostgreSQL on keys of a type; those of the second table may be of another."""

    @contextmanager
    def opened(population, tables, servers, on_failure):
        name = f"keys_{next(_names)}"
        with psycopg.connect(servers.postgres, autocommit=True) as admin:
            reader = as_reader(admin, servers.postgres)
            admin.execute(sql.SQL("create schema {}").format(sql.Identifier(name)))
            for table, rows in tables.items():
                place = sql.Identifier(name, table)
                stored = other if other and table == "u" else kind
                admin.execute(sql.SQL(f"create table {{}} (pid {stored}, x bigint)").format(place))
                with admin.cursor() as cursor:
                    cursor.executemany(sql.SQL("insert into {} values (%s, %s)").format(place), rows)
            admin.execute(sql.SQL("grant usage on schema {} to reader").format(sql.Identifier(name)))
            admin.execute(sql.SQL("grant select on all tables in schema {} to reader").format(sql.Identifier(name)))
            sources = {table: PostgresTable(table=table, schema=name) for table in tables}
            with PostgreSQL(population, sources, reader, on_failure=on_failure) as engine:
                yield engine
            admin.execute(sql.SQL("drop schema {} cascade").format(sql.Identifier(name)))

    return opened


def in_spark(source_of):
    """Return how to open Spark on what `source_of` makes of a session, a place, the keys and the numbers of a table."""

    @contextmanager
    def opened(population, tables, servers, on_failure):
        with TemporaryDirectory(prefix="lapwing-fuzz-") as folder:
            sources = {
                name: source_of(servers.spark, Path(folder) / name, [key for key, _ in rows], [x for _, x in rows])
                for name, rows in tables.items()
            }
            with Spark(population, sources, servers.spark, on_failure=on_failure) as engine:
                yield engine

    return opened


def _spark_frame(kind, collation=""):
    def source_of(session, path, keys, numbers):
        frame = session.createDataFrame(arrow(kind)(path, keys, numbers))
        return frame.selectExpr(f"pid collate {collation} as pid", "x") if collation else frame

    return source_of


def _spark_table(columns, form):
    """Return a table of the catalogue, of a stored type and in a format."""

    def source_of(session, path, keys, numbers):
        name = f"keys_{next(_names)}"
        session.createDataFrame(arrow(pa.string())(path, keys, numbers)).createOrReplaceTempView("incoming")
        session.sql(f"create table {name} ({columns}) using {form} location '{path}'")
        session.table("incoming").write.insertInto(name)
        return SparkTable(table=name)

    return source_of


def _spark_lines(session, path, keys, numbers):
    path.mkdir()
    (path / "lines.csv").write_text("".join(f"{key},{x}\n" for key, x in zip(keys, numbers, strict=True)))
    return session.read.csv(str(path), schema="pid bigint, x bigint")


def _spark_folders(_session, path, keys, numbers):
    for i, (key, x) in enumerate(zip(keys, numbers, strict=True)):
        (path / f"pid={key}").mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [x]}), path / f"pid={key}" / f"{i}.parquet")
    return path


def _signed(spelling):
    """Return the spelling of a whole number, with whatever signs and zeros a name of a folder may have."""
    if not re.fullmatch("[+-]?[0-9]{1,15}", spelling):
        raise ValueError(spelling)
    return spelling


_TEXT, _INTEGER = KeyType.TEXT, KeyType.INTEGER
KEY_PLACES = {
    place.name: place
    for place in (
        KeyPlace("csv-integer", _INTEGER, or_nothing, in_duckdb(_lines(csv.QUOTE_MINIMAL)), _not_canonical),
        KeyPlace("csv-quoted-integer", _INTEGER, or_nothing, in_duckdb(_lines(csv.QUOTE_ALL)), _not_canonical),
        KeyPlace("csv-text", _TEXT, or_nothing, in_duckdb(_lines(csv.QUOTE_MINIMAL)), _not_in_lines),
        KeyPlace("csv-quoted-text", _TEXT, or_nothing, in_duckdb(_lines(csv.QUOTE_ALL)), _not_in_lines),
        KeyPlace("arrow-text", _TEXT, text, in_duckdb(arrow(pa.string()))),
        KeyPlace("arrow-dictionary", _TEXT, text, in_duckdb(arrow(pa.dictionary(pa.int8(), pa.string())))),
        KeyPlace("arrow-integer", _INTEGER, whole, in_duckdb(arrow(pa.int64()))),
        KeyPlace("arrow-float", _INTEGER, float, in_duckdb(arrow(pa.float64())), _always),
        KeyPlace("arrow-decimal", _INTEGER, decimal, in_duckdb(arrow(pa.decimal128(30, 6))), _always),
        KeyPlace("arrow-moment", _TEXT, moment, in_duckdb(arrow(pa.timestamp("us"))), _always),
        KeyPlace("polars-text", _TEXT, text, in_duckdb(_polars(pl.String))),
        KeyPlace("polars-category", _TEXT, text, in_duckdb(_polars(pl.Categorical))),
        KeyPlace("pandas-text", _TEXT, text, in_duckdb(_pandas(object))),
        KeyPlace("pandas-string", _TEXT, text, in_duckdb(_pandas("string"))),
        KeyPlace("pandas-category", _TEXT, text, in_duckdb(_pandas("category"))),
        KeyPlace("pandas-objects", _TEXT, number_or_text, in_duckdb(_pandas(object)), _of_two_types),
        KeyPlace("parquet-text", _TEXT, text, in_duckdb(_parquet(pa.string()))),
        KeyPlace("parquet-integer", _INTEGER, whole, in_duckdb(_parquet(pa.int64()))),
        KeyPlace("parquet-small", _INTEGER, small, in_duckdb(_parquet(pa.int32()))),
        KeyPlace("parquet-case", _INTEGER, whole, in_duckdb(_beside_another(_written)), _always),
        KeyPlace("arrow-case", _TEXT, text, in_duckdb(_beside_another(lambda _, table: table)), _always),
        KeyPlace("pandas-case", _TEXT, text, in_duckdb(_beside_another(lambda _, table: table.to_pandas())), _always),
        KeyPlace(
            "polars-case", _TEXT, text, in_duckdb(_beside_another(lambda _, table: pl.from_arrow(table))), _always
        ),
        KeyPlace("duckdb-text", _TEXT, text, in_duckdb(_duckdb_file("varchar"))),
        KeyPlace("duckdb-nocase", _TEXT, text, in_duckdb(_duckdb_file("varchar collate nocase.noaccent"))),
        KeyPlace("duckdb-enum", _TEXT, text, in_duckdb(_duckdb_file("enum", other="varchar collate nocase"))),
        KeyPlace("duckdb-uuid", _TEXT, UUID, in_duckdb(_duckdb_file("uuid"))),
        KeyPlace("duckdb-uuid-and-text", _TEXT, UUID, in_duckdb(_duckdb_file("uuid", other="varchar")), _always),
        KeyPlace("postgres-text", _TEXT, without_nul, in_postgres("text")),
        KeyPlace("postgres-collations", _TEXT, without_nul, in_postgres('text collate "POSIX"', 'text collate "C"')),
        KeyPlace("postgres-varchar", _TEXT, without_nul, in_postgres("varchar", 'text collate "ucs_basic"')),
        KeyPlace("postgres-char", _TEXT, short, in_postgres("char(40)"), _always),
        KeyPlace("postgres-integer", _INTEGER, whole, in_postgres("bigint")),
        KeyPlace("postgres-small", _INTEGER, small, in_postgres("integer", "bigint")),
        KeyPlace("postgres-numeric", _INTEGER, decimal, in_postgres("numeric"), _always),
        KeyPlace("postgres-float", _INTEGER, float, in_postgres("double precision"), _always),
        KeyPlace("postgres-moment", _TEXT, moment, in_postgres("timestamp"), _always),
        KeyPlace("postgres-uuid", _TEXT, UUID, in_postgres("uuid")),
        KeyPlace("postgres-uuid-and-text", _TEXT, UUID, in_postgres("uuid", "text"), _always),
        KeyPlace("spark-text", _TEXT, text, in_spark(_spark_frame(pa.string()))),
        KeyPlace("spark-lcase", _TEXT, text, in_spark(_spark_frame(pa.string(), "UTF8_LCASE"))),
        KeyPlace("spark-unicode", _TEXT, text, in_spark(_spark_frame(pa.string(), "UNICODE_CI_AI"))),
        KeyPlace("spark-rtrim", _TEXT, text, in_spark(_spark_frame(pa.string(), "UTF8_BINARY_RTRIM"))),
        KeyPlace("spark-integer", _INTEGER, whole, in_spark(_spark_frame(pa.int64()))),
        KeyPlace("spark-float", _INTEGER, float, in_spark(_spark_frame(pa.float64())), _always),
        KeyPlace("spark-decimal", _INTEGER, decimal, in_spark(_spark_frame(pa.decimal128(30, 6))), _always),
        KeyPlace("spark-char", _TEXT, short, in_spark(_spark_table("pid char(40), x bigint", "parquet")), _always),
        KeyPlace("spark-varchar", _TEXT, short, in_spark(_spark_table("pid varchar(40), x bigint", "parquet"))),
        KeyPlace("spark-lines", _INTEGER, _signed, in_spark(_spark_lines), _always),
        KeyPlace("spark-folders", _INTEGER, _signed, in_spark(_spark_folders), _always),
    )
}
"""Every place by its name."""
