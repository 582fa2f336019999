"""Vocabularies: public tables in CSV, tab-separated and Parquet files, read by DuckDB where they lie.

They hold no people, so unlike tables of people they may be inspected: the type of a column of a text file is the
narrowest one that fits all of its cells, and a condition is evaluated when a question is planned. Only what
`predicate_sql` writes is evaluated, with values as parameters, in a database that can open this one file. It stops
after `TIME_LIMIT` seconds and after `MOST_AMONG` values.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import duckdb

from lapwing.engines.derived_sql import widened_relation
from lapwing.engines.dialect import Parameter, RowOf, Writer, literal
from lapwing.engines.expression_sql import predicate_sql
from lapwing.engines.files import DUCKDB, CSVFile, literal_path, outermost, parquet_relation, parquet_tree
from lapwing.engines.reading import stoppable
from lapwing.queries.algebra.predicate import Predicate
from lapwing.queries.catalogue.column import Boolean, Column, ColumnType, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import is_name, public_population
from lapwing.queries.limits import MOST_AMONG
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

TIME_LIMIT: Final = 60
"""Seconds that a lookup in a vocabulary may take."""
SUFFIXES: Final = (".csv", ".tsv", ".txt", ".parquet")
Stat: TypeAlias = tuple[int, ...]
_KINDS: Final[dict[str, ColumnType]] = {
    "integer": Integer(),
    "real": Real(low=0, high=1),  # bounds are for sums, and nothing is summed here
    "date": Date(),
    "boolean": Boolean(),
    "text": Text(),
}
_FITS: Final = {
    # 0042 is a code, and so is 250.00
    "integer": "{0} IS NULL OR coalesce(CAST(TRY_CAST({0} AS BIGINT) AS VARCHAR) = {0}, false)",
    "date": "{0} IS NULL OR (TRY_CAST({0} AS DATE) IS NOT NULL AND length({0}) = 10)",
}
_PINNED: Final = (
    "auto_detect = false, header = true, skip = 0, comment = '', nullstr = '', encoding = 'utf-8', "
    "compression = 'none', strict_mode = false, null_padding = false, ignore_errors = false, "
    "hive_partitioning = false, union_by_name = false, filename = false"
)
_QUOTES: Final = {True: "quote = '', escape = ''", False: "quote = '\"', escape = '\"'"}
"""Whether the file is separated by tabs: there a quote is a letter like any other, as in the files of OHDSI."""


@frozen()
class PublicFile:
    """A vocabulary in a file."""

    name: str
    path: Path

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of the file."""
        return tuple(self._stored)

    def columns(self, named: frozenset[str]) -> tuple[Column, ...]:
        """Return its columns; those that are named, in small letters, have their types, and the others are text."""
        stored = self._stored
        open_ones = tuple(name for name, kind in stored.items() if kind is None and name.casefold() in named)
        found = _fitting(self.name, self.path, _stat(self.name, self.path), open_ones) if open_ones else {}
        kinds = {name: kind or found.get(name, "text") for name, kind in stored.items()}
        return tuple(Column(name=name, type=_KINDS[kind], nullable=True) for name, kind in kinds.items())

    def select(self, columns: tuple[Column, ...], names: tuple[str, ...], where: Predicate) -> list[tuple[Any, ...]]:
        """Return the distinct values of the columns `names`, of the rows for which `where` is true."""
        relation, alone = _relation(self.name, self.path, columns), public_population(self.name, columns)
        writer, row = Writer(DUCKDB, alone, {self.name: relation}, widened_relation), RowOf(alone.tables[0])
        condition = predicate_sql(writer, row, where)
        chosen = ", ".join(writer.column(row, name) for name in names)
        text = f"SELECT DISTINCT {chosen} FROM {writer.relation(row)} WHERE {condition} LIMIT {MOST_AMONG + 1}"
        rows = _run(self.name, self.path, text, tuple(writer.parameters))
        if len(rows) > MOST_AMONG:
            raise BadQuestionError(f"this is more than {MOST_AMONG:,} values of {self.name}; narrow the condition")
        return rows

    @property
    def _stored(self) -> Mapping[str, str | None]:
        return _stored_columns(self.name, self.path, _stat(self.name, self.path))


