"""A table of rows with weights, raked to noisy tables: a model of as many columns as there are.

The rows come from a junction tree of the strongest tables, which cannot hold all of them. Raking changes their weights
until they have all measured tables, as far as these are not noise. Where the columns have few cells in all, the rows
are simply all of them.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.block_fitting import FitTarget, marginal_of, step_of_block
from lapwing.publishing.junction_trees import JunctionTree
from lapwing.publishing.measurements import Table
from lapwing.publishing.public_draws import PublicDraws

Codes = NDArray[np.uint8]
"""A line for each column, with the code of each row."""


class WeightedRows:
    """Rows of codes, and the share of the people that each stands for."""

    def __init__(self, codes: Sequence[int], rows: Codes, shares: Table) -> None:
        self.codes, self.rows, self.shares = tuple(codes), rows, shares / shares.sum()
        self._potentials = dict[Axes, Table]()

    def marginal(self, axes: Axes) -> Table:
        """Return the share of the people in each cell of some columns."""
        return tally(self.rows, self.shares, self.codes, axes)

    def rake(self, targets: Sequence[FitTarget], sweeps: int) -> None:
        """Change the shares until the rows have these tables, as far as they are not noise."""
        for _ in range(sweeps):
            for target in targets:
                places = places_in(self.rows, self.codes, target.axes)
                now = _sums(places, self.shares, target.shares.size)
                there = now > 0
                old = self._potentials.setdefault(target.axes, np.zeros(now.size))
                change = np.zeros(now.size)
                change[there] = step_of_block(now[there], target.shares.ravel()[there], old[there], target.sd)
                self._potentials[target.axes] = old + change
                self.shares *= np.exp(change)[places]
                self.shares /= self.shares.sum()


def places_in(rows: Codes, codes: Sequence[int], axes: Axes) -> NDArray[np.int64]:
    """Return in which cell of some columns each row is, the last column fastest."""
    places = np.zeros(rows.shape[1], np.int64)
    for a in axes:
        places *= codes[a]
        places += rows[a]
    return places


def tally(rows: Codes, weights: Table, codes: Sequence[int], axes: Axes) -> Table:
    """Return the sum of the weights of the rows in each cell of some columns."""
    shape = [codes[a] for a in axes]
    return _sums(places_in(rows, codes, axes), weights, math.prod(shape)).reshape(shape)


def _sums(places: NDArray[np.int64], weights: Table, cells: int) -> Table:
    return np.bincount(places, weights=weights, minlength=cells).astype(np.float64, copy=False)


def rows_of_tree(tree: JunctionTree, beliefs: Sequence[Table], count: int, draws: PublicDraws) -> WeightedRows:
    """Return rows with the law of a fitted tree: all cells with their shares, or `count` rows of one share each."""
    if math.prod(tree.codes) <= count:
        return _all_cells(tree, beliefs)
    rows = np.zeros((len(tree.codes), count), np.uint8)
    for clique, separator, belief in zip(tree.cliques, tree.separators, beliefs, strict=True):
        new = tuple(a for a in clique if a not in separator)
        table = belief.transpose([clique.index(a) for a in (*separator, *new)])
        given = places_in(rows, tree.codes, separator)
        picked = picked_by_line(table.reshape(math.prod(tree.codes[a] for a in separator), -1), given, draws)
        for a in reversed(new):
            picked, rows[a] = np.divmod(picked, tree.codes[a])
    return WeightedRows(tree.codes, rows, np.ones(count))


def _all_cells(tree: JunctionTree, beliefs: Sequence[Table]) -> WeightedRows:
    rows = np.indices(tree.codes, np.uint8).reshape(len(tree.codes), -1)
    shares = np.ones(rows.shape[1])
    for clique, separator, belief in zip(tree.cliques, tree.separators, beliefs, strict=True):
        given = marginal_of(belief, clique, separator).ravel()[places_in(rows, tree.codes, separator)]
        joint = belief.ravel()[places_in(rows, tree.codes, clique)]
        shares *= np.divide(joint, given, out=np.zeros_like(joint), where=given > 0)
    return WeightedRows(tree.codes, rows, shares)


def picked_by_line(table: Table, given: NDArray[np.int64], draws: PublicDraws) -> NDArray[np.int64]:
    """Draw for each row a column of its line of `table`: among rows of one line, counts are rounded expectations."""
    lines, width = table.shape
    order = np.lexsort((draws.take(len(given)), given))
    sorted_lines = given[order]
    first = np.searchsorted(sorted_lines, np.arange(lines))
    many = np.bincount(given, minlength=lines)
    place = (np.arange(len(given)) - first[sorted_lines] + draws.take(lines)[sorted_lines]) / many[sorted_lines]
    rising = np.cumsum(table, axis=1)
    last = rising[:, -1:]
    rising = np.divide(rising, last, out=np.ones_like(rising), where=last > 0)
    stacked = (rising + np.arange(lines)[:, None]).ravel()  # one search for all lines
    found = np.searchsorted(stacked, np.minimum(place, 1 - 1e-12) + sorted_lines, side="right") - sorted_lines * width
    picked = np.empty(len(given), np.int64)
    picked[order] = np.clip(found, 0, width - 1)
    return picked
