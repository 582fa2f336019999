"""The exact probability of any transcript of a sparse vector, for every variant that was ever printed, right or wrong.

Given the noise on the threshold, the answers are independent. So the probability of a transcript is one integral (on a
lattice: one sum) over the threshold noise, of a product of one factor per question. The factors here are written from
the definition of each variant and share nothing with the code that runs it.

Proof: proofs/sparse_vector_oracle.md
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, Flag, auto
from fractions import Fraction
from typing import NoReturn

from lapwing.auditor import answer_factors
from lapwing.auditor.answer_factors import AnswerFactor, log_expectation, misses
from lapwing.auditor.noise_laws import NoiseLaw, NoNoise
from lapwing.auditor.outcomes import (
    YES,
    Abort,
    AuditedYes,
    Level,
    Lost,
    No,
    Number,
    Outcome,
    Questions,
    Transcript,
    values_asked,
)
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, exact, fill, positive


class Reveals(Flag):
    """The numbers that a yes reveals. Combine with `|`."""

    BIT = 0  # nothing more
    GAP = auto()  # the noisy value minus the noisy threshold
    COMPARED_VALUE = auto()  # the noisy value that was compared: the mistake of document 002
    NUMERIC = auto()  # a second noisy value, with fresh noise


class Halting(Enum):
    """When the variant stops."""

    WITH_THE_LAST_YES = "with the last yes"
    ONE_YES_LATE = "at the first yes after the last"
    NEVER = "never"


class AfterCrash(Enum):
    """The treatment of a yes that a crash lost."""

    COUNTS_AS_YES = "it counts as a yes"
    ASKED_AGAIN = "the question is asked again, with fresh noise"


@dataclass(frozen=True, slots=True)
class ClearYes:
    """The first of two comparisons of the adaptive sparse vector: more noise, a margin to clear, a smaller price."""

    query: NoiseLaw
    margin: Number  # how far above the noisy threshold the noisy value must be
    price: Fraction = Fraction(1, 2)  # what a clear yes costs, in yeses

    def __post_init__(self) -> None:
        fill(self, margin=exact("margin", self.margin), price=positive("price", self.price))


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorVariant:
    """A sparse vector, described.

    Every question has a true value g (measured from its public threshold). Threshold noise ρ is drawn, and for each
    question query noise ν; the answer is yes if g + ν >= ρ.

    AboveThreshold at epsilon 1, and its worst pair: many questions that rise, then one that falls.

    >>> import math
    >>> from lapwing.auditor.noise_laws import Laplace
    >>> from lapwing.auditor.outcomes import NO, YES
    >>> above_threshold = SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1)
    >>> ten_noes_then_yes = (NO,) * 10 + (YES,)
    >>> here = above_threshold.log_probability([0] * 11, ten_noes_then_yes)
    >>> there = above_threshold.log_probability([1] * 10 + [-1], ten_noes_then_yes)
    >>> round(math.exp(here), 7), round(math.exp(there), 7), round(here - there, 4)
    (0.0046535, 0.0017198, 0.9954)
    """

    threshold: NoiseLaw  # the law of ρ
    query: NoiseLaw  # the law of ν
    yeses: int  # after how many the variant stops
    reveals: Reveals = Reveals.BIT
    numeric: NoiseLaw | None = None  # the law of the fresh noise of the numeric answer, if there is one
    clear: ClearYes | None = None  # the first comparison of the adaptive variant, if it has two
    halting: Halting = Halting.WITH_THE_LAST_YES
    after_crash: AfterCrash = AfterCrash.COUNTS_AS_YES

    def __post_init__(self) -> None:
        fill(self, yeses=as_int("yeses", self.yeses))
        if (Reveals.NUMERIC in self.reveals) != (self.numeric is not None):
            remedy = "give the law of the fresh noise if, and only if, a numeric answer is revealed"
            self._refuse("numeric", f"does not go with {self.reveals}", remedy)
        if Reveals.COMPARED_VALUE in self.reveals and (Reveals.GAP in self.reveals or self.clear):
            reason = "shows the noisy threshold itself, for which there is no density"
            self._refuse("reveals", reason, "reveal the compared value alone, under one comparison")
        if self.clear and self.halting is Halting.ONE_YES_LATE:
            self._refuse("halting", "is not known with two comparisons", "halt with the last yes")
        if Reveals.GAP in self.reveals and isinstance(self.query, NoNoise) and self.threshold.step is None:
            reason = "makes the gap show the threshold noise itself, for which there is no density"
            self._refuse("query", reason, "reveal the bit, or put the noise on a lattice")
        lattices = {law.step for law in self._comparing_laws} - {None}
        continuous = self.threshold.step is None and not isinstance(self.threshold, NoNoise)
        if len(lattices) > 1 or (lattices and continuous):
            reason = f"does not live where the threshold noise {self.threshold} lives"
            self._refuse("query", reason, "put all noise on one lattice, or the query noise on the whole line")

    def _refuse(self, name: str, reason: str, remedy: str) -> NoReturn:
        raise ParameterError(name, getattr(self, name), reason=reason, remedy=remedy)

    @property
    def lattice(self) -> Fraction | None:
        """The step of the lattice on which values are compared; None on the whole line."""
        return next((law.step for law in self._comparing_laws if law.step is not None), None)

    @property
    def _comparing_laws(self) -> tuple[NoiseLaw, ...]:
        return (self.threshold, self.query, *([self.clear.query] if self.clear else []))

    def log_probability(self, questions: Questions, transcript: Transcript) -> float:
        """Return the natural logarithm of the probability (for revealed numbers: of the density) of `transcript`.

        Its relative error is about 1e-14 (and 1e-15 for each unit of the logarithm). It is the probability of the
        event that the answers begin like this: a transcript need not be finished.

        Document 002 returns the compared value. Three noes and then a number at most the threshold: the probability
        is 2^-5 / (4 * 5) on one table, and e^2 times less on a neighbour, where e^1 is claimed to be the most.

        >>> import math
        >>> from lapwing.auditor.noise_laws import Laplace
        >>> from lapwing.auditor.outcomes import NO, AuditedWithin, AuditedYes
        >>> printed = SparseVectorVariant(
        ...     threshold=Laplace(2), query=Laplace(2), yeses=1,
        ...     reveals=Reveals.COMPARED_VALUE, halting=Halting.ONE_YES_LATE,
        ... )
        >>> event = (NO, NO, NO, AuditedYes(compared=AuditedWithin(-math.inf, 0)))
        >>> here, there = (printed.log_probability([g] * 4, event) for g in (0, 1))
        >>> round(math.exp(here) * 2**5 * 4 * 5, 12), round(here - there, 12)
        (1.0, 2.0)
        """
        if reason := next(self._impossible(transcript), None):
            raise ParameterError("transcript", transcript, reason=reason, remedy="ask about something it can say")
        asked = Counter(zip(values_asked(questions, transcript), transcript, strict=True))
        factors = [(n, factor) for pair, n in asked.items() for factor in self.factors(*pair)]
        return log_expectation(self.threshold, factors) if factors else 0.0

    def price(self, outcome: Outcome) -> Fraction:
        """Return how many yeses an outcome uses up."""
        match outcome:
            case AuditedYes(level=Level.CLEAR) if self.clear:
                return self.clear.price
            case AuditedYes():
                return Fraction(1)
            case Lost():
                return Fraction(self.after_crash is AfterCrash.COUNTS_AS_YES)
            case No() | Abort():
                return Fraction(0)

    def is_over(self, transcript: Transcript) -> bool:
        """Say whether the variant has stopped: another plain yes could not be paid, or it has aborted.

        >>> from lapwing.auditor.noise_laws import Laplace
        >>> variant = SparseVectorVariant(threshold=Laplace(2), query=Laplace(8), yeses=2)
        >>> variant.is_over((YES,)), variant.is_over((YES, YES))
        (False, True)
        """
        match self.halting:
            case Halting.NEVER:
                return False
            case Halting.ONE_YES_LATE:
                return bool(transcript) and isinstance(transcript[-1], Abort)
            case Halting.WITH_THE_LAST_YES:
                return self.is_exhausted(transcript)

    def is_exhausted(self, transcript: Transcript) -> bool:
        """Say whether another plain yes could no longer be paid."""
        return sum(self.price(outcome) for outcome in transcript if not isinstance(outcome, No)) > self.yeses - 1

    def _impossible(self, transcript: Transcript) -> Iterator[str]:
        for i, outcome in enumerate(transcript):
            if isinstance(outcome, No):
                continue
            exhausted = self.halting is Halting.ONE_YES_LATE and self.is_exhausted(transcript[:i])
            if isinstance(outcome, Abort) != exhausted:
                yield f"and this variant do not agree that outcome {i} is an abort"
            if i + 1 < len(transcript) and self.is_over(transcript[: i + 1]):
                yield f"goes on after the variant halted with outcome {i}"
            if isinstance(outcome, Lost) and self.clear:
                yield "does not say which of the two comparisons was lost"
            if isinstance(outcome, AuditedYes):
                told = {
                    Reveals.GAP: outcome.gap,
                    Reveals.COMPARED_VALUE: outcome.compared,
                    Reveals.NUMERIC: outcome.numeric,
                }
                for kind, number in told.items():
                    if number is not None and kind not in self.reveals:
                        yield f"tells {kind}, but the variant reveals {self.reveals}"
                if outcome.level is Level.CLEAR and self.clear is None:
                    yield "has a clear yes, but the variant has one comparison only"

    def factors(self, value: Number, outcome: Outcome) -> list[AnswerFactor]:
        """Return the factors of this outcome of a question with this true value, given the threshold noise."""
        g = exact("value", value)
        not_clear = [] if self.clear is None else [misses(self.clear.query, self.clear.margin - g)]
        match outcome:
            case No():
                return [*not_clear, misses(self.query, -g)]
            case AuditedYes(level=Level.CLEAR) if self.clear is not None:
                return self._pass(self.clear.query, self.clear.margin, g, outcome)
            case AuditedYes():
                return [*not_clear, *self._pass(self.query, 0, g, outcome)]
            case Abort() | Lost():
                return self._pass(self.query, 0, g, YES)

    def _pass(self, law: NoiseLaw, margin: Number, g: Fraction, yes: AuditedYes) -> list[AnswerFactor]:
        least = margin - g
        fresh = []
        if self.numeric is not None and yes.numeric is not None:
            fresh = [answer_factors.answers(self.numeric, g, yes.numeric)]
        if yes.gap is not None:
            return [answer_factors.passes_with_gap(law, least, g, yes.gap), *fresh]
        if yes.compared is not None:
            return [answer_factors.passes_with_value(law, least, g, yes.compared), *fresh]
        return [answer_factors.passes(law, least), *fresh]
