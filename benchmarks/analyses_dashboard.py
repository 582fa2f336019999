"""Counts over time: the error of dashboards next to the binary tree and to the best dense factorisation.

Errors are standard deviations of a cumulative count, at the price at which one count has a standard deviation of 1.
They follow from the released sums and have no noise in them: what is computed here is exact, up to floating point. The
best factorisation for the mean square is a fixed point of the dual (Denisov and others, 2022). The largest error is at
least the norm γ₂ of the summing matrix: no factorisation is below the bound of its dual, whose fixed point also has a
factorisation that attains it.
"""

import math
import sys

import numpy as np

from _report import Goals, clock, table
from lapwing.analyses.dashboard_estimates import combinations, prefixes
from lapwing.mechanisms.running_counts import EveryPrefix, RootOfSumming, best_tree

RELEASES = (12, 60, 120, 365, 1000)
DENSE_UP_TO = 365


def errors(scheme, *, pure=False):
    """Return the largest and the mean square error of all cumulative counts."""
    releases = scheme.releases
    if isinstance(scheme, RootOfSumming | EveryPrefix):
        many = [float(np.linalg.norm(one)) for one in combinations(scheme, releases, (), prefixes(releases))]
    else:
        many = [
            float(np.linalg.norm(one))
            for t in range(1, releases + 1)
            for one in combinations(scheme, t, (), prefixes(t)[-1:])
        ]
    words = {"replaced": False, "grouped": False}
    size = math.sqrt(2) * scheme.l1(**words) if pure else math.sqrt(scheme.l2_squared(**words))
    return size * max(many), size * math.sqrt(float(np.mean(np.square(many))))


def binary_tree(releases, *, pure=False):
    """Return the same of the binary tree, whose nodes are released when they are full."""
    levels = math.floor(math.log2(releases)) + 1
    size = math.sqrt(2) * levels if pure else math.sqrt(levels)
    nodes = np.array([t.bit_count() for t in range(1, releases + 1)])
    return size * math.sqrt(nodes.max()), size * math.sqrt(nodes.mean())


def best_dense(releases, most=3000):
    """Return the same of the best lower-triangular factorisation, optimised for the mean square."""
    summing = np.tril(np.ones((releases, releases)))
    square, dual = summing.T @ summing, np.ones(releases)
    for _ in range(most):
        roots = np.sqrt(dual)
        sizes, axes = np.linalg.eigh(roots[:, None] * square * roots)
        new = (axes * axes) @ np.sqrt(np.maximum(sizes, 0))
        done = np.abs(new / dual - 1).max() < 1e-7
        dual = new
        if done:
            break
    roots = np.sqrt(dual)
    sizes, axes = np.linalg.eigh(roots[:, None] * square * roots)
    gram = (axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T / np.outer(roots, roots)
    each = np.diag(summing @ np.linalg.inv(gram) @ summing.T) * np.diag(gram).max()
    return math.sqrt(each.max()), math.sqrt(each.mean())


def least_largest(releases, most=5000):
    """Return a bound below the largest error of every factorisation, and that of a factorisation which comes near it.

    For all u and v of length 1 the trace norm of diag(u)·A·diag(v) is at most the largest row of any left factor times
    the largest column of its right factor. It is largest where u² and v² are the diagonals of the two polar factors.
    """
    summing = np.tril(np.ones((releases, releases)))
    u = v = np.full(releases, 1 / math.sqrt(releases))
    for _ in range(most):
        left, sizes, right = np.linalg.svd(u[:, None] * summing * v)
        rows, columns = (left * left) @ sizes, sizes @ (right * right)
        bound = float(sizes.sum())
        attained = math.sqrt((rows / u**2).max() * (columns / v**2).max())
        if attained < bound * (1 + 1e-6):
            break
        u, v = np.sqrt(rows / bound), np.sqrt(columns / bound)
    return bound, attained


def main():
    goals, rows, pure_rows = Goals(), [], []
    found = {}
    for releases in RELEASES:
        begun = clock()
        ours = errors(RootOfSumming(releases=releases))
        took = clock() - begun
        tree = binary_tree(releases)
        dense = best_dense(releases) if releases <= DENSE_UP_TO else None
        found[releases] = ours, tree, dense
        shown = ["not run", "not run"] if dense is None else [f"{one:.3f}" for one in dense]
        rows.append([f"{releases:,}", *(f"{one:.3f}" for one in (*ours, *tree)), *shown, f"{took:.2f} s"])
        wide, plain = errors(best_tree(releases), pure=True), binary_tree(releases, pure=True)
        pure_rows.append([f"{releases:,}", str(best_tree(releases).width), *(f"{one:.2f}" for one in (*wide, *plain))])
    header = ["releases", "largest", "rms", "tree", "rms", "best dense", "rms", "took"]
    table("Standard deviation of a cumulative count, Gaussian noise", header, rows)
    table("From a pure epsilon of 1", ["releases", "width", "largest", "rms", "binary tree", "rms"], pure_rows)
    ours, tree, _ = found[1000]
    goals.at_most("largest error at 1,000 releases, of the binary tree's", ours[0] / tree[0], 0.35)
    ours, _, dense = found[120]
    goals.at_most("largest error at 120 releases, of the best dense factorisation's", ours[0] / dense[0], 1.04)
    print(f"of the least that any factorisation can have: {ours[0] / least_largest(120)[0]:.3f}")
    goals.close()


if __name__ == "__main__":
    sys.exit(main())
