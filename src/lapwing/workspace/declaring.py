"""What a custodian declares about a new table: where it is, whose rows it has, and columns such as "age=0..120".

The names and types of columns are read, and never a row: bounds that were looked up in the data would tell about the
people in it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from lapwing.engines.duckdb import DuckDBTable, columns_of_file
from lapwing.queries.catalogue import Population
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.loading import load_extra

KINDS: Final = ("integer", "real", "category", "date", "boolean", "text")
_UNBOUNDED: Final = {"integer", "date", "boolean", "text"}
"""Kinds that can be declared without bounds or values."""
_WHOLE: Final = re.compile("0|-?[1-9][0-9]*")
"""A whole number in the one way that nobody takes for a code: 01 is text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The columns of a table: those that are declared, as lapwing.toml says them, and those that are left out."""

    columns: Mapping[str, Mapping[str, Any]]
    left_out: Mapping[str, str | None]

    def columns_record(self) -> dict[str, dict[str, Any]]:
        """Return the declared columns as JSON values."""
        return {
            name: {word: str(entry) if isinstance(entry, date) else entry for word, entry in column.items()}
            for name, column in self.columns.items()
        }


def declared_columns(
    table: str, given: Mapping[str, tuple[str, ...]], stored: Mapping[str, str | None], *, key: str, take_all: bool
) -> Declared:
    """Return what was declared, checked against the names that are there.

    Parameters
    ----------
    table : what the table is called
    given : for each kind, what was written, such as "age=0..120"; and what may be missing under "nullable"
    stored : the kind of each column that is there; None where it is not known
    key : the person key, which is not a column
    take_all : whether the other columns are declared as what they are stored as

    >>> there = {"id": "integer", "age": "integer", "sex": "text", "city": "text"}
    >>> found = declared_columns(
    ...     "patients", {"integer": ("age=0..120",), "category": ("sex=F,M",)}, there, key="id", take_all=False
    ... )
    >>> found.columns["age"], dict(found.left_out)
    ({'type': 'integer', 'low': 0, 'high': 120}, {'city': 'text'})
    """
    nullable = {name.strip() for text in given.get("nullable", ()) for name in text.split(",")}
    columns: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        for text in given.get(kind, ()):
            name, _, said = text.partition("=")
            if name in columns:
                raise ParameterError(kind, text, reason=f"declares {name} a second time", remedy="declare it once")
            columns[name] = {"type": kind, **_bounds(kind, text, said, stored.get(name))}
    rest = {name: kind for name, kind in stored.items() if name not in columns and name != key}
    taken = {name for name, kind in rest.items() if take_all and kind in _UNBOUNDED}
    columns |= {name: {"type": rest[name], "nullable": True} for name in rest if name in taken}
    _require_stored(table, [*columns, *nullable], stored, key)
    if set(stored.values()) == {None}:  # a CSV file, which alone does not say what it holds
        _require_no_empty_value(columns)
    for name in sorted(nullable - {name for name in columns if name not in taken}):
        if name not in columns:
            raise ParameterError(
                "nullable", name, reason="is not declared", remedy=f"declare it, too: --integer {name}"
            )
    columns = {name: {**column, "nullable": True} if name in nullable else column for name, column in columns.items()}
    in_order = {name: columns[name] for name in stored if name in columns}
    return Declared(columns=in_order, left_out={name: kind for name, kind in rest.items() if name not in taken})


def remarks(declared: Declared) -> dict[str, str]:
    """Return how columns that were left out stand in lapwing.toml: as comments, ready to be filled in."""
    ready = {
        "integer": '{ type = "integer", low = ..., high = ... }',
        "real": '{ type = "real", low = ..., high = ... }',
        "text": '{ type = "category", values = [...] }    or { type = "text" }',
        "date": '{ type = "date" }',
        "boolean": '{ type = "boolean" }',
    }
    return {name: ready.get(kind or "", "{ type = ... }") for name, kind in declared.left_out.items()}


def _require_stored(table: str, names: list[str], stored: Mapping[str, str | None], key: str) -> None:
    there = ", ".join(stored) or "no columns"
    if key not in stored:
        raise ParameterError(
            "person_key",
            key,
            reason=f"is not in {table}, which has {there}",
            remedy="name the column of this table that tells people apart: --person-key COLUMN",
        )
    for name in names:
        if name not in stored:
            raise ParameterError("column", name, reason=f"is not in {table}", remedy=f"it has {there}")


def _require_no_empty_value(columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a value that no cell of a CSV file can have: nobody would be in its group, and many in none."""
    for name, column in columns.items():
        if "" in column.get("values", ()):
            raise ParameterError(
                "category",
                name,
                reason="has an empty value, and in a CSV file an empty cell is a missing one",
                remedy=f"leave the empty value out, and write --nullable {name}",
            )


