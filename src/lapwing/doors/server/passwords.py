"""Passwords and other secrets, as they are kept: never so that who reads the file can come in.

A token is 256 random bits, so its SHA-256 is as good as it gets. A password is not, so it goes through scrypt, which
takes about 0.2 s and 64 MiB; at most two are computed at once.
"""

import base64
import hashlib
import hmac
from threading import BoundedSemaphore
from typing import Final

from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import ParameterError

SHORTEST, LONGEST = 12, 200
_LOG_N: Final = 16
_MEMORY: Final = 128 << 20
_AT_ONCE = BoundedSemaphore(2)


def fresh_secret(bits: int = 256) -> str:
    """Return a fresh secret of characters that an address or a header may have."""
    return base64.urlsafe_b64encode(SYSTEM.take(bits // 8)).rstrip(b"=").decode("ascii")


def digest_of(secret: str) -> str:
    """Return how a random secret is kept."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def require_password(given: str) -> str:
    """Refuse a password that is too short or too long; there is no other rule, and it is not repeated."""
    if not SHORTEST <= len(given) <= LONGEST:
        remedy = f"choose {SHORTEST} to {LONGEST} characters, such as four words"
        raise ParameterError("password", "...", reason=f"has {len(given)} characters", remedy=remedy)
    return given


def hash_password(password: str, *, log_n: int = _LOG_N) -> str:
    """Return how a password is kept."""
    salt = SYSTEM.take(16)
    return f"scrypt${log_n}$8$1${salt.hex()}${_scrypt(password, salt, log_n, 8, 1).hex()}"


def matches(password: str, kept: str) -> bool:
    """Say whether a password is the one that is kept.

    >>> kept = hash_password("correct horse battery", log_n=4)
    >>> matches("correct horse battery", kept), matches("correct horse", kept)
    (True, False)
    """
    _, log_n, r, p, salt, wanted = kept.split("$")
    found = _scrypt(password[:LONGEST], bytes.fromhex(salt), int(log_n), int(r), int(p))
    return hmac.compare_digest(found.hex(), wanted)


def _scrypt(password: str, salt: bytes, log_n: int, r: int, p: int) -> bytes:
    with _AT_ONCE:
        secret = password.encode("utf-8", "replace")
        return hashlib.scrypt(secret, salt=salt, n=1 << log_n, r=r, p=p, maxmem=_MEMORY)
