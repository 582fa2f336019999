"""The factor of one answer in the probability of a transcript, integrated over the threshold noise z.

The noisy value g + ν passes when ν >= z + least, where `least` is the margin minus g. Every factor is log-concave in z.

Integrals and sums of log-concave functions have nearly full double precision, and what is left out is certified: a
concave logarithm that has fallen by `DEPTH` below its maximum is lower still beyond, and falls at least as steeply, so
the mass outside the chosen window is at most about e^-DEPTH of the whole. Inside, Gauss-Legendre panels are halved
until halving changes nothing. An integral that does not converge raises; nothing is guessed.

Proof: proofs/sparse_vector_oracle.md
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from scipy.special import logsumexp

from lapwing.auditor.noise_laws import NoiseLaw, NoNoise, Offset, Reals, log_between
from lapwing.auditor.outcomes import AuditedWithin, Number


@dataclass(frozen=True, slots=True)
class AnswerFactor:
    """The logarithm of one factor, the points at which it is not smooth, and the length on which it changes."""

    log: Callable[[Reals], Reals]
    landmarks: tuple[float, ...] = ()
    scale: float = math.inf


def log_expectation(threshold: NoiseLaw, factors: Sequence[tuple[int, AnswerFactor]]) -> float:
    """Return ln E[product of factors], the expectation over the threshold noise; each factor comes with its power."""

    def log_f(z: Reals) -> Reals:
        total = threshold.log_density(z)
        for power, factor in factors:
            total = total + power * factor.log(z)
        return total

    if isinstance(threshold, NoNoise):
        return float(log_f(np.zeros(1))[0])
    landmarks = [*threshold.landmarks, *(mark for _, factor in factors for mark in factor.landmarks)]
    if threshold.step is not None:
        return log_sum(log_f, landmarks, threshold.step)
    return log_integral(log_f, landmarks, min([threshold.scale, *(factor.scale for _, factor in factors)]))


def misses(law: NoiseLaw, least: Offset) -> AnswerFactor:
    """Return P(ν < z + least): the noisy value stays below."""
    return AnswerFactor(lambda z: law.log_below(z, least), _seen_from(law, least), law.scale)


def passes(law: NoiseLaw, least: Offset) -> AnswerFactor:
    """Return P(ν >= z + least): the noisy value is above, and nothing more is revealed."""
    return AnswerFactor(lambda z: law.log_at_least(z, least), _seen_from(law, least), law.scale)


def passes_with_gap(law: NoiseLaw, least: Offset, g: Fraction, gap: Number | AuditedWithin) -> AnswerFactor:
    """Return the probability that the noisy value is above and that the gap, g + ν - z, is `gap`."""
    if isinstance(gap, AuditedWithin):
        low, high = max(least, _minus(gap.low, g)), _minus(gap.high, g)
        return AnswerFactor(lambda z: log_between(law, (z, low), (z, high)), _seen_from(law, low, high), law.scale)
    at = Fraction(gap) - g
    if at < least:
        return _constant(-math.inf)
    return AnswerFactor(lambda z: law.log_density(z, at), _seen_from(law, at), law.scale)


def passes_with_value(law: NoiseLaw, least: Offset, g: Fraction, value: Number | AuditedWithin) -> AnswerFactor:
    """Return the probability that the noisy value is above and that it is `value`."""
    if isinstance(value, AuditedWithin):
        return _passes_with_value_within(law, least, _minus(value.low, g), _minus(value.high, g))
    density, highest = float(law.log_density(0.0, Fraction(value) - g)), float(Fraction(value) - g - Fraction(least))
    return AnswerFactor(lambda z: np.where(z <= highest, density, -math.inf), (highest,))


def _passes_with_value_within(law: NoiseLaw, least: Offset, low: Offset, high: Offset) -> AnswerFactor:
    free, shut = (float(end) - float(least) for end in (low, high))

    def log(z: Reals) -> Reals:
        unhindered = log_between(law, (0.0, low), (0.0, high))
        return np.where(z <= free, unhindered, log_between(law, (z, least), (0.0, high)))

    return AnswerFactor(log, (*_seen_from(law, least), *filter(math.isfinite, (free, shut))), law.scale)


def answers(law: NoiseLaw, g: Fraction, told: Number | AuditedWithin) -> AnswerFactor:
    """Return the probability (or density) that g plus fresh noise is the revealed number; it does not depend on z."""
    if isinstance(told, AuditedWithin):
        return _constant(float(log_between(law, (0.0, _minus(told.low, g)), (0.0, _minus(told.high, g)))))
    return _constant(float(law.log_density(0.0, Fraction(told) - g)))


def _constant(log: float) -> AnswerFactor:
    return AnswerFactor(lambda z: np.full_like(z, log))


def _minus(number: Number, g: Fraction) -> Offset:
    return number if math.isinf(number) else Fraction(number) - g


def _seen_from(law: NoiseLaw, *offsets: Offset) -> tuple[float, ...]:
    """Return the threshold noises z at which z + offset is a landmark of the law."""
    return tuple(mark - float(offset) for offset in offsets if math.isfinite(offset) for mark in law.landmarks)


LogFunction: TypeAlias = Callable[[Reals], Reals]

DEPTH = 60.0  # how far the logarithm must have fallen before the rest is left out: e^-60 is below 1e-26
PRECISION = 2e-15  # what the panels of one integral may disagree by, relative to the integral, after halving
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_LOG_WEIGHTS = np.log(_WEIGHTS)
_MOST_HALVINGS = 40
_MOST_PANELS = 100_000
_SAME = 1e-12
_MOST_POINTS = 20_000_000


def log_integral(log_f: LogFunction, landmarks: list[float], unit: float) -> float:
    """Return ln of the integral over the line of e^log_f, a concave function that is minus infinity off an interval.

    `landmarks` are all points at which it is not analytic, the ends of that interval among them; `unit` is the shortest
    length on which it changes.

    >>> round(log_integral(lambda z: -np.abs(z), [0.0], 1.0) - math.log(2), 13)
    0.0
    """
    edges, window = _window(log_f, landmarks, unit, lambda edges: 0.5 * (edges[:-1] + edges[1:]))
    if window is None:
        return -math.inf
    low, high = _closer(log_f, *window)
    inner = edges[(edges > low) & (edges < high)]
    return _log_integral_between(log_f, np.concatenate(([low], inner, [high])))


def log_sum(log_f: LogFunction, landmarks: list[float], step: Fraction) -> float:
    """Return ln of the sum of e^log_f over all multiples of `step`. The parameters are those of `log_integral`.

    >>> round(log_sum(lambda z: -np.abs(z), [0.0], Fraction(1)) + math.log(math.tanh(0.5)), 13)
    0.0
    """
    unit = float(step)
    _, window = _window(log_f, [math.floor(mark / unit) * unit for mark in landmarks], unit, lambda edges: edges)
    if window is None:
        return -math.inf
    first, last = round(window[0] / unit), round(window[1] / unit)
    if last - first > _MOST_POINTS:
        raise ArithmeticError(f"{last - first} lattice points carry mass; coarsen the lattice or use a continuous law")
    return float(logsumexp(log_f(np.arange(first, last + 1, dtype=np.float64) * unit)))


def _log_integral_between(log_f: LogFunction, edges: Reals) -> float:
    """Return ln of the integral of e^log_f over panels with these `edges`, on each of which log_f is analytic."""
    low, high = edges[:-1], edges[1:]
    coarse, top = _gauss(log_f, low, high)
    if top == -math.inf:
        return -math.inf
    settled = 0.0
    for _ in range(_MOST_HALVINGS):
        middle = 0.5 * (low + high)
        fine, peak = _gauss(log_f, np.append(low, middle), np.append(middle, high))
        rescale = math.exp(min(0.0, top - peak))
        settled, coarse, fine = settled * rescale, coarse * rescale, fine * math.exp(min(0.0, peak - top))
        top = max(top, peak)
        left, right = np.split(fine, 2)
        halved = left + right
        total = settled + halved.sum()
        # A logarithm of size |top| carries a rounding error of about |top| * 2e-16 into every value.
        tolerance = (PRECISION + 4e-16 * abs(top)) * total
        open_ = np.abs(halved - coarse) > tolerance
        settled += halved[~open_].sum()
        if not open_.any():
            return top + math.log(settled)
        if open_.sum() > _MOST_PANELS:
            break
        low, high = np.append(low[open_], middle[open_]), np.append(middle[open_], high[open_])
        coarse = np.append(left[open_], right[open_])
    raise ArithmeticError(f"the integral did not settle: halving {len(low)} of its panels still changes it")


def _window(
    log_f: LogFunction, landmarks: list[float], unit: float, probes: Callable[[Reals], Reals]
) -> tuple[Reals, tuple[float, float] | None]:
    """Return panel edges and the interval outside which log_f is DEPTH below its maximum (None if it is nowhere)."""
    marks = np.unique(landmarks)
    doublings = 8 + math.ceil(math.log2(1 + (marks[-1] - marks[0]) / unit))
    while True:
        reach = unit * 2.0 ** np.arange(doublings)
        reach = np.concatenate((-reach[::-1], [0.0], reach))
        edges = np.unique((marks[:, None] + reach[None, :]).ravel())
        edges = edges[np.append(True, np.diff(edges) > _SAME * unit)]
        points = probes(edges)
        height = log_f(points)
        if height.max() == -math.inf:
            return edges, None
        first, last = _span(height)
        if first >= 0 and last < len(points):
            return edges, (float(points[first]), float(points[last]))
        doublings += 2


def _closer(log_f: LogFunction, low: float, high: float) -> tuple[float, float]:
    """Narrow a window as long as its mass fills less than a quarter of it."""
    while True:
        points = np.linspace(low, high, 33)
        first, last = _span(log_f(points))
        first, last = max(first, 0), min(last, 32)
        if last - first > 8:  # noqa: PLR2004 - a quarter of 33 points
            return low, high
        low, high = float(points[first]), float(points[last])


def _span(height: Reals) -> tuple[int, int]:
    """Return the nearest probes on either side of the highest that lie DEPTH below it; -1, or the length, for none."""
    best = int(np.argmax(height))
    deep = height < height[best] - DEPTH
    before, after = np.flatnonzero(deep[:best]), np.flatnonzero(deep[best:])
    return int(before[-1]) if before.size else -1, int(best + after[0]) if after.size else len(height)


def _gauss(log_f: LogFunction, low: Reals, high: Reals) -> tuple[Reals, float]:
    """Return the integral over each panel, divided by e^top, and top."""
    half = 0.5 * (high - low)
    nodes = (0.5 * (high + low))[:, None] + half[:, None] * _NODES
    logs = log_f(nodes.ravel()).reshape(nodes.shape) + _LOG_WEIGHTS + np.log(half)[:, None]
    top = float(logs.max())
    return (np.exp(logs - top).sum(axis=1) if top > -math.inf else np.zeros(len(low))), top
