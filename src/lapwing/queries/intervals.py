"""Sets of whole numbers, as closed intervals in order: what a comparison says about an ordered column.

Integers, days and doubles are whole numbers in a domain here (a double stands at its rank among the doubles, NaN
stands nowhere), so "between", "<", "in" and "not" are the same few operations for each of them, and two ways of writing
a range end as one.
"""

import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.column import INT64_HIGHEST, INT64_LOWEST
from lapwing.vocabulary.codec import stored

Interval: TypeAlias = tuple[int, int]
EPOCH = date(1970, 1, 1)


@stored("domain")
@dataclass(frozen=True, slots=True)
class Domain:
    """All numbers that a column can hold, from `lowest` to `highest`."""

    lowest: int
    highest: int

    @property
    def everything(self) -> tuple[Interval, ...]:
        """The set of all of them."""
        return ((self.lowest, self.highest),)

    def union(self, pieces: Iterable[Interval]) -> tuple[Interval, ...]:
        """Return the union of `pieces` on this domain: in order, disjoint, with a gap between any two.

        >>> Domain(0, 9).intervals([(7, 12), (0, 2), (3, 4)])
        ((0, 4), (7, 9))
        """
        merged: list[Interval] = []
        for low, high in sorted((max(a, self.lowest), min(b, self.highest)) for a, b in pieces):
            if low > high:
                continue
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        return tuple(merged)

    def without(self, pieces: Iterable[Interval]) -> tuple[Interval, ...]:
        """Return the numbers of this domain that are in none of `pieces`.

        >>> Domain(0, 9).without([(3, 4)])
        ((0, 2), (5, 9))
        """
        rest, start = [], self.lowest
        for low, high in self.union(pieces):
            rest.append((start, low - 1))
            start = high + 1
        return self.union([*rest, (start, self.highest)])


def intersection(left: Iterable[Interval], right: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return the numbers in both; the intervals of each side are disjoint and in order.

    >>> intersection([(0, 4), (7, 9)], [(3, 8)])
    ((3, 4), (7, 8))
    """
    one, other, both = list(left), list(right), list[Interval]()
    i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            both.append((low, high))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(both)


def day_number(day: date) -> int:
    """Return the days since 1970-01-01.

    >>> day_number(date(1970, 1, 31)), day_number(date(1969, 12, 31))
    (30, -1)
    """
    return (day - EPOCH).days


def day(number: int) -> date:
    """Return the day that is `number` days after 1970-01-01."""
    return EPOCH + timedelta(days=number)


def ymd(number: int) -> int:
    """Return year * 10000 + month * 100 + day of a day number; whole years are differences of 10000, rounded down.

    >>> ymd(day_number(date(2001, 2, 28))) - ymd(day_number(date(2000, 2, 29))), 9999 // 10000
    (9999, 0)
    """
    then = day(number)
    return then.year * 10_000 + then.month * 100 + then.day


def double_rank(number: float) -> int:
    """Return the rank of a double: 0 for both zeros, 1 for the smallest above, -1 for the largest below.

    >>> double_rank(0.0), double_rank(-0.0), double_rank(5e-324), double_rank(-5e-324)
    (0, 0, 1, -1)
    """
    bits = int(struct.unpack("<q", struct.pack("<d", number))[0])
    return bits if bits >= 0 else -(bits + 2**63)


def double_at(rank: int) -> float:
    """Return the double of a rank.

    >>> double_at(double_rank(-27.5)), double_at(0)
    (-27.5, 0.0)
    """
    magnitude: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return math.copysign(magnitude, rank) if rank else 0.0


def nearest_double(number: Fraction) -> float:
    """Return the double nearest to `number`, infinite where it is too large for one.

    >>> nearest_double(Fraction(1, 3)), nearest_double(Fraction(-(10**400)))
    (0.3333333333333333, -inf)
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


INTEGERS = Domain(INT64_LOWEST, INT64_HIGHEST)
DAYS = Domain(day_number(date.min), day_number(date.max))
DOUBLES = Domain(double_rank(-math.inf), double_rank(math.inf))
TRUTHS = Domain(0, 1)


def intervals_of(operator: str, limit: Fraction, domain: Domain) -> list[Interval]:
    """Return the numbers of `domain` that stand in relation `operator` to `limit`.

    >>> intervals_of("<", Fraction(5, 2), Domain(0, 9)), intervals_of("=", Fraction(5, 2), Domain(0, 9))
    ([(0, 2)], [])
    """
    below, above = math.ceil(limit) - 1, math.floor(limit) + 1
    match operator:
        case "<":
            return [(domain.lowest, below)]
        case "<=":
            return [(domain.lowest, math.floor(limit))]
        case ">":
            return [(above, domain.highest)]
        case ">=":
            return [(math.ceil(limit), domain.highest)]
        case "=":
            return [(int(limit), int(limit))] if limit.denominator == 1 else []
        case _:
            return [(domain.lowest, below), (above, domain.highest)]
