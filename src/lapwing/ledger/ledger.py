"""The ledger: the durable account of everything that was released, and the proof of it.

Open one with `open_ledger`, make one with `create_ledger`. Every caller keeps to one order: charge, commit, read data,
release. There is no refund: a failure after the charge keeps the charge.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from threading import Lock
from typing import Final, Self

from lapwing.accounting.filters.account import Account, Booking, charge_anew, open_account
from lapwing.ledger.administration import Administration
from lapwing.ledger.append_times import AppendTimes
from lapwing.ledger.budget_requests import BudgetRequests
from lapwing.ledger.chain import Chain
from lapwing.ledger.chains import ChainEnd, Chains
from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.database import Database, Turns
from lapwing.ledger.entries import (
    Entry,
    HeadFile,
    Lookup,
    Receipt,
    Record,
    genesis,
    require_promised,
    standing,
)
from lapwing.ledger.entries import name as named
from lapwing.ledger.questions import Questions
from lapwing.ledger.reservations import Reservations
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.ledger.states import PopulationRecord
from lapwing.ledger.store import Store, now
from lapwing.ledger.streams import Streams
from lapwing.ledger.transaction import Clock, Transaction
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.lifetime import closing_on_failure
from lapwing.vocabulary.loading import load_extra

MOST: Final = 10_000
"""So many entries, or points, come in one go at most."""


_CHANGES: Final = """select seq from entries
    where record ->> 'population' = ? and record ->> 'account' is not null
        and (cast(? as text) is null or record ->> 'analyst' = ? or record ->> 'kind' = 'population') order by seq"""
_DAYS: Final = """select max(seq) from entries
    where record ->> 'population' = ? and record ->> 'account' is not null and record ->> 'at' is not null
    group by substr(record ->> 'at', 1, 10) order by 1"""
_TALLY: Final = """select record ->> 'kind', record ->> 'outcome', count(*) from entries
    where coalesce(record ->> 'population', '') = ? and coalesce(record ->> 'analyst', '') = ? group by 1, 2"""
_DECIDED: Final = """where record ->> 'population' = ? and record ->> 'budget_request' is not null
    and cast(record ->> 'budget_request' as bigint) = ? and record ->> 'kind' <> 'request'"""
_ANALYSTS: Final = """select distinct record ->> 'analyst' from entries
    where coalesce(record ->> 'population', '') = ? and record ->> 'analyst' is not null"""


@frozen()
class Snapshot:
    """A consistent snapshot of the ledger, for one population and one analyst.

    `allowance` is the account of the analyst's own allowance; `None` if only the population's counts.
    """

    population: PopulationRecord
    account: Account
    allowance: Account | None

    @property
    def versions(self) -> Mapping[str, int]:
        """The present version of each table."""
        return self.population.tables


@frozen()
class AccountPoint:
    """How the account of a population stood after an entry; `at` is when it was last charged by then."""

    seq: int
    at: str
    account: Account


@dataclass(slots=True)
class _Shares:
    """The spending that each analyst caused up to entry `seq`, under the terms of the account as it stood then."""

    seq: int
    account: Account
    accounts: dict[str, Account] = field(default_factory=dict)


class Ledger:
    """An open ledger: every release about a population was charged before, in one order, whoever writes or crashes.

    Proof: proofs/ledger.md
    """

    def __init__(self, chains: Chains, population: str | None = None) -> None:
        self.chains, self._population = chains, population
        self._shares, self._counting = dict[str, _Shares](), Lock()

    def of(self, population: str) -> "Ledger":
        """Return this ledger, open at the chain of one population: entries without a population are looked for there.

        Without it they belong to the only population there is, and where there are several, it has to be named.
        """
        return Ledger(self.chains, population)

    @property
    def name(self) -> str:
        """The name of the ledger in its receipts."""
        return self.chains.directory.head().ledger

    @property
    def gate(self) -> Turns:
        """Locks that serialize requests for the same work."""
        return self.chains.directory.store.gate

    @property
    def appends(self) -> AppendTimes:
        """How long charges took, in this process."""
        return self.chains.directory.store.appends

    @property
    def here(self) -> Chain:
        """The chain of its population."""
        return self.chains.of(self._population or self.chains.only())

    @property
    def store(self) -> Store:
        """Where the entries of its population are."""
        return self.here.store

    @property
    def questions(self) -> Questions:
        """One-shot questions about its population."""
        return self.here.questions

    @property
    def reservations(self) -> Reservations:
        """Several draws under one charge: opened, drawn in rounds, closed."""
        return self.here.reservations

    @property
    def streams(self) -> Streams:
        """Questions of streams, which are the rounds of reservations."""
        return self.here.streams

    @cached_property
    def administration(self) -> Administration:
        """The acts of the custodian."""
        return Administration(self.chains)

    @cached_property
    def budget_requests(self) -> BudgetRequests:
        """Requests of analysts for more budget, and the custodian's decisions."""
        return BudgetRequests(self.chains)

    def populations(self) -> list[str]:
        """Return the names of all populations."""
        return self.chains.names()

    def has(self, name: str) -> bool:
        """Return whether there is a population of this name; nothing else is looked at."""
        return self.chains.has(name)

    def ends(self) -> dict[str, ChainEnd]:
        """Return the ends of all populations by one statement: it opens no chain, and checks none."""
        return self.chains.ends()

    def emptied(self) -> list[str]:
        """Return the populations that were founded and are said to have no entries; `has` tells what is true."""
        return self.chains.emptied()

    def last_decisions(self, numbers: Sequence[int]) -> dict[int, int]:
        """Return the last decisions in the chains of these numbers: no chain is opened, and none is checked."""
        return self.chains.last_decisions(numbers)

    def population(self, name: str) -> PopulationRecord:
        """Return the current policy of a population."""
        found = (Lookup.POLICY, (name,))
        return self.chains.store(name).read(lambda transaction: transaction.population(name), (found,))

    def account(self, population: str) -> Account:
        """Return the current account of a population; its `quote` returns the cost of a question, free of charge."""
        with self.chains.store(population).reading() as transaction:
            transaction.population(population)
            return transaction.account(population)

    def snapshot(self, population: str, analyst: str) -> Snapshot:
        """Return the current states of a population and an analyst, in one snapshot."""

        def read(transaction: Transaction) -> Snapshot:
            decided = transaction.population(population)
            limited = decided.analyst(analyst).allowance
            return Snapshot(
                population=decided,
                account=transaction.account(population),
                allowance=transaction.allowance(population, analyst) if limited else None,
            )

        return self.chains.store(population).read(read, standing(population, analyst))

    def analysts(self, population: str) -> frozenset[str]:
        """Return the analysts who have ever asked about a population, or were named by its custodian."""
        with self.chains.store(population).reading() as transaction:
            return frozenset(name for (name,) in transaction.all(_ANALYSTS, population))

    def history(self, population: str) -> list[Record]:
        """Return the content of all entries about a population, from the first on; nothing in them is secret."""
        with self.chains.store(population).reading() as transaction:
            transaction.population(population)
            return [entry.record for entry in transaction.about(population)]

    def notes(self) -> list[Record]:
        """Return the notes of entries that its chain has lost."""
        with self.store.reading() as transaction:
            return [entry.record for entry in transaction.some("where record ->> 'kind' = 'note' order by seq")]

    def entries(
        self,
        population: str,
        *,
        after: int | None = None,
        limit: int = 500,
        kinds: Collection[str] = (),
        analyst: str | None = None,
        stream: str | None = None,
        newest_first: bool = False,
    ) -> list[Record]:
        """Return a page of the entries about a population.

        Parameters
        ----------
        population : whose entries
        after : the number of the last entry of the page before; without it, the first page
        limit : how many entries at most
        kinds : of which kinds, such as "charge"; of all, if none is named
        analyst : only those that this analyst caused
        stream : only those of this stream
        newest_first : begin with the last entry and go back
        """
        as_int("limit", limit, most=MOST)
        about = "coalesce(record ->> 'population', '')" if stream is None else "record ->> 'population'"  # see INDEXES
        conditions, values = [f"{about} = ?"], list[str | int]([population])
        if analyst is not None:
            conditions.append("coalesce(record ->> 'analyst', '') = ?")
            values.append(analyst)
        if stream is not None:
            conditions.append("record ->> 'stream' = ?")
            values.append(stream)
        if kinds:
            conditions.append(f"record ->> 'kind' in ({', '.join('?' * len(kinds))})")
            values += kinds
        if after is not None:
            conditions.append("seq < ?" if newest_first else "seq > ?")
            values.append(after)
        order = "desc" if newest_first else "asc"
        with self.chains.store(population).reading() as transaction:
            transaction.population(population)
            page = f"where {' and '.join(conditions)} order by seq {order} limit {limit}"
            return [entry.record for entry in transaction.some(page, *values)]

    def became(self, entries: Iterable[Record]) -> list[Record]:
        """Return the entries that follow up on others: the ends of charges, recalled answers, decisions on requests."""
        found: dict[tuple[str, int], Record] = {}
        for population, some in groupby(entries, key=lambda one: one["population"]):
            with self.chains.store(population).reading() as transaction:
                for one in some:
                    found.update(((population, end.seq), end.record) for end in _ends(transaction, one))
        return [found[place] for place in sorted(found)]

    def request(self, population: str, analyst: str, key: str) -> Record | None:
        """Return the entry that first used an idempotency key of an analyst."""
        with self.chains.store(population).reading() as transaction:
            return transaction.used(population, analyst, key)

    def tally(self, population: str, analyst: str) -> dict[tuple[str, str | None], int]:
        """Return how many entries of each kind, and with which outcome, an analyst has caused."""
        with self.chains.store(population).reading() as transaction:
            rows = transaction.all(_TALLY, population, analyst)
        return {(kind, outcome): number for kind, outcome, number in rows}

    def burn_down(self, population: str, *, points: int = 400, analyst: str | None = None) -> list[AccountPoint]:
        """Return how the account of a population stood, at no more entries than `points`, from the first to the last.

        With an `analyst`, it is at the opening and at entries that this analyst caused.
        """
        as_int("points", points, least=2, most=MOST)
        with self.chains.store(population).reading() as transaction:
            transaction.population(population)
            numbers = [seq for (seq,) in transaction.all(_CHANGES, population, analyst, analyst)]
            return _points(transaction, _sample(numbers, points))

    def days(self, population: str) -> list[AccountPoint]:
        """Return how the account of a population stood at the end of each day on which something was charged."""
        with self.chains.store(population).reading() as transaction:
            transaction.population(population)
            return _points(transaction, [seq for (seq,) in transaction.all(_DAYS, population)])

    def spent_by(self, population: str) -> dict[str, Account]:
        """Return the account of all that each analyst has caused, as if the whole budget had been theirs."""
        with self._counting, self.chains.store(population).reading() as transaction:
            transaction.population(population)
            account = transaction.account(population)
            fresh = open_account(
                account.budget, segments=account.filters, adjacency=account.adjacency, shares=account.shares
            )
            known = self._shares.get(population)
            if known is None or known.account != fresh or known.seq > transaction.last:
                known = self._shares[population] = _Shares(0, fresh)
            for analyst, line in transaction.caused(population, known.seq):
                if not analyst:  # a cap that was raised, or what was written off
                    continue
                known.accounts[analyst] = charge_anew(known.accounts.get(analyst, fresh), [line]).account
            known.seq = transaction.last
            return dict(known.accounts)

    def bookings(self, population: str, *, at_most: int) -> list[Booking]:
        """Return the lines of the account of a population, from the first on, and no more of them than `at_most`."""
        with self.chains.store(population).reading() as transaction:
            transaction.population(population)
            return list(islice(transaction.lines(population), at_most))

    def head(self) -> Receipt:
        """Return a receipt that covers all entries: keep it elsewhere, and no older copy can pass for this ledger.

        That is the receipt of the last entry about its population, and where there are several, one that seals them.
        """
        return self.chains.seal() if self.is_whole else self.here.head()

    def last_entry(self) -> int:
        """Return how many entries there are: about its population, or about all; cached, as long as nothing changes."""
        return self.chains.size() if self.is_whole else self.store.look().seq

    def receipt(self, seq: int) -> Receipt:
        """Return the receipt of an entry."""
        with self.store.reading() as transaction:
            entry = transaction.entry(seq)
            if entry is None:
                raise ParameterError("seq", seq, reason="is no entry", remedy="name one of this ledger")
            return transaction.receipt_of(entry)

    def require(self, receipt: Receipt) -> None:
        """Refuse to go on with a ledger that is older than `receipt` or has another past.

        A receipt of the directory is held against all chains whose heads it seals.
        """
        self.chains.require(receipt)

    @property
    def is_whole(self) -> bool:
        """Whether it is open at all of its populations, of which there are several."""
        return not (self._population or self.chains.has_one)

    def chosen(self) -> Iterator[Chain]:
        """Yield the chain of its population; without one, the directory, and those of all populations.

        Each is opened when it is its turn: only few keep their connections.
        """
        if not self.is_whole:
            yield self.here
            return
        yield self.chains.directory
        for _, chain in self.chains:
            yield chain

    def numbers(self) -> dict[str, int]:
        """Return all populations with the numbers of their chains."""
        return {name: one.number for name, one in self.chains.founded().items() if one.last}

    def in_chain(self, number: int) -> "Ledger":
        """Return this ledger, open at the population whose chain has this number."""
        return self.of(self.chains.population_of(number))

    def seal(self, *, unless_within: float = 0) -> Receipt:
        """Return a receipt that covers all chains as they are now: keep it elsewhere, and none can be rolled back.

        With `unless_within`, that of the last seal is enough if any host has written it within so many seconds: so
        several hosts that seal every minute do it once.
        """
        return self.chains.seal(unless_within=unless_within)

    def close(self) -> None:
        """Close files and connections."""
        self.chains.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ends(transaction: Transaction, record: Record) -> list[Entry]:
    match record["kind"]:
        case "charge" | "intent":
            end = transaction.settlement(record["seq"])
        case "recall":
            end = transaction.entry(record["recalls"])
        case "request":
            return transaction.some(_DECIDED, record["population"], record["budget_request"])
        case _:
            end = None
    return [end] if end else []


