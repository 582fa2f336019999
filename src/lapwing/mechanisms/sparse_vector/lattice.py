"""The grid on which values, thresholds and noise all live.

Values are rounded down to it and thresholds up, before any noise is drawn. Every number has its place: NaN counts as 0, and
what is too large saturates, so that no value of a table can make a stream fail. What is refused is refused by its type,
which depends on a program and not on people.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, exact, positive
from lapwing.vocabulary.sensitive import Sensitive

Number: TypeAlias = int | float | Fraction
Value: TypeAlias = Number | Sensitive[Number]
Values: TypeAlias = NDArray[Any] | Sequence[Number] | Sensitive[NDArray[Any]] | Sensitive[Sequence[Number]]
Integers: TypeAlias = NDArray[np.int64]

FARTHEST = 1 << 60
"""Values and thresholds saturate at so many steps: no difference of two values grows by that, and sums fit 64 bits."""

_FINEST, _COARSEST = Fraction(1, 1 << 60), Fraction(1 << 60)


@dataclass(frozen=True, slots=True)
class Lattice:
    """The multiples of `grid`, a power of two.

    On the grid 1 values must be integers by type: a float is refused even where it is whole, so that the refusal tells
    nothing about a table. On any other grid they may be any number.

    Examples
    --------
    >>> Lattice("1/4").value(Fraction(7, 10)), Lattice("1/4").threshold("0.7")
    (2, 3)
    >>> Lattice(1).value(0.5)
    Traceback (most recent call last):
    ...
    lapwing.vocabulary.errors.ParameterError: value = <sensitive> is a float on the grid of integers; declare a grid ...
    """

    grid: Fraction

    def __post_init__(self) -> None:
        grid = positive("grid", self.grid)
        whole, part = grid.numerator, grid.denominator
        if whole & (whole - 1) or part & (part - 1) or not _FINEST <= grid <= _COARSEST:
            raise ParameterError(
                "grid", self.grid, reason="is no power of two up to 2^60", remedy='write 1, "1/1024", or in general 2^n'
            )
        object.__setattr__(self, "grid", grid)

    def value(self, value: Value) -> int:
        """Return the largest number of steps that is at most `value`."""
        opened: object = value.open_for_release() if isinstance(value, Sensitive) else value
        if isinstance(opened, Integral) and not isinstance(opened, bool):
            return _saturated(int(opened) if self.grid == 1 else math.floor(int(opened) / self.grid))
        if self.grid == 1 or not isinstance(opened, float | np.floating | Fraction):
            raise _wrong_type(type(opened).__name__, self.grid)
        if isinstance(opened, Fraction) or math.isfinite(opened):
            return _saturated(math.floor(Fraction(opened) / self.grid))
        return 0 if math.isnan(opened) else FARTHEST if opened > 0 else -FARTHEST

    def values(self, values: Values) -> Integers:
        """Return `value` of each, as an array."""
        opened = values.open_for_release() if isinstance(values, Sensitive) else values
        if not isinstance(opened, np.ndarray):
            return np.array([self.value(value) for value in opened], np.int64)
        if opened.ndim != 1:
            raise ParameterError("values", Sensitive(None), reason="is no list of values", remedy="ask one dimension")
        if opened.dtype.kind in "iu":
            return self._from_integers(opened)
        if self.grid == 1 or opened.dtype.kind != "f":
            raise _wrong_type(str(opened.dtype), self.grid)
        return self._from_floats(opened.astype(np.float64, copy=False))

    def _from_integers(self, values: NDArray[Any]) -> Integers:
        wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64, copy=False)
        if self.grid > 1:
            wide = wide // self.grid.numerator
        most = FARTHEST // self.grid.denominator
        least = 0 if values.dtype.kind == "u" else -most
        steps: Integers = np.clip(wide, least, most).astype(np.int64, copy=False)
        return steps if self.grid >= 1 else steps * self.grid.denominator

    def _from_floats(self, values: NDArray[np.float64]) -> Integers:
        exponent = self.grid.denominator.bit_length() - self.grid.numerator.bit_length()
        values = np.where(np.isnan(values), 0.0, values)
        with np.errstate(over="ignore"):  # what overflows to infinity saturates
            scaled = np.ldexp(values, exponent) if exponent > 0 else np.ldexp(np.floor(values), exponent)
        return np.clip(np.floor(scaled), -float(FARTHEST), float(FARTHEST)).astype(np.int64)

    def threshold(self, threshold: Exact) -> int:
        """Return the smallest number of steps that is at least the public number `threshold`."""
        if isinstance(threshold, Sensitive):
            raise ParameterError(
                "threshold",
                threshold,
                reason="is a value that was not released",
                remedy="a threshold may depend on released answers only; put what it depends on into the value",
            )
        return _saturated(math.ceil(exact("threshold", threshold) / self.grid))

    def number(self, steps: int) -> Fraction:
        """Return the number that is so many steps from zero."""
        return steps * self.grid


def _saturated(steps: int) -> int:
    return max(-FARTHEST, min(FARTHEST, steps))


def _wrong_type(kind: str, grid: Fraction) -> ParameterError:
    where = "the grid of integers" if grid == 1 else "a grid of numbers"
    remedy = 'declare a grid such as "1/1024", or count in whole numbers' if grid == 1 else "give a finite number"
    return ParameterError("value", Sensitive(None), reason=f"is a {kind} on {where}", remedy=remedy)
