"""How an account begins, and how it begins anew under a higher cap."""

from collections.abc import Iterable
from dataclasses import fields
from types import MappingProxyType
from typing import TypeAlias

from lapwing.accounting.filters.account import EVERYONE, Account, Admission, Booking, CapChange, CellFilter, replay
from lapwing.accounting.filters.approximate import ApproximateFilter, DeltaShares
from lapwing.accounting.filters.refusal import Refusal
from lapwing.accounting.filters.sums import ConcentratedFilter, PureFilter
from lapwing.vocabulary.adjacency import Adjacency, checked_adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import positive, probability
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP

Budget: TypeAlias = PureDP | ConcentratedDP | ApproximateDP
"""The promises that a filter keeps."""


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
    names = [] if isinstance(cells, str) else sorted(set(cells))
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(
            "cells", cells, reason="is no list of names", remedy='write for example ["north", "south"], or leave it out'
        )
    shares = shares or DeltaShares()
    checked = _checked(budget)
    moves = checked_adjacency(adjacency) is Adjacency.REPLACE and len(names) > 1
    filter_ = _fresh(_for_each_of_two(checked) if moves else checked, shares)
    return Account(
        budget=checked,
        adjacency=adjacency,
        shares=shares,
        filters=MappingProxyType(dict.fromkeys(names, filter_)),
        streams=MappingProxyType({}),
    )


def raise_cap(account: Account, budget: Guarantee, bookings: Iterable[Booking]) -> CapChange:
    """Return the account as it would stand if it had been opened with `budget`, its whole history charged anew.

    The promise becomes the larger budget *for everything since the opening*, and cannot be lowered again. What a charge
    costs in the residue arm depends on what was left when it was made, so that charging anew leaves more than adding
    the difference of the two budgets would.

    Parameters
    ----------
    account : the account as it stands
    budget : the new cap, a public decision of the custodian
    bookings : every line of the book since the opening

    Proof: proofs/two_arms.md, section "Raising the cap"
    """
    if type(budget) is not type(account.budget) or any(
        getattr(budget, field.name) < getattr(account.budget, field.name) for field in fields(account.budget)
    ):
        raise ParameterError(
            "budget",
            _spoken(budget),
            reason=f"is not above {_spoken(account.budget)} in every number",
            remedy="raise the cap in its own currency; what was promised cannot be promised more tightly afterwards; "
            "suspend the population to stop all spending",
        )
    history = list(bookings)
    fresh = open_account(account.budget, cells=account.filters, adjacency=account.adjacency, shares=account.shares)
    if replay(fresh, history) != account:
        raise ParameterError(
            "bookings",
            len(history),
            reason="lines of the book do not lead to this account",
            remedy="give every line since the opening",
        )
    return charge_anew(
        open_account(budget, cells=account.filters, adjacency=account.adjacency, shares=account.shares), history
    )


def charge_anew(opening: Account, bookings: Iterable[Booking]) -> CapChange:
    """Return a fresh account after a history that was admitted elsewhere, charged to it from the beginning.

    Parameters
    ----------
    opening : the account, with nothing in it
    bookings : what is to count against it, in its order; a history that does not fit is refused
    """
    current, budget = opening, opening.budget
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


def _checked(budget: Guarantee) -> Budget:
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


def _for_each_of_two(budget: Budget) -> Budget:
    """Return the budget of a cell such that any two cells together keep `budget` (proofs/partitions.md)."""
    match budget:
        case PureDP(epsilon=epsilon):
            return PureDP(epsilon=epsilon / 2)
        case ConcentratedDP(rho=rho):
            return ConcentratedDP(rho=rho / 2)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateDP(epsilon=epsilon / 2, delta=delta / 4)


def _fresh(budget: Budget, shares: DeltaShares) -> CellFilter:
    match budget:
        case PureDP(epsilon=epsilon):
            return PureFilter(epsilon=epsilon)
        case ConcentratedDP(rho=rho):
            return ConcentratedFilter(rho=rho)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return ApproximateFilter.opened(epsilon, delta, shares)


def _spoken(budget: Guarantee) -> str:
    return ", ".join(f"{one.name} {float(getattr(budget, one.name)):.6g}" for one in fields(budget))
