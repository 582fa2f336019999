"""The ladders of triangles and stars, against the definition: all graphs of five people, and larger ones by hand."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from lapwing.auditor.graph_ladders import (
    AuditedLadder,
    count_stars,
    count_triangles,
    widths_of_the_top_degrees,
    widths_of_the_two_largest_degrees,
)
from lapwing.mechanisms.graphs.ladders import Stars, Triangles, check_people, number_of_widths
from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import PureDP

SHAPES = {
    "triangles": (Triangles(), count_triangles),
    **{f"stars of {points}": (Stars(points=points), count_stars(points)) for points in (2, 3, 4, 5)},
}
STEPS = 12


def graphs_of(people):
    """Return all pairs of people, and the edges of each graph by its number."""
    pairs = list(itertools.combinations(range(people), 2))
    return pairs, [[pair for bit, pair in enumerate(pairs) if number >> bit & 1] for number in range(1 << len(pairs))]


@cache
def climbed_by(shape, edges, number, people=5):
    """Return what a shape says of a graph, which several tests ask for."""
    return shape.climb(SimpleGraph.of_pairs(edges, people), number)


@pytest.mark.parametrize("name", SHAPES)
def test_widths_are_the_largest_change_of_one_edge_within_so_many_edges(name) -> None:
    """By the maxima of neighbours, from the counts alone: no formula."""
    shape, count = SHAPES[name]
    pairs, graphs = graphs_of(5)
    climbed = [climbed_by(shape, tuple(edges), STEPS) for edges in graphs]
    counts, numbers = np.array([each for each, _ in climbed]), np.arange(len(graphs))
    for edges, (counted, _) in itertools.islice(zip(graphs, climbed, strict=True), 0, None, 7):
        joined = np.zeros((5, 5), np.int64)
        for one, other in edges:
            joined[one, other] = joined[other, one] = 1
        assert counted == count(joined)
    neighbours = [numbers ^ (1 << bit) for bit in range(len(pairs))]
    reached = np.max([np.abs(counts - counts[near]) for near in neighbours], axis=0)
    for step in range(STEPS):
        assert [widths[step] for _, widths in climbed] == reached.tolist(), step
        reached = np.max([reached, *(reached[near] for near in neighbours)], axis=0)
    assert reached.max() == shape.most(5)


def ladder(shape, count, people):
    def widths(edges):
        return [*climbed_by(shape, tuple(edges), STEPS, people)[1], shape.most(people)]

    return AuditedLadder(people=people, count=count, widths=widths, rate=0.5)


LOSSES = {"triangles": 0.743, "stars of 3": 0.831, "stars of 5": 0.0}
"""At epsilon 1, as a second listing of all graphs of five people has them."""


@pytest.mark.parametrize("name", LOSSES)
def test_both_conditions_of_a_ladder_hold_and_the_loss_is_the_one_that_is_known(name) -> None:
    audited = ladder(*SHAPES[name], 5)
    assert audited.broken == []
    assert audited.worst(PureDP(epsilon=1)).number == pytest.approx(LOSSES[name], abs=6e-4)


def test_a_public_number_of_widths_after_which_all_are_the_largest_is_a_ladder_too() -> None:
    for shape, count in SHAPES.values():
        for kept in (1, 3):

            def cut(edges, shape=shape, kept=kept):
                return [*shape.climb(SimpleGraph.of_pairs(edges, 4), kept)[1], shape.most(4)]

            assert AuditedLadder(people=4, count=count, widths=cut, rate=0.5).broken == []


@pytest.mark.parametrize("people", [4, 5])
def test_star_ladders_that_are_none_are_seen_by_their_conditions(people) -> None:
    audit = {
        "next width": widths_of_the_two_largest_degrees(people, 3),
        "first width": widths_of_the_top_degrees(people, 3),
    }
    for words, widths in audit.items():
        liar = AuditedLadder(people=people, count=count_stars(3), widths=widths, rate=0.5)
        assert [words in one for one in liar.broken] == [True]


def test_a_ladder_of_top_degrees_is_not_seen_by_its_loss_alone() -> None:
    liar = AuditedLadder(people=5, count=count_stars(3), widths=widths_of_the_top_degrees(5, 3), rate=0.5)
    assert not liar.worst(PureDP(epsilon=1)).refuted


def test_other_mistakes_about_triangles_are_seen() -> None:
    def local_sensitivity_alone(edges):
        return [climbed_by(Triangles(), tuple(edges), STEPS)[1][0]]

    def people_from_the_data(edges):
        fewer = max(len({who for edge in edges for who in edge}), 3)
        return [*climbed_by(Triangles(), tuple(edges), STEPS, fewer)[1], Triangles().most(fewer)]

    for widths in (local_sensitivity_alone, people_from_the_data):
        assert AuditedLadder(people=5, count=count_triangles, widths=widths, rate=0.5).broken


def by_all_pairs(edges, people, points, step):
    """Return a width of the star ladder by going through all pairs and all ways to spend the edges."""
    joined = {frozenset(edge) for edge in edges}
    degree = [sum(who in edge for edge in joined) for who in range(people)]
    best = 0
    for one, other in itertools.combinations(range(people), 2):
        both = frozenset((one, other)) in joined
        first, second = degree[one] - both, degree[other] - both
        for spent in range(step + 1):
            ends = min(people - 2, first + spent), min(people - 2, second + step - spent)
            best = max(best, sum(math.comb(end, points - 1) for end in ends))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_widths_of_larger_graphs_come_from_all_pairs(seed) -> None:
    rng = np.random.default_rng(seed)
    people = 14
    edges = [pair for pair in itertools.combinations(range(people), 2) if rng.random() < [0.1, 0.3, 0.6, 0.9][seed]]
    graph = SimpleGraph.of_pairs(edges, people)
    for points in (2, 3, 5):
        _, widths = Stars(points=points).climb(graph, 8)
        assert widths == [by_all_pairs(edges, people, points, step) for step in range(8)]
    joined = {frozenset(edge) for edge in edges}
    near = [{who for who in range(people) if frozenset((one, who)) in joined} for one in range(people)]
    for step, width in enumerate(Triangles().climb(graph, 8)[1]):
        reached = 0
        for one, other in itertools.combinations(range(people), 2):
            common, either = near[one] & near[other], (near[one] ^ near[other]) - {one, other}
            reached = max(reached, len(common) + (step + min(step, len(either))) // 2)
        assert width == min(people - 2, reached)


@pytest.mark.parametrize("name", SHAPES)
def test_assumed_widths_are_never_too_narrow_where_what_is_assumed_is_so(name) -> None:
    shape, _ = SHAPES[name]
    for edges in graphs_of(5)[1][::25]:
        graph = SimpleGraph.of_pairs(edges, 5)
        shared = max((int(common.max(initial=0)) for common, _, _ in graph.common()), default=0)
        assumed = shared if isinstance(shape, Triangles) else int(graph.degrees.max(initial=0))
        for width, bound in zip(shape.climb(graph, 8)[1], shape.widths_if(assumed, 5, 8), strict=True):
            assert width <= bound


def test_the_number_of_widths_follows_from_public_numbers() -> None:
    assert number_of_widths(Fraction(1, 2), 998) == 74
    assert number_of_widths(Fraction(1, 10**9), 998) == 1 << 16


@pytest.mark.parametrize("points", [1, 21, 2.5, True])
def test_stars_have_two_to_twenty_points(points) -> None:
    with pytest.raises(ParameterError):
        Stars(points=points)


def test_two_people_make_no_triangle() -> None:
    with pytest.raises(ParameterError, match="declare 3 or more"):
        check_people(2)
