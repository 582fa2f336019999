"""Gaussian noise on sums over people of whole numbers, which no person moves further than is looked at here.

What a person adds is a function of that person's row and of public numbers: a vector, times a factor; or all products
of two numbers of a vector. They are made whole here, and their lengths are looked at, person by person, on the whole
numbers that are summed: who has a longer one than may be adds nothing. So the sensitivity rests on this page, and on no
arithmetic of the caller.

Sums are computed with numbers of the machine, a block of people at a time that is so small that no sum in it reaches
2^53: up to there whole numbers are exact, in whichever order they are added. Totals never wrap.

The noise is Gaussian and rounded afterwards: a whole number plus rounded noise is the sum with continuous noise,
rounded. Several sums of one pass over the rows are releases of their own, and their rho adds up.

Proof: proofs/regression_rounds.md
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeAlias

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

Whole: TypeAlias = NDArray[np.integer[Any]]
Reals: TypeAlias = NDArray[np.float64]
"""Whole numbers, as numbers of the machine."""
Added: TypeAlias = tuple[Reals, Reals | None]
"""The vectors of people, a column for each, and the factors that they are multiplied with."""
WhatRowsAdd: TypeAlias = Callable[[Whole], Sequence[Added]]
"""From rows, one a person, to what each adds to each sum. A row must not see another."""

MOST_ENTRIES: Final = 2**13
DIAGONAL, BESIDE = 29, 41
"""Products are summed as an upper triangle: its diagonal times 29, and the rest times 41, less than √2 of that."""
_BLOCK: Final = 2**13
"""Rows that are looked at together: their vectors fit the cache of a processor."""
_ALONE: Final = 200_000
_EXACT: Final = 2**53
_LENGTH_BITS: Final = 20


@frozen()
class BoundedSum:
    """A sum over people, released for `rho`: of vectors of `numbers` whole numbers, none longer than `longest`.

    Each vector is multiplied with a whole number within ±`factor`. Or, if `squared`, its products are summed.
    """

    numbers: int
    longest: int
    rho: Fraction
    factor: int = 1
    squared: bool = False

    def __post_init__(self) -> None:
        least, most = min(self.numbers, self.longest, self.factor), max(self.longest, self.factor)
        entries = self.entries if least >= 1 else 0
        if not 1 <= entries <= MOST_ENTRIES or self.longest * most * _BLOCK > _EXACT or self.rho <= 0:
            most = _EXACT // _BLOCK
            remedy = f"sum at most {MOST_ENTRIES} numbers and products of lengths up to {most}, for a rho above 0"
            raise ParameterError("sums", repr(self), reason="cannot be released", remedy=remedy)

    @property
    def entries(self) -> int:
        """How many numbers are released."""
        return self.numbers * (self.numbers + 1) // 2 if self.squared else self.numbers

    @property
    def moved(self) -> int:
        """How far one person moves the exact sum at most."""
        return DIAGONAL * self.longest**2 if self.squared else self.longest * self.factor

    @property
    def fall(self) -> int:
        """By how many bits the exact sum is made shorter before noise is added."""
        return max(0, self.moved.bit_length() - 1 - _LENGTH_BITS)

    @property
    def sensitivity(self) -> int:
        """How far one person moves what noise is added to: rounding moves each number by less than one step more."""
        return self.moved if self.fall == 0 else (self.moved >> self.fall) + 2 + math.isqrt(self.entries)

    def sigma(self, unit: PrivacyUnit) -> Fraction:
        """Return the least sigma at which one protected person or group costs no more than rho.

        A person who comes or goes moves the sum by the length of one vector, one who is replaced by that of two.
        """
        people = unit.protects_groups_of * (2 if unit.adjacency is Adjacency.REPLACE else 1)
        return rational_root_above(Fraction((people * self.sensitivity) ** 2) / (2 * self.rho))

    @property
    def event(self) -> GaussianNoise:
        """Its price: that of sensitivity 1 and the sigma that rho pays for."""
        return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / (2 * self.rho))

    def of_block(self, added: Added, people: int) -> Reals:
        """Return the sum over a block of people; who is beyond a bound adds nothing."""
        shape, factored = added[0].shape, None if added[1] is None else added[1].shape
        if (
            added[0].dtype != np.float64
            or shape != (self.numbers, people)
            or factored not in ({None} if self.squared else {None, (people,)})
        ):
            del added
            raise wrong_size(self.numbers, "let every row add as many whole numbers as its sum has")
        vectors, factors = within_bounds(*added, self.longest, self.factor)
        if self.squared:
            return np.asarray(products(vectors)[_upper(self.numbers)])
        return np.asarray(vectors.sum(axis=1) if factors is None else np.einsum("ij,j->i", vectors, factors))

    def told(self, total: "NDArray[np.object_]") -> NDArray[np.int64]:
        """Return the exact sum in the steps that noise is added in."""
        if self.squared:
            rows, columns = _upper(self.numbers)
            total = total * np.where(rows == columns, DIAGONAL, BESIDE).astype(object)
        return np.asarray((total + (1 << self.fall >> 1)) >> self.fall, np.int64)


@frozen(init=False)
class RowSumMechanism(Priced[Composed]):
    """Releases sums over people of bounded vectors, each sum with rounded Gaussian noise of its own.

    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> ages = BoundedSum(longest=100, numbers=1, rho=Fraction(1, 2))
    >>> summing = RowSumMechanism(sums=[ages], unit=PrivacyUnit(person_key="id"))
    >>> ((total,),) = summing.release(np.array([[40], [60], [900]]), lambda rows: [(rows.T.astype(float), None)])
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
        """Return each sum with noise; a row, which is one person, that is beyond a bound adds nothing to that sum."""
        opened = rows.open_for_release() if isinstance(rows, Sensitive) else rows
        totals = [np.zeros(one.entries, object) for one in self.sums]
        for start in range(0, len(opened), _BLOCK):
            block = opened[start : start + _BLOCK]
            for place, (one, added) in enumerate(zip(self.sums, add(block), strict=True)):
                totals[place] += one.of_block(added, len(block)).astype(np.int64).astype(object)
        del opened
        return [
            [int(number) for number in np.ravel(add_noise(one.told(total), law, one.entries))]
            for total, law, one in zip(totals, self._laws, self.sums, strict=True)
        ]


