"""What one answer contributes to the probability of a transcript, as a function of the threshold noise z.

The noisy value g + ν passes when ν >= z + least, where `least` is the margin minus g (or, where equality is no yes, the
next lattice point). Every factor is log-concave in z.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.auditor.noise_laws import NoiseLaw, Offset, Reals, log_between
from lapwing.auditor.transcripts import Number, Within


@dataclass(frozen=True, slots=True)
class Factor:
    """The logarithm of one factor, and the points at which it is not smooth."""

    log: Callable[[Reals], Reals]
    landmarks: tuple[float, ...]


def misses(law: NoiseLaw, least: Offset) -> Factor:
    """Return P(ν < z + least): the noisy value stays below."""
    return Factor(lambda z: law.log_below(z, least), _seen_from(law, least))


def passes(law: NoiseLaw, least: Offset) -> Factor:
    """Return P(ν >= z + least): the noisy value is above, and no more is said."""
    return Factor(lambda z: law.log_at_least(z, least), _seen_from(law, least))


def passes_with_gap(law: NoiseLaw, least: Offset, g: Fraction, gap: Number | Within) -> Factor:
    """Return the probability that the noisy value is above and that the gap, g + ν - z, is `gap`."""
    if isinstance(gap, Within):
        low, high = max(least, _minus(gap.low, g)), _minus(gap.high, g)
        return Factor(lambda z: log_between(law, (z, low), (z, high)), _seen_from(law, low, high))
    at = Fraction(gap) - g
    if at < least:
        return _constant(-math.inf)
    return Factor(lambda z: law.log_density(z, at), _seen_from(law, at))


def passes_with_value(law: NoiseLaw, least: Offset, g: Fraction, value: Number | Within) -> Factor:
    """Return the probability that the noisy value is above and that it is `value`."""
    if isinstance(value, Within):
        return _passes_with_value_within(law, least, _minus(value.low, g), _minus(value.high, g))
    density, highest = float(law.log_density(0.0, Fraction(value) - g)), float(Fraction(value) - g - Fraction(least))
    return Factor(lambda z: np.where(z <= highest, density, -math.inf), (highest,))


def _passes_with_value_within(law: NoiseLaw, least: Offset, low: Offset, high: Offset) -> Factor:
    """Return P(low <= ν < high and ν >= z + least)."""
    free, shut = (float(end) - float(least) for end in (low, high))

    def log(z: Reals) -> Reals:
        unhindered = log_between(law, (0.0, low), (0.0, high))
        return np.where(z <= free, unhindered, log_between(law, (z, least), (0.0, high)))

    return Factor(log, (*_seen_from(law, least), *filter(math.isfinite, (free, shut))))


def answers(law: NoiseLaw, g: Fraction, told: Number | Within) -> Factor:
    """Return the probability that g plus fresh noise is what was told, whatever z."""
    if isinstance(told, Within):
        return _constant(float(log_between(law, (0.0, _minus(told.low, g)), (0.0, _minus(told.high, g)))))
    return _constant(float(law.log_density(0.0, Fraction(told) - g)))


def _constant(log: float) -> Factor:
    return Factor(lambda z: np.full_like(z, log), ())


def _minus(number: Number, g: Fraction) -> Offset:
    return number if math.isinf(number) else Fraction(number) - g


def _seen_from(law: NoiseLaw, *offsets: Offset) -> tuple[float, ...]:
    """Return the threshold noises z at which z + offset is a landmark of the law."""
    return tuple(mark - float(offset) for offset in offsets if math.isfinite(offset) for mark in law.landmarks)
