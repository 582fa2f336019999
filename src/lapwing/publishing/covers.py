"""Which tables to count: few wider ones that hold all that are wanted. A scan of the people costs more than a sum."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from lapwing.mechanisms.residual_basis import Axes
from lapwing.queries.limits import MOST_KEYS
from lapwing.vocabulary.deadline import spend

FEW_CELLS: Final = 4096
"""Cells of a counted table, where no wanted one has more: so many counters fit the nearest cache of a processor."""


def maximal(wanted: Iterable[Axes]) -> list[Axes]:
    """Return the sets that are in no other one.

    >>> maximal([(0,), (0, 1), (1, 2), (1,)])
    [(0, 1), (1, 2)]
    """
    sets = sorted({*wanted}, key=lambda axes: (-len(axes), axes))
    kept = list[Axes]()
    for axes in sets:
        spend(1 + len(kept) // 100)
        if not any(set(axes) <= set(one) for one in kept):
            kept.append(axes)
    return sorted(kept)


def cover(codes: Sequence[int], wanted: Iterable[Axes], most: int = FEW_CELLS) -> list[Axes]:
    """Return column sets of at most `most` cells, or that of a wanted one if it has more, that hold every wanted set.

    It is greedy: the largest set that is left, and then, one after the other, the column that brings most other sets in
    for the cells that it takes.

    >>> cover([2, 2, 2, 50], [(0, 1), (0, 2), (1, 2), (0, 3)], most=64)
    [(0, 1, 2), (0, 3)]
    """
    left, tables = {frozenset(axes) for axes in wanted}, list[Axes]()
    while left:
        chosen = max(left, key=lambda axes: (math.prod(codes[a] for a in axes), sorted(axes)))
        while len(chosen) < MOST_KEYS:
            spend(1 + len(left) // 10)
            room = most // math.prod(codes[a] for a in chosen)
            held = sum(axes <= chosen for axes in left)
            brought = dict.fromkeys((a for a in range(len(codes)) if a not in chosen and codes[a] <= room), held)
            for axes in left:
                missing = axes - chosen
                if len(missing) == 1 and (only := next(iter(missing))) in brought:
                    brought[only] += 1
            if not brought:
                break
            chosen |= {max(brought, key=lambda a: (brought[a] / math.log(codes[a]), -a))}
        tables.append(tuple(sorted(chosen)))
        left -= {axes for axes in left if axes <= chosen}
    return sorted(tables)
