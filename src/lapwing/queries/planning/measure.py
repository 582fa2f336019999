"""What a value expression means in a catalogue: a whole-number term and the grid that it is on.

A column brings its declared bounds, `clip` gives it others, sums and products combine them, and what has none is
refused: a sum without bounds has no sensitivity.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from lapwing.queries.algebra.derived import elapsed_bounds
from lapwing.queries.algebra.derived_words import spell
from lapwing.queries.algebra.functions import Grid, MissingWhere, OfWholeNumbers, Takes
from lapwing.queries.algebra.predicate import GAPS, Unit
from lapwing.queries.algebra.term import (
    ConstantTerm,
    Elapsed,
    FunctionOf,
    OnGrid,
    Rounded,
    SteppedDown,
    Term,
    check_fits,
    columns,
    in_one_order,
    magnitude,
    plus,
    times,
)
from lapwing.queries.catalogue.column import MOST_GRID, Boolean, Category, Column, Date, Integer, Real, holds_text
from lapwing.queries.catalogue.domains import day_number
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.queries.language.expressions import (
    Age,
    Applied,
    Arithmetic,
    Case,
    Clip,
    Coalesce,
    Literal,
    Name,
    Now,
    Truth,
    TruthOf,
    Value,
    day_of,
)
from lapwing.queries.language.joined import PerPerson
from lapwing.queries.planning.days import check_order_of_age, now
from lapwing.queries.planning.scope import Scope
from lapwing.queries.planning.simplifying import (
    MOST_PLACES,
    as_number,
    is_whole,
    not_whole,
    row_of,
    simplified,
    too_many_places,
)
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

_MOST_BITS = 40


@frozen(kw_only=False)
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
        return _measure(simplified(value, scope), scope)
    except RecursionError:
        raise BadQuestionError("the expression is nested too deeply; write it with fewer parentheses") from None


def _measure(value: Value, scope: Scope) -> Measure:  # noqa: C901, PLR0911 - one case for each kind of value
    match value:
        case _ if is_elapsed(value, scope):
            return elapsed(value, scope)
        case Clip(inner, low, high) if is_elapsed(inner, scope):
            return elapsed(inner, scope, (math.floor(_constant(low)), math.ceil(_constant(high))))
        case Clip(Name() | PerPerson() | Case() as inner, low, high):
            return _on_grid(scope.column(inner), (_constant(low), _constant(high)))
        case Clip(Applied() as inner, low, high) if row_of(inner).takes is Takes.DAY:
            return _on_grid(scope.column(inner), (_constant(low), _constant(high)))
        case Applied() if (whole := row_of(value).whole) is not None:
            return _applied(value, whole, scope)
        case Name() | PerPerson() | Case() | Coalesce() | Applied() | TruthOf():
            column = scope.column(as_number(value.condition) if isinstance(value, TruthOf) else value)
            if isinstance(value, PerPerson) and value.function == "sum":
                return _on_grid(column, _bounds_of_sum(value, scope))
            if isinstance(column.type, Boolean):
                column = scope.column(as_number(Truth(value)))
            return declared(column)
        case Arithmetic(operator, left, right):
            return _arithmetic(operator, _measure(left, scope), _measure(right, scope))
        case Literal():
            return _literal(_constant(value))
        case _:
            raise BadQuestionError(
                "this cannot be added up; clip a column: clip(column, low, high), or count what is true: "
                "case when smoker then 1 else 0 end"
            )


def _bounds_of_sum(value: PerPerson, scope: Scope) -> tuple[Fraction, Fraction]:
    """Return between which bounds the sum of a person's rows is added up: that of as many rows as count of a person."""
    table = scope.population.table(value.table)
    rows = 1 if table.rows is RowsPerPerson.ONE_A_PERSON else table.max_rows
    name = value.column.name if value.column is not None else ""
    if rows is None:
        raise BadQuestionError(
            f"a person may have any number of rows in {table.name}, so the sum of {name} has no bounds; say them where "
            f"it is used, such as avg(clip(total, 0, 5000)), with total for sum({name})"
        )
    low, high = _declared(table.column(name))
    return min(Fraction(0), low * rows), max(Fraction(0), high * rows)


