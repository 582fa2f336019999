"""A plan: one question, ready to be priced and run.

It says what the engine computes, how far one person can move it, which family of mechanisms may release it, and what
the released numbers mean. Everything in it follows from the question and the catalogue; the data has no part in it.

What the numbers mean is a noun of each statistic, in `statistics`: its unit, its bounds and its words are there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from lapwing.mechanisms.margins import confidence_of_each
from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BinnedKey,
    DistinctKeys,
    GridKey,
    Key,
    KeyOfColumn,
    Label,
    LastStepPerPerson,
    Sensitivity,
    SketchedKeys,
)
from lapwing.queries.algebra.derived_words import explained
from lapwing.queries.algebra.predicate import ALWAYS
from lapwing.queries.algebra.words import Labels, bin_words, groups_at_most, in_groups, in_tables, key_words, words
from lapwing.queries.catalogue.domains import DAYS, INTEGERS, Domain, Interval
from lapwing.queries.planning.days import Period, ends_of, period_of, period_words
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.errors import BadQuestionError, LedgerDamagedError
from lapwing.vocabulary.exact import Exact, float_below, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit
from lapwing.vocabulary.wording import format_short, several

if TYPE_CHECKING:
    from lapwing.mechanisms.counted_top import CountedTop
    from lapwing.mechanisms.enclosed_quantiles import EnclosedQuantiles
    from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
    from lapwing.mechanisms.histogram_selection import PrivateQuantiles, Selector, TopK
    from lapwing.mechanisms.laplace import GeometricMechanism
    from lapwing.mechanisms.named_choice import NamedChoice
    from lapwing.mechanisms.tempered_likelihood import PosteriorDraw

Number: TypeAlias = int | Fraction | float
Estimate: TypeAlias = Fraction | float
B = TypeVar("B")
E = TypeVar("E", bound=Fraction | float)
CellKey: TypeAlias = tuple[Label, ...]
Shown: TypeAlias = str | int | float | bool | None
Form: TypeAlias = Mapping[int, Fraction]
"""A linear form of released numbers: the weight of each, by its place among them."""
Steps: TypeAlias = Mapping[int, Fraction]
"""The widths of groups that are told by their lower ends, floor(age / 10) * 10, by the place of their key."""
Choosing: TypeAlias = "PrivateQuantiles | EnclosedQuantiles | TopK | CountedTop | NamedChoice | PosteriorDraw"
Noise: TypeAlias = "GeometricMechanism | DiscreteGaussianMechanism"


class Family(Enum):
    """Which mechanisms may release an answer."""

    NOISE = "It is released with whole-number noise on every number: discrete Laplace or Gaussian."
    SELECTION = "It is released by a noisy choice among public candidates: the exponential mechanism or its kin."
    THRESHOLD = "Its groups are not public: they come with noise, and only above a threshold, for a delta."
    SHOWN_KEYS = (
        "Its groups are not public: those that enough people are in are shown, for a delta, and then their numbers "
        "come with noise of their own."
    )
    SPARSE_VECTOR = "It is answered yes or no by a sparse vector, in a stream; a no is paid for by the stream."


@stored("scale")
class Scale:
    """A value on a grid: `low` + n * `step` for n = 0 .. `extent`."""

    low: Fraction
    step: Fraction
    extent: int

    @property
    def width(self) -> Fraction:
        """How far apart its ends are."""
        return self.step * self.extent


@frozen()
class BoundedValue:
    """One number of an answer, its key, and between which bounds the exact one lies; None where that is not known.

    The value is None where nothing is known of it: where the bounds of a mean, at 95 %, are all that it can be.
    `rows` says over how many rows it was computed, where the same release tells that too.
    """

    key: CellKey
    value: Number | str | None
    low: Number | None
    high: Number | None
    rows: "BoundedValue | None" = None

    @staticmethod
    def around(key: CellKey, estimate: Estimate, margin: Number) -> "BoundedValue":
        """Return an estimate with the same margin on both sides."""
        value = plain_number(estimate)
        return BoundedValue(key=key, value=value, low=value - margin, high=value + margin)


class Meaning(ABC):
    """What the numbers of a plan mean once they are released, and the words for it.

    `row_name` is what tells the rows of its answer apart where they are not groups, and have an order of their own.
    """

    __slots__ = ()
    family: ClassVar[Family]
    family_of_private_keys: ClassVar[Family | None] = None
    """How it is released where only the data knows the groups; None if it is refused then."""
    shown_by: ClassVar["Meaning | None"] = None
    """What decides which groups are shown, where only the data knows them and they are shown by something else."""
    unit: ClassVar[str]
    """What a margin counts."""
    keys_are_groups: ClassVar[bool] = True
    row_name: ClassVar[str | None] = None
    rows_are_fractions: ClassVar[bool] = False
    """Whether the name of a row that is no group is a fraction, such as that of a quantile."""
    rows_have_names: ClassVar[bool] = False
    """Whether a row that is no group tells what its value is called."""
    told_in_a_sentence: ClassVar[bool] = False
    """Whether an answer of one row is shown in a sentence although its row has a name."""
    asks: ClassVar[str]
    """What is asked; here and below, {self} and {plan} may stand in a sentence."""
    hides: ClassVar[str] = (
        "one person changes the answer by at most {plan.sensitivity.l1}{groups}, and noise hides that much"
    )
    accurate: ClassVar[str] = "within {margin}"
    error_of: ClassVar[str] = "noise"
    """What an error tells of; what the bounds of a person's part take away is never in it."""

    @property
    def in_canonical(self) -> "Meaning":
        """What of it makes the question another one."""
        return self

    @property
    def reads(self) -> tuple[Aggregate, ...]:
        """What is computed instead of the aggregate of its plan, where there are several; none for most."""
        return ()

    def asked(self, plan: "Plan") -> str:
        """Say what is asked."""
        return self.asks.format(self=self, plan=plan)

    def bounding(self, plan: "Plan") -> str:
        """Say how a person's part is bounded, in a sentence."""
        groups = getattr(plan.aggregate.bounding, "max_cells", None)
        return f"a person counts once{in_groups(plan.aggregate, groups)}, however many rows they have."

    def bounds_away(self, plan: "Plan") -> tuple[str, ...]:
        """Say what is bounded away, phrase by phrase: none where a person counts once and whole."""
        return groups_at_most(plan.aggregate)

    def hidden(self, plan: "Plan") -> str:
        """Say how far one person can move the answer, in the unit of the answer, and that this much is hidden."""
        groups = " in all groups together" if plan.aggregate.keys else ""
        return self.hides.format(plan=plan, groups=groups)

    def accuracy(self, margin: Number) -> str:
        """Say what a margin means."""
        return self.accurate.format(margin=format_short(margin))

    def accuracy_of_all(self, margin: Number) -> str:
        """Say what a margin means for the numbers of several rows."""
        return f"all {self.accuracy(margin)}"


