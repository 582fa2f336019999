"""What columns a source has, and of which type: the schema and nothing else. No row is read, of people least of all.

Bounds and categories are public because the custodian declares them; looked up in the data they would not be.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import duckdb

from lapwing.engines.dialect import DUCKDB, POSTGRES, Dialect, StoredColumn
from lapwing.engines.duckdb_registry import DuckDBTable
from lapwing.engines.files import CSVFile, literal_path, parquet_relation, without_columns
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.loading import load_extra

_DECIMALS: Final = {"decimal", "numeric"}


def columns_of_file(table: str, source: Path | DuckDBTable) -> dict[str, str | None]:
    """Return the columns of a Parquet or CSV file or of a table in a DuckDB file, each with its kind.

    A kind is "integer", "real", "text", "date" or "boolean". It is None where none of them fits, and for every column
    of a CSV file: that has names in its first line, and types only in its rows.

    Parameters
    ----------
    table : what to call the table in a refusal
    source : where it is
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
        except duckdb.Error:
            if not isinstance(source, DuckDBTable):
                raise without_columns(table, f"{place} is not a Parquet file") from None
            raise _without(table, source, connection) from None
    return {str(name): kind_of(DUCKDB, str(stored)) for name, stored, *_ in described}


def columns_in_postgres(table: str, address: str, *, schema: str, name: str) -> dict[str, str | None]:
    """Return the columns of a table in PostgreSQL, each with its kind."""
    psycopg = load_extra("psycopg", extra="postgres")
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
    return {column: kind_of(POSTGRES, stored) for column, stored in found.items()}


def kind_of(dialect: Dialect, stored: str) -> str | None:
    """Return the kind of a stored type.

    >>> kind_of(DUCKDB, "BIGINT"), kind_of(DUCKDB, "DECIMAL(18,3)"), kind_of(POSTGRES, "character varying")
    ('integer', 'real', 'text')
    """
    bare = StoredColumn("", stored).bare
    kinds = {
        "integer": dialect.integers,
        "real": dialect.reals | _DECIMALS,
        "text": dialect.texts,
        "date": dialect.days,
        "boolean": {"boolean"},
    }
    return next((kind for kind, names in kinds.items() if bare in names), None)


def _without(table: str, source: DuckDBTable, connection: duckdb.DuckDBPyConnection) -> RegistrationError:
    """Return the refusal of a DuckDB file that has no such table, with those that it has."""
    there = "select table_name from duckdb_tables() where database_name = 'data' and schema_name = 'main' order by 1"
    names = [str(name) for (name,) in connection.execute(there).fetchall()]
    if not names:
        return without_columns(table, f"{source.path} is not a DuckDB file with tables in it")
    return without_columns(
        table, f"{source.path} has no table {source.table}", f"it has {', '.join(names)}: --name {names[0]}"
    )
