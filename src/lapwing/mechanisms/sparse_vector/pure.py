"""The sparse vector technique under pure differential privacy: the default, and what most streams should be.

Noise on the threshold once, noise on every question, a halt at the last yes. The variant that shows the noisy value it
compared is private at no epsilon, and not offered.

The adaptive one charges half for a clear yes, so that up to twice as many are to be had. Every question is first
compared with more noise and a bar that only a clear yes reaches; what does not reach it is compared again with the
ordinary noise. Worth it where many values lie far above the threshold.
"""

from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import Self, Unpack

from lapwing.mechanisms.sparse_vector.law_probabilities import mean, reach
from lapwing.mechanisms.sparse_vector.rule import AnswerRule, comparison, two_sided
from lapwing.mechanisms.sparse_vector.stream_mechanism import (
    PureStreamMechanism,
    PureStreamParameters,
    SparseVectorNoise,
    one_of,
    parse_pure_stream,
)
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, ceil_to_grid, exact, fill, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.search import decimals


class YesReveals(Enum):
    """The numbers that are released with a yes."""

    GAP = "gap"  # a noisy distance from the threshold, at no extra cost
    NUMBER = "number"  # the gap, and the value with noise of its own, which has half of epsilon to itself
    NOTHING_MORE = "nothing more"


@frozen(kw_only=False, init=False)
class SparseVector(PureStreamMechanism):
    """Answers for each of any number of values whether it is at least a threshold, and stops at the `yeses`-th yes.

    It is epsilon-differentially private for any number of adaptive questions, with a threshold for every question. Its
    cost so far depends on its answers: `threshold_epsilon` with the first answer, and `yes_price` with every yes. A no
    is free.

    Parameters
    ----------
    epsilon : what the stream costs when all its yeses are given
    yeses : how many yeses it gives
    threshold : what values are compared with where a question names no other
    sensitivity : how far one person can move the values, and which way
    grid : a power of two on whose multiples values are put; 1 for counts, which must be integers
    noise : one-sided, unless the textbooks are to be followed
    reveals : what comes with a yes
    threshold_share : the part of what decides that hides the threshold; the best one if not given
    shift : a public number that is added to every threshold; see `placed_for`
    questions : how many questions there will be, where that is fixed in advance; it makes intervals shorter, and leaves
        gaps of later questions without one

    >>> from lapwing.vocabulary.guarantee import Adjacency
    >>> counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    >>> cohorts = SparseVector(epsilon=1, yeses=8, threshold=200, sensitivity=counts)
    >>> cohorts.threshold_epsilon, cohorts.yes_price
    (Fraction(1, 5), Fraction(1, 10))
    >>> cohorts.chance_of_yes(140) < 0.01 < 0.99 < cohorts.chance_of_yes(240)
    True

    Theorem: Dwork, Roth, *The algorithmic foundations of differential privacy*, 2014, section 3.6; Lyu, Su, Li,
    *Understanding the sparse vector technique for differential privacy*, PVLDB 2017, Algorithms 1 and 7; Ding, Wang,
    Zhang, Kifer, *Free gap information from the differentially private sparse vector and noisy max mechanisms*, PVLDB
    2019.
    Proof: proofs/sparse_vector.md for a bare yes, proofs/sparse_vector_gap.md for what comes with it
    """

    reveals: YesReveals

    def __init__(
        self, *, yeses: int, reveals: YesReveals = YesReveals.GAP, **parameters: Unpack[PureStreamParameters]
    ) -> None:
        told = one_of(YesReveals, "reveals", reveals)
        fill(self, **parse_pure_stream(yeses=yeses, **parameters), reveals=told)
        self.__post_init__()

    @property
    def threshold_epsilon(self) -> Fraction:
        """The cost of the first answer, yes or no."""
        return (self.epsilon - self.number_price * self.yeses) * self.threshold_share

    @property
    def number_price(self) -> Fraction:
        """The part of the price of a yes that is for its number."""
        return self.epsilon / (2 * self.yeses) if self.reveals is YesReveals.NUMBER else Fraction(0)

    def _rule(self) -> AnswerRule:
        rise, span = self.sensitivity.in_steps(self.grid)
        threshold_noise = self._noise(rise, self.threshold_epsilon)
        query_noise = self._noise(span, self.yes_price - self.number_price)
        return AnswerRule(
            threshold_noise=threshold_noise,
            comparisons=(comparison(query_noise, threshold_noise, lifted=int(self.shift / self.grid)),),
            units=self.yeses,
            opening_price=self.threshold_epsilon,
            unit_price=self.yes_price,
            fresh_noise=two_sided(rise, self.number_price) if self.reveals is YesReveals.NUMBER else None,
            shows_gap=self.reveals is not YesReveals.NOTHING_MORE,
        )

    def placed_for(self, questions: int, confidence: Exact = "0.9") -> Self:
        """Return the same stream with its threshold shifted so that the margin for these questions is smallest.

        Of many questions just below the threshold some will meet large noise, so a stream for many questions does well
        to shift its threshold up. It then misses more of what lies just above: right for a search through thousands,
        wrong for a few questions of which most deserve a yes.
        """
        return replace(self, shift=self.shift + self.best_lift(questions, confidence), questions=questions)

    def for_margin(self, within: Exact, *, questions: int, confidence: Exact = "0.9") -> Self:
        """Return the same stream, placed for these questions, at the smallest epsilon (of three digits) for a margin.

        All values that are at least `within` from the threshold are then decided right with probability `confidence`.
        """
        wanted = positive("within", within)
        self._priced(Fraction(1), questions, confidence)  # what is wrong with the question is refused here

        def suffices(epsilon: Fraction) -> bool:
            try:
                return self._priced(epsilon, questions, confidence).margin(confidence) <= wanted
            except ParameterError:  # so little epsilon that its noise cannot be drawn
                return False

        search = decimals(digits=3)
        try:
            while search.open:
                search.tell(suffices(search.guess))
        except OverflowError:
            remedy = "allow more, or choose a finer grid"
            raise ParameterError("within", within, reason="is out of reach on this lattice", remedy=remedy) from None
        return self._priced(search.above, questions, confidence)

    def _priced(self, epsilon: Fraction, questions: int, confidence: Exact) -> Self:
        return replace(self, epsilon=epsilon, shift=Fraction(0)).placed_for(questions, confidence)


