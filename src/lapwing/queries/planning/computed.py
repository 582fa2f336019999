"""Conditions about a value that is computed from one column, solved for the column when the question is planned.

`2 * cost > 20000` is `cost > 10000`, `lower(sex) = 'f'` is one of the declared values that are so in small letters, and
`coalesce(age, 0) < 18` is `age < 18 or age is null`. The arithmetic is exact and done here, on the set of numbers or
texts that are asked for: no database computes anything, so nothing can overflow, and all of them give the same rows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing.queries.algebra.functions import Takes
from lapwing.queries.algebra.pattern import fits, plain, read_as
from lapwing.queries.algebra.predicate import (
    Compared,
    InTexts,
    IsMissing,
    Like,
    NotInTexts,
    NotLike,
    Predicate,
    Ref,
    atom,
    in_intervals,
    some,
)
from lapwing.queries.algebra.spans import LEAST, MOST, Edge, Spans, is_in, moved, scaled_span, turned
from lapwing.queries.catalogue.column import (
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Text,
    holds_text,
    nearest_double,
    number_for,
    text_for,
    truth_for,
)
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, INTEGERS, TRUTHS, Domain, Interval, day_number, double_rank
from lapwing.queries.language.expressions import (
    Applied,
    Arithmetic,
    Coalesce,
    Days,
    Literal,
    Value,
    day_of,
)
from lapwing.queries.planning.scope import Scope
from lapwing.queries.planning.simplifying import MOST_PLACES, is_whole, kind_of, not_whole, row_of, too_many_places
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen


@frozen(kw_only=False)
class NumberSet:
    """The value is one of these numbers; days and truth values are numbers, too."""

    spans: Spans

    def before(self, value: Value) -> "NumberSet":
        """Return what the number inside `value` has to be."""
        match value:
            case Applied(argument=argument) if (before := row_of(value).before) is not None:
                return NumberSet(before(self.spans, Fraction(0) if argument is None else _number(argument)))
            case Arithmetic(operator, left, right):
                return self._before_sum(operator, left, right)
            case _:
                raise unreadable()

    def _before_sum(self, operator: str, left: Value, right: Value) -> "NumberSet":
        number = _number(right if isinstance(right, Literal) else left)
        match operator:
            case "*" if number == 0:
                return NumberSet(((LEAST, MOST),) if self.has(Fraction(0)) else ())
            case "*":
                return NumberSet(tuple(scaled_span(span, 1 / number) for span in self.spans))
            case "+":
                return NumberSet(tuple(moved(span, -number) for span in self.spans))
            case _ if isinstance(right, Literal):
                return NumberSet(tuple(moved(span, number) for span in self.spans))
            case _:
                return NumberSet(tuple(moved(turned(span), number) for span in self.spans))

    def has(self, number: Fraction) -> bool:
        """Say whether a number is one of them."""
        return is_in(self.spans, number)

    def of(self, column: Column) -> Predicate:
        """Return that a column holds one of them."""
        domain, places = _line(column)
        pieces = [places(low, high) for low, high in self.spans]
        return in_intervals(column.name, domain, [piece for piece in pieces if piece[0] <= piece[1]], wanted=True)

    def holds(self, column: Column, literal: Literal) -> bool:
        """Say whether a constant of the column's type is one of them."""
        return self.has(place_of(column, literal))


