"""Values before they are given a meaning: constants are computed, and a cast that changes nothing is left out."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from operator import add, mul, sub

from lapwing.queries.algebra.functions import DATE_UNITS, FUNCTIONS, ROUNDED, ScalarFunction, Takes
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, written_name
from lapwing.queries.language.expressions import (
    Applied,
    Arithmetic,
    Case,
    CastTo,
    Clip,
    Coalesce,
    Condition,
    Constant,
    Days,
    Literal,
    Name,
    Not,
    Now,
    TimeBetween,
    TimeOf,
    Truth,
    TruthOf,
    Value,
    day_of,
)
from lapwing.queries.language.joined import PerPerson
from lapwing.queries.language.parts import walk
from lapwing.queries.planning.days import months_later, now
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import exact

_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {"+": add, "-": sub, "*": mul}
_LARGEST = 10**100
MOST_PLACES = 20
"""Places that a number is rounded to, after the point or before it."""
_OF_TRUTH = ("integer", "number", "truth value")
"""What a truth value may be cast to: as a number, true is 1 and false is 0."""


def simplified(value: Value, scope: Scope) -> Value:
    """Return a value with its constants computed and without casts.

    A cast is refused unless its column holds what is cast to already: a row that cannot be converted would fail.
    """
    spend()
    made = _simplified(value, scope)
    # What does not change stays itself, so that what was found out about it is found again.
    same = type(made) is type(value) and all(
        getattr(made, name) is getattr(value, name)
        for name in value.__dataclass_fields__  # type: ignore[attr-defined]
    )
    return value if same else made


def _simplified(value: Value, scope: Scope) -> Value:
    match value:
        case CastTo(inner, kind):
            return _cast(simplified(inner, scope), kind, scope)
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, simplified(left, scope), simplified(right, scope), scope)
        case Coalesce(inner, otherwise):
            first, second = simplified(inner, scope), simplified(otherwise, scope)
            if not isinstance(first, Literal):
                return Coalesce(first, second)
            return second if first.value is None else first
        case Applied(function, inner, argument):
            return _applied(function, simplified(inner, scope), argument, scope)
        case Clip():
            return replace(value, value=simplified(value.value, scope))
        case TimeOf() | TimeBetween():
            return simplified(_in_seconds(value, scope), scope)
        case _:
            return value


def _in_seconds(value: TimeOf | TimeBetween, scope: Scope) -> Value:
    if isinstance(value, TimeOf):
        return _time_of(value.part, value.moment, scope)
    from lapwing.queries.planning.instants import time_between  # noqa: PLC0415 - which is made of comparisons

    return time_between(value, scope)


def _time_of(part: str, moment: Value, scope: Scope) -> Value:
    """Return the time of day of a moment, or a part of it, as whole numbers of seconds."""
    seconds = scope.time_of(moment)
    if seconds is None:
        named = moment.name if isinstance(moment, Name) else "day"
        raise BadQuestionError(
            f"{named} is a day without a time of day here; if its data has times, the custodian can declare them (a "
            f"column with time_of), and else group by dayofweek({written_name(named)}) or month({written_name(named)})"
        )
    match part:
        case "hour":
            return Applied("//", seconds, Literal(3600))
        case "minute":
            return Applied("//", Applied("%", seconds, Literal(3600)), Literal(60))
        case "second":
            return Applied("%", seconds, Literal(60))
        case _:
            return seconds


def row_of(applied: Applied) -> ScalarFunction:
    """Return the row of the table of functions that a value applies."""
    row = FUNCTIONS.get(applied.function)
    if row is None:
        raise BadQuestionError(f"there is no function {applied.function!r} here; write one of {', '.join(FUNCTIONS)}")
    return row


def is_whole(value: Value, scope: Scope) -> bool:
    """Say whether databases take a value for a whole number: they do not, where it was a fraction on the way."""
    parts = [part for part, _ in walk((value,))]
    theirs = {id(one) for part in parts if isinstance(part, PerPerson) for one, _ in walk((part,)) if one is not part}
    for part in parts:
        match part:
            case _ if id(part) in theirs:  # names of other rows, from which a whole number was made
                pass
            case Name() | PerPerson() if isinstance(scope.seen(part)[1].type, Real):
                return False
            case Applied(function) if function in ROUNDED or function == "step":
                return False
            case Literal(Fraction()):
                return False
            case _:
                pass
    return True


def not_whole(function: str, written: str) -> BadQuestionError:
    """Return the refusal of // or % of a fraction."""
    return BadQuestionError(
        f"{function} is that of whole numbers, for databases disagree about fractions; write floor({written} / 10)"
    )


def too_many_places() -> BadQuestionError:
    """Return the refusal of a rounding to places that no number has."""
    return BadQuestionError(f"numbers are rounded to at most {MOST_PLACES} places; write round(column, 2)")


