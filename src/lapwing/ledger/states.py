"""The states of the ledger, as values: populations and their accounts, and a cache of decoded states.

A population is who is protected, which tables hold them, and who may spend: all of it public and decided by the
custodian; nothing is learned from data. Reservations are in `reservation_states`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeVar

from lapwing.accounting.filters.account import EVERYONE, Account, Booking, Budget, open_account
from lapwing.accounting.filters.charge import (
    Charge,
    DeltaShares,
    StreamClosing,
    YesCharge,
    cost_of,
    cost_of_event,
    excess_over,
)
from lapwing.accounting.filters.remaining import Refusal, tightest
from lapwing.ledger.entries import STATES, Asked, Entry, Lookup, Record
from lapwing.ledger.key_digests import KeyDigests
from lapwing.ledger.known_states import NEVER, KnownStates, State
from lapwing.ledger.reservation_states import ReservationRecord
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    ParameterError,
    PolicyError,
    SuspendedError,
    UnnamedAnalystError,
)
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.guarantee import (
    Adjacency,
    ApproximateDP,
    ConcentratedDP,
    Guarantee,
    PrivacyUnit,
    PureDP,
)
from lapwing.vocabulary.wording import decimal_above, decimal_below

K = TypeVar("K")
S = TypeVar("S")

_MOST_RESERVATIONS: Final = 1000
_MOST_CHARGES: Final = 1000
_SPARE: Final = 2000
"""How many hashes beyond those in use are kept before the others are dropped."""


@stored("analyst")
class Analyst:
    """The custodian's decisions about one analyst: a budget of their own under the population's, and a suspension.

    `tables` are those that they may ask about, and `most` limits the cost of one question; `None` is no limit.
    """

    allowance: Budget | None = None
    suspended: bool = False
    tables: tuple[str, ...] | None = None
    most: Budget | None = None


_UNDECIDED: Final = Analyst()
"""An analyst about whom the custodian has decided nothing."""


@stored("population")
class PopulationRecord:
    """The people whose privacy one account protects; the same person in two tables is one person.

    `tables` has the version of each table that holds them: a counter the custodian advances, never a fingerprint of the
    content, which would reveal whether one record had changed. `keys` has the person key of each table, its column and
    its type; `analysts` those about whom the custodian has decided: the others are limited by the budget alone. Where
    `only_named` is true, analysts without an allowance are refused. `most` is the limit for the cost of one question or
    a whole stream, and `noes_a_day` for how many questions of streams, whose noes are free, one analyst may ask in a
    day; `None` is no limit. `moved_to` is the name of the ledger in which its chain goes on, if it does not go on here.
    """

    name: str
    unit: PrivacyUnit
    tables: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    keys: Mapping[str, tuple[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    analysts: Mapping[str, Analyst] = field(default_factory=lambda: MappingProxyType({}))
    suspended: bool = False
    only_named: bool = False
    most: Budget | None = None
    noes_a_day: int | None = None
    moved_to: str | None = None

    def versions(self, tables: Iterable[str], held: Mapping[str, int] | None = None) -> dict[str, int]:
        """Return the present version of each of `tables`; it is a `MovedOnError` if others are `held` open for them."""
        wanted = sorted(set(tables))
        unknown = sorted(set(wanted).difference(self.tables))
        if unknown or not wanted:
            reason = f"are not tables of population {self.name!r}" if unknown else "names no table"
            remedy = f"name some of {sorted(self.tables)}, or add the table first"
            raise ParameterError("tables", unknown, reason=reason, remedy=remedy)
        present = {table: self.tables[table] for table in wanted}
        if held is not None and not present.items() <= held.items():
            raise MovedOnError
        return present

    def suspension(self, analyst: str) -> SuspendedError | None:
        """Return why this analyst can spend nothing: they are not named, or spending is stopped, for all or for them.

        An analyst who is not named learns nothing else.
        """
        if not self.admits(analyst):
            return UnnamedAnalystError(analyst, self.name)
        if self.moved_to is not None:
            return self.moved()
        if self.suspended:
            return SuspendedError(f"population {self.name!r}")
        stopped = self.analyst(analyst).suspended
        return SuspendedError(f"analyst {analyst!r} in population {self.name!r}") if stopped else None

    def moved(self) -> SuspendedError:
        """Return the error of whoever would spend or decide anything in a ledger that the population has left."""
        who, where = f"population {self.name!r}", f"moved to ledger {self.moved_to}"
        return SuspendedError(who, message=f"{who} {where}: ask in its workspace; its chain ends here for good")

    def admits(self, analyst: str) -> bool:
        """Return whether this analyst may ask at all: any analyst may, or only those who have an allowance."""
        return not self.only_named or self.analyst(analyst).allowance is not None

    def require_admitted(self, analyst: str) -> None:
        """Refuse an analyst without an allowance, where only those who have one are admitted."""
        if not self.admits(analyst):
            raise UnnamedAnalystError(analyst, self.name)

    def require_tables(self, analyst: str, tables: Iterable[str]) -> None:
        """Refuse tables that this analyst may not ask about."""
        allowed = self.analyst(analyst).tables
        refused = [] if allowed is None else sorted(set(tables).difference(allowed))
        if allowed is not None and refused:
            may = f"may ask about {', '.join(allowed)}" if allowed else "may ask about no table"
            reason = f"analyst {analyst!r} {may}, and this is about {', '.join(refused)}"
            raise PolicyError("tables", reason=reason, remedy="ask the custodian for more")

    def require_price(self, analyst: str, charge: Charge, account: Account) -> None:
        """Refuse what costs more than one question may: by itself, or as a fresh account of that size would see it."""
        limits = {f"population {self.name!r}": self.most, f"analyst {analyst!r}": self.analyst(analyst).most}
        for whose, said in limits.items():
            most = said and meant_under(account.budget, said)
            if most is None or (lacks := excess_over(charge, most)) is None or _admits(account, most, charge):
                continue
            asked = "more" if lacks.asked is None else f"{lacks.currency} {decimal_above(lacks.asked)}"
            if isinstance(most, ApproximateDP) and lacks.currency == "epsilon":
                asked += f" at delta {decimal_below(most.delta)}"
            costs = f" (what {_words(said)} costs)" if isinstance(most, ConcentratedDP) and most != said else ""
            reason = f"{asked} is asked at once, and of {whose} at most {_words(most)}{costs} may be"
            raise PolicyError("most", reason=reason, remedy="ask at a smaller price, or ask the custodian")

    def forbids(self, analyst: str, tables: Iterable[str], charge: Charge, account: Account) -> PolicyError | None:
        """Return why the policy forbids this analyst a charge about these tables; `None` if it does not."""
        try:
            self.require_tables(analyst, tables)
            self.require_price(analyst, charge, account)
        except PolicyError as refused:
            return refused
        return None

    def require_noes(self, analyst: str, day: str, asked: int) -> None:
        """Refuse the question with which an analyst would ask streams more than so often in a day."""
        if self.noes_a_day is not None and asked > self.noes_a_day:
            reason = f"on {day} this would be question {asked:,} of {analyst!r} to streams, which answer no for nothing"
            remedy = f"there may be {self.noes_a_day:,} a day: go on tomorrow, or ask the custodian"
            raise PolicyError("noes_a_day", reason=reason, remedy=remedy)

    def analyst(self, name: str) -> Analyst:
        """Return the custodian's decisions about an analyst."""
        return self.analysts.get(name, _UNDECIDED)

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


