"""Acts of the custodian: populations, their budgets, their tables, and who may spend how much of them.

Every act is an entry. None of them ever undoes a charge: a new budget is a promise about the whole past too.
Who is protected can be corrected only as long as nothing was ever released about them: there is nothing to undo then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from lapwing.accounting.filters.account import (
    EVERYONE,
    Account,
    Admission,
    Budget,
    CapChange,
    charge_anew,
    open_account,
    raise_cap,
)
from lapwing.accounting.filters.charge import ConcentratedFilter, DeltaShares, PureFilter, SingleRelease
from lapwing.ledger.chains import Chains
from lapwing.ledger.entries import Receipt, text
from lapwing.ledger.entries import name as named
from lapwing.ledger.states import PopulationRecord, RefusedError
from lapwing.ledger.transaction import Transaction, state
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.guarantee import Guarantee, PrivacyUnit
from lapwing.vocabulary.wording import decimal_above

EMPTY: Final[Mapping[int, Receipt | None]] = MappingProxyType({})


class Administration:
    """The custodian's acts on a ledger. `by` names the person who acted; it is recorded and decides nothing."""

    def __init__(self, chains: Chains) -> None:
        self._chains = chains

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
        account = _fresh_account(unit, budget, segments, shares)
        with self._chains.found(name) as chain, chain.store.writing("population") as transaction:
            if name in transaction.populations():
                remedy = "its account goes on; choose another name"
                raise ParameterError("population", name, reason="exists already", remedy=remedy)
            transaction.follow()
            if _has_unrecorded_releases(transaction, name):  # its account may have been among the entries that are lost
                population = replace(population, suspended=True)
            fields = {"policy": to_record(population), "account": state((), account)}
            transaction.append("population", population=name, by=named("by", by), **fields)
            return transaction.receipt

    def add_table(
        self, population: str, table: str, *, key: tuple[str, str] | None = None, by: str = "custodian"
    ) -> Receipt:
        """Declare that a table holds people of a population; its data version is 1.

        With a `key`, the person key of the table (its column and its type) is recorded, for ever.
        """
        with self._chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            if table in known.tables:
                reason = f"belongs to population {population!r} already, at version {known.tables[table]}"
                raise ParameterError("table", table, reason=reason, remedy="advance its version if its data changed")
            decided = known.with_table(named("table", table), 1)
            if key is not None:
                decided = decided.with_key(table, _key(key))
            return decide_in(transaction, decided, by, "table", table=table)

    def advance_version(self, population: str, table: str, *, by: str = "custodian") -> int:
        """Declare that the data of a table changed: stored answers are no longer reused, and no budget is refunded."""
        with self._chains.store(population).writing("version") as transaction:
            known = transaction.population(population)
            version = known.versions([table])[table] + 1
            decide_in(transaction, known.with_table(table, version), by, "version", table=table, version=version)
            return version

    def set_budget(self, population: str, budget: Budget, *, by: str = "custodian") -> Receipt:
        """Raise the cap: the whole history is charged anew under it. It cannot be lowered; `suspend` stops spending."""
        with self._chains.store(population).writing("policy") as transaction:
            return raise_in(transaction, transaction.population(population), budget, by)

    def is_correctable(self, population: str, table: str | None = None) -> bool:
        """Return whether nothing was ever released about a population, or from one of its tables."""
        with self._chains.store(population).reading() as transaction:
            transaction.population(population)
            return _is_correctable(transaction, population, table)

    def correct(
        self,
        population: str,
        *,
        unit: PrivacyUnit,
        budget: Budget,
        segments: Iterable[str] = (EVERYONE,),
        shares: DeltaShares | None = None,
        keys: Mapping[str, tuple[str, str]],
        by: str = "custodian",
    ) -> Receipt:
        """Open the account of a population anew, under other terms: only while nothing was ever charged to it.

        Nothing was spent before, and nothing afterwards, so this is no way to a second budget. Every table gets a new
        version, so that a process with the old terms in memory cannot read it any more. Allowances stay, under the
        new terms; `keys` are the person keys of the tables.
        """
        account = _fresh_account(unit, budget, segments, shares)
        with self._chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            _require_correctable(transaction, population)
            if set(keys) != set(known.tables):
                raise ParameterError(
                    "keys", sorted(keys), reason=f"are not those of {sorted(known.tables)}", remedy="name every table"
                )
            decided = replace(known, unit=unit)
            for table, version in known.tables.items():
                decided = decided.with_table(table, version + 1).with_key(table, _key(keys[table]))
            decide_in(transaction, decided, by, "correction", account=state([CapChange(account=account)], account))
            transaction.remember(population, None, account)
            for analyst, one in known.analysts.items():
                if one.allowance:
                    allow_in(transaction, decided, analyst, allowance=one.allowance, by=by)
            return transaction.receipt

    def correct_key(self, population: str, table: str, key: tuple[str, str], *, by: str = "custodian") -> Receipt:
        """Change the person key of a table: only while nothing was ever read from it. The table gets a new version."""
        with self._chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            version = known.versions([table])[table] + 1
            _require_correctable(transaction, population, table)
            decided = known.with_table(table, version).with_key(table, _key(key))
            return decide_in(transaction, decided, by, "correction", table=table)

    def set_allowance(
        self, population: str, analyst: str, allowance: Budget | None, *, by: str = "custodian"
    ) -> Receipt:
        """Give an analyst a budget of their own under the population's, or take it away; the past counts."""
        named("analyst", analyst)
        with self._chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            if allowance is None:
                decided = known.with_analyst(analyst, allowance=None)
                return decide_in(transaction, decided, by, "allowance", analyst=analyst)
            return allow_in(transaction, known, analyst, allowance=allowance, by=by)

    def admit_analysts(self, population: str, *, only_named: bool, by: str = "custodian") -> Receipt:
        """Refuse those who have no allowance of their own, or admit everybody."""
        with self._chains.store(population).writing("policy") as transaction:
            decided = replace(transaction.population(population), only_named=only_named)
            return decide_in(transaction, decided, by, "admission")

    def set_limits(
        self, population: str, *, most: Budget | None, noes_a_day: int | None, by: str = "custodian"
    ) -> Receipt:
        """Limit the cost of one question, and how many questions of streams an analyst may ask in a day.

        A stream counts with all that it reserves. `None` is no limit. Earlier charges are not touched.
        """
        if noes_a_day is not None:
            as_int("noes_a_day", noes_a_day, least=0)
        with self._chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            _require_limit(transaction, population, most)
            return decide_in(transaction, replace(known, most=most, noes_a_day=noes_a_day), by, "limits")

    def limit_analyst(
        self,
        population: str,
        analyst: str,
        *,
        tables: Iterable[str] | None,
        most: Budget | None,
        by: str = "custodian",
    ) -> Receipt:
        """Limit the tables that an analyst may ask about, and the cost of each question; `None` is no limit."""
        named("analyst", analyst)
        with self._chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            _require_limit(transaction, population, most)
            chosen = None if tables is None else tuple(sorted(known.versions(tables)))
            decided = known.with_analyst(analyst, tables=chosen, most=most)
            return decide_in(transaction, decided, by, "limits", analyst=analyst)

    def write_off(
        self, population: str, event: Event, *, reason: str, analyst: str | None = None, by: str = "custodian"
    ) -> Receipt:
        """Charge a release that is in no entry, such as one whose entries were lost.

        It is done also while spending is stopped, and cannot be taken back. With an `analyst`, their own allowance is
        charged, too.
        """
        said = {"by": named("by", by), "reason": text("reason", reason)}
        try:
            with self._chains.store(population).writing("policy") as transaction:
                known = transaction.population(population)
                changes = transaction.accounts(known, "" if analyst is None else named("analyst", analyst))
                changes.write_off(SingleRelease(event=event))
                return transaction.receipt_of(transaction.append_changes("write-off", changes, **said))
        except RefusedError as refused:
            raise refused.explained() from None

    def suspend(self, population: str, analyst: str | None = None, *, by: str = "custodian") -> Receipt:
        """Stop all spending, of everyone or of one analyst. Stored answers are still given, where none is recorded."""
        return self._switch(population, analyst, by, stopped=True)

    def resume(self, population: str, analyst: str | None = None, *, by: str = "custodian") -> Receipt:
        """Allow spending again."""
        return self._switch(population, analyst, by, stopped=False)

    def accept_rollback(
        self, remark: str | None, *, until: Mapping[int, Receipt | None] = EMPTY, by: str = "custodian"
    ) -> Receipt:
        """Record a loss of entries in every chain, and stop all spending of every population.

        `until` are the last of them, by the numbers of the chains, where they are known; `lost_entries` goes on from
        them.
        """
        for name, chain in self._chains:
            with chain.store.writing("rollback") as transaction:
                _note_loss(transaction, remark, until.get(chain.store.database.number), by)
                known = transaction.population(name)
                if known.moved_to is None:
                    decide_in(transaction, replace(known, suspended=True), by, "suspension")
        return self._chains.note_loss(lambda transaction: _note_loss(transaction, remark, until.get(0), by))

    def _switch(self, population: str, analyst: str | None, by: str, *, stopped: bool) -> Receipt:
        with self._chains.store(population).writing("policy") as transaction:
            known = transaction.population(population)
            if analyst is None:
                return decide_in(transaction, replace(known, suspended=stopped), by, "suspension")
            decided = known.with_analyst(named("analyst", analyst), suspended=stopped)
            return decide_in(transaction, decided, by, "suspension", analyst=analyst)