def within_bounds(vectors: Reals, factors: Reals | None, longest: int, factor: int) -> tuple[Reals, Reals | None]:
    """Make vectors, a column a person, and factors whole in their place; where one is beyond its bound, both are 0.

    A sum of squares that is beyond 2^53 is rounded, but never below it, so what is too long is seen.

    >>> within_bounds(np.array([[3.0, 3, 1e300], [4, 5, 0]]), None, 5, 1)[0].tolist()
    [[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    """
    for real in (vectors, factors):
        if real is not None:
            np.rint(real, out=real)
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.einsum("ij,ij->j", vectors, vectors) <= float(longest**2)
    if factors is not None:
        fits &= np.abs(factors) <= factor
    if fits.all():
        return vectors, factors
    return np.where(fits, vectors, 0.0), None if factors is None else np.where(fits, factors, 0.0)


def products(vectors: Reals) -> Reals:
    """Return the sums of all products of two numbers of vectors, a column a person.

    >>> products(np.array([[1.0, 2], [3, 5]])).tolist()
    [[5.0, 13.0], [13.0, 34.0]]
    """
    parts, rest = _in_slices(vectors, len(vectors))
    return np.asarray((parts @ parts.transpose(0, 2, 1)).sum(axis=0) + rest @ rest.T)


def mapped(factors: Reals, columns: Reals) -> Reals:
    """Return a public matrix times what is known of each person, a column each."""
    told = np.empty((len(factors), columns.shape[1]))
    (parts, rest), (out, end) = (_in_slices(one, factors.size // one.shape[0]) for one in (columns, told))
    np.matmul(factors, parts, out=out)
    np.matmul(factors, rest, out=end)
    return told


def _in_slices(numbers: Reals, others: int) -> "tuple[NDArray[np.float64], Reals]":
    """Return views of columns in slices, and of the rest: so few that no library starts threads for their products.

    On a busy machine threads for matrices of this size wait for each other a hundred times longer than they work.
    """
    many, people = numbers.shape
    each = 1 << max(4, (_ALONE // (many * others)).bit_length() - 1)
    whole = people // each
    return numbers[:, : whole * each].reshape(many, whole, each).transpose(1, 0, 2), numbers[:, whole * each :]


@lru_cache(maxsize=8)
def _upper(many: int) -> "tuple[NDArray[np.intp], NDArray[np.intp]]":
    """Return the rows and the columns of an upper triangle."""
    return np.triu_indices(many)
