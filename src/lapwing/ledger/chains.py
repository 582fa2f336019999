"""The chains of a ledger: a directory, which says which population has which chain, and the chain of each.

Nothing spans two populations: each has its own entries, numbered from 1, its own end and lock, and its own head and
checkpoint. A population is founded by an entry of the directory, and the number of this entry is that of its chain. Its
receipts name it, `lapwing:LEDGER/CHAIN:NUMBER:HASH`, and those of the directory are `lapwing:LEDGER:NUMBER:HASH`.

A receipt of one chain says nothing about another. So the directory is sealed from time to time: an entry has the heads
of all chains that have grown since, and a Merkle root over the heads of all. Whoever keeps its receipt can tell later
that none of them was rolled back behind it.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import zip_longest
from threading import Lock, RLock
from typing import Final

from lapwing.ledger.chain import Chain, require_head
from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.database import Database
from lapwing.ledger.entries import Receipt, Record, chain_name, compare, genesis
from lapwing.ledger.store import Store
from lapwing.ledger.transaction import Clock, Transaction
from lapwing.vocabulary.codec import FORMAT
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError

_MOST_OPEN: Final = 16
"""Chains of one process that keep their connections; those of the others are opened again when they are asked."""
_FOUNDED: Final = """select record ->> 'founds', entries.seq, chains.seq
    from entries left join chains on chains.chain = entries.seq where record ->> 'founds' is not null"""
_ENDS: Final = "select chain, seq, hash from chains where chain > 0 order by chain"
_SEALS: Final = "where record ->> 'kind' = 'heads' and seq <= ? order by seq"
_HASH_AT: Final = """select seq, (
        select hash from all_entries where all_entries.chain = chains.chain and all_entries.seq = ?)
    from chains where chain = ?"""
_MADE: Final = "insert into chains (chain, name, version, seq, hash) values (?, ?, ?, 0, ?)"


class Chains:
    """The open chains of one ledger, each opened and checked when it is asked for the first time."""

    def __init__(self, database: Database, clock: Clock, checkpoints: CheckpointFile | None = None) -> None:
        self.database, self._clock, self._checkpoints = database, clock, checkpoints
        self.directory = Chain(Store(database, clock), checkpoints)
        self._chains, self._only = dict[str, Chain](), ""
        self._lock, self._openings = RLock(), dict[str, Lock]()

    def open(self) -> None:
        """Open the directory, after it was checked."""
        self.directory.store.require_format()
        require_head(self.database)
        self.directory.check()

    def names(self) -> list[str]:
        """Return the names of all populations."""
        with self.directory.store.reading() as transaction:
            founded = {str(name): (number, last) for name, number, last in transaction.all(_FOUNDED)}
        for name in self._chains:
            if not founded.get(name, (0, 0))[1]:
                raise LedgerDamagedError(f"the chain of population {name!r} is not found any more")
        for name, (number, last) in founded.items():
            if last is None:
                raise LedgerDamagedError(f"the row that names the ledger is missing: that of population {name!r}")
            if not last:  # whoever founded it died before it was made; or it was rolled back, which its head shows
                self._chain(number).close()
        return sorted(name for name, (_, last) in founded.items() if last)

    def only(self) -> str:
        """Return the name of the only population there is; where there are several, one has to be named."""
        if not self._only:
            names = self.names()
            if len(names) != 1:
                known = ", ".join(names) or "none"
                raise ParameterError("population", None, reason="is not named", remedy=f"name one of these: {known}")
            (self._only,) = names
        return self._only

    @property
    def has_one(self) -> bool:
        """Whether there is one population."""
        return bool(self._only) or len(self.names()) == 1

    def size(self) -> int:
        """Return how many entries there are about all populations."""
        with self.directory.store.reading() as transaction:
            return sum(seq for _, seq, _ in transaction.all(_ENDS))

    def store(self, population: str) -> Store:
        """Return where the entries of a population are."""
        return self.of(population).store

    def of(self, population: str) -> Chain:
        """Return the chain of a population."""
        with self._lock:
            opening = self._openings.setdefault(population, Lock())
        with opening:  # one that is slow to open keeps nobody waiting who asks about another
            chain = self._chains.get(population) or self._opened(population)
        with self._lock:
            self._chains.pop(population, None)
            for idle in [*self._chains.values()][: 1 - _MOST_OPEN]:
                idle.store.close()
            self._chains[population] = chain  # the last one that was asked comes last
            return chain

    def _opened(self, population: str) -> Chain:
        number = self._number(population)
        chain = None if number is None else self._chain(number)
        if chain is None or not chain.head().seq:
            if chain is not None:
                chain.close()
            known = ", ".join(self.names()) or "none"
            raise ParameterError("population", population, reason="is not in this ledger", remedy=f"these are: {known}")
        return chain

    def _number(self, population: str) -> int | None:
        """Return the number of the chain of a population, if it was founded."""
        with self.directory.store.reading() as transaction:
            return transaction.chain(population)

    def _chain(self, number: int) -> Chain:
        store = Store(self.database.chain(number), self._clock, above=self.directory.store)
        chain = Chain(store, self._checkpoints and self._checkpoints.chain(number))
        require_head(store.database)
        chain.check()
        return chain

    def found(self, population: str) -> Chain:
        """Return the chain of a population that is to be created: a new one, unless it was founded before."""
        with self._lock, self.directory.store.writing("found") as transaction:
            transaction.follow()
            number = transaction.chain(population)
            if number is None:
                number = transaction.append("founding", founds=population).seq
                name = chain_name(transaction.ledger, number)
                transaction.do(_MADE, number, name, FORMAT, genesis(name))
                if (head := self.database.chain(number).head) is not None:
                    head.begin(name)
            has_lost = bool(transaction.some("where record ->> 'kind' = 'note' limit 1"))
        with self._lock:
            chain = self._chains.get(population) or self._chain(number)
            if has_lost and not chain.head().seq:
                with chain.store.writing("rollback") as transaction:
                    transaction.append("note", by="custodian", remark="the ledger lost entries before this chain began")
            self._chains[population] = chain
            self._only = ""
            return chain

    def name_of(self, number: int) -> str:
        """Return the name of the population whose chain has this number."""
        with self.directory.store.reading() as transaction:
            founding = transaction.must(number).record if 0 < number <= transaction.last else {}
        if "founds" not in founding:
            raise ParameterError("chain", number, reason="is no chain of this ledger", remedy="look at its receipts")
        return str(founding["founds"])

    def seal(self) -> Receipt:
        """Write down the heads of all chains that have grown, and a root over all; return the receipt to keep.

        A chain that is older than it was when it was sealed the last time is refused.
        """
        with self.directory.store.writing("seal") as transaction:
            sealed = _sealed(transaction, transaction.last)
            _require_sealed(transaction, sealed)
            ends = {int(chain): f"{seq}:{bytes(hash_).hex()}" for chain, seq, hash_ in transaction.all(_ENDS)}
            grown = {str(chain): end for chain, end in ends.items() if sealed.get(chain) != end}
            if grown:
                transaction.append("heads", heads=grown, root=merkle_root(ends).hex())
            return transaction.receipt

    def require(self, receipt: Receipt) -> None:
        """Refuse to go on if the chain of a receipt is older than it, or any chain is older than when it was sealed."""
        with self.directory.store.reading() as transaction:
            ledger = transaction.ledger
            numbers = {chain_name(ledger, int(number)): int(number) for number, _, _ in transaction.all(_ENDS)}
        if receipt.ledger not in numbers:
            self.directory.require(receipt)
            with self.directory.store.reading() as transaction:
                _require_sealed(transaction, _sealed(transaction, receipt.seq))
            return
        self.of(self.name_of(numbers[receipt.ledger])).require(receipt)

    def __iter__(self) -> Iterator[tuple[str, Chain]]:
        """Yield all populations with their chains."""
        return ((name, self.of(name)) for name in self.names())

    def close(self) -> None:
        """Close all chains."""
        for chain in [*self._chains.values(), self.directory]:
            chain.close()
        self._chains.clear()
        self.directory.store.gate.close()


def sealed_by(ledger: str, record: Record) -> list[Receipt]:
    """Return the heads that an entry of the directory has sealed."""
    parts = [(int(chain), end.partition(":")) for chain, end in record.get("heads", {}).items()]
    return [Receipt(ledger=chain_name(ledger, chain), seq=int(seq), hash=hash_) for chain, (seq, _, hash_) in parts]


def _sealed(transaction: Transaction, until: int) -> dict[int, str]:
    """Return the heads that were sealed up to an entry of the directory."""
    sealed: dict[int, str] = {}
    for entry in transaction.some(_SEALS, until):
        sealed.update({int(chain): end for chain, end in transaction.must(entry.seq).record["heads"].items()})
    return sealed


def _require_sealed(transaction: Transaction, sealed: Mapping[int, str]) -> None:
    """Refuse a ledger in which a chain is older than it was sealed, or has another past."""
    for chain, end in sealed.items():
        (receipt,) = sealed_by(transaction.ledger, {"heads": {chain: end}})
        last, found = transaction.one(_HASH_AT, receipt.seq, chain) or (0, None)
        compare(receipt, ledger=receipt.ledger, last=last, found=found and bytes(found))


def merkle_root(ends: Mapping[int, str]) -> bytes:
    """Return the root over the heads of chains, in the order of their numbers.

    >>> merkle_root({1: "7:ab"}) == sha256(b"lapwing head 1" + bytes([10]) + b"1:7:ab").digest()
    True
    >>> merkle_root({1: "7:ab", 2: "3:cd"}) == merkle_root({1: "7:ab", 2: "4:cd"})
    False
    """
    level = [sha256(f"lapwing head 1\n{chain}:{end}".encode()).digest() for chain, end in sorted(ends.items())]
    while len(level) > 1:
        pairs = zip_longest(level[::2], level[1::2])
        level = [one if two is None else sha256(b"lapwing heads 1\n" + one + two).digest() for one, two in pairs]
    return level[0] if level else sha256(b"lapwing heads 1\n").digest()
