"""How far the number of people who give one answer can be from its mean, when some tell the truth and others lie.

Nobody knows how many people's truth the answer is, so every statement holds for all of these numbers. For up to
`EXACT_UP_TO` people the worst of them is found, by going through them; for more there is a bound, which is a little
larger.

Proof: proofs/randomized_response.md
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import gammaln, ive

from lapwing.accounting.rounding import float_below

Floats = NDArray[np.float64]

EXACT_UP_TO = 1000
"""So many people are computed exactly: their laws are all gone through, which takes a time that grows as the square."""

_SLACK = 1e-9
_FAR = 1e6
_SURE_TO = 1e-7  # rarer errors are bounded and not computed
_ROUNDING = 1e-11  # on a probability that comes out of up to `EXACT_UP_TO` steps, each stable
_TILTS = np.exp(np.linspace(-30.0, 8.0, 4000))
"""Where the exponential bound is tried: every tilt gives a valid margin, the best is taken."""


@dataclass(frozen=True, slots=True, init=False)
class Chances:
    """How likely one answer is: from a person whose truth it is, and as a lie; `gap` is the difference."""

    truth: float
    lie: float
    gap: float
    _others: tuple[float, float]

    def __init__(self, epsilon: Fraction, categories: int) -> None:
        rate = min(float(epsilon), 600.0)
        weight = math.exp(-rate)
        total = 1 + (categories - 1) * weight
        object.__setattr__(self, "truth", 1 / total)
        object.__setattr__(self, "lie", weight / total)
        object.__setattr__(self, "gap", -math.expm1(-rate) / total)
        object.__setattr__(
            self, "_others", ((categories - 1) * weight / total, (1 + (categories - 2) * weight) / total)
        )

    @property
    def variance(self) -> float:
        """The larger of the two variances that one person's answer can have."""
        return max(self.truth * self._others[0], self.lie * self._others[1])

    def log_tail(self, people: int) -> Floats:
        """Bound ln of P(|D| >= x) e^(tilt x), for every tilt, every x > 0 and all truths.

        D is the number of people who give the answer, less its mean.
        """
        sides: list[Floats] = []
        for sign in (1, -1):
            moments, peaks = [], []
            for chance, other in zip((self.truth, self.lie), self._others, strict=True):
                log_moment = np.logaddexp(math.log(other), math.log(chance) + sign * _TILTS)
                variance = np.exp(math.log(other) + math.log(chance) + sign * _TILTS - 2 * log_moment)
                moments.append(people * (log_moment - sign * _TILTS * chance + 1e-15 * (1 + _TILTS)))
                peaks.append(moments[-1] + _log_peak(people * variance * (1 - _SLACK)))
            alone, peaked = np.max(moments, axis=0), np.max(peaks, axis=0)
            sides.append(np.minimum(alone, peaked - np.log(-np.expm1(-_TILTS)) + _SLACK))
        return np.logaddexp(*sides)

    def laws(self, people: int) -> Iterator[tuple[float, Floats]]:
        """Yield, for 0, 1, ... people whose truth it is, the mean and the law of the number of people who give it.

        From one to the next a liar's factor (1 - lie) + lie z of the generating function gives way to that of a person
        who tells the truth. Division by the former is stable, since a lie is the rarer of two.
        """
        k = np.arange(people + 1.0)
        log_law = gammaln(people + 1) - gammaln(k + 1) - gammaln(people - k + 1)
        law = np.exp(log_law + k * math.log(self.lie) + (people - k) * math.log(self._others[1]))
        for true in range(people + 1):
            yield people * self.lie + true * self.gap, law
            law = np.asarray(lfilter([self._others[0], self.truth], [self._others[1], self.lie], law), np.float64)


def margin(chances: Chances, confidence: Fraction, people: int) -> float:
    """Return m such that an estimated number of people is off by at most m, with probability at least `confidence`."""
    allowed = float_below(1 - confidence)
    bound = _bounded(chances, allowed, people)
    if people > EXACT_UP_TO or allowed < _SURE_TO:
        return bound / chances.gap * (1 + _SLACK)
    enough = 0.0
    for mean, law in chances.laws(people):
        if _chance_outside(mean, law, enough) > allowed:
            distances = np.abs(np.arange(people + 1.0) - mean)
            outwards = np.argsort(distances)
            beyond = np.append(np.cumsum(law[outwards][::-1])[::-1][1:], 0.0)
            enough = float(distances[outwards[np.argmax(beyond + _ROUNDING <= allowed)]]) + _SLACK
    return min(bound, enough) / chances.gap * (1 + _SLACK)


def confidence(chances: Chances, margin: Fraction, people: int) -> float:
    """Return a probability, rounded down, with which an estimated number of people is off by at most `margin`."""
    within = float_below(margin) * chances.gap * (1 - _SLACK)
    bound = 1 - math.exp(min(0.0, float((chances.log_tail(people) - _TILTS * within).min()))) * (1 + _SLACK)
    if people > EXACT_UP_TO or bound > 1 - _SURE_TO:
        return max(0.0, bound)
    return max(0.0, bound, 1 - max(_chance_outside(mean, law, within) for mean, law in chances.laws(people)))


def is_within(chances: Chances, margin: Fraction, confidence: Fraction, people: int) -> bool:
    """Say whether an estimated number of people is off by at most `margin`, with probability at least `confidence`.

    The same as a comparison of `margin` or of `confidence`, but it looks no further than it must.
    """
    allowed, within = float_below(1 - confidence), float_below(margin) * chances.gap * (1 - _SLACK)
    if _bounded(chances, allowed, people) <= within:
        return True
    if people > EXACT_UP_TO or allowed < _SURE_TO:
        return False
    return all(_chance_outside(mean, law, within) <= allowed for mean, law in chances.laws(people))


def _log_peak(variance: Floats) -> Floats:
    """Bound ln of the largest probability of a single value of a sum of indicators: ln of e^(-V) I₀(V).

    Beyond what the Bessel function of the library reaches, by its asymptotic series: all of its terms are positive.
    """
    far = np.maximum(variance, _FAR)
    return np.where(
        variance < _FAR, np.log(ive(0, np.minimum(variance, _FAR))), 0.25 / far - np.log(2 * np.pi * far) / 2
    )


def _bounded(chances: Chances, allowed: float, people: int) -> float:
    """Return x such that P(|D| >= x) is at most `allowed`."""
    return max(0.0, float(((chances.log_tail(people) + math.log(1 / allowed)) / _TILTS).min())) * (1 + _SLACK)


def _chance_outside(mean: float, law: Floats, within: float) -> float:
    """Bound the probability of numbers that are more than `within` away from the mean."""
    first = max(0, math.ceil(mean - within + _SLACK))
    last = min(len(law) - 1, math.floor(mean + within - _SLACK))
    if first > last:
        return 1.0
    return float(law[:first].sum() + law[last + 1 :].sum()) + _ROUNDING
