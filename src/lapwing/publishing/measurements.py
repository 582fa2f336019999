"""How the wanted tables are measured, chosen before data is read: the best noise under each kind of budget.

Two ways, with the same algebra behind them. Gaussian noise goes on the *residuals* of the wanted tables
(`residual_basis`), with the sigmas that make a sum of all variances least; no other Gaussian noise of that price does
better. In that sum a cell of a small table counts for more than one of a large table, so that all tables have nearly
the same noise. Under a pure budget a residual is no help, as it moves far in L1 norm. There, geometric noise goes on
the cells of a few whole tables that cover the wanted ones, and what several of them say about one residual is averaged
by precision.

Either way a residual s comes out with covariance v_s times the centring of its columns, and so every variance is
a sum of v_s, in closed form. Proof: proofs/published_marginals.md
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.residual_basis import Axes, ResidualMechanism, squared_move, squared_mu
from lapwing.mechanisms.weighted_sums import Reach
from lapwing.publishing.covers import cover, maximal
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.event import DiscreteLaplaceNoise, Event, GaussianNoise
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

Table: TypeAlias = NDArray[np.float64]
Counted: TypeAlias = Mapping[Axes, Sensitive[tuple[int, ...]]]
_GRID: Final = 1024
"""Sigmas are multiples of 1/1024, and at least 1: from there on rounding adds 1/12 to a variance, to eight digits."""
_OF_ROUNDING: Final = 1 / 12
_RAISED: Final = 1 + 2.0**-15
"""More than what samplers raise a sigma by, and than what floating point loses."""
_EXPONENTS: Final = np.arange(1, 64) / 64
"""The exponents of Chernoff's bounds, of which the best is taken."""
_PARTS: Final = (1 / 8, 1 / 64)
"""Parts of a chance that are tried for what rounding does to a sum of many draws."""
_CANDIDATES: Final = (1, *(2**k for k in range(4, 17)))
"""For how many cells covers are tried under a pure budget; 1 is for the wanted tables themselves."""


def subsets(axes: Axes) -> Iterator[Axes]:
    """Yield all subsets, the smaller ones first."""
    for size in range(len(axes) + 1):
        yield from itertools.combinations(axes, size)


@frozen()
class Measurement:
    """What is drawn: the tables that are counted for it, the numbers that are released, and what these say.

    `variances` has v_s for each residual s: its estimate is off by v_s times the centring of its columns, in
    covariance.
    """

    codes: tuple[int, ...]
    counted: tuple[Axes, ...]
    variances: Mapping[Axes, float]
    off: float
    """The sum of the weighted variances of all cells of the wanted tables: what is least among ways to measure."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """What is charged."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many numbers are released."""

    @abstractmethod
    def release(self, counted: Counted) -> list[list[int]]:
        """Add noise to what was counted. This is the only time that it is done."""

    @abstractmethod
    def residuals(self, released: Sequence[Sequence[int]]) -> dict[Axes, Table]:
        """Return the unbiased estimate of every residual, from what was released."""

    @abstractmethod
    def reach(self, axes: Axes, widths: tuple[int, ...], chance: float) -> float:
        """Return how far off the count in a box of `widths` codes is at most, but for this chance."""

    def bound(self, axes: Axes, widths: tuple[int, ...], chance: float) -> float:
        """Return no less than `reach`, quickly: for going through many tables."""
        return self.reach(axes, widths, chance)

    def variance(self, axes: Axes, widths: Sequence[int]) -> float:
        """Return the variance of the count in a box: so many codes of each column.

        That of a cell is that of a box with one code of each.
        """
        return sum(
            self.variances[inner]
            * math.prod(_squared_weight(self.codes[a], m, a in inner) for a, m in zip(axes, widths, strict=True))
            for inner in subsets(axes)
        )


def _squared_weight(codes: int, width: int, centred: bool) -> float:  # noqa: FBT001 - whether the column is in the residual
    return width - width**2 / codes if centred else (width / codes) ** 2


