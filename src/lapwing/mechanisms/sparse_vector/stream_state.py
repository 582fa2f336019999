"""What a running stream must remember, and what its seal is bound to: its mechanism, name and sequence."""

import struct
from dataclasses import dataclass
from typing import Final

from lapwing.mechanisms.sparse_vector.lattice import ValueLattice
from lapwing.mechanisms.sparse_vector.rule import AnswerRule
from lapwing.mechanisms.sparse_vector.tails import Law
from lapwing.noise.laws import DiscreteLaplace, Geometric, RoundedGaussian
from lapwing.noise.sealing import Purpose, seal, unseal

_PLAINTEXT: Final = struct.Struct(">qQQQ")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StreamState:
    """What a stream must remember; the noise of its threshold is the secret."""

    threshold_noise: int
    asked: int
    yeses: int
    units: int

    def seal(self, key: bytes, *, stream: str, sequence: int, details: str) -> bytes:
        """Return the sealed state: always of the same length."""
        plaintext = _PLAINTEXT.pack(self.threshold_noise, self.asked, self.yeses, self.units)
        return seal(plaintext, key=key, purpose=Purpose.STATE, stream=stream, sequence=sequence, details=details)

    @classmethod
    def unseal(cls, sealed: bytes, key: bytes, *, stream: str, sequence: int, details: str) -> "StreamState":
        """Return the state, or refuse without saying which of key, place, details and bytes is wrong."""
        plaintext = unseal(
            bytes(sealed), key=key, purpose=Purpose.STATE, stream=stream, sequence=sequence, details=details
        )
        threshold_noise, asked, yeses, units = _PLAINTEXT.unpack(plaintext)
        return cls(threshold_noise=threshold_noise, asked=asked, yeses=yeses, units=units)


def describe(rule: AnswerRule, lattice: ValueLattice, threshold: int) -> str:
    """Return the public side of a stream as text, in which no two different ones look the same."""
    lines = (
        f"grid {lattice.step} threshold {threshold}",
        f"threshold noise {_law(rule.threshold_noise)}",
        *(f"{_law(one.noise)} {one.centre} {one.bar} {one.units}" for one in rule.comparisons),
        f"fresh noise {rule.fresh_noise and _law(rule.fresh_noise)} gap {rule.shows_gap}",
        f"units {rule.units} of {rule.unit_price} on {rule.opening_price} questions {rule.questions}",
    )
    return "\n".join(lines)


def _law(law: Law) -> str:
    match law:
        case Geometric():
            return f"geometric {law.scale}"
        case DiscreteLaplace():
            return f"discrete laplace {law.scale}"
        case RoundedGaussian():
            return f"rounded gaussian {law.sigma_used}"
