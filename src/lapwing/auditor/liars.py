"""Mechanisms that claim more than they keep: printed sparse vectors, textbook formulas out of range, one-line bugs.

A sparse vector comes with two neighbouring tables and a transcript that proves the lie and is likely enough to be
sampled. A liar is here to be caught. None is an option anywhere.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.auditor.added_noise import AddedNoise
from lapwing.auditor.choices import AuditedRule, CountedChoice, HistogramChoice, ThresholdedKeys
from lapwing.auditor.graph_ladders import AuditedLadder, count_stars, widths_of_the_two_largest_degrees
from lapwing.auditor.noise_laws import (
    AuditedDiscreteLaplace,
    AuditedGeometric,
    AuditedRoundedGaussian,
    AuditedRoundedLaplace,
    Exponential,
    Laplace,
    Mirrored,
    NoNoise,
)
from lapwing.auditor.outcomes import ABORT, LOST, NO, YES, AuditedWithin, AuditedYes, Transcript
from lapwing.auditor.pair_of_laws import PairOfLaws
from lapwing.auditor.sparse_vector_oracle import AfterCrash, Halting, Reveals, SparseVectorVariant
from lapwing.auditor.stream_models import achieved_by
from lapwing.auditor.white_box import Achieved, FiniteModel, Inputs, WhiteBox, measure
from lapwing.auditor.worst_pairs import AuditedMovement, NeighbouringPair, witness_of
from lapwing.vocabulary.guarantee import ApproximateDP, Guarantee, PureDP

_CLAIM = PureDP(epsilon=1)
_NOES = 4  # enough to show what is wrong, and few enough to be seen by sampling


def _answers(here: float, there: float, *, yes_here: float, yes_there: float, yeses: int = 1) -> NeighbouringPair:
    """Return a pair: first the questions that get a no, then those that get a yes."""
    return NeighbouringPair(here=(here,) * _NOES + (yes_here,) * yeses, there=(there,) * _NOES + (yes_there,) * yeses)


_APART = _answers(0, 1, yes_here=0, yes_there=-1)
_TOGETHER = _answers(0, 1, yes_here=0, yes_there=1)
_NOES_THEN_YES = (NO,) * _NOES + (YES,)
_NOES_THEN_LOW_NUMBER = (NO,) * _NOES + (AuditedYes(compared=AuditedWithin(-math.inf, 0)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLiar:
    """A sparse vector with a false claim about neighbours that differ by `movement` and `sensitivity`.

    `loses` is an upper bound on its loss on any pair of neighbours, or infinite. `pair` and `transcript` catch it: by
    default noes to questions that rise, then a yes to one that falls.
    """

    name: str  # the lie in a few words
    source: str  # where it was printed, or how it comes about
    variant: SparseVectorVariant
    claim: PureDP = _CLAIM
    loses: float = math.inf
    movement: AuditedMovement = AuditedMovement.EITHER_WAY
    sensitivity: Fraction = Fraction(1)
    pair: NeighbouringPair = _APART
    transcript: Transcript = _NOES_THEN_YES

    def worst(self) -> Achieved:
        """Return its privacy loss where it is caught."""
        return achieved_by(witness_of(self.variant, self.pair, self.transcript), self.variant, self.claim)


DOCUMENT_002 = StreamLiar(
    name="returns_the_value_it_compared_and_aborts_late",
    source="document 002, the sparse vector technique as printed. Proof: proofs/sparse_vector_counterexample.md",
    variant=SparseVectorVariant(
        threshold=Laplace(2), query=Laplace(2), yeses=1, reveals=Reveals.COMPARED_VALUE, halting=Halting.ONE_YES_LATE
    ),
    movement=AuditedMovement.TOGETHER,
    pair=_TOGETHER,
    transcript=_NOES_THEN_LOW_NUMBER,
)

STREAM_LIARS = (
    DOCUMENT_002,
    replace(
        DOCUMENT_002,
        name="returns_the_value_it_compared",
        source="Lyu, Su and Li 2017, Algorithm 3: document 002 without its late abort",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, reveals=Reveals.COMPARED_VALUE),
    ),
    replace(
        DOCUMENT_002,
        name="returns_the_value_it_compared_with_twice_the_noise",
        source="document 002 with the right scale for its questions: more noise does not mend it",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1, reveals=Reveals.COMPARED_VALUE),
    ),
    StreamLiar(
        name="gives_all_questions_the_scale_of_monotone_ones",
        source="document 002 with bits only, under its own (replace) neighbours",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1),
        loses=1.5,
    ),
    StreamLiar(
        name="gives_all_questions_the_exponential_scale_of_monotone_ones",
        source="exponential noise, calibrated for counts that move together, asked about counts that do not",
        variant=SparseVectorVariant(threshold=Exponential(2), query=Exponential(2), yeses=1),
        loses=1.5,
    ),
    StreamLiar(
        name="aborts_one_yes_too_late",
        source="document 002 with bits only: it stops at the yes after its last",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, halting=Halting.ONE_YES_LATE),
        loses=2.5,
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=2),
        transcript=(*_NOES_THEN_YES, ABORT),
    ),
    StreamLiar(
        name="forgets_the_number_of_yeses_in_its_noise",
        source="Lyu, Su and Li 2017, Algorithm 4 (Lee and Clifton)",
        variant=SparseVectorVariant(threshold=Laplace(4), query=Laplace(4 / 3), yeses=2),
        loses=3.25,
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=2),
        transcript=(*_NOES_THEN_YES, YES),
    ),
    StreamLiar(
        name="leaves_the_questions_without_noise",
        source="Lyu, Su and Li 2017, Algorithm 5 (Stoddard, Chen and Machanavajjhala)",
        variant=SparseVectorVariant(threshold=Laplace(2), query=NoNoise(), yeses=1),
        pair=NeighbouringPair(here=(0, 1), there=(1, 0)),
        transcript=(NO, YES),
    ),
    StreamLiar(
        name="never_stops",
        source="Lyu, Su and Li 2017, Algorithm 6 (Chen, Xiao, Zhang and Xu)",
        variant=SparseVectorVariant(threshold=Laplace(2), query=Laplace(2), yeses=1, halting=Halting.NEVER),
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=_NOES),
        transcript=(NO,) * _NOES + (YES,) * _NOES,
    ),
    StreamLiar(
        name="tests_any_number_of_thresholds",
        source="Chen and Machanavajjhala 2015, generalized private threshold testing: Lap(1/ε₁), Lap(1/ε₂), no halt",
        variant=SparseVectorVariant(threshold=Laplace(4), query=Laplace(4 / 3), yeses=1, halting=Halting.NEVER),
        pair=_answers(0, 1, yes_here=0, yes_there=-1, yeses=_NOES),
        transcript=(NO,) * _NOES + (YES,) * _NOES,
    ),
    StreamLiar(
        name="leaves_the_threshold_without_noise",
        source="noise on each value, none on the threshold: then every no is paid for, too",
        variant=SparseVectorVariant(threshold=NoNoise(), query=Laplace(2), yeses=1),
    ),
    StreamLiar(
        name="pushes_the_threshold_down_with_one_sided_noise",
        source="exponential noise subtracted from the threshold instead of added",
        variant=SparseVectorVariant(threshold=Mirrored(Exponential(2)), query=Exponential(4), yeses=1),
        pair=_answers(-1, 0, yes_here=-1, yes_there=-2),
    ),
    StreamLiar(
        name="asks_about_halves_on_a_lattice_of_ones",
        source="values with sensitivity 1/2, compared on the integers with noise scaled for 1/2",
        variant=SparseVectorVariant(threshold=AuditedDiscreteLaplace(1), query=AuditedDiscreteLaplace(2), yeses=1),
        loses=2.0,
        sensitivity=Fraction(1, 2),
        pair=_answers(0.5, 1, yes_here=0, yes_there=-0.5),
    ),
    StreamLiar(
        name="tells_the_gap_of_values_off_the_lattice",
        source="integer noise on values in halves: the fraction of the gap is the fraction of the value",
        variant=SparseVectorVariant(
            threshold=AuditedGeometric(2), query=AuditedGeometric(4), yeses=1, reveals=Reveals.GAP
        ),
        pair=NeighbouringPair(here=(0.5,), there=(1,)),
        transcript=(AuditedYes(gap=0.5),),
        sensitivity=Fraction(1, 2),
    ),
    StreamLiar(
        name="asks_again_with_fresh_noise_after_a_crash",
        source="a yes that everyone saw crash is not counted, and the question is decided anew",
        variant=SparseVectorVariant(
            threshold=AuditedGeometric(2), query=AuditedGeometric(2), yeses=1, after_crash=AfterCrash.ASKED_AGAIN
        ),
        movement=AuditedMovement.TOGETHER,
        pair=NeighbouringPair(here=(-1, *(0,) * 5), there=(0, *(0,) * 5)),
        transcript=(NO, *(LOST,) * 5),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneShotLiar:
    """A release with a false claim. Its loss is computed exactly, so `loses` is None."""

    name: str  # the lie in a few words
    source: str  # where it was printed, or how it comes about
    claim: Guarantee
    box: WhiteBox  # what it really does
    loses: None = None

    def worst(self) -> Achieved:
        """Return the most that it loses."""
        return self.box.worst(self.claim)


def textbook_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return Δ √(2 ln(1.25/δ)) / ε, which is enough noise for ε below 1 only.

    >>> round(textbook_sigma(1, 1e-6), 2)
    5.3
    """
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


