"""The scalar functions of the language: one table, one row each.

A row says how a function is written, what it takes and gives, where it is missing, what its range is, how a comparison
of it becomes a condition about what is inside (its inverse image), and its SQL. Whoever reads, spells, plans, checks or
emits a function looks here, and nowhere else names it.

The rule for a new row: it is a total function. On whole numbers it says its range (`bounds`) and every number on the
way to it (`between`), from the ranges of its arguments alone: what could leave its type is refused before it is charged
(`totality`). Its SQL gives the same number in every database, for negative numbers as well.

Proof: proofs/totality.md
"""

from collections.abc import Callable
from datetime import date, timedelta
from enum import Enum
from fractions import Fraction
from string import ascii_lowercase, ascii_uppercase
from typing import Final, Protocol, TypeAlias

from lapwing.queries.algebra.pattern import read_as
from lapwing.queries.algebra.spans import LEAST, MOST, ZERO, Spans, before_rounding, is_in, scaled_span, turned, within
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

Bounds: TypeAlias = tuple[int, int]


class Takes(Enum):
    """What a function is of."""

    NUMBER = "numbers"
    WHOLE = "whole numbers"
    TEXT = "text"
    DECLARED = "declared texts"
    """Of these it is a case, which is public, and no database computes it."""
    DAY = "days"


class MissingWhere(Enum):
    """Where a function is missing."""

    INSIDE = "where what is inside is missing"
    OWN = "where the column that it makes is missing, which is where what is inside is"
    LEFT_OUT = "where all that is inside is missing: what is missing is left out"


class Grid(Enum):
    """On which grid the number is that a function makes of numbers on a grid."""

    SAME = "the grid of what is inside, the finer of two"
    WHOLE = "whole numbers"
    QUOTIENT = "whole numbers: what is inside is divided by the width, a constant"
    STEP = "the grid of what is inside, of which the width is a multiple"
    SHARE = "a grid of its own: the first number times the width, divided by the second"


class Templates(Protocol):
    """What a dialect brings to the SQL of functions: templates, and names of types."""

    @property
    def greatest(self) -> str: ...  # noqa: D102 - see Dialect
    @property
    def least(self) -> str: ...  # noqa: D102
    @property
    def modulo(self) -> str: ...  # noqa: D102
    @property
    def quotient(self) -> str: ...  # noqa: D102
    @property
    def small(self) -> str: ...  # noqa: D102
    @property
    def capital(self) -> str: ...  # noqa: D102
    @property
    def trimmed(self) -> str: ...  # noqa: D102
    @property
    def beginning(self) -> str: ...  # noqa: D102
    @property
    def part_of_day(self) -> str: ...  # noqa: D102
    @property
    def day_number(self) -> str: ...  # noqa: D102
    @property
    def integer(self) -> str: ...  # noqa: D102
    @property
    def narrow(self) -> str: ...  # noqa: D102


@frozen()
class OfWholeNumbers:
    """A function of whole numbers, as a term has it; the last argument of each is the width, 1 where there is none.

    Parameters
    ----------
    grid : on which grid the result is
    bounds : the least and the greatest result, given those of the arguments
    sql : the result, given the arguments as expressions of 64-bit integers, and the width of a grid that has one
    arguments : how many there are
    written : how often `sql` writes each argument
    between : numbers on the way to the result, as ranges, beyond those that lie between the arguments and the result
    """

    grid: Grid
    bounds: Callable[[tuple[Bounds, ...], int], Bounds]
    sql: Callable[[Templates, tuple[str, ...], str], str]
    arguments: int = 1
    written: int = 1
    between: Callable[[tuple[Bounds, ...], int], tuple[Bounds, ...]] = lambda inside, width: ()  # noqa: ARG005


@frozen()
class ScalarFunction:
    """One row of the table.

    Parameters
    ----------
    name : what SQL calls it, and the question keeps
    takes : what it is of
    spelled : how it is written of {x}, and of {y} where it has a second argument
    parsed : what the parser calls it, where that is not its name
    gap : where it is missing
    known : what it makes of a day that is known when the question is asked
    before : the inverse image: where what is inside has to be for the result to be in these spans
    whole : what it is of whole numbers, in a sum or a mean
    change : what it makes of a text
    forgets : what two texts may differ in that it makes one of: "case" or "blanks"
    sql : what it is of a text or of a day, given it and the second argument as expressions
    highest : the greatest part of a day, which begins with 1; None for the year
    """

    name: str
    takes: Takes
    spelled: str
    parsed: str | None = None
    gap: MissingWhere = MissingWhere.INSIDE
    known: Callable[[date, str], int | date] | None = None
    before: Callable[[Spans, Fraction], Spans] | None = None
    whole: OfWholeNumbers | None = None
    change: Callable[[str], str] | None = None
    forgets: str | None = None
    sql: Callable[[Templates, str, str], str] | None = None
    highest: int | None = None

    @property
    def is_solved(self) -> bool:
        """Whether a comparison of it is solved for what is inside."""
        return self.before is not None or self.forgets is not None


