"""What a sparse vector says: the outcomes of its questions, and events about them."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from lapwing.vocabulary.errors import ParameterError

Number: TypeAlias = Fraction | int | float


@dataclass(frozen=True, slots=True)
class AuditedWithin:
    """A number of which only `low <= number < high` is known; the ends may be infinite."""

    low: Number
    high: Number

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ParameterError("high", self.high, reason=f"is not above low = {self.low}", remedy="swap the ends")


Told: TypeAlias = Number | AuditedWithin | None
"""A number as it was said, an interval it lies in, or None: whatever it was."""


class Level(Enum):
    """Which of the two comparisons of the adaptive sparse vector a yes passed."""

    PLAIN = "plain"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class No:
    """Below the threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedYes:
    """Above the threshold, and what was told with it. All numbers are measured from the public threshold.

    What is None was not told, or is not looked at: then the event is summed over it. A number stands for its density
    (on a lattice: its probability), a `AuditedWithin` for the probability of the interval.
    """

    gap: Told = None  # the noisy value minus the noisy threshold
    compared: Told = None  # the noisy value that was compared (no honest variant shows it)
    numeric: Told = None  # a second answer, with noise of its own
    level: Level = Level.PLAIN


@dataclass(frozen=True, slots=True)
class Abort:
    """Above the threshold once more after the last yes: the stop signal of a variant that halts one yes too late."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Above the threshold, but the machine crashed on it and everyone saw the crash."""


Outcome: TypeAlias = No | AuditedYes | Abort | Lost
Transcript: TypeAlias = tuple[Outcome, ...]

NO, YES, CLEAR_YES, ABORT, LOST = No(), AuditedYes(), AuditedYes(level=Level.CLEAR), Abort(), Lost()

Questions: TypeAlias = Sequence[Number] | Callable[[Transcript], Number]
"""True values, each measured from its public threshold: a list, or an analyst who looks at the answers so far."""


def gap_bins(*edges: Number) -> tuple[AuditedYes, ...]:
    """Return the yeses whose gaps lie between neighbouring `edges`.

    >>> [yes.gap for yes in gap_bins(0, 2, float("inf"))]
    [AuditedWithin(low=0, high=2), AuditedWithin(low=2, high=inf)]
    """
    return tuple(AuditedYes(gap=AuditedWithin(low, high)) for low, high in itertools.pairwise(edges))


def values_asked(questions: Questions, transcript: Transcript) -> tuple[Number, ...]:
    """Return the value behind each outcome of `transcript`.

    >>> values_asked(lambda answers: -len(answers), (NO, NO, YES))
    (0, -1, -2)
    """
    if callable(questions):
        return tuple(questions(transcript[:i]) for i in range(len(transcript)))
    if len(questions) < len(transcript):
        reason = f"are fewer than the {len(transcript)} outcomes of the transcript"
        remedy = "give one value for each outcome"
        raise ParameterError("questions", len(questions), reason=reason, remedy=remedy)
    return tuple(questions[: len(transcript)])
