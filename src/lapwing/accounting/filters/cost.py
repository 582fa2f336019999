"""What a charge costs in every currency, before any filter has looked at it."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.filters.charge import Charge, Reservation, SingleRelease
from lapwing.accounting.filters.loss_family import LossChain, LossFamily
from lapwing.accounting.losses.bounded_range import BoundedRangeLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.selections import SelectionsLaw
from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease, Composed, Event, ExponentialSelection, LaplaceNoise, Repeated

_ATOMS_OF_LAPLACE = 33  # most of its loss sits at the two ends: more atoms gain less than 0.1 % of its price
_ATOMS = 257
_AS_MANY_AS_THERE_ARE = 10**6
_REACH = 10  # standard deviations
_LONGEST_CHAIN = 512  # each link takes about a millisecond; so many selections as one law cost only 0.5 % more


def refuse_below_zero(record: object, *names: str) -> None:
    """Refuse a record with a number below zero, or none at all: booked, it would give budget back."""
    for name in names:
        amount = getattr(record, name)
        if amount is not None and not amount >= 0:
            raise ParameterError(name, amount, reason="is below zero", remedy="replay the records as they were written")


@stored("cost")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a charge costs in exact numbers; `None` where no finite bound is known.

    Parameters
    ----------
    epsilon : what a sum of pure epsilons spends at once
    reserved : what it holds in reserve besides
    delta : the probability that the release fails to keep `epsilon`
    rho : what a sum of zero-concentrated losses spends
    """

    epsilon: Fraction | None
    reserved: Fraction
    delta: Fraction
    rho: Fraction | None

    def __post_init__(self) -> None:
        refuse_below_zero(self, "epsilon", "reserved", "delta", "rho")

    @property
    def held(self) -> Fraction | None:
        """What a sum of pure epsilons must have left."""
        return None if self.epsilon is None else self.epsilon + self.reserved


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianLoss:
    """A Gaussian release, which a residue pays for exactly."""

    mu_squared: Fraction
    infinite_mass: float = 0.0

    @property
    def first_order_price(self) -> float:
        """What it takes from a residue."""
        return float(self.mu_squared)


def cost_of(charge: Charge) -> Cost:
    """Return what `charge` costs.

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> cost_of(SingleRelease(event=PureRelease(epsilon=Fraction(1, 10)))).epsilon
    Fraction(1, 10)
    >>> stream = Reservation(stream="s", opening=Fraction(1, 4), price=Fraction(3, 20), yeses=5)
    >>> cost_of(stream).epsilon, cost_of(stream).reserved
    (Fraction(1, 4), Fraction(3, 4))
    """
    whole = cost_of_event(charge.event)
    match charge:
        case SingleRelease():
            return whole
        case Reservation():
            return replace(whole, epsilon=charge.opening, reserved=charge.whole - charge.opening)


@lru_cache(maxsize=1024)
def priced(event: Event) -> PricedLoss:
    """Return the price of `event`, which is asked for more than once on its way through a filter."""
    return price(event)


@lru_cache(maxsize=1024)
def cost_of_event(event: Event) -> Cost:
    """Return what one release of `event` costs."""
    loss = priced(event)
    epsilon, delta = _approximate_bound(event) or (None, Fraction(0))
    return Cost(epsilon=epsilon, reserved=Fraction(0), delta=delta, rho=loss.rho)


def _approximate_bound(event: Event) -> tuple[Fraction, Fraction] | None:
    """Return (epsilon, delta) such that, but for a coin of probability delta, the event is pure epsilon-DP."""
    match event:
        case ApproximateRelease(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case Composed(parts=parts):
            bounds = [bound for part in parts if (bound := _approximate_bound(part))]
            total = sum((e for e, _ in bounds), Fraction(0)), sum((d for _, d in bounds), Fraction(0))
            return total if len(bounds) == len(parts) else None
        case Repeated(part=part, times=times):
            bound = _approximate_bound(part)
            return bound and (times * bound[0], times * bound[1])
        case _:
            pure = priced(event).pure_epsilon
            return None if pure is None else (pure, Fraction(0))


@lru_cache(maxsize=1024)
def loss_of(event: Event) -> GaussianLoss | LossFamily | LossChain:
    """Return what the residue filter has to know about `event`."""
    if isinstance(event, ExponentialSelection):
        return LossFamily.bounded_range(event.epsilon)
    loss = priced(event)
    if loss.gaussian_mu_squared is not None:
        return GaussianLoss(mu_squared=loss.gaussian_mu_squared)
    match event:
        case LaplaceNoise():
            return LossFamily.of(loss.pairs(_ATOMS_OF_LAPLACE))
        case Composed() | Repeated():
            return _plan(loss)
        case _:
            return LossFamily.of(loss.pairs(_ATOMS))


def _plan(loss: PricedLoss) -> LossFamily | LossChain:
    """Return a plan as one family; and, if it has selections, as everything else and then one selection after another.

    The selections of the chain have one epsilon, so that it does not matter in which order they are carried out.
    """
    selected: dict[Fraction, int] = {}
    for law, times in loss.factors:
        if (found := _selections(law)) is not None:
            selected[found[0]] = selected.get(found[0], 0) + found[1] * times
    together = _together(loss)
    epsilon = max(selected, key=selected.__getitem__, default=Fraction(0))
    if not 0 < selected.get(epsilon, 0) <= _LONGEST_CHAIN:
        return together
    others = tuple((law, times) for law, times in loss.factors if (_selections(law) or (None, 0))[0] != epsilon)
    first = [(_together(PricedLoss(others)), 1)] if others else []
    return LossChain(together=together, parts=(*first, (LossFamily.bounded_range(epsilon), selected[epsilon])))


def _selections(law: LossLaw) -> tuple[Fraction, int] | None:
    """Return the epsilon of the selections that `law` stands for, and how many they are."""
    match law:
        case BoundedRangeLaw(pure_epsilon=epsilon):
            return epsilon, 1
        case SelectionsLaw(epsilon=epsilon, times=times):
            return epsilon, times
        case _:
            return None


def _together(loss: PricedLoss) -> LossFamily:
    return LossFamily.of([_thinned(pair) for pair in loss.pairs(_AS_MANY_AS_THERE_ARE)])


def _thinned(pair: DominatingPair) -> DominatingPair:
    """Return a pair of few atoms that dominates `pair`, evenly spaced as far as a Gaussian residue looks.

    A residue compares tails down to its slack, so what is rare counts as much as what is frequent.
    """
    if pair.losses.size <= _ATOMS:
        return pair
    lowest, highest = float(pair.losses[0]), float(pair.losses[-1])
    mean = float(pair.masses @ pair.losses)
    reach = _REACH * math.sqrt(float(pair.masses @ (pair.losses - mean) ** 2))
    inner = np.linspace(max(lowest, mean - reach), min(highest, mean + reach), _ATOMS - 2)
    return pair.onto(np.unique(np.concatenate([[lowest], inner, [highest]])))
