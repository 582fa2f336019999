"""What all releases together would cost, had everything been fixed in advance: a number to look at; it gates nothing.

It is the composition of all charges by their privacy-loss distributions. For a list that was fixed in advance that is a
guarantee, and a tight one. For a list that was chosen on the way it is none: an adversary who stops by such a total
passes it several times over (docs/decisions/admission.md). It is not an odometer in the sense of Rogers, Roth, Ullman
and Vadhan 2016, which would hold at all times; the guarantee is the account's budget, and filters keep it.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.accounting.composition import taken_apart
from lapwing.accounting.filters.account import Account, Admission, Booking
from lapwing.accounting.filters.charge import Reservation
from lapwing.accounting.pricing import price, product
from lapwing.accounting.renyi import epsilon_from_rho
from lapwing.vocabulary.event import DiscreteGaussianNoise, Event, GaussianSparseVectorRelease
from lapwing.vocabulary.exact import float_above, float_below, probability
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import format_exact

MOST_BOOKINGS = 5000  # of a longer book nothing is computed: reading it would take the better part of a second
_USUAL_DELTA = Fraction(1, 10**6)
_MOST_COMPOSED, _MOST_ADDED = 32, 256  # how many different releases are composed, or their rhos added up, in a moment
_SLOW = {GaussianSparseVectorRelease: 16, DiscreteGaussianNoise: 8}  # as many others are priced in the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTotal(Result):
    """The `epsilon`, at `delta`, of all releases of an account together, had their parameters been fixed in advance.

    `epsilon` is None where the releases, or the different ones among them, are too many to be composed in a moment; it
    is infinite where what they may fail by adds up to more than `delta`. With `streams` that are paid per yes among
    them, it is that of all yeses, given or not: more than what was spent, perhaps.
    """

    epsilon: float | None
    delta: Fraction
    streams: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; an epsilon that is infinite, or was not computed, is null."""
        epsilon = self.epsilon if self.epsilon is not None and math.isfinite(self.epsilon) else None
        return {"epsilon": epsilon, "delta": format_exact(self.delta), "says": str(self)}

    def facts(self) -> Sequence[tuple[str, str | None]]:
        """Return the total as one sentence."""
        return (("planned", str(self)),)

    def __str__(self) -> str:
        yeses = " and every yes been given" if self.streams else ""
        at = f"at delta {float(self.delta):.4g}, had everything been fixed in advance{yeses}; it decides nothing"
        match self.epsilon:
            case None:
                return "not computed: there are too many different releases"
            case math.inf:
                return f"no epsilon {at}"
            case epsilon:
                return f"epsilon {epsilon:.4g} {at}"


def planned_total(
    account: Account, bookings: Sequence[Booking], *, delta: object = None, segments: Collection[str] | None = None
) -> PlannedTotal:
    """Return what all charges of an account would cost one person as one plan, rounded up.

    A stream counts whole, whatever it gave back at its closing. Where the population is partitioned, a person meets the
    charges of one segment; under `REPLACE` perhaps those of two, and all of them are taken. The epsilon is that at
    `delta`: if it is not said, at that of an (epsilon, delta) budget, else at a millionth.

    >>> from lapwing.accounting import PureDP, PureRelease, SingleRelease, open_account
    >>> account = open_account(PureDP(epsilon=Fraction(20)))
    >>> book = [account.quote(SingleRelease(event=PureRelease(epsilon=Fraction(1, 100))))] * 1000
    >>> print(planned_total(account, book))
    epsilon 1.365 at delta 1e-06, had everything been fixed in advance; it decides nothing

    Proof: proofs/planned_total.md
    """
    promised = account.budget.delta if isinstance(account.budget, ApproximateDP) else _USUAL_DELTA
    wanted = probability("delta", promised if delta is None else delta)
    if len(bookings) > MOST_BOOKINGS:
        return PlannedTotal(epsilon=None, delta=wanted)
    admitted = [line for line in bookings if isinstance(line, Admission)]
    epsilon = _epsilon(_met(admitted, account.adjacency, segments), float_below(wanted))
    streams = sum(isinstance(line.charge, Reservation) for line in admitted)
    return PlannedTotal(epsilon=epsilon, delta=wanted, streams=streams)


def _met(admitted: Iterable[Admission], adjacency: Adjacency, segments: Collection[str] | None) -> Counter[Event]:
    """Return what one person meets at most: of each event, as many as are in the segment that has most of them."""
    charged: dict[str, Counter[Event]] = {}
    for one in admitted:
        touched = [segment for segment in one.steps if segments is None or segment in segments]
        for segment in touched if adjacency is Adjacency.ADD_REMOVE else touched[:1] and [""]:
            charged.setdefault(segment, Counter())[one.charge.event] += 1
    most: Counter[Event] = Counter()
    for met in charged.values():
        most |= met
    return most


def _epsilon(met: Counter[Event], delta: float) -> float | None:
    """Compose what is met; where that would take long, use that rhos add up (Bun and Steinke 2016, Lemma 1.7)."""
    uses = taken_apart(met)
    work = sum(_SLOW.get(type(event), 1) for event in uses)
    if not uses:
        return 0.0
    if work > _MOST_ADDED or (
        work > _MOST_COMPOSED and any(isinstance(one, GaussianSparseVectorRelease) for one in uses)
    ):
        return None  # a stream with Gaussian noise has no rho
    together = product((price(event), times) for event, times in uses.items())
    if work <= _MOST_COMPOSED:
        return together.epsilon(delta)
    pure = math.inf if together.pure_epsilon is None else float_above(together.pure_epsilon)
    return None if together.rho is None else min(pure, epsilon_from_rho(together.rho, delta))
