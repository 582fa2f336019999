"""What it means to group by a column: the public groups that the catalogue declares and the condition leaves.

`where year(day) >= 2015 group by year(day)` makes no group for 1990. It is decided from the condition and the catalogue
alone, so that the groups of an answer say nothing about anybody. A group stays unless a part of the condition that must
hold, and that speaks about the grouped column by itself, excludes it. Whatever is left out could have held nobody:
leaving it out moves no number of the others.
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Final, TypeVar

from lapwing.queries.algebra.aggregate import BinnedKey, DeclaredKey, KeyOfColumn, PrivateKey
from lapwing.queries.algebra.derived import CaseResult, Computed, LookedUp, OnlyWhere
from lapwing.queries.algebra.functions import DATE_UNITS, Part, begin
from lapwing.queries.algebra.predicate import (
    ALWAYS,
    GAPS,
    AllOf,
    Compared,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    IsPresent,
    Like,
    NotInTexts,
    NotLike,
    Predicate,
    Ref,
    Unit,
    every,
)
from lapwing.queries.algebra.term import Elapsed
from lapwing.queries.catalogue.column import (
    Boolean,
    Category,
    Column,
    Date,
    DerivedColumn,
    Integer,
    Real,
    Text,
    nearest_double,
)
from lapwing.queries.catalogue.domains import (
    DAYS,
    DOUBLES,
    INTEGERS,
    Domain,
    Interval,
    day_number,
    double_at,
    double_rank,
    intersection,
    ymd,
)
from lapwing.queries.catalogue.domains import day as to_day
from lapwing.queries.language.expressions import Applied, Arithmetic, By, Literal, Name, Value, day_of
from lapwing.queries.planning.measure import as_step, step_width
from lapwing.queries.planning.scope import Scope
from lapwing.queries.planning.simplifying import simplified
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.wording import Call

_MOST_SINGLES = 1000
_MOST_BINS = 1000
_DAYS_OF_WEEK: Final = 7
_MONTHS: Final = {Part.YEAR: 12, Part.QUARTER: 3, Part.MONTH: 1}


def bind_key(by: By, scope: Scope, where: Predicate = ALWAYS) -> KeyOfColumn:
    """Return the cells that `by` makes, as far as `where` says where they end."""
    value = scope.spelled(by.column)
    if not isinstance(value, Name):  # a column is as simple as it gets
        value = simplified(value, scope)
    if isinstance(value, Literal):
        raise BadQuestionError("a constant makes no groups; group by a column or by a value that is computed from one")
    if by.edges is not None:
        column = scope.column(value)
        edges = by.edges if len(by.edges) != 1 else _edges_of(column, by.edges[0], where)
        domain, places = _places(column, edges)
        return _binned(column, domain, _bins(column, places))
    match value:
        case Applied("year", day):
            return _periods(Part.YEAR, day, scope, where)
        case Applied("date_trunc", day, Literal(unit)) if unit in DATE_UNITS:
            return _periods(Part(unit), day, scope, where)
        case Applied("step", inner, Literal() as width):
            return _steps(scope.column(inner), step_width(width), where)
        case Arithmetic() if isinstance(step := as_step(value), Applied) and _is_above(step.value, scope):
            return _steps(scope.column(step.value), step_width(step.argument), where)
        case _:
            column = scope.column(value)
            if scope.time_of(value) is not None:
                raise BadQuestionError(
                    f"{column.name!r} holds moments; group by {column.written}::date, hour({column.written}) or "
                    f"date_trunc('month', {column.written})"
                )
            if isinstance(column.type, Date):
                return _single_days(column, where)
            return _values(column, scope.derived.get(column.name.casefold()))


def _is_above(value: Value, scope: Scope) -> bool:
    """Say whether a value is declared to be never below 0."""
    match scope.column(value).type:
        case Integer(low=int() as low):
            return low >= 0
        case _:
            return False


def _binned(column: Column, domain: Domain, bins: tuple[Interval, ...]) -> BinnedKey:
    return BinnedKey(column=column.name, domain=domain, bins=bins, missing=column.nullable)


def _values(column: Column, derived: DerivedColumn | None) -> KeyOfColumn:
    if isinstance(derived, CaseResult) and isinstance(column.type, Integer):
        results = tuple(sorted(result for result in derived.results if isinstance(result, int)))
        return DeclaredKey(column=column.name, values=results, missing=column.nullable)
    match column.type:
        case Category(values=values):
            return DeclaredKey(column=column.name, values=values, missing=column.nullable)
        case Boolean():
            return DeclaredKey(column=column.name, values=(False, True), missing=column.nullable)
        case Integer(low=int() as low, high=int() as high) if high - low < _MOST_SINGLES:
            return DeclaredKey(column=column.name, values=tuple(range(low, high + 1)), missing=column.nullable)
        case Integer() | Text():
            return PrivateKey(column=column.name, missing=column.nullable)
        case _:
            raise BadQuestionError(
                f"{column.name!r} has too many values to group by; group by ", Call("bins", (column.name, [...]))
            )


def _span(column: Column, where: Predicate) -> Interval | None:
    """Return the least and the greatest place of a column that its declaration and the condition leave, if both end."""
    domain = DAYS if isinstance(column.type, Date) else INTEGERS
    span = _declared_span(column)
    for intervals in _intervals_about(column.name, where):
        if span is None and domain.lowest < intervals[0][0] and intervals[-1][1] < domain.highest:
            span = (intervals[0][0], intervals[-1][1])
        elif span is not None:
            left = intersection([span], intervals)
            span = (left[0][0], left[-1][1]) if left else (span[0], span[0])
    return span


def _declared_span(column: Column) -> Interval | None:
    match column.type:
        case Integer(low=int() as low, high=int() as high):
            return low, high
        case Real(low=Fraction() as least, high=Fraction() as most):
            return double_rank(nearest_double(least)), double_rank(nearest_double(most))
        case Date(first=date() as first, last=date() as last):
            return day_number(first), day_number(last)
        case _:
            return None


def _intervals_about(column: str, where: Predicate) -> list[tuple[Interval, ...]]:
    parts = where.parts if isinstance(where, AllOf) else (where,)
    return [part.intervals for part in parts if isinstance(part, InIntervals) and part.column == column]


def _periods(unit: Part, value: Value, scope: Scope, where: Predicate) -> BinnedKey:
    """Return a bin for every year, quarter, month or week that a column of days may be in."""
    column = scope.column(value)
    if not isinstance(column.type, Date):
        raise BadQuestionError(f"only a column of days has {unit.value}s; write {unit.value}(day)")
    span = _span(column, where)
    if span is None:
        raise BadQuestionError(
            f"{column.name!r} declares no first and last day, so its {unit.value}s have no end; let the condition say "
            f"from when to when ({column.written} between ... and ...), or give edges: ",
            _decades(column),
        )
    begun, weeks = [begin(unit, to_day(place)) for place in span], unit is Part.WEEK
    first, last = map(day_number if weeks else _month, begun)
    length = _DAYS_OF_WEEK if weeks else _MONTHS[unit]
    number = (last - first) // length + 1
    if number > _MOST_BINS:
        raise BadQuestionError(
            f"{column.name!r} covers {number} {unit.value}s, more than {_MOST_BINS} groups; let the condition say from "
            "when to when, or give edges: ",
            _decades(column),
        )
    starts = [first + length * i for i in range(number + 1)]
    edges = [min(start, DAYS.highest + 1) if weeks else _first_day(start) for start in starts]
    return _binned(column, DAYS, tuple((a, b - 1) for a, b in itertools.pairwise(edges)))


def _single_days(column: Column, where: Predicate) -> BinnedKey:
    """Return a bin for every day that a column may hold, if they are few."""
    span = _span(column, where)
    if span is None or span[1] - span[0] >= _MOST_BINS:
        raise BadQuestionError(
            f"{column.name!r} may be any of more than {_MOST_BINS} days; group by date_trunc('month', "
            f"{column.written}) or year({column.written}), or let the condition say from when to when"
        )
    return _binned(column, DAYS, tuple((day, day) for day in range(span[0], span[1] + 1)))


def _month(of: date) -> int:
    return of.year * 12 + of.month - 1


def _first_day(month: int) -> int:
    year, rest = divmod(month, 12)
    return DAYS.highest + 1 if year > date.max.year else day_number(date(year, rest + 1, 1))


def _steps(column: Column, width: Fraction, where: Predicate) -> BinnedKey:
    """Return bins of one width, from one of its multiples to the next, as far as the column may reach."""
    span = _span(column, where)
    if not isinstance(column.type, Integer | Real):
        raise BadQuestionError(f"{column.name!r} holds no numbers to make steps of; group by its values")
    if span is None:
        raise BadQuestionError(
            f"{column.name!r} has no declared bounds, so its steps have no end; give edges: ",
            Call("bins", (column.name, [0, 10, 20])),
        )
    low, high = (Fraction(double_at(p)) if isinstance(column.type, Real) else Fraction(p) for p in span)
    first, last = math.floor(low / width), math.floor(high / width)
    if last - first >= _MOST_BINS:
        raise BadQuestionError(
            f"{column.name!r} has {last - first + 1} steps of {width}, more than {_MOST_BINS} groups; write wider ones"
        )
    edges = tuple(Literal(width * i) for i in range(first, last + 2))
    domain, places = _places(column, edges)
    return _binned(column, domain, _between(column, places))


def _edges_of(column: Column, number: Literal, where: Predicate) -> tuple[Literal, ...]:
    """Return the edges of a number of bins of the same width, from the least to the greatest value there may be."""
    bins, span = as_int("bins", number.value, most=_MOST_BINS), _span(column, where)
    if not isinstance(column.type, Integer | Real) or span is None:
        raise BadQuestionError(
            f"{column.name!r} has no declared bounds to make {bins} bins between; give their edges: ",
            Call("bins", (column.name, [0, 18, 65])),
        )
    low, high = (Fraction(double_at(p)) if isinstance(column.type, Real) else Fraction(p) for p in span)
    return tuple(Literal(low + (high - low) * i / bins) for i in range(bins + 1))


def _decades(column: Column) -> Call:
    return Call("bins", (column.name, ["1990-01-01", "2000-01-01", "2010-01-01"]))


def _bins(column: Column, places: list[Fraction]) -> tuple[Interval, ...]:
    if not 1 < len(places) <= _MOST_BINS + 1 or any(a >= b for a, b in itertools.pairwise(places)):
        raise BadQuestionError(
            f"the edges of {column.name!r} must rise and make from 1 to {_MOST_BINS} bins; write ",
            Call("bins", (column.name, [0, 18, 65])),
        )
    *others, (low, _) = _between(column, places)
    return (*others, (low, math.floor(places[-1])))


def _between(column: Column, places: list[Fraction]) -> tuple[Interval, ...]:
    """Return the whole numbers from each place up to the next, which is not included."""
    whole = [math.ceil(place) for place in places]
    intervals = tuple((a, b - 1) for a, b in itertools.pairwise(whole))
    last = math.floor(places[-1])
    if any(low > high for low, high in intervals[:-1]) or intervals[-1][0] > max(intervals[-1][1], last):
        raise BadQuestionError(f"a bin of {column.name!r} holds no value; move its edges apart")
    return intervals


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
NOTHING: Final[Mapping[str, DerivedColumn]] = {}


def narrow(key: KeyOfColumn, where: Predicate, derived: Mapping[str, DerivedColumn] = NOTHING) -> KeyOfColumn:
    """Return the key with the groups in which there can be a row for which `where` is true.

    `derived` are the derived columns of the row: a condition on a birthday narrows the groups of an age, and one on the
    person's row in another table those of what is looked up there.

    >>> from lapwing.queries.catalogue.domains import INTEGERS
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
    return _narrow_derived(key, where, derived)


