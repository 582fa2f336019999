"""The account of one population: one filter for each segment of a public partition, and the streams that are open.

An account is a value. Whether a charge is admitted depends on the account and the charge alone, never on data; the
account after it is a new one. `quote` computes, `book` writes down, `admit` does both: the ledger stores what `quote`
returned and replays it through `book`, so that a replay is the same, bit for bit, on every machine.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial, reduce
from types import MappingProxyType
from typing import TypeAlias

from lapwing.accounting.filters.approximate import ApproximateFilter, Filter
from lapwing.accounting.filters.charge import (
    Accepted,
    Charge,
    ConcentratedFilter,
    Cost,
    DeltaShares,
    Insufficient,
    PureFilter,
    Reservation,
    StreamClosing,
    YesCharge,
    cost_of,
    require_carried,
)
from lapwing.accounting.filters.remaining import Refusal, Remaining, how_many, what_fits
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError, StreamError, StreamHaltedError
from lapwing.vocabulary.event import required_adjacency
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, Guarantee, PureDP, checked_adjacency

EVERYONE = "everyone"  # the only segment of a population that is not partitioned


@stored("admission")
class Admission:
    """An admitted charge as it is written down: what it cost, and the step it took in each segment it touches."""

    charge: Charge
    cost: Cost
    steps: Mapping[str, Accepted]


@stored("open-stream")
class OpenStream:
    """A stream that was opened and not closed, with the number of yeses it has given."""

    reservation: Reservation
    given: int = 0

    @property
    def unused(self) -> Fraction:
        """The epsilon that closing gives back: the price of the yeses that were not given."""
        return (self.reservation.yeses - self.given) * self.reservation.price


@stored("account")
class Account:
    """The account of a population: what is spent of `budget` in each segment, and what is reserved for open streams.

    Charges may be chosen adaptively, after any answers: everything released about the population together keeps
    `budget`, between any two tables that are neighbours by `adjacency`.

    A segment is a set of people that each person's own record decides, the same in every table and data version; all
    are declared, the empty ones too. A charge names the segments whose people its release depends on and is booked in
    each of them. Under `REPLACE` a person may leave one segment and enter another, so each gets a part of the budget
    that any two together keep.

    Proof: proofs/partitions.md

    >>> from lapwing.accounting import PureDP, PureRelease, SingleRelease, open_account
    >>> account = open_account(PureDP(epsilon=Fraction(1)), segments=["north", "south"])
    >>> half = PureRelease(epsilon=Fraction(1, 2))
    >>> account = account.admit(SingleRelease(event=half, segments=frozenset({"north"})))
    >>> account = account.admit(SingleRelease(event=half))
    >>> refusal = account.admit(SingleRelease(event=half))
    >>> refusal.segment, refusal.insufficient.left
    ('north', Fraction(0, 1))
    """

    budget: Guarantee
    adjacency: Adjacency
    shares: DeltaShares
    filters: Mapping[str, Filter]
    streams: Mapping[str, OpenStream]

    def admit(self, charge: Charge) -> "Account | Refusal":
        """Return the account after `charge`, or why it is refused; refused, nothing has changed."""
        quoted = self.quote(charge)
        return quoted if isinstance(quoted, Refusal) else self.book(quoted)

    def quote(self, charge: Charge, cost: Cost | None = None) -> Admission | Refusal:
        """Return `charge` as it would be written down, or why it is refused.

        `cost` is what it costs, or was found to cost when it was booked, where a book is followed again.
        """
        if isinstance(charge, Reservation) and charge.stream in self.streams:
            raise ParameterError("stream", charge.stream, reason="is open already", remedy="choose another name")
        required_adjacency(charge.event, self.adjacency)
        cost = cost_of(charge) if cost is None else cost
        steps = {}
        for segment in self._named(charge.segments):
            decision = self.filters[segment].weigh(charge.event, cost)
            if isinstance(decision, Insufficient):
                return Refusal(segment=segment, insufficient=decision, filter_=self.filters[segment])
            steps[segment] = decision
        return Admission(charge=charge, cost=cost, steps=MappingProxyType(steps))

    def require_carried(self, charge: Charge, cost: Cost) -> None:
        """Refuse a charge whose price or cost has a denominator of its own, with which sums grow longer for ever.

        Proof: proofs/sum_filters.md
        """
        if isinstance(charge, Reservation):
            require_carried("price", charge.price)
        for segment in self._named(charge.segments):
            self.filters[segment].require_carried(cost)

    def book(self, booking: "Booking") -> "Account":
        """Return the account after one line of its book. The steps of an admission are taken as they stand."""
        match booking:
            case Admission(charge=charge, cost=cost, steps=steps):
                segments = self._named(charge.segments)
                filters = {one: self.filters[one].book(cost, steps[one]) for one in segments if one in steps}
                if set(steps) != set(segments) or any(_overdrawn(after) for after in filters.values()):
                    reason = "does not follow on this account: it was weighed against another"
                    remedy = "quote and book in one go, and replay records in their order"
                    raise ParameterError("admission", charge, reason=reason, remedy=remedy)
                opened = {charge.stream: OpenStream(reservation=charge)} if isinstance(charge, Reservation) else {}
                return self._with(filters, {**self.streams, **opened})
            case YesCharge(stream=name):
                stream = self._open(name)
                if stream.given == stream.reservation.yeses:
                    raise StreamHaltedError(yeses=stream.given)
                filters = self._settle(stream, spent=stream.reservation.price)
                return self._with(filters, {**self.streams, name: replace(stream, given=stream.given + 1)})
            case StreamClosing(stream=name):
                stream = self._open(name)
                filters = self._settle(stream, returned=stream.unused)
                return self._with(filters, {key: other for key, other in self.streams.items() if key != name})
            case CapChange(account=account):
                return account

    def within(self, segments: frozenset[str] | None) -> "Account":
        """Return the account of some segments only, for reading: what they have left, and the effect of a charge."""
        filters = {segment: self.filters[segment] for segment in self._named(segments)}
        return replace(self, filters=MappingProxyType(filters))

    def remaining(self, segments: frozenset[str] | None = None) -> Remaining:
        """Return the largest single releases of each kind that all of `segments` (or all there are) admit now."""
        return Remaining.least(map(what_fits, {self.filters[segment] for segment in self._named(segments)}))

    def spent_after(self, charges: Iterable[Charge]) -> float:
        """Return how much of the budget is spent after `charges`, in the fullest segment; infinity if they do not fit.

        It is in the currency of the budget; of an (epsilon, delta) budget, about the least epsilon at its delta that
        one of its two arms vouches for. It compares ways to pay, and gates nothing.
        """
        account, touched = self, set[str]()
        for charge in charges:
            outcome = account.admit(charge)
            if isinstance(outcome, Refusal):
                return math.inf
            account = outcome
            touched.update(self._named(charge.segments))
        opening = open_account(self.budget, segments=self.filters, adjacency=self.adjacency, shares=self.shares)
        budget = self.budget
        return max((_spent(account.filters[one], opening.filters[one], budget) for one in touched), default=0.0)

    def how_many(self, charge: Charge, *, at_most: int = 10_000) -> int:
        """Return how many charges like `charge` would be admitted one after the other, up to `at_most`."""
        filters = {self.filters[segment] for segment in self._named(charge.segments)}
        return min(how_many(filter_, charge, at_most=at_most) for filter_ in filters)

    def _settle(self, stream: OpenStream, **amounts: Fraction) -> dict[str, Filter]:
        segments = self._named(stream.reservation.segments)
        return {segment: self.filters[segment].settle(**amounts) for segment in segments}

    def _with(self, filters: Mapping[str, Filter], streams: dict[str, OpenStream]) -> "Account":
        return Account(
            budget=self.budget,
            adjacency=self.adjacency,
            shares=self.shares,
            filters=MappingProxyType({**self.filters, **filters}),
            streams=MappingProxyType(streams),
        )

    def _open(self, name: str) -> OpenStream:
        if name not in self.streams:
            raise StreamError(f"stream {name!r} is not open; these are: {', '.join(sorted(self.streams)) or 'none'}")
        return self.streams[name]

    def _named(self, segments: Iterable[str] | None) -> list[str]:
        if segments is None:
            return list(self.filters)
        named = set(segments)
        unknown = named - set(self.filters)
        if unknown or not named:
            reason = "are not segments of this account" if unknown else "names no segment"
            remedy = f"name some of {sorted(self.filters)}, or none at all to charge everyone"
            raise ParameterError("segments", sorted(unknown), reason=reason, remedy=remedy)
        return sorted(named)


def _spent(now: Filter, opening: Filter, budget: Guarantee) -> float:
    match now, opening, budget:
        case ApproximateFilter(), ApproximateFilter(), ApproximateDP(delta=delta):
            return now.spent_since(opening, float(delta))
        case PureFilter() | ConcentratedFilter(), PureFilter() | ConcentratedFilter(), _:
            return float(opening.left - now.left)
        case _:  # pragma: no cover - the filters of an account are those that its budget opens
            raise AssertionError


def _overdrawn(filter_: Filter) -> bool:
    return isinstance(filter_, (PureFilter, ConcentratedFilter)) and filter_.left < 0


@stored("cap-change")
class CapChange:
    """A higher cap, written down as the whole account that `raise_cap` found under it."""

    account: Account


Booking: TypeAlias = Admission | YesCharge | StreamClosing | CapChange  # one line of an account's book


def replay(opening: Account, bookings: Iterable[Booking]) -> Account:
    """Return the account after all lines of its book, each taken as it stands."""
    return reduce(Account.book, bookings, opening)


Budget: TypeAlias = PureDP | ConcentratedDP | ApproximateDP  # the promises that a filter keeps


def open_account(
    budget: Guarantee,
    *,
    segments: Iterable[str] = (EVERYONE,),
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    shares: DeltaShares | None = None,
) -> Account:
    """Return a fresh account of what all releases together must keep: `PureDP`, `ConcentratedDP` or `ApproximateDP`.

    `segments` are those of the finest public partition, the empty ones included; one, `EVERYONE`, if there is none.
    `shares` divide the delta of an `ApproximateDP` budget.
    """
    names = [] if isinstance(segments, str) else sorted(set(segments))
    if not names or not all(isinstance(name, str) and name for name in names):
        remedy = 'write for example ["north", "south"], or leave it out'
        raise ParameterError("segments", segments, reason="is not a list of names", remedy=remedy)
    if not isinstance(budget, Budget):
        remedy = "set a PureDP, ConcentratedDP or ApproximateDP budget"
        raise ParameterError("budget", budget, reason="is not a budget that a filter keeps exactly", remedy=remedy)
    shares = shares or DeltaShares()
    moves = checked_adjacency(adjacency) is Adjacency.REPLACE and len(names) > 1
    filter_ = _fresh(_for_each_of_two(budget) if moves else budget, shares)
    return Account(
        budget=budget,
        adjacency=adjacency,
        shares=shares,
        filters=MappingProxyType(dict.fromkeys(names, filter_)),
        streams=MappingProxyType({}),
    )


def raise_cap(account: Account, budget: Guarantee, bookings: Iterable[Booking]) -> CapChange:
    """Return the account as it would stand if it had been opened with `budget`, its whole history charged anew.

    The promise becomes the larger budget *for everything since the opening*, and cannot be lowered again. What a charge
    costs in the residue arm depends on what was left when it was made, so that charging anew leaves more than adding
    the difference of the two budgets would. The new cap is a public decision of the custodian.

    Proof: proofs/two_arms.md, section "Raising the cap"
    """
    require_raise(account.budget, budget)
    history = list(bookings)
    opened = partial(open_account, segments=account.filters, adjacency=account.adjacency, shares=account.shares)
    if replay(opened(account.budget), history) != account:
        reason = "lines of the book do not lead to this account"
        raise ParameterError("bookings", len(history), reason=reason, remedy="give every line since the opening")
    return charge_anew(opened(budget), history)


def is_raise(before: Guarantee, after: Guarantee) -> bool:
    """Return whether a budget is in the currency of another one, and no number of it is lower."""
    return type(after) is type(before) and all(
        getattr(after, field.name) >= getattr(before, field.name) for field in fields(before)
    )


def require_raise(before: Guarantee, after: Guarantee) -> None:
    """Refuse a budget that is lower than another one."""
    if not is_raise(before, after):
        raise ParameterError(
            "budget",
            _describe(after),
            reason=f"is not above {_describe(before)} in every number",
            remedy="raise the cap in its own currency; what was promised cannot be promised more tightly afterwards; "
            "suspend the population to stop all spending",
        )


def raised_by(budget: Guarantee, more: Guarantee) -> Guarantee:
    """Return a budget with more of its own currency, number by number; more epsilon alone will do for one with a delta.

    >>> raised_by(ApproximateDP(epsilon=1, delta="1e-6"), PureDP(epsilon=2)).epsilon
    Fraction(3, 1)
    """
    in_part = isinstance(budget, ApproximateDP) and isinstance(more, PureDP)
    if type(more) is not type(budget) and not in_part:
        raise ParameterError(
            "more", _describe(more), reason=f"is not in the currency of {_describe(budget)}", remedy="ask for that"
        )
    return type(budget)(**{one.name: getattr(budget, one.name) + getattr(more, one.name, 0) for one in fields(budget)})


def charge_anew(opening: Account, bookings: Iterable[Booking]) -> CapChange:
    """Return a fresh account after a history that was admitted elsewhere, or refuse one that does not fit."""
    current = opening
    for booking in bookings:
        match booking:
            case Admission(charge=charge, cost=cost):
                outcome = current.quote(charge, cost)
                if isinstance(outcome, Refusal):
                    reason, remedy = (
                        "is less than what was released already",
                        "write a larger one: what was answered stays",
                    )
                    raise ParameterError("budget", _describe(opening.budget), reason=reason, remedy=remedy)
                current = current.book(outcome)
            case CapChange():
                pass
            case _:
                current = current.book(booking)
    return CapChange(account=current)


def _for_each_of_two(budget: Budget) -> Budget:
    """Return the budget of a segment such that any two segments together keep `budget` (proofs/partitions.md)."""
    match budget:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=epsilon / 2)
        case ConcentratedDP(rho=rho):
            return ConcentratedDP(rho=rho / 2)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=epsilon / 2, delta=delta / 4)


def _fresh(budget: Budget, shares: DeltaShares) -> Filter:
    match budget:
        case PureDP(epsilon=epsilon):
            return PureFilter(epsilon=epsilon)
        case ConcentratedDP(rho=rho):
            return ConcentratedFilter(rho=rho)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateFilter.fresh(epsilon, delta, shares)


def _describe(budget: Guarantee) -> str:
    return ", ".join(f"{one.name} {float(getattr(budget, one.name)):.6g}" for one in fields(budget))
