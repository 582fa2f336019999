"""A corridor: two sparse vectors under one price that check guesses, and answer only where a guess is far off.

For every value there is a public guess. One stream asks whether the value lies above the guess by the half width of the
corridor, the other whether it lies below by as much; both are opened together. Two noes say that the guess is good, and
cost nothing beyond the opening, however many there are. A yes, of either, takes one of the common yeses, and comes with
the value itself under noise of its own: not with the gap, for a yes may have been given for its noise alone.

Textbooks watch |value - guess| with one stream. That moves either way, and a yes costs twice as much.

Proof: proofs/explorer.md
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, Self

import numpy as np

from lapwing.accounting.filters.charge import Reservation
from lapwing.mechanisms.sparse_vector import stream_accuracy as accuracy
from lapwing.mechanisms.sparse_vector.law_probabilities import reach
from lapwing.mechanisms.sparse_vector.rule import (
    AnswerRule,
    SparseVectorAnswer,
    SparseVectorAnswers,
    comparison,
    one_sided,
    two_sided,
)
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus, SparseVectorStream
from lapwing.mechanisms.sparse_vector.stream_mechanism import (
    PureStreamMechanism,
    SparseVectorNoise,
    StreamMechanism,
    failure_probability,
    parse_stream,
)
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import StreamHaltedError
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, exact, fill, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval


@frozen(kw_only=False, init=False)
class Corridor(PureStreamMechanism):
    """Says of whole values, one after the other, whether each is near a public guess, and stops at the `yeses`-th no.

    "Near" is less than `half_width` away, after noise. A value that is not is answered with its `number`, which has
    noise of its own. All of it is pure epsilon-differentially private, for any number of adaptive questions, with
    `epsilon` = `opening` + `yeses` * (`yes` + `number`): the opening for both streams, and for each answer what the
    stream that gave it and its number cost. A transcript with u such answers has cost no more than the opening and u of
    them.

    In the language of streams an answer that costs is a *yes*: it is the yes of one of the two. The `threshold` of a
    question is the upper end of its corridor: the guess plus `half_width`.

    >>> from lapwing import Adjacency
    >>> counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
    >>> corridor = Corridor(half_width=300, yeses=2, opening="0.075", yes="0.04", number="0.05", sensitivity=counts)
    >>> corridor.epsilon
    Fraction(51, 200)
    >>> with corridor.open() as stream:  # guesses are 1000
    ...     [bool(answer) for answer in stream.ask_many([1020, 900, 90_000, 1000], [1300] * 4)]
    [False, False, True, False]

    Proof: proofs/explorer.md
    """

    half_width: int
    number_price: Fraction

    def __init__(
        self,
        *,
        half_width: int,
        yeses: int,
        opening: Exact,
        yes: Exact,
        number: Exact,
        sensitivity: ValueSensitivity,
    ) -> None:
        width = as_int("half_width", half_width)
        once, each, fresh = positive("opening", opening), positive("yes", yes), positive("number", number)
        fields = parse_stream(yeses=yeses, questions=None, threshold=width, sensitivity=sensitivity)
        whole = once + fields["yeses"] * (each + fresh)
        prices = {"epsilon": whole, "threshold_share": once / whole, "noise": SparseVectorNoise.GEOMETRIC}
        fill(self, **fields, **prices, half_width=width, number_price=fresh)
        self.__post_init__()

    def _rule(self) -> AnswerRule:
        """Return the rule of either stream: counts that only rise and their negatives that only fall cost the same."""
        rise, span = self.sensitivity.in_steps(self.grid)
        once = one_sided(rise, self.threshold_epsilon / 2)
        return AnswerRule(
            threshold_noise=once,
            comparisons=(comparison(one_sided(span, self.yes_price - self.number_price), once),),
            units=self.yeses,
            opening_price=self.threshold_epsilon / 2,
            unit_price=self.yes_price,
            fresh_noise=two_sided(rise, self.number_price),
            shows_gap=False,
        )

    def reservation(self, name: str, *, segments: frozenset[str] | None = None) -> Reservation:
        """Return what an account must hold for a corridor of this name before it is opened: both openings, all yeses.

        Proof: proofs/explorer.md
        """
        return Reservation(
            stream=name, opening=self.threshold_epsilon, price=self.yes_price, yeses=self.yeses, segments=segments
        )

    def open(self, *, name: str = "", source: RandomSource = SYSTEM) -> "CorridorStream":  # type: ignore[override]
        """Draw the noise of both thresholds and start."""
        return CorridorStream(self, *(StreamMechanism.open(self, name=one, source=source) for one in self._sides(name)))

    def resume(self, sealed: bytes, *, key: bytes, sequence: int, name: str = "") -> "CorridorStream":  # type: ignore[override]
        """Go on with a corridor that was suspended for the `sequence`-th time; see `StreamMechanism.resume`."""
        half, (above, below) = len(sealed) // 2, self._sides(name)
        return CorridorStream(
            self,
            StreamMechanism.resume(self, sealed[:half], key=key, sequence=sequence, name=above),
            StreamMechanism.resume(self, sealed[half:], key=key, sequence=sequence, name=below),
        )

    @staticmethod
    def _sides(name: str) -> tuple[str, str]:
        return f"{name} above", f"{name} below"

    def chance_of_yes(self, value: Exact, threshold: Exact | None = None) -> float:
        """Return the probability that a value is answered at a price, by either stream, over all noise."""
        upper = self._steps(threshold)
        above = int(exact("value", value)) - upper
        return min(1.0, sum(accuracy.chance_of_yes(self.rule, one) for one in (above, -above - 2 * self.half_width)))

    def reach(self, confidence: Exact = "0.95") -> int:
        """Return how far a value is from its guess, at most, where the answer was free.

        All free answers, and all `number_reach`, hold at once with this probability, however many there are: a free
        answer bounds its value whatever noise it had, so only the noise of the two thresholds can break it.

        Proof: proofs/explorer.md
        """
        beyond = reach(self.rule.threshold_noise, failure_probability(confidence) / 4)
        return max(0, self.half_width + self.rule.comparisons[0].bar + beyond - 1)

    def number_reach(self, confidence: Exact = "0.95") -> int:
        """Return how far a number that was paid for is from its value, at most; see `reach`.

        Proof: proofs/explorer.md
        """
        fresh = two_sided(self.sensitivity.in_steps(self.grid)[0], self.number_price)
        return reach(fresh, failure_probability(confidence) / (4 * self.yeses))

    def interval(self, answer: SparseVectorAnswer, confidence: Exact = "0.95") -> Interval:
        """Return where the value of an answer lies: all intervals of the corridor hold at once."""
        if answer.gap is not None:
            off, number = self.number_reach(confidence), answer.threshold + answer.gap
            return Interval(number - off, number + off)
        off, guess = self.reach(confidence), answer.threshold - self.half_width
        return Interval(guess - off, guess + off)


class RunningStream(Protocol):
    """What is asked under sealed seeds: one sparse vector, or the two of a corridor."""

    @property
    def status(self) -> SparseVectorStatus:
        """Whether it can be asked."""

    def ask(self, value: Sensitive[int], threshold: int, *, source: RandomSource) -> SparseVectorAnswer:
        """Answer one question."""

    def ask_many(
        self, values: Sequence[Sensitive[int]], thresholds: Sequence[int], *, source: RandomSource
    ) -> SparseVectorAnswers:
        """Answer questions in their order, up to the one that halts it."""

    def lose(self) -> None:
        """Count a question whose outcome is lost."""

    def suspend(self, key: bytes) -> bytes:
        """End this object and return its state, sealed."""


class CorridorStream:
    """The two streams of an open corridor. Each keeps its own secret; their yeses are counted together.

    Proof: proofs/explorer.md
    """

    __slots__ = ("_above", "_below", "_corridor")

    def __init__(self, corridor: Corridor, above: SparseVectorStream, below: SparseVectorStream) -> None:
        self._corridor, self._above, self._below = corridor, above, below

    @property
    def yeses(self) -> int:
        """How many answers were not free, lost ones included; what was asked beyond the halt counts for nothing."""
        return min(self._corridor.yeses, self._above.yeses + self._below.yeses)

    @property
    def status(self) -> SparseVectorStatus:
        """Whether it can be asked: until the yeses of both together are used up."""
        each = (self._above.status, self._below.status)
        ended = (SparseVectorStatus.CLOSED, SparseVectorStatus.SUSPENDED)
        if any(status in ended for status in each):
            return next(status for status in each if status in ended)
        return SparseVectorStatus.HALTED if self.yeses >= self._corridor.yeses else SparseVectorStatus.OPEN

    @property
    def spent(self) -> Fraction:
        """The epsilon that the answers so far have cost: nothing before the first, then both openings and the yeses."""
        if not self._above.asked:
            return Fraction(0)
        return self._corridor.threshold_epsilon + self.yeses * self._corridor.yes_price

    def ask(
        self, value: Sensitive[int] | int, threshold: Exact | None = None, *, source: RandomSource = SYSTEM
    ) -> SparseVectorAnswer:
        """Return whether a value is near its guess, which is the `threshold` less the half width; its number if not."""
        given = None if threshold is None else [int(exact("threshold", threshold))]
        return self.ask_many([value], given, source=source)[0]

    def ask_many(
        self,
        values: Sequence[Sensitive[int] | int],
        thresholds: Sequence[int] | None = None,
        *,
        source: RandomSource = SYSTEM,
    ) -> SparseVectorAnswers:
        """Ask one value after the other until they or the common yeses are used up.

        What lies above is not asked about below. Both streams may be asked beyond the last answer that is given: what
        they say there is dropped, as if it had not been asked, for the corridor has halted.
        """
        if self.status is SparseVectorStatus.HALTED:
            raise StreamHaltedError(yeses=self.yeses)
        corridor, left = self._corridor, self._corridor.yeses - self.yeses
        upper = np.array([corridor.half_width] * len(values) if thresholds is None else thresholds, np.int64)
        above = self._above.ask_many(values, upper, source=source)
        rest = [place for place in range(len(above)) if place not in set(above.positions)]
        negative = [_negative(values[place]) for place in rest]
        numbers = {place: _number(above[place]) for place in above.positions}
        if rest:
            below = self._below.ask_many(negative, 2 * corridor.half_width - upper[rest], source=source)
            numbers |= {rest[place]: -_number(below[place]) for place in below.positions}
        first, answered = above[0].question, len(above)
        kept = sorted(numbers)[:left]
        if len(kept) == left:
            answered = kept[-1] + 1
        yeses = {place: self._told(first + place, Fraction(int(upper[place])), numbers[place]) for place in kept}
        return SparseVectorAnswers(first=first, thresholds=upper[:answered], step=Fraction(1), yeses=yeses)

    def _told(self, question: int, threshold: Fraction, number: Fraction) -> SparseVectorAnswer:
        """Return a yes; its gap is that of the number, with the same fresh noise, and not that of the comparison."""
        price, gap = self._corridor.yes_price, number - threshold
        return SparseVectorAnswer(
            above=True, question=question, threshold=threshold, price=price, gap=gap, number=number
        )

    def lose(self) -> None:
        """Count a question whose outcome is lost as the yes that it may have been.

        Proof: proofs/explorer.md
        """
        self._above.lose()

    def suspend(self, key: bytes) -> bytes:
        """End this object and return both states, sealed; see `SparseVectorStream.suspend`."""
        return self._above.suspend(key) + self._below.suspend(key)

    def close(self) -> None:
        """Forget the noise of both thresholds."""
        self._above.close()
        self._below.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<corridor, {self.status.name.lower()}: {self.yeses} of {self._corridor.yeses} yeses given>"


def _negative(value: Sensitive[int] | int) -> Sensitive[int]:
    return Sensitive(-int(value.open_for_release() if isinstance(value, Sensitive) else value))


def _number(yes: SparseVectorAnswer) -> Fraction:
    if yes.number is None:
        raise AssertionError  # pragma: no cover - the rule of a corridor shows numbers
    return yes.number