def _narrow_derived(key: KeyOfColumn, where: Predicate, derived: Mapping[str, DerivedColumn]) -> KeyOfColumn:
    """Return the key of a derived column with the groups that `where` leaves by what the column is made of."""
    match derived.get(key.column.casefold()):
        case Computed(term=Elapsed() as term):
            for intervals in _times_left(term, where):
                key = _within(key, intervals)
        case LookedUp(table=table, column=column):
            for part in where.parts if isinstance(where, AllOf) else (where,):
                if isinstance(part, HasRows) and part.table == table:  # the one row of the person is such a row
                    found = narrow(replace(key, column=column), part.where)
                    key = replace(found, column=key.column)
        case OnlyWhere(column=column, where=chosen):
            found = narrow(replace(key, column=column), every([where, chosen]), derived)
            key = replace(found, column=key.column, missing=key.missing)
        case _:
            pass
    return key


def _times_left(term: Elapsed, where: Predicate) -> Iterator[tuple[Interval, ...]]:
    """Yield which times between two days each part of a condition leaves that speaks about both, or about the one."""
    for part in where.parts if isinstance(where, AllOf) else (where,):
        match part:
            case Gap(until=Ref(column=term.until, up=0), since=Ref(column=term.since, up=0), unit=term.unit):
                yield part.intervals
            case Gap(until=Ref(column=term.since, up=0), since=Ref(column=term.until, up=0), unit=Unit.DAYS) if (
                term.unit is Unit.DAYS
            ):
                yield tuple((-b, -a) for a, b in reversed(part.intervals))
            case InIntervals(column=term.since, intervals=days) if isinstance(term.until, int):
                yield GAPS[term.unit].union((_time(term, b), _time(term, a)) for a, b in days)
            case InIntervals(column=term.until, intervals=days) if isinstance(term.since, int):
                yield GAPS[term.unit].union((_time(term, a), _time(term, b)) for a, b in days)
            case _:
                pass


def _time(term: Elapsed, day: int) -> int:
    """Return the time between a day and the one that is fixed."""
    until = term.until if isinstance(term.until, int) else day
    since = term.since if isinstance(term.since, int) else day
    return until - since if term.unit is Unit.DAYS else (ymd(until) - ymd(since)) // 10_000


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
