"""A grid of cohorts: every combination of some values, bins and conditions, each with the words that tell it apart.

A stream answers a whole grid at the price of its yeses: `stream.ask_many(grid)`.

Thousands of "at least N people?" questions about one table are made of few conditions. Each condition that is joined
by "and" is planned by itself once, with all its checks, and remembered: by the object that it is, and by what it says.
A question that is nothing but such conditions about different things is then put together from what they mean.
Everything else, also whatever comes near a limit, is planned as if it were asked alone. The plan and its canonical
text are the same either way.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import chain
from math import prod
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, overload

from lapwing.queries.algebra.derived import in_order
from lapwing.queries.algebra.predicate import NEVER, AllOf, AnyOf, HasRows, LacksRows, Predicate, topic
from lapwing.queries.catalogue.column import DerivedColumn
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import EVERYONE, And, By, Condition, Literal, Value, col, condition
from lapwing.queries.language.parts import walk
from lapwing.queries.limits import LONGEST_TEXT, MOST_OPERATIONS
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import AtLeast, AtLeastQuestion, at_least
from lapwing.vocabulary.codec import canonical, to_record, to_text
from lapwing.vocabulary.deadline import deadline, seconds_for
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import Exact, as_int, check_most
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_short, named

Axis: TypeAlias = "By | Sequence[Exact | bool | date | Condition | None] | Mapping[str, ConditionLike]"
"""What a grid is made along: bins, values of a column (or conditions), or conditions by what they are called."""
MOST_COHORTS: Final = 1_000_000


@frozen(kw_only=False, repr=False)
class Cohort:
    """Some people: for which row `where` is true, and the words that tell them from the other cohorts of a grid."""

    where: Condition
    labels: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<cohort: {', '.join(f'{name} {label}' for name, label in self.labels.items())}>"


@frozen(kw_only=False)
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

    >>> from lapwing.queries.language.builders import bins
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


_REMEMBERED: Final = 10_000


class _Atom(NamedTuple):
    text: str
    record: Any
    predicate: Predicate
    topic: object


class _Part(NamedTuple):
    """What one condition means: its atoms, the derived columns they are about, and how many parts it was written in."""

    condition: Condition
    atoms: tuple[_Atom, ...]
    derived: tuple[DerivedColumn, ...]
    size: int


class CohortPlanner:
    """Plans questions about one table of a population.

    >>> from lapwing.queries.catalogue.population import Population, Table
    >>> from lapwing.queries.catalogue.column import Column, Integer
    >>> from lapwing.queries.language.expressions import col
    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> age = Column(name="age", type=Integer(low=0, high=99))
    >>> table = Table(name="patients", columns=(age,))
    >>> people = Population(name="clinic", unit=PrivacyUnit(person_key="id"), tables=(table,))
    >>> planned, text = CohortPlanner(people, "patients").plan(col("age") > 17, 200)
    >>> planned.canonical == text
    True
    """

    def __init__(self, population: Population, table: str) -> None:
        self._population, self._table = population, table
        self._everybody = plan(at_least(1, table, EVERYONE), population)
        self._record: dict[str, Any] = to_record(self._everybody.question)
        self._by_object: dict[int, _Part | None] = {}
        self._by_text: dict[str, _Part | None] = {}
        self._kept: list[Condition] = []  # so that no other object gets the number of one of them

    def plan(self, where: Condition, people: int) -> tuple[Plan, str]:
        """Return the plan of whether at least `people` people have a row for which `where` is true, and its text."""
        parts = [self._part(part) for part in (where.parts if isinstance(where, And) else (where,))]
        known = _joined(parts, self._part_of_text) if _clash(parts) else [part for part in parts if part is not None]
        atoms = sorted(chain.from_iterable(part.atoms for part in known), key=itemgetter(0))
        apart = len({atom.topic for atom in atoms}) == len(atoms)
        small = sum(part.size for part in known) < MOST_OPERATIONS and sum(len(a.text) for a in atoms) < LONGEST_TEXT
        derived = _together(part.derived for part in known)
        if (
            not (apart and small and atoms and None not in parts)
            or derived is None
            or self._population.segment is not None
        ):
            alone = plan(at_least(people, self._table, where), self._population)
            return alone, alone.canonical
        predicates = tuple(atom.predicate for atom in atoms)
        records = [atom.record for atom in atoms]
        one = len(atoms) == 1
        where_all = predicates[0] if one else AllOf(predicates)
        aggregate = replace(self._everybody.aggregate, where=where_all, derived=derived)
        planned = replace(self._everybody, aggregate=aggregate, meaning=AtLeast(people=people))
        said = {**self._record["aggregate"], "where": records[0] if one else {**_ALL_OF, "parts": records}}
        if derived:
            said["derived"] = [to_record(column) for column in derived]
        meaning = {**self._record["meaning"], "people": people}
        return planned, canonical({**self._record, "aggregate": said, "meaning": meaning})

    def _part(self, condition: Condition) -> _Part | None:
        """Return what a condition means by itself; None where it must be planned with all that is around it."""
        number = id(condition)
        if number not in self._by_object:
            if len(self._kept) >= _REMEMBERED:
                self._by_object.clear()
                self._by_text.clear()
                self._kept.clear()
            self._by_object[number] = self._part_of_text(condition)
            self._kept.append(condition)
        return self._by_object[number]

    def _part_of_text(self, condition: Condition) -> _Part | None:
        text = repr(condition)
        if text not in self._by_text:
            self._by_text[text] = self._planned(condition)
        return self._by_text[text]

    def _planned(self, condition: Condition) -> _Part | None:
        size = sum(1 for _ in walk((condition,)))
        if size >= MOST_OPERATIONS:
            return None
        aggregate = plan(at_least(1, self._table, condition), self._population).aggregate
        predicates = aggregate.where.parts if isinstance(aggregate.where, AllOf) else (aggregate.where,)
        if NEVER in predicates:
            return None
        atoms = tuple(_Atom(to_text(one), to_record(one), one, _topic(one)) for one in predicates)
        return _Part(condition, atoms, aggregate.derived, size)


def _clash(parts: Sequence[_Part | None]) -> bool:
    """Say whether two conditions are about the same thing, as "age >= 40" and "age < 60" are."""
    topics = [atom.topic for part in parts if part is not None for atom in part.atoms]
    return len(set(topics)) < len(topics)


def _joined(parts: Sequence[_Part | None], plan_part: Callable[[Condition], _Part | None]) -> list[_Part]:
    """Return conditions with those of one topic as one: few such pairs come again and again in many questions."""
    by_topic = dict[object, list[_Part]]()
    for part in parts:
        if part is None or len({atom.topic for atom in part.atoms}) != 1:
            return [one for one in parts if one is not None]
        by_topic.setdefault(part.atoms[0].topic, []).append(part)
    joined = [
        some[0] if len(some) == 1 else plan_part(And(tuple(one.condition for one in some)))
        for some in by_topic.values()
    ]
    return [one for one in joined if one is not None] if None not in joined else []


class StreamPlanner:
    """Plans what a stream about a table is asked: conditions with the stream's number of people, or whole questions."""

    def __init__(self, population: Population, table: str, at_least: int) -> None:
        self._population, self._at_least = population, at_least
        self._table = population.table(table)
        self._cohorts = CohortPlanner(population, table)

    def plan(
        self, wheres: Iterable[ConditionLike | AtLeastQuestion], people: Exact | Sequence[int] | None = None
    ) -> list[tuple[Plan, str]]:
        """Return the plan of each question, and its canonical text; or refuse them all."""
        several, plans = list(wheres), []
        given: Sequence[Exact]
        if isinstance(people, Sequence) and not isinstance(people, str):
            given = people
        else:
            given = [self._at_least if people is None else people] * len(several)
        if len(given) != len(several):
            many = f"is not the number of questions, {len(several)}"
            raise ParameterError("at_least", len(given), reason=many, remedy="give one number for each, or one for all")
        with deadline(seconds_for(len(several))):
            for where, wanted in zip(several, given, strict=True):
                if isinstance(where, AtLeastQuestion):
                    alone = self._plan_whole(where, people)
                    plans.append((alone, alone.canonical))
                else:
                    plans.append(self._cohorts.plan(as_condition(where), as_int("at_least", wanted, most=2**62)))
        return plans

    def _plan_whole(self, where: AtLeastQuestion, people: object) -> Plan:
        planned, mine = plan(where, self._population), self._table
        if people is not None or planned.aggregate.table != mine.name:  # the question says both itself
            raise BadQuestionError(
                f"at_least(...) says how many people itself, and this stream asks about {mine.name}; write "
                f"at_least(20, {mine.name!r}, ...) alone"
            )
        return planned


def _topic(part: Predicate) -> object:
    """Return what tells a part from those that it would become one with."""
    return part if isinstance(part, HasRows | LacksRows | AnyOf) else topic(part)


def _together(several: Iterable[tuple[DerivedColumn, ...]]) -> tuple[DerivedColumn, ...] | None:
    """Return the derived columns of several conditions in their one order; None where two want the same name."""
    named: dict[str, DerivedColumn] = {}
    for column in chain.from_iterable(several):
        if named.setdefault(column.name.casefold(), column) != column:
            return None
    return in_order(named.values()) if named else ()


_ALL_OF: Final = {key: value for key, value in to_record(AllOf(())).items() if key != "parts"}
