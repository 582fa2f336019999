"""What it means to group by a column: the public groups that the catalogue declares and the condition leaves.

`where year(day) >= 2015 group by year(day)` makes no group for 1990. It is decided from the condition and the catalogue
alone, so that the groups of an answer say nothing about anybody. A group stays unless a part of the condition that must
hold, and that speaks about the grouped column by itself, excludes it. Whatever is left out could have held nobody:
leaving it out moves no number of the others.
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import TypeVar

from lapwing.queries.aggregate import BinnedKey, DeclaredKey, KeyOfColumn, PrivateKey
from lapwing.queries.catalogue import Scope
from lapwing.queries.column import Boolean, Category, Column, Date, Integer, Real, Text, nearest_double
from lapwing.queries.days import day_of
from lapwing.queries.expressions import By, DatePart, Literal, Name
from lapwing.queries.predicate import (
    DAYS,
    DOUBLES,
    INTEGERS,
    AllOf,
    Compared,
    Domain,
    InIntervals,
    Interval,
    InTexts,
    IsPresent,
    Like,
    NotInTexts,
    NotLike,
    Predicate,
    Ref,
    day_number,
    double_rank,
)
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.wording import Call

_MOST_SINGLES = 1000
_MOST_BINS = 1000


def bind_key(by: By, scope: Scope) -> KeyOfColumn:
    """Return the cells that `by` makes."""
    match by.column:
        case DatePart("year", day) if by.edges is None:
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
                f"{column.name!r} has too many values to group by; group by ", Call("bins", (column.name, [...])), year
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
            f"an edge of {column.name!r} is not a whole number of 64 bits; stay within {INTEGERS.lowest} and "
            f"{INTEGERS.highest}"
        )
    return number


def _number(column: Column, edge: Literal) -> Fraction:
    if isinstance(edge.value, bool) or not isinstance(edge.value, int | Fraction):
        raise BadQuestionError(
            f"the edges of {column.name!r} are numbers; write ", Call("bins", (column.name, [0, 18, 65]))
        )
    return Fraction(edge.value)


T = TypeVar("T")
_MOST_LISTED = 1000


def narrow(key: KeyOfColumn, where: Predicate) -> KeyOfColumn:
    """Return the key with the groups in which there can be a row for which `where` is true.

    >>> from lapwing.queries.predicate import INTEGERS
    >>> ages = DeclaredKey(column="age", values=(17, 18, 19), missing=True)
    >>> narrow(ages, InIntervals(column="age", domain=INTEGERS, intervals=((18, 99),)))
    DeclaredKey(column='age', values=(18, 19), missing=False)
    """
    for part in where.parts if isinstance(where, AllOf) else (where,):
        match part:
            case InIntervals(column=key.column, intervals=intervals):
                key = _within(key, intervals)
            case InTexts(column=key.column, texts=texts):
                key = _among(key, frozenset(texts))
            case NotInTexts(column=key.column, texts=texts) if isinstance(key, DeclaredKey):
                key = _among(key, frozenset(value for value in key.values if isinstance(value, str)) - set(texts))
            case (
                IsPresent(column=key.column)
                | NotInTexts(column=key.column)
                | Like(column=key.column)
                | NotLike(column=key.column)
                | Compared(left=Ref(column=key.column, up=0))
                | Compared(right=Ref(column=key.column, up=0))
            ):
                key = replace(key, missing=False)  # no such condition is true where the value is missing
            case _:
                pass
    return key


def _within(key: KeyOfColumn, intervals: Sequence[Interval]) -> KeyOfColumn:
    """Return the key with the groups that hold a number of `intervals`, which are disjoint and in order."""
    lows = [low for low, _ in intervals]

    def meets(low: int, high: int) -> bool:
        place = bisect_right(lows, high)
        return place > 0 and intervals[place - 1][1] >= low

    match key:
        case DeclaredKey(values=values):
            return _listed(key, tuple(value for value in values if meets(int(value), int(value))))
        case BinnedKey(bins=bins):
            kept = tuple(one for one in bins if meets(*one))
            return replace(key, bins=_some(key, kept), missing=False)
        case PrivateKey() if sum(high - low + 1 for low, high in intervals) <= _MOST_LISTED:
            return _listed(key, tuple(number for low, high in intervals for number in range(low, high + 1)))
        case PrivateKey():
            return replace(key, missing=False)


def _among(key: KeyOfColumn, texts: frozenset[str]) -> KeyOfColumn:
    """Return the key with the groups of these texts: where only the data knew the values, the condition lists them."""
    if isinstance(key, DeclaredKey):
        return _listed(key, tuple(value for value in key.values if value in texts))
    return _listed(key, tuple(sorted(texts))) if len(texts) <= _MOST_LISTED else replace(key, missing=False)


def _listed(key: KeyOfColumn, values: tuple[str | int, ...]) -> DeclaredKey:
    return DeclaredKey(column=key.column, values=_some(key, values), missing=False)  # type: ignore[arg-type]


def _some(key: KeyOfColumn, left: tuple[T, ...]) -> tuple[T, ...]:
    if not left:
        raise BadQuestionError(
            f"the condition leaves none of the groups of {key.column!r}; change it, or group by something else"
        )
    return left
