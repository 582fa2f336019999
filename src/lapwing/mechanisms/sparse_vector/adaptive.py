"""A sparse vector that charges half for a clear yes, so that up to twice as many are to be had.

Every question is first compared with more noise and a bar that only a clear yes reaches; what does not reach it is
compared again with the ordinary noise. Worth it where many values lie far above the threshold.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, Unpack

from lapwing.mechanisms.sparse_vector.law_probabilities import mean, reach
from lapwing.mechanisms.sparse_vector.rule import AnswerRule, comparison
from lapwing.mechanisms.sparse_vector.stream_mechanism import (
    PureStreamMechanism,
    PureStreamParameters,
    parse_pure_stream,
)
from lapwing.vocabulary.exact import Exact, ceil_to_grid, exact, fill

_USUAL_QUESTIONS = 1000  # what the bar of a clear yes is set for, where the number of questions is not said


@dataclass(frozen=True, slots=True, init=False)
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
