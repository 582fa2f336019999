"""What everything so far would have cost if it had been planned: a reading to look at, never to admit by.

The reading is the running total of a cell's charges by privacy-loss distributions: the cost of a list that was fixed in
advance. For a list that was chosen on the way it is no guarantee; an adversary who stops by such a reading passes it
several times over (docs/decisions/admission.md). The guarantee is the account's budget.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from lapwing.accounting.filters.account import EVERYONE, Admission, Booking
from lapwing.accounting.rounding import float_below
from lapwing.accounting.running import RunningLoss
from lapwing.vocabulary.exact import probability

LABEL = "if the parameters had been fixed in advance"
"""What has to stand beside every reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The epsilon, at `delta`, of all charges of a cell, had their parameters been fixed in advance."""

    epsilon: float
    delta: Fraction

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:.4g} at delta {float(self.delta):.4g}, {LABEL}"


class Odometer:
    """The running totals of an account, cell by cell; it is fed the lines of the account's book.

    A stream counts whole, whatever it gave back at its closing.

    Examples
    --------
    >>> from lapwing.accounting.filters.charge import SingleRelease
    >>> from lapwing.accounting.filters.opening import open_account
    >>> from lapwing.vocabulary.event import GaussianNoise
    >>> from lapwing.vocabulary.guarantee import ApproximateDP
    >>> account = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    >>> noise = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))
    >>> odometer = Odometer()
    >>> odometer.include(account.quote(SingleRelease(event=noise)))
    >>> print(odometer.read(delta=Fraction(1, 10**6)))
    epsilon 0.3969 at delta 1e-06, if the parameters had been fixed in advance
    """

    def __init__(self) -> None:
        self._totals: defaultdict[str, RunningLoss] = defaultdict(RunningLoss)

    def include(self, booking: Booking) -> None:
        """Add a line of the book."""
        if isinstance(booking, Admission):
            for cell in booking.steps:
                self._totals[cell].charge(booking.charge.event)

    def read(self, *, delta: Fraction, cell: str = EVERYONE) -> Reading:
        """Return what the charges of `cell` so far would have cost as one plan."""
        wanted = probability("delta", delta)
        return Reading(epsilon=self._totals[cell].epsilon(float_below(wanted)), delta=wanted)
