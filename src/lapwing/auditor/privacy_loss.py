"""The exact privacy loss of what a sparse vector says on two neighbouring tables.

The loss of a transcript is ln P(transcript) - ln P'(transcript); a claim of epsilon-differential privacy says that no
transcript, on no pair of neighbours and in neither order, loses more than epsilon.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from lapwing.auditor.sparse_vector_oracle import SparseVectorVariant
from lapwing.auditor.transcripts import Questions, Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbouringPair:
    """The true values of the same questions on two neighbouring tables, each measured from its public threshold."""

    here: Questions
    there: Questions

    def swapped(self) -> "NeighbouringPair":
        """Return the pair in the other order: a claim must hold in both."""
        return NeighbouringPair(here=self.there, there=self.here)


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A pair and a transcript that lose `loss`; on `pair.here` the transcript has this `log_probability`."""

    loss: float
    log_probability: float
    pair: NeighbouringPair
    transcript: Transcript


def privacy_loss(variant: SparseVectorVariant, pair: NeighbouringPair, transcript: Transcript) -> float:
    """Return ln P(transcript) - ln P'(transcript).

    It is plus infinity where only the first table can give the transcript, and minus infinity where the first cannot.

    Examples
    --------
    Noise on the threshold alone (Lyu, Su and Li 2017, Algorithm 5) loses everything.

    >>> from lapwing.auditor.noise_laws import Laplace, NoNoise
    >>> from lapwing.auditor.transcripts import NO, YES
    >>> naked = SparseVectorVariant(threshold=Laplace(2), query=NoNoise(), yeses=1)
    >>> privacy_loss(naked, NeighbouringPair(here=[0, 1], there=[1, 0]), (NO, YES))
    inf
    """
    return witness_of(variant, pair, transcript).loss


def witness_of(variant: SparseVectorVariant, pair: NeighbouringPair, transcript: Transcript) -> Witness:
    """Return the witness that `pair` and `transcript` make."""
    here = variant.log_probability(pair.here, transcript)
    there = -math.inf if here == -math.inf else variant.log_probability(pair.there, transcript)
    loss = here if here == -math.inf else here - there
    return Witness(loss=loss, log_probability=here, pair=pair, transcript=transcript)


def worst_of(variant: SparseVectorVariant, pair: NeighbouringPair, transcripts: Iterable[Transcript]) -> Witness:
    """Return the one of `transcripts` that loses most on `pair`, in the order of the pair.

    >>> from lapwing.auditor.noise_laws import AuditedGeometric
    >>> from lapwing.auditor.transcripts import NO, YES
    >>> variant = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1)
    >>> pair = NeighbouringPair(here=[3, 0], there=[4, -1])
    >>> worst = worst_of(variant, pair, [(YES,), (NO, YES), (NO, NO)])
    >>> worst.transcript == (NO, YES), round(worst.loss, 9)
    (True, 1.0)
    """
    return max((witness_of(variant, pair, transcript) for transcript in transcripts), key=lambda found: found.loss)
