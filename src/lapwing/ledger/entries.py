"""Entries: their texts, the hash chain that links them, and the head, the newest entry that was acknowledged.

What is hashed and stored is canonical JSON, in ASCII, with no float in it: the maker of a record writes exact numbers
as text ("1/10") and machine floats as hexadecimal text. The hash of an entry covers its text and, through the hash
before it, everything that was ever written:

    hash(0) = SHA-256("lapwing ledger 1" LF ledger-name)
    hash(n) = SHA-256("lapwing entry 1" LF hash(n-1) body(n))

So one hash commits to the whole past. The chain has no key: by itself it shows accidents and clumsy edits, and to
everyone who kept a receipt it shows a rewritten past.

A database can go back in time without a flaw in it: its log is lost or cut after a crash, or last night's copy is put
back. So before anything is answered, the receipt of the last entry it rests on, the head, is synced into a small file
outside the database, and a ledger without that entry is refused. The file may lag behind the ledger, by entries that
were committed and never acknowledged; it is never ahead of it. A receipt of entry 0 promises nothing.

The file has two slots, a page apart, and a new receipt overwrites the older one: a torn write leaves the other slot,
and its own entry was not acknowledged yet. Each slot is one line of text, a receipt and the SHA-256 of it.

Entries are found by lookups: the last entry that holds a state, or the first that used an idempotency key.
"""

import errno
import os
import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from io import FileIO
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from lapwing.vocabulary.codec import FORMAT, digest, parse
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerRolledBackError,
    LedgerSchemaError,
    LedgerUnwritableError,
    ParameterError,
)
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.lifetime import LockedFile

Record: TypeAlias = Mapping[str, Any]

_LONGEST_NAME, _LONGEST_TEXT = 200, 1 << 24


def name(what: str, given: object) -> str:
    """Return `given` if it can name a thing in a ledger: one to 200 printable characters, in Unicode's normal form C.

    >>> name("population", "clinic")
    'clinic'
    >>> name("population", "")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: population = '' is not a name; write 1 to 200 printable characters, with no
    blanks around them
    """
    if (
        isinstance(given, str)
        and given.isprintable()
        and 0 < len(given) <= _LONGEST_NAME
        and (given == given.strip() and unicodedata.is_normalized("NFC", given))
    ):
        return given
    remedy = f"write 1 to {_LONGEST_NAME} printable characters, with no blanks around them"
    raise ParameterError(what, given, reason="is not a name", remedy=remedy)


def text(what: str, given: object) -> str:
    """Return `given` if every database can store it: text without NUL and without half a surrogate pair."""
    if not isinstance(given, str) or len(given) > _LONGEST_TEXT:
        raise ParameterError(what, given, reason="is not text", remedy=f"give at most {_LONGEST_TEXT} characters")
    try:
        given.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(what, given, reason="is broken Unicode", remedy="give well-formed text") from None
    if "\0" in given:
        raise ParameterError(what, given, reason="holds a NUL character", remedy="leave it out")
    return given


_RECEIPT: Final = re.compile(r"lapwing:(?P<ledger>.+):(?P<seq>[0-9]{1,19}):(?P<hash>[0-9a-f]{64})", re.DOTALL)


class Entry(NamedTuple):
    """One line of the ledger: its number from 1, its canonical text, and its hash."""

    seq: int
    body: str
    hash: bytes

    @property
    def record(self) -> dict[str, Any]:
        """The content of the entry, parsed."""
        record: dict[str, Any] = parse(self.body)
        return record


def read_entry(row: tuple[Any, ...]) -> Entry:
    """Return the entry that a row of the database is."""
    match row:
        case (int() as seq, str() as body, bytes() | memoryview() as hash_):
            return Entry(seq, body, bytes(hash_))
        case _:
            raise LedgerDamagedError("is not an entry", seq=row[0] if isinstance(row[0], int) else 0)


