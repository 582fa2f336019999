"""The ledger as a running process sees it: transactions on its entries, and a memory that never runs backwards."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import takewhile
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from lapwing.ledger import head
from lapwing.ledger.entries import Receipt, checked, compare
from lapwing.ledger.store import ConflictError, Rows, Store
from lapwing.ledger.transaction import Clock, Prefetch, StateCache, Transaction
from lapwing.vocabulary.errors import LedgerInDoubtError

T = TypeVar("T")


def now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


class Known(NamedTuple):
    """What is known before a transaction begins: the last entry that this process saw, and that anybody was told of."""

    seen: Receipt | None
    promised: Receipt | None


class Chronicle:
    """Opens transactions on a store, and refuses a ledger that is older than what was seen or told of before.

    Each new entry is followed from the last one that was seen: a process believes no state that does not hang on the
    chain it knows. What a transaction rests on is made durable outside the database before anybody is told.
    """

    def __init__(self, store: Store, clock: Clock = now) -> None:
        self.store, self._clock = store, clock
        self._memory = StateCache()
        self._seen: Receipt | None = None
        self._moments = WeakKeyDictionary[Rows, Known]()  # what was known before each open block began

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a block that sees one moment of the ledger; one inside another sees the same."""
        known = self._known()
        with self.store.reading() as rows:
            known = self._moments.setdefault(rows, known)
            book = self._book(rows, known)
            yield book
        self._learn(book, known)

    @contextmanager
    def writing(self, act: str) -> Iterator[Transaction]:
        """Open the one block that may append entries; leaving it commits."""
        known = self._known()
        with self.store.writing(act) as rows:
            book = self._book(rows, known)
            yield book
        self._learn(book, known)

    def hurry(self, act: str, change: Callable[[Transaction], T], glance: Prefetch) -> T:
        """Run a change that appends one entry or none and does nothing else; alone, if somebody else is faster."""
        known = self._known()
        with suppress(ConflictError):
            with self.store.hurrying(act) as rows:
                book = self._book(rows, known, glance)
                result = change(book)
            self._learn(book, known)
            return result
        with self.writing(act) as book:
            return change(book)

    def _known(self) -> Known:
        """Look before the block begins: another thread or process may see more while this one looks at its moment."""
        kept = self.store.database.head
        return Known(self._seen, kept.promised() if kept else None)

    def _book(self, rows: Rows, known: Known, glance: Prefetch | None = None) -> Transaction:
        book = Transaction(rows, self._memory, self._clock, glance)
        seen, promised = known
        if seen:
            compare(seen, ledger=book.ledger, last=book.last, found=book.hash_of(seen.seq))
        if seen is None or seen.seq < book.last:
            self._follow(book, seen, hurried=glance is not None)
        if promised and promised != seen:
            head.require(promised, book.receipt, found=book.hash_of(promised.seq))
        return book

    @staticmethod
    def _follow(book: Transaction, seen: Receipt | None, *, hurried: bool) -> None:
        """Follow the chain from the last entry this process saw to the end that the ledger says it has."""
        entries = book.entries(seen.seq if seen else 0)
        if hurried:  # without a transaction there may be more by now
            entries = takewhile(lambda entry: entry.seq <= book.last, entries)
        for entry in checked(book.ledger, entries, last=book.last, head=book.head, after=seen):
            if seen:  # at first everything is new, and indexes were compared with it
                book.news.heed(entry.seq, entry.record)

    def _learn(self, book: Transaction, known: Known) -> None:
        """Keep what a transaction read or wrote, now that it is over."""
        kept = self.store.database.head
        if kept and (known.promised is None or known.promised.seq < book.last):
            try:
                kept.advance(book.receipt)
            except OSError as error:
                raise LedgerInDoubtError(
                    f"{kept.path} cannot be written ({error}), and nothing is told that it does not cover; what was "
                    "being written counts as charged, and asking again under the same key finds out"
                ) from error
        self._memory.learn(book.news)
        if self._seen is None or self._seen.seq <= book.last:
            self._seen = book.receipt
