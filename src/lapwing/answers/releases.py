"""A question at its price: plans, each with its release, what is charged for all as one, and what comes out.

Everything but `read` and `release` depends on the plan and its mechanism alone, never on data. The session calls these
two, after the charge.

Proof: proofs/priced_questions.md
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from lapwing.accounting.filters.charge import cost_of_event
from lapwing.engines.engine import Engine, is_cohort
from lapwing.mechanisms.margins import Spread, tail_of
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    Label,
    tables_of,
)
from lapwing.queries.planning.plan import (
    BoundedValue,
    CanonicalQuestion,
    Choosing,
    ChosenMeaning,
    Noise,
    NoisyMeaning,
    Number,
    Plan,
    Reading,
)
from lapwing.queries.planning.presentation import AS_IT_IS, Arrangement
from lapwing.vocabulary.codec import canonical, digest, stored, to_text
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import Composed, DiscreteLaplaceNoise, Event, PureRelease
from lapwing.vocabulary.exact import Exact, as_confidence, float_above, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_exact, format_short

KeyedCount: TypeAlias = tuple[tuple[Label, ...] | None, int]
Numbers: TypeAlias = Sequence[Any]
"""Released numbers as JSON holds them: whole numbers, or for keys that only the data knew, keys with whole numbers."""

CONFIDENCE = Fraction(95, 100)
_OF_ROWS = (BoundedRowsPerPerson, ClippedSumPerPerson)
_MOST_STEPS = 1 << 12
_MOST_MARGINS = 16
_MOST_KEYS = 10_000
_MOST_KEY_TEXT = 700_000
"""How many keys that only the data knew an answer shows, and their characters: 20 such answers fit the ledger."""


@stored("answer")
class StoredAnswer:
    """The released numbers of each question of those asked together, and the versions of the tables."""

    released: tuple[tuple[int | KeyedCount, ...], ...]
    versions: Mapping[str, int]


@stored("priced-plan")
class PricedPlan:
    """A canonical question with its privacy event, as the ledger keeps it."""

    question: CanonicalQuestion
    event: Event


@frozen()
class PricedColumn(ABC):
    """One column of an answer: `meaning` post-processes what `source` released; `plan` is its plan if asked alone.

    Margins are cached: a preview, the answer and its sentence need the same ones.
    """

    plan: Plan
    meaning: Reading
    mechanism: Any
    _margins: dict[Fraction, Number | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    @abstractmethod
    def source(self) -> "Release":
        """The release that the column is computed from."""

    @property
    def bounded(self) -> Iterator[Plan]:
        """The plans whose contribution bounds apply: its own, unless what is released has other bounds."""
        released = self.source.plan
        same = self.plan.aggregate.bounding == released.aggregate.bounding
        yield self.plan if same else released

    @property
    def cut(self) -> bool:
        """Whether it may miss rows or groups of somebody."""
        return self.plan.cut or self.source.plan.cut

    @property
    def over(self) -> object:
        """Identity of the row set that it is computed over; columns with the same one have the same number of rows."""
        return id(self.source), self.meaning.part_of_rows

    def margin(self, confidence: Exact) -> Number | None:
        """Return the margin: a bound on all errors at once, at a confidence; None where it depends on the release."""
        wanted = probability("confidence", confidence)
        known = dict(self._margins)  # another thread may clear it
        if wanted not in known:
            if len(known) >= _MOST_MARGINS:
                self._margins.clear()
            known[wanted] = self._margins[wanted] = self.meaning.margin(self.source.plan, self.mechanism, wanted)
        return known[wanted]

    def margin_of_choice(self, confidence: Exact) -> Number | None:
        """Return how far what was chosen may be from the best; None where nothing was chosen."""
        return self.meaning.margin_of_choice(self.source.plan, self.mechanism, confidence)

    def error_if(self, rows: int, confidence: Exact) -> Number | None:
        """Return the approximate error for this number of rows, where it depends on that; otherwise None."""
        return self.meaning.error_if(self.source.plan, self.mechanism, confidence, rows)

    def shown_from(self, confidence: Exact) -> tuple[int, int] | None:
        """Return from how many people on a group is shown, and how far off one well above is; None where all are."""
        return self.meaning.shown_from(self.source.plan, self.mechanism, confidence)

    def values(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return the values that the released numbers mean. It is post-processing, and free."""
        return self.meaning.values(self.source.plan, numbers, self.mechanism, confidence)


