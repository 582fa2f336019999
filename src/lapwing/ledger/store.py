"""Where entries are kept: one serialised, durable transaction at a time, in a file or in a database server.

A store promises three things: a writing transaction is alone and commits as a whole; when it ends without an error, its
writes are durable, also after a power cut; when it ends with `LedgerInDoubtError`, they may be committed or not.

Changes that wait for the writer at the same moment go through together (`change`): one after the other, each on what
those before it have left, in one transaction with one commit and one sync of the head. One that is refused before it
wrote anything leaves nothing behind; one that fails in any other way undoes them all, and each is made by itself.
No caller gets a result, not even a refusal, before the whole group is durable. Where all of them append entries and do
nothing else they may be optimistic: they read without a lock, and their entries are added by one statement that does
nothing if the chain has grown meanwhile. Right after another append they do not even read: what this process knows is
taken for true, and the statement that appends does nothing if it is not. A group that was overtaken waits for the
lock. Those after it wait for a lease of the chain, as long as other processes write: whoever waits meanwhile goes
through with the group that has it.

A store refuses a ledger that is older than the entries that this process saw or that were acknowledged. Each new entry
is followed from the last one that was seen: a process trusts no state that is not linked to the chain it knows. The
receipt of the entries that a result rests on is durable outside the database before the result is returned.

Fault points are named places at which a test makes the process die or the disk fail. Without the variable, nothing.

    LAPWING_FAULT=charge.written:kill        die as if by kill -9 when `charge.written` is reached
    LAPWING_FAULT=charge.written:kill:3      ... when it is reached the third time
    LAPWING_FAULT=charge.written:full        fail there as a full disk does

Each act of the ledger has the same three points: ACT.begun (the ledger is locked, nothing written), ACT.written (all is
written and nothing committed) and ACT.committed (all is durable and nothing returned yet). `ACTS` names them. Setting
the variable in production can only make lapwing answer less.
"""

import errno
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import takewhile
from typing import Final, TypeAlias, TypeVar
from weakref import ref

from lapwing.ledger.append_times import AppendTimes
from lapwing.ledger.background_check import BackgroundCheck
from lapwing.ledger.checkpoint import Checkpoint
from lapwing.ledger.database import NOTHING_EXPECTED, ConflictError, Connection, Database, Expected, Turns
from lapwing.ledger.entries import (
    Entry,
    Lookup,
    Lookups,
    Receipt,
    check_chain,
    compare,
    found_by,
    require_format,
    require_promised,
)
from lapwing.ledger.key_digests import KeyDigests
from lapwing.ledger.known_states import PACKED, KnownStates, State
from lapwing.ledger.lease import Lease
from lapwing.ledger.queue import LazyConnection, PendingChange, Rivals, SpoiledError, WriterQueue, end, run, spoiling
from lapwing.ledger.reservation_states import ReservationRecord
from lapwing.ledger.states import PopulationRecord, StateCache
from lapwing.ledger.transaction import Append, Clock, Known, Transaction
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerError,
    LedgerInDoubtError,
    LedgerRolledBackError,
    LedgerUnwritableError,
)

T = TypeVar("T")
Join: TypeAlias = Callable[[list[PendingChange]], None]
"""Adds to a group those who wait."""

VARIABLE: Final = "LAPWING_FAULT"
_MOST_STREAMS: Final = 1000
_MOMENT: Final = 1.0
"""Seconds after an append that found the chain as it was left, in which the next one expects to find it so, too."""

_AT: Final = "select name, (select hash from entries where seq = ?), seq, (select count(*) from entries) from ledger"

ACTS: Final = (
    *("create", "found", "population", "policy", "version", "rollback", "seal"),
    *("charge", "answer", "lose"),
    *("open", "intend", "decide", "close", "forfeit"),
)
"""The acts of a ledger, by the names of their fault points."""

_reached: dict[str, int] = {}


def fault_point(point: str) -> None:
    """Pass a fault point, unless the environment variable asks for a failure at this one."""
    order = os.environ.get(VARIABLE)
    if not order:
        return
    wanted, _, rest = order.partition(":")
    if wanted != point:
        return
    action, _, turn = rest.partition(":")
    _reached[order] = _reached.get(order, 0) + 1
    if _reached[order] != int(turn or 1):
        return
    match action:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "full":
            raise OSError(errno.ENOSPC, "no space left on device (fault point)")
        case _:
            raise ValueError(f"{VARIABLE} = {order} asks for {action!r}; it can be kill or full")


