"""Quantiles of values on a grid, several in one release: an exponential mechanism over the cells for each of them.

Proof: proofs/grid_quantiles.md
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.noisy_sums import Integers, integers, wrong_size
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ExponentialSelection, Repeated
from lapwing.vocabulary.exact import Exact, positive, probability, whole

_MOST_QUANTILES = 100
_MOST_ROWS = 2**40
"""A cell with more rows counts as if it had so many, so that no score leaves 64 bits."""


@dataclass(frozen=True, slots=True, init=False)
class GridQuantiles:
    """Chooses, for each fraction q, a cell below which about a fraction q of the rows lies: ε-differentially private.

    Let `below` and `upto` be the numbers of rows in the cells before a cell and up to it, of n rows. The cell is off by
    max(0, below - q n, q n - upto) rows; the cell of the quantile is off by none, however many rows it holds. Cells are
    chosen with probabilities that fall exponentially with how far they are off.

    Parameters
    ----------
    at : the fractions, strictly between 0 and 1
    cells : how many cells the grid has; public
    rows_per_person : how many rows of one person count
    adjacency, protects_groups_of : who is protected
    epsilon : the price of all quantiles together

    Examples
    --------
    >>> ages = GridQuantiles(
    ...     at=["0.25", "0.5", "0.75"], cells=5, rows_per_person=1, adjacency=Adjacency.ADD_REMOVE, epsilon=1
    ... )
    >>> ages.release([3_000, 0, 4_000, 1_000, 2_000])
    (0, 2, 3)
    >>> ages.event
    Repeated(part=ExponentialSelection(epsilon=Fraction(1, 3)), times=3)
    >>> round(ages.margin("0.95"))
    25

    Theorem: Smith, *Privacy-preserving statistical estimation with optimal convergence rates*, STOC 2011, for one
    quantile of different values.
    Proof: proofs/grid_quantiles.md
    """

    event: Repeated
    at: tuple[Fraction, ...]
    cells: int
    _choices: tuple[ExponentialMechanism, ...] = field(repr=False)

    def __init__(
        self,
        *,
        at: Sequence[Exact],
        cells: int,
        rows_per_person: int,
        adjacency: Adjacency,
        protects_groups_of: int = 1,
        epsilon: Exact,
    ) -> None:
        fractions = tuple(sorted({probability("at", fraction) for fraction in at}))
        if not 0 < len(fractions) <= _MOST_QUANTILES:
            raise ParameterError("at", at, reason="names no quantile", remedy=f"name from 1 to {_MOST_QUANTILES}")
        each = positive("epsilon", epsilon) / len(fractions)
        rows = whole("rows_per_person", rows_per_person) * whole("protects_groups_of", protects_groups_of)
        choices = tuple(
            ExponentialMechanism(
                sensitivity=rows * score_moves(q, adjacency), candidates=whole("cells", cells, least=2), epsilon=each
            )
            for q in fractions
        )
        event = Repeated(part=ExponentialSelection(epsilon=each), times=len(fractions))
        for name, value in {"event": event, "at": fractions, "cells": int(cells), "_choices": choices}.items():
            object.__setattr__(self, name, value)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return sum((choice.epsilon for choice in self._choices), Fraction(0))

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    def release(self, value: Integers) -> tuple[int, ...]:
        """Return one cell for each of `at`, none below the one before it, from the number of rows in each cell."""
        counts = integers(value)
        if isinstance(counts, int) or counts.shape != (self.cells,):
            del counts, value
            raise wrong_size(self.cells)
        rows = np.clip(counts, 0, _MOST_ROWS)
        chosen = [choice.release(scores(rows, q)) for choice, q in zip(self._choices, self.at, strict=True)]
        return tuple(sorted(chosen))

    def margin(self, confidence: Exact) -> float:
        """Return m such that all quantiles are off by at most m rows, with probability at least `confidence`."""
        share = 1 - (1 - probability("confidence", confidence)) / len(self.at)
        return max(choice.margin(share) / q.denominator for choice, q in zip(self._choices, self.at, strict=True))


def score_moves(q: Fraction, adjacency: Adjacency) -> int:
    """Return by how much one row moves the score of the quantile q = a/b: the larger share, or b where it is exchanged.

    >>> score_moves(Fraction(9, 10), Adjacency.ADD_REMOVE), score_moves(Fraction(9, 10), Adjacency.REPLACE)
    (9, 10)
    """
    match adjacency:
        case Adjacency.ADD_REMOVE:
            return max(q.numerator, q.denominator - q.numerator)
        case Adjacency.REPLACE:
            return q.denominator


def scores(counts: NDArray[np.int64], q: Fraction) -> NDArray[np.int64]:
    """Return, for each cell, -b * how many rows it is off as the quantile q = a/b: whole numbers, 0 where it is right.

    >>> scores(np.array([3, 0, 4, 1, 2]), Fraction(1, 2))
    array([-4, -4,  0, -4, -6])
    """
    upto = np.cumsum(counts)
    below, wanted = upto - counts, q.numerator * upto[-1]
    off: NDArray[np.int64] = np.maximum(q.denominator * below - wanted, wanted - q.denominator * upto)
    return -np.maximum(off, 0)
