"""Values before they are given a meaning: constants are computed, and a cast that changes nothing is left out."""

from collections.abc import Callable
from datetime import date
from fractions import Fraction
from operator import add, mul, sub

from lapwing.queries.catalogue import Scope
from lapwing.queries.column import Boolean, Category, Column, Date, Integer, Real
from lapwing.queries.days import day_of
from lapwing.queries.expressions import (
    Arithmetic,
    Cast,
    Coalesce,
    Constant,
    Literal,
    Name,
    NumberOf,
    Step,
    TextOf,
    Value,
)
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import exact

_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {"+": add, "-": sub, "*": mul}
_LARGEST = 10**100


def simplified(value: Value, scope: Scope) -> Value:
    """Return a value with its constants computed and without casts.

    A cast is refused unless its column holds what is cast to already: a row that cannot be converted would fail.
    """
    match value:
        case Cast(inner, kind):
            return _cast(simplified(inner, scope), kind, scope)
        case Arithmetic(operator, left, right):
            a, b = simplified(left, scope), simplified(right, scope)
            one, other = _number(a), _number(b)
            if one is None or other is None:
                return Arithmetic(operator, a, b)
            return _literal(_OPERATORS[operator](one, other))
        case Coalesce(inner, otherwise):
            first, second = simplified(inner, scope), simplified(otherwise, scope)
            if isinstance(first, Literal):
                return second if first.value is None else first
            return Coalesce(first, second)
        case NumberOf(function, inner, digits):
            return NumberOf(function, simplified(inner, scope), digits)
        case TextOf(function, inner):
            return TextOf(function, simplified(inner, scope))
        case Step(inner, width):
            return Step(simplified(inner, scope), simplified(width, scope))
        case _:
            return value


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
    inner: Value = value
    while not isinstance(inner, Name):
        match inner:
            case Coalesce(deeper, _) | TextOf(_, deeper):
                inner = deeper
            case _ if kind == "number":  # arithmetic is exact, whatever it is cast to
                return value
            case _:
                raise BadQuestionError(f"what is computed cannot be cast to {_named(kind)}; write it without the cast")
    _, home = scope.find(inner)
    column = home.table.column(inner.name)
    if kind != kind_of(column) and (kind, kind_of(column)) != ("number", "integer"):
        raise BadQuestionError(
            f"{column.name!r} holds {_plural(kind_of(column))}, and a cast to {_named(kind)} could fail; "
            f"{_instead(column, kind)}"
        )
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
    return f"compare {column.written} with constants of its own kind"


def _named(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _plural(kind: str) -> str:
    return {"text": "text", "integer": "whole numbers"}.get(kind, f"{kind}s")
