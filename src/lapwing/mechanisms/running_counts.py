"""Counts over time: each release is a weighted sum of the counts of all periods so far, with noise of its own.

A release t tells Σ_i k_(t-i) x_i + Z_t, where x_i is the number of people of period i. The whole numbers k are 2^10
times the coefficients of the square root of summing (1, 1/2, 3/8, ...), rounded first and priced afterwards; the noise
is Gaussian, rounded, and independent. So no noise has to be kept for later, and what comes next may depend on all that
was released. Cumulative counts, windows and single periods are fixed combinations of what was released.

Where only noise of a pure epsilon can be paid, sums of blocks of periods are released when a block ends: a wide tree.
Where people may move from one cell to another between releases, the cumulative count itself is, each time.

Where people leave, x_i is the number of those who came in period i less that of those who left in it, and a cumulative
count is a stock: how many are in. Somebody who comes and leaves moves two periods, in opposite ways.

Proof: proofs/counts_over_time.md
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Final, TypeAlias

import numpy as np

from lapwing.mechanisms.gaussian import rational_root_above
from lapwing.mechanisms.noise_mechanism import Priced, add_noise, integers, wrong_size
from lapwing.mechanisms.weighted_sums import Reach, Weights, margin_of_equal_sum
from lapwing.noise.laws import DiscreteLaplace, RoundedGaussian
from lapwing.vocabulary.event import DiscreteLaplaceNoise, GaussianNoise, PureRelease
from lapwing.vocabulary.exact import Exact, Sensitive, fill, float_below, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

Rows: TypeAlias = list[list[int]]
"""What one release tells: for each number, the weight of each period so far."""
CellCounts: TypeAlias = Sensitive[Sequence[int]] | Sequence[int]
_BITS: Final = 10
_WIDEST_TREE: Final = 9
_NOTHING: Final = 1e-13
"""A weight that is smaller, relative to the largest, is what floating point left of nothing."""
_RAISED: Final = 1 + 1e-9
"""More than what floating point loses on the way to a reach."""


@lru_cache(maxsize=64)
def root_coefficients(releases: int) -> tuple[int, ...]:
    """Return 2^10 binom(2j, j)/4^j for j = 0, 1, ..., each rounded to the nearest whole number, halves up.

    >>> root_coefficients(5)
    (1024, 512, 384, 320, 280)
    """
    return tuple((math.comb(2 * j, j) * 2 ** (_BITS + 1) + 4**j) // (2 * 4**j) for j in range(releases))


class CountingScheme(ABC):
    """Which sums of periods each of `releases` releases tells, and how far one person can move all of them.

    A person is in one cell, which is a group and a period, and may be there or not in each version of the data. Where
    `fixed` is true, that cell never changes.
    """

    __slots__ = ()
    releases: int
    fixed: bool

    @abstractmethod
    def rows(self, number: int, lost: Collection[int] = ()) -> Rows:
        """Return the weights of release `number`, from 1 on, where those of `lost` were lost before it."""

    @abstractmethod
    def l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return the most by which one person moves all released numbers, in squared length."""

    @abstractmethod
    def l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return the most by which one person moves all released numbers, in absolute values added up."""

    @abstractmethod
    def stock_l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return the same, in squared length, where whoever has come may leave, in the same group and not before."""

    @abstractmethod
    def stock_l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return the same, in absolute values added up."""


@frozen()
class RootOfSumming(CountingScheme):
    """One sum a release, with the coefficients of the square root of summing; people stay in their cell.

    The people of a period whose release was lost count with those of the next one, with the weights that they had.
    """

    releases: int
    fixed = True

    def rows(self, number: int, lost: Collection[int] = ()) -> Rows:
        """Return k_(t - e) for each period, where e is the first of the lost releases right before it, or itself."""
        weights, begun = root_coefficients(self.releases), 1
        row = []
        for period in range(1, number + 1):
            if period - 1 not in lost:
                begun = period
            row.append(weights[number - begun])
        return [row]

    def l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return Σ k_j², of one person more or less; two such sums where one is exchanged for another."""
        ends = list(itertools.accumulate((k * k for k in root_coefficients(self.releases)), initial=0))
        if not replaced:
            return ends[-1]
        return 2 * ends[-1] if grouped else max(a + b for a, b in zip(ends, reversed(ends), strict=True))

    def l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return Σ k_j, or twice that."""
        del grouped
        return (2 if replaced else 1) * sum(root_coefficients(self.releases))

    def stock_l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return the squares of the moves of somebody who leaves at the worst time; four times that in an exchange."""
        del grouped
        return (4 if replaced else 1) * _moves_of_stocks(self.releases, 2)

    def stock_l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return these moves, or twice that."""
        del grouped
        return (2 if replaced else 1) * _moves_of_stocks(self.releases, 1)


@lru_cache(maxsize=64)
def _moves_of_stocks(releases: int, power: int) -> int:
    """Return the largest sum, over when somebody leaves, of the powers of the largest move of each release.

    Who came s releases ago moves one by k_s; and who has left since, in the period that is `stay` after, by
    k_(s - stay) - k_s the other way. In each version of the data it may be either, or neither.
    """
    weights = np.array(root_coefficients(releases), np.int64)

    def moves(stay: int) -> int:
        there, gone = weights.copy(), weights[: releases - stay] - weights[stay:]
        there[stay:] = np.maximum(there[stay:], gone)
        return int((there**power).sum())

    return max(map(moves, range(releases)))


@frozen()
class EveryPrefix(CountingScheme):
    """The cumulative count itself in each release, which people may enter, leave and change their cell in."""

    releases: int
    fixed = False

    def rows(self, number: int, lost: Collection[int] = ()) -> Rows:
        """Return a one for each period so far."""
        del lost
        return [[1] * number]

    def l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return one for each release, and two where somebody is exchanged for somebody of another group."""
        return self.releases * (2 if replaced and grouped else 1)

    def l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return the same: each of these numbers moves by one."""
        return self.l2_squared(replaced=replaced, grouped=grouped)

    def stock_l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return the same: in each version somebody is in, in one group, or is not."""
        return self.l2_squared(replaced=replaced, grouped=grouped)

    def stock_l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return the same."""
        return self.l1(replaced=replaced, grouped=grouped)


@frozen()
class TreeOfBlocks(CountingScheme):
    """The sum of each block of width^0, width^1, ... periods when it ends, for `levels` levels; people stay there."""

    releases: int
    width: int
    levels: int
    fixed = True

    def rows(self, number: int, lost: Collection[int] = ()) -> Rows:
        """Return a row of ones for each block that ends with this release."""
        del lost
        sizes = [self.width**level for level in range(self.levels)]
        return [[0] * (number - size) + [1] * size for size in sizes if number % size == 0]

    def l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return one for each level, and twice that where somebody is exchanged."""
        return self.l1(replaced=replaced, grouped=grouped)

    def l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return one for each level, and twice that where somebody is exchanged."""
        del grouped
        return self.levels * (2 if replaced else 1)

    def stock_l2_squared(self, *, replaced: bool, grouped: bool) -> int:
        """Return two for each level, for the block of coming and that of leaving; four times that in an exchange."""
        del grouped
        return 2 * self.levels * (4 if replaced else 1)

    def stock_l1(self, *, replaced: bool, grouped: bool) -> int:
        """Return two for each level, and twice that where somebody is exchanged."""
        del grouped
        return 2 * self.levels * (2 if replaced else 1)

    @property
    def most_blocks(self) -> int:
        """Of how many blocks a cumulative count is the sum, at most."""
        left, most = np.arange(1, self.releases + 1), np.zeros(self.releases, np.int64)
        for level in range(self.levels):
            last = level == self.levels - 1
            most += left if last else left % self.width
            left = left // self.width
        return int(most.max())


@lru_cache(maxsize=64)
def best_tree(releases: int) -> TreeOfBlocks:
    """Return the tree whose largest error of a cumulative count is least, at a given epsilon.

    >>> best_tree(12), best_tree(120)
    (TreeOfBlocks(releases=12, width=1, levels=1), TreeOfBlocks(releases=120, width=9, levels=2))
    """
    trees = [TreeOfBlocks(releases=releases, width=1, levels=1)]
    for levels in range(2, _WIDEST_TREE):
        widths = range(2, max(3, math.ceil(releases ** (1 / (levels - 1))) + 1))
        trees += [
            TreeOfBlocks(releases=releases, width=width, levels=levels)
            for width in widths
            if width ** (levels - 1) <= releases
        ]
    return min(trees, key=lambda one: (one.levels**2 * one.most_blocks, one.levels))


@frozen()
class RunningCounts(Priced[GaussianNoise | PureRelease]):
    """Releases the sums of a scheme one after the other, each with independent noise, within one event.

    If everybody is in at most one cell of `groups` times the periods, and stays in it where the scheme says so, then
    all releases together, whatever is chosen between them, are dominated by `event`. Of `stocks`, whoever is in a cell
    may also have left, in one cell of the same group and not of an earlier period, for which the same holds. The size
    of the noise is computed here, from the very weights that are summed.

    >>> unit = PrivacyUnit(person_key="id")
    >>> event = GaussianNoise(l2_sensitivity_squared=1, sigma_squared=16)
    >>> counts = RunningCounts(scheme=RootOfSumming(releases=3), groups=1, unit=unit, event=event)
    >>> len(counts.release(2, [40, 60, 0]))
    1

    Proof: proofs/counts_over_time.md
    """

    scheme: CountingScheme
    groups: int
    unit: PrivacyUnit
    stocks: bool

    def __init__(
        self,
        *,
        scheme: CountingScheme,
        groups: int,
        unit: PrivacyUnit,
        event: GaussianNoise | PureRelease,
        stocks: bool = False,
    ) -> None:
        fill(self, scheme=scheme, groups=groups, unit=unit, event=event, stocks=stocks)
        self.law  # noqa: B018 - refuse a size of noise that cannot be drawn, before anything is charged

    @property
    def moves(self) -> int:
        """How far one protected person or group moves all releases: squared for Gaussian noise, absolute otherwise."""
        replaced, grouped = self.unit.adjacency is Adjacency.REPLACE, self.groups > 1
        together, scheme = self.unit.protects_groups_of, self.scheme
        if isinstance(self.event, GaussianNoise):
            of_one = scheme.stock_l2_squared if self.stocks else scheme.l2_squared
            return of_one(replaced=replaced, grouped=grouped) * together**2
        of_one = scheme.stock_l1 if self.stocks else scheme.l1
        return of_one(replaced=replaced, grouped=grouped) * together

    @property
    def law(self) -> RoundedGaussian | DiscreteLaplace:
        """The law of the noise on each number: of a variance of at least moves/mu², or of the scale moves/epsilon."""
        if isinstance(self.event, PureRelease):
            return DiscreteLaplace(self.moves / self.event.epsilon)
        variance = self.moves * self.event.sigma_squared / self.event.l2_sensitivity_squared
        return RoundedGaussian(rational_root_above(variance))

    def reach(self, weights: Sequence[float] | Weights, confidence: Exact) -> float:
        """Return how far off this combination of released numbers is at most, with this confidence."""
        law, chance = self.law, float_below(1 - probability("confidence", confidence))
        sizes = np.abs(np.asarray(weights, dtype=np.float64))
        sizes = sizes[sizes > _NOTHING * sizes.max()]
        if isinstance(law, DiscreteLaplace):
            noise = DiscreteLaplaceNoise(l1_sensitivity=1, scale=law.scale)
            if (sizes == 1).all():
                return float(margin_of_equal_sum(noise, len(sizes), confidence))
            return _RAISED * Reach(noise, chance).of(sizes)
        sigmas = -NormalDist().inv_cdf(chance / 2)
        return _RAISED * (sigmas * float(law.sigma_used) * float(np.linalg.norm(sizes)) + float(sizes.sum()) / 2)

    def deviation(self, weights: Sequence[float] | Weights) -> float:
        """Return the standard deviation of this combination of released numbers, rounded up."""
        return _RAISED * math.sqrt(self.variance) * float(np.linalg.norm(weights))

    @property
    def variance(self) -> float:
        """The variance of the noise on each number, rounded up: rounding adds a twelfth, and 1/4 is no less."""
        if isinstance(self.law, DiscreteLaplace):
            return 1 / (2 * math.sinh(1 / (2 * float(self.law.scale))) ** 2) * _RAISED
        return float(self.law.sigma_used) ** 2 + 0.25

    def release(
        self, number: int, counts: CellCounts, *, left: CellCounts | None = None, lost: Collection[int] = ()
    ) -> list[list[int]]:
        """Return what release `number` tells of each group, in the order of its rows.

        `counts` has the cells of all periods of the first group, then those of the next one; behind the periods of a
        group there may be cells that are in no period, which count nowhere. Of stocks, `left` has those who left.
        """
        if (left is not None) is not self.stocks:
            raise wrong_size(self._least, "hand in who left with who came where stocks are told, and only there")
        table = self._table(counts, number)
        if left is not None:
            table = table - self._table(left, number)
        rows = self.scheme.rows(number, lost)
        exact = [sum(weight * count for weight, count in zip(row, one, strict=True)) for one in table for row in rows]
        noisy = [int(one) for one in np.ravel(add_noise(exact, self.law, len(exact)))]
        return [noisy[place : place + len(rows)] for place in range(0, len(noisy), len(rows))]

    def _table(self, counts: CellCounts, number: int) -> Any:
        """Return the counts of the first periods, a row for each group, as whole numbers that never wrap around."""
        opened = integers(counts)
        if isinstance(opened, int) or opened.ndim != 1 or opened.size % self.groups or opened.size < self._least:
            del opened
            raise wrong_size(self._least, "hand in every period of every group")
        return opened.astype(object).reshape(self.groups, -1)[:, :number]

    @property
    def _least(self) -> int:
        return self.groups * self.scheme.releases
