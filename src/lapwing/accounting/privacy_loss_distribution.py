"""The composed profile of releases that were fixed in advance, by whichever computation is exact or quickest.

One order of the neighbours at a time. Each of the computations returns an upper bound.

This must never gate parameters that are chosen on the way, however tight it is: an adversary who looks at the answers
before choosing the next release beats such a gate by a factor of ten. Filters are for that.
"""

import math
from collections.abc import Callable, Sequence

from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.fourier import delta_on_grid, epsilon_on_grid, pair_on_grid
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.sampled import SampledLaw
from lapwing.accounting.spectrum import SpectralLine, Spectrum, terms_of
from lapwing.accounting.tilting import Factor, Tilts, TiltTarget
from lapwing.accounting.window import MOST_USES, Window, optimal_window
from lapwing.vocabulary.search import bisect_float

TOLERANCE = 1e-6  # the share of epsilon that the computation may cost
_FEW_TERMS = 64  # laws with more atoms than that are composed on a grid, if they are met fewer than `_MANY_USES` times
_MANY_USES = 10**6
_MOST_TERMS = 1 << 23
_COARSE_TOLERANCE = 1e-4
_CLOSE = 0.9
# below, the quick bound of a sampled law, which leaves out up to 1e-60 of its mass in each use, is not trusted
_SURE_DELTA = 1e-40
_MOST_USES_ON_A_GRID = 10**11  # round-off grows with the uses: beyond, it would be a hundredth of all mass
# a law that reaches higher is not composed: a grid would be too coarse for all others, and e^loss is not a number
_LARGEST_LOSS = 1e5
_RARE = 1e-30
_LARGEST_EPSILON = 2.0**49
_SPARE = 1e-6  # the share of delta that covers what the quick bound leaves out


def composed_delta(orders: Sequence[Sequence[Factor]], epsilon: float) -> float:
    """Return the higher of the profiles of the orders at `epsilon`."""
    return max(_delta(order, epsilon) for order in orders)


def _delta(factors: Sequence[Factor], epsilon: float) -> float:
    if (law := alone(factors)) is not None:
        return law.delta(epsilon)
    if _is_absurd(factors):
        return 1.0
    if (window := _homogeneous(factors)) is not None:
        return window.delta(epsilon)
    tilts = Tilts(factors)
    if (line := _line(factors, tilts.for_epsilon(epsilon))) is not None:
        return min(1.0, Spectrum(factors, line).profile(epsilon)[0])
    return 1.0 if _drowns(factors) else delta_on_grid(factors, tilts, epsilon)


def composed_epsilon(orders: Sequence[Sequence[Factor]], delta: float) -> float:
    """Return an epsilon >= 0 at which the profile of every order is at most `delta`; infinity if there is none.

    The orders are taken from the worst, by a quick bound, to the best: one whose bound is below what was found already
    need not be composed.
    """
    if len(orders) == 1 or any(alone(order) is not None or _is_absurd(order) for order in orders):
        return max(_epsilon(order, delta, None) for order in orders)
    quick = [(Tilts(order), order) for order in orders]
    bounds = [tilts.for_delta(delta * (1 - _SPARE)).epsilon for tilts, _ in quick]
    found = 0.0
    for index in sorted(range(len(orders)), key=lambda index: -bounds[index]):
        tilts, order = quick[index]
        if bounds[index] > found or delta < _SURE_DELTA or any(law.infinite_mass > 0 for law, _ in order):
            found = max(found, _epsilon(order, delta, tilts))
    return found


def _epsilon(factors: Sequence[Factor], delta: float, tilts: Tilts | None) -> float:
    if (law := alone(factors)) is not None:
        return epsilon_at(law.delta, delta)
    if _is_absurd(factors):
        return math.inf
    if (window := _homogeneous(factors)) is not None:
        found = window.epsilon(delta)
        return math.inf if found is None else found
    tilts = tilts or Tilts(factors)
    target = tilts.for_delta(delta)
    if (line := _line(factors, target)) is None:
        return math.inf if _drowns(factors) else epsilon_on_grid(factors, tilts, delta)
    found = Spectrum(factors, line).epsilon(delta, target.epsilon)
    return found if _CLOSE * target.epsilon < found < math.inf else _below_a_heavy_tail(factors, tilts, delta, found)


