"""Which statistics of those asked together are released together, so that they are paid for once.

- **Parts.** Counts of rows in different parts, such as count(*) filter (where A) and count(*) filter (where B), are one
  count grouped by the part that a row is in. Where A and B overlap, what is in both is a part, and what is in A is the
  sum of its parts.
- **Sums.** What gives a mean gives the number of rows and the total, and what gives a variance gives the mean. Where a
  value may be missing, rows without it are a part of their own, which one number counts.

How far a person moves a release follows from its aggregate, as always: a row is in the first part whose condition is
true, whatever the conditions are. What is proved about conditions here (`apart`, `within`) decides only what the
numbers mean.

Proof: proofs/shared_releases.md
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BoundedRowsPerPerson,
    Bounding,
    ClippedSumPerPerson,
    CountPerPerson,
    DeclaredKey,
    sensitivity,
)
from lapwing.queries.algebra.derived import Branch, CaseResult, Filled, in_order, of_person, widened
from lapwing.queries.algebra.derived_words import named_apart, numbered
from lapwing.queries.algebra.predicate import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    HasRows,
    IsPresent,
    LacksRows,
    Predicate,
    every,
)
from lapwing.queries.algebra.term import OnGrid, Rounded, bounds, columns
from lapwing.queries.algebra.totality import check_total
from lapwing.queries.catalogue.column import MOST_GRID, Column, DerivedColumn
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.language.parts import shape
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.queries.planning.measure import declared
from lapwing.queries.planning.plan import Family, NoisyReading, Plan
from lapwing.queries.planning.planner import Question, plan
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.counts import People, RowCount, rows_of_all_groups
from lapwing.queries.statistics.moments import MomentQuestion, Moments
from lapwing.queries.statistics.postprocessing import PartAlone, PartsTogether, RowsOfAll, RowsOfSums, TotalOfSums
from lapwing.queries.statistics.total import Sum, Total
from lapwing.vocabulary.codec import to_text
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

_MOST_PARTS = 24
_LONGEST = 20_000
"""Conditions of more parts, or of more characters when they are written out, are not compared: it would take long."""
_STEPS = 10  # of work that comparing two conditions counts as
PART = "part"


@frozen()
class SharedPlan:
    """A plan whose released numbers several columns are read from, each by its own reading."""

    plan: Plan
    readings: Mapping[str, NoisyReading]


def share(questions: Mapping[str, Question], plans: Mapping[str, Plan], population: Population) -> list[SharedPlan]:
    """Return what is released together, of `plans` of what is asked together; the others are released alone."""
    shared, found = list[SharedPlan](), [*_parts(plans, population), *_sums(questions, plans, population)]
    for one in sorted(found, key=lambda one: -len(one.readings)):
        taken = {name for other in shared for name in other.readings}
        if not taken & set(one.readings):
            shared.append(one)
    return shared


def _parts(plans: Mapping[str, Plan], population: Population) -> list[SharedPlan]:
    """Return the counts and moments of different parts of the same rows, each kind together."""
    kinds: dict[Any, list[str]] = {}
    for name, one in plans.items():
        if one.family is Family.NOISE and isinstance(one.meaning, People | RowCount | Moments | Total):
            kind = (one.meaning, one.aggregate.table, one.aggregate.keys, one.aggregate.bounding)
            kinds.setdefault(kind, []).append(name)
    found = (_parts_of_kind({name: plans[name] for name in names}, population) for names in kinds.values())
    return [one for one in found if one is not None]


def _parts_of_kind(plans: Mapping[str, Plan], population: Population) -> SharedPlan | None:
    if len(plans) == 1:
        return None
    first = next(iter(plans.values()))
    wheres = list(dict.fromkeys(one.aggregate.where for one in plans.values()))
    derived = _together([one.aggregate.derived for one in plans.values()])
    if derived is None or NEVER in wheres:  # nothing is in every part, and the sum of no rows has no mean
        return None
    if len(wheres) == 1:
        return SharedPlan(plan=first, readings=dict.fromkeys(plans, own_reading(first)))
    parts = _sorted_parts(wheres, additive=isinstance(first.meaning, People | RowCount))
    if parts is None:
        return None
    source = _by_part(first, parts, derived, population)
    if source is None:
        return None
    readings = {name: _of_parts(one, parts) for name, one in plans.items()}
    return SharedPlan(plan=source, readings=readings) if _is_better(source, plans, readings) else None


def own_reading(planned: Plan) -> NoisyReading:
    """Return what a plan that is released with noise means by itself."""
    if not isinstance(planned.meaning, NoisyReading):
        raise TypeError(planned.meaning)
    return planned.meaning


def _of_parts(own: Plan, parts: Sequence[Predicate]) -> NoisyReading:
    """Return how a column is read: from its own part, or from all parts that lie within what it asks about."""
    inside = [place for place, part in enumerate(parts, start=1) if within(part, own.aggregate.where)]
    alone = len(inside) == 1
    return PartAlone(inside[0], own, own_reading(own)) if alone else PartsTogether(frozenset(inside))


def _is_better(source: Plan, plans: Mapping[str, Plan], readings: Mapping[str, NoisyReading]) -> bool:
    """Say whether every column has no more noise than it would have for its share of the price.

    Noise of n numbers grows with the root of n. The share of k is k times the scale of Laplace noise, and the root of k
    times that of Gaussian noise.
    """
    moved, k = source.sensitivity, len(plans)
    for name, reading in readings.items():
        n = len(reading.parts) if isinstance(reading, PartsTogether) else 1
        alone = plans[name].sensitivity
        if n * moved.l2_squared > k * alone.l2_squared or n * moved.l1**2 > k**2 * alone.l1**2:
            return False
    return True


def _by_part(
    first: Plan, parts: Sequence[Predicate], derived: Sequence[DerivedColumn], population: Population
) -> Plan | None:
    """Return the plan of the same statistic by the part that a row is in; None where a person may be in several."""
    common = [one for one in conjuncts(parts[0]) if all(one in conjuncts(part) for part in parts)]
    rest = [every(one for one in conjuncts(part) if one not in common) for part in parts]
    table = population.table(first.aggregate.table)
    taken = {column.name.casefold() for column in widened(table, derived, population).columns}
    taken.add(population.person_key(table).casefold())
    name = next(name for i in itertools.count(1) if (name := numbered(PART, i)) not in taken)
    case = CaseResult(
        name=name, branches=tuple(Branch(where, place) for place, where in enumerate(rest, start=1)), otherwise=None
    )
    everything = in_order([*derived, case])
    alone = table.rows is RowsPerPerson.ONE_A_PERSON or name in of_person(everything)
    bounding = first.aggregate.bounding if alone else _of_all_parts(first.aggregate)
    if bounding is None:
        return None
    key = DeclaredKey(column=name, values=tuple(range(1, len(parts) + 1)), missing=False)
    aggregate = replace(
        first.aggregate,
        where=every(common),
        keys=(*first.aggregate.keys, key),
        bounding=bounding,
        derived=everything,
    )
    return _replanned(first, aggregate, population)


def _replanned(first: Plan, aggregate: Aggregate, population: Population) -> Plan | None:
    """Return the plan of an aggregate that means what `first` means; None where it is too large, or could fail.

    It is checked as every plan is, once and before the charge: one statement has the constants of all columns in it and
    their conditions a level deeper, in a case, so that it may be too large where that of each column is not.
    """
    if (aggregate.cell_count or 0) * aggregate.terms > MOST_NUMBERS:
        return None
    try:
        check_total(aggregate, population)
    except BadQuestionError:
        return None
    return replace(first, aggregate=aggregate, sensitivity=sensitivity(aggregate, first.unit))


def _of_all_parts(aggregate: Aggregate) -> Bounding | None:
    """Return a bounding of the rows of all parts together, where that of each part is one of rows."""
    match aggregate.bounding:
        case BoundedRowsPerPerson(max_cells=None):
            return aggregate.bounding
        case BoundedRowsPerPerson() if not aggregate.keys:
            return replace(aggregate.bounding, max_cells=None)
        case ClippedSumPerPerson(term=term, low=0, high=rows) if not aggregate.keys and term == _ONE:
            return rows_of_all_groups(rows)
        case _:
            return None


_ONE = rows_of_all_groups(1).terms[0]


def _together(several: Sequence[Sequence[DerivedColumn]]) -> list[DerivedColumn] | None:
    """Return the derived columns of all, each once; None where one name means two."""
    named: dict[str, DerivedColumn] = {}
    for one in itertools.chain.from_iterable(several):
        if named.setdefault(one.name.casefold(), one) != one:
            return None
    return list(named.values())


def _sorted_parts(wheres: Sequence[Predicate], *, additive: bool) -> list[Predicate] | None:
    """Return conditions such that a row that is in none before is in the next: smaller ones come before larger ones.

    Any two of them are apart, or one lies within the other. Where two overlap, what is in both is added, if parts may
    be `additive`; None where that is not possible.
    """
    sets = list(wheres)
    if len(sets) > _MOST_PARTS or sum(len(to_text(one)) for one in sets) > _LONGEST:
        return None
    for place in itertools.count(1):
        if place == len(sets):
            return _smallest_first(sets)
        for other in sets[:place]:
            one = sets[place]
            if apart(one, other):
                continue
            if not additive:
                return None
            if within(one, other) or within(other, one):
                continue
            both = every([one, other])
            nested = within(both, one) and within(both, other)
            if not nested or within(one, both) or within(other, both) or len(sets) == _MOST_PARTS:
                return None
            if both not in sets:
                sets.append(both)
    raise AssertionError("counting ends where the sets do")


def _smallest_first(sets: Sequence[Predicate]) -> list[Predicate] | None:
    left, ordered = list(sets), list[Predicate]()
    while left:
        least = [
            one
            for one in left
            if not any(within(other, one) and not within(one, other) for other in left if other != one)
        ]
        if not least:
            return None
        ordered += least
        left = [one for one in left if one not in least]
    return ordered


def conjuncts(where: Predicate) -> tuple[Predicate, ...]:
    """Return what must all be true."""
    return where.parts if isinstance(where, AllOf) else (where,)


def apart(one: Predicate, other: Predicate) -> bool:
    """Say whether no row meets both conditions, whatever it holds; in doubt, no."""
    if _plainly_apart(one, other):
        return True
    pairs = [(one, other), (other, one)]
    return any(
        isinstance(part, AnyOf) and all(_plainly_apart(each, rest) for each in part.parts)
        for some, rest in pairs
        for part in conjuncts(some)
    )


def _plainly_apart(one: Predicate, other: Predicate) -> bool:
    """Say whether both together fold to never, or somebody who has such rows is said to lack them."""
    spend(_STEPS)
    if every([one, other]) == NEVER:
        return True
    return any(_excludes(a, b) or _excludes(b, a) for a, b in itertools.product(conjuncts(one), conjuncts(other)))


def _excludes(one: Predicate, other: Predicate) -> bool:
    """Say whether somebody who has such rows is said to lack them."""
    match one, other:
        case HasRows(at_least=n), LacksRows(at_least=fewer):
            same = (one.table, one.where, one.derived) == (other.table, other.where, other.derived)
            return same and n >= fewer
        case _:
            return False


def within(one: Predicate, other: Predicate) -> bool:
    """Say whether a row that meets the one condition meets the other, whatever it holds; in doubt, no."""
    spend(_STEPS)
    if other == ALWAYS or every([one, other]) == one:
        return True
    match other:
        case AllOf(parts):
            return all(within(one, part) for part in parts)
        case AnyOf(parts):
            return any(within(one, part) for part in parts)
        case _:
            return False


def _sums(questions: Mapping[str, Question], plans: Mapping[str, Plan], population: Population) -> list[SharedPlan]:
    """Return the mean, variance, total and number of the same rows, for each value that two of them are asked of."""
    values: dict[Any, list[str]] = {}
    for name, asked in questions.items():
        value = _value_of(asked)
        if value is not None and name in plans:
            values.setdefault((shape(value), _rows_of(asked)), []).append(name)
    shared = []
    counts = {name: one for name, one in plans.items() if isinstance(one.meaning, People | RowCount)}
    for names in values.values():
        asked = questions[names[0]]
        spread = any(
            isinstance(plans[name].meaning, Moments) and _moment(plans[name]) is Moment.VARIANCE for name in names
        )
        source = _source(asked, Moment.VARIANCE if spread else Moment.MEAN, [plans[name] for name in names], population)
        if source is None:
            continue
        readings = {name: _of_sums(plans[name], source) for name in names}
        present = _present(source, population)
        readings |= {name: RowsOfSums() for name, one in counts.items() if _same_rows(one, source, present, population)}
        whole = [name for name, one in counts.items() if _same_rows(one, source, (), population)] if present else []
        filled = _with_missing(source, present, population) if whole else None
        if filled is not None:
            parts = {name: PartAlone(1, source, one) for name, one in readings.items()}
            readings, source = parts | dict.fromkeys(whole, RowsOfAll()), filled
        if len(readings) > 1:
            shared.append(SharedPlan(plan=source, readings=readings))
            counts = {name: one for name, one in counts.items() if name not in readings}
    return shared


def _value_of(asked: Question) -> object | None:
    """Return the one value whose mean, variance or total is asked."""
    match asked:
        case MomentQuestion(moment=Moment.MEAN | Moment.VARIANCE, values=(value,)) | Sum(value=value):
            return value
        case _:
            return None


def _rows_of(asked: Question) -> object:
    return shape(tuple(getattr(asked, field.name) for field in fields(Question)))


def _moment(planned: Plan) -> Moment | None:
    return planned.meaning.moment if isinstance(planned.meaning, Moments) else None


def _source(asked: Question, moment: Moment, plans: Iterable[Plan], population: Population) -> Plan | None:
    """Return the plan of the sums that give a moment: one of those that are there, or for totals alone a new one."""
    there = next((one for one in plans if _moment(one) is moment), None)
    if there is not None:
        return there
    common = {field.name: getattr(asked, field.name) for field in fields(Question)}
    value = _value_of(asked)
    try:
        return plan(MomentQuestion(**common, moment=moment, values=(value,)), population)  # type: ignore[arg-type]
    except BadQuestionError:
        return None


def _of_sums(own: Plan, source: Plan) -> NoisyReading:
    """Return how a column is read from the sums of `source`, of a degree that is enough for its moment."""
    if not isinstance(source.meaning, Moments):
        raise TypeError(source.meaning)
    moment = _moment(own)
    return TotalOfSums() if moment is None else replace(source.meaning, moment=moment)


def _present(source: Plan, population: Population) -> tuple[Predicate, ...]:
    """Return that the columns whose sums are released are there, of those that may be missing."""
    table = widened(population.table(source.aggregate.table), source.aggregate.derived, population)
    read = {name for term in source.bounded_by(BoundedRowsPerPerson).terms for name in columns(term)}
    return tuple(IsPresent(column=name) for name in sorted(read) if table.column(name).nullable)


def _with_missing(source: Plan, present: Sequence[Predicate], population: Population) -> Plan | None:
    """Return the plan of the same sums by whether the value is there; a missing one is put at the lowest.

    None where the value is more than a column as it is declared, or only the data knows the groups.
    """
    known, where = every([source.aggregate.where, *present]), source.aggregate.where
    if len(present) != 1 or known in (NEVER, where) or source.aggregate.cell_count is None:
        return None
    filled = _filled(source, population)
    return None if filled is None else _by_part(filled, [known, where], filled.aggregate.derived, population)


def _filled(source: Plan, population: Population) -> Plan | None:
    """Return the plan of the sums of a column with its lowest value in the place of what is missing."""
    bounded, table = source.bounded_by(BoundedRowsPerPerson), population.table(source.aggregate.table)
    sums = source.meaning
    if not isinstance(sums, Moments) or (values := sums.of_columns(bounded)) is None:
        return None
    (value,), (scale,), own = values, sums.scales, {column.name: column for column in table.columns}
    on_grid = value.term if isinstance(value, Rounded) else value
    if not isinstance(on_grid, OnGrid):
        return None
    lowest, column = scale.low * 2**on_grid.bits, own.get(on_grid.column)
    if column is None or not _is_as_declared(on_grid, column) or lowest.denominator != 1 or abs(lowest) >= MOST_GRID:
        return None
    low = int(lowest)
    gap = Filled(name="", column=on_grid.column, otherwise=low, bits=on_grid.bits)
    taken = {*map(str.casefold, own), population.person_key(table).casefold()}
    named = named_apart(gap, taken, {one.name.casefold(): one for one in source.aggregate.derived})
    wide = replace(on_grid, column=named.name, low=min(low, on_grid.low), high=max(low, on_grid.high))
    term = replace(value, term=wide) if isinstance(value, Rounded) else wide
    if bounds(term) != bounds(value):
        return None
    aggregate = replace(
        source.aggregate,
        bounding=replace(bounded, terms=sums.sums([term], bounded.most)),
        derived=in_order([*source.aggregate.derived, named]),
    )
    return replace(source, aggregate=aggregate)


def _is_as_declared(value: OnGrid, column: Column) -> bool:
    """Say whether a value is a column within its declared bounds; one that has none, or too wide ones, was clipped."""
    try:
        return declared(column).term == value
    except BadQuestionError:
        return False


def _same_rows(counted: Plan, source: Plan, present: Sequence[Predicate], population: Population) -> bool:
    """Say whether a count is that of the rows whose sums are released, or with none `present`, of these and the others.

    Of a column that may be missing, rows without it are not added up.
    """
    one, other = counted.aggregate, source.aggregate
    if one.table != other.table or one.keys != other.keys:
        return False
    table, bounding = population.table(other.table), source.bounded_by(BoundedRowsPerPerson)
    if one.where != every([other.where, *present]):
        return False
    match one.bounding:
        case CountPerPerson():
            return table.rows is RowsPerPerson.ONE_A_PERSON
        case ClippedSumPerPerson(high=rows, max_cells=cells):
            return (rows, cells) == (bounding.max_rows, bounding.max_cells)
        case BoundedRowsPerPerson(max_rows=rows, max_cells=cells):
            return (rows, cells) == (bounding.max_rows, bounding.max_cells)
        case _:
            return False
