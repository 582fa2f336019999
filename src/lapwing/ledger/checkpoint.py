"""How far a ledger was checked, so that the next opening follows its chain from there and not from the beginning.

A checkpoint names an entry up to which the chain was followed and the indexes compared, and the last entries before it
that hold a state: the policy and the account of each population, allowances, open streams. An index that has lost one
of them is detected, as it is while a ledger is open. Their hashes are in the checkpoint, too: an attacker who changes
one of them and computes a new hash for it has to change the checkpoint as well. Those of streams are compared when the
ledger is opened, and the others when the state is read (`known_states`), before anything is decided by it. It also has
digests of all keys, so that a key that is no longer found is missed, and, of the chain of a population, the last end
that the directory has sealed, so that the seals before it need not be read again. Any other entry that is read from
before the checkpoint must still follow from the entry before it, and the whole chain is followed in the background
(`background_check`).

A checkpoint is authenticated under a key that is kept outside the ledger: write access to the ledger is not enough to
forge one. A missing, damaged or forged checkpoint costs time, and nothing else: the whole chain is followed. It never
replaces `verify`, and it does not show how new the ledger is; that is what the head is for.
"""

import hmac
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from lapwing.ledger.entries import Asked, Lookup, Receipt, of_chain
from lapwing.ledger.key_digests import KeyDigests, fingerprint
from lapwing.ledger.known_states import KnownStates, State
from lapwing.vocabulary.codec import canonical, parse
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

EVERY: Final = 1000
"""A new checkpoint is written when the ledger has grown, or was followed further on its round, by this many entries."""
_LARGEST: Final = 1 << 30


class SealedEnd(NamedTuple):
    """How far the directory was read, and the last end of a chain that it had sealed by then; empty if it had none."""

    until: Receipt
    end: str


@frozen(kw_only=False)
class Checkpoint:
    """An entry up to which everything was checked, and the last entries by then for each lookup of a state.

    `latest` are those of streams, `openings` the first entries of these, and `hashes` those of all of them when they
    were checked. `states` are the policies, accounts and allowances, with what is `newer`. `keys` are digests of all
    keys. `followed` is where the background check had come to, unless it was over. `sealed` is what the directory has
    sealed of this chain.
    """

    receipt: Receipt
    latest: Mapping[Asked, int]
    openings: Mapping[str, int]
    hashes: Mapping[int, bytes]
    keys: KeyDigests
    states: KnownStates
    newer: Mapping[Asked, State] = field(default_factory=dict)
    followed: Receipt | None = None
    sealed: SealedEnd | None = None