def _stat(name: str, path: Path) -> Stat:
    try:
        found = path.stat()
    except OSError:
        raise BadQuestionError(
            f"the vocabulary {name} is not at {path.name}; let the custodian bring the file back"
        ) from None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


@lru_cache(maxsize=64)
def _stored_columns(name: str, path: Path, _: Stat) -> Mapping[str, str | None]:
    """Return the columns of a file with their kinds; of a text file they are not known yet."""
    if path.suffix == ".parquet":
        # DuckDB gives one of two columns another name, where they are the same but for their case
        names = outermost(_run(name, path, parquet_tree(name, path)))
        described = _run(name, path, f"DESCRIBE FROM {parquet_relation(name, path)}")
        kinds: list[str | None] = [DUCKDB.kind_stored(str(kind)) or "text" for _, kind, *_ in described]
    else:
        names = CSVFile(name, path).header
        kinds = [None] * len(names)
    _require_different(name, names)
    return {column: kind for column, kind in zip(names, kinds, strict=True) if is_name(column)}


def _require_different(name: str, columns: Sequence[str]) -> None:
    alike: dict[str, list[str]] = {}
    for column in filter(is_name, columns):
        alike.setdefault(column.casefold(), []).append(column)
    for called, same in alike.items():
        if len(same) > 1:
            listed = ", ".join(map(repr, same))
            raise BadQuestionError(
                f"the vocabulary {name} has {len(same)} columns called {called!r}, whatever their case: {listed}; let "
                "the custodian rename all but one of them"
            )


@lru_cache(maxsize=256)
def _fitting(name: str, path: Path, _: Stat, columns: tuple[str, ...]) -> Mapping[str, str]:
    """Return the narrowest kind that fits all cells of each of some columns of a text file, from one look at it."""
    cells = [DUCKDB.name(column) for column in columns]
    tests = ", ".join(f"bool_and({fits.format(cell)})" for cell in cells for fits in _FITS.values())
    (found,) = _run(name, path, f"SELECT {tests} FROM {_texts(name, path)}")
    kinds = [found[i : i + len(_FITS)] for i in range(0, len(found), len(_FITS))]
    return {
        column: next((kind for kind, fits in zip(_FITS, told, strict=True) if fits), "text")
        for column, told in zip(columns, kinds, strict=True)
    }


def _relation(name: str, path: Path, columns: tuple[Column, ...]) -> str:
    """Return the SQL of the file with its columns in their types."""
    source = parquet_relation(name, path) if path.suffix == ".parquet" else _texts(name, path)
    cells = (
        f"TRY_CAST({DUCKDB.name(column.name)} AS {DUCKDB.type_of(column.type)}) AS {DUCKDB.name(column.name)}"
        for column in columns
    )
    return f"(SELECT {', '.join(cells)} FROM {source})"


def _texts(name: str, path: Path) -> str:
    file = CSVFile(name, path)
    columns = ", ".join(f"{literal(column)}: {literal(DUCKDB.text)}" for column in file.header)
    quotes = _QUOTES[file.separator == "\t"]
    delimiter = literal(file.separator)
    return f"read_csv({literal_path(name, path)}, delim = {delimiter}, columns = {{{columns}}}, {_PINNED}, {quotes})"


def _run(name: str, path: Path, text: str, parameters: tuple[Parameter, ...] = ()) -> list[tuple[Any, ...]]:
    """Run one statement in a database that can open this one file, for some seconds."""
    try:
        with _opened(name, path) as connection, stoppable(connection.interrupt, seconds=TIME_LIMIT):
            return connection.execute(text, list(parameters) or None).fetchall()
    except duckdb.InterruptException:
        raise BadQuestionError(
            f"looking this up in the vocabulary {name} takes more than {TIME_LIMIT} seconds; narrow the condition, or "
            "let the custodian store it as .parquet"
        ) from None
    except duckdb.Error as failure:
        line = str(failure).partition("\n")[0]
        raise BadQuestionError(f"the vocabulary {name} cannot be read: {line}; let the custodian mend it") from None


@contextmanager
def _opened(name: str, path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        for setting in (
            f"allowed_paths = [{literal_path(name, path)}]",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        yield connection
