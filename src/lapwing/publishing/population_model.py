"""A model of a population: rows of codes, each of which stands for so many people, in 1/1024 of one.

Weights are whole numbers, so that every sum is exact, in any order, on any machine. How many people it says are in a
box is one function, `counts`, wherever it is asked for: what is certified is what is shown.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.covers import cover
from lapwing.publishing.measurements import Table
from lapwing.publishing.public_draws import PublicDraws
from lapwing.publishing.weighted_rows import Codes, tally
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most

Box: TypeAlias = Mapping[int, Sequence[bool]]
"""For each of some columns, by its place, which of its codes are meant; all codes of the others."""
Whole: TypeAlias = NDArray[np.int64]
UNIT: Final = 1024
"""Parts of a person that weights are counted in: with these a model is off by less than one person from its fit."""
MOST_ROWS: Final = 10_000_000
_WIDEST: Final = 1 << 16
"""Cells of the tables that are made for many boxes at once."""
_MOST_CELLS: Final = 1 << 24
_MOST_KEPT: Final = 1 << 22
"""Cells of all tables that a model keeps for later questions."""


class PopulationModel:
    """People by columns of so many `codes`: `rows` has a line for each column, and `weights` what each row stands for.

    All that it says is exact arithmetic on these, and the same after it was saved.

    >>> model = PopulationModel((2, 2), np.array([[0, 0, 1], [0, 1, 1]], np.uint8), np.array([2048, 1024, 512]))
    >>> model.marginal((0,)).tolist()
    [3.0, 0.5]
    >>> model.count({0: [True, False]}), model.count({}), model.counts([{}, {1: [False, True]}]).tolist()
    (3, 4, [4, 2])
    """

    def __init__(self, codes: Sequence[int], rows: Codes, weights: Whole) -> None:
        self.codes, self.rows, self.weights = tuple(codes), rows, weights
        self._kept = dict[Axes, Whole]()

    @property
    def people(self) -> int:
        """How many people it has."""
        return int(in_people(self.weights.sum()))

    @cached_property
    def digest(self) -> str:
        """The digest of its rows and weights: two models with the same one say the same about everything."""
        hashed = sha256(repr(self.codes).encode())
        hashed.update(np.ascontiguousarray(self.rows).tobytes())
        hashed.update(self.weights.astype("<i8").tobytes())
        return hashed.hexdigest()

    def units(self, axes: Axes) -> Whole:
        """Return the table of some columns, in rising order of their places, in 1/1024 of a person, exactly."""
        wider = next((one for one in self._kept if set(axes) <= set(one)), None)
        if wider is not None:
            return np.asarray(self._kept[wider].sum(axis=tuple(i for i, a in enumerate(wider) if a not in axes)))
        check_most("cells of a table", math.prod(self.codes[a] for a in axes), _MOST_CELLS, "ask for fewer columns")
        # Sums of whole numbers below 2^53 are exact in floating point.
        table = tally(self.rows, self.weights.astype(np.float64), self.codes, axes).astype(np.int64)
        if sum(one.size for one in self._kept.values()) + table.size <= _MOST_KEPT:
            self._kept[axes] = table
        return table

    def marginal(self, axes: Axes) -> Table:
        """Return the number of people in each cell of some columns, in rising order of their places."""
        return self.units(axes) / UNIT

    def count(self, box: Box) -> int:
        """Return how many people are in a box, to the nearest whole number."""
        return int(self.counts([box])[0])

    def counts(self, boxes: Sequence[Box]) -> Whole:
        """Return how many people are in each of many boxes, to the nearest whole number."""
        by_axes = dict[Axes, list[int]]()
        for place, box in enumerate(boxes):
            by_axes.setdefault(self._axes(box), []).append(place)
        self.prepare(by_axes)
        found = np.zeros(len(boxes), np.int64)
        for axes, places in by_axes.items():
            masks = [np.array([boxes[place][a] for place in places], np.int64) for a in axes]
            found[places] = in_people(_in_boxes(self.units(axes), masks))
        return found

    def equal_rows(self, count: int, seed: str = "0") -> Codes:
        """Return `count` rows of equal weight, a line for each column, each as often as its weight says, to within one.

        They are every so many people of the model's rows in a lexicographic order of its columns, which follows
        from the seed, as does the order in which they are returned. Only whole numbers are added and compared.
        """
        check_most("rows", count, MOST_ROWS, "take weights=True, which says the same in fewer rows")
        total = int(self.weights.sum())
        if count <= 0 or total <= 0:
            return self.rows[:, :0]
        draws = PublicDraws(seed)
        order = np.lexsort([self.rows[a] for a in draws.order(len(self.codes))])
        rising = np.cumsum(self.weights[order])
        start = int(draws.take(1)[0] * total)
        # The i-th of them stands at (i total + start)/count, rounded down, among all units.
        wanted = (np.arange(count, dtype=object) * total + start) // count if total * count >= 1 << 62 else None
        at = (np.arange(count) * total + start) // count if wanted is None else wanted.astype(np.int64)
        return self.rows[:, order[np.searchsorted(rising, at, side="right")][draws.order(count)]]

    def prepare(self, wanted: Iterable[Axes]) -> None:
        """Make few wide tables that hold all that are wanted: a sum of cells is quicker than one of rows."""
        missing = [axes for axes in wanted if not any(set(axes) <= set(one) for one in self._kept)]
        if len(missing) > 1:
            for axes in cover(self.codes, missing, _WIDEST):
                self.units(axes)

    def _axes(self, box: Box) -> Axes:
        axes = tuple(sorted(box))
        for a in axes:
            if not 0 <= a < len(self.codes) or len(box[a]) != self.codes[a]:
                raise BadQuestionError(
                    f"a box of column {a} says which of its {self._many(a)} codes it means, one by one"
                )
        return axes

    def _many(self, column: int) -> int:
        return self.codes[column] if 0 <= column < len(self.codes) else 0


def in_people(units: "Whole | np.int64") -> Whole:
    """Return 1/1024ths of people as whole people, halves upwards: the one place where a model is rounded."""
    return np.asarray((units + UNIT // 2) // UNIT)


def _in_boxes(table: Whole, masks: Sequence[Whole]) -> Whole:
    """Return the sum of a table in each of many boxes, which say by a line of 0 and 1 which codes they mean."""
    if not masks:
        return table
    found = np.tensordot(masks[0], table, axes=(1, 0))  # whole numbers: no sum depends on its order
    for mask in masks[1:]:
        found = np.einsum("bi,bi...->b...", mask, found)
    return np.asarray(found)


def whole_weights(shares: Table, people: int) -> Whole:
    """Return shares as weights that add up to so many people: rounded down, and up where the rest is largest."""
    wanted = shares * (people * UNIT / float(shares.sum()))
    weights = np.floor(wanted).astype(np.int64)
    missing = people * UNIT - int(weights.sum())
    if missing > 0:
        weights[np.argsort(weights - wanted, kind="stable")[:missing]] += 1
    return weights
