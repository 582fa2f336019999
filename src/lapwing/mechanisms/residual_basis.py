"""Gaussian noise on the residuals of marginals: one release from which many tables that overlap are read.

The *residual* of a set of columns is its table of counts, centred along every column: what the table says beyond the
smaller ones in it. Residuals of different sets are orthogonal, and every marginal is the sum of the residuals of its
subsets. So each is measured once, whatever tables it is in. Kept in whole numbers it is (n I - 11') along every column
of n codes, and one person moves it by n (n - 1) for each column, in squared length, whoever they are.

The noise is Gaussian and rounded afterwards: a whole number plus rounded noise is the sum with continuous noise,
rounded. (Discrete Gaussian noise is something else: its price is that of a fixed list of moves.)

Xiao, He, Zhang, Kifer, *An optimal and scalable matrix mechanism for noisy marginals under convex loss functions*,
NeurIPS 2023, found that this basis is best. Proof: proofs/published_marginals.md
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.noise_mechanism import Priced, add_noise, wrong_size
from lapwing.noise.laws import RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Sensitive, fill
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

Axes: TypeAlias = tuple[int, ...]
"""A set of columns, by their places in rising order."""


def whole_residual(table: NDArray[Any]) -> NDArray[Any]:
    """Return (n I - 11') of a table along each axis of n codes: whole numbers of whole numbers.

    >>> whole_residual(np.array([3, 1]))
    array([ 2, -2])
    """
    for axis, codes in enumerate(table.shape):
        table = codes * table - table.sum(axis=axis, keepdims=True)
    return table


def squared_move(codes: Sequence[int], unit: PrivacyUnit) -> int:
    """Return the most by which one protected person or group moves the whole residual of columns with so many codes.

    It is in squared length. Under REPLACE somebody's row may be exchanged for another one, or be there or not.

    Proof: proofs/published_marginals.md
    """
    moved = math.prod(n * (n - 1) for n in codes)
    if codes and unit.adjacency is Adjacency.REPLACE:
        fewest = min(codes)
        moved = 2 * moved * fewest // (fewest - 1)
    return moved * unit.protects_groups_of**2


@frozen(init=False)
class ResidualMechanism(Priced[GaussianNoise]):
    """Releases the whole residuals of sets of columns, each with rounded Gaussian noise of its own sigma.

    `codes` says how many codes each column has. If everybody has at most one row, telling the released numbers with a
    person from those without is no easier than telling N(0, 1) from N(mu, 1), where mu² is that of `event`. That the
    squared moves of all residuals over their variances add up to no more is checked here, in fractions, before anything
    is drawn.

    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> event = GaussianNoise(l2_sensitivity_squared=1, sigma_squared=16)
    >>> unit = PrivacyUnit(person_key="id")
    >>> basis = ResidualMechanism(codes=(2,), sigmas={(): Fraction(8), (0,): Fraction(8)}, unit=unit, event=event)
    >>> [len(numbers) for numbers in basis.release({(0,): [40, 60]})]
    [1, 2]
    >>> ResidualMechanism(codes=(2,), sigmas={(): Fraction(4), (0,): Fraction(8)}, unit=unit, event=event)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: sigmas = 3/32 is the square of mu, above the 1/16 that is paid for; raise the sigmas

    Proof: proofs/published_marginals.md
    """

    codes: tuple[int, ...]
    sigmas: Mapping[Axes, Fraction] = field(compare=False)
    unit: PrivacyUnit

    def __init__(
        self, *, codes: Sequence[int], sigmas: Mapping[Axes, Fraction], unit: PrivacyUnit, event: GaussianNoise
    ) -> None:
        if not sigmas or min(codes, default=2) < 2:  # noqa: PLR2004 - a column with one code has no residual
            raise ParameterError(
                "codes", tuple(codes), reason="make no residual", remedy="give columns two codes or more"
            )
        for sigma in sigmas.values():
            RoundedGaussian(sigma)
        spent = sum(Fraction(squared_move([codes[a] for a in axes], unit)) / sigma**2 for axes, sigma in sigmas.items())
        paid = event.l2_sensitivity_squared / event.sigma_squared
        if spent > paid:
            reason = f"is the square of mu, above the {paid} that is paid for"
            raise ParameterError("sigmas", spent, reason=reason, remedy="raise the sigmas")
        fill(self, codes=tuple(codes), sigmas=dict(sigmas), unit=unit, event=event)

    def release(self, counted: "Mapping[Axes, Sensitive[Sequence[int]] | Sequence[int]]") -> list[list[int]]:
        """Return each residual with noise, computed from the first of the counted tables that holds its columns."""
        tables = {axes: self._opened(axes, counts) for axes, counts in counted.items()}
        released = []
        for axes, sigma in self.sigmas.items():
            wider = next(one for one in tables if set(axes) <= set(one))
            marginal = tables[wider].sum(axis=tuple(i for i, a in enumerate(wider) if a not in axes), keepdims=False)
            exact = [int(number) for number in np.ravel(whole_residual(np.asarray(marginal, object)))]
            noisy = add_noise(exact, RoundedGaussian(sigma), len(exact))
            released.append([int(number) for number in np.ravel(noisy)])
        return released

    def _opened(self, axes: Axes, counts: "Sensitive[Sequence[int]] | Sequence[int]") -> NDArray[Any]:
        # As Python's whole numbers, which never wrap around.
        opened = counts.open_for_release() if isinstance(counts, Sensitive) else counts
        shape = tuple(self.codes[a] for a in axes)
        if len(opened) != math.prod(shape):
            del opened
            raise wrong_size(math.prod(shape), "hand in every cell of the columns")
        return np.array(opened, dtype=object).reshape(shape)