@frozen()
class ReadColumn(PricedColumn):
    """A column that is read from a `shared` release."""

    shared: "Release"

    @property
    def source(self) -> "Release":
        """The release that it shares with others."""
        return self.shared


@frozen()
class Release(PricedColumn):
    """One plan at one price: a column that is released by itself, or a release that several columns share."""

    @property
    def source(self) -> "Release":
        """Itself."""
        return self

    @property
    def event(self) -> Event:
        """The privacy event that is charged."""
        event: Event = self.mechanism.event
        return event

    @property
    def priced(self) -> list[PricedPlan]:
        """What is asked with its event, as the ledger keeps it: one for each part that has an event of its own."""
        return [PricedPlan(question=self.plan.question, event=self.event)]

    @property
    def reads(self) -> Aggregate | tuple[Aggregate, ...]:
        """What is computed from the data."""
        return self.plan.aggregate

    def read(self, engine: Engine) -> Any:
        """Read the data; what comes back is wrapped."""
        return engine.vector(self.plan.aggregate)

    @property
    def is_counted_with_others(self) -> bool:
        """Whether it is a plain count of people, which is read together with others."""
        return False

    @abstractmethod
    def release(self, exact: Any) -> Numbers:
        """Add noise, or choose. This is the only time that it is done."""


