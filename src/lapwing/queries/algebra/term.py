"""Whole-number terms of a row that every engine computes alike; what an analyst's value means is in `measure`.

Bounds travel with a term: every column in it is clipped, and sums and products combine the bounds of their parts.
"""

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

from lapwing.queries.algebra.functions import FUNCTIONS, OfWholeNumbers
from lapwing.queries.algebra.predicate import Unit
from lapwing.queries.catalogue.column import MOST_GRID
from lapwing.vocabulary.codec import in_text_order, stored
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


@stored("stepped-down", kw_only=False)
class SteppedDown:
    """A term moved down to a multiple of `width`: floor(term / width) * width."""

    term: "Term"
    width: int

    def __post_init__(self) -> None:
        check_fits(self)

    @property
    def function(self) -> str:
        """Its name in the table of functions."""
        return "step"

    @property
    def terms(self) -> "tuple[Term, ...]":
        """What it is of."""
        return (self.term,)


@stored("function-of", kw_only=False)
class FunctionOf:
    """A function of whole numbers, one of the table in `functions`, of terms; `width` is what it divides by, or 1."""

    function: str
    terms: "tuple[Term, ...]"
    width: int = 1

    def __post_init__(self) -> None:
        check_fits(self)


Term: TypeAlias = OnGrid | Elapsed | ConstantTerm | Plus | Times | Rounded | SteppedDown | FunctionOf


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
        case SteppedDown() | FunctionOf():
            return of_whole_numbers(term).bounds(tuple(map(bounds, term.terms)), term.width)


def of_whole_numbers(term: SteppedDown | FunctionOf) -> OfWholeNumbers:
    """Return the row of the table of functions that a term applies."""
    row = FUNCTIONS.get(term.function)
    if row is None or row.whole is None or len(term.terms) != row.whole.arguments:
        raise BadQuestionError(f"{term.function!r} is no function of {len(term.terms)} whole numbers; write another")
    return row.whole


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
        case SteppedDown() | FunctionOf():
            return frozenset[str]().union(*map(columns, term.terms))


def leaves(*terms: Term) -> list[OnGrid | Elapsed]:
    """Return what terms compute with of a row, each once: rows that agree in it agree in all the terms.

    >>> age = OnGrid(column="age", bits=0, low=0, high=120)
    >>> leaves(Plus(ConstantTerm(1), age), Times(age, age))
    [OnGrid(column='age', bits=0, low=0, high=120)]
    """
    found: dict[OnGrid | Elapsed, None] = {}
    for term in terms:
        match term:
            case OnGrid() | Elapsed():
                found[term] = None
            case ConstantTerm():
                pass
            case Plus(left, right) | Times(left, right):
                found |= dict.fromkeys(leaves(left, right))
            case Rounded(inner, _):
                found |= dict.fromkeys(leaves(inner))
            case SteppedDown() | FunctionOf():
                found |= dict.fromkeys(leaves(*term.terms))
    return list(found)


def in_one_order(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Return terms whose order means nothing in their one order, that of their texts."""
    return tuple(in_text_order(terms))


@lru_cache(maxsize=1 << 12)
def plus(left: Term, right: Term) -> Term:
    """Return the canonical sum: the same for `left + right` and `right + left`.

    The moments of a value are made of the same few sums and products again and again: each is put in order once.
    """
    return Plus(*in_one_order((left, right)))


@lru_cache(maxsize=1 << 12)
def times(left: Term, right: Term) -> Term:
    """Return the canonical product."""
    return Times(*in_one_order((left, right)))
