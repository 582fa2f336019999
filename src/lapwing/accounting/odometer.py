"""What all releases together would have cost, had everything been fixed in advance: a reading, which gates nothing.

It is the composition of all charges by their privacy-loss distributions. For a list that was fixed in advance that is a
guarantee, and a tight one. For a list that was chosen on the way it is none: an adversary who stops by such a reading
passes it several times over (docs/decisions/admission.md). The guarantee is the account's budget, and filters keep it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from lapwing.accounting.composition import taken_apart
from lapwing.accounting.filters.account import Admission, Booking
from lapwing.accounting.pricing import price, product
from lapwing.accounting.renyi import epsilon_from_rho
from lapwing.accounting.rounding import float_below
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.event import DiscreteGaussianNoise, Event, GaussianSparseVectorRelease
from lapwing.vocabulary.exact import probability

_MOST_COMPOSED, _MOST_ADDED = 32, 256
"""So many different releases are composed, and of so many the rhos are added up: either takes less than a second."""

_SLOW = {GaussianSparseVectorRelease: 16, DiscreteGaussianNoise: 8}
"""As many others could be priced in the time that one of these takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OdometerReading:
    """The `epsilon`, at `delta`, of all `releases` together, had their parameters been fixed in advance.

    `epsilon` is None where there are too many different releases to be composed in a moment, and infinite where what
    they may fail by adds up to more than `delta`.
    """

    epsilon: float | None
    delta: Fraction
    releases: int

    def __str__(self) -> str:
        if self.epsilon is None:
            return "not computed: there are too many different releases"
        return f"epsilon {self.epsilon:.4g} at delta {float(self.delta):.4g}, had everything been fixed in advance"


def read_odometer(bookings: Iterable[Booking], *, delta: object, adjacency: Adjacency) -> OdometerReading:
    """Return what all charges of an account would cost one person as one plan, rounded up.

    A stream counts whole, whatever it gave back at its closing. Where the population is partitioned, a person meets the
    charges of one cell; under `REPLACE` perhaps those of two, and all of them are taken.

    Parameters
    ----------
    bookings : every line of the account's book
    delta : where epsilon is wanted
    adjacency : that of the population

    Examples
    --------
    >>> from lapwing.accounting.filters.account import open_account
    >>> from lapwing.accounting.filters.charge import SingleRelease
    >>> from lapwing.vocabulary.event import PureRelease
    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> account, book = open_account(PureDP(epsilon=Fraction(20))), []
    >>> for _ in range(1000):
    ...     book.append(account.quote(SingleRelease(event=PureRelease(epsilon=Fraction(1, 100)))))
    >>> print(read_odometer(book, delta="1e-6", adjacency=Adjacency.ADD_REMOVE))
    epsilon 1.365 at delta 1e-06, had everything been fixed in advance
    """
    admitted = [booking for booking in bookings if isinstance(booking, Admission)]
    wanted = probability("delta", delta)
    epsilon = _epsilon(_met(admitted, adjacency), float_below(wanted))
    return OdometerReading(epsilon=epsilon, delta=wanted, releases=len(admitted))


def _epsilon(met: Counter[Event], delta: float) -> float | None:
    """Compose what is met; where that would take long, use that rhos add up (Bun and Steinke 2016, Lemma 1.7)."""
    uses = taken_apart(met)
    work = sum(_SLOW.get(type(event), 1) for event in uses)
    if not uses:
        return 0.0
    if work <= _MOST_COMPOSED:
        return product((price(event), times) for event, times in uses.items()).epsilon(delta)
    rho = Fraction(0)
    for event, times in uses.items():
        each = price(event).rho if work <= _MOST_ADDED else None
        if each is None:
            return None
        rho += times * each
    return epsilon_from_rho(rho, delta)


def _met(admitted: Iterable[Admission], adjacency: Adjacency) -> Counter[Event]:
    """Return what one person meets at most: of each event, as many as there are in the cell that has most of them."""
    cells: dict[str, Counter[Event]] = {}
    for one in admitted:
        for cell in one.steps if adjacency is Adjacency.ADD_REMOVE else [""]:
            cells.setdefault(cell, Counter())[one.charge.event] += 1
    most: Counter[Event] = Counter()
    for met in cells.values():
        most |= met
    return most
