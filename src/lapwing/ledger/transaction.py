"""The entries of a ledger inside one transaction: what the last word on something is, and how a new entry is added.

The current state of anything is found in the last entry that changed it, through an index on the entries themselves.
An index can be damaged like anything else, so it is not believed: when the ledger is opened all indexes are compared
with the entries, what a lookup finds must be what was looked for, and a state that is older than the one this process
knows of is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from lapwing.accounting.filters.account import Account, Booking
from lapwing.ledger import schema
from lapwing.ledger.entries import Entry, Receipt, Record, genesis, link
from lapwing.ledger.population import PopulationRecord
from lapwing.ledger.store import Row, Rows
from lapwing.vocabulary.codec import canonical, from_record, to_record
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerSchemaError, ParameterError

Clock = Callable[[], datetime]
K = TypeVar("K")
S = TypeVar("S")

_PAGE: Final = 2000
_UNSETTLED: Final = """not exists (select 1 from entries as done where done.record ->> 'settles' is not null
    and cast(done.record ->> 'settles' as bigint) = entries.seq)"""
_HEAD: Final = "select name, seq, hash, version from ledger"
_POLICY: Final = "select max(seq) from entries where record ->> 'population' = ? and record ->> 'policy' is not null"
_ACCOUNT: Final = "select max(seq) from entries where record ->> 'population' = ? and record ->> 'account' is not null"
_ALLOWANCE: Final = """select max(seq) from entries
    where record ->> 'population' = ? and record ->> 'analyst' = ? and record ->> 'allowance' is not null"""
_REQUEST: Final = """select seq from entries
    where record ->> 'population' = ? and record ->> 'analyst' = ? and record ->> 'request' = ? limit 1"""
_RECALL: Final = "select max(seq) from entries where record ->> 'recall' = ?"
_STATES: Final = frozenset({_POLICY, _ACCOUNT, _ALLOWANCE})
_GLANCE: Final = " ".join(  # all of them, and the end of the chain, at one moment
    (
        "select name, seq, hash, version",
        *(f", ({one})" for one in (_POLICY, _ACCOUNT, _ALLOWANCE, _REQUEST, _RECALL)),
        "from ledger",
    )
)


@dataclass(slots=True)
class StateCache:
    """States that were read before, each with the number of its entry, so that they need not be decoded again.

    `latest` has, for each lookup of a state, the number of the last entry that is known to change it.
    """

    accounts: dict[tuple[str, str | None], tuple[int, Account]] = field(default_factory=dict)
    populations: dict[str, tuple[int, PopulationRecord]] = field(default_factory=dict)
    latest: dict[tuple[str, tuple[str, ...]], int] = field(default_factory=dict)

    def learn(self, news: "StateCache") -> None:
        """Take over what is newer; a slower thread may bring older news."""
        _take_newer(self.accounts, news.accounts)
        _take_newer(self.populations, news.populations)
        for lookup, seq in news.latest.items():
            self.latest[lookup] = max(seq, self.latest.get(lookup, 0))

    def heed(self, seq: int, record: Record) -> None:
        """Note which states an entry changes."""
        population, analyst = record.get("population", ""), record.get("analyst", "")
        for column, lookup in (
            ("policy", (_POLICY, (population,))),
            ("account", (_ACCOUNT, (population,))),
            ("allowance", (_ALLOWANCE, (population, analyst))),
        ):
            if column in record:
                self.latest[lookup] = seq


def _take_newer(kept: dict[K, tuple[int, S]], news: dict[K, tuple[int, S]]) -> None:
    for name, (seq, state) in news.items():
        if name not in kept or kept[name][0] < seq:
            kept[name] = (seq, state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefetch:
    """What a request will want to know, so that it can be looked up in one go with the end of the chain."""

    population: str
    analyst: str
    key: str
    recall: str

    @property
    def lookups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The lookups of `_GLANCE` in their order, each with its values."""
        return (
            (_POLICY, (self.population,)),
            (_ACCOUNT, (self.population,)),
            (_ALLOWANCE, (self.population, self.analyst)),
            (_REQUEST, (self.population, self.analyst, self.key)),
            (_RECALL, (self.recall,)),
        )