def remainder(templates: Templates, number: str, width: str) -> str:
    """Return how far a whole number is above the next multiple of `width` below; never negative."""
    return templates.modulo.format(f"{templates.modulo.format(number, width)} + {width}", width)


def _rising(apply: Callable[[int, int], int]) -> Callable[[tuple[Bounds, ...], int], Bounds]:
    """Return the bounds of a function that never falls."""
    return lambda inside, width: (apply(inside[0][0], width), apply(inside[0][1], width))


def _abs_bounds(inside: tuple[Bounds, ...], width: int) -> Bounds:
    del width
    low, high = inside[0]
    return max(low, -high, 0), max(high, -low)


def _rest_bounds(inside: tuple[Bounds, ...], width: int) -> Bounds:
    low, high = inside[0]
    return max(min(low, 0), 1 - width), min(max(high, 0), width - 1)


def trunc(number: int, width: int) -> int:
    """Return a quotient with its fraction cut off, as databases divide whole numbers.

    >>> trunc(-7, 2), trunc(7, 2)
    (-3, 3)
    """
    return number // width if number >= 0 else -(-number // width)


def rounded(number: int, width: int) -> int:
    """Return the nearest whole number to a quotient, halves away from zero.

    >>> rounded(-5, 2), rounded(5, 2), rounded(-1, 3)
    (-3, 3, 0)
    """
    return trunc(2 * number + (width if number > 0 else -width if number < 0 else 0), 2 * width)


def sign(number: int, width: int = 1) -> int:
    """Return -1, 0 or 1."""
    del width
    return max(-1, min(1, number))


def _share_bounds(inside: tuple[Bounds, ...], width: int) -> Bounds:
    """Return the bounds of a quotient of two numbers: it lies between those of their ends, for none divides by zero."""
    (low, high), below = inside
    if below[0] < 1:
        raise BadQuestionError(f"what divides has to be above 0, and may be {below[0]}; write x / nullif(y, 0)")
    ends = [trunc(number * width, by) for number in (low, high) for by in below]
    return min(ends), max(ends)


def _stepped(down: int, up: int) -> Callable[[tuple[Bounds, ...], int], tuple[Bounds, ...]]:
    """Return the numbers so many widths below and above what is inside, and the remainder of a step."""
    return lambda inside, width: ((inside[0][0] - down * width, inside[0][1] + up * width), (-2 * width, 2 * width))


def _floor_sql(d: Templates, inside: tuple[str, ...], width: str) -> str:
    return d.quotient.format(f"({inside[0]} - {remainder(d, inside[0], width)})", width)


def _ceil_sql(d: Templates, inside: tuple[str, ...], width: str) -> str:
    return d.quotient.format(f"({inside[0]} + {remainder(d, f'(-{inside[0]})', width)})", width)


def _round_sql(d: Templates, inside: tuple[str, ...], width: str) -> str:
    """Return trunc((2x + sign(x) * width) / (2 * width))."""
    return d.quotient.format(f"(2 * {inside[0]} + {_sign_sql(d, inside, width)} * {width})", f"(2 * {width})")


def _sign_sql(d: Templates, inside: tuple[str, ...], width: str) -> str:
    del width
    return d.least.format(d.greatest.format(inside[0], "-1"), "1")


def _abs_before(spans: Spans, _: Fraction) -> Spans:
    above = within(spans, ZERO, MOST)
    return (*above, *map(turned, above))


def _sign_before(spans: Spans, _: Fraction) -> Spans:
    signs = {-1: (LEAST, (Fraction(0), -1)), 0: (ZERO, ZERO), 1: ((Fraction(0), 1), MOST)}
    return tuple(span for number, span in signs.items() if is_in(spans, Fraction(number)))


def _greatest_before(spans: Spans, limit: Fraction) -> Spans:
    here = (limit, 0)
    below = ((LEAST, here),) if is_in(spans, limit) else ()
    return (*below, *within(spans, (limit, 1), MOST))


def _least_before(spans: Spans, limit: Fraction) -> Spans:
    here = (limit, 0)
    above = ((here, MOST),) if is_in(spans, limit) else ()
    return (*above, *within(spans, LEAST, (limit, -1)))


