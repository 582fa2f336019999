"""A running stream: the only thing here that holds a secret.

The secret is the threshold's noise, drawn once. Whoever learns it, or asks on after the stream has halted, voids the
guarantee. So it is in no repr, pickle, copy or error; it is dropped at the last yes and at closing; and one lock makes
two threads at the boundary take turns.
"""

import threading
from collections.abc import Iterator, Sequence
from enum import Enum
from fractions import Fraction
from types import TracebackType
from typing import NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.sparse_vector import sealing
from lapwing.mechanisms.sparse_vector.answers import Answer, Answers
from lapwing.mechanisms.sparse_vector.lattice import Lattice, Steps, Value, Values
from lapwing.mechanisms.sparse_vector.rule import Comparison, Rule
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError, SecrecyError, StreamError, StreamHaltedError
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.sensitive import Sensitive

_SMALLEST_CHUNK, _LARGEST_CHUNK = 1 << 9, 1 << 16  # an early last yes wastes little noise, a late one little time


class Status(Enum):
    """Whether a stream can be asked."""

    OPEN = "open"
    HALTED = "halted: its last yes, or its last question, is behind it"
    SUSPENDED = "suspended: its sealed bytes go on from here"
    CLOSED = "closed"


class Stream:
    """Answers "is the value at least the threshold?" until its yeses are used up. Open one with a mechanism's `open`.

    Questions may be chosen after seeing earlier answers, and so may thresholds; a threshold may depend on nothing else.
    A value may be wrapped as `Sensitive`. Every number is answered: NaN counts as 0, and infinities as the ends of the
    lattice. A value of the wrong type is refused, before any noise is drawn, and leaves the stream as it was.

    Examples
    --------
    >>> from lapwing.mechanisms.sparse_vector.movement import Movement
    >>> from lapwing.mechanisms.sparse_vector.pure import SparseVector
    >>> from lapwing.vocabulary.adjacency import Adjacency
    >>> counts = Movement.of_counts(Adjacency.ADD_REMOVE)
    >>> with SparseVector(epsilon=1, yeses=2, threshold=200, moves=counts).open() as stream:
    ...     far_below, far_above = stream.ask(-10_000), stream.ask(10_000)
    ...     bool(far_below), bool(far_above), stream.yeses, stream.spent
    (False, True, 1, Fraction(...))

    Proof: proofs/sparse_vector.md
    """

    __slots__ = (
        "__noise",
        "_asked",
        "_default",
        "_lattice",
        "_lock",
        "_name",
        "_rule",
        "_sequence",
        "_status",
        "_units",
        "_yeses",
    )

    def __init__(
        self, rule: Rule, lattice: Lattice, *, threshold: int, name: str, sequence: int, state: sealing.State
    ) -> None:
        self._rule, self._lattice, self._name, self._sequence = rule, lattice, name, sequence
        self._default = threshold, lattice.number(threshold)
        self._lock = threading.Lock()
        self._asked, self._yeses, self._units = state.asked, state.yeses, state.units
        self.__noise: Sensitive[int] | None = Sensitive(state.threshold_noise)
        self._status = Status.OPEN
        self._halt_if_done()

    @classmethod
    def opened(cls, rule: Rule, lattice: Lattice, *, threshold: int, name: str, source: RandomSource) -> Self:
        """Draw the threshold's noise and start."""
        state = sealing.State(threshold_noise=rule.threshold_noise.draw(source=source), asked=0, yeses=0, units=0)
        return cls(rule, lattice, threshold=threshold, name=name, sequence=0, state=state)

    @classmethod
    def resumed(
        cls, rule: Rule, lattice: Lattice, *, threshold: int, name: str, sequence: int, key: bytes, sealed: bytes
    ) -> Self:
        """Go on from sealed bytes that carry exactly this rule, lattice, threshold, name and sequence."""
        label = sealing.label(rule, lattice, threshold=threshold, name=name, sequence=sequence)
        return cls(
            rule, lattice, threshold=threshold, name=name, sequence=sequence, state=sealing.unseal(sealed, key, label)
        )

    @property
    def status(self) -> Status:
        """Whether it can be asked."""
        return self._status

    @property
    def asked(self) -> int:
        """How many questions were answered."""
        return self._asked

    @property
    def yeses(self) -> int:
        """How many of the answers were yes."""
        return self._yeses

    @property
    def sequence(self) -> int:
        """How often the stream was suspended: what must be said to resume it."""
        return self._sequence

    @property
    def spent(self) -> Fraction:
        """The epsilon that the answers so far have cost: nothing before the first, then opening and yeses.

        Proof: proofs/sparse_vector_pay_per_yes.md
        """
        return self._rule.opening_price + self._units * self._rule.unit_price if self._asked else Fraction(0)

    @property
    def reserved(self) -> Fraction:
        """The epsilon that must be held back while the stream can be asked, so that every yes can be paid."""
        return self._rule.price - self.spent if self._status in {Status.OPEN, Status.SUSPENDED} else Fraction(0)

    def ask(self, value: Value, threshold: Exact | None = None, *, source: RandomSource = SYSTEM) -> Answer:
        """Say, after noise, whether `value` is at least `threshold`.

        Parameters
        ----------
        value : the exact value; it is put on the lattice of the stream
        threshold : a public number, rounded up to the lattice; the stream's own if it is not given
        source : where the noise of this one answer comes from: another one only to derive a sealed answer again
        """
        with self._lock:
            self._require_open()
            steps = self._lattice.value(value)
            against = self._default if threshold is None else self._threshold(threshold)
            self._asked += 1
            distance = steps - against[0] - self._secret()
            for comparison in self._rule.comparisons:
                noisy = distance + comparison.noise.draw(source=source)
                if noisy >= comparison.bar:
                    return self._yes(steps, noisy, comparison, against[1], source)
            self._halt_if_done()
            return Answer(above=False, question=self._asked, threshold=against[1])

    def ask_many(
        self, values: Values, thresholds: Exact | Sequence[Exact] | None = None, *, source: RandomSource = SYSTEM
    ) -> Answers:
        """Ask one value after the other, with the same law as by `ask`, until the values or the yeses are used up.

        Parameters
        ----------
        values : an array or a list; all of it is checked before any noise is drawn
        thresholds : one for all, or one for each; the stream's own if not given
        source : where the noise comes from
        """
        with self._lock:
            self._require_open()
            steps = self._lattice.values(values)
            limits, shown = self._thresholds(thresholds, len(steps))
            first, yeses = self._asked + 1, dict[int, Answer]()
            for start, chunk in self._chunks(len(steps)):
                distances = steps[start:chunk] - (limits if isinstance(limits, int) else limits[start:chunk])
                for at, noisy, comparison in self._passed(distances - self._secret(), source):
                    position = start + at
                    self._asked = first + position
                    threshold = shown if isinstance(shown, Fraction) else shown[position]
                    value = int(steps[position])
                    yeses[position] = self._yes(value, noisy, comparison, threshold, source)
                    if self._status is Status.HALTED:
                        return Answers(count=position + 1, first=first, thresholds=shown, yeses=yeses)
                self._asked = first + chunk - 1
            self._halt_if_done()
            return Answers(count=self._asked - first + 1, first=first, thresholds=shown, yeses=yeses)

    def lose(self) -> None:
        """Count a question whose outcome cannot be told, after a crash or a failure, as the yes that it may have been.

        Whether an answer is lost may depend on its noise; a lost answer therefore costs what a yes costs. A stream
        whose noise is not priced for that (several comparisons, or Gaussian noise) refuses, and stays as it is: derive
        the answer again from the same source, or close the stream at its full price.

        Proof: proofs/sparse_vector_pay_per_yes.md
        """
        with self._lock:
            self._require_open()
            if len(self._rule.comparisons) > 1 or self._rule.questions is not None:
                raise StreamError("the noise of this stream is not priced for lost answers; derive the answer again")
            self._asked += 1
            self._yeses += 1
            self._units += self._rule.dearest
            self._halt_if_done()

    def suspend(self, key: bytes) -> bytes:
        """End this object and return its state, sealed, to be resumed by the mechanism that opened it.

        Each suspension has the next `sequence`, and only the latest may ever be resumed: keep the sequence where it
        cannot be rolled back, and move it on before the resumed stream is asked. Two streams that go on from the same
        bytes share their threshold noise; their yeses would be paid once and given twice.

        Parameters
        ----------
        key : 32 secret bytes, kept apart from the sealed ones
        """
        with self._lock:
            if self._status in {Status.SUSPENDED, Status.CLOSED}:
                self._require_open()
            sequence = self._sequence + 1
            label = sealing.label(
                self._rule, self._lattice, threshold=self._default[0], name=self._name, sequence=sequence
            )
            noise = 0 if self.__noise is None else self._secret()
            state = sealing.State(threshold_noise=noise, asked=self._asked, yeses=self._yeses, units=self._units)
            sealed = sealing.seal(state, key, label)
            self._sequence, self._status, self.__noise = sequence, Status.SUSPENDED, None
            return sealed

    def close(self) -> None:
        """Forget the threshold's noise. What is left of the reservation is released; closing twice is harmless."""
        with self._lock:
            self.__noise = None
            self._status = Status.CLOSED

    def _secret(self) -> int:
        if self.__noise is None:
            self._require_open()
            raise AssertionError  # pragma: no cover - an open stream has its noise
        return self.__noise.open_for_release()

    def _require_open(self) -> None:
        match self._status:
            case Status.OPEN:
                return
            case Status.HALTED if self._rule.units - self._units < self._rule.dearest:
                raise StreamHaltedError(yeses=self._yeses)
            case Status.HALTED:
                raise StreamError(f"this stream was opened for {self._rule.questions} questions, and answered them")
            case Status.SUSPENDED:
                raise StreamError("this stream was suspended; resume it from its sealed bytes")
            case Status.CLOSED:
                raise StreamError("this stream was closed; open a new one")

    def _halt_if_done(self) -> None:
        if self._rule.units - self._units < self._rule.dearest or self._asked == self._rule.questions:
            self._status = Status.HALTED
            self.__noise = None

    def _yes(
        self,
        value: int,
        noisy: int,
        comparison: Comparison,
        threshold: Fraction,
        source: RandomSource,
    ) -> Answer:
        self._yeses += 1
        self._units += comparison.units
        self._halt_if_done()
        number, rule = self._lattice.number, self._rule
        return Answer(
            above=True,
            question=self._asked,
            threshold=threshold,
            price=comparison.units * rule.unit_price,
            gap=number(noisy - comparison.centre) if rule.shows_gap else None,
            number=None if rule.fresh_noise is None else number(value + rule.fresh_noise.draw(source=source)),
        )

    def _passed(self, distances: Steps, source: RandomSource) -> Iterator[tuple[int, int, Comparison]]:
        """Yield (index, noisy distance, the comparison it passed) for each yes, in order."""
        passed = np.zeros(len(distances), np.bool_)
        found: list[tuple[int, int, Comparison]] = []
        for comparison in self._rule.comparisons:
            noisy = distances + comparison.noise.draw_many(len(distances), source=source)
            above: NDArray[np.bool_] = (noisy >= comparison.bar) & ~passed
            passed |= above
            found += [(at, int(noisy[at]), comparison) for at in np.flatnonzero(above).tolist()]
        found.sort(key=lambda one: one[0])
        yield from found

    def _chunks(self, count: int) -> Iterator[tuple[int, int]]:
        if self._rule.questions is not None:
            count = min(count, self._rule.questions - self._asked)
        start, size = 0, _SMALLEST_CHUNK
        while start < count:
            yield start, min(start + size, count)
            start, size = start + size, min(2 * size, _LARGEST_CHUNK)

    def _threshold(self, threshold: Exact) -> tuple[int, Fraction]:
        steps = self._lattice.threshold(threshold)
        return steps, self._lattice.number(steps)

    def _thresholds(
        self, thresholds: Exact | Sequence[Exact] | None, count: int
    ) -> tuple[int, Fraction] | tuple[Steps, list[Fraction]]:
        if thresholds is None:
            return self._default
        if isinstance(thresholds, str | Fraction) or not isinstance(thresholds, Sequence | np.ndarray):
            return self._threshold(thresholds)
        if len(thresholds) != count:
            raise ParameterError(
                "thresholds",
                len(thresholds),
                reason=f"thresholds were given for {count} values",
                remedy="give one for each, or one for all",
            )
        steps = [self._lattice.threshold(threshold) for threshold in thresholds]
        return np.array(steps, np.int64), [self._lattice.number(step) for step in steps]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<stream {self._name!r}, {self._status.name.lower()}: {self._yeses} yeses in {self._asked} questions>"

    def _refuse(self, what: str) -> NoReturn:
        raise SecrecyError(f"a stream may not be {what}: it holds a secret; suspend it under a key")

    def __copy__(self) -> NoReturn:
        self._refuse("copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self._refuse("copied")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        self._refuse("pickled")
