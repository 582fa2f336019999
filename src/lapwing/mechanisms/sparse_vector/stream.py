"""A running stream: the only thing here that holds a secret.

The secret is the threshold's noise, drawn once. If it leaks, or if a question is answered after the stream has halted,
the guarantee is void. So it is in no repr, pickle, copy or error; it is dropped at the last yes and at closing; and one
lock serializes two threads at the boundary.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.sparse_vector.rule import (
    SparseVectorAnswer,
    SparseVectorAnswers,
    Steps,
    StreamSetup,
    StreamState,
    ThresholdComparison,
    Value,
    Values,
)
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError, SecrecyError, StreamError, StreamHaltedError
from lapwing.vocabulary.exact import Exact, Sensitive

Result = TypeVar("Result")

_LOST = "this question failed after its value was opened; it was charged as lost, and the stream may have ended"
_SMALLEST_CHUNK, _LARGEST_CHUNK = 1 << 9, 1 << 16  # an early last yes wastes little noise, a late one little time


class SparseVectorStatus(Enum):
    """Whether a stream can be asked."""

    OPEN = "open"
    HALTED = "halted: its last yes, or its last question, is behind it"
    SUSPENDED = "suspended: its sealed bytes go on from here"
    CLOSED = "closed"


class SparseVectorStream:
    """Answers "is the value at least the threshold?" until its yeses are used up. Open one with a mechanism's `open`.

    Questions may be chosen after seeing earlier answers, and so may thresholds; a threshold may depend on nothing else.
    A value may be wrapped as `Sensitive`. Every number is answered: NaN counts as 0, and infinities as the ends of the
    lattice. A value of the wrong type is refused, and leaves the stream as it was. A stream fails closed: any failure
    after a value was opened is raised as one constant `StreamError`, and charged as a lost answer.

    Proof: proofs/sparse_vector.md
    """

    __slots__ = (
        "__noise",
        "_asked",
        "_lattice",
        "_lock",
        "_process",
        "_rule",
        "_sequence",
        "_setup",
        "_status",
        "_units",
        "_yeses",
    )

    def __init__(self, setup: StreamSetup, state: StreamState, sequence: int = 0) -> None:
        self._setup, self._rule, self._lattice, self._sequence = setup, setup.rule, setup.lattice, sequence
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._asked, self._yeses, self._units = state.asked, state.yeses, state.units
        self.__noise: Sensitive[int] | None = Sensitive(state.threshold_noise)
        self._status = SparseVectorStatus.OPEN
        self._halt_if_done()

    @classmethod
    def open(cls, setup: StreamSetup, source: RandomSource) -> Self:
        """Draw the threshold's noise and start."""
        noise = setup.rule.threshold_noise.draw(source=source)
        return cls(setup, StreamState(threshold_noise=noise, asked=0, yeses=0, units=0))

    @property
    def status(self) -> SparseVectorStatus:
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
        """How often the stream was suspended: the number that is needed to resume it."""
        return self._sequence

    @property
    def spent(self) -> Fraction | None:
        """The epsilon that the answers so far have cost: nothing before the first, then opening and yeses.

        None for a stream that has no pure epsilon, and is paid whole at opening.

        Proof: proofs/sparse_vector_pay_per_yes.md
        """
        return self._rule.price_of(self._units) if self._asked or not self._rule.is_pure else Fraction(0)

    @property
    def reserved(self) -> Fraction | None:
        """The epsilon that must be held back while the stream can be asked, so that every yes can be paid.

        None for a stream that has no pure epsilon.
        """
        whole, spent = self._rule.price_of(self._rule.units), self.spent
        if whole is None or spent is None:
            return None
        return whole - spent if self._status in {SparseVectorStatus.OPEN, SparseVectorStatus.SUSPENDED} else Fraction(0)

    def ask(self, value: Value, threshold: Exact | None = None, *, source: RandomSource = SYSTEM) -> SparseVectorAnswer:
        """Return, after noise, whether `value` is at least `threshold`, a public number; by default the stream's own.

        Another `source` is given only to derive a sealed answer again.
        """
        self._require_process()
        with self._lock:
            self._require_open()
            limit = self._setup.threshold if threshold is None else self._lattice.threshold(threshold)
            # All noise is there before the value is opened: neither its time nor its failure can depend on the value.
            noise = Sensitive((self._rule.draw(source), self._rule.draw_fresh(1, source)))
            place = self._attempt(lambda: Sensitive(self._lattice.value(value)), lost=1, refusing=True)
            return self._attempt(lambda: self._decide(place, limit, noise), lost=1)

    def ask_many(
        self,
        values: Values,
        thresholds: Exact | Sequence[Exact] | NDArray[Any] | None = None,
        *,
        source: RandomSource = SYSTEM,
    ) -> SparseVectorAnswers:
        """Ask one value after the other, with the same law as by `ask`, until the values or the yeses are used up.

        All values are checked before any noise is drawn. There is a threshold for all, or one for each.
        """
        self._require_process()
        with self._lock:
            self._require_open()
            given = self._read_thresholds(thresholds)
            places = self._attempt(lambda: Sensitive(self._lattice.values(values)), lost=None, refusing=True)
            limits = _broadcast_thresholds(given, len(places.open_for_release()))
            first, yeses = self._asked + 1, dict[int, SparseVectorAnswer]()
            for span in self._chunks(len(limits)):
                fresh = self._rule.draw_fresh(self._rule.units - self._units, source)
                noise = Sensitive((self._rule.draw_many(len(span), source), fresh))
                yeses |= self._attempt(partial(self._decide_chunk, places, limits, span, noise), lost=len(span))
                if self._status is SparseVectorStatus.HALTED:
                    break

            answered = limits[: self._asked + 1 - first]
            return SparseVectorAnswers(first=first, thresholds=answered, step=self._lattice.step, yeses=yeses)

    def lose(self) -> None:
        """Count a question whose outcome is lost, after a crash or a failure, as the yes that it may have been.

        Whether an answer is lost may depend on its noise; a lost answer therefore costs what a yes costs. A stream
        whose noise is not priced for that (several comparisons, or Gaussian noise) refuses, and stays as it is: derive
        the answer again from the same source, or close the stream at its full price.

        Proof: proofs/sparse_vector_pay_per_yes.md
        """
        self._require_process()
        with self._lock:
            self._require_open()
            if not self._can_lose(1):
                raise StreamError("the noise of this stream is not priced for lost answers; derive the answer again")
            self._count_lost(1)

    def suspend(self, key: bytes) -> bytes:
        """End this object and return its state, sealed, to be resumed by the mechanism that opened it.

        Each suspension has the next `sequence`, and only the latest may ever be resumed: keep the sequence where it
        cannot be rolled back, and move it on before the resumed stream is asked. Two streams that go on from the same
        bytes share their threshold noise; their yeses would be paid once and given twice. The key is 32 secret bytes,
        kept apart from the sealed ones.
        """
        self._require_process()
        with self._lock:
            if self._status in {SparseVectorStatus.SUSPENDED, SparseVectorStatus.CLOSED}:
                self._require_open()
            sequence = self._sequence + 1
            noise = 0 if self.__noise is None else self._secret()
            state = StreamState(threshold_noise=noise, asked=self._asked, yeses=self._yeses, units=self._units)
            sealed = state.seal(key, self._setup, sequence)
            self._sequence, self._status, self.__noise = sequence, SparseVectorStatus.SUSPENDED, None
            return sealed

    def close(self) -> None:
        """Forget the threshold's noise. What is left of the reservation is released; closing twice is harmless.

        A forked child may close its copy, which closes nothing but the copy.
        """
        if os.getpid() != self._process:  # a lock that was held at the fork is never released in the child
            self._forget()
            return
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self.__noise = None
        self._status = SparseVectorStatus.CLOSED

    def _secret(self) -> int:
        if self.__noise is None:
            self._require_open()
            raise AssertionError  # pragma: no cover - an open stream has its noise
        return self.__noise.open_for_release()

    def _attempt(self, step: Callable[[], Result], *, lost: int | None, refusing: bool = False) -> Result:
        """Run a step on an exact value. If it fails, charge `lost` questions and raise an error that is constant.

        The error is raised when the failure is gone: it has no cause and no context, and its frames hold no value. How
        many are `lost` may not be known. Where `refusing`, a `ParameterError` is decided by types alone, and free.
        """
        before = self._asked, self._yeses, self._units
        try:
            return step()
        except ParameterError:
            if refusing:
                raise
            kind: type[BaseException] = StreamError
        except BaseException as failure:  # noqa: BLE001 - an interrupt is not a reason to give an answer for nothing
            interrupts = (KeyboardInterrupt, SystemExit)
            kind = next((one for one in interrupts if isinstance(failure, one)), StreamError)
        self._asked, self._yeses, self._units = before
        self._count_lost(lost)
        del step
        raise kind(_LOST)

    def _can_lose(self, questions: int) -> bool:
        """Return whether this number of lost answers is priced: by the one comparison, and by the units left."""
        priced = len(self._rule.comparisons) == 1 and self._rule.is_pure
        return priced and questions * self._rule.dearest <= self._rule.units - self._units

    def _count_lost(self, questions: int | None) -> None:
        """Count lost answers as yeses; where that is not priced, close the stream at its full price.

        Proof: proofs/sparse_vector_pay_per_yes.md
        """
        if questions is not None and self._can_lose(questions):
            self._asked += questions
            self._yeses += questions
            self._units += questions * self._rule.dearest
            self._halt_if_done()
        else:
            self._asked += questions or 1
            self._units = self._rule.units
            self._forget()

    def _require_process(self) -> None:
        if os.getpid() != self._process:
            raise StreamError("this stream lives in the process that opened it; suspend it there and resume it here")

    def _require_open(self) -> None:
        match self._status:
            case SparseVectorStatus.OPEN:
                return
            case SparseVectorStatus.HALTED if self._rule.units - self._units < self._rule.dearest:
                raise StreamHaltedError(yeses=self._yeses)
            case SparseVectorStatus.HALTED:
                raise StreamError(f"this stream was opened for {self._rule.questions} questions, and answered them")
            case SparseVectorStatus.SUSPENDED:
                raise StreamError("this stream was suspended; resume it from its sealed bytes")
            case SparseVectorStatus.CLOSED:
                raise StreamError("this stream was closed; open a new one")

    def _halt_if_done(self) -> None:
        if self._rule.units - self._units < self._rule.dearest or self._asked == self._rule.questions:
            self._status = SparseVectorStatus.HALTED
            self.__noise = None

    def _decide(
        self, place: Sensitive[int], limit: int, noise: Sensitive[tuple[list[int], Iterator[int]]]
    ) -> SparseVectorAnswer:
        noises, fresh = noise.open_for_release()
        self._asked += 1
        passed = self._rule.decide(place.open_for_release() - limit - self._secret(), noises)
        if passed is not None:
            return self._say_yes(*passed, limit, place, fresh)
        self._halt_if_done()
        return SparseVectorAnswer(above=False, question=self._asked, threshold=self._lattice.number(limit))

    def _say_yes(
        self, comparison: ThresholdComparison, noisy: int, limit: int, place: Sensitive[int], fresh: Iterator[int]
    ) -> SparseVectorAnswer:
        """Count a yes and return it with the numbers that it releases.

        Proof: proofs/sparse_vector_gap.md
        """
        self._yeses += 1
        self._units += comparison.units
        self._halt_if_done()
        number, rule = self._lattice.number, self._rule
        return SparseVectorAnswer(
            above=True,
            question=self._asked,
            threshold=number(limit),
            price=comparison.units * rule.unit_price,
            gap=number(noisy - comparison.centre) if rule.shows_gap else None,
            number=None if rule.fresh_noise is None else number(place.open_for_release() + next(fresh)),
        )

    def _decide_chunk(
        self, places: Sensitive[Steps], limits: Steps, span: range, noise: Sensitive[tuple[list[Steps], Iterator[int]]]
    ) -> dict[int, SparseVectorAnswer]:
        """Decide one chunk and return its yeses by position. What is left of the noise after a halt is discarded."""
        noises, fresh = noise.open_for_release()
        before, yeses = self._asked - span.start, dict[int, SparseVectorAnswer]()
        for position, comparison, noisy in self._find_passed(places, limits, noises, span):
            self._asked = before + position + 1
            place = Sensitive(int(places.open_for_release()[position]))
            yeses[position] = self._say_yes(comparison, noisy, int(limits[position]), place, fresh)
            if self._status is SparseVectorStatus.HALTED:
                return yeses
        self._asked = before + span.stop
        self._halt_if_done()
        return yeses

    def _find_passed(
        self, places: Sensitive[Steps], limits: Steps, noises: list[Steps], span: range
    ) -> Iterator[tuple[int, ThresholdComparison, int]]:
        inside = slice(span.start, span.stop)
        exact, publics = places.open_for_release()[inside], limits[inside]
        if not all(_are_steps(one, len(span)) for one in (exact, publics, *noises)):
            raise AssertionError  # nothing may broadcast, mask or round where noise is added
        distances = exact - publics - self._secret()
        for at, comparison, noisy in self._rule.decide_many(distances, noises):
            yield span.start + at, comparison, noisy

    def _chunks(self, count: int) -> Iterator[range]:
        if self._rule.questions is not None:
            count = min(count, self._rule.questions - self._asked)
        start, size = 0, _SMALLEST_CHUNK
        while start < count:
            yield range(start, min(start + size, count))
            start, size = start + size, min(2 * size, _LARGEST_CHUNK)

    def _read_thresholds(self, thresholds: Exact | Sequence[Exact] | NDArray[Any] | None) -> int | Steps:
        if thresholds is None:
            return self._setup.threshold
        if isinstance(thresholds, str) or not isinstance(thresholds, Sequence | np.ndarray):
            return self._lattice.threshold(thresholds)
        return self._lattice.thresholds(thresholds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        status, told = self._status.name.lower(), f"{self._yeses} yeses in {self._asked} questions"
        return f"<stream {self._setup.name!r}, {status}: {told}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:  # copies are made by it, too
        raise SecrecyError("a stream may not be copied or pickled: it holds a secret; suspend it under a key")


def _broadcast_thresholds(given: int | Steps, count: int) -> Steps:
    if isinstance(given, int):
        return np.broadcast_to(np.int64(given), count)
    if len(given) != count:
        remedy = "give one threshold for each, or one for all"
        raise ParameterError("thresholds", len(given), reason=f"is not the number of values, {count}", remedy=remedy)
    return given


def _are_steps(given: Steps, count: int) -> bool:
    return type(given) is np.ndarray and given.dtype == np.int64 and given.shape == (count,)