def declared(column: Column) -> Measure:
    """Return what the values of a column are as they are declared, or refuse one without bounds."""
    return _on_grid(column, _declared(column))


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
            raise _no_numbers(column)


def _no_numbers(column: Column) -> BadQuestionError:
    match column.type:
        case Category() if not holds_text(column):
            why = "is a category, whose numbers are names; group by it, or let the custodian declare it as an integer"
        case Date():
            why = (
                f"holds days and no numbers; ask about year({column.written}), or about the time between two days, "
                f"such as age({column.written}, date '2025-01-01')"
            )
        case Boolean():
            why = f"is true or false; for a proportion write avg({column.written})"
        case _:
            why = "holds no numbers; count people or rows where it has a value instead"
    return BadQuestionError(f"{column.name!r} {why}")


def _on_grid(column: Column, limits: tuple[Fraction, Fraction]) -> Measure:
    if not isinstance(column.type, Integer | Real):
        raise _no_numbers(column)
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


def as_step(value: Value | None) -> Value | None:
    """Return (x // 10) * 10 as the steps floor(x / 10) * 10, which they are of what is not below 0."""
    match value:
        case Arithmetic("*", Applied("//", inner, Literal(width)), Literal(again)) | Arithmetic(
            "*", Literal(again), Applied("//", inner, Literal(width))
        ) if width == again:
            return Applied("step", inner, Literal(width))
        case _:
            return value


def step_width(width: Value | None) -> Fraction:
    """Return the width of steps, which is above zero."""
    number = _constant(width)
    if number <= 0:
        raise BadQuestionError(f"steps of width {number} lead nowhere; write a number above 0: floor(x / 10) * 10")
    return number


def _applied(value: Applied, whole: OfWholeNumbers, scope: Scope) -> Measure:
    """Return what a function makes of numbers on a grid."""
    match whole.grid:
        case Grid.SAME:
            sides = [_measure(each, scope) for each in (value.value, value.argument) if each is not None]
            _check_known(value, sides, scope)
            bits = max(side.bits for side in sides)
            return Measure(FunctionOf(value.function, in_one_order(_finer(side, bits) for side in sides)), bits)
        case Grid.WHOLE:
            return Measure(FunctionOf(value.function, (_measure(value.value, scope).term,)), 0)
        case Grid.STEP:
            return _stepped(_measure(value.value, scope), step_width(value.argument))
        case Grid.QUOTIENT:
            return _quotient(value, scope)


def _check_known(value: Applied, sides: Sequence[Measure], scope: Scope) -> None:
    """Refuse the greatest or least of columns that may be missing: what is missing would be left out."""
    several = [name for side in sides for name in sorted(columns(side.term))]
    gaps = [name for name in several if scope.row.column(name).nullable]
    if (
        row_of(value).gap is MissingWhere.LEFT_OUT
        and len(sides) > 1
        and gaps
        and not isinstance(value.argument, Literal)
    ):
        raise BadQuestionError(
            f"{value.function} leaves out what is missing, and {gaps[0]!r} may be; write what stands for it: "
            f"{value.function}(coalesce({gaps[0]}, 0), ...)"
        )


