"""Entries: one canonical text for one record, and the chain of hashes that links them.

What is hashed and stored is canonical JSON, in ASCII, with no float in it: exact numbers are written as text ("1/10")
and machine floats as hexadecimal text, by whoever makes the record. The hash of an entry covers its text and, through
the hash before it, everything that was ever written:

    hash(0) = SHA-256("lapwing ledger 1" LF ledger-name)
    hash(n) = SHA-256("lapwing entry 1" LF hash(n-1) body(n))

So whoever holds one hash holds the whole past. The chain has no key: it shows accidents and clumsy edits by itself, and
a rewritten past to everyone who kept a receipt.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from lapwing.vocabulary.codec import parse
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerRolledBackError, ParameterError

Record: TypeAlias = Mapping[str, Any]

_LONGEST_NAME = 200
_LONGEST_TEXT = 1 << 24


def name(what: str, given: object) -> str:
    """Return `given` if it can name a thing in a ledger: one to 200 printable characters, in Unicode's normal form C.

    Examples
    --------
    >>> name("population", "clinic")
    'clinic'
    >>> name("population", "")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: population = '' is no name; write 1 to 200 printable characters, with no
    blanks around them
    """
    if not isinstance(given, str) or not _is_name(given):
        raise ParameterError(
            what,
            given,
            reason="is no name",
            remedy=f"write 1 to {_LONGEST_NAME} printable characters, with no blanks around them",
        )
    return given


def _is_name(given: str) -> bool:
    well_formed = given.isprintable() and unicodedata.is_normalized("NFC", given)
    return well_formed and 0 < len(given) <= _LONGEST_NAME and given == given.strip()


def text(what: str, given: object) -> str:
    """Return `given` if every database can store it: text without NUL and without half a surrogate pair."""
    if not isinstance(given, str) or len(given) > _LONGEST_TEXT:
        raise ParameterError(what, given, reason="is no text", remedy=f"give at most {_LONGEST_TEXT} characters")
    try:
        given.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(what, given, reason="is broken Unicode", remedy="give well-formed text") from None
    if "\0" in given:
        raise ParameterError(what, given, reason="holds a NUL character", remedy="leave it out")
    return given


_MOST_DIGITS: Final = 19  # what the databases count to


class Entry(NamedTuple):
    """One line of the ledger: its number from 1, its canonical text, and its hash."""

    seq: int
    body: str
    hash: bytes

    @property
    def record(self) -> dict[str, Any]:
        """What the entry says."""
        record: dict[str, Any] = parse(self.body)
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that entry `seq` was in ledger `ledger` with the hash `hash`, and so was all that came before it.

    It says nothing else: no value, no noise and no hash of either goes into it except through the released answer.

    Proof: proofs/ledger_receipts.md

    Examples
    --------
    >>> receipt = Receipt(ledger="2f1c", seq=7, hash="ab" * 32)
    >>> str(receipt) == "lapwing:2f1c:7:" + "ab" * 32
    True
    >>> Receipt.parse(str(receipt)) == receipt
    True
    """

    ledger: str
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"lapwing:{self.ledger}:{self.seq}:{self.hash}"

    @staticmethod
    def parse(given: str) -> "Receipt":
        """Return the receipt that was printed as `given`."""
        kind, _, rest = given.strip().partition(":")
        match [kind, *rest.rsplit(":", 2)]:
            case ["lapwing", ledger, seq, hash_] if ledger and _is_number(seq) and _is_hash(hash_):
                return Receipt(ledger=ledger, seq=int(seq), hash=hash_)
            case _:
                remedy = "paste the whole line, lapwing:LEDGER:NUMBER:HASH"
                raise ParameterError("receipt", given, reason="is no receipt", remedy=remedy)


def genesis(ledger: str) -> bytes:
    """Return the hash before the first entry."""
    return sha256(b"lapwing ledger 1\n" + ledger.encode("utf-8")).digest()


def link(before: bytes, body: str) -> bytes:
    """Return the hash of an entry that follows the hash `before`."""
    return sha256(b"lapwing entry 1\n" + before + body.encode("ascii")).digest()


def checked(
    ledger: str, entries: Iterable[Entry], *, last: int, head: bytes, after: Receipt | None = None
) -> Iterator[Entry]:
    """Yield `entries` as long as they are numbered without a gap and each hash follows from the one before.

    Parameters
    ----------
    ledger : the name of the ledger
    entries : all of them, from the first on
    last, head : the number and the hash of the entry with which they must end
    after : the entry after which they begin, if it was checked before

    Raises
    ------
    LedgerDamagedError : with the number of the first entry that is wrong
    """
    before, due = (bytes.fromhex(after.hash), after.seq + 1) if after else (genesis(ledger), 1)
    for entry in entries:
        if due > last:
            raise LedgerDamagedError(f"was added by hand: the ledger says that it ends at entry {last}", seq=due)
        if entry.seq != due:
            raise LedgerDamagedError(f"is missing: entry {entry.seq} comes in its place", seq=due)
        if not entry.body.isascii() or link(before, entry.body) != entry.hash:
            raise LedgerDamagedError("is not what was written: its hash does not follow from the chain", seq=due)
        yield entry
        before, due = entry.hash, due + 1
    if due <= last:
        raise LedgerDamagedError(f"is missing: the ledger says that it ends at entry {last}", seq=due)
    if before != head:
        raise LedgerDamagedError("is not the end that the ledger says it has", seq=last)


def compare(receipt: Receipt, *, ledger: str, last: int, found: bytes | None) -> None:
    """Refuse a ledger that is older than `receipt` or has another past.

    Parameters
    ----------
    ledger, last : the name of the ledger and the number of its last entry
    found : the hash of entry `receipt.seq` in it, if it has that entry
    """
    if receipt.ledger != ledger:
        raise LedgerRolledBackError(
            f"the receipt was issued by ledger {receipt.ledger}, and this is ledger {ledger}",
            seq=receipt.seq,
            last=last,
            remedy="bring back that ledger, or look in the workspace that gave the receipt",
        )
    if found is None:
        raise LedgerRolledBackError("the ledger is older than a receipt that it issued", seq=receipt.seq, last=last)
    if found.hex() != receipt.hash:
        raise LedgerRolledBackError(
            "the ledger has another past than a receipt that it issued: it was restored and written on, or rewritten",
            seq=receipt.seq,
            last=last,
        )


def _is_number(given: str) -> bool:
    return given.isascii() and given.isdecimal() and len(given) <= _MOST_DIGITS


def _is_hash(given: str) -> bool:
    return len(given) == 64 and set(given) <= set("0123456789abcdef")  # noqa: PLR2004 - SHA-256 in hexadecimal
