"""From what is paid, or how exact it must be, to the measurement with the least noise that the kind of budget pays for.

Nothing here depends on data. Under a pure budget noise is geometric. What is paid in rho gets Gaussian noise, and what
is paid in epsilon with a delta whichever of the two is smaller.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from lapwing.accounting.filters.charge import priced
from lapwing.answers.releases import charged_as
from lapwing.answers.target import AtEpsilon, AtRho, Target, Within
from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.mechanisms.residual_basis import Axes
from lapwing.publishing.measurements import Measurement, gaussian_residuals, geometric_cover
from lapwing.publishing.row_strata import RowStrata, unit_of_rows
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import ceil_to_grid, float_above, float_below
from lapwing.vocabulary.guarantee import ConcentratedDP, Guarantee, PrivacyUnit, PureDP
from lapwing.vocabulary.search import decimals

_FINEST: Final = Fraction(1, 10**12)
_DIGITS: Final = 4
_MOST_LOOKED_AT: Final = 10
"""Tables whose reach is computed for one price; that of others, should they be as far, is bounded."""
_STEPS: Final = 50
"""Steps of work that trying one price counts as, for each hundred of the wanted tables."""


def measurement_for(
    codes: tuple[int, ...],
    wanted: Sequence[Axes],
    unit: PrivacyUnit,
    target: Target,
    budget: Guarantee,
    *,
    rows: tuple[int, ...] | None = None,
) -> Measurement:
    """Return the measurement with the least noise among those that the target pays for under this kind of budget.

    Prices are short fractions, or doubles: an account has to carry them. With `rows` it is of rows, by strata.
    """
    alone = unit if rows is None else unit_of_rows(unit)

    def of(people: Measurement) -> Measurement:
        return people if rows is None else RowStrata.over(people, rows, wanted, alone)

    def gaussian(rho: Fraction) -> Measurement:
        return of(gaussian_residuals(codes, wanted, alone, _unit_move(1 / (2 * rho))))

    def geometric(epsilon: Fraction) -> Measurement:
        return of(geometric_cover(codes, wanted, alone, epsilon))

    return min(_ways(target, budget, wanted, gaussian, geometric), key=lambda one: one.off)


def _ways(
    target: Target,
    budget: Guarantee,
    wanted: Sequence[Axes],
    gaussian: Callable[[Fraction], Measurement],
    geometric: Callable[[Fraction], Measurement],
) -> list[Measurement]:
    """Return the measurements that the target pays for, by their price in rho and in epsilon."""
    pure = isinstance(budget, PureDP)
    ways: list[Measurement]
    match target:
        case Within() if pure:
            ways = [_within(target, wanted, lambda size: geometric(ceil_to_grid(1 / size, _FINEST)))]
        case Within():
            ways = [_within(target, wanted, lambda size: gaussian(Fraction(float_above(1 / size))))]
        case AtEpsilon(epsilon=epsilon, delta=None):
            ways = [geometric(epsilon)]
            same = priced(charged_as(ways[0].event)).rho
            if isinstance(budget, ConcentratedDP) and same is not None:
                ways.append(gaussian(Fraction(float_below(same))))
        case AtEpsilon(epsilon=epsilon, delta=delta) if not pure:
            ways = [geometric(epsilon), gaussian(rho_for(epsilon, delta))]
        case AtRho(rho=rho) if not pure:
            ways = [gaussian(rho)]
        case AtEpsilon() | AtRho():
            name, given = ("rho", target.rho) if isinstance(target, AtRho) else ("delta", target.delta)
            remedy = "offer an epsilon alone, or let the custodian open a budget with a delta"
            raise ParameterError(name, str(given), reason="cannot be paid from a pure budget", remedy=remedy)
    return ways


def _unit_move(variance: Fraction) -> GaussianNoise:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)


@lru_cache(maxsize=64)
def rho_for(epsilon: Fraction, delta: Fraction | None) -> Fraction:
    """Return the largest rho of Gaussian noise within an epsilon and a delta; finding it takes time, so it is kept."""
    least = smallest_variance(_unit_move, epsilon=epsilon, delta=delta)
    return Fraction(float_below(1 / (2 * least)))


def _within(target: Within, wanted: Sequence[Axes], at: Callable[[Fraction], Measurement]) -> Measurement:
    """Return the measurement with the most noise, of four digits, that keeps all cells within a margin."""
    search = decimals(digits=_DIGITS)
    try:
        while search.open:
            spend(_STEPS * (1 + len(wanted) // 100))
            search.tell(margin_of_all(at(search.guess), wanted, target.confidence) > target.margin)
        return at(search.below)
    except (OverflowError, ParameterError):
        raise ParameterError(
            "within", target.margin, reason="is out of reach at this confidence", remedy="change one of the two"
        ) from None


def margin_of_all(measured: Measurement, wanted: Sequence[Axes], confidence: Fraction) -> float:
    """Return how far off all cells of the wanted tables are at most, together: each has its share of the chance."""
    cells = sum(math.prod(measured.codes[a] for a in axes) for axes in wanted)
    chance, worst = float_below((1 - confidence) / cells), 0.0
    bounds = {axes: measured.bound(axes, (1,) * len(axes), chance) for axes in wanted}
    for place, axes in enumerate(sorted(wanted, key=bounds.__getitem__, reverse=True)):
        if bounds[axes] <= worst:
            return worst  # no table after it reaches as far
        if place == _MOST_LOOKED_AT:
            return bounds[axes]
        worst = max(worst, measured.reach(axes, (1,) * len(axes), chance))
    return worst
