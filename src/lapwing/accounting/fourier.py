"""Composition of fixed releases: the losses add up, so their laws are convolved, with one fast Fourier transform.

The laws are tilted before they are transformed (Esscher): the mass is moved to where the answer lies, so that
round-off is small compared with the delta that is asked for, be it 1e-6 or 1e-30. The errors of the grid, the finite
window and floating point are bounded and added; the result is never below the truth.

Proof: proofs/fourier_composition.md
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.law import LossLattice
from lapwing.accounting.tilting import SLOPES, Factor, Tilts, TiltTarget
from lapwing.accounting.window import Window
from lapwing.vocabulary.exact import ROUND_OFF, UNIT
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_when_called

irfft, next_fast_len, rfft = load_when_called("scipy.fft", "irfft", "next_fast_len", "rfft")

TOLERANCE = 4e-6  # the share of epsilon that the grid may cost
_FEWEST_POINTS, _MOST_POINTS = 1 << 12, 1 << 20
_LOG_LOST = -16.0  # log of the share of delta that may be lost above a window, and in the tails of the single laws
_LOG_ALIASED = -9.0  # log of the tilted mass that may lie below a window; it comes back at the top, weighing little
_CLOSE, _LEAST_DELTA, _DEAD = 0.9, 1e-40, 2.0**-80
_TINIEST = 1e-290  # masses below this are counted as lost: tilting them could overflow
_MOST_SLOPES = 16
_LOG_LOST_OF_PAIR, _POINTS_OF_PAIR = -40.0, 1 << 13
_DELTAS_OF_PAIR = (1e-5, 1e-14)


@frozen(kw_only=False)
class LossGrid:
    """A tilt, a step and a window."""

    slope: float
    steeper: float  # a slope for the bound of the mass above the window
    low: float
    high: float
    step: float
    tail: float  # the mass that a law may move to infinity


def epsilon_on_grid(factors: Sequence[Factor], tilts: Tilts, delta: float) -> float:
    """Return an epsilon >= 0 for which the composition is (epsilon, delta)-indistinguishable in this order."""
    target = tilts.for_delta(delta)
    found = _epsilon(factors, tilts, target, delta)
    if _CLOSE * target.epsilon < found < math.inf:
        return found
    # a heavy tail: the tilt that is best for the bound is too steep for the answer, so take the one best for that
    return min(found, _epsilon(factors, tilts, tilts.for_epsilon(found, target.log_delta), delta))


def _epsilon(factors: Sequence[Factor], tilts: Tilts, target: TiltTarget, delta: float) -> float:
    while True:
        grid = plan(factors, tilts, target)
        found = convolve(_placed(factors, grid.step, grid.tail), grid).epsilon(delta)
        if found is not None:
            return found
        if target.index == 0:
            return max(grid.low, 0.0)  # the profile is below delta there already
        target = replace(target, index=max(0, target.index - 8))  # the answer lies below the window: tilt less


def delta_on_grid(factors: Sequence[Factor], tilts: Tilts, epsilon: float) -> float:
    """Return a delta for which the composition is (epsilon, delta)-indistinguishable in this order.

    A delta far below 1e-40 is not computed: the profile is decreasing, so one of about 1e-40 is an upper bound for it.
    """
    epsilon = min(epsilon, tilts.for_delta(_LEAST_DELTA).epsilon)
    grid = plan(factors, tilts, tilts.for_epsilon(epsilon))
    if grid.low - epsilon > grid.high - grid.low:
        return 1.0  # nearly all of the mass lies far above
    low = min(grid.low, epsilon)
    grid = replace(grid, low=low, high=max(grid.high, low + grid.step))
    return convolve(_placed(factors, grid.step, grid.tail), grid).delta(epsilon)


def pair_on_grid(factors: Sequence[Factor], tilts: Tilts, reverse: Tilts) -> DominatingPair:
    """Return the whole composed law as a finite pair, with at most e^-40 lost; `reverse` speaks of the other order.

    Each tilt is exact where its mass is. All of them bound the masses from above, so the least of them is taken.
    """
    tail, spans, lowest, highest = _spans(factors, _LOG_LOST_OF_PAIR)
    low = max(-reverse.highest(_LOG_LOST_OF_PAIR), lowest)
    high = min(tilts.highest(_LOG_LOST_OF_PAIR), highest)
    finest = max((high - low) / _POINTS_OF_PAIR, _finest(low, high, spans))
    step = max(_step(factors, 1.0, high - low, high - low), finest)
    slopes = [float(SLOPES[0]), *(tilts.for_delta(delta).slope for delta in _DELTAS_OF_PAIR)]
    steeper = float(SLOPES[np.argmin(tilts.cumulants - SLOPES * high)])
    placed = _placed(factors, step, tail)
    windows = [
        convolve(placed, LossGrid(slope, steeper, low - 2 * step, high + 2 * step, step, tail)) for slope in slopes
    ]
    masses = np.min([window.masses for window in windows], axis=0)
    return DominatingPair.of_total_one(
        windows[0].losses + windows[0].margin, masses, max(window.infinite_mass for window in windows)
    )


def plan(factors: Sequence[Factor], tilts: Tilts, target: TiltTarget) -> LossGrid:
    """Return a grid that is good for `target`."""
    log_lost = max(target.log_delta, -640.0) + _LOG_LOST
    tail, spans, lowest, highest = _spans(factors, log_lost)
    low = max(tilts.lowest(target, _LOG_ALIASED), lowest)
    high = min(tilts.highest(log_lost), highest)
    high = max(min(high + max(0.0, low + target.period - high), highest), low)
    scale = max(target.epsilon, (high - low) / 16)
    step = max(_step(factors, target.slope, scale, high - low), _finest(low, high, spans))
    steeper = float(SLOPES[np.argmin(tilts.cumulants - SLOPES * high)])
    return LossGrid(target.slope, steeper, low - 2 * step, high + 2 * step, step, tail)


def _spans(factors: Sequence[Factor], log_lost: float) -> tuple[float, list[tuple[float, float]], float, float]:
    """Return the tail that each law may lose, its span but for that, and that of the composition."""
    tail = math.exp(log_lost) / sum(times for _, times in factors)
    spans = [law.span(tail) for law, _ in factors]
    lowest, highest = (
        sum(span[end] * times for span, (_, times) in zip(spans, factors, strict=True)) for end in (0, 1)
    )
    return tail, spans, lowest, highest


def _finest(low: float, high: float, spans: Sequence[tuple[float, float]]) -> float:
    """Return the step at which neither the window nor any single law has more than `_MOST_POINTS` points."""
    return max(high - low, *(top - bottom for bottom, top in spans)) / _MOST_POINTS


def _step(factors: Sequence[Factor], slope: float, scale: float, width: float) -> float:
    """Return the step at which the chords cost the tolerance: each use off the grid costs (slope + 1) step^2 / 12."""

    def tolerable(uses: int) -> float:
        return min(math.sqrt(12 * TOLERANCE * scale / (uses * (slope + 1))), max(width / _FEWEST_POINTS, 1e-9))

    uses = sum(times for _, times in factors)
    even = max(((times, law.spacing) for law, times in factors if law.spacing), default=None)
    if even is None:
        return tolerable(uses)
    times, spacing = even
    if times == uses:
        return spacing
    return max(tolerable(uses), spacing / math.ceil(spacing / tolerable(uses - times)))


def _placed(factors: Sequence[Factor], step: float, tail: float) -> list[tuple[LossLattice, int]]:
    return [(law.on_grid(step, tail), times) for law, times in factors]


def convolve(placed: Sequence[tuple[LossLattice, int]], grid: LossGrid) -> Window:
    """Return the composition of laws that lie on the steps of `grid`, in its window, from above."""
    uses, reach = sum(times for _, times in placed), sum(times * lattice.reach for lattice, times in placed)
    cumulants = [lattice.cumulant(grid.slope) for lattice, _ in placed]
    total = sum(cumulant * times for cumulant, (_, times) in zip(cumulants, placed, strict=True))
    start = sum(lattice.lowest * times for lattice, times in placed)
    first = math.floor((grid.low - start) / grid.step)
    points = next_fast_len(math.ceil((grid.high - grid.low) / grid.step) + 2, real=True)
    # Esscher's tilt: p e^(slope x - K(slope)) sums to 1, and tilting commutes with convolution
    spectrum: NDArray[Any] = np.ones(points // 2 + 1, np.complex128)
    for cumulant, (lattice, times) in zip(cumulants, placed, strict=True):
        exponents = np.minimum(grid.slope * lattice.losses - cumulant, 700.0)
        tilted = np.where(lattice.masses > _TINIEST, lattice.masses, 0.0) * np.exp(exponents)
        spectrum *= _power(rfft(_fold(tilted, points)), times)
    # a transform of N points errs by (8 log2 N + 8) units (Higham 2002, section 24.1; Ramos 1971)
    round_off = (uses + len(placed) + 2) * (8 * math.log2(points) + 8) * UNIT
    # on a circle the masses a period away are added to the point: nothing in the window is too low
    tilted = np.maximum(np.roll(irfft(spectrum, points), -(first % points)), 0.0) + round_off
    losses = start + grid.step * np.arange(first, first + points, dtype=np.float64)
    masses = tilted * np.exp(np.minimum(total - grid.slope * losses, 700.0))
    masses *= 1 + 16 * UNIT * (uses + grid.slope * (reach + abs(start))) + ROUND_OFF  # from taking off the tilt
    infinite = uses * points * _TINIEST - math.expm1(
        sum(times * math.log1p(-lattice.infinite_mass) for lattice, times in placed)
    )
    margin = sum(times * lattice.margin for lattice, times in placed)
    return Window(
        losses, masses, infinite + _above(placed, float(losses[-1]), grid.steeper, 10 * uses * grid.tail), margin
    )


def _above(placed: Sequence[tuple[LossLattice, int]], top: float, slope: float, enough: float) -> float:
    """Return a bound of the mass above the window (Chernoff), trying gentler slopes until it is enough."""
    if sum(times * lattice.highest for lattice, times in placed) <= top:
        return 0.0
    least = 1.0
    for _ in range(_MOST_SLOPES):
        exponent = sum(times * lattice.cumulant(slope) for lattice, times in placed) - slope * top
        error = 16 * UNIT * (sum(times * (1 + slope * lattice.reach) for lattice, times in placed) + slope * abs(top))
        least = min(least, math.exp(min(0.0, exponent + error)))
        if least <= enough:
            break
        slope /= 2**0.25
    return least


def _fold(masses: Floats, points: int) -> Floats:
    """Return the masses wrapped around a circle of `points`."""
    if len(masses) <= points:
        return np.pad(masses, (0, points - len(masses)))
    padded = np.pad(masses, (0, -len(masses) % points))
    return np.asarray(padded.reshape(-1, points).sum(axis=0))


def _power(base: NDArray[Any], exponent: int) -> NDArray[Any]:
    """Return base**exponent by repeated squaring, and zero where it would be smaller than `_DEAD`."""
    if exponent == 1:
        return base
    power = np.zeros_like(base)
    alive = np.abs(base) > _DEAD ** (1 / exponent)
    base = base[alive]
    result = base.copy() if exponent % 2 else np.ones_like(base)
    while exponent := exponent // 2:
        base = base * base
        if exponent % 2:
            result = result * base
    power[alive] = result
    return power
