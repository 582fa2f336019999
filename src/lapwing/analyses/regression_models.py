"""The three models of a regression: what an outcome is expected to be at a linear predictor, and its residual.

Everything here is public: it is computed from what is declared and what was released. In working units the outcome of
the linear model lies in [-1, 1], that of the logistic one is 0 or 1, and that of the Poisson model is a count.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaincc, gammaln, ndtr

from lapwing.analyses.regression_rounds import ETA, KNOTS, RESIDUAL, WHITE, OutcomeLink, tables_of
from lapwing.mechanisms.row_sums import Whole
from lapwing.vocabulary.frozen import frozen

Reals: TypeAlias = NDArray[np.float64]
_FINE: Final = 2**30
_NODES: Final = 24
_LEAST_RATE: Final = 0.01
_USUAL_SLOPE: Final = 0.25
"""A usual effect on the log rate, for one standard deviation of a column."""
_STEP: Final = 0.1
_SEEN_FROM: Final = 2
_MOST_DISPERSED: Final = 20.0


@frozen()
class RegressionModel(ABC):
    """A model of an outcome whose possible values are `levels`, in working units."""

    name: ClassVar[str]
    ratio: ClassVar[str] = ""
    """What the exponential of a coefficient is called, if it is anything."""
    levels: Reals
    hmax: ClassVar[float] = 1.0

    @property
    @abstractmethod
    def clip(self) -> float:
        """How large a residual can be."""

    @property
    @abstractmethod
    def limit(self) -> float:
        """How long one step may be, in standard deviations of the columns."""

    @abstractmethod
    def mean(self, eta: Reals) -> Reals:
        """Return what is expected of the outcome, as a residual sees it."""

    @abstractmethod
    def slope(self, eta: Reals) -> Reals:
        """Return how fast the mean rises."""

    @abstractmethod
    def surrogate(self) -> Reals:
        """Return the outcome as round B sums it, for each of its levels: within ±1."""

    @abstractmethod
    def started(self, theta: Reals, left: float, scatter: Reals) -> "tuple[Reals, RegressionModel]":
        """Return a first guess from the least squares of the surrogate, and the model as it is from there on."""

    @abstractmethod
    def link(self) -> OutcomeLink:
        """Return its mean and slope as tables of whole numbers."""

    @property
    def steps(self) -> float:
        """How many steps of a round C stand for 1 of the linear predictor."""
        return ETA

    @property
    def largest_slope(self) -> float:
        """The largest slope there is, which stands for `SLOPE` in the rounds."""
        return self.hmax

    @property
    def state(self) -> int:
        """What changes from round to round, as a whole number."""
        return 0

    def at(self, state: int) -> "RegressionModel":
        """Return the model with this state."""
        del state
        return self

    def surrogate_table(self) -> Whole:
        """Return the surrogate in whole numbers."""
        return np.rint(WHITE * np.clip(self.surrogate(), -1, 1)).astype(np.int64)


@frozen()
class LinearModel(RegressionModel):
    """Least squares with Huber's bound: a residual counts up to two residual spreads."""

    name = "linear"
    tau: ClassVar[float] = 2.0
    centre: float
    spread: float
    residual: float = 1.0

    @property
    def clip(self) -> float:
        """Two residual spreads."""
        return self.tau * self.residual

    @property
    def limit(self) -> float:
        """Three residual spreads."""
        return 3 * self.residual

    def mean(self, eta: Reals) -> Reals:
        """Return the predictor itself."""
        return eta

    def slope(self, eta: Reals) -> Reals:
        """Return the part of residuals that is within the bound, if they are normal."""
        return np.full(eta.shape, 2 * ndtr(self.tau) - 1)

    def surrogate(self) -> Reals:
        """Return the outcome around its mean, up to two spreads."""
        return np.clip((self.levels - self.centre) / (2 * self.spread), -1, 1)

    def started(self, theta: Reals, left: float, scatter: Reals) -> "tuple[Reals, LinearModel]":
        """Return least squares in working units, with the residual spread that they leave."""
        del scatter
        theta = theta * 2 * self.spread
        theta[0] += self.centre
        return theta, self.with_residual(2 * self.spread * math.sqrt(max(left, 0.01)))

    def with_residual(self, spread: float) -> "LinearModel":
        """Return the model with another residual spread."""
        return replace(self, residual=max(1, round(spread * _FINE)) / _FINE)

    def updated(self, squares: float, people: float) -> "LinearModel":
        """Return the model with the spread that a sum of squared residuals, as they are bounded, tells of."""
        told = math.sqrt(max(squares, 1e-12) / (0.9 * people)) / 0.88
        return self.with_residual(float(np.clip(told, 0.3 * self.residual, 2 * self.residual)))

    def link(self) -> OutcomeLink:
        """Return the outcome in steps of the residual; there are no tables."""
        return OutcomeLink(outcome=np.rint(self.levels * self.steps).astype(np.int64))

    @property
    def steps(self) -> float:
        """As many as a residual at its bound has."""
        return RESIDUAL / self.clip

    @property
    def state(self) -> int:
        """The residual spread."""
        return round(self.residual * _FINE)

    def at(self, state: int) -> "LinearModel":
        """Return the model with this residual spread."""
        return replace(self, residual=state / _FINE)


