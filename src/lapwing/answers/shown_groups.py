"""Statistics by keys that only the data knows: people decide which groups are shown, then their numbers get noise.

It is one question at one price: a count of people by key, shown from a threshold on, and for the keys that it showed
the numbers of each statistic, with noise of their own. The keys that are shown are released, so that what is read next
is a choice among released things, whose parts and prices were fixed before. Bounds hold for all groups that are shown,
at once: the noise of their numbers has nothing to do with which they are.

Proof: proofs/numbers_of_keys.md
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lapwing.answers.releases import (
    CountsByKey,
    NoisyNumbers,
    Numbers,
    PricedColumn,
    PricedPlan,
    Release,
    keyed,
    labels_of,
    tellable,
)
from lapwing.engines.engine import Engine
from lapwing.mechanisms.partition_selection import PartitionSelection, numbers_of_keys
from lapwing.queries.algebra.aggregate import Aggregate, DeclaredKey
from lapwing.queries.planning.plan import BoundedValue, CellKey, Estimate, NoisyReading, Number, Plan, Reading
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen

_ROOM = 24
"""Characters that a number takes in the ledger, at most: it has 64 bits before its noise."""


@frozen()
class ShownGroups(Release):
    """The groups that enough people are in, and for these the numbers of each of `parts`; `plan` counts the people.

    What is released has the keys with their people first, and then the numbers of the parts, each part's for all keys.
    """

    meaning: CountsByKey = CountsByKey()
    mechanism: PartitionSelection
    parts: tuple[NoisyNumbers, ...]

    @property
    def event(self) -> Event:
        """The keys, and then each part."""
        return Composed(parts=(self.mechanism.event, *(part.event for part in self.parts)))

    @property
    def priced(self) -> list[PricedPlan]:
        """The people by key and each part, with its own event."""
        people = PricedPlan(question=self.plan.question, event=self.mechanism.event)
        return [people, *(one for part in self.parts for one in part.priced)]

    @property
    def reads(self) -> tuple[Aggregate, ...]:
        """What is computed: people, and the numbers of each part."""
        return (self.plan.aggregate, *(part.plan.aggregate for part in self.parts))

    def read(self, engine: Engine) -> list[Any]:
        """Read people and numbers, by key; the keys are as secret as the numbers."""
        return [engine.keyed(one) for one in self.reads]

    def release(self, exact: Any) -> Numbers:
        """Show the keys with enough people, then add noise to the numbers of those that the answer has room for."""
        people, *numbers = exact
        counts = self.mechanism.release(people)
        room = _ROOM * sum(part.plan.aggregate.terms for part in self.parts)
        told = tellable([[list(key), count] for key, count in counts.items()], beside=room)
        keys = [labels_of(key) for key, _ in keyed(told)]
        noisy = list[Any](told)
        for part, of_part in zip(self.parts, numbers, strict=True):
            if keys:
                noisy += part.release(numbers_of_keys(of_part, keys, part.plan.aggregate.terms))
        return noisy

    def part_of(self, released: Numbers, place: int) -> tuple[list[CellKey], list[int]]:
        """Return the keys that were shown, and the numbers of one part for each of them."""
        keys = [labels_of(key) for key, _ in keyed(released)]
        numbers, terms = [one for one in released if isinstance(one, int)], self._terms
        if len(numbers) != len(keys) * sum(terms):
            raise ValueError(f"{len(numbers)} numbers of {len(keys)} groups")
        first = len(keys) * sum(terms[:place])
        return keys, numbers[first : first + len(keys) * terms[place]]

    @property
    def _terms(self) -> list[int]:
        return [part.plan.aggregate.terms for part in self.parts]


@frozen()
class ShownColumn(PricedColumn):
    """A column about the groups that were shown; `part` is what is released for it."""

    groups: ShownGroups
    part: NoisyNumbers | None

    @property
    def source(self) -> Release:
        """What shows the groups and releases their numbers."""
        return self.groups

    @property
    def bounded(self) -> Iterator[Plan]:
        """The plans of its numbers and of the people by whom groups are shown."""
        yield self.groups.plan if self.part is None else self.part.plan
        yield self.groups.plan

    @property
    def cut(self) -> bool:
        """Whether rows of somebody may be missing; that few people show a group is said apart."""
        return self.plan.cut if self.part is None else self.part.plan.cut

    @property
    def over(self) -> object:
        """The part that it is read from."""
        return id(self.part), self.meaning.part_of_rows

    def shown_from(self, confidence: Exact) -> tuple[int, int] | None:
        """Return from how many people on a group is shown, and how far off that is."""
        return self.groups.meaning.shown_from(self.groups.plan, self.groups.mechanism, confidence)

    def error_if(self, rows: int, confidence: Exact) -> Number | None:
        """Return how far off a number is in one group, of means for this number of rows in it."""
        if self.part is None:
            return None
        one = _among(self.part.plan, [()])
        reading = self.meaning.reading if isinstance(self.meaning, OfShown) else self.meaning
        margin = reading.margin(one, self.part.mechanism, confidence)
        return reading.error_if(one, self.part.mechanism, confidence, rows) if margin is None else margin


@frozen(kw_only=False)
class OfShown(Reading):
    """What `reading` reads from the numbers of one part, for the groups that were shown."""

    groups: ShownGroups
    place: int
    reading: NoisyReading

    @property
    def counts_rows(self) -> bool:
        """Whether it tells over how many rows others are computed."""
        return self.reading.counts_rows

    @property
    def part_of_rows(self) -> int | None:
        """The part of the rows that it is about; None where it is about all."""
        return self.reading.part_of_rows

    def margin(self, plan: Plan, mechanism: Any, confidence: Exact) -> None:
        """Return None: bounds hold for all groups at once, and how many there will be is not known."""

    def estimates(self, plan: Plan, released: Numbers) -> dict[CellKey, Estimate]:
        """Return the estimate in each group that was shown."""
        del plan
        keys, numbers = self.groups.part_of(released, self.place)
        if not keys:
            return {}
        found = self.reading.estimates(_among(self._own, keys), numbers)
        return {_unwrapped(key): value for key, value in found.items()}

    def values(self, plan: Plan, released: Numbers, mechanism: Any, confidence: Exact) -> list[BoundedValue]:
        """Return the number of each group that was shown, with bounds that hold for all of them at once."""
        del plan
        keys, numbers = self.groups.part_of(released, self.place)
        if not keys:
            return []
        found = self.reading.values(_among(self._own, keys), numbers, mechanism, confidence)
        return [_without(one) for one in found]

    @property
    def _own(self) -> Plan:
        return self.groups.parts[self.place].plan


def shown_columns(
    plans: Mapping[str, Plan], groups: ShownGroups, readings: Mapping[str, tuple[int, NoisyReading]]
) -> dict[str, PricedColumn]:
    """Return the columns of what is asked about the same groups; one without a reading is the people in each."""
    found = dict[str, PricedColumn]()
    for name, planned in plans.items():
        if name not in readings:
            found[name] = ShownColumn(
                plan=planned, meaning=groups.meaning, mechanism=groups.mechanism, groups=groups, part=None
            )
            continue
        place, reading = readings[name]
        part = groups.parts[place]
        found[name] = ShownColumn(
            plan=planned, meaning=OfShown(groups, place, reading), mechanism=part.mechanism, groups=groups, part=part
        )
    return found


def _among(plan: Plan, keys: Sequence[CellKey]) -> Plan:
    """Return the plan with these cells, each the one label of a key: what is read of public cells is read of them."""
    one = DeclaredKey(column="", values=tuple(keys), missing=False)  # type: ignore[arg-type] # a label of several
    return replace(plan, aggregate=replace(plan.aggregate, keys=(one,)))


def _unwrapped(key: CellKey) -> CellKey:
    (whole,) = key
    return whole  # type: ignore[return-value] # it was wrapped by `_among`


def _without(one: BoundedValue) -> BoundedValue:
    rows = None if one.rows is None else replace(one.rows, key=_unwrapped(one.rows.key))
    return replace(one, key=_unwrapped(one.key), rows=rows)