@frozen(kw_only=False)
class TextSet:
    """The text, read so, fits one of the patterns if `wanted`, and none of them otherwise."""

    patterns: tuple[str, ...]
    wanted: bool
    any_case: bool = False
    trimmed: bool = False

    def before(self, value: Value) -> "TextSet":
        """Return what the text inside `value` has to be."""
        match value:
            case Applied() if row_of(value).forgets == "blanks":
                return replace(self, trimmed=True)
            case Applied(function) if (change := row_of(value).change) is not None:
                small = tuple(read_as(pattern, any_case=True, trimmed=False) for pattern in self.patterns)
                wrong = next((p for p in self.patterns if change(p) != p), None)
                if not self.any_case and wrong is not None:
                    raise BadQuestionError(f"{function}(...) is never {wrong!r}; write {change(wrong)!r}")
                return replace(self, patterns=small, any_case=True)
            case _:
                raise unreadable()

    def has(self, text: str) -> bool:
        """Say whether it is true of a text."""
        read = read_as(text, any_case=self.any_case, trimmed=self.trimmed)
        return any(fits(pattern, read) for pattern in self.patterns) is self.wanted

    def of(self, column: Column) -> Predicate:
        """Return that it is true of a column."""
        match column.type:
            case Text():
                kind = Like if self.wanted else NotLike
                return atom(
                    kind(column=column.name, patterns=self.patterns, any_case=self.any_case, trimmed=self.trimmed)
                )
            case Category(values=values) if isinstance(values[0], str):
                texts = tuple(text for text in map(str, values) if self.has(text) is self.wanted)
                return atom((InTexts if self.wanted else NotInTexts)(column=column.name, texts=texts))
            case _:
                raise BadQuestionError(f"{column.name!r} holds no text; compare it with = or in (...)")

    def holds(self, column: Column, literal: Literal) -> bool:
        """Say whether it is true of a constant."""
        return self.has(text_for(column, literal.value))


def solve(value: Value, asked: NumberSet | TextSet, scope: Scope) -> Predicate:
    """Return where a value that is computed from one column is what is asked."""
    match value:
        case Coalesce(inner, Literal(None)):
            return solve(inner, asked, scope)
        case Coalesce(inner, Literal() as otherwise):
            column = column_of(inner, scope)
            known = solve(inner, asked, scope)
            return some([known, IsMissing(column=column.name)]) if asked.holds(column, otherwise) else known
        case _ if is_computed(value):
            return solve(_inside(value), asked.before(value), scope)
        case _:
            return asked.of(scope.column(value))


def column_of(value: Value, scope: Scope) -> Column:
    """Return the one column that a value is computed from, by functions that are for what it holds."""
    if not is_computed(value):
        return scope.column(value)
    column = column_of(_inside(value), scope)
    if not isinstance(value, Coalesce):
        _check_takes(value, column)
    if isinstance(value, Applied) and row_of(value).takes is Takes.WHOLE and not is_whole(value.value, scope):
        raise not_whole(value.function, column.written)
    return column


def is_computed(value: Value) -> bool:
    """Say whether a value is computed from another and constants, in a way that can be turned round."""
    match value:
        case Applied(argument=None | Literal()):
            return row_of(value).is_solved
        case Coalesce(_, Literal()):
            return True
        case Arithmetic(_, left, right):
            return isinstance(left, Literal) or isinstance(right, Literal)
        case _:
            return False


def _inside(value: Value) -> Value:
    match value:
        case Applied(value=inner) | Coalesce(value=inner):
            return inner
        case Arithmetic(_, left, right):
            return left if isinstance(right, Literal) else right
        case _:
            raise unreadable()


def numbers_that(operator: str, limit: Fraction) -> NumberSet:
    """Return the numbers that stand in relation `operator` to `limit`.

    >>> numbers_that("<=", Fraction(3)).has(Fraction(3)), numbers_that("<>", Fraction(3)).has(Fraction(3))
    (True, False)
    """
    here, below, above = (limit, 0), (LEAST, (limit, -1)), ((limit, 1), MOST)
    spans = {
        "=": ((here, here),),
        "<>": (below, above),
        "<": (below,),
        "<=": ((LEAST, here),),
        ">": (above,),
        ">=": ((here, MOST),),
    }
    return NumberSet(spans[operator])


def among(column: Column, literals: Sequence[Literal], *, wanted: bool) -> NumberSet | TextSet:
    """Return that a value made of `column` is one of several constants, or none of them."""
    if holds_text(column):
        return TextSet(tuple(plain(text_for(column, literal.value)) for literal in literals), wanted)
    places = sorted({place_of(column, literal) for literal in literals})
    if wanted:
        return NumberSet(tuple(((place, 0), (place, 0)) for place in places))
    lows: list[Edge] = [LEAST, *((place, 1) for place in places)]
    highs: list[Edge] = [*((place, -1) for place in places), MOST]
    return NumberSet(tuple(zip(lows, highs, strict=True)))


