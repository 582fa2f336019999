"""The chains of a ledger: a directory, which says which population has which chain, and the chain of each.

Nothing spans two populations: each has its own entries, numbered from 1, its own end and lock, and its own head and
checkpoint. A population is founded by an entry of the directory, and the number of this entry is that of its chain. Its
receipts name it, `lapwing:LEDGER/CHAIN:NUMBER:HASH`, and those of the directory are `lapwing:LEDGER:NUMBER:HASH`.

A receipt of one chain says nothing about another. So the directory is sealed from time to time: an entry has the heads
of all chains that have grown since, and a Merkle root over the heads of all that were founded by then, so that `verify`
misses one that was left out. Whoever keeps its receipt can tell later that none of them was rolled back behind it.
The first end of a population is sealed when it is created, and its last when it moves away.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import zip_longest
from threading import Lock, RLock
from typing import Final, NamedTuple

from lapwing.ledger.chain import Chain, require_head
from lapwing.ledger.checkpoint import CheckpointFile, SealedEnd
from lapwing.ledger.database import Database
from lapwing.ledger.entries import Receipt, Record, chain_name, compare, genesis, link
from lapwing.ledger.store import Store
from lapwing.ledger.transaction import Clock, Transaction
from lapwing.vocabulary.codec import FORMAT, parse
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerInDoubtError,
    LedgerRolledBackError,
    LedgerUnwritableError,
    ParameterError,
)
from lapwing.vocabulary.lifetime import closing_on_failure

_MOST_OPEN: Final = 16
"""Chains of one process that keep their connections; those of the others are opened again when they are asked."""
_FOUNDED: Final = """select record ->> 'founds', entries.seq, record ->> 'chain', chains.name, chains.seq
    from entries left join chains on chains.chain = entries.seq where record ->> 'founds' is not null"""
_EMPTIED: Final = """select record ->> 'founds' from entries left join chains on chains.chain = entries.seq
    where record ->> 'founds' is not null and coalesce(chains.seq, 0) = 0"""
_CHAINS: Final = "select count(*) from chains where chain > 0"
_NUMBERS: Final = "select seq from entries where record ->> 'founds' is not null"
_ROWS: Final = "select chain from chains where chain > 0"
_SOME: Final = """select record ->> 'founds' from entries left join chains on chains.chain = entries.seq
    where record ->> 'founds' is not null and coalesce(chains.seq, 1) > 0 limit 2"""
_SOME_FOUNDED: Final = "select seq from entries where record ->> 'founds' is not null limit 2"
_ENDS: Final = "select chain, seq, hash from chains where chain > 0 order by chain"
_SAID: Final = "select chain, seq, hash from chains"
_END: Final = "select chain, seq, hash from chains where chain = ?"
_SIZE: Final = "select coalesce(sum(seq), 0) from chains where chain > 0"
_LAST: Final = """select record ->> 'founds', entries.seq, chains.seq, chains.hash
    from entries join chains on chains.chain = entries.seq where record ->> 'founds' is not null and chains.seq > 0"""
_DECIDED: Final = """select chain, max(seq) from all_entries
    where record ->> 'policy' is not null and chain in ({}) group by chain"""
_SEALS: Final = """select seq, body, hash, (select hash from entries as before where before.seq = entries.seq - 1)
    from entries where record ->> 'kind' = 'heads' and seq > ? and seq <= ? order by seq limit 1000"""
_CAME: Final = "where record ->> 'founds' is not null and record ->> 'chain' = ? limit 1"
_ARRIVED: Final = "select seq, record ->> 'since' from entries where record ->> 'since' is not null"
_LAST_SEAL: Final = "where record ->> 'kind' = 'heads' order by seq desc limit 1"
_AT_ONCE: Final = 2000
"""Chains of one statement."""
_HASHES_AT: Final = """with said(chain, seq) as (values {})
    select said.chain, chains.name, chains.seq, (
        select hash from all_entries where all_entries.chain = said.chain and all_entries.seq = said.seq)
    from said left join chains on chains.chain = said.chain order by said.chain"""
_MADE: Final = "insert into chains (chain, name, version, seq, hash) values (?, ?, ?, 0, ?)"


class Founded(NamedTuple):
    """A population as the directory has it: the number of its chain, the name of that in receipts, and its last entry.

    A chain has the number 0 of a last entry until its population was created.
    """

    number: int
    name: str
    last: int


class ChainEnd(NamedTuple):
    """The end of a chain as its row says: the number of the chain, that of its last entry, and the hash of this."""

    number: int
    seq: int
    hash: bytes


class Seal(NamedTuple):
    """What the next seal says: the heads that are others than were sealed before, by the ends of all chains."""

    heads: Mapping[int, str]
    ends: Mapping[int, str]

    @classmethod
    def of(cls, transaction: Transaction, sealed: Mapping[int, str]) -> "Seal":
        """Return what is to be sealed by the rows of all chains, which are not believed: it can never be mended."""
        ends = {int(chain): leaf(seq, hash_) for chain, seq, hash_ in transaction.all(_ENDS)}
        heads = {chain: end for chain, end in ends.items() if end != sealed.get(chain, leaf(0))}
        if heads or sealed.keys() - ends.keys():
            _founded(transaction)
            _require_entries(transaction, heads)
        return cls(heads, ends)

    def write(self, transaction: Transaction) -> None:
        """Write the seal into the directory."""
        heads = {str(chain): end for chain, end in self.heads.items()}
        transaction.append("heads", heads=heads, root=merkle_root(self.ends).hex())


class Chains:
    """The open chains of one ledger, each opened and checked when it is asked for the first time.

    A chain that is older than it was sealed is refused, unless this `accepts_loss`.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        checkpoints: CheckpointFile | None = None,
        *,
        accepts_loss: bool = False,
    ) -> None:
        self.database, self._clock, self._checkpoints = database, clock, checkpoints
        self._accepts_loss = accepts_loss
        self.directory = Chain(Store(database, clock, called="the directory"), checkpoints)
        self._chains, self._only, self._looked_at = dict[str, Chain](), "", -1
        self._awake, self._rested = dict[str, Chain](), 0  # those that have connections, and how many were put to rest
        self._newest: tuple[str, Chain | None] = "", None  # the one that was asked last
        # The last end of each chain that entries of the directory have sealed: those after a number, up to an entry.
        self._sealed, self._sealed_after = dict[int, str](), 0
        self._sealed_at: Receipt | None = None
        self._begin()

    def _begin(self) -> None:
        self._lock, self._founding, self._openings = RLock(), RLock(), dict[str, Lock]()
        self._sealing = Lock()  # the seals are read under it, inside a transaction
        self._process = os.getpid()

    def open(self) -> None:
        """Open the directory, after it was checked, and where there is one population, its chain."""
        self.directory.store.require_format()
        require_head(self.database)
        self.directory.check()
        if self.has_one and self.names():
            self.of(self._only)

    def names(self) -> list[str]:
        """Return the names of all populations."""
        return sorted(name for name, one in self.founded().items() if one.last)

    def founded(self) -> dict[str, Founded]:
        """Return all populations that were founded; each of them has its chain, and there are no others."""
        begun = frozenset(self._chains)  # before it reads: another may be created while it does
        with self.directory.store.reading() as transaction:
            founded = _founded(transaction)
        for population, one in founded.items():
            if population in begun and not one.last:
                raise LedgerDamagedError(f"the chain of population {population!r} is not found any more")
            if not one.last:  # whoever founded it died before it was made; or it was rolled back, which its head shows
                self._chain(one.number, one.name, population).close()
        return founded

    def only(self) -> str:
        """Return the name of the only population there is; where there are several, one has to be named."""
        if not self.has_one:
            known = ", ".join(self.names()) or "none"
            raise ParameterError("population", None, reason="is not named", remedy=f"name one of these: {known}")
        return self._only

    @property
    def has_one(self) -> bool:
        """Whether there is one population now."""
        seen = self.directory.store.look().seq
        if seen != self._looked_at:
            with self.directory.store.reading() as transaction:
                names = [str(name) for (name,) in transaction.all(_SOME)]
                is_settled = len(names) == len(transaction.all(_SOME_FOUNDED))  # one that is founded may be created yet
            self._only, self._looked_at = names[0] if len(names) == 1 else "", seen if is_settled else -1
        return bool(self._only)

    def size(self) -> int:
        """Return how many entries there are about all populations."""
        with self.directory.store.reading() as transaction:
            ((size,),) = transaction.all(_SIZE)
            return int(size)

    def ends(self) -> dict[str, ChainEnd]:
        """Return the ends of all chains that have entries, by their populations, found by one statement.

        No chain is opened and none is checked: it tells which have grown, and damage of one says nothing about others.
        """
        with self.directory.store.reading() as transaction:
            rows = transaction.all(_LAST)
        return {str(name): ChainEnd(int(number), int(seq), bytes(hash_)) for name, number, seq, hash_ in rows}

    def emptied(self) -> list[str]:
        """Return the populations that were founded and whose rows are gone, or say that they have no entries."""
        with self.directory.store.reading() as transaction:
            return [str(name) for (name,) in transaction.all(_EMPTIED)]

    def last_decisions(self, numbers: Sequence[int]) -> dict[int, int]:
        """Return the last entries of these chains that decided something: as they are found, and not checked."""
        found: dict[int, int] = {}
        with self.directory.store.reading() as transaction:
            for first in range(0, len(numbers), _AT_ONCE):
                some = numbers[first : first + _AT_ONCE]
                found.update(transaction.all(_DECIDED.format(", ".join("?" * len(some))), *some))
        return found

    def has(self, population: str) -> bool:
        """Return whether a population was created. The others are not looked at, and may be damaged."""
        if population in self._chains:
            return True
        with self.directory.store.reading() as transaction:
            founding, ledger = transaction.founding(population), transaction.ledger
            row = None if founding is None else transaction.one(_END, founding["seq"])
        if founding is not None and (row is None or not row[1]):  # its head shows whether it ever had entries
            self._chain(founding["seq"], name_of(ledger, founding), population).close()
        return row is not None and bool(row[1])

    def store(self, population: str) -> Store:
        """Return where the entries of a population are."""
        return self.of(population).store

    def of(self, population: str) -> Chain:
        """Return the chain of a population."""
        if self._process != os.getpid():  # the threads that held the locks are in the parent of the fork
            self._begin()
        name, newest = self._newest
        if newest is not None and name == population:
            return newest
        with self._lock:
            opening = self._openings.setdefault(population, Lock())
        with opening:  # one that is slow to open keeps nobody waiting who asks about another
            chain = self._chains.get(population) or self._opened(population)
        self._keep(population, chain)
        return chain

    def _keep(self, population: str, chain: Chain) -> None:
        """Keep a chain that has entries, and its connections, as long as it is one of the last that were asked."""
        with self._lock:
            self._chains[population] = chain
            self._awake.pop(population, None)
            self._awake[population] = chain  # the last one that was asked comes last
            self._newest = population, chain
            idle = {name: self._awake.pop(name) for name in [*self._awake][:-_MOST_OPEN]}
            self._rested += len(idle)
            if self._rested > len(self._chains):  # now and then those, too, that were used after they were put to rest
                self._rested = 0
                self._awake.update({name: one for name, one in self._chains.items() if one.store.is_open})
        for name, one in idle.items():  # outside the lock: one that is being read keeps nobody waiting, and stays open
            if not one.store.rest():
                with self._lock:
                    self._awake.setdefault(name, one)

    def _opened(self, population: str) -> Chain:
        with self.directory.store.reading() as transaction:
            founding, ledger = transaction.founding(population), transaction.ledger
        chain = None if founding is None else self._chain(founding["seq"], name_of(ledger, founding), population)
        if chain is None or not chain.length:
            if chain is not None:
                chain.close()
            known = ", ".join(self.names()) or "none"
            raise ParameterError("population", population, reason="is not in this ledger", remedy=f"these are: {known}")
        if founding is not None and "since" in founding:
            with closing_on_failure(chain):
                chain.require(Receipt.parse(founding["since"]))
        return chain

    def _chain(self, number: int, name: str, population: str) -> Chain:
        """Return a chain, after it was checked."""
        chain = self.unchecked(number, name, population)
        with closing_on_failure(chain), _naming(name, population):
            require_head(chain.store.database)
            chain.check(None if self._accepts_loss else partial(self._hold, name))
        return chain

    def _hold(self, name: str, chain: Chain) -> None:
        """Refuse a chain that went back behind its last seal."""
        sealed = self._last_sealed(chain.store.database.number, chain.sealed)
        if sealed.end not in {"", leaf(0)}:
            chain.require(sealed_end(name, sealed.end))
        chain.sealed = sealed

    def unchecked(self, number: int, name: str, population: str) -> Chain:
        """Return a chain, as it is."""
        called = _called(name, population)
        store = Store(self.database.chain(number), self._clock, above=self.directory.store, name=name, called=called)
        return Chain(store, self._checkpoints and self._checkpoints.chain(number))

    def unopened(self, until: int) -> list[tuple[Chain, Receipt]]:
        """Return the chains of all populations that an entry of the directory knows, with the ends that their rows say.

        None is opened: what is checked here is that each has its head and the end that was sealed, and the end with
        which it came. Whoever reads them follows them.
        """
        founded = {name: one for name, one in self.founded().items() if one.last and one.number <= until}
        with self._founding, self.directory.store.reading() as transaction:
            _require_sealed(transaction, self._sealed_until(transaction, until))
            ends = {int(chain): leaf(seq, hash_) for chain, seq, hash_ in transaction.all(_SAID)}
        self.require_arrived()
        chains = []
        for population, one in sorted(founded.items()):
            with _naming(one.name, population):
                chain = self.unchecked(one.number, one.name, population)
                require_head(chain.store.database)
                chains.append((chain, sealed_end(one.name, ends[one.number])))
        return chains

    @contextmanager
    def found(self, population: str) -> Iterator[Chain]:
        """Give the chain of a population that is to be created: a new one, unless it was founded before.

        Its first end is sealed, so that one which was put back to nothing, with its head, is not taken for a new one.
        """
        with self._founding:
            with self.directory.store.writing("found") as transaction:
                founding = transaction.founding(population)
                if founding is None:
                    founding = transaction.append("founding", founds=population).record
                    self.make(transaction, founding)
                else:  # one that was put back to nothing, with its head, is refused before anything is written to it
                    number, sealed = int(founding["seq"]), self._sealed_until(transaction, transaction.last)
                    _require_sealed(transaction, {number: sealed[number]} if number in sealed else {})
                has_lost, ledger = has_lost_entries(transaction), transaction.ledger
            chain = self._chains.get(population) or self._chain(founding["seq"], name_of(ledger, founding), population)
            if has_lost and not chain.length:
                with chain.store.writing("rollback") as transaction:
                    transaction.append("note", by="custodian", remark="the ledger lost entries before this chain began")
        try:
            yield chain
            with suppress(LedgerUnwritableError, LedgerInDoubtError):  # it was created, and the next seal has its end
                self.seal_one(population)
        finally:
            if chain.length and self._chains.get(population, chain) is chain:
                self._keep(population, chain)
            else:  # it was not created, or another thread was faster
                chain.close()

    def make(self, transaction: Transaction, founding: Record) -> Database:
        """Make the chain of a founding entry, empty, and its head; return where it is."""
        place, name = self.database.chain(founding["seq"]), name_of(transaction.ledger, founding)
        transaction.do(_MADE, place.number, name, FORMAT, genesis(name))
        if place.head is not None:
            place.head.begin(name)
        return place

    def population_of(self, number: int) -> str:
        """Return the name of the population whose chain has this number."""
        with self.directory.store.reading() as transaction:
            founding = transaction.must(number).record if 0 < number <= transaction.last else {}
        if "founds" not in founding:
            raise ParameterError("chain", number, reason="is no chain of this ledger", remedy="look at its receipts")
        return str(founding["founds"])

    def seal(self, *, unless_within: float = 0) -> Receipt:
        """Write down the heads of all chains that have grown, and a root over all; return the receipt to keep.

        A chain that is older than it was when it was sealed the last time is refused. Where nothing has grown, or any
        host has sealed within the last `unless_within` seconds, nothing is written. All is looked at before the
        writing begins, so that nobody who charges waits for it.
        """
        with self._founding:
            with self.directory.store.reading() as transaction:
                end, due = transaction.receipt, self._due(transaction, unless_within)
            if due is None:
                return end
            with self.directory.store.writing("seal") as transaction:
                if transaction.receipt != end:  # another host has sealed meanwhile, or founded a population
                    due = self._due(transaction, unless_within)
                if due is not None:
                    due.write(transaction)
                return transaction.receipt

    def _due(self, transaction: Transaction, unless_within: float) -> "Seal | None":
        """Return what is to be sealed now; `None` if nothing is."""
        if unless_within > 0 and (last := next(iter(transaction.some(_LAST_SEAL)), None)) is not None:
            age = (self._clock() - datetime.fromisoformat(last.record["at"])).total_seconds()
            if 0 <= age < unless_within:  # the clock of another host may be ahead
                return None
        sealed = self._sealed_until(transaction, transaction.last)
        due = Seal.of(transaction, sealed)
        if lost := {chain: end for chain, end in sealed.items() if chain in due.heads or chain not in due.ends}:
            _require_sealed(transaction, lost)
        return due if due.heads else None

    def seal_one(self, population: str) -> Receipt:
        """Write down the head of one chain, whatever has become of the others; return the receipt of the directory."""
        with self._founding, self.directory.store.writing("seal") as transaction:
            founding = transaction.founding(population)
            number = 0 if founding is None else int(founding["seq"])
            sealed = self._sealed_until(transaction, transaction.last)
            heads = {chain: leaf(seq, hash_) for chain, seq, hash_ in transaction.all(_END, number)}
            _require_sealed(transaction, {number: sealed[number]} if number in sealed else {})
            _require_entries(transaction, heads)
            if heads and heads != {number: sealed.get(number, leaf(0))}:
                Seal(heads, dict.fromkeys(_numbers(transaction), leaf(0)) | sealed | heads).write(transaction)
            return transaction.receipt

    def note_loss(self, note: Callable[[Transaction], None]) -> Receipt:
        """Note a loss in the directory, and seal the ends that there are: they take the place of all sealed before.

        Every chain that has entries has just got a note, so that none of them goes back behind it unnoticed.
        """
        with self._founding, self.directory.store.writing("rollback") as transaction:
            sealed = self._sealed_until(transaction, transaction.last)
            note(transaction)
            if (due := Seal.of(transaction, sealed)).heads:
                due.write(transaction)
            return transaction.receipt

    def require(self, receipt: Receipt) -> None:
        """Refuse to go on if the chain of a receipt is older than it, or any chain is older than when it was sealed."""
        with self.directory.store.reading() as transaction:
            founding = _founding_of(transaction, receipt.ledger)
        if founding is not None:  # the others are not looked at, and may be damaged
            self.of(founding["founds"]).require(receipt)
            return
        self.directory.require(receipt)
        with self._founding, self.directory.store.reading() as transaction:
            _require_sealed(transaction, self._sealed_until(transaction, receipt.seq))

    def require_arrived(self) -> None:
        """Refuse a ledger in which a chain that moved here lacks the end with which it came, or has another past."""
        with self.directory.store.reading() as transaction:
            for number, since in transaction.all(_ARRIVED):
                end = Receipt.parse(since)
                _require_sealed(transaction, {int(number): leaf(end.seq, bytes.fromhex(end.hash))})

    def _sealed_until(self, transaction: Transaction, until: int) -> dict[int, str]:
        """Return the heads that were sealed up to an entry of the directory."""
        with self._sealing:
            if self._sealed_at is not None and until < self._sealed_at.seq:
                return _read_seals(transaction, 0, until)
            self._read_on(transaction, 0, until)
            return dict(self._sealed)

    def _last_sealed(self, number: int, known: SealedEnd | None) -> SealedEnd:
        """Return the last head of a chain that was sealed, if any ever was; it goes on from what a checkpoint knew.

        That is believed if the directory still has the entry up to which it was read.
        """
        with self.directory.store.reading() as transaction, self._sealing:
            before = None if known is None else transaction.hash_of(known.until.seq)
            if known is None or before is None or before.hex() != known.until.hash:
                known = SealedEnd(Receipt(ledger=transaction.ledger, seq=0, hash=genesis(transaction.ledger).hex()), "")
            self._read_on(transaction, known.until.seq, transaction.last)
            return SealedEnd(transaction.receipt, self._sealed.get(number, known.end))

    def _read_on(self, transaction: Transaction, after: int, until: int) -> None:
        """Know the heads that were sealed after an entry of the directory, up to another; each is read once."""
        if self._sealed_at is None:
            self._sealed_after, self._sealed_at = after, _receipt_at(transaction, after)
        if after < self._sealed_after:
            self._sealed = _read_seals(transaction, after, self._sealed_after) | self._sealed
            self._sealed_after = after
        if until > self._sealed_at.seq:
            self._sealed |= _read_seals(transaction, self._sealed_at.seq, until)
            self._sealed_at = _receipt_at(transaction, until)

    def __iter__(self) -> Iterator[tuple[str, Chain]]:
        """Yield all populations with their chains."""
        return ((name, self.of(name)) for name in self.names())

    def close(self) -> None:
        """Close all chains."""
        for chain in [*self._chains.values(), self.directory]:
            if chain.sealed is not None and self._sealed_at is not None:  # what was sealed since it was opened is known
                end = self._sealed.get(chain.store.database.number, chain.sealed.end)
                chain.sealed = max(chain.sealed, SealedEnd(self._sealed_at, end), key=lambda one: one.until.seq)
            chain.close()
        self._chains.clear()
        self._awake.clear()
        self._newest = "", None
        self.directory.store.gate.close()