class AboveThreshold(SparseVector):
    """Answers no until the first yes, and then halts: a `SparseVector` with one yes.

    >>> from lapwing.vocabulary.guarantee import Adjacency
    >>> first = AboveThreshold(epsilon="0.5", threshold=10, sensitivity=ValueSensitivity.of_counts(Adjacency.REPLACE))
    >>> with first.open() as stream:
    ...     [bool(answer) for answer in stream.ask_many([-10_000, -10_000, 10_000, 10_000])]
    [False, False, True]

    As the textbooks print it, with noise of the scales 2/epsilon and 4/epsilon:

    >>> printed = AboveThreshold.as_printed(epsilon=1, threshold=10, sensitivity=1)
    >>> printed.rule.threshold_noise, printed.rule.comparisons[0].noise
    (DiscreteLaplace(scale=Fraction(2, 1)), DiscreteLaplace(scale=Fraction(4, 1)))

    Theorem: Dwork, Roth, *The algorithmic foundations of differential privacy*, 2014, Algorithm 1 and Theorem 3.23.
    Proof: proofs/sparse_vector.md
    """

    __slots__ = ()

    def __init__(
        self, *, yeses: int = 1, reveals: YesReveals = YesReveals.GAP, **parameters: Unpack[PureStreamParameters]
    ) -> None:
        super().__init__(yeses=as_int("yeses", yeses, most=1), reveals=reveals, **parameters)

    @classmethod
    def as_printed(cls, *, epsilon: Exact, threshold: Exact, sensitivity: Exact, grid: Exact = 1) -> "AboveThreshold":
        """Return the textbook's variant: two-sided noise, half of epsilon for the threshold, a bare yes."""
        return cls(
            epsilon=epsilon,
            threshold=threshold,
            sensitivity=ValueSensitivity.of_anything(sensitivity=sensitivity),
            grid=grid,
            noise=SparseVectorNoise.LAPLACE,
            reveals=YesReveals.NOTHING_MORE,
            threshold_share=Fraction(1, 2),
        )


_USUAL_QUESTIONS = 1000  # the number of questions that the bar of a clear yes is set for, where none is given


@frozen(kw_only=False, init=False)
class AdaptiveSparseVector(PureStreamMechanism):
    """Like `SparseVector`, but a clear yes costs half of `yes_price`; halts when an ordinary yes is more than is left.

    So it gives from `yeses` up to 2 * `yeses` - 1 yeses, each with its gap, for the same epsilon.
    A clear yes lies above the threshold by `clear_by`, after noise; if it is not given, by so much that among the
    `questions` (or a thousand) a false one is seldom.

    >>> from lapwing import Adjacency
    >>> from lapwing.mechanisms import ValueSensitivity
    >>> counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    >>> with AdaptiveSparseVector(epsilon=1, yeses=8, threshold=200, sensitivity=counts).open() as stream:
    ...     clear = stream.ask(100_000)
    ...     bool(clear), clear.price
    (True, Fraction(1, 20))

    Theorem: Ding, Wang, Xiao, Wang, Zhang, Kifer, *Free gap estimates from the exponential mechanism, sparse vector,
    noisy max and related algorithms*, VLDB Journal 32, 2023.
    Proof: proofs/sparse_vector_gap.md
    """

    clear_by: Fraction

    def __init__(
        self, *, yeses: int, clear_by: Exact | None = None, **parameters: Unpack[PureStreamParameters]
    ) -> None:
        fill(self, **parse_pure_stream(yeses=yeses, **parameters))
        fill(self, clear_by=self._clear_by(clear_by))
        self.__post_init__()

    def placed_for(self, questions: int, confidence: Exact = "0.9") -> Self:
        """Return the same stream with both bars where the margin for these questions is smallest."""
        placed = replace(self, clear_by=None, questions=questions)  # type: ignore[arg-type]  # None: set it anew
        return replace(placed, shift=self.shift + placed.best_lift(questions, confidence))

    def _clear_by(self, given: Exact | None) -> Fraction:
        if given is not None:
            return ceil_to_grid(exact("clear_by", given), self.grid)
        noise = self._noise(self.sensitivity.in_steps(self.grid)[1], self.yes_price / 2)
        steps = reach(noise, 1 / (2 * (self.questions or _USUAL_QUESTIONS))) - round(mean(noise))
        return max(steps, 0) * self.grid

    def _rule(self) -> AnswerRule:
        rise, span = self.sensitivity.in_steps(self.grid)
        once, lifted = self._noise(rise, self.threshold_epsilon), int(self.shift / self.grid)
        clear, ordinary = self._noise(span, self.yes_price / 2), self._noise(span, self.yes_price)
        return AnswerRule(
            threshold_noise=once,
            comparisons=(
                comparison(clear, once, lifted=lifted + int(self.clear_by / self.grid), units=1),
                comparison(ordinary, once, lifted=lifted, units=2),
            ),
            units=2 * self.yeses,
            opening_price=self.threshold_epsilon,
            unit_price=self.yes_price / 2,
        )
