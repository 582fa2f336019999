"""How far off a sum of several released numbers is: the steps of a funnel, and other totals that cost nothing more.

The law of the summed noise is computed by Fourier transform on a window outside which Chernoff's bound leaves next to
nothing; where that is not precise or not small enough, Chernoff's bound is the answer.

Proof: proofs/sums_of_noise.md
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.rounding import float_below
from lapwing.mechanisms.margins import Spread
from lapwing.mechanisms.tails import Tail, discrete_gaussian_tail, discrete_laplace_tail
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int, probability

_OUTSIDE = 1e-15
"""The probability that is left outside the window."""
_SLACK = 1e-12
"""More than what the window and the rounding of the transform can lose."""
_FINEST = 1e-9
"""Tails below this are left to Chernoff's bound."""
_WIDEST = 1 << 18


def margin_of_sum(event: DiscreteLaplaceNoise | DiscreteGaussianNoise, terms: int, confidence: Exact) -> int:
    """Return m such that a sum of `terms` numbers with this noise is off by at most m, with this probability or more.

    Examples
    --------
    >>> from fractions import Fraction
    >>> noise = DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(2))
    >>> [margin_of_sum(noise, terms, "0.95") for terms in (1, 2, 3, 10)]
    [6, 8, 10, 18]

    Proof: proofs/sums_of_noise.md
    """
    many, wanted = as_int("terms", terms), probability("confidence", confidence)
    if many == 1:
        return int(Spread(_tail(event)).margin(wanted))
    beta = float_below(1 - wanted)
    reach = _chernoff(event, many, _OUTSIDE)
    if beta < _FINEST or reach > _WIDEST:
        return _chernoff(event, many, beta)
    tails = _tails_of_sum(event, many)
    return int(np.searchsorted(-tails, -beta))


def _tail(event: DiscreteLaplaceNoise | DiscreteGaussianNoise) -> Tail:
    match event:
        case DiscreteLaplaceNoise(scale=scale):
            return discrete_laplace_tail(scale)
        case DiscreteGaussianNoise(sigma_squared=sigma_squared):
            return discrete_gaussian_tail(sigma_squared)


@lru_cache(maxsize=256)
def _tails_of_sum(event: DiscreteLaplaceNoise | DiscreteGaussianNoise, terms: int) -> NDArray[np.float64]:
    """Return upper bounds on P(|S| > m) for m = 0, 1, ..., falling, down to the slack."""
    reach = _chernoff(event, terms, _OUTSIDE)
    size = 1 << (2 * reach).bit_length()
    distance = np.minimum(np.arange(size), size - np.arange(size)).astype(np.float64)
    match event:
        case DiscreteLaplaceNoise(scale=scale):
            weights = np.exp(-distance / float(scale))
        case DiscreteGaussianNoise(sigma_squared=sigma_squared):
            weights = np.exp(-(distance**2) / float(2 * sigma_squared))
    law = np.fft.irfft(np.fft.rfft(weights / weights.sum()) ** terms, size)
    beyond = 2 * np.cumsum(law[reach:0:-1])[::-1]  # P(m < |S| <= reach) for m = 0 .. reach - 1
    return np.maximum.accumulate(np.append(beyond, 0.0)[::-1])[::-1] + _SLACK


def _chernoff(event: DiscreteLaplaceNoise | DiscreteGaussianNoise, terms: int, beta: float) -> int:
    """Return m with P(|S| > m) <= beta, from P(|S| > m) <= 2 e^(-tm) E[e^(tX)]^terms for every t > 0."""
    match event:
        case DiscreteGaussianNoise(sigma_squared=sigma_squared):
            margin = math.sqrt(2 * terms * float(sigma_squared) * math.log(2 / beta))
        case DiscreteLaplaceNoise(scale=scale):
            rate = float(1 / scale)
            t = rate * np.linspace(0.005, 0.995, 199)
            # E[e^(tX)] = (1-q)² / ((1 - q e^t)(1 - q e^-t)) with q = e^-rate
            log_moment = 2 * math.log(-math.expm1(-rate)) - np.log(-np.expm1(t - rate)) - np.log(-np.expm1(-t - rate))
            margin = float(np.min((terms * log_moment + math.log(2 / beta)) / t))
    return math.ceil(margin * (1 + _FINEST))
