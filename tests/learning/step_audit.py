"""A step of descent seen from inside: its exact law over all samples of a few people, and what it gives away.

With few people all samples can be listed. Each has a chance, a sum and a noise, so a step on a table is a known mixture
of normal laws, and the delta of two neighbouring tables at an epsilon is an integral. It shares no code with the
mechanism but the clip that is handed in, and knows nothing of accounting.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

Law = list[tuple[float, float, float]]
"""Chance, mean and standard deviation of each part of a mixture."""


class StepSuspect(NamedTuple):
    """A way to take a step: the samples of people and their chances, the sum of a sample, the noise on it."""

    samples: Callable[[int], list[tuple[float, tuple[int, ...]]]]
    released: Callable[[Sequence[Sequence[float]]], tuple[float, float]]


def law_of(suspect: StepSuspect, people: Sequence[Sequence[float]]) -> Law:
    """Return the law of a step: each person is a list of the gradients of their rows."""
    chances: dict[tuple[float, float], float] = {}
    for chance, sample in suspect.samples(len(people)):
        released = suspect.released([people[i] for i in sample])
        chances[released] = chances.get(released, 0.0) + chance
    return [(chance, *released) for released, chance in chances.items()]


def delta(here: Law, there: Law, epsilon: float) -> float:
    """Return the delta of two laws at an epsilon, the larger of both orders."""
    ends = [m + side * 12 * s for _, m, s in (*here, *there) for side in (-1, 1)]
    x = np.linspace(min(ends), max(ends), 20_001)
    p, q = (sum(c * norm.pdf(x, m, s) for c, m, s in law) for law in (here, there))
    both = [np.maximum(a - np.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))]
    return float(max(both) * (x[1] - x[0]))


def poisson(rate: float) -> Callable[[int], list[tuple[float, tuple[int, ...]]]]:
    """Return the samples that hold each person on a coin of their own."""

    def samples(people: int) -> list[tuple[float, tuple[int, ...]]]:
        chosen = itertools.product((0, 1), repeat=people)
        return [
            (float(np.prod([rate if one else 1 - rate for one in bits])), tuple(i for i, b in enumerate(bits) if b))
            for bits in chosen
        ]

    return samples


def of_fixed_size(size: int) -> Callable[[int], list[tuple[float, tuple[int, ...]]]]:
    """Return the samples of a shuffled batch of this many people."""

    def samples(people: int) -> list[tuple[float, tuple[int, ...]]]:
        found = list(itertools.combinations(range(people), min(size, people)))
        return [(1 / len(found), one) for one in found]

    return samples


def clipped(gradient: float) -> float:
    return max(-1.0, min(1.0, gradient))


def honest(rate: float, sigma: float) -> StepSuspect:
    """Return the step as it should be: one clipped sum a person, and noise of a fixed size on the sum of all."""
    return StepSuspect(poisson(rate), lambda people: (sum(clipped(sum(rows)) for rows in people), sigma))