def now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


def _alone(_: list[PendingChange]) -> None: ...


class Store:
    """The ledger's place: one connection to write and one to read, safe to share among threads and after a fork."""

    def __init__(
        self,
        database: Database,
        clock: Clock = now,
        *,
        above: "Store | None" = None,
        name: str | None = None,
        called: str = "",
    ) -> None:
        self.database, self._clock, self.called = database, clock, called  # as which chain people know it
        self._above, self._name = above, name  # the directory is above all other chains, and knows how they are named
        self._writer, self._reader = LazyConnection(database), LazyConnection(database)
        # A file has one writer, whichever chain it is at: the threads of a process wait here, and not by looking again.
        alone: AbstractContextManager[object] = nullcontext() if database.appends_atomically else threading.RLock()
        self.turn: AbstractContextManager[object] = alone if above is None else above.turn
        self._cache = StateCache()
        self.background: BackgroundCheck | None = None  # of entries that were not followed when it was opened
        self.has_found_damage = False
        self._seen: Receipt | None = None
        self._looked: tuple[object, Receipt | None] = None, None  # the stamp that it had, and its end
        self._queue, self._rivals, self._learning = WriterQueue(), Rivals(), threading.Lock()
        self.appends: AppendTimes = AppendTimes() if above is None else above.appends
        self._lease = Lease(database, self._writer)
        self._is_known_until = 0.0  # so long nobody else is expected to have written, on a connection that just worked
        # The transaction of the thread that holds the reader's lock. The reference is weak: one whose end was
        # interrupted is dropped.
        self._reading: Callable[[], Transaction | None] = _nothing

    @cached_property
    def gate(self) -> Turns:
        """Locks that serialize requests for the same work, in any chain of the ledger."""
        return self.database.gate() if self._above is None else self._above.gate

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that sees a snapshot of the ledger, unchanged by concurrent writers.

        One inside another of the same thread sees the same moment.
        """
        with self._reader.lock:
            transaction = self._reading()
            if transaction is not None:
                yield transaction
            else:
                with self._begun_reading() as transaction:
                    yield transaction
        self._learn(transaction)

    def read(self, work: Callable[[Transaction], T], lookups: Lookups = ()) -> T:
        """Return the result of `work` on a snapshot of the ledger, for which one statement is mostly enough.

        `lookups` are fetched with the end of the chain by one statement, which sees one moment by itself. Work that
        needs more than that is done again, in a transaction: it must change nothing but what it returns.
        """
        with suppress(ConflictError):
            with self._reader.lock:
                transaction = self._reading()
                if transaction is None:
                    transaction, result = self._read_at_once(work, lookups)
                else:
                    result = work(transaction)
            self._learn(transaction)
            return result
        with self.reading() as transaction:
            return work(transaction)

    def _read_at_once(self, work: Callable[[Transaction], T], lookups: Lookups) -> tuple[Transaction, T]:
        known = self._look()
        with self._understood(self._reader), self._replacing_lost(connection := self._reader.idle()):
            transaction = self._transaction(connection, known, lookups, at_once=True)
            return transaction, work(transaction)

    @contextmanager
    def _replacing_lost(self, connection: Connection) -> Iterator[None]:
        """Raise `ConflictError`, which means to try again, if the connection broke since it was last used."""
        try:
            yield
        except (LedgerError, SpoiledError):
            raise
        except Exception as error:
            if self.database.is_lost(connection):
                raise ConflictError from error
            raise

    @contextmanager
    def _begun_reading(self) -> Iterator[Transaction]:
        known = self._look()
        try:
            with self._understood(self._reader):
                begin = partial(self._transaction, known=known, begin=self.database.begin_reading)
                transaction = self._reader.begin(begin)
                self._reading = ref(transaction)
                yield transaction
        finally:
            self._reading = _nothing
            self._reader.undo()

    @contextmanager
    def writing(self, act: str) -> Iterator[Transaction]:
        """Open the one transaction that may write; leaving it commits, an error undoes it all.

        Its fault points are named after `act`. After a `LedgerInDoubtError` it may be committed or not; after any other
        error nothing was written.
        """
        known = self._look()
        with self._writer.lock, self.turn:
            with self._understood(self._writer):
                transaction = self._begun_writing(known)
                _pass([act], "begun")
                yield transaction
                transaction.flush()
                _pass([act], "written")
            self._commit([act], transaction)
        self._learn(transaction)

    def change(
        self, act: str, change: Callable[[Transaction], T], lookups: Lookups = (), *, only_appends: bool = False
    ) -> T:
        """Run a change in a transaction, together with those of other threads that wait for it at the same moment.

        What holds for `writing` holds for it. It may be run more than once, so it must change nothing but its
        transaction; `lookups` are fetched at once, and `only_appends` promises that it only appends entries.
        """
        mine = PendingChange(act, change, lookups, only_appends=only_appends)
        try:
            self._queue.wait(mine)
            if not mine.has_end:
                self._lead(mine)
        finally:
            self._queue.leave(mine)
        result: T = mine.outcome()
        return result

    def _lead(self, leader: PendingChange) -> None:
        """Make all changes that wait now, and report to each thread how its own ended."""
        begun, known = time.perf_counter(), self._look()
        group = [leader]
        with self._writer.lock, self.turn:
            try:
                transaction = self._make_together(group, known, self._queue.join)
                self._remember(transaction)  # or the next leader would read again what this one has written
            except SpoiledError:
                transaction = None
            except BaseException as error:
                self._give_up(group, error)
                raise
            finally:
                self._queue.leave(leader)  # the next leader need not wait for the sync of the head
        try:
            if transaction is None:
                for one in group:
                    self._make_alone(one)
            else:
                self._promise(transaction)
        except BaseException as error:
            self._give_up(group, error)
            raise
        end(group)
        self.appends.add(time.perf_counter() - begun, len(group))

    def _give_up(self, group: Sequence[PendingChange], error: BaseException) -> None:
        """End a group with an error; a leader that is interrupted leaves the changes of the others in doubt."""
        if not isinstance(error, Exception):
            error = _in_doubt(f"whoever wrote to {self.database.place} was interrupted")
        end(group, error)

    def _make_alone(self, one: PendingChange) -> None:
        """Make a change of a group that was undone."""
        one.forget()
        known = self._look()
        try:
            with self._writer.lock, self.turn:
                transaction = self._make_together([one], known)
            self._learn(transaction)
        except Exception as error:  # noqa: BLE001 - raised in the thread that waits for it
            one.error = error

    def _make_together(self, group: list[PendingChange], known: Known, join: Join = _alone) -> Transaction:
        """Make changes, one after the other, and commit them all, with those that join the group as long as it waits.

        Where others write to the same chain just now, an append without the lock would mostly be made for nothing.
        """
        if self.database.appends_atomically and group[0].only_appends:
            with suppress(ConflictError):
                return self._append_without_lock(group, known, join)
            self._rivals.won()
        with self._understood(self._writer):
            try:
                transaction = self._begun_writing(known, group[0].lookups)
            finally:
                join(group)
            acts = [one.act for one in group]
            _pass(acts, "begun")
            with spoiling(group):
                run(group, transaction)
                if self.database.appends_atomically and all(one.only_appends for one in group):
                    transaction.flush(partial(self._append, acts, self._writer.open(), commit=True))
                else:
                    transaction.flush()
                    _pass(acts, "written")
        self._commit(acts, transaction)
        return transaction

    def _begun_writing(self, known: Known, lookups: Lookups = ()) -> Transaction:
        """Wait for the lock of the chain, and begin the transaction that may write; who waits for it keeps no lease."""
        self._lease.end()
        begin, news = self.database.begin_writing, self._rivals.are_busy
        start = partial(self._transaction, known=known, lookups=lookups, begin=begin, news=news)
        transaction = self._writer.begin(start)
        self._rivals.found(transaction.last)
        return transaction

    def _commit(self, acts: Sequence[str], transaction: Transaction) -> None:
        try:
            if self._writer.is_begun:
                self._writer.commit()
                _pass(acts, "committed")
        except BaseException as error:
            self._writer.drop()
            if isinstance(error, Exception):
                raise _in_doubt(f"{self.database.place} failed while it committed ({error})") from error
            raise
        self._rivals.left(transaction.last)

    def _append_without_lock(self, group: list[PendingChange], known: Known, join: Join) -> Transaction:
        """Make changes that only append, as if nobody else did; where others do just now, at most one has the lease."""
        known_until, self._is_known_until = self._is_known_until, 0.0  # whatever happens now
        with self._understood(self._writer):
            is_new = self._rivals.are_busy and self._lease.take(self._follow)
            join(group)
            if not all(one.only_appends for one in group):
                raise ConflictError
            acts, connection = [one.act for one in group], self._writer.idle()
            _pass(acts, "begun")
            with self._replacing_lost(connection):
                append, known = partial(self._append, acts, connection), self._look() if is_new else known
                begin = partial(self._transaction, connection, known, group[0].lookups, append)
                transaction = None
                is_known = not is_new and time.monotonic() < known_until
                if is_known and not self.database.is_lost(connection):
                    transaction = self._append_as_known(group, begin)
                if transaction is None:
                    transaction = begin(news=is_new)
                    if is_new:
                        self._rivals.found(transaction.last)
                    is_known = is_new or (known.seen is not None and known.seen.seq == transaction.last)
                    with spoiling(group):
                        run(group, transaction)
                        transaction.flush()
                self._lease.used()
        self._is_known_until = time.monotonic() + _MOMENT if is_known else 0.0
        self._rivals.left(transaction.last)
        return transaction

    def _append_as_known(self, group: Sequence[PendingChange], begin: Callable[..., Transaction]) -> Transaction | None:
        """Make changes that only append, in one round trip; return nothing if they have to be made by what is there.

        They are made by what this process knows, and appended if that is what the database says. Whatever else comes of
        them, such as an error or an earlier answer, rests on what was not looked at, and does not count.
        """
        with spoiling(group), suppress(ConflictError):
            try:
                transaction = begin(as_known=True)
                run(group, transaction)
            except Exception as error:
                raise ConflictError from error
            if all(one.error is None for one in group):
                transaction.flush()
                return transaction
        return None

    def _follow(self) -> None:
        """Take in what others have appended by now."""
        self._learn(self._transaction(self._writer.open(), self._look(), news=True))

    def _append(
        self,
        acts: Sequence[str],
        connection: Connection,
        entries: Sequence[Entry],
        before: Entry,
        *,
        expected: Expected = NOTHING_EXPECTED,
        commit: bool = False,
    ) -> bool:
        """Add entries and make them durable, if the chain still ends with `before`; `commit` ends a transaction."""
        _pass(acts, "written")
        try:
            added = self.database.append(connection, entries, before, expected=expected, commit=commit)
            is_durable = added and self.database.is_idle(connection)
            if is_durable:
                self._writer.has_ended()
                _pass(acts, "committed")
        except Exception as error:
            if isinstance(error, OSError) or self.database.may_have_committed(error):
                raise _in_doubt(f"{self.database.place} failed while it committed ({error})") from error
            raise
        if added and not is_durable:
            raise _in_doubt(f"{self.database.place} has not said that it committed")
        return added

    def create(self, ledger: str, genesis: bytes) -> None:
        """Make an empty ledger, whole or not at all."""
        with self._understood(self._writer):
            self.database.create(ledger, genesis)

    def begin_at(self, checkpoint: Checkpoint) -> bool:
        """Follow the chain from a checkpoint on, if the ledger still has its entries; return whether it has."""
        with self._reader.lock, self._understood(self._reader):
            found = self._reader.idle().execute(self.database.phrase(_AT), (checkpoint.receipt.seq,)).fetchone()
        name, hash_, last, entries = found or ("", None, 0, 0)
        if (name, hash_ and bytes(hash_).hex()) != (checkpoint.receipt.ledger, checkpoint.receipt.hash):
            return False
        if entries != last:  # they are numbered without a gap
            return False
        with self._reader.lock, self._understood(self._reader):
            wanted = list(checkpoint.hashes)
            rows = self.database.hashes(self._reader.idle(), wanted) if wanted else []
            if {seq: bytes(hash_) for seq, hash_ in rows} != checkpoint.hashes:
                return False
        self._seen = checkpoint.receipt
        self._cache.latest.update(checkpoint.latest)
        self._cache.openings.update(checkpoint.openings)
        self._cache.hashes.update(checkpoint.hashes)
        self._cache.keys, self._cache.known = checkpoint.keys, checkpoint.states
        return True

    def keep_keys(self, keys: KeyDigests, states: KnownStates) -> None:
        """Digest all keys for the next checkpoint, which knows no `states` yet: of a ledger that was followed whole."""
        with self.reading() as transaction:
            transaction.digest_keys(keys)
            self._cache.keys, self._cache.known = keys, states

    def known_reservation(self, name: str) -> ReservationRecord | None:
        """Return a reservation from the cache of this process; it may have changed since."""
        _, record = self._cache.reservations.get(name, (0, None))
        return record

    def known_population(self, name: str) -> PopulationRecord | None:
        """Return a population from the cache of this process; the custodian may have changed it since."""
        _, record = self._cache.populations.get(name, (0, None))
        return record

    @property
    def seen(self) -> Receipt | None:
        """The receipt of the last entry that this process has followed the chain to."""
        return self._seen

    @property
    def checked(self) -> Checkpoint | None:
        """The checkpoint of this process: how far it followed the chain, the states by then, and the newest streams."""
        with self._learning:
            return self._checked()

    def _checked(self) -> Checkpoint | None:
        cache = self._cache
        if self._seen is None or cache.keys is None or cache.known is None:
            return None
        streams = sorted((seq, asked) for asked, seq in cache.latest.items() if asked[0] is Lookup.STREAM)
        latest = {asked: seq for seq, asked in streams[-_MOST_STREAMS:]}
        named = {values[0] for _, values in latest}
        openings = {name: seq for name, seq in cache.openings.items() if name in named}
        wanted = {*openings.values(), *latest.values()}
        hashes = {seq: hash_ for seq, hash_ in cache.hashes.items() if seq in wanted}
        newer = {asked: State(seq, cache.hashes.get(seq)) for asked, seq in cache.latest.items() if asked[0] in PACKED}
        followed = None if self.background is None else self.background.followed
        return Checkpoint(self._seen, latest, openings, hashes, cache.keys, cache.known, newer, followed)

    def look(self) -> Receipt:
        """Return the receipt of the last entry: the known one, where the stamp is unchanged."""
        with self._reader.lock:
            stamp = self._stamp() if self._reading() is None else None
            known, receipt = self._looked
            if receipt is None or stamp is None or stamp != known:
                receipt = self.read(lambda transaction: transaction.receipt)
                self._looked = stamp, receipt
            return receipt

    def _stamp(self) -> object:
        """Return a value that changes when an entry is committed or the head advances; None if there is none."""
        head = self.database.head
        self.require_undamaged()
        with self._understood(self._reader):
            connection = self._reader.idle()
            stamp = self.database.stamp(connection)
            return None if stamp is None else (connection, stamp, head and head.promised())

    def require_format(self) -> None:
        """Refuse a place without a ledger, or with one in another format."""
        with self._reader.lock, self._understood(self._reader):
            row = self._reader.idle().execute("select version from ledger").fetchone()
            if row is None:
                raise LedgerDamagedError("the row that names the ledger is missing")
            require_format(row[0])

    def said_length(self) -> int:
        """Return how many entries the chain says that it has; this is not checked."""
        with self._reader.lock, self._understood(self._reader):
            row = self._reader.idle().execute("select seq from ledger").fetchone()
            return row[0] if row and isinstance(row[0], int) else 0

    def shred(self) -> None:
        """Overwrite what was deleted, as far as the database can; it is tidying up, and failing at it does no harm."""
        with suppress(LedgerError), self._writer.lock, self._understood(self._writer):
            self._lease.end()
            self.database.shred(self._writer.open())

    def inspect(self, *, deep: bool = False, beside: bool = True) -> None:
        """Look for an index that disagrees with the entries of the chain; reading goes on `beside` it.

        A `deep` look is at the structures of the whole database, of all chains.
        """
        look = self.database.inspect_all if deep else self.database.inspect
        connection = self._writer if beside else self._reader
        with connection.lock, self._understood(connection):
            if beside:
                self._lease.end()
            look(connection.open())

    @property
    def is_open(self) -> bool:
        """Whether it has a connection now."""
        return self._writer.is_open or self._reader.is_open

    def rest(self) -> bool:
        """Close the connections that are not in use, without waiting for any; return whether all are closed."""
        writer, reader = self._writer.rest(), self._reader.rest()
        return writer and reader

    def close(self) -> None:
        """Close files and connections; the next transaction opens them again."""
        for connection in (self._writer, self._reader):
            with connection.lock:
                connection.drop()

    def _look(self) -> Known:
        """Return the known lower bounds, read before a transaction begins: later ones may exceed its snapshot."""
        self.require_undamaged()
        kept = self.database.head
        return Known(self._seen, kept.promised() if kept else None)

    def _transaction(
        self,
        connection: Connection,
        known: Known,
        lookups: Lookups = (),
        append: Append | None = None,
        *,
        at_once: bool = False,
        as_known: bool = False,
        begin: Sequence[str] = (),
        news: bool = False,
    ) -> Transaction:
        """Return a transaction that has begun, once the ledger is found to go on from what is known."""
        transaction = Transaction(
            connection,
            self.database,
            cache=self._cache,
            clock=self._clock,
            known=known,
            lookups=lookups,
            append=append,
            at_once=at_once,
            as_known=as_known,
            begin=begin,
            news=news,
            whole=self._wait_for_check,
        )
        if self._name not in {None, transaction.ledger}:
            raise LedgerDamagedError(f"this is chain {transaction.ledger}, and chain {self._name} was asked")
        seen, promised = known
        last = transaction.last
        if seen:
            compare(seen, ledger=transaction.ledger, last=last, found=transaction.hash_of(seen.seq))
        if seen is None or seen.seq < last:
            entries = transaction.entries(seen.seq if seen else 0)
            if not begin and not at_once:  # without a lock there may be more by now
                entries = takewhile(lambda entry: entry.seq <= last, entries)
            for entry in check_chain(transaction.ledger, entries, last=last, head=transaction.head, after=seen):
                if seen:  # at first everything is new, and indexes were compared with it
                    record = entry.record
                    transaction.news.heed(entry, record, found_by(record))
                    transaction.keep(entry)
        if promised and promised != seen:
            require_promised(promised, transaction.receipt, found=transaction.hash_of(promised.seq))
        return transaction

    def require_undamaged(self) -> None:
        """Refuse if the background check found damage in this chain or in the directory."""
        if self.background is not None:
            try:
                self.background.require()
            except LedgerDamagedError as error:
                error.name(self.called)
                raise
        if self._above is not None:
            self._above.require_undamaged()

    def _wait_for_check(self) -> None:
        if self.background is not None:
            self.background.wait()

    def _learn(self, transaction: Transaction) -> None:
        """Remember a transaction that is over, and promise what it rests on: now its results may be told."""
        self._remember(transaction)
        self._promise(transaction)

    def _promise(self, transaction: Transaction) -> None:
        """Make the end of a transaction durable outside of the database."""
        kept, promised, receipt = self.database.head, transaction.known.promised, transaction.receipt
        if kept and (promised is None or promised.seq < receipt.seq):
            try:
                kept.advance(receipt)
            except OSError as error:
                reason = f"{kept.path} cannot be written ({error}), and no answer is given that it does not cover"
                raise _in_doubt(reason) from error

    def _remember(self, transaction: Transaction) -> None:
        """Add the states that a transaction read or wrote to the cache: its entries are in the database."""
        receipt = transaction.receipt
        with self._learning:
            self._cache.learn(transaction.news)
            if self._seen is None or self._seen.seq <= receipt.seq:
                self._seen = receipt

    @contextmanager
    def _understood(self, connection: "LazyConnection") -> Iterator[None]:
        """Undo the transaction when an error passes, and translate errors of the database."""
        try:
            yield
        except BaseException as error:
            connection.undo()
            self.has_found_damage |= isinstance(error, LedgerDamagedError)
            if isinstance(error, (LedgerDamagedError, LedgerRolledBackError)):
                error.name(self.called)
            if isinstance(error, LedgerError) or not isinstance(error, Exception):
                raise
            if isinstance(error, OSError):
                place = self.database.place
                raise LedgerUnwritableError(f"{place} cannot be written: {error}; nothing was charged") from error
            meaning = self.database.translate(error)
            if meaning is None:
                raise
            if isinstance(meaning, LedgerDamagedError):
                self.has_found_damage = True
                meaning.name(self.called)
            raise meaning from error


def _pass(acts: Iterable[str], phase: str) -> None:
    if VARIABLE in os.environ:
        for act in acts:
            fault_point(f"{act}.{phase}")


def _in_doubt(reason: str) -> LedgerInDoubtError:
    remedy = "what was being written counts as charged, and asking again under the same key finds out"
    return LedgerInDoubtError(f"{reason}; {remedy}")


def _nothing() -> None: ...
