"""Releases about a graph: numbers of edges and of people by degree with noise, numbers of shapes by a ladder.

A mechanism here opens pairs of people, makes them a graph in which each unordered pair is once, and releases whole
numbers. Neighbouring graphs differ in one edge; where degrees are bounded, in all edges of one person.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.graphs.ladders import CountedShape, Widths, check_people, number_of_widths
from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.noise_mechanism import Priced
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE
from lapwing.noise.rungs import draw_on_ladder
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ExponentialSelection
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, fill, float_below, positive, probability
from lapwing.vocabulary.frozen import frozen

Pairs: TypeAlias = Iterable[tuple[Any, ...]]
"""Pairs of whole numbers, as an engine has them for keys; a mapping from pairs is one."""
WholeNoiseOf: TypeAlias = GeometricMechanism | DiscreteGaussianMechanism


@frozen()
class BoundedDegree:
    """At most `most` edges of a person count, taken in a public order: then all edges of a person are protected.

    Proof: proofs/truncated_graphs.md
    """

    most: int
    salt: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", as_int("max_degree", self.most, most=2**20))


@frozen()
class GraphCount:
    """The number of edges."""

    def moved(self, bounded: BoundedDegree | None) -> int:
        """Return how far one edge, or all edges of one person, moves what is counted, in L1 norm."""
        return 1 if bounded is None else bounded.most

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return 1

    def count(self, graph: SimpleGraph) -> list[int]:
        """Return what is counted."""
        return [graph.edges]


@frozen()
class DegreeCounts(GraphCount):
    """For each of 1 ... `up_to`, how many people have at least so many edges."""

    up_to: int

    def moved(self, bounded: BoundedDegree | None) -> int:
        """Return how far one edge, or all edges of one person, moves the counts together: each edge has two ends."""
        return 2 * GraphCount.moved(self, bounded)

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return self.up_to

    def count(self, graph: SimpleGraph) -> list[int]:
        """Return how many people have at least each number of edges."""
        most = np.bincount(np.minimum(graph.degrees, self.up_to), minlength=self.up_to + 1)
        at_least: list[int] = np.cumsum(most[::-1])[::-1][1:].tolist()
        return at_least


@frozen()
class NoisyGraphCounts:
    """Numbers of edges, or of people by degree, with noise.

    Parameters
    ----------
    counted : what is counted
    people : how many people there are, a public number
    bounded : how many edges of a person count, where a person is protected with all their edges
    noise : a mechanism for as many numbers, which one protected change moves by `sensitivity`
    units : how many such changes are hidden together
    """

    counted: GraphCount
    people: int
    noise: WholeNoiseOf
    bounded: BoundedDegree | None = None
    units: int = 1

    def __post_init__(self) -> None:
        check_people(self.people)
        moved = self.counted.moved(self.bounded) * as_int("units", self.units)
        if isinstance(self.noise, GeometricMechanism):
            paid, due = self.noise.event.l1_sensitivity, moved
        else:
            paid, due = self.noise.event.l2_sensitivity_squared, moved**2
        if paid < due:
            raise ValueError(f"noise for a sensitivity of {paid} is too little for one of {due}")

    def release(self, value: "Sensitive[Pairs] | Pairs") -> list[int]:
        """Return the numbers with noise."""
        graph = _opened(value, self.people)
        if self.bounded is not None:
            graph = graph.truncated(self.bounded.most, self.bounded.salt)
        exact = np.array(self.counted.count(graph), np.int64)
        released: list[int] = np.asarray(self.noise.release(exact)).tolist()
        return released


@frozen(init=False)
class LadderMechanism(Priced[ExponentialSelection]):
    """Counts a shape by its ladder: ε-differentially private for any `edges` edges together, with whole numbers.

    A number on rung t around the truth has a weight of e^(-ε t/(2 edges)). One edge more or less moves every number by
    at most one rung, so that this is the exponential mechanism, whose loss lies in an interval of length ε.

    >>> from lapwing.mechanisms.graphs.ladders import Triangles
    >>> ladder = LadderMechanism(shape=Triangles(), people=1000, epsilon=20)
    >>> ladder.release([(1, 2), (2, 3), (3, 1), (1, 1), (2, 1)]) in range(-100, 100)
    True

    Theorem: Zhang, Cormode, Procopiuc, Srivastava, Xiao, *Private release of graph statistics using ladder functions*,
    SIGMOD 2015, Theorem 4.2.
    Proof: proofs/ladder.md
    """

    shape: CountedShape
    people: int
    rate: Fraction

    def __init__(self, *, shape: CountedShape, people: int, epsilon: Exact, edges: int = 1) -> None:
        price = positive("epsilon", epsilon)
        rate = price / (2 * as_int("edges", edges))
        if not SMALLEST_SCALE <= 1 / rate <= LARGEST_SCALE:  # before anything is charged, and not when it is drawn
            reason = f"is out of range where {edges} edges are hidden together"
            remedy = f"stay between {2 * edges}/{LARGEST_SCALE} and {2 * edges / SMALLEST_SCALE}"
            raise ParameterError("epsilon", epsilon, reason=reason, remedy=remedy)
        event = ExponentialSelection(epsilon=price)
        fill(self, event=event, shape=shape, people=check_people(people), rate=rate)

    @property
    def number(self) -> int:
        """How many widths are looked up, whatever the graph: after them, all are the largest there are."""
        return number_of_widths(self.rate, self.shape.most(self.people))

    def release(self, value: "Sensitive[Pairs] | Pairs") -> int:
        """Return how many of the shape there are, with noise."""
        count, widths = self.shape.climb(_opened(value, self.people), self.number)
        return count + draw_on_ladder([*widths, self.shape.most(self.people)], self.rate)

    def margin_if(self, assumed: int, confidence: Exact = "0.95") -> int:
        """Return how far off the count is at most, with this confidence, in graphs of which something is assumed.

        That is, for triangles, that no two people have more than so many neighbours in common; for stars, that nobody
        has more than so many edges. Whether it is so is not looked up.
        """
        supposed = as_int("assumed", assumed, least=0, most=self.people - 1)
        widths = self.shape.widths_if(supposed, self.people, self.number)
        return _reach([*widths, self.shape.most(self.people)], self.rate, probability("confidence", confidence))


def _opened(value: "Sensitive[Pairs] | Pairs", people: int) -> SimpleGraph:
    opened = value.open_for_release() if isinstance(value, Sensitive) else value
    return SimpleGraph.of_pairs(opened, people)


def _reach(widths: Widths, rate: Fraction, confidence: Fraction) -> int:
    """Return how far from the truth this part of a ladder's law reaches, in floating point, rounded up."""
    falls = np.exp(-float(rate) * np.arange(1, len(widths) + 1))
    weights = 2 * np.array(widths, float) * falls
    tail = 2 * float(widths[-1]) * falls[-1] * float(np.exp(-float(rate))) / -np.expm1(-float(rate))
    summed = np.concatenate([[1.0], weights]).cumsum()
    wanted = float_below(confidence) * (summed[-1] + tail) * (1 + 1e-9)
    rung = int(np.searchsorted(summed, wanted))
    if rung == 0:
        return 0
    if rung > len(widths):
        further = np.log((summed[-1] + tail - wanted) / tail) / -float(rate)
        return sum(widths) + (int(further) + 1) * widths[-1]
    part = (wanted - summed[rung - 1]) / weights[rung - 1]
    return sum(widths[: rung - 1]) + min(widths[rung - 1], int(part * widths[rung - 1]) + 1)
