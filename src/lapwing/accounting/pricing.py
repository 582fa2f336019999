"""What an event costs: one price list for everything that can happen.

Every price is an upper bound, rounded towards more cost. Events inside another one (a plan, a repetition, a sample) are
priced as parameters that were fixed before the first answer; parameters that are chosen on the way need a filter.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.fourier import delta_on_grid, epsilon_on_grid, pair_on_grid
from lapwing.accounting.losses import atoms
from lapwing.accounting.losses.bounded_range import BoundedRangeLaw
from lapwing.accounting.losses.discrete_gaussian import discrete_gaussian
from lapwing.accounting.losses.gaussian import GaussianLaw
from lapwing.accounting.losses.laplace import LaplaceLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.renyi_curve import renyi_curve
from lapwing.accounting.losses.sampled import Sampling, sampled
from lapwing.accounting.profile import epsilon_at
from lapwing.accounting.tilting import Factor, Tilts
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    GaussianSparseVector,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponse,
    Repeated,
    SampledWithoutReplacement,
)


@dataclass(frozen=True, slots=True, eq=False)
class PricedLoss:
    """The privacy loss of an event between neighbouring tables, in every currency. It satisfies `vocabulary.loss.Loss`.

    Parameters
    ----------
    factors : independent losses that add up, and how often each of them is met; in the order (with, without)
    """

    factors: tuple[Factor, ...]

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The sum of the largest losses, exactly, if all of them are finite."""
        total = Fraction(0)
        for law, times in self.factors:
            if law.pure_epsilon is None:
                return None
            total += law.pure_epsilon * times
        return total

    @property
    def rho(self) -> Fraction | None:
        """The sum of the zCDP bounds, if all of them are known."""
        total = Fraction(0)
        for law, times in self.factors:
            if law.rho is None:
                return None
            total += law.rho * times
        return total

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        """The exact square of mu if the event tells no more than N(0, 1) against N(mu, 1), and is attained."""
        return self.factors[0][0].mu_squared if len(self.factors) == 1 and self.factors[0][1] == 1 else None

    @property
    def orders(self) -> tuple[tuple[Factor, ...], ...]:
        """The factors in both orders of the neighbours; one if they are the same."""
        other = tuple((law.other_order, times) for law, times in self.factors)
        same = all(a is b for (a, _), (b, _) in zip(self.factors, other, strict=True))
        return (self.factors,) if same else (self.factors, other)

    def delta(self, epsilon: float) -> float:
        """Return a delta for which the event is (epsilon, delta)-differentially private."""
        return max(_delta(order, epsilon) for order in self.orders)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon for which the event is (epsilon, delta)-differentially private."""
        return max(_epsilon(order, delta) for order in self.orders)

    def renyi(self, alpha: float) -> float:
        """Return a bound of the Renyi divergence of order `alpha`, in both directions."""
        return max(sum(times * law.renyi(alpha) for law, times in order) for order in self.orders)

    def pairs(self, at_most: int = 256) -> tuple[DominatingPair, ...]:
        """Return finite pairs of at most `at_most` atoms.

        Every ordered pair of neighbouring tables is dominated by at least one of them: whoever proves something for
        all of them, at levels r >= 0, has proved it for the event. A symmetric event has one, an asymmetric one two; an
        exponential selection, whose worst case depends on the tables, has one for each range of worst cases.
        """
        return tuple(pair for order in self.orders for pair in _members(order, at_most))


def _delta(order: tuple[Factor, ...], epsilon: float) -> float:
    if len(order) == 1 and order[0][1] == 1:
        return order[0][0].delta(epsilon)
    return delta_on_grid(order, Tilts(order), epsilon)


def _epsilon(order: tuple[Factor, ...], delta: float) -> float:
    if len(order) == 1 and order[0][1] == 1:
        return epsilon_at(order[0][0].delta, delta)
    return epsilon_on_grid(order, Tilts(order), delta)


def _members(order: tuple[Factor, ...], at_most: int) -> tuple[DominatingPair, ...]:
    if len(order) == 1 and order[0][1] == 1:
        return order[0][0].members(at_most)
    reverse = Tilts([(law.other_order, times) for law, times in order])
    return (pair_on_grid(order, Tilts(order), reverse).coarsened(at_most),)


def price(event: Event) -> PricedLoss:
    """Return what `event` costs.

    Examples
    --------
    >>> price(PureRelease(epsilon=Fraction(1, 10))).pure_epsilon
    Fraction(1, 10)
    """
    match event:
        case LaplaceNoise(l1_sensitivity=sensitivity, scale=scale):
            return _one(LaplaceLaw(sensitivity / scale))
        case DiscreteLaplaceNoise(l1_sensitivity=moved, scale=scale):
            return _one(atoms.discrete_laplace(moved, scale))
        case GaussianNoise(l2_sensitivity_squared=squared, sigma_squared=variance):
            return _one(GaussianLaw(squared / variance))
        case DiscreteGaussianNoise(l2_sensitivity_squared=whole, sigma_squared=variance, dimension=dimension):
            return PricedLoss((discrete_gaussian(whole, variance, dimension),))
        case PureRelease(epsilon=epsilon):
            return _one(atoms.pure(epsilon))
        case ApproximateRelease(epsilon=epsilon, delta=delta):
            return _one(atoms.approximate(epsilon, delta))
        case ExponentialSelection(epsilon=epsilon):
            return _one(BoundedRangeLaw(epsilon))
        case RandomizedResponse(epsilon=epsilon, categories=categories):
            return _one(atoms.k_ary(epsilon, categories))
        case GaussianSparseVector():
            bound = import_module("lapwing.accounting.gaussian_sparse_vector").renyi_bound
            return _one(renyi_curve(lambda alpha: float(bound(event, alpha))))
        case Composed(parts=parts):
            return product((price(part), 1) for part in parts)
        case Repeated(part=part, times=times):
            return product([(price(part), times)])
        case InParallel(parts=parts):
            return _worst([price(part) for part in dict.fromkeys(parts)])
        case PoissonSampled(part=part, rate=rate):
            return _one(sampled(_single(price(part)), rate, Sampling.POISSON_REMOVED))
        case SampledWithoutReplacement(part=part, sample_size=size, population_size=population):
            return _one(sampled(_single(price(part)), Fraction(size, population), Sampling.WITHOUT_REPLACEMENT))


def _one(law: LossLaw) -> PricedLoss:
    return PricedLoss(((law, 1),))


def _single(loss: PricedLoss) -> LossLaw:
    """Return the loss as one law: itself, or the finite pair of the composition."""
    if len(loss.factors) == 1 and loss.factors[0][1] == 1:
        return loss.factors[0][0]
    return _worst([loss]).factors[0][0]


def _worst(losses: list[PricedLoss]) -> PricedLoss:
    """Return the loss of whoever meets one of `losses`, nobody says which: the upper envelope of their profiles."""
    if len(losses) == 1 and losses[0].factors[0][1] == 1 == len(losses[0].factors):
        return losses[0]
    pures, rhos = [loss.pure_epsilon for loss in losses], [loss.rho for loss in losses]
    pair = _envelope([p for loss in losses for p in _members(loss.orders[0], _ATOMS)])
    reverse = _envelope([p for loss in losses for p in _members(loss.orders[-1], _ATOMS)])
    symmetric = all(len(loss.orders) == 1 for loss in losses)
    return _one(
        atoms.AtomicLaw(
            pair=pair,
            reverse=pair if symmetric else reverse,
            pure_epsilon=None if None in pures else max(p for p in pures if p is not None),
            rho=None if None in rhos else max(r for r in rhos if r is not None),
            is_attained=False,
            renyi_bound=lambda alpha: max(loss.renyi(alpha) for loss in losses),
        )
    )


def _envelope(pairs: list[DominatingPair]) -> DominatingPair:
    knots = np.unique(np.concatenate([pair.losses for pair in pairs]))
    return DominatingPair.through(knots, np.max([[pair.delta(x) for x in knots.tolist()] for pair in pairs], axis=0))


_ATOMS = 512


def product(losses: Iterable[tuple[PricedLoss, int]]) -> PricedLoss:
    """Return the loss of all of `losses` together, each met as often as said; Gaussians are added up exactly."""
    mu_squared = Fraction(0)
    factors: list[Factor] = []
    for loss, repeated in losses:
        for law, times in loss.factors:
            if law.mu_squared is None:
                factors.append((law, times * repeated))
            else:
                mu_squared += law.mu_squared * times * repeated
    if mu_squared:
        factors.append((GaussianLaw(mu_squared), 1))
    return PricedLoss(tuple(factors))
