"""Whatever a mechanism says, as columns: numbers, and labels for all that is no number.

Any fixed way of reading outputs is sound, since a function of the output is no more telling than the output. A better
one sees more. An exception is an outcome too: that it was raised, and what it said.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
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
_PLAIN_ARRAYS = "biuf"
_MOST_COLUMNS = 2000


@dataclass(frozen=True, slots=True)
class Raised:
    """What a mechanism says by failing."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outputs, one a row: `numbers` holds NaN where `labels` holds the code of something that is no number."""

    numbers: Reals
    labels: Codes

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> int:
        """How many there are."""
        return int(self.numbers.shape[1])

    def widened(self, columns: int) -> "Outcomes":
        """Return them with exactly so many columns: shorter outputs have nothing there, longer ones lose their end."""
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
class Reader:
    """Turns outputs into columns, and remembers which code a label was given.

    Examples
    --------
    >>> read = Reader().read([("yes", 3.5), ("no",)])
    >>> read.numbers.tolist(), read.labels.tolist()
    ([[nan, nan, 3.5], [nan, nan, nan]], [[2, 3, 0], [4, 5, 1]])
    """

    codes: dict[Hashable, int] = field(default_factory=dict)

    def read(self, outputs: Any) -> Outcomes:
        """Return outputs as columns: an array of numbers with a row an output, or a sequence of outputs."""
        if isinstance(outputs, np.ndarray) and outputs.dtype.kind in _PLAIN_ARRAYS and outputs.ndim in (1, 2):
            numbers = outputs.astype(np.float64).reshape(len(outputs), -1)
            odd = ~np.isfinite(numbers)
            labels = np.zeros(numbers.shape, np.int64)
            specials = {"nan": np.isnan(numbers), "inf": numbers == math.inf, "-inf": numbers == -math.inf}
            for name, which in specials.items():
                if which.any():
                    labels[which] = self._code(name)
            return Outcomes(np.where(odd, math.nan, numbers), labels)
        return self._one_by_one(outputs.tolist() if isinstance(outputs, np.ndarray) else outputs)

    def meaning(self, code: int) -> str:
        """Return the label that has this code."""
        names = {_ABSENT: "(nothing)"} | {known: str(label) for label, known in self.codes.items()}
        return names[code]

    def _one_by_one(self, outputs: Sequence[Any]) -> Outcomes:
        rows = [list(_leaves(output)) for output in outputs]
        columns = max(1, max(map(len, rows), default=1))
        if columns > _MOST_COLUMNS:
            raise ParameterError(
                "mechanism",
                f"an output of {columns} parts",
                reason=f"has more than {_MOST_COLUMNS}",
                remedy="audit a summary of it, such as the parts that differ between the neighbours",
            )
        numbers = np.full((len(rows), columns), math.nan)
        labels = np.full((len(rows), columns), _ABSENT, np.int64)
        for i, row in enumerate(rows):
            for j, leaf in enumerate(row):
                if isinstance(leaf, float):
                    numbers[i, j], labels[i, j] = leaf, _NUMBER
                else:
                    labels[i, j] = self._code(leaf)
        return Outcomes(numbers, labels)

    def _code(self, label: Hashable) -> int:
        return self.codes.setdefault(label, len(self.codes) + 2)


def _leaves(output: Any) -> Iterator[Any]:
    """Return the parts of an output, from left to right: a finite number as a float, all else as a label."""
    match output:
        case float() if math.isfinite(output):
            yield float(output)
        case int() | float() | Fraction() | Decimal() | np.number() | np.bool_():
            yield from _number(output)
        case None | str() | bytes() | Enum():
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
            yield f"{len(output)} parts"
            for part in output:
                yield from _leaves(part)
        case np.ndarray():
            yield from _leaves(output.tolist())
        case _:
            yield from _other(output)


def _number(output: Any) -> Iterator[float | str]:
    try:
        number = float(output)
    except OverflowError:
        number = math.inf if output > 0 else -math.inf
    yield number if math.isfinite(number) else str(number)


def _other(output: Any) -> Iterator[Any]:
    if is_dataclass(output) and not isinstance(output, type):
        for one in fields(output):
            yield from _leaves(getattr(output, one.name))
    elif isinstance(output, Hashable) and type(output).__eq__ is not object.__eq__:
        yield output
    else:
        raise ParameterError(
            "mechanism",
            f"an output of type {type(output).__name__}",
            reason="cannot be compared with another by what it says",
            remedy="return numbers, text, None, or tuples, lists, mappings and dataclasses of them",
        )
