"""Sealed secrets that survive a crash: the seed from which the noise of one answer is derived again, a stream's state.

A process that dies between a decision and its commit must not decide again with fresh noise: that would be two releases
for one price, and the crash may depend on the first. So the seed is drawn first, sealed and committed; the process that
recovers opens the seal and comes to the same decision. A seed serves one answer, once.

A seal is AES-256-GCM with a random nonce. The sealed bytes have one width, because the length of a number would reveal
its size; the purpose, the stream and the place in its sequence are associated data, so that a secret that was sealed
for one of them opens for no other. Streams of two populations may share a name: callers give one that tells them apart.

The rule not to break: the same decision follows only if the same samplers expand the seed. The seal of a seed is
therefore bound to `SAMPLERS`, and another version of lapwing, whose samplers use the bytes in another way, cannot open
it: to it the seed is lost, as it must be.
"""

from enum import Enum
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import ParameterError, SealBrokenError
from lapwing.vocabulary.exact import Sensitive, as_int

SECRET_BYTES: Final = 32  # the width of a secret, a seed or the state of a stream, and of a key
SAMPLERS: Final = 1
"""The version of all that lies between a seed and a decision: the samplers of `noise.laws` and the order in which a
stream draws from them. A change of any draw must raise it (`tests/noise/test_sealing.py` pins the draws)."""

_NONCE_BYTES: Final = 12


class Purpose(Enum):
    """The kinds of sealed secrets; each value is the error message if a seal does not open."""

    SEED = (
        "the sealed seed of a question was altered, or belongs to another key, another question, another population or "
        "the samplers of another version of lapwing; it is not guessed: the stream is closed at its full price; open a "
        "new stream to ask on"
    )
    STATE = (
        "the sealed stream was altered, is not the latest, or belongs to another key, name, population or mechanism; "
        "it is not guessed: the stream is closed at its full price; open a new stream to ask on"
    )


class SealedSource:
    """The bytes that ChaCha20 expands from a seed: without the seed they are indistinguishable from random ones.

    The seed is 32 bytes, used for this source only.

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
    """Return a new secret seed."""
    return SYSTEM.take(SECRET_BYTES)


def seal(secret: bytes, *, key: bytes, purpose: Purpose, stream: str, sequence: int, details: str = "") -> bytes:
    """Return 32 secret bytes sealed under `key`, always of the same length, and bound to the other parameters.

    The key is 32 bytes, stored apart from the seals; `details` is further text that must be equal for the seal to open.

    >>> key, seed = fresh_seed(), fresh_seed()
    >>> sealed = seal(seed, key=key, purpose=Purpose.SEED, stream="cohorts", sequence=1)
    >>> unseal(sealed, key=key, purpose=Purpose.SEED, stream="cohorts", sequence=1) == seed
    True
    """
    if len(secret) != SECRET_BYTES:
        raise AssertionError  # pragma: no cover - another width would reveal what is sealed
    nonce = SYSTEM.take(_NONCE_BYTES)
    return nonce + _cipher(key).encrypt(nonce, secret, _bound_to(purpose, stream, sequence, details))


def unseal(sealed: bytes, *, key: bytes, purpose: Purpose, stream: str, sequence: int, details: str = "") -> bytes:
    """Return the secret, or refuse without revealing which of key, purpose, place and bytes is wrong."""
    cipher, bound_to = _cipher(key), _bound_to(purpose, stream, sequence, details)
    try:
        return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound_to)
    except (InvalidTag, ValueError):  # a ValueError where too little is left to be a nonce and a tag
        raise SealBrokenError(purpose.value) from None


def _cipher(key: bytes) -> AESGCM:
    if not isinstance(key, bytes) or len(key) != SECRET_BYTES:
        raise ParameterError("key", Sensitive(None), reason="is not a key", remedy=f"give {SECRET_BYTES} secret bytes")
    return AESGCM(key)


def _bound_to(purpose: Purpose, stream: str, sequence: int, details: str) -> bytes:
    """Return the associated data of a seal: lines of text that are injective in the parameters."""
    version = f" samplers {SAMPLERS}" if purpose is Purpose.SEED else ""
    place = f"stream {stream!r} sequence {as_int('sequence', sequence, least=0)}"
    return f"lapwing {purpose.name.lower()} 3{version}\n{place}\n{details}".encode()
