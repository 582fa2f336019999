"""Values: whole-number terms that every engine computes alike, and what a value expression means in a catalogue.

Bounds travel with the value. A column brings its declared ones, `clip` gives it others, sums and products combine them,
and what has none is refused: a sum without bounds has no sensitivity.
"""

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.catalogue import Scope
from lapwing.queries.column import MOST_GRID, Column, Date, Integer, Real
from lapwing.queries.days import day_of
from lapwing.queries.expressions import Age, Arithmetic, Clip, Literal, Name, Now, Value
from lapwing.queries.predicate import GAPS, Unit, day_number, ymd
from lapwing.vocabulary.codec import stored, to_text
from lapwing.vocabulary.errors import BadQuestionError

MOST_TERM = 2**62
"""No term exceeds this in magnitude, so that sums of two and products with a sign stay within 64 bits."""


@stored("on-grid")
class OnGrid:
    """The column's value, clipped to `low`..`high` and rounded to the grid: floor(value * 2^bits + 1/2).

    The bounds are in steps of the grid, 2^-bits.
    """

    column: str
    bits: int
    low: int
    high: int


@stored("elapsed")
class Elapsed:
    """The days or completed years from one day to another, clipped to `low`..`high`.

    A day is a column of this row, or a fixed one as days since 1970-01-01.
    """

    until: str | int
    since: str | int
    unit: Unit
    low: int
    high: int


@stored("constant", kw_only=False)
class ConstantTerm:
    """The same number for every row."""

    value: int


@stored("plus", kw_only=False)
class Plus:
    """The sum of two terms."""

    left: "Term"
    right: "Term"

    def __post_init__(self) -> None:
        check_fits(self)


@stored("times", kw_only=False)
class Times:
    """The product of two terms."""

    left: "Term"
    right: "Term"

    def __post_init__(self) -> None:
        check_fits(self)


@stored("rounded", kw_only=False)
class Rounded:
    """A term on a grid that is coarser by a power of two: floor(term / 2^bits + 1/2)."""

    term: "Term"
    bits: int

    def __post_init__(self) -> None:
        low, high = bounds(self.term)
        if max(abs(low), abs(high)) > MOST_GRID:
            raise BadQuestionError(
                f"the expression could reach {magnitude(low, high)} grid steps, more than 2^52; clip its "
                "columns to tighter bounds or declare a coarser step"
            )


Term: TypeAlias = OnGrid | Elapsed | ConstantTerm | Plus | Times | Rounded


def bounds(term: Term) -> tuple[int, int]:
    """Return the least and the greatest value that the term can take.

    >>> age = OnGrid(column="age", bits=0, low=0, high=120)
    >>> bounds(Plus(age, Times(ConstantTerm(-2), age)))
    (-240, 120)
    """
    match term:
        case OnGrid(low=low, high=high) | Elapsed(low=low, high=high):
            return low, high
        case ConstantTerm(value):
            return value, value
        case Plus(left, right):
            (a, b), (c, d) = bounds(left), bounds(right)
            return a + c, b + d
        case Times(left, right):
            corners = [x * y for x in bounds(left) for y in bounds(right)]
            return min(corners), max(corners)
        case Rounded(inner, bits):
            low, high = bounds(inner)
            half = 2**bits // 2
            return (low + half) >> bits, (high + half) >> bits


def check_fits(term: Term) -> None:
    """Refuse a term that could leave 62 bits."""
    low, high = bounds(term)
    if max(abs(low), abs(high)) > MOST_TERM:
        raise BadQuestionError(
            f"the expression could reach {magnitude(low, high)} grid steps, more than 2^62 = {MOST_TERM:.2e}; "
            "clip its columns to tighter bounds or declare a coarser step"
        )


def magnitude(low: int, high: int) -> str:
    """Return the larger of two magnitudes in a few digits, whatever its size.

    >>> magnitude(-(2**64), 10)
    '1.84e+19'
    """
    return f"{Decimal(max(abs(low), abs(high))):.2e}"