def _population_of(directory: Transaction, number: int) -> str:
    entry = directory.entry(number)
    return "" if entry is None else str(entry.record.get("founds", ""))


def _called(name: str, population: str) -> str:
    """Return what people call a chain."""
    return f"chain {name} (population {population!r})"


@contextmanager
def _naming(name: str, population: str) -> Iterator[None]:
    """Let whatever is wrong with a chain name it."""
    try:
        yield
    except (LedgerDamagedError, LedgerRolledBackError) as error:
        error.name(_called(name, population))
        raise


def has_lost_entries(directory: Transaction) -> bool:
    """Return whether the directory notes that entries were lost."""
    return bool(directory.some("where record ->> 'kind' = 'note' limit 1"))


def _read_seals(directory: Transaction, after: int, until: int) -> dict[int, str]:
    """Return the last end of each chain that was sealed after an entry of the directory, up to another."""
    sealed = dict[int, str]()
    while rows := directory.all(_SEALS, after, until):
        for seq, body, hash_, before in rows:
            if before is None or link(bytes(before), body) != bytes(hash_):
                raise LedgerDamagedError("is not what was written: it does not hang on the entry before it", seq=seq)
            sealed |= {int(chain): end for chain, end in parse(body)["heads"].items()}
        after = rows[-1][0]
    return sealed