def _quotient(value: Applied, scope: Scope) -> Measure:
    """Return a value divided by a width and made whole: floor(x / 10), round(x), x // 10, or x % 10."""
    inner, width, times_ten = value.value, Fraction(1), 1
    match value:
        case Applied("//" | "%"):
            width = step_width(value.argument)
        case Applied("round", _, Literal(int() as digits)) if digits > 0:
            raise BadQuestionError("decimals are rounded in the answers, which costs nothing; write round(avg(x), 1)")
        case Applied("round", _, Literal(int() as digits)) if digits < -MOST_PLACES:
            raise too_many_places()
        case Applied("round", _, Literal(int() as digits)) if digits < 0:
            width = Fraction(times_ten := 10**-digits)
        case Applied(_, Arithmetic("*", divided, Literal(Fraction() as share)) as product) if share > 0:
            inner, width = (divided, 1 / share) if share.numerator == 1 else (product, width)
        case _:
            pass
    found = _measure(inner, scope)
    if row_of(value).takes is Takes.WHOLE and (found.bits > 0 or not is_whole(inner, scope)):
        raise not_whole(value.function, spell(found.term))
    steps = width * Fraction(2) ** found.bits
    if steps.denominator != 1:  # the grid is coarser than whole numbers
        found, steps = Measure(times(ConstantTerm(steps.denominator), found.term), 0), Fraction(steps.numerator)
    if steps == 1 and value.function != "%":
        return Measure(found.term, 0)
    made = Measure(FunctionOf(value.function, (found.term,), int(steps)), 0)
    return made if times_ten == 1 else Measure(times(ConstantTerm(times_ten), made.term), 0)


def _stepped(inner: Measure, width: Fraction) -> Measure:
    steps = width * 2**inner.bits if inner.bits >= 0 else width / 2**-inner.bits
    if steps.denominator != 1:
        raise BadQuestionError(
            f"steps of {width} do not fit the grid of the value, whose own steps are {inner.step}; write a multiple"
        )
    return Measure(SteppedDown(inner.term, int(steps)), inner.bits)


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


def _constant(value: Value | None) -> Fraction:
    number = value.value if isinstance(value, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise BadQuestionError("bounds and factors are numbers; write for example clip(cost, 0, 100)")
    return Fraction(number)


def is_elapsed(value: Value, scope: Scope) -> bool:
    """Say whether a value is the time from one day to another."""
    match value:
        case Age():
            return True
        case Arithmetic("-", left, right):
            return scope.is_day(left) or scope.is_day(right)
        case _:
            return False


def elapsed(value: Value, scope: Scope, limits: tuple[int, int] | None = None) -> Measure:
    """Return the time from one day to another, clipped to `limits` or to what the declared days leave possible."""
    unit, until, since = ends_of(value, scope)
    kinds = [end if isinstance(end, int) else end.type for end in (until, since)]
    found = limits or elapsed_bounds(kinds[0], kinds[1], unit)
    if found is None:
        end = next(end for end in (until, since) if isinstance(end, Column) and end.type == Date())
        raise BadQuestionError(
            f"{end.name!r} has no declared first and last day, so the time has no bounds; write clip(..., 0, 100)"
        )
    low, high = found
    if low > high:
        raise BadQuestionError(f"the bounds {low} and {high} are the wrong way round; give the lower first")
    domain = GAPS[unit]
    if low < domain.lowest or high > domain.highest:
        raise BadQuestionError(
            f"the bounds reach {magnitude(low, high)}, and no time between two days is longer than {domain.highest} "
            f"{unit.value}; clip it tighter"
        )
    return Measure(Elapsed(until=name_of(until), since=name_of(since), unit=unit, low=low, high=high), 0)


def name_of(end: Column | int) -> str | int:
    """Return an end of a time as a term has it."""
    return end if isinstance(end, int) else end.name


def ends_of(value: Value, scope: Scope) -> tuple[Unit, Column | int, Column | int]:
    """Return what a time is counted in, until when and since when."""
    match value:
        case Age(born, at):
            until, since = _end(at, scope), _end(born, scope)
            if isinstance(until, Column) and isinstance(since, Column):
                check_order_of_age(since, until)
            return Unit.YEARS, until, since
        case Arithmetic("-", left, right):
            return Unit.DAYS, _end(left, scope), _end(right, scope)
        case _:
            raise TypeError(value)


def _end(value: Value | None, scope: Scope) -> Column | int:
    if value is None or isinstance(value, Now):
        return day_number(now(scope))
    if isinstance(value, Literal):
        return day_number(day_of(value))
    if scope.is_day(value):
        return scope.column(value)
    raise BadQuestionError("time is counted from one day to another; write discharged - admitted, or age(born)")
