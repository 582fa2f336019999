"""Checking a ledger without taking its word: every hash, every rule and every sum, from the first entry on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from lapwing.ledger.chain import Receipt, checked
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.replay import Replay
from lapwing.vocabulary.results import Result

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verification(Result):
    """What was found to be true: the ledger is sound up to `head`, and contains what `receipts` receipts say."""

    entries: int
    head: Receipt
    receipts: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"sound": True, "entries": self.entries, "receipts": self.receipts, "head": str(self.head)}

    def facts(self) -> list[tuple[str, str | None]]:
        """Return what was found and what to keep, in words."""
        return [("sound", str(self)), ("keep", str(self.head))]

    def __repr__(self) -> str:
        return f"<verification: {self}>"

    def __str__(self) -> str:
        agree = "the receipt agrees" if self.receipts == 1 else f"all {self.receipts} receipts agree"
        return f"{self.entries:,} entries{f', and {agree}' if self.receipts else ''}"


def verify(ledger: Ledger, receipts: Iterable[Receipt] = (), progress: Progress | None = None) -> Verification:
    """Check everything there is to check.

    Parameters
    ----------
    receipts : receipts from other hands; the ledger must contain what each of them says
    progress : told how many entries of how many are checked

    Raises
    ------
    LedgerDamagedError : with the number of the first entry that is wrong
    LedgerRolledBackError : the ledger is older than a receipt or has another past
    """
    shown = list(receipts)
    for receipt in shown:
        ledger.require(receipt)
    ledger.store.inspect()
    replay = Replay()
    with ledger.chronicle.reading() as book:
        for entry in checked(book.ledger, book.entries(), last=book.last, head=book.head):
            replay.read(entry)
            if progress:
                progress(entry.seq, book.last)
        return Verification(entries=book.last, head=book.receipt, receipts=len(shown))
