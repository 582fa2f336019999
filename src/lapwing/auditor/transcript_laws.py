"""Everything a sparse vector may say about a few questions, with its probability, and how far two such laws are apart.

Here all transcripts are listed, so that samples can be tested against their probabilities and divergences are exact.
The number of transcripts doubles with each question: this is for few questions, and for analysts who choose the next
one by the answers so far.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import logsumexp

from lapwing.auditor.noise_laws import Reals
from lapwing.auditor.privacy_loss import NeighbouringPair
from lapwing.auditor.sparse_vector_oracle import Halting, SparseVectorVariant
from lapwing.auditor.transcripts import ABORT, CLEAR_YES, NO, YES, Outcome, Questions, Transcript
from lapwing.vocabulary.errors import ParameterError


def every_transcript(
    variant: SparseVectorVariant, length: int, *, above: Sequence[Outcome] | None = None
) -> Iterator[Transcript]:
    """Yield what the variant may say to `length` questions: transcripts of that length, and shorter ones that halted.

    Parameters
    ----------
    variant : the sparse vector
    length : how many questions there are
    above : the outcomes that a value above the threshold may have, such as `gap_bins(0, 2, inf)`; a bare yes unless
        said otherwise

    Examples
    --------
    >>> from lapwing.auditor.noise_laws import Laplace
    >>> above_threshold = SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1)
    >>> [len(transcript) for transcript in every_transcript(above_threshold, 3)]
    [3, 3, 2, 1]
    """
    return (t for t in every_beginning(variant, length, above=above) if len(t) == length or variant.is_over(t))


def every_beginning(
    variant: SparseVectorVariant, length: int, *, above: Sequence[Outcome] | None = None
) -> Iterator[Transcript]:
    """Yield every transcript of one to `length` outcomes, finished or not."""
    bare: Sequence[Outcome] = (YES, CLEAR_YES) if variant.clear else (YES,)
    told = bare if above is None else above

    def grow(transcript: Transcript) -> Iterator[Transcript]:
        if transcript:
            yield transcript
        if len(transcript) < length and not variant.is_over(transcript):
            late = variant.halting is Halting.ONE_YES_LATE and variant.is_exhausted(transcript)
            yield from grow((*transcript, NO))
            for outcome in (ABORT,) if late else told:
                yield from grow((*transcript, outcome))

    return grow(())


def transcript_probabilities(
    variant: SparseVectorVariant,
    questions: Questions,
    *,
    length: int | None = None,
    above: Sequence[Outcome] | None = None,
) -> dict[Transcript, float]:
    """Return the probability of each transcript; they sum to one if `above` leaves nothing out.

    Parameters
    ----------
    variant : the sparse vector
    questions : the true values, or a function from the answers so far to the next one
    length : how many questions are asked; needed for a function only
    above : the outcomes that a value above the threshold may have, such as `gap_bins(0, 2, inf)`

    Examples
    --------
    >>> from lapwing.auditor.noise_laws import AuditedGeometric
    >>> variant = SparseVectorVariant(threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1)
    >>> law = transcript_probabilities(variant, [-1, 0, 1])
    >>> round(law[NO, NO, NO], 3), round(sum(law.values()), 12)
    (0.071, 1.0)
    """
    length = _length(questions, length)
    return {t: variant.probability(questions, t) for t in every_transcript(variant, length, above=above)}


def renyi_divergence(
    variant: SparseVectorVariant,
    pair: NeighbouringPair,
    order: float,
    *,
    length: int | None = None,
    above: Sequence[Outcome] | None = None,
) -> float:
    """Return the Renyi divergence of `order` > 1 between what the variant says on `pair.here` and on `pair.there`.

    With gaps in bins it is a lower bound of the divergence with the gaps themselves.

    >>> from lapwing.auditor.noise_laws import Gaussian
    >>> variant = SparseVectorVariant(threshold=Gaussian(10), query=Gaussian(20), yeses=1)
    >>> round(renyi_divergence(variant, NeighbouringPair(here=[0], there=[1]), 8), 5)
    0.00505
    """
    if not order > 1:
        raise ParameterError("order", order, reason="is not above 1", remedy="write a number above 1")
    here, there = _log_laws(variant, pair, length, above)
    possible = here > -math.inf
    if (there[possible] == -math.inf).any():
        return math.inf
    return float(logsumexp(order * here[possible] + (1 - order) * there[possible])) / (order - 1)


def hockey_stick(
    variant: SparseVectorVariant,
    pair: NeighbouringPair,
    epsilon: float,
    *,
    length: int | None = None,
    above: Sequence[Outcome] | None = None,
) -> float:
    """Return the smallest delta such that the pair, in this order, keeps (epsilon, delta)-differential privacy.

    >>> from lapwing.auditor.noise_laws import Gaussian
    >>> variant = SparseVectorVariant(threshold=Gaussian(1), query=Gaussian(2), yeses=1)
    >>> round(hockey_stick(variant, NeighbouringPair(here=[0], there=[1]), 0.0), 6)
    0.17264
    """
    here, there = _log_laws(variant, pair, length, above)
    more = here > there + epsilon
    return math.fsum(np.exp(here[more]) - np.exp(there[more] + epsilon))


def _log_laws(
    variant: SparseVectorVariant, pair: NeighbouringPair, length: int | None, above: Sequence[Outcome] | None
) -> tuple[Reals, Reals]:
    transcripts = list(every_transcript(variant, _length(pair.here, length), above=above))
    here, there = (
        np.array([variant.log_probability(questions, t) for t in transcripts]) for questions in (pair.here, pair.there)
    )
    return here, there


def _length(questions: Questions, length: int | None) -> int:
    if length is not None:
        return length
    if callable(questions):
        raise ParameterError("length", length, reason="is needed for an analyst", remedy="say how many questions")
    return len(questions)
