"""The ledger as a running process sees it: transactions on its entries, and a memory that never runs backwards."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TypeVar
from weakref import WeakKeyDictionary

from lapwing.ledger.book import Book, Clock, Glance, Memory
from lapwing.ledger.chain import Receipt, compare
from lapwing.ledger.store import OvertakenError, Rows, Store

T = TypeVar("T")


def now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


class Chronicle:
    """Opens transactions on a store, and refuses a ledger that is older than one this process has already seen."""

    def __init__(self, store: Store, clock: Clock = now) -> None:
        self.store, self._clock = store, clock
        self._memory = Memory()
        self._seen: Receipt | None = None
        self._moments = WeakKeyDictionary[Rows, Receipt | None]()  # what was seen before each open block began

    @contextmanager
    def reading(self) -> Iterator[Book]:
        """Open a block that sees one moment of the ledger; one inside another sees the same."""
        seen = self._seen  # before the block begins: another thread may see more while this one looks at its moment
        with self.store.reading() as rows:
            book = self._book(rows, self._moments.setdefault(rows, seen))
            yield book
        self._learn(book)

    @contextmanager
    def writing(self, act: str) -> Iterator[Book]:
        """Open the one block that may append entries; leaving it commits."""
        seen = self._seen
        with self.store.writing(act) as rows:
            book = self._book(rows, seen)
            yield book
        self._learn(book)

    def hurry(self, act: str, change: Callable[[Book], T], glance: Glance) -> T:
        """Run a change that appends one entry or none and does nothing else; alone, if somebody else is faster."""
        seen = self._seen
        with suppress(OvertakenError):
            with self.store.hurrying(act) as rows:
                book = self._book(rows, seen, glance)
                result = change(book)
            self._learn(book)
            return result
        with self.writing(act) as book:
            return change(book)

    def _book(self, rows: Rows, seen: Receipt | None, glance: Glance | None = None) -> Book:
        book = Book(rows, self._memory, self._clock, glance)
        if seen and seen.seq == book.last:
            compare(seen, ledger=book.ledger, last=book.last, found=book.head)
        elif seen:
            entry = book.entry(seen.seq) if seen.seq < book.last else None
            compare(seen, ledger=book.ledger, last=book.last, found=entry and entry.hash)
        return book

    def _learn(self, book: Book) -> None:
        """Keep what a transaction read or wrote, now that it is over."""
        self._memory.learn(book.news)
        if self._seen is None or self._seen.seq <= book.last:
            self._seen = book.receipt
