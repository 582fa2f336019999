"""Counts in graphs: the error of the ladder beside other mechanisms at the same epsilon, and the time of an answer.

    make bench-graphs                       half a minute

The peers are written here by their definitions, in NumPy: noise for the worst case, smooth sensitivity with Laplace
noise, which needs a delta of 1e-6, and with Cauchy noise (Nissim, Raskhodnikova, Smith 2007); for degrees, the sorted
sequence with noise (Hay and others 2009). The graphs are made up: contacts in space, a power law with clusters, twice,
and households. Medians of errors are exact: those of the laws themselves.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.spatial import cKDTree

from _report import Goals, clock, table
from lapwing.graphs.graph_answers import _falling
from lapwing.mechanisms.graphs.graph_releases import DegreeCounts, LadderMechanism, _reach
from lapwing.mechanisms.graphs.ladders import Stars, Triangles
from lapwing.mechanisms.graphs.simple_graph import SimpleGraph
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.noise.rungs import draw_on_ladder

RNG = np.random.default_rng(5)  # noqa: TID251 - made-up people, and whoever is compared
DRAWS = 100
DELTA = 1e-6


def in_space(people, radius):
    return {tuple(sorted(pair)) for pair in cKDTree(RNG.random((people, 2))).query_pairs(radius)}


def by_power_law(people, each, clustered):
    """Return a graph that grows: newcomers join people by degree, then friends of these (Holme, Kim 2002)."""
    ends, near = list(range(each)), [set() for _ in range(people)]
    for one in range(each, people):
        last = None
        while len(near[one]) < each:
            friends = [] if last is None else sorted(near[last] - near[one] - {one})
            other = friends[RNG.integers(len(friends))] if friends and RNG.random() < clustered else None
            if other is None:
                last = other = ends[RNG.integers(len(ends))]
            if other != one:
                near[one].add(other)
                near[other].add(one)
        ends += [one] * each + sorted(near[one])
    return {(one, other) for one, friends in enumerate(near) for other in friends if one < other}


def of_households(number, size, moved):
    """Return households in which everybody is joined, but for some edges that lead elsewhere."""
    edges = set()
    for start in range(0, number * size, size):
        for i in range(start, start + size):
            for j in range(i + 1, start + size):
                end = int(RNG.integers(number * size)) if RNG.random() < moved else j
                if end != i:
                    edges.add((min(i, end), max(i, end)))
    return edges


def graphs():
    return {
        "in space, 2,000": (in_space(2000, 0.05), 2000),
        "power law, 5,000": (by_power_law(5000, 5, 0.5), 5000),
        "households, 6,000": (of_households(1500, 4, 0.2), 6000),
        "power law, 50,000": (by_power_law(50_000, 5, 0.5), 50_000),
    }


def smooth(widths, most, beta):
    """Return the smooth sensitivity: the largest width, discounted by its distance."""
    reached = np.array(widths, float) * np.exp(-beta * np.arange(len(widths)))
    return max(float(reached.max()), most * math.exp(-beta * len(widths)))


def measured(shape, graph, goals, name):
    rows, people = [], graph.people
    for epsilon in (0.1, 1.0):
        mechanism = LadderMechanism(shape=shape, people=people, epsilon=Fraction(str(epsilon)))
        start = clock()
        count, widths = shape.climb(graph, max(mechanism.number, 4000))
        spent = clock() - start
        steps = [*widths[: mechanism.number], shape.most(people)]
        start = clock()
        for _ in range(DRAWS):
            draw_on_ladder(steps, mechanism.rate)
        each = (clock() - start) / DRAWS
        off = _reach(steps, mechanism.rate, Fraction(1, 2))
        worst = math.log(2) * shape.most(people) / epsilon
        beta = epsilon / (2 * math.log(2 / DELTA))
        with_delta = math.log(2) * 2 * smooth(widths, shape.most(people), beta) / epsilon
        cauchy = 6 * smooth(widths, shape.most(people), epsilon / 6) / epsilon
        figures = [f"{one / count:.2e}" for one in (off, with_delta, cauchy, worst)]
        rows.append([f"{name}, epsilon {epsilon}", f"{count:,}", *figures, f"{spent:.2f} s", f"{1000 * each:.1f} ms"])
        if isinstance(shape, Triangles):
            goal = f"triangles of {name} at epsilon {epsilon}, of the error of the worst-case bound"
            goals.at_most(goal, off / worst, 0.05)
            goals.at_most("the same, of smooth sensitivity with a delta of 1e-6", off / with_delta, 1.2)
    return rows


def spread(graph, goals, name):
    rows, degrees = [], np.zeros(graph.people, np.int64)
    degrees[: graph.degrees.size] = graph.degrees
    most = 200
    exact = np.array(DegreeCounts(up_to=most).count(graph))
    for epsilon in (0.5,):
        noise = GeometricMechanism(l1_sensitivity=2, epsilon=Fraction(str(epsilon)), dimension=most)
        ours, sorted_ = [], []
        for _ in range(10):
            fitted = np.clip(_falling(noise.release(exact).tolist()), 0, graph.people)
            ours.append(np.abs(fitted - exact).max() / graph.people)
            noisy = np.sort(degrees)[::-1] + RNG.laplace(0, 2 / epsilon, graph.people)
            hay = np.rint(_falling(noisy.tolist()))
            counts = np.array([np.count_nonzero(hay >= j) for j in range(1, most + 1)])
            sorted_.append(np.abs(counts - exact).max() / graph.people)
        rows.append([f"{name}, epsilon {epsilon}", f"{np.mean(ours):.4f}", f"{np.mean(sorted_):.4f}"])
        goal = f"degrees of {name}, largest error of that of the sorted sequence"
        goals.at_most(goal, float(np.mean(ours) / np.mean(sorted_)), 0.2)
    return rows


def main() -> None:
    goals, shapes, degrees = Goals(), [], []
    for name, (edges, people) in graphs().items():
        graph = SimpleGraph.of_pairs(edges, people)
        shapes += measured(Triangles(), graph, goals, name)
        if people < 50_000:
            shapes += [[f"stars of 3: {row[0]}", *row[1:]] for row in measured(Stars(points=3), graph, goals, name)]
        degrees += spread(graph, goals, name)
    peers = ["ladder (pure)", "smooth, delta", "smooth, pure", "worst case"]
    header = ["median relative error", "count", *peers, "widths", "draw"]
    table("Triangles, and stars of three points", header, shapes)
    table("How degrees are spread: largest error of a share of people", ["", "ours", "sorted"], degrees)
    goals.close()


if __name__ == "__main__":
    main()
