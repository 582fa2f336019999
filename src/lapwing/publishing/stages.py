"""The stages of a synthesis: what is measured next, and with how much noise, given what was released before.

Each stage takes a share of one price, and the shares add up to no more than the whole, in fractions, on every path.
So a synthesis is one release, however its later stages depend on the earlier ones. Which they are:

1. the total and all single columns are measured;
2. where measuring all pairs would be noisy, the distance of each pair from independence is screened;
3. pairs are measured, those first from which most is to be gained;
4. a model is fitted, and the distances of all triples from it are screened;
5. triples, and what is still rough, are measured.

Proof: proofs/adaptive_gaussian_plan.md
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.residual_basis import Axes, ResidualMechanism, squared_mu
from lapwing.mechanisms.screening import ScreeningMechanism, noise_of_screen
from lapwing.publishing.covers import cover
from lapwing.publishing.measurements import Counted, Table, moved_in_one_table, subsets
from lapwing.publishing.model_fitting import MEAN_ABSOLUTE, ROWS, fit_model, one_by_one
from lapwing.publishing.population_model import PopulationModel, in_people
from lapwing.publishing.residual_pool import ResidualPool
from lapwing.publishing.water_filling import Worth, water_fill
from lapwing.queries.limits import MOST_NUMBERS
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, Event, GaussianNoise, PureRelease
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

Released: TypeAlias = list[list[int]]
MOST_CELLS: Final = 10_000
"""Cells of a table that a synthesis measures; people in wider ones are thin, and noise is all that they would show."""
MOST_STAGES: Final = 5
_PAIR: Final = 2
_GRID: Final = 1024
_RAISED: Final = 1 + 2.0**-30
"""More than what floating point loses on the way to a sigma, so that no share is exceeded."""
_LARGEST: Final = 1 << 37
"""Sigmas beyond this are not drawn: what they would tell is nothing."""
_SCREEN: Final = Fraction(4, 100)
_NOISY: Final = 0.007
"""The mean total variation that noise may leave in pairs: where it would be more, pairs are screened first."""
_ONES: Final = Fraction(5, 100)
_FEW_PAIRS: Final = 3
_PURE_ONES, _PURE_SCREEN = Fraction(15, 100), Fraction(15, 100)


@frozen()
class SynthesisStage(ABC):
    """One round of a synthesis: its name, its share of the price, and which tables are counted for it."""

    name: str
    share: Fraction
    codes: tuple[int, ...]

    @property
    @abstractmethod
    def sets(self) -> list[Axes]:
        """The sets of columns that it is about."""

    @property
    def counted(self) -> list[Axes]:
        """The tables that are counted: few wide ones that hold all that it is about."""
        return cover(self.codes, self.sets)

    @abstractmethod
    def release(self, counted: Counted) -> Released:
        """Add noise to what was counted."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What is public about it, as it stands in the ledger before data is read."""


@frozen()
class MeasuringStage(SynthesisStage):
    """Residuals are measured with rounded Gaussian noise."""

    mechanism: ResidualMechanism

    @property
    def sets(self) -> list[Axes]:
        """The sets of columns whose residuals are measured."""
        return list(self.mechanism.sigmas)

    def release(self, counted: Counted) -> Released:
        """Add noise to each residual."""
        return self.mechanism.release(counted)

    @property
    def parameters(self) -> dict[str, Any]:
        """Its share, and the sigma of each residual."""
        sigmas = [[list(axes), str(sigma)] for axes, sigma in self.mechanism.sigmas.items()]
        return {"stage": self.name, "share": str(self.share), "sigmas": sigmas}


@frozen()
class ScreeningStage(SynthesisStage):
    """The distances of tables from public guesses are released; `about` is the digest of the model that guesses."""

    mechanism: ScreeningMechanism
    about: str

    @property
    def sets(self) -> list[Axes]:
        """The sets of columns whose tables are looked at."""
        return list(self.mechanism.guesses)

    def release(self, counted: Counted) -> Released:
        """Add noise to the distances."""
        return [self.mechanism.release(counted)]

    @property
    def parameters(self) -> dict[str, Any]:
        """Its share, its sets, its noise, and what guesses."""
        sets, noise = [list(axes) for axes in self.sets], str(self.mechanism.noise)
        return {"stage": self.name, "share": str(self.share), "sets": sets, "noise": noise, "about": self.about}


