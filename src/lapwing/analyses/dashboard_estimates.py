"""From what a dashboard has released to counts: fixed combinations of released numbers, and how far off they are.

Which combination estimates a count follows from which sums were released, and from no released number. So the error
has a law that is known beforehand. All of this is post-processing.

Proof: proofs/counts_over_time.md
"""

import math
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from lapwing.mechanisms.running_counts import (
    CountingScheme,
    RootOfSumming,
    RunningCounts,
    TreeOfBlocks,
    root_coefficients,
)
from lapwing.mechanisms.weighted_sums import Weights
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen

_SAME: Final = 1e-7


@frozen(kw_only=False)
class EstimatedCount:
    """A count of some periods: an estimate that noise has moved by at most `margin`, with the confidence.

    Where a release that it needs was lost, it is not `known`: the estimate is no number, and the margin infinite.
    """

    periods: tuple[str, ...]
    estimate: float
    margin: float

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return math.isfinite(self.margin)

    @property
    def low(self) -> float:
        """The lower end of the band."""
        return self.estimate - self.margin

    @property
    def high(self) -> float:
        """The upper end of the band."""
        return self.estimate + self.margin


def released_rows(scheme: CountingScheme, number: int, lost: Collection[int]) -> Weights:
    """Return the weights of all numbers that the first releases have told: a row for each, a column for each period."""
    told = [
        row + [0] * (number - len(row)) for t in range(1, number + 1) if t not in lost for row in scheme.rows(t, lost)
    ]
    return np.array(told, dtype=np.float64).reshape(len(told), number)


def combinations(
    scheme: CountingScheme, number: int, lost: Collection[int], wanted: Weights
) -> Iterator[Weights | None]:
    """Yield for each of the wanted sums of periods the combination of the first releases that estimates it.

    It is the one of the least variance; of a tree, the sum of the fewest blocks. None where no combination of what was
    released has that sum as its mean.
    """
    if isinstance(scheme, RootOfSumming) and not lost:
        yield from wanted @ _inverse(scheme.releases, number)
        return
    rows = released_rows(scheme, number, lost)
    if len(rows) == 0:
        yield from (None for _ in wanted)
    elif isinstance(scheme, TreeOfBlocks):
        for sought in wanted:
            blocks = _fewest_blocks(rows, sought)
            yield next(_least_squares(rows, sought[None])) if blocks is None else blocks
    else:
        yield from _least_squares(rows, wanted)


@lru_cache(maxsize=16)
def _inverse_series(releases: int) -> Weights:
    """Return the power series 1/k(x): the first column of the inverse of the matrix of all weights."""
    weights = np.array(root_coefficients(releases), dtype=np.float64)
    series = np.zeros(releases)
    series[0] = 1 / weights[0]
    for place in range(1, releases):
        series[place] = -(weights[1 : place + 1] @ series[place - 1 :: -1][:place]) / weights[0]
    return series


def _inverse(releases: int, number: int) -> Weights:
    """Return the inverse of the weights of the first releases, where none was lost."""
    behind = np.subtract.outer(np.arange(number), np.arange(number))
    return np.where(behind >= 0, _inverse_series(releases)[np.maximum(behind, 0)], 0.0)


def _fewest_blocks(rows: Weights, sought: Weights) -> Weights | None:
    """Return the sum of the longest blocks, from the first period that is sought to the last; None with a gap."""
    begins, ends = rows.argmax(axis=1), rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    there = np.flatnonzero(sought)
    at, end, weights = int(there[0]), int(there[-1]) + 1, np.zeros(len(rows))
    while at < end:
        fitting = np.flatnonzero((begins == at) & (ends <= end))
        if len(fitting) == 0:
            return None
        longest = fitting[ends[fitting].argmax()]
        weights[longest], at = 1.0, int(ends[longest])
    return weights


def _least_squares(rows: Weights, wanted: Weights) -> Iterator[Weights | None]:
    if rows.shape[0] == rows.shape[1] and np.all(np.diag(rows) != 0) and not np.triu(rows, 1).any():
        found = np.linalg.solve(rows.T, wanted.T).T
    else:
        found = np.linalg.lstsq(rows.T, wanted.T, rcond=None)[0].T
    for weights, sought in zip(found, wanted, strict=True):
        yield weights if np.allclose(weights @ rows, sought, rtol=0, atol=_SAME) else None


def prefixes(number: int) -> Weights:
    """Return the sums of the first period, of the first two, and so on."""
    return np.tril(np.ones((number, number)))


def windows(number: int, length: int) -> Weights:
    """Return the sums of so many periods in a row, by their last period; at the beginning there are none."""
    ends = prefixes(number)
    return ends[length - 1 :] - np.vstack([np.zeros((1, number)), ends[: number - length]])


def largest_margin(counts: RunningCounts, releases: Sequence[int], confidence: Exact) -> float:
    """Return how far off a cumulative count is at most when it is published, over some releases."""
    found = [
        counts.reach(weights, confidence)
        for t in releases
        for weights in combinations(counts.scheme, t, (), prefixes(t)[-1:])
        if weights is not None
    ]
    return max(found)
