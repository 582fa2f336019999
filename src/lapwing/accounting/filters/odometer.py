"""What everything so far would have cost if it had been planned: a reading to look at, never to admit by.

The reading composes all charges of a cell as one plan, by privacy-loss distributions. That is the cost of a list that
was fixed in advance. For a list that was chosen on the way it is no guarantee: an adversary who stops by such a reading
passes it several times over (docs/decisions/admission.md). The guarantee is the account's budget.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from lapwing.accounting.filters.account import EVERYONE, Admission, Booking
from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import float_below
from lapwing.vocabulary.event import Composed, Event, Repeated
from lapwing.vocabulary.exact import probability


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The epsilon, at `delta`, of all charges of a cell, had their parameters been fixed in advance."""

    epsilon: float
    delta: Fraction

    def __str__(self) -> str:
        return (
            f"epsilon {self.epsilon:.4g} at delta {float(self.delta):.4g}, if the parameters had been fixed in advance"
        )


def odometer(bookings: Iterable[Booking], *, delta: Fraction, cell: str = EVERYONE) -> Reading:
    """Return what the charges of `cell` among `bookings` would have cost as one plan.

    A stream counts whole, whatever it gave back at its closing.

    Examples
    --------
    >>> from lapwing.accounting.filters.opening import open_account
    >>> from lapwing.accounting.filters.charge import OneShot
    >>> from lapwing.vocabulary.event import GaussianNoise
    >>> from lapwing.vocabulary.guarantee import ApproximateDP
    >>> account = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    >>> noise = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(100))
    >>> print(odometer([account.quote(OneShot(event=noise))], delta=Fraction(1, 10**6)))
    epsilon 0.3969 at delta 1e-06, if the parameters had been fixed in advance
    """
    wanted = probability("delta", delta)
    events = Counter(line.charge.event for line in bookings if isinstance(line, Admission) and cell in line.steps)
    if not events:
        return Reading(epsilon=0.0, delta=wanted)
    plan: Event = Composed(parts=tuple(Repeated(part=event, times=times) for event, times in events.items()))
    return Reading(epsilon=price(plan).epsilon(float_below(wanted)), delta=wanted)
