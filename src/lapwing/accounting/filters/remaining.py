"""What a filter still admits: the largest release, or how many more of a given one; and the refusal that names it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from lapwing.accounting.filters.approximate import ApproximateFilter, Filter, GaussianLoss, loss_of
from lapwing.accounting.filters.charge import (
    Accepted,
    Charge,
    ConcentratedFilter,
    Cost,
    Insufficient,
    PureFilter,
    cost_of,
    cost_of_event,
)
from lapwing.accounting.filters.residue import LossChain
from lapwing.vocabulary.errors import BudgetExceededError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.search import bisect_integer, first_integer
from lapwing.vocabulary.wording import decimal_below

_LARGEST, _MOST_HALVINGS = Fraction(2) ** 10, 50
_PARTS = 2**16  # four digits

_NEAR = 32  # so few charges from its end a residue is followed charge by charge
_STRIDES = (Fraction(1, 2), Fraction(7, 8))  # what is left of a residue after many charges at once
_PRECISION = Fraction(1, 2**12)  # certificates find the smallest charge up to 1e-5 of it
_MOST_STEPS, _LEAST_STEPS = 96, 8  # then counting ends; for a plan of many links, each with its own certificate, before


@frozen()
class Remaining:
    """The largest single release of each kind that would be admitted now, if it were the only one; zero if none is.

    `pure` is the epsilon of a release of which only that is known, `gaussian` the mu^2 (squared sensitivity / variance)
    of a Gaussian one.
    """

    pure: Fraction
    gaussian: Fraction

    @classmethod
    def least(cls, several: Iterable["Remaining"]) -> "Remaining":
        """Return what all of several filters admit."""
        pure, gaussian = zip(*((one.pure, one.gaussian) for one in several), strict=True)
        return cls(pure=min(pure), gaussian=min(gaussian))

    @property
    def prices(self) -> tuple[str, ...]:
        """The largest prices that one question may be asked at, whichever it is: rounded down, to be typed back in."""
        amounts = {"epsilon": self.pure, "rho": self.gaussian / 2}
        return tuple(f"{currency} {decimal_below(amount)}" for currency, amount in amounts.items() if amount > 0)

    def __str__(self) -> str:
        return f"one question of {' or '.join(self.prices)}" if self.prices else "nothing"


def what_fits(filter_: Filter) -> Remaining:
    """Return the largest single releases that `filter_` admits."""
    match filter_:
        case PureFilter(left=left):
            return Remaining(pure=left, gaussian=Fraction(0))
        case ConcentratedFilter(left=left):
            return Remaining(pure=_largest_epsilon(filter_), gaussian=2 * left)
        case ApproximateFilter(residue=residue, pure=pure):
            sum_left = max(pure.left if pure else Fraction(0), Fraction(0))
            return Remaining(pure=max(sum_left, _largest_epsilon(filter_)), gaussian=Fraction(residue or 0))


def how_many(filter_: Filter, charge: Charge, *, at_most: int = 10_000) -> int:
    """Return how many charges like `charge` would be admitted one after the other, counting up to `at_most`.

    The number is a lower bound. Sums, Gaussian releases and charges of which a few dozen fit are counted exactly. Of
    more, where each takes a certificate, it may be slightly too small: counting at a small price takes no more
    certificates than at a large price.
    """
    cost = cost_of(charge)
    if isinstance(filter_, PureFilter | ConcentratedFilter):  # which add the same amount each time
        if isinstance(filter_.weigh(charge.event, cost), Insufficient):
            return 0
        amount = cost.whole if isinstance(filter_, PureFilter) else cost.rho
        return min(at_most, int(filter_.left // amount)) if amount else at_most
    return _admitted_in_turn(filter_, charge, at_most)


@lru_cache(maxsize=256)  # many questions at one price are looked at
def _admitted_in_turn(filter_: ApproximateFilter, charge: Charge, at_most: int) -> int:
    cost, loss, admitted = cost_of(charge), loss_of(charge.event), 0
    links = loss.uses if isinstance(loss, LossChain) else 1
    is_exact = isinstance(loss, GaussianLoss)  # a subtraction each
    for _ in range(at_most if is_exact else max(_MOST_STEPS // links, _LEAST_STEPS)):
        if not filter_.residue or admitted == at_most:
            break
        step = filter_.weigh(charge.event, cost)
        if isinstance(step, Insufficient):
            return admitted
        if step.residue is None:
            break
        is_far = not is_exact and filter_.residue > (filter_.residue - step.residue) * max(_NEAR // links, 2)
        stride = _stride(filter_, charge, step, at_most - admitted) if is_far else None
        filter_, times = stride or (filter_.book(cost, step), 1)
        admitted += times
    return min(at_most, admitted + _admitted_by_the_sum(filter_, cost, Fraction(loss.infinite_mass)))


def _stride(
    filter_: ApproximateFilter, charge: Charge, step: Accepted, at_most: int
) -> tuple[ApproximateFilter, int] | None:
    """Return the filter after many charges, with no more left than there would be, and how many they are.

    If M and then a Gaussian release of s' is no worse than one of s, then M and one of s' + t is no worse than one of
    s + t: a charge takes no more from a larger residue than from a smaller one, nor with more slack than with less. So
    what it takes at the far end of a stride bounds what each charge before that takes.
    """
    cost, residue = cost_of(charge), Fraction(filter_.residue or 0)
    slack = step.slack + Fraction(loss_of(charge.event).infinite_mass)
    for part in _STRIDES:
        end = replace(filter_, residue=float(residue * part), slack=filter_.slack / 2)
        last = end.weigh(charge.event, cost)
        if isinstance(last, Insufficient) or last.residue is None or last.slack > step.slack:
            continue  # it does not fit there, or takes another share of the slack, and so less of the residue
        each = (Fraction(end.residue or 0) - Fraction(last.residue)) * (1 + _PRECISION)
        times = min(at_most, int((residue - Fraction(end.residue or 0)) / each), int(end.slack / slack))
        times = min(times, int(filter_.failures / last.failure)) if last.failure else times
        if times > 1:
            spent = Accepted(
                residue=float_below(residue - times * each), slack=times * slack, failure=times * last.failure
            )
            return filter_.book(_times(cost, times), spent), times
    return None


def _times(cost: Cost, times: int) -> Cost:
    epsilon, rho = (None if amount is None else times * amount for amount in (cost.epsilon, cost.rho))
    return Cost(epsilon=epsilon, reserved=times * cost.reserved, delta=times * cost.delta, rho=rho)


def _admitted_by_the_sum(filter_: ApproximateFilter, cost: Cost, unseen: Fraction) -> int:
    """Return how many charges the sum has room for; what the residue admits on the way is in the sum too."""
    if filter_.pure is None or not cost.whole:
        return 0
    times = max(int(filter_.pure.left // cost.whole), 0)
    return min(times, int(filter_.failures // max(cost.delta, unseen))) if cost.delta else times


@lru_cache(maxsize=256)
def _largest_epsilon(filter_: Filter) -> Fraction:
    def fits(epsilon: Fraction) -> bool:
        event = PureRelease(epsilon=epsilon)
        return not isinstance(filter_.weigh(event, cost_of_event(event)), Insufficient)

    try:
        halvings = first_integer(lambda n: fits(_LARGEST / (1 << n)), most=_MOST_HALVINGS)
    except OverflowError:
        return Fraction(0)
    size = _LARGEST / (1 << halvings)
    too_many = bisect_integer(lambda n: not fits(size * (1 + Fraction(n, _PARTS))), below=0, above=_PARTS)
    return size * (1 + Fraction(too_many - 1, _PARTS))


@frozen()
class Refusal:
    """A charge that was not admitted; nothing was charged.

    `segment` is the first one whose filter refused, `filter_` that filter, which is unchanged. `fits` is what would be
    admitted, if other accounts have to admit it too.
    """

    segment: str
    insufficient: Insufficient
    filter_: Filter
    fits: Remaining | None = None

    def __bool__(self) -> bool:
        """Return false: `if account.admit(charge)` means that the charge was admitted."""
        return False

    def __str__(self) -> str:
        return str(self.error())

    def error(self) -> BudgetExceededError:
        """Return the refusal as the error that a door raises."""
        fits = self.fits or what_fits(self.filter_)
        currency, asked = self.insufficient.currency, self.insufficient.asked
        left, instead = max(self.insufficient.left, Fraction(0)), fits.prices
        remedies: tuple[str, ...] = ("ask the custodian to raise the cap",)
        if currency == "delta":
            instead = (f"delta {decimal_below(left)}",) if left else ()
            if isinstance(self.filter_, ApproximateFilter):
                remedies = ("group by columns whose values are declared, which takes no delta", *remedies)
        elif currency == "mu squared":  # not a currency of prices: half of it is a rho
            currency, asked, left = "rho", None, left / 2  # the amount asked for is a bound, no price
        elif isinstance(self.filter_, ApproximateFilter):
            left = fits.pure  # which the residue may admit when the sum does not
        return BudgetExceededError(
            asked=asked if asked is None or asked > left else None,
            left=left,
            currency=currency,
            remedies=(*(f"ask at {price} or less" for price in instead), *remedies),
            fits=fits.pure if currency != "delta" else Fraction(0),
        )


def tightest(refusals: Sequence[Refusal], fits: Iterable[Remaining]) -> Refusal:
    """Return, of several accounts that refuse one charge, the refusal of the one with the least left.

    `fits` is what each account admits that the charge was put before, also one that did not refuse it: what is proposed
    instead is admitted by all.
    """
    least = min(refusals, key=lambda one: one.insufficient.left)
    return replace(least, fits=Remaining.least(fits))
