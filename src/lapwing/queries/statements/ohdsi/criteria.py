"""Criteria of a cohort definition as conditions about rows: what an event is, and which other events are around it.

An index event is a row called by an alias, and other events are rows of the same person that are compared with it. Ages
are differences of years, an event without an end lasts a day, and events outside of the observation period of the
person do not count: as Circe, which gives such definitions their meaning, has it.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Final, TypeAlias

from lapwing.queries.catalogue.public_tables import ConceptExpression
from lapwing.queries.language.expressions import (
    And,
    Applied,
    Arithmetic,
    Compare,
    Condition,
    Days,
    Literal,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    Truth,
    Value,
    value,
)
from lapwing.queries.language.joined import Has, InConcepts, PerPerson
from lapwing.queries.statements.ohdsi.events import KINDS, OF_PERSON, EventKind, JsonPart
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

ALWAYS, NEVER = And(()), Truth(Literal(value=False))
_COMPARISONS: Final = {"lt": "<", "lte": "<=", "eq": "=", "gt": ">", "gte": ">="}
_MOST_OF_GROUP: Final = 8
_FIRST: Final = "f"
_VISIT: Final = "visit_occurrence_id"
Comparing: TypeAlias = Callable[[str, Value], Condition]
_EXACTLY, _AT_MOST, _AT_LEAST = 0, 1, 2
_WINDOWS: Final = {"StartWindow": False, "EndWindow": True}
"""The windows of a criterion, and whether they are about the end of an event if nothing is said."""


@frozen(kw_only=False)
class EventRow:
    """A row of the table of a kind of event, under an alias."""

    kind: EventKind
    alias: str

    def column(self, name: str) -> Name:
        """Return a column of the row."""
        return Name(name, self.alias)

    @property
    def start(self) -> Name:
        """The day on which it starts."""
        return self.column(self.kind.start)

    def compare(self, operator: str, other: Value, *, end: bool) -> Condition:
        """Compare the day on which it starts, or ends, with another day."""
        if not end:
            return Compare(operator, self.start, other)
        next_day = Compare(operator, Arithmetic("+", self.start, Days(1)), other)
        if self.kind.end is None:
            return next_day
        ends = self.column(self.kind.end)
        return Or((Compare(operator, ends, other), And((Missing(ends), next_day))))

    @property
    def ends(self) -> list[tuple[Condition, Value]]:
        """The day on which it ends, with when it is this one: without an end it is the day after its start."""
        next_day = Arithmetic("+", self.start, Days(1))
        if self.kind.end is None:
            return [(ALWAYS, next_day)]
        ends = self.column(self.kind.end)
        return [(Not(Missing(ends)), ends), (Missing(ends), next_day)]


class CriteriaReader:
    """Reads criteria; `sets` are the concept sets of the definition, by their numbers.

    `about_people` says whether the rows that are asked about are people, who have events, and not the events.
    """

    def __init__(self, sets: Mapping[int, ConceptExpression], *, about_people: bool) -> None:
        self.sets, self.about_people = sets, about_people

    def event(self, part: JsonPart, alias: str) -> tuple[EventRow, Condition]:
        """Return the row that a criterion is about, and what it says about it."""
        name, inner = part.only_entry()
        if name not in KINDS:
            known = ", ".join(KINDS)
            raise BadQuestionError(f"{part.place} is about {name}, which is not read here; there are {known}")
        event = EventRow(KINDS[name], alias)
        with inner.read():
            said = self._about(inner, event)
        return event, And(tuple(said))

    def _about(self, part: JsonPart, event: EventRow) -> list[Condition]:
        kind = event.kind
        said = [self._codes(part, "CodesetId", event.column(kind.concept)), *self._days(part, event)]
        if part.take("First"):
            said.append(self.first(event, self._codes(part, "CodesetId", Name(kind.concept, _FIRST))))
        for attribute, column in kind.numbers.items():
            if (ranged := part.part(attribute)) is not None:
                of = event.column(column)
                said.append(_in_range(ranged, lambda op, number, of=of: Compare(op, of, number)))  # type: ignore[misc]
        for attribute, column in kind.concepts.items():
            said += self._listed(part, attribute, event.column(column))
        for attribute, column in kind.sources.items():
            said.append(self._codes(part, attribute, event.column(column)))
        said += self.of_person(part)
        if (group := part.part("CorrelatedCriteria")) is not None:
            said.append(self.group(group, event))
        return said

    def _days(self, part: JsonPart, event: EventRow) -> list[Condition]:
        """Return what is said about the start, the end and the length of an event, and about the age at its start."""
        kind, said = event.kind, list[Condition]()
        if (started := part.part(kind.starts)) is not None:
            said.append(_in_range(started, lambda op, day: event.compare(op, day, end=False)))
        if (ended := part.part(kind.ends)) is not None:
            said.append(_in_range(ended, lambda op, day: event.compare(op, day, end=True)))
        if (aged := part.part(kind.ages)) is not None:
            said.append(self._age(aged, event))
        if kind.lengths and kind.end and (long := part.part(kind.lengths)) is not None:
            length = Arithmetic("-", event.column(kind.end), event.start)
            said.append(_in_range(long, lambda op, number: Compare(op, length, number)))
        return said

    def first(self, event: EventRow, such: Condition, *, last: bool = False) -> Condition:
        """Say that an event is on the first day, or the last, of those of its person for which `such` is true."""
        function = "last" if last else "first"
        start = Name(event.kind.start, _FIRST)
        return Compare("=", event.start, PerPerson(function, event.kind.table, start, such, _FIRST))

    def of_person(self, part: JsonPart) -> list[Condition]:
        """Return what is said about the person of an event."""
        table = None if self.about_people else "person"
        said = [
            condition
            for attribute, column in OF_PERSON.items()
            for condition in self._listed(part, attribute, Name(column, table))
        ]
        return [Has("person", one) for one in said] if self.about_people else said

    def _age(self, part: JsonPart, event: EventRow) -> Condition:
        years = Arithmetic("-", Applied("year", event.start), self._own("year_of_birth", "person"))
        return _in_range(part, lambda op, number: Compare(op, years, number))

    def _codes(self, part: JsonPart, name: str, column: Value) -> Condition:
        """Return that a column holds a concept of the set that an entry names by its number."""
        number = part.whole(name)
        if number is None:
            return ALWAYS
        if number not in self.sets:
            raise BadQuestionError(f"{part.place}.{name} names the concept set {number}, which is not in ConceptSets")
        chosen = self.sets[number]
        return InConcepts(column, chosen) if chosen.included else NEVER

    def _listed(self, part: JsonPart, attribute: str, column: Value) -> list[Condition]:
        """Return what an attribute that lists concepts, or names a set of them, says about a column."""
        said: list[Condition] = []
        concepts = part.parts(attribute)
        if concepts:
            ids = []
            for one in concepts:
                number = one.whole("CONCEPT_ID")
                if number is None:
                    raise BadQuestionError(f"{one.place} has no CONCEPT_ID; name a concept")
                ids.append(Literal(number))
            listed = OneOf(column, tuple(ids))
            said.append(Not(listed) if part.take(f"{attribute}Exclude") else listed)
        if (chosen := part.part(f"{attribute}CS")) is not None:
            with chosen.read():
                codes = self._codes(chosen, "CodesetId", column)
                said.append(Not(codes) if chosen.take("IsExclusion") else codes)
        return said

    def group(self, part: JsonPart, index: EventRow) -> Condition:
        """Return what a group of criteria says about the events around an index event."""
        with part.read():
            kind, count = str(part.take("Type", "ALL")).upper(), part.whole("Count", 0) or 0
            said = [self._correlated(one, index) for one in part.parts("CriteriaList")]
            said += [self._demographic(one, index) for one in part.parts("DemographicCriteriaList")]
            said += [self.group(one, index) for one in part.parts("Groups")]
        if not said:
            return ALWAYS
        match kind:
            case "ALL":
                return And(tuple(said))
            case "ANY":
                return Or(tuple(said))
            case "AT_LEAST":
                return self._at_least(count, said, part)
            case "AT_MOST":
                return Not(self._at_least(count + 1, said, part))
            case _:
                raise BadQuestionError(f"{part.place}.Type is {kind!r}; write ALL, ANY, AT_LEAST or AT_MOST")

    def _at_least(self, count: int, said: Sequence[Condition], part: JsonPart) -> Condition:
        if count <= 0 or count > len(said):
            return ALWAYS if count <= 0 else NEVER
        if len(said) > _MOST_OF_GROUP:
            raise BadQuestionError(
                f"{part.place} asks for {count} of {len(said)} criteria; split it into groups of {_MOST_OF_GROUP}"
            )
        return Or(tuple(And(some) for some in itertools.combinations(said, count)))

    def _demographic(self, part: JsonPart, index: EventRow) -> Condition:
        with part.read():
            said = self.of_person(part)
            if (aged := part.part("Age")) is not None:
                said.append(self._age(aged, index))
            if (started := part.part("OccurrenceStartDate")) is not None:
                said.append(_in_range(started, lambda op, day: index.compare(op, day, end=False)))
            if (ended := part.part("OccurrenceEndDate")) is not None:
                said.append(_in_range(ended, lambda op, day: index.compare(op, day, end=True)))
        return And(tuple(said))

    def _correlated(self, part: JsonPart, index: EventRow) -> Condition:
        """Return that a person has a number of events of a kind around an index event."""
        windows = [window for name in _WINDOWS if (window := part.part(name)) is not None]
        if not any(window.take("UseIndexEnd") for window in windows):
            return self._around(part, index, index.start)
        ways = [And((when, self._around(part, index, end))) for when, end in index.ends]
        return ways[0] if len(ways) == 1 else Or(tuple(ways))

    def _around(self, part: JsonPart, index: EventRow, index_end: Value) -> Condition:
        with part.read():
            criteria = part.part("Criteria")
            if criteria is None:
                raise BadQuestionError(f"{part.place} has no Criteria; say which events are meant")
            event, about = self.event(criteria, f"{index.alias}x")
            said = [about]
            if not part.take("IgnoreObservationPeriod"):
                said += self.observed(event.start, event.start)
            for name, ends_by_default in _WINDOWS.items():
                if (window := part.part(name)) is not None:
                    said += self._window(window, event, (index.start, index_end), ends_by_default=ends_by_default)
            if part.take("RestrictVisit"):
                said.append(Compare("=", event.column(_VISIT), index.column(_VISIT)))
            occurrence = part.part("Occurrence")
            kind, count = (_AT_LEAST, 1) if occurrence is None else self._occurrence(occurrence)

        def at_least(times: int) -> Condition:
            return Has(event.kind.table, And(tuple(said)), times, event.alias) if times > 0 else ALWAYS

        if kind == _AT_LEAST:
            return at_least(count)
        at_most = Not(at_least(count + 1))
        return at_most if kind == _AT_MOST else And((at_least(count), at_most))

    def observed(self, first: Value, last: Value) -> list[Condition]:
        """Return that both days are within the observation period of the person."""
        begins, ends = (self._own(f"observation_period_{end}_date", "observation_period") for end in ("start", "end"))
        return [Compare(">=", first, begins), Compare("<=", last, ends)]

    def _own(self, column: str, table: str) -> Value:
        """Return what the person of an event has in a table with one row a person."""
        if self.about_people:  # whose table is around the event then, so that a name would mean its row
            return PerPerson("first", table, Name(column))
        return Name(column, table)

    def _occurrence(self, part: JsonPart) -> tuple[int, int]:
        with part.read():
            kind, count = part.whole("Type", _AT_LEAST), part.whole("Count", 1)
            distinct, column = part.take("IsDistinct"), part.take("CountColumn")
            if distinct and (count or 0) + (kind != _AT_LEAST) > 1:
                what = column or "DOMAIN_CONCEPT"
                part.remarks.refuse(f"{part.place}.IsDistinct (different values of {what}: rows are counted)")
        if kind not in (_EXACTLY, _AT_MOST, _AT_LEAST) or count is None or count < 0:
            raise BadQuestionError(f"{part.place} is no number of times; write a Type of 0, 1 or 2, and a Count")
        return kind, count

    def _window(
        self, part: JsonPart, event: EventRow, index: tuple[Value, Value], *, ends_by_default: bool
    ) -> list[Condition]:
        """Return that the start, or the end, of an event is in a window around that of the index event."""
        with part.read():
            of_end = bool(part.take("UseEventEnd", ends_by_default))
            around = index[bool(part.take("UseIndexEnd"))]
            said = []
            for name, operator in (("Start", ">="), ("End", "<=")):
                if (edge := part.part(name)) is None:
                    continue
                with edge.read():
                    days, sign = edge.whole("Days"), edge.whole("Coeff", 1)
                if days is not None:
                    said.append(event.compare(operator, later(around, days * (sign or 1)), end=of_end))
                elif (name == "Start") is (sign == 1):
                    part.remarks.refuse(f"{edge.place} (no days before its beginning, or after its end)")
        return said


def later(day: Value, days: int) -> Value:
    """Return a day some days later."""
    return Arithmetic("+", day, Days(days)) if days else day


def _in_range(part: JsonPart, compare: Comparing) -> Condition:
    """Return that a value is in a range of numbers or days."""
    with part.read():
        operator, low, high = str(part.take("Op", "")), part.take("Value"), part.take("Extent")
        if operator.endswith("bt"):
            inside = And((compare(">=", _constant(part, low)), compare("<=", _constant(part, high))))
            return Not(inside) if operator.startswith("!") else inside
        plain = operator.removeprefix("!")
        if plain not in _COMPARISONS:
            raise BadQuestionError(f"{part.place}.Op is {operator!r}; write lt, lte, eq, gt, gte, bt, or ! before it")
        found = compare(_COMPARISONS[plain], _constant(part, low))
        return Not(found) if operator.startswith("!") else found


def _constant(part: JsonPart, given: object) -> Value:
    """Return a number, or a day, which JSON has as text."""
    if isinstance(given, str):
        try:
            return Literal(date.fromisoformat(given[:10]))
        except ValueError:
            raise BadQuestionError(f"{part.place} names {given!r}; write a day such as 2015-12-31") from None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise BadQuestionError(f"{part.place} names {given!r}; write a number or a day")
    return value(given if isinstance(given, int) else Fraction(str(given)))
