"""Integers, days and doubles as whole numbers of a domain: a double stands at its rank among them, NaN nowhere.

So "between", "<", "in" and "not" are the same few operations on closed intervals for each.
"""

import math
import struct
from collections.abc import Iterable
from datetime import date, timedelta
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.catalogue.column import INT64_HIGHEST, INT64_LOWEST
from lapwing.vocabulary.codec import stored

Interval: TypeAlias = tuple[int, int]
_EPOCH = date(1970, 1, 1)


@stored("domain", kw_only=False)
class Domain:
    """All numbers that a column can hold, from `lowest` to `highest`."""

    lowest: int
    highest: int

    def union(self, pieces: Iterable[Interval]) -> tuple[Interval, ...]:
        """Return the union of `pieces` on this domain: in order, disjoint, with a gap between any two."""
        merged, lowest, highest = list[Interval](), self.lowest, self.highest
        first, last = 1, -1
        for a, b in sorted(pieces):
            low = a if a > lowest else lowest  # noqa: FURB136 - of many thousands, `max` is called for each
            high = b if b < highest else highest  # noqa: FURB136
            if low > high:
                continue
            if first <= last and low <= last + 1:
                last = max(last, high)
            else:
                merged += [(first, last)] if first <= last else []
                first, last = low, high
        return (*merged, (first, last)) if first <= last else tuple(merged)

    def without(self, pieces: Iterable[Interval]) -> tuple[Interval, ...]:
        """Return the numbers of this domain that are in none of `pieces`."""
        rest, start = [], self.lowest
        for low, high in self.union(pieces):
            rest += [(start, low - 1)]
            start = high + 1
        return tuple(piece for piece in (*rest, (start, self.highest)) if piece[0] <= piece[1])


def intersection(left: Iterable[Interval], right: Iterable[Interval]) -> tuple[Interval, ...]:
    """Return the numbers in both; the intervals of each side are disjoint and in order."""
    one, other, both = list(left), list(right), list[Interval]()
    i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            both.append((low, high))
        i, j = (i + 1, j) if one[i][1] < other[j][1] else (i, j + 1)
    return tuple(both)


def day_number(day: date) -> int:
    """Return the days since 1970-01-01."""
    return (day - _EPOCH).days


def day(number: int) -> date:
    """Return the day that is `number` days after 1970-01-01."""
    return _EPOCH + timedelta(days=number)


def ymd(number: int) -> int:
    """Return year * 10000 + month * 100 + day of a day number; whole years are differences of 10000, rounded down."""
    then = day(number)
    return then.year * 10_000 + then.month * 100 + then.day


def double_rank(number: float) -> int:
    """Return the rank of a double: 0 for both zeros, 1 for the smallest above, -1 for the largest below."""
    bits = int(struct.unpack("<q", struct.pack("<d", number))[0])
    return bits if bits >= 0 else -(bits + 2**63)


def double_at(rank: int) -> float:
    """Return the double of a rank."""
    magnitude: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return math.copysign(magnitude, rank) if rank else 0.0


INTEGERS = Domain(INT64_LOWEST, INT64_HIGHEST)
DAYS = Domain(day_number(date.min), day_number(date.max))
DOUBLES = Domain(double_rank(-math.inf), double_rank(math.inf))
TRUTHS = Domain(0, 1)


def intervals_of(operator: str, limit: Fraction, domain: Domain) -> list[Interval]:
    """Return the numbers of `domain` that stand in relation `operator` to `limit`."""
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
