"""How far a ledger was checked, so that the next opening follows its chain from there and not from the beginning.

A checkpoint names an entry up to which the chain was followed and the indexes compared, and the last entries before it
that say how something stands: the policy and the account of each population, allowances, open streams. An index that
has lost one of them is found out, as it is while a ledger is open. Their hashes stand in the checkpoint, too: who
changes one of them and computes a new hash for it has to change the checkpoint as well. What else is read from before
the checkpoint must still hang on the entry before it.

It is authenticated under a key that is kept outside the ledger: whoever can only write the ledger cannot forge it. One
that is missing, damaged or forged costs time, and nothing else: the whole chain is followed. It never replaces
`verify`, and it says nothing about how new the ledger is; that is what the head is for.
"""

import hmac
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from lapwing.ledger.entries import Asked, Lookup, Receipt
from lapwing.vocabulary.codec import canonical, parse
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

EVERY: Final = 1000
"""A new checkpoint is written when the ledger has grown by this number of entries."""
_LARGEST: Final = 1 << 24


@frozen(kw_only=False)
class Checkpoint:
    """An entry up to which everything was checked, and the `latest` entries by then for each lookup of a state.

    `openings` are the first entries of the streams among them, and `hashes` those of all these entries when they were
    checked.
    """

    receipt: Receipt
    latest: Mapping[Asked, int]
    openings: Mapping[str, int]
    hashes: Mapping[int, bytes]


class CheckpointFile:
    """The file of a checkpoint; `key` is any secret, from which one for this purpose is derived."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = hmac.digest(key, b"lapwing checkpoint 1", "sha256")

    def read(self) -> Checkpoint | None:
        """Return what was checked; `None` where nothing can be believed."""
        with suppress(OSError, ValueError, TypeError, KeyError, ParameterError):
            if self.path.stat().st_size > _LARGEST:
                return None
            body, _, code = self.path.read_text(encoding="ascii").rstrip("\n").rpartition("\n")
            if not hmac.compare_digest(self._code(body), code):
                return None
            said = parse(body)
            latest = {(Lookup[lookup], tuple(values)): seq for lookup, values, seq in said["latest"]}
            hashes = {int(seq): bytes.fromhex(hash_) for seq, hash_ in said["hashes"]}
            return Checkpoint(Receipt.parse(said["receipt"]), latest, dict(said["openings"]), hashes)
        return None

    def write(self, checkpoint: Checkpoint) -> None:
        """Keep what was checked. Where it cannot be written, the next opening takes longer."""
        latest = sorted([one.name, list(values), seq] for (one, values), seq in checkpoint.latest.items())
        hashes = sorted([seq, hash_.hex()] for seq, hash_ in checkpoint.hashes.items())
        entries = {"latest": latest, "openings": dict(checkpoint.openings), "hashes": hashes}
        body = canonical({"receipt": str(checkpoint.receipt), **entries})
        making = self.path.with_name(f"{self.path.name}.making-{os.getpid()}-{threading.get_ident()}")
        with suppress(OSError):
            descriptor = os.open(making, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(f"{body}\n{self._code(body)}\n")
            making.replace(self.path)

    def _code(self, body: str) -> str:
        return hmac.new(self._key, body.encode(), sha256).hexdigest()
