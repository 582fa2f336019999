"""What a column may hold: one type each for numbers, categories, text, dates and truth values.

Bounds are declared, never looked up in the data. Values outside them are clipped where they are added up; comparisons
see the value as it is.
"""

import math
from abc import ABC
from dataclasses import fields
from datetime import date
from fractions import Fraction
from typing import Any, Final, TypeAlias

from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_int, exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import escaped, format_exact, format_short, is_printable

INT64_LOWEST, INT64_HIGHEST = -(2**63), 2**63 - 1
MOST_GRID = 2**52
"""Grid numbers stay below this, so that a double holds each of them and the half between two neighbours."""
_DEFAULT_CELLS = 2**20
_MOST_CATEGORIES = 100_000
_MOST_NAMED = 20
_FEW_LABELLED = 10
_LONGEST_TITLE = 80
_LONGEST_UNIT = 30
_LONGEST_DESCRIPTION = 300


@frozen()
class Integer:
    """Whole numbers of 64 bits; sums and means need bounds, from here or from the question."""

    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        _check_both_or_none(self.low, self.high)
        if self.low is not None and self.high is not None:
            for name in ("low", "high"):
                object.__setattr__(self, name, as_int(name, getattr(self, name), least=-MOST_GRID, most=MOST_GRID))
            _check_order(self.low, self.high)


@frozen()
class Real:
    """Numbers of double precision, put on a grid of a power of two before anything is added up.

    Parameters
    ----------
    low, high : the bounds; they are moved outwards to the grid
    step : the distance of two grid points, a power of two; about a millionth of the range where it is not given

    >>> bmi = Real(low=10, high=60, step="1/64")
    >>> bmi.low, bmi.high, bmi.bits
    (Fraction(10, 1), Fraction(60, 1), 6)
    >>> Real(low=0, high=1, step="0.1")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: step = '0.1' is not a power of two; write 1/8
    """

    low: Exact
    high: Exact
    step: Exact | None = None

    def __post_init__(self) -> None:
        low, high = exact("low", self.low), exact("high", self.high)
        _check_order(low, high)
        step = _default_step(high - low) if self.step is None else exact("step", self.step)
        if step <= 0 or not _is_power_of_two(step):
            remedy = f"write {Fraction(2) ** math.floor(math.log2(step) + 0.5)}" if step > 0 else "write 1/64"
            raise ParameterError("step", self.step, reason="is not a power of two", remedy=remedy)
        if max(abs(low), abs(high)) / step >= MOST_GRID:
            raise ParameterError(
                "step",
                str(step),
                reason=f"puts more than 2^52 grid points between 0 and the bounds {low} and {high}",
                remedy=f"write a step of at least {_default_step(max(abs(low), abs(high)) * 2)}",
            )
        object.__setattr__(self, "low", math.floor(low / step) * step)
        object.__setattr__(self, "high", math.ceil(high / step) * step)
        object.__setattr__(self, "step", step)

    @property
    def bits(self) -> int:
        """Return s where the step is 2^-s."""
        step = exact("step", self.step)
        return step.denominator.bit_length() - step.numerator.bit_length()


@frozen()
class Category:
    """One of the declared values, all text or all whole numbers; any other value falls into no cell.

    `labels`, where there are any, are what the values are called, in the same order; `label_name` is what such a label
    is called, as a column of an answer.
    """

    values: tuple[str, ...] | tuple[int, ...]
    labels: tuple[str, ...] = ()
    label_name: str = "label"

    def __post_init__(self) -> None:
        values = tuple(self.values)
        kinds = {type(value) for value in values}
        shown = values if len(values) <= _MOST_NAMED else f"{len(values):,} of them"
        if kinds not in ({str}, {int}) or len(values) > _MOST_CATEGORIES:
            raise ParameterError(
                "values",
                shown,
                reason="are not categories",
                remedy=f"list from 1 to {_MOST_CATEGORIES} values, all text or all whole numbers",
            )
        if len(set(values)) < len(values):
            raise ParameterError("values", shown, reason="name a category twice", remedy="name each once")
        for value in values:
            if not isinstance(value, str):
                as_int("values", value, least=INT64_LOWEST, most=INT64_HIGHEST)
            elif not is_printable(check_text("values", value)):
                remedy = "declare the column as text, or change the value in the data"
                raise ParameterError("values", value, reason="holds characters that cannot be shown", remedy=remedy)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "labels", tuple(map(escaped, self.labels)))
        if self.labels and len(self.labels) != len(values):
            raise ParameterError(
                "labels", len(self.labels), reason=f"are not as many as the {len(values)} values", remedy="give both"
            )

    def called(self, value: str | int) -> str:
        """Return a value with its label, if it has one."""
        return f"{value} ({self.labels[self.values.index(value)]})" if self.labels else str(value)


@frozen(kw_only=False)
class Text:
    """Any text, compared character by character: case, accents and trailing blanks all count."""


