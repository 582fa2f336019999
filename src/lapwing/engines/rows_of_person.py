"""Semijoins on bitmaps: conditions on a person's rows in another table, counted on the bitmaps of that table.

It can where the condition is about those rows alone ("has a visit of kind ER", "has at least 3", "the number of them is
even"), and not where it compares them with the row around ("a visit within a week of this one").
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.emitter import Fact
from lapwing.queries.algebra.derived import NumberOfPerson, PersonRows
from lapwing.queries.algebra.predicate import HasRows, InIntervals, LacksRows, Ref
from lapwing.queries.catalogue.domains import Interval

Integers: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]


class Look(NamedTuple):
    """A fact about the rows of the same person in `table` for which `inside` is true: it `holds` by their number.

    `turn`, if there is one, is a step: it holds alike for all numbers below, and alike for all from there on.
    """

    fact: Fact
    table: str
    inside: Fact
    turn: int | None
    holds: Callable[[Integers], Truths]


def look_of(fact: Fact) -> Look | None:
    """Return a fact as a condition on the number of a person's rows in another table; None if only SQL decides it."""
    match fact:
        case Fact(HasRows() | LacksRows() as has, _) if not any(_beyond((has.where, has.derived))):
            least, wanted, inside = has.at_least, isinstance(has, HasRows), Fact(has.where, has.derived)
            return Look(fact, has.table, inside, least, lambda rows: (rows >= least) == wanted)
        case Fact(InIntervals(intervals=intervals), (NumberOfPerson(rows=asked, column=None, most=most),)):
            inside = Fact(asked.where, asked.derived)
            return Look(fact, asked.table, inside, 1 if most == 1 else None, lambda rows: _among(rows, most, intervals))
        case _:
            return None


def _among(rows: Integers, most: int, intervals: Iterable[Interval]) -> Truths:
    """Return where the number of rows, counted up to `most`, is in one of the intervals."""
    number, found = np.minimum(rows, most), np.zeros(len(rows), np.bool_)
    for low, high in intervals:
        found |= (low <= number) & (number <= high)
    return found


def _beyond(part: object, depth: int = 0) -> Iterator[Ref]:
    """Yield the references to rows further out than the row that `part` is about."""
    if isinstance(part, Ref):
        if part.up > depth:
            yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _beyond(each, depth)
    elif is_dataclass(part):
        inside = depth + isinstance(part, HasRows | LacksRows | PersonRows)
        for field in fields(part):
            yield from _beyond(getattr(part, field.name), inside)
