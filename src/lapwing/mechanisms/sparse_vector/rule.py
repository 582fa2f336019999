"""One decision of a stream: the lattice it is made on, what it costs, what it reveals, and what is kept from it.

Values, thresholds and noise all live on one lattice: the integers, or a finer or coarser grid. Values are put on it
before any noise is drawn, and every number has its place there: NaN counts as 0, and what is too large saturates, so
that no value of a table can make a stream fail. What is refused is refused by its type, which depends on a program and
not on people. Thresholds are public numbers, rounded up.

With distance = value - threshold - (threshold noise), a comparison is passed if distance + (its own noise) reaches its
bar. The first comparison that is passed is a yes; if none is, the answer is no and costs nothing. Answers are released
and the rule is public; `StreamState` alone is secret.

The rule not to break: noise may reach far to the right only. All proofs shift it up by what one person can do, and
that must change its probabilities by no more than the price; noise that is cut off on the right fails at any price.
"""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, Final, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.noise_mechanism import Integer, Integers, Real, Reals, ValueGrid, integers
from lapwing.mechanisms.sparse_vector.law_probabilities import Law, mean
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, DiscreteLaplace, Geometric, RoundedGaussian
from lapwing.noise.randomness import RandomSource
from lapwing.noise.sealing import Purpose, seal, unseal
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive, exact, fill
from lapwing.vocabulary.frozen import frozen

Value: TypeAlias = Integer | Real
Values: TypeAlias = Integers | Reals | Sequence[Value]
Steps: TypeAlias = NDArray[np.int64]

FARTHEST = 1 << 60
"""Values saturate at 2^60 steps, and thresholds at twice as many: differences of the two fit 64 bits, differences of
two values do not grow, and a threshold beyond all values is not reached by those that saturated."""


@frozen(kw_only=False)
class ValueLattice:
    """The multiples of `step`, a power of two. With the step 1, values are integers by type: a float is refused.

    >>> ValueLattice("1/4").value(0.7), ValueLattice("1/4").threshold("0.7")
    (3, 3)
    >>> ValueLattice(1).value(0.5)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: type(value) = <class 'float'> cannot be released here; ...
    """

    step: Fraction
    _grid: ValueGrid = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        grid = ValueGrid(exact("grid", self.step))
        fill(self, _grid=grid, step=grid.step)

    def value(self, value: Value) -> int:
        """Return the place of a value, in steps from zero."""
        opened: object = value.open_for_release() if isinstance(value, Sensitive) else value
        if isinstance(opened, np.ndarray | list | tuple):
            del opened
            raise ParameterError("value", Sensitive(None), reason="is a vector", remedy="use ask_many")
        return _saturated(int(self._place(opened)), FARTHEST)

    def values(self, values: Values) -> Steps:
        """Return the places of many values.

        An array must be a plain one. A subclass may do as it likes with arithmetic: a masked array takes no noise where
        it is masked.
        """
        opened = values.open_for_release() if isinstance(values, Sensitive) else values
        if type(opened) in {list, tuple}:  # which may hold values that are wrapped one by one
            return np.array([self.value(value) for value in opened], np.int64)
        if not _is_plain_vector(opened):
            del opened
            remedy = "use a plain array of one dimension"
            raise ParameterError("values", Sensitive(None), reason="is not a list of values", remedy=remedy)
        places: Steps = np.clip(self._place(opened), -FARTHEST, FARTHEST)
        return places

    def threshold(self, threshold: object) -> int:
        """Return the first place that is at least a public number."""
        if isinstance(threshold, Sensitive):
            remedy = "a threshold may depend on released answers only; put what it depends on into the value"
            raise ParameterError("threshold", threshold, reason="is a value that was not released", remedy=remedy)
        return _saturated(math.ceil(exact("threshold", threshold) / self.step), 2 * FARTHEST)

    def thresholds(self, thresholds: Sequence[object] | NDArray[Any]) -> Steps:
        """Return the places of many thresholds; an array must be a plain one of one dimension."""
        if isinstance(thresholds, np.ndarray) and not _is_plain_vector(thresholds):
            remedy = "use a plain array of one dimension"
            raise ParameterError("thresholds", type(thresholds), reason="is not a list of numbers", remedy=remedy)
        if isinstance(thresholds, np.ndarray) and thresholds.dtype.kind in "iu" and self.step == 1:
            return np.clip(integers(thresholds), -2 * FARTHEST, 2 * FARTHEST)
        return np.array([self.threshold(threshold) for threshold in thresholds], np.int64)

    def number(self, steps: int) -> Fraction:
        """Return the number that is this number of steps from zero."""
        return steps * self.step

    def _place(self, opened: Any) -> Any:
        return integers(opened) if self.step == 1 else self._grid.steps(opened)


def _is_plain_vector(opened: object) -> bool:
    return type(opened) is np.ndarray and opened.ndim == 1


def _saturated(steps: int, most: int) -> int:
    return max(-most, min(most, steps))