def columns(term: Term) -> frozenset[str]:
    """Return the columns of this row that the term needs."""
    match term:
        case OnGrid(column=column):
            return frozenset({column})
        case Elapsed(until=until, since=since):
            return frozenset(end for end in (until, since) if isinstance(end, str))
        case ConstantTerm():
            return frozenset()
        case Plus(left, right) | Times(left, right):
            return columns(left) | columns(right)
        case Rounded(inner, _):
            return columns(inner)


def plus(left: Term, right: Term) -> Term:
    """Return the canonical sum: the same for `left + right` and `right + left`."""
    return Plus(*sorted((left, right), key=to_text))


def times(left: Term, right: Term) -> Term:
    """Return the canonical product."""
    return Times(*sorted((left, right), key=to_text))


_MOST_BITS = 40


@dataclass(frozen=True, slots=True)
class Measure:
    """A value: `term` times 2^-bits."""

    term: Term
    bits: int

    @property
    def step(self) -> Fraction:
        """The value of one unit of the term."""
        return Fraction(2) ** -self.bits

    def coarser(self, bits: int) -> "Measure":
        """Return the value rounded to a grid whose step is 2^bits times as wide."""
        return Measure(Rounded(self.term, bits), self.bits - bits) if bits else self


def measure(value: Value, scope: Scope) -> Measure:
    """Return what `value` means, or refuse it."""
    try:
        return _measure(value, scope)
    except RecursionError:
        raise BadQuestionError("the expression is nested too deeply; write it with fewer parentheses") from None


def _measure(value: Value, scope: Scope) -> Measure:
    match value:
        case Name():
            column = scope.column(value)
            return _on_grid(column, _declared(column))
        case Clip(Name() as name, low, high):
            column = scope.column(name)
            return _on_grid(column, (_constant(low), _constant(high)))
        case Clip(Age() | Arithmetic("-", _, _) as gap, low, high):
            return _elapsed(gap, scope, (math.floor(_constant(low)), math.ceil(_constant(high))))
        case Age():
            return _elapsed(value, scope, None)
        case Arithmetic("-", left, right) if _is_day(left, scope) or _is_day(right, scope):
            return _elapsed(value, scope, None)
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, _measure(left, scope), _measure(right, scope))
        case Literal():
            return _literal(_constant(value))
        case _:
            raise BadQuestionError("this cannot be added up; clip a column: clip(column, low, high)")


def _declared(column: Column) -> tuple[Fraction, Fraction]:
    match column.type:
        case Integer(low=int() as low, high=int() as high):
            return Fraction(low), Fraction(high)
        case Real(low=Fraction() as low, high=Fraction() as high):
            return low, high
        case Integer():
            raise BadQuestionError(
                f"{column.name!r} has no declared bounds, so its sum has no sensitivity; write "
                f"clip({column.written}, 0, 100)"
            )
        case _:
            raise BadQuestionError(f"{column.name!r} holds no numbers; {_instead(column)}")


def _instead(column: Column) -> str:
    if isinstance(column.type, Date):
        return f"ask about the time between two days, such as age({column.written}, date '2025-01-01')"
    return "count people or rows where it has a value instead"


def _on_grid(column: Column, limits: tuple[Fraction, Fraction]) -> Measure:
    if not isinstance(column.type, Integer | Real):
        raise BadQuestionError(f"{column.name!r} holds no numbers to clip; count where it has a value instead")
    low, high = limits
    if low > high:
        raise BadQuestionError(f"the bounds {low} and {high} are the wrong way round; give the lower first")
    bits = column.type.bits if isinstance(column.type, Real) else 0
    first, last = math.floor(low * Fraction(2) ** bits), math.ceil(high * Fraction(2) ** bits)
    if max(abs(first), abs(last), abs(math.floor(low)), abs(math.ceil(high))) > MOST_GRID:
        raise BadQuestionError(f"the bounds {low} and {high} are too wide for the grid; clip {column.name!r} tighter")
    return Measure(OnGrid(column=column.name, bits=bits, low=first, high=last), bits)


