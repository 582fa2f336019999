"""A plan: one question, ready to be priced and run.

It says what the engine computes, how far one person can move it, which family of mechanisms may release it, and what
the released numbers mean. Everything in it follows from the question and the catalogue; the data has no part in it.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.aggregate import Aggregate, DistinctKeys, LastStepPerPerson
from lapwing.queries.sensitivity import Sensitivity
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.errors import BadQuestionError, LedgerDamagedError
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.privacy_unit import PrivacyUnit


class Family(Enum):
    """Which mechanisms may release an answer."""

    NOISE = "noise"
    """Whole-number noise (discrete Laplace or Gaussian) on every number of the answer."""

    SELECTION = "selection"
    """One of public candidates, chosen by noisy score: the exponential mechanism, permute-and-flip."""

    THRESHOLD = "threshold"
    """Noise on every count, and only the cells above a threshold: the cells are not public. It charges a delta."""

    SPARSE_VECTOR = "sparse vector"
    """Yes or no against a threshold, in a stream."""


@stored("people")
@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The number of people in each cell."""


@stored("rows")
@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """The number of rows in each cell."""


@stored("total")
@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The total of a value in each cell, in steps of `step`."""

    step: Fraction


@stored("scale")
@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A value on a grid: `low` + n * `step` for n = 0 .. `extent`."""

    low: Fraction
    step: Fraction
    extent: int


class Moment(Enum):
    """What is read from the moments of one or two values."""

    MEAN = "mean"
    VARIANCE = "variance"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"


@stored("moments")
@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Bernstein sums of one or two values, from which `moment` follows (see `estimates`)."""

    moment: Moment
    scales: tuple[Scale, ...]


@stored("quantiles")
@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """The values below which the fractions `at` of the rows lie, from a histogram with `scale.extent` + 1 cells."""

    at: tuple[Fraction, ...]
    scale: Scale

    def score_sensitivity(self, rows: int) -> dict[Fraction, int]:
        """Return, for each quantile a/b, how far a person with `rows` rows moves the score |b * below - a * all|."""
        return {q: rows * max(q.numerator, q.denominator - q.numerator) for q in self.at}


@stored("top")
@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """The `k` cells with the most people."""

    k: int


@stored("steps")
@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The number of people who pass the first n conditions, for each n, from the number that stops at each."""

    names: tuple[str, ...]


@stored("distinct")
@dataclass(frozen=True, slots=True, kw_only=True)
class Distinct:
    """The number of different values."""


@stored("at-least")
@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """Whether there are at least `people` people."""

    people: int


Meaning: TypeAlias = People | RowCount | Total | Moments | Quantiles | Top | Steps | Distinct | AtLeast


@stored("question")
@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One question, bounded.

    Parameters
    ----------
    population : the name of the population it asks about
    unit : who is protected
    aggregate : what the engine computes
    meaning : what the numbers mean once they are released
    family : which mechanisms may release them
    sensitivity : how far one protected person or group can move them
    """

    population: str
    unit: PrivacyUnit
    aggregate: Aggregate
    meaning: Meaning
    family: Family
    sensitivity: Sensitivity

    @property
    def question(self) -> CanonicalQuestion:
        """What is asked, as answers are kept under it."""
        # What an analyst calls the steps of a funnel is no part of the question.
        meaning = Steps(names=()) if isinstance(self.meaning, Steps) else self.meaning
        return CanonicalQuestion(population=self.population, unit=self.unit, meaning=meaning, aggregate=self.aggregate)

    @property
    def canonical(self) -> str:
        """The canonical text of the question."""
        return to_text(self.question)

    @property
    def numbers(self) -> int:
        """How many numbers are computed: the terms of every public cell; 0 where only the data knows the cells."""
        match self.aggregate.bounding:
            case LastStepPerPerson(steps=steps):
                return len(steps) + 1
            case DistinctKeys():
                return 1
            case _:
                return self.aggregate.terms * (self.aggregate.cell_count or 0)

    @property
    def monotone(self) -> bool:
        """Whether a sparse vector may use the small noise: counts of people, one person more or less."""
        return self.sensitivity.monotone and self.unit.adjacency is Adjacency.ADD_REMOVE

    def laplace(self, scale: Fraction) -> DiscreteLaplaceNoise:
        """Return the event of releasing all numbers with two-sided geometric noise of `scale` grid steps."""
        return DiscreteLaplaceNoise(l1_sensitivity=self.sensitivity.l1, scale=scale)

    def gaussian(self, sigma_squared: Fraction) -> DiscreteGaussianNoise:
        """Return the event of releasing all numbers with discrete Gaussian noise, in squared grid steps."""
        return DiscreteGaussianNoise(
            l2_sensitivity_squared=self.sensitivity.l2_squared,
            sigma_squared=sigma_squared,
            dimension=self.numbers or self.aggregate.terms,
        )
