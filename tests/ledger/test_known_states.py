"""The states of a checkpoint are found again by what they are the state of, whatever was there before."""

from hashlib import sha256
from random import Random

import pytest

from lapwing.ledger.entries import Lookup
from lapwing.ledger.known_states import NEVER, PACKED, KnownStates, State

SECRET = bytes(range(32))


def state(seq: int) -> State:
    return State(seq, sha256(str(seq).encode()).digest())


def test_all_that_was_packed_is_found_and_nothing_else() -> None:
    """As many as a country has, in several rounds: each packs what the one before it had, and what has changed."""
    dice, kept, states = Random(7), {}, KnownStates(SECRET)
    for _ in range(3):
        newer = {}
        for _ in range(4000):
            lookup, name = dice.choice(PACKED), f"p{dice.randrange(5000)}"
            asked = lookup, (name, "ana") if lookup is Lookup.ALLOWANCE else (name,)
            newer[asked] = state(max(kept.get(asked, NEVER).seq, newer.get(asked, NEVER).seq) + dice.randrange(1, 9))
        states = KnownStates(SECRET, *states.packed(newer))
        kept |= newer
    assert all(states.get(asked) == one for asked, one in kept.items())
    assert len(states.packed({})[1]) == 48 * len(kept)
    assert states.get((Lookup.ACCOUNT, ("p5001",))) == NEVER
    assert KnownStates(SECRET[::-1], *states.packed({})).get(next(iter(kept))) == NEVER
    names = [values[0] for lookup, values in kept if lookup is Lookup.POLICY]
    assert states.unlisted(Lookup.POLICY, names) is None
    assert states.unlisted(Lookup.POLICY, names[1:]) == kept[Lookup.POLICY, (names[0],)].seq


@pytest.mark.parametrize(
    ("newer", "stands"),
    [
        (State(7, b"x" * 32), state(7)),  # the hash that was seen first
        (State(7, None), state(7)),
        (State(6, b"x" * 32), state(7)),  # an older one is no news
        (State(8, b"x" * 32), State(8, b"x" * 32)),
        (State(8, None), State(8, None)),
    ],
)
def test_the_first_hash_of_the_last_entry_stands(newer, stands) -> None:
    asked = Lookup.ACCOUNT, ("clinic",)
    first = KnownStates(SECRET, *KnownStates(SECRET).packed({asked: state(7)}))
    assert KnownStates(SECRET, *first.packed({asked: newer})).get(asked) == stands


def test_bytes_that_are_too_many_are_refused() -> None:
    counts, packed = KnownStates(SECRET).packed({(Lookup.POLICY, ("clinic",)): state(3)})
    with pytest.raises(ValueError, match="belong to no lookup"):
        KnownStates(SECRET, counts, packed + bytes(8))