_UNIT, _CHANCE = 2.0**-52, 2.0**-53  # 2U and 2 - 2U are multiples of the one, each with the other's probability


@dataclass(frozen=True, slots=True)
class FloatLaplace:
    """Laplace noise of scale 1, drawn as textbooks and libraries do, on the counts 0 and 1: why it keeps no promise.

    The textbook draws U, a multiple of 2^-53 below 1, and returns x + ln(2U) for U < 1/2 and x - ln(2 - 2U) above, in
    double precision. Around one float, a handful of values of U lead there from 0, and others from 1; all of them are
    listed, so nothing here is sampled. Most floats that one of the two reaches cannot be reached from the other:
    seeing such a float reveals the count.

    From 1, a float y with |y| < 1/4 comes from noise between -5/4 and -3/4. Such noise is a multiple of 2^-53, and the
    sum is exact, so y is a multiple of 2^-53, too. From 0, y is the noise itself, whose last bits are finer. (Mironov,
    *On significance of the least significant bits for differential privacy*, CCS 2012; Haney and others 2022.)

    >>> found = FloatLaplace().worst(PureDP(epsilon=1))
    >>> found.number, found.event
    (inf, 'a float that 0 reaches and 1 does not')
    """

    around: float = 0.1  # the answer near which all reachable floats are listed, between 0 and 1/4
    draws: int = 1 << 16  # how many consecutive values of U, seen from 0, make up the neighbourhood

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the privacy loss near one float."""
        return measure(self.laws(), claim)

    def laws(self) -> PairOfLaws:
        """Return the laws of: a float that only 0 reaches, one that only 1 reaches, one that both do, another place."""
        from_0, from_1 = self.reachable()
        alone = [np.count_nonzero(~np.isin(one, other)) for one, other in ((from_0, from_1), (from_1, from_0))]
        masses = [
            _CHANCE * np.array([alone[0], 0, len(from_0) - alone[0]], np.float64),
            _CHANCE * np.array([0, alone[1], len(from_1) - alone[1]], np.float64),
        ]
        only = "a float that 0 reaches and 1 does not", "a float that 1 reaches and 0 does not"
        names = [*only, "a float that both reach", "a float elsewhere"]
        with np.errstate(divide="ignore"):
            here, there = (np.log(np.append(mass, 1 - mass.sum())) for mass in masses)
        return PairOfLaws(inputs=(0, 1), here=here, there=there, outcomes=names)

    def reachable(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the answers near `around` from 0 and from 1, one for each value of U that leads there."""
        first = round(np.exp(-self.around) / _UNIT)
        from_0 = 0.0 - np.log((first - np.arange(self.draws)) * _UNIT)  # here 2 - 2U falls, so that answers rise
        low, high = float(from_0.min()), float(from_0.max())
        middle = round(np.exp((low + high) / 2 - 1) / _UNIT)
        width = round((high - low) * np.exp(self.around - 1) / _UNIT) + 16
        from_1 = 1.0 + np.log((middle + np.arange(-width, width)) * _UNIT)
        return from_0, from_1[(from_1 >= low) & (from_1 <= high)]


