"""Outputs of a mechanism as columns: numbers, and labels for all that is not a number.

Any fixed way of reading outputs is sound: it is post-processing, and loses no more privacy than the output. A better
one detects more. An exception is an outcome too: its type and its message.

Fixed means: what is read of one output never depends on the others of its batch. NumPy gives a batch one type, so the
same row may come as doubles, as integers or as objects, and is read alike from all of them.

The output of a sparse vector is a transcript: the outcomes of its questions, and events about them.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.vocabulary.errors import ParameterError

Reals: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]

_NUMBER, _ABSENT = 0, 1
_NUMBERS = (float, int, Fraction, Decimal, np.number, np.bool_)
_EXACT_BELOW = 2**53
_BELOW_ZERO = -5e-324  # the remainder that is read of minus zero: no double is nearer to zero from below
_MOST_COLUMNS = 2000


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception as an outcome of a mechanism."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outputs, one a row: `numbers` holds NaN where `labels` holds the code of something that is not a number."""

    numbers: Reals
    labels: Codes

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> int:
        """The number of columns."""
        return int(self.numbers.shape[1])

    def widened(self, columns: int) -> "Outcomes":
        """Return them with just `columns` columns: shorter outputs have nothing there, longer ones lose their end."""
        missing = columns - self.columns
        if missing <= 0:
            return Outcomes(self.numbers[:, :columns], self.labels[:, :columns])
        return Outcomes(
            np.hstack([self.numbers, np.full((len(self), missing), math.nan)]),
            np.hstack([self.labels, np.full((len(self), missing), _ABSENT, np.int64)]),
        )

    def __getitem__(self, rows: slice) -> "Outcomes":
        return Outcomes(self.numbers[rows], self.labels[rows])


def stacked(parts: Sequence[Outcomes]) -> Outcomes:
    """Return all outputs, one part below the other."""
    columns = max(part.columns for part in parts)
    wide = [part.widened(columns) for part in parts]
    return Outcomes(np.vstack([part.numbers for part in wide]), np.vstack([part.labels for part in wide]))


@dataclass(slots=True)
class OutcomeReader:
    """Turns outputs into columns, and remembers which code a label was given.

    A row is the parts of an output from left to right, each compound with a heading first; then, if a number in it is
    no double or is minus zero, the difference of each number from its nearest double.

    >>> read = OutcomeReader().read([("yes", 3.5), ("no",)])
    >>> read.numbers.tolist(), read.labels.tolist()
    ([[nan, nan, 3.5], [nan, nan, nan]], [[2, 3, 0], [4, 5, 1]])
    >>> OutcomeReader().read([2**60 + 1]).numbers.tolist()
    [[1.152921504606847e+18, 1.0]]
    """

    codes: dict[Hashable, int] = field(default_factory=dict)
    arrays: set[str] = field(default_factory=set)

    def read(self, outputs: Any) -> Outcomes:
        """Return outputs as columns: an array or a data frame with a row an output, or a sequence of outputs."""
        if callable(getattr(outputs, "to_numpy", None)):
            outputs = outputs.to_numpy()
        if isinstance(outputs, np.ndarray) and outputs.ndim:
            found = self._doubles(outputs) if _are_doubles(outputs) else self._one_by_one(outputs.tolist())
            self._check_conversion(outputs, found)
            return found
        if not isinstance(outputs, Sequence) or isinstance(outputs, str | bytes):
            given, reason = f"a value of type {type(outputs).__name__}", "is not a row of outputs"
            raise ParameterError("many", given, reason=reason, remedy="return a list, or an array with a row an output")
        return self._one_by_one(outputs)

    def meaning(self, code: int) -> str:
        """Return the label that has this code."""
        names = {_ABSENT: "(nothing)"} | {known: str(label) for label, known in self.codes.items()}
        return names[code]

    def _doubles(self, outputs: NDArray[Any]) -> Outcomes:
        """Read an array whose cells are doubles at once, just as `_one_by_one` reads each."""
        numbers = outputs.astype(np.float64).reshape(len(outputs), math.prod(outputs.shape[1:]))
        labels = np.zeros(numbers.shape, np.int64)
        specials = {"nan": np.isnan(numbers), "inf": numbers == math.inf, "-inf": numbers == -math.inf}
        for name, which in specials.items():
            if which.any():
                labels[which] = self._code(name)
        minus = (numbers == 0) & np.signbit(numbers)
        cells = [(np.where(labels == _NUMBER, numbers, math.nan), labels)]
        if outputs.ndim > 1:
            heading = np.full((len(numbers), 1), self._code(_parts(numbers[0])), np.int64)
            cells.insert(0, (np.full(heading.shape, math.nan), heading))
        if minus.any():
            rows = np.broadcast_to(minus.any(axis=1, keepdims=True), minus.shape)
            rests = np.where(minus, _BELOW_ZERO, 0.0)
            cells.append((np.where(rows, rests, math.nan), np.where(rows, _NUMBER, _ABSENT)))
        return Outcomes(np.hstack([here for here, _ in cells]), np.hstack([here for _, here in cells]))

    def _one_by_one(self, outputs: Sequence[Any]) -> Outcomes:
        rows = [_row(output) for output in outputs]
        columns = max(1, max(map(len, rows), default=1))
        if columns > _MOST_COLUMNS:
            given, reason = f"an output of {columns} parts", f"has more than {_MOST_COLUMNS}"
            remedy = "audit a summary of it, such as the parts that differ between the neighbours"
            raise ParameterError("mechanism", given, reason=reason, remedy=remedy)
        numbers = np.full((len(rows), columns), math.nan)
        labels = np.full((len(rows), columns), _ABSENT, np.int64)
        for i, row in enumerate(rows):
            for j, leaf in enumerate(row):
                if isinstance(leaf, float):
                    numbers[i, j], labels[i, j] = leaf, _NUMBER
                else:
                    labels[i, j] = self._code(leaf)
        return Outcomes(numbers, labels)

    def _check_conversion(self, outputs: NDArray[Any], found: Outcomes) -> None:
        """Refuse arrays in which NumPy wrote the same number now in one way and now in another, as others needed it."""
        if outputs.dtype.kind in "US":
            self.arrays.add("text")
        elif (found.labels == _NUMBER).any():
            self.arrays.add("numbers")
        if outputs.dtype.kind == "f":
            self.arrays.add("doubles")
        elif outputs.dtype.kind in "iuO" and _has_long(outputs):
            self.arrays.add("long integers")
        if self.arrays >= {"text", "numbers"} or self.arrays >= {"doubles", "long integers"}:
            given, reason = (
                f"arrays of {' and of '.join(sorted(self.arrays))}",
                "do not say the same number in the same way",
            )
            remedy = "return lists, or arrays of one dtype, such as object"
            raise ParameterError("many", given, reason=reason, remedy=remedy)

    def _code(self, label: Hashable) -> int:
        return self.codes.setdefault(label, len(self.codes) + 2)


