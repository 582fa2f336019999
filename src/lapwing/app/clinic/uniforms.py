"""Numbers that look random and are the same on every machine, for ever. They make up data; noise never comes from here.

The bytes are SHAKE128 (FIPS 202) of the name of what is drawn, so they depend on no library and no version of one. A
longer draw of the same name begins with the shorter one.
"""

from hashlib import shake_128
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Numbers: TypeAlias = NDArray[np.float64]


class Uniforms:
    """Draws for one block of people.

    Parameters
    ----------
    seed : which clinic
    block : which of its blocks

    Examples
    --------
    >>> draws = Uniforms(seed=7, block=0)
    >>> few, many = draws.take("age", 3), draws.take("age", 1000)
    >>> bool((few == many[:3]).all()), bool((many > 0).all() and (many < 1).all()), round(float(many.mean()), 1)
    (True, True, 0.5)
    """

    def __init__(self, *, seed: int, block: int) -> None:
        self._prefix = f"lapwing clinic/{seed}/{block}/"

    def take(self, name: str, count: int) -> Numbers:
        """Return `count` numbers strictly between 0 and 1."""
        words = np.frombuffer(shake_128((self._prefix + name).encode()).digest(4 * count), dtype="<u4")
        return (words + 0.5) * 2.0**-32

    def normal(self, name: str, count: int) -> Numbers:
        """Return `count` numbers of the normal law with mean 0 and deviation 1."""
        drawn: Numbers = ndtri(self.take(name, count))
        return drawn