def _sample(numbers: Sequence[int], points: int) -> list[int]:
    """Return at most `points` of the numbers, evenly, with the first and the last."""
    if len(numbers) <= points:
        return list(numbers)
    return [numbers[place * (len(numbers) - 1) // (points - 1)] for place in range(points)]


def _points(transaction: Transaction, numbers: Sequence[int]) -> list[AccountPoint]:
    points, at = [], ""
    for seq in numbers:
        entry = transaction.entry(seq)
        record: Record = entry.record if entry else {}
        if "account" not in record:
            raise ParameterError("seq", seq, reason="is no entry about an account", remedy="check the ledger")
        at = record.get("at", at)  # an entry that settles a question has no time
        points.append(AccountPoint(seq=seq, at=at, account=from_record(Account, record["account"]["after"])))
    return points


def create_ledger(address: str | Path | Database, *, name: str, head: Path | None = None, clock: Clock = now) -> Ledger:
    """Make an empty ledger and open it: in a file that does not exist yet, or in a PostgreSQL database.

    Its `name` identifies it in its receipts: it is random, and drawn by the caller. `head` is where this host keeps the
    receipt of the newest acknowledged entry, for a ledger in PostgreSQL; a file has its own. The clock is for human
    readers; nothing is decided by it.

    >>> import tempfile
    >>> from fractions import Fraction
    >>> from lapwing.vocabulary.guarantee import PrivacyUnit, PureDP
    >>> ledger = create_ledger(Path(tempfile.mkdtemp()) / "ledger.db", name="2f1c")
    >>> receipt = ledger.administration.create_population(
    ...     "clinic", unit=PrivacyUnit(person_key="patient_id"), budget=PureDP(epsilon=Fraction(1))
    ... )
    >>> receipt.ledger, receipt.seq, ledger.populations()
    ('2f1c/1', 1, ['clinic'])
    >>> ledger.close()
    """
    database = _database(address, head)
    if "/" in named("name", name):
        raise ParameterError("name", name, reason="has a slash in it", remedy="leave it out")
    Store(database).create(name, genesis(name))
    return open_ledger(database, clock=clock)


def open_ledger(
    address: str | Path | Database,
    *,
    receipts: Iterable[Receipt] = (),
    head: Path | None = None,
    checkpoints: CheckpointFile | None = None,
    clock: Clock = now,
) -> Ledger:
    """Open a ledger, after it was checked: settings, schema, chain, indexes, and that it is not older than it was.

    Where there are several populations, the chain of each is checked when it is asked for the first time.
    The ledger must contain the entries of `receipts`, and of the receipt in `head`. With `checkpoints`, the entries
    that were checked before are not checked again. All else is as for `create_ledger`.
    """
    ledger = Ledger(Chains(_database(address, head), clock, checkpoints))
    with closing_on_failure(ledger):
        ledger.chains.open()
        for receipt in receipts:
            ledger.require(receipt)
    return ledger


def accept_rollback(address: str | Path | Database, *, head: Path | None = None, by: str = "custodian") -> Receipt:
    """Go on with a ledger that lost entries which were answered from: the custodian's last resort.

    Answers given since then are known to the analysts who got them, and count as spent; the ledger does not know how
    much that was. So the loss is recorded in every chain, and all spending of every population is stopped. Return the
    new end of the directory.
    """
    database = _database(address, head)
    if database.head is None:
        raise ParameterError("head", head, reason="is not kept here", remedy="name the file that refuses the ledger")
    database.head = None
    with Ledger(Chains(database, now, accepts_loss=True)) as ledger:
        ledger.chains.open()
        every = [ledger.chains.directory, *(chain for _, chain in ledger.chains)]
        kept = {one.store.database.number: database.head_of(one.store.database.number) for one in every}
        promised = {number: _promised(one) for number, one in kept.items()}
        for one in every:
            before, end = promised[one.store.database.number], one.head()
            if before is not None and before.ledger != end.ledger:
                require_promised(before, end, found=None)
            one.store.rest()
        ledger.administration.accept_rollback(None, until=promised, by=by)
        for one in every:
            if (file := kept[one.store.database.number]) is not None:
                file.accept(one.head())
                one.store.rest()
        founded = {one.number: one.name for one in ledger.chains.founded().values()}
        for number, file in database.heads_of_chains().items():
            if number in kept:
                continue
            if (name := founded.get(number)) is not None:  # all of it is lost, and its population begins anew
                file.accept(Receipt(ledger=name, seq=0, hash=genesis(name).hex()))
            else:  # with its founding, and it is founded anew; in both cases with spending stopped
                file.path.unlink()
        return ledger.chains.directory.head()


def _promised(kept: HeadFile | None) -> Receipt | None:
    """Return what a head file has promised, if it can be read."""
    try:
        return None if kept is None else kept.promised()
    except LedgerDamagedError:
        return None


def _database(address: str | Path | Database, head: Path | None) -> Database:
    match address:
        case Path():
            return SqliteDatabase(address)
        case str() if address.startswith(("postgresql://", "postgres://")):
            driver = load_extra("lapwing.ledger.postgres", extra="postgres")
            database: Database = driver.PostgresDatabase(address, head=head)
            return database
        case str():
            return SqliteDatabase(Path(address))
        case _:
            return address
