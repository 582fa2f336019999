"""Sparse vectors that were printed and are not as private as they claim: described, with what they really lose.

Each comes with two neighbouring tables and a transcript that proves the lie and is likely enough to be sampled. A liar
is here to be caught. None is an option anywhere.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from lapwing.auditor.moved_laws import Mirrored
from lapwing.auditor.noise_laws import AuditedDiscreteLaplace, AuditedGeometric, Exponential, Laplace, NoNoise
from lapwing.auditor.privacy_loss import NeighbouringPair
from lapwing.auditor.sparse_vector_oracle import AfterCrash, Halting, Reveals, SparseVectorVariant
from lapwing.auditor.transcripts import ABORT, LOST, NO, YES, AuditedWithin, AuditedYes, Transcript
from lapwing.auditor.worst_pairs import AuditedMovement
from lapwing.vocabulary.guarantee import PureDP

_CLAIM = PureDP(epsilon=Fraction(1))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLiar:
    """A sparse vector with a false claim.

    Attributes
    ----------
    name : the lie in a few words
    source : where it was printed, or how it comes about
    variant : its description
    claim : what it claims
    loses : the most it loses on any pair of neighbours; infinite if there is no bound
    movement, sensitivity : the neighbours for which the claim is made
    pair, transcript : where it is caught
    """

    name: str
    source: str
    variant: SparseVectorVariant
    loses: float
    pair: NeighbouringPair
    transcript: Transcript
    claim: PureDP = _CLAIM
    movement: AuditedMovement = AuditedMovement.EITHER_WAY
    sensitivity: Fraction = Fraction(1)


_NOES = 4
"""Enough to show what is wrong, and few enough to be seen by sampling."""


def _answers(here: float, there: float, *, yes_here: float, yes_there: float, yeses: int = 1) -> NeighbouringPair:
    """Return a pair: first the questions that get a no, then those that get a yes."""
    return NeighbouringPair(here=(here,) * _NOES + (yes_here,) * yeses, there=(there,) * _NOES + (yes_there,) * yeses)


_APART = _answers(0, 1, yes_here=0, yes_there=-1)
_TOGETHER = _answers(0, 1, yes_here=0, yes_there=1)
_NOES_THEN_YES = (NO,) * _NOES + (YES,)
_NOES_THEN_LOW_NUMBER = (NO,) * _NOES + (AuditedYes(compared=AuditedWithin(-math.inf, 0)),)

DOCUMENT_002 = KnownLiar(
    name="returns_the_value_it_compared_and_aborts_late",
    source="document 002, the sparse vector technique as printed. Proof: proofs/sparse_vector_counterexample.md",
    variant=SparseVectorVariant(
        threshold=Laplace(2),
        query=Laplace(2),
        yeses=1,
        reveals=Reveals.COMPARED_VALUE,
        halting=Halting.ONE_YES_LATE,
    ),
    loses=math.inf,
    movement=AuditedMovement.TOGETHER,
    pair=_TOGETHER,
    transcript=_NOES_THEN_LOW_NUMBER,
)

KNOWN_LIARS = (
    DOCUMENT_002,
    KnownLiar(
        name="returns_the_value_it_compared",
        source="Lyu, Su and Li 2017, Algorithm 3: document 002 without its late abort",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, reveals=Reveals.COMPARED_VALUE),
        loses=math.inf,
        movement=AuditedMovement.TOGETHER,
        pair=_TOGETHER,
        transcript=_NOES_THEN_LOW_NUMBER,
    ),
    KnownLiar(
        name="returns_the_value_it_compared_with_twice_the_noise",
        source="document 002 with the right scale for its questions: more noise does not mend it",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1, reveals=Reveals.COMPARED_VALUE),
        loses=math.inf,
        movement=AuditedMovement.TOGETHER,
        pair=_TOGETHER,
        transcript=_NOES_THEN_LOW_NUMBER,
    ),
    KnownLiar(
        name="gives_all_questions_the_scale_of_monotone_ones",
        source="document 002 with bits only, under its own (replace) neighbours",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1),
        loses=1.5,
        pair=_APART,
        transcript=_NOES_THEN_YES,
    ),
    KnownLiar(
        name="gives_all_questions_the_exponential_scale_of_monotone_ones",
        source="exponential noise, calibrated for counts that move together, asked about counts that do not",
        variant=SparseVectorVariant(threshold=Exponential(2), query=Exponential(2), yeses=1),
        loses=1.5,
        pair=_APART,
        transcript=_NOES_THEN_YES,
    ),
    KnownLiar(
        name="aborts_one_yes_too_late",
        source="document 002 with bits only: it stops at the yes after its last",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, halting=Halting.ONE_YES_LATE),
        loses=2.5,
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=2),
        transcript=(*_NOES_THEN_YES, ABORT),
    ),
    KnownLiar(
        name="forgets_the_number_of_yeses_in_its_noise",
        source="Lyu, Su and Li 2017, Algorithm 4 (Lee and Clifton)",
        variant=SparseVectorVariant(threshold=Laplace(4), query=Laplace(4 / 3), yeses=2),
        loses=3.25,
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=2),
        transcript=(*_NOES_THEN_YES, YES),
    ),
    KnownLiar(
        name="leaves_the_questions_without_noise",
        source="Lyu, Su and Li 2017, Algorithm 5 (Stoddard, Chen and Machanavajjhala)",
        variant=SparseVectorVariant(threshold=Laplace(2), query=NoNoise(), yeses=1),
        loses=math.inf,
        pair=NeighbouringPair(here=(0, 1), there=(1, 0)),
        transcript=(NO, YES),
    ),
    KnownLiar(
        name="never_stops",
        source="Lyu, Su and Li 2017, Algorithm 6 (Chen, Xiao, Zhang and Xu)",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, halting=Halting.NEVER),
        loses=math.inf,
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=_NOES),
        transcript=(NO,) * _NOES + (YES,) * _NOES,
    ),
    KnownLiar(
        name="tests_any_number_of_thresholds",
        source="Chen and Machanavajjhala 2015, generalized private threshold testing: Lap(1/ε₁), Lap(1/ε₂), no halt",
        variant=SparseVectorVariant(threshold=Laplace(4), query=Laplace(4 / 3), yeses=1, halting=Halting.NEVER),
        loses=math.inf,
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=_NOES),
        transcript=(NO,) * _NOES + (YES,) * _NOES,
    ),
    KnownLiar(
        name="leaves_the_threshold_without_noise",
        source="noise on each value, none on the threshold: then every no is paid for, too",
        variant=SparseVectorVariant(threshold=NoNoise(), query=Laplace(2), yeses=1),
        loses=math.inf,
        pair=_APART,
        transcript=_NOES_THEN_YES,
    ),
    KnownLiar(
        name="pushes_the_threshold_down_with_one_sided_noise",
        source="exponential noise subtracted from the threshold instead of added",
        variant=SparseVectorVariant(threshold=Mirrored(Exponential(2)), query=Exponential(4), yeses=1),
        loses=math.inf,
        pair=_answers(-1, 0, yes_here=-1, yes_there=-2),
        transcript=_NOES_THEN_YES,
    ),
    KnownLiar(
        name="asks_about_halves_on_a_lattice_of_ones",
        source="values with sensitivity 1/2, compared on the integers with noise scaled for 1/2",
        variant=SparseVectorVariant(threshold=AuditedDiscreteLaplace(1), query=AuditedDiscreteLaplace(2), yeses=1),
        loses=2.0,
        sensitivity=Fraction(1, 2),
        pair=_answers(0.5, 1, yes_here=0, yes_there=-0.5),
        transcript=_NOES_THEN_YES,
    ),
    KnownLiar(
        name="tells_the_gap_of_values_off_the_lattice",
        source="integer noise on values in halves: the fraction of the gap is the fraction of the value",
        variant=SparseVectorVariant(
            threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1, reveals=Reveals.GAP
        ),
        loses=math.inf,
        pair=NeighbouringPair(here=(0.5,), there=(1,)),
        transcript=(AuditedYes(gap=0.5),),
        sensitivity=Fraction(1, 2),
    ),
    KnownLiar(
        name="asks_again_with_fresh_noise_after_a_crash",
        source="a yes that everyone saw crash is not counted, and the question is decided anew",
        variant=SparseVectorVariant(
            threshold=AuditedGeometric(2), query=AuditedGeometric(2), yeses=1, after_crash=AfterCrash.ASKED_AGAIN
        ),
        loses=math.inf,
        movement=AuditedMovement.TOGETHER,
        pair=NeighbouringPair(here=(-1, *(0,) * 5), there=(0, *(0,) * 5)),
        transcript=(NO, *(LOST,) * 5),
    ),
)