class Transaction:
    """The entries as they stand in one transaction.

    Parameters
    ----------
    rows : the transaction
    memory : what was decoded before; what this transaction adds goes to `news`, to be remembered once it is committed
    clock : says what time it is, for the eyes of people; nothing is decided by it
    glance : what to look up beforehand
    """

    def __init__(self, rows: Rows, memory: StateCache, clock: Clock, glance: Prefetch | None = None) -> None:
        self.rows, self._memory, self._clock = rows, memory, clock
        self.news = StateCache()
        lookups = glance.lookups if glance else ()
        row = rows.one(_GLANCE if glance else _HEAD, *(value for _, values in lookups for value in values))
        if row is None:
            raise LedgerDamagedError("the row that names the ledger is missing")
        name, seq, hash_, version, *found = row
        require_known(version)
        self.ledger, self._end = str(name), _entry((seq, "", hash_))
        self._found: dict[tuple[str, tuple[str, ...]], int | None] = dict(zip(lookups, found, strict=True))

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self._end.seq

    @property
    def head(self) -> bytes:
        """The hash of the last entry."""
        return self._end.hash

    @property
    def receipt(self) -> Receipt:
        """The receipt of the last entry."""
        return self.receipt_of(self._end)

    def receipt_of(self, entry: Entry) -> Receipt:
        """Return the receipt of `entry`."""
        return Receipt(ledger=self.ledger, seq=entry.seq, hash=entry.hash.hex())

    def append(self, kind: str, **fields: Any) -> Entry:
        """Add an entry at the end of the chain.

        One that `settles` a question carries no time, whether it was answered, lost, or closed its stream: how long
        that took may depend on the data, and hashes go to analysts.
        """
        seq = self._end.seq + 1
        record: dict[str, Any] = {"kind": kind, "seq": seq, **fields}
        if "settles" not in fields:
            record["at"] = self._clock().astimezone(UTC).isoformat(timespec="seconds")
        body = canonical(record)
        entry = Entry(seq, body, link(self._end.hash, body))
        self.rows.append(entry, self._end)
        self._end, self._found = entry, {}
        self.news.heed(seq, record)
        return entry

    def remember(self, population: str, analyst: str | None, account: Account) -> None:
        """Keep the state that the entry just appended holds."""
        self.news.accounts[population, analyst] = (self.last, account)

    def entry(self, seq: int) -> Entry | None:
        """Return entry `seq`."""
        return self._first("where seq = ?", seq)

    def hash_of(self, seq: int) -> bytes | None:
        """Return the hash of entry `seq`, if there is one."""
        if seq in {0, self.last}:
            return self.head if seq else genesis(self.ledger)
        entry = self.entry(seq) if seq < self.last else None
        return entry and entry.hash

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield all entries from number `after` + 1 on in their order, a page at a time."""
        while page := self._all(f"where seq > ? order by seq limit {_PAGE}", after):
            yield from page
            after = page[-1].seq

    def about(self, population: str) -> list[Entry]:
        """Return all entries about a population, in their order."""
        return self._all("where record ->> 'population' = ? order by seq", population)

    def populations(self) -> list[str]:
        """Return the names of all populations."""
        rows = self.rows.all("select record ->> 'population' from entries where record ->> 'kind' = 'population'")
        return sorted(name for (name,) in rows)

    def population(self, name: str) -> PopulationRecord:
        """Return a population as the last decision about it left it."""
        seq = self._seq(_POLICY, name)
        if seq is None:
            known = ", ".join(self.populations()) or "none"
            raise ParameterError("population", name, reason="is not in this ledger", remedy=f"these are: {known}")
        last, population = self.news.populations.get(name) or self._memory.populations.get(name) or (0, None)
        if population is None or last != seq:
            population = from_record(PopulationRecord, _said(self._must(seq), population=name)["policy"])
        self.news.populations[name] = (seq, population)
        return population

    def account(self, population: str) -> Account:
        """Return the account of a population as the last charge left it."""
        seq = self._seq(_ACCOUNT, population)
        if seq is None:
            raise LedgerDamagedError(f"the account of population {population!r} is missing")
        return self._state((population, None), seq, "account")

    def allowance(self, population: str, analyst: str) -> Account | None:
        """Return the account of an analyst's own allowance; `None` if there was never one."""
        seq = self._seq(_ALLOWANCE, population, analyst)
        return None if seq is None else self._state((population, analyst), seq, "allowance")

    def request(self, population: str, analyst: str, key: str) -> Entry | None:
        """Return the entry that first used an idempotency key."""
        seq = self._seq(_REQUEST, population, analyst, key)
        if seq is None:
            return None
        entry = self._must(seq)
        _said(entry, population=population, analyst=analyst, request=key)
        return entry

    def recall(self, recall: str, versions: Mapping[str, int]) -> Entry | None:
        """Return the first answer that was stored under a recall digest for these data versions."""
        if self._seq(_RECALL, recall) is None:
            return None
        answers = self._all("where record ->> 'recall' = ? order by seq", recall)
        return next((answer for answer in answers if _said(answer, recall=recall)["versions"] == versions), None)

    def settlement(self, seq: int) -> Entry | None:
        """Return the entry that settles the charge or intent `seq`."""
        found = self._first("where cast(record ->> 'settles' as bigint) = ? and record ->> 'settles' is not null", seq)
        if found is not None:
            _said(found, settles=seq)
        return found

    def stream(self, stream: str) -> tuple[Entry, Entry] | None:
        """Return the first and the last entry of a stream."""
        first = self._first("where record ->> 'stream' = ? order by seq", stream)
        last = self._first("where record ->> 'stream' = ? order by seq desc", stream)
        if first is None or last is None:
            return None
        _said(first, stream=stream, kind="opening")
        _said(last, stream=stream)
        return first, last

    def streams(self, population: str) -> list[str]:
        """Return the names of all streams of a population, in the order of their opening."""
        rows = self.rows.all(
            """select record ->> 'stream' from entries where record ->> 'stream' is not null
               and record ->> 'kind' = 'opening' and record ->> 'population' = ? order by seq""",
            population,
        )
        return [name for (name,) in rows]

    def question(self, stream: str, number: int) -> Entry | None:
        """Return the intent of a question of a stream."""
        found = self._first(
            """where record ->> 'kind' = 'intent' and record ->> 'stream' = ?
               and cast(record ->> 'number' as bigint) = ?""",
            stream,
            number,
        )
        if found is not None:
            _said(found, kind="intent", stream=stream, number=number)
        return found

    def unsettled_charges(self) -> list[Entry]:
        """Return every charge of a question that nothing settles yet; this reads the whole ledger."""
        return self._all(f"where record ->> 'kind' = 'charge' and {_UNSETTLED} order by seq")

    def unsettled_intents(self) -> list[Entry]:
        """Return every intent of a stream that nothing settles yet."""
        return self._all(f"where record ->> 'kind' = 'intent' and {_UNSETTLED} order by seq")

    def lines(self, population: str, analyst: str | None = None) -> Iterator[Booking]:
        """Yield every line of the account of a population, or those that one analyst caused, in their order."""
        after = 0
        changes = "where record ->> 'population' = ? and record ->> 'account' is not null"
        while page := self._all(f"{changes} and seq > ? order by seq limit {_PAGE}", population, after):
            for record in (entry.record for entry in page):
                if analyst in {None, record.get("analyst")}:
                    yield from from_record(tuple[Booking, ...], record["account"]["lines"])
            after = page[-1].seq

    def _state(self, whose: tuple[str, str | None], seq: int, column: str) -> Account:
        last, account = self.news.accounts.get(whose) or self._memory.accounts.get(whose) or (0, None)
        if account is None or last != seq:
            names = {"population": whose[0]} | ({"analyst": whose[1]} if whose[1] else {})
            account = from_record(Account, _said(self._must(seq), **names)[column]["after"])
        self.news.accounts[whose] = (seq, account)
        return account

    def _seq(self, lookup: str, *values: str) -> int | None:
        """Return the number that a lookup finds, now or at a glance before, unless a later one is known of."""
        asked = (lookup, values)
        seq = self._found[asked] if asked in self._found else (self.rows.one(lookup, *values) or [None])[0]
        known = max(self.news.latest.get(asked, 0), self._memory.latest.get(asked, 0))
        if (seq or 0) < known <= self.last:  # another thread may know of more than this moment has
            raise LedgerDamagedError("is not found any more: an index of the database is damaged", seq=known)
        if seq and lookup in _STATES:
            self.news.latest[asked] = seq
        return seq

    def _must(self, seq: int) -> Entry:
        entry = self.entry(seq)
        if entry is None:
            raise LedgerDamagedError("is missing", seq=seq)
        return entry

    def _all(self, condition: str, *values: str | int) -> list[Entry]:
        rows = self.rows.all(f"select seq, body, hash from entries {condition}", *values)  # noqa: S608 - our own words
        return [_entry(row) for row in rows]

    def _first(self, condition: str, *values: str | int) -> Entry | None:
        return next(iter(self._all(f"{condition} limit 1", *values)), None)


