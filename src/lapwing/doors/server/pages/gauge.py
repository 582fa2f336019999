"""How full an account is, as pages show it: in the currency of its budget, or as a part of it where nothing adds up.

A budget of epsilon, or of rho, is a sum: so much is spent, so much is left. With a delta there is no such sum, because
what a question takes depends on what was asked before; there the part that is left is shown, in percent.
"""

from fractions import Fraction
from typing import Any, Final

from lapwing.accounting.filters.account import Account
from lapwing.answers.budget import amounts, budget_record, share_left
from lapwing.doors.server.pages.frame import above, below, budget_text
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee

_PERCENT: Final = 100


@frozen()
class Gauge:
    """The amounts spent, reserved and left of one budget, in one unit; `whole` is all of the budget in it."""

    spent: Fraction
    reserved: Fraction
    left: Fraction
    whole: Fraction
    budget: Guarantee

    @staticmethod
    def of(account: Account, now: Account | None = None) -> "Gauge":
        """Return how full an account is; one of the past under the budget of `now`, if that was raised since."""
        budget = (now or account).budget
        if isinstance(budget, ApproximateDP):
            left = _PERCENT * share_left(account, now or account)
            return Gauge(
                spent=_PERCENT - left, reserved=Fraction(0), left=left, whole=Fraction(_PERCENT), budget=budget
            )
        spent, reserved, left = (amount or Fraction(0) for amount in amounts(account))
        return Gauge(spent=spent, reserved=reserved, left=left, whole=spent + reserved + left, budget=budget)

    @property
    def is_share(self) -> bool:
        """Whether it is counted in percent of the budget."""
        return isinstance(self.budget, ApproximateDP)

    def say(self, amount: str) -> str:
        """Return an amount with its unit.

        >>> from lapwing.accounting.filters.account import open_account
        >>> from lapwing.vocabulary.guarantee import PureDP
        >>> Gauge.of(open_account(PureDP(epsilon=2))).say("0.5")
        'ε 0.5'
        """
        return f"{amount} %" if self.is_share else f"{sign_of(self.budget)} {amount}"

    @property
    def words(self) -> dict[str, str]:
        """The amounts as text, each with its unit, rounded so that no more seems to be left than is."""
        return {
            "spent": self.say(above(self.spent)),
            "reserved": self.say(above(self.reserved)) if self.reserved else "",
            "left": self.say(below(self.left)),
            "budget": budget_text(budget_record(self.budget)) if self.is_share else self.say(below(self.whole)),
        }


def sign_of(budget: Guarantee | dict[str, Any]) -> str:
    """Return the sign in which prices of a budget are shown.

    >>> sign_of({"rho": "1"}), sign_of({"epsilon": "1", "delta": "1e-6"})
    ('ρ', 'ε')
    """
    is_rho = "rho" in budget if isinstance(budget, dict) else isinstance(budget, ConcentratedDP)
    return "ρ" if is_rho else "ε"
