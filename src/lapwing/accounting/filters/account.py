"""The account of one population: one filter for each cell of a public partition, and the streams that are open.

An account is a value. Whether a charge is admitted depends on the account and the charge alone, never on data; the
account after it is a new one. `quote` computes, `book` writes down, `admit` does both: the ledger stores what `quote`
returned and replays it through `book`, so that a replay is the same, bit for bit, on every machine.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from types import MappingProxyType
from typing import TypeAlias

from lapwing.accounting.filters.charge import Charge, Closing, Reservation, Yes
from lapwing.accounting.filters.cost import Cost, cost_of
from lapwing.accounting.filters.refusal import Refusal
from lapwing.accounting.filters.sums import ConcentratedSum, PureSum
from lapwing.accounting.filters.two_arms import DeltaShares, TwoArms
from lapwing.accounting.filters.verdict import Shortage, Step
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError, StreamError, StreamHaltedError
from lapwing.vocabulary.exact import positive, probability
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP

EVERYONE = "everyone"
"""The only cell of a population that is not partitioned."""

CellFilter: TypeAlias = PureSum | ConcentratedSum | TwoArms


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """An admitted charge as it is written down: what it cost, and the step it took in each cell it touches."""

    charge: Charge
    cost: Cost
    steps: Mapping[str, Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStream:
    """A stream that was opened and not closed, with the number of yeses it has given."""

    reservation: Reservation
    given: int = 0

    @property
    def unused(self) -> Fraction:
        """What closing gives back."""
        return (self.reservation.yeses - self.given) * self.reservation.price


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a population has spent of `budget`, cell by cell, and what is reserved for its open streams.

    However charges are chosen after whatever answers, everything released about the population together keeps
    `budget`, between any two tables that are neighbours by `adjacency`.

    A cell is a set of people that each person's own record decides, the same in every table and data version; all cells
    are declared, the empty ones too. A charge names the cells whose people it can tell apart and is booked in each of
    them. Under `REPLACE` a person may leave one cell and enter another, so each cell gets a part of the budget that any
    two cells together keep.

    Proof: proofs/partitions.md

    Examples
    --------
    >>> from lapwing.accounting.filters.charge import OneShot
    >>> from lapwing.vocabulary.event import PureRelease
    >>> account = open_account(PureDP(epsilon=Fraction(1)), cells=["north", "south"])
    >>> half = PureRelease(epsilon=Fraction(1, 2))
    >>> account = account.admit(OneShot(event=half, cells=frozenset({"north"})))
    >>> account = account.admit(OneShot(event=half))
    >>> refusal = account.admit(OneShot(event=half))
    >>> refusal.cell, refusal.shortage.left
    ('north', Fraction(0, 1))
    """

    budget: Guarantee
    adjacency: Adjacency
    shares: DeltaShares
    filters: Mapping[str, CellFilter]
    streams: Mapping[str, OpenStream]

    def admit(self, charge: Charge) -> "Account | Refusal":
        """Return the account after `charge`, or why it is refused; refused, nothing has changed."""
        quoted = self.quote(charge)
        return quoted if isinstance(quoted, Refusal) else self.book(quoted)

    def quote(self, charge: Charge) -> Admission | Refusal:
        """Return `charge` as it would be written down, or why it is refused."""
        if isinstance(charge, Reservation) and charge.stream in self.streams:
            raise ParameterError("stream", charge.stream, reason="is open already", remedy="choose another name")
        cost = cost_of(charge)
        steps = {}
        for cell in self._touched(charge):
            verdict = self.filters[cell].weigh(charge.event, cost)
            if isinstance(verdict, Shortage):
                return Refusal(cell=cell, shortage=verdict, filter_=self.filters[cell])
            steps[cell] = verdict
        return Admission(charge=charge, cost=cost, steps=MappingProxyType(steps))

    def book(self, booking: "Booking") -> "Account":
        """Return the account after one line of its book. The steps of an admission are taken as they stand."""
        match booking:
            case Admission(charge=charge, cost=cost, steps=steps):
                filters = {cell: self.filters[cell].book(cost, step) for cell, step in steps.items()}
                opened = {charge.stream: OpenStream(reservation=charge)} if isinstance(charge, Reservation) else {}
                return self._with(filters, {**self.streams, **opened})
            case Yes(stream=name):
                stream = self._open(name)
                if stream.given == stream.reservation.yeses:
                    raise StreamHaltedError(yeses=stream.given)
                filters = {
                    cell: self.filters[cell].settle(stream.reservation.price)
                    for cell in self._touched(stream.reservation)
                }
                return self._with(filters, {**self.streams, name: replace(stream, given=stream.given + 1)})
            case Closing(stream=name):
                stream = self._open(name)
                filters = {
                    cell: self.filters[cell].release(stream.unused) for cell in self._touched(stream.reservation)
                }
                return self._with(filters, {key: other for key, other in self.streams.items() if key != name})
            case CapChange(account=account):
                return account

    def _with(self, filters: Mapping[str, CellFilter], streams: Mapping[str, OpenStream]) -> "Account":
        return replace(
            self, filters=MappingProxyType({**self.filters, **filters}), streams=MappingProxyType(dict(streams))
        )

    def _open(self, name: str) -> OpenStream:
        if name not in self.streams:
            raise StreamError(f"stream {name!r} is not open; these are: {', '.join(sorted(self.streams)) or 'none'}")
        return self.streams[name]

    def _touched(self, charge: Charge) -> list[str]:
        cells = set(self.filters) if charge.cells is None else charge.cells
        unknown = cells - set(self.filters)
        if unknown or not cells:
            raise ParameterError(
                "cells",
                sorted(unknown),
                reason="are not cells of this account" if unknown else "names no cell",
                remedy=f"name some of {sorted(self.filters)}, or none at all to charge everyone",
            )
        return sorted(cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapChange:
    """A new cap, written down as the whole account that `change_cap` found under it."""

    account: Account


Booking: TypeAlias = Admission | Yes | Closing | CapChange
"""One line of an account's book."""


def open_account(
    budget: Guarantee,
    *,
    cells: Iterable[str] = (EVERYONE,),
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    shares: DeltaShares | None = None,
) -> Account:
    """Return a fresh account.

    Parameters
    ----------
    budget : what all releases together must keep: `PureDP`, `ConcentratedDP` or `ApproximateDP`
    cells : the cells of the finest public partition, the empty ones included; one, `EVERYONE`, if there is none
    adjacency : which tables are neighbours
    shares : how the delta of an `ApproximateDP` budget is divided
    """
    names = sorted(set(cells))
    if not names:
        raise ParameterError("cells", names, reason="names no cell", remedy="leave it out to charge everyone together")
    shares = shares or DeltaShares()
    checked = _checked(budget)
    moves = adjacency is Adjacency.REPLACE and len(names) > 1
    filter_ = _fresh(_for_each_of_two(checked) if moves else checked, shares)
    return Account(
        budget=checked,
        adjacency=adjacency,
        shares=shares,
        filters=MappingProxyType(dict.fromkeys(names, filter_)),
        streams=MappingProxyType({}),
    )


def replay(opening: Account, bookings: Iterable[Booking]) -> Account:
    """Return the account after all lines of its book, each taken as it stands."""
    return reduce(Account.book, bookings, opening)


def change_cap(account: Account, budget: Guarantee, bookings: Iterable[Booking]) -> CapChange:
    """Return the account as it would stand if it had been opened with `budget`, its whole history charged anew.

    The promise becomes the largest budget that was ever set, *for everything since the opening*. Adding the difference
    to what is left would be wrong: what a charge costs in the residue arm depends on what was left when it was made. A
    budget that does not cover the history is refused.

    Parameters
    ----------
    account : the account as it stands
    budget : the new cap, a public decision of the custodian
    bookings : every line of the book since the opening

    Proof: proofs/two_arms.md, section "Raising the cap"
    """
    current = open_account(budget, cells=account.filters, adjacency=account.adjacency, shares=account.shares)
    for booking in bookings:
        match booking:
            case Admission(charge=charge):
                outcome = current.admit(charge)
                if isinstance(outcome, Refusal):
                    raise ParameterError(
                        "budget",
                        budget,
                        reason=f"does not cover what was released already ({outcome.shortage})",
                        remedy="write a larger one",
                    )
                current = outcome
            case CapChange():
                pass
            case _:
                current = current.book(booking)
    return CapChange(account=current)


def _checked(budget: Guarantee) -> PureDP | ConcentratedDP | ApproximateDP:
    match budget:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=positive("epsilon", epsilon))
        case ConcentratedDP(rho=rho):
            return ConcentratedDP(rho=positive("rho", rho))
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=positive("epsilon", epsilon), delta=probability("delta", delta))
        case _:
            raise ParameterError(
                "budget",
                budget,
                reason="is no budget that a filter keeps exactly",
                remedy="set a PureDP, ConcentratedDP or ApproximateDP budget",
            )


def _for_each_of_two(budget: PureDP | ConcentratedDP | ApproximateDP) -> PureDP | ConcentratedDP | ApproximateDP:
    """Return the budget of a cell such that any two cells together keep `budget` (proofs/partitions.md)."""
    match budget:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=epsilon / 2)
        case ConcentratedDP(rho=rho):
            return ConcentratedDP(rho=rho / 2)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=epsilon / 2, delta=delta / 4)


def _fresh(budget: PureDP | ConcentratedDP | ApproximateDP, shares: DeltaShares) -> CellFilter:
    match budget:
        case PureDP(epsilon=epsilon):
            return PureSum(epsilon=epsilon)
        case ConcentratedDP(rho=rho):
            return ConcentratedSum(rho=rho)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return TwoArms.opened(epsilon, delta, shares)
