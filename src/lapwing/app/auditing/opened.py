"""What a mechanism draws with, read from the very objects that its sampler uses, and told in the auditor's own laws.

A white box that worked out the noise from the price would hold whatever the mechanism does. So this is the one place
that looks inside.
"""

import math
from fractions import Fraction
from typing import TypeAlias

from lapwing.auditor import noise_laws
from lapwing.auditor.noise_laws import NoiseLaw
from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.gaussian import GaussianMechanism
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
from lapwing.mechanisms.laplace import LaplaceMechanism
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.mechanisms.permute_and_flip import NoisyMaxWithGap, PermuteAndFlip
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedGaussian, RoundedLaplace

Adding: TypeAlias = (
    GeometricMechanism | LaplaceMechanism | GaussianMechanism | DiscreteGaussianMechanism | PartitionSelection
)
Choosing: TypeAlias = ExponentialMechanism | PermuteAndFlip | NoisyMaxWithGap | PrivateQuantiles | TopK

_BITS = 128


def noise_of(mechanism: Adding, noise: Fraction = Fraction(1)) -> NoiseLaw:
    """Return the law of the noise that a mechanism adds, multiplied.

    >>> noise_of(GeometricMechanism(l1_sensitivity=3, epsilon=1))
    AuditedDiscreteLaplace(scale=3.0, step=Fraction(1, 1))
    """
    step = mechanism.grid.step if isinstance(mechanism, LaplaceMechanism | GaussianMechanism) else Fraction(1)
    return law_of(mechanism._law, step, noise)  # noqa: SLF001 - see above


def score_scale(mechanism: Choosing) -> Fraction:
    """Return the scale, in units of score, of the noise with which a mechanism chooses: the least, if it has several.

    >>> round(float(score_scale(PermuteAndFlip(sensitivity=3, candidates=2, epsilon=1))), 6)
    6.0
    """
    match mechanism:
        case PermuteAndFlip():
            return mechanism.lattice.scale
        case ExponentialMechanism():
            return mechanism._lattice.scale  # noqa: SLF001 - see above
        case NoisyMaxWithGap():
            return score_scale(mechanism._selector)  # noqa: SLF001 - see above
        case PrivateQuantiles() | TopK():
            return min(score_scale(one) for one in mechanism.selectors)


def odds_of_truth(mechanism: RandomizedResponse) -> float:
    """Return how many times likelier the coin that is tossed makes the truth than any one lie.

    >>> round(odds_of_truth(RandomizedResponse(epsilon=1, categories=5)) / math.e, 9)
    1.0
    """
    bounds = mechanism._truthful.bias(_BITS)  # noqa: SLF001 - see above
    truth = Fraction(bounds[0], 1 << _BITS)
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
