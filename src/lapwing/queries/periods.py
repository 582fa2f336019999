"""Whole calendar years, quarters and months among bins of days: what people call them, and what bins hold."""

from datetime import date, timedelta
from enum import Enum
from typing import Any

from lapwing.queries.predicate import DAYS, DOUBLES, TRUTHS, Domain, Interval, day, double_at


class Period(Enum):
    """What a bin of days may be, with its number of months."""

    YEAR = 12
    QUARTER = 3
    MONTH = 1


def period_of(domain: Domain, interval: Interval) -> Period | None:
    """Return which period a bin is from its first day to its last; None if it is none, or no bin of days.

    >>> from lapwing.queries.predicate import day_number
    >>> period_of(DAYS, (day_number(date(2024, 4, 1)), day_number(date(2024, 6, 30))))
    <Period.QUARTER: 3>
    """
    if domain != DAYS:
        return None
    first, last = day(interval[0]), day(interval[1])
    for period in Period:
        if first.day == 1 and (first.month - 1) % period.value == 0 and last == _last_day(first, period.value):
            return period
    return None


def period_words(domain: Domain, interval: Interval) -> str | int | None:
    """Name a bin that is a whole year, quarter or month; a year is its number.

    >>> from lapwing.queries.predicate import day_number
    >>> period_words(DAYS, (day_number(date(2024, 1, 1)), day_number(date(2024, 12, 31))))
    2024
    >>> period_words(DAYS, (day_number(date(2024, 4, 1)), day_number(date(2024, 6, 30))))
    '2024-Q2'
    """
    first = day(interval[0]) if domain == DAYS else date.min
    match period_of(domain, interval):
        case None:
            return None
        case Period.YEAR:
            return first.year
        case Period.QUARTER:
            return f"{first.year}-Q{(first.month + 2) // 3}"
        case Period.MONTH:
            return f"{first.year}-{first.month:02d}"


def ends_of(domain: Domain, interval: Interval) -> tuple[Any, Any]:
    """Return the first and the last value of a bin; of real numbers its edges, of which the upper may be left out.

    >>> from lapwing.queries.predicate import INTEGERS, double_rank
    >>> ends_of(INTEGERS, (0, 17)), ends_of(DOUBLES, (double_rank(10.0), double_rank(20.0) - 1))
    ((0, 17), (10.0, 20.0))
    """
    low, high = interval
    if domain == DAYS:
        return day(low), day(high)
    if domain == DOUBLES:
        last, beyond = double_at(high), double_at(min(high + 1, domain.highest))
        return double_at(low), min(last, beyond, key=lambda one: len(repr(one)))
    return (bool(low), bool(high)) if domain == TRUTHS else (low, high)


def _last_day(first: date, months: int) -> date:
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return date.max if year > date.max.year else date(year, month + 1, 1) - timedelta(days=1)
