"""A refusal: what was asked, what is left, and what would fit."""

import math
from dataclasses import dataclass
from fractions import Fraction

from lapwing.accounting.filters.remaining import Remaining, what_fits
from lapwing.accounting.filters.sums import ConcentratedSum, PureSum
from lapwing.accounting.filters.two_arms import TwoArms
from lapwing.accounting.filters.verdict import Shortage
from lapwing.vocabulary.errors import BudgetExceededError

_LONGEST_DENOMINATOR = 10**6


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
    shortage: Shortage
    filter_: PureSum | ConcentratedSum | TwoArms

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
        asked = math.inf if self.shortage.asked is None else _readable(self.shortage.asked)
        return BudgetExceededError(
            asked=asked,
            left=_readable(self.shortage.left),
            currency=self.shortage.currency,
            remedy=f"{self.would_fit}; or ask the custodian to raise the cap",
        )


def _readable(number: Fraction) -> Fraction | float:
    return number if number.denominator <= _LONGEST_DENOMINATOR else float(number)
