"""Chance for those who attack and for those who are attacked: the same for the same seed, on every machine.

Nothing here protects anybody. The noise of lapwing is drawn in `lapwing.noise`, and no attack can seed it.
"""

from hashlib import shake_256
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Numbers: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

_BYTES = 8
_LOWEST_BITS = 11
"""A double holds 53 bits: of 64 the lowest 11 are dropped."""


class Coins:
    """Numbers that look random: SHAKE256 of the seed, of what they are for, and of how many draws went before.

    Parameters
    ----------
    seed : which run
    purpose : what the numbers are for; two purposes share nothing

    Examples
    --------
    >>> bool((Coins(1, "cohorts").flips(5) == Coins(1, "cohorts").flips(5)).all())
    True
    >>> float(Coins(1, "cohorts").uniforms(10_000).mean().round(1))
    0.5
    """

    def __init__(self, seed: int, purpose: str) -> None:
        self._prefix, self._drawn = f"lapwing attacks/{seed}/{purpose}/", 0

    def flips(self, *shape: int) -> Mask:
        """Return fair coins."""
        count = int(np.prod(shape))
        bits = np.frombuffer(self._bytes(-(-count // 8)), dtype=np.uint8)
        return np.unpackbits(bits, count=count).astype(bool).reshape(shape)

    def uniforms(self, *shape: int) -> Numbers:
        """Return numbers strictly between 0 and 1."""
        words = np.frombuffer(self._bytes(_BYTES * int(np.prod(shape))), dtype="<u8") >> np.uint64(_LOWEST_BITS)
        return (words.astype(np.float64) + 0.5).reshape(shape) * 2.0 ** (_LOWEST_BITS - 8 * _BYTES)

    def normals(self, *shape: int) -> Numbers:
        """Return numbers of the normal law with mean 0 and deviation 1."""
        drawn: Numbers = ndtri(self.uniforms(*shape))
        return drawn

    def laplaces(self, *shape: int) -> Numbers:
        """Return numbers of the Laplace law with scale 1."""
        centred = self.uniforms(*shape) - 0.5
        drawn: Numbers = -np.sign(centred) * np.log1p(-2 * np.abs(centred))
        return drawn

    def _bytes(self, count: int) -> bytes:
        self._drawn += 1
        return shake_256(f"{self._prefix}{self._drawn}".encode()).digest(count)