class CheckpointFile:
    """The file of a checkpoint; `key` is any secret, from which those for this purpose are derived, for each chain.

    It is a line of JSON, a line with its code, and the digests of the keys and the states, whose fingerprints are in
    the JSON.
    """

    def __init__(self, path: Path, key: bytes, number: int = 0) -> None:
        self.path, self._given = path, key
        self._key = hmac.digest(key, _FILE % number, "sha256")  # that of another chain says nothing about this one
        self._secret = hmac.digest(key, _KEYS, "sha256")

    def chain(self, number: int) -> "CheckpointFile":
        """Return the file of another chain of the same ledger."""
        return CheckpointFile(of_chain(self.path, number), self._given, number)

    def no_keys(self) -> KeyDigests:
        """Return digests of no keys yet, under the secret of this file."""
        return KeyDigests(self._secret)

    def no_states(self) -> KnownStates:
        """Return no states yet, under the secret of this file."""
        return KnownStates(self._secret)

    def read(self) -> Checkpoint | None:
        """Return the checkpoint; `None` if the file is missing, damaged or not authentic."""
        with suppress(OSError, ValueError, TypeError, KeyError, ParameterError):
            if self.path.stat().st_size > _LARGEST:
                return None
            content = self.path.read_bytes()
            middle = content.index(b"\n")
            begin = content.index(b"\n", middle + 1) + 1
            body, code, packed = content[:middle], content[middle + 1 : begin - 1], memoryview(content)[begin:]
            if not hmac.compare_digest(self._code(body), code):
                return None
            said = parse(body.decode("ascii"))
            digests, states = packed[: len(packed) - said["size"]], packed[len(packed) - said["size"] :]
            if (said["digests"], said["states"]) != (fingerprint(digests), fingerprint(states)):
                return None
            latest, hashes = _latest(said["latest"]), _hashes(*said["hashes"])
            keys = KeyDigests(self._secret, dict(said["keys"]), digests)
            followed = said["followed"] and Receipt.parse(said["followed"])
            known = KnownStates(self._secret, dict(said["known"]), states)
            receipt, openings = Receipt.parse(said["receipt"]), dict(said["openings"])
            sealed = said["sealed"] and SealedEnd(Receipt.parse(said["sealed"][0]), str(said["sealed"][1]))
            return Checkpoint(receipt, latest, openings, hashes, keys, known, followed=followed, sealed=sealed)
        return None

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint. If it cannot be written, the next opening takes longer."""
        counts, packed = checkpoint.keys.packed()
        known, states = checkpoint.states.packed(checkpoint.newer)
        said = {
            "receipt": str(checkpoint.receipt),
            "latest": _flat(checkpoint.latest),
            "openings": dict(checkpoint.openings),
            "hashes": [list(checkpoint.hashes), b"".join(checkpoint.hashes.values()).hex()],
            "keys": [[name, count] for name, count in counts.items()],
            "digests": fingerprint(packed),
            "known": [[name, count] for name, count in known.items()],
            "states": fingerprint(states),
            "size": len(states),
            "followed": None if checkpoint.followed is None else str(checkpoint.followed),
            "sealed": checkpoint.sealed and [str(checkpoint.sealed.until), checkpoint.sealed.end],
        }
        body = canonical(said).encode("ascii")
        making = self.path.with_name(f"{self.path.name}.making-{os.getpid()}-{threading.get_ident()}")
        try:
            descriptor = os.open(making, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(body + b"\n" + self._code(body) + b"\n" + packed + states)
            making.replace(self.path)
        except OSError:
            with suppress(OSError):
                making.unlink(missing_ok=True)

    def forget(self) -> None:
        """Delete the checkpoint: the next opening follows the whole chain, and finds the damage."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _code(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, sha256).hexdigest().encode()


def _flat(latest: Mapping[Asked, int]) -> dict[str, tuple[list[str | int], list[int]]]:
    """Return the values and the numbers of each lookup, in two long lists: many short ones take far longer to read."""
    flat: dict[str, tuple[list[str | int], list[int]]] = {}
    for (lookup, values), seq in latest.items():
        said, numbers = flat.setdefault(lookup.name, ([], []))
        said += values
        numbers.append(seq)
    return flat


def _latest(flat: Mapping[str, tuple[list[str], list[int]]]) -> dict[Asked, int]:
    latest: dict[Asked, int] = {}
    for name, (values, numbers) in flat.items():
        lookup, each = Lookup[name], iter(values)
        places = zip(*[each] * (len(values) // len(numbers)), strict=True)
        latest.update(((lookup, place), seq) for place, seq in zip(places, numbers, strict=True))
    return latest


def _hashes(numbers: list[int], packed: str) -> dict[int, bytes]:
    together = bytes.fromhex(packed)
    if len(together) != _HASH * len(numbers):
        raise ValueError(f"{len(together)} bytes are no {len(numbers)} hashes")
    return {seq: together[place * _HASH : (place + 1) * _HASH] for place, seq in enumerate(numbers)}


_FILE: Final = b"lapwing checkpoint 6 of chain %d"
_HASH: Final = sha256().digest_size
_KEYS: Final = b"lapwing checkpoint keys 1"