@frozen()
class GaussianResiduals(Measurement):
    """Rounded Gaussian noise on every residual: for budgets of rho, and of epsilon with a delta."""

    mechanism: ResidualMechanism

    @property
    def event(self) -> Event:
        """What is charged."""
        return self.mechanism.event

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return sum(self._size(axes) for axes in self.mechanism.sigmas)

    def release(self, counted: Counted) -> list[list[int]]:
        """Add noise to each residual."""
        return self.mechanism.release(counted)

    def residuals(self, released: Sequence[Sequence[int]]) -> dict[Axes, Table]:
        """Centre what was released: the noise that is no residual goes."""
        found = {}
        for axes, numbers in zip(self.mechanism.sigmas, released, strict=True):
            table = np.array(numbers, np.float64).reshape([self.codes[a] for a in axes])
            found[axes] = centred(table) / self._size(axes)
        return found

    def reach(self, axes: Axes, widths: tuple[int, ...], chance: float) -> float:
        """Return how far off a box is: a normal law of known variance, and half a step for each rounded number."""
        return normal_reach(*self.spread(axes, widths), chance)

    def spread(self, axes: Axes, widths: tuple[int, ...]) -> tuple[float, float]:
        """Return the variance of the normal part of a box, and what rounding adds to its error at most."""
        variance = rounding = 0.0
        for inner in subsets(axes):
            sigma, size = float(self.mechanism.sigmas[inner]), self._size(inner)
            within = [(self.codes[a], m, a in inner) for a, m in zip(axes, widths, strict=True)]
            variance += (sigma / size) ** 2 * math.prod(_squared_weight(*one) for one in within)
            rounding += math.prod(2 * m * (n - m) / n if is_in else m / n for n, m, is_in in within) / (2 * size)
        return variance, rounding

    def _size(self, axes: Axes) -> int:
        return math.prod(self.codes[a] for a in axes)


@frozen()
class GeometricCover(Measurement):
    """Geometric noise on every cell of the counted tables: for what is paid in epsilon alone."""

    mechanism: GeometricMechanism = field(compare=False)

    @property
    def event(self) -> Event:
        """What is charged."""
        return self.mechanism.event

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return sum(math.prod(self.codes[a] for a in axes) for axes in self.counted)

    def release(self, counted: Counted) -> list[list[int]]:
        """Add noise to each table."""
        return [[int(number) for number in self.mechanism.release(counted[axes])] for axes in self.counted]

    def residuals(self, released: Sequence[Sequence[int]]) -> dict[Axes, Table]:
        """Average what the tables say about each residual, by precision."""
        shapes = [[self.codes[a] for a in axes] for axes in self.counted]
        tables = [np.array(one, np.float64).reshape(shape) for one, shape in zip(released, shapes, strict=True)]
        found = {}
        for inner in self.variances:
            found[inner] = np.zeros([self.codes[a] for a in inner])
            for axes, table in zip(self.counted, tables, strict=True):
                if set(inner) <= set(axes):
                    marginal = table.sum(axis=tuple(i for i, a in enumerate(axes) if a not in inner))
                    found[inner] += self._share(axes, inner) * centred(marginal)
        return found

    def reach(self, axes: Axes, widths: tuple[int, ...], chance: float) -> float:
        """Return how far off a box is: the exact law of a weighted sum of draws (`weighted_sums`)."""
        exact = _reach_of_box(self.mechanism.event.scale, self.codes, self.counted, (axes, widths), chance)
        return min(exact, self.bound(axes, widths, chance))

    def bound(self, axes: Axes, widths: tuple[int, ...], chance: float) -> float:
        """Return how far off a box is by Chernoff's bound, which takes no integral."""
        scale, (weights, many) = self.mechanism.event.scale, weights_of_draws(self.codes, self.counted, axes, widths)
        return chernoff(float(scale) * weights, many, chance)

    def _share(self, table: Axes, inner: Axes) -> float:
        """Return the part of an estimated residual that comes from one table: its precision, of that of all."""
        all_ = sum(_precision(self.codes, one, inner) for one in self.counted if set(inner) <= set(one))
        return _precision(self.codes, table, inner) / all_


def normal_reach(variance: float, rounding: float, chance: float) -> float:
    """Return how far off a normal variate is, with this much more for rounding."""
    sigmas = -NormalDist().inv_cdf(chance / 2 / _RAISED)
    return (sigmas * math.sqrt(variance) + rounding) * _RAISED


@lru_cache(maxsize=4096)
def _reach_of_box(
    scale: Fraction, codes: tuple[int, ...], counted: tuple[Axes, ...], box: tuple[Axes, tuple[int, ...]], chance: float
) -> float:
    """Return how far off a box is, and remember it: boxes of the same widths are alike."""
    return _reach_of_sum(scale, np.repeat(*weights_of_draws(codes, counted, *box)), chance)


