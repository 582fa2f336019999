"""The base of all kinds of streams before they are opened: their cost, their accuracy, and how to open them."""

from abc import ABC, abstractmethod
from dataclasses import field
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Required, TypedDict, TypeVar

from lapwing.accounting.filters.charge import Reservation
from lapwing.accounting.pricing import price
from lapwing.mechanisms.sparse_vector import stream_accuracy as accuracy
from lapwing.mechanisms.sparse_vector.rule import (
    AnswerRule,
    SparseVectorAnswer,
    StreamSetup,
    StreamState,
    ValueLattice,
    one_sided,
    two_sided,
)
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStream
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import DiscreteLaplace, Geometric
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event, Loss, PureRelease
from lapwing.vocabulary.exact import Exact, as_int, ceil_to_grid, exact, fill, float_below, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.results import Interval

_SUREST = 1 - Fraction(1, 10**9)

Choice = TypeVar("Choice", bound=Enum)


@frozen()
class StreamMechanism(ABC):
    """Parameters of a stream, all public: those that every one has, what follows from them, and no secret."""

    yeses: int
    threshold: Fraction
    sensitivity: ValueSensitivity
    grid: Fraction
    shift: Fraction
    questions: int | None
    rule: AnswerRule = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fill(self, rule=self._rule())

    @abstractmethod
    def _rule(self) -> AnswerRule:
        """Return the rule by which the stream decides, with its costs."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of the whole stream, with all its yeses, as it is priced and written into ledgers."""

    @property
    def loss(self) -> Loss:
        """The privacy loss of the whole stream, with all its yeses, in every currency."""
        return price(self.event)

    @property
    def lattice(self) -> ValueLattice:
        """The grid of values, thresholds and noise."""
        return _lattice(self.grid)

    def open(self, *, name: str = "", source: RandomSource = SYSTEM) -> SparseVectorStream:
        """Draw the noise of the threshold and start a stream; seals are bound to its `name`."""
        return SparseVectorStream.open(self._setup(name), source)

    def resume(self, sealed: bytes, *, key: bytes, sequence: int, name: str = "") -> SparseVectorStream:
        """Go on with a stream that this mechanism opened and that was suspended for the `sequence`-th time.

        Bytes that were altered, that are not of this sequence, or that belong to another key, name or mechanism raise
        `SealBrokenError`.
        """
        setup = self._setup(name)
        return SparseVectorStream(setup, StreamState.unseal(sealed, key, setup, sequence), sequence)

    def chance_of_yes(self, value: Exact, threshold: Exact | None = None) -> float:
        """Return the probability of a yes if the true value were `value`, over all noise. No data is involved."""
        number = exact("value", value)
        steps = self.lattice.value(int(number) if number.denominator == 1 else number)
        return accuracy.chance_of_yes(self.rule, steps - self._steps(threshold))

    def margin(self, confidence: Exact = "0.95", *, questions: int | None = None, above: int | None = None) -> Fraction:
        """Return how far values must be from the threshold for all answers to be right with probability `confidence`.

        It is computed over all noise, for the worst case that `above` of the `questions` lie that far above the
        threshold (by default, as many as the stream has yeses), and the others that far below.

        Proof: proofs/sparse_vector_margin.md
        """
        case, beta = self._worst_case(questions, above), failure_probability(confidence)
        return self.lattice.number(accuracy.margin(self.rule, **case, beta=beta))

    def guaranteed_margin(
        self, confidence: Exact = "0.95", *, questions: int | None = None, above: int | None = None
    ) -> Fraction:
        """Return the union bound on `margin`: a formula that is easy to check, and a little larger.

        For one-sided noise with the threshold placed between its two errors it is half of b₁ ln(2/β) + b₂ ln(2k/β),
        where b₁ and b₂ are the scales of the noise on the threshold and on the k questions, and β = 1 - confidence; for
        two-sided noise it is about that sum.

        Proof: proofs/sparse_vector_interval.md
        """
        case, beta = self._worst_case(questions, above), failure_probability(confidence)
        return self.lattice.number(accuracy.guaranteed_margin(self.rule, **case, beta=beta))

    def chance_all_right(self, margin: Exact, *, questions: int | None = None, above: int | None = None) -> float:
        """Return the probability, rounded down, that every answer is right with all values `margin` from thresholds."""
        steps, case = exact("margin", margin) // self.grid, self._worst_case(questions, above)
        return 1 - min(1.0, accuracy.chance_of_error(self.rule, margin=steps, **case))

    def best_lift(self, questions: int, confidence: Exact = "0.9", *, above: int | None = None) -> Fraction:
        """Return by how much to shift the threshold up so that the `margin` for these questions is smallest."""
        case, beta = self._worst_case(questions, above), failure_probability(confidence)
        return self.lattice.number(accuracy.best_lift(self.rule, **case, beta=beta))

    def interval(self, answer: SparseVectorAnswer, confidence: Exact = "0.95") -> Interval | None:
        """Return where the value of a yes lies; None for a no, and where a yes reveals nothing more.

        With probability at least `confidence` over all noise *every* interval of the stream holds its value, so that it
        does not matter which of them are looked at. For that reason it is much wider than the noise of one answer.

        Where the stream was made for a number of `questions`, a yes to a later one has no interval from its gap: the
        promise was divided among that number of them. An answer whose price no yes of this mechanism has is refused.

        Proof: proofs/sparse_vector_interval.md
        """
        beta = failure_probability(confidence)
        return accuracy.interval(self.rule, self.lattice, answer, beta=beta, questions=self.questions)

    def estimate(self, answer: SparseVectorAnswer) -> float | None:
        """Return the best single guess at the value of a yes: its number and its gap, weighted by their precision.

        Where there is a gap only, the guess errs upwards, because a yes was given for a large gap: show `interval`.
        """
        return accuracy.estimate(self.rule, answer, float(self.grid))

    def _worst_case(self, questions: int | None, above: int | None) -> dict[str, int]:
        meant = self.questions if questions is None else questions
        if meant is None:
            raise ParameterError("questions", None, reason="are not counted", remedy="say how many will be asked")
        asked = as_int("questions", meant)
        most = self.rule.units // self.rule.dearest
        high = min(asked, most if above is None else as_int("above", above, least=0, most=most))
        return {"below": asked - high, "above": high}

    def _setup(self, name: str) -> StreamSetup:
        return StreamSetup(rule=self.rule, lattice=self.lattice, threshold=self._steps(), name=name)

    def _steps(self, threshold: Exact | None = None) -> int:
        return int(self.threshold / self.grid) if threshold is None else self.lattice.threshold(threshold)


