"""From a tail to what people ask for: the margin at a confidence, the confidence of a margin, the noise for a margin.

Everything is decided on certified bounds (`lapwing.mechanisms.tails`) and, should those not decide, towards caution: a
margin may come out too wide by one step, never too narrow. Proof: proofs/margins.md

Of a sum of several released numbers (the steps of a funnel, and other totals that cost nothing more), the law of the
summed noise is computed by Fourier transform on a window outside which Chernoff's bound leaves next to nothing; where
that is not precise or not small enough, Chernoff's bound is the answer. Proof: proofs/sums_of_noise.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.rounding import float_below
from lapwing.mechanisms.tails import Tail, discrete_gaussian_tail, discrete_laplace_tail
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int, exact, probability
from lapwing.vocabulary.search import decimals, integers


@dataclass(frozen=True, slots=True)
class Spread:
    """How far noise reaches that lives on the multiples of `step`: P(|X| > m steps) is `tail`.

    `values` below is a number of independent draws, all of which are meant together.

    Examples
    --------
    >>> from lapwing.mechanisms.tails import discrete_laplace_tail
    >>> spread = Spread(discrete_laplace_tail(Fraction(10)))
    >>> spread.margin("0.95"), spread.margin("0.95", values=100)
    (Fraction(30, 1), Fraction(76, 1))
    >>> round(spread.confidence(30), 4)
    0.9527
    """

    tail: Tail
    step: Fraction = Fraction(1)

    def margin(self, confidence: object, values: object = 1) -> Fraction:
        """Return the smallest m for which all draws stay within m, with probability at least `confidence`."""
        wanted, many = probability("confidence", confidence), as_int("values", values)
        search = integers()
        while search.open:
            search.tell(self.certainly_within(search.guess, wanted, many))
        return search.above * self.step

    def confidence(self, margin: object, values: object = 1) -> float:
        """Return the probability, rounded down, that all draws stay within `margin`."""
        steps, many, bits = math.floor(exact("margin", margin) / self.step), as_int("values", values), 192
        if steps < 0:
            return 0.0
        one = 1 << bits
        single = Fraction(one - min(one, self.tail(steps, bits)[1]), one)
        return float_below(single if many == 1 else _power_bounds(single, Fraction(many), bits)[0])

    def certainly_within(self, steps: int, confidence: Fraction, values: int) -> bool:
        """Say whether all draws stay within `steps` steps at this confidence; in doubt, no."""
        bits = 64 + math.ceil(1 / (1 - confidence)).bit_length() + values.bit_length()
        for precision in (bits, 2 * bits, 4 * bits):
            low, high = self.tail(steps, precision)
            least, most = _allowed_tail(confidence, values, precision)
            if high <= least:
                return True
            if low > most:
                return False
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAccuracy:
    """Noise asked for by how far it may reach: `values` answers, all within `within`, at a `confidence`."""

    within: Fraction
    confidence: Fraction
    values: int

    def met_by(self, spread: Spread, rounding: Fraction = Fraction(0)) -> bool:
        """Say whether noise of this spread keeps to it, where values are first rounded by at most `rounding`."""
        steps = math.floor((self.within - rounding) / spread.step)
        return steps >= 0 and spread.certainly_within(steps, self.confidence, self.values)

    def bisect(self, turned: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
        """Return the last number of six digits for which it has not `turned`, and the first for which it has."""
        search = decimals(digits=6)
        try:
            while search.open:
                search.tell(turned(search.guess))
        except OverflowError:
            raise ParameterError(
                "within", self.within, reason="is out of reach at this confidence", remedy="change one of the two"
            ) from None
        return search.ends


def _allowed_tail(confidence: Fraction, values: int, bits: int) -> tuple[int, int]:
    """Bound 2^bits (1 - confidence^(1/values)): how much tail each of the draws may have."""
    if values == 1:
        share = (1 - confidence) * (1 << bits)
        return math.floor(share), math.ceil(share)
    low, high = _power_bounds(confidence, Fraction(1, values), bits)
    return math.floor((1 - high) * (1 << bits)), math.ceil((1 - low) * (1 << bits))


def _power_bounds(number: Fraction, exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bound number^exponent to about 2^-bits, for 0 <= number < 1: `Decimal` rounds ln and exp correctly."""
    if number == 0:
        return Fraction(0), Fraction(0)
    digits = bits // 3 + 10
    context = Context(prec=digits + 10 + len(str(math.ceil(exponent))), Emax=MAX_EMAX, Emin=MIN_EMIN)
    logarithm = context.ln(context.divide(Decimal(number.numerator), Decimal(number.denominator)))
    product = context.divide(context.multiply(logarithm, Decimal(exponent.numerator)), Decimal(exponent.denominator))
    power, slack = Fraction(context.exp(product)), Fraction(1, 10**digits)
    return max(Fraction(0), power - slack), min(Fraction(1), power + slack)


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
