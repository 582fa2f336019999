"""How far off an answer is: the margin at a confidence, the confidence of a margin, and the noise for a margin.

All of it rests on certified bounds on P(|X| > m) for the four laws of additive noise, in integers only: a `Tail` gives
two integers around 2^bits * P(|X| > m), as tight as it is asked to, and every comparison of them rounds towards
caution. A margin may come out too wide by one step, never too narrow. Proof: proofs/margins.md

Of a sum of several released numbers (the steps of a funnel, and other totals that cost nothing more), the law of the
summed noise is computed by Fourier transform on a window outside which Chernoff's bound leaves next to nothing; where
that is not precise or not small enough, Chernoff's bound is the answer. Proof: proofs/sums_of_noise.md
"""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import isqrt
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.noise.decay import exponential_bounds
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian, RoundedLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int, exact, float_below, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.search import decimals, integers, integers_near

Tail: TypeAlias = Callable[[int, int], tuple[int, int]]
"""tail(m, bits) = (low, high) with low <= 2^bits * P(|X| > m) <= high, for m >= 0."""

Law: TypeAlias = DiscreteLaplace | DiscreteGaussian | RoundedLaplace | RoundedGaussian

_GUARD = 24
_LEAST_CHANCE, _NEWTON = 1e-300, 8
_SUMMED_DIRECTLY = Fraction(512**2)  # up to this sigma_squared a discrete Gaussian is summed term by term


def tail_of(law: Law) -> Tail:
    """Return the tail of a law of noise, as it is drawn."""
    match law:
        case DiscreteLaplace():
            return discrete_laplace_tail(law.scale)
        case DiscreteGaussian():
            return discrete_gaussian_tail(law.sigma_squared)
        case RoundedLaplace():
            return rounded_laplace_tail(law.scale_used)
        case RoundedGaussian():
            return rounded_gaussian_tail(law.sigma_used)


def reach_of(law: Law) -> Callable[[float], float]:
    """Return about how far a law reaches but for a chance, half a step more than its last integer, in floats."""
    match law:
        case DiscreteLaplace(scale=scale):
            return lambda chance: -float(scale) * math.log(chance)
        case RoundedLaplace():
            return lambda chance: -float(law.scale_used) * math.log(chance)
        case DiscreteGaussian(sigma_squared=sigma_squared):
            return lambda chance: math.sqrt(sigma_squared) * _normal_reach(chance)
        case RoundedGaussian():
            return lambda chance: float(law.sigma_used) * _normal_reach(chance)


def _normal_reach(chance: float) -> float:
    """Return about the x with P(|Z| > x) = chance, Z standard normal: by Newton on the logarithm, which is concave."""
    x = math.sqrt(-2 * math.log(chance))  # P(|Z| > x) <= e^(-x²/2): not below it
    for _ in range(_NEWTON):
        tail = math.erfc(x / math.sqrt(2))
        x -= math.log(chance / tail) * tail / (math.sqrt(2 / math.pi) * math.exp(-x * x / 2))
    return x


def discrete_laplace_tail(scale: Fraction) -> Tail:
    """Return the tail of P(x) ∝ e^(-|x|/scale) on the integers: 2 q^(m+1) / (1 + q) with q = e^(-1/scale)."""

    def tail(m: int, bits: int) -> tuple[int, int]:
        precision = bits + _GUARD
        far_low, far_high = exponential_bounds((m + 1) * scale.denominator, scale.numerator, precision)
        near_low, near_high = exponential_bounds(scale.denominator, scale.numerator, precision)
        one = 1 << precision
        return (far_low << bits + 1) // (one + near_high), _ceil_div(far_high << bits + 1, one + near_low)

    return tail


def rounded_laplace_tail(scale: Fraction) -> Tail:
    """Return the tail of continuous Laplace noise, rounded to the nearest integer: e^(-(m + 1/2)/scale)."""
    return lambda m, bits: exponential_bounds((2 * m + 1) * scale.denominator, 2 * scale.numerator, bits)


