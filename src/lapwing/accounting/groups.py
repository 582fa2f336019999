"""Groups: what a family of k costs, if a release costs this much for one person.

The k people come and go together (or are exchanged together): they are one larger person. Where a release adds noise,
the noise is simply compared with k times the sensitivity, which is exact; elsewhere the chain of k neighbouring tables
is followed, which is what can be said of every mechanism.

Proof: proofs/group_privacy.md
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import assert_never

from lapwing.accounting.rounding import float_above, fraction_above
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    GaussianSparseVectorRelease,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
)
from lapwing.vocabulary.exact import whole
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP


def guarantee_for_group(guarantee: Guarantee, size: int) -> Guarantee:
    """Return what a guarantee for one person means for a group of `size`, rounded up.

    Epsilon grows like the size, rho and mu^2 like its square, delta by the factor (e^(k epsilon) - 1)/(e^epsilon - 1),
    which is less than the k e^((k - 1) epsilon) of document 000 (Theorem 2).

    Examples
    --------
    >>> guarantee_for_group(PureDP(epsilon=Fraction(1, 10)), 4)
    PureDP(epsilon=Fraction(2, 5))
    >>> guarantee_for_group(ConcentratedDP(rho=Fraction(1, 10)), 4)
    ConcentratedDP(rho=Fraction(8, 5))
    """
    k = whole("size", size)
    match guarantee:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=k * epsilon)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=k * epsilon, delta=_group_delta(epsilon, delta, k))
        case ConcentratedDP(rho=rho):
            return ConcentratedDP(rho=k * k * rho)
        case GaussianDP(mu_squared=mu_squared):
            return GaussianDP(mu_squared=k * k * mu_squared)


def renyi_for_group(renyi: Callable[[float], float], alpha: float, size: int) -> float:
    """Return a bound of the Renyi divergence of order `alpha` >= 2 for a group (Mironov 2017, Proposition 2).

    It doubles the group c times, with 2^c >= `size`: 3^c times the divergence of order 2^c alpha. `event_for_group` is
    tighter wherever the event is known.
    """
    if alpha < 2:  # noqa: PLR2004 - the theorem's condition
        raise ParameterError("alpha", alpha, reason="is below 2", remedy="ask for an order of at least 2")
    doublings = (whole("size", size) - 1).bit_length()
    return 3.0**doublings * renyi(2.0**doublings * alpha)


def event_for_group(event: Event, size: int) -> Event:
    """Return an event that costs one person at least what `event` costs a group of `size`.

    Examples
    --------
    >>> event_for_group(GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(4)), 3)
    GaussianNoise(l2_sensitivity_squared=Fraction(9, 1), sigma_squared=Fraction(4, 1))
    """
    k = whole("size", size)
    return event if k == 1 else _for_group(event, k)


def _for_group(event: Event, k: int) -> Event:  # noqa: C901, PLR0911, PLR0912 - one line for each kind of event
    match event:
        case LaplaceNoise(l1_sensitivity=moved):
            return replace(event, l1_sensitivity=k * moved)
        case DiscreteLaplaceNoise(l1_sensitivity=steps):
            return replace(event, l1_sensitivity=k * steps)
        case GaussianNoise(l2_sensitivity_squared=squared):
            return replace(event, l2_sensitivity_squared=k * k * squared)
        case DiscreteGaussianNoise(l2_sensitivity_squared=whole_squared):
            return replace(event, l2_sensitivity_squared=k * k * whole_squared)
        case PureRelease(epsilon=epsilon) | RandomizedResponseRelease(epsilon=epsilon):
            return PureRelease(epsilon=k * epsilon)
        case ApproximateRelease(epsilon=epsilon, delta=delta):
            return ApproximateRelease(epsilon=k * epsilon, delta=_group_delta(epsilon, delta, k))
        case ExponentialSelection(epsilon=epsilon):
            return ExponentialSelection(epsilon=k * epsilon)
        case GaussianSparseVectorRelease(sensitivity=sensitivity):
            return replace(event, sensitivity=k * sensitivity)
        case Composed(parts=parts):
            return Composed(parts=tuple(_for_group(part, k) for part in parts))
        case Repeated(part=part):
            return replace(event, part=_for_group(part, k))
        case InParallel(parts=parts):  # the group may be spread over all the partitions
            return Composed(parts=tuple(_for_group(part, k) for part in parts))
        case PoissonSampled(part=part, rate=rate):  # the chance that any of them is in the sample
            return PoissonSampled(part=_for_group(part, k), rate=1 - (1 - rate) ** k)
        case SampledWithoutReplacement(part=part, sample_size=size, population_size=people):
            return replace(event, part=_for_group(part, k), sample_size=min(k * size, people))
        case _:
            assert_never(event)


def _group_delta(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    e = float_above(epsilon)
    factor = math.expm1(k * e) / math.expm1(e) if k * e < 600 else math.inf  # noqa: PLR2004 - e^600 is no factor
    grown = fraction_above(float_above(delta) * factor) if math.isfinite(factor) else Fraction(1)
    if grown >= 1:
        raise ParameterError(
            "size",
            k,
            reason=f"makes delta {float(delta):.3g} grow beyond 1",
            remedy="nothing is promised to so large a group; lower epsilon or delta",
        )
    return grown
