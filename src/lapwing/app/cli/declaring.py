"""Columns as a custodian declares them at the command line: --integer age=0..120 --category sex=F,M."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact

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
    key : the person key, which is no column
    take_all : whether the other columns are declared as what they are stored as

    Examples
    --------
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


def several_rows(table: str) -> str:
    """Return what a custodian is told whose table has several rows of a person and is declared to have one."""
    return (
        f"somebody has several rows in {table}, which is declared to have one a person: what they add is bounded to "
        'what one row could add. If these are events, write rows = "many" in lapwing.toml (lapwing add: --rows many), '
        "then lapwing update"
    )


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
                    kind, text, reason="has no two bounds", remedy="write LOW..HIGH, such as age=0..120"
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
