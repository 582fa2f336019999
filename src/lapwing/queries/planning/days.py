"""Conditions about days and ages: days before and after one another, ages at an event or "now".

A comparison of days is moved to one side and becomes either a range of one column, known when the question is asked, or
the gap between two columns. "Now" is a day of the catalogue; no question asks the clock.

Whole calendar years, quarters and months among bins of days have names that people use (`period_words`).
"""

from calendar import isleap, monthrange
from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any

from lapwing.queries.algebra.functions import DATE_PARTS
from lapwing.queries.algebra.predicate import GAPS, Gap, InIntervals, Predicate, Ref, Unit, atom, in_intervals
from lapwing.queries.catalogue.column import Column, Date
from lapwing.queries.catalogue.domains import (
    DAYS,
    DOUBLES,
    TRUTHS,
    Domain,
    Interval,
    day,
    day_number,
    double_at,
    intervals_of,
)
from lapwing.queries.language.expressions import (
    FLIPPED,
    Age,
    Applied,
    Arithmetic,
    Case,
    Coalesce,
    Days,
    Literal,
    Name,
    Now,
    Value,
    day_of,
)
from lapwing.queries.language.joined import PerPerson
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError


class Period(Enum):
    """What a bin of days may be, with its number of months; weeks and days have none."""

    YEAR = 12
    QUARTER = 3
    MONTH = 1
    WEEK = 0
    DAY = -1


def period_of(domain: Domain, interval: Interval) -> Period | None:
    """Return which period a bin is from its first day to its last; None if it is none, or no bin of days.

    >>> from lapwing.queries.catalogue.domains import day_number
    >>> period_of(DAYS, (day_number(date(2024, 4, 1)), day_number(date(2024, 6, 30))))
    <Period.QUARTER: 3>
    """
    if domain != DAYS:
        return None
    first, last = day(interval[0]), day(interval[1])
    if first == last:
        return Period.DAY
    if first.weekday() == 0 and last - first == timedelta(days=6):
        return Period.WEEK
    for period in (Period.YEAR, Period.QUARTER, Period.MONTH):
        if first.day == 1 and (first.month - 1) % period.value == 0 and last == _last_day(first, period.value):
            return period
    return None


@lru_cache(maxsize=4096)
def period_words(domain: Domain, interval: Interval) -> str | int | None:
    """Name a bin that is a whole year, quarter, month, week or day; a year is its number, a week its Monday.

    >>> from lapwing.queries.catalogue.domains import day_number
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
        case Period.WEEK:
            return f"week of {first}"
        case Period.DAY:
            return str(first)


def ends_of(domain: Domain, interval: Interval) -> tuple[Any, Any]:
    """Return the first and the last value of a bin; of real numbers its edges, of which the upper may be left out.

    >>> from lapwing.queries.catalogue.domains import INTEGERS, double_rank
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


_YEARS = Domain(date.min.year, date.max.year)


def compare_days(operator: str, left: Value, right: Value, scope: Scope, *, wanted: bool) -> Predicate:
    """Return where the comparison is true if `wanted`, and where it is false otherwise."""
    if isinstance(right, Age) or (isinstance(right, Applied) and right.function in DATE_PARTS):
        operator, left, right = FLIPPED[operator], right, left
    match left:
        case Age(born, at):
            return _age(
                born, at, intervals_of(operator, _whole_limit(right, "an age"), GAPS[Unit.YEARS]), scope, wanted=wanted
            )
        case Applied("year", of) if isinstance(right, Literal):
            column = _day_column(of, scope)
            years = _YEARS.union(intervals_of(operator, _whole_limit(right, "a year"), _YEARS))
            intervals = [(day_number(date(a, 1, 1)), day_number(date(b, 12, 31))) for a, b in years]
            return in_intervals(column.name, DAYS, intervals, wanted=wanted)
        case _:
            return _linear(operator, left, right, scope, wanted=wanted)


def _age(born: Value, at: Value | None, intervals: list[Interval], scope: Scope, *, wanted: bool) -> Predicate:
    domain = GAPS[Unit.YEARS]
    years = domain.union(intervals) if wanted else domain.without(intervals)
    fixed = now(scope) if at is None or isinstance(at, Now) else at.value if isinstance(at, Literal) else None
    if fixed is None:
        until, since = _ref(at, scope), _ref(born, scope)
        check_order_of_age(scope.seen(born)[1], scope.seen(at)[1])  # type: ignore[arg-type] # a value, as `_ref` saw
        return atom(Gap(until=until, since=since, unit=Unit.YEARS, intervals=years))
    column = _day_column(born, scope)
    today = day_of(Literal(fixed), column.name)
    days = DAYS.union((_born_after(today, b + 1) + 1, _born_after(today, a)) for a, b in years)
    return atom(InIntervals(column=column.name, domain=DAYS, intervals=days))


def check_order_of_age(born: Column, at: Column) -> None:
    """Refuse an age whose second day is declared to be before the first one, whatever the row: other databases have it.

    Their AGE has the later day first, and a number below 0 for everybody would look like an answer.
    """
    match born.type, at.type:
        case Date(first=date() as first), Date(last=date() as last) if last < first:
            raise BadQuestionError(
                f"age counts the years from the first day to the second, and {born.name} is never before "
                f"{at.name}; write age({at.name}, {born.name})"
            )
        case _:
            pass


