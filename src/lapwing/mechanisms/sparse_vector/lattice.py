"""The lattice on which the values, thresholds and noise of a stream all live: the integers, or a finer or coarser grid.

Values are put on it before any noise is drawn, and every number has its place there: NaN counts as 0, and what is too
large saturates, so that no value of a table can make a stream fail. What is refused is refused by its type, which
depends on a program and not on people. Thresholds are public numbers, rounded up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.noise_addition import Integer, Integers, Real, Reals, ValueGrid, integers
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.sensitive import Sensitive

Value: TypeAlias = Integer | Real
Values: TypeAlias = Integers | Reals | Sequence[Value]
Steps: TypeAlias = NDArray[np.int64]

FARTHEST = 1 << 60
"""Values saturate at so many steps, and thresholds at twice as many: differences of the two fit 64 bits, differences of
two values do not grow, and a threshold beyond all values is not reached by those that saturated."""


@dataclass(frozen=True, slots=True)
class ValueLattice:
    """The multiples of `step`, a power of two. With the step 1, values are integers by type: a float is refused.

    Examples
    --------
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
        object.__setattr__(self, "_grid", grid)
        object.__setattr__(self, "step", grid.step)

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
            raise ParameterError(
                "values", Sensitive(None), reason="is no list of values", remedy="use a plain array of one dimension"
            )
        places: Steps = np.clip(self._place(opened), -FARTHEST, FARTHEST)
        return places

    def threshold(self, threshold: object) -> int:
        """Return the first place that is at least a public number."""
        if isinstance(threshold, Sensitive):
            raise ParameterError(
                "threshold",
                threshold,
                reason="is a value that was not released",
                remedy="a threshold may depend on released answers only; put what it depends on into the value",
            )
        return _saturated(math.ceil(exact("threshold", threshold) / self.step), 2 * FARTHEST)

    def thresholds(self, thresholds: Sequence[object] | NDArray[Any]) -> Steps:
        """Return the places of many thresholds; an array must be a plain one of one dimension."""
        if isinstance(thresholds, np.ndarray) and not _is_plain_vector(thresholds):
            raise ParameterError(
                "thresholds",
                type(thresholds),
                reason="is no list of numbers",
                remedy="use a plain array of one dimension",
            )
        if isinstance(thresholds, np.ndarray) and thresholds.dtype.kind in "iu" and self.step == 1:
            return np.clip(integers(thresholds), -2 * FARTHEST, 2 * FARTHEST)
        return np.array([self.threshold(threshold) for threshold in thresholds], np.int64)

    def number(self, steps: int) -> Fraction:
        """Return the number that is so many steps from zero."""
        return steps * self.step

    def _place(self, opened: Any) -> Any:
        return integers(opened) if self.step == 1 else self._grid.steps(opened)


def _is_plain_vector(opened: object) -> bool:
    return type(opened) is np.ndarray and opened.ndim == 1


def _saturated(steps: int, most: int) -> int:
    return max(-most, min(most, steps))
