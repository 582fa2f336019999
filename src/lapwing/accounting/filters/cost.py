"""What a charge costs in every currency, before any filter has looked at it."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lapwing.accounting.filters.charge import Charge, OneShot, Reservation
from lapwing.accounting.filters.loss_family import LossFamily
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import ApproximateRelease, Composed, Event, ExponentialSelection, Repeated


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
    >>> cost_of(OneShot(event=PureRelease(epsilon=Fraction(1, 10)))).epsilon
    Fraction(1, 10)
    >>> stream = Reservation(stream="s", opening=Fraction(1, 4), price=Fraction(3, 20), yeses=5)
    >>> cost_of(stream).epsilon, cost_of(stream).reserved
    (Fraction(1, 4), Fraction(3, 4))
    """
    whole = cost_of_event(charge.event)
    match charge:
        case OneShot():
            return whole
        case Reservation():
            return Cost(
                epsilon=charge.opening,
                reserved=charge.whole - charge.opening,
                delta=whole.delta,
                rho=whole.rho,
            )


@lru_cache(maxsize=4096)
def cost_of_event(event: Event) -> Cost:
    """Return what one release of `event` costs."""
    bound = _approximate_bound(event)
    epsilon, delta = bound or (None, Fraction(0))
    return Cost(epsilon=epsilon, reserved=Fraction(0), delta=delta, rho=price(event).rho)


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
            epsilon = price(event).pure_epsilon
            return None if epsilon is None else (epsilon, Fraction(0))


@lru_cache(maxsize=1024)
def loss_of(event: Event) -> GaussianLoss | LossFamily:
    """Return what the residue filter has to know about `event`."""
    if isinstance(event, ExponentialSelection):
        return LossFamily.bounded_range(event.epsilon)
    priced = price(event)
    if priced.gaussian_mu_squared is not None:
        return GaussianLoss(mu_squared=priced.gaussian_mu_squared)
    return LossFamily.of(priced.pairs())