@dataclass(frozen=True, slots=True)
class NameAndShame(FiniteModel):
    """Publishes each person's record, as it is, with this probability. One record says yes here, and no there.

    >>> found = NameAndShame(1e-3).worst(ApproximateDP(epsilon=1, delta="1e-6"))
    >>> found.number, round(found.delta, 9)
    (inf, 0.001)
    """

    chance: float

    def starts(self) -> Iterator[Inputs]:
        """Yield the two records."""
        yield (0,), (1,)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the laws of what is published of the record."""
        silent, named = math.log1p(-self.chance), math.log(self.chance)
        here, there = np.array([silent, named, -math.inf]), np.array([silent, -math.inf, named])
        return PairOfLaws(inputs=inputs, here=here, there=there, outcomes=["nothing", "record 0", "record 1"])


_FINE = Fraction(1, 2**20)

ONE_SHOT_LIARS = (
    OneShotLiar(
        name="takes_the_textbook_gaussian_at_large_epsilon",
        source="document 001: sigma = Δ √(2 ln(1.25/δ)) / ε without the range of ε for which that is enough",
        claim=ApproximateDP(epsilon=Fraction(20), delta=Fraction(1, 10**6)),
        box=AddedNoise(law=AuditedRoundedGaussian(textbook_sigma(20, 1e-6), step=Fraction(1, 256)), reach=256),
    ),
    OneShotLiar(
        name="squares_the_sensitivity",
        source="document 001: Δ² for Δ in the scale of the noise, where Δ = 1/100",
        claim=ApproximateDP(epsilon=Fraction(9, 10), delta=Fraction(1, 10**6)),
        box=AddedNoise(
            law=AuditedRoundedGaussian(textbook_sigma(0.9, 1e-6, 0.01**2), step=_FINE), reach=round(0.01 / _FINE)
        ),
    ),
    OneShotLiar(
        name="adds_laplace_noise_in_floating_point",
        source="every textbook, and libraries that follow them: the last bits of the answer tell the count",
        claim=PureDP(epsilon=Fraction(1)),
        box=FloatLaplace(),
    ),
    OneShotLiar(
        name="adds_half_the_laplace_noise",
        source="the sensitivity of a histogram under add-remove, 1, used where people are replaced, 2",
        claim=PureDP(epsilon=Fraction(1)),
        box=AddedNoise(law=AuditedRoundedLaplace(0.5, step=Fraction(1, 16)), reach=16),
    ),
    OneShotLiar(
        name="shows_keys_at_the_threshold_and_not_only_above_it",
        source=">= written for >: the key of one person alone shows e^ε times too often",
        claim=ApproximateDP(epsilon=1, delta="1e-6"),
        box=ThresholdedKeys(law=AuditedDiscreteLaplace(1), threshold=14, reach=1),
    ),
    OneShotLiar(
        name="counts_what_it_chose_with_the_noise_of_one_count",
        source="the two counts that are told with the two largest cells, each paid as if it were the only one",
        claim=PureDP(epsilon=Fraction(1)),
        box=CountedChoice(
            choice=HistogramChoice(rule=AuditedRule.PERMUTE_AND_FLIP, scale=4.0, cells=3, top=2),
            law=AuditedDiscreteLaplace(2),
        ),
    ),
    OneShotLiar(
        name="names_and_shames",
        source="document 004, example 2.3: one record in a thousand is published, which is (0, 1/1000)-private",
        claim=ApproximateDP(epsilon=1, delta="1e-6"),
        box=NameAndShame(1e-3),
    ),
    OneShotLiar(
        name="counts_stars_on_a_ladder_of_the_two_largest_degrees",
        source="a bound of what one edge can do near a graph, taken for a ladder: it forgets that two may be joined",
        claim=PureDP(epsilon=Fraction(1)),
        box=AuditedLadder(
            people=5, count=count_stars(3), widths=widths_of_the_two_largest_degrees(people=5, points=3), rate=0.5
        ),
    ),
)