class Reading(ABC):
    """What one column tells of a release, and how far off that is: post-processing, which costs nothing.

    `plan` is that of the release and `mechanism` what released it. What a statistic means is such a reading of its own
    plan; a column that shares a release is one of somebody else's plan.
    """

    __slots__ = ()
    margin_refusal: ClassVar[str] = ""
    """Why no margin can be promised beforehand, where none can."""

    @property
    def counts_rows(self) -> bool:
        """Whether it is the number of rows that other columns of the same release are computed over."""
        return False

    @property
    def part_of_rows(self) -> int | None:
        """The part of the rows that it is about; None where it is about all."""
        return None

    def refusal_of_margin(self, plan: "Plan") -> str:
        """Say why no margin can be promised beforehand, where none can."""
        del plan
        return self.margin_refusal

    @abstractmethod
    def margin(self, plan: "Plan", mechanism: Any, confidence: Exact) -> Number | None:
        """Return how far off all numbers are at most, all at once; None where that depends on what comes out."""

    def margin_of_choice(self, plan: "Plan", mechanism: Any, confidence: Exact) -> Number | None:
        """Return how far what was chosen may be from the best; None where nothing was chosen."""
        del plan, mechanism, confidence
        return None

    def error_if(self, plan: "Plan", mechanism: Any, confidence: Exact, rows: int) -> Number | None:
        """Return about how far off it is if this number of rows counts in each cell; None where `margin` says it."""
        del plan, mechanism, confidence, rows
        return None

    def shown_from(self, plan: "Plan", mechanism: Any, confidence: Exact) -> tuple[int, int] | None:
        """Return from how many people on a group is shown, and how far off one well above is; None where all are."""
        del plan, mechanism, confidence
        return None

    def forms(self, plan: "Plan") -> Mapping[CellKey, Form] | None:
        """Return, for each group, the linear form of released numbers that it is; None where it is not linear."""
        del plan
        return None

    @abstractmethod
    def values(self, plan: "Plan", released: Sequence[Any], mechanism: Any, confidence: Exact) -> list[BoundedValue]:
        """Return what the released numbers say in each group, with bounds that hold all at once."""


