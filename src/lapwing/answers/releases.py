"""Releases: one plan with its mechanism; what is charged, how far off it is, and what the released numbers mean.

Nothing here reads data until `read` is called, and `read` is called by the session only, after the charge. What is
computed before (event, price, margin) depends on the plan and the mechanism alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from lapwing.engines.engine import Engine
from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
from lapwing.mechanisms.margins import margin_of_sum
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.queries.aggregate import Label
from lapwing.queries.estimates import estimates
from lapwing.queries.moment_bounds import moment_bounds
from lapwing.queries.plan import Distinct, Moments, Plan, Quantiles, Steps, Total
from lapwing.vocabulary.codec import canonical, stored
from lapwing.vocabulary.event import DiscreteLaplaceNoise, Event, PureRelease
from lapwing.vocabulary.exact import Exact, probability

Number: TypeAlias = int | Fraction | float
KeyedCount: TypeAlias = tuple[tuple[Label, ...] | None, int]
Numbers: TypeAlias = Sequence[Any]
"""What was released, as JSON holds it: whole numbers, or for keys that only the data knew, keys with whole numbers."""

_MOST_STEPS = 1 << 12
_MOST_KEYS = 10_000
_MOST_KEY_TEXT = 700_000
"""How many keys that only the data knew an answer tells, and their characters: 20 such answers fit the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedValue:
    """One number of an answer, its key, and between which bounds the exact one lies; None where that is not known."""

    key: tuple[Label, ...]
    value: Number | str
    low: Number | None
    high: Number | None


@stored("answer")
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """What was released for each question of those asked together, and from which versions of the tables."""

    released: tuple[tuple[int | KeyedCount, ...], ...]
    versions: Mapping[str, int]


class Release(Protocol):
    """One plan at one price."""

    @property
    def plan(self) -> Plan:
        """What was asked, bounded."""

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""

    def read(self, engine: Engine) -> Any:
        """Read the data; what comes back is wrapped."""

    def release(self, exact: Any) -> Numbers:
        """Add noise, or choose. This is the only time that it is done."""

    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off all numbers of the answer are at most; None where that depends on what comes out."""

    def cells(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return what the released numbers say. It costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumbers:
    """Noise on every number of the answer."""

    plan: Plan
    mechanism: GeometricMechanism | DiscreteGaussianMechanism

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        return charged_as(self.mechanism.event)

    def read(self, engine: Engine) -> Any:
        """Read all numbers."""
        return engine.vector(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each."""
        return [int(number) for number in self.mechanism.release(exact)]

    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off all numbers are at most; the error of a moment depends on how many rows there are."""
        match self.plan.meaning:
            case Moments():
                return None
            case Steps(names=names):
                return self._of_step(len(names), len(names), confidence)
            case Total(step=step):
                return self._of_each(confidence) * step
            case _:
                return self._of_each(confidence)

    def cells(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return the estimate in each public cell."""
        values = estimates(self.plan, numbers)
        match self.plan.meaning:
            case Moments() as moments:
                margin, terms = self._of_each(confidence), self.plan.aggregate.terms
                blocks = (numbers[i : i + terms] for i in range(0, len(numbers), terms))
                bounds = [moment_bounds(moments, block, margin) for block in blocks]
                return [
                    BoundedValue(key=key, value=_plain(value), low=low, high=high)
                    for (key, value), (low, high) in zip(values.items(), bounds, strict=True)
                ]
            case Steps(names=names):
                steps = len(names)
                margins: Sequence[Number] = [self._of_step(steps - i, steps, confidence) for i in range(steps)]
            case Distinct():
                around = [_around(key, _plain(value), self._of_each(confidence)) for key, value in values.items()]
                return [self._possible(cell) for cell in around]
            case _:
                margins = [self.margin(confidence) or 0] * len(values)
        return [
            _around(key, _plain(value), margin) for (key, value), margin in zip(values.items(), margins, strict=True)
        ]

    def _possible(self, cell: BoundedValue) -> BoundedValue:
        """Return a number of different values within what can be: it costs nothing, and brings it nearer the truth."""
        most = self.plan.aggregate.cell_count

        def clamped(number: Any) -> Any:
            return max(0, number) if most is None else min(most, max(0, number))

        return replace(cell, value=clamped(cell.value), low=clamped(cell.low), high=clamped(cell.high))

    def _of_each(self, confidence: Exact) -> int:
        return _margin(self.mechanism, probability("confidence", confidence), self.plan.numbers)

    def _of_step(self, bins: int, steps: int, confidence: Exact) -> int:
        """Bound a step that is the sum of so many bins, such that the bounds of all steps hold at once."""
        each = 1 - (1 - probability("confidence", confidence)) / steps
        return margin_of_sum(self.mechanism.event, bins, each)