def rounded_gaussian_tail(sigma: Fraction) -> Tail:
    """Return the tail of continuous Gaussian noise, rounded to the nearest integer: P(|Z| > (m + 1/2)/sigma)."""
    return lambda m, bits: _normal_tail((Fraction(2 * m + 1, 2) / sigma) ** 2, bits)


def discrete_gaussian_tail(sigma_squared: Fraction) -> Tail:
    """Return the tail of P(x) ∝ e^(-x²/2σ²) on the integers.

    For σ above 512 the bounds stop narrowing at about f(m)/σ³ apart, which is far less than one step of m is worth.
    """
    if sigma_squared <= _SUMMED_DIRECTLY:
        return lambda m, bits: _summed_tail(sigma_squared, m, bits)
    return lambda m, bits: _smoothed_tail(sigma_squared, m, bits)


def _summed_tail(sigma_squared: Fraction, m: int, bits: int) -> tuple[int, int]:
    precision = bits + _GUARD
    lows, highs = _sums_from_above(sigma_squared, precision)
    beyond = min(m + 1, len(lows) - 1)
    one = 1 << precision
    return (lows[beyond] << bits + 1) // (one + 2 * highs[1]), _ceil_div(highs[beyond] << bits + 1, one + 2 * lows[1])


@lru_cache(maxsize=8)
def _sums_from_above(sigma_squared: Fraction, precision: int) -> tuple[list[int], list[int]]:
    """Return bounds on 2^precision Σ_{x >= i} e^(-x²/2σ²) for i = 0, 1, ...; the last also holds for all further i.

    Each term follows from the one before by two multiplications, rounded down for one list and up for the other.
    """
    a, b = sigma_squared.denominator, 2 * sigma_squared.numerator  # f(x) = e^(-x² a/b)
    spare = 2 * (isqrt(int(sigma_squared)) + 2).bit_length() + 16  # pays for the roundings along the way
    work = precision + spare
    ratio_low, ratio_high = exponential_bounds(a, b, work)
    step_low, step_high = exponential_bounds(2 * a, b, work)
    low = high = 1 << work
    lows: list[int] = []
    highs: list[int] = []
    while high >> spare or len(highs) < 2:  # noqa: PLR2004 - the sum from x = 1 is always wanted
        lows.append(low)
        highs.append(high)
        low, high = low * ratio_low >> work, -(-high * ratio_high >> work)
        ratio_low, ratio_high = ratio_low * step_low >> work, -(-ratio_high * step_high >> work)
    rest = _ceil_div(high << work, (1 << work) - ratio_high)  # the ratios go on falling: a geometric series is more
    low_sums = [total >> spare for total in accumulate(reversed(lows), initial=0)]
    high_sums = [-(-total >> spare) for total in accumulate(reversed(highs), initial=rest)]
    return low_sums[::-1], high_sums[::-1]


