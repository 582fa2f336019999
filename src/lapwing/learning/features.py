"""Columns as whole numbers that a network reads: scaled by what is declared, never by what the data holds.

A number is moved from its declared bounds to -1 ... 1. Where it may be missing it is 0 then, and one more input says
so. Of declared values and bins each is an input of its own, 1 or 0; truth is one, 1 or -1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BinnedKey,
    BoundedRowsPerPerson,
    DeclaredKey,
    KeyOfColumn,
    PrivateKey,
)
from lapwing.queries.algebra.derived import Branch, CaseResult, Filled
from lapwing.queries.algebra.predicate import InIntervals, InTexts, IsPresent, Predicate, atom
from lapwing.queries.algebra.term import ConstantTerm, OnGrid, Term, bounds, columns, plus, times
from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, INTEGERS, TRUTHS, double_at
from lapwing.queries.catalogue.domains import day as to_day
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.queries.language.builders import ConditionLike, Grouping, Groupings, as_condition, as_groups
from lapwing.queries.language.expressions import By, Condition, Name, Value
from lapwing.queries.language.speller import written
from lapwing.queries.planning.measure import Measure, measure
from lapwing.queries.planning.plan import Plan
from lapwing.queries.planning.planner import Planner, Question, plan
from lapwing.queries.planning.scope import Scope
from lapwing.queries.statistics.counts import People
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import Call

Integers: TypeAlias = NDArray[np.int64]
Features: TypeAlias = Groupings | Mapping[str, Grouping]
"""What a model is learned from: columns, bins and conditions, as they are called or under names of one's own."""

ONE: Final = 1 << 10
"""An input of 1, in steps of the grid of inputs."""
MOST_FEATURES: Final = 200
MOST_INPUTS: Final = 4096
MOST_VALUES: Final = 500
OTHER: Final = "other or missing"


