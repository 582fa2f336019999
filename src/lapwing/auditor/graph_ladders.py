"""White box of a count of triangles or stars on a ladder: over all graphs of a few people, whatever the ladder.

A ladder claims two things of its widths I_0, I_1, ...: that one edge moves the count by at most I_0, and that I_t of a
neighbouring graph is at most I_(t+1) of this one. Both are looked up for every graph and every edge, and so is the loss
of the law that the widths make. The loss alone is not enough: a ladder that breaks a condition on few people may lose
more than it claims only on many.

Counts are the auditor's own. The widths are the suspect's, or a liar's.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from lapwing.auditor.noise_laws import Reals
from lapwing.auditor.pair_of_laws import PairOfLaws
from lapwing.auditor.white_box import Achieved, measure
from lapwing.vocabulary.guarantee import Guarantee

Edges: TypeAlias = Sequence[tuple[int, int]]
AuditedWidths: TypeAlias = Callable[[Edges], Sequence[int]]

_STEPS = 16
"""Widths that are looked at: beyond that many edges, graphs of five people are all within reach."""

_FAR = 500
"""Answers that are looked at one by one; all that are further off are one."""
_NOTHING = 1e-9


def count_triangles(joined: NDArray[np.int64]) -> int:
    """Return how many threes are joined to one another, from the matrix of who is joined to whom.

    >>> count_triangles(1 - np.eye(4, dtype=np.int64))
    4
    """
    return int(np.trace(joined @ joined @ joined)) // 6


def count_stars(points: int) -> Callable[[NDArray[np.int64]], int]:
    """Return what counts people with so many of those who are joined to them.

    >>> count_stars(2)(1 - np.eye(4, dtype=np.int64))
    12
    """
    return lambda joined: sum(math.comb(int(degree), points) for degree in joined.sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class AuditedLadder:
    """A count on a ladder, over all graphs of so many people.

    `widths` says for the edges of a graph how wide its rungs are; the last is the width of all that follow. A number on
    rung t has weight e^(-rate t).

    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> widest = AuditedLadder(people=4, count=count_triangles, widths=lambda _: [2], rate=0.5)
    >>> widest.broken, widest.worst(PureDP(epsilon=1)).refuted
    ([], False)
    """

    people: int
    count: Callable[[NDArray[np.int64]], int]
    widths: AuditedWidths
    rate: float

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(itertools.combinations(range(self.people), 2))

    @cached_property
    def _graphs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the count and the widths of each graph; bit i of its number says whether it has edge i."""
        counts, widths = [], []
        for number in range(1 << len(self._pairs)):
            edges = self.edges_of(number)
            joined = np.zeros((self.people, self.people), np.int64)
            for one, other in edges:
                joined[one, other] = joined[other, one] = 1
            counts.append(self.count(joined))
            given = list(self.widths(edges))
            widths.append((given + [given[-1]] * _STEPS)[:_STEPS])
        return np.array(counts), np.array(widths)

    def edges_of(self, number: int) -> list[tuple[int, int]]:
        """Return the edges of a graph."""
        return [pair for bit, pair in enumerate(self._pairs) if number >> bit & 1]

    @property
    def broken(self) -> list[str]:
        """The conditions of a ladder that are broken, in words, with how often, and where first."""
        counts, widths = self._graphs
        numbers, found = np.arange(len(counts)), []
        moved = np.stack([np.abs(counts - counts[numbers ^ (1 << bit)]) for bit in range(len(self._pairs))])
        above = np.stack([widths[numbers ^ (1 << bit)][:, :-1] - widths[:, 1:] for bit in range(len(self._pairs))])
        for words, exceeds in (
            ("one edge moves the count by more than the first width", (moved > widths[:, 0]).any(axis=0)),
            ("a width of a neighbour is above the next width", (above > 0).any(axis=(0, 2))),
        ):
            if exceeds.any():
                first = self.edges_of(int(np.flatnonzero(exceeds)[0]))
                found.append(f"{words}: in {int(exceeds.sum())} of {len(counts)} graphs, the first with edges {first}")
        return found

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the most that is lost on any two graphs that differ in one edge."""
        grid = np.arange(-_FAR, _FAR + 1)
        laws = np.stack([self._law(number, grid) for number in range(1 << len(self._pairs))])
        numbers = np.arange(len(laws))
        with np.errstate(invalid="ignore"):  # where neither graph can have an answer
            apart = (np.nan_to_num(np.abs(laws - laws[numbers ^ (1 << bit)])) for bit in range(len(self._pairs)))
            losses = np.stack([each.max(axis=1) for each in apart])
        bit, number = np.unravel_index(int(losses.argmax()), losses.shape)
        return measure(self._pair(int(number), int(number) ^ (1 << int(bit)), laws, grid), claim)

    def _law(self, number: int, grid: NDArray[np.int64]) -> Reals:
        """Return the log-probability of each number of the grid; what lies beyond is not in it."""
        count, widths = int(self._graphs[0][number]), self._graphs[1][number]
        ends = np.concatenate([[0], np.cumsum(widths)])
        far = np.abs(grid - count)
        rungs = np.searchsorted(ends, far, side="left").astype(float)
        last, beyond = int(widths[-1]), far > ends[-1]
        with np.errstate(divide="ignore"):
            if last:
                rungs[beyond] = len(widths) + np.ceil((far[beyond] - ends[-1]) / last)
            else:
                rungs[beyond] = math.inf
            steps = np.arange(1, len(widths) + 1)
            weights = np.concatenate([[0.0], np.log(2.0 * widths) - self.rate * steps])
            tail = math.log(2 * last) - self.rate * (len(widths) + 1) if last else -math.inf
        total = logsumexp([*weights, tail - math.log(-math.expm1(-self.rate))])
        return np.asarray(-self.rate * rungs - total)

    def _pair(self, one: int, other: int, laws: NDArray[np.float64], grid: NDArray[np.int64]) -> PairOfLaws:
        """Return the two laws, with all that is beyond the grid as one more outcome, unless that is next to nothing."""
        sides, outcomes = [laws[one], laws[other]], [*grid.tolist()]
        left = [-math.expm1(min(0.0, float(logsumexp(law)))) for law in sides]
        if min(left) > _NOTHING:
            sides = [np.append(law, math.log(rest)) for law, rest in zip(sides, left, strict=True)]
            outcomes.append(f"beyond {_FAR}")
        here, there = (law - logsumexp(law) for law in sides)
        graphs = [f"the graph with edges {self.edges_of(number)}" for number in (one, other)]
        return PairOfLaws(inputs=(graphs[0], graphs[1]), here=here, there=there, outcomes=outcomes)


def widths_of_the_two_largest_degrees(people: int, points: int) -> AuditedWidths:
    """Return the widths that an earlier star ladder had: from the two largest degrees, joined or not.

    They bound what one edge can do in any graph t edges away, and are no ladder: where the edge that is added joins the
    two, their degrees grow by it, and so do widths that should be those of the next rung.
    """

    def widths(edges: Edges) -> list[int]:
        return _climbed([_by_degree(edges, people)[:2]], people - 1, points)

    return widths


def widths_of_the_top_degrees(people: int, points: int) -> AuditedWidths:
    """Return the widths of a later one: right for each pair, but only of people with nearly the largest degrees.

    A triangle and somebody alone: an edge between two of the triangle makes no star of three points, but one to the
    fourth does. The first condition is broken, and on few people no claim is.
    """

    def widths(edges: Edges) -> list[int]:
        degrees = {who: sum(who in edge for edge in edges) for who in range(people)}
        second = _by_degree(edges, people)[1]
        top = [who for who, degree in degrees.items() if degree >= second - 1]
        pairs = list[list[int]]()
        for one, other in itertools.combinations(top, 2):
            joined = (one, other) in edges
            pairs.append(sorted((degrees[one] - joined, degrees[other] - joined), reverse=True))
        return _climbed(pairs, people - 2, points)

    return widths


def _by_degree(edges: Edges, people: int) -> list[int]:
    return sorted((sum(who in edge for edge in edges) for who in range(people)), reverse=True)


def _climbed(pairs: Sequence[Sequence[int]], most: int, points: int) -> list[int]:
    """Return the widths of pairs of degrees to which edges are added, at first to the larger, up to `most` each."""
    widths = []
    for step in range(_STEPS):
        first = [min(step, most - high) for high, _ in pairs]
        made = [
            math.comb(high + added, points - 1) + math.comb(min(most, low + step - added), points - 1)
            for (high, low), added in zip(pairs, first, strict=True)
        ]
        widths.append(max(made))
    return widths