def _rounded_before(spans: Spans, digits: Fraction) -> Spans:
    tens = Fraction(10) ** int(digits)
    return before_rounding("round", tuple(scaled_span(span, tens) for span in spans), 1 / tens)


def _stepped_before(spans: Spans, width: Fraction) -> Spans:
    """Return where floor(x / width) * width is in the spans."""
    return before_rounding("floor", tuple(scaled_span(span, 1 / width) for span in spans), width)


class Part(Enum):
    """A part of a day, as a whole number."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    WEEK = "week"
    """Of the year, as ISO 8601 counts: from Monday, and the first has 4 January in it."""
    WEEKDAY = "weekday"
    """1 for Monday to 7 for Sunday."""
    DAY = "day"
    """Of the month."""


def begin(unit: Part, of: date) -> date:
    """Return the first day of the year, quarter, month or week that a day is in.

    >>> begin(Part.QUARTER, date(2020, 6, 30))
    datetime.date(2020, 4, 1)
    """
    match unit:
        case Part.YEAR:
            return of.replace(month=1, day=1)
        case Part.QUARTER:
            return of.replace(month=of.month - (of.month - 1) % 3, day=1)
        case Part.WEEK:
            return of - timedelta(days=of.weekday())
        case _:
            return of.replace(day=1)


def _part_sql(name: str) -> Callable[[Templates, str, str], str]:
    return lambda d, day, _: f"CAST({d.part_of_day.format(name.upper(), day)} AS {d.integer})"


def _weekday_sql(d: Templates, day: str, seven: str) -> str:
    """Return the day of the week: 1 January 1970 was a Thursday."""
    return f"{remainder(d, f'({d.day_number.format(day)} + 3)', seven)} + 1"


def _part(name: str, known: Callable[[date], int], highest: int | None, spelled: str | None = None) -> ScalarFunction:
    """Return the row of a part of a day."""
    return ScalarFunction(
        name=name,
        takes=Takes.DAY,
        spelled=f"{spelled or name}({{x}})",
        known=lambda day, _: known(day),
        sql=_weekday_sql if name == "weekday" else _part_sql(name),
        highest=highest,
    )


_ROWS: Final[tuple[ScalarFunction, ...]] = (
    ScalarFunction(
        name="abs",
        takes=Takes.NUMBER,
        spelled="abs({x})",
        before=_abs_before,
        whole=OfWholeNumbers(grid=Grid.SAME, bounds=_abs_bounds, sql=lambda _d, inside, _: f"ABS({inside[0]})"),
    ),
    ScalarFunction(
        name="sign",
        takes=Takes.NUMBER,
        spelled="sign({x})",
        before=_sign_before,
        whole=OfWholeNumbers(grid=Grid.WHOLE, bounds=_rising(sign), sql=_sign_sql),
    ),
    ScalarFunction(
        name="floor",
        takes=Takes.NUMBER,
        spelled="floor({x})",
        before=lambda spans, _: before_rounding("floor", spans, Fraction(1)),
        whole=OfWholeNumbers(
            grid=Grid.QUOTIENT,
            bounds=_rising(lambda number, width: number // width),
            sql=_floor_sql,
            written=2,
            between=_stepped(1, 0),
        ),
    ),
    ScalarFunction(
        name="ceil",
        takes=Takes.NUMBER,
        spelled="ceil({x})",
        before=lambda spans, _: before_rounding("ceil", spans, Fraction(1)),
        whole=OfWholeNumbers(
            grid=Grid.QUOTIENT,
            bounds=_rising(lambda number, width: -(-number // width)),
            sql=_ceil_sql,
            written=2,
            between=_stepped(0, 1),
        ),
    ),
    ScalarFunction(
        name="round",
        takes=Takes.NUMBER,
        spelled="round({x}, {y})",
        before=_rounded_before,
        whole=OfWholeNumbers(
            grid=Grid.QUOTIENT,
            bounds=_rising(rounded),
            sql=_round_sql,
            written=2,
            between=lambda inside, width: ((2 * inside[0][0] - width, 2 * inside[0][1] + width), (0, 2 * width)),
        ),
    ),
    ScalarFunction(
        name="step",
        takes=Takes.NUMBER,
        spelled="floor({x} / {y}) * {y}",
        before=_stepped_before,
        whole=OfWholeNumbers(
            grid=Grid.STEP,
            bounds=_rising(lambda number, width: number // width * width),
            sql=lambda d, inside, width: f"({inside[0]} - {remainder(d, inside[0], width)})",
            written=2,
            between=_stepped(1, 0),
        ),
    ),
    ScalarFunction(
        name="//",
        takes=Takes.WHOLE,
        spelled="({x} // {y})",
        parsed="intdiv",
        before=lambda spans, width: before_rounding("trunc", spans, width),
        whole=OfWholeNumbers(
            grid=Grid.QUOTIENT,
            bounds=_rising(trunc),
            sql=lambda d, inside, width: d.quotient.format(inside[0], width),
        ),
    ),
    ScalarFunction(
        name="%",
        takes=Takes.WHOLE,
        spelled="({x} % {y})",
        parsed="mod",
        whole=OfWholeNumbers(
            grid=Grid.QUOTIENT,
            bounds=_rest_bounds,
            sql=lambda d, inside, width: d.modulo.format(inside[0], width),
        ),
    ),
    ScalarFunction(
        name="/",
        takes=Takes.NUMBER,
        spelled="({x} / {y})",
        parsed="div",
        whole=OfWholeNumbers(
            grid=Grid.SHARE,
            arguments=2,
            bounds=_share_bounds,
            sql=lambda d, inside, width: d.quotient.format(f"({inside[0]} * {width})", inside[1]),
            between=lambda inside, width: ((inside[0][0] * width, inside[0][1] * width),),
        ),
    ),
    ScalarFunction(
        name="greatest",
        takes=Takes.NUMBER,
        spelled="greatest({x}, {y})",
        gap=MissingWhere.LEFT_OUT,
        before=_greatest_before,
        whole=OfWholeNumbers(
            grid=Grid.SAME,
            arguments=2,
            bounds=lambda inside, _: (max(low for low, _ in inside), max(high for _, high in inside)),
            sql=lambda d, inside, _: d.greatest.format(*inside),
        ),
    ),
    ScalarFunction(
        name="least",
        takes=Takes.NUMBER,
        spelled="least({x}, {y})",
        gap=MissingWhere.LEFT_OUT,
        before=_least_before,
        whole=OfWholeNumbers(
            grid=Grid.SAME,
            arguments=2,
            bounds=lambda inside, _: (min(low for low, _ in inside), min(high for _, high in inside)),
            sql=lambda d, inside, _: d.least.format(*inside),
        ),
    ),
    ScalarFunction(
        name="lower",
        takes=Takes.TEXT,
        spelled="lower({x})",
        change=lambda text: read_as(text, any_case=True, trimmed=False),
        forgets="case",
        sql=lambda d, text, _: d.small.format(text),
    ),
    ScalarFunction(
        name="upper",
        takes=Takes.TEXT,
        spelled="upper({x})",
        change=lambda text: text.translate(str.maketrans(ascii_lowercase, ascii_uppercase)),
        forgets="case",
        sql=lambda d, text, _: d.capital.format(text),
    ),
    ScalarFunction(
        name="trim",
        takes=Takes.TEXT,
        spelled="trim({x})",
        change=lambda text: read_as(text, any_case=False, trimmed=True),
        forgets="blanks",
        sql=lambda d, text, _: d.trimmed.format(text),
    ),
    ScalarFunction(
        name="left",
        takes=Takes.TEXT,
        spelled="left({x}, {y})",
        gap=MissingWhere.OWN,
        sql=lambda d, text, length: f"substr({text}, 1, CAST({length} AS {d.narrow}))",
    ),
    ScalarFunction(name="length", takes=Takes.DECLARED, spelled="length({x})", gap=MissingWhere.OWN),
    ScalarFunction(name="||", takes=Takes.DECLARED, spelled="({x} || {y})", parsed="dpipe", gap=MissingWhere.OWN),
    _part("year", lambda day: day.year, None),
    _part("quarter", lambda day: (day.month + 2) // 3, 4),
    _part("month", lambda day: day.month, 12),
    _part("week", lambda day: day.isocalendar().week, 53),
    _part("weekday", date.isoweekday, 7, "isodow"),
    _part("day", lambda day: day.day, 31),
    ScalarFunction(
        name="date_trunc",
        takes=Takes.DAY,
        spelled="date_trunc({y}, {x})",
        gap=MissingWhere.OWN,
        known=lambda day, unit: begin(Part(unit), day),
        sql=lambda d, day, unit: d.beginning.format(unit, day),
    ),
)


FUNCTIONS: Final = {row.name: row for row in _ROWS}
DATE_PARTS: Final = tuple(row.name for row in _ROWS if row.takes is Takes.DAY and row.name != "date_trunc")
"""Parts of a day that are whole numbers: weekdays are 1 for Monday to 7 for Sunday, a day is that of the month."""
DATE_UNITS: Final = ("year", "quarter", "month", "week")
"""What a day is moved to the beginning of."""
ROUNDED: Final = ("floor", "ceil", "round")
"""What makes whole numbers of fractions."""
