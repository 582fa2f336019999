"""Writing made-up rows to Parquet, a batch at a time; what is in memory is one batch, however many there are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from lapwing.engines.dialect import literal
from lapwing.vocabulary.errors import ParameterError

_NAME = re.compile("[a-z_][a-z0-9_]*")
_MEMORY = "256MB"
"""What the database may use; the rest is on disk until the files are written."""


@dataclass(frozen=True, slots=True)
class Named:
    """A column of texts, as numbers into a list of names; masked numbers are missing texts."""

    codes: NDArray[np.integer[Any]]
    names: tuple[str, ...]


Values: TypeAlias = NDArray[Any] | Named
"""A column: an array, days as datetime64[D], masked where values are missing; or texts."""


class ParquetFiles:
    """A folder into which tables are written; they are there, complete, when it is left without an error.

    Parameters
    ----------
    folder : where the files are written, one `table.parquet` for each table

    Examples
    --------
    >>> with TemporaryDirectory() as folder:
    ...     with ParquetFiles(folder) as files:
    ...         files.add("visit", {"person_id": np.arange(3), "kind": Named(np.array([0, 1, 0]), ("home", "clinic"))})
    ...         files.add("visit", {"person_id": np.arange(9), "kind": Named(np.zeros(9, int), ("home", "clinic"))})
    ...     duckdb.sql(f"SELECT kind, count(*) FROM '{folder}/visit.parquet' GROUP BY kind ORDER BY kind").fetchall()
    [('clinic', 1), ('home', 11)]
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._scratch = TemporaryDirectory(prefix="lapwing-", dir=self._folder)
        place = Path(self._scratch.name)
        self._database = duckdb.connect(
            place / "rows.duckdb", config={"memory_limit": _MEMORY, "temp_directory": str(place / "spilled")}
        )
        self._tables: list[str] = []

    def add(self, table: str, columns: Mapping[str, Values]) -> None:
        """Add rows at the end of a table; the first ones decide what its columns are."""
        for name in (table, *columns):
            if not _NAME.fullmatch(name):
                raise ParameterError("name", name, reason="is no plain name", remedy="use small letters and _")
        self._database.register("incoming", {name: _raw(column) for name, column in columns.items()})
        select = f"SELECT {', '.join(_read(name, column) for name, column in columns.items())} FROM incoming"
        if table in self._tables:
            self._database.execute(f"INSERT INTO {table} {select}")
        else:
            self._database.execute(f"CREATE TABLE {table} AS {select}")
            self._tables.append(table)
        self._database.unregister("incoming")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if kind is None:
                for table in self._tables:
                    fresh = Path(self._scratch.name) / f"{table}.parquet"
                    self._database.execute(f"COPY {table} TO {literal(str(fresh))} (COMPRESSION zstd)").fetchall()
                    fresh.replace(self._folder / fresh.name)
        finally:
            self._database.close()
            self._scratch.cleanup()


def _raw(column: Values) -> NDArray[Any]:
    values = column.codes if isinstance(column, Named) else column
    return values.astype("datetime64[s]") if values.dtype.kind == "M" else values


def _read(name: str, column: Values) -> str:
    if isinstance(column, Named):
        return f"([{', '.join(map(literal, column.names))}])[{name} + 1] AS {name}"
    return f"CAST({name} AS DATE) AS {name}" if column.dtype.kind == "M" else name
