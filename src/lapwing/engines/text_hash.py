"""The hash of a text that databases compute quickest, for finding one text of a list by one comparison.

It only says where to look: a text is then compared with the one that is there. Should a database hash otherwise, texts
would not be found, so an engine that uses it looks whether it does (`SAMPLE`).
"""

from collections.abc import Sequence
from typing import Final

SAMPLE: Final = ("", "a", "site", "é€", "\U0001f600 and more", "0" * 33)
"""Texts of which a database must know the hash: of each length modulo 4, with bytes above 127, short and long."""
_SEED: Final = 42
_MOST_PLACES: Final = 4096
_32: Final = 0xFFFFFFFF


def murmur(text: str) -> int:
    """Return Murmur3 of the bytes of a text, as Spark's `hash` does: with the last of them one by one.

    >>> murmur("Spark")
    228093765
    """
    data, state = text.encode(), _SEED
    whole = len(data) // 4 * 4
    for place in range(0, whole, 4):
        state = _mixed(state, int.from_bytes(data[place : place + 4], "little"))
    for byte in data[whole:]:
        state = _mixed(state, byte - 256 & _32 if byte > 127 else byte)  # noqa: PLR2004 - a byte of Java has a sign
    state ^= len(data)
    for right, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> right) * factor & _32
    return state - 2**32 if state >> 31 else state


def size_without_meeting(texts: Sequence[str]) -> int | None:
    """Return the length of a list in which each text has a place of its own, by its hash; None if it would be long."""
    hashes = [murmur(text) for text in texts]
    sizes = range(len(texts), _MOST_PLACES + 1)
    return next((size for size in sizes if len({one % size for one in hashes}) == len(texts)), None)


def _mixed(state: int, part: int) -> int:
    part = _turned(part * 0xCC9E2D51 & _32, 15) * 0x1B873593 & _32
    return (_turned(state ^ part, 13) * 5 + 0xE6546B64) & _32


def _turned(number: int, left: int) -> int:
    return (number << left | number >> 32 - left) & _32
