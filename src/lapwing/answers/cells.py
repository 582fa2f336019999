"""The rows and the numbers of an answer, for people and for programs: bounds, words, and tables of text."""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from lapwing.queries.planning.plan import BoundedValue, CellKey, Number, Shown
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_bounded, format_exact, format_value, named, rounded


@frozen(kw_only=False)
class Change:
    """A function that was applied to every value; a rising one may be applied to bounds as well."""

    function: Callable[[Any], Any]
    rising: bool

    def of(self, cell: BoundedValue) -> BoundedValue:
        """Return the cell after the change."""
        value = None if cell.value is None else self.function(cell.value)
        if not self.rising or cell.low is None or cell.high is None:
            return replace(cell, value=value, low=None, high=None)
        low, high = self.function(cell.low), self.function(cell.high)
        if not (low <= high if value is None else low <= value <= high):
            raise BadQuestionError(f"this function falls between {cell.low} and {cell.high}; use map, without bounds")
        return replace(cell, value=value, low=low, high=high)


@frozen(repr=False)
class Row:
    """One row of an answer: what it is about, and a value with its bounds for each column.

    `row["n"]` is a value, and `row["sex"]` what the row is about. `names` are those of the parts of its `key`, and
    `cell` says which group it is, as programs know it.
    """

    key: tuple[Shown, ...]
    cells: Mapping[str, BoundedValue]
    names: tuple[str, ...] = ()
    cell: CellKey = ()

    def __getitem__(self, column: str) -> Any:
        if column in self.cells:
            return plain(self.cells[column].value)
        if column in self.names:
            return self.key[self.names.index(column)]
        raise no_column(column, [*self.names, *self.cells])

    def __repr__(self) -> str:
        keys = [f"{name} {named(part)}" for name, part in zip(self.names, self.key, strict=False)]
        return f"<row: {', '.join([*keys, *(f'{name} {cell_text(cell)}' for name, cell in self.cells.items())])}>"


def plain(value: Any) -> Any:
    """Return a value as people compute with it: an exact fraction as the nearest double.

    >>> plain(Fraction(1, 3)), plain(7), plain("ER")
    (0.3333333333333333, 7, 'ER')
    """
    return float(value) if isinstance(value, Fraction) else value


def outwards(bound: Number | None, to_double: Callable[[Fraction], float]) -> Number | None:
    """Return a bound as people compute with it, with a double no nearer than an exact fraction is."""
    return to_double(bound) if isinstance(bound, Fraction) else bound


def ends(cell: BoundedValue) -> tuple[Number | None, Number | None]:
    """Return the bounds of a value."""
    return cell.low, cell.high


def reach(cell: BoundedValue) -> Number | None:
    """Return how far a value is from the farther of its bounds."""
    if cell.low is None or cell.high is None or cell.value is None or isinstance(cell.value, str):
        return None
    return max(cell.high - cell.value, cell.value - cell.low)


def cell_words(cell: BoundedValue) -> tuple[str, str, str, str]:
    """Return a value, its bounds and its margin for people to read: no bounds where they are not known."""
    if cell.low is None or cell.high is None or isinstance(cell.value, str):
        return format_value(cell.value), "", "", ""
    if cell.value is None:
        _, low, high, _ = format_bounded((cell.low + cell.high) / 2, cell.low, cell.high)
        return format_value(None), low, high, ""
    return format_bounded(cell.value, cell.low, cell.high)


def cell_text(cell: BoundedValue) -> str:
    """Return a value for people to read, with its margin, or with its bounds where one is nearer than the other."""
    value, low, high, margin = cell_words(cell)
    if not low:
        return value
    known: Any = cell
    if not margin:
        return f"{value} ({low} to {high})"
    even = abs((known.high - known.value) - (known.value - known.low)) * 20 <= known.high - known.low
    return f"{value} ± {margin}" if even else f"{value} ({low} to {high})"


def rows_names(counted: Sequence[str]) -> list[str]:
    """Return the names of the columns with the number of rows that these columns were computed over."""
    return ["rows"] if len(counted) == 1 else [f"rows of {name}" for name in counted]


def cell_record(cell: BoundedValue) -> dict[str, Any]:
    """Return a value, its bounds and its number of rows as JSON values: exactly, and `rounded`."""
    parts = {"value": cell.value, "low": cell.low, "high": cell.high}
    return {
        **({} if cell.rows is None else {"rows": cell_record(cell.rows)}),
        **{name: format_exact(part) for name, part in parts.items()},
        "rounded": {name: rounded(part) for name, part in parts.items()},
    }


def no_column(name: object, known: Sequence[str]) -> BadQuestionError:
    """Return the refusal of a column that an answer does not have."""
    return BadQuestionError(f"this answer has no column {name!r}; it has {', '.join(known)}")


def text_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, each cell moved to the right of its column; a Chinese sign is two places wide.

    >>> text_table(["city", "n"], [["Bern", "7"], ["北京", "12"]])
    ['city   n', 'Bern   7', '北京  12']
    """
    rows = [header, *lines]
    widths = [max(map(_width, texts)) for texts in zip(*rows, strict=True)]
    return [
        "  ".join(" " * (wide - _width(text)) + text for text, wide in zip(row, widths, strict=True)) for row in rows
    ]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)
