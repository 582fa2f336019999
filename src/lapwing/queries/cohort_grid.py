"""A grid of cohorts: every combination of some values, bins and conditions, each with the words that tell it apart.

A stream answers a whole grid at the price of its yeses: `stream.ask_many(grid)`.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import prod
from typing import Any, Final, TypeAlias, overload

from lapwing.queries.expressions import EVERYONE, And, By, Condition, Literal, Value, col, condition
from lapwing.queries.questions import ConditionLike, as_condition
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, check_most
from lapwing.vocabulary.wording import format_short, named

Axis: TypeAlias = "By | Sequence[Exact | bool | date | Condition | None] | Mapping[str, ConditionLike]"
"""What a grid is made along: bins, values of a column (or conditions), or conditions by what they are called."""
MOST_COHORTS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Cohort:
    """Some people: for which row `where` is true, and the words that tell them from the other cohorts of a grid."""

    where: Condition
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CohortGrid(Sequence[Cohort]):
    """All combinations of what stands along the axes of a grid, the last axis changing first."""

    table: str
    axes: Mapping[str, tuple[tuple[str, Condition], ...]]

    def __len__(self) -> int:
        return prod(map(len, self.axes.values()))

    @overload
    def __getitem__(self, index: int) -> Cohort: ...
    @overload
    def __getitem__(self, index: slice) -> list[Cohort]: ...
    def __getitem__(self, index: int | slice) -> Cohort | list[Cohort]:
        return list(self)[index]

    def __iter__(self) -> Iterator[Cohort]:
        for parts in itertools.product(*self.axes.values()):
            labels = dict(zip(self.axes, (label for label, _ in parts), strict=True))
            conditions = [where for _, where in parts if where is not EVERYONE]
            yield Cohort(And(tuple(conditions)) if len(conditions) > 1 else (*conditions, EVERYONE)[0], labels)

    def __repr__(self) -> str:
        sizes = " x ".join(f"{len(parts)} {name}" for name, parts in self.axes.items())
        return f"<{len(self):,} cohorts of {self.table}: {sizes}>"


def cohorts(table: str, axes: Mapping[str, Axis]) -> CohortGrid:
    """Return every combination of what stands along the axes.

    Along an axis are values of the column that it is called after, bins, or conditions by what they are called.

    >>> from lapwing.queries.questions import bins
    >>> grid = cohorts("patients", {
    ...     "sex": ["F", "M"],
    ...     "age": bins("age", [0, 18, 65, 120]),
    ...     "illness": {"diabetes": "has(conditions, code = 'E11')", "any": None},
    ... })
    >>> grid
    <12 cohorts of patients: 2 sex x 3 age x 2 illness>
    >>> dict(grid[2].labels)
    {'sex': 'F', 'age': '18 to under 65', 'illness': 'diabetes'}
    """
    if not axes or not all(len(_parts(name, axis)) for name, axis in axes.items()):
        raise BadQuestionError('a grid has at least one axis with something on it; write {"sex": ["F", "M"]}')
    grid = CohortGrid(table, {name: tuple(_parts(name, axis)) for name, axis in axes.items()})
    check_most("cohorts", len(grid), MOST_COHORTS, "take an axis away")
    return grid


def _parts(name: str, axis: Axis) -> list[tuple[str, Condition]]:
    match axis:
        case By():
            return _bins(axis)
        case Mapping():
            return [(label, as_condition(where)) for label, where in axis.items()]
        case str():
            raise BadQuestionError(f"the axis {name!r} is one text; write a list of values: [{axis!r}]")
        case _:
            return [_part(name, number, given) for number, given in enumerate(axis, start=1)]


def _part(name: str, number: int, given: Any) -> tuple[str, Condition]:
    if given is None:
        return named(None), col(name).is_null()
    if isinstance(given, Condition | Value):
        return f"{name} {number}", condition(given)
    return named(given) if not isinstance(given, date) else given.isoformat(), col(name) == given


def _bins(by: By) -> list[tuple[str, Condition]]:
    if by.edges is None:
        raise BadQuestionError("an axis of bins needs its edges; write bins('age', [0, 18, 65, 120])")
    parts = list[tuple[str, Condition]]()
    for place, (low, high) in enumerate(itertools.pairwise(by.edges), start=2):
        last = place == len(by.edges)
        upper = by.column <= high if last else by.column < high
        parts.append((f"{_edge(low)} to {'' if last else 'under '}{_edge(high)}", And((by.column >= low, upper))))
    return parts


def _edge(edge: Literal) -> str:
    given = edge.value
    if isinstance(given, int | Fraction):
        return format_short(given).replace(",", "")
    return given.isoformat() if isinstance(given, date) else str(given)
