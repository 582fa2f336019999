"""Groups: what a family of k costs, if a release costs this much for one person.

The k people come and go together (or are exchanged together): they are one larger person, and the chain of k
neighbouring tables is followed, which is what can be said of every mechanism.

Proof: proofs/group_privacy.md
"""

import math
from fractions import Fraction

from lapwing.accounting.losses.sampled import amplified_epsilon
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, float_above, fraction_above, positive
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP


def guarantee_for_group(guarantee: Guarantee, size: int) -> Guarantee:
    """Return what a guarantee for one person means for a group of `size`, rounded up.

    Epsilon grows like the size, rho and mu^2 like its square, delta by the factor (e^(k epsilon) - 1)/(e^epsilon - 1),
    which is less than the k e^((k - 1) epsilon) of document 000 (Theorem 2).

    >>> guarantee_for_group(PureDP(epsilon=Fraction(1, 10)), 4)
    PureDP(epsilon=Fraction(2, 5))
    >>> guarantee_for_group(ConcentratedDP(rho=Fraction(1, 10)), 4)
    ConcentratedDP(rho=Fraction(8, 5))
    """
    k = as_int("size", size)
    match guarantee:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=k * epsilon)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=k * epsilon, delta=_group_delta(epsilon, delta, k))
        case ConcentratedDP(rho=rho):
            return ConcentratedDP(rho=k * k * rho)
        case GaussianDP(mu_squared=mu_squared):
            return GaussianDP(mu_squared=k * k * mu_squared)


def amplified(guarantee: Guarantee, rate: Fraction) -> PureDP | ApproximateDP:
    """Return what a guarantee becomes on a sample of `rate` of the people, rounded up.

    It holds for Poisson sampling when a person is added or removed, and for sampling without replacement when one is
    replaced: epsilon' = log(1 + rate (e^epsilon - 1)) and delta' = rate delta (Balle, Barthe and Gaboardi 2018). No
    better epsilon' is true of all mechanisms.

    >>> tenth = Fraction(1, 10)
    >>> amplified(ApproximateDP(epsilon=tenth, delta=Fraction(1, 10**6)), tenth).delta
    Fraction(1, 10000000)
    """
    share = positive("rate", rate)
    if share > 1:
        raise ParameterError("rate", rate, reason="is above 1", remedy="write the share of people that is sampled")
    match guarantee:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=amplified_epsilon(epsilon, share))
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=amplified_epsilon(epsilon, share), delta=share * delta)
        case _:
            remedy = "price the sampled event instead"
            raise ParameterError("guarantee", guarantee, reason="is not amplified by sampling", remedy=remedy)


def _group_delta(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    e = float_above(epsilon)
    factor = math.expm1(k * e) / math.expm1(e) if k * e < 600 else math.inf  # noqa: PLR2004 - e^600 is not a factor
    grown = fraction_above(float_above(delta) * factor) if math.isfinite(factor) else Fraction(1)
    if grown >= 1:
        remedy = "nothing is promised to so large a group; lower epsilon or delta"
        raise ParameterError("size", k, reason=f"makes delta {float(delta):.3g} grow beyond 1", remedy=remedy)
    return grown
