"""A refusal: what was asked, what is left, and what would fit."""

from dataclasses import dataclass
from fractions import Fraction

from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.decision import Insufficient
from lapwing.accounting.filters.remaining import Remaining, what_fits
from lapwing.accounting.filters.sums import ConcentratedFilter, PureFilter
from lapwing.vocabulary.decimals import decimal_below
from lapwing.vocabulary.errors import BudgetExceededError

_RAISE = "ask the custodian to raise the cap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A charge that was not admitted; nothing was charged.

    Parameters
    ----------
    cell : the first cell whose filter said no
    shortage : what was asked of it and what is left
    filter_ : that filter, as it stood and still stands
    """

    cell: str
    shortage: Insufficient
    filter_: PureFilter | ConcentratedFilter | ApproximateFilter

    @property
    def would_fit(self) -> Remaining:
        """The largest single releases that would have been admitted instead."""
        return what_fits(self.filter_)

    def __bool__(self) -> bool:
        """Say no: whoever writes `if account.admit(charge)` means that it was admitted."""
        return False

    def __str__(self) -> str:
        return str(self.error())

    def error(self) -> BudgetExceededError:
        """Return the refusal as the error that a door raises."""
        fits, currency, asked = self.would_fit, self.shortage.currency, self.shortage.asked
        left, instead = max(self.shortage.left, Fraction(0)), fits.prices
        if currency == "delta":
            instead = (f"delta {decimal_below(left)}",) if left else ()
        elif currency == "mu squared":  # nobody pays in it: half of it is a rho
            currency, asked, left = "rho", None, left / 2  # what it asks for is a bound, no price
        elif isinstance(self.filter_, ApproximateFilter):
            left = fits.pure  # which the residue may admit when the sum does not
        return BudgetExceededError(
            asked=asked if asked is None or asked > left else None,
            left=left,
            currency=currency,
            remedies=(*(f"ask at {price} or less" for price in instead), *self._without_delta, _RAISE),
            fits=fits.pure if currency != "delta" else Fraction(0),
        )

    @property
    def _without_delta(self) -> tuple[str, ...]:
        delta = self.shortage.currency == "delta" and isinstance(self.filter_, ApproximateFilter)
        return ("group by columns whose values are declared, which takes no delta",) if delta else ()
