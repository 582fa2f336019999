"""Many numbers as a statement writes them: one list, and the few ranges that are too long for it.

A concept set of 50,000 ids is one parameter, which a database looks values up in, and not 50,000 comparisons. What a
column is *not* is written as the list that is left out. `totality` counts what is written, and the engines write it.
"""

from typing import Final, NamedTuple

from lapwing.queries.predicate import INTEGERS, InIntervals, Interval

FEW: Final = 20
"""So many intervals are written one by one."""
MOST_LISTED: Final = 200_000
_LONGEST_RANGE = 1000


class Listed(NamedTuple):
    """The numbers of `points` and `ranges` if `wanted`, and all others otherwise."""

    points: tuple[int, ...]
    ranges: tuple[Interval, ...]
    wanted: bool = True


def listed(atom: InIntervals) -> Listed | None:
    """Return how the numbers of an atom are listed, or None where its few intervals are written one by one.

    >>> listed(InIntervals(column="x", domain=INTEGERS, intervals=tuple((3 * i, 3 * i) for i in range(50)))).points[:3]
    (0, 3, 6)
    """
    if len(atom.intervals) <= FEW or atom.domain != INTEGERS:
        return None
    taken = _split(atom.intervals)
    if len(taken.ranges) <= FEW:
        return taken
    left_out = _split(INTEGERS.without(atom.intervals))
    return (
        taken if len(taken.ranges) <= len(left_out.ranges) else Listed(left_out.points, left_out.ranges, wanted=False)
    )


def _split(intervals: tuple[Interval, ...]) -> Listed:
    points: list[int] = []
    ranges: list[Interval] = []
    for low, high in intervals:
        if high - low < _LONGEST_RANGE and len(points) + high - low < MOST_LISTED:
            points.extend(range(low, high + 1))
        else:
            ranges.append((low, high))
    return Listed(tuple(points), tuple(ranges))
