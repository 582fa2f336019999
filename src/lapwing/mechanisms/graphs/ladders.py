"""How far one edge can move a count of triangles or stars: here, and in every graph that is t edges away.

A ladder gives each graph widths I_0, I_1, ... such that

1. one edge added or removed moves the count by at most I_0, and
2. I_t of a neighbouring graph is at most I_(t+1) of this one.

The largest change that one edge can make in any graph at most t edges away has both properties. A bound of it has the
first and may well not have the second, and then the answer is not private: so the widths here are exactly that largest
change, and nothing is left out because it seems small.

After a public number of widths, all are the largest that there are in any graph. That is a ladder too, and it makes the
work the same for every graph.

Proof: proofs/ladder.md
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import ClassVar, Final, Protocol, TypeAlias

import numpy as np

from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen

Widths: TypeAlias = list[int]

FEWEST_PEOPLE: Final = 3
MOST_IN_A_STAR: Final = 20
_TAIL_BITS: Final = 40
_MOST_WIDTHS: Final = 1 << 16


class CountedShape(Protocol):
    """A shape that is counted, by a ladder."""

    unit: ClassVar[str]

    def most(self, people: int) -> int:
        """Return the most by which one edge moves the count in any graph of so many people."""

    def climb(self, graph: SimpleGraph, number: int) -> tuple[int, Widths]:
        """Return how many there are in a graph, and the first widths of its ladder."""

    def widths_if(self, assumed: int, people: int, number: int) -> Widths:
        """Return widths that no graph exceeds of which something is assumed."""


@frozen()
class Triangles:
    """Three people of whom each two are joined."""

    unit: ClassVar = "triangles"

    def most(self, people: int) -> int:
        """Return the most by which one edge moves the count: everybody else may be joined to both ends."""
        return people - 2

    def climb(self, graph: SimpleGraph, number: int) -> tuple[int, Widths]:
        """Return how many triangles there are, and the widths.

        A pair with `common` neighbours has one more with each edge from somebody who is joined to one of the two, and
        with two edges from somebody who is joined to neither. All pairs count but those that can be no better than one
        that was found: who did not come yet has at most `left` edges.
        """
        best = {0: _most_around(graph)}
        for common, around, left in graph.common():
            most = np.full(int(common.max(initial=0)) + 1, -1, np.int64)
            np.maximum.at(most, common, around)
            for shared in np.flatnonzero(most >= 0).tolist():
                best[shared] = max(best.get(shared, 0), int(most[shared]))
            if any(shared >= left and beside >= 2 * left for shared, beside in best.items()):
                break
        return graph.count_triangles(), self._climbed(best, graph.people, number)

    def widths_if(self, assumed: int, people: int, number: int) -> Widths:
        """Return widths that hold wherever no two people have more than so many neighbours in common."""
        return self._climbed({assumed: 2 * people}, people, number)

    def _climbed(self, best: dict[int, int], people: int, number: int) -> Widths:
        steps = np.arange(number, dtype=np.int64)
        widths = np.zeros(number, np.int64)
        for shared, around in best.items():
            widths = np.maximum(widths, np.minimum(shared + steps, (steps + around) // 2))
        capped: Widths = np.minimum(widths, self.most(people)).tolist()
        return capped


def _most_around(graph: SimpleGraph) -> int:
    """Return the most people who are joined to one or both of a pair, over all pairs, the two of them left out.

    A common neighbour is counted twice. Such a pair has wider widths by its common neighbours, so that this decides
    only where there are none.
    """
    apart = max((one + other for one, other in _apart(graph)), default=0)
    joined = graph.degrees[graph.ends].sum(axis=1) - 2
    return max(apart, int(joined.max(initial=0)))


@frozen()
class Stars:
    """A person in the middle who is joined to each of `points` others: with 2 points, a path of two edges."""

    unit: ClassVar = "stars"
    points: int

    def __post_init__(self) -> None:
        points = as_int("points", self.points, least=2, most=MOST_IN_A_STAR)
        object.__setattr__(self, "points", points)

    def most(self, people: int) -> int:
        """Return the most by which one edge moves the count: both ends may be joined to everybody else."""
        return 2 * math.comb(people - 2, self.points - 1)

    def climb(self, graph: SimpleGraph, number: int) -> tuple[int, Widths]:
        """Return how many stars there are, and the widths, from the edges that the two of each pair have to others.

        With more edges most stars arise where they go to the end that has more, and then to the other.
        """
        sizes, times = np.unique(graph.degrees, return_counts=True)
        each = zip(sizes.tolist(), times.tolist(), strict=True)
        count = sum(math.comb(size, self.points) * many for size, many in each)
        joined = np.unique(np.sort(graph.degrees[graph.ends] - 1, axis=1), axis=0).tolist()
        pairs = {(high, low) for low, high in joined} | {*_apart(graph)}
        return count, self._climbed(_front(pairs), graph.people, number)

    def widths_if(self, assumed: int, people: int, number: int) -> Widths:
        """Return widths that hold wherever nobody has more than so many edges."""
        return self._climbed([(min(assumed, people - 2),) * 2], people, number)

    def _climbed(self, pairs: Sequence[tuple[int, int]], people: int, number: int) -> Widths:
        others, chosen = people - 2, self.points - 1
        full = min(number, 2 * others + 1)  # after so many edges both ends are joined to everybody
        arising = [math.comb(size, chosen) for size in range(others + 1)] if others <= full else None

        def stars(size: int) -> int:
            return math.comb(size, chosen) if arising is None else arising[size]

        widths = [0] * full
        for high, low in pairs:
            for step in range(full):
                first = min(step, others - high)
                made = stars(high + first) + stars(min(others, low + step - first))
                widths[step] = max(widths[step], made)
        return widths + [self.most(people)] * (number - full)


def _apart(graph: SimpleGraph) -> list[tuple[int, int]]:
    """Return the degrees, the larger first, of pairs who are not joined, so that every other such pair has no more.

    People come by their degrees. Each is paired with the first after them to whom they are not joined; whoever has no
    more edges than the smaller of a pair before can be left out, with all that follow.
    """
    degrees = graph.degrees
    order = np.argsort(-degrees, kind="stable").tolist()
    found, least = list[tuple[int, int]](), -1
    for place, one in enumerate(order):
        size = int(degrees[one])
        if size <= least:
            break
        joined = graph.neighbours[one]
        after = islice(order, place + 1, None)
        other = next((int(degrees[who]) for who in after if who not in joined), None)
        if other is None and graph.people > len(order):
            other = 0  # somebody without an edge
        if other is not None and other > least:
            found.append((size, other))
            least = other
    return found if order else [(0, 0)]


def _front(pairs: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs that no other exceeds in both numbers."""
    kept, least = list[tuple[int, int]](), -1
    for high, low in sorted(pairs, reverse=True):
        if low > least:
            kept.append((high, low))
            least = low
    return kept


def number_of_widths(rate: Fraction, most: int) -> int:
    """Return how many widths are computed: so many that next to nothing is drawn beyond them.

    It follows from public numbers. Any number is private; fewer would only cost accuracy.
    """
    bits = most.bit_length() + (rate.denominator // rate.numerator).bit_length() + _TAIL_BITS
    return min(_MOST_WIDTHS, math.ceil(Fraction(7, 10) * bits / rate) + 1)


def check_people(people: int) -> int:
    """Return how many people there are, if they can make a triangle."""
    number = as_int("people", people, least=1, most=2**62)
    if number < FEWEST_PEOPLE:
        raise ParameterError("people", people, reason="are too few", remedy=f"declare {FEWEST_PEOPLE} or more")
    return number
