"""What still fits, as a largest release or as how many more of a given one, and a refusal that says so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from lapwing.accounting.filters.approximate import ApproximateFilter, Filter
from lapwing.accounting.filters.charge import (
    Charge,
    ConcentratedFilter,
    Insufficient,
    PureFilter,
    cost_of,
    cost_of_event,
)
from lapwing.vocabulary.errors import BudgetExceededError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.search import bisect_integer, first_integer
from lapwing.vocabulary.wording import decimal_below

_LARGEST, _MOST_HALVINGS = Fraction(2) ** 10, 50
_PARTS = 2**16  # four digits


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Return how many charges like `charge` would be admitted one after the other, counting up to `at_most`."""
    cost = cost_of(charge)
    if isinstance(filter_, PureFilter | ConcentratedFilter):  # which add the same amount each time
        if isinstance(filter_.weigh(charge.event, cost), Insufficient):
            return 0
        amount = cost.whole if isinstance(filter_, PureFilter) else cost.rho
        return min(at_most, int(filter_.left // amount)) if amount else at_most
    return _admitted_in_turn(filter_, charge, at_most)


@lru_cache(maxsize=256)  # a thousand take a fifth of a second, and many questions at one price are looked at
def _admitted_in_turn(filter_: Filter, charge: Charge, at_most: int) -> int:
    cost = cost_of(charge)
    for admitted in range(at_most):
        decision = filter_.weigh(charge.event, cost)
        if isinstance(decision, Insufficient):
            return admitted
        filter_ = filter_.book(cost, decision)
    return at_most


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A charge that was not admitted; nothing was charged.

    `segment` is the first one whose filter said no, `filter_` that filter, as it stood and still stands. `fits` is what
    would be admitted, where other accounts have a say in it too.
    """

    segment: str
    insufficient: Insufficient
    filter_: Filter
    fits: Remaining | None = None

    def __bool__(self) -> bool:
        """Say no: whoever writes `if account.admit(charge)` means that it was admitted."""
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
        elif currency == "mu squared":  # nobody pays in it: half of it is a rho
            currency, asked, left = "rho", None, left / 2  # what it asks for is a bound, no price
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
