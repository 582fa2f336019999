"""Graphical models that stay small: which cliques a set of tables takes, and the tree that they hang together in.

Columns are eliminated one after the other; a clique is a column with all that it is then joined to. Column sets are bit
masks here while a tree is built. In the tree, the columns that a clique shares with all before it are in its parent.

Koller and Friedman, *Probabilistic graphical models*, chapters 9 and 10.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from lapwing.mechanisms.residual_basis import Axes
from lapwing.vocabulary.frozen import frozen

_RULES: Final = ("cells", "fill")


@frozen()
class JunctionTree:
    """Cliques in an order in which each comes after its parent; `parents` has -1 for a root.

    `separators` are the columns that a clique shares with its parent.
    """

    codes: tuple[int, ...]
    cliques: tuple[Axes, ...]
    parents: tuple[int, ...]
    separators: tuple[Axes, ...]

    def home(self, axes: Axes) -> int:
        """Return the place of the smallest clique that has all of these columns."""
        fits = [place for place, clique in enumerate(self.cliques) if set(axes) <= set(clique)]
        return min(fits, key=lambda place: math.prod(self.codes[a] for a in self.cliques[place]))

    def walk(self) -> list[int]:
        """Return the cliques in an order in which neighbours follow each other, from each root and back to it."""
        path = list[int]()

        def visit(place: int) -> None:
            path.append(place)
            for child, parent in enumerate(self.parents):
                if parent == place:
                    visit(child)
                    path.append(place)

        for root, parent in enumerate(self.parents):
            if parent < 0:
                visit(root)
        return path


def junction_tree(codes: Sequence[int], wanted: Sequence[Axes]) -> JunctionTree:
    """Return a tree whose cliques hold all wanted sets of columns.

    >>> junction_tree((2, 2, 2, 2), [(0, 1), (1, 2), (3,)]).cliques
    ((3,), (0, 1), (1, 2))
    """
    masks = sorted(_cliques(codes, wanted, _RULES)[1])
    left, order, parents = list(range(len(masks))), list[int](), list[int]()
    nearest = [(-1, -1)] * len(masks)  # with how many columns a clique hangs on which one that is in the tree
    while left:
        place = max(left, key=lambda one: (nearest[one][0], -_cells(codes, masks[one]), -one))
        left.remove(place)
        shared, parent = nearest[place]
        parents.append(parent if shared > 0 else -1)
        for one in left:
            common = (masks[place] & masks[one]).bit_count()
            if common > nearest[one][0]:
                nearest[one] = (common, len(order))
        order.append(place)
    cliques = [_axes(masks[place]) for place in order]
    separators = [
        tuple(a for a in clique if parent >= 0 and a in cliques[parent])
        for clique, parent in zip(cliques, parents, strict=True)
    ]
    return JunctionTree(
        codes=tuple(codes), cliques=tuple(cliques), parents=tuple(parents), separators=tuple(separators)
    )


def cells_of_tree(codes: Sequence[int], wanted: Iterable[Axes]) -> int:
    """Return how many cells the cliques of a tree for these sets have, found quickly."""
    return _cliques(codes, wanted, _RULES[:1])[0]


def _cliques(codes: Sequence[int], wanted: Iterable[Axes], rules: Sequence[str]) -> tuple[int, list[int]]:
    """Return the maximal cliques with the fewest cells that one of the rules finds."""
    joined = [1 << a for a in range(len(codes))]
    for axes in wanted:
        mask = sum(1 << a for a in axes)
        for a in axes:
            joined[a] |= mask
    found = []
    for rule in rules:
        kept = list[int]()
        for mask in sorted(_eliminated(codes, list(joined), rule), key=lambda one: (-one.bit_count(), one)):
            if not any(mask & ~one == 0 for one in kept):
                kept.append(mask)
        found.append((sum(_cells(codes, mask) for mask in kept), kept))
    return min(found, key=lambda one: one[0])


def _eliminated(codes: Sequence[int], joined: list[int], rule: str) -> list[int]:
    """Eliminate the column that costs least, until none is left; return the clique that each makes."""
    left, made = set(range(len(codes))), list[int]()
    while left:
        column = min(left, key=lambda a: (_cost(codes, joined, a, rule), a))
        clique = joined[column]
        made.append(clique)
        left.remove(column)
        others = clique & ~(1 << column)
        for a in _axes(others):
            joined[a] = (joined[a] | others) & ~(1 << column)
    return made


def _cost(codes: Sequence[int], joined: Sequence[int], column: int, rule: str) -> tuple[int, int]:
    clique = joined[column]
    cells = _cells(codes, clique)
    if rule == "cells":
        return cells, 0
    return sum((clique & ~joined[a]).bit_count() for a in _axes(clique)), cells


def _cells(codes: Sequence[int], mask: int) -> int:
    return math.prod(codes[a] for a in _axes(mask))


def _axes(mask: int) -> Axes:
    return tuple(a for a in range(mask.bit_length()) if mask >> a & 1)
