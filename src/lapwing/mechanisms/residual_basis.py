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
from dataclasses import field, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.noise_mechanism import Priced, add_noise, integers, wrong_size
from lapwing.noise.laws import RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Sensitive, fill
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

Axes: TypeAlias = tuple[int, ...]
"""A set of columns, by their places in rising order."""
_MOST_PATTERNS: Final = 20
_LOST: Final = Fraction(1, 2**44)
"""More than what forty roundings of a double lose."""


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


def squared_mu(codes: Sequence[int], sigmas: Mapping[Axes, Fraction], unit: PrivacyUnit) -> Fraction:
    """Return the most by which one protected person or group moves all residuals together, each over its sigma.

    It is in squared length, and an upper bound. Under REPLACE no pair of people is the worst for every residual: which
    columns they differ in decides, and for up to 20 columns all such patterns are looked at.

    >>> unit = PrivacyUnit(person_key="id", adjacency=Adjacency.REPLACE)
    >>> together = squared_mu((3, 3), {(0,): Fraction(1), (1,): Fraction(1), (0, 1): Fraction(3)}, unit)
    >>> apart = squared_move((3,), unit) * 2 + Fraction(squared_move((3, 3), unit), 9)
    >>> round(float(together), 6), float(apart)
    (42.0, 48.0)

    Proof: proofs/published_marginals.md
    """
    alone = replace(unit, adjacency=Adjacency.ADD_REMOVE)
    parts = {axes: Fraction(squared_move([codes[a] for a in axes], alone)) / s**2 for axes, s in sigmas.items()}
    joined = sum(parts.values(), Fraction(0))
    if unit.adjacency is Adjacency.ADD_REMOVE:
        return joined
    each = [Fraction(squared_move([codes[a] for a in axes], unit)) / s**2 for axes, s in sigmas.items()]
    apart = sum(each, Fraction(0))
    together = _exchanged(codes, {axes: part for axes, part in parts.items() if axes})
    return max(joined, apart if together is None else min(apart, together))


def _exchanged(codes: Sequence[int], parts: Mapping[Axes, Fraction]) -> Fraction | None:
    """Return how far an exchange moves residuals that one person alone moves by `parts`; None for many columns."""
    used = sorted({a for axes in parts for a in axes})
    if len(used) > _MOST_PATTERNS:
        return None
    table = np.zeros((2,) * len(used))
    for axes, part in parts.items():
        table[tuple(int(a in axes) for a in used)] = float(part)
    # A residual counts by the product of 1 for each column in which they agree, and -1/(n - 1) for each other one.
    for place, a in enumerate(used):
        without, within = np.moveaxis(table, place, 0)
        table = np.stack((without + within, without - within / (codes[a] - 1)), axis=place)
    whole = sum(parts.values(), Fraction(0))
    return 2 * (whole * (1 + _LOST) - Fraction(float(table.min(initial=0.0))))


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
        spent = squared_mu(codes, sigmas, unit)
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
        opened, shape = integers(counts), tuple(self.codes[a] for a in axes)
        if isinstance(opened, int) or opened.shape != (math.prod(shape),):
            del opened
            raise wrong_size(math.prod(shape), "hand in every cell of the columns")
        return opened.astype(object).reshape(shape)  # Python's whole numbers, which never wrap around
