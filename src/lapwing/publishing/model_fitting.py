"""From measured residuals to a model of the population. It reads released numbers only, and is the same each time.

1. The pairs that are farthest from independence, beyond their noise, go into a junction tree, while that stays small.
2. Rows with the law of the tree are raked to all pairs and single columns that were measured,
3. and then to the triples as well, each shrunk towards what the rows say already, as far as it may be noise alone
   (James and Stein's factor); a triple of which nothing is left is left out.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.block_fitting import FitTarget, fit_tree
from lapwing.publishing.junction_trees import cells_of_tree, junction_tree
from lapwing.publishing.measurements import Table
from lapwing.publishing.population_model import PopulationModel, whole_weights
from lapwing.publishing.public_draws import PublicDraws
from lapwing.publishing.residual_pool import ResidualPool, moved_by_noise, residual_of
from lapwing.publishing.weighted_rows import WeightedRows, rows_of_tree

MEAN_ABSOLUTE: Final = math.sqrt(2 / math.pi)
"""The mean of the absolute value of a standard normal variate."""
ROWS: Final = 200_000
_SWEEPS, _SWEEPS_OF_TREE = 5, 6
_CELLS_OF_TREE: Final = 100_000
_LEAST: Final = 1e-9


def fit_model(pool: ResidualPool, *, seed: str = "0", rows: int = ROWS) -> PopulationModel:
    """Return the model of what was measured: the total and all single columns at least, and pairs and triples."""
    ones: list[Axes] = [(a,) for a in range(len(pool.codes))]
    alone = one_by_one(pool)
    strongest = _strongest(pool, alone)
    chosen = list(ones)
    for axes in strongest:
        if cells_of_tree(pool.codes, [*chosen, axes]) <= _CELLS_OF_TREE:
            chosen.append(axes)
    largest = [axes for axes in chosen if not any(set(axes) < set(one) for one in chosen)]
    tree = junction_tree(pool.codes, largest)
    beliefs = fit_tree(tree, [_as_measured(pool, axes) for axes in largest], _SWEEPS_OF_TREE)
    fitted = rows_of_tree(tree, beliefs, rows, PublicDraws(seed))
    low = [*_shrunk(pool, pool.of_size(2), fitted), *(_as_measured(pool, axes) for axes in ones)]
    fitted.rake(low, _SWEEPS)
    high = [
        one for size in range(3, 1 + max(map(len, pool.precision))) for one in _shrunk(pool, pool.of_size(size), fitted)
    ]
    if high:
        fitted.rake([*high, *low], _SWEEPS)
    return PopulationModel(pool.codes, fitted.rows, whole_weights(fitted.shares, round(pool.total)))


def one_by_one(pool: ResidualPool) -> Callable[[Axes], Table]:
    """Return a function that gives the share of each cell, were all columns independent of each other."""
    shares = []
    for a in range(len(pool.codes)):
        table = np.maximum(pool.marginal((a,)), _LEAST)
        shares.append(table / table.sum())

    def independent(axes: Axes) -> Table:
        table = np.ones(())
        for a in axes:
            table = np.multiply.outer(table, shares[a])
        return table

    return independent


def _strongest(pool: ResidualPool, alone: Callable[[Axes], Table]) -> list[Axes]:
    """Return the measured pairs that are farther from independence than their noise, the farthest first."""
    found = dict[Axes, float]()
    for axes in pool.of_size(2):
        gap = pool.residual(axes) - residual_of(alone(axes) * pool.total, axes, axes)
        noise = MEAN_ABSOLUTE * gap.size * math.sqrt(moved_by_noise(pool.codes, axes) / pool.precision[axes])
        found[axes] = float(np.abs(gap).sum()) - noise
    return sorted((axes for axes in found if found[axes] > 0), key=lambda axes: (-found[axes], axes))


def _as_measured(pool: ResidualPool, axes: Axes) -> FitTarget:
    return FitTarget(axes=axes, shares=pool.marginal(axes) / pool.total, sd=math.sqrt(pool.variance(axes)) / pool.total)


def _shrunk(pool: ResidualPool, sets: Sequence[Axes], fitted: WeightedRows) -> list[FitTarget]:
    """Return targets whose top residual is drawn towards that of the rows, as far as the gap may be noise."""
    targets = []
    for axes in sets:
        prior = fitted.marginal(axes) * pool.total
        gap = pool.residual(axes) - residual_of(prior, axes, axes)
        noise = math.prod(pool.codes[a] - 1 for a in axes) / pool.precision[axes]
        kept = max(0.0, 1 - noise / max(float((gap**2).sum()), 1e-300))
        if kept > 0 or len(axes) == 2:  # noqa: PLR2004 - a pair is raked to in any case: to what the rows say
            shares = (pool.marginal(axes, prior) - (1 - kept) * gap) / pool.total
            targets.append(FitTarget(axes=axes, shares=shares, sd=math.sqrt(pool.variance(axes)) / pool.total))
    return targets