@frozen()
class Receipt:
    """Proof that entry `seq` was in ledger `ledger` with the hash `hash`, and so was all that came before it.

    It proves nothing else: no value, no noise and no hash of either goes into it except through the released answer.

    Proof: proofs/ledger_receipts.md

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
        if found := _RECEIPT.fullmatch(given.strip()):
            return Receipt(ledger=found["ledger"], seq=int(found["seq"]), hash=found["hash"])
        remedy = "paste the whole line, lapwing:LEDGER:NUMBER:HASH"
        raise ParameterError("receipt", given, reason="is not a receipt", remedy=remedy)


def genesis(ledger: str) -> bytes:
    """Return the hash before the first entry."""
    return sha256(b"lapwing ledger 1\n" + ledger.encode("utf-8")).digest()


def chain_name(ledger: str, number: int) -> str:
    """Return the name by which the receipts of a chain call it; chain 0, the directory, has that of the ledger."""
    return f"{ledger}/{number}" if number else ledger


def of_chain(path: Path, number: int) -> Path:
    """Return the file of a chain beside `path`, which is that of the directory."""
    return path.with_name(f"{path.name}.{number}") if number else path


def link(before: bytes, body: str) -> bytes:
    """Return the hash of an entry that follows the hash `before`."""
    return sha256(b"lapwing entry 1\n" + before + body.encode("ascii")).digest()


def check_chain(
    ledger: str, entries: Iterable[Entry], *, last: int, head: bytes, after: Receipt | None = None
) -> Iterator[Entry]:
    """Yield `entries` as long as they are numbered without a gap and each hash follows from the one before.

    They must end with the number `last` and the hash `head`, and begin with the first, or after `after`, if that was
    checked before. A `LedgerDamagedError` has the number of the first entry that is wrong.
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

    `last` is the number of its last entry, and `found` the hash of its entry `receipt.seq`, if it has that entry.
    """
    remedy = ""
    if receipt.ledger != ledger:
        reason = f"the receipt was issued by ledger {receipt.ledger}, and this is ledger {ledger}"
        remedy = "bring back that ledger, or look in the workspace that gave the receipt"
    elif found is None:
        reason = "the ledger is older than a receipt that it issued"
    elif found.hex() != receipt.hash:
        reason = (
            "the ledger has another past than a receipt that it issued: it was restored and written on, or rewritten"
        )
    else:
        return
    raise LedgerRolledBackError(reason, seq=receipt.seq, last=last, remedy=remedy)


@lru_cache(maxsize=64)  # a question is looked up by it, charged and answered
def recall_digest(scope: str, question: str) -> str:
    """Return the digest under which the answers to a question are found, one for each set of data versions."""
    return digest([scope, question])


if sys.platform == "darwin":
    import fcntl

_SLOT: Final = 4096  # as far apart as the pages of a disk: no torn write touches both
_LONGEST: Final = 2 * _SLOT
REMEDY: Final = (
    "bring back the newest copy of the ledger. Where there is none, what was answered since then counts as spent: "
    "lapwing recover --accept-rollback goes on without it, with all spending stopped"
)


class HeadFile:
    """The file of one ledger, or of one host that uses a ledger elsewhere; shared by processes and threads.

    Proof: proofs/ledger.md
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: tuple[bytes, list[Receipt | None]] = b"", [None, None]  # the content last read, and its slots

    def promised(self) -> Receipt | None:
        """Return the newest receipt; `None` if there is no file."""
        this = f"{self.path}, which says how far the ledger had come,"
        try:
            with FileIO(self.path) as file:
                found = _newest(self._slots(file.read(_LONGEST) or b""))
            if found is None:  # while it is read both slots may be written, one after the other, but not under a lock
                with LockedFile(self.path) as file:
                    found = _newest(self._slots(file.read(_LONGEST) or b""))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerUnwritableError(f"{this} cannot be used: {error}") from error
        if found is None:
            raise LedgerDamagedError(f"{this} is damaged: bring it back from where it was kept, or {REMEDY}")
        return found

    def begin(self, ledger: str) -> None:
        """Make the file for a new ledger, unless it still names one that is gone."""
        if self.require_fresh() is None:
            self._make(Receipt(ledger=ledger, seq=0, hash=genesis(ledger).hex()))

    def require_fresh(self) -> Receipt | None:
        """Refuse to begin a ledger where the file names one that has entries; return what the file says otherwise."""
        promised = self.promised()
        if promised is not None and promised.seq:
            raise LedgerUnwritableError(
                f"{self.path} names ledger {promised.ledger}, which had come to entry {promised.seq}; bring it "
                "back: a new one would spend the same budget again. If nothing was ever released, delete this file"
            )
        return promised

    def advance(self, receipt: Receipt) -> None:
        """Make `receipt` durable here, unless a newer one is; after an `OSError` it may be durable or not.

        If another entry of the same number was promised, this is a `LedgerRolledBackError`.
        """
        try:
            with LockedFile(self.path) as file:
                self._write(file.fileno(), receipt)
        except FileNotFoundError:
            self._make(receipt)
            with LockedFile(self.path) as file:  # another process may have made it, with an older receipt
                self._write(file.fileno(), receipt)

    def accept(self, receipt: Receipt) -> None:
        """Go back to `receipt`: the custodian accepts that what was promised after it is lost."""
        making = self._write_beside(receipt)
        making.replace(self.path)
        sync_folder(self.path.parent)

    def _write(self, file: int, receipt: Receipt) -> None:
        content = os.read(file, _LONGEST)
        slots = self._slots(content)
        newest = _newest(slots)
        if newest is not None and newest.seq >= receipt.seq:
            here = receipt.hash if newest.seq == receipt.seq else newest.hash
            require_promised(newest, receipt, found=bytes.fromhex(here))
            return
        place = 0 if slots[0] is not newest else 1
        begin, line = place * _SLOT, _line(receipt)
        os.lseek(file, begin, os.SEEK_SET)
        _write_all(file, line)
        sync(file)
        after = content[:begin] + line + content[begin + len(line) :]
        self._known = after, [receipt, slots[1]] if place == 0 else [slots[0], receipt]

    def _slots(self, content: bytes) -> list[Receipt | None]:
        """Return the receipts in the slots; each transaction reads the file twice, so the last content is cached."""
        known, slots = self._known
        if content != known:
            slots = _slots(content)
            self._known = content, slots
        return slots

    def _make(self, receipt: Receipt) -> None:
        making = self._write_beside(receipt)
        try:
            with suppress(FileExistsError):
                os.link(making, self.path)
            sync_folder(self.path.parent)
        finally:
            making.unlink()

    def _write_beside(self, receipt: Receipt) -> Path:
        making = self.path.with_name(f"{self.path.name}.making-{os.getpid()}-{threading.get_ident()}")
        with suppress(FileNotFoundError):
            making.unlink()
        file = os.open(making, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            _write_all(file, _line(receipt).ljust(_LONGEST, b"\n"))
            sync(file)
        finally:
            os.close(file)
        return making


def require_promised(promised: Receipt, ledger: Receipt, *, found: bytes | None) -> None:
    """Refuse a ledger that lacks the `promised` entry, the newest that was acknowledged.

    `ledger` is the receipt of its last entry, and `found` the hash of its entry `promised.seq`, if it has that entry.
    """
    if not promised.seq:
        return
    if promised.ledger != ledger.ledger:
        reason = f"this is ledger {ledger.ledger}, and its place belongs to ledger {promised.ledger}"
        raise LedgerRolledBackError(reason, seq=0, last=ledger.seq)
    if found is None:
        reason = "the ledger is older than what was answered from it"
    elif found.hex() != promised.hash:
        reason = "the ledger has another past than the one that was answered from: it was put back and written on"
    else:
        return
    raise LedgerRolledBackError(reason, seq=promised.seq, last=ledger.seq, remedy=REMEDY)


def sync(file: int) -> None:
    """Wait until all writes are on the disk (fsync)."""
    if sys.platform == "darwin":
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    elif sys.platform == "win32":
        os.fsync(file)
    else:
        os.fdatasync(file)


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_all(file: int, content: bytes) -> None:
    """Write the whole content or fail: on a nearly full disk, `write` may write a part and return its length."""
    written = os.write(file, content)
    if written != len(content):
        raise OSError(errno.ENOSPC, f"{written} of {len(content)} bytes were written")


def _line(receipt: Receipt) -> bytes:
    text = str(receipt)
    return f"{text} {sha256(text.encode()).hexdigest()}\n".encode()


def _slots(content: bytes) -> list[Receipt | None]:
    return [_receipt(content[:_SLOT]), _receipt(content[_SLOT:])]


def _newest(slots: list[Receipt | None]) -> Receipt | None:
    first, second = slots
    if first is None or second is None:
        return second if first is None else first
    return second if second.seq > first.seq else first


def _receipt(slot: bytes) -> Receipt | None:
    line = slot.partition(b"\n")[0] + b"\n"
    with suppress(ParameterError, UnicodeDecodeError):
        receipt = Receipt.parse(line.decode().rpartition(" ")[0])
        return receipt if _line(receipt) == line else None
    return None


def require_format(version: object) -> None:
    """Refuse a ledger that another lapwing has written in another format."""
    if not isinstance(version, int) or version < 1:
        raise LedgerDamagedError(f"the version of its tables, {version!r}, is not a version")
    if version != FORMAT:
        raise LedgerSchemaError(
            f"the ledger has format {version}, and this lapwing reads format {FORMAT}; use the lapwing that wrote it"
        )


class Lookup(StrEnum):
    """Statements that find the number of the last entry of a state, or of the first that used an idempotency key."""

    POLICY = "select max(seq) from entries where record ->> 'population' = ? and record ->> 'policy' is not null"
    ACCOUNT = "select max(seq) from entries where record ->> 'population' = ? and record ->> 'account' is not null"
    ALLOWANCE = """select max(seq) from entries
        where record ->> 'population' = ? and record ->> 'analyst' = ? and record ->> 'allowance' is not null"""
    REQUEST = """select seq from entries
        where record ->> 'population' = ? and record ->> 'analyst' = ? and record ->> 'request' = ? limit 1"""
    RECALL = "select max(seq) from entries where record ->> 'recall' = ?"
    SETTLES = """select seq from entries
        where cast(record ->> 'settles' as bigint) = ? and record ->> 'settles' is not null limit 1"""
    STREAM = "select max(seq) from entries where record ->> 'stream' = ?"
    CHAIN = "select seq from entries where record ->> 'founds' = ? limit 1"


Asked: TypeAlias = tuple[Lookup, tuple[str | int, ...]]  # a lookup with its values
Lookups: TypeAlias = tuple[Asked, ...]

STATES: Final = frozenset({Lookup.POLICY, Lookup.ACCOUNT, Lookup.ALLOWANCE, Lookup.STREAM})
"""The lookups that find the current state of something."""


def standing(population: str, analyst: str) -> Lookups:
    """Return the lookups that find what an analyst may do and spend: the policy, the account, their own allowance."""
    return (
        (Lookup.POLICY, (population,)),
        (Lookup.ACCOUNT, (population,)),
        (Lookup.ALLOWANCE, (population, analyst)),
    )


@lru_cache
def head_statement(lookups: tuple[Lookup, ...]) -> str:
    """Return the statement that finds the end of the chain and the results of lookups, in one snapshot."""
    found = "".join(f", ({lookup})" for lookup in lookups)
    return f"select name, seq, hash, version{found} from ledger"  # noqa: S608 - our own words


def found_by(record: Record) -> list[Asked]:
    """Return the lookups that find an entry: as the current state of something, or as the first use of a key."""
    return [
        (lookup, tuple(map(record.get, fields, repeat(""))))
        for field, lookup, fields in FINDING
        if record.get(field) is not None
    ]


def keys_statements() -> list[tuple[Lookup, str]]:
    """Return the lookups with the statements that list all of their keys."""
    said = [
        (lookup, ", ".join(f"record ->> '{one}'" for one in fields), f"record ->> '{field}' is not null")
        for field, lookup, fields in FINDING
    ]
    of_entries = [(lookup, f"select {values} from entries where {found}") for lookup, values, found in said]  # noqa: S608
    return [*of_entries, (Lookup.RECALL, "select digest from recalls")]


FINDING: Final = (
    ("policy", Lookup.POLICY, ("population",)),
    ("account", Lookup.ACCOUNT, ("population",)),
    ("allowance", Lookup.ALLOWANCE, ("population", "analyst")),
    ("request", Lookup.REQUEST, ("population", "analyst", "request")),
    ("recall", Lookup.RECALL, ("recall",)),
    ("settles", Lookup.SETTLES, ("settles",)),
    ("stream", Lookup.STREAM, ("stream",)),
    ("founds", Lookup.CHAIN, ("founds",)),
)
"""The field that an entry must have to be found by a lookup, and the fields that are the key of the lookup."""
