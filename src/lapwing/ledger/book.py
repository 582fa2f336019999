"""The entries of a ledger inside one transaction: what the last word on something is, and how a new entry is added.

The current state of anything is found in the last entry that changed it, through an index on the entries themselves;
there is no second copy that could disagree with the chain.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from lapwing.accounting.filters.account import Account, Booking
from lapwing.accounting.filters.record import from_record, to_record
from lapwing.ledger.canonical import Record, canonical
from lapwing.ledger.chain import Entry, Receipt, link
from lapwing.ledger.population import Population
from lapwing.ledger.store import Rows
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError

Clock = Callable[[], datetime]
K = TypeVar("K")
S = TypeVar("S")

SETTLING: Final = frozenset({"answer", "lost", "outcome"})
"""Kinds of entries that carry no time: how long an answer took may depend on the data, and hashes go to analysts."""

_PAGE: Final = 2000


@dataclass(slots=True)
class Memory:
    """States that were read before, each with the number of its entry, so that they need not be decoded again."""

    accounts: dict[tuple[str, str | None], tuple[int, Account]] = field(default_factory=dict)
    populations: dict[str, tuple[int, Population]] = field(default_factory=dict)

    def learn(self, news: "Memory") -> None:
        """Take over what is newer; a slower thread may bring older news."""
        _take_newer(self.accounts, news.accounts)
        _take_newer(self.populations, news.populations)


def _take_newer(kept: dict[K, tuple[int, S]], news: dict[K, tuple[int, S]]) -> None:
    for name, (seq, state) in news.items():
        if name not in kept or kept[name][0] < seq:
            kept[name] = (seq, state)


class Book:
    """The entries as they stand in one transaction.

    Parameters
    ----------
    rows : the transaction
    memory : what was decoded before; what this transaction adds goes to `news`, to be remembered once it is committed
    clock : says what time it is, for the eyes of people; nothing is decided by it
    """

    def __init__(self, rows: Rows, memory: Memory, clock: Clock) -> None:
        self.rows, self._memory, self._clock = rows, memory, clock
        self.news = Memory()
        row = rows.one("select name, seq, hash from ledger")
        if row is None:
            raise LedgerDamagedError("the row that names the ledger is missing")
        self.ledger, self.last, self.head = str(row[0]), int(row[1]), bytes(row[2])

    @property
    def receipt(self) -> Receipt:
        """The receipt of the last entry."""
        return Receipt(ledger=self.ledger, seq=self.last, hash=self.head.hex())

    def append(self, kind: str, **fields: Any) -> Entry:
        """Add an entry at the end of the chain."""
        record: dict[str, Any] = {"kind": kind, "seq": self.last + 1, **fields}
        if kind not in SETTLING:
            record["at"] = self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = canonical(record)
        entry = Entry(self.last + 1, body, link(self.head, body))
        self.rows.do("insert into entries (seq, body, hash) values (?, ?, ?)", *entry)
        self.rows.do("update ledger set seq = ?, hash = ?", entry.seq, entry.hash)
        self.last, self.head = entry.seq, entry.hash
        return entry

    def receipt_of(self, entry: Entry) -> Receipt:
        """Return the receipt of `entry`."""
        return Receipt(ledger=self.ledger, seq=entry.seq, hash=entry.hash.hex())

    def entry(self, seq: int) -> Entry | None:
        """Return entry `seq`."""
        return self._first("where seq = ?", seq)

    def entries(self) -> Iterator[Entry]:
        """Yield all entries in their order, a page at a time."""
        after = 0
        while page := self.rows.all(
            f"select seq, body, hash from entries where seq > ? order by seq limit {_PAGE}",  # noqa: S608 - a constant
            after,
        ):
            for seq, body, hash_ in page:
                yield Entry(seq, body, bytes(hash_))
            after = page[-1][0]

    def populations(self) -> list[str]:
        """Return the names of all populations."""
        rows = self.rows.all("select record ->> 'population' from entries where record ->> 'kind' = 'population'")
        return sorted(name for (name,) in rows)

    def population(self, name: str) -> Population:
        """Return a population as the last decision about it left it."""
        entry = self._last("record ->> 'population' = ? and record ->> 'policy' is not null", name)
        if entry is None:
            known = ", ".join(self.populations()) or "none"
            raise ParameterError("population", name, reason="is not in this ledger", remedy=f"these are: {known}")
        seq, population = self.news.populations.get(name) or self._memory.populations.get(name) or (0, None)
        if population is None or seq != entry:
            population = Population.from_record(name, self._must(entry).record["policy"])
        self.news.populations[name] = (entry, population)
        return population

    def account(self, population: str) -> Account:
        """Return the account of a population as the last charge left it."""
        entry = self._last("record ->> 'population' = ? and record ->> 'account' is not null", population)
        if entry is None:
            raise LedgerDamagedError(f"the account of population {population!r} is missing")
        return self._state((population, None), entry, "account")

    def allowance(self, population: str, analyst: str) -> Account | None:
        """Return the account of an analyst's own allowance; `None` if there was never one."""
        entry = self._last(
            "record ->> 'population' = ? and record ->> 'analyst' = ? and record ->> 'allowance' is not null",
            population,
            analyst,
        )
        return None if entry is None else self._state((population, analyst), entry, "allowance")

    def remember(self, population: str, analyst: str | None, account: Account) -> None:
        """Keep the state that the entry just appended holds."""
        self.news.accounts[population, analyst] = (self.last, account)

    def request(self, population: str, analyst: str, key: str) -> Entry | None:
        """Return the entry that first used an idempotency key."""
        return self._first(
            "where record ->> 'population' = ? and record ->> 'analyst' = ? and record ->> 'request' = ?",
            population,
            analyst,
            key,
        )

    def recall(self, recall: str) -> Entry | None:
        """Return the first answer that was stored under a recall digest."""
        return self._first("where record ->> 'recall' = ? order by seq", recall)

    def settlement(self, seq: int) -> Entry | None:
        """Return the entry that settles the charge or intent `seq`."""
        return self._first("where cast(record ->> 'settles' as bigint) = ? and record ->> 'settles' is not null", seq)

    def stream(self, stream: str) -> tuple[Entry, Entry] | None:
        """Return the first and the last entry of a stream."""
        first = self._first("where record ->> 'stream' = ? order by seq", stream)
        last = self._first("where record ->> 'stream' = ? order by seq desc", stream)
        return None if first is None or last is None else (first, last)

    def question(self, stream: str, number: int) -> Entry | None:
        """Return the intent of a question of a stream."""
        return self._first(
            """where record ->> 'kind' = 'intent' and record ->> 'stream' = ?
               and cast(record ->> 'number' as bigint) = ?""",
            stream,
            number,
        )

    def unsettled(self) -> list[Entry]:
        """Return every charge and intent that nothing settles yet."""
        rows = self.rows.all(
            """select seq, body, hash from entries as open where record ->> 'kind' in ('charge', 'intent')
               and not exists (select 1 from entries as done where done.record ->> 'settles' is not null
                               and cast(done.record ->> 'settles' as bigint) = open.seq) order by seq"""
        )
        return [Entry(seq, body, bytes(hash_)) for seq, body, hash_ in rows]

    def lines(self, population: str, analyst: str | None = None) -> Iterator[Booking]:
        """Yield every line of the account of a population, or those that one analyst caused, in their order."""
        after = 0
        while page := self.rows.all(
            f"""select seq, body from entries where record ->> 'population' = ? and record ->> 'account' is not null
                and seq > ? order by seq limit {_PAGE}""",  # noqa: S608 - a constant
            population,
            after,
        ):
            for seq, body in page:
                record = Entry(seq, body, b"").record
                if analyst in {None, record.get("analyst")}:
                    yield from map(from_record, record["account"]["lines"])
            after = page[-1][0]

    def _state(self, whose: tuple[str, str | None], seq: int, column: str) -> Account:
        last, account = self.news.accounts.get(whose) or self._memory.accounts.get(whose) or (0, None)
        if account is None or last != seq:
            account = from_record(self._must(seq).record[column]["after"])
        self.news.accounts[whose] = (seq, account)
        return account

    def _last(self, condition: str, *values: str) -> int | None:
        row = self.rows.one(f"select max(seq) from entries where {condition}", *values)  # noqa: S608 - our own words
        return None if row is None or row[0] is None else int(row[0])

    def _must(self, seq: int) -> Entry:
        entry = self.entry(seq)
        if entry is None:
            raise LedgerDamagedError("is missing", seq=seq)
        return entry

    def _first(self, condition: str, *values: str | int) -> Entry | None:
        row = self.rows.one(f"select seq, body, hash from entries {condition} limit 1", *values)  # noqa: S608 - our own
        return None if row is None else Entry(row[0], row[1], bytes(row[2]))


def state(lines: Iterable[Booking], after: Account) -> Record:
    """Return what an entry says about an account: the lines that were added to its book, and the account after them."""
    return {"lines": [to_record(line) for line in lines], "after": to_record(after)}
