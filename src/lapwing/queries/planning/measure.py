"""What a value expression means in a catalogue: a whole-number term and the grid that it is on.

A column brings its declared bounds, `clip` gives it others, sums and products combine them, and what has none is
refused: a sum without bounds has no sensitivity.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from lapwing.queries.algebra.derived import Filled, OnlyWhere, PersonRows, SumOfPerson, elapsed_bounds
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
    Times,
    bounds,
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


def _measure(value: Value, scope: Scope) -> Measure:
    match value:
        case _ if is_elapsed(value, scope):
            return elapsed(value, scope)
        case Clip():
            return _clip(value, (_constant(value.low), _constant(value.high)), scope)
        case Applied() if (whole := row_of(value).whole) is not None:
            return _applied(value, whole, scope)
        case Name() | PerPerson() | Case() | Coalesce() | Applied() | TruthOf():
            column = scope.column(as_number(value.condition) if isinstance(value, TruthOf) else value)
            limits = _bounds_of_sum(column.name, scope)
            if limits is not None:
                return _on_grid(column, limits)
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


def _clip(value: Clip, limits: tuple[Fraction, Fraction], scope: Scope) -> Measure:
    """Return a value moved into bounds: a column needs no others, and what is computed is moved afterwards."""
    match value.value:
        case inner if is_elapsed(inner, scope):
            return elapsed(inner, scope, (math.floor(limits[0]), math.ceil(limits[1])))
        case Name() | PerPerson() | Case() as inner:
            return _on_grid(scope.column(inner), limits)
        case Applied() as inner if row_of(inner).takes is Takes.DAY:
            return _on_grid(scope.column(inner), limits)
        case Applied("/") as divided:
            return _share(divided, scope, limits)
        case inner:
            return _clipped(_measure(inner, scope), *limits)


def _bounds_of_sum(name: str, scope: Scope) -> tuple[Fraction, Fraction] | None:
    """Return between which bounds the sum of a person's rows is added up: that of as many rows as count of a person.

    None of a column that is no such sum, nor made of one where there are rows.
    """
    made = scope.derived.get(name.casefold())
    match made:
        case OnlyWhere(column=inner):
            return _bounds_of_sum(inner, scope)
        case Filled(column=inner, constant=Fraction() as constant):
            found = _bounds_of_sum(inner, scope)
            return None if found is None else (min(constant, found[0]), max(constant, found[1]))
        case SumOfPerson(rows=PersonRows(table=of), term=term):
            table, step = scope.population.table(of), Fraction(2) ** -term.bits
            rows = 1 if table.rows is RowsPerPerson.ONE_A_PERSON else table.max_rows
            if rows is not None:
                return min(Fraction(0), term.low * step * rows), max(Fraction(0), term.high * step * rows)
            raise BadQuestionError(
                f"a person may have any number of rows in {of}, so the sum of {term.column} has no bounds; say them "
                f"where it is used, such as avg(clip(total, 0, 5000)), with total for sum({term.column})"
            )
        case _:
            return None


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
        case Grid.SHARE:
            return _share(value, scope)


def _clipped(inner: Measure, low: Fraction, high: Fraction) -> Measure:
    """Return a value moved into bounds, which are moved outwards to its grid."""
    if low > high:
        raise BadQuestionError(f"the bounds {low} and {high} are the wrong way round; give the lower first")
    first, last = math.floor(low / inner.step), math.ceil(high / inner.step)
    if max(abs(first), abs(last)) > MOST_GRID:
        raise BadQuestionError(f"the bounds {low} and {high} are too wide for the grid of the value; give tighter ones")
    return Measure(_least(_greatest(inner.term, first), last), inner.bits)


_LARGEST_SHARE: Final = 50
_WIDEST_SHARE: Final = 60
_FINEST_SHARE: Final = 30


def _share(value: Applied, scope: Scope, limits: tuple[Fraction, Fraction] | None = None) -> Measure:
    """Return one value over another, which is not 0, or moved into bounds.

    What is divided by 0 is then the upper of the bounds, and of what is below 0 the lower: an infinity moved into them.
    """
    if value.argument is None:
        raise TypeError(value)
    (over, one), (under, other) = map(_without_factor, (value.value, value.argument))
    factor, above, below = one / other, _measure(over, scope), _measure(under, scope)
    above, below = _multiple(above, factor.numerator), _multiple(below, factor.denominator)
    (low, high), numerator, divisor = bounds(below.term), above.term, below.term
    may_be_zero = low <= 0 <= high and not _is_never_zero(below.term, scope)
    if may_be_zero and limits is None:
        by = spell(below.term)
        raise BadQuestionError(
            f"{by} may be 0 by its declared bounds, and nothing is divided by 0; say which rows are meant, with where "
            f"{by} > 0 or .../ nullif({by}, 0), or between which bounds the quotient is: least(greatest(.../ {by}, 0), "
            "100)"
        )
    if low < 0 < high:
        numerator, divisor = times(numerator, FunctionOf("sign", (divisor,))), FunctionOf("abs", (divisor,))
    elif low < 0:
        numerator, divisor = times(ConstantTerm(-1), numerator), times(ConstantTerm(-1), divisor)
    if bounds(divisor)[0] < 1:
        divisor = FunctionOf("greatest", in_one_order((divisor, ConstantTerm(1))))
    reach = max(1, *map(abs, bounds(numerator)))
    room = (
        _FINEST_SHARE - above.bits + below.bits,
        _WIDEST_SHARE - reach.bit_length(),
        _LARGEST_SHARE - (reach // bounds(divisor)[0]).bit_length(),
    )
    width = max(0, min(room))
    made = Measure(FunctionOf("/", (numerator, divisor), 2**width), above.bits - below.bits + width)
    if limits is None:
        return made
    made = _clipped(made, *limits)
    return Measure(_with_infinities(made.term, above.term, below.term), made.bits) if may_be_zero else made


def _multiple(measure: Measure, number: int) -> Measure:
    return measure if number == 1 else Measure(times(ConstantTerm(number), measure.term), measure.bits)


def _without_factor(value: Value) -> tuple[Value, Fraction]:
    """Return a value without the constant that it is multiplied by, and the constant."""
    match value:
        case Arithmetic("*", inner, Literal(int() | Fraction() as number)) | Arithmetic(
            "*", Literal(int() | Fraction() as number), inner
        ) if number and not isinstance(number, bool) and not isinstance(inner, Literal):
            found, factor = _without_factor(inner)
            return found, factor * number
        case _:
            return value, Fraction(1)


def _with_infinities(quotient: Term, above: Term, below: Term) -> Term:
    """Return a quotient within its bounds, and the end of them that an infinity is moved to where 0 divides."""
    low, high = bounds(quotient)
    by_zero = plus(ConstantTerm(1), times(ConstantTerm(-1), _least(FunctionOf("abs", (below,)), 1)))
    end: Term = ConstantTerm(high - low)
    if bounds(above)[0] < 0:
        is_positive = _least(_greatest(plus(above, ConstantTerm(1)), 0), 1)
        end = times(end, plus(times(ConstantTerm(2), is_positive), ConstantTerm(-1)))
    return _least(_greatest(plus(quotient, times(by_zero, end)), low), high)


def _least(term: Term, number: int) -> Term:
    return FunctionOf("least", in_one_order((term, ConstantTerm(number))))


def _greatest(term: Term, number: int) -> Term:
    return FunctionOf("greatest", in_one_order((term, ConstantTerm(number))))


def _is_never_zero(term: Term, scope: Scope) -> bool:
    """Say whether a column, or a multiple of it, is 0 in no row that is asked about: a condition says so."""
    match term:
        case OnGrid(column=name):
            return scope.is_never_zero(name)
        case Elapsed(until=until, since=since, unit=Unit.DAYS):
            return scope.never_same_day(until, since)
        case Times(ConstantTerm(number), inner) | Times(inner, ConstantTerm(number)) if number:
            return _is_never_zero(inner, scope)
        case _:
            return False


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
