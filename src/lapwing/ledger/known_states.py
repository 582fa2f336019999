"""Which entries hold the states that a checkpoint knows: policies, accounts and allowances, however many there are.

An opening must not take longer the more populations a ledger has: most commands ask about one of them. So the numbers
and hashes of these entries are kept packed, in the order of eight-byte digests of what each is the state of, and one is
looked up when it is asked for. The digests are keyed with a secret, as those of `key_digests` are. Of two states with
one digest the later entry stands: that would be a false alarm, and never an older state that is believed.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from lapwing.ledger.entries import Asked, Lookup
from lapwing.ledger.key_digests import Buffer, digest_of

PACKED: Final = (Lookup.POLICY, Lookup.ACCOUNT, Lookup.ALLOWANCE)
"""The lookups of states that are kept so; streams are looked through one by one, and the newest thousand are enough."""
_NUMBER, _HASH = 8, 32
_BYTES: Final = 2 * _NUMBER + _HASH


class State(NamedTuple):
    """The number of an entry, and the hash that it had when it was seen first; no hash, where it was not read since."""

    seq: int
    hash: bytes | None


NEVER: Final = State(0, None)
"""What is known of a state that no entry holds."""


class KnownStates:
    """The states of a checkpoint; `secret` is that of its digests.

    >>> known = KnownStates(bytes(32)).packed({(Lookup.POLICY, ("clinic",)): State(7, b"h" * 32)})
    >>> states = KnownStates(bytes(32), *known)
    >>> states.get((Lookup.POLICY, ("clinic",))).seq, states.get((Lookup.POLICY, ("school",))).seq
    (7, 0)
    >>> states.unlisted(Lookup.POLICY, ["clinic"]), states.unlisted(Lookup.POLICY, ["school"])
    (None, 7)
    """

    def __init__(self, secret: bytes, counts: Mapping[str, int] | None = None, packed: Buffer = b"") -> None:
        self._secret = secret
        self._digests: dict[Lookup, memoryview] = {}
        self._rest: dict[Lookup, memoryview] = {}
        left = memoryview(packed)
        for name, count in (counts or {}).items():
            digests, rest, end = count * _NUMBER, count * (_NUMBER + _HASH), count * _BYTES
            self._digests[Lookup[name]] = left[:digests].cast("Q")
            self._rest[Lookup[name]], left = left[digests : digests + rest], left[end:]
        if len(left):
            raise ValueError(f"{len(left)} bytes belong to no lookup")

    def get(self, asked: Asked) -> State:
        """Return the entry that a lookup of a state found when the ledger was checked; its number is 0 if none did."""
        digests = self._digests.get(asked[0])
        if not digests:
            return NEVER
        digest = digest_of(self._secret, asked)
        place = bisect_left(digests, digest)
        return self._at(asked[0], place) if place < len(digests) and digests[place] == digest else NEVER

    def unlisted(self, lookup: Lookup, names: Iterable[str]) -> int | None:
        """Return the number of an entry that holds a state of none of these names; None if there is none such."""
        listed = {digest_of(self._secret, (lookup, (name,))) for name in names}
        digests = self._digests.get(lookup, ())
        return next((self._at(lookup, place).seq for place, one in enumerate(digests) if one not in listed), None)

    def packed(self, newer: Mapping[Asked, State]) -> tuple[dict[str, int], bytes]:
        """Return the states as they are stored, those that are `newer` in the place of older ones."""
        counts, parts = {}, list[bytes]()
        for lookup in PACKED:
            states = dict(self._all(lookup))
            for asked, state in newer.items():
                if asked[0] is lookup and state.seq >= states.get(digest := digest_of(self._secret, asked), NEVER).seq:
                    known = states.get(digest, NEVER)
                    states[digest] = known if known.seq == state.seq and known.hash else state
            parts += _packed(states)
            counts[lookup.name] = len(states)
        return counts, b"".join(parts)

    def _all(self, lookup: Lookup) -> Iterator[tuple[int, State]]:
        return ((one, self._at(lookup, place)) for place, one in enumerate(self._digests.get(lookup, ())))

    def _at(self, lookup: Lookup, place: int) -> State:
        begin = place * (_NUMBER + _HASH)
        one = bytes(self._rest[lookup][begin : begin + _NUMBER + _HASH])
        return State(int.from_bytes(one[:_NUMBER], "big"), one[_NUMBER:] if any(one[_NUMBER:]) else None)


def _packed(states: Mapping[int, State]) -> list[bytes]:
    """Return digests in order, in the byte order of this machine, and then what belongs to each."""
    inorder = sorted(states.items())
    digests = array("Q", [digest for digest, _ in inorder]).tobytes()
    return [digests, *(one.seq.to_bytes(_NUMBER, "big") + (one.hash or bytes(_HASH)) for _, one in inorder)]