def _note_loss(transaction: Transaction, remark: str | None, until: Receipt | None, by: str) -> None:
    lost = f"those up to {until.seq}" if until else "nobody knows how many"
    remark = remark or f"entries after {transaction.last} are lost, {lost}; what they charged counts as spent"
    known = {} if until is None else {"lost_until": until.seq, "lost_head": until.hash}
    transaction.append("note", by=named("by", by), remark=text("remark", remark), **known)


def allow_in(
    transaction: Transaction, known: PopulationRecord, analyst: str, *, allowance: Guarantee, by: str, **fields: object
) -> Receipt:
    """Write down an allowance, and the account of all that its analyst ever caused under it."""
    transaction.follow()
    account = transaction.account(known.name)
    fresh = open_account(allowance, **_terms_of(account))
    try:
        change = charge_anew(fresh, transaction.lines(known.name, analyst))
    except ParameterError as refused:
        past = charge_anew(open_account(account.budget, **_terms_of(account)), transaction.lines(known.name, analyst))
        raise ParameterError(
            f"allowance of {analyst}",
            refused.given,
            reason=f"is less than what was released to them already{_taken(past.account)}",
            remedy="write a larger one: what was answered stays answered",
        ) from None
    decided, own = known.with_analyst(analyst, allowance=allowance), state([change], change.account)
    receipt = decide_in(transaction, decided, by, "allowance", analyst=analyst, allowance=own, **fields)
    transaction.remember(known.name, analyst, change.account)
    return receipt