@frozen()
class TablesStage(SynthesisStage):
    """Whole tables are measured with geometric noise in every cell: for what is paid in epsilon alone."""

    tables: tuple[Axes, ...]
    mechanism: GeometricMechanism = field(compare=False)

    @property
    def sets(self) -> list[Axes]:
        """The tables."""
        return list(self.tables)

    @property
    def counted(self) -> list[Axes]:
        """The tables themselves, for each of their cells gets noise of its own."""
        return list(self.tables)

    @property
    def variance(self) -> float:
        """No less than the variance of the noise in a cell: that of continuous noise of its scale."""
        return 2 * float(self.mechanism.event.scale) ** 2

    def release(self, counted: Counted) -> Released:
        """Add noise to each cell."""
        return [[int(number) for number in np.ravel(self.mechanism.release(counted[axes]))] for axes in self.tables]

    @property
    def parameters(self) -> dict[str, Any]:
        """Its share, its tables and the scale of its noise."""
        scale, tables = str(self.mechanism.event.scale), [list(axes) for axes in self.tables]
        return {"stage": self.name, "share": str(self.share), "sets": tables, "noise": scale}


class StageLost(Exception):  # noqa: N818 - it is no error of the stages: they are told of it, and may go on without
    """Thrown into the stages where one was charged, and its outcome is lost for ever."""


class Purse:
    """The price of a synthesis, of which stages take shares. More than the whole is never given out."""

    def __init__(self) -> None:
        self.left = Fraction(1)

    def take(self, share: Fraction) -> Fraction:
        """Return a share, if there is so much left."""
        if not 0 < share <= self.left:
            remedy = "let the stages share one price"
            raise ParameterError(
                "share", share, reason=f"is not above 0 and within the {self.left} left", remedy=remedy
            )
        self.left -= share
        return share


@frozen()
class Screened:
    """What a screen released: the noisy distance of each table from what was guessed, and its noise."""

    distances: Mapping[Axes, int]
    guesses: Mapping[Axes, Table]
    noise: Fraction
    model: PopulationModel | None
    """The model that guessed; None where that was independence."""


@frozen()
class Measured:
    """What the stages of a synthesis so far have released, and the model that was fitted to it."""

    pool: ResidualPool
    model: PopulationModel
    screens: tuple[Screened, ...]


Stages: TypeAlias = Generator[SynthesisStage, Released, Measured]


@dataclass(frozen=True, kw_only=True)
class SynthesisPlan(ABC):
    """What is public about a synthesis before it is paid for: `codes` of columns, and up to which `degree` it goes."""

    codes: tuple[int, ...]
    unit: PrivacyUnit
    degree: int
    ordered: tuple[bool, ...] | None = None
    seed: str = "0"
    rows: int = ROWS

    @property
    @abstractmethod
    def event(self) -> Event:
        """What is charged: all that its stages can ever do."""

    @abstractmethod
    def stages(self) -> Stages:
        """Yield one stage after the other; each is sent what it has released, and the last returns what came out."""

    @abstractmethod
    def check(self) -> None:
        """Refuse, before anything is charged, what no stage could draw."""

    @abstractmethod
    def margin(self, confidence: Fraction) -> float:
        """Return how far off all cells of pairs are at most that the stage of pairs measures, whichever they are."""

    @property
    def ones(self) -> list[Axes]:
        """All columns by themselves."""
        return [(a,) for a in range(len(self.codes))]

    @cached_property
    def pairs(self) -> list[Axes]:
        """The pairs of columns that are not too wide."""
        if self.degree < _PAIR:
            return []
        found = itertools.combinations(range(len(self.codes)), _PAIR)
        return [axes for axes in found if self.cells(axes) <= MOST_CELLS]

    @cached_property
    def workload(self) -> tuple[Axes, ...]:
        """The tables that it should be good at: all of its degree that are not too wide, and pairs that are in none."""
        largest = itertools.combinations(range(len(self.codes)), self.degree)
        widest = [axes for axes in largest if self.cells(axes) <= MOST_CELLS]
        inside = {inner for axes in widest for inner in subsets(axes)}
        pairs = [axes for axes in self.pairs if axes not in inside]
        inside.update((a,) for axes in pairs for a in axes)
        return (*widest, *pairs, *(axes for axes in self.ones if axes not in inside))

    def cells(self, axes: Sequence[int]) -> int:
        """Return how many cells a table of some columns has."""
        return math.prod(self.codes[a] for a in axes)

    def terms(self) -> dict[str, Any]:
        """Return what is agreed, as it stands in the ledger."""
        ordered = None if self.ordered is None else list(self.ordered)
        return {"degree": self.degree, "ordered": ordered, "seed": self.seed, "rows": self.rows}


