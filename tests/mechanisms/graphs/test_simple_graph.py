"""A graph is its set of unordered pairs; truncated, one person's edges move it by as much as is proved."""

import itertools

import numpy as np
import pytest

from lapwing.mechanisms.graphs.graph_releases import BoundedDegree, DegreeCounts, GraphCount
from lapwing.mechanisms.graphs.ladders import Triangles
from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from mechanisms.graphs.test_ladders import graphs_of


def test_order_repetition_and_self_loops_are_no_part_of_a_graph() -> None:
    plain = SimpleGraph.of_pairs([(1, 2), (2, 9)], 10)
    other = SimpleGraph.of_pairs([(9, 2), (2, 1), (1, 2), (4, 4), (2, 9)], 10)
    assert plain.ends.tolist() == other.ends.tolist() == [[0, 1], [1, 2]]
    assert plain.known.tolist() == other.known.tolist() == [1, 2, 9]
    assert (plain.edges, plain.degrees.tolist()) == (2, [1, 2, 1])


def test_a_graph_without_edges_has_nobody_in_it() -> None:
    empty = SimpleGraph.of_pairs([], 10)
    assert (empty.edges, empty.degrees.tolist(), list(empty.common())) == (0, [], [])
    assert DegreeCounts(up_to=3).count(empty) == [0, 0, 0]


@pytest.mark.parametrize("at_once", [1, 30, 10**6])
def test_common_neighbours_are_found_block_by_block(monkeypatch, at_once) -> None:
    monkeypatch.setattr("lapwing.mechanisms.graphs.simple_graph._AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    edges = [pair for pair in itertools.combinations(range(25), 2) if rng.random() < 0.2]
    graph = SimpleGraph.of_pairs(edges, 25)
    joined = np.zeros((len(graph.known),) * 2, np.int64)
    for one, other in graph.ends:
        joined[one, other] = joined[other, one] = 1
    paths, degrees = joined @ joined, joined.sum(axis=1)
    found = [
        pair for common, around, _ in graph.common() for pair in zip(common.tolist(), around.tolist(), strict=True)
    ]
    pairs = np.argwhere(np.triu(paths, 1)).tolist()
    assert sorted(found) == sorted((paths[i, j], degrees[i] + degrees[j] - 2 * joined[i, j]) for i, j in pairs)
    left = [one for _, _, one in graph.common()]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    assert graph.count_triangles() == np.trace(paths @ joined) // 6


def test_somebody_who_is_joined_to_everybody_is_no_work(monkeypatch) -> None:
    """A star of 2,000: its pairs with a common neighbour are two million, and one block of them says all."""
    monkeypatch.setattr("lapwing.mechanisms.graphs.simple_graph._AT_ONCE", 10_000)
    hub = SimpleGraph.of_pairs([(0, other) for other in range(1, 2001)], 3000)
    whole, blocks = SimpleGraph.common, []

    def counted(graph):
        for block in whole(graph):
            blocks.append(block)
            yield block

    monkeypatch.setattr(SimpleGraph, "common", counted)
    count, widths = Triangles().climb(hub, 4)
    assert (count, widths) == (0, [1, 1, 2, 3])
    assert len(blocks) <= 2


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("salt", [0, 7])
def test_all_edges_of_one_person_move_a_truncated_graph_by_no_more_than_is_proved(most, salt) -> None:
    """Every graph of five people, and every way to change all edges of one of them."""
    pairs, graphs = graphs_of(5)
    bounded, counted = BoundedDegree(most=most), (GraphCount(), DegreeCounts(up_to=4))
    cut = [SimpleGraph.of_pairs(edges, 5).truncated(most, salt) for edges in graphs]
    assert all(graph.degrees.max(initial=0) <= most for graph in cut)
    counts = [np.array([each.count(graph) for graph in cut]) for each in counted]
    largest = [0, 0]
    own = sum(1 << bit for bit, pair in enumerate(pairs) if 0 in pair)
    others = [number for number in range(1 << len(pairs)) if not number & own]
    mine = [number for number in range(1 << len(pairs)) if number & own == number]
    for base, (one, other) in itertools.product(others, itertools.combinations(mine, 2)):
        for place, numbers in enumerate(counts):
            moved = int(np.abs(numbers[base | one] - numbers[base | other]).sum())
            largest[place] = max(largest[place], moved)
    assert all(moved <= each.moved(bounded) for moved, each in zip(largest, counted, strict=True))
    assert largest[0] == most, "it is attained: less would be too little"


def test_to_drop_everybody_with_more_edges_would_let_one_person_move_more() -> None:
    """A plausible mistake: somebody who joins everybody drops them all."""
    pairs, graphs = graphs_of(5)

    def kept(edges, most=1):
        degree = [sum(who in edge for edge in edges) for who in range(5)]
        return sum(degree[one] <= most and degree[other] <= most for one, other in edges)

    sizes = [kept(edges) for edges in graphs]
    own = [sum(1 << bit for bit, pair in enumerate(pairs) if who in pair) for who in range(5)]
    assert max(abs(sizes[number] - sizes[number & ~mask]) for number in range(len(graphs)) for mask in own) > 1


@pytest.mark.parametrize("counted", [GraphCount(), DegreeCounts(up_to=4), DegreeCounts(up_to=2)], ids=str)
def test_one_edge_moves_counts_of_edges_and_degrees_by_one_and_two(counted) -> None:
    pairs, graphs = graphs_of(5)
    counts = np.array([counted.count(SimpleGraph.of_pairs(edges, 5)) for edges in graphs])
    numbers = np.arange(len(graphs))
    moved = max(int(np.abs(counts - counts[numbers ^ (1 << bit)]).sum(axis=1).max()) for bit in range(len(pairs)))
    assert moved == counted.moved(None)