def raise_in(
    transaction: Transaction, known: PopulationRecord, budget: Guarantee, by: str, **fields: object
) -> Receipt:
    """Write down a higher cap, under which the whole history is charged anew."""
    account = transaction.account(known.name)
    transaction.follow()
    change = raise_cap(account, budget, transaction.lines(known.name))
    receipt = decide_in(transaction, known, by, "budget", account=state([change], change.account), **fields)
    transaction.remember(known.name, None, change.account)
    return receipt


def decide_in(transaction: Transaction, decided: PopulationRecord, by: str, change: str, **fields: object) -> Receipt:
    """Write down a decision about a population."""
    said = {"by": named("by", by), "change": change, "policy": to_record(decided)}
    return transaction.receipt_of(transaction.append("policy", population=decided.name, **said, **fields))


def _fresh_account(unit: PrivacyUnit, budget: Budget, segments: Iterable[str], shares: DeltaShares | None) -> Account:
    names = [named("segment", segment) for segment in segments]
    if len(names) > 1 and unit.protects_groups_of > 1:
        raise ParameterError(
            "segments",
            len(names),
            reason=f"divide {unit.protects_groups_of} people who are protected together and may be in several",
            remedy="leave the segments out, or protect single people",
        )
    return open_account(budget, segments=names, adjacency=unit.adjacency, shares=shares)


def _terms_of(account: Account) -> dict[str, Any]:
    return {"segments": account.filters, "adjacency": account.adjacency, "shares": account.shares}


def _taken(account: Account) -> str:
    """Return in words what is spent and reserved in the fullest segment; empty for an (epsilon, delta) budget."""
    match max(account.filters.values(), key=lambda one: getattr(one, "spent", 0)):
        case PureFilter(spent=spent, reserved=reserved):
            return f", epsilon {decimal_above(spent + reserved)}"
        case ConcentratedFilter(spent=spent):
            return f", rho {decimal_above(spent)}"
        case _:
            return ""


def _require_limit(transaction: Transaction, population: str, most: Budget | None) -> None:
    """Refuse a limit that no account could have."""
    if most is not None:
        open_account(most, **_terms_of(transaction.account(population)))


def _key(key: tuple[str, str]) -> tuple[str, str]:
    return text("person_key", key[0]), text("key_type", key[1])


def _has_unrecorded_releases(transaction: Transaction, population: str) -> bool:
    """Return whether there may be releases without an entry: entries are lost, or a loss was written off."""
    unrecorded = "record ->> 'kind' = 'note' or (record ->> 'kind' = 'write-off' and record ->> 'population' = ?)"
    found = f"select seq from entries where {unrecorded} limit 1"  # noqa: S608 - our own words
    return transaction.one(found, population) is not None


def _is_correctable(transaction: Transaction, population: str, table: str | None) -> bool:
    """Return whether nothing was released: no charge of the population, or none that reads the table, and none lost."""
    transaction.follow()
    if _has_unrecorded_releases(transaction, population):
        return False
    if table is None:
        return not any(isinstance(line, Admission) for line in transaction.lines(population))
    return all(table not in entry.record.get("versions", ()) for entry in transaction.about(population))


def _require_correctable(transaction: Transaction, population: str, table: str | None = None) -> None:
    if not _is_correctable(transaction, population, table):
        what = f"population {population!r}" if table is None else f"table {table!r}"
        raise ParameterError(
            "table" if table else "population",
            table or population,
            reason=f"was released from, or entries of the ledger are lost, so that nobody knows: {what} stays as it is",
            remedy="take the change back",
        )
