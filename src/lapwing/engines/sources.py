"""Where the tables of a population are: files, DuckDB, PostgreSQL or Apache Spark; and how they are opened."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from lapwing.engines.duckdb import DuckDB
from lapwing.engines.duckdb_registry import DuckDBTable
from lapwing.engines.engine import Engine
from lapwing.queries.catalogue import Population
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.extras import load_extra


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """A Parquet or CSV file."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckDBSource:
    """A table of a DuckDB file."""

    path: Path
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSource:
    """A table of a PostgreSQL database; the address is the custodian's, so it is never shown."""

    address: str = field(repr=False)
    table: str
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSource:
    """A table that Apache Spark knows by this name, with its schema and catalogue if they are given."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFiles:
    """A Parquet file or folder that Apache Spark reads."""

    place: str


Source: TypeAlias = FileSource | DuckDBSource | PostgresSource | SparkSource | SparkFiles


def place_of(source: Source, folder: Path) -> tuple[str, ...]:
    """Return where a source is, however it was spelt: paths are resolved, and told from the folder of the workspace."""
    match source:
        case FileSource(path=path):
            return ("file", _from(folder, path))
        case DuckDBSource(path=path, table=table):
            return ("duckdb", _from(folder, path), table.casefold())
        case PostgresSource(address=address, schema=schema, table=table):
            return ("postgres", address, schema, table)
        case SparkSource(table=table):
            return ("spark", table.casefold())
        case SparkFiles(place=place):
            return ("file", place if "://" in place else _from(folder, Path(place)))


def _from(folder: Path, path: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())


def open_engine(
    population: Population,
    sources: Mapping[str, Source],
    *,
    time_limit: int,
    on_failure: Callable[[Exception], None],
) -> Engine:
    """Open the tables of a population, which must be in one database."""
    used = {_DATABASE[type(source)] for source in sources.values()}
    addresses = {source.address for source in sources.values() if isinstance(source, PostgresSource)}
    if len(used) > 1 or len(addresses) > 1:
        raise RegistrationError(
            population.name, reason="has tables in several databases", remedy="keep them in one place"
        )
    if used == {"postgres"}:
        driver = load_extra("lapwing.engines.postgres", extra="postgres")
        tables = {
            name: driver.PostgresTable(table=source.table, schema=source.schema)
            for name, source in sources.items()
            if isinstance(source, PostgresSource)
        }
        address = addresses.pop()
        engine: Engine = driver.PostgreSQL(population, tables, address, time_limit=time_limit, on_failure=on_failure)
    elif used == {"spark"}:
        driver = load_extra("lapwing.engines.spark", extra="spark")
        tables = {
            name: source.place if isinstance(source, SparkFiles) else driver.SparkTable.named(source.table)
            for name, source in sources.items()
            if isinstance(source, SparkSource | SparkFiles)
        }
        session = driver.session_of_this_process(population.name)
        engine = driver.Spark(population, tables, session, time_limit=time_limit, on_failure=on_failure)
    else:
        places = {name: _on_duckdb(one) for name, one in sources.items()}
        engine = DuckDB(population, places, time_limit=time_limit, on_failure=on_failure)
    return engine


_DATABASE: Final[Mapping[type[Source], str]] = {
    FileSource: "duckdb",
    DuckDBSource: "duckdb",
    PostgresSource: "postgres",
    SparkSource: "spark",
    SparkFiles: "spark",
}


def _on_duckdb(source: Source) -> Path | DuckDBTable:
    match source:
        case FileSource(path=path):
            return path
        case DuckDBSource(path=path, table=table):
            return DuckDBTable(path=path, table=table)
        case _:  # pragma: no cover - the caller has looked
            raise AssertionError