@dataclass(frozen=True, kw_only=True)
class GaussianPlan(SynthesisPlan):
    """Stages of rounded Gaussian noise, for budgets of rho, and of epsilon with a delta: all one Gaussian release."""

    mu_squared: Fraction

    @property
    def event(self) -> GaussianNoise:
        """One Gaussian release of the whole price."""
        return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / self.mu_squared)

    @cached_property
    def worth(self) -> Worth:
        """What matters about the columns."""
        return _worth(self.codes, self.workload, self.unit, self.ordered)

    def stages(self) -> Stages:
        """Yield the stages; see the module."""
        purse, pool, screens = Purse(), ResidualPool(self.codes), list[Screened]()
        whole = [(), *self.ones]
        first = self._measure("single columns", pool, dict.fromkeys(whole, math.inf), purse.take(self._share_of_ones))
        pool.add_residuals(first.mechanism.sigmas, (yield first))
        if not self.pairs:
            return Measured(pool=pool, model=fit_model(pool, seed=self.seed, rows=self.rows), screens=())
        gains = dict.fromkeys(self.pairs, math.inf)
        screens_pairs = len(self.pairs) > _FEW_PAIRS and self._noise_in_pairs(pool.total) > _NOISY
        if screens_pairs:
            alone = one_by_one(pool)
            guesses = {axes: np.rint(alone(axes) * pool.total).astype(np.int64) for axes in self.pairs}
            stage = self._screen("which pairs", guesses, purse.take(_SCREEN), "single columns")
            screens.append(_screened(stage, (yield stage), None))
            gains = self._gains(pool, screens[-1], 1)
        share = self._share_of_pairs(purse.left, screens_pairs=screens_pairs)
        stage_of_pairs = self._measure("pairs", pool, gains, purse.take(share))
        pool.add_residuals(stage_of_pairs.mechanism.sigmas, (yield stage_of_pairs))
        model = fit_model(pool, seed=self.seed, rows=self.rows)
        if self.degree > _PAIR:
            sets = [*(axes for axes in self.workload if len(axes) > 1), *self.pairs]
            looked_at = [axes for axes in dict.fromkeys(sets) if axes not in pool.precision]
            if looked_at:
                guesses = {axes: in_people(model.units(axes)) for axes in looked_at}
                stage = self._screen("which triples", guesses, purse.take(_SCREEN), model.digest)
                with suppress(StageLost):  # without what is lost there is the model of the pairs
                    screens.append(_screened(stage, (yield stage), model))
                    gains = self._gains(pool, screens[-1], 4)
                    last = self._measure("triples", pool, gains, purse.take(purse.left))
                    pool.add_residuals(last.mechanism.sigmas, (yield last))
                    model = fit_model(pool, seed=self.seed, rows=self.rows)
        return Measured(pool=pool, model=model, screens=tuple(screens))

    def check(self) -> None:
        """Build what the first stage draws, and the noise of all screens, and the worst of pairs."""
        pool = self._if_all_pairs()
        for tables in {len(self.pairs), len(self.workload) + len(self.pairs)} - {0}:
            noise = noise_of_screen(tables, self.unit, self._event(_SCREEN))
            _require_drawable(float(noise), "screen")
        worst = max(self.cells(axes) / math.sqrt(precision) for axes, precision in pool.items())
        _require_drawable(worst, "measure")

    def margin(self, confidence: Fraction) -> float:
        """Return how far off all cells of pairs are at most, had all of them been measured; fewer are more precise."""
        pool, sets = self._if_all_pairs(), self.pairs or self.ones
        cells = sum(self.cells(axes) for axes in sets)
        chance = float(1 - confidence) / cells
        known = ResidualPool(self.codes)
        known.assume(pool)
        return max(known.reach(axes, (1,) * len(axes), chance) for axes in sets)

    def _if_all_pairs(self) -> dict[Axes, float]:
        """Return how precise the first measurement of each residual is, if all pairs have the least share."""
        known, first = dict[Axes, float](), dict[Axes, float]()
        paid = float(self.mu_squared)
        stages = [([(), *self.ones], self._share_of_ones)]
        if self.pairs:
            left = 1 - self._share_of_ones - _SCREEN
            stages.append((self.pairs, self._share_of_pairs(left, screens_pairs=True)))
        for sets, share in stages:
            for axes, more in water_fill(self.worth, known, dict.fromkeys(sets, math.inf), paid * float(share)).items():
                precision = (self.cells(axes) / float(self._sigma(axes, more))) ** 2
                known[axes] = known.get(axes, 0.0) + precision
                first.setdefault(axes, precision)
        return first

    @cached_property
    def _share_of_ones(self) -> Fraction:
        if not self.pairs:
            return Fraction(1)
        first, second = (sum(map(self.worth.root, sets)) for sets in (self.ones, self.pairs))
        return max(_ONES, Fraction(round(500 * first / (first + second)), 1000))

    def _share_of_pairs(self, left: Fraction, *, screens_pairs: bool) -> Fraction:
        if self.degree <= _PAIR:
            return left
        return min(Fraction(3, 10) if screens_pairs else Fraction(1, 2), left - 2 * _SCREEN)

    def _noise_in_pairs(self, people: float) -> float:
        """Return the mean total variation that noise would leave in pairs, were the whole price spent on them."""
        gains = dict.fromkeys([(), *self.ones, *self.pairs], math.inf)
        found = water_fill(self.worth, {}, gains, float(self.mu_squared))
        off = [self.cells(axes) * math.sqrt(self.worth.moves[axes] / found[axes]) for axes in self.pairs]
        return 0.5 * MEAN_ABSOLUTE * float(np.mean(off)) / people

    def _gains(self, pool: ResidualPool, screened: Screened, times: int) -> dict[Axes, float]:
        """Return what measuring each screened table is worth: its distance beyond what noise alone would show."""
        gains, sigma = dict[Axes, float](), float(screened.noise)
        for axes, distance in screened.distances.items():
            known = MEAN_ABSOLUTE * self.cells(axes) * math.sqrt(pool.variance(axes))
            gains[axes] = self.worth.gain(axes, distance * abs(distance) - known**2 - times * sigma**2)
        room, kept = MOST_NUMBERS - sum(self.cells(axes) for axes in pool.precision), dict[Axes, float]()
        for axes in sorted(gains, key=lambda one: (-gains[one], one)):
            room -= self.cells(axes)
            if room >= 0 and gains[axes] > 0:
                kept[axes] = gains[axes]
        return kept

    def _measure(self, name: str, pool: ResidualPool, gains: Mapping[Axes, float], share: Fraction) -> MeasuringStage:
        added = water_fill(self.worth, pool.precision, gains, float(self.mu_squared * share))
        sigmas = {axes: self._sigma(axes, precision) for axes, precision in added.items()}
        drawn = {axes: sigma for axes, sigma in sigmas.items() if sigma <= _LARGEST}
        if self.unit.adjacency is Adjacency.REPLACE:  # no pair of people is the worst for every residual
            together = float(squared_mu(self.codes, drawn, self.unit) / (self.mu_squared * share))
            smaller = min(1.0, math.sqrt(together) * _RAISED)
            drawn = {axes: _on_grid(float(sigma) * smaller) for axes, sigma in drawn.items()}
        mechanism = ResidualMechanism(codes=self.codes, sigmas=drawn, unit=self.unit, event=self._event(share))
        return MeasuringStage(name=name, share=share, codes=self.codes, mechanism=mechanism)

    def _sigma(self, axes: Axes, precision: float) -> Fraction:
        return _on_grid(self.cells(axes) / math.sqrt(precision) * _RAISED)

    def _screen(
        self, name: str, guesses: Mapping[Axes, "np.ndarray[Any, np.dtype[np.int64]]"], share: Fraction, about: str
    ) -> ScreeningStage:
        mechanism = ScreeningMechanism(codes=self.codes, guesses=guesses, unit=self.unit, event=self._event(share))
        return ScreeningStage(name=name, share=share, codes=self.codes, mechanism=mechanism, about=about)

    def _event(self, share: Fraction) -> GaussianNoise:
        paid = self.mu_squared * share
        return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / paid)


