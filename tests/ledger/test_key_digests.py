"""Digests of keys: a checkpoint has those it had before and those since, sorted, each once."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from lapwing.ledger.entries import Lookup
from lapwing.ledger.key_digests import KeyDigests, _merged

DIGESTS = st.sets(st.integers(0, 12) | st.integers(0, 2**64 - 1), max_size=20)


@given(DIGESTS, DIGESTS)
def test_two_sorted_lists_become_one(kept, added) -> None:
    merged = _merged(memoryview(array("Q", sorted(kept))), sorted(added))
    assert list(merged) == sorted(kept | added)


def test_what_was_kept_and_what_was_added_is_held_by_the_next_checkpoint() -> None:
    asked = [(Lookup.REQUEST, ("clinic", "ana", f"key {i}")) for i in range(300)]
    first = KeyDigests(bytes(32))
    first.add(asked[:200])
    second = KeyDigests(bytes(32), *first.packed())
    second.add(asked[150:])
    third = KeyDigests(bytes(32), *second.packed())
    assert [second.holds(one) for one in asked] == [True] * 200 + [False] * 100
    assert ([third.holds(one) for one in asked], third.count(Lookup.REQUEST)) == ([True] * 300, 300)
