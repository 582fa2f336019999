"""Answers as data frames: the same columns, of the same types, in pandas, Polars and Arrow.

A bin is two columns, its first and its last value (of real numbers: its edges); a step is its lower end, a calendar
year a whole number, a month or a quarter its first day, a quantile a fraction, and an exact number that is not whole is
the nearest double.
"""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from fractions import Fraction
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

from lapwing.queries.algebra.aggregate import BinnedKey, DeclaredKey, GridKey, KeyOfColumn, Label
from lapwing.queries.planning.days import ends_of, period_of
from lapwing.queries.planning.plan import CellKey, Plan, Steps, value_of_bins
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Result

_CONFIDENCE: Final = Fraction(95, 100)
_LARGEST: Final = 2**63
_YEARS: Final = range(1500, 2201)
_FEWEST_YEARS: Final = 3


@frozen(kw_only=False)
class FrameColumn:
    """A column of a frame: its values, None where one is missing, and the one type that all others have."""

    name: str
    values: Sequence[Any]
    kind: type

    @staticmethod
    def of(name: str, values: Iterable[Any], like: type = str) -> "FrameColumn":
        """Return a column with the narrowest type that holds all its values; `like` is that of a column without any.

        >>> FrameColumn.of("mean", [3, Fraction(1, 3), None]).kind
        <class 'float'>
        """
        listed = list(values)
        kinds = {_kind(value) for value in listed if value is not None}
        return FrameColumn(name, listed, float if kinds == {int, float} else kinds.pop() if len(kinds) == 1 else like)

    @property
    def plain(self) -> list[Any]:
        """The values as a data frame holds them."""
        return [
            None if value is None else self.kind(value) if self.kind is not date else value for value in self.values
        ]

    @property
    def has_gaps(self) -> bool:
        """Whether a value is missing."""
        return any(value is None for value in self.values)


def _kind(value: object) -> type:
    match value:
        case bool() | str():
            return type(value)
        case int():
            return int if -_LARGEST <= value < _LARGEST else float
        case date():
            return date
        case _:
            return float


