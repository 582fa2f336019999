"""Randomized response: everyone answers for themselves, and every answer may be a lie.

Margins of an estimate: the number of people whose true category it is stays unknown, so every margin holds for all of
these numbers. For up to `EXACT_UP_TO` people the worst of them is found by enumeration; for more there is an upper
bound, which is a little larger.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.margins import ByAccuracy
from lapwing.mechanisms.noise_mechanism import ByEpsilon, Integer, Integers, Priced, above_zero, integers, parse_noise
from lapwing.noise.coins_and_dice import Coin, uniform_below, uniform_below_many
from lapwing.noise.decay import exponential_bounds
from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import RandomizedResponseRelease
from lapwing.vocabulary.exact import Exact, as_int, exact, fill, float_below, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_when_called

(lfilter,) = load_when_called("scipy.signal", "lfilter")
gammaln, ive = load_when_called("scipy.special", "gammaln", "ive")

Floats = NDArray[np.float64]

_LARGEST_EPSILON = 40

EXACT_UP_TO = 1000  # people are computed exactly, by going through all their laws, in a time that grows as the square
_SLACK = 1e-9
_FAR = 1e6
_SURE_TO = 1e-7  # rarer errors are bounded and not computed
_ROUNDING = 1e-11  # on a probability that comes out of up to `EXACT_UP_TO` steps, each stable
_TILTS = np.exp(np.linspace(-30.0, 8.0, 4000))  # every tilt gives a valid bound, the best is taken


@frozen()
class Chances:
    """How likely one answer is: from a person whose truth it is, and as a lie; `gap` is the difference.

    `others` are the chances of all other answers, from the one and from the other.
    """

    truth: float
    lie: float
    gap: float
    others: tuple[float, float]

    @classmethod
    def of(cls, epsilon: Fraction, categories: int) -> "Chances":
        """Return the chances that this price makes."""
        rate = min(float(epsilon), 600.0)  # a lie of chance e^-600 never happens in practice, and it is above 0
        weight = math.exp(-rate)
        total = 1 + (categories - 1) * weight
        others = ((categories - 1) * weight / total, (1 + (categories - 2) * weight) / total)
        return cls(truth=1 / total, lie=weight / total, gap=-math.expm1(-rate) / total, others=others)

    def log_tail(self, people: int) -> Floats:
        """Bound ln of P(|D| >= x) e^(tilt x), for every tilt, every x > 0 and all truths.

        D is the number of people who give the answer, less its mean.
        """
        sides: list[Floats] = []
        for sign in (1, -1):
            moments, peaks = [], []
            for chance, other in zip((self.truth, self.lie), self.others, strict=True):
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
        law = np.exp(log_law + k * math.log(self.lie) + (people - k) * math.log(self.others[1]))
        for true in range(people + 1):
            yield people * self.lie + true * self.gap, law
            law = np.asarray(lfilter([self.others[0], self.truth], [self.others[1], self.lie], law), np.float64)

    def margin(self, confidence: Fraction, people: int) -> float:
        """Return m such that an estimated number of people is off by at most m, with this probability or more."""
        allowed = float_below(1 - confidence)
        bound = self._bound(allowed, people)
        if people > EXACT_UP_TO or allowed < _SURE_TO:
            return bound / self.gap * (1 + _SLACK)
        enough = 0.0
        for mean, law in self.laws(people):
            if _chance_outside(mean, law, enough) > allowed:
                distances = np.abs(np.arange(people + 1.0) - mean)
                outwards = np.argsort(distances)
                beyond = np.append(np.cumsum(law[outwards][::-1])[::-1][1:], 0.0)
                enough = float(distances[outwards[np.argmax(beyond + _ROUNDING <= allowed)]]) + _SLACK
        return min(bound, enough) / self.gap * (1 + _SLACK)

    def confidence(self, margin: Fraction, people: int) -> float:
        """Return a probability, rounded down, with which an estimated number of people is off by at most `margin`."""
        within = float_below(margin) * self.gap * (1 - _SLACK)
        bound = 1 - math.exp(min(0.0, float((self.log_tail(people) - _TILTS * within).min()))) * (1 + _SLACK)
        if people > EXACT_UP_TO or bound > 1 - _SURE_TO:
            return max(0.0, bound)
        return max(0.0, bound, 1 - max(_chance_outside(mean, law, within) for mean, law in self.laws(people)))

    def is_within(self, margin: Fraction, confidence: Fraction, people: int) -> bool:
        """Return whether an estimated number of people is off by at most `margin`, with this probability or more.

        The same as a comparison of `margin` or of `confidence`, but it looks no further than it must.
        """
        allowed, within = float_below(1 - confidence), float_below(margin) * self.gap * (1 - _SLACK)
        if self._bound(allowed, people) <= within:
            return True
        if people > EXACT_UP_TO or allowed < _SURE_TO:
            return False
        return all(_chance_outside(mean, law, within) <= allowed for mean, law in self.laws(people))

    def _bound(self, allowed: float, people: int) -> float:
        """Return x such that P(|D| >= x) is at most `allowed`."""
        return max(0.0, float(((self.log_tail(people) + math.log(1 / allowed)) / _TILTS).min())) * (1 + _SLACK)


def _log_peak(variance: Floats) -> Floats:
    """Bound ln of the largest probability of a single value of a sum of indicators: ln of e^(-V) I₀(V).

    Beyond what the Bessel function of the library reaches, by its asymptotic series: all of its terms are positive.
    """
    far = np.maximum(variance, _FAR)
    return np.where(
        variance < _FAR, np.log(ive(0, np.minimum(variance, _FAR))), 0.25 / far - np.log(2 * np.pi * far) / 2
    )


def _chance_outside(mean: float, law: Floats, within: float) -> float:
    """Bound the probability of numbers that are more than `within` away from the mean."""
    first = max(0, math.ceil(mean - within + _SLACK))
    last = min(len(law) - 1, math.floor(mean + within - _SLACK))
    if first > last:
        return 1.0
    return float(law[:first].sum() + law[last + 1 :].sum()) + _ROUNDING


@frozen(kw_only=False, init=False)
class RandomizedResponse(Priced[RandomizedResponseRelease]):
    """Answers the true category with probability e^ε/(e^ε + k - 1), and else one of the others, evenly.

    For every true category, every answer is at most e^ε times as likely as with any other truth. Each answer
    is private by itself (the local model); the answers of many people, one each, are one release at the price of one,
    under the adjacency REPLACE: how many people answered is public.

    A value outside 0, ..., k - 1 counts as the nearest category.

    An accuracy (`within` with `confidence`) is that of the estimated number of people in one category, out of `people`.

    >>> smokers = RandomizedResponse(epsilon=1)
    >>> smokers.release(1) in {0, 1}
    True
    >>> smokers.event
    RandomizedResponseRelease(epsilon=Fraction(1, 1), categories=2)
    >>> [round(float(people), 1) for people in smokers.estimate([620, 380])]
    [759.7, 240.3]
    >>> round(smokers.margin("0.95", people=1000), 1)
    59.5

    Theorem: Warner, *Randomized response*, JASA 1965; for k categories Kairouz, Bonawitz, Ramage, ICML 2016.
    Proof: proofs/randomized_response.md
    """

    coin: Coin = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        epsilon: Exact | None = None,
        categories: int = 2,
        within: Exact | None = None,
        confidence: Exact | None = None,
        people: int | None = None,
    ) -> None:
        kinds = as_int("categories", categories, least=2, most=2**31)
        match parse_noise(epsilon=epsilon, within=above_zero(within), confidence=confidence, people=people):
            case ByEpsilon(rate):
                pass
            case ByAccuracy(within=margin, confidence=wanted, values=crowd) as target:
                rate = target.bisect(lambda e: Chances.of(e, kinds).is_within(margin, wanted, crowd))[1]
            case _:  # pragma: no cover - it is asked for in no other way
                raise AssertionError
        if rate > _LARGEST_EPSILON:
            remedy = f"stay at or below {_LARGEST_EPSILON}"
            raise ParameterError("epsilon", epsilon or rate, reason="promises nothing", remedy=remedy)
        event = RandomizedResponseRelease(epsilon=rate, categories=kinds)
        fill(self, event=event, coin=Coin(lambda bits: _truth_bounds(rate, kinds, bits)))

    @property
    def epsilon(self) -> Fraction:
        """The price of one answer."""
        return self.event.epsilon

    @property
    def chances(self) -> Chances:
        """How likely the truth and a lie are."""
        return Chances.of(self.event.epsilon, self.event.categories)

    @overload
    def release(self, value: Integer) -> int: ...
    @overload
    def release(self, value: Integers) -> NDArray[np.int64]: ...
    def release(self, value: Integer | Integers) -> int | NDArray[np.int64]:
        """Return one answer, or one answer for every person of a vector."""
        truth, last = integers(value), self.event.categories - 1
        if isinstance(truth, int):
            answer, other = min(max(truth, 0), last), uniform_below(last) if last > 1 else 0
            return answer if self.coin.toss(SYSTEM) else other + (other >= answer)
        answers = np.clip(truth, 0, last)
        others = uniform_below_many(last, truth.size).reshape(truth.shape) if last > 1 else np.int64(0)
        honest = self.coin.toss_many(truth.size, SYSTEM).reshape(truth.shape)
        return np.where(honest, answers, others + (others >= answers))

    def estimate(self, counts: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return unbiased estimates of how many people are in each category, from how many gave each answer.

        Estimates may be negative or not whole: to cut them would bias them.
        """
        try:
            answers = np.asarray(counts, np.float64)
        except (TypeError, ValueError):
            answers = np.empty(0)  # which is refused like any other that are not counts
        if answers.shape != (self.event.categories,):
            remedy = f"count the answers of all {self.event.categories} categories"
            raise ParameterError("counts", counts, reason="is not a count of every category", remedy=remedy)
        estimates: NDArray[np.float64] = (answers - answers.sum() * self.chances.lie) / self.chances.gap
        return estimates

    def margin(self, confidence: Exact, *, people: int) -> float:
        """Return m such that an estimated number of people is off by at most m, with probability at least `confidence`.

        It is computed over all truths for up to a thousand people, and is a bound for more, about 2 to 4 % larger at a
        confidence of 0.95, and less at higher ones.
        """
        return self.chances.margin(probability("confidence", confidence), as_int("people", people))

    def confidence(self, margin: Exact, *, people: int) -> float:
        """Return a probability, rounded down, with which an estimated number of people is off by at most `margin`."""
        return self.chances.confidence(exact("margin", margin), as_int("people", people))


def _truth_bounds(epsilon: Fraction, categories: int, bits: int) -> tuple[int, int]:
    """Bound 2^bits times the probability of the truth, 1 / (1 + (k - 1) e^(-ε))."""
    precision = bits + categories.bit_length() + 8
    low, high = exponential_bounds(epsilon.numerator, epsilon.denominator, precision)
    one = 1 << precision
    return (one << bits) // (one + (categories - 1) * high), -(-(one << bits) // (one + (categories - 1) * low))
