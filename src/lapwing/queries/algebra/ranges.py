"""The range of every number that a statement computes from a row, and the type that holds it: see `totality`.

Many numbers are written as one list, and the few ranges that are too long for it. A concept set of 50,000 ids is one
parameter, which a database looks values up in, and not 50,000 comparisons. What a column is *not* is written as the
list that is left out. `totality` counts what is written, and the engines write it.

Proof: proofs/totality.md
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from lapwing.queries.algebra.derived import (
    Beginning,
    CaseResult,
    Computed,
    ExtremeOfPerson,
    Filled,
    FilledDay,
    FirstCharacters,
    LookedUp,
    MeanOfPerson,
    NumberOfPerson,
    OnlyWhere,
    PartOfDay,
    Respelled,
    SumOfPerson,
)
from lapwing.queries.algebra.predicate import GAPS, InIntervals, Unit
from lapwing.queries.algebra.term import (
    MOST_TERM,
    ConstantTerm,
    Elapsed,
    FunctionOf,
    OnGrid,
    Plus,
    Rounded,
    SteppedDown,
    Term,
    Times,
    bounds,
    of_whole_numbers,
)
from lapwing.queries.catalogue.column import (
    INT64_HIGHEST,
    INT64_LOWEST,
    MOST_GRID,
    DerivedColumn,
)
from lapwing.queries.catalogue.domains import DAYS, INTEGERS, Domain, Interval, ymd

FEW: Final = 20
"""So many intervals are written one by one."""
MOST_LISTED: Final = 200_000
_LONGEST_RANGE = 1000


class Listed(NamedTuple):
    """The numbers of `points` and `ranges` if `wanted`, and all others otherwise."""

    points: tuple[int, ...]
    ranges: tuple[Interval, ...]
    wanted: bool = True


def listed(atom: InIntervals) -> Listed | None:
    """Return how the numbers of an atom are listed, or None where its few intervals are written one by one.

    >>> listed(InIntervals(column="x", domain=INTEGERS, intervals=tuple((3 * i, 3 * i) for i in range(50)))).points[:3]
    (0, 3, 6)
    """
    if len(atom.intervals) <= FEW or atom.domain != INTEGERS:
        return None
    taken = _split(atom.intervals)
    if len(taken.ranges) <= FEW:
        return taken
    left_out = _split(INTEGERS.without(atom.intervals))
    return (
        taken if len(taken.ranges) <= len(left_out.ranges) else Listed(left_out.points, left_out.ranges, wanted=False)
    )


def _split(intervals: tuple[Interval, ...]) -> Listed:
    points: list[int] = []
    ranges: list[Interval] = []
    for low, high in intervals:
        if high - low < _LONGEST_RANGE and len(points) + high - low < MOST_LISTED:
            points.extend(range(low, high + 1))
        else:
            ranges.append((low, high))
    return Listed(tuple(points), tuple(ranges))


MOST_ROWS = 2**63
"""Fewer rows than this are in a table, and in what is joined and grouped from it."""
PACKED_BITS = 31
"""Bits of a word that holds the codes of several keys of a person: a whole number of 32 bits, its sign left alone."""
_MOST_FINER = 30
_MOST_BITS = 900  # a grid number times two to this power is still a double, and so is its inverse


class Held(Enum):
    """What holds a number on every engine, as the range within which nothing overflows and nothing is rounded."""

    WHOLE = Domain(INT64_LOWEST, INT64_HIGHEST)
    """A 64-bit integer."""

    TERM = Domain(-MOST_TERM, MOST_TERM)
    """A 64-bit integer with room for a sign and one addition."""

    DOUBLE = Domain(-MOST_GRID, MOST_GRID)
    """A double that is whole or halfway between two whole numbers."""

    WIDE = Domain(-(2**126), 2**126)
    """A sum: HUGEINT in DuckDB, NUMERIC in PostgreSQL, DECIMAL(38, 0) in Spark."""


class Number(NamedTuple):
    """One number that a statement makes of a row, a person or a cell: from `low` to `high`, whatever the rows hold."""

    what: str
    low: int
    high: int
    held: Held


def of_term(term: Term) -> Iterator[Number]:
    """Yield every number on the way to a term of a row, and the term."""
    low, high = bounds(term)
    match term:
        case OnGrid(column=column, bits=bits):
            scale = 0 if abs(bits) <= _MOST_BITS else MOST_GRID + 1
            yield Number(f"the grid of {column!r}", -scale, scale, Held.DOUBLE)
            yield Number(f"the clipped {column!r}", low, high, Held.DOUBLE)
        case Elapsed(unit=unit, until=until, since=since):
            ends = [end for end in (until, since) if isinstance(end, int)]
            outside = any(not DAYS.lowest <= end <= DAYS.highest for end in ends)
            gap = ymd(DAYS.highest) if unit is Unit.YEARS else GAPS[Unit.DAYS].highest
            gap = MOST_TERM + 1 if outside else gap
            yield Number("the time between two days", -gap, gap, Held.DOUBLE)
            yield Number("the clipped time between two days", low, high, Held.DOUBLE)
        case ConstantTerm():
            yield Number("a constant of the expression", low, high, Held.TERM)
        case Plus(left, right) | Times(left, right):
            yield from of_term(left)
            yield from of_term(right)
            yield Number("the expression", low, high, Held.TERM)
        case Rounded(inner, _):
            yield from of_term(inner)
            yield Number("the expression before it is rounded", *bounds(inner), Held.DOUBLE)
            yield Number("the rounded expression", low, high, Held.DOUBLE)
        case SteppedDown(width=width) | FunctionOf(width=width):
            for inner in term.terms:
                yield from of_term(inner)
            yield Number("the width of a step", width, width if width >= 1 else MOST_TERM + 1, Held.TERM)
            for least, most in of_whole_numbers(term).between(tuple(map(bounds, term.terms)), width):
                yield Number(f"a number on the way to {term.function}", least, most, Held.TERM)
            yield Number(f"the result of {term.function}", low, high, Held.TERM)


def _of_sum(derived: SumOfPerson) -> Iterator[Number]:
    yield from of_term(derived.term)
    least, most = bounds(derived.term)
    yield Number("the sum of a person's rows", MOST_ROWS * min(0, least), MOST_ROWS * max(0, most), Held.WIDE)
    high = derived.high if derived.low <= derived.high else MOST_GRID + 1
    yield Number("the clipped sum of a person's rows", derived.low, high, Held.DOUBLE)


def _of_mean(derived: MeanOfPerson) -> Iterator[Number]:
    yield from of_term(derived.term)
    least, most = bounds(derived.term)
    yield Number("the sum of a person's rows", MOST_ROWS * min(0, least), MOST_ROWS * max(0, most), Held.WIDE)
    yield Number("the clipped sum of a person's rows", -derived.MOST_SUM, derived.MOST_SUM, Held.TERM)
    yield Number("the number of a person's rows", 0, MOST_ROWS - 1, Held.WHOLE)
    yield Number("two of their clipped number", 0, 2 * derived.MOST_COUNTED, Held.TERM)
    finer = 2**derived.finer if 0 <= derived.finer <= _MOST_FINER else MOST_TERM + 1
    yield Number("what the mean leaves over, on its grid", 0, derived.MOST_COUNTED * finer, Held.TERM)
    yield Number("the mean of a person's rows before it is clipped", least * finer, (most + 1) * finer, Held.TERM)
    yield Number("the mean of a person's rows", least * finer, most * finer, Held.DOUBLE)
    yield Number("the grid of the mean", 0, 0 if abs(derived.bits) <= _MOST_BITS else MOST_GRID + 1, Held.DOUBLE)


def of_derived(derived: DerivedColumn) -> Iterator[Number]:  # noqa: C901 - one case for each kind
    """Yield every number on the way to a derived column of a row, and the column where it holds a number."""
    match derived:
        case NumberOfPerson(most=most):
            yield Number("the number of a person's rows", 0, MOST_ROWS - 1, Held.WHOLE)
            yield Number("the most that is counted", most, most if most >= 1 else MOST_TERM + 1, Held.TERM)
        case SumOfPerson():
            yield from _of_sum(derived)
        case MeanOfPerson():
            yield from _of_mean(derived)
        case PartOfDay():
            yield Number("a part of a day", 0, ymd(DAYS.highest), Held.WHOLE)
            yield Number("the day of a week", DAYS.lowest - 7, DAYS.highest + 7, Held.WHOLE)
        case CaseResult(results=results):
            for result in results:
                if isinstance(result, int):
                    yield Number("what a case gives", result, result, Held.DOUBLE)
        case Computed(term=term, bits=bits):
            yield from of_term(term)
            low, high = bounds(term)
            yield Number("the expression on its grid", low, high, Held.DOUBLE)
            yield Number("the grid of the expression", 0, 0 if abs(bits) <= _MOST_BITS else MOST_GRID + 1, Held.DOUBLE)
        case Filled(otherwise=int() as steps, bits=bits):
            yield Number("what stands for a gap, on its grid", steps, steps, Held.DOUBLE)
            yield Number("the grid of a gap", 0, 0 if abs(bits) <= _MOST_BITS else MOST_GRID + 1, Held.DOUBLE)
        case LookedUp() | ExtremeOfPerson() | OnlyWhere():
            pass  # values as they are stored, or as they were computed before
        case Beginning() | Respelled() | FirstCharacters() | Filled() | FilledDay():
            pass  # values as they are stored, and days of the calendar
        case _:
            raise TypeError(derived)