def _applied(function: str, inner: Value, argument: Value | None, scope: Scope) -> Value:
    second = None if argument is None else simplified(argument, scope)
    if function == "/" and isinstance(second, Literal):
        return _divided(inner, second, scope)
    made = Applied(function, inner, second)
    if function == "date_trunc" and isinstance(second, Literal) and second.value == "day":
        return made if scope.time_of(inner) is not None else inner
    known = row_of(made).known
    if known is None or not isinstance(inner, Literal | Now):
        return made
    unit = str(second.value) if isinstance(second, Literal) else ""
    if unit and unit not in DATE_UNITS:
        return made  # which is refused where it is given a meaning
    return Literal(known(_day(inner, scope), unit))


def _divided(above: Value, below: Literal, scope: Scope) -> Value:
    """Return a value divided by a constant as a multiple of it."""
    by = _number(below)
    if not by:
        raise BadQuestionError(f"{below.value} divides nothing; divide by a number above or below 0")
    return _arithmetic("*", above, _literal(1 / by), scope)


def _day(day: Value, scope: Scope) -> date:
    return day_of(day) if isinstance(day, Literal) else now(scope)


def as_number(truth: Condition) -> Case:
    """Return a condition as 1 where it is true and 0 where it is false.

    Where it is unknown, the number is missing.
    """
    return Case(((truth, Literal(1)), (Not(truth), Literal(0))))


def _arithmetic(operator: str, left: Value, right: Value, scope: Scope) -> Value:
    match left, right:
        case (Now() | Literal() as day, Days(months=months)) if months:
            return Literal(months_later(_day(day, scope), months if operator == "+" else -months))
        case (Days(months=months), Now() | Literal() as day) if months and operator == "+":
            return Literal(months_later(_day(day, scope), months))
        case _:
            pass
    one, other = _number(left), _number(right)
    if one is None or other is None:
        return Arithmetic(operator, left, right)
    return _literal(_OPERATORS[operator](one, other))


def _number(value: Value) -> Fraction | None:
    number = value.value if isinstance(value, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        return None
    exactly = Fraction(number)
    return exactly if abs(exactly) < _LARGEST else None


def _literal(number: Fraction) -> Literal:
    return Literal(int(number) if number.denominator == 1 else number)


def _cast(value: Value, kind: str, scope: Scope) -> Value:
    if isinstance(value, Literal):
        return Literal(_converted(value, kind))
    if isinstance(value, TruthOf) and kind in _OF_TRUTH:
        return value if kind == "truth value" else as_number(value.condition)
    inner = _cast_of(value, kind)
    if inner is None:  # arithmetic is exact, whatever it is cast to
        return value
    _, column = scope.seen(inner)
    if kind == "text" and kind_of(column) == "integer":
        return Applied("||", value, Literal(""))
    if isinstance(column.type, Boolean) and kind in _OF_TRUTH:
        return value if kind == "truth value" else as_number(Truth(value))
    if kind != kind_of(column) and (kind, kind_of(column)) != ("number", "integer"):
        raise BadQuestionError(
            f"{column.name!r} holds {_plural(kind_of(column))}, and a cast to {_named(kind)} could fail; "
            f"{_instead(column, kind)}"
        )
    if kind == "day" and scope.time_of(value) is not None:
        return Applied("date_trunc", value, Literal("day"))
    return value


def kind_of(column: Column) -> str:
    """Return what a column holds, as one of `CASTS`."""
    match column.type:
        case Integer():
            return "integer"
        case Real():
            return "number"
        case Category(values=values):
            return "text" if isinstance(values[0], str) else "integer"
        case Date():
            return "day"
        case Boolean():
            return "truth value"
        case _:
            return "text"


def _cast_of(value: Value, kind: str) -> Value | None:
    """Return the column that a cast is of, or a part of a day as a text; None of a number that is computed."""
    match value:
        case Name():
            return value
        case Coalesce(deeper, _):
            return _cast_of(deeper, kind)
        case Applied(value=deeper) if row_of(value).forgets is not None:
            return _cast_of(deeper, kind)
        case _ if kind == "number":
            return None
        case Applied() if kind == "text" and row_of(value).takes is Takes.DAY:
            return value
        case _:
            raise BadQuestionError(f"what is computed cannot be cast to {_named(kind)}; write it without the cast")


def _converted(literal: Literal, kind: str) -> Constant:
    given = literal.value
    if given is None:
        return None
    match kind:
        case "day":
            return day_of(literal)
        case "text" if isinstance(given, str | int | date) and not isinstance(given, bool):
            return str(given)
        case "truth value" if isinstance(given, bool):
            return given
        case "integer" | "number" if not isinstance(given, bool | date):
            number = exact("cast", given)
            if kind == "number" or number.denominator == 1:
                return int(number) if number.denominator == 1 else number
    raise BadQuestionError(f"{given!r} is no {kind}; write the constant itself, without a cast")


def _instead(column: Column, kind: str) -> str:
    if kind == "integer" and isinstance(column.type, Real):
        return f"write round({column.written}) or floor({column.written})"
    if isinstance(column.type, Date):
        return f"write year({column.written}) = 2020, or compare it with days"
    return f"compare {column.written} with constants of its own kind"


def _named(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _plural(kind: str) -> str:
    return {"text": "text", "integer": "whole numbers"}.get(kind, f"{kind}s")
