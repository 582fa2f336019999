"""Conditions as boxes: for each column that a condition speaks of, which of its codes it means.

A box is read from published tables for nothing. It is of declared codes: people whose value is missing, or not
declared, are in none, whatever the condition. A condition that a bin is partly in, or that joins columns by "or", is no
box.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lapwing.publishing.codes import Code, CodedColumn
from lapwing.queries.algebra.predicate import (
    AllOf,
    InIntervals,
    InTexts,
    IsPresent,
    NotInTexts,
    Predicate,
)
from lapwing.queries.catalogue.domains import Interval
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import CountPeople
from lapwing.vocabulary.errors import BadQuestionError

_MOST_SHOWN: Final = 10


def box_of(
    where: ConditionLike, table: str, columns: Sequence[CodedColumn], population: Population
) -> dict[int, list[bool]]:
    """Return which codes of which columns, by their places, a condition means; that of other values never."""
    asked = CountPeople(table=table, where=as_condition(where))
    try:
        bound = plan(asked, replace(population, segment=None)).aggregate.where
    except BadQuestionError as refused:
        raise _named(where, table, columns, population) or refused from None
    return box_of_bound(bound, columns)


def box_of_bound(bound: Predicate, columns: Sequence[CodedColumn]) -> dict[int, list[bool]]:
    """Return which codes a condition means that was planned already."""
    box = dict[int, list[bool]]()
    for part in bound.parts if isinstance(bound, AllOf) else (bound,):
        place = _place(part, columns)
        meant = [_means(part, code, columns[place]) for code in columns[place].codes]
        meant += [False] * (len(columns[place]) - len(meant))
        before = box.get(place, [True] * len(meant))
        box[place] = [old and new for old, new in zip(before, meant, strict=True)]
    return box


def _named(
    where: ConditionLike, table: str, columns: Sequence[CodedColumn], population: Population
) -> BadQuestionError | None:
    """Return a better refusal where a condition has the name that a publication gave to a column."""
    known = {one.name.casefold() for one in population.table(table).columns}
    own = [one for one in columns if one.name.casefold() not in known]
    for one in own:
        if isinstance(where, str) and re.search(rf"\b{re.escape(one.name)}\b", where):
            meant = ", ".join(map(repr, one.called[:_MOST_SHOWN]))
            return BadQuestionError(
                f"{one.name!r} is a name of this publication, and a condition is about columns of {table}; say it "
                f"by its codes, such as codes={{{one.name!r}: {one.called[0]!r}}}, of {meant}"
            )
    return None


def _place(part: Predicate, columns: Sequence[CodedColumn]) -> int:
    """Return the place of the one column that a part of a condition is about."""
    match part:
        case InIntervals(column=name) | InTexts(column=name) | NotInTexts(column=name) | IsPresent(column=name):
            found = [place for place, one in enumerate(columns) if one.key.column.casefold() == name.casefold()]
            if found:
                return found[0]
            published = ", ".join(one.name for one in columns)
            raise BadQuestionError(f"{name!r} was not published; published are {published}")
        case _:
            raise BadQuestionError(
                "this condition is no box of codes; join conditions on single columns by 'and', such as "
                "\"sex = 'F' and age >= 40\", or ask for a count"
            )


def _means(part: Predicate, code: Code, column: CodedColumn) -> bool:
    match part:
        case InTexts(texts=texts):
            return code in texts
        case NotInTexts(texts=texts):
            return code not in texts
        case InIntervals(intervals=intervals):
            return _is_inside(code if isinstance(code, tuple) else (int(code), int(code)), intervals, column)
        case _:
            return True


def _is_inside(code: Interval, intervals: Sequence[Interval], column: CodedColumn) -> bool:
    low, high = code
    if any(first <= low and high <= last for first, last in intervals):
        return True
    if any(first <= high and low <= last for first, last in intervals):
        called = column.called[list(column.codes).index(code)]
        raise BadQuestionError(
            f"the condition is true in a part of {called!r} of {column.name!r} only; ask for whole codes, which are "
            f"{', '.join(column.called)}"
        )
    return False