@frozen()
class NumberInput:
    """A number: read as steps above its lower bound, `step` apart, `extent` of them.

    Where it may be missing it is read as one more, and as 0 for none.
    """

    name: str
    low: Fraction
    step: Fraction
    extent: int
    nullable: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        """What its inputs are called."""
        return (self.name, f"{self.name} is missing") if self.nullable else (self.name,)

    def encode(self, codes: Integers) -> Integers:
        """Return its inputs, from what was read: ONE is the upper bound, -ONE the lower."""
        steps = codes - self.nullable
        missing = steps < 0
        place = np.where(missing, 0, (2 * steps - self.extent) * ONE // self.extent)
        return np.stack([place, missing * np.int64(ONE)], 1) if self.nullable else place[:, None]

    def code(self, values: Sequence[Any]) -> Integers:
        """Return values of people who are not in the data as they would be read."""
        known = [value is not None and value == value for value in values]  # noqa: PLR0124 - NaN is missing
        if not self.nullable and not all(known):
            raise BadQuestionError(f"{self.name!r} is missing somewhere, and was declared to be there always")
        try:
            steps = [
                round((Fraction(value) - self.low) / self.step) if there else -1
                for value, there in zip(values, known, strict=True)
            ]
        except (TypeError, ValueError, OverflowError):
            raise BadQuestionError(f"{self.name!r} is a number, and one of the values given is none") from None
        bounded = [min(max(one, 0), self.extent) if there else -1 for one, there in zip(steps, known, strict=True)]
        return np.array(bounded, np.int64) + self.nullable

    def value(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of -1 ... 1 in the unit of the column."""
        return float(self.low) + (place + 1) / 2 * float(self.extent * self.step)


@frozen()
class CodedInput:
    """Declared values, bins or truth: read as the place of the value, and as the number of them for all else.

    Truth is one input, 1 or -1; of all others each value is one. What is none of them has 0 in all, and where it may be
    missing one more input that says so.
    """

    name: str
    labels: tuple[Any, ...]
    nullable: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        """What its inputs are called."""
        own = (self.name,) if self._is_truth else tuple(f"{self.name} = {_shown(label)}" for label in self.labels)
        return (*own, f"{self.name} {OTHER}") if self.nullable else own

    @property
    def _is_truth(self) -> bool:
        return self.labels == (False, True) and isinstance(self.labels[0], bool)

    def encode(self, codes: Integers) -> Integers:
        """Return its inputs."""
        each = (codes[:, None] == np.arange(len(self.labels) + self.nullable)) * np.int64(ONE)
        return np.hstack([each[:, 1:2] - each[:, :1], each[:, 2:]]) if self._is_truth else each

    def code(self, values: Sequence[Any]) -> Integers:
        """Return values of people who are not in the data as they would be read."""
        return np.array([self._place(value) for value in values], np.int64)

    def _place(self, value: Any) -> int:
        plain = value.item() if hasattr(value, "item") else value
        for place, label in enumerate(self.labels):
            if isinstance(label, tuple):
                held = plain if not isinstance(label[0], str) else str(plain)
                if plain is not None and label[0] <= held <= label[1]:
                    return place
            elif plain == label and isinstance(plain, bool) == isinstance(label, bool):
                return place
        return len(self.labels)


def _shown(label: Any) -> str:
    return f"{label[0]} to {label[1]}" if isinstance(label, tuple) else str(label)


Input: TypeAlias = NumberInput | CodedInput


@frozen()
class FeaturePlan:
    """What is read of each person: an aggregate whose terms are the features, and last the target."""

    table: str
    features: tuple[Input, ...]
    target: Input
    aggregate: Aggregate
    canonical: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the inputs of the network are called; the last is always 1."""
        return (*(name for one in self.features for name in one.inputs), "1")

    def encode(self, codes: Integers) -> NDArray[Any]:
        """Return the inputs of each person who has a target, and the target as the last column.

        All of them are small, and there may be millions of people: 16 bits are enough.
        """
        goal = self.target
        if isinstance(goal, NumberInput):
            kept = codes[codes[:, -1] >= goal.nullable]
            aims = goal.encode(kept[:, -1])[:, :1]
        else:
            kept = codes[codes[:, -1] < len(goal.labels)]
            aims = kept[:, -1:]
        return np.hstack([self.encode_features(kept[:, :-1]).astype(np.int16), aims.astype(np.int16)])

    def encode_features(self, codes: Integers) -> Integers:
        """Return the inputs from the codes of the features, with the constant one."""
        parts = [one.encode(codes[:, place]) for place, one in enumerate(self.features)]
        return np.hstack([*parts, np.full((len(codes), 1), ONE, np.int64)])


@frozen(repr=False, eq=False)
class PeopleToLearnFrom(Question):
    """One row of whole numbers for each person: the features, and the target."""

    features: tuple[By, ...]
    target: By
    read: list[Input]

    def plan(self, planner: Planner) -> Plan:
        """Let one row of a person count."""
        found = [_read(by, planner) for by in (*self.features, self.target)]
        self.read.extend(one for one, _ in found)
        terms = tuple(term for _, term in found)
        most = sum(bounds(term)[1] for term in terms)
        bounding = BoundedRowsPerPerson(terms=terms, most=most, max_rows=1, max_cells=None)
        return planner.build(bounding, People())


def plan_features(
    table: str, features: Features, target: Grouping, population: Population, where: ConditionLike = None
) -> FeaturePlan:
    """Return what is read of each person, from what is declared; refuse what has no bounds or values."""
    known = population.table(table)
    if known.rows is not RowsPerPerson.ONE_A_PERSON:
        raise BadQuestionError(
            f"{known.name} has many rows a person, and a model is trained on people; train on a table with one row a "
            f"person, where what is in {known.name} may be a feature: ",
            Call("has", (known.name, ...)),
        )
    if isinstance(features, str | Value | Condition | By):
        features = [features]
    given = list(features.values()) if isinstance(features, Mapping) else list(features or [])
    if not given:
        raise BadQuestionError("no feature is named; name at least one, such as features=['age', 'sex']")
    check_most("features", len(given), MOST_FEATURES, "train on fewer")
    groups, (goal,) = as_groups(given), as_groups([target])
    read: list[Input] = []
    question = PeopleToLearnFrom(table=known.name, where=as_condition(where), features=groups, target=goal, read=read)
    planned = plan(question, population)
    (*inputs, last) = read
    if isinstance(features, Mapping):
        inputs = [replace(one, name=str(name)) for name, one in zip(features, inputs, strict=True)]
    names = [one.name for one in inputs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadQuestionError(f"{twice[0]!r} is there twice; name each feature once")
    if last.name in names:
        raise BadQuestionError(f"{last.name!r} is the target, and cannot be a feature; leave it out of the features")
    made = FeaturePlan(
        table=known.name,
        features=tuple(inputs),
        target=last,
        aggregate=planned.aggregate,
        canonical=planned.canonical,
    )
    check_most("inputs of the network", len(made.inputs), MOST_INPUTS, "name fewer features, or wider bins")
    return made


def _read(by: By, planner: Planner) -> tuple[Input, Term]:
    """Return a feature, and the whole number that is read for it, which is never negative."""
    scope = planner.scope
    value = scope.spelled(by.column)
    if by.edges is None and _is_number(value, scope):
        return _number(value, scope)
    return _coded(planner.key(by), planner, by)


def _is_number(value: Value, scope: Scope) -> bool:
    if not isinstance(value, Name):
        try:
            return not isinstance(scope.column(value).type, Boolean | Category)
        except BadQuestionError:
            return True  # arithmetic is no column, and is measured
    match scope.column(value).type:
        case Integer() | Real():
            return True
        case Category() | Boolean():
            return False
        case Text():
            raise BadQuestionError(
                f"{scope.column(value).name!r} holds any text, so its values would be read from the data; let the "
                "custodian declare its categories"
            )
        case Date():
            name = scope.column(value).written
            raise BadQuestionError(f"{name} holds days; a feature is a number, such as ", Call("age", (name,)))


def _number(value: Value, scope: Scope) -> tuple[NumberInput, Term]:
    """Return a number above its lower bound; where it may be missing, one more than that, and 0 for none."""
    found = measure(value, scope)
    low, high = bounds(found.term)
    if low == high:
        raise BadQuestionError(f"{written(value)} is always {low * found.step}; there is nothing to learn from it")
    used = [scope.row.column(name) for name in sorted(columns(found.term))]
    name = used[0].name if isinstance(value, Name) else _called(value)
    nullable = any(column.nullable for column in used)
    made = NumberInput(name=name, low=low * found.step, step=found.step, extent=high - low, nullable=nullable)
    above = plus(found.term, ConstantTerm(-low))
    return made, _or_missing(value, found, scope) if nullable else above


def _or_missing(value: Value, found: Measure, scope: Scope) -> Term:
    """Return 1 and the steps above the lower bound, or 0 where the value is missing."""
    low, high = bounds(found.term)
    column = scope.column(value)
    filled = scope.add(Filled(name="", column=column.name, otherwise=low, bits=found.bits))
    known = CaseResult(name="", branches=(Branch(IsPresent(column=column.name), 1),), otherwise=0)
    there = OnGrid(column=scope.add(known).name, bits=0, low=0, high=1)
    return times(plus(OnGrid(column=filled.name, bits=found.bits, low=low, high=high), ConstantTerm(1 - low)), there)


def _coded(key: KeyOfColumn, planner: Planner, by: By) -> tuple[CodedInput, Term]:
    """Return the place of a declared value or a bin, and the number of them for all else and for none."""
    if isinstance(key, PrivateKey):
        raise BadQuestionError(
            f"{key.column!r} has no declared values, so they would be read from the data; let the custodian declare "
            "them, or name bins: ",
            Call("bins", (key.column, [0, 18, 65])),
        )
    labels: tuple[Any, ...] = key.bins if isinstance(key, BinnedKey) else key.values
    check_most(f"values of {key.column!r}", len(labels), MOST_VALUES, "name wider bins, or leave it out")
    branches = tuple(Branch(_holds(key, label), place) for place, label in enumerate(labels))
    column = planner.scope.add(CaseResult(name="", branches=branches, otherwise=len(labels)))
    value = planner.scope.spelled(by.column)
    own = isinstance(value, Name) and by.edges is None
    name = key.column if own else _called(by)
    made = CodedInput(name=name, labels=_public_labels(key), nullable=key.missing)
    return made, OnGrid(column=column.name, bits=0, low=0, high=len(labels))


def _public_labels(key: DeclaredKey | BinnedKey) -> tuple[Any, ...]:
    """Return what the values or bins are for people who write them: numbers, and days as text."""
    if isinstance(key, DeclaredKey):
        return key.values
    if key.domain == DOUBLES:
        return tuple((double_at(low), double_at(high)) for low, high in key.bins)
    if key.domain == DAYS:
        return tuple((str(to_day(low)), str(to_day(high))) for low, high in key.bins)
    return key.bins


def _called(part: By | Value) -> str:
    """Return a feature as one would write it."""
    text = written(part)
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _holds(key: DeclaredKey | BinnedKey, label: Any) -> Predicate:
    if isinstance(key, BinnedKey):
        return atom(InIntervals(column=key.column, domain=key.domain, intervals=(label,)))
    if isinstance(label, str):
        return atom(InTexts(column=key.column, texts=(label,)))
    domain = TRUTHS if isinstance(label, bool) else INTEGERS
    return atom(InIntervals(column=key.column, domain=domain, intervals=((int(label), int(label)),)))
