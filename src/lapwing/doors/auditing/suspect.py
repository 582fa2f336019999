"""A suspect: a mechanism, what it claims, how the auditor computes it, and how it is drawn from.

The white box is built by the auditor's own laws from the objects that the mechanism's sampler uses: one that worked out
the noise from the price would hold for any implementation. `noise` multiplies its noise, so that tests can see
that a mechanism with less of it would be refuted.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from lapwing.auditor import noise_laws
from lapwing.auditor.noise_laws import NoiseLaw
from lapwing.auditor.white_box import WhiteBox
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism, GaussianMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
from lapwing.mechanisms.laplace import GeometricMechanism, LaplaceMechanism
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.mechanisms.score_selection import ScoreSelection
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedGaussian, RoundedLaplace
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Guarantee


@frozen()
class Suspect:
    """A mechanism under audit, what it claims, and how its white box is made, with its noise multiplied by a factor.

    `release` draws from it, where there is something to run; on its inputs `neighbours` it loses visibly.
    """

    name: str
    claim: Guarantee
    box: Callable[[Fraction], WhiteBox]
    release: Callable[[Any], object] | None = None
    neighbours: tuple[Any, Any] | None = None

    @property
    def white_box(self) -> WhiteBox:
        """The mechanism as it states itself to be."""
        return self.box(Fraction(1))


Adding: TypeAlias = (
    GeometricMechanism | LaplaceMechanism | GaussianMechanism | DiscreteGaussianMechanism | PartitionSelection
)

_BITS = 128


def noise_of(mechanism: Adding, noise: Fraction = Fraction(1)) -> NoiseLaw:
    """Return the law of the noise that a mechanism adds, multiplied.

    >>> noise_of(GeometricMechanism(l1_sensitivity=3, epsilon=1))
    AuditedDiscreteLaplace(scale=3.0, step=Fraction(1, 1))
    """
    step = mechanism.grid.step if isinstance(mechanism, LaplaceMechanism | GaussianMechanism) else Fraction(1)
    return law_of(mechanism.law, step, noise)


def score_scale(mechanism: ScoreSelection[Any] | PrivateQuantiles | TopK, noise: Fraction = Fraction(1)) -> float:
    """Return the scale, in units of score, of the noise with which a mechanism chooses, multiplied: its least.

    >>> from lapwing.mechanisms import PermuteAndFlip
    >>> round(score_scale(PermuteAndFlip(sensitivity=3, candidates=2, epsilon=1)), 6)
    6.0
    """
    choices = mechanism.selectors if isinstance(mechanism, PrivateQuantiles | TopK) else (mechanism,)
    return float(min(one.noise_scale for one in choices) * noise)


def odds_of_truth(mechanism: RandomizedResponse) -> float:
    """Return how many times likelier the coin that is tossed makes the truth than any one lie.

    >>> round(odds_of_truth(RandomizedResponse(epsilon=1, categories=5)) / math.e, 9)
    1.0
    """
    truth = Fraction(mechanism.coin.bias(_BITS)[0], 1 << _BITS)
    return float(truth / (1 - truth) * (mechanism.event.categories - 1))


def law_of(law: object, step: Fraction, noise: Fraction) -> NoiseLaw:
    """Return the auditor's own law for one that is drawn from in steps, with its noise multiplied."""
    match law:
        case Geometric():
            return noise_laws.AuditedGeometric(float(law.scale * noise * step), step=step)
        case DiscreteLaplace():
            return noise_laws.AuditedDiscreteLaplace(float(law.scale * noise * step), step=step)
        case DiscreteGaussian():
            return noise_laws.AuditedDiscreteGaussian(math.sqrt(law.sigma_squared) * float(noise * step), step=step)
        case RoundedLaplace():
            return noise_laws.AuditedRoundedLaplace(float(law.scale_used * noise * step), step=step)
        case RoundedGaussian():
            return noise_laws.AuditedRoundedGaussian(float(law.sigma_used * noise * step), step=step)
        case _:
            raise TypeError(law)
