"""From released numbers to answers. All of it is arithmetic on what was released, so it costs nothing.

Sums of moments that noise has made negative are taken for 0: no exact one is below it. Where a formula has no meaning
(a mean over no rows), a fixed public rule answers instead: the middle of the range, no variance, no correlation.
Answers are moved into the range that the bounds allow.

Proof: proofs/bernstein_moments.md
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from lapwing.queries.aggregate import Label
from lapwing.queries.plan import (
    AtLeast,
    Distinct,
    Moment,
    Moments,
    People,
    Plan,
    Quantiles,
    RowCount,
    Scale,
    Steps,
    Top,
    Total,
)
from lapwing.vocabulary.errors import BadQuestionError

Estimate: TypeAlias = Fraction | float


def estimates(plan: Plan, released: Sequence[int]) -> dict[tuple[Label, ...], Estimate]:
    """Return the answer in each public cell, from the numbers that a mechanism released for `plan`.

    Parameters
    ----------
    plan : what was asked
    released : the numbers of the answer with noise on them, in the order of `Engine.vector`
    """
    cells = plan.aggregate.cells
    terms = plan.aggregate.terms
    if cells is None or len(released) != len(cells) * terms:
        raise BadQuestionError("the numbers do not fit the plan; hand in all that were released for it, and no others")
    blocks = [released[i : i + terms] for i in range(0, len(released), terms)]
    match plan.meaning:
        case People() | RowCount() | Distinct():
            return {cell: Fraction(number) for cell, (number,) in zip(cells, blocks, strict=True)}
        case Total(step=step):
            return {cell: number * step for cell, (number,) in zip(cells, blocks, strict=True)}
        case Moments():
            # So a moment lies within its bounds, at any confidence: proofs/moment_bounds.md.
            likely = [[max(0, number) for number in block] for block in blocks]
            return {cell: moment(plan.meaning, block) for cell, block in zip(cells, likely, strict=True)}
        case Steps(names=names):
            passed = list(itertools.accumulate(reversed(released)))[-2::-1]
            return {(name,): Fraction(number) for name, number in zip(names, passed, strict=True)}
        case Quantiles() | Top() | AtLeast():
            raise BadQuestionError(
                "this answer is chosen, not released with noise; there are no numbers to read it from"
            )


def moment(meaning: Moments, sums: Sequence[int]) -> Estimate:
    """Return a mean, variance, covariance or correlation from the sums of Bernstein polynomials of one cell.

    Proof: proofs/bernstein_moments.md

    Examples
    --------
    >>> from lapwing.queries.plan import Scale
    >>> ages = Scale(low=Fraction(0), step=Fraction(1), extent=100)
    >>> moment(Moments(moment=Moment.MEAN, scales=(ages,)), [(100 - 20) + (100 - 40), 20 + 40])
    Fraction(30, 1)
    """
    scales = meaning.scales
    degree = degree_of(meaning, sums)
    rows = _raw(sums, degree, (0,) * len(scales))
    if rows <= 0:
        return scales[0].low + width_of(scales[0]) / 2 if meaning.moment is Moment.MEAN else Fraction(0)

    def average(*powers: int) -> Fraction:
        return _raw(sums, degree, powers) / rows

    match meaning.moment:
        case Moment.MEAN:
            return scales[0].low + width_of(scales[0]) * within(average(1), 0, 1)
        case Moment.VARIANCE:
            return width_of(scales[0]) ** 2 * within(average(2) - average(1) ** 2, 0, Fraction(1, 4))
        case Moment.COVARIANCE:
            quarter = Fraction(1, 4)
            together = average(1, 1) - average(1, 0) * average(0, 1)
            return width_of(scales[0]) * width_of(scales[1]) * within(together, -quarter, quarter)
        case Moment.CORRELATION:
            together = average(1, 1) - average(1, 0) * average(0, 1)
            spread = (average(2, 0) - average(1, 0) ** 2) * (average(0, 2) - average(0, 1) ** 2)
            if spread <= 0 or average(2, 0) <= average(1, 0) ** 2:
                return 0.0
            return max(-1.0, min(1.0, float(together) / math.sqrt(spread)))


def degree_of(meaning: Moments, sums: Sequence[int]) -> int:
    """Return the degree of the polynomials of which there are so many sums."""
    return next(d for d in itertools.count(1) if (d + 1) ** len(meaning.scales) >= len(sums))


def _raw(sums: Sequence[int], degree: int, powers: tuple[int, ...]) -> Fraction:
    """Return the sum over rows of the product of x^power, x from 0 to 1, in units of one row times the extents."""
    total = Fraction(0)
    for places, number in zip(itertools.product(range(degree + 1), repeat=len(powers)), sums, strict=True):
        total += number * weight_of(degree, places, powers)
    return total


def weight_of(degree: int, places: tuple[int, ...], powers: tuple[int, ...]) -> Fraction:
    """Return how much of the sum at `places` is in the sum of the product of x^power."""
    weights = (Fraction(math.comb(i, k), math.comb(degree, k)) for i, k in zip(places, powers, strict=True))
    return math.prod(weights, start=Fraction(1))


def width_of(scale: Scale) -> Fraction:
    """Return how far apart the ends of a scale are."""
    return scale.step * scale.extent


def within(number: Fraction, low: Fraction | int, high: Fraction | int) -> Fraction:
    """Return the number, moved between two bounds."""
    return min(max(number, Fraction(low)), Fraction(high))