def meant_under(budget: Guarantee, most: Budget) -> Budget:
    """Return what the most of one question means under a budget: an epsilon alone is read in the budget's own kind.

    Under an (epsilon, delta) budget it is an epsilon at that delta. Under a rho it is what an epsilon costs there, so
    that a question at that epsilon may be asked, whichever noise it is answered with.
    """
    match budget, most:
        case ApproximateDP(delta=delta), PureDP(epsilon=epsilon):
            return ApproximateDP(epsilon=epsilon, delta=delta)
        case ConcentratedDP(), PureDP(epsilon=epsilon):
            rho = cost_of_event(PureRelease(epsilon=epsilon)).rho
            return most if rho is None else ConcentratedDP(rho=rho)
        case _:
            return most


def _admits(account: Account, budget: Budget, charge: Charge) -> bool:
    """Return whether a fresh account of another budget, with the segments of an account, admits a charge."""
    fresh = _opened(budget, tuple(account.filters), account.adjacency, account.shares)
    return not isinstance(fresh.quote(charge), Refusal)


@lru_cache(maxsize=64)
def _opened(budget: Budget, segments: tuple[str, ...], adjacency: Adjacency, shares: DeltaShares) -> Account:
    return open_account(budget, segments=segments, adjacency=adjacency, shares=shares)


def _words(budget: object) -> str:
    """Return a budget in words."""
    amounts = {name: getattr(budget, name, None) for name in ("epsilon", "delta", "rho")}
    return ", ".join(f"{name} {decimal_below(amount)}" for name, amount in amounts.items() if amount)


class MovedOnError(Exception):
    """The tables have newer versions than those that are held open for a question. Nothing was written."""


