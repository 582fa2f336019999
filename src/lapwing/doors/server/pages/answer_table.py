"""The rows of an answer: each number with its bounds, for the page and for files."""

import csv
import io
from fractions import Fraction
from typing import Any, Final

from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import named

_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")


@frozen()
class Cell:
    """A number with its bounds, as text that is exact."""

    value: Any
    low: Any
    high: Any


@frozen()
class TableRow:
    """A row of an answer: what it is about, and its numbers, in the order of the columns."""

    key: tuple[Any, ...]
    label: str
    cells: tuple[Cell, ...]


def rows_of(answer: dict[str, Any]) -> list[TableRow]:
    """Return the rows of an answer.

    >>> cell = {"value": 3, "low": 1, "high": 5}
    >>> told = {"columns": ["n"], "rows": [{"key": ["north", None], "values": {"n": cell}}]}
    >>> rows_of(told)[0].label, rows_of(told)[0].cells[0].high
    ('north, (missing)', 5)
    """
    found = []
    for row in answer["rows"]:
        given = [row["values"].get(column) or {} for column in answer["columns"]]
        cells = tuple(Cell(value=one.get("value"), low=one.get("low"), high=one.get("high")) for one in given)
        label = ", ".join(named(part) for part in row["key"])
        found.append(TableRow(key=tuple(row["key"]), label=label, cells=cells))
    return found


def csv_of(answer: dict[str, Any]) -> str:
    """Return an answer as CSV; a cell that a spreadsheet would compute is written as text.

    A column that contribution bounds may have cut is followed by one that says so in every row.

    >>> cell = {"value": 3, "low": 1, "high": 5}
    >>> told = {"keys": ["site"], "columns": ["n"], "rows": [{"key": ["=1+1"], "values": {"n": cell}}]}
    >>> print(csv_of(told | {"cut": []}) + csv_of(told | {"cut": ["n"]}))
    site,n,n_low,n_high
    '=1+1,3,1,5
    site,n,n_low,n_high,n_cut
    '=1+1,3,1,5,cut
    <BLANKLINE>
    """
    cut = answer["cut"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [
        f"{name}{end}"
        for name in answer["columns"]
        for end in ("", "_low", "_high", *(["_cut"] if name in cut else []))
    ]
    writer.writerow([*map(_safe, answer["keys"]), *map(_safe, names)])
    for row in rows_of(answer):
        numbers = [
            part
            for name, cell in zip(answer["columns"], row.cells, strict=True)
            for part in (*map(_plain, (cell.value, cell.low, cell.high)), *(["cut"] if name in cut else []))
        ]
        writer.writerow([*map(_safe, row.key), *numbers])
    return out.getvalue()


def _plain(number: Any) -> Any:
    """Return a number as spreadsheets read it; the exact fraction of a mean is in the JSON."""
    return float(Fraction(number)) if isinstance(number, str) and "/" in number else number


def _safe(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