def _are_doubles(outputs: NDArray[Any]) -> bool:
    if outputs.ndim not in (1, 2) or isinstance(outputs, np.ma.MaskedArray):
        return False
    if outputs.dtype.kind in "iu":
        return not _has_long(outputs)
    return outputs.dtype.kind in "bf" and outputs.dtype.itemsize <= np.dtype(np.float64).itemsize


def _has_long(outputs: NDArray[Any]) -> bool:
    if outputs.dtype.kind == "O":
        return any(isinstance(cell, int | np.integer) and abs(int(cell)) > _EXACT_BELOW for cell in outputs.flat)
    widest = np.iinfo(outputs.dtype)
    return widest.max > _EXACT_BELOW and bool(((outputs > _EXACT_BELOW) | (outputs < -_EXACT_BELOW)).any())


def _row(output: Any) -> list[Any]:
    """Return an output's parts, then what is left of its numbers; floats are numbers, all else are labels."""
    leaves = list(_leaves(output))
    rests = [_rest(leaf) for leaf in leaves if isinstance(leaf, _NUMBERS)]
    row = [_nearest(leaf) if isinstance(leaf, _NUMBERS) else leaf for leaf in leaves]
    return row + rests if any(rests) else row


def _leaves(output: Any) -> Iterator[Any]:
    match output:
        case complex() | np.complexfloating():
            yield float(output.real)
            if output.imag:
                yield float(output.imag)
        case None | str() | bytes() | int() | float() | Fraction() | Decimal() | np.number() | np.bool_() | Enum():
            yield output
        case Raised():
            yield f"raised {output.kind}"
            yield output.message
        case Mapping():
            yield f"{len(output)} keys"
            for key, value in output.items():
                yield from _leaves(key)
                yield from _leaves(value)
        case list() | tuple():
            yield _parts(output)
            for part in output:
                yield from _leaves(part)
        case np.ndarray():
            yield from _leaves(output.tolist())
        case _:
            yield from _other(output)


def _parts(output: Any) -> str:
    """Return the heading of a row: its length, and its type unless it is a plain tuple, list or array."""
    plain = f"{len(output)} parts"
    return plain if type(output) in {list, tuple, np.ndarray} else f"{type(output).__name__}, {plain}"