@frozen()
class NoisyNumbers(Release):
    """Noise on every number of the answer."""

    meaning: NoisyMeaning
    mechanism: Noise

    @property
    def event(self) -> Event:
        """The privacy event of the noise, or a coarser event that bounds it."""
        return charged_as(self.mechanism.event)

    @property
    def is_counted_with_others(self) -> bool:
        """Whether its aggregate is that of a cohort."""
        return is_cohort(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each."""
        return [int(number) for number in self.mechanism.release(exact)]


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


@frozen()
class ChosenOnes(Release):
    """Chosen by private selection from a histogram."""

    meaning: ChosenMeaning
    mechanism: Choosing

    @property
    def reads(self) -> Aggregate | tuple[Aggregate, ...]:
        """The histogram, or what is computed for each of several candidates."""
        return self.meaning.reads or self.plan.aggregate

    def read(self, engine: Engine) -> Any:
        """Read the histogram, or the number of each candidate."""
        what = self.reads
        return [engine.vector(one) for one in what] if isinstance(what, tuple) else engine.vector(what)

    def release(self, exact: Any) -> Numbers:
        """Choose."""
        return list(self.mechanism.release(exact))


def keyed(released: Numbers) -> Iterator[tuple[Sequence[Any], int]]:
    """Go through the keys that were released, with their counts; the other numbers are about these."""
    for one in released:
        if not isinstance(one, int) and one[0] is not None:
            yield one[0], one[1]


def keys_left_out(released: Numbers) -> int:
    """Return how many keys reached the threshold and had no room in the answer.

    >>> keys_left_out([[["Bern"], 90], [None, 4]]), keys_left_out([7])
    (4, 0)
    """
    return sum(one[1] for one in released if not isinstance(one, int) and one[0] is None)


@frozen()
class CountsByKey(Reading):
    """Counts by keys that only the data knew, each with bounds for itself: how many there are is not public."""

    def margin(self, plan: Plan, mechanism: PartitionSelection, confidence: Exact) -> None:
        """Return None: what is shown near the threshold was lifted there by its noise, and may be far off."""

    def shown_from(self, plan: Plan, mechanism: PartitionSelection, confidence: Exact) -> tuple[int, int]:
        """Return the threshold, with noise, and the margin of a count so large that it is shown with any noise."""
        del plan
        return mechanism.threshold, int(Spread(tail_of(mechanism.law)).margin(confidence, 1))

    def values(
        self, plan: Plan, released: Numbers, mechanism: PartitionSelection, confidence: Exact
    ) -> list[BoundedValue]:
        """Return the counts that were released."""
        del plan
        values, wanted = [], probability("confidence", confidence)
        for key, count in keyed(released):
            low, high = _bounds(mechanism, count, wanted)
            values.append(BoundedValue(key=labels_of(key), value=count, low=low, high=high))
        return values


def labels_of(key: Sequence[Any]) -> tuple[Label, ...]:
    """Return a key that was released, as it was before it was stored.

    >>> labels_of([[1, 9], "Bern", None])
    ((1, 9), 'Bern', None)
    """
    return tuple(tuple(part) if isinstance(part, list) else part for part in key)


@frozen()
class OpenKeys(Release):
    """Counts by keys that only the data knows."""

    meaning: CountsByKey = CountsByKey()
    mechanism: PartitionSelection

    def read(self, engine: Engine) -> Any:
        """Read the counts, by key."""
        return engine.keyed(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each, and keep what reaches the threshold: the largest of them, if there are too many to keep.

        Which keys are left out follows from what the mechanism released, so it is post-processing, and free.
        """
        return tellable([[list(key), count] for key, count in self.mechanism.release(exact).items()])


def tellable(released: Numbers, beside: int = 0) -> Numbers:
    """Return the keys that an answer has room for, however long they are: those with the most people, in their order.

    The number of those left out is the last element, with None as its key. So an answer always fits the ledger, also
    with as many characters `beside` each key.
    """
    told, room = set[int](), _MOST_KEY_TEXT
    for place in sorted(range(len(released)), key=lambda place: -released[place][1]):
        room -= len(canonical(released[place])) + beside
        if room < 0 or len(told) == _MOST_KEYS:
            break
        told.add(place)
    kept = [one for place, one in enumerate(released) if place in told]
    return kept if len(kept) == len(released) else [*kept, [None, len(released) - len(kept)]]


def shown_record(shown: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Return from how many people on groups are shown, as JSON values; nothing where all groups are."""
    told = {name: {"people": people, "margin": margin} for name, (people, margin) in shown.items()}
    return {"shown_from": told} if told else {}


def shown_words(people: int, margin: int) -> str:
    """Say from how many people on a group is shown.

    >>> shown_words(37, 6)
    'groups are shown from about 37 people on, within 6 people well above that'
    """
    return f"groups are shown from about {people:,} people on, within {margin:,} people well above that"


@lru_cache(maxsize=1 << 12)
def _bounds(mechanism: PartitionSelection, shown: int, confidence: Fraction) -> tuple[int, int]:
    """Remember bounds: many keys are shown with the same count."""
    return mechanism.bounds(shown, confidence)


@frozen()
class Price:
    """Price of a release: its pure epsilon if it has one, its delta, and its rho if it has one.

    It is written in the `currency` of the account that pays it, in rho where it has no epsilon.

    >>> event = PureRelease(epsilon=Fraction(1, 2))
    >>> str(Price.of(event)), str(Price.of(event, "rho"))
    ('epsilon 0.5', 'rho 0.1225')
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    currency: str = field(default="epsilon", compare=False)

    @staticmethod
    def of(event: Event, currency: str = "epsilon") -> "Price":
        """Return the price of an event, written in the `currency` of an account."""
        cost = cost_of_event(event)
        return Price(epsilon=cost.epsilon, delta=cost.delta, rho=cost.rho, currency=currency)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; the rho, which may be irrational, rounded up."""
        rho = None if self.rho is None else float_above(self.rho)
        return {"epsilon": format_exact(self.epsilon), "delta": format_exact(self.delta), "rho": rho}

    def __str__(self) -> str:
        if self.epsilon is None or (self.currency == "rho" and self.rho is not None):
            return f"rho {format_short(self.rho or 0)}"
        return f"epsilon {format_short(self.epsilon)}" + (f" and delta {float(self.delta):.3g}" if self.delta else "")


@dataclass(frozen=True, kw_only=True)
class PricedQuestion:
    """One or more columns, each with its release, asked together and charged as one.

    `arrangement` says how the rows of the answer are shown; it is no part of what is asked and charged, and
    neither is the `currency` of the account, in which its price is written.
    """

    releases: Mapping[str, PricedColumn]
    arrangement: Arrangement | None = None
    currency: str = field(default="epsilon", compare=False)

    def __post_init__(self) -> None:
        if not self.releases:
            raise BadQuestionError("nothing is asked; ask for one number at least")
        beside = (self.arrangement or AS_IT_IS).beside
        own = [one.plan for name, one in self.releases.items() if name not in beside]
        groups = {(plan.key_names, plan.grouped_by) for plan in own}
        if len(groups) > 1 and not self.in_one_row:
            raise BadQuestionError(
                "what is asked together has different rows: groups, several quantiles, or several categories; ask for "
                "it one after the other"
            )

    @cached_property
    def price(self) -> Price:
        """The price of all releases together, in the currency of the account."""
        return Price.of(self.event, self.currency)

    @property
    def in_one_row(self) -> bool:
        """Whether there are several columns with one value each, of whatever kind: they stand in one row."""
        return len(self.releases) > 1 and all(one.plan.has_one_value for one in self.several())

    @cached_property
    def event(self) -> Event:
        """The privacy event that is charged: the composition of all releases."""
        events = [release.event for release in self.sources]
        return events[0] if len(events) == 1 else Composed(parts=tuple(events))

    @cached_property
    def text(self) -> str:
        """The canonical text: equal for what is the same question at the same price."""
        return to_text([part for one in self.sources for part in one.priced])

    @property
    def words_of_columns(self) -> str | None:
        """The columns in plain English, where their releases read differently; None where both read the same."""
        columns, sources = [one.plan for one in self.several()], [one.plan for one in self.sources]
        if columns == sources:
            return None
        asked, released = ("; ".join(dict.fromkeys(plan.asked for plan in plans)) for plans in (columns, sources))
        return None if asked == released else asked

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return sum(one.plan.numbers for one in self.sources)

    @cached_property
    def tables(self) -> frozenset[str]:
        """Every table that is read."""
        return frozenset(table for one in self.sources for table in tables_of(one.reads))

    @cached_property
    def words(self) -> str:
        """The question in plain English."""
        arranged = [self.arrangement.words] if self.arrangement is not None and self.arrangement.words else []
        return "; ".join(dict.fromkeys([*(one.plan.asked for one in self.several()), *arranged]))

    @cached_property
    def bounding(self) -> str:
        """The contribution bounds in words: how many rows and groups of a person count, where values are clipped."""
        return ", ".join(dict.fromkeys(phrase for plan in self._bounded for phrase in plan.meaning.bounds_away(plan)))

    @property
    def _bounded(self) -> Iterator[Plan]:
        """The plans whose contribution bounds apply: those of the columns, unless a release has other bounds."""
        return (plan for one in self.several() for plan in one.bounded)

    @cached_property
    def cut(self) -> tuple[str, ...]:
        """The columns that may miss rows or groups: this follows from the contribution bounds, never from data."""
        found = {name for name, one in self.releases.items() if one.cut}
        arrangement = self.arrangement or AS_IT_IS
        return tuple(name for name in self.columns if found & arrangement.sources(name))

    @property
    def cut_table(self) -> str | None:
        """The table of whose rows some of a person may be left out, if there is one."""
        bounded = (plan for plan in self._bounded if plan.cut and isinstance(plan.aggregate.bounding, _OF_ROWS))
        return next((plan.aggregate.table for plan in bounded), None) if self.cut else None

    @property
    def bounding_remark(self) -> str | None:
        """A remark that the error excludes the bias of the contribution bounds; None if nothing is bounded."""
        told = max((plan.meaning.error_of for plan in self._bounded), key=len, default="noise")
        return f"{self.bounding}; the error is about {told} only" if self.bounding else None

    @property
    def bounded_words(self) -> str:
        """The question and its contribution bounds, in plain English."""
        return f"{self.words} ({self.bounding_remark})" if self.bounding else self.words

    def shown_from(self, confidence: Exact) -> dict[str, tuple[int, int]]:
        """Return, by columns whose keys only the data knows, from how many people on a group is shown, and its margin.

        Both follow from the price alone; the margin is that of a group well above.
        """
        found = {name: one.shown_from(confidence) for name, one in self.releases.items() if name in self.columns}
        return {name: told for name, told in found.items() if told is not None}

    @cached_property
    def units(self) -> Mapping[str, str]:
        """The unit of each column's margin."""
        known = self.releases
        return {name: known[name].plan.meaning.unit if name in known else "value" for name in self.columns}

    def plan_of(self, column: str) -> Plan:
        """Return the plan of a column; of one that is computed from others, that of the first of these."""
        known = (self.arrangement or AS_IT_IS).sources(column)
        return next(one.plan for name, one in self.releases.items() if name in known)

    def several(self) -> Iterator[PricedColumn]:
        """Go through the columns."""
        return iter(self.releases.values())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of each row."""
        arrangement = self.arrangement or AS_IT_IS
        chosen = arrangement.columns if arrangement.labelled is None else arrangement.labelled.columns
        return chosen or tuple(self.releases)

    def values(self, name: str, numbers: Numbers, confidence: Fraction) -> list[BoundedValue]:
        """Return the values of a column, one for each row, in the order of the arrangement."""
        release, arrangement = self.releases[name], self.arrangement
        if arrangement is None:
            return release.values(numbers, confidence)
        wanted = arrangement.confidences(name, confidence)
        return arrangement.combined(name, *(release.values(numbers, each) for each in wanted))

    def release(self, exact: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
        """Add noise to what was read for each release, or choose. This is the only time that it is done."""
        return tuple(tuple(one.release(read)) for one, read in zip(self.sources, exact, strict=True))

    @cached_property
    def sources(self) -> list[Release]:
        """The releases, each once: several columns may be computed from the same release."""
        return list({id(one.source): one.source for one in self.several()}.values())

    def by_column(self, released: Sequence[Numbers]) -> dict[str, Numbers]:
        """Return the released numbers that each column is read from; they come in the order of `sources`."""
        told = {id(one): numbers for one, numbers in zip(self.sources, released, strict=True)}
        return {name: told[id(one.source)] for name, one in self.releases.items()}

    def margin(self, confidence: Exact = CONFIDENCE) -> Mapping[str, Number | None]:
        """Return the margin of each column at a confidence; None where it depends on the released numbers."""
        told, wanted, labelled = self.columns, as_confidence(confidence), (self.arrangement or AS_IT_IS).labelled
        if labelled is not None:
            each = labelled.confidence_of_each(wanted)
            return {name: self._largest_margin(labelled.of_column(name), each) for name in told}
        return {name: self.releases[name].margin(wanted) if name in self.releases else None for name in told}

    def _largest_margin(self, names: Sequence[str], confidence: Fraction) -> Number | None:
        """Return the largest of the margins of several numbers; None where one is not known."""
        margins = [self.releases[name].margin(confidence) if name in self.releases else None for name in names]
        return None if None in margins else max(margin for margin in margins if margin is not None)


def read_together(asked: Sequence[PricedQuestion], engine: Engine, versions: Mapping[str, int]) -> list[list[Any]]:
    """Read for several questions; where there are many, people are counted together, and all else one by one."""
    if len(asked) == 1:
        return [[one.read(engine) for one in asked[0].sources]]
    counted = [one.plan.aggregate for question in asked for one in question.sources if one.is_counted_with_others]
    counts = iter(engine.vectors(counted, versions=versions))
    return [
        [next(counts) if one.is_counted_with_others else one.read(engine) for one in question.sources]
        for question in asked
    ]


def meanings_of(ways: Iterable[Iterable[PricedQuestion]]) -> list[str]:
    """Return a digest of the canonical texts of questions at their price, for each way to pay."""
    return [digest([one.text for one in asked]) for asked in ways]
