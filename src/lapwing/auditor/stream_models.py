"""White boxes of sparse vectors: the worst transcript for a pure claim, all transcripts of a few questions for another.

A pure claim is about single transcripts, and `worst_pairs` searches for the one that loses most among many questions.
Any other claim is about sets of transcripts, so here all of them are listed; where the first yes halts, they are no
more than the questions.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from lapwing.auditor.outcomes import (
    NO,
    YES,
    Abort,
    AuditedWithin,
    AuditedYes,
    Level,
    Lost,
    No,
    Number,
    Outcome,
    Questions,
    RevealedNumber,
    Transcript,
    gap_bins,
)
from lapwing.auditor.pair_of_laws import PairOfLaws, in_words
from lapwing.auditor.sparse_vector_oracle import Reveals, SparseVectorVariant
from lapwing.auditor.white_box import Achieved, FiniteModel, Inputs
from lapwing.auditor.worst_pairs import (
    AuditedMovement,
    NeighbouringPair,
    Witness,
    every_transcript,
    witness_of,
    worst_loss,
)
from lapwing.vocabulary.guarantee import Guarantee, PureDP

_PICTURED = 4
_LISTED = 8
_NUMBERS = (-math.inf, 0.0, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedStream(FiniteModel):
    """A sparse vector whose questions one person moves by at most `sensitivity`.

    >>> from lapwing.auditor.noise_laws import AuditedDiscreteLaplace
    >>> noise = {"threshold": AuditedDiscreteLaplace(2), "query": AuditedDiscreteLaplace(4)}
    >>> above_threshold = SparseVectorVariant(**noise, yeses=1)
    >>> found = AuditedStream(variant=above_threshold).worst(PureDP(epsilon=1))
    >>> round(found.number, 6), found.event
    (1.0, 'no x6, yes')
    """

    variant: SparseVectorVariant
    sensitivity: Number = 1
    movement: AuditedMovement = AuditedMovement.EITHER_WAY
    noes: int = 6  # in the transcripts that are searched
    # Each of them by its numbers of clear and of plain yeses; None is all the plain yeses of the variant.
    yeses: tuple[tuple[int, int | None], ...] = ((0, None),)

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the most that was found to be lost."""
        if not isinstance(claim, PureDP):
            return FiniteModel.worst(self, claim)
        search = partial(worst_loss, self.variant, sensitivity=self.sensitivity, movement=self.movement, noes=self.noes)
        found = [search(clear_yeses=clear, yeses=plain) for clear, plain in self.yeses]
        return achieved_by(max(found, key=lambda witness: witness.loss), self.variant, claim)

    def starts(self) -> Iterator[Inputs]:
        """Yield questions near and above the threshold that rise, followed by one that falls, or stays."""
        unit = max(1, round(self.variant.query.scale + self.variant.threshold.scale))
        rise = int(self.sensitivity)
        fall = -rise if self.movement is AuditedMovement.EITHER_WAY else 0
        for value, last in itertools.product((-unit, 0, unit), repeat=2):
            noes = (value,) * self.noes
            yield (*noes, last), (*(v + rise for v in noes), last + fall)

    def nearby(self, inputs: Inputs) -> Iterator[Inputs]:
        """Yield the same with the first questions, or the last, a little higher or lower on both."""
        by = max(1, round(self.variant.query.scale / 2))
        for sign, first in itertools.product((1, -1), (True, False)):
            shifts = [sign * by * (first == (i < self.noes)) for i in range(self.noes + 1)]
            here, there = (tuple(v + shift for v, shift in zip(side, shifts, strict=True)) for side in inputs)
            yield here, there

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of all transcripts."""
        return transcript_laws(self.variant, NeighbouringPair(here=inputs[0], there=inputs[1]))


def achieved_by(witness: Witness, variant: SparseVectorVariant, claim: PureDP) -> Achieved:
    """Return the privacy loss that a pair and a transcript achieve, against a pure claim."""
    told = any(number is not None for outcome in witness.transcript for number in _numbers(outcome))
    here = None if told else math.exp(witness.log_probability)
    found = Achieved(
        claim=claim,
        number=witness.loss,
        delta=None,
        inputs=f"{_values(witness.pair.here)} | {_values(witness.pair.there)}",
        event=transcript_in_words(witness.transcript),
        here=here,
        there=None if here is None else math.exp(witness.log_probability - witness.loss),
    )
    return replace(
        found, laws=lambda: _witnessed(variant, witness) if found.refuted else _pictured(variant, witness.pair)
    )


def transcript_laws(
    variant: SparseVectorVariant, pair: NeighbouringPair, *, above: Sequence[Outcome] | None = None
) -> PairOfLaws:
    """Return the laws of all transcripts of the variant on the questions of `pair`.

    >>> from lapwing.auditor.noise_laws import AuditedGeometric
    >>> variant = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1)
    >>> laws = transcript_laws(variant, NeighbouringPair(here=(0, 0), there=(1, -1)))
    >>> list(laws.outcomes)
    ['no x2', 'no, yes', 'yes']
    """
    sides = _listed(pair.here), _listed(pair.there)
    transcripts = list(every_transcript(variant, len(sides[0]), above=above))
    here, there = (np.array([variant.log_probability(side, said) for said in transcripts]) for side in sides)
    return PairOfLaws(inputs=sides, here=here, there=there, outcomes=list(map(transcript_in_words, transcripts)))


def transcript_in_words(transcript: Transcript) -> str:
    """Return a transcript in a line.

    >>> transcript_in_words((NO, NO, AuditedYes(gap=AuditedWithin(0, 2))))
    'no x2, yes (gap 0 to 2)'
    """
    return in_words(tuple(_outcome_in_words(outcome) for outcome in transcript))


def _outcome_in_words(outcome: Outcome) -> str:
    match outcome:
        case No():
            return "no"
        case Abort():
            return "abort"
        case Lost():
            return "lost"
        case AuditedYes(gap=gap, compared=compared, numeric=numeric, level=level):
            said = {"gap": gap, "value": compared, "number": numeric}
            told = ", ".join(f"{name} {_format_number(number)}" for name, number in said.items() if number is not None)
            return ("clear yes" if level is Level.CLEAR else "yes") + (f" ({told})" if told else "")


def _format_number(number: RevealedNumber) -> str:
    if not isinstance(number, AuditedWithin):
        return f"{float(number or 0):g}"
    if math.isinf(number.low):
        return f"below {float(number.high):g}"
    return f"{float(number.low):g} to {float(number.high):g}" if math.isfinite(number.high) else f">= {number.low:g}"


def _numbers(outcome: Outcome) -> tuple[Number | None, ...]:  # those of which a yes shows the density
    if not isinstance(outcome, AuditedYes):
        return ()
    return tuple(n for n in (outcome.gap, outcome.compared, outcome.numeric) if not isinstance(n, AuditedWithin))


def _listed(questions: Questions) -> tuple[Number, ...]:
    if callable(questions):  # an analyst, whose questions depend on the answers
        raise TypeError(questions)
    return tuple(questions)


def _values(questions: Questions) -> str:
    return in_words(tuple(map(float, _listed(questions))))


def _pictured(variant: SparseVectorVariant, pair: NeighbouringPair) -> PairOfLaws:
    """Return the laws on questions at the threshold that move as those of `pair` do, few enough to be listed.

    The pair that loses most asks in the far tails, where nothing is ever seen; here, most transcripts are likely.
    """
    moves = [Fraction(b) - Fraction(a) for a, b in zip(_listed(pair.here), _listed(pair.there), strict=True)]
    kept = [moves[i] for i in np.linspace(0, len(moves) - 1, min(_PICTURED, len(moves))).round().astype(int)]
    shown = NeighbouringPair(here=(0,) * len(kept), there=tuple(map(float, kept)))
    return transcript_laws(variant, shown, above=_above(variant))


def _witnessed(variant: SparseVectorVariant, witness: Witness) -> PairOfLaws:
    """Return the laws on the pair of a witness: of all transcripts if they are few, or of its own and of any other."""
    pair, transcript = witness.pair, witness.transcript
    above = _above(variant)
    questions = len(_listed(pair.here))
    if questions <= _LISTED and transcript in every_transcript(variant, questions, above=above):
        return transcript_laws(variant, pair, above=above)
    said = witness.log_probability, witness.log_probability - witness.loss
    here, there = (np.array([log, math.log1p(-math.exp(log))]) for log in said)
    names = [transcript_in_words(transcript), "anything else"]
    return PairOfLaws(inputs=(_values(pair.here), _values(pair.there)), here=here, there=there, outcomes=names)


def _above(variant: SparseVectorVariant) -> Sequence[Outcome] | None:
    if variant.clear is not None:
        return None
    if Reveals.GAP in variant.reveals:
        unit = max(1, round(variant.query.scale))
        return gap_bins(0, unit, 3 * unit, math.inf)
    if Reveals.COMPARED_VALUE in variant.reveals:
        return [AuditedYes(compared=AuditedWithin(low, high)) for low, high in itertools.pairwise(_NUMBERS)]
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelationStream:
    """A sparse vector that asks whether pairs of features correlate by at least `at_least`; tables are searched.

    The score of features x and y, which are whole numbers between -`resolution` and `resolution`, is
    2 |Σ xy| b - a Σ (x² + y²) with `at_least` = a/b. Everybody who may come or go is tried, on tables with a pair of
    features that correlate and one that hardly does; the first pair is asked about `noes` times, then the other.
    """

    variant: SparseVectorVariant
    at_least: Fraction
    resolution: int
    noes: int = 6

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the most that was found to be lost by the transcript of noes and a yes."""
        if not isinstance(claim, PureDP):
            raise TypeError(claim)
        transcript: Transcript = (*(NO,) * self.noes, YES)
        people = itertools.product((-self.resolution, 0, self.resolution), repeat=4)
        # How an arriving person moves the scores of the two pairs, where both correlate positively.
        moves = {(self._change(*person[:2]), self._change(*person[2:])) for person in people}
        pairs = {pair for move in moves for pair in self._pairs(*move)}
        found = (witness_of(self.variant, NeighbouringPair(here=a, there=b), transcript) for a, b in sorted(pairs))
        return achieved_by(max(found, key=lambda witness: witness.loss), self.variant, claim)

    def _change(self, x: int, y: int) -> int:
        return 2 * x * y * self.at_least.denominator - self.at_least.numerator * (x * x + y * y)

    def _pairs(self, first: int, second: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        far = 8 * round(self.variant.threshold.scale + self.variant.query.scale)
        for high, low in itertools.product((0, far), (0, -far)):
            without = (*(high,) * self.noes, low)
            arrived = (*(high + first,) * self.noes, low + second)
            yield from ((without, arrived), (arrived, without))