def _arithmetic(operator: str, left: Measure, right: Measure) -> Measure:
    if operator == "*":
        return Measure(times(left.term, right.term), left.bits + right.bits)
    if operator == "-":
        right = Measure(times(ConstantTerm(-1), right.term), right.bits)
    bits = max(left.bits, right.bits)
    return Measure(plus(_finer(left, bits), _finer(right, bits)), bits)


def _finer(measure: Measure, bits: int) -> Term:
    return measure.term if measure.bits == bits else times(ConstantTerm(2 ** (bits - measure.bits)), measure.term)


def _literal(number: Fraction) -> Measure:
    bits = number.denominator.bit_length() - 1
    if number.denominator != 2**bits or bits > _MOST_BITS:
        raise BadQuestionError(
            f"{number} is not a multiple of a power of two, so it would be rounded; scale the answer instead, which "
            "costs nothing"
        )
    term = ConstantTerm(number.numerator)
    check_fits(term)
    return Measure(term, bits)


def _constant(value: Value) -> Fraction:
    number = value.value if isinstance(value, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise BadQuestionError("bounds and factors are numbers; write for example clip(cost, 0, 100)")
    return Fraction(number)


def _is_day(value: Value, scope: Scope) -> bool:
    if isinstance(value, Name):
        return isinstance(scope.column(value).type, Date)
    return isinstance(value, Now) or (isinstance(value, Literal) and isinstance(value.value, date))


def _elapsed(value: Age | Arithmetic, scope: Scope, limits: tuple[int, int] | None) -> Measure:
    match value:
        case Age(born, at):
            unit, until, since = Unit.YEARS, _end(at, scope), _end(born, scope)
        case Arithmetic(left=left, right=right):
            unit, until, since = Unit.DAYS, _end(left, scope), _end(right, scope)
    low, high = limits or _elapsed_bounds(until, since, unit)
    if low > high:
        raise BadQuestionError(f"the bounds {low} and {high} are the wrong way round; give the lower first")
    domain = GAPS[unit]
    if low < domain.lowest or high > domain.highest:
        raise BadQuestionError(
            f"the bounds reach {magnitude(low, high)}, and no time between two days is longer than {domain.highest} "
            f"{unit.value}; clip it tighter"
        )
    ends = [end if isinstance(end, int) else end.name for end in (until, since)]
    return Measure(Elapsed(until=ends[0], since=ends[1], unit=unit, low=low, high=high), 0)


def _end(value: Value | None, scope: Scope) -> Column | int:
    if value is None or isinstance(value, Now):
        if scope.population.now is None:
            raise BadQuestionError("the population declares no \"now\"; give a day: age(born, date '2025-01-01')")
        return day_number(scope.population.now)
    if isinstance(value, Name):
        column = scope.column(value)
        if isinstance(column.type, Date):
            return column
    if isinstance(value, Literal):
        return day_number(day_of(value))
    raise BadQuestionError("time is counted from one day to another; write discharged - admitted, or age(born)")


def _elapsed_bounds(until: Column | int, since: Column | int, unit: Unit) -> tuple[int, int]:
    (first, last), (early, late) = _day_bounds(until), _day_bounds(since)
    if unit is Unit.DAYS:
        return first - late, last - early
    return (ymd(first) - ymd(late)) // 10_000, (ymd(last) - ymd(early)) // 10_000


def _day_bounds(end: Column | int) -> tuple[int, int]:
    if isinstance(end, int):
        return end, end
    match end.type:
        case Date(first=date() as first, last=date() as last):
            return day_number(first), day_number(last)
        case _:
            raise BadQuestionError(
                f"{end.name!r} has no declared first and last day, so the time has no bounds; write clip(..., 0, 100)"
            )
