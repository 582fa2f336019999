"""Fitting a distribution to noisy tables, one table at a time, each exactly and no closer than its noise.

What is minimised is log Z(theta) - <theta, y> + 1/2 sum k |theta|^2 over potentials theta, one for each cell of each
table, where y is a table in shares, which may be negative, and k its standard deviation times a constant. Without the
last term it is iterative proportional fitting. With it the steps stop within the noise, and nothing is clipped.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import wrightomega

from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.junction_trees import JunctionTree
from lapwing.publishing.measurements import Table
from lapwing.vocabulary.frozen import frozen

_RIDGE: Final = 0.05
_STEPS, _CLOSE, _FARTHEST = 30, 1e-10, 5.0
_TINY: Final = 1e-300


@frozen()
class FitTarget:
    """A table to fit to: its columns, the share of each cell, and the standard deviation of such a share."""

    axes: Axes
    shares: Table
    sd: float


def step_of_block(now: Table, wanted: Table, potential: Table, sd: float) -> Table:
    """Return the change d of one table's potential: now·e^d/Z - wanted + k (potential + d) = 0, Z = Σ now·e^d.

    With v = wanted/k - potential - d this is v + log v = log(now/k) + wanted/k - potential - log Z, and k Σ v = 1: v is
    Wright's omega of the right side, and log Z is found by Newton's steps.
    """
    ridge = _RIDGE * sd
    base = np.log(np.maximum(now, _TINY)) - math.log(ridge) + wanted / ridge - potential
    log_z = 0.0
    for _ in range(_STEPS):
        v = wrightomega(base - log_z)
        total, slope = ridge * float(v.sum()), ridge * float((v / (1 + v)).sum())
        step = (total - 1) / slope if total < 3 else math.log(total)  # noqa: PLR2004 - far away, Newton's step is too long
        step = max(-_FARTHEST, min(_FARTHEST, step))
        log_z += step
        if abs(step) < _CLOSE:
            break
    change: Table = wanted / ridge - potential - v
    return change


def fit_tree(tree: JunctionTree, targets: Sequence[FitTarget], sweeps: int) -> list[Table]:
    """Return a table for each clique of a tree: given the columns of its separator, it has the law of its others.

    Going along the walk of the tree, a clique first takes over what its neighbour says about the columns that they
    share, and then is fitted to the targets that it is the home of. As a clique is visited after all below it, what it
    says given its separator stands at the end, whatever happens above.
    """
    beliefs = []
    for clique in tree.cliques:
        shape = [tree.codes[a] for a in clique]
        beliefs.append(np.full(shape, 1 / math.prod(shape)))
    homes = [tree.home(one.axes) for one in targets]
    potentials = [np.zeros_like(one.shares) for one in targets]
    path = tree.walk()
    for _ in range(sweeps):
        before = None
        for place in path:
            belief, clique = beliefs[place], tree.cliques[place]
            if before is not None and before in (tree.parents[place], *_children(tree, place)):
                shared = tree.separators[place] if tree.parents[place] == before else tree.separators[before]
                said, own = (
                    marginal_of(beliefs[before], tree.cliques[before], shared),
                    marginal_of(belief, clique, shared),
                )
                belief *= _spread(np.divide(said, own, out=np.zeros_like(own), where=own > 0), shared, clique)
            for number, target in enumerate(targets):
                if homes[number] == place:
                    now = marginal_of(belief, clique, target.axes)
                    change = step_of_block(now, target.shares, potentials[number], target.sd)
                    potentials[number] += change
                    belief *= _spread(np.exp(change), target.axes, clique)
                    belief /= belief.sum()
            before = place
    return beliefs


def _children(tree: JunctionTree, place: int) -> list[int]:
    return [child for child, parent in enumerate(tree.parents) if parent == place]


def marginal_of(table: Table, axes: Axes, kept: Axes) -> Table:
    """Return a table of some of its columns."""
    found: Table = table.sum(axis=tuple(i for i, a in enumerate(axes) if a not in kept))
    return found


def _spread(table: Table, axes: Axes, into: Axes) -> Table:
    """Return a table in a shape that multiplies one of more columns."""
    lengths = dict(zip(axes, table.shape, strict=True))
    return table.reshape([lengths.get(a, 1) for a in into])
