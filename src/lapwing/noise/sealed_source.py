"""Randomness that can be derived again: the noise of one answer, from a seed that was sealed before data was read.

A process that dies between a decision and its commit must not decide again with fresh noise: that would be two looks
for one price, with the crash to tell them apart. So the seed is drawn first, sealed and committed; whoever goes on
opens the seal and comes to the same decision. A seed serves one answer, once.
"""

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import SealBrokenError

SEED_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FORMAT: Final = b"lapwing seed 1\n"


class SealedSource:
    """The bytes that follow from a seed, by ChaCha20: whoever lacks the seed cannot tell them from random ones.

    Parameters
    ----------
    seed : 32 bytes, used for this source only

    Examples
    --------
    >>> seed = fresh_seed()
    >>> SealedSource(seed).take(100) == SealedSource(seed).take(100)
    True
    """

    __slots__ = ("_stream",)

    def __init__(self, seed: bytes) -> None:
        self._stream = Cipher(algorithms.ChaCha20(seed, bytes(16)), mode=None).encryptor()

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        return self._stream.update(bytes(count))


def fresh_seed() -> bytes:
    """Return a seed that nobody has seen."""
    return SYSTEM.take(SEED_BYTES)


def seal_seed(seed: bytes, *, key: bytes, label: str) -> bytes:
    """Return a seed sealed under `key` and bound to `label`: AES-256-GCM, always of the same length.

    >>> key, seed = fresh_seed(), fresh_seed()
    >>> open_seed(seal_seed(seed, key=key, label="stream 7 question 1"), key=key, label="stream 7 question 1") == seed
    True
    """
    nonce = SYSTEM.take(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, seed, _FORMAT + label.encode())


def open_seed(sealed: bytes, *, key: bytes, label: str) -> bytes:
    """Return a sealed seed, or refuse without saying which of key, label and bytes is wrong."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _FORMAT + label.encode())
    except (InvalidTag, ValueError):  # a ValueError where too little is left to be a nonce and a tag
        raise SealBrokenError(
            "the sealed seed of a question was altered, or belongs to another key or question; it is not guessed: the "
            "stream is closed at its full price"
        ) from None
