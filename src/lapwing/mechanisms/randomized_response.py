"""Randomized response: everyone answers for themselves, and every answer may be a lie.

Proof: proofs/randomized_response.md
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms import truths_and_lies
from lapwing.mechanisms.margins import Accuracy
from lapwing.mechanisms.noise_addition import Integer, Integers, integers
from lapwing.mechanisms.truths_and_lies import Chances
from lapwing.noise.coins_and_dice import Coin, uniform_below, uniform_below_many
from lapwing.noise.decay import exponential_bounds
from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary import event as events
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, exact, exactly_one_of, positive, probability

_LARGEST_EPSILON = 40


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse:
    """Answers the true category with probability e^ε/(e^ε + k - 1), and else one of the others, evenly.

    Whatever a person's true category, every answer is at most e^ε times as likely as with any other truth. Each answer
    is private by itself (the local model); the answers of many people, one each, are one release at the price of one,
    under the adjacency REPLACE: how many people answered is public.

    A value outside 0, ..., k - 1 counts as the nearest category.

    Parameters
    ----------
    categories : k, at least 2
    epsilon : the price; or
    within, confidence, people : the accuracy of the estimated number of people in one category, out of so many people

    Examples
    --------
    >>> smokers = RandomizedResponse(epsilon=1)
    >>> smokers.release(1) in {0, 1}
    True
    >>> smokers.event
    RandomizedResponseRelease(epsilon=Fraction(1, 1), categories=2)
    >>> [round(float(people), 1) for people in smokers.estimate([620, 380])]
    [759.7, 240.3]
    >>> round(smokers.standard_error(people=1000), 1), round(smokers.margin("0.95", people=1000), 1)
    (30.3, 59.5)

    Theorem: Warner, *Randomized response*, JASA 1965; for k categories Kairouz, Bonawitz, Ramage, ICML 2016.
    Proof: proofs/randomized_response.md
    """

    event: events.RandomizedResponseRelease
    _truthful: Coin = field(repr=False, compare=False)

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
        given = {"epsilon": epsilon, "within": within, "confidence": confidence, "people": people}
        if exactly_one_of("noise", given, ("epsilon",), ("within", "confidence", "people")) == ("epsilon",):
            rate = positive("epsilon", epsilon)
        else:
            wish, crowd = Accuracy(positive("within", within), confidence, 1), as_int("people", people)
            rate = wish.turning_point(
                lambda e: truths_and_lies.is_within(Chances(e, kinds), wish.within, wish.confidence, crowd)
            )[1]
        if rate > _LARGEST_EPSILON:
            remedy = f"stay at or below {_LARGEST_EPSILON}"
            raise ParameterError("epsilon", epsilon or rate, reason="promises nothing", remedy=remedy)
        object.__setattr__(self, "event", events.RandomizedResponseRelease(epsilon=rate, categories=kinds))
        object.__setattr__(self, "_truthful", Coin(lambda bits: _truth_bounds(rate, kinds, bits)))

    @property
    def epsilon(self) -> Fraction:
        """The price of one answer."""
        return self.event.epsilon

    @property
    def loss(self) -> PricedLoss:
        """What one answer costs, in every currency."""
        return price(self.event)

    @overload
    def release(self, value: Integer) -> int: ...
    @overload
    def release(self, value: Integers) -> NDArray[np.int64]: ...
    def release(self, value: Integer | Integers) -> int | NDArray[np.int64]:
        """Return one answer, or one answer for every person of a vector."""
        truth, last = integers(value), self.event.categories - 1
        if isinstance(truth, int):
            answer, other = min(max(truth, 0), last), uniform_below(last) if last > 1 else 0
            return answer if self._truthful.toss(SYSTEM) else other + (other >= answer)
        answers = np.clip(truth, 0, last)
        others = uniform_below_many(last, truth.size).reshape(truth.shape) if last > 1 else np.int64(0)
        honest = self._truthful.toss_many(truth.size, SYSTEM).reshape(truth.shape)
        return np.where(honest, answers, others + (others >= answers))

    def estimate(self, counts: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Return unbiased estimates of how many people are in each category, from how many gave each answer.

        Estimates may be negative or not whole: to cut them would bias them.
        """
        try:
            answers = np.asarray(counts, np.float64)
        except (TypeError, ValueError):
            answers = np.empty(0)  # which is refused like any other that are no counts
        if answers.shape != (self.event.categories,):
            remedy = f"count the answers of all {self.event.categories} categories"
            raise ParameterError("counts", counts, reason="is no count of every category", remedy=remedy)
        chances = Chances(self.event.epsilon, self.event.categories)
        estimates: NDArray[np.float64] = (answers - answers.sum() * chances.lie) / chances.gap
        return estimates

    def standard_error(self, *, people: int) -> float:
        """Return the largest standard deviation, over all truths, of the estimated number of people in a category."""
        chances = Chances(self.event.epsilon, self.event.categories)
        return math.sqrt(as_int("people", people) * chances.variance) / chances.gap

    def margin(self, confidence: Exact, *, people: int) -> float:
        """Return m such that an estimated number of people is off by at most m, with probability at least `confidence`.

        It holds for all truths and numbers of people: it is computed over all of them for up to a thousand people, and
        is a bound for more, about 2 to 4 % larger at a confidence of 0.95, and less at higher ones.
        """
        chances, crowd = Chances(self.event.epsilon, self.event.categories), as_int("people", people)
        return truths_and_lies.margin(chances, probability("confidence", confidence), crowd)

    def confidence(self, margin: Exact, *, people: int) -> float:
        """Return a probability, rounded down, with which an estimated number of people is off by at most `margin`."""
        chances, crowd = Chances(self.event.epsilon, self.event.categories), as_int("people", people)
        return truths_and_lies.confidence(chances, exact("margin", margin), crowd)


def _truth_bounds(epsilon: Fraction, categories: int, bits: int) -> tuple[int, int]:
    """Bound 2^bits times the probability of the truth, 1 / (1 + (k - 1) e^(-ε))."""
    precision = bits + categories.bit_length() + 8
    low, high = exponential_bounds(epsilon.numerator, epsilon.denominator, precision)
    one = 1 << precision
    return (one << bits) // (one + (categories - 1) * high), -(-(one << bits) // (one + (categories - 1) * low))
