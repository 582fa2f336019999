"""The newest entry that anybody was told of, in a small file outside the database, so that no older ledger passes.

A database can go back in time without a flaw in it: its log is lost or cut after a crash, or last night's copy is put
back. So before anything is told, the receipt of the last entry it rests on is synced into this file, and a ledger
without that entry is refused. The file may lag behind the ledger, by what was committed and never told; it is never
ahead of it. A receipt of entry 0 promises nothing.

The file has two slots, a page apart, and a new receipt goes over the older one: a write that the power cut tore leaves
the other, and what was torn was not told. Each slot is one line of text, a receipt and the SHA-256 of it.
"""

import errno
import os
import sys
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from lapwing.ledger.entries import Receipt, genesis
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerRolledBackError, LedgerUnwritableError, ParameterError
from lapwing.vocabulary.lifetime import LockedFile

if sys.platform == "darwin":
    import fcntl

_SLOT: Final = 4096
"""As far apart as the pages of a disk: no torn write touches both."""
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

    def promised(self) -> Receipt | None:
        """Return the newest receipt; `None` if there is no file.

        Raises
        ------
        LedgerDamagedError : neither slot can be read
        LedgerUnwritableError : the file cannot be reached
        """
        try:
            found = _newest(self._content())
            if found is None:  # while it is read both slots may be written, one after the other, but not under a lock
                with LockedFile(self.path) as file:
                    found = _newest(file.read(_LONGEST) or b"")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error) from error
        if found is None:
            raise LedgerDamagedError(
                f"{self.path}, which says how far the ledger had come, is damaged: bring it back from where it was "
                f"kept, or {REMEDY}"
            )
        return found

    def begin(self, ledger: str) -> None:
        """Make the file for a new ledger, unless it still tells of one that is gone."""
        promised = self.promised()
        if promised is not None and promised.seq:
            raise LedgerUnwritableError(
                f"{self.path} tells of ledger {promised.ledger}, which had come to entry {promised.seq}; bring it "
                "back: a new one would spend the same budget again. If nothing was ever released, delete this file"
            )
        if promised is None:
            self._make(Receipt(ledger=ledger, seq=0, hash=genesis(ledger).hex()))

    def advance(self, receipt: Receipt) -> None:
        """Make `receipt` durable here, unless a newer one is.

        Raises
        ------
        LedgerRolledBackError : another entry of the same number was promised
        OSError : it is not known to be durable
        """
        try:
            with LockedFile(self.path) as file:
                self._write(file.fileno(), receipt)
        except FileNotFoundError:
            self._make(receipt)
            with LockedFile(self.path) as file:  # somebody else may have made it, and with less
                self._write(file.fileno(), receipt)

    def accept(self, receipt: Receipt) -> None:
        """Go back to `receipt`: the custodian accepts that what was promised after it is lost."""
        making = self._written(receipt)
        making.replace(self.path)
        sync_folder(self.path.parent)

    def _write(self, file: int, receipt: Receipt) -> None:
        slots = _slots(os.read(file, _LONGEST))
        newest = max((slot for slot in slots if slot), key=lambda slot: slot.seq, default=None)
        if newest is not None and newest.seq >= receipt.seq:
            here = receipt.hash if newest.seq == receipt.seq else newest.hash
            require(newest, receipt, found=bytes.fromhex(here))
            return
        place = 0 if slots[0] is not newest else 1
        os.lseek(file, place * _SLOT, os.SEEK_SET)
        _write_all(file, _line(receipt))
        sync(file)

    def _make(self, receipt: Receipt) -> None:
        making = self._written(receipt)
        try:
            with suppress(FileExistsError):
                os.link(making, self.path)
            sync_folder(self.path.parent)
        finally:
            making.unlink()

    def _written(self, receipt: Receipt) -> Path:
        """Return a new file beside this one, whole and synced."""
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

    def _content(self) -> bytes:
        with self.path.open("rb", buffering=0) as file:
            return file.read(_LONGEST) or b""

    def _unusable(self, error: OSError) -> LedgerUnwritableError:
        return LedgerUnwritableError(f"{self.path}, which says how far the ledger had come, cannot be used: {error}")


def require(promised: Receipt, ledger: Receipt, *, found: bytes | None) -> None:
    """Refuse a ledger that lacks what was promised.

    Parameters
    ----------
    promised : the newest entry that was told of
    ledger : the receipt of the last entry there is
    found : the hash of entry `promised.seq` in it, if it has that entry
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
    """Return when what was written is on the disk."""
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
    """Write all of it or fail: a disk that is nearly full takes a part, and says so by a number."""
    written = os.write(file, content)
    if written != len(content):
        raise OSError(errno.ENOSPC, f"{written} of {len(content)} bytes were written")


def _line(receipt: Receipt) -> bytes:
    text = str(receipt)
    return f"{text} {sha256(text.encode()).hexdigest()}\n".encode()


def _slots(content: bytes) -> list[Receipt | None]:
    return [_receipt(content[:_SLOT]), _receipt(content[_SLOT:])]


def _newest(content: bytes) -> Receipt | None:
    return max((slot for slot in _slots(content) if slot), key=lambda slot: slot.seq, default=None)


def _receipt(slot: bytes) -> Receipt | None:
    """Return what a slot says, if it is what was written."""
    line = slot.partition(b"\n")[0] + b"\n"
    with suppress(ParameterError, UnicodeDecodeError):
        receipt = Receipt.parse(line.decode().rpartition(" ")[0])
        return receipt if _line(receipt) == line else None
    return None
