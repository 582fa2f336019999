"""Tables of rows, where a person may have many: counted by how many rows the person has, each stratum with its noise.

Somebody with up to m rows moves a table of rows m times as far as a table of people. If all are to have the noise of
the few who have most, most tables drown in it. So people are sorted into *strata* by the number of their rows, 1, 2, 3
to 5 and so on: everybody is in one, and the rows of a stratum of up to m get noise m times as large as people would.
The sum over strata has √(Σm²) times that noise, and the strata of the many, who have few rows, are sharp.

Whoever has more rows than the last stratum allows is in no table. Proof: proofs/published_marginals.md
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.residual_basis import Axes, ResidualMechanism
from lapwing.mechanisms.strata import by_stratum
from lapwing.publishing.measurements import (
    Counted,
    GaussianResiduals,
    GeometricCover,
    Measurement,
    Table,
    chernoff,
    geometric_cover,
    normal_reach,
    weights_of_draws,
)
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event, PureRelease
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

MOST_ROWS_OF_PERSON: Final = 100
_MOST_STRATA: Final = 20


def read_caps(rows: object) -> tuple[int, ...]:
    """Return the most rows that somebody of each stratum has, in rising order; refuse what does not rise.

    >>> read_caps([1, 2, 5, 10, 20])
    (1, 2, 5, 10, 20)
    """
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not 0 < len(rows) <= _MOST_STRATA:
        remedy = f"list the most rows of each stratum, up to {_MOST_STRATA} of them, such as rows=[1, 2, 5, 10]"
        raise ParameterError("rows", rows, reason="is no list of numbers of rows", remedy=remedy)
    caps = tuple(as_int("rows", one, most=MOST_ROWS_OF_PERSON) for one in rows)
    if any(after <= before for before, after in itertools.pairwise(caps)):
        raise ParameterError("rows", list(caps), reason="does not rise", remedy="write rows=[1, 2, 5, 10]")
    return caps


def unit_of_rows(unit: PrivacyUnit) -> PrivacyUnit:
    """Return the unit by which noise on rows is reckoned: whoever is exchanged leaves one stratum and enters another.

    That is twice what one person alone does.
    """
    twice = 2 if unit.adjacency is Adjacency.REPLACE else 1
    return replace(unit, adjacency=Adjacency.ADD_REMOVE, protects_groups_of=twice * unit.protects_groups_of)


@frozen()
class RowStrata(Measurement):
    """The measurements of all strata, `caps` the most rows that somebody of each has; what they say is added up.

    `variances` and whatever follows from them are those of the sum over strata; `strata` has each by itself.
    """

    caps: tuple[int, ...]
    strata: tuple[Measurement, ...]
    price: Event

    @staticmethod
    def over(people: Measurement, caps: tuple[int, ...], wanted: Sequence[Axes], unit: PrivacyUnit) -> "RowStrata":
        """Return the strata for which each has the noise of `people`, times its cap. `unit` is that of rows."""
        strata = tuple(_times(people, cap, wanted, unit) for cap in caps)
        squares = sum(cap**2 for cap in caps)
        price: Event = people.event
        if isinstance(people, GeometricCover):  # strata have scales of their own, and one epsilon
            one = people.mechanism.event
            price = PureRelease(epsilon=one.l1_sensitivity / one.scale)
        return RowStrata(
            codes=people.codes,
            counted=people.counted,
            variances={axes: sum(one.variances[axes] for one in strata) for axes in people.variances},
            off=squares * people.off,
            caps=caps,
            strata=strata,
            price=price,
        )

    @property
    def event(self) -> Event:
        """What is charged: one stratum, for nobody is in two."""
        return self.price

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return sum(one.numbers for one in self.strata)

    def release(self, counted: Counted) -> list[list[int]]:
        """Add noise to what was counted: for each table, stratum after stratum, and then those with more rows."""
        apart = {axes: by_stratum(table, len(self.caps) + 1) for axes, table in counted.items()}
        released = list[list[int]]()
        for place, one in enumerate(self.strata):
            released += one.release({axes: tables[place] for axes, tables in apart.items()})
        return released

    def of_stratum(self, released: Sequence[Sequence[int]], place: int) -> Sequence[Sequence[int]]:
        """Return what was released of one stratum."""
        each = len(released) // len(self.strata)
        return released[place * each : (place + 1) * each]

    def residuals(self, released: Sequence[Sequence[int]]) -> dict[Axes, Table]:
        """Return the unbiased estimate of every residual of all rows."""
        each = [one.residuals(self.of_stratum(released, place)) for place, one in enumerate(self.strata)]
        found: dict[Axes, Table] = {axes: np.sum([one[axes] for one in each], axis=0) for axes in each[0]}
        return found

    def reach(self, axes: Axes, widths: tuple[int, ...], chance: float) -> float:
        """Return how far off the rows in a box are: noise of strata is independent, and its sum is bounded as one."""
        normal = [one.spread(axes, widths) for one in self.strata if isinstance(one, GaussianResiduals)]
        if normal:
            variance, rounding = (math.fsum(parts) for parts in zip(*normal, strict=True))
            return normal_reach(variance, rounding, chance)
        sizes, many = list[Table](), list[NDArray[np.int64]]()
        for one in self.strata:
            if isinstance(one, GeometricCover):
                weights, times = weights_of_draws(one.codes, one.counted, axes, widths)
                sizes.append(float(one.mechanism.event.scale) * weights)
                many.append(times)
        return chernoff(np.concatenate(sizes), np.concatenate(many), chance)


def _times(people: Measurement, cap: int, wanted: Sequence[Axes], unit: PrivacyUnit) -> Measurement:
    """Return a measurement of rows of which everybody has up to `cap`, at the price of one of people."""
    more = replace(unit, protects_groups_of=cap * unit.protects_groups_of)
    match people:
        case GaussianResiduals(mechanism=one):
            sigmas: Mapping[Axes, Fraction] = {axes: cap * sigma for axes, sigma in one.sigmas.items()}
            variances = {axes: cap**2 * variance for axes, variance in people.variances.items()}
            mechanism = ResidualMechanism(codes=people.codes, sigmas=sigmas, unit=more, event=one.event)
            return replace(people, variances=variances, off=cap**2 * people.off, mechanism=mechanism)
        case GeometricCover(mechanism=geometric):
            epsilon = geometric.event.l1_sensitivity / geometric.event.scale
            return geometric_cover(people.codes, wanted, more, epsilon)
        case _:  # pragma: no cover - there is no other
            raise TypeError(people)
