"""The entries of a ledger inside one transaction: the current state of anything, and how a new entry is added.

The current state of anything is found in the last entry that changed it, through an index on the entries themselves.
An index can be damaged like anything else, so it is not believed: when the ledger is opened all indexes are compared
with the entries, what a lookup finds must be what was looked for, and a state that is older than the one this process
knows of is refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from lapwing.accounting.filters.account import Account, Booking
from lapwing.ledger.database import NOTHING_EXPECTED, ConflictError, Connection, Database, Row, Statement, Value
from lapwing.ledger.entries import (
    STATES,
    Asked,
    Entry,
    Lookup,
    Lookups,
    Receipt,
    Record,
    check_chain,
    found_by,
    genesis,
    head_statement,
    keys_statements,
    link,
    read_entry,
    require_format,
)
from lapwing.ledger.key_digests import KeyDigests
from lapwing.ledger.reservation_states import ReservationRecord
from lapwing.ledger.states import AccountChanges, PopulationRecord, StateCache
from lapwing.vocabulary.codec import canonical, from_record, to_record
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerError, ParameterError, RequestConflictError

Clock = Callable[[], datetime]
Append: TypeAlias = Callable[..., bool]
"""Appends entries after another one, if lookups find what is `expected`; returns whether it did."""
K = TypeVar("K")

_BELONGS: Final = "belongs to population"
_PAGE: Final = 2000
_VALUES: Final = 3000
"""Values of one statement."""
_FOLLOWING: Final = f"select seq, body, hash from entries where seq > ? order by seq limit {_PAGE}"  # noqa: S608
_UNSETTLED: Final = """not exists (select 1 from entries as done where done.record ->> 'settles' is not null
    and cast(done.record ->> 'settles' as bigint) = entries.seq)"""
_RECALLS: Final = """select digest, seq, place from recalls where digest in ({0})
    union all select record ->> 'recall', seq, -1 from entries where record ->> 'recall' in ({0}) order by 2"""


_DECIDED: Final = frozenset({"policy", "charge", "write-off", "recall", "request", "refusal", "opening", "intent"})
"""The kinds of entries that begin or decide something: none of them comes after a population has moved."""


def _nothing() -> None: ...


class Recalled(NamedTuple):
    """An earlier answer: its entry, the content of the entry, and its place there if the entry holds many."""

    entry: Entry
    record: Record
    place: int | None


class Known(NamedTuple):
    """The lower bounds on the end of the chain: the last entry that this process saw, and the last acknowledged."""

    seen: Receipt | None
    promised: Receipt | None


class Transaction:
    """The entries as they stand in one transaction. Statements have `?` for values.

    What was decoded before is in `cache`; what this transaction adds goes to `news`, to be kept once it is committed.
    `lookups` are fetched with the end of the chain, at one moment; `whole` returns when all of the ledger was checked.
    Entries wait until `flush` writes them all, in one go; reads in between see them. `append` adds them
    where there is no lock: they are durable then, and nothing else may be written. `at_once` is for reading outside any
    transaction of the database: the first statement is the only one, and a second one is a `ConflictError`. The
    statements of `begin` begin a transaction of the database; they are sent together with the first that read, and with
    `news` what others have written is fetched with them. `as_known` reads nothing at all: the chain ends where this
    process knows it to end, states are as it has followed them, and keys are new. `append` adds nothing if that is
    wrong; to read is a `ConflictError`, and until entries were appended nothing that was concluded may be believed.
    """

    def __init__(
        self,
        connection: Connection,
        database: Database,
        *,
        cache: StateCache,
        clock: Clock,
        known: Known,
        lookups: Lookups = (),
        append: Append | None = None,
        at_once: bool = False,
        as_known: bool = False,
        begin: Sequence[str] = (),
        news: bool = False,
        whole: Callable[[], None] = _nothing,
    ) -> None:
        self._whole = whole
        self._connection, self._database, self._cache, self._clock = connection, database, cache, clock
        self.known, self._append, self._is_done = known, append, False
        self.news = StateCache()
        self.secrets: dict[str, dict[int, bytes]] = {}  # those of reservations that were looked at, as they are now
        self._added: dict[int, Record] = {}
        self._followed: dict[int, Entry] = {}
        self._hashes: dict[int, bytes] = {}  # that of the last entry which this process has seen, once it was fetched
        self._next: tuple[int, list[Entry]] | None = None  # the entries after a number, once they were fetched
        self._found: dict[Asked, int | None] = {}
        self._expected: dict[Asked, int] | None = None  # what lookups must find that were not made
        if as_known and known.seen is not None:
            self._is_done, self._expected = True, {}
            self.ledger, self._end = known.seen.ledger, Entry(known.seen.seq, "", bytes.fromhex(known.seen.hash))
        else:
            self.ledger, self._end = self._begin(lookups, begin, news=news)
            self._is_done = at_once
        self._written, self._waiting = self._end, list[Entry]()
        self.writes = 0  # the number of writes: an error before the first leaves nothing to undo

    def _begin(self, lookups: Lookups, begin: Sequence[str], *, news: bool) -> tuple[str, Entry]:
        """Make lookups and return the name of the ledger and the end of the chain, all as of one moment."""
        wanted, values = zip(*lookups, strict=True) if lookups else ((), ())
        head: Statement = head_statement(wanted), [*chain.from_iterable(values)]
        row = self._begun(begin, head, news=news) if begin or news else self._read(head[0], *head[1])
        if not row:
            raise LedgerDamagedError("the row that names the ledger is missing")
        name, seq, hash_, version, *numbers = row[0]
        require_format(version)
        self._found.update(zip(lookups, numbers, strict=True))
        return str(name), read_entry((seq, "", hash_))

    def _begun(self, begin: Sequence[str], head: Statement, *, news: bool) -> list[Row]:
        """Begin a transaction of the database; return its head, and keep the news for whoever follows the chain."""
        statements: list[Statement] = [*((statement, ()) for statement in begin), head]
        if not news or self.known.seen is None:
            return self._database.together(self._connection, statements)[-1]
        seen = self.known.seen.seq
        *_, row, fetched = self._database.together(self._connection, [*statements, (_FOLLOWING, (seen - 1,))])
        first, *following = map(read_entry, fetched) if fetched else [Entry(0, "", b"")]
        if first.seq == seen and len(fetched) < _PAGE:
            self._next = seen, following
            self._hashes[seen] = first.hash
        return row

    def look_up(self, lookups: Lookups) -> None:
        """Fetch lookups in advance, if that saves round trips to a server; nothing may have been appended yet."""
        missing = [asked for asked in dict.fromkeys(lookups) if asked not in self._found]
        if missing and not self._is_done:
            self._found.update(self._database.look_up(self._connection, missing))

    def all(self, statement: str, *values: Value) -> list[Row]:
        """Return every row."""
        if self._waiting:
            if self._append:  # what was appended is durable as soon as it is written, and then there is no way back
                raise ConflictError
            self.flush()
        return self._read(statement, *values)

    def one(self, statement: str, *values: Value) -> Row | None:
        """Return the first row, if there is one."""
        return next(iter(self.all(statement, *values)), None)

    def do(self, statement: str, *values: Value) -> None:
        """Run a statement that writes anything other than entries."""
        if self._append:
            raise LedgerError(f"an optimistic change may append an entry; for {statement!r} it needs a transaction")
        self.writes += 1
        self._connection.execute(self._database.phrase(statement), values)

    def flush(self, append: Append | None = None) -> None:
        """Write the entries that wait; it is a `ConflictError` if the chain does not end where it did.

        `append` writes the last entries and commits.
        """
        if self._waiting:
            entries, self._waiting = self._waiting, []
            append = append or self._append or partial(self._database.append, self._connection)
            if not append(entries, self._written, expected=self._expected or NOTHING_EXPECTED):
                raise ConflictError
            self._written = self._end
        elif self._expected is not None:  # nothing has checked what was believed
            raise ConflictError

    def _read(self, statement: str, *values: Value) -> list[Row]:
        """Return the rows of a statement, without the entries that wait: callers flush them, or add them themselves."""
        if self._is_done:  # another statement would see another moment
            raise ConflictError
        rows: list[Row] = self._connection.execute(self._database.phrase(statement), values).fetchall()
        return rows

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
        that took may depend on the data, and hashes go to analysts. Nothing begins or is decided after a move.
        """
        if kind in _DECIDED and fields.get("change") != "arrival":
            known = self.population(fields["population"])
            if known.moved_to is not None:
                raise known.moved()
        seq = self._end.seq + 1
        record: dict[str, Any] = {"kind": kind, "seq": seq, **fields}
        if "settles" not in fields:
            record["at"] = self._clock().astimezone(UTC).isoformat(timespec="seconds")
        body = canonical(record)
        entry = self._end = Entry(seq, body, link(self._end.hash, body))
        self._waiting.append(entry)
        self._added[seq] = record
        self.writes += 1
        finding = found_by(record)
        self._found.update(dict.fromkeys(finding, seq))
        self.news.heed(entry, record, finding)
        if "stream" in fields:
            self._remember_reservation(record)
        return entry

    def _remember_reservation(self, record: Record) -> None:
        _, known = self.news.reservations.get(record["stream"], (0, None))
        if known is not None or record["kind"] == "opening":
            after = ReservationRecord.read(record, record) if known is None else known.after(record)
            self.news.reservations[after.name] = (record["seq"], after)

    def accounts(self, population: PopulationRecord, analyst: str) -> AccountChanges:
        """Return the accounts that an act of an analyst may change."""
        limited = population.analyst(analyst).allowance
        own = self.allowance(population.name, analyst) if limited else None
        if limited and own is None:
            raise LedgerDamagedError(f"the account of the allowance of {analyst!r} is missing")
        return AccountChanges(population, analyst, self.account(population.name), own)

    def append_changes(self, kind: str, changes: AccountChanges, **fields: Any) -> Entry:
        """Write the entry of an act, with the lines it adds to each account and the account after them."""
        population, analyst, changed = changes.population.name, changes.analyst, changes.changed()
        states = {one.column: state(one.lines, one.account) for one in changed}
        caused = {"analyst": analyst} if analyst else {}
        entry = self.append(kind, population=population, **caused, **fields, **states)
        for one in changed:
            self.remember(population, one.holder, one.account)
        return entry

    def remember(self, population: str, analyst: str | None, account: Account) -> None:
        """Keep the state that the entry just appended holds."""
        self.news.accounts[population, analyst] = (self._end.seq, account)

    def said(self, entry: Entry) -> Record:
        """Return the record of an entry; that of one which this transaction has added is not parsed again."""
        return self._added.get(entry.seq) or entry.record

    def entry(self, seq: int) -> Entry | None:
        """Return entry `seq`."""
        if seq > self._written.seq:
            return self._waiting[seq - self._written.seq - 1] if seq <= self.last else None
        rows = self._read("select seq, body, hash from entries where seq = ?", seq)
        return read_entry(rows[0]) if rows else None

    def hash_of(self, seq: int) -> bytes | None:
        """Return the hash of entry `seq`, if there is one."""
        if seq in {0, self._end.seq}:
            return self._end.hash if seq else genesis(self.ledger)
        if seq > self._written.seq:
            return self._waiting[seq - self._written.seq - 1].hash if seq < self._end.seq else None
        if seq in self._hashes:
            return self._hashes[seq]
        if self._expected is not None and seq in self._cache.hashes:  # the end that it was followed to fixes it
            return self._cache.hashes[seq]
        rows = self._read("select hash from entries where seq = ?", seq)
        return bytes(rows[0][0]) if rows else None

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield all entries from number `after` + 1 on in their order, a page at a time."""
        page = self._page(after)
        while page:
            yield from page
            page = self._page(page[-1].seq) if len(page) == _PAGE else []

    def _page(self, after: int) -> list[Entry]:
        """Return the entries that follow on a number: those that were fetched at the beginning, once."""
        fetched, self._next = self._next, None
        if fetched is not None and fetched[0] == after and not self.writes:
            return fetched[1]
        return [read_entry(row) for row in self.all(_FOLLOWING, after)]

    def about(self, population: str) -> list[Entry]:
        """Return all entries about a population, in their order."""
        return self.some("where coalesce(record ->> 'population', '') = ? order by seq", population)

    def populations(self) -> list[str]:
        """Return the names of all populations."""
        rows = self.all("select record ->> 'population' from entries where record ->> 'kind' = 'population'")
        found = {name for (name,) in rows}
        for (lookup, values), seq in self._cache.latest.items():
            if lookup is Lookup.POLICY and seq <= self.last and values[0] not in found:
                raise LedgerDamagedError(f"{_BELONGS} {values[0]!r}, which an index does not find", seq=seq)
        if self._cache.known and (missing := self._cache.known.unlisted(Lookup.POLICY, found)):
            raise LedgerDamagedError("belongs to a population which an index does not find", seq=missing)
        return sorted(found)

    def founding(self, population: str) -> Record | None:
        """Return the entry of the directory that founded a population; `None` if it was never founded."""
        seq = self._seq(Lookup.CHAIN, population)
        if seq is None:
            return None
        return self._added.get(seq) or _require_found(self.must(seq), kind="founding", founds=population)

    def population(self, name: str) -> PopulationRecord:
        """Return a population as the last decision about it left it."""
        seq = self._seq(Lookup.POLICY, name)
        if seq is None:
            known = ", ".join(self.populations()) or "none"
            raise ParameterError("population", name, reason="is not in this ledger", remedy=f"these are: {known}")
        last, population = self.news.populations.get(name) or self._cache.populations.get(name) or (0, None)
        if population is None or last != seq:
            population = from_record(PopulationRecord, _require_found(self._kept(seq), population=name)["policy"])
        self.news.populations[name] = (seq, population)
        return population

    def account(self, population: str) -> Account:
        """Return the account of a population as the last charge left it."""
        seq = self._seq(Lookup.ACCOUNT, population)
        if seq is None:
            raise LedgerDamagedError(f"the account of population {population!r} is missing")
        return self._state((population, None), seq, "account")

    def allowance(self, population: str, analyst: str) -> Account | None:
        """Return the account of an analyst's own allowance; `None` if there was never one."""
        seq = self._seq(Lookup.ALLOWANCE, population, analyst)
        return None if seq is None else self._state((population, analyst), seq, "allowance")

    def request(self, population: str, analyst: str, *, request: str, digest: str) -> dict[str, Any] | None:
        """Return the entry that first used an idempotency key; refuse a key of another request."""
        record = self.used(population, analyst, request)
        if record is not None and record["digest"] != digest:
            raise RequestConflictError(request, seq=record["seq"])
        return record

    def used(self, population: str, analyst: str, request: str) -> dict[str, Any] | None:
        """Return the entry that first used an idempotency key, for any request."""
        seq = self._seq(Lookup.REQUEST, population, analyst, request)
        if seq is None:
            return None
        return _require_found(self.must(seq), population=population, analyst=analyst, request=request)

    def recall(self, recall: str, versions: Mapping[str, int]) -> Entry | None:
        """Return the first answer that was stored under a recall digest for these data versions."""
        if self._seq(Lookup.RECALL, recall) is None:
            return None
        answers = self.some("where record ->> 'recall' = ? order by seq", recall)
        found = next(
            (answer for answer in answers if _require_found(answer, recall=recall)["versions"] == versions), None
        )
        return found and self.must(found.seq)

    def recalls(self, digests: Sequence[str], versions: Mapping[str, int]) -> dict[str, "Recalled"]:
        """Return the first answers of streams that are kept under these digests, each for these data versions."""
        found: dict[str, Recalled] = {}
        missing = dict.fromkeys(digests)
        records: dict[int, tuple[Entry, Record]] = {}
        for some in _parts(digests):
            marks = ", ".join("?" * len(some))
            for digest, seq, place in self.all(_RECALLS.format(marks), *some, *some):
                missing.pop(digest, None)
                if seq not in records:
                    entry = self.must(seq)
                    records[seq] = entry, entry.record
                entry, record = records[seq]
                if digest != (record["recall"] if place < 0 else record["recalls"][place]):
                    raise LedgerDamagedError("is not what was looked for: an index of the database is damaged", seq=seq)
                if record["versions"] == versions:
                    found.setdefault(digest, Recalled(entry, record, None if place < 0 else place))
        for digest in missing:
            self._require_new((Lookup.RECALL, (digest,)))
        return found

    def keep_recalls(self, entry: Entry, digests: Sequence[str]) -> None:
        """Let the answers of a batch be found: each has its place in the entry, and the digest of its question."""
        for some in _parts(list(enumerate(digests))):
            rows = ", ".join(["(?, ?, ?)"] * len(some))
            values = [value for place, digest in some for value in (digest, entry.seq, place)]
            self.do(f"insert into recalls (digest, seq, place) values {rows}", *values)  # noqa: S608 - marks only

    def settlement(self, seq: int) -> Entry | None:
        """Return the entry that settles the charge or intent `seq`."""
        settling = self._seq(Lookup.SETTLES, seq)
        found = None if settling is None else self.must(settling)
        if found is not None:
            _require_found(found, settles=seq)
        return found

    def charge(self, seq: int) -> Record | None:
        """Return the content of entry `seq`, if it is the charge of a question."""
        known = self.news.charges.get(seq) or self._cache.charges.get(seq)
        if known is None:
            known = self.must(seq).record if 0 < seq <= self.last else {}
        return known if known.get("kind") == "charge" else None

    def reservation(self, name: str) -> ReservationRecord | None:
        """Return the current state of a reservation; it is decoded only when it has changed."""
        seq = self._seq(Lookup.STREAM, name)
        last, record = self.news.reservations.get(name) or self._cache.reservations.get(name) or (0, None)
        if seq is None:
            return None
        if record is None or last != seq:
            first = self._first("where record ->> 'stream' = ? order by seq", name)
            opening = _require_found(self._kept(first.seq if first else seq), stream=name, kind="opening")
            record = ReservationRecord.read(opening, _require_found(self._kept(seq), stream=name))
            self.news.openings[name] = opening["seq"]
        self.news.reservations[name] = (seq, record)
        return record

    @property
    def day(self) -> str:
        """The day, in Greenwich."""
        return self._clock().astimezone(UTC).date().isoformat()

    def round_of(self, reservation: str, number: int) -> Entry | None:
        """Return the intent of a round of a reservation, or of several from that one on."""
        asked = "record ->> 'kind' = 'intent' and record ->> 'stream' = ?"
        found = self._first(f"where {asked} and cast(record ->> 'number' as bigint) = ?", reservation, number)
        if found is not None:
            _require_found(self.must(found.seq), kind="intent", stream=reservation, number=number)
        return found

    def unsettled(self, kind: str) -> list[Entry]:
        """Return every charge or intent that nothing settles yet; this reads the whole ledger."""
        return self.some(f"where record ->> 'kind' = ? and {_UNSETTLED} order by seq", kind)

    def lines(self, population: str, analyst: str | None = None) -> Iterator[Booking]:
        """Yield every line of the account of a population, or those that one analyst caused, in their order."""
        return (line for who, line in self.caused(population) if analyst in {None, who})

    def caused(self, population: str, after: int = 0) -> Iterator[tuple[str, Booking]]:
        """Yield the lines of an account after an entry, each with the analyst who caused it, or an empty name."""
        changes = "where record ->> 'population' = ? and record ->> 'account' is not null"
        while page := self.some(f"{changes} and seq > ? order by seq limit {_PAGE}", population, after):
            for record in (entry.record for entry in page):
                for line in from_record(tuple[Booking, ...], record["account"]["lines"]):
                    yield record.get("analyst", ""), line
            after = page[-1].seq

    def _state(self, whose: tuple[str, str | None], seq: int, column: str) -> Account:
        last, account = self.news.accounts.get(whose) or self._cache.accounts.get(whose) or (0, None)
        if account is None or last != seq:
            names = {"population": whose[0]} | ({"analyst": whose[1]} if whose[1] else {})
            account = from_record(Account, _require_found(self._kept(seq), **names)[column]["after"])
        self.news.accounts[whose] = (seq, account)
        return account

    def _seq(self, lookup: Lookup, *values: str | int) -> int | None:
        """Return the number that a lookup finds, now or fetched before; it is damage if a later one is known."""
        asked = (lookup, values)
        last = self._cache.last(asked)
        if asked not in self._found:  # nothing that was appended here is found by it: `append` would have noted it
            self._found[asked] = self._look_up(asked, last.seq)
        seq = self._found[asked]
        known = max(self.news.latest.get(asked, 0), last.seq)
        if (seq or 0) < known <= self._end.seq:  # another thread may know of more than this moment has
            raise LedgerDamagedError("is not found any more: an index of the database is damaged", seq=known)
        if not known and (seq is None or lookup in STATES):
            self._require_new(asked)
        if seq and lookup in STATES:
            self.news.latest[asked] = seq
            if seq == last.seq and last.hash is not None:
                self.news.hashes.setdefault(seq, last.hash)
        return seq

    def _look_up(self, asked: Asked, last: int) -> int | None:
        """Return what a lookup finds; where nothing is read, the `last` entry known to change a state, or none.

        Which entry that is need not be checked if all entries since then were followed.
        """
        lookup, values = asked
        if self._expected is None:
            found: int | None = (next(iter(self._read(lookup, *values)), None) or [None])[0]
            return found
        if asked not in self._cache.latest:
            self._expected[asked] = last
        return last or None

    def _require_new(self, asked: Asked) -> None:
        """Refuse a key that is not found, or a state whose last entry is unknown, if it was there at the checkpoint.

        A stream that is older than those which the checkpoint names is trusted once the whole ledger was checked.
        """
        if self._cache.keys is None or not self._cache.keys.holds(asked):
            return
        if asked[0] in STATES and self._found.get(asked):
            self._whole()
            return
        self.follow()  # it names the first entry that is wrong, if it is not the index
        what = f"{asked[0].name.lower()} {', '.join(map(str, asked[1]))}"
        raise LedgerDamagedError(f"the entry of {what} is not found any more: an index of the database is damaged")

    def keep(self, entry: Entry) -> None:
        """Keep an entry that this transaction has followed the chain to, so that it need not be read again."""
        self._followed[entry.seq] = entry
        if len(self._followed) > _PAGE:
            del self._followed[next(iter(self._followed))]

    def must(self, seq: int) -> Entry:
        """Return an entry that must exist and be linked to the one before it: the chain is not followed everywhere."""
        if (followed := self._followed.get(seq)) is not None:
            return followed
        entry, before = self.entry(seq), self.hash_of(seq - 1)
        if entry is None:
            raise LedgerDamagedError("is missing", seq=seq)
        if before is None or link(before, entry.body) != entry.hash:
            raise LedgerDamagedError("is not what was written: it does not hang on the entry before it", seq=seq)
        return entry

    def _kept(self, seq: int) -> Entry:
        """Return the entry of a state; it is damage if this process has seen the entry with another hash before."""
        entry = self.must(seq)
        known = self.news.hashes.get(seq) or self._cache.hashes.get(seq)
        if known is not None and known != entry.hash:
            raise LedgerDamagedError("is not what was written: it had another hash before", seq=seq)
        self.news.hashes[seq] = entry.hash
        return entry

    def follow(self) -> None:
        """Follow the whole chain: before a decision that depends on all entries, and not only on the current state."""
        for _ in check_chain(self.ledger, self.entries(), last=self.last, head=self.head):
            pass

    def digest_keys(self, keys: KeyDigests) -> None:
        """Add every key that a lookup finds to `keys`; this reads the whole ledger."""
        for lookup, statement in keys_statements():
            keys.add((lookup, row) for row in self._connection.execute(self._database.phrase(statement)))

    def open_reservations(self) -> dict[str, int]:
        """Return the last entry of each reservation that is open."""
        last = "select max(seq) from entries where record ->> 'stream' is not null group by record ->> 'stream'"
        found = "select record ->> 'stream', seq from entries where record ->> 'status' = 'open'"
        return dict(self.all(f"{found} and seq in ({last})"))

    def some(self, condition: str, *values: str | int) -> list[Entry]:
        """Return the entries for which a condition holds."""
        rows = self.all(f"select seq, body, hash from entries {condition}", *values)  # noqa: S608 - our own words
        return [read_entry(row) for row in rows]

    def _first(self, condition: str, *values: str | int) -> Entry | None:
        return next(iter(self.some(f"{condition} limit 1", *values)), None)


def _parts(values: Sequence[K]) -> Iterator[Sequence[K]]:
    """Split values into parts that fit one statement."""
    return (values[i : i + _VALUES] for i in range(0, len(values), _VALUES))


def _require_found(entry: Entry, **said: object) -> dict[str, Any]:
    """Return the content of an entry; it is damage if the entry lacks the fields that it was found by."""
    record = entry.record
    if any(record.get(name) != value for name, value in said.items()):
        raise LedgerDamagedError("is not what was looked for: an index of the database is damaged", seq=entry.seq)
    return record


def state(lines: Iterable[Booking], after: Account) -> Record:
    """Return the fields of an entry about an account: the lines added to its book, and the account after them."""
    return {"lines": to_record(list(lines)), "after": to_record(after)}