@lru_cache(maxsize=256)
def _margin(mechanism: GeometricMechanism | DiscreteGaussianMechanism, confidence: Fraction, values: int) -> int:
    """Remember margins: an answer that is shown asks for the same one many times."""
    return mechanism.margin(confidence, values=values)


def charged_as(event: Event) -> Event:
    """Return the event that is put before the accounts.

    The loss of discrete Laplace noise is found step by step of the sensitivity. Where there are very many steps, as in
    sums on a fine grid, it is charged as what it also is: a release of which only the pure epsilon is known.
    """
    match event:
        case DiscreteLaplaceNoise(l1_sensitivity=moved, scale=scale) if moved > _MOST_STEPS:
            return PureRelease(epsilon=moved / scale)
        case _:
            return event


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOnes:
    """Quantiles, or the cells with the most people: chosen by private selection from a histogram."""

    plan: Plan
    mechanism: PrivateQuantiles | TopK

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        return self.mechanism.event

    def read(self, engine: Engine) -> Any:
        """Read the histogram."""
        return engine.vector(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Choose."""
        return list(self.mechanism.release(exact))

    def margin(self, confidence: Exact) -> Number | None:
        """Return how many rows, or people, the choices may be away from the best ones."""
        return self.mechanism.margin(confidence)

    def cells(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return what was chosen."""
        del confidence
        match self.plan.meaning:
            case Quantiles(at=at, scale=scale):
                # Each was chosen for itself, so they may cross. Sorting them costs nothing, and none gets worse: of
                # places that are all within a margin of theirs, so are the sorted ones.
                places = [_plain(scale.low + cell * scale.step) for cell in sorted(numbers)]
                return [
                    BoundedValue(key=(str(q),), value=place, low=None, high=None)
                    for q, place in zip(at, places, strict=True)
                ]
            case _:
                labels = [(self.plan.aggregate.cells or ())[number][0] for number in numbers]
                return [
                    BoundedValue(key=(i,), value=str(label), low=None, high=None)
                    for i, label in enumerate(labels, start=1)
                ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenKeys:
    """Counts by keys that only the data knows."""

    plan: Plan
    mechanism: PartitionSelection

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        return self.mechanism.event

    def read(self, engine: Engine) -> Any:
        """Read the counts, by key."""
        return engine.keyed(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each, and keep what reaches the threshold: the largest of them, if there are too many to tell.

        Which are told, and how many are not, follows from what the mechanism released: leaving keys out costs nothing.
        """
        return _tellable([[list(key), count] for key, count in self.mechanism.release(exact).items()])

    def margin(self, confidence: Exact) -> None:
        """Return None: what is shown near the threshold was lifted there by its noise, and may be far off."""
        del confidence

    def cells(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return the counts that were released, each with bounds for itself: how many there are is not public."""
        cells, wanted = [], probability("confidence", confidence)
        for key, count in numbers:
            if key is None:  # how many were not told
                continue
            low, high = _bounds(self.mechanism, count, wanted)
            cells.append(BoundedValue(key=tuple(map(_label, key)), value=count, low=low, high=high))
        return cells


def _tellable(released: Numbers) -> Numbers:
    """Return what an answer has room for, whatever the keys are: those with the most people, in the order they had.

    What is left out is counted at the end, with no key. So an answer always fits the ledger, also where keys are long.
    """
    told, room = set[int](), _MOST_KEY_TEXT
    for place in sorted(range(len(released)), key=lambda place: -released[place][1]):
        room -= len(canonical(released[place]))
        if room < 0 or len(told) == _MOST_KEYS:
            break
        told.add(place)
    kept = [one for place, one in enumerate(released) if place in told]
    return kept if len(kept) == len(released) else [*kept, [None, len(released) - len(kept)]]


@lru_cache(maxsize=1 << 12)
def _bounds(mechanism: PartitionSelection, shown: int, confidence: Fraction) -> tuple[int, int]:
    """Remember bounds: many keys are shown with the same count."""
    return mechanism.bounds(shown, confidence)


def _around(key: tuple[Label, ...], value: Number, margin: Number) -> BoundedValue:
    return BoundedValue(key=key, value=value, low=value - margin, high=value + margin)


def _plain(number: Fraction | float) -> Number:
    return int(number) if isinstance(number, Fraction) and number.denominator == 1 else number


def _label(part: Any) -> Label:
    label: Label = tuple(part) if isinstance(part, list) else part
    return label
