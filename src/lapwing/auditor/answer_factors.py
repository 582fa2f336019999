"""What one answer contributes to the probability of a transcript, as a function of the threshold noise z.

The noisy value g + ν passes when ν >= z + least, where `least` is the margin minus g (or, where equality is no yes, the
next lattice point). Every factor is log-concave in z.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.auditor.log_concave import log_integral, log_sum
from lapwing.auditor.noise_laws import NoiseLaw, NoNoise, Offset, Reals, log_between
from lapwing.auditor.transcripts import AuditedWithin, Number


@dataclass(frozen=True, slots=True)
class AnswerFactor:
    """The logarithm of one factor, the points at which it is not smooth, and the length on which it changes."""

    log: Callable[[Reals], Reals]
    landmarks: tuple[float, ...] = ()
    scale: float = math.inf


def log_expectation(
    threshold: NoiseLaw, factors: Sequence[tuple[int, AnswerFactor]], *, times: AnswerFactor | None = None
) -> float:
    """Return ln E[product of factors], the expectation over the threshold noise; each factor comes with its power.

    `times` is one factor more that need not be log-concave, but is bounded and bounded away from zero.
    """

    def log_f(z: Reals) -> Reals:
        total = threshold.log_density(z)
        for power, factor in factors:
            total = total + power * factor.log(z)
        return total

    if isinstance(threshold, NoNoise):
        return float(log_f(np.zeros(1))[0] + (times.log(np.zeros(1))[0] if times else 0.0))
    shapes = [factor for _, factor in factors] + ([times] if times else [])
    landmarks = [*threshold.landmarks, *(mark for shape in shapes for mark in shape.landmarks)]
    log_times = times.log if times else None
    if threshold.step is not None:
        return log_sum(log_f, landmarks, threshold.step, log_times=log_times)
    unit = min([threshold.scale, *(shape.scale for shape in shapes)])
    return log_integral(log_f, landmarks, unit, log_times=log_times)


def misses(law: NoiseLaw, least: Offset) -> AnswerFactor:
    """Return P(ν < z + least): the noisy value stays below."""
    return AnswerFactor(lambda z: law.log_below(z, least), _seen_from(law, least), law.scale)


def passes(law: NoiseLaw, least: Offset) -> AnswerFactor:
    """Return P(ν >= z + least): the noisy value is above, and no more is said."""
    return AnswerFactor(lambda z: law.log_at_least(z, least), _seen_from(law, least), law.scale)


def passes_with_gap(law: NoiseLaw, least: Offset, g: Fraction, gap: Number | AuditedWithin) -> AnswerFactor:
    """Return the probability that the noisy value is above and that the gap, g + ν - z, is `gap`."""
    if isinstance(gap, AuditedWithin):
        low, high = max(least, _minus(gap.low, g)), _minus(gap.high, g)
        return AnswerFactor(lambda z: log_between(law, (z, low), (z, high)), _seen_from(law, low, high), law.scale)
    at = Fraction(gap) - g
    if at < least:
        return _constant(-math.inf)
    return AnswerFactor(lambda z: law.log_density(z, at), _seen_from(law, at), law.scale)


def passes_with_value(law: NoiseLaw, least: Offset, g: Fraction, value: Number | AuditedWithin) -> AnswerFactor:
    """Return the probability that the noisy value is above and that it is `value`."""
    if isinstance(value, AuditedWithin):
        return _passes_with_value_within(law, least, _minus(value.low, g), _minus(value.high, g))
    density, highest = float(law.log_density(0.0, Fraction(value) - g)), float(Fraction(value) - g - Fraction(least))
    return AnswerFactor(lambda z: np.where(z <= highest, density, -math.inf), (highest,))


def _passes_with_value_within(law: NoiseLaw, least: Offset, low: Offset, high: Offset) -> AnswerFactor:
    """Return P(low <= ν < high and ν >= z + least)."""
    free, shut = (float(end) - float(least) for end in (low, high))

    def log(z: Reals) -> Reals:
        unhindered = log_between(law, (0.0, low), (0.0, high))
        return np.where(z <= free, unhindered, log_between(law, (z, least), (0.0, high)))

    return AnswerFactor(log, (*_seen_from(law, least), *filter(math.isfinite, (free, shut))), law.scale)


def answers(law: NoiseLaw, g: Fraction, told: Number | AuditedWithin) -> AnswerFactor:
    """Return the probability that g plus fresh noise is what was told, whatever z."""
    if isinstance(told, AuditedWithin):
        return _constant(float(log_between(law, (0.0, _minus(told.low, g)), (0.0, _minus(told.high, g)))))
    return _constant(float(law.log_density(0.0, Fraction(told) - g)))


def _constant(log: float) -> AnswerFactor:
    return AnswerFactor(lambda z: np.full_like(z, log))


def _minus(number: Number, g: Fraction) -> Offset:
    return number if math.isinf(number) else Fraction(number) - g


def _seen_from(law: NoiseLaw, *offsets: Offset) -> tuple[float, ...]:
    """Return the threshold noises z at which z + offset is a landmark of the law."""
    return tuple(mark - float(offset) for offset in offsets if math.isfinite(offset) for mark in law.landmarks)