@frozen()
class LogisticModel(RegressionModel):
    """The log-odds of an outcome that is 0 or 1."""

    name = "logistic"
    ratio = "odds ratio"
    hmax = 0.25
    rate: float

    @property
    def clip(self) -> float:
        """Both 0 and 1 are within 1 of every mean."""
        return 1.0

    @property
    def limit(self) -> float:
        """1.5 on the scale of log-odds."""
        return 1.5

    def mean(self, eta: Reals) -> Reals:
        """Return the probability."""
        return np.asarray(expit(eta))

    def slope(self, eta: Reals) -> Reals:
        """Return the variance of the outcome."""
        return np.asarray(expit(eta) * expit(-eta))

    def surrogate(self) -> Reals:
        """Return -1 and 1."""
        return 2.0 * self.levels - 1.0

    def started(self, theta: Reals, left: float, scatter: Reals) -> "tuple[Reals, LogisticModel]":
        """Return the slopes of least squares, times one factor."""
        del left
        theta = theta / 2
        theta[0] += 0.5
        return scaled_start(theta, self.rate, scatter, self.mean, self.slope), self

    def link(self) -> OutcomeLink:
        """Return its tables."""
        means, roots = _logistic_tables()
        return OutcomeLink(outcome=np.rint(RESIDUAL * self.levels).astype(np.int64), means=means, roots=roots)


