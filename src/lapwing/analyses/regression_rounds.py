"""What a person adds in each round of a regression: whole numbers, whose length is bounded before anything is summed.

A row holds the columns and, last, the outcome, each as a whole number from 0 to its extent. Everything else here is
public: declared, or computed from what earlier rounds released and then made whole. So a person's vector is a function
of that person's row alone, and comes out the same on every engine and machine.

- round A: 1, x, x², y, y², on [-1, 1]: where the columns lie, and how far they reach;
- round B: the products of (1, x', y') for centred and scaled columns, weighted: how the columns go together;
- rounds C: at a guess, the gradient x~ψ, the curvature h·x~x~ᵀ and the squared residual ψ², weighted, for columns x~
  that are white: how to step.

The weight w = k/16 of a person (Mallows) is the largest for which w|x~| is at most a radius. It depends on the columns
and not on the outcome, so the model remains true of the weighted people.

Proof: proofs/regression_rounds.md
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.mechanisms.row_sums import BoundedSum, WhatRowsAdd, Whole
from lapwing.vocabulary.frozen import frozen

HALF_RANGE: Final = 2**12
"""The most that a column reaches from its middle, in steps."""
ON_UNIT: Final = 2**14
"""What stands for 1 in round A."""
WHITE: Final = 2**10
"""What stands for 1 in scaled and white columns."""
LEVELS: Final = 16
RESIDUAL: Final = 2**16
"""What stands for a residual at its bound."""
SLOPE: Final = 2**10
"""What stands for the largest slope."""
ETA: Final = 2**12
"""What stands for 1 in a linear predictor."""
FAR: Final = 16 * ETA
"""Linear predictors are clipped to this: means and slopes are tables between."""
_SHIFT: Final = 16
_MOST_FACTOR, _MOST_CONSTANT = 2**40, 2**56
_EXACT: Final = 2**53
"""Whole numbers below this are real numbers of the machine, and so are their sums."""
_MOST_WHITE: Final = 2**26
_DIAGONAL, _BESIDE = 128, 181
"""A matrix is summed as its upper triangle: its diagonal times 128, and the rest times 181, less than √2 of that."""
_SUM_BITS: Final = 20
_SHARES: Final = (Fraction(5, 100), Fraction(10, 100), Fraction(15, 100), Fraction(20, 100), Fraction(50, 100))
_OF_GRADIENT, _OF_OTHERS = Fraction(25, 27), Fraction(1, 27)
"""In rounds C, curvature and residual get a 25th of what the gradient gets."""

ROUND_SHARES: Final = (
    *((share,) for share in _SHARES[:2]),
    *((share * _OF_GRADIENT, share * _OF_OTHERS, share * _OF_OTHERS) for share in _SHARES[2:]),
)
"""The part of the price of each sum of each round; they add up to 1."""


def radius_squared(columns: int) -> int:
    """Return the square of the radius that weighted columns are held to, in steps: 1 + 2/√p for each of p columns."""
    return columns * WHITE**2 + 2 * math.isqrt(columns * WHITE**4)


def thresholds(radius: int) -> Whole:
    """Return the largest squared length at which a weight is k/16, for k = 16, 15, ..., 1; `radius` is squared."""
    return np.array([radius * LEVELS**2 // k**2 for k in range(LEVELS, 0, -1)], np.int64)


def weights(squared: Whole, radius: int) -> Whole:
    """Return k from 0 to 16 with k²·squared at most 256·radius, for squared lengths and a squared radius.

    >>> weights(np.array([100, 101, 400, 10**9]), 100).tolist()
    [16, 15, 8, 0]
    """
    return LEVELS - np.searchsorted(thresholds(radius), squared, side="left")


@frozen()
class ColumnGrid:
    """How the whole numbers of columns, 0 to `extents`, lie around their middle: (2u - E)·k, at most 2^12 from it."""

    extents: tuple[int, ...]

    def __post_init__(self) -> None:
        if not all(1 <= extent <= HALF_RANGE for extent in self.extents):
            raise ValueError(f"a column has 1 to {HALF_RANGE} steps")

    @property
    def steps(self) -> Whole:
        """What a column is multiplied with, so that all reach about as far."""
        return np.array([HALF_RANGE // extent for extent in self.extents], np.int64)

    @property
    def reach(self) -> Whole:
        """How far each column reaches from its middle."""
        return self.steps * np.array(self.extents, np.int64)

    def centred(self, rows: Whole) -> Whole:
        """Return columns around their middle."""
        return (2 * rows - np.array(self.extents, np.int64)) * self.steps


@frozen()
class Affine:
    """Whole numbers (x·factors + constants) / 2^16, rounded, of centred columns x."""

    factors: Whole
    constants: Whole

    @staticmethod
    def near(factors: Any, constants: Any) -> "Affine":
        """Return the nearest one to real factors and constants; those that could wrap around are clipped."""
        return Affine(factors=_whole(factors, _MOST_FACTOR), constants=_whole(constants, _MOST_CONSTANT))

    def of(self, centred: Whole) -> Whole:
        """Return the numbers of each row; where no sum can reach 2^53, real numbers are as exact, and faster."""
        half = self.constants + 2 ** (_SHIFT - 1)
        if self._farthest < _EXACT:
            told = self.factors.T.astype(np.float64) @ centred.T.astype(np.float64) + half[:, None].astype(np.float64)
            return np.asarray(np.floor(told * 0.5**_SHIFT), np.int64).T
        return np.asarray((centred @ self.factors + half) >> _SHIFT, np.int64)

    @property
    def _farthest(self) -> int:
        """How far a sum, or a part of one, can be from 0 for columns within their range: a public number."""
        each = HALF_RANGE * np.abs(self.factors).sum(axis=0) + np.abs(self.constants)
        return int(np.max(each, initial=0)) + (1 << _SHIFT - 1)

    @property
    def real(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """The factors and constants that it has, as real numbers: those that a model is computed with from here on."""
        return self.factors / 2**_SHIFT, self.constants / 2**_SHIFT

    def to_record(self) -> list[Any]:
        """Return it as JSON values."""
        return [self.factors.tolist(), self.constants.tolist()]

    @staticmethod
    def from_record(record: Sequence[Any]) -> "Affine":
        """Return it from JSON values."""
        factors, constants = record
        return Affine(factors=np.array(factors, np.int64), constants=np.array(constants, np.int64))


def _whole(numbers: Any, most: int) -> Whole:
    clipped = np.clip(np.nan_to_num(np.asarray(numbers, np.float64) * 2**_SHIFT), -most, most)
    return np.rint(clipped).astype(np.int64)


@frozen()
class RegressionRound:
    """What is summed in a round: the sums, what rows add to them, and what one step of each sum stands for."""

    sums: tuple[BoundedSum, ...]
    add: WhatRowsAdd
    units: tuple[float, ...]


def moments(grid: ColumnGrid, rho: Sequence[Fraction]) -> RegressionRound:
    """Return round A: how many, the sum and the sum of squares of each column and of the outcome, on [-1, 1]."""
    many, reach = len(grid.extents), grid.reach

    def add(rows: Whole) -> list[Whole]:
        unit = (2 * ON_UNIT * grid.centred(rows) + reach) // (2 * reach)
        return [np.column_stack([np.full(len(rows), ON_UNIT, np.int64), unit, unit * unit // ON_UNIT])]

    longest = math.isqrt(ON_UNIT**2 * (1 + 2 * many)) + 1
    sums = (BoundedSum(longest=longest, numbers=1 + 2 * many, rho=rho[0]),)
    return RegressionRound(sums=sums, add=add, units=(1 / ON_UNIT,))


def scatter(grid: ColumnGrid, scaled: Affine, outcome: Whole, rho: Sequence[Fraction]) -> RegressionRound:
    """Return round B: the products of 1, the scaled columns and the outcome, weighted, as an upper triangle.

    `outcome` is a table: what stands for each value of the outcome, within ±`WHITE`.
    """
    columns = len(grid.extents) - 1
    radius = radius_squared(columns + 1)
    told = np.clip(outcome, -WHITE, WHITE)
    longest = LEVELS**2 * (radius + WHITE**2)
    sizes, shift, bound = _of_triangle(columns + 2, longest)

    def add(rows: Whole) -> list[Whole]:
        z = np.clip(scaled.of(grid.centred(rows)[:, :-1]), -_MOST_WHITE, _MOST_WHITE)
        k = weights(WHITE**2 + (z * z).sum(axis=1), radius)
        full = np.column_stack([np.full(len(rows), WHITE, np.int64), z, told[rows[:, -1]]]) * k[:, None]
        return [_triangle(full, full, shift)]

    sums = (BoundedSum(longest=bound, numbers=sizes, rho=rho[0]),)
    return RegressionRound(sums=sums, add=add, units=(2**shift / (_DIAGONAL * LEVELS**2 * WHITE**2),))


@frozen()
class OutcomeLink:
    """The mean and the slope of the outcome at a linear predictor, as whole numbers of residual and slope steps.

    Without tables the mean is the predictor itself, and the slope is 1 where the residual is within its bounds.
    """

    outcome: Whole
    """What stands for each value of the outcome, in steps of the residual."""
    means: Whole | None = None
    slopes: Whole | None = None

    def residuals(self, eta: Whole, outcomes: Whole) -> tuple[Whole, Whole]:
        """Return the residual of each row, within its bounds, and the slope."""
        told = self.outcome[outcomes]
        if self.means is None or self.slopes is None:
            residual = np.clip(told - eta, -RESIDUAL, RESIDUAL)
            return residual, np.where(np.abs(residual) < RESIDUAL, SLOPE, 0)
        place = np.clip(eta, -FAR, FAR) + FAR
        residual = np.clip(told - self.means[place], -RESIDUAL, RESIDUAL)
        return residual, np.clip(self.slopes[place], 0, SLOPE)


def step(
    grid: ColumnGrid, white: Affine, predictor: Affine, link: OutcomeLink, rho: Sequence[Fraction]
) -> RegressionRound:
    """Return a round C: gradient, curvature and squared residual at a guess, each weighted, each a sum of its own."""
    many = white.factors.shape[1]
    radius = radius_squared(many)
    root = math.isqrt(radius - 1) + 1
    # k²|x~||ψ| <= 16 · 16 root · RESIDUAL, as k <= 16 and k|x~| <= 16 root; then rounding, half a step a number
    gradient = LEVELS**2 * root * RESIDUAL
    divisor = max(1, gradient >> _SUM_BITS)
    of_gradient = gradient // divisor + 1 + _rounding(many)
    sizes, shift, of_curvature = _of_triangle(many, LEVELS**2 * radius * SLOPE)
    square = LEVELS**2 * RESIDUAL**2
    fall = square.bit_length() - 1 - _SUM_BITS

    def add(rows: Whole) -> list[Whole]:
        x = grid.centred(rows)[:, :-1]
        t = np.clip(white.of(x), -_MOST_WHITE, _MOST_WHITE)
        k = weights((t * t).sum(axis=1), radius)
        residual, slope = link.residuals(predictor.of(x)[:, 0], rows[:, -1])
        near = t * k[:, None]
        summed = (near * (k * residual)[:, None] + divisor // 2) // divisor
        squared = ((k * residual) ** 2 >> fall)[:, None]
        return [summed, _triangle(near, near * slope[:, None], shift), squared]

    sums = (
        BoundedSum(longest=of_gradient, numbers=many, rho=rho[0]),
        BoundedSum(longest=of_curvature, numbers=sizes, rho=rho[1]),
        BoundedSum(longest=square >> fall, numbers=1, rho=rho[2]),
    )
    units = (
        divisor / (LEVELS**2 * WHITE * RESIDUAL),
        2**shift / (_DIAGONAL * LEVELS**2 * WHITE**2 * SLOPE),
        2**fall / (LEVELS**2 * RESIDUAL**2),
    )
    return RegressionRound(sums=sums, add=add, units=units)


def _of_triangle(many: int, longest: int) -> tuple[int, int, int]:
    """Return how many numbers a triangle has, by how many bits they are made shorter, and how long it then is."""
    sizes = many * (many + 1) // 2
    shift = max(0, (_DIAGONAL * longest).bit_length() - 1 - _SUM_BITS)
    return sizes, shift, (_DIAGONAL * longest >> shift) + 1 + _rounding(sizes)


def _rounding(numbers: int) -> int:
    """Return how much longer rounding makes a vector of so many numbers at most: half of a step each."""
    return math.isqrt(numbers) // 2 + 1


def _triangle(left: Whole, right: Whole, shift: int) -> Whole:
    """Return left·right of each pair of columns of each row, as an upper triangle, scaled, rounded to 2^shift."""
    many, place = left.shape[1], 0
    diagonal, beside = right * _DIAGONAL, right * _BESIDE
    summed = np.empty((len(left), many * (many + 1) // 2), np.int64, order="F")
    for i in range(many):
        summed[:, place] = left[:, i] * diagonal[:, i]
        np.multiply(left[:, i : i + 1], beside[:, i + 1 :], out=summed[:, place + 1 : place + many - i])
        place += many - i
    summed += (1 << shift) >> 1
    summed >>= shift
    return summed


def unfolded(triangle: Sequence[int], many: int) -> "np.ndarray[Any, Any]":
    """Return the symmetric matrix of an upper triangle, in steps of its diagonal."""
    matrix, place = np.zeros((many, many)), 0
    for i in range(many):
        row = np.array(triangle[place : place + many - i], np.float64)
        row[1:] *= _DIAGONAL / _BESIDE
        matrix[i, i:] = matrix[i:, i] = row
        place += many - i
    return matrix


Told = Callable[["np.ndarray[Any, Any]"], "np.ndarray[Any, Any]"]


def link_of(mean: Told, slope: Told, outcome: Whole) -> OutcomeLink:
    """Return the tables of a mean and a slope, each between 0 and 1, at every predictor there can be."""
    eta = np.arange(-FAR, FAR + 1) / ETA
    means = np.clip(np.rint(RESIDUAL * mean(eta)), 0, RESIDUAL).astype(np.int64)
    slopes = np.clip(np.rint(SLOPE * slope(eta)), 0, SLOPE).astype(np.int64)
    return OutcomeLink(outcome=outcome, means=means, slopes=slopes)