class SparseVectorNoise(Enum):
    """Which exact noise a stream draws."""

    GEOMETRIC = "geometric"  # one-sided, moved to mean zero: half the variance of the other at the same price
    LAPLACE = "laplace"  # two-sided, as the textbooks have it


class StreamParameters(TypedDict, total=False):
    """The parameters of every stream; `SparseVector` explains them."""

    threshold: Required[Exact]
    sensitivity: Required[ValueSensitivity]
    grid: Exact
    shift: Exact


class PureStreamParameters(StreamParameters, total=False):
    """The parameters of every stream with a pure epsilon."""

    epsilon: Required[Exact]
    noise: SparseVectorNoise
    threshold_share: Exact | None
    questions: int | None


@frozen()
class PureStreamMechanism(StreamMechanism):
    """A stream with a pure epsilon, which its opening and its yeses add up to."""

    epsilon: Fraction
    noise: SparseVectorNoise
    threshold_share: Fraction

    @property
    def event(self) -> PureRelease:
        """The whole stream, at its dearest."""
        return PureRelease(epsilon=self.epsilon)

    @property
    def yes_price(self) -> Fraction:
        """The cost of an ordinary yes, with the numbers that it releases."""
        return (self.epsilon - self.threshold_epsilon) / self.yeses

    @property
    def threshold_epsilon(self) -> Fraction:
        """The cost of the first answer, yes or no."""
        return self.epsilon * self.threshold_share

    def _noise(self, reach: int, epsilon: Fraction) -> Geometric | DiscreteLaplace:
        return (one_sided if self.noise is SparseVectorNoise.GEOMETRIC else two_sided)(reach, epsilon)

    def reservation(self, name: str, *, segments: frozenset[str] | None = None) -> Reservation:
        """Return what an account must hold for a stream of this name before it is opened.

        `price` and `yeses` of the reservation count units. Where a clear yes costs half of an ordinary one, it is the
        unit, and an ordinary yes is written into the account as two.
        `segments` are those that its questions may touch; by default all of them.

        >>> from lapwing import Adjacency
        >>> from lapwing.accounting import PureDP, PureRelease, SingleRelease, open_account
        >>> from lapwing.accounting.filters.charge import StreamClosing, YesCharge
        >>> from lapwing.mechanisms import SparseVector
        >>> counts = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
        >>> cohorts = SparseVector(epsilon=1, yeses=8, threshold=200, sensitivity=counts)
        >>> account = open_account(PureDP(epsilon=Fraction(2))).admit(cohorts.reservation("cohorts"))
        >>> with cohorts.open(name="cohorts") as stream:
        ...     if stream.ask(100_000):
        ...         account = account.book(YesCharge(stream="cohorts"))
        >>> account = account.book(StreamClosing(stream="cohorts"))
        >>> stream.spent
        Fraction(3, 10)
        >>> type(account.admit(SingleRelease(event=PureRelease(epsilon=Fraction(17, 10))))).__name__
        'Account'
        """
        opening, unit = self.rule.opening_price, self.rule.unit_price
        if opening is None:
            raise AssertionError  # pragma: no cover - such streams have a pure price
        return Reservation(stream=name, opening=opening, price=unit, yeses=self.rule.units, segments=segments)


