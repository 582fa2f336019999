"""A population as the ledger knows it: who is protected, which tables hold them, who may spend, and what that changes.

Everything here is public and decided by the custodian; nothing is learned from data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from lapwing.accounting.filters.account import EVERYONE, Account, Booking, Budget
from lapwing.accounting.filters.charge import Charge, StreamClosing, YesCharge
from lapwing.accounting.filters.remaining import Refusal, tightest
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BudgetExceededError, ParameterError, SuspendedError, UnnamedAnalystError
from lapwing.vocabulary.guarantee import PrivacyUnit


@stored("analyst")
class Analyst:
    """What the custodian has decided about one analyst: a budget of their own under the population's, and a stop."""

    allowance: Budget | None = None
    suspended: bool = False


@stored("population")
class PopulationRecord:
    """The people whose privacy one account protects; the same person in two tables is one person.

    `tables` has the version of each table that holds them: a counter the custodian advances, never a fingerprint of the
    content, which would tell whether one record had changed. `keys` has the column of each table that says whose row it
    is, and its type; `analysts` those about whom something was decided, the others are limited by the budget alone.
    Where `only_named` is true, those who have no allowance are refused.
    """

    name: str
    unit: PrivacyUnit
    tables: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    keys: Mapping[str, tuple[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    analysts: Mapping[str, Analyst] = field(default_factory=lambda: MappingProxyType({}))
    suspended: bool = False
    only_named: bool = False

    def versions(self, tables: Iterable[str]) -> dict[str, int]:
        """Return the present version of each of `tables`."""
        wanted = sorted(set(tables))
        unknown = [table for table in wanted if table not in self.tables]
        if unknown or not wanted:
            reason = f"are not tables of population {self.name!r}" if unknown else "names no table"
            remedy = f"name some of {sorted(self.tables)}, or add the table first"
            raise ParameterError("tables", unknown, reason=reason, remedy=remedy)
        return {table: self.tables[table] for table in wanted}

    def suspension(self, analyst: str) -> SuspendedError | None:
        """Return why this analyst can spend nothing: they are not named, or spending is stopped, for all or for them.

        Somebody who is not named is told nothing else.
        """
        if not self.admits(analyst):
            return UnnamedAnalystError(analyst, self.name)
        if self.suspended:
            return SuspendedError(f"population {self.name!r}")
        stopped = self.analyst(analyst).suspended
        return SuspendedError(f"analyst {analyst!r} in population {self.name!r}") if stopped else None

    def admits(self, analyst: str) -> bool:
        """Say whether this analyst may ask at all: everybody may, or those who have an allowance."""
        return not self.only_named or self.analyst(analyst).allowance is not None

    def require_admitted(self, analyst: str) -> None:
        """Refuse whoever has no allowance, where only those who have one are admitted."""
        if not self.admits(analyst):
            raise UnnamedAnalystError(analyst, self.name)

    def analyst(self, name: str) -> Analyst:
        """Return what was decided about an analyst."""
        return self.analysts.get(name, Analyst())

    def require_spending(self, analyst: str) -> None:
        """Refuse if spending is stopped, for all or for this analyst."""
        if stopped := self.suspension(analyst):
            raise stopped

    def with_table(self, table: str, version: int) -> "PopulationRecord":
        """Return the population with `table` at `version`."""
        return replace(self, tables=MappingProxyType({**self.tables, table: version}))

    def with_key(self, table: str, key: tuple[str, str]) -> "PopulationRecord":
        """Return the population with the person key of `table`."""
        return replace(self, keys=MappingProxyType({**self.keys, table: key}))

    def with_analyst(self, analyst: str, **decided: Any) -> "PopulationRecord":
        """Return the population with a new `allowance` or suspension of `analyst`."""
        changed = {analyst: replace(self.analyst(analyst), **decided)}
        return replace(self, analysts=MappingProxyType({**self.analysts, **changed}))


class RefusedError(Exception):
    """Carries refusals out of a transaction, which undoes it. Explaining them takes time and is done outside.

    `refusals` are those of each account that says no, by its name; `accounts` are all that the charge was put before.
    """

    def __init__(self, refusals: Mapping[str, Refusal], accounts: Iterable[Account], charge: Charge) -> None:
        self.refusals, self.accounts, self.charge = refusals, tuple(accounts), charge
        super().__init__(*refusals)

    def explained(self) -> BudgetExceededError:
        """Return what the caller is told: what the tightest account lacks, what all admit, and each that says no."""
        told = tightest(list(self.refusals.values()), [one.remaining(self.charge.segments) for one in self.accounts])
        segments = {name: one.segment for name, one in self.refusals.items()}
        whose = (one if where == EVERYONE else f"{one} in segment {where!r}" for one, where in segments.items())
        return told.error().about(whose=" and of ".join(whose))


@dataclass(slots=True, kw_only=True)
class AccountChange:
    """One account while an act changes it: under which name an entry holds it, and the lines that are added."""

    column: str
    holder: str | None
    whose: str
    account: Account
    lines: list[Booking] = field(default_factory=list)

    def add(self, line: Booking) -> None:
        """Book one more line."""
        self.account = self.account.book(line)
        self.lines.append(line)


class AccountChanges:
    """What one act does to the population's account and to the analyst's own allowance under it: to both or neither."""

    def __init__(self, population: PopulationRecord, analyst: str, account: Account, own: Account | None) -> None:
        self.population, self.analyst = population, analyst
        whose = f"population {population.name!r}"
        self._all = [AccountChange(column="account", holder=None, whose=whose, account=account)]
        if own is not None:
            whose = f"analyst {analyst!r}"
            self._all.append(AccountChange(column="allowance", holder=analyst, whose=whose, account=own))

    def admit(self, charge: Charge) -> None:
        """Put a charge before every account it concerns; a `RefusedError` of one of them undoes the transaction."""
        self.population.require_spending(self.analyst)
        self._book(charge)

    def write_off(self, charge: Charge) -> None:
        """Charge what was released before: stopping the spending does not stop this."""
        self._book(charge)

    def _book(self, charge: Charge) -> None:
        refusals: dict[str, Refusal] = {}
        for one in self._all:
            one.account.require_carried(charge)
            quoted = one.account.quote(charge)
            if isinstance(quoted, Refusal):
                refusals[one.whose] = quoted
            elif not refusals:
                one.add(quoted)
        if refusals:
            raise RefusedError(refusals, (one.account for one in self._all), charge)

    def settle(self, *lines: YesCharge | StreamClosing) -> None:
        """Book what was reserved before, which is never refused; an account that holds no reserve for it stays."""
        for one in self._all:
            for line in lines:
                if line.stream in one.account.streams:
                    one.add(line)

    def changed(self) -> list[AccountChange]:
        """Return the accounts to which lines were added."""
        return [one for one in self._all if one.lines]
