"""Which rows and which cells of a person count, where not all may.

They are picked by their rank: whole-number arithmetic on the public salt, the person key and what tells the choices
apart. Every engine computes the same rank in 64-bit integers, so every engine picks the same, in any order and on any
number of threads. Two squarings in a row make all orders of the choices about equally frequent; privacy needs no more
than that the pick depends on nothing but the person's own rows.
"""

import hashlib
from collections.abc import Iterable

MODULUS = 2**31 - 1
"""Products of two residues fit 62 bits."""
FACTOR = 1_103_515_245
STRETCH = 48_271
SHIFT = 12_345


def rank(salt: int, numbers: Iterable[int]) -> int:
    """Return the rank of a choice that is told apart by `numbers`.

    >>> sorted(range(5), key=lambda cell: rank(0, [17, cell]))
    [1, 4, 0, 3, 2]
    """
    state = salt
    for number in numbers:
        state = (state * FACTOR + number % MODULUS) % MODULUS
    state = state * STRETCH % MODULUS
    state = (state * state + SHIFT) % MODULUS
    return state * state % MODULUS


def text_number(text: str) -> int:
    """Return a number for a text, the same on every engine: the first 60 bits of its MD5 (no secret rests on it)."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)
