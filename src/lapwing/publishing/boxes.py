"""Conditions as boxes: for each column that a condition speaks of, which of its codes it means.

A box is read from published tables for nothing. It is of declared codes: people whose value is missing, or not
declared, are in none, whatever the condition. A condition that a bin is partly in, or that joins columns by "or", is no
box.
"""

from collections.abc import Sequence
from dataclasses import replace

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


def box_of(
    where: ConditionLike, table: str, columns: Sequence[CodedColumn], population: Population
) -> dict[int, list[bool]]:
    """Return which codes of which columns, by their places, a condition means; the last code of each is never meant."""
    asked = CountPeople(table=table, where=as_condition(where))
    bound = plan(asked, replace(population, segment=None)).aggregate.where
    box = dict[int, list[bool]]()
    for part in bound.parts if isinstance(bound, AllOf) else (bound,):
        place = _place(part, columns)
        meant = [_means(part, code, columns[place]) for code in columns[place].codes]
        before = box.get(place, [True] * len(meant) + [False])
        box[place] = [old and new for old, new in zip(before, [*meant, False], strict=True)]
    return box


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
