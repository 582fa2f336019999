"""Randomness that can be derived again: the noise of one answer, from a seed that was sealed before data was read.

A process that dies between a decision and its commit must not decide again with fresh noise: that would be two looks
for one price, with the crash to tell them apart. So the seed is drawn first, sealed and committed; whoever goes on
opens the seal and comes to the same decision. A seed serves one answer, once.

The rule not to break: the same decision follows only if the same samplers expand the seed. A seal is therefore bound to
`SAMPLERS`, and another version of lapwing, whose samplers use the bytes in another way, cannot open it: to it the seed
is lost, as it must be.
"""

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import SealBrokenError

SEED_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FORMAT: Final = 2

SAMPLERS: Final = 1
"""The version of all that lies between a seed and a decision: the samplers of `noise.laws` and the order in which a
stream draws from them. Whoever changes a draw raises it (`tests/noise/test_sealed_source.py` knows the draws)."""


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
    """Return a seed sealed under `key` and bound to `label` and to `SAMPLERS`: AES-256-GCM, always of the same length.

    >>> key, seed = fresh_seed(), fresh_seed()
    >>> open_seed(seal_seed(seed, key=key, label="stream 7 question 1"), key=key, label="stream 7 question 1") == seed
    True
    """
    nonce = SYSTEM.take(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, seed, _bound_to(label))


def open_seed(sealed: bytes, *, key: bytes, label: str) -> bytes:
    """Return a sealed seed, or refuse without saying which of key, label, samplers and bytes is wrong."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _bound_to(label))
    except (InvalidTag, ValueError):  # a ValueError where too little is left to be a nonce and a tag
        raise SealBrokenError(
            "the sealed seed of a question was altered, or belongs to another key, another question or the samplers "
            "of another version of lapwing; it is not guessed: the stream is closed at its full price"
        ) from None


def _bound_to(label: str) -> bytes:
    return f"lapwing seed {_FORMAT} samplers {SAMPLERS}\n{label}".encode()