def place_of(column: Column, literal: Literal) -> Fraction:
    """Return where a constant stands on the line of a column that holds numbers, days or truth values."""
    match column.type:
        case Date():
            return Fraction(day_number(day_of(literal, column.name)))
        case Boolean():
            return Fraction(truth_for(column, literal.value))
        case _:
            return number_for(column, literal.value)


def _line(column: Column) -> tuple[Domain, Callable[[Edge, Edge], Interval]]:
    match column.type:
        case Real():
            return DOUBLES, lambda low, high: (_rank(low), _rank(high))
        case Date():
            return DAYS, lambda low, high: _whole(low, high, DAYS)
        case Boolean():
            return TRUTHS, lambda low, high: _whole(low, high, TRUTHS)
        case Integer() | Category() if not holds_text(column):
            return INTEGERS, lambda low, high: _whole(low, high, INTEGERS)
        case _:
            raise BadQuestionError(f"{column.name!r} holds text and no numbers; compare it with text in quotes")


def _whole(low: Edge, high: Edge, domain: Domain) -> Interval:
    """Return the first and the last whole number between two edges."""
    (a, above), (b, below) = low, high
    first = domain.lowest if a == -math.inf else math.floor(a) + 1 if above else math.ceil(a)
    last = domain.highest if b == math.inf else math.ceil(b) - 1 if below else math.floor(b)
    return max(first, domain.lowest), min(last, domain.highest)


def _rank(edge: Edge) -> int:
    number, side = edge
    return double_rank(number if isinstance(number, float) else nearest_double(number)) + side


def _check_takes(value: Value, column: Column) -> None:
    """Refuse a function of a column that it means nothing for."""
    row = row_of(value) if isinstance(value, Applied) else None
    if row is not None and row.takes is Takes.TEXT:
        if not holds_text(column):
            raise BadQuestionError(f"{row.name}(...) is for text, and {column.name!r} holds none; compare it as it is")
        return
    match value:
        case Applied("round", _, Literal(int() as digits)) if abs(digits) > MOST_PLACES:
            raise too_many_places()
        case Applied("step" | "//", _, Literal(width)) if not isinstance(width, int | Fraction) or width <= 0:
            raise unreadable()
        case _:
            pass
    if not isinstance(column.type, Integer | Real):
        names = isinstance(column.type, Category) and not holds_text(column)
        why = "its numbers are the names of categories" if names else "it holds no numbers"
        raise BadQuestionError(f"{column.name!r} cannot be computed with: {why}; compare it as it is")


def _number(value: Value) -> Fraction:
    number = value.value if isinstance(value, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise unreadable()
    return Fraction(number)


def unreadable() -> BadQuestionError:
    """Return the refusal of a value that is not made of one column and constants."""
    return BadQuestionError(
        "a condition is about a column, or about what is computed from a column and constants; write 2 * cost > 10"
    )


_COMPARED = {"=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
_NUMBERS = {"integer", "number"}


def compare_columns(operator: str, left: Value, right: Value, scope: Scope, *, wanted: bool) -> Predicate:
    """Return where the comparison is true if `wanted`, and where it is false otherwise."""
    if isinstance(left, Literal | Days) or isinstance(right, Literal | Days):
        raise BadQuestionError("a column is compared with a constant of its own kind, or with another column")
    (one, first), (other, second) = scope.seen(left), scope.seen(right)
    kinds = {kind_of(first), kind_of(second)}
    if len(kinds) > 1 and kinds != _NUMBERS:
        raise BadQuestionError(
            f"{first.name!r} and {second.name!r} cannot be compared: one holds what is a {kind_of(first)}, the other "
            f"what is a {kind_of(second)}; compare each with a constant"
        )
    if operator not in {"=", "<>"} and not kinds <= _NUMBERS:
        raise BadQuestionError(
            f"{first.name!r} and {second.name!r} have no order that all databases agree on; compare them with = or <>"
        )
    signs = _COMPARED[operator] if wanted else tuple(sign for sign in (-1, 0, 1) if sign not in _COMPARED[operator])
    return atom(Compared(left=Ref(column=first.name, up=one), right=Ref(column=second.name, up=other), signs=signs))