def _receipt_at(directory: Transaction, seq: int) -> Receipt:
    hash_ = directory.hash_of(seq) or b""
    return Receipt(ledger=directory.ledger, seq=seq, hash=hash_.hex())


def name_of(ledger: str, founding: Record) -> str:
    """Return the name of a chain in receipts: one that has moved here keeps the name that it had where it began."""
    return str(founding.get("chain") or chain_name(ledger, founding["seq"]))


def _founding_of(directory: Transaction, name: str) -> Record | None:
    """Return the entry that founded the chain of this name, if there is one."""
    ledger, _, number = name.partition("/")
    if ledger == directory.ledger and number.isdecimal() and int(number) <= directory.last:
        seq = int(number)
    else:
        came = next(iter(directory.some(_CAME, name)), None)
        seq = 0 if came is None else came.seq
    record = directory.must(seq).record if seq else {}
    return record if "founds" in record and name_of(directory.ledger, record) == name else None


def _founded(directory: Transaction) -> dict[str, Founded]:
    """Return all populations that were founded; refuse rows of chains that are not theirs."""
    founded = dict[str, Founded]()
    for population, number, given, name, last in directory.all(_FOUNDED):
        if name != (given or chain_name(directory.ledger, number)):
            raise LedgerDamagedError(f"the row of the chain of population {population!r} is missing, or another's")
        founded[str(population)] = Founded(int(number), str(name), int(last))
    ((made,),) = directory.all(_CHAINS)
    if made != len(founded):
        reason = f"there are {made} chains, and {len(founded)} are found that were founded"
        raise LedgerDamagedError(f"{reason}: an index of the database is damaged, or one was added by hand")
    return founded