@dataclass(frozen=True, kw_only=True)
class PurePlan(SynthesisPlan):
    """Stages of geometric noise, for what is paid in epsilon alone: single columns, a screen of pairs, some pairs."""

    epsilon: Fraction

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The shares of single columns, of the screen and of pairs, as far as there are these."""
        if not self.pairs:
            return (Fraction(1),)
        if len(self.pairs) <= _FEW_PAIRS:
            return (_PURE_ONES, 1 - _PURE_ONES)
        return (_PURE_ONES, _PURE_SCREEN, 1 - _PURE_ONES - _PURE_SCREEN)

    @property
    def event(self) -> Event:
        """A pure release for each stage, of a price that is fixed."""
        return Composed(parts=tuple(PureRelease(epsilon=self.epsilon * share) for share in self.shares))

    def stages(self) -> Stages:
        """Yield the stages; see the class."""
        pool, screens, shares = ResidualPool(self.codes), list[Screened](), list(self.shares)
        first = self._tables("single columns", self.ones, shares.pop(0))
        pool.add_tables(first.tables, (yield first), first.variance)
        if self.pairs:
            chosen = self.pairs
            if len(shares) > 1:
                alone = one_by_one(pool)
                guesses = {axes: np.rint(alone(axes) * pool.total).astype(np.int64) for axes in self.pairs}
                event = PureRelease(epsilon=self.epsilon * shares[0])
                mechanism = ScreeningMechanism(codes=self.codes, guesses=guesses, unit=self.unit, event=event)
                stage = ScreeningStage(
                    name="which pairs",
                    share=shares.pop(0),
                    codes=self.codes,
                    mechanism=mechanism,
                    about="single columns",
                )
                screens.append(_screened(stage, (yield stage), None))
                chosen = self._chosen(screens[-1].distances, shares[0])
            last = self._tables("pairs", chosen, shares.pop(0))
            pool.add_tables(last.tables, (yield last), last.variance)
        model = fit_model(pool, seed=self.seed, rows=self.rows)
        return Measured(pool=pool, model=model, screens=tuple(screens))

    def check(self) -> None:
        """Build the largest noise that can come, and the smallest: that of all pairs, and of one."""
        self._tables("single columns", self.ones, self.shares[0])
        if self.pairs:
            for tables in (self.pairs, self.pairs[:1]):
                self._tables("pairs", tables, self.shares[-1])
            screen = noise_of_screen(len(self.pairs), self.unit, PureRelease(epsilon=self.epsilon * _PURE_SCREEN))
            _require_drawable(float(screen), "screen")

    def margin(self, confidence: Fraction) -> float:
        """Return how far off all cells of pairs are at most, had all of them been measured; of fewer, less."""
        sets = self.pairs or self.ones
        stage = self._tables("pairs", sets, self.shares[-1])
        return stage.mechanism.margin(confidence, values=sum(self.cells(axes) for axes in sets))

    def _chosen(self, distances: Mapping[Axes, int], share: Fraction) -> list[Axes]:
        """Return the pairs to measure: as many of the farthest as make noise and what is left out together least."""
        falling = sorted(distances, key=lambda axes: (-distances[axes], axes))
        left, best = sum(max(0, one) for one in distances.values()), list[tuple[float, int]]()
        cells = 0
        for many, axes in enumerate(falling, 1):
            left -= max(0, distances[axes])
            cells += self.cells(axes)
            scale = many * moved_in_one_table(self.unit) / float(self.epsilon * share)
            best.append((cells * scale + left, many))  # the mean size of Laplace noise is its scale
        return sorted(falling[: min(best)[1]])

    def _tables(self, name: str, tables: Sequence[Axes], share: Fraction) -> TablesStage:
        moved = len(tables) * moved_in_one_table(self.unit)
        mechanism = GeometricMechanism(l1_sensitivity=moved, epsilon=self.epsilon * share)
        return TablesStage(name=name, share=share, codes=self.codes, tables=tuple(tables), mechanism=mechanism)


@lru_cache(maxsize=16)
def _worth(
    codes: tuple[int, ...], workload: tuple[Axes, ...], unit: PrivacyUnit, ordered: tuple[bool, ...] | None
) -> Worth:
    """Return what matters about columns, and remember it: it is the same at every price that is tried."""
    return Worth(codes=codes, workload=workload, unit=unit, ordered=ordered)


def _on_grid(least: float) -> Fraction:
    return max(Fraction(1), Fraction(math.ceil(least * _GRID) + 1, _GRID))


def _screened(stage: ScreeningStage, released: Released, model: PopulationModel | None) -> Screened:
    distances = dict(zip(stage.sets, released[0], strict=True))
    guesses = {axes: table.astype(np.float64) for axes, table in stage.mechanism.guesses.items()}
    return Screened(distances=distances, guesses=guesses, noise=stage.mechanism.noise, model=model)


def _require_drawable(sigma: float, what: str) -> None:
    if sigma > _LARGEST / 64:
        reason = f"is too small: what it would {what} is noise of {sigma:.3g} people"
        raise ParameterError("price", f"{sigma:.3g}", reason=reason, remedy="offer more, or name fewer columns")