@frozen()
class SparseVectorAnswer:
    """Yes or no to "is the value at least the threshold?", after noise; `question` counts from 1 in its stream.

    A yes may come with a `gap`, the noisy value less threshold. It was chosen for being large, so it errs upwards: see
    `SparseVector.interval` for a valid interval, and never print it with a plain margin of the noise. Where noise of
    its own was paid for, it comes with a `number`, the value with that noise.
    """

    above: bool
    question: int
    threshold: Fraction
    price: Fraction = Fraction(0)
    gap: Fraction | None = None
    number: Fraction | None = None

    def __bool__(self) -> bool:
        return self.above


class SparseVectorAnswers(Sequence[SparseVectorAnswer]):
    """The answers to many questions, in order, up to the one that halted the stream.

    >>> yes = SparseVectorAnswer(above=True, question=2, threshold=Fraction(10), price=Fraction(1, 5))
    >>> answers = SparseVectorAnswers(first=1, thresholds=np.array([10, 10, 10]), step=Fraction(1), yeses={1: yes})
    >>> len(answers), answers.positions, [bool(answer) for answer in answers]
    (3, (1,), [False, True, False])
    """

    __slots__ = ("_first", "_step", "_thresholds", "_yeses")

    def __init__(
        self, *, first: int, thresholds: NDArray[np.int64], step: Fraction, yeses: Mapping[int, SparseVectorAnswer]
    ) -> None:
        self._first, self._thresholds, self._step, self._yeses = first, thresholds, step, dict(yeses)

    @property
    def positions(self) -> tuple[int, ...]:
        """Which of the values got a yes, counting from 0."""
        return tuple(self._yeses)

    @property
    def yeses(self) -> tuple[SparseVectorAnswer, ...]:
        """The yeses, in order."""
        return tuple(self._yeses.values())

    def __len__(self) -> int:
        return len(self._thresholds)

    @overload
    def __getitem__(self, index: int) -> SparseVectorAnswer: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SparseVectorAnswer]: ...
    def __getitem__(self, index: int | slice) -> SparseVectorAnswer | Sequence[SparseVectorAnswer]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        if position in self._yeses:
            return self._yeses[position]
        threshold = int(self._thresholds[position]) * self._step
        return SparseVectorAnswer(above=False, question=self._first + position, threshold=threshold)

    def __repr__(self) -> str:
        return f"<{len(self)} answers, {len(self._yeses)} of them yes>"


@frozen()
class ThresholdComparison:
    """Passed if distance + noise >= `bar`; then distance + noise - `centre` estimates value - threshold."""

    noise: Law  # drawn afresh for every question
    centre: int  # the mean of this noise less the mean of the threshold noise, to the nearest step
    bar: int  # `centre`, plus what is added to the threshold to make false yeses rarer
    units: int = 1  # the cost of a yes, in units of the rule


@frozen()
class AnswerRule:
    """How a stream decides, when it stops, and what it has cost by then.

    Proof: proofs/sparse_vector.md
    """

    threshold_noise: Law  # drawn once
    comparisons: tuple[ThresholdComparison, ...]  # tried in this order
    units: int  # of price; the stream halts when the dearest yes is more than is left
    opening_price: Fraction | None  # the epsilon of a transcript without any yes, if the stream has a pure epsilon
    unit_price: Fraction = Fraction(0)  # what one unit adds to it
    fresh_noise: Law | None = None  # added to the value of a yes and shown, if there is any
    shows_gap: bool = True  # whether a yes comes with the estimate of its comparison
    questions: int | None = None  # the stream halts after this number, if it is bounded

    @property
    def dearest(self) -> int:
        """The cost of the dearest yes, in units."""
        return max(comparison.units for comparison in self.comparisons)

    @property
    def is_pure(self) -> bool:
        """Whether a transcript has a pure epsilon, which its yeses add up to."""
        return self.opening_price is not None

    def price_of(self, units: int) -> Fraction | None:
        """Return the epsilon of a transcript whose yeses cost `units`."""
        return None if self.opening_price is None else self.opening_price + units * self.unit_price

    def decide(self, distance: int, noises: Sequence[int]) -> tuple[ThresholdComparison, int] | None:
        """Return the first comparison that is passed and the noisy distance that passed it; None if the answer is no.

        `distance` is value less threshold less the threshold's noise; there is a draw for each comparison.
        """
        for comparison, noise in zip(self.comparisons, noises, strict=True):
            if distance + noise >= comparison.bar:
                return comparison, distance + noise
        return None

    def decide_many(self, distances: Steps, noises: Sequence[Steps]) -> Iterator[tuple[int, ThresholdComparison, int]]:
        """Yield the index of every yes, in order, with what `decide` returns for it."""
        noisy = [distances + noise for noise in noises]
        passed = [one >= comparison.bar for comparison, one in zip(self.comparisons, noisy, strict=True)]
        for at in np.flatnonzero(np.logical_or.reduce(passed)).tolist():
            which = next(i for i in range(len(passed)) if passed[i][at])
            yield at, self.comparisons[which], int(noisy[which][at])

    def draw(self, source: RandomSource) -> list[int]:
        """Draw the noise of one question."""
        return [comparison.noise.draw(source=source) for comparison in self.comparisons]

    def draw_many(self, count: int, source: RandomSource) -> list[Steps]:
        """Draw the noise of many questions."""
        return [comparison.noise.draw_many(count, source=source) for comparison in self.comparisons]

    def draw_fresh(self, count: int, source: RandomSource) -> Iterator[int]:
        """Draw the noise of as many numbers, if yeses show numbers."""
        return iter([] if self.fresh_noise is None else self.fresh_noise.draw_many(count, source=source).tolist())