def _numbers(directory: Transaction) -> set[int]:
    """Return the numbers of all chains that were founded; where their rows say something else, by all entries."""
    numbers = {int(number) for (number,) in directory.all(_NUMBERS)}
    if numbers != {int(number) for (number,) in directory.all(_ROWS)}:
        return {entry.seq for entry in directory.entries() if entry.record["kind"] == "founding"}
    return numbers


def _require_sealed(transaction: Transaction, sealed: Mapping[int, str]) -> None:
    """Refuse a ledger in which a chain is older than it was sealed, or has another past."""
    for chain, name, last, found in _hashes_at(transaction, sealed):
        named = name or chain_name(transaction.ledger, chain)
        promised = sealed_end(named, sealed[chain])
        is_there = (last or 0) >= promised.seq  # a row that says less is believed: nobody reads what comes after it
        try:
            compare(promised, ledger=named, last=last or 0, found=found if is_there else None)
        except LedgerRolledBackError as error:
            error.name(_called(named, _population_of(transaction, chain)))
            raise


def _require_entries(transaction: Transaction, ends: Mapping[int, str]) -> None:
    """Refuse the ends that the rows of chains say, where one is none of its entries."""
    for chain, name, last, found in _hashes_at(transaction, ends):
        if found is None or found.hex() != sealed_end("", ends[chain]).hash:
            called = _called(str(name), _population_of(transaction, chain))
            raise LedgerDamagedError(f"it does not end with entry {last}, as its row says", chain=called)


def _hashes_at(
    transaction: Transaction, ends: Mapping[int, str]
) -> Iterator[tuple[int, str | None, int | None, bytes | None]]:
    """Yield chains with their names, their last entries and the hashes of their entries at these ends, if any."""
    places = [(int(chain), sealed_end("", end).seq) for chain, end in ends.items() if end != leaf(0)]  # 0: all is lost
    for begin in range(0, len(places), _AT_ONCE):
        said = ", ".join(f"({chain}, {seq})" for chain, seq in places[begin : begin + _AT_ONCE])
        for chain, name, last, found in transaction.all(_HASHES_AT.format(said)):
            yield int(chain), name, last, bytes(found) if found else None


def sealed_end(name: str, end: str) -> Receipt:
    """Return the end of a chain as it was sealed."""
    seq, _, hash_ = end.partition(":")
    return Receipt(ledger=name, seq=int(seq), hash=hash_)


def leaf(seq: int, hash_: bytes = b"") -> str:
    """Return the end of a chain as it is sealed."""
    return f"{seq}:{bytes(hash_).hex() if seq else ''}"


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
