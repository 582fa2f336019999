"""Which keys a ledger had when it was checked, so that one that is not found any more is missed.

Most questions are new: the lookup of their key finds nothing, and the ledger trusts that. After an opening that
followed only the newest part of the chain, it would also trust it for a key whose entry was deleted, or lost by the
index: the question would be charged and answered a second time. So the checkpoint holds an eight-byte digest of each
key that a lookup finds by then, sorted. A key that is among them and not found is damage, not a new question.

The digests are keyed with a secret, so that an attacker cannot search for collisions.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from typing import Final, TypeAlias

from lapwing.ledger.entries import Asked, Lookup

Buffer: TypeAlias = bytes | memoryview
KEPT: Final = (Lookup.REQUEST, Lookup.RECALL, Lookup.SETTLES, Lookup.STREAM, Lookup.CHAIN)
"""The lookups whose keys are kept; of the others the last entry is known."""
_BYTES: Final = 8
_NONE: Final = memoryview(array("Q"))


class KeyDigests:
    """The keys of a ledger at its checkpoint, and those that were added since; `secret` is that of the checkpoint.

    >>> digests = KeyDigests(bytes(32))
    >>> digests.add([(Lookup.REQUEST, ("clinic", "ana", "monday 1"))])
    >>> later = KeyDigests(bytes(32), *digests.packed())
    >>> later.holds((Lookup.REQUEST, ("clinic", "ana", "monday 1"))), later.count(Lookup.REQUEST)
    (True, 1)
    >>> later.holds((Lookup.REQUEST, ("clinic", "ana", "monday 2")))
    False
    """

    def __init__(self, secret: bytes, counts: Mapping[str, int] | None = None, packed: Buffer = b"") -> None:
        self._secret = secret
        self._kept: dict[Lookup, memoryview] = {}
        self._added: dict[Lookup, array[int]] = {lookup: array("Q") for lookup in KEPT}
        left = memoryview(packed).cast("Q")
        for name, count in (counts or {}).items():
            self._kept[Lookup[name]], left = left[:count], left[count:]
        if len(left):
            raise ValueError(f"{len(left)} digests belong to no lookup")

    def holds(self, asked: Asked) -> bool:
        """Return whether a lookup found an entry when the ledger was checked; later entries do not count."""
        kept = self._kept.get(asked[0], _NONE)
        if not kept:
            return False
        digest = digest_of(self._secret, asked)
        place = bisect_left(kept, digest)
        return place < len(kept) and kept[place] == digest

    def count(self, lookup: Lookup) -> int:
        """Return how many different keys a lookup had when the ledger was checked."""
        return len(self._kept.get(lookup, _NONE))

    def add(self, found: Iterable[Asked]) -> None:
        """Keep the keys of an entry for the next checkpoint; adding the same key twice is harmless."""
        for asked in found:
            if asked[0] in KEPT:
                self._added[asked[0]].append(digest_of(self._secret, asked))

    def packed(self) -> tuple[dict[str, int], bytes]:
        """Return the digests as they are stored: how many of each lookup, and their bytes, sorted."""
        whole = {lookup: self._whole(lookup) for lookup in KEPT}
        return {lookup.name: len(one) // _BYTES for lookup, one in whole.items()}, b"".join(whole.values())

    def _whole(self, lookup: Lookup) -> memoryview:
        kept, added = self._kept.get(lookup, _NONE), sorted(set(self._added[lookup]))
        return memoryview(_merged(kept, added) if added else kept).cast("B")


def digest_of(secret: bytes, asked: Asked) -> int:
    """Return the digest of a lookup with its values, keyed with a secret."""
    lookup, values = asked
    said = "\n".join([lookup.name, *map(str, values)]).encode()
    return int.from_bytes(blake2b(said, digest_size=_BYTES, key=secret).digest(), sys.byteorder)


def _merged(kept: memoryview, added: Sequence[int]) -> "array[int]":
    """Return two sorted lists as one; of the long one whole pieces are copied, as there may be a hundred million."""
    merged, place = array("Q"), 0
    for digest in added:
        following = bisect_left(kept, digest, place)
        merged.frombytes(kept[place:following].cast("B"))
        place = following
        if place == len(kept) or kept[place] != digest:
            merged.append(digest)
    merged.frombytes(kept[place:].cast("B"))
    return merged


def fingerprint(packed: Buffer) -> str:
    """Return the fingerprint of packed digests; it includes the byte order of this machine, which they depend on."""
    return f"{sys.byteorder} {sha256(packed).hexdigest()}"
