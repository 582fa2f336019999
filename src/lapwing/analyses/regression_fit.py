"""From what the rounds of a regression released to guesses, steps, and estimates with intervals: all of it free.

Between two rounds there is only arithmetic on released numbers. Coefficients are those of columns that are centred,
scaled and made white by what rounds A and B released, until the end, where they are put back.

*Puppets* are people made up from released numbers: normal, with the released correlations, but two-valued in columns
that have two values. They tell which curvature to expect, how it bends, and what it is at the ends of an interval; the
measured curvature moves theirs as far as its own noise allows (James and Stein).
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri

from lapwing.analyses.regression_models import LinearModel, PoissonModel, Reals, RegressionModel
from lapwing.analyses.regression_rounds import LEVELS, WHITE, Affine, ColumnGrid, radius_squared, unfolded
from lapwing.analyses.simulated_draws import draws_from
from lapwing.vocabulary.frozen import frozen

_PUPPETS: Final = 4000
_LEAST_PEOPLE: Final = 20.0
_LEAST_SPREAD: Final = 0.02
_LONGEST_WALK: Final = 3.0
_UNSETTLED: Final = 0.5
_MOST_UNKNOWN: Final = 1.0
_LEAST_SEEN: Final = 4.0
_SMALLEST_END: Final = 0.9


@frozen()
class ReleasedMoments:
    """Round A: about how many people, and the mean and spread of each column and of the outcome, on [-1, 1]."""

    people: float
    noise: float
    """How far off the number of people is, as a standard deviation."""
    centre: Reals
    scale: Reals

    @staticmethod
    def of(released: Sequence[int], unit: float, sigma: float) -> "ReleasedMoments":
        """Return what the released sums say; a spread is at least what the noise could make of none."""
        numbers, noise = np.array(released, np.float64) * unit, unit * sigma
        many = (len(numbers) - 1) // 2
        people = max(_LEAST_PEOPLE, float(numbers[0]))
        centre = np.clip(numbers[1 : 1 + many] / people, -1, 1)
        least = max(_LEAST_SPREAD**2, 2 * noise / people)
        scale = np.sqrt(np.clip(numbers[1 + many :] / people - centre**2, min(least, 1.0), 1.0))
        return ReleasedMoments(people=people, noise=noise, centre=centre, scale=scale)

    def scaled(self, grid: ColumnGrid) -> Affine:
        """Return the columns centred and scaled, for round B."""
        centre, scale = self.centre[:-1], self.scale[:-1]
        return Affine.near(np.diag(WHITE / (scale * grid.reach[:-1])), -WHITE * centre / scale)


@frozen()
class Whitened:
    """Rounds A and B: coordinates in which the columns are white, people made up from them, and a first guess.

    `lam` takes (1, x'), centred and scaled, to white columns; `unit` takes coefficients of (1, x') to those of white
    columns.
    """

    people: float
    noise: float
    centre: Reals
    scale: Reals
    reach: Reals
    lam: Reals
    unit: Reals
    puppets: Reals
    weights: Reals

    @property
    def white(self) -> Affine:
        """The way from the columns of a row to white ones."""
        factors = self.lam[1:] / (self.scale * self.reach)[:, None]
        return Affine.near(WHITE * factors, WHITE * (self.lam[0] - self.centre @ (self.lam[1:] / self.scale[:, None])))

    def predictor(self, theta: Reals, steps: float) -> Affine:
        """Return the way from the columns of a row to its linear predictor, in steps."""
        factors = theta[1:] / (self.scale * self.reach)
        return Affine.near(steps * factors[:, None], [steps * (theta[0] - self.centre @ (theta[1:] / self.scale))])

    def theta_of(self, predictor: Affine, steps: float) -> Reals:
        """Return the coefficients that a predictor of whole numbers has: the nearest to those that it was made from."""
        factors, constants = predictor.real
        slopes = factors[:, 0] / steps * self.scale * self.reach
        return np.concatenate([[constants[0] / steps + self.centre @ (slopes / self.scale)], slopes])

    def curvature(self, model: RegressionModel, at: Reals) -> Reals:
        """Return what the puppets expect the curvature to be at white coefficients."""
        slopes = self.weights * model.slope(self.puppets @ at)
        return np.asarray(self.people * (self.puppets * slopes[:, None]).T @ self.puppets / len(self.puppets))

    def on_declared_scale(self) -> Reals:
        """Return the way from coefficients of (1, x') to those of (1, x), x on [-1, 1]."""
        back: Reals = np.eye(len(self.lam))
        back[0, 1:] = -self.centre / self.scale
        back[1:, 1:] = np.diag(1 / self.scale)
        return back


def mallows(lengths: Reals, radius: float) -> Reals:
    """Return the weights of people whose columns have these lengths, as multiples of 1/16."""
    return np.asarray(np.floor(np.minimum(1.0, radius / np.maximum(lengths, 1e-12)) * LEVELS) / LEVELS)


@frozen()
class ReleasedScatter:
    """Round B: the products of (1, x', y'), and how far their noise reaches."""

    products: Reals
    noise: float

    @staticmethod
    def of(released: Sequence[int], unit: float, sigma: float, columns: int) -> "ReleasedScatter":
        """Return the released matrix, in real units."""
        return ReleasedScatter(products=unfolded(released, columns + 2) * unit, noise=unit * sigma)


@frozen()
class LeastSquares:
    """What round B says: coefficients of the surrogate, what they leave, the scatter of one person, and a whitening."""

    theta: Reals
    left: float
    each: Reals
    lam: Reals
    seen: bool
    """Whether the columns vary by more than noise in every direction; a whitening of noise is none."""


def least_squares(moments: ReleasedMoments, scatter: ReleasedScatter) -> LeastSquares:
    """Return least squares from a released scatter, whose smallest directions are held above its noise."""
    p = len(scatter.products) - 1
    people = max(float(scatter.products[0, 0]), 0.3 * moments.people)
    values, vectors = np.linalg.eigh(scatter.products[:p, :p])
    edge = scatter.noise * math.sqrt(2 * p)
    seen = bool(values.min() > 0.75 * edge)
    values = np.maximum(values, max(0.5 * edge, 1e-3 * people))
    theta = (vectors / values) @ (vectors.T @ scatter.products[:p, p])
    left = float(scatter.products[p, p] - scatter.products[:p, p] @ theta) / people
    each = (vectors * (values / people)) @ vectors.T
    return LeastSquares(theta=theta, left=left, each=each, lam=vectors / np.sqrt(values / people), seen=seen)


def whitened(moments: ReleasedMoments, grid: ColumnGrid, lam: Reals, made_up: Reals) -> Whitened:
    """Return the coordinates that `lam` makes, and puppets in them."""
    puppets = made_up @ lam
    radius = math.sqrt(radius_squared(len(lam))) / WHITE
    return Whitened(
        people=moments.people,
        noise=moments.noise,
        centre=moments.centre[:-1],
        scale=moments.scale[:-1],
        reach=grid.reach[:-1].astype(np.float64),
        lam=lam,
        unit=np.asarray(np.linalg.inv(lam)),
        puppets=puppets,
        weights=mallows(np.sqrt((puppets**2).sum(axis=1)), radius) ** 2,
    )


def lam_of(white: Affine, moments: ReleasedMoments, grid: ColumnGrid) -> Reals:
    """Return the whitening that a map of whole numbers has: the nearest to that which it was made from."""
    factors, constants = white.real
    slopes = factors / WHITE * (moments.scale[:-1] * grid.reach[:-1])[:, None]
    first = constants / WHITE + moments.centre[:-1] @ (slopes / moments.scale[:-1, None])
    return np.concatenate([first[None, :], slopes])


def made_up_people(moments: ReleasedMoments, each: Reals, two_valued: Sequence[int], seed: int) -> Reals:
    """Return puppets as rows of (1, x'): normal copulas, and two-valued where a column has two values."""
    centre, scale = moments.centre, moments.scale
    mean = each[1:, 0] / each[0, 0]
    covariance = each[1:, 1:] - np.outer(each[1:, 0], mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-3))
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    drawn = draws_from(seed).standard_normal((_PUPPETS // 2, len(mean)))
    raw = np.concatenate([drawn, -drawn]) @ ((vectors * np.sqrt(np.maximum(values, 1e-3))) @ vectors.T)
    columns = mean + raw * spread
    for j in two_valued:
        share = np.clip((1 + centre[j]) / 2, 0.01, 0.99)
        columns[:, j] = (np.where(ndtr(raw[:, j]) > 1 - share, 1.0, -1.0) - centre[j]) / scale[j]
    return np.column_stack([np.ones(len(columns)), columns])


@frozen()
class StepNoise:
    """The standard deviation of the noise of a round C, in real units: of gradient, curvature and squared residuals."""

    gradient: float
    curvature: float
    squares: float


@frozen()
class StepTaken:
    """What a round C says: where the next guess is, and what is known about the way there."""

    theta: Reals
    """The next guess, for (1, x')."""
    straight: Reals
    bend: Reals
    share: Reals
    """The curvature over that of the puppets, in the metric of theirs."""
    unsure: float
    unknown: float
    """How far the noise alone moves the measured curvature, relative to it."""
    capped: bool
    squares: float
    before: Reals


def take_step(
    space: Whitened, model: RegressionModel, theta: Reals, released: Sequence[Reals], noise: StepNoise
) -> StepTaken:
    """Return the step from `theta` that a released gradient, curvature and squared residual tell of.

    It is the whole step, with the curvature of its own round, met on the curve of the puppets: the change of the
    coefficients at which their gradient is the released one. That is concave, and does not overshoot.
    """
    gradient, measured, squares = released
    p = len(theta)
    at = space.unit @ theta
    expected = space.curvature(model, at)
    root = np.linalg.cholesky(expected + 1e-9 * space.people * np.eye(p))
    inverse = np.linalg.inv(root)
    apart = inverse @ (measured - expected) @ inverse.T
    metric = inverse @ inverse.T
    of_noise = noise.curvature**2 / 2 * (np.trace(metric) ** 2 + np.trace(metric @ metric))
    shrink = max(0.0, 1 - of_noise / max(float((apart**2).sum()), 1e-12))
    values, vectors = np.linalg.eigh(np.eye(p) + shrink * apart)
    known = noise.curvature * math.sqrt(float(np.trace(metric @ metric)) / 2)
    values = np.clip(values, max(0.02, min(0.4, 4 * known)), min(50.0, max(2.5, 1 / max(known, 0.02))))
    share = (vectors * values) @ vectors.T
    straight = np.linalg.solve(root @ share @ root.T, gradient)
    met = straight
    if not isinstance(model, LinearModel):
        on_puppets = root @ ((vectors / values) @ vectors.T) @ inverse @ gradient
        met = _met_on_puppets(space, model, at, on_puppets)
    bend = straight - met
    bend = bend * min(1.0, 0.5 * float(np.linalg.norm(met)) / max(float(np.linalg.norm(bend)), 1e-12))
    length = float(np.linalg.norm(met))
    capped = length > model.limit
    if capped:
        met = met * model.limit / length
    return StepTaken(
        theta=theta + space.lam @ met,
        straight=straight,
        bend=bend,
        share=share,
        unsure=float(shrink * known + (1 - shrink) * 0.15),
        unknown=float(known),
        capped=capped,
        squares=float(squares[0]),
        before=at,
    )


def _met_on_puppets(space: Whitened, model: RegressionModel, at: Reals, gradient: Reals) -> Reals:
    """Return the change of white coefficients that gives the puppets this gradient, in steps of at most 0.5."""
    eta, change = space.puppets @ at, np.zeros(len(at))
    base, each = model.mean(eta), space.people / len(eta)
    for _ in range(25):
        now = eta + space.puppets @ change
        left = gradient - each * (space.puppets.T @ (space.weights * (model.mean(now) - base)))
        curvature = each * (space.puppets * (space.weights * model.slope(now))[:, None]).T @ space.puppets
        curvature += 1e-4 * space.people * model.largest_slope * np.eye(len(at))
        step = np.linalg.solve(curvature, left)
        size = float(np.linalg.norm(step))
        change = change + step * min(1.0, 0.5 / max(size, 1e-12))
        if size < 1e-6 or float(np.linalg.norm(change)) > _LONGEST_WALK:  # noqa: PLR2004 - close enough
            break
    return change


def variation_of(space: Whitened, model: PoissonModel, taken: StepTaken, noise: StepNoise) -> tuple[float, float]:
    """Return how much more capped counts vary than those of a Poisson law, and how far off that may be (one sd)."""
    varies = model.variance(space.puppets @ taken.before)
    expected = max(space.people * float((space.weights * varies).mean()), 1.0)
    each = expected / space.people
    sampled = math.sqrt(space.people * (each + 2 * each**2))  # the fourth moment of a Poisson count
    return taken.squares / expected, math.hypot(sampled, noise.squares) / expected


def pooled(told: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the best mean of several numbers, each with its standard deviation, and that of the mean.

    >>> pooled([(1.0, 0.125), (2.0, 0.125)])
    (1.5, 0.0883...)
    """
    weights = [1 / deviation**2 for _, deviation in told]
    mean = sum(weight * number for weight, (number, _) in zip(weights, told, strict=True)) / sum(weights)
    return mean, 1 / math.sqrt(sum(weights))


@frozen()
class Estimates:
    """Coefficients of (1, x), x on [-1, 1]: estimates, covariance, ends of intervals, and whether to trust them.

    `toward_zero` is the standard deviation that would hold if the coefficient were on the side of zero.
    """

    beta: Reals
    covariance: Reals
    low: Reals
    high: Reals
    toward_zero: Reals
    noise_share: Reals
    settled: bool
    people: float


def conclude(
    space: Whitened, model: RegressionModel, last: StepTaken, noise: StepNoise, confidence: float
) -> Estimates:
    """Return the estimates that the last step leads to, each end with the spread that would hold if it were true."""
    p, far = len(last.theta), float(ndtri((1 + confidence) / 2))
    ending = _Ending(space, model, last, noise)
    here = space.unit @ last.theta
    back = space.on_declared_scale()
    ways = back @ space.lam
    beta, spread = back @ last.theta, ending.spread(here)
    covariance = ways @ spread @ ways.T
    se = np.sqrt(np.diag(covariance))
    ends = {-1: se.copy(), 1: se.copy()}
    if not isinstance(model, LinearModel):
        for j in range(p):
            for sign, errors in ends.items():
                errors[j] = ending.error_at_end(here, ways[j], spread, sign * far)
    of_noise = np.sqrt(np.diag(ways @ ending.of_noise(here) @ ways.T))
    return Estimates(
        beta=beta,
        covariance=covariance,
        low=beta - far * ends[-1],
        high=beta + far * ends[1],
        toward_zero=np.where(beta > 0, ends[-1], ends[1]),
        noise_share=np.minimum(1.0, (of_noise / se) ** 2),
        settled=_has_settled(space, last),
        people=space.people,
    )


def _has_settled(space: Whitened, last: StepTaken) -> bool:
    """Say whether a fit came to rest, with people and a curvature that are more than noise."""
    seen = space.people > _LEAST_SEEN * space.noise
    return bool(seen and not last.capped and last.unsure < _UNSETTLED and last.unknown < _MOST_UNKNOWN)


class _Ending:
    """The spread of the last step, as it would be at given white coefficients."""

    def __init__(self, space: Whitened, model: RegressionModel, last: StepTaken, noise: StepNoise) -> None:
        self._space, self._model, self._last, self._noise = space, model, last, noise
        p, expected = len(last.theta), space.weights * model.slope(space.puppets @ last.before)
        self._dispersion = 1.0
        if isinstance(model, PoissonModel):
            told = last.squares / max(space.people * float(expected.mean()), 1.0)
            self._dispersion = float(np.clip(told, 0.5, 10.0))
        least = 0.05 * space.people * model.clip**2 / 4
        squared = (space.puppets * (space.weights**2)[:, None]).T @ space.puppets / len(space.puppets)
        self._of_residuals = max(last.squares, least) / max(float(space.weights.mean()), 0.1) * squared
        straight = last.straight
        self._further = last.unsure**2 * float(straight @ straight) / p * np.eye(p)
        self._further += 0.25 * np.outer(last.bend, last.bend) + 0.02 * np.outer(straight, straight)
        if isinstance(model, PoissonModel):  # what a cap may have bent the slopes by
            bent = model.bend * space.unit @ np.concatenate([[0.0], last.theta[1:]])
            self._further += np.outer(bent, bent)

    def spread(self, at: Reals) -> Reals:
        """Return the covariance: of sampling, of the noise, and of a curvature that is not quite known."""
        curvature, inverse = self._curvature(at)
        meat = self._of_residuals if isinstance(self._model, LinearModel) else self._dispersion * curvature
        sampled = inverse @ meat @ inverse + self._noise.gradient**2 * inverse @ inverse
        return np.asarray(sampled * (1 + self._last.unsure**2) + self._further)

    def of_noise(self, at: Reals) -> Reals:
        """Return the part of the covariance that the noise on the last gradient has."""
        inverse = self._curvature(at)[1]
        return np.asarray(self._noise.gradient**2 * inverse @ inverse)

    def error_at_end(self, here: Reals, way: Reals, spread: Reals, far: float) -> float:
        """Return the standard deviation that would hold at an end of an interval: two steps to a fixed point."""
        first = error = math.sqrt(float(way @ spread @ way))
        at = spread
        for _ in range(2):
            direction = at @ way
            size = math.sqrt(float(way @ direction))
            at = self.spread(here + math.copysign(min(abs(far), abs(far) * error / size), far) * direction / size)
            error = math.sqrt(float(way @ at @ way))
            if error > 20 * first:
                break
        return max(error, _SMALLEST_END * first)

    def _curvature(self, at: Reals) -> tuple[Reals, Reals]:
        space, model = self._space, self._model
        small = 1e-6 * space.people * model.largest_slope * np.eye(len(at))
        root = np.linalg.cholesky(space.curvature(model, at) + small)
        curvature = root @ self._last.share @ root.T
        return curvature, np.linalg.inv(curvature)