_lattice = lru_cache(maxsize=64)(ValueLattice)


def parse_stream(
    *,
    yeses: int,
    questions: int | None,
    threshold: Exact,
    sensitivity: ValueSensitivity,
    grid: Exact = 1,
    shift: Exact = 0,
) -> dict[str, Any]:
    """Return the fields of every stream from what was written."""
    require_sensitivity(sensitivity)
    lattice = ValueLattice(exact("grid", grid))
    return {
        "yeses": as_int("yeses", yeses),
        "threshold": lattice.number(lattice.threshold(threshold)),
        "sensitivity": sensitivity,
        "grid": lattice.step,
        "shift": ceil_to_grid(exact("shift", shift), lattice.step),
        "questions": None if questions is None else as_int("questions", questions),
    }


def parse_pure_stream(
    *,
    epsilon: Exact,
    noise: SparseVectorNoise = SparseVectorNoise.GEOMETRIC,
    threshold_share: Exact | None = None,
    questions: int | None = None,
    **shared: Any,
) -> dict[str, Any]:
    """Return the fields of every stream with a pure epsilon from what was written; the best share if none was."""
    fields = parse_stream(questions=questions, **shared)
    share = best_share(fields["sensitivity"].in_steps(fields["grid"]), fields["yeses"])
    return fields | {
        "epsilon": positive("epsilon", epsilon),
        "noise": one_of(SparseVectorNoise, "noise", noise),
        "threshold_share": share if threshold_share is None else probability("threshold_share", threshold_share),
    }


def best_share(steps: tuple[int, int], yeses: int) -> Fraction:
    """Return the part of epsilon for the threshold that makes the variance of a comparison smallest.

    With the scales rise/ε₁ and yeses*span/ε₂ the sum of squares is smallest for ε₁ : ε₂ = 1 : (yeses*span/rise)^(2/3).
    Any share is private; this one is computed in integers, to be the same everywhere.
    """
    rise, span = steps
    precision = 10**6
    return Fraction(precision, precision + _cube_root((yeses * span) ** 2 * precision**3 // rise**2))


def _cube_root(n: int) -> int:
    low, high = 0, 1 << (n.bit_length() // 3 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= n else (low, middle)
    return low


def require_sensitivity(sensitivity: object) -> None:
    """Refuse a sensitivity that is not a `ValueSensitivity`."""
    if not isinstance(sensitivity, ValueSensitivity):
        reason = "does not say how far one person can move a value"
        remedy = "write ValueSensitivity.of_counts(Adjacency.ADD_REMOVE), or .of_anything(sensitivity=...)"
        raise ParameterError("sensitivity", sensitivity, reason=reason, remedy=remedy)


def failure_probability(confidence: object) -> float:
    """Return the failure probability beta = 1 - confidence of a statement about accuracy, rounded down."""
    wanted = probability("confidence", confidence)
    if wanted > _SUREST:
        reason, remedy = "is too close to 1", "stay at or below 1 - 1e-9"
        raise ParameterError("confidence", confidence, reason=reason, remedy=remedy)
    return float_below(1 - wanted)


def one_of(kind: type[Choice], name: str, given: object) -> Choice:
    """Return `given` if it is one of the choices."""
    if not isinstance(given, kind):
        choices = " or ".join(str(choice) for choice in kind)
        raise ParameterError(name, given, reason=f"is not a {kind.__name__}", remedy=f"write {choices}")
    return given
