"""A whole cohort definition as a funnel: who has an entry event, and who passes one inclusion rule after the other.

All rules are about the same entry event. A person is in the cohort if one of their entry events passes them all, and
the limits of the definition (the first event only, the last, all) say which events may. When people leave the cohort
again is not asked: people are counted who enter it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from lapwing.queries.catalogue.public_tables import ConceptExpression, ConceptItem
from lapwing.queries.language.expressions import And, Compare, Condition, Missing, Name, Or
from lapwing.queries.language.joined import Has, PerPerson
from lapwing.queries.limits import MOST_NODES
from lapwing.queries.statements.ohdsi.criteria import ALWAYS, CriteriaReader, EventRow, later
from lapwing.queries.statements.ohdsi.events import JsonPart, Remarks, load
from lapwing.queries.statistics.counts import CountPeople
from lapwing.queries.statistics.funnel import Funnel
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most
from lapwing.vocabulary.frozen import frozen

_ENTRY = "entry event"
_MOST_PARTS = 10 * MOST_NODES  # of all rules about all events that let people in: counted while they are read
_LATER = ("EndStrategy", "CensoringCriteria", "CollapseSettings")
"""What says when people leave the cohort."""
Entries: TypeAlias = list[tuple[EventRow, Condition]]
"""An event of each primary criterion, and what is said about it."""


@frozen()
class CohortDefinition:
    """A cohort definition as conditions, with what of it is read differently or not at all.

    Attributes
    ----------
    title : what it is called
    table, alias : the rows that the conditions are about, and what they call a row
    steps : the conditions by their names: the entry event, and one inclusion rule after the other
    unsupported : what the definition uses and lapwing leaves out; none where it is read as a whole
    notes : what is read a little differently
    """

    title: str
    table: str
    alias: str
    steps: Mapping[str, Condition]
    unsupported: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def funnel(self, *, anyway: bool = False) -> Funnel:
        """Ask how many people have an entry event, and pass one rule after the other, at the price of one count.

        What is not supported is refused, with a list of it; `anyway` asks without it.
        """
        self._require_whole(anyway=anyway)
        names = tuple(self.steps)
        return Funnel(table=self.table, alias=self.alias, steps=tuple(self.steps.values()), names=names)

    def count(self, *, anyway: bool = False) -> CountPeople:
        """Ask how many people are in the cohort."""
        self._require_whole(anyway=anyway)
        steps = tuple(self.steps.values())
        where = steps[-1] if self.table == "person" else And(steps)  # about people each step has those before it in it
        return CountPeople(table=self.table, alias=self.alias, where=where)

    def _require_whole(self, *, anyway: bool) -> None:
        if self.unsupported and not anyway:
            raise BadQuestionError(
                f"the definition uses what is not supported: {'; '.join(self.unsupported)}. Take it out of the "
                "definition, or ask without it on purpose: funnel(anyway=True), at the command line --anyway"
            )

    def __str__(self) -> str:
        lines = [self.title, *(f"  {i}. {name}" for i, name in enumerate(self.steps, start=1))]
        lines += [f"not supported: {one}" for one in self.unsupported] + [f"mind: {one}" for one in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        left_out = f", {len(self.unsupported)} not supported" if self.unsupported else ""
        return f"<cohort definition {self.title!r}: {len(self.steps)} steps{left_out}>"


def cohort_definition(definition: str | Path | Mapping[str, Any]) -> CohortDefinition:
    """Read a cohort definition of OHDSI, as ATLAS writes it: a JSON file, or what is in it.

    The tables and columns are those of OMOP, under their own names. Concept sets with descendants need the vocabulary
    concept_ancestor; criteria need observation_period and person with one row a person.

    >>> read = cohort_definition({
    ...     "ConceptSets": [{"id": 0, "expression": {"items": [{"concept": {"CONCEPT_ID": 381316}}]}}],
    ...     "PrimaryCriteria": {"CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0}}]},
    ... })
    >>> read
    <cohort definition 'a cohort': 1 steps>
    >>> read.table, list(read.steps)
    ('condition_occurrence', ['entry event'])
    """
    remarks = Remarks()
    top = JsonPart("definition", load(definition), remarks)
    with top.read():
        read = _Definition(top).read()
    return replace(read, unsupported=tuple(remarks.unsupported), notes=tuple(remarks.notes))


class _Definition:
    """One definition on its way to conditions."""

    def __init__(self, top: JsonPart) -> None:
        self.top, self.remarks = top, top.remarks
        primary = top.part("PrimaryCriteria")
        if primary is None:
            raise BadQuestionError("the definition has no PrimaryCriteria; say which events let people in")
        self.primary = primary
        sets = dict(map(_concept_set, top.parts("ConceptSets")))
        self.criteria = CriteriaReader(sets, about_people=len(primary.parts("CriteriaList")) > 1)

    def read(self) -> CohortDefinition:
        top, remarks = self.top, self.remarks
        top.take("cdmVersionRange")
        top.take("ExpressionLimit")  # which of the events that pass is kept: whoever has one is counted
        title = str(top.take("Title", "a cohort"))
        left = [name for name in _LATER if top.take(name)]
        if left:
            remarks.note(f"when people leave the cohort ({', '.join(left)}) is not read: who enters it is counted")
        steps = self.steps()
        rows, alias, conditions = self.joined(steps)
        names = _distinct([name for name, _ in steps])
        self.top.take("InclusionRules")
        return CohortDefinition(
            title=title,
            table=rows,
            alias=alias,
            steps=dict(zip(names, conditions, strict=True)),
        )

    def steps(self) -> list[tuple[str, list[Condition]]]:
        """Return for each step its name, and what it says about an event of each primary criterion."""
        with self.primary.read():
            entries = self.entries("e")
            self.events = [event for event, _ in entries]
            if not self.events:
                raise BadQuestionError("PrimaryCriteria has no events; say which events let people in")
            limits = [self.limited(event, "PrimaryCriteriaLimit", self.primary, self.entries) for event in self.events]
            entry: list[Condition] = [And((about, *limit)) for (_, about), limit in zip(entries, limits, strict=True)]
            self.primary.take("PrimaryCriteriaLimit")
        steps, parts = [(_ENTRY, entry)], 0
        additional, qualified = self.top.part("AdditionalCriteria"), self.top.part("QualifiedLimit")
        if additional is not None:
            steps.append(("additional criteria", self.additional(additional)))
        elif qualified is not None:
            qualified.take("Type")
        for i, rule in enumerate(self.top.parts("InclusionRules"), start=1):
            with rule.read():
                rule.take("description")
                name, inner = str(rule.take("name", f"rule {i}")), rule.part("expression")
                told = list[Condition]()
                for event in self.events:
                    told.append(ALWAYS if inner is None else self.criteria.group(inner, event))
                    parts += told[-1].size
                    check_most("parts", parts, _MOST_PARTS)
            steps.append((name, told))
        return steps

    def entries(self, alias: str) -> Entries:
        """Return the events that let people in, as rows called `alias`, and what is said about them."""
        window = self.primary.part("ObservationWindow")
        before, after = 0, 0
        if window is not None:
            with window.read():
                before, after = window.whole("PriorDays", 0) or 0, window.whole("PostDays", 0) or 0
        found = Entries()
        for part in self.primary.parts("CriteriaList"):
            event, about = self.criteria.event(part, alias)
            observed = self.criteria.observed(later(event.start, -before), later(event.start, after))
            found.append((event, And((about, *observed))))
        return found

    def additional(self, group: JsonPart) -> list[Condition]:
        """Return of each event that it passes the additional criteria, and is the first such one where that is said."""

        def qualified(alias: str) -> Entries:
            return [(event, And((about, self.criteria.group(group, event)))) for event, about in self.entries(alias)]

        return [
            And((self.criteria.group(group, event), *self.limited(event, "QualifiedLimit", self.top, qualified)))
            for event in self.events
        ]

    def limited(self, event: EventRow, name: str, part: JsonPart, such: Callable[[str], Entries]) -> list[Condition]:
        """Return that an event is the first or the last of such ones, where the definition says so."""
        limit = part.part(name)
        kind = "ALL" if limit is None else str(limit.take("Type", "All")).upper()
        said = list[Condition]()
        if kind not in {"ALL", "FIRST", "LAST"}:
            raise BadQuestionError(f"{part.place}.{name} is {kind!r}; write All, First or Last")
        if kind != "ALL":
            self.remarks.note("of several events on the first or last day any may let a person in; Circe takes one")
            function, operator = ("first", "<=") if kind == "FIRST" else ("last", ">=")
            for other, condition in such("g"):
                found = PerPerson(function, other.kind.table, Name(other.kind.start, "g"), condition, "g")
                said.append(Or((Missing(found), Compare(operator, event.start, found))))
        return said

    def joined(self, steps: list[tuple[str, list[Condition]]]) -> tuple[str, str, list[Condition]]:
        """Return the table and the conditions of the steps: about events of one kind, or about people who have some."""
        if len(self.events) == 1:
            return self.events[0].kind.table, "e", [told[0] for _, told in steps]
        people = []
        for i in range(len(steps)):
            so_far = zip(self.events, *(told for _, told in steps[: i + 1]), strict=True)
            people.append(Or(tuple(Has(event.kind.table, And(tuple(told)), 1, "e") for event, *told in so_far)))
        return "person", "p", list[Condition](people)


def _concept_set(part: JsonPart) -> tuple[int, ConceptExpression]:
    with part.read():
        number, name, inner = part.whole("id"), str(part.take("name", "")), part.part("expression")
        items = []
        for item in [] if inner is None else inner.parts("items"):
            with item.read():
                concept = item.part("concept")
                found = None if concept is None else concept.whole("CONCEPT_ID")
                if found is None:
                    raise BadQuestionError(f"{item.place} names no concept; write a CONCEPT_ID")
                excluded, descendants = bool(item.take("isExcluded")), bool(item.take("includeDescendants"))
                if item.take("includeMapped"):
                    item.remarks.refuse(f"{item.place}.includeMapped (concepts that are mapped to it)")
            items.append(ConceptItem(concept=found, descendants=descendants, excluded=excluded))
    if number is None:
        raise BadQuestionError(f"{part.place} has no id; give it a number")
    return number, ConceptExpression(name=name or f"concept set {number}", items=tuple(items))


def _distinct(names: list[str]) -> list[str]:
    return [name if name not in names[:i] else f"{name} ({i + 1})" for i, name in enumerate(names)]
