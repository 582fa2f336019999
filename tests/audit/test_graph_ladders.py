"""Counts in a graph watched from outside, on five people: what is true stands, and plausible mistakes do not."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.auditor.black_box import audit
from lapwing.mechanisms.graphs.graph_releases import DegreeCounts, LadderMechanism
from lapwing.mechanisms.graphs.ladders import Stars, Triangles
from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.noise.rungs import draw_on_ladder
from lapwing.vocabulary.guarantee import PureDP

BOTH = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
NEIGHBOURS = (BOTH, [*BOTH, (0, 1)])
"""Two people who are joined to all others; the edge between them makes three triangles."""
DRAWS = 1_500


def found(many, claim=2, neighbours=NEIGHBOURS):
    return audit(many=many, claim=PureDP(epsilon=claim), neighbours=neighbours, samples=DRAWS)


def drawn(mechanism):
    """Return draws as the mechanism makes them, of a graph whose widths are looked up once."""

    def many(edges, size):
        count, widths = mechanism.shape.climb(SimpleGraph.of_pairs(edges, 5), mechanism.number)
        steps = [*widths, mechanism.shape.most(5)]
        return np.array([count + draw_on_ladder(steps, mechanism.rate) for _ in range(size)])

    return many


def with_noise(count, noise):
    """Return draws of whole numbers with noise, each counted once."""

    def many(edges, size):
        exact = np.array(count(edges), np.int64)
        return noise.release(np.tile(exact, size)).reshape(size, -1)

    return many


@pytest.mark.parametrize("shape", [Triangles(), Stars(points=3)], ids=str)
def test_a_ladder_keeps_its_promise_and_not_a_quarter_of_it(shape) -> None:
    ladder = LadderMechanism(shape=shape, people=5, epsilon=4)
    assert not found(drawn(ladder), 4).refuted
    assert found(drawn(ladder), 1).refuted


def triangles(edges):
    return [Triangles().climb(SimpleGraph.of_pairs(edges, 5), 1)[0]]


def degrees(edges):
    return DegreeCounts(up_to=4).count(SimpleGraph.of_pairs(edges, 5))


def test_noise_for_one_edge_that_forgets_what_it_makes_is_seen() -> None:
    """A count with noise of scale 1/epsilon: as if an edge were in one triangle."""
    assert found(with_noise(triangles, GeometricMechanism(l1_sensitivity=1, epsilon=2))).refuted
    assert not found(with_noise(triangles, GeometricMechanism(l1_sensitivity=3, epsilon=2))).refuted


def test_noise_of_the_local_sensitivity_of_the_graph_is_seen() -> None:
    """Where nobody is joined, no edge makes a triangle: there is no noise, and any other number tells."""

    def many(edges, size):
        count, widths = Triangles().climb(SimpleGraph.of_pairs(edges, 5), 1)
        return np.array([count + draw_on_ladder(widths, Fraction(2)) for _ in range(size)])

    assert found(many, neighbours=([(0, 1)], [(0, 1), (1, 2)])).refuted


def test_duplicates_that_count_are_seen() -> None:
    """An edge that is there under three keys is counted three times, and paid for once."""
    thrice = (BOTH, [*BOTH, (0, 1), (1, 0), (0, 1)])
    noise = GeometricMechanism(l1_sensitivity=1, epsilon=2)
    assert found(with_noise(lambda rows: [len(rows)], noise), neighbours=thrice).refuted
    edges = with_noise(lambda rows: [SimpleGraph.of_pairs(rows, 5).edges], noise)
    assert not found(edges, neighbours=thrice).refuted


def test_degrees_that_pay_for_one_end_of_an_edge_are_seen() -> None:
    assert found(with_noise(degrees, GeometricMechanism(l1_sensitivity=1, epsilon=2))).refuted
    assert not found(with_noise(degrees, GeometricMechanism(l1_sensitivity=2, epsilon=2))).refuted


def test_a_number_of_people_that_is_taken_from_the_edges_is_seen() -> None:
    """Who is in the graph is public by declaration; counted from the edges it tells that somebody has none."""

    def many(edges, size):
        people = len({one for edge in edges for one in edge})
        noisy = GeometricMechanism(l1_sensitivity=1, epsilon=2).release(np.full(size, len(edges), np.int64))
        return np.column_stack([noisy, np.full(size, people)])

    neighbours = ([(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 3)])
    assert found(many, neighbours=neighbours).refuted
    assert not found(lambda edges, size: many(edges, size)[:, 0], neighbours=neighbours).refuted