@frozen()
class PoissonModel(RegressionModel):
    """The log rate of a count, which is looked at up to a cap, against its mean under that cap: the cap is no bias."""

    name = "poisson"
    ratio = "rate ratio"
    rate: float
    cap: int
    dispersion: float = 1.0
    """How much more counts may vary than those of a Poisson law."""

    @property
    def clip(self) -> float:
        """The cap: a count up to it, less a mean up to it."""
        return float(self.cap)

    @property
    def limit(self) -> float:
        """1.5 on the scale of log rates."""
        return 1.5

    def mean(self, eta: Reals) -> Reals:
        """Return E min(Y, K) = λ·P(Y ≤ K-2) + K·P(Y ≥ K)."""
        return _capped_mean(eta, self.cap)

    def slope(self, eta: Reals) -> Reals:
        """Return λ·P(Y ≤ K-1)."""
        return _capped_slope(eta, self.cap)

    @property
    def largest_slope(self) -> float:
        """The largest knot of the table that is summed."""
        return _largest_knot(self.cap)

    def variance(self, eta: Reals) -> Reals:
        """Return the variance of min(Y, K)."""
        rate, cap = _rates(eta, self.cap), self.cap
        second = sum((2 * j + 1) * (1 - gammaincc(j + 1, rate)) for j in range(cap))  # Σ (2j + 1) P(Y > j)
        return np.asarray(second - self.mean(eta) ** 2)

    def surrogate(self) -> Reals:
        """Return the count up to its cap, within ±1."""
        return 2.0 * np.minimum(self.levels, self.cap) / self.cap - 1.0

    def started(self, theta: Reals, left: float, scatter: Reals) -> "tuple[Reals, PoissonModel]":
        """Return the slopes of least squares, times one factor, at the mean of capped counts that round B summed."""
        del left
        rate = self.cap / 2 * (1 + scatter[0] @ theta / scatter[0, 0])
        theta = theta * self.cap / 2
        theta[0] += self.cap / 2
        near = float(np.clip(rate, _LEAST_RATE, 0.98 * self.cap))
        return scaled_start(theta, near, scatter, self.mean, self.slope), self.seeing()

    def link(self) -> OutcomeLink:
        """Return its tables."""
        outcome = np.rint(RESIDUAL * np.minimum(self.levels, self.cap) / self.cap).astype(np.int64)
        means, roots = _poisson_tables(self.cap)
        return OutcomeLink(outcome=outcome, means=means, roots=roots)

    @staticmethod
    def with_best_cap(
        levels: Reals, rate: float, people: float, noise: float, *, dispersion: float = 1.0
    ) -> "PoissonModel":
        """Return the model with the cap of least predicted error: small caps lose people, large ones need noise.

        Where counts vary more than a Poisson law lets them, by `dispersion`, a cap also bends the slopes: then its mean
        is not that of a capped Poisson count, and what it bends is part of the error.
        """
        most = int(levels.max())
        near = float(np.clip(rate, _LEAST_RATE, max(most, 1)))

        def error(cap: int) -> float:
            model = PoissonModel(levels=levels, rate=near, cap=cap)
            at = np.array([math.log(near)])
            slope, spread = float(model.slope(at)[0]), _capped_moments(near, _shape_of(near, dispersion), cap)[1]
            variance = (people * spread + (cap * noise) ** 2) / (people * max(slope, 1e-12)) ** 2
            return variance + (_USUAL_SLOPE * replace(model, dispersion=dispersion).bend) ** 2

        caps = sorted({min(most, math.ceil(1.15**i)) for i in range(64)})
        return PoissonModel(levels=levels, rate=near, cap=min(caps, key=error), dispersion=dispersion)

    @property
    def bend(self) -> float:
        """By which part slopes come out wrong if counts vary as negative binomial ones of its dispersion."""
        if self.dispersion <= 1:
            return 0.0
        rates = (self.rate * math.exp(one) for one in (-_STEP, _STEP))
        shape = _shape_of(self.rate, self.dispersion)
        below, above = (_taken_for(rate, shape, self.cap) for rate in rates)
        return math.log(above / below) / (2 * _STEP) - 1

    def seeing(self) -> "PoissonModel":
        """Return the model with a cap under which it shows if counts vary more than a Poisson law lets them."""
        least = max(_SEEN_FROM, math.ceil(self.rate + 1.5 * math.sqrt(self.rate)))
        return replace(self, cap=min(max(self.cap, least), int(self.levels.max())))

    def for_dispersion(self, told: float, unsure: float, people: float, noise: float) -> "PoissonModel":
        """Return the model with the best cap, if capped counts vary `told` times as much as those of a Poisson law.

        `unsure` is the standard deviation of what was told: the dispersion is taken to be one of these more. Under a
        cap of 1 nothing is told of it.
        """
        if self.cap < _SEEN_FROM:
            return self
        low, high = 1.0, _MOST_DISPERSED
        while high - low > _STEP / 10:
            middle = (low + high) / 2
            less = _variation(self.rate, middle, self.cap) < told + unsure
            low, high = (middle, high) if less else (low, middle)
        return PoissonModel.with_best_cap(self.levels, self.rate, people, noise, dispersion=low)

    @property
    def state(self) -> int:
        """The cap."""
        return self.cap

    def at(self, state: int) -> "PoissonModel":
        """Return the model with this cap."""
        return replace(self, cap=state)


def _rates(eta: Reals, cap: int) -> Reals:
    return np.asarray(np.exp(np.minimum(eta, math.log(cap) + 3)))


def _capped_mean(eta: Reals, cap: int) -> Reals:
    rate = _rates(eta, cap)
    lower = rate * gammaincc(cap - 1, rate) if cap > 1 else 0.0
    return np.asarray(lower + cap * (1 - gammaincc(cap, rate)))


