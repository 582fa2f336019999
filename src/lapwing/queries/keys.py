"""What it means to group by a column: the public cells, from what the catalogue declares."""

import itertools
import math
from datetime import date
from fractions import Fraction

from lapwing.queries.aggregate import BinnedKey, DeclaredKey, KeyOfColumn, PrivateKey
from lapwing.queries.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.days import day_of
from lapwing.queries.expressions import Literal, Name, Year
from lapwing.queries.intervals import DAYS, DOUBLES, INTEGERS, Domain, Interval, day_number, double_rank, nearest_double
from lapwing.queries.questions import By
from lapwing.queries.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.wording import Call

_MOST_SINGLES = 1000
_MOST_BINS = 1000


def bind_key(by: By, scope: Scope) -> KeyOfColumn:
    """Return the cells that `by` makes."""
    match by.column:
        case Year(day) if by.edges is None:
            column = scope.column(day) if isinstance(day, Name) else None
            if column is None or not isinstance(column.type, Date):
                raise BadQuestionError("only a column of days has years; write year(day)")
            return BinnedKey(column=column.name, domain=DAYS, bins=_years(column), missing=column.nullable)
        case Name():
            column = scope.column(by.column)
        case _:
            raise BadQuestionError("bins are those of a column; write ", Call("bins", ("age", [0, 18, 65, 120])))
    if by.edges is not None:
        domain, bins = _bins(column, by.edges)
        return BinnedKey(column=column.name, domain=domain, bins=bins, missing=column.nullable)
    return _values(column)


def _values(column: Column) -> KeyOfColumn:
    match column.type:
        case Category(values=values):
            return DeclaredKey(column=column.name, values=values, missing=column.nullable)
        case Boolean():
            return DeclaredKey(column=column.name, values=(False, True), missing=column.nullable)
        case Integer(low=int() as low, high=int() as high) if high - low < _MOST_SINGLES:
            return DeclaredKey(column=column.name, values=tuple(range(low, high + 1)), missing=column.nullable)
        case Integer() | Text():
            return PrivateKey(column=column.name, missing=column.nullable)
        case Real() | Date():
            year = f", or year({column.written})" if isinstance(column.type, Date) else ""
            raise BadQuestionError(
                f"{column.name!r} has too many values to group by; group by ",
                Call("bins", (column.name, [...])),
                year,
            )


def _years(column: Column) -> tuple[Interval, ...]:
    match column.type:
        case Date(first=date() as first, last=date() as last):
            years = range(first.year, last.year + 1)
            if len(years) > _MOST_BINS:
                raise BadQuestionError(
                    f"{column.name!r} is declared over {len(years)} years, more than {_MOST_BINS} groups; give edges: ",
                    _decades(column),
                )
            return tuple((day_number(date(y, 1, 1)), day_number(date(y, 12, 31))) for y in years)
        case _:
            raise BadQuestionError(
                f"{column.name!r} declares no first and last day, so its years have no end; give edges: ",
                _decades(column),
            )


def _decades(column: Column) -> Call:
    return Call("bins", (column.name, ["1990-01-01", "2000-01-01", "2010-01-01"]))


def _bins(column: Column, edges: tuple[Literal, ...]) -> tuple[Domain, tuple[Interval, ...]]:
    domain, places = _places(column, edges)
    if not 1 < len(places) <= _MOST_BINS + 1 or any(a >= b for a, b in itertools.pairwise(places)):
        raise BadQuestionError(
            f"the edges of {column.name!r} must rise and make from 1 to {_MOST_BINS} bins; write ",
            Call("bins", (column.name, [0, 18, 65])),
        )
    whole = [math.ceil(place) for place in places]
    intervals = [(a, b - 1) for a, b in itertools.pairwise(whole)]
    intervals[-1] = (intervals[-1][0], math.floor(places[-1]))
    if any(low > high for low, high in intervals):
        raise BadQuestionError(f"a bin of {column.name!r} holds no value; move its edges apart")
    return domain, tuple(intervals)


def _places(column: Column, edges: tuple[Literal, ...]) -> tuple[Domain, list[Fraction]]:
    match column.type:
        case Integer():
            return INTEGERS, [_whole_place(column, edge) for edge in edges]
        case Real():
            return DOUBLES, [Fraction(double_rank(nearest_double(_number(column, edge)))) for edge in edges]
        case Date():
            return DAYS, [Fraction(day_number(day_of(edge, column.name))) for edge in edges]
        case _:
            raise BadQuestionError(f"{column.name!r} has no order to make bins of; group by its values")


def _whole_place(column: Column, edge: Literal) -> Fraction:
    number = _number(column, edge)
    if not INTEGERS.lowest <= number <= INTEGERS.highest:
        raise BadQuestionError(
            f"an edge of {column.name!r} is no whole number of 64 bits; stay within {INTEGERS.lowest} and "
            f"{INTEGERS.highest}"
        )
    return number


def _number(column: Column, edge: Literal) -> Fraction:
    if isinstance(edge.value, bool) or not isinstance(edge.value, int | Fraction):
        raise BadQuestionError(
            f"the edges of {column.name!r} are numbers; write ", Call("bins", (column.name, [0, 18, 65]))
        )
    return Fraction(edge.value)