class RefusedError(Exception):
    """Carries refusals out of a transaction, which undoes it. Explaining them takes time and is done outside.

    `refusals` has the refusal of each account that refuses, by its name; `accounts` are all that had to admit it.
    """

    def __init__(self, refusals: Mapping[str, Refusal], accounts: Iterable[Account], charge: Charge) -> None:
        self.refusals, self.accounts, self.charge = refusals, tuple(accounts), charge
        super().__init__(*refusals)

    def explained(self) -> BudgetExceededError:
        """Return the error for the caller: what the tightest account lacks, what all admit, and each that refuses."""
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
    """The changes of one act to the population's account and to the analyst's allowance under it: both or neither."""

    def __init__(self, population: PopulationRecord, analyst: str, account: Account, own: Account | None) -> None:
        self.population, self.analyst = population, analyst
        whose = f"population {population.name!r}"
        self._all = [AccountChange(column="account", holder=None, whose=whose, account=account)]
        if own is not None:
            whose = f"analyst {analyst!r}"
            self._all.append(AccountChange(column="allowance", holder=analyst, whose=whose, account=own))

    def admit(self, charge: Charge, tables: Iterable[str]) -> None:
        """Put a charge before every account it concerns; a `RefusedError` of one of them undoes the transaction.

        What the custodian does not allow is refused first: to spend, to ask about these `tables`, to spend so much.
        """
        self.population.require_spending(self.analyst)
        self.population.require_tables(self.analyst, tables)
        self.population.require_price(self.analyst, charge, self._all[0].account)
        self._book(charge)

    def write_off(self, charge: Charge) -> None:
        """Charge an earlier release: this also works while spending is stopped."""
        self._book(charge)

    def _book(self, charge: Charge) -> None:
        refusals: dict[str, Refusal] = {}
        cost = cost_of(charge)
        for one in self._all:
            one.account.require_carried(charge, cost)
            quoted = one.account.quote(charge, cost)
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


@dataclass(slots=True)
class StateCache:
    """States that were read before, each with the number of its entry, so that they need not be decoded again.

    `charges` are the newest of questions. `latest` has, for each lookup of a state, the number of the last entry to
    change it, `openings` that of the first entry of a reservation, and `hashes` what hash these had when first seen.
    `found` are the lookups that find new entries, and `keys` the digests of those that found an entry before. `known`
    are the states of a checkpoint that were not looked up since.
    """

    accounts: dict[tuple[str, str | None], tuple[int, Account]] = field(default_factory=dict)
    populations: dict[str, tuple[int, PopulationRecord]] = field(default_factory=dict)
    reservations: dict[str, tuple[int, ReservationRecord]] = field(default_factory=dict)
    charges: dict[int, Record] = field(default_factory=dict)
    latest: dict[Asked, int] = field(default_factory=dict)
    openings: dict[str, int] = field(default_factory=dict)
    hashes: dict[int, bytes] = field(default_factory=dict)
    found: list[Asked] = field(default_factory=list)
    keys: KeyDigests | None = None
    known: KnownStates | None = None

    def last(self, asked: Asked) -> State:
        """Return the last entry that is known to change a state."""
        if (seq := self.latest.get(asked)) is not None:  # no older than that of the checkpoint, or it was refused
            return State(seq, None)
        return NEVER if self.known is None else self.known.get(asked)

    def learn(self, news: "StateCache") -> None:
        """Take over what is newer; a slower thread may bring older news."""
        _take_newer(self.accounts, news.accounts)
        _take_newer(self.populations, news.populations)
        _take_newer(self.reservations, news.reservations)
        self.reservations = _newest(self.reservations, _MOST_RESERVATIONS)
        self.charges.update(news.charges)
        self.charges = _newest(self.charges, _MOST_CHARGES)
        for lookup, seq in news.latest.items():
            self.latest[lookup] = max(seq, self.latest.get(lookup, 0))
        if self.keys is not None:
            self.keys.add(news.found)
        self.openings.update(news.openings)
        for seq, hash_ in news.hashes.items():
            self.hashes.setdefault(seq, hash_)
        if len(self.hashes) > 2 * (len(self.latest) + len(self.openings)) + _SPARE:
            wanted = {*self.latest.values(), *self.openings.values()}
            self.hashes = {seq: hash_ for seq, hash_ in self.hashes.items() if seq in wanted}

    def heed(self, entry: Entry, record: Record, finding: Iterable[Asked]) -> None:
        """Note which states an entry changes, by the lookups that find it."""
        seq, self.hashes[entry.seq] = entry.seq, entry.hash
        for asked in finding:
            self.found.append(asked)
            if asked[0] in STATES:
                self.latest[asked] = seq
        if isinstance(answers := record.get("recalls"), list):  # of a batch
            self.found += [(Lookup.RECALL, (digest,)) for digest in answers]
        if record["kind"] == "charge":
            self.charges[seq] = record
        elif record["kind"] == "opening":
            self.openings[record["stream"]] = seq


def _newest(kept: dict[K, S], most: int) -> dict[K, S]:
    """Return the newest of what is kept, at least `most`: to drop one at a time would be to look past the dropped."""
    return kept if len(kept) <= 2 * most else dict([*kept.items()][-most:])


def _take_newer(kept: dict[K, tuple[int, S]], news: dict[K, tuple[int, S]]) -> None:
    for one, new in news.items():
        if one not in kept or kept[one][0] < new[0]:
            kept[one] = new