def _reach_of_sum(scale: Fraction, weights: Table, chance: float) -> float:
    """Return how far a weighted sum of draws of discrete Laplace noise is from 0 at most, but for this chance.

    `Reach` allows for 1 between each draw and a continuous one. Of many draws these allowances cancel: what is left of
    them is found by Hoeffding's bound, for a part of the chance, and the shorter reach is taken.
    """
    noise = DiscreteLaplaceNoise(l1_sensitivity=1, scale=scale)
    if len(weights) <= 2 or not weights.any():  # noqa: PLR2004 - where `Reach` allows for less
        return Reach(noise, chance).of(weights)
    longer = 1 / (2 * scale * Fraction(math.tanh(1 / (2 * scale)))) * Fraction(_RAISED)
    between, squares = float(np.abs(weights).sum()), float(weights @ weights)
    found = [Reach(noise, chance).of(weights)]
    for part in _PARTS:
        smooth = Reach(noise, chance * (1 - part)).of(weights) - between
        found.append(float(longer) * smooth + math.sqrt(squares * math.log(2 / (chance * part)) / 2))
    return min(found) * _RAISED


def chernoff(sizes: Table, many: NDArray[np.int64], chance: float) -> float:
    """Return r with P(|Σ c·Z| > r) <= chance by Chernoff's bound, for draws of scale b with weights of size |c|b."""
    largest = float(np.abs(sizes).max(initial=0.0))
    if not largest:
        return 0.0
    logs = -(many @ np.log1p(-np.multiply.outer((sizes / largest) ** 2, _EXPONENTS**2)))
    return float(((logs + math.log(2 / chance)) / _EXPONENTS).min()) * largest * _RAISED


@lru_cache(maxsize=4096)
def weights_of_draws(
    codes: tuple[int, ...], counted: tuple[Axes, ...], axes: Axes, widths: tuple[int, ...]
) -> tuple[Table, NDArray[np.int64]]:
    """Return the weights of the draws of noise on the counted tables in the count of a box, and how many have each.

    In one table it depends on which of the columns that are also in the box have a code of the box: every such pattern
    has one weight, and so many cells.
    """
    share = {a: m / codes[a] for a, m in zip(axes, widths, strict=True)}
    within = dict(zip(axes, widths, strict=True))
    total = {s: sum(_precision(codes, one, s) for one in counted if set(s) <= set(one)) for s in subsets(axes)}
    weights, many = list[float](), list[int]()
    for table in counted:
        shared = tuple(a for a in axes if a in table)
        rest = math.prod(codes[a] for a in table if a not in axes)
        alone = math.prod(share[a] for a in axes if a not in shared)
        parts = [(inner, alone * _precision(codes, table, inner) / total[inner]) for inner in subsets(shared)]
        for pattern in itertools.product((True, False), repeat=len(shared)):
            lies = dict(zip(shared, pattern, strict=True))
            weights.append(
                sum(part * math.prod(lies[a] - share[a] if a in s else share[a] for a in shared) for s, part in parts)
            )
            many.append(rest * math.prod(within[a] if lies[a] else codes[a] - within[a] for a in shared))
    return np.array(weights), np.array(many)


def _precision(codes: Sequence[int], table: Axes, inner: Axes) -> float:
    return 1 / math.prod(codes[a] for a in table if a not in inner)


