"""Where the tables of a population are, and the one database that is opened for all of them."""

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from lapwing.engines.duckdb import DuckDB, DuckDBTable
from lapwing.engines.engine import Engine
from lapwing.queries.catalogue.population import Population
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_extra


@frozen()
class FileSource:
    """A Parquet or CSV file."""

    path: Path


@frozen()
class PostgresSource:
    """A table of a PostgreSQL database; the address is the custodian's, so it is never shown."""

    address: str = field(repr=False)
    table: str
    schema: str


@frozen()
class SparkSource:
    """A table that Apache Spark knows by this name, with its schema and catalogue if they are given."""

    table: str


@frozen()
class SparkFiles:
    """A Parquet file or folder that Apache Spark reads."""

    place: str


Source: TypeAlias = FileSource | DuckDBTable | PostgresSource | SparkSource | SparkFiles


def place_of(source: Source, folder: Path) -> tuple[str, ...]:
    """Return where a source is, however it was spelt: paths are resolved, and told from the folder of the workspace."""
    match source:
        case FileSource(path=path):
            return ("file", _from(folder, path))
        case DuckDBTable(path=path, table=table):
            return ("duckdb", _from(folder, path), table.casefold())
        case PostgresSource(address=address, schema=schema, table=table):
            return ("postgres", address, schema, table)
        case SparkSource(table=table):
            return ("spark", table.casefold())
        case SparkFiles(place=place):
            return ("file", place if "://" in place else _from(folder, Path(place)))


def _from(folder: Path, path: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())


def inside_of(source: Source) -> str:
    """Return the table inside a file that holds several."""
    return source.table.casefold() if isinstance(source, DuckDBTable) else ""


def open_engine(
    population: Population,
    sources: Mapping[str, Source],
    *,
    time_limit: int,
    on_failure: Callable[[Exception], None],
    readable: Mapping[str, str] = {},
) -> Engine:
    """Open the one database that holds all tables of a population, or refuse what does not fit.

    `readable` has the marks of files that were read before and did not change since (see `DuckDB`).
    """
    used = {_DATABASE[type(source)] for source in sources.values()}
    addresses = {source.address for source in sources.values() if isinstance(source, PostgresSource)}
    if len(used) > 1 or len(addresses) > 1:
        reason = "has tables in several databases"
        raise RegistrationError(population.name, reason=reason, remedy="keep them in one place")
    if used == {"postgres"}:
        driver = load_extra("lapwing.engines.postgres", extra="postgres")
        in_postgres = {
            name: driver.PostgresTable(table=source.table, schema=source.schema)
            for name, source in sources.items()
            if isinstance(source, PostgresSource)
        }
        engine: Engine = driver.PostgreSQL(
            population, in_postgres, addresses.pop(), time_limit=time_limit, on_failure=on_failure
        )
        return engine
    if used == {"spark"}:
        return _open_spark(population, sources, time_limit=time_limit, on_failure=on_failure)
    places = {name: one.path if isinstance(one, FileSource) else one for name, one in sources.items()}
    return DuckDB(population, places, time_limit=time_limit, on_failure=on_failure, readable=readable)


def _open_spark(
    population: Population, sources: Mapping[str, Source], *, time_limit: int, on_failure: Callable[[Exception], None]
) -> Engine:
    driver = load_extra("lapwing.engines.spark", extra="spark")
    tables = {
        name: source.place if isinstance(source, SparkFiles) else driver.SparkTable.named(source.table)
        for name, source in sources.items()
        if isinstance(source, SparkSource | SparkFiles)
    }
    session = driver.session_of_this_process(population.name)
    engine: Engine = driver.Spark(population, tables, session, time_limit=time_limit, on_failure=on_failure)
    return engine


_DATABASE: Mapping[type[Source], str] = {
    FileSource: "duckdb",
    DuckDBTable: "duckdb",
    PostgresSource: "postgres",
    SparkSource: "spark",
    SparkFiles: "spark",
}