def _born_after(today: date, years: int) -> int:
    """Return the last day on which someone was born who is at least `years` old today."""
    year = today.year - years
    if year < date.min.year:
        return DAYS.lowest - 1
    if year > date.max.year:
        return DAYS.highest
    leap = today.month == 2 and today.day == 29 and not isleap(year)  # noqa: PLR2004 - 29 February
    return day_number(today.replace(year=year, day=28) if leap else today.replace(year=year))


def _linear(operator: str, left: Value, right: Value, scope: Scope, *, wanted: bool) -> Predicate:
    """Compare sums of days and numbers of days: everything is moved to the left of the sign."""
    columns: Counter[tuple[int, str]] = Counter()
    dates, total = [0, 0], 0
    for side, sign, value in ((0, 1, left), (1, -1, right)):
        for weight, part in _parts(value, sign):
            match part:
                case Name() | PerPerson() | Applied("date_trunc") | Case() | Coalesce():
                    ref = _ref(part, scope)
                    columns[ref.up, ref.column] += weight
                    dates[side] += weight * sign
                case Literal(date() | str()):
                    total += weight * day_number(day_of(part))
                    dates[side] += weight * sign
                case Now():
                    total += weight * day_number(now(scope))
                    dates[side] += weight * sign
                case Literal(int() as number) if not isinstance(number, bool):
                    total += weight * number
                case Days(number, 0):
                    total += weight * number
                case Days():
                    raise BadQuestionError(
                        "months and years differ in length, so they are added to a day that is known; of columns write "
                        "age(born, day) >= 18 for completed years, or day + interval 365 day"
                    )
                case _:
                    raise BadQuestionError("days are compared with days, give or take a whole number of days")
    if dates[0] != dates[1] or dates[0] not in {0, 1}:
        raise BadQuestionError(
            "days are compared with days, and days between two with a number; write day >= '2000-01-01', year(day) >= "
            "2000, or day - other <= 30"
        )
    return _solved(operator, {key: weight for key, weight in columns.items() if weight}, total, wanted=wanted)


def _solved(operator: str, columns: dict[tuple[int, str], int], total: int, *, wanted: bool) -> Predicate:
    match sorted(columns.items(), key=lambda item: -item[1]):
        case [((0, name), 1 | -1 as weight)]:
            operator = operator if weight == 1 else FLIPPED[operator]
            intervals = intervals_of(operator, Fraction(-total * weight), DAYS)
            return in_intervals(name, DAYS, intervals, wanted=wanted)
        case [((up, name), 1), ((other_up, other), -1)]:
            domain = GAPS[Unit.DAYS]
            intervals = intervals_of(operator, Fraction(-total), domain)
            chosen = domain.union(intervals) if wanted else domain.without(intervals)
            until, since = Ref(column=name, up=up), Ref(column=other, up=other_up)
            return atom(Gap(until=until, since=since, unit=Unit.DAYS, intervals=chosen))
        case _:
            raise BadQuestionError(
                "a comparison of days has one or two columns, one of them of this table; write day - other <= 30"
            )


def _parts(value: Value, weight: int) -> "Iterable[tuple[int, Value]]":
    match value:
        case Arithmetic("+", left, right):
            yield from _parts(left, weight)
            yield from _parts(right, weight)
        case Arithmetic("-", left, right):
            yield from _parts(left, weight)
            yield from _parts(right, -weight)
        case _:
            yield weight, value


def _ref(value: Value | None, scope: Scope) -> Ref:
    if value is None or isinstance(value, Literal):
        raise BadQuestionError("an age is counted from one day to another; write age(born) or age(born, day)")
    up, column = scope.seen(value)
    if not isinstance(column.type, Date):
        raise BadQuestionError(
            f"{column.name!r} holds no days; compare it with a constant; an interval is added to days"
        )
    return Ref(column=column.name, up=up)


def _day_column(value: Value, scope: Scope) -> Column:
    column = None if isinstance(value, Literal) else scope.column(value)
    if column is None or not isinstance(column.type, Date):
        raise BadQuestionError("an age or a year is that of a column of days; write age(born) or year(day)")
    return column


def _whole_limit(value: Value, what: str) -> Fraction:
    if isinstance(value, Days):
        raise BadQuestionError(
            f"{what} counts completed years; for days write datediff('day', admitted, discharged) > 3"
        )
    if not isinstance(value, Literal) or isinstance(value.value, bool) or not isinstance(value.value, int | Fraction):
        raise BadQuestionError(f"{what} is compared with a number; write for example >= 18")
    return Fraction(value.value)


def now(scope: Scope) -> date:
    """Return the day that the population calls "now"."""
    if scope.population.now is None:
        raise BadQuestionError(
            f'population {scope.population.name} declares no "now", which current_date and age(born) mean; '
            "give a day: date '2025-01-01', or age(born, date '2025-01-01')"
        )
    return scope.population.now


def months_later(start: date, months: int) -> date:
    """Return the same day of another month, or its last day where it is shorter, as databases have it.

    >>> months_later(date(2024, 3, 31), -1), months_later(date(2024, 2, 29), 12)
    (datetime.date(2024, 2, 29), datetime.date(2025, 2, 28))
    """
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if not date.min.year <= year <= date.max.year:
        raise BadQuestionError(f"{months} months from {start} lie outside the years 1 to 9999; write fewer")
    return start.replace(year=year, month=month + 1, day=min(start.day, monthrange(year, month + 1)[1]))
