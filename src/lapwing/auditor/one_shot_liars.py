"""Single releases that are not as private as they claim: textbook formulas out of their range, and bugs of one line.

Those of sparse vectors are in `known_liars`. A liar is here to be caught. None is an option anywhere.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.auditor.answers_and_keys import ThresholdedKeys
from lapwing.auditor.float_laplace import FloatLaplace
from lapwing.auditor.noise_addition import AddedNoise
from lapwing.auditor.noise_laws import AuditedDiscreteLaplace, AuditedRoundedGaussian, AuditedRoundedLaplace
from lapwing.auditor.pair_of_laws import PairOfLaws
from lapwing.auditor.white_box import Achieved, Inputs, WhiteBox, search
from lapwing.vocabulary.guarantee import ApproximateDP, Guarantee, PureDP


@dataclass(frozen=True, slots=True, kw_only=True)
class OneShotLiar:
    """A release with a false claim.

    Attributes
    ----------
    name : the lie in a few words
    source : where it was printed, or how it comes about
    claim : what it claims
    box : what it really does
    """

    name: str
    source: str
    claim: Guarantee
    box: WhiteBox


def textbook_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return Δ √(2 ln(1.25/δ)) / ε, which is enough noise for ε below 1 only.

    >>> round(textbook_sigma(1, 1e-6), 2)
    5.3
    """
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@dataclass(frozen=True, slots=True)
class NameAndShame:
    """Publishes each person's record, as it is, with this probability. One record says yes here, and no there.

    >>> found = NameAndShame(1e-3).worst(ApproximateDP(epsilon=1, delta="1e-6"))
    >>> found.number, round(found.delta, 9)
    (inf, 0.001)
    """

    chance: float

    def worst(self, claim: Guarantee) -> Achieved:
        """Return what is lost of the one record in which two tables differ."""
        return search(self, claim)

    def starts(self) -> Iterator[Inputs]:
        """Yield the two records."""
        yield (0,), (1,)

    def nearby(self, inputs: Inputs) -> Iterable[Inputs]:  # noqa: ARG002 - there are no others
        """Return nothing: all pairs are alike."""
        return ()

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
        claim=ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)),
        box=ThresholdedKeys(law=AuditedDiscreteLaplace(1), threshold=14, reach=1),
    ),
    OneShotLiar(
        name="names_and_shames",
        source="document 004, example 2.3: one record in a thousand is published, which is (0, 1/1000)-private",
        claim=ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)),
        box=NameAndShame(1e-3),
    ),
)
