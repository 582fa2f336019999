"""How a charge is booked: on the population's account and on the analyst's own allowance under it, or on neither."""

from dataclasses import dataclass, field
from typing import Any

from lapwing.accounting.filters.account import EVERYONE, Account, Booking
from lapwing.accounting.filters.charge import Charge, StreamClosing, YesCharge
from lapwing.accounting.filters.remaining import Refusal
from lapwing.ledger.entries import Entry
from lapwing.ledger.population import Analyst, PopulationRecord
from lapwing.ledger.transaction import Transaction, state
from lapwing.vocabulary.errors import BudgetExceededError, LedgerDamagedError


class RefusedError(Exception):
    """Carries a refusal out of a transaction, which undoes it. Explaining it takes time and is done outside."""

    def __init__(self, refusal: Refusal, whose: str) -> None:
        self.refusal = refusal
        self.whose = whose if refusal.segment == EVERYONE else f"{whose} in segment {refusal.segment!r}"
        super().__init__(whose)

    def explained(self) -> BudgetExceededError:
        """Return what the caller is told."""
        return self.refusal.error().about(whose=self.whose)


@dataclass(slots=True, kw_only=True)
class _Page:
    """One account while an act changes it."""

    column: str
    holder: str | None
    whose: str
    account: Account
    lines: list[Booking] = field(default_factory=list)

    def add(self, line: Booking) -> None:
        self.account = self.account.book(line)
        self.lines.append(line)


class Spending:
    """The accounts that one act changes: first every line is found, then all are written with the act's entry."""

    def __init__(self, book: Transaction, population: PopulationRecord, analyst: str) -> None:
        self._book, self._population, self._analyst = book, population, analyst
        self._pages = [
            _Page(
                column="account",
                holder=None,
                whose=f"population {population.name!r}",
                account=book.account(population.name),
            )
        ]
        if population.analysts.get(analyst, Analyst()).allowance:
            own = book.allowance(population.name, analyst)
            if own is None:
                raise LedgerDamagedError(f"the account of the allowance of {analyst!r} is missing")
            self._pages.append(_Page(column="allowance", holder=analyst, whose=f"analyst {analyst!r}", account=own))

    def admit(self, charge: Charge) -> None:
        """Put a charge before every account it concerns.

        Raises
        ------
        RefusedError : if one of them says no; the caller lets it undo the transaction
        """
        self._population.require_spending(self._analyst)
        for page in self._pages:
            page.account.require_carried(charge)
            quoted = page.account.quote(charge)
            if isinstance(quoted, Refusal):
                raise RefusedError(quoted, page.whose)
            page.add(quoted)

    def settle(self, *lines: YesCharge | StreamClosing) -> None:
        """Book what was reserved before, which is never refused; an account that holds no reserve for it stays."""
        for page in self._pages:
            for line in lines:
                if line.stream in page.account.streams:
                    page.add(line)

    def append(self, kind: str, **fields: Any) -> Entry:
        """Write the entry of the act, with the lines it adds to each account and the account after them."""
        changed = [page for page in self._pages if page.lines]
        states = {page.column: state(page.lines, page.account) for page in changed}
        entry = self._book.append(kind, population=self._population.name, analyst=self._analyst, **fields, **states)
        for page in changed:
            self._book.remember(self._population.name, page.holder, page.account)
        return entry