def require_known(version: object) -> None:
    """Refuse to go on with a ledger that a newer lapwing has brought forward, be it while this one runs."""
    if not isinstance(version, int) or version < 1:
        raise LedgerDamagedError(f"the version of its tables, {version!r}, is none")
    if version > len(schema.MIGRATIONS):
        raise LedgerSchemaError(
            f"the ledger was written by a newer lapwing (schema {version}, this one knows {len(schema.MIGRATIONS)}); "
            "update lapwing"
        )


def _entry(row: Row) -> Entry:
    """Return a row as an entry, if it can be one."""
    match row:
        case (int() as seq, str() as body, bytes() | memoryview() as hash_):
            return Entry(seq, body, bytes(hash_))
        case _:
            raise LedgerDamagedError("is no entry", seq=row[0] if isinstance(row[0], int) else 0)


def _said(entry: Entry, **said: object) -> dict[str, Any]:
    """Return what an entry says, if it is about what was looked for."""
    record = entry.record
    if any(record.get(name) != value for name, value in said.items()):
        raise LedgerDamagedError("is not what was looked for: an index of the database is damaged", seq=entry.seq)
    return record


def state(lines: Iterable[Booking], after: Account) -> Record:
    """Return what an entry says about an account: the lines that were added to its book, and the account after them."""
    return {"lines": to_record(list(lines)), "after": to_record(after)}