def one_sided(reach: int, epsilon: Fraction) -> Geometric:
    """Return noise that is at most e^epsilon times likelier than itself shifted up by `reach` steps."""
    return Geometric(_scale(reach, epsilon))


def two_sided(reach: int, epsilon: Fraction) -> DiscreteLaplace:
    """Return noise that is at most e^epsilon times likelier than itself shifted by `reach` steps either way."""
    return DiscreteLaplace(_scale(reach, epsilon))


def comparison(noise: Law, threshold_noise: Law, *, lifted: int = 0, units: int = 1) -> ThresholdComparison:
    """Return a comparison that is centred, with the threshold lifted by `lifted` steps."""
    centre = round(mean(noise)) - round(mean(threshold_noise))
    return ThresholdComparison(noise=noise, centre=centre, bar=centre + lifted, units=units)


def _scale(reach: int, epsilon: Fraction) -> Fraction:
    scale = reach / epsilon
    if scale < SMALLEST_SCALE:
        reason = f"leaves noise of {float(scale):.3g} steps, less than can be drawn"
        remedy = f"ask for less, at most {float(reach / SMALLEST_SCALE):.6g} for this one, or choose a finer grid"
        raise ParameterError("epsilon", f"{float(epsilon):.6g} for one noise", reason=reason, remedy=remedy)
    if scale > LARGEST_SCALE:
        reason = f"needs noise of {float(scale):.3g} steps at epsilon {float(epsilon):.3g}"
        remedy = f"choose a coarser grid or more epsilon, for a scale of at most {float(LARGEST_SCALE):.3g} steps"
        raise ParameterError("grid", f"1/{reach} of what one person can do", reason=reason, remedy=remedy)
    return scale


_PLAINTEXT: Final = struct.Struct(">qQQQ")


@frozen()
class StreamSetup:
    """The public side of a stream: its rule, its lattice, its own threshold in steps, and its name."""

    rule: AnswerRule
    lattice: ValueLattice
    threshold: int
    name: str

    def describe(self) -> str:
        """Return rule, lattice and threshold as text, in which no two different ones look the same."""
        rule = self.rule
        lines = (
            f"grid {self.lattice.step} threshold {self.threshold}",
            f"threshold noise {_law(rule.threshold_noise)}",
            *(f"{_law(one.noise)} {one.centre} {one.bar} {one.units}" for one in rule.comparisons),
            f"fresh noise {rule.fresh_noise and _law(rule.fresh_noise)} gap {rule.shows_gap}",
            f"units {rule.units} of {rule.unit_price} on {rule.opening_price} questions {rule.questions}",
        )
        return "\n".join(lines)


@frozen(repr=False)
class StreamState:
    """The state of a stream; the noise of its threshold is the secret."""

    threshold_noise: int
    asked: int
    yeses: int
    units: int

    def seal(self, key: bytes, setup: StreamSetup, sequence: int) -> bytes:
        """Return the state, sealed for this setup and place in its sequence: always of the same length."""
        plaintext = _PLAINTEXT.pack(self.threshold_noise, self.asked, self.yeses, self.units)
        return seal(plaintext, key=key, **_place_of(setup, sequence))

    @classmethod
    def unseal(cls, sealed: bytes, key: bytes, setup: StreamSetup, sequence: int) -> "StreamState":
        """Return the state, or refuse without revealing which of key, setup, place and bytes is wrong."""
        plaintext = unseal(bytes(sealed), key=key, **_place_of(setup, sequence))
        threshold_noise, asked, yeses, units = _PLAINTEXT.unpack(plaintext)
        return cls(threshold_noise=threshold_noise, asked=asked, yeses=yeses, units=units)


def _place_of(setup: StreamSetup, sequence: int) -> dict[str, Any]:
    return {"purpose": Purpose.STATE, "stream": setup.name, "sequence": sequence, "details": setup.describe()}


def _law(law: Law) -> str:
    match law:
        case Geometric():
            return f"geometric {law.scale}"
        case DiscreteLaplace():
            return f"discrete laplace {law.scale}"
        case RoundedGaussian():
            return f"rounded gaussian {law.sigma_used}"
