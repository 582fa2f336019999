"""The ledger as a running process sees it: transactions on its entries, and a memory that never runs backwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from lapwing.ledger.book import Book, Clock, Memory
from lapwing.ledger.chain import Receipt, compare
from lapwing.ledger.store import Rows, Store
from lapwing.vocabulary.errors import LedgerRolledBackError


def now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)


class Chronicle:
    """Opens transactions on a store, and refuses a ledger that is older than one this process has already seen."""

    def __init__(self, store: Store, clock: Clock = now) -> None:
        self.store, self._clock = store, clock
        self._memory = Memory()
        self._seen: Receipt | None = None

    @contextmanager
    def reading(self) -> Iterator[Book]:
        """Open a block that sees one moment of the ledger."""
        with self.store.reading() as rows:
            book = self._book(rows)
            yield book
        self._learn(book)

    @contextmanager
    def writing(self, act: str) -> Iterator[Book]:
        """Open the one block that may append entries; leaving it commits."""
        with self.store.writing(act) as rows:
            book = self._book(rows)
            yield book
        self._learn(book)

    def _book(self, rows: Rows) -> Book:
        book = Book(rows, self._memory, self._clock)
        seen = self._seen
        if seen and seen.seq == book.last:
            compare(seen, ledger=book.ledger, last=book.last, found=book.head)
        elif seen:
            entry = book.entry(seen.seq) if seen.seq < book.last else None
            compare(seen, ledger=book.ledger, last=book.last, found=entry and entry.hash)
        return book

    def _learn(self, book: Book) -> None:
        """Keep what a transaction read or wrote, now that it is over; a slower thread may bring older news."""
        for kept, news in (
            (self._memory.accounts, book.news.accounts),
            (self._memory.populations, book.news.populations),
        ):
            for name, (seq, state) in news.items():  # type: ignore[attr-defined]
                if kept.get(name, (0, None))[0] <= seq:  # type: ignore[attr-defined]
                    kept[name] = (seq, state)  # type: ignore[index]
        if self._seen is None or self._seen.seq <= book.last:
            self._seen = book.receipt


def require_seen(book: Book, receipt: Receipt) -> None:
    """Refuse a ledger that is older than `receipt` or has another past."""
    entry = book.entry(receipt.seq)
    compare(receipt, ledger=book.ledger, last=book.last, found=entry and entry.hash)


__all__ = ["Chronicle", "LedgerRolledBackError", "now", "require_seen"]
