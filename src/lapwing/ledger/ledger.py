"""The ledger: the durable account of everything that was released, and the proof of it.

Open one with `open_ledger`, make one with `create_ledger`. Whatever uses it keeps to one order: charge, commit, touch
data, release. There is no refund: a failure after the charge keeps the charge.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

from lapwing.accounting.filters.account import Account, Booking
from lapwing.ledger import schema
from lapwing.ledger.administration import Administration
from lapwing.ledger.chronicle import Chronicle, now
from lapwing.ledger.entries import Receipt, Record, compare, genesis
from lapwing.ledger.entries import name as named
from lapwing.ledger.head import REMEDY, require
from lapwing.ledger.population import Analyst, PopulationRecord
from lapwing.ledger.questions import Questions, Turns
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.ledger.store import Database, Rows, Store
from lapwing.ledger.streams import Streams
from lapwing.ledger.transaction import Clock, require_known
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError
from lapwing.vocabulary.loading import load_extra


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What one moment of the ledger says about a population and an analyst.

    Parameters
    ----------
    population : what was decided about it: its tables with their versions, and who may spend
    account : what was spent of its budget, and what is left
    allowance : the account of the analyst's own allowance; `None` if only the population's counts
    """

    population: PopulationRecord
    account: Account
    allowance: Account | None

    @property
    def versions(self) -> Mapping[str, int]:
        """The present version of each table."""
        return self.population.tables


class Ledger:
    """An open ledger: what is told was charged before, in one order, whoever writes and whatever crashes.

    Proof: proofs/ledger.md

    Attributes
    ----------
    administration : what the custodian does
    questions : charging and answering one-shot questions
    streams : opening, asking and closing streams
    turns : lets one at a time work on a question
    """

    def __init__(self, store: Store, clock: Clock = now) -> None:
        self.store = store
        self.chronicle = Chronicle(store, clock)
        self.administration = Administration(self.chronicle)
        self.questions = Questions(self.chronicle)
        self.streams = Streams(self.chronicle)
        self.turns = Turns(store.database.gate(), self.questions, self.chronicle)

    def populations(self) -> list[str]:
        """Return the names of all populations."""
        with self.chronicle.reading() as book:
            return book.populations()

    def population(self, name: str) -> PopulationRecord:
        """Return what was decided about a population."""
        with self.chronicle.reading() as book:
            return book.population(name)

    def account(self, population: str) -> Account:
        """Return the account of a population as it stands; its `quote` says what a question would cost, free."""
        with self.chronicle.reading() as book:
            book.population(population)
            return book.account(population)

    def snapshot(self, population: str, analyst: str) -> Snapshot:
        """Return what stands in the ledger about a population and an analyst, all of one moment."""
        with self.chronicle.reading() as book:
            decided = book.population(population)
            limited = decided.analysts.get(analyst, Analyst()).allowance
            return Snapshot(
                population=decided,
                account=book.account(population),
                allowance=book.allowance(population, analyst) if limited else None,
            )

    def analysts(self, population: str) -> frozenset[str]:
        """Return who has ever asked about a population, or was spoken of by its custodian."""
        return frozenset(entry["analyst"] for entry in self.history(population) if "analyst" in entry)

    def history(self, population: str) -> list[Record]:
        """Return what the entries about a population say, from the first on; nothing in them is secret."""
        with self.chronicle.reading() as book:
            book.population(population)
            return [entry.record for entry in book.about(population)]

    def bookings(self, population: str, *, at_most: int) -> list[Booking]:
        """Return the lines of the account of a population, from the first on, and no more of them than `at_most`."""
        with self.chronicle.reading() as book:
            book.population(population)
            return list(islice(book.lines(population), at_most))

    def head(self) -> Receipt:
        """Return the receipt of the last entry: keep it elsewhere, and no older copy can pass for this ledger."""
        with self.chronicle.reading() as book:
            return book.receipt

    def require(self, receipt: Receipt) -> None:
        """Refuse to go on with a ledger that is older than `receipt` or has another past."""
        with self.chronicle.reading() as book:
            entry = book.entry(receipt.seq)
            compare(receipt, ledger=book.ledger, last=book.last, found=entry and entry.hash)

    def close(self) -> None:
        """Let go of files and connections."""
        self.turns.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def create_ledger(address: str | Path | Database, *, name: str, head: Path | None = None, clock: Clock = now) -> Ledger:
    """Make an empty ledger and open it.

    Parameters
    ----------
    address : the path of a file that does not exist yet, or the address of a PostgreSQL database ("postgresql://...")
    name : what tells this ledger from all others, in its receipts: random, and drawn by the caller
    head : where this host keeps the newest entry that was told of, for a ledger in PostgreSQL; a file has its own
    clock : says what time it is, for the eyes of people; nothing is decided by it

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> ledger = create_ledger(Path(tempfile.mkdtemp()) / "ledger.db", name="2f1c")
    >>> receipt = ledger.administration.create_population(
    ...     "clinic", unit=PrivacyUnit(person_key="patient_id"), budget=PureDP(epsilon=Fraction(1))
    ... )
    >>> receipt.ledger, receipt.seq, ledger.populations()
    ('2f1c', 1, ['clinic'])
    >>> ledger.close()
    """
    database = _database(address, head)
    Store(database).create(schema.MIGRATIONS, named("name", name), genesis(name))
    return open_ledger(database, clock=clock)


