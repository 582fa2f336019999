"""The remaining budget of an account, and budgets as people and files write them."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from lapwing.accounting.filters.account import EVERYONE, Account, Budget, open_account
from lapwing.accounting.filters.approximate import ApproximateFilter, Filter
from lapwing.accounting.filters.charge import Charge, ConcentratedFilter, PureFilter, SingleRelease, StreamClosing
from lapwing.accounting.filters.remaining import Refusal, Remaining, tightest
from lapwing.ledger.budget_requests import BudgetRequest, Raise
from lapwing.ledger.ledger import Snapshot
from lapwing.ledger.states import meant_under
from lapwing.vocabulary.errors import BudgetError, ParameterError
from lapwing.vocabulary.exact import Exact, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP, currency_of
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import decimal_above, decimal_below, format_exact, rounded

MOST_TIMES = 1000
"""The largest number of repetitions of a question that is counted."""


@frozen(repr=False)
class BudgetStatus(Result):
    """The state of an account, the allowance of one analyst, and why they may not spend, if so."""

    account: Account
    allowance: Account | None = None
    suspension: BudgetError | None = None

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        analyst: str,
        segments: frozenset[str] | None,
        charge: Charge | None = None,
        tables: Iterable[str] = (),
    ) -> "BudgetStatus":
        """Return the remaining budget of some segments (of streams: all), and whether a charge may be spent from it."""
        own, decided = snapshot.allowance, snapshot.population
        refused: BudgetError | None = decided.suspension(analyst)
        if refused is None and charge is not None:
            refused = decided.forbids(analyst, tables, charge, snapshot.account)
        return cls(
            account=snapshot.account.within(segments),
            allowance=own and own.within(segments),
            suspension=refused,
        )

    @property
    def left(self) -> Fraction | None:
        """The remainder of a pure budget or a budget of rho; an (epsilon, delta) budget has no such number."""
        lefts = [amounts(account)[2] for account in self._accounts()]
        return None if None in lefts else min(left for left in lefts if left is not None)

    @property
    def remaining(self) -> Remaining:
        """The largest single releases that would be admitted now."""
        return Remaining.least([account.remaining() for account in self._accounts()])

    @property
    def for_open_groups(self) -> Fraction | None:
        """The delta that is left for groups whose keys only the data knows, of an (epsilon, delta) budget."""
        filters = [one for account in self._accounts() for one in account.filters.values()]
        return min((one.failures for one in filters if isinstance(one, ApproximateFilter)), default=None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why nothing may be spent now, whatever is left."""
        return () if self.suspension is None else (str(self.suspension),)

    def after(self, charge: Charge) -> "BudgetStatus | Refusal":
        """Return the status after a charge, or its refusal."""
        accounts = [account.admit(charge) for account in self._accounts()]
        refused = [account for account in accounts if isinstance(account, Refusal)]
        if refused:
            return tightest(refused, [account.remaining(charge.segments) for account in self._accounts()])
        return _status_of(account for account in accounts if isinstance(account, Account))

    def booked(self, line: StreamClosing) -> "BudgetStatus":
        """Return the status after the end of a stream."""
        return _status_of(account.book(line) for account in self._accounts())

    def times(self, charge: SingleRelease) -> int:
        """Return how often such a charge would be admitted, counting no further than 1000."""
        return min(account.how_many(charge, at_most=MOST_TIMES) for account in self._accounts())

    def _accounts(self) -> list[Account]:
        return [self.account, *([] if self.allowance is None else [self.allowance])]

    def to_dict(self) -> dict[str, Any]:
        """Return the remainder as JSON values: in the budget's currency where it has one, and the releases that fit."""
        fits = self.remaining
        return {
            "amount": format_exact(self.left),
            "rounded": rounded(self.left),
            "currency": currency_of(self.account.budget),
            "fits": {"pure_epsilon": float(fits.pure), "gaussian_mu_squared": float(fits.gaussian)},
            "delta_for_open_groups": format_exact(self.for_open_groups),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the remainder in words, by name."""
        share = self.for_open_groups
        left = None if share is None else f"{decimal_below(share)} is left for groups with undeclared keys"
        return [("left", str(self)), ("delta", left), ("mind", "; ".join(self.warnings) or None)]

    def __repr__(self) -> str:
        return f"<budget: {self} is left>"

    def __str__(self) -> str:
        return str(self.remaining) if self.left is None else f"{_currency(self.account)} {decimal_below(self.left)}"


def _status_of(accounts: Iterable[Account]) -> BudgetStatus:
    account, *allowance = accounts
    return BudgetStatus(account=account, allowance=allowance[0] if allowance else None)


def _currency(account: Account) -> str:
    filters = account.filters
    return "rho" if isinstance(filters.get(EVERYONE, next(iter(filters.values()))), ConcentratedFilter) else "epsilon"


def amounts(account: Account) -> tuple[Fraction | None, Fraction | None, Fraction | None]:
    """Return the amounts spent, reserved and left of the fullest segment; None where a budget has no such numbers.

    Under an (epsilon, delta) budget they are the sum of epsilons, as long as that counts in every segment, and the
    amount left is None.
    """
    sums = [one.pure if isinstance(one, ApproximateFilter) else one for one in account.filters.values()]
    counted = [one for one in sums if one is not None]
    if len(counted) < len(sums):
        return None, None, None
    fullest = min(counted, key=lambda one: one.left)
    reserved = fullest.reserved if isinstance(fullest, PureFilter) else Fraction(0)
    return fullest.spent, reserved, None if isinstance(account.budget, ApproximateDP) else fullest.left


def share_left(account: Account, now: Account | None = None) -> Fraction:
    """Return the share of its budget that an account has left in its fullest segment: from 1 to 0, for any budget.

    An (epsilon, delta) budget admits a question as long as one of its two accounts does, so that the larger of the two
    parts counts: of the sum of epsilons, and of the Gaussian residue, of which equal releases take equal parts. `now`
    is the same account later, under whose budget an earlier state is looked at.
    """
    later = now or account
    fresh = open_account(later.budget, segments=later.filters, adjacency=later.adjacency, shares=later.shares)
    return min(_share_of(one, fresh.filters[segment]) for segment, one in account.filters.items())


def _share_of(one: Filter, fresh: Filter) -> Fraction:
    match one, fresh:
        case PureFilter(left=left), PureFilter(left=whole):
            parts = [left / whole]
        case ConcentratedFilter(left=left), ConcentratedFilter(left=whole):
            parts = [left / whole]
        case ApproximateFilter(), ApproximateFilter():
            parts = [Fraction(one.residue or 0) / Fraction(fresh.residue or 1)]
            if one.pure is not None and fresh.pure is not None:
                parts.append(one.pure.left / fresh.pure.left)
        case _:  # pragma: no cover - an account keeps its kind
            parts = []
    return min(max([Fraction(0), *parts]), Fraction(1))


def budget_record(budget: Guarantee) -> dict[str, Any]:
    """Return a budget as it is written in lapwing.toml."""
    match budget:
        case PureDP(epsilon=epsilon):
            return {"epsilon": format_exact(epsilon)}
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return {"epsilon": format_exact(epsilon), "delta": format_exact(delta)}
        case ConcentratedDP(rho=rho):
            return {"rho": format_exact(rho)}
        case _:  # pragma: no cover - no account has another
            return {}


def budget_words(budget: Guarantee) -> str:
    """Return a budget in words."""
    return ", ".join(f"{name} {value}" for name, value in budget_record(budget).items())


def most_words(most: Budget | None, budget: Guarantee) -> str:
    """Return the most that one question may cost in words, as it is meant under a budget.

    >>> most_words(PureDP(epsilon=1), ApproximateDP(epsilon=5, delta="1e-6"))
    'epsilon 1 at delta 0.000001'
    >>> most_words(PureDP(epsilon=1), ConcentratedDP(rho=1)), most_words(None, PureDP(epsilon=1))
    ('epsilon 1 (rho 0.4622)', 'anything')
    """
    if most is None:
        return "anything"
    match meant_under(budget, most):
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return f"epsilon {format_exact(epsilon)} at delta {format_exact(delta)}"
        case ConcentratedDP(rho=rho) if isinstance(most, PureDP):
            return f"{budget_words(most)} (rho {decimal_above(rho)})"
        case _:
            return budget_words(most)


def read_budget(*, epsilon: Exact | None = None, delta: Exact | None = None, rho: Exact | None = None) -> Budget:
    """Return the budget that is given by `epsilon`, `epsilon` with `delta`, or `rho`.

    >>> read_budget(epsilon="0.5")
    PureDP(epsilon=Fraction(1, 2))
    """
    if (budget := said_budget(epsilon, delta, rho)) is not None:
        return budget
    given = {"epsilon": epsilon, "delta": delta, "rho": rho}
    said = ", ".join(name for name, one in given.items() if one is not None)
    raise ParameterError("budget", said, reason="is not a budget", remedy="say epsilon, epsilon and delta, or rho")


def said_budget(epsilon: object, delta: object, rho: object) -> Budget | None:
    """Return the budget that these parameters give, or None where they give none."""
    match epsilon, delta, rho:
        case None, None, rho if rho is not None:
            return ConcentratedDP(rho=positive("rho", rho))
        case epsilon, None, None if epsilon is not None:
            return PureDP(epsilon=positive("epsilon", epsilon))
        case epsilon, delta, None if epsilon is not None:
            return ApproximateDP(epsilon=positive("epsilon", epsilon), delta=probability("delta", delta))
    return None


def request_record(request: BudgetRequest, effect: Raise | None = None) -> dict[str, Any]:
    """Return a request for more budget as JSON values; `effect` is what a yes would change, while it is open."""
    raises = effect and {
        "what": "budget" if effect.analyst is None else "allowance",
        "from": budget_record(effect.before),
        "to": budget_record(effect.after),
    }
    return {
        "id": request.number,
        "population": request.population,
        "person": request.analyst,
        "more": budget_record(request.more),
        "wanted": budget_words(request.more),
        "purpose": request.purpose,
        "made": request.at,
        "state": request.state.value,
        "decided_by": request.by,
        "decided": request.decided,
        "reason": request.reason,
        "raises": raises,
    }