def _capped_slope(eta: Reals, cap: int) -> Reals:
    rate = _rates(eta, cap)
    return np.asarray(rate * gammaincc(cap, rate))


@lru_cache(maxsize=64)
def _largest_knot(cap: int) -> float:
    return float(_capped_slope(KNOTS, cap).max())


@lru_cache(maxsize=8)
def _poisson_tables(cap: int) -> tuple[Whole, Whole]:
    return tables_of(_capped_mean(KNOTS, cap) / cap, _capped_slope(KNOTS, cap) / _largest_knot(cap))


@lru_cache(maxsize=1)
def _logistic_tables() -> tuple[Whole, Whole]:
    return tables_of(expit(KNOTS), expit(KNOTS) * expit(-KNOTS) / LogisticModel.hmax)


def _capped_moments(rate: float, shape: float, cap: int) -> tuple[float, float]:
    """Return mean and variance of counts up to a cap: negative binomial ones of a shape, or Poisson ones of none."""
    counts = np.arange(cap)
    if math.isinf(shape):
        logs = counts * math.log(rate) - rate - gammaln(counts + 1)
    else:
        logs = gammaln(counts + shape) - gammaln(shape) - gammaln(counts + 1)
        logs = logs + shape * math.log(shape / (shape + rate)) + counts * math.log(rate / (shape + rate))
    chances = np.exp(logs)
    beyond = max(0.0, 1 - float(chances.sum()))
    mean = float((chances * counts).sum()) + cap * beyond
    return mean, float((chances * counts**2).sum()) + cap**2 * beyond - mean**2


def _shape_of(rate: float, dispersion: float) -> float:
    """Return the shape at which counts of this rate vary so much more than those of a Poisson law."""
    return math.inf if dispersion <= 1 else rate / (dispersion - 1)


def _taken_for(rate: float, shape: float, cap: int) -> float:
    """Return the rate of the Poisson law whose capped counts have the mean of these, which may vary more."""
    mean, low, high = _capped_moments(rate, shape, cap)[0], 0.0, rate
    for _ in range(40):
        middle = (low + high) / 2
        below = middle > 0 and _capped_moments(middle, math.inf, cap)[0] < mean
        low, high = (middle, high) if below else (low, middle)
    return high


def _variation(rate: float, dispersion: float, cap: int) -> float:
    """Return how much more capped counts vary than those of the Poisson law that they are taken for."""
    shape = _shape_of(rate, dispersion)
    taken_for = _capped_moments(_taken_for(rate, shape, cap), math.inf, cap)
    return _capped_moments(rate, shape, cap)[1] / taken_for[1]


MODELS: Final[dict[str, type[RegressionModel]]] = {one.name: one for one in (LinearModel, LogisticModel, PoissonModel)}


def scaled_start(
    theta: Reals, rate: float, scatter: Reals, mean: Callable[[Reals], Any], slope: Callable[[Reals], Any]
) -> Reals:
    """Return a guess of a model's coefficients from those of least squares: one factor, exact for normal columns.

    Brillinger, *A generalized linear model with "Gaussian" regressor variables*, 1982.
    """
    nodes, chances = np.polynomial.hermite_e.hermegauss(_NODES)
    chances = chances / chances.sum()
    spread = math.sqrt(max(float(theta[1:] @ scatter[1:, 1:] @ theta[1:]), 1e-12))

    def centre(factor: float) -> float:
        low, high = -14.0 - 8 * factor * spread, 14.0 + 8 * factor * spread
        for _ in range(40):
            middle = (low + high) / 2
            below = float((chances * mean(middle + factor * spread * nodes)).sum()) < rate
            low, high = (middle, high) if below else (low, middle)
        return (low + high) / 2

    low, high = 0.0, 1.5 / max(float((chances * slope(centre(0.0) + 0 * nodes)).sum()), 1e-6)
    for _ in range(24):
        factor = (low + high) / 2
        short = factor * float((chances * slope(centre(factor) + factor * spread * nodes)).sum()) < 1
        low, high = (factor, high) if short else (low, factor)
    guess = theta * low
    guess[0] = centre(low)
    return guess