def _smoothed_tail(sigma_squared: Fraction, m: int, bits: int) -> tuple[int, int]:
    """Σ_{x > m} f(x) = ∫_a^∞ f + f'(a)/24 + R with a = m + 1/2 and |R| <= ∫_a^∞ |f''''| / 384 (Euler and Maclaurin)."""
    precision = bits + _GUARD
    u_squared = Fraction((2 * m + 1) ** 2) / (4 * sigma_squared)  # u = a/σ
    low, high = _normal_tail(u_squared, precision)
    decay = exponential_bounds(u_squared.numerator, 2 * u_squared.denominator, precision)
    peak = _root_over_pi(1 / (2 * sigma_squared), precision)
    u = isqrt(int(u_squared)) + 1
    bend = Fraction(2 * m + 1) / (24 * sigma_squared)  # 2 |f'(a)|/24 over f(a)
    doubt = Fraction(u**3 + 9 * u + 16) / (192 * sigma_squared * isqrt(int(sigma_squared)))  # 2 |R| over f(a)
    most = decay[1] * peak[1] * (bend + doubt)
    least = decay[0] * peak[0] * (bend - doubt) if bend > doubt else decay[1] * peak[1] * (bend - doubt)
    unit = 1 << precision
    return max(0, (low - most / unit) // (1 << _GUARD) - 1), -((least / unit - high) // (1 << _GUARD)) + 1


def _normal_tail(x_squared: Fraction, bits: int) -> tuple[int, int]:
    """Bound 2^bits P(|Z| > x), Z standard normal, by 1 - sqrt(2/π) e^(-x²/2) (x + x³/3 + x⁵/15 + x⁷/105 + ...)."""
    if 10 * x_squared > 14 * (bits + 1):  # P(|Z| > x) <= e^(-x²/2) < 2^-bits
        return 0, 1
    precision = bits + int(x_squared * 3 / 4) + _GUARD + 16  # the series is as large as e^(x²/2)
    decay_low, decay_high = exponential_bounds(x_squared.numerator, 2 * x_squared.denominator, precision)
    root_low, root_high = _root_over_pi(2 * x_squared, precision)
    low, high = _odd_factorial_series(x_squared, precision)
    inside_low = decay_low * root_low * low >> 3 * precision - bits
    inside_high = -(-decay_high * root_high * high >> 3 * precision - bits)
    return max(0, (1 << bits) - inside_high), max(1, (1 << bits) - inside_low)


def _odd_factorial_series(y: Fraction, precision: int) -> tuple[int, int]:
    """Bound 2^precision (1 + y/3 + y²/15 + y³/105 + ...) for y >= 0."""
    low = high = term_low = term_high = 1 << precision
    odd = 1
    while term_high > 1 or odd < 2 * y:  # from here on each term is less than half of the one before
        odd += 2
        term_low = term_low * y.numerator // (y.denominator * odd)
        term_high = _ceil_div(term_high * y.numerator, y.denominator * odd)
        low, high = low + term_low, high + term_high
    return low, high + 2 * term_high


def _root_over_pi(number: Fraction, precision: int) -> tuple[int, int]:
    """Bound 2^precision sqrt(number/π)."""
    pi_low, pi_high = _pi(precision)
    square = number * (1 << 3 * precision)
    return isqrt(int(square / pi_high)), isqrt(int(square / pi_low) + 1) + 1


@lru_cache(maxsize=32)
def _pi(precision: int) -> tuple[int, int]:
    """Bound 2^precision π by Machin's 16 arctan(1/5) - 4 arctan(1/239)."""
    spare = precision.bit_length() + 8  # pays for the roundings of both series
    work = precision + spare
    estimate = 16 * _arctan_of_inverse(5, work) - 4 * _arctan_of_inverse(239, work)
    return (estimate >> spare) - 1, (estimate >> spare) + 2


def _arctan_of_inverse(n: int, precision: int) -> int:
    """Return 2^precision arctan(1/n) up to fewer than `precision` units."""
    power, total, odd = (1 << precision) // n, 0, 1
    while power:
        total += power // odd if odd & 2 == 0 else -(power // odd)
        power //= n * n
        odd += 2
    return total


def _ceil_div(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


@frozen(kw_only=False)
class Spread:
    """How far noise reaches that lives on the multiples of `step`: P(|X| > m steps) is `tail`.

    `values` below is a number of independent draws, all of which are meant together.
    """

    tail: Tail
    step: Fraction = Fraction(1)
    reach: Callable[[float], float] | None = None
    """About how many steps it reaches but for a chance: where the search for a margin begins, and no more."""

    @staticmethod
    def of(law: Law, step: Fraction = Fraction(1)) -> "Spread":
        """Return how far noise of a law reaches, drawn in steps."""
        return Spread(tail_of(law), step, reach_of(law))

    def margin(self, confidence: object, values: object = 1) -> Fraction:
        """Return the smallest m for which all draws stay within m, with probability at least `confidence`."""
        wanted, many = probability("confidence", confidence), as_int("values", values)
        search = integers() if self.reach is None else integers_near(_near(self.reach, wanted, many))
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
        """Return whether all draws stay within `steps` steps at this confidence; in doubt, no."""
        bits = 64 + math.ceil(1 / (1 - confidence)).bit_length() + values.bit_length()
        for precision in (bits, 2 * bits, 4 * bits):
            low, high = self.tail(steps, precision)
            least, most = _allowed_tail(confidence, values, precision)
            if high <= least:
                return True
            if low > most:
                return False
        return False


@frozen()
class ByAccuracy:
    """Noise asked for by how far it may reach: `values` answers, all within `within`, at a `confidence`."""

    within: Fraction
    confidence: Fraction
    values: int

    def met_by(self, spread: Spread, rounding: Fraction = Fraction(0)) -> bool:
        """Return whether noise of this spread has this accuracy, if values are first rounded by at most `rounding`."""
        steps = math.floor((self.within - rounding) / spread.step)
        return steps >= 0 and spread.certainly_within(steps, self.confidence, self.values)

    def bisect(self, turned: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
        """Return the last number of six digits for which `turned` is false, and the first for which it is true."""
        search = decimals(digits=6)
        try:
            while search.open:
                search.tell(turned(search.guess))
        except OverflowError:
            reason = "is out of reach at this confidence"
            raise ParameterError("within", self.within, reason=reason, remedy="change one of the two") from None
        return search.below, search.above


def _near(reach: Callable[[float], float], confidence: Fraction, values: int) -> int:
    """Return a guess of the margin of `values` draws, in floats: a bad one makes a search longer, not wrong."""
    chance = -math.expm1(math.log1p(-min(float(1 - confidence), 0.5)) / values)
    return math.ceil(reach(max(chance, _LEAST_CHANCE)) - 0.5)


def _allowed_tail(confidence: Fraction, values: int, bits: int) -> tuple[int, int]:
    """Bound 2^bits (1 - confidence^(1/values)): how much tail each of the draws may have."""
    if values == 1:
        share = (1 - confidence) * (1 << bits)
        return math.floor(share), math.ceil(share)
    low, high = _power_bounds(confidence, Fraction(1, values), bits)
    return math.floor((1 - high) * (1 << bits)), math.ceil((1 - low) * (1 << bits))


@lru_cache(maxsize=256)
def confidence_of_each(confidence: Exact, many: int) -> Fraction:
    """Return at least confidence^(1/many): with it, `many` independent statements all hold with this confidence.

    >>> round(float(confidence_of_each("0.95", 6)), 6)
    0.991488
    """
    wanted = probability("confidence", confidence)
    return wanted if many == 1 else _power_bounds(wanted, Fraction(1, many), 64)[1]


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


_OUTSIDE = 1e-15  # the probability that is left outside the window
_SLACK = 1e-12  # more than what the window and the rounding of the transform can lose
_FINEST = 1e-9  # tails below this are left to Chernoff's bound
_WIDEST = 1 << 16  # a transform of this size takes milliseconds, and a search for a price takes dozens of them


def margin_of_sum(event: DiscreteLaplaceNoise | DiscreteGaussianNoise, terms: int, confidence: Exact) -> int:
    """Return m such that a sum of `terms` numbers with this noise is off by at most m, with this probability or more.

    Proof: proofs/sums_of_noise.md
    """
    many, wanted = as_int("terms", terms), probability("confidence", confidence)
    if many == 1:
        return int(Spread(_tail(event)).margin(wanted))
    beta = float_below(1 - wanted)
    if not is_summed(event, many, beta):
        return _chernoff(event, many, beta)
    tails = _tails_of_sum(event, many)
    return int(np.searchsorted(-tails, -beta))


def is_summed(event: DiscreteLaplaceNoise | DiscreteGaussianNoise, terms: int, chance: float) -> bool:
    """Return whether the law of a sum is computed at this tail probability; elsewhere it is only bounded."""
    return chance >= _FINEST and _chernoff(event, terms, _OUTSIDE) <= _WIDEST


def _tail(event: DiscreteLaplaceNoise | DiscreteGaussianNoise) -> Tail:
    match event:
        case DiscreteLaplaceNoise(scale=scale):
            return discrete_laplace_tail(scale)
        case DiscreteGaussianNoise(sigma_squared=sigma_squared):
            return discrete_gaussian_tail(sigma_squared)


@lru_cache(maxsize=32)
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