class TableResult(Result):
    """A result that is a table: for every library of data frames, and for every program that reads Arrow."""

    __slots__ = ()

    @abstractmethod
    def frame_columns(self, confidence: Exact) -> list[FrameColumn]:
        """Return the columns of the table, with bounds that hold with this confidence."""

    def to_rows(self, confidence: Exact = _CONFIDENCE) -> list[dict[str, Any]]:
        """Return a record for each row: its keys, and for each number the value, its `low` and its `high` bound.

        They have the columns of the data frames, and exact numbers.
        """
        columns = distinct(self.frame_columns(confidence))
        names = [column.name for column in columns]
        return [dict(zip(names, row, strict=True)) for row in zip(*(column.values for column in columns), strict=True)]

    def to_pandas(self, confidence: Exact = _CONFIDENCE) -> Any:
        """Return the rows as a pandas.DataFrame; exact fractions become floats."""
        pandas = _library("pandas")
        frame = pandas.DataFrame({column.name: _pandas_series(pandas, column) for column in self._distinct(confidence)})
        frame.attrs |= self.notes()
        return frame

    def notes(self) -> dict[str, Any]:
        """Return metadata of the whole table: `attrs` of pandas, schema metadata of Arrow."""
        return {}

    def to_polars(self, confidence: Exact = _CONFIDENCE) -> Any:
        """Return the rows as a polars.DataFrame; exact fractions become floats."""
        polars = _library("polars")
        types = {bool: polars.Boolean, int: polars.Int64, float: polars.Float64, str: polars.String, date: polars.Date}
        return polars.DataFrame(
            [polars.Series(one.name, one.plain, dtype=types[one.kind]) for one in self._distinct(confidence)]
        )

    def to_arrow(self, confidence: Exact = _CONFIDENCE) -> Any:
        """Return the rows as a pyarrow.Table; exact fractions become floats.

        The metadata of its schema, which a file in Parquet or Feather keeps, has the notes as JSON under "lapwing".
        """
        arrow = _library("pyarrow")
        types = {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
        types[date] = arrow.date32()
        table = arrow.table({one.name: arrow.array(one.plain, types[one.kind]) for one in self._distinct(confidence)})
        notes = self.notes()
        return table.replace_schema_metadata({"lapwing": json.dumps(notes)}) if notes else table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rows to a program that reads Arrow, such as DuckDB or Polars, without naming a library."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _distinct(self, confidence: Exact) -> list[FrameColumn]:
        return distinct(self.frame_columns(confidence))


def _pandas_series(pandas: Any, column: FrameColumn) -> Any:
    """Return a column of pandas, which has its own word for whole numbers and truth values with gaps."""
    types = {bool: "boolean" if column.has_gaps else "bool", int: "Int64" if column.has_gaps else "int64"}
    others = {float: "float64", str: "object", date: "datetime64[s]"}
    return pandas.Series(column.plain, dtype=(types | others)[column.kind])


def distinct(columns: Sequence[FrameColumn]) -> list[FrameColumn]:
    """Return the columns with a number behind the names that are there already."""
    names = [column.name for column in columns]
    return [
        column if column.name not in names[:i] else FrameColumn(_numbered(names, i), column.values, column.kind)
        for i, column in enumerate(columns)
    ]


def _numbered(names: list[str], place: int) -> str:
    return f"{names[place]}_{names[:place].count(names[place]) + 1}"


def key_columns(plan: Plan, names: Sequence[str], keys: Sequence[CellKey], steps: Steps) -> list[FrameColumn]:
    """Return the key columns of an answer, with these names, as columns of a frame."""
    if plan.meaning.row_name is not None:
        shown = [plan.shown(key, steps) for key in keys]
        read: Callable[[Any], Any] = Fraction if plan.meaning.rows_are_fractions else lambda part: part
        parts = [[read(row[i]) if i == 0 else row[i] for row in shown] for i in range(len(names))]
        return [FrameColumn.of(name, values) for name, values in zip(names, parts, strict=True)]
    kinds = [kind for kind in plan.aggregate.keys if not isinstance(kind, GridKey)]
    left, columns = list(names), list[FrameColumn]()
    for place, kind in enumerate(kinds if plan.meaning.keys_are_groups else []):
        labels = [key[place] for key in keys]
        columns += _columns_of_key(left.pop(0), kind, labels, steps.get(place))
        if kind.column in plan.names:
            called = plan.names[kind.column].names
            columns.append(FrameColumn.of(left.pop(0), [called.get(label) for label in labels]))
    return columns


def _columns_of_key(name: str, kind: KeyOfColumn, labels: Sequence[Label], width: Fraction | None) -> list[FrameColumn]:
    if not isinstance(kind, BinnedKey):
        return [FrameColumn.of(name, labels)]
    value = value_of_bins(kind, width)
    if value is not None:
        values = [value(label) if isinstance(label, tuple) else None for label in labels]
        return [FrameColumn.of(name, values, _kind(value(kind.bins[0])))]
    bins = [ends_of(kind.domain, label) if isinstance(label, tuple) else (None, None) for label in labels]
    firsts, lasts = ([one[end] for one in bins] for end in (0, 1))
    return [FrameColumn.of(f"{name}_low", firsts), FrameColumn.of(f"{name}_high", lasts)]


def is_time(key: KeyOfColumn) -> bool:
    """Say whether groups are years, quarters or months, which have their order in time.

    Whole numbers one after the other are years where all of them are such as people write for one.

    >>> is_time(DeclaredKey(column="year", values=(1999, 2000, 2001), missing=True))
    True
    >>> is_time(DeclaredKey(column="ward", values=(1, 2, 3), missing=True))
    False
    """
    if isinstance(key, DeclaredKey):
        years = [one for one in key.values if type(one) is int and one in _YEARS]
        return len(years) == len(key.values) >= _FEWEST_YEARS and all(b - a == 1 for a, b in pairwise(years))
    return isinstance(key, BinnedKey) and all(period_of(key.domain, one) is not None for one in key.bins)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise BadQuestionError(f"{name} is not installed; read to_rows(), or install {name}") from None
