"""Smooth sensitivity: noise that follows how far *this* table's value can be moved, and not the worst table's.

A median can jump from one end of its range to the other, and hardly ever does. How far one person moves it in the table
at hand may not set the noise, for that number is itself about people. A bound that changes by a factor of at most r
between neighbours may: the largest of A_j / r^j, where A_j is how far one person moves the value in any table that j
people make of this one.

The bound is taken from a public list of sizes, each at most r times the one before. So the noise has one of a few
hundred public scales, its ratio is checked on the scales that are drawn from, and no fraction grows with the data.

Proof: proofs/smooth_sensitivity.md
"""

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.noise_mechanism import Priced, add_noise, integers
from lapwing.noise.laws import RoundedLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, fill, float_above, positive, probability
from lapwing.vocabulary.frozen import frozen

_UNIT: Final = 1 << 40
"""What stands for 1 in the list of sizes."""
_SLACK: Final = Fraction(999, 1000)
"""The part of the growth that may lie between two sizes; the rest covers how their scales are rounded."""
_MOST_SIZES: Final = 1 << 16
_LARGEST_DELTA: Final = Fraction(1, 10)
_RAISED: Final = 1 + 1e-12
"""More than what floating point loses in a logarithm."""


def log_of_inverse_above(delta: Fraction) -> Fraction:
    """Return a number that is at least log(1/delta)."""
    return Fraction(math.log(float_above(1 / delta)) * _RAISED)


@frozen(init=False)
class SmoothSensitivityMechanism(Priced[ApproximateRelease]):
    """Adds Laplace noise to a whole number, in proportion to a smooth bound on how far one person moves it here.

    `release` takes the value, and A_0, A_1, ...: A_j bounds how far one protected person (or group) moves the value in
    any table that j of them make of this one, and is at most the A_(j+1) of every neighbour. `most` bounds how far it
    is moved in any table at all.

    The median of 2,001 numbers between 0 and 1,000,000 that lie close together: the noise is that of a distance of some
    ten places, where a bound for all tables would be 1,000,000.

    >>> numbers = [500_000 + i for i in range(2001)]
    >>> moves = median_moves(numbers, low=0, high=1_000_000)
    >>> smooth = SmoothSensitivityMechanism(most=1_000_000, epsilon=1, delta="1e-6")
    >>> round(smooth.scale_of(moves)), isinstance(smooth.release(numbers[1000], moves), int)
    (23, True)

    Theorem: Nissim, Raskhodnikova, Smith, *Smooth sensitivity and sampling in private data analysis*, STOC 2007, with
    a shorter proof for Laplace noise.
    Proof: proofs/smooth_sensitivity.md
    """

    most: int
    growth: Fraction
    """By which factor the scale of the noise changes between neighbours, at most."""
    laws: tuple[RoundedLaplace, ...]
    _ends: NDArray[np.int64] = field(repr=False, compare=False)
    """The largest whole number within each size."""

    def __init__(self, *, most: int, epsilon: Exact, delta: Exact) -> None:
        price, chance, furthest = positive("epsilon", epsilon), probability("delta", delta), as_int("most", most)
        if chance > _LARGEST_DELTA:
            remedy = "write the chance that the promise fails, such as 1e-6"
            raise ParameterError("delta", delta, reason="is above 1/10", remedy=remedy)
        per_scale = price / 2
        growth = 1 + per_scale / (log_of_inverse_above(chance) + per_scale)
        sizes = _sizes(furthest, 1 + (growth - 1) * _SLACK, epsilon)
        laws = tuple(RoundedLaplace(Fraction(size, _UNIT) / per_scale) for size in sizes)
        used = [law.scale_used for law in laws]
        if any(later > growth * earlier for earlier, later in pairwise(used)):
            remedy = "offer more epsilon, or take a smaller range"
            raise ParameterError("epsilon", epsilon, reason="asks for noise too large to be drawn", remedy=remedy)
        fill(
            self,
            event=ApproximateRelease(epsilon=price, delta=chance),
            most=furthest,
            growth=growth,
            laws=laws,
            _ends=np.array([size // _UNIT for size in sizes], np.int64),
        )

    @property
    def reach(self) -> int:
        """How many of A_0, A_1, ... are looked at: those after them change no noise."""
        return len(self._ends)

    def place_of(self, moves: Sequence[int]) -> int:
        """Return the place of the smooth bound in the list of sizes: the largest place of A_j, less j."""
        told = np.full(self.reach, self.most, np.int64)
        known = np.clip(np.array(moves[: self.reach], np.int64), 0, self.most)
        told[: len(known)] = known
        return int((np.searchsorted(self._ends, told, side="left") - np.arange(self.reach)).max())

    def scale_of(self, moves: Sequence[int]) -> Fraction:
        """Return the scale of the noise. It is a function of the data, and not to be told."""
        return self.laws[self.place_of(moves)].scale_used

    def release(self, value: "Sensitive[int] | int", moves: "Sensitive[Sequence[int]] | Sequence[int]") -> int:
        """Return the value with noise; `moves` are A_0, A_1, ... of this table."""
        opened = integers(moves, remedy="hand in whole numbers: how far the value is moved, for each distance")
        law = self.laws[self.place_of([opened] if isinstance(opened, int) else opened.tolist())]
        return int(add_noise(value, law))


def _sizes(most: int, growth: Fraction, epsilon: Exact) -> tuple[int, ...]:
    """Return whole numbers from 1 on, in units, each at most `growth` times the one before, the last `most` or more."""
    steps = math.ceil(math.log(most) / math.log(growth)) if growth > 1 + Fraction(1, 10**9) else _MOST_SIZES
    if steps >= _MOST_SIZES:
        remedy = "offer more epsilon, or take a smaller range"
        raise ParameterError("epsilon", epsilon, reason="is too small for a smooth bound of this range", remedy=remedy)
    sizes = [_UNIT]
    while sizes[-1] < most * _UNIT:
        sizes.append(sizes[-1] * growth.numerator // growth.denominator)
    return tuple(sizes)


def median_moves(numbers: Sequence[int], *, low: int, high: int, changed: int = 1, reach: int = 1024) -> list[int]:
    """Return how far the median of numbers between bounds is moved by `changed` of them, at distances 0, 1, 2, ...

    The median is the number at place (k - 1) // 2 of k sorted ones, and a neighbour has `changed` other numbers. Entry
    j is the widest stretch of (j + 1)·changed places around the median; places beyond the ends are the bounds.

    >>> median_moves([0, 4, 5, 9, 10], low=0, high=10, reach=3)
    [4, 5, 9]
    """
    inside = np.sort(np.clip(np.array(numbers, np.int64), low, high))
    many, widest = len(inside), min(reach * changed, len(inside) + 1)
    middle = widest + (many - 1) // 2
    padded = np.concatenate([np.full(widest, low), inside, np.full(widest, high)])
    found = [high - low] * reach
    for j in range(min(reach, widest // changed)):
        width = (j + 1) * changed
        found[j] = int((padded[middle : middle + width + 1] - padded[middle - width : middle + 1]).max())
    return found
