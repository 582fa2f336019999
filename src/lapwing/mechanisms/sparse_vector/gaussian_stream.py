"""A sparse vector with Gaussian noise, for budgets with a delta and streams with many yeses.

It is private in the sense of Renyi divergence, not of pure epsilon: the number of questions is fixed in advance, the
whole price is paid at opening, a yes reveals nothing more, and a lost answer cannot be paid for.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Self, Unpack

from lapwing.accounting.gaussian_sparse_vector import MOST_QUESTIONS, renyi_bound
from lapwing.mechanisms.sparse_vector.rule import AnswerRule, comparison
from lapwing.mechanisms.sparse_vector.stream_mechanism import (
    StreamMechanism,
    StreamParameters,
    parse_stream,
    require_sensitivity,
)
from lapwing.noise.laws import RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianSparseVectorRelease
from lapwing.vocabulary.exact import (
    ROUND_OFF,
    Exact,
    as_int,
    ceil_to_grid,
    exact,
    fill,
    float_below,
    positive,
    probability,
)
from lapwing.vocabulary.frozen import frozen

_ORDERS = tuple(1 + 2 ** (n / 2) for n in range(-2, 17))
_ROUNDS = 6
_LARGEST_DELTA = Fraction(1, 1000)  # below it the price of every order is above zero, for any noise


@frozen(kw_only=False, init=False)
class GaussianSparseVector(StreamMechanism):
    """Answers for each of at most `questions` values whether it is at least a threshold; stops at the `yeses`-th yes.

    `threshold_sigma` and `query_sigma` are the deviations of the noise on the threshold, and on each value; the others
    are as for `SparseVector`.

    >>> from lapwing import Adjacency
    >>> from lapwing.mechanisms import ValueSensitivity
    >>> counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    >>> stream = GaussianSparseVector.for_budget(
    ...     epsilon=1, delta="1e-6", yeses=50, questions=1000, threshold=200, sensitivity=counts
    ... )
    >>> stream.event.yeses, stream.margin(questions=1000) < 500
    (50, True)

    Proof: proofs/gaussian_sparse_vector.md
    """

    threshold_sigma: Fraction
    query_sigma: Fraction
    questions: int

    def __init__(
        self,
        *,
        threshold_sigma: Exact,
        query_sigma: Exact,
        yeses: int,
        questions: int,
        **shared: Unpack[StreamParameters],
    ) -> None:
        parsed = parse_stream(yeses=yeses, questions=as_int("questions", questions, most=MOST_QUESTIONS), **shared)
        sigmas = positive("threshold_sigma", threshold_sigma), positive("query_sigma", query_sigma)
        fill(self, **parsed, threshold_sigma=sigmas[0], query_sigma=sigmas[1])
        self.__post_init__()

    @classmethod
    def for_budget(
        cls, *, epsilon: Exact, delta: Exact, yeses: int, questions: int, **shared: Unpack[StreamParameters]
    ) -> "GaussianSparseVector":
        """Return the stream with about the smallest noise that is (epsilon, delta)-differentially private.

        `delta` is at most 1/1000: it is a probability that nothing is promised, and meant for accidents.
        """
        require_sensitivity(shared["sensitivity"])
        count, chance = as_int("yeses", yeses), probability("delta", delta)
        if chance > _LARGEST_DELTA:
            remedy = "write at most 1/1000, better 1e-6"
            raise ParameterError("delta", delta, reason="is too large for a promise", remedy=remedy)
        target, at = float_below(positive("epsilon", epsilon)), float_below(chance)
        least = 1.5 * _conversion(_ORDERS[-1], at)  # a third of the price is then left for the noise
        if target < least:
            reason = "is too small for this delta: no order of the Renyi bound reaches it"
            remedy = f"write at least {least:.3g}, or a larger delta"
            raise ParameterError("epsilon", epsilon, reason=reason, remedy=remedy)

        grid = exact("grid", shared.get("grid", 1))
        steps = shared["sensitivity"].in_steps(grid)
        ratio = _ratio(steps, count)

        def stream(sigma: Fraction) -> GaussianSparseVector:
            return cls(threshold_sigma=sigma, query_sigma=sigma * ratio, yeses=count, questions=questions, **shared)

        sigma = grid * steps[0]
        order = len(_ORDERS) // 2
        for _ in range(_ROUNDS):  # the price falls about as 1/sigma, so this settles at once
            price, order = _epsilon(stream(sigma).event, at, order)
            sigma = _four_digits(sigma * Fraction(price / target))
        while _epsilon(stream(sigma).event, at, order)[0] > target:
            sigma = _four_digits(sigma * Fraction(1001, 1000))
        return stream(sigma)

    @property
    def event(self) -> GaussianSparseVectorRelease:
        """The whole stream, which is paid at opening. Deviations are those of the noise as it is drawn."""
        rise, span = self.sensitivity.in_steps(self.grid)
        once = RoundedGaussian(self.threshold_sigma / self.grid).sigma_used * self.grid
        query = RoundedGaussian(self.query_sigma / self.grid).sigma_used * self.grid
        return GaussianSparseVectorRelease(
            sensitivity=rise * self.grid,
            threshold_sigma_squared=once**2,
            query_sigma_squared=query**2,
            questions=self.questions,
            yeses=self.yeses,
            monotone=span == rise,
        )

    def placed_for(self, confidence: Exact = "0.9") -> Self:
        """Return the same stream with its threshold shifted so that the margin for its questions is smallest."""
        return replace(self, shift=self.shift + self.best_lift(self.questions, confidence))

    def _rule(self) -> AnswerRule:
        once, query = RoundedGaussian(self.threshold_sigma / self.grid), RoundedGaussian(self.query_sigma / self.grid)
        return AnswerRule(
            threshold_noise=once,
            comparisons=(comparison(query, once, lifted=int(self.shift / self.grid)),),
            units=self.yeses,
            questions=self.questions,
            opening_price=None,
            shows_gap=False,
        )


def _ratio(steps: tuple[int, int], yeses: int) -> Fraction:
    """Return query_sigma : threshold_sigma, by a rule that is within a few per cent of the best for 1 to 200 yeses."""
    rise, span = steps
    return Fraction(round(100 * math.sqrt(span / rise) * math.cbrt(yeses)), 100)


def _four_digits(sigma: Fraction) -> Fraction:
    unit = Fraction(10) ** (math.floor(math.log10(sigma)) - 3)
    return ceil_to_grid(sigma, unit)


def _conversion(order: float, delta: float) -> float:
    """Return what a Renyi bound of this order must be raised by to be an epsilon at this delta."""
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


def _epsilon(event: GaussianSparseVectorRelease, delta: float, start: int) -> tuple[float, int]:
    """Return the epsilon of the best order found by walking downhill from `start`, and where in the list that is.

    A Renyi bound of any one order gives a valid epsilon (Canonne, Kamath, Steinke 2020, Proposition 12).
    """

    def of_order(index: int) -> float:
        order, rest = _ORDERS[index], _ORDERS[index] - 1
        parts = renyi_bound(event, order), math.log1p(-1 / order), -math.log(delta) / rest, -math.log(order) / rest
        return sum(parts) + ROUND_OFF * sum(map(abs, parts))

    best, at = of_order(start), start
    for step in (-1, 1):
        while 0 <= at + step < len(_ORDERS) and (found := of_order(at + step)) < best:
            best, at = found, at + step
    return best, at
