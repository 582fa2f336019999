"""What the custodian does: populations, their budgets, their tables, and who may spend how much of them.

Every act is an entry. None of them ever makes a charge undone: a new budget is a promise about the whole past too.
"""

from collections.abc import Iterable
from dataclasses import replace

from lapwing.accounting.filters.account import EVERYONE, Budget, charge_anew, open_account, raise_cap
from lapwing.accounting.filters.approximate import DeltaShares
from lapwing.ledger.entries import Receipt, text
from lapwing.ledger.entries import name as named
from lapwing.ledger.population import PopulationRecord
from lapwing.ledger.store import Store
from lapwing.ledger.transaction import Transaction, state
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import PrivacyUnit


class Administration:
    """The custodian's acts on a ledger. `by` says who acted; it is written down and decides nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create_population(
        self,
        name: str,
        *,
        unit: PrivacyUnit,
        budget: Budget,
        segments: Iterable[str] = (EVERYONE,),
        shares: DeltaShares | None = None,
        by: str = "custodian",
    ) -> Receipt:
        """Open the account of a population.

        The budget is the lifetime cap of everything that is ever released about these people, by all analysts together.
        The segments are those of the finest public partition, fixed for ever, the empty ones included; only where
        single people are protected, since the members of a group may be in several.
        """
        population = PopulationRecord(name=named("population", name), unit=unit)
        names = [named("segment", segment) for segment in segments]
        if len(names) > 1 and unit.protects_groups_of > 1:
            reason = f"divide {unit.protects_groups_of} people who are protected together and may be in several"
            remedy = "leave the segments out, or protect single people"
            raise ParameterError("segments", len(names), reason=reason, remedy=remedy)
        account = open_account(budget, segments=names, adjacency=unit.adjacency, shares=shares)
        with self._store.writing("population") as transaction:
            if name in transaction.populations():
                remedy = "its account goes on; choose another name"
                raise ParameterError("population", name, reason="exists already", remedy=remedy)
            fields = {"policy": to_record(population), "account": state((), account)}
            transaction.append("population", population=name, by=named("by", by), **fields)
            return transaction.receipt

    def add_table(
        self, population: str, table: str, *, key: tuple[str, str] | None = None, by: str = "custodian"
    ) -> Receipt:
        """Declare that a table holds people of a population; its data version is 1.

        With a `key`, the column that says whose row it is and its type are kept with it, for ever.
        """
        with self._store.writing("policy") as transaction:
            known = transaction.population(population)
            if table in known.tables:
                reason = f"belongs to population {population!r} already, at version {known.tables[table]}"
                raise ParameterError("table", table, reason=reason, remedy="advance its version if its data changed")
            decided = known.with_table(named("table", table), 1)
            if key is not None:
                decided = decided.with_key(table, (text("person_key", key[0]), text("key_type", key[1])))
            return self._decide(transaction, decided, by, "table", table=table)

    def advance_version(self, population: str, table: str, *, by: str = "custodian") -> int:
        """Say publicly that the data of a table changed: stored answers no longer serve, and nothing is given back."""
        with self._store.writing("version") as transaction:
            known = transaction.population(population)
            version = known.versions([table])[table] + 1
            self._decide(transaction, known.with_table(table, version), by, "version", table=table, version=version)
            return version

    def set_budget(self, population: str, budget: Budget, *, by: str = "custodian") -> Receipt:
        """Raise the cap: the whole history is charged anew under it. It cannot be lowered; `suspend` stops spending."""
        with self._store.writing("policy") as transaction:
            known, account = transaction.population(population), transaction.account(population)
            change = raise_cap(account, budget, transaction.lines(population))
            receipt = self._decide(transaction, known, by, "budget", account=state([change], change.account))
            transaction.remember(population, None, change.account)
            return receipt

    def set_allowance(
        self, population: str, analyst: str, allowance: Budget | None, *, by: str = "custodian"
    ) -> Receipt:
        """Give an analyst a budget of their own under the population's, or take it away; the past counts."""
        named("analyst", analyst)
        with self._store.writing("policy") as transaction:
            known, account = transaction.population(population), transaction.account(population)
            decided = known.with_analyst(analyst, allowance=allowance)
            if allowance is None:
                return self._decide(transaction, decided, by, "allowance", analyst=analyst)
            fresh = open_account(
                allowance, segments=account.filters, adjacency=account.adjacency, shares=account.shares
            )
            change = charge_anew(fresh, transaction.lines(population, analyst))
            own = state([change], change.account)
            receipt = self._decide(transaction, decided, by, "allowance", analyst=analyst, allowance=own)
            transaction.remember(population, analyst, change.account)
            return receipt

    def suspend(self, population: str, analyst: str | None = None, *, by: str = "custodian") -> Receipt:
        """Stop all spending, of everyone or of one analyst. Stored answers are still given, where none is recorded."""
        return self._switch(population, analyst, by, stopped=True)

    def resume(self, population: str, analyst: str | None = None, *, by: str = "custodian") -> Receipt:
        """Allow spending again."""
        return self._switch(population, analyst, by, stopped=False)

    def accept_rollback(self, remark: str, *, by: str = "custodian") -> Receipt:
        """Write down what was lost with entries that are gone, and stop all spending of every population."""
        with self._store.writing("rollback") as transaction:
            transaction.append("note", by=named("by", by), remark=text("remark", remark))
            for name in transaction.populations():
                self._decide(transaction, replace(transaction.population(name), suspended=True), by, "suspension")
            return transaction.receipt

    def _switch(self, population: str, analyst: str | None, by: str, *, stopped: bool) -> Receipt:
        with self._store.writing("policy") as transaction:
            known = transaction.population(population)
            if analyst is None:
                return self._decide(transaction, replace(known, suspended=stopped), by, "suspension")
            decided = known.with_analyst(named("analyst", analyst), suspended=stopped)
            return self._decide(transaction, decided, by, "suspension", analyst=analyst)

    @staticmethod
    def _decide(transaction: Transaction, decided: PopulationRecord, by: str, change: str, **fields: object) -> Receipt:
        said = {"by": named("by", by), "change": change, "policy": to_record(decided)}
        return transaction.receipt_of(transaction.append("policy", population=decided.name, **said, **fields))