class NoisyReading(Reading):
    """What is read by arithmetic from numbers that were all released with noise."""

    __slots__ = ()

    @abstractmethod
    def estimates(self, plan: "Plan", released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return the answer in each group, from the released numbers in the order of `Engine.vector`."""

    def values(self, plan: "Plan", released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return the estimate in each group, with the same margin on both sides."""
        margin = self.margin(plan, noise, confidence) or 0
        return [BoundedValue.around(key, value, margin) for key, value in self.estimates(plan, released).items()]


class NoisyMeaning(Meaning, NoisyReading):
    """What is released with noise on every number; unless it says otherwise, each of them is the answer in a cell."""

    __slots__ = ()
    family = Family.NOISE

    def estimates(self, plan: "Plan", released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return the number of each public cell."""
        return {key: Fraction(number) for key, (number,) in plan.blocks(released)}

    def margin(self, plan: "Plan", noise: Noise, confidence: Exact) -> Number | None:
        """Return how far off each number is at most, all at once."""
        return plan.margin_of_each(noise, confidence)

    def forms(self, plan: "Plan") -> Mapping[CellKey, Form] | None:
        """Return the number of each cell, as `estimates` does."""
        return {key: {place: Fraction(1)} for place, key in enumerate(plan.aggregate.cells or ())}


class ChosenMeaning(Meaning, Reading):
    """What is chosen from a histogram by private selection."""

    __slots__ = ()
    family = Family.SELECTION
    keys_are_groups = False
    hides = "one person moves the order by at most {plan.sensitivity.linf}, and the choice hides that much"
    told: ClassVar[str]
    """What a {margin} means, below the answer."""

    def accuracy_of_all(self, margin: Number) -> str:
        """Say what a margin means for what was chosen."""
        return self.told.format(margin=format_short(margin))

    @property
    @abstractmethod
    def choices(self) -> int:
        """How many choices, or equal parts, share the price."""

    @abstractmethod
    def selection(self, plan: "Plan", epsilon: Fraction, selector: "Selector") -> "Choosing":
        """Return the mechanism that chooses at this price, told how far the protected people move its scores."""

    @property
    def has_one_value(self) -> bool:
        """Whether one is chosen."""
        return self.choices == 1

    def margin(self, plan: "Plan", chooser: "Choosing", confidence: Exact) -> Number | None:
        """Return how many rows, or people, the choices may be away from the best ones; how far off counts are."""
        del plan
        return chooser.margin(confidence)

    def margin_of_choice(self, plan: "Plan", chooser: "Choosing", confidence: Exact) -> Number | None:
        """Return how many rows, or people, the choices may be away from the best ones."""
        return self.margin(plan, chooser, confidence)

    def usual(self, chooser: "Choosing", confidence: Exact) -> Number | None:
        """Return about how far off it is for most data, where that is much less than a margin for all data."""
        del chooser, confidence
        return None


@stored("question")
class CanonicalQuestion:
    """What a plan asks, without what follows from it: equal for questions that mean the same by their form."""

    population: str
    unit: PrivacyUnit
    meaning: Meaning
    aggregate: Aggregate

    @staticmethod
    def read(text: str) -> "CanonicalQuestion":
        """Return the question of which `text` is the canonical text: after the process that asked it died."""
        try:
            return from_text(CanonicalQuestion, text)
        except BadQuestionError:
            raise LedgerDamagedError("holds a question that cannot be read back") from None


@frozen()
class ValueNames:
    """What the values of a column are called: `title` is the name of such a name, as a column of an answer."""

    title: str
    names: Mapping[Label, str]


@dataclass(frozen=True, kw_only=True)  # without slots, so that its text is written once
class Plan:
    """One question, bounded: what the engine computes, how far the protected `unit` moves it, and what it means.

    `labels` is what its long lists of values are called, and `names` what the values of columns are; `cut` says whether
    somebody may have more rows, or be in more groups, than count. They are for people to read, and no part of the
    question. `shown_by` counts the people by whom its groups are shown, where only the data knows them.
    """

    population: str
    unit: PrivacyUnit
    aggregate: Aggregate
    meaning: Meaning
    family: Family
    sensitivity: Sensitivity
    labels: Labels = field(default_factory=dict)
    names: Mapping[str, ValueNames] = field(default_factory=dict)
    cut: bool = False
    shown_by: "Plan | None" = None

    @cached_property
    def question(self) -> CanonicalQuestion:
        """What is asked, as answers are kept under it."""
        meaning = self.meaning.in_canonical
        return CanonicalQuestion(population=self.population, unit=self.unit, meaning=meaning, aggregate=self.aggregate)

    @cached_property
    def canonical(self) -> str:
        """The canonical text of the question."""
        return to_text(self.question)

    @cached_property
    def numbers(self) -> int:
        """How many numbers are computed: the terms of every public cell; 0 where only the data knows the cells."""
        match self.aggregate.bounding:
            case LastStepPerPerson(steps=steps):
                return len(steps) + 1
            case DistinctKeys() | SketchedKeys():
                return 1
            case _:
                return self.aggregate.terms * (self.aggregate.cell_count or 0)

    @property
    def monotone(self) -> bool:
        """Whether a sparse vector may use the small noise: counts of people, one person more or less."""
        return self.sensitivity.monotone and self.unit.adjacency is Adjacency.ADD_REMOVE

    def bounded_by(self, kind: type[B]) -> B:
        """Return the bounding, which is of the kind that the statistic chose."""
        if not isinstance(self.aggregate.bounding, kind):
            raise TypeError(kind)
        return self.aggregate.bounding

    def blocks(self, released: Sequence[int]) -> list[tuple[CellKey, Sequence[int]]]:
        """Return the numbers of each public cell, from all that were released."""
        cells, terms = self.aggregate.cells, self.aggregate.terms
        if cells is None or len(released) != len(cells) * terms:
            raise BadQuestionError(
                "the numbers do not fit the plan; hand in all that were released for it, and no others"
            )
        return [(cell, released[i * terms : (i + 1) * terms]) for i, cell in enumerate(cells)]

    def margin_of_each(self, noise: Noise, confidence: Exact) -> int:
        """Return how far off each number is at most, all at once."""
        return _margin(noise, probability("confidence", confidence), self.numbers)

    def chance_of_each(self, confidence: Exact) -> float:
        """Return how often each public cell may be wrong so that all are right with this probability.

        The noise of one cell is independent of that of the others, so that their probabilities are multiplied.
        """
        return float_below(1 - confidence_of_each(confidence, len(self.aggregate.cells or [()])))

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of what the rows of an answer are told apart by."""
        if self.meaning.keys_are_groups:
            return self.titled(self.group_names)
        titles = [one.title for one in self.names.values()] if self.meaning.rows_have_names else []
        return () if self.meaning.row_name is None else (self.meaning.row_name, *titles)

    @cached_property
    def grouped_by(self) -> tuple[KeyOfColumn, ...]:
        """The keys of the groups: all but a grid, which is the order of a value."""
        return tuple(key for key in self.aggregate.keys if not isinstance(key, GridKey))

    @property
    def drawn_from_zero(self) -> bool:
        """Whether its numbers are amounts, which a picture shows from zero on: counts and totals, and no means."""
        return not (isinstance(self.meaning, NoisyMeaning) and self.meaning.margin_refusal) and not isinstance(
            self.meaning, ChosenMeaning
        )

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The names of the columns that are grouped by."""
        return tuple(key.column for key in self.grouped_by)

    def titled(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Return names of the groups, each with that of its names behind it where its values have names."""
        titles = [self.names[column].title if column in self.names else None for column in self.group_names]
        named = zip(groups, titles, self.group_names, strict=False)
        own = [column if name == title else name for name, title, column in named]
        return tuple(name for pair in zip(own, titles, strict=False) for name in pair if name is not None)

    def name_of(self, label: Label) -> tuple[str, ...]:
        """Return what a value of the one grouped column is called, where it has names."""
        return tuple(one.names.get(label, "") for one in self.names.values())

    @property
    def has_one_value(self) -> bool:
        """Whether the answer is one value: without groups, and one of what is chosen."""
        return not self.key_names or (
            isinstance(self.meaning, ChosenMeaning) and self.meaning.has_one_value and not self.meaning.keys_are_groups
        )

    def in_order(self, keys: list[CellKey]) -> list[CellKey]:
        """Return keys as they are shown: sorted, what is missing last, unless they have an order of their own."""
        return keys if self.meaning.row_name else sorted(keys, key=lambda key: tuple(map(_place, key)))

    def shown(self, key: CellKey, steps: Steps) -> tuple[Shown, ...]:
        """Return a key for people to read."""
        if self.meaning.row_name:
            return tuple(part for part in key if not isinstance(part, tuple))
        parts = list[Shown]()
        for place, (kind, label) in enumerate(zip(self.grouped_by, key, strict=False)):
            parts.append(_label_words(kind, label, steps.get(place)))
            if kind.column in self.names:
                parts.append(self.names[kind.column].names.get(label))
        return tuple(parts)

    def called(self, shown: tuple[Shown, ...]) -> tuple[Shown, ...]:
        """Return a key that is shown without the values that have names: a picture has no room for both."""
        if not self.meaning.keys_are_groups:
            return shown
        parts, left = list[Shown](), list(shown)
        for column in self.group_names:
            value, name = left.pop(0), left.pop(0) if column in self.names else None
            parts.append(value if name is None else name)
        return tuple(parts)

    def without_names(self, shown: tuple[Shown, ...]) -> tuple[Shown, ...]:
        """Return a key that is shown without the names of its values."""
        places = iter(shown)
        kept = [(next(places, None), column in self.names and next(places, None)) for column in self.group_names]
        return tuple(value for value, _ in kept) if self.meaning.keys_are_groups else shown

    @property
    def asked(self) -> str:
        """What is asked, in plain English."""
        where = "" if self.aggregate.where == ALWAYS else f" where {words(self.aggregate.where, self.labels)}"
        groups = " and ".join(self.groups) if self.meaning.keys_are_groups else ""
        by = f", grouped by {groups}" if groups else ""
        notes = filter(None, (explained(one, self.labels) for one in self.aggregate.derived))
        return "; ".join([f"{self.meaning.asked(self)}, in {in_tables(self.aggregate)}{where}{by}", *notes])

    @property
    def groups(self) -> list[str]:
        """The groups of each key, in words."""
        return [_period_words(key) or key_words(key) for key in self.grouped_by]

    def explain(self) -> str:
        """Return what is asked, whose data counts how often, how far one person can move it, and why."""
        moved = self.sensitivity
        return (
            f"Asked: {self.asked}.\n"
            f"Bounded: {self.meaning.bounding(self)}\n"
            f"Hidden: {self.meaning.hidden(self)}; tighter bounds mean a more exact answer.\n"
            f"{self.family.value}\n"
            f"Exactly: one person moves what is released by at most {moved.l1} in all (L1), {moved.linf} in one number "
            f"(Linf) and {moved.l2_squared} in squares (L2 squared), in whole steps; {moved.reason}."
        )


def plain_number(number: E) -> E | int:
    """Return a whole number as one."""
    return int(number) if isinstance(number, Fraction) and number.denominator == 1 else number


@lru_cache(maxsize=256)
def _margin(noise: Noise, confidence: Fraction, values: int) -> int:
    """Remember margins: an answer that is shown asks for the same one many times."""
    return noise.margin(confidence, values=values)


def _place(label: Label) -> tuple[bool, Any]:
    return label is None, 0 if label is None else label


def _period_words(key: Key) -> str | None:
    """Return how many years, quarters or months a key has; None where its groups are something else."""
    if not isinstance(key, BinnedKey):
        return None
    found = {period_of(key.domain, one) for one in key.bins}
    period = found.pop() if len(found) == 1 else None
    return None if period is None else f"{several(len(key.bins), period.name.lower())} of {key.column}"


def value_of_bins(key: BinnedKey, width: Fraction | None) -> Callable[[Interval], int | float | date] | None:
    """Return how a bin is told as one value: a step by its lower end, a year by its number, a month by its first day.

    None where it takes both ends of a bin to tell it.

    >>> from lapwing.queries.catalogue.domains import INTEGERS
    >>> tens = BinnedKey(column="age", domain=INTEGERS, bins=((0, 9), (10, 19)), missing=False)
    >>> value_of_bins(tens, Fraction(10))((10, 19)), value_of_bins(tens, None)
    (10, None)
    """
    if width is not None:
        return lambda one: _lower_end(key.domain, one, width)
    periods = {period_of(key.domain, one) for one in key.bins}
    if periods == {Period.YEAR}:
        return lambda one: ends_of(DAYS, one)[0].year
    return None if None in periods else lambda one: ends_of(DAYS, one)[0]


def _lower_end(domain: Domain, interval: Interval, width: Fraction) -> int | float:
    """Return the multiple of `width` that a step begins with: of whole numbers, its least value may be above it."""
    least = ends_of(domain, interval)[0]
    if domain != INTEGERS:
        return float(least)
    end = least // width * width
    return int(end) if width.denominator == 1 else float(end)


def _label_words(kind: Key, label: Label, width: Fraction | None) -> Shown:
    if isinstance(kind, BinnedKey) and isinstance(label, tuple):
        if width is not None:
            return _lower_end(kind.domain, label, width)
        period = period_words(kind.domain, label)
        return bin_words(kind.domain, label) if period is None else period
    return None if isinstance(label, tuple) else label
