"""The five rounds of a regression, one after the other: what each is asked at, and what is made of what it released.

How a round is drawn is the caller's: under a reservation, or on made-up rows in a benchmark. Each round is asked at
whole numbers, which come back with its release, and everything after it is computed from these. So a regression that
is read back from the ledger, on another machine, is the same one.

Proof: proofs/regression_rounds.md
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from lapwing.analyses.regression_fit import (
    Estimates,
    ReleasedMoments,
    ReleasedScatter,
    StepNoise,
    conclude,
    lam_of,
    least_squares,
    made_up_people,
    pooled,
    take_step,
    variation_of,
    whitened,
)
from lapwing.analyses.regression_models import LinearModel, LogisticModel, PoissonModel, Reals, RegressionModel
from lapwing.analyses.regression_rounds import (
    ROUND_SHARES,
    WHITE,
    Affine,
    ColumnGrid,
    OutcomeLink,
    RegressionRound,
    moments,
    radius_squared,
    scatter,
    step,
    unfolded,
)
from lapwing.mechanisms.row_sums import RowSumMechanism
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import Composed, GaussianNoise
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

At: TypeAlias = Mapping[str, Any]
"""The public whole numbers that a round is asked at."""
Build: TypeAlias = Callable[[At], RegressionRound]
Ask: TypeAlias = Callable[[int, At, Build], Mapping[str, Any]]
"""Draws the round of a number, or reads it back: what it was asked `at`, and what it `released`."""
ROUNDS: Final = 5
_LEAST_RATE, _MOST_RATE = 0.002, 0.998


@frozen()
class Course:
    """The rounds of one regression: its columns and outcome, its model, and the rho that they cost together.

    `outcome_low` is what the outcome is at least; only counts need it.
    """

    grid: ColumnGrid
    two_valued: tuple[int, ...]
    model: str
    outcome_low: int
    rho: Fraction
    unit: PrivacyUnit

    @property
    def event(self) -> Composed:
        """All that the rounds can do: one release of Gaussian noise for each sum. Their rho adds up to `rho`."""
        parts = [share * self.rho for several in ROUND_SHARES for share in several]
        return Composed(
            parts=tuple(GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / (2 * rho)) for rho in parts)
        )

    def check_price(self) -> None:
        """Refuse a price for which no round could be drawn: what noise there is follows from the columns alone."""
        p = len(self.grid.extents)
        none = OutcomeLink(outcome=np.zeros(self.grid.extents[-1] + 1, np.int64))
        scaled, white, predictor = (Affine.near(np.zeros((p - 1, n)), np.zeros(n)) for n in (p - 1, p, 1))
        asked = [self.first({}), scatter(self.grid, scaled, none.outcome, self._rho(2))]
        asked += [step(self.grid, white, predictor, none, self._rho(number)) for number in range(3, ROUNDS + 1)]
        try:
            for one in asked:
                self.mechanism(one)
        except ParameterError:
            raise BadQuestionError(
                f"a rho of {float(self.rho):.2g} asks for more or less noise than can be drawn; offer from 1e-6 to 10"
            ) from None

    def mechanism(self, asked: RegressionRound) -> RowSumMechanism:
        """Return what releases a round."""
        return RowSumMechanism(sums=asked.sums, unit=self.unit)

    def run(self, ask: Ask, confidence: float) -> tuple[Estimates, RegressionModel]:
        """Ask one round after the other, and return the estimates."""
        numbers, units, sigmas = self._drawn(ask(1, {}, self.first), self.first)
        found = ReleasedMoments.of(numbers[0], units[0], sigmas[0])
        model = self._model(found)

        def second(at: At) -> RegressionRound:
            table = model.at(at["state"]).surrogate_table()
            return scatter(self.grid, Affine.from_record(at["scaled"]), table, self._rho(2))

        drawn = ask(2, {"scaled": found.scaled(self.grid).to_record(), "state": model.state}, second)
        matrix, units, sigmas = self._drawn(drawn, second)
        model = model.at(drawn["at"]["state"])
        fit = least_squares(found, ReleasedScatter.of(matrix[0], units[0], sigmas[0], len(self.grid.extents) - 1))
        people = made_up_people(found, fit.each, self.two_valued, int(digest([numbers, matrix])[:16], 16))
        theta, model = model.started(fit.theta.copy(), fit.left, fit.each)
        space = whitened(found, self.grid, fit.lam, people)
        varied: list[tuple[float, float]] = []
        for number in range(3, ROUNDS + 1):
            build = self._build_step(number, model)
            at = {
                "white": space.white.to_record(),
                "predictor": space.predictor(theta, model.steps).to_record(),
                "state": model.state,
            }
            drawn = ask(number, at, build)
            model = model.at(drawn["at"]["state"])
            space = whitened(
                found, self.grid, lam_of(Affine.from_record(drawn["at"]["white"]), found, self.grid), people
            )
            theta = space.theta_of(Affine.from_record(drawn["at"]["predictor"]), model.steps)
            released, noise = self._of_step(drawn, build, model)
            taken = take_step(space, model, theta, released, noise)
            theta, last = taken.theta, (space, model, taken, noise)
            if isinstance(model, LinearModel):
                model = model.updated(taken.squares, found.people)
            elif isinstance(model, PoissonModel) and number < ROUNDS:
                varied.append(variation_of(space, model, taken, noise))
                if number == ROUNDS - 1:
                    model = model.for_dispersion(*pooled(varied), found.people, self._last_noise)
        found_at_last = conclude(*last, confidence)
        return replace(found_at_last, settled=found_at_last.settled and fit.seen), last[1]

    def first(self, at: At) -> RegressionRound:
        """Return round A, which needs no numbers."""
        del at
        return moments(self.grid, self._rho(1))

    def _build_step(self, number: int, model: RegressionModel) -> Build:
        def build(at: At) -> RegressionRound:
            white, predictor = Affine.from_record(at["white"]), Affine.from_record(at["predictor"])
            return step(self.grid, white, predictor, model.at(at["state"]).link(), self._rho(number))

        return build

    def _drawn(self, drawn: Mapping[str, Any], build: Build) -> tuple[Any, tuple[float, ...], tuple[float, ...]]:
        """Return what a round released, what a step of each sum stands for, and how far its noise reaches."""
        asked = build(drawn["at"])
        return drawn["released"], asked.units, self.mechanism(asked).sigmas

    def _of_step(
        self, drawn: Mapping[str, Any], build: Build, model: RegressionModel
    ) -> tuple[tuple[Reals, Reals, Reals], StepNoise]:
        """Return gradient, curvature and squared residuals in real units, and their noise."""
        (gradient, curvature, squares), units, sigmas = self._drawn(drawn, build)
        sizes = (units[0] * model.clip, units[1] * model.largest_slope, units[2] * model.clip**2)
        released = (
            np.array(gradient, np.float64) * sizes[0],
            unfolded(curvature, len(gradient)) * sizes[1],
            np.array(squares, np.float64) * sizes[2],
        )
        reach = [size * sigma for size, sigma in zip(sizes, sigmas, strict=True)]
        return released, StepNoise(gradient=reach[0], curvature=reach[1], squares=reach[2])

    def _rho(self, number: int) -> list[Fraction]:
        return [share * self.rho for share in ROUND_SHARES[number - 1]]

    def _model(self, found: ReleasedMoments) -> RegressionModel:
        """Return the model as round A lets it begin."""
        extent = self.grid.extents[-1]
        centre, spread = float(found.centre[-1]), float(found.scale[-1])
        share = (centre + 1) / 2
        if self.model == LinearModel.name:
            return LinearModel(levels=2 * np.arange(extent + 1) / extent - 1, centre=centre, spread=spread)
        if self.model == LogisticModel.name:
            rate = float(np.clip(share, _LEAST_RATE, _MOST_RATE))
            return LogisticModel(levels=np.arange(2, dtype=np.float64), rate=rate)
        levels = self.outcome_low + np.arange(extent + 1, dtype=np.float64)
        return PoissonModel.with_best_cap(levels, self.outcome_low + share * extent, found.people, self._last_noise)

    @property
    def _last_noise(self) -> float:
        """How far the noise of the last gradient reaches, for residuals up to 1."""
        radius = math.sqrt(radius_squared(len(self.grid.extents))) / WHITE
        return radius * self.noise_factor / math.sqrt(2 * float(self._rho(ROUNDS)[0]))

    @property
    def noise_factor(self) -> int:
        """How much further noise reaches than for one person who comes or goes."""
        return self.unit.protects_groups_of * (2 if self.unit.adjacency is Adjacency.REPLACE else 1)