@frozen()
class Date:
    """Days from 0001-01-01 to 9999-12-31; a day outside them, or an infinite one, counts as missing."""

    first: date | None = None
    last: date | None = None

    def __post_init__(self) -> None:
        _check_both_or_none(self.first, self.last)
        if self.first is not None and self.last is not None:
            _check_order(self.first, self.last)


@frozen(kw_only=False)
class Boolean:
    """True or false."""


ColumnType: TypeAlias = Integer | Real | Category | Text | Date | Boolean


@frozen()
class Column:
    """A column that may be asked about.

    Parameters
    ----------
    name : what questions call it
    type : what it may hold
    nullable : whether values may be missing; a group-by then has a cell for them
    title : what people call it, where that is not its name; pages show it, and questions never use it
    unit : in what its numbers are counted or measured, such as "kg"; shown with them wherever columns are told
    description : what it holds, in a sentence; shown wherever columns are told
    fixed : whether the custodian promises that a value never changes, nor is filled in, once its row is there, that a
        person's later rows have no earlier day, and that rows are withdrawn with all others of the person: then counts
        over time are cheap
    time_of : of a column of whole numbers, the column of days of which it has the times of day, in seconds after
        midnight: then conditions see the moments of that column, and hour(...) is that of its times

    >>> Column(name="dob", type=Date(), title="day of birth").to_dict()["title"]
    'day of birth'
    """

    name: str
    type: ColumnType
    nullable: bool = False
    title: str = ""
    fixed: bool = False
    unit: str = ""
    description: str = ""
    time_of: str = ""

    def __post_init__(self) -> None:
        check_title(self.title)
        if self.time_of:
            object.__setattr__(self, "type", _time_of_day(self.name, self.type))
        _check_words("unit", self.unit, _LONGEST_UNIT)
        _check_words("description", self.description, _LONGEST_DESCRIPTION)

    @property
    def written(self) -> str:
        """The name as it is written in a condition.

        >>> Column(name="age", type=Text()).written, Column(name="date of birth", type=Date()).written
        ('age', '"date of birth"')
        """
        return written_name(self.name)

    @property
    def kind(self) -> str:
        """The name of its type, in small letters."""
        return type(self.type).__name__.lower()

    @property
    def values(self) -> str:
        """What it may hold, in words.

        >>> Column(name="age", type=Integer(low=0, high=120)).values
        '0 to 120'
        """
        match self.type:
            case Integer(low=int() as low, high=int() as high):
                return f"{low} to {high}"
            case Real(low=Fraction() as low, high=Fraction() as high):
                return f"{format_short(low)} to {format_short(high)}"
            case Category(values=values):
                most = _FEW_LABELLED if self.type.labels else _MOST_NAMED
                more = f", ... ({len(values):,} values)" if len(values) > most else ""
                return ", ".join(self.type.called(value) for value in values[:most]) + more
            case Date(first=first, last=last) if first is not None or last is not None:
                return f"{first} to {last}"
            case _:
                return ""

    @property
    def told(self) -> str:
        """What it may hold, with its unit, and what it is, in words.

        >>> Column(name="mass", type=Integer(low=0, high=300), unit="kg", description="without shoes").told
        '0 to 300 kg; without shoes'
        """
        measured = " ".join(part for part in (self.values, self.unit) if part)
        return "; ".join(part for part in (measured, self.description) if part)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        others = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        always = {"column": self.name, "type": self.kind, **_bounds(self.type), "nullable": self.nullable}
        return always | {name: given for name, given in others.items() if name not in {"name", "type"}}


def check_title(title: str) -> None:
    """Refuse what cannot stand on one line of a page."""
    _check_words("title", title, _LONGEST_TITLE)


def _check_words(name: str, given: str, most: int) -> None:
    if len(given) > most or not given.isprintable() or given != given.strip():
        shown = given if len(given) <= most else f"{given[:most]}..."
        remedy = f"write at most {most} characters on one line, without blanks around them"
        raise ParameterError(name, shown, reason=f"is not a {name}", remedy=remedy)


class DerivedColumn(ABC):
    """A column that a row has beside those of its table: a total function of the row and of its person's other rows.

    What there is stands in `derived`; conditions, groups and values name it like any other column.
    """

    __slots__ = ()
    name: str


def _bounds(kind: ColumnType) -> dict[str, Any]:
    match kind:
        case Integer():
            return {"low": kind.low, "high": kind.high}
        case Real():
            return {name: format_exact(getattr(kind, name)) for name in ("low", "high", "step")}
        case Category(values=values, labels=labels):
            called = {"labels": list(labels), "label_name": kind.label_name} if labels else {}
            return {"values": list(values), **called}
        case Date(first=first, last=last):
            return {"first": first and str(first), "last": last and str(last)}
        case _:
            return {}


def written_name(name: str) -> str:
    """Return the name of a column as it is written in a condition.

    >>> written_name("person_id"), written_name("Patient Nr")
    ('person_id', '"Patient Nr"')
    """
    quoted = name.replace('"', '""')
    return name if name.isidentifier() and name.isascii() else f'"{quoted}"'