def _nearest(number: Any) -> float | str:
    """Return a number as a double; what is infinite or none is a label."""
    try:
        double = float(number)
    except OverflowError:
        double = math.inf if number > 0 else -math.inf
    return double if math.isfinite(double) else str(double)


def _rest(number: Any) -> Hashable:
    """Return the difference of a number from its nearest double: nearly always 0.0."""
    if isinstance(number, int) and -_EXACT_BELOW <= number <= _EXACT_BELOW:
        return 0.0
    double = _nearest(number)
    if isinstance(double, str):
        return number if isinstance(number, int | Fraction) else 0.0
    if double == 0 and math.copysign(1.0, double) < 0:
        return _BELOW_ZERO
    if isinstance(number, float | np.bool_):
        return 0.0
    exact = Fraction(int(number)) if isinstance(number, int | np.integer) else Fraction(*number.as_integer_ratio())
    return float(exact - Fraction(double))


def _other(output: Any) -> Iterator[Any]:
    if is_dataclass(output) and not isinstance(output, type):
        yield type(output).__name__
        for one in fields(output):
            yield from _leaves(getattr(output, one.name))
    elif isinstance(output, Hashable) and type(output).__eq__ is not object.__eq__:
        yield output
    else:
        given, reason = f"an output of type {type(output).__name__}", "cannot be compared with another by what it says"
        remedy = "return numbers, text, None, or tuples, lists, mappings and dataclasses of them"
        raise ParameterError("mechanism", given, reason=reason, remedy=remedy)


Number: TypeAlias = Fraction | int | float


@dataclass(frozen=True, slots=True)
class AuditedWithin:
    """A number of which only `low <= number < high` is known; the ends may be infinite."""

    low: Number
    high: Number

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ParameterError("high", self.high, reason=f"is not above low = {self.low}", remedy="swap the ends")


RevealedNumber: TypeAlias = Number | AuditedWithin | None
"""A number as it was revealed, an interval it lies in, or None: any number."""


class Level(Enum):
    """Which of the two comparisons of the adaptive sparse vector a yes passed."""

    PLAIN = "plain"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class No:
    """Below the threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedYes:
    """Above the threshold, and the numbers revealed with it, all relative to the public threshold.

    What is None was not revealed, or is marginalised: then the event is summed over it. A number stands for its density
    (on a lattice: its probability), a `AuditedWithin` for the probability of the interval.
    """

    gap: RevealedNumber = None  # the noisy value minus the noisy threshold
    compared: RevealedNumber = None  # the noisy value that was compared (no honest variant shows it)
    numeric: RevealedNumber = None  # a second answer, with noise of its own
    level: Level = Level.PLAIN


@dataclass(frozen=True, slots=True)
class Abort:
    """Above the threshold once more after the last yes: the stop signal of a variant that halts one yes too late."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Above the threshold, but the machine crashed on it and everyone saw the crash."""


Outcome: TypeAlias = No | AuditedYes | Abort | Lost
Transcript: TypeAlias = tuple[Outcome, ...]

NO, YES, CLEAR_YES, ABORT, LOST = No(), AuditedYes(), AuditedYes(level=Level.CLEAR), Abort(), Lost()

Questions: TypeAlias = Sequence[Number] | Callable[[Transcript], Number]
"""True values, each measured from its public threshold: a list, or an analyst who looks at the answers so far."""


def gap_bins(*edges: Number) -> tuple[AuditedYes, ...]:
    """Return the yeses whose gaps lie between neighbouring `edges`.

    >>> [yes.gap for yes in gap_bins(0, 2, float("inf"))]
    [AuditedWithin(low=0, high=2), AuditedWithin(low=2, high=inf)]
    """
    return tuple(AuditedYes(gap=AuditedWithin(low, high)) for low, high in itertools.pairwise(edges))


def values_asked(questions: Questions, transcript: Transcript) -> tuple[Number, ...]:
    """Return the value behind each outcome of `transcript`.

    >>> values_asked(lambda answers: -len(answers), (NO, NO, YES))
    (0, -1, -2)
    """
    if callable(questions):
        return tuple(questions(transcript[:i]) for i in range(len(transcript)))
    if len(questions) < len(transcript):
        reason = f"are fewer than the {len(transcript)} outcomes of the transcript"
        remedy = "give one value for each outcome"
        raise ParameterError("questions", len(questions), reason=reason, remedy=remedy)
    return tuple(questions[: len(transcript)])
