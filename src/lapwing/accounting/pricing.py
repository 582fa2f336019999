"""What an event costs: one price list for everything that can happen.

Every price is an upper bound, rounded towards more cost. Events inside another one (a plan, a repetition, a sample) are
priced as parameters that were fixed before the first answer; parameters that are chosen on the way need a filter.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import partial

from lapwing.accounting.gaussian_sparse_vector import renyi_bound
from lapwing.accounting.losses import atoms
from lapwing.accounting.losses.atoms import discrete_gaussian, renyi_curve
from lapwing.accounting.losses.continuous import GaussianLaw, LaplaceLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.sampled import Sampling, flattened, sampled
from lapwing.accounting.losses.selections import BoundedRangeLaw, SelectionsLaw, selections
from lapwing.accounting.priced_loss import PricedLoss, one_of
from lapwing.accounting.rounding import float_above
from lapwing.accounting.tilting import Factor
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    GaussianSparseVectorRelease,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
    checked_event,
    required_adjacency,
)
from lapwing.vocabulary.exact import as_int, positive, probability
from lapwing.vocabulary.guarantee import Adjacency

# losses of a smaller sample are lost in the digits of a float: it is priced as one of this size
_LEAST_RATE = Fraction(1, 2**80)

_MOST_PARTS = 4096  # composing this many different laws takes seconds; each is transformed on its own


def price(event: Event, *, adjacency: Adjacency | None = None) -> PricedLoss:
    """Return what `event` costs.

    An event that needs another adjacency than that of the population is refused, if it is known; one whose parts need
    different ones in any case.

    >>> from lapwing.vocabulary.event import GaussianNoise, PureRelease, Repeated
    >>> price(PureRelease(epsilon=Fraction(1, 10))).pure_epsilon
    Fraction(1, 10)
    >>> loss = price(GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(18)))
    >>> round(loss.epsilon(1e-6), 6), loss.rho
    (0.995438, Fraction(1, 36))
    >>> round(price(Repeated(part=PureRelease(epsilon=Fraction(1, 100)), times=1000)).epsilon(1e-6), 4)
    1.3654

    The exponential mechanism costs half as much as its epsilon says, in the currency of Renyi divergences:

    >>> price(ExponentialSelection(epsilon=Fraction(1))).rho, float(price(PureRelease(epsilon=Fraction(1))).rho)
    (Fraction(1, 8), 0.4621171572...)
    """
    try:
        required_adjacency(checked_event(event), adjacency)
        return _price(event)
    except RecursionError:
        remedy = "write repetitions with their `times`"
        raise ParameterError("event", type(event).__name__, reason="is nested too deeply", remedy=remedy) from None


def _price(event: Event) -> PricedLoss:  # noqa: C901, PLR0911, PLR0912 - the price list: one line for each kind of event
    match event:
        case LaplaceNoise(l1_sensitivity=sensitivity, scale=scale):
            return _once(LaplaceLaw(positive("l1_sensitivity", sensitivity) / positive("scale", scale)))
        case DiscreteLaplaceNoise(l1_sensitivity=moved, scale=scale):
            return _once(atoms.discrete_laplace(as_int("l1_sensitivity", moved), positive("scale", scale)))
        case GaussianNoise(l2_sensitivity_squared=squared, sigma_squared=variance):
            mu_squared = positive("l2_sensitivity_squared", squared) / positive("sigma_squared", variance)
            return _once(GaussianLaw(mu_squared))
        case DiscreteGaussianNoise(l2_sensitivity_squared=moved, sigma_squared=variance, dimension=dimension):
            moved, dimension = as_int("l2_sensitivity_squared", moved), as_int("dimension", dimension)
            moves = discrete_gaussian(moved, positive("sigma_squared", variance), dimension)
            return one_of([PricedLoss(tuple(move)) for move in moves])
        case PureRelease(epsilon=epsilon):
            return _once(atoms.pure(positive("epsilon", epsilon)))
        case ApproximateRelease(epsilon=epsilon, delta=delta):
            return _once(atoms.approximate(positive("epsilon", epsilon), probability("delta", delta)))
        case ExponentialSelection(epsilon=epsilon):
            return _once(BoundedRangeLaw(positive("epsilon", epsilon)))
        case RandomizedResponseRelease(epsilon=epsilon, categories=categories):
            return _once(atoms.k_ary(positive("epsilon", epsilon), as_int("categories", categories, least=2)))
        case GaussianSparseVectorRelease():
            return _once(renyi_curve(partial(renyi_bound, event)))
        case Composed(parts=parts):
            return product((_price(part), 1) for part in _some(parts))
        case Repeated(part=part, times=times):
            return product([(_price(part), as_int("times", times))])
        case InParallel(parts=parts):
            return one_of([_price(part) for part in dict.fromkeys(_some(parts))])
        case PoissonSampled(part=part, rate=rate):
            return _sample(_price(part), positive("rate", rate), Sampling.POISSON_REMOVED)
        case SampledWithoutReplacement(part=part, sample_size=size, population_size=population):
            people = as_int("population_size", population)
            rate = Fraction(as_int("sample_size", size, most=people), people)
            return _sample(_price(part), rate, Sampling.WITHOUT_REPLACEMENT)


def product(losses: Iterable[tuple[PricedLoss, int]]) -> PricedLoss:
    """Return the loss of all of `losses` together, each met as often as said.

    Gaussians are added up exactly, and selections at one epsilon are taken together.
    """
    mu_squared = Fraction(0)
    selected: dict[Fraction, int] = {}
    met: dict[LossLaw, int] = {}
    for loss, repeated in losses:
        for law, times in loss.factors:
            if law.mu_squared is not None:
                mu_squared += law.mu_squared * times * repeated
            elif isinstance(law, BoundedRangeLaw):
                selected[law.pure_epsilon] = selected.get(law.pure_epsilon, 0) + times * repeated
            elif isinstance(law, SelectionsLaw):
                selected[law.epsilon] = selected.get(law.epsilon, 0) + law.times * times * repeated
            else:
                met[law] = met.get(law, 0) + times * repeated
    chosen = [factor for epsilon, times in selected.items() for factor in selections(epsilon, times)]
    if len(met) + len(chosen) > _MOST_PARTS:
        reason = "different releases in one plan are too many to be composed"
        remedy = f"plan at most {_MOST_PARTS} different ones at a time, or round their parameters to fewer values"
        raise ParameterError("parts", len(met) + len(chosen), reason=reason, remedy=remedy)
    gaussian: tuple[Factor, ...] = ((GaussianLaw(mu_squared), 1),) if mu_squared else ()
    return PricedLoss((*met.items(), *chosen, *gaussian))


def _once(law: LossLaw) -> PricedLoss:
    return PricedLoss(((law, 1),))


def _some(parts: tuple[Event, ...]) -> tuple[Event, ...]:
    if not parts:
        raise ParameterError("parts", parts, reason="is empty", remedy="name at least one event")
    return parts


def _sample(loss: PricedLoss, rate: Fraction, sampling: Sampling) -> PricedLoss:
    if rate > 1:
        raise ParameterError("rate", rate, reason="is above 1", remedy="write the share of people that is sampled")
    if float_above(rate) >= 1:  # too near to all of them for a float to tell
        return loss
    law, rate = flattened(loss.as_one_law(), rate)
    return _once(sampled(law, max(rate, _LEAST_RATE), sampling))  # a larger sample costs no less
