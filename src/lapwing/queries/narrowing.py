"""Which groups a condition leaves possible: `where year(day) >= 2015 group by year(day)` makes no group for 1990.

It is decided from the condition and the catalogue alone, so that the groups of an answer say nothing about anybody. A
group stays unless a part of the condition that must hold, and that speaks about the grouped column by itself, excludes
it. Whatever is left out could have held nobody: leaving it out moves no number of the others.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from lapwing.queries.aggregate import BinnedKey, DeclaredKey, KeyOfColumn, PrivateKey
from lapwing.queries.intervals import Interval
from lapwing.queries.predicate import (
    AllOf,
    InIntervals,
    InTexts,
    IsPresent,
    NotInTexts,
    Predicate,
    StartsNotWith,
    StartsWith,
)
from lapwing.vocabulary.errors import BadQuestionError

T = TypeVar("T")
_MOST_LISTED = 1000


def narrowed(key: KeyOfColumn, where: Predicate) -> KeyOfColumn:
    """Return the key with the groups in which there can be a row for which `where` is true.

    >>> from lapwing.queries.intervals import INTEGERS
    >>> ages = DeclaredKey(column="age", values=(17, 18, 19), missing=True)
    >>> narrowed(ages, InIntervals(column="age", domain=INTEGERS, intervals=((18, 99),)))
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
                | StartsWith(column=key.column)
                | StartsNotWith(column=key.column)
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
