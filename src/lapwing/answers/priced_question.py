"""A question at its price: one or more plans, each with its release, asked together and charged as one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from lapwing.accounting.filters.charge import cost_of_event
from lapwing.accounting.rounding import float_above
from lapwing.answers.releases import Numbers, Release
from lapwing.answers.target import as_confidence
from lapwing.queries.arrangement import Arrangement
from lapwing.queries.plan import CanonicalQuestion, Number, Plan
from lapwing.vocabulary.codec import stored, to_text
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.wording import format_exact, format_short

CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a release costs: its pure epsilon if it has one, its delta, and its rho if it has one."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    @staticmethod
    def of(event: Event) -> "Price":
        """Return the price of an event."""
        cost = cost_of_event(event)
        return Price(epsilon=cost.epsilon, delta=cost.delta, rho=cost.rho)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; the rho, which may be irrational, rounded up."""
        rho = None if self.rho is None else float_above(self.rho)
        return {"epsilon": format_exact(self.epsilon), "delta": format_exact(self.delta), "rho": rho}

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"rho {format_short(self.rho or 0)}"
        return f"epsilon {format_short(self.epsilon)}" + (f" and delta {float(self.delta):.3g}" if self.delta else "")


@stored("priced-plan")
class PricedPlan:
    """What is asked and what will happen, as a question stands in the ledger."""

    question: CanonicalQuestion
    event: Event


@dataclass(frozen=True, kw_only=True)
class PricedQuestion:
    """One or more columns, each with its release, asked together and charged as one.

    `arrangement` says how the rows of the answer are shown; it is no part of what is asked and charged.
    """

    releases: Mapping[str, Release]
    arrangement: Arrangement | None = None

    def __post_init__(self) -> None:
        if not self.releases:
            raise BadQuestionError("nothing is asked; ask for one number at least")
        groups = {(one.plan.key_names, one.plan.grouped_by) for one in self.several()}
        if len(groups) > 1 and not self.in_one_row:
            raise BadQuestionError(
                "what is asked together has different rows: groups, several quantiles, or several categories; ask for "
                "it one after the other"
            )

    @property
    def in_one_row(self) -> bool:
        """Whether several are asked that have one value each, of whatever kind: they stand in one row."""
        return len(self.releases) > 1 and all(one.plan.has_one_value for one in self.several())

    @property
    def event(self) -> Event:
        """What is charged."""
        events = [release.event for release in self.sources]
        return events[0] if len(events) == 1 else Composed(parts=tuple(events))

    @property
    def text(self) -> str:
        """The canonical text: equal for what is the same question at the same price."""
        return to_text([PricedPlan(question=one.plan.question, event=one.event) for one in self.sources])

    @property
    def tables(self) -> frozenset[str]:
        """Every table that is read."""
        return frozenset(table for one in self.sources for table in tables_of(one.plan.aggregate))

    @property
    def words(self) -> str:
        """What is asked, in plain English."""
        arranged = [self.arrangement.words] if self.arrangement is not None and self.arrangement.words else []
        return "; ".join(dict.fromkeys([*(one.plan.asked for one in self.several()), *arranged]))

    @property
    def bounding(self) -> str:
        """What the bounds leave out: how many rows and groups of a person count, and to what values are clipped."""
        return ", ".join(dict.fromkeys(phrase for plan in self._bounded for phrase in plan.meaning.bounds_away(plan)))

    @property
    def _bounded(self) -> Iterator[Plan]:
        """The plans that say how people are bounded: those of the columns, unless a release bounds them otherwise."""
        for one in self.several():
            released = one.source.plan
            same = one.plan.aggregate.bounding == released.aggregate.bounding
            yield one.plan if same else released

    @property
    def bounding_remark(self) -> str | None:
        """What the bounds leave out, and that the error does not tell of it; None if nothing is left out."""
        return f"{self.bounding}; the error is about noise only" if self.bounding else None

    @property
    def bounded_words(self) -> str:
        """What is asked, and within which bounds, in plain English."""
        return f"{self.words} ({self.bounding_remark})" if self.bounding else self.words

    @property
    def units(self) -> Mapping[str, str]:
        """What the margin of each column counts."""
        return {name: one.plan.meaning.unit for name, one in self.releases.items()}

    def several(self) -> Iterator[Release]:
        """Go through the columns."""
        return iter(self.releases.values())

    @property
    def sources(self) -> list[Release]:
        """What is released, each once: columns may be read from the same release."""
        return list({id(one.source): one.source for one in self.several()}.values())

    def by_column(self, released: Sequence[Numbers]) -> dict[str, Numbers]:
        """Return the released numbers that each column is read from; they come in the order of `sources`."""
        told = {id(one): numbers for one, numbers in zip(self.sources, released, strict=True)}
        return {name: told[id(one.source)] for name, one in self.releases.items()}

    def margin(self, confidence: Exact = CONFIDENCE) -> Mapping[str, Number | None]:
        """Return, for each column, how far off its numbers are at most; None where that depends on what comes out."""
        return {name: one.margin(as_confidence(confidence)) for name, one in self.releases.items()}


def tables_of(noun: object) -> set[str]:
    """Return the tables that an aggregate reads: its own, and those its conditions look into."""
    found: set[str] = set()
    if isinstance(noun, tuple):
        return found.union(*map(tables_of, noun))
    if is_dataclass(noun):
        for field in fields(noun):
            part = getattr(noun, field.name)
            found |= {part} if field.name == "table" else tables_of(part)
    return found
