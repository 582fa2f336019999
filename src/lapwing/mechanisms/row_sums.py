"""Gaussian noise on sums over people of vectors of whole numbers, each of which is held to a length.

What a person adds is a function of that person's row and of public numbers. Its length is looked at here, person by
person, on the whole numbers that are summed: a vector that is longer than it may be adds nothing. So the sensitivity
rests on this page, and on no arithmetic of the caller.

The noise is Gaussian and rounded afterwards: a whole number plus rounded noise is the sum with continuous noise,
rounded. Several sums of one pass over the rows are releases of their own, and their rho adds up.

Proof: proofs/regression_rounds.md
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.gaussian import rational_root_above
from lapwing.mechanisms.noise_mechanism import Priced, add_noise, wrong_size
from lapwing.noise.laws import RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, GaussianNoise
from lapwing.vocabulary.exact import Sensitive, fill
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

Whole: TypeAlias = NDArray[np.int64]
WhatRowsAdd: TypeAlias = Callable[[Whole], Sequence[Whole]]
"""From rows, one a person, to what each adds to each sum: arrays with as many rows. A row must not see another."""

LONGEST: Final = 2**24
"""Squares of this length, of as many numbers as a sum may have, and sums over 2^38 people stay within 64 bits."""
MOST_ENTRIES: Final = 2**13
_BLOCK: Final = 1024
"""Rows that are looked at together: their vectors fit the cache of a processor."""


@frozen()
class BoundedSum:
    """A sum of vectors of `numbers` whole numbers, none longer than `longest` in L2 norm, released for `rho`."""

    longest: int
    numbers: int
    rho: Fraction

    def __post_init__(self) -> None:
        if not 1 <= self.longest <= LONGEST or not 1 <= self.numbers <= MOST_ENTRIES or self.rho <= 0:
            remedy = f"sum vectors of at most {MOST_ENTRIES} numbers and a length of 1 to {LONGEST}, for a rho above 0"
            raise ParameterError("sums", repr(self), reason="cannot be released", remedy=remedy)

    def sigma(self, unit: PrivacyUnit) -> Fraction:
        """Return the least sigma at which one protected person or group costs no more than rho.

        A person who comes or goes moves the sum by the length of one vector, one who is replaced by that of two.
        """
        people = unit.protects_groups_of * (2 if unit.adjacency is Adjacency.REPLACE else 1)
        return rational_root_above(Fraction((people * self.longest) ** 2) / (2 * self.rho))

    @property
    def event(self) -> GaussianNoise:
        """Its price: that of sensitivity 1 and the sigma that rho pays for."""
        return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / (2 * self.rho))


@frozen(init=False)
class RowSumMechanism(Priced[Composed]):
    """Releases sums over people of bounded vectors, each sum with rounded Gaussian noise of its own.

    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> ages = BoundedSum(longest=100, numbers=1, rho=Fraction(1, 2))
    >>> summing = RowSumMechanism(sums=[ages], unit=PrivacyUnit(person_key="id"))
    >>> ((total,),) = summing.release(np.array([[40], [60], [900]]), lambda rows: [rows])
    >>> -800 < total < 1000
    True

    Proof: proofs/regression_rounds.md
    """

    sums: tuple[BoundedSum, ...]
    unit: PrivacyUnit
    _laws: tuple[RoundedGaussian, ...] = field(repr=False, compare=False)

    def __init__(self, *, sums: Sequence[BoundedSum], unit: PrivacyUnit) -> None:
        laws = tuple(RoundedGaussian(one.sigma(unit)) for one in sums)
        event = Composed(parts=tuple(one.event for one in sums))
        fill(self, sums=tuple(sums), unit=unit, event=event, _laws=laws)

    @property
    def sigmas(self) -> tuple[float, ...]:
        """The standard deviation of the noise of each sum."""
        return tuple(float(law.sigma_used) for law in self._laws)

    def release(self, rows: "Sensitive[Whole] | Whole", add: WhatRowsAdd) -> list[list[int]]:
        """Return each sum with noise; a row, which is one person, whose vector is too long adds nothing to it."""
        opened = rows.open_for_release() if isinstance(rows, Sensitive) else rows
        totals = [np.zeros(one.numbers, np.int64) for one in self.sums]
        for start in range(0, len(opened), _BLOCK):
            block = opened[start : start + _BLOCK]
            vectors = add(block)
            for place, (one, each) in enumerate(zip(self.sums, vectors, strict=True)):
                if each.shape != (len(block), one.numbers) or each.dtype != np.int64:
                    del opened, block, vectors, each
                    raise wrong_size(one.numbers, "let every row add as many whole numbers as its sum has")
                totals[place] += without_long_ones(each, one.longest).sum(axis=0)
        del opened
        return [
            [int(number) for number in np.ravel(add_noise(total, law, one.numbers))]
            for total, law, one in zip(totals, self._laws, self.sums, strict=True)
        ]


def without_long_ones(vectors: Whole, longest: int) -> Whole:
    """Return vectors, one a row, with those that are longer than they may be as zeros.

    Numbers beyond the length are found before anything is squared, so nothing wraps around.

    >>> without_long_ones(np.array([[3, 4], [3, 5], [2**62, 0]]), 5).tolist()
    [[3, 4], [0, 0], [0, 0]]
    """
    if vectors.size and (vectors.max() > longest or vectors.min() < -longest):
        vectors = vectors * ((-longest <= vectors) & (vectors <= longest)).all(axis=1, keepdims=True)
    short = np.einsum("ij,ij->i", vectors, vectors) <= longest**2
    return vectors if short.all() else np.asarray(vectors * np.expand_dims(short, 1), np.int64)
