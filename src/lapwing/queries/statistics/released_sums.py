"""Released Bernstein sums of one cell: the averages that they give, and the lengths at which tests of them refuse.

Proof: proofs/moment_intervals.md
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np

from lapwing.mechanisms.weighted_sums import Reach, Weights
from lapwing.queries.statistics.bernstein import degree_of, raw, weight_of

Ends: TypeAlias = tuple[float, float]

_CHORDS = 2


@dataclass(frozen=True)
class ReleasedSums:
    """The released sums of one cell, of `values` values that go from 0 to 1, and the averages over rows they give."""

    sums: tuple[int, ...]
    values: int

    @cached_property
    def degree(self) -> int:
        """The degree of the polynomials."""
        return degree_of(self.values, self.sums)

    @cached_property
    def rows(self) -> int:
        """The number of rows, in units of one row."""
        return sum(self.sums)

    @property
    def one(self) -> Weights:
        """The weights of 1: their sum is the number of rows."""
        return self.power(*[0] * self.values)

    def power(self, *powers: int) -> Weights:
        """Return the weights of a product of powers of the values."""
        return _power(self.degree, powers)

    def average(self, *powers: int) -> float:
        """Return the average of a product of powers."""
        return float(raw(self.sums, self.degree, powers) / self.rows)

    def spread(self, one: tuple[int, ...], other: tuple[int, ...]) -> float:
        """Return the covariance of two values; of a value with itself, its variance."""
        both = tuple(a + b for a, b in zip(one, other, strict=True))
        mean, mean_of_other, product = (raw(self.sums, self.degree, powers) for powers in (one, other, both))
        return float((product - mean * mean_of_other / self.rows) / self.rows)

    def centred(self, *powers: int) -> Weights:
        """Return the weights of a product of powers of the values, each around its average."""
        means = [self.average(*(int(i == axis) for i in range(self.values))) for axis in range(self.values)]
        weights = np.zeros(len(self.sums))
        for lower in itertools.product(*(range(power + 1) for power in powers)):
            parts = zip(powers, lower, means, strict=True)
            weights += math.prod(math.comb(k, i) * (-mean) ** (k - i) for k, i, mean in parts) * self.power(*lower)
        return weights

    def around(self, form: Weights, reach: Reach) -> Ends:
        """Return how far below and above 0 a c may be so that noise explains the sum of form - c, which 0 makes 0."""
        whole = reach.of(self.one)

        def far(sign: int) -> float:
            return length(self.rows, whole, lambda u: reach.of(form - sign * u * self.one))

        return far(-1), far(1)


@lru_cache(maxsize=64)
def _power(degree: int, powers: tuple[int, ...]) -> Weights:
    places = itertools.product(range(degree + 1), repeat=len(powers))
    return np.array([float(weight_of(degree, place, powers)) for place in places])


def length(rows: float, one: float, reach_at: Callable[[float], float]) -> float:
    """Return u with rows * u >= reach_at(u), near the least; `reach_at` is convex and rises by at most `one` < `rows`.

    What is left over, rows * u - reach_at(u), is concave. Where it is not negative, the chord from 0 meets zero between
    the root and there.
    """
    start = reach_at(0.0)
    far = start / (rows - one)
    for _ in range(_CHORDS):
        over = max(0.0, rows * far - reach_at(far))
        far *= start / (start + over) if start else 0.0
    return far