def number_for(column: Column, value: object) -> Fraction:
    """Return a constant that the numbers of a column are compared with, exactly.

    The name of a category that is a number may stand in quotes, as it does where categories are text.
    """
    if isinstance(value, bool):
        raise BadQuestionError(
            f"{column.name!r} holds numbers and is neither true nor false; compare it, all of it in quotes: "
            f'"{column.name} > 3"'
        )
    if isinstance(column.type, Category) and isinstance(value, str) and value.removeprefix("-").isdecimal():
        return Fraction(value)
    if isinstance(column.type, Category) and isinstance(value, str):
        raise BadQuestionError(f"{column.name!r} has no category {value!r}; it has {column.values}")
    if not isinstance(value, int | Fraction):
        unquoted = isinstance(value, str) and value.removeprefix("-").isdecimal()
        raise BadQuestionError(
            f"{column.name!r} holds numbers, and {value!r} is text; write {value} without quotes"
            if unquoted
            else f"{column.name!r} holds numbers, and {value!r} is not one; write a number"
        )
    return Fraction(value)


def called(column: Column, value: object) -> tuple[str, ...] | tuple[int, ...] | None:
    """Return the categories that have this label; None where it is a category itself, or where there are no labels.

    Labels are compared without regard to capitals where none is written exactly so.

    >>> sex = Column(name="sex", type=Category(values=(8507, 8532), labels=("Male", "Female")))
    >>> called(sex, "female"), called(sex, 8532)
    ((8532,), None)
    """
    kind = column.type
    if (
        not isinstance(kind, Category)
        or not kind.labels
        or not isinstance(value, str)
        or value in map(str, kind.values)
    ):
        return None
    labels = list(zip(kind.labels, kind.values, strict=True))
    exactly = tuple(one for label, one in labels if label == value)
    found = exactly or tuple(one for label, one in labels if label.casefold() == value.casefold())
    if not found:
        near = (label for label in kind.labels if value.casefold() in label.casefold())
        raise BadQuestionError(
            f"no category of {column.name!r} is called {value!r}; write one of its values, such as "
            f"{kind.values[0]!r}, or what it is called, such as {next(near, kind.labels[0])!r}"
        )
    return found  # type: ignore[return-value] # of the one kind that all categories have


def text_for(column: Column, value: object) -> str:
    """Return a constant that the texts of a column are compared with; a category may be written as a number."""
    if isinstance(column.type, Category) and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise BadQuestionError(f"{column.name!r} holds text, and {value!r} is not; write it in quotes")
    return check_text(column.name, value)


def truth_for(column: Column, value: object) -> bool:
    """Return a constant that a column of truth values is compared with."""
    if not isinstance(value, bool):
        either = f"write {column.written} or not {column.written}, and in a list of values True or False"
        raise BadQuestionError(f"{column.name!r} is true or false, and {value!r} is neither; {either}")
    return value


def holds_text(column: Column) -> bool:
    """Say whether a column holds text."""
    match column.type:
        case Category(values=values):
            return isinstance(values[0], str)
        case kind:
            return isinstance(kind, Text)


def check_text(name: str, given: str) -> str:
    """Return `given` if every database can hold it: no NUL character and no half of a surrogate pair."""
    if "\x00" in given or (not given.isascii() and any("\ud800" <= c <= "\udfff" for c in given)):
        raise ParameterError(name, given, reason="holds a character that is not text", remedy="leave it out")
    return given


def _default_step(extent: Fraction) -> Fraction:
    return Fraction(2) ** math.ceil(math.log2((extent or Fraction(1)) / _DEFAULT_CELLS))


def _is_power_of_two(number: Fraction) -> bool:
    return number.numerator & (number.numerator - 1) == 0 == number.denominator & (number.denominator - 1)


def _check_both_or_none(low: object, high: object) -> None:
    if (low is None) != (high is None):
        raise ParameterError("bounds", (low, high), reason="are incomplete", remedy="give both, or none")


def _check_order(low: Fraction | int | date, high: Fraction | int | date) -> None:
    if low > high:  # type: ignore[operator]
        raise ParameterError("bounds", (low, high), reason="are the wrong way round", remedy="give the lower first")


def nearest_double(number: Fraction) -> float:
    """Return the double nearest to `number`, infinite where it is too large for one.

    >>> nearest_double(Fraction(1, 3)), nearest_double(Fraction(-(10**400)))
    (0.3333333333333333, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


TIME_OF_DAY: Final = Integer(low=0, high=86_399)
"""Seconds after midnight."""


def _time_of_day(name: str, kind: ColumnType) -> Integer:
    """Return the type of a time of day, which is the same for all; refuse a column of another kind."""
    if kind not in {Integer(), TIME_OF_DAY}:
        remedy = 'write { type = "integer", time_of = "..." }'
        raise ParameterError(
            f"time_of {name}", type(kind).__name__, reason="is of seconds after midnight", remedy=remedy
        )
    return TIME_OF_DAY