def epsilon_at(profile: Callable[[float], float], delta: float) -> float:
    """Return an epsilon >= 0 at which the falling function `profile` is at most `delta`, to 12 digits; or infinity."""
    if profile(0.0) <= delta:
        return 0.0
    try:
        return bisect_float(lambda epsilon: not profile(epsilon) > delta, relative=1e-12, most=_LARGEST_EPSILON)[1]
    except OverflowError:
        return math.inf


def _below_a_heavy_tail(factors: Sequence[Factor], tilts: Tilts, delta: float, found: float) -> float:
    """Return the least of the bounds at gentler and gentler tilts.

    The tilt that is best for the bound is too steep for the answer where a rare and large loss counts for the moments
    only. Each time the one that is best for a quarter of what was found is tried.
    """
    log_delta, scale = math.log(delta), None
    while 0 < found < math.inf:
        line = _line(factors, tilts.for_epsilon(found / 4 if scale is None else found, log_delta), scale)
        better = math.inf if line is None else Spectrum(factors, line).epsilon(delta, found)
        if better > _CLOSE * found and scale is not None:
            return min(found, better)
        scale = found if better > _CLOSE * found else None  # once more, with less smoothing, when nothing else helps
        found = min(found, better)
    return found


def composed_pair(factors: Sequence[Factor]) -> DominatingPair:
    """Return the composition as one finite pair; the worst one where there are too many uses to know more."""
    if _is_absurd(factors) or _drowns(factors):
        return DominatingPair.worst()
    reverse = Tilts([(law.other_order, times) for law, times in factors])
    return pair_on_grid(factors, Tilts(factors), reverse)


def _drowns(factors: Sequence[Factor]) -> bool:  # on a grid, which would hold round-off and little else
    return sum(times for _, times in factors) > _MOST_USES_ON_A_GRID


def _is_absurd(factors: Sequence[Factor]) -> bool:
    """Return whether a law hides nothing, or has losses that no float can tell apart from that."""
    return any(law.infinite_mass >= 1 or max(map(abs, law.span(_RARE))) > _LARGEST_LOSS for law, _ in factors)


def alone(factors: Sequence[Factor]) -> LossLaw | None:
    """Return the one law that is met, if it is met once and there is no other."""
    return factors[0][0] if len(factors) == 1 and factors[0][1] == 1 else None


def _homogeneous(factors: Sequence[Factor]) -> Window | None:
    """Return the closed form of the same randomized response many times, if that is what it is."""
    law, times = factors[0]
    if len(factors) > 1 or times > MOST_USES or not isinstance(law, AtomicLaw) or law.response is None:
        return None
    epsilon, delta_each = law.response
    return optimal_window(epsilon, times, delta_each)


def _line(factors: Sequence[Factor], target: TiltTarget, scale: float | None = None) -> SpectralLine | None:
    """Return a line for `target`; None where a grid serves better.

    That is so if the characteristic function of a law is a long sum, unless a grid would be too coarse for all
    uses together: then fewer frequencies, with more smoothing, have to do.
    """
    if any(isinstance(law, SampledLaw) for law, _ in factors):
        return None
    terms = max(terms_of(law) for law, _ in factors)
    if terms > _FEW_TERMS and sum(times for _, times in factors) < _MANY_USES:
        return None
    gaussian = sum(float(law.mu_squared) * times for law, times in factors if law.mu_squared is not None)
    tolerance = TOLERANCE if terms <= _FEW_TERMS else _COARSE_TOLERANCE
    line = SpectralLine.through(target, gaussian=gaussian, tolerance=tolerance, scale=scale)
    return line if terms * line.count <= _MOST_TERMS else None
