"""One chain of a ledger: that of a population, or the directory; checked when it is opened, and kept checked.

A chain has its own end, lock, head and checkpoint, and is read only when somebody asks about it.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Final

from lapwing.ledger.background_check import BackgroundCheck
from lapwing.ledger.checkpoint import EVERY, CheckpointFile, SealedEnd
from lapwing.ledger.database import Database
from lapwing.ledger.entries import REMEDY, Receipt, compare
from lapwing.ledger.questions import Questions
from lapwing.ledger.reservations import Reservations
from lapwing.ledger.store import Store
from lapwing.ledger.streams import Streams
from lapwing.vocabulary.errors import LedgerDamagedError

_FURTHER: Final = 100
"""A new checkpoint is also written when the directory was read further by this many entries."""


class Chain:
    """An open chain. `checkpoints` is where it is kept how far it was checked.

    Proof: proofs/ledger.md
    """

    def __init__(self, store: Store, checkpoints: CheckpointFile | None = None) -> None:
        self.store = store
        self._checkpoints, self._checked = checkpoints, 0
        self._followed: Receipt | None = None
        self.sealed: SealedEnd | None = None  # what the directory has sealed of it, as far as that was read
        self._sealed_until = 0  # and how far it was by the checkpoint

    @cached_property
    def questions(self) -> Questions:
        """One-shot questions."""
        return Questions(self.store)

    @cached_property
    def reservations(self) -> Reservations:
        """Several draws under one charge: opened, drawn in rounds, closed."""
        return Reservations(self.store)

    @cached_property
    def streams(self) -> Streams:
        """Questions of streams, which are the rounds of reservations."""
        return Streams(self.store)

    @property
    def name(self) -> str:
        """Its name in receipts."""
        return self.head().ledger

    @property
    def length(self) -> int:
        """The number of the last entry that this process has seen."""
        return 0 if self.store.seen is None else self.store.seen.seq

    def head(self) -> Receipt:
        """Return the receipt of the last entry."""
        with self.store.reading() as transaction:
            return transaction.receipt

    def require(self, receipt: Receipt) -> None:
        """Refuse to go on with a chain that is older than `receipt` or has another past."""
        with self.store.reading() as transaction:
            entry = transaction.entry(receipt.seq)
            compare(receipt, ledger=transaction.ledger, last=transaction.last, found=entry and entry.hash)

    def check(self, hold: Callable[["Chain"], None] | None = None) -> None:
        """Follow the chain from the checkpoint to its end; without one, all of it, and compare the indexes.

        `hold` holds it against what is known of it elsewhere, once it was followed, before its background check begins.
        """
        known = None if self._checkpoints is None else self._checkpoints.read()
        if known is not None and known.sealed is not None:
            self.sealed, self._sealed_until = known.sealed, known.sealed.until.seq
        if known is not None and self.store.begin_at(known):
            self._checked, self._followed = known.receipt.seq, known.followed
            self.head()
            if hold is not None:
                hold(self)
            self.store.background = BackgroundCheck.of(self.store.database, known)
        else:
            self._follow_whole()
            if hold is not None:
                hold(self)
            self._look_around()
            if self._checkpoints is not None:
                self.store.keep_keys(self._checkpoints.no_keys(), self._checkpoints.no_states())
        self._keep_checkpoint(is_opening=True)

    def _follow_whole(self) -> None:
        if self.store.said_length() < EVERY:  # a thread would take longer to begin
            self.store.inspect(beside=False)
            self.head()
            return
        with ThreadPoolExecutor(max_workers=1) as beside:  # each takes about as long, and they need a core each
            inspected = beside.submit(self.store.inspect)
            self.head()
            inspected.result()

    def _look_around(self) -> None:
        """Look up every state once while the indexes are known to be right, so that an older one is refused later."""
        with self.store.reading() as transaction:
            for name in transaction.populations():
                transaction.account(name)
                for analyst in transaction.population(name).analysts:
                    transaction.allowance(name, analyst)
            for name in transaction.open_reservations():
                transaction.reservation(name)

    def _keep_checkpoint(self, *, is_opening: bool = False) -> None:
        """Write a checkpoint if the chain was checked, or the directory read, further than before.

        It is deleted if damage was found. What the background check has followed is written when the chain is closed:
        nobody waits for that who opens it.
        """
        background, seen = self.store.background, self.store.seen
        if self._checkpoints is None:
            return
        if self.store.has_found_damage or (background is not None and background.has_failed):
            self._checkpoints.forget()
            return
        has_grown = seen is not None and seen.seq >= self._checked + EVERY
        sealed_until = 0 if self.sealed is None else self.sealed.until.seq
        has_grown |= sealed_until >= self._sealed_until + _FURTHER
        if has_grown or (not is_opening and background and self._is_further(background.followed)):
            checked = self.store.checked
            if checked is not None:
                self._checkpoints.write(replace(checked, sealed=self.sealed))
                self._checked, self._followed = checked.receipt.seq, checked.followed
                self._sealed_until = sealed_until

    def _is_further(self, followed: Receipt | None) -> bool:
        """Return whether the background check, which wraps around, has followed enough entries since the checkpoint."""
        if (background := self.store.background) is None:
            return False
        before, now = (0 if one is None else one.seq for one in (self._followed, followed))
        return (now - before) % background.until.seq >= EVERY

    def close(self) -> None:
        """Close files and connections."""
        if self.store.background is not None:
            self.store.background.leave()
        self._keep_checkpoint()
        self.store.background = None
        self.store.close()


def require_head(database: Database) -> None:
    """Refuse a chain whose head file is missing, if it had one from the beginning."""
    kept = database.head
    if database.keeps_head and kept and kept.promised() is None:
        raise LedgerDamagedError(
            f"{kept.path} is missing, and without it nobody knows how far the ledger had come: copy it with the "
            f"ledger, or {REMEDY}"
        )
