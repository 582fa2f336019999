"""A population as the ledger knows it: who is protected, which tables hold them, and who may spend.

Everything here is public and decided by the custodian; nothing is learned from data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lapwing.accounting.filters.account import Budget
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError, SuspendedError
from lapwing.vocabulary.guarantee import PrivacyUnit


@stored("analyst")
@dataclass(frozen=True, slots=True, kw_only=True)
class Analyst:
    """What the custodian has decided about one analyst: a budget of their own under the population's, and a stop."""

    allowance: Budget | None = None
    suspended: bool = False


@stored("population")
@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationRecord:
    """The people whose privacy one account protects.

    Parameters
    ----------
    name : what it is called
    unit : who is protected; the same person in two tables is one person
    tables : the version of each table that holds these people: a counter the custodian advances, never a fingerprint
        of the content, which would tell whether one record had changed
    keys : the column of each table that says whose row it is, and its type
    analysts : those about whom something was decided; the others are limited by the population's budget alone
    suspended : whether all spending is stopped
    """

    name: str
    unit: PrivacyUnit
    tables: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    keys: Mapping[str, tuple[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    analysts: Mapping[str, Analyst] = field(default_factory=lambda: MappingProxyType({}))
    suspended: bool = False

    def versions(self, tables: Iterable[str]) -> dict[str, int]:
        """Return the present version of each of `tables`."""
        wanted = sorted(set(tables))
        unknown = [table for table in wanted if table not in self.tables]
        if unknown or not wanted:
            raise ParameterError(
                "tables",
                unknown,
                reason=f"are not tables of population {self.name!r}" if unknown else "names no table",
                remedy=f"name some of {sorted(self.tables)}, or add the table first",
            )
        return {table: self.tables[table] for table in wanted}

    def suspension(self, analyst: str) -> SuspendedError | None:
        """Return why this analyst can spend nothing, if spending is stopped, for all or for them."""
        if self.suspended:
            return SuspendedError(f"population {self.name!r}")
        stopped = self.analysts.get(analyst, Analyst()).suspended
        return SuspendedError(f"analyst {analyst!r} in population {self.name!r}") if stopped else None

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

    def with_analyst(self, analyst: str, decided: Analyst) -> "PopulationRecord":
        """Return the population with a new decision about `analyst`."""
        return replace(self, analysts=MappingProxyType({**self.analysts, analyst: decided}))
