"""Moments: days with times of day, which are columns of their own (`Column.time_of`), in seconds after midnight.

A comparison of moments is one of their days and, on the same day, of their times, so that databases compare whole
numbers and days and nothing else. A column whose times are not declared has days alone, each of them its midnight.
"""

from collections.abc import Callable
from typing import Final

from lapwing.queries.algebra.predicate import Predicate, every, some
from lapwing.queries.language.expressions import (
    Applied,
    Arithmetic,
    Days,
    Instant,
    Literal,
    Name,
    TimeBetween,
    Value,
    read_moment,
)
from lapwing.queries.planning.days import compare_days
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError

SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600}
A_DAY: Final = 86_400
_OPPOSITE: Final = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_DAY: Final = Literal("day")

Times = Callable[[str, Value, Value], Predicate]
"""Returns where two whole numbers compare so."""


def are_moments(left: Value, right: Value, scope: Scope) -> bool:
    """Say whether one of two values has a time of day, so that they are compared as moments."""
    has_time = any(_time(one, scope) is not None for one in (left, right))
    return has_time and all(_may_be_day(one, scope) for one in (left, right))


def compare_moments(operator: str, left: Value, right: Value, scope: Scope, times: Times, *, wanted: bool) -> Predicate:
    """Return where the comparison is true if `wanted`, and where it is false otherwise."""
    operator = operator if wanted else _OPPOSITE[operator]
    (one, first), (other, second) = (_moment(side, scope) for side in (left, right))
    _check_times((first, second), (one, other))

    def days(asked: str) -> Predicate:
        return compare_days(asked, one, other, scope, wanted=True)

    match operator, second:
        case ("=", _):
            return every([days("="), times("=", first, second)])
        case ("<>", _):
            return some([days("<>"), every([days("="), times("<>", first, second)])])
        case (">=" | "<", Literal(0)) | (">" | "<=", Literal(86_399)):
            return days(operator)
        case _:  # which days there may be is said besides: groups of days are then known
            either = some([days(operator[0]), every([days("="), times(operator, first, second)])])
            return every([days(f"{operator[0]}="), either])


def _check_times(times: tuple[Value, Value], days: tuple[Value, Value]) -> None:
    """Refuse a time within a day, beside a column that has days alone: its rows may have been at any hour."""
    known = [one.value for one in times if isinstance(one, Literal)]
    if len(known) < len(times) or set(known) <= {0, A_DAY - 1}:
        return
    named = next((day.name for day in days if isinstance(day, Name)), "this")
    fixed = next((day.value for day in days if isinstance(day, Literal)), "2025-01-31")
    raise BadQuestionError(f"{named} is compared with a time of day, and its days have none here; write date '{fixed}'")


def time_between(value: TimeBetween, scope: Scope) -> Value:
    """Return how many turns of an hour, a minute or a second lie between two moments."""
    (one, first), (other, second) = (_moment(side, scope) for side in (value.end, value.begin))
    size = SECONDS[value.unit]
    if size == 1 and isinstance(first, Literal) and isinstance(second, Literal):
        raise BadQuestionError("there are no seconds between days without times; write datediff('day', begun, ended)")
    found: Value = Arithmetic("*", Literal(A_DAY // size), Arithmetic("-", *(_day(day) for day in (one, other))))
    for operator, seconds in (("+", first), ("-", second)):
        if isinstance(seconds, Literal):
            turns: Value = Literal(int(seconds.value) // size)  # type: ignore[arg-type] # a number of seconds
        else:
            turns = seconds if size == 1 else Applied("//", seconds, Literal(size))
        if not isinstance(turns, Literal) or turns.value:
            found = Arithmetic(operator, found, turns)
    return found


def is_time_between(value: Value, scope: Scope) -> bool:
    """Say whether a value is the time from one moment to another."""
    match value:
        case Arithmetic("-", left, right):
            return are_moments(left, right, scope)
        case _:
            return False


def _day(value: Value) -> Value:
    return Applied("date_trunc", value, _DAY) if isinstance(value, Name) else value


def _may_be_day(value: Value, scope: Scope) -> bool:
    match value:
        case Instant() | Literal(str()):
            return True
        case Arithmetic("+" | "-", inner, Days()):
            return _may_be_day(inner, scope)
        case Arithmetic():
            return False
        case _:
            return scope.is_day(value)


def _time(value: Value, scope: Scope) -> Value | None:
    """Return the time of day of a value in seconds; None of what is a day alone."""
    match value:
        case Instant(_, seconds):
            return Literal(seconds) if seconds else None
        case Literal(str() as text) if (found := read_moment(text)) is not None:
            return _time(found, scope)
        case Arithmetic("+" | "-", inner, Days(seconds=0)):
            return _time(inner, scope)
        case Arithmetic("+" | "-", inner, Days()):
            raise BadQuestionError(
                "hours are added to no moment here; compare the time between two, date_diff('minute', started, ended) "
                "<= 30, or with hour(started)"
            )
        case _:
            return scope.time_of(value)


def _moment(value: Value, scope: Scope) -> tuple[Value, Value]:
    """Return a value as a day and a time of day."""
    time = _time(value, scope)
    time = Literal(0) if time is None else time
    match value:
        case Instant(day, _):
            return Literal(day), time
        case Literal(str() as text) if (found := read_moment(text)) is not None:
            return Literal(found.day), time
        case _:
            return value, time
