"""What a person adds in each round of a regression: whole numbers, whose length is bounded before anything is summed.

A row holds the columns and, last, the outcome, each as a whole number from 0 to its extent. Everything else here is
public: declared, or computed from what earlier rounds released and then made whole. So a person's vector is a function
of that person's row alone, and comes out the same on every engine and machine: it is computed with numbers of the
machine that are whole and below 2^53, which are exact. Vectors are columns: of all rows at once, a number is an array.

- round A: 1, x, x², y, y², on [-1, 1]: where the columns lie, and how far they reach;
- round B: the products of (1, x', y') for centred and scaled columns, weighted: how the columns go together;
- rounds C: at a guess, the gradient x~ψ, the curvature (√h x~)(√h x~)ᵀ and the squared residual ψ², weighted, for
  columns x~ that are white: how to step.

The weight w = k/16 of a person (Mallows) is the largest for which w|x~| is at most a radius. It depends on the columns
and not on the outcome, so the model remains true of the weighted people.

Proof: proofs/regression_rounds.md
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.mechanisms.row_sums import BESIDE, DIAGONAL, Added, BoundedSum, Reals, WhatRowsAdd, Whole, mapped
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
ROOT: Final = 2**10
"""What stands for the root of the largest slope."""
ETA: Final = 2**12
"""What stands for 1 in a linear predictor."""
FAR: Final = 16 * ETA
"""Linear predictors are clipped to this: means and slopes are tables between."""
_SHIFT: Final = 16
_MOST_FACTOR, _MOST_CONSTANT = 2**40, 2**56
_EXACT: Final = 2**53
"""Whole numbers below this are real numbers of the machine, and so are their sums."""
_MOST_WHITE: Final = 2**23
"""Further than any column that has a weight, and 51 squares of it are below 2^53."""
_MOST_PREDICTED: Final = 2**40
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


def weights(squared: Reals, radius: int) -> Reals:
    """Return the largest k up to 16 with k²·squared at most 256·radius, for squared lengths and a squared radius.

    >>> weights(np.array([100.0, 101, 400, 1e9, 0]), 100).tolist()
    [16.0, 15.0, 8.0, 0.0, 16.0]
    """
    k = np.sqrt(radius * LEVELS**2 / np.maximum(squared, 1.0))
    return np.asarray(np.floor(np.minimum(k, LEVELS, out=k), out=k))


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


@frozen()
class Affine:
    """Whole numbers (x·factors + constants) / 2^16, rounded, of centred columns x."""

    factors: Whole
    constants: Whole

    @staticmethod
    def near(factors: Any, constants: Any) -> "Affine":
        """Return the nearest one to real factors and constants; those that could wrap around are clipped."""
        return Affine(factors=_whole(factors, _MOST_FACTOR), constants=_whole(constants, _MOST_CONSTANT))

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


class _OnRows:
    """Affine maps, one below the other, of the columns of rows as they are read: how to compute them exactly."""

    def __init__(self, grid: ColumnGrid, *maps: Affine) -> None:
        steps, extents = grid.steps[:-1, None], np.array(grid.extents[:-1], np.int64)
        factors = np.column_stack([one.factors for one in maps]) * steps
        self._factors: Whole = 2 * factors.T
        middle = np.concatenate([one.constants for one in maps]) - extents @ factors
        self._constants: Whole = middle + 2 ** (_SHIFT - 1)
        farthest = [
            sum(abs(int(one)) * int(extent) for one, extent in zip(row, extents, strict=True)) + abs(int(constant))
            for row, constant in zip(self._factors, self._constants, strict=True)
        ]
        self._real = max(farthest) < _EXACT
        """No sum, nor a part of one, can reach 2^53, so that real numbers are as exact, and faster: a public fact."""
        self._in_steps = np.column_stack([self._factors, self._constants]) * 0.5**_SHIFT
        self._far = max(farthest[:-1], default=0) >> _SHIFT >= _MOST_WHITE

    def of(self, rows: Whole) -> Reals:
        """Return the numbers of each row, rounded to steps and clipped: all to 2^23, but those of the last map."""
        if self._real:
            read = np.empty((rows.shape[1], len(rows)))
            read[:-1], read[-1] = rows.T[:-1], 1.0
            told = mapped(self._in_steps, read)
            np.floor(told, out=told)
        else:
            whole = (self._factors @ rows[:, :-1].T.astype(np.int64) + self._constants[:, None]) >> _SHIFT
            told = np.clip(whole, -_MOST_PREDICTED, _MOST_PREDICTED).astype(np.float64)
        if self._far:
            np.clip(told[:-1], -_MOST_WHITE, _MOST_WHITE, out=told[:-1])
        return told


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
    many, extents = len(grid.extents), np.array(grid.extents, np.float64)[:, None]

    def add(rows: Whole) -> list[Added]:
        told = np.empty((1 + 2 * many, len(rows)))
        told[0] = ON_UNIT
        unit, squares = told[1 : 1 + many], told[1 + many :]
        np.multiply(rows.T, 2 * ON_UNIT / extents, out=unit)
        unit -= ON_UNIT
        np.multiply(unit, unit, out=squares)
        squares *= 1 / ON_UNIT
        return [(told, None)]

    longest = math.isqrt(ON_UNIT**2 * (1 + 2 * many)) + 1
    asked = BoundedSum(numbers=1 + 2 * many, longest=longest, rho=rho[0])
    return RegressionRound(sums=(asked,), add=add, units=(2**asked.fall / ON_UNIT,))


def scatter(grid: ColumnGrid, scaled: Affine, outcome: Whole, rho: Sequence[Fraction]) -> RegressionRound:
    """Return round B: the products of 1, the scaled columns and the outcome, weighted, as an upper triangle.

    `outcome` is a table: what stands for each value of the outcome, within ±`WHITE`.
    """
    columns = len(grid.extents) - 1
    nothing = Affine.near(np.zeros((columns, 1)), [0])  # where the outcome comes to stand
    radius, on_rows = radius_squared(columns + 1), _OnRows(grid, scaled, nothing)
    told = np.clip(outcome, -WHITE, WHITE).astype(np.float64)

    def add(rows: Whole) -> list[Added]:
        vectors = np.empty((columns + 2, len(rows)))
        vectors[0] = WHITE
        vectors[1:] = on_rows.of(rows)
        k = weights(np.einsum("ij,ij->j", vectors[:-1], vectors[:-1]), radius)
        vectors[-1] = told[rows[:, -1]]
        vectors *= k
        return [(vectors, None)]

    longest = _root_above(LEVELS**2 * (radius + WHITE**2))
    asked = BoundedSum(numbers=columns + 2, longest=longest, rho=rho[0], squared=True)
    return RegressionRound(sums=(asked,), add=add, units=(2**asked.fall / (DIAGONAL * LEVELS**2 * WHITE**2),))


@frozen()
class OutcomeLink:
    """The mean and the slope of the outcome at a linear predictor, as whole numbers of residual and slope steps.

    Without tables the mean is the predictor itself, and the slope is 1 where the residual is within its bounds.
    """

    outcome: Whole
    """What stands for each value of the outcome, in steps of the residual."""
    means: Whole | None = None
    roots: Whole | None = None
    """The roots of slopes."""

    def residuals(self, eta: Reals, outcomes: Whole) -> tuple[Reals, Reals]:
        """Return the residual of each row, within its bounds, and the root of the slope."""
        told = self.outcome[outcomes]
        if self.means is None or self.roots is None:
            residual = np.clip(told - eta, -RESIDUAL, RESIDUAL)
            return residual, np.where(np.abs(residual) < RESIDUAL, float(ROOT), 0.0)
        place = np.clip(eta + FAR, 0, 2 * FAR).astype(np.intp)
        residual = np.clip(told - self.means[place], -RESIDUAL, RESIDUAL).astype(np.float64)
        return residual, np.clip(self.roots[place], 0, ROOT).astype(np.float64)


def step(
    grid: ColumnGrid, white: Affine, predictor: Affine, link: OutcomeLink, rho: Sequence[Fraction]
) -> RegressionRound:
    """Return a round C: gradient, curvature and squared residual at a guess, each weighted, each a sum of its own."""
    many = white.factors.shape[1]
    radius, on_rows = radius_squared(many), _OnRows(grid, white, predictor)

    def add(rows: Whole) -> list[Added]:
        told = on_rows.of(rows)
        residual, root = link.residuals(told[-1], rows[:, -1])
        near = told[:-1]
        k = weights(np.einsum("ij,ij->j", near, near), radius)
        residual *= k
        near *= k
        return [(near, residual), (near * (root / ROOT), None), (residual[None], None)]

    # k|x~| <= 16·R and k|ψ| <= 16 · RESIDUAL, as k <= 16; where a root is less than 1, half a step a number is added
    longest, largest = _root_above(LEVELS**2 * radius), LEVELS * RESIDUAL
    sums = (
        BoundedSum(numbers=many, longest=longest, rho=rho[0], factor=largest),
        BoundedSum(numbers=many, longest=longest + 1 + math.isqrt(many) // 2, rho=rho[1], squared=True),
        BoundedSum(numbers=1, longest=largest, rho=rho[2], squared=True),
    )
    units = (
        2 ** sums[0].fall / (LEVELS**2 * WHITE * RESIDUAL),
        2 ** sums[1].fall / (DIAGONAL * LEVELS**2 * WHITE**2),
        2 ** sums[2].fall / (DIAGONAL * LEVELS**2 * RESIDUAL**2),
    )
    return RegressionRound(sums=sums, add=add, units=units)


def _root_above(squared: int) -> int:
    """Return the least whole number whose square is no less."""
    return math.isqrt(squared - 1) + 1


def unfolded(triangle: Sequence[int], many: int) -> "np.ndarray[Any, Any]":
    """Return the symmetric matrix of an upper triangle, in steps of its diagonal."""
    matrix, place = np.zeros((many, many)), 0
    for i in range(many):
        row = np.array(triangle[place : place + many - i], np.float64)
        row[1:] *= DIAGONAL / BESIDE
        matrix[i, i:] = matrix[i:, i] = row
        place += many - i
    return matrix


KNOTS: Final = np.arange(-FAR, FAR + 1) / ETA
"""Every linear predictor that tables are for."""


def tables_of(means: Any, slopes: Any) -> tuple[Whole, Whole]:
    """Return means and the roots of slopes at the knots, each between 0 and 1, as whole numbers."""
    told = np.clip(np.rint(RESIDUAL * means), 0, RESIDUAL), np.clip(np.rint(ROOT * np.sqrt(slopes)), 0, ROOT)
    return told[0].astype(np.int64), told[1].astype(np.int64)