def open_ledger(
    address: str | Path | Database,
    *,
    receipts: Iterable[Receipt] = (),
    head: Path | None = None,
    clock: Clock = now,
) -> Ledger:
    """Open a ledger, after it was checked: settings, schema, chain, indexes, and that it is not older than it was.

    Parameters
    ----------
    address, head, clock : as for `create_ledger`
    receipts : what it must contain, besides what `head` says

    Raises
    ------
    LedgerDurabilityError, LedgerSchemaError, LedgerDamagedError, LedgerRolledBackError : why it is not opened
    """
    ledger = Ledger(Store(_database(address, head)), clock)
    try:
        _require_head(ledger.store)
        with ThreadPoolExecutor(max_workers=1) as beside:  # each takes about as long, and they need each other's core
            inspected = beside.submit(ledger.store.inspect)
            ledger.head()  # follows the chain from the beginning
            inspected.result()
        _migrate(ledger.store)
        _look_around(ledger)
        for receipt in receipts:
            ledger.require(receipt)
    except BaseException:
        ledger.close()
        raise
    return ledger


def accept_rollback(address: str | Path | Database, *, head: Path | None = None, by: str = "custodian") -> Receipt:
    """Go on with a ledger that lost entries which were answered from: the custodian's last resort.

    What was answered since then is known to those who were told, and counts as spent; how much it was, the ledger does
    not know. So the loss is written down, and all spending of every population is stopped. Return the new end.

    Parameters
    ----------
    address, head : as for `open_ledger`
    by : who accepts the loss
    """
    database = _database(address, head)
    kept, database.head = database.head, None
    if kept is None:
        raise ParameterError("head", head, reason="is not kept here", remedy="name the file that refuses the ledger")
    try:
        promised = kept.promised()
    except LedgerDamagedError:
        promised = None
    with open_ledger(database) as ledger:
        end = ledger.head()
        if promised is not None and promised.ledger != end.ledger:
            require(promised, end, found=None)
        lost = f"those up to {promised.seq}" if promised else "nobody knows how many"
        ledger.administration.note(
            f"entries after {end.seq} are lost, {lost}; what they charged counts as spent", by=by
        )
        for name in ledger.populations():
            ledger.administration.suspend(name, by=by)
        end = ledger.head()
    kept.accept(end)
    return end


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


def _migrate(store: Store) -> None:
    """Bring the tables of an older ledger up to date."""
    latest = len(schema.MIGRATIONS)
    with store.reading() as rows:
        version = _version(rows)
    if version < latest:
        with store.writing("migrate") as rows:
            for step in schema.MIGRATIONS[_version(rows) :]:
                for statement in store.database.statements(step):
                    rows.do(statement)
            rows.do("update ledger set version = ?", latest)


def _version(rows: Rows) -> int:
    row = rows.one("select version from ledger")
    if row is None:
        raise LedgerDamagedError("the row that names the ledger is missing")
    require_known(row[0])
    return int(row[0])


def _require_head(store: Store) -> None:
    """Refuse a ledger without the file that says how far it had come, if it ever had one."""
    with store.reading() as rows:
        version = _version(rows)
    kept = store.database.head
    if version >= schema.WITH_A_HEAD and store.database.keeps_head and kept and kept.promised() is None:
        raise LedgerDamagedError(
            f"{kept.path} is missing, and without it nobody knows how far the ledger had come: copy it with the "
            f"ledger, or {REMEDY}"
        )


def _look_around(ledger: Ledger) -> None:
    """Look up every state once while the indexes are known to be right: whoever finds an older one later is told."""
    with ledger.chronicle.reading() as book:
        for name in book.populations():
            book.account(name)
            for analyst in book.population(name).analysts:
                book.allowance(name, analyst)
