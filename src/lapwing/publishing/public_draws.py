"""Random numbers that are no secret: whoever has the seed draws the same ones, on every machine.

A synthetic table needs some for which of many equal rows comes first. They protect nobody, and are never noise.
"""

from hashlib import shake_128

import numpy as np
from numpy.typing import NDArray


class PublicDraws:
    """A sequence of uniform numbers from 0 to below 1 that follows from its `seed`.

    >>> PublicDraws("seven").take(2).round(3).tolist()
    [0.878, 0.186]
    """

    def __init__(self, seed: str) -> None:
        self._seed, self._taken = seed, 0

    def take(self, count: int) -> NDArray[np.float64]:
        """Return the next numbers; those of one call depend on how many calls came before it."""
        self._taken += 1
        drawn = shake_128(f"lapwing public draws {self._taken} {self._seed}".encode()).digest(8 * count)
        return (np.frombuffer(drawn, "<u8") >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def order(self, count: int) -> NDArray[np.int64]:
        """Return the places 0, 1, ... below `count` in an order of their own."""
        return np.argsort(self.take(count), kind="stable")