def _bounds(kind: str, text: str, said: str, stored: str | None) -> dict[str, Any]:
    match kind:
        case "category":
            return {"values": _values(text, said, stored)}
        case "integer" | "real" | "date" if said:
            low, dots, high = said.partition("..")
            if not dots:
                raise ParameterError(
                    kind, text, reason="does not have two bounds", remedy="write LOW..HIGH, such as age=0..120"
                )
            return dict(
                zip(("first", "last") if kind == "date" else ("low", "high"), _ends(kind, text, low, high), strict=True)
            )
        case "real":
            raise ParameterError(
                kind, text, reason="has no bounds", remedy="write COLUMN=LOW..HIGH, such as bmi=10..60"
            )
        case "boolean" | "text" if said:
            raise ParameterError(kind, text, reason="takes no values", remedy="write the name of the column alone")
        case _:
            return {}


def _ends(kind: str, text: str, low: str, high: str) -> list[Any]:
    if kind == "date":
        try:
            return [date.fromisoformat(low.strip()), date.fromisoformat(high.strip())]
        except ValueError:
            raise ParameterError(
                kind, text, reason="has no days", remedy="write FIRST..LAST as 1900-01-01..2025-12-31"
            ) from None
    ends = [exact(text, low), exact(text, high)]
    if kind == "integer" and any(end.denominator != 1 for end in ends):
        raise ParameterError(kind, text, reason="has bounds that are not whole", remedy="write --real, or whole bounds")
    return [int(end) if end.denominator == 1 else str(end) for end in ends]


def _values(text: str, said: str, stored: str | None) -> list[Any]:
    """Return the values of a category: numbers if all are whole numbers, unless the source says that it holds text.

    >>> _values("x=8507,8532", "8507,8532", None), _values("x=8507,8532", "8507,8532", "text")
    ([8507, 8532], ['8507', '8532'])
    >>> _values("x=01,02", "01,02", None), _values("city=,Bern", ",Bern", "text")
    (['01', '02'], ['', 'Bern'])
    """
    values = [part.strip() for part in said.split(",")]
    if values == [""]:
        raise ParameterError("category", text, reason="has no values", remedy="write COLUMN=A,B,C")
    whole = all(_WHOLE.fullmatch(one) for one in values)
    if stored == "integer" and not whole:
        raise ParameterError(
            "category",
            text,
            reason="has values that are not whole numbers, like the column",
            remedy="write whole numbers",
        )
    return [int(one) for one in values] if whole and stored in {"integer", None} else values


def key_type_of(stored: str | None, population: Population) -> str | None:
    """Return what the person key holds if it is not said: what is stored, and in a CSV what the other tables have."""
    if stored is None and population.tables:
        stored = population.tables[0].key_type.value
    return "text" if stored == "text" else None


def stored_columns(
    table: str, source: Path | None, postgres: str | None, inner: str | None, schema: str
) -> dict[str, str | None]:
    """Return the columns of a table in a file or in PostgreSQL, each with its kind, where that is known."""
    if (source is None) == (postgres is None):
        said = "no place is" if source is None else "two places are"
        raise BadQuestionError(f"{said} named for table {table}; write --source FILE, or --postgres ADDRESS")
    if source is None:
        driver = load_extra("lapwing.engines.postgres", extra="postgres")
        return dict(driver.columns_in_postgres(table, postgres or "", schema=schema, name=inner or table))
    if source.suffix in {".csv", ".parquet"}:
        return columns_of_file(table, source)
    if source.suffix in {".duckdb", ".db"}:
        return columns_of_file(table, DuckDBTable(path=source, table=inner or table))
    raise ParameterError(
        "source", str(source), reason="is not a file that can be read", remedy="name a .parquet, .csv or .duckdb file"
    )


def source_entry(
    folder: Path, *, table: str, source: Path | None, postgres: str | None, inner: str | None, schema: str
) -> Any:
    """Return where the table is, as lapwing.toml says it: from the workspace on, so that both can be moved together."""
    if source is None:
        place = {"postgres": postgres, "table": inner or table}
        return place if schema == "public" else {**place, "schema": schema}
    path = _seen_from(folder.resolve(), source.resolve())
    return path if source.suffix in {".csv", ".parquet"} else {"duckdb": path, "table": inner or table}


def _seen_from(home: Path, whole: Path) -> str:
    """Return a path relative to a folder, unless they have nothing but the root in common.

    >>> home = Path("/srv/clinic")
    >>> [_seen_from(home, Path(path)) for path in ("/srv/clinic/a.csv", "/srv/data/a.csv", "/mnt/a.csv")]
    ['a.csv', '../data/a.csv', '/mnt/a.csv']
    """
    apart = whole.anchor != home.anchor or Path(os.path.commonpath([home, whole])) == Path(home.anchor)
    return str(whole) if apart else Path(os.path.relpath(whole, home)).as_posix()