def centred(table: Table) -> Table:
    """Return a table less its mean, along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def weights_of_variances(codes: Sequence[int], wanted: Iterable[Axes]) -> dict[Axes, float]:
    """Return c_s for each residual: the weighted variances of all cells of the wanted tables are the sum of c_s v_s.

    A cell has the weight 1/√n in a table of n cells. With 1 tables of many cells would be sharper than others, with
    1/n those of few; with this all tables have nearly the same noise.
    """
    weights = dict[Axes, float]()
    for axes in wanted:
        spend(2 ** len(axes))
        each = 1 / math.sqrt(math.prod(codes[a] for a in axes))
        for inner in subsets(axes):
            own = each * math.prod(codes[a] - 1 if a in inner else 1 / codes[a] for a in axes)
            weights[inner] = weights.get(inner, 0.0) + own
    return {axes: weights[axes] for axes in sorted(weights, key=lambda axes: (len(axes), axes))}


def gaussian_residuals(
    codes: tuple[int, ...], wanted: Sequence[Axes], unit: PrivacyUnit, event: GaussianNoise
) -> GaussianResiduals:
    """Return the Gaussian measurement of the residuals whose weighted variances are least at the price of `event`.

    Of a residual that moves by p in squared length at the price mu², and counts c: v ∝ √(p/c), with Σ p/v = mu². Sigmas
    are then rounded up; that they cost no more than `event` is checked by the mechanism, in fractions.
    """
    weights = weights_of_variances(codes, wanted)
    size = {axes: math.prod(codes[a] for a in axes) for axes in weights}
    alone = replace(unit, adjacency=Adjacency.ADD_REMOVE)
    moved = {axes: squared_move([codes[a] for a in axes], alone) / size[axes] ** 2 for axes in weights}
    whole = sum(math.sqrt(moved[axes] * weights[axes]) for axes in weights)
    paid = float(event.l2_sensitivity_squared / event.sigma_squared)
    least = {
        axes: math.sqrt(whole / paid * math.sqrt(moved[axes] / weight)) * size[axes] for axes, weight in weights.items()
    }
    spend(len(weights))
    sigmas = _rounded_up(least)
    more = float(squared_mu(codes, sigmas, unit)) / paid
    if more > 1:  # where people are exchanged
        sigmas = _rounded_up({axes: float(sigma) * math.sqrt(more) * _RAISED for axes, sigma in sigmas.items()})
    variances = {axes: (float(sigma) ** 2 + _OF_ROUNDING) / size[axes] ** 2 for axes, sigma in sigmas.items()}
    return GaussianResiduals(
        codes=codes,
        counted=tuple(cover(codes, wanted)),
        variances=variances,
        off=sum(weights[axes] * variances[axes] for axes in weights),
        mechanism=ResidualMechanism(codes=codes, sigmas=sigmas, unit=unit, event=event),
    )


def _rounded_up(least: Mapping[Axes, float]) -> dict[Axes, Fraction]:
    return {axes: max(Fraction(1), Fraction(math.ceil(one * _GRID) + 1, _GRID)) for axes, one in least.items()}


def geometric_cover(
    codes: tuple[int, ...], wanted: Sequence[Axes], unit: PrivacyUnit, epsilon: Fraction
) -> GeometricCover:
    """Return geometric noise of this price on the cells of the best cover."""
    tables, precisions = _best_cover(codes, tuple(wanted))
    mechanism = GeometricMechanism(l1_sensitivity=len(tables) * moved_in_one_table(unit), epsilon=epsilon)
    noise = 1 / (2 * math.sinh(1 / (2 * mechanism.event.scale)) ** 2)  # the variance of one draw
    variances = {inner: noise / precision for inner, precision in precisions.items()}
    weights = weights_of_variances(codes, wanted)
    off = sum(weights[inner] * variances[inner] for inner in weights)
    return GeometricCover(codes=codes, counted=tables, variances=variances, off=off, mechanism=mechanism)


@lru_cache(maxsize=64)
def _best_cover(codes: tuple[int, ...], wanted: tuple[Axes, ...]) -> tuple[tuple[Axes, ...], Mapping[Axes, float]]:
    """Return the cover, of a few that are tried, for which noise of one price has the least weighted variances.

    One table at the whole price may be far better than many that share it: their scales add up. With it comes how
    precisely all of its tables together tell each residual, if a draw has the variance 1.
    """
    weights = weights_of_variances(codes, wanted)
    best = list[tuple[float, tuple[Axes, ...], dict[Axes, float]]]()
    for most in _CANDIDATES:
        tables = tuple(maximal(wanted) if most == 1 else cover(codes, wanted, most))
        if best and sum(math.prod(codes[a] for a in axes) for axes in tables) > MOST_NUMBERS:
            break
        precisions = dict.fromkeys(weights, 0.0)
        for axes in tables:
            spend(2 ** len(axes) // 10)
            for inner in subsets(axes):
                if inner in precisions:
                    precisions[inner] += _precision(codes, axes, inner)
        off = len(tables) ** 2 * sum(weight / precisions[inner] for inner, weight in weights.items())
        best.append((off, tables, precisions))
    _, tables, precisions = min(best, key=lambda one: one[0])
    return tables, precisions


def moved_in_one_table(unit: PrivacyUnit) -> int:
    """Return how far one protected person or group moves a table in which everybody is in one cell, in L1 norm."""
    return unit.protects_groups_of * (2 if unit.adjacency is Adjacency.REPLACE else 1)
