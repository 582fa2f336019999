"""A population moves to another ledger: its chain is exported where it was, and goes on where it is imported.

Where it was, its chain ends with an entry that names the ledger it moves to, and nothing is charged there any more.
The export is imported in that ledger and in no other, once; the chain keeps its name, so that receipts stay valid. A
step that was interrupted is done again: it finds what it left.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from lapwing.ledger.administration import decide_in
from lapwing.ledger.chains import Chains, has_lost_entries
from lapwing.ledger.entries import Entry, Receipt
from lapwing.ledger.entries import name as named
from lapwing.ledger.export import export_json, read_export
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.replay import Replay
from lapwing.ledger.states import PopulationRecord
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.errors import ParameterError

_AT_ONCE: Final = 500
"""Rows of one statement."""


def move_away(ledger: Ledger, population: str, to: str, path: Path, *, by: str = "custodian") -> Receipt:
    """Close a population for good in this ledger, and write its chain to a file that the ledger `to` can import.

    Its spending must be suspended, and nothing may be in flight: no reservation open, no question without an end. The
    directory seals that it is closed: were its last entry rolled back, with its head, it would not be opened again.
    """
    if "/" in named("to", to):
        raise ParameterError("to", to, reason="is no name of a ledger", remedy="name it by a receipt of the ledger")
    if to == ledger.name:
        raise ParameterError("to", to, reason="is the ledger where it is", remedy="name the one it moves to")
    chain = ledger.of(population)
    with chain.store.writing("policy") as transaction:
        known = transaction.population(population)
        if known.moved_to is None:
            _require_quiet(transaction, known)
            _require_elsewhere(transaction, to)
            decide_in(transaction, replace(known, moved_to=to), by, "moved")
        elif known.moved_to != to:
            remedy = "import its export there"
            raise ParameterError("to", to, reason=f"is not where it has moved, ledger {known.moved_to}", remedy=remedy)
    ledger.chains.seal_one(population)  # the others may be damaged, which is no reason to keep this one
    return export_json(chain, path)


def _require_elsewhere(transaction: Transaction, to: str) -> None:
    """Refuse to move a chain back: a ledger takes it once only, and nowhere could it go on."""
    moves = transaction.some("where record ->> 'kind' = 'policy' and record ->> 'change' = 'moved' order by seq")
    been = {transaction.ledger.partition("/")[0], *(entry.record["policy"]["moved_to"] for entry in moves)}
    if to in been:
        reason = "is where the population has been before, and no ledger takes it a second time"
        raise ParameterError("to", to, reason=reason, remedy="leave it where it is, or name another ledger")


def _require_quiet(transaction: Transaction, known: PopulationRecord) -> None:
    """Refuse to close a population while anything about it is going on."""
    if not known.suspended:
        remedy = "stop its spending first: lapwing suspend"
        raise ParameterError("population", known.name, reason="may be asked about", remedy=remedy)
    if still := sorted(transaction.open_reservations()):
        remedy = "close them first: their secrets are in no export"
        raise ParameterError("population", known.name, reason=f"has open streams: {', '.join(still)}", remedy=remedy)
    if transaction.unsettled("charge"):
        reason, remedy = "has questions without an end", "settle them first: lapwing recover"
        raise ParameterError("population", known.name, reason=reason, remedy=remedy)


def move_here(ledger: Ledger, path: Path, receipt: Receipt, *, by: str = "custodian") -> tuple[str, Receipt]:
    """Go on with a population whose chain moved to this ledger; its spending stays suspended until that is ended.

    `receipt` is what `move_away` returned: only it shows that the file is the one that was written there, and that no
    charge was cut out of it. Everything in the file is checked before anything is written: the chain, and every charge
    in it. Return the name of the population, and the receipt of its last entry.
    """
    parts = read_export(path)
    end, entries = next(parts)
    if receipt != end:
        reason = f"is not of the end of {path}, which is {end}"
        remedy = "name the receipt that lapwing ledger export --to has printed; with another end the file was changed"
        raise ParameterError("receipt", str(receipt), reason=reason, remedy=remedy)
    replay = Replay(ledger=end.ledger)
    for entry in entries:
        replay.read(entry)
    names = list(replay.populations)
    if len(names) != 1:
        remedy = "name an export of one: lapwing ledger export --population P --to RECEIPT"
        raise ParameterError("path", str(path), reason="is no export of one population", remedy=remedy)
    if replay.populations[names[0]].moved_to != ledger.name:
        reason = f"does not end with a move to ledger {ledger.name}"
        remedy = "export it where it was, and name this ledger with --to"
        raise ParameterError("path", str(path), reason=reason, remedy=remedy)
    _take(ledger.chains, names[0], end, path, replay.recalls)
    with ledger.chains.directory.store.reading() as transaction:
        has_lost = has_lost_entries(transaction)
    with ledger.of(names[0]).store.writing("policy") as transaction:
        known = transaction.population(names[0])
        if known.moved_to == ledger.name:
            if has_lost:  # it may have come before, and what was charged since then may be lost
                remark = "the ledger lost entries before this chain came, perhaps some of an earlier arrival"
                transaction.append("note", by=named("by", by), remark=remark)
            decide_in(transaction, replace(known, moved_to=None), by, "arrival")
        return names[0], transaction.receipt


def _take(chains: Chains, population: str, end: Receipt, path: Path, recalls: Iterable[tuple[str, int, int]]) -> None:
    """Found a population with the entries of its chain so far: all of them, or nothing."""
    with chains.directory.store.writing("found") as transaction:
        founding = transaction.founding(population)
        if founding is not None:
            if founding.get("since") != str(end):
                reason = f"is about population {population!r}, which this ledger has already"
                raise ParameterError("path", str(path), reason=reason, remedy="it can be imported once only")
            return
        _require_new(transaction, end, path)
        founding = transaction.append("founding", founds=population, chain=end.ledger, since=str(end)).record
        number = chains.make(transaction, founding).number
        parts = read_export(path)
        again, entries = next(parts)  # which are followed while they are written
        if again != end:
            raise ParameterError("path", str(path), reason="was changed while it was read", remedy="import it again")
        _insert(transaction, "all_entries (chain, seq, body, hash)", (_row(number, entry) for entry in entries))
        _insert(transaction, "all_recalls (chain, digest, seq, place)", ((number, *one) for one in recalls))
        ended = "update chains set seq = ?, hash = ? where chain = ?"
        transaction.do(ended, end.seq, bytes.fromhex(end.hash), number)


def _require_new(transaction: Transaction, end: Receipt, path: Path) -> None:
    """Refuse a chain whose name one of this ledger has: its receipts could not be told apart."""
    is_here = transaction.one("select chain from chains where name = ?", end.ledger)
    if is_here or end.ledger.partition("/")[0] == transaction.ledger:
        reason = f"has chain {end.ledger}, which this ledger has already, or has given to one that began here"
        raise ParameterError("path", str(path), reason=reason, remedy="it can be imported once only")


def _row(number: int, entry: Entry) -> tuple[int, int, str, bytes]:
    return number, entry.seq, entry.body, entry.hash


def _insert(transaction: Transaction, table: str, rows: Iterator[tuple[int | str | bytes, ...]]) -> None:
    while some := list(islice(rows, _AT_ONCE)):
        marks = ", ".join(["(?, ?, ?, ?)"] * len(some))
        transaction.do(f"insert into {table} values {marks}", *(value for row in some for value in row))  # noqa: S608
