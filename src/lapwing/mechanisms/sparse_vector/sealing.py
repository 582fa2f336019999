"""The state of a stream, sealed so that only its key opens it, only unaltered, and only where it belongs.

AES-256-GCM with a random nonce. The plaintext has a fixed width, because the length of a number would tell its size;
the rule, the lattice, the name and the sequence of the stream are authenticated with it.
"""

import struct
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lapwing.mechanisms.sparse_vector.lattice import ValueLattice
from lapwing.mechanisms.sparse_vector.rule import AnswerRule
from lapwing.mechanisms.sparse_vector.tails import Law
from lapwing.noise.laws import DiscreteLaplace, Geometric, RoundedGaussian
from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import ParameterError, SealBrokenError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.sensitive import Sensitive

KEY_BYTES: Final = 32
_FORMAT: Final = b"lapwing stream 1\n"
_NONCE_BYTES: Final = 12
_PLAINTEXT: Final = struct.Struct(">qQQQ")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class State:
    """What a stream must remember."""

    threshold_noise: int
    asked: int
    yeses: int
    units: int


def label(rule: AnswerRule, lattice: ValueLattice, *, threshold: int, name: str, sequence: int) -> bytes:
    """Return what a seal is bound to, as text in which no two different streams look the same."""
    comparisons = (f"{_law(one.noise)} {one.centre} {one.bar} {one.units}" for one in rule.comparisons)
    lines = (
        f"name {name!r}",
        f"sequence {as_int('sequence', sequence, least=0)}",
        f"grid {lattice.step} threshold {threshold}",
        f"threshold noise {_law(rule.threshold_noise)}",
        *comparisons,
        f"fresh noise {rule.fresh_noise and _law(rule.fresh_noise)} gap {rule.shows_gap}",
        f"units {rule.units} of {rule.unit_price} on {rule.opening_price} questions {rule.questions}",
    )
    return _FORMAT + "\n".join(lines).encode()


def seal(state: State, key: bytes, label: bytes) -> bytes:
    """Return the sealed state: always of the same length."""
    plaintext = _PLAINTEXT.pack(state.threshold_noise, state.asked, state.yeses, state.units)
    nonce = SYSTEM.take(_NONCE_BYTES)
    return _FORMAT + nonce + _cipher(key).encrypt(nonce, plaintext, label)


def unseal(sealed: bytes, key: bytes, label: bytes) -> State:
    """Return the state, or refuse without saying which of key, label and bytes is wrong."""
    cipher, body = _cipher(key), bytes(sealed).removeprefix(_FORMAT)
    try:
        plaintext = cipher.decrypt(body[:_NONCE_BYTES], body[_NONCE_BYTES:], label)
    except (InvalidTag, ValueError):  # a ValueError where too little is left to be a nonce and a tag
        raise SealBrokenError(
            "the sealed stream was altered, is not the latest, or belongs to another key, name or mechanism; "
            "it cannot be resumed: close it in the ledger at its full price"
        ) from None
    threshold_noise, asked, yeses, units = _PLAINTEXT.unpack(plaintext)
    return State(threshold_noise=threshold_noise, asked=asked, yeses=yeses, units=units)


def _cipher(key: bytes) -> AESGCM:
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        raise ParameterError("key", Sensitive(None), reason="is no key", remedy=f"give {KEY_BYTES} secret bytes")
    return AESGCM(key)


def _law(law: Law) -> str:
    match law:
        case Geometric():
            return f"geometric {law.scale}"
        case DiscreteLaplace():
            return f"discrete laplace {law.scale}"
        case RoundedGaussian():
            return f"rounded gaussian {law.sigma_used}"
