"""The laws of the noise that a suspect claims to add, as exact log-probabilities.

Every law answers the same three questions about noise at `z + offset`: how dense it is there, and how likely it is to
lie at least there, or below. `z` is an array of possible threshold noises, `offset` a public number; they stay apart so
that a lattice law can round the offset exactly. All laws here are log-concave, and what the oracle leaves out is
certified by that: a law that is not may not be added.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact, fill, positive

Reals: TypeAlias = NDArray[np.float64]
Offset: TypeAlias = Fraction | int | float

_LOG_HALF = math.log(0.5)


class NoiseLaw(Protocol):
    """One law of noise. Probabilities are natural logarithms; minus infinity is an honest zero."""

    @property
    def scale(self) -> float:
        """The length on which the law changes: its scale parameter, or its standard deviation."""

    @property
    def landmarks(self) -> tuple[float, ...]:
        """Where the law is centred, and every point at which it is not smooth."""

    @property
    def step(self) -> Fraction | None:
        """The lattice it lives on, or None if it lives on the whole line (or takes one value only)."""

    def log_density(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        """Return the log-density (on a lattice: the log-probability) of noise equal to `z + offset`."""

    def log_at_least(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        """Return ln P(noise >= z + offset)."""

    def log_below(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        """Return ln P(noise < z + offset)."""


@dataclass(frozen=True)
class _FromTails(ABC):
    """A law with a scale, from its functions of x: a real number, or on a lattice a whole number of steps."""

    scale: float

    landmarks: ClassVar[tuple[float, ...]] = (0.0,)

    def __post_init__(self) -> None:
        fill(self, scale=float(positive("scale", self.scale)))

    @abstractmethod
    def _density(self, x: Reals) -> Reals: ...
    @abstractmethod
    def _upper(self, x: Reals) -> Reals: ...  # ln P(noise >= x)

    def _lower(self, x: Reals) -> Reals:
        """Return ln P(noise < x), on a lattice ln P(noise <= x); this one is of symmetric laws."""
        return self._upper(-x)


class _OnTheLine(_FromTails):
    step: ClassVar[Fraction | None] = None

    def log_density(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        return self._density(np.asarray(z, np.float64) + float(offset))

    def log_at_least(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        return self._upper(np.asarray(z, np.float64) + float(offset))

    def log_below(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        return self._lower(np.asarray(z, np.float64) + float(offset))


class Laplace(_OnTheLine):
    """Density e^(-|x|/scale) / (2 scale).

    >>> float(np.exp(Laplace(2).log_at_least(0)))
    0.5
    """

    def _density(self, x: Reals) -> Reals:
        return -np.abs(x) / self.scale - math.log(2 * self.scale)

    def _upper(self, x: Reals) -> Reals:
        tail = -np.abs(x) / self.scale + _LOG_HALF
        return np.where(x >= 0, tail, np.log1p(-np.exp(tail)))


class Exponential(_OnTheLine):
    """Density e^(-x/scale) / scale on x >= 0. Centred noise is `Shifted(Exponential(b), by=-b)`.

    >>> float(Exponential(2).log_at_least(3)), float(Exponential(2).log_below(-1))
    (-1.5, -inf)
    """

    def _density(self, x: Reals) -> Reals:
        return np.where(x >= 0, -x / self.scale - math.log(self.scale), -np.inf)

    def _upper(self, x: Reals) -> Reals:
        return -np.maximum(x, 0) / self.scale

    def _lower(self, x: Reals) -> Reals:
        return _log_one_minus_exp(x / self.scale)


class Gaussian(_OnTheLine):
    """The normal law with mean 0 and standard deviation `scale`.

    >>> round(float(np.exp(Gaussian(2).log_below(2))), 6)
    0.841345
    """

    def _density(self, x: Reals) -> Reals:
        return -0.5 * (x / self.scale) ** 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def _upper(self, x: Reals) -> Reals:
        return np.asarray(log_ndtr(-x / self.scale), np.float64)


@dataclass(frozen=True)
class NoNoise(_OnTheLine):
    """The noise that was forgotten: always 0.

    >>> float(NoNoise().log_at_least(0)), float(NoNoise().log_at_least(0.5))
    (0.0, -inf)
    """

    scale: float = field(default=1.0, init=False, repr=False)

    def _density(self, x: Reals) -> Reals:
        return np.where(x == 0, 0.0, -np.inf)

    def _upper(self, x: Reals) -> Reals:
        return np.where(x <= 0, 0.0, -np.inf)

    def _lower(self, x: Reals) -> Reals:
        return np.where(x > 0, 0.0, -np.inf)


@dataclass(frozen=True)
class _OnALattice(_FromTails):
    _: KW_ONLY
    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        step = positive("step", self.step)
        if step.denominator & (step.denominator - 1):  # then lattice points would not be floats
            remedy = "write 1, 1/2, 1/1024, ..."
            raise ParameterError("step", self.step, reason="is not a dyadic fraction", remedy=remedy)
        fill(self, step=step)

    def log_density(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        steps = Fraction(offset) / self.step
        if steps.denominator != 1:
            return np.full(np.shape(z), -np.inf)
        return self._density(self._steps(z) + int(steps))

    def log_at_least(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        return self._upper(self._steps(z) + math.ceil(Fraction(offset) / self.step))

    def log_below(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        return self._lower(self._steps(z) + (math.ceil(Fraction(offset) / self.step) - 1))

    @property
    def _rate(self) -> float:
        return float(self.step) / self.scale

    def _steps(self, z: ArrayLike) -> Reals:
        steps = np.asarray(z, np.float64) / float(self.step)
        if not (steps == np.rint(steps)).all():
            raise ParameterError("z", z, reason=f"is not on the lattice of step {self.step}", remedy="use the offset")
        return steps


class AuditedGeometric(_OnALattice):
    """P(x) ∝ e^(-x/scale) on x = 0, step, 2 step, ...: the one-sided law of the lattice.

    >>> float(AuditedGeometric(2).log_at_least(3)), float(AuditedGeometric(2).log_at_least(0, 2.5))
    (-1.5, -1.5)
    """

    def _density(self, n: Reals) -> Reals:
        return np.where(n >= 0, _log_one_minus_exp(self._rate) - n * self._rate, -np.inf)

    def _upper(self, n: Reals) -> Reals:
        return -np.maximum(n, 0) * self._rate

    def _lower(self, n: Reals) -> Reals:
        return _log_one_minus_exp((n + 1) * self._rate)


class AuditedDiscreteLaplace(_OnALattice):
    """P(x) ∝ e^(-|x|/scale) on the multiples of `step`: the two-sided geometric law.

    >>> round(float(np.exp(AuditedDiscreteLaplace(4).log_at_least(0))), 6)
    0.562177
    """

    def _density(self, n: Reals) -> Reals:
        return math.log(math.tanh(self._rate / 2)) - np.abs(n) * self._rate

    def _upper(self, n: Reals) -> Reals:
        tail = -np.where(n >= 1, n, 1 - n) * self._rate - math.log1p(math.exp(-self._rate))
        return np.where(n >= 1, tail, np.log1p(-np.exp(tail)))


class AuditedDiscreteGaussian(_OnALattice):
    """P(x) ∝ e^(-x²/2 scale²) on the multiples of `step`.

    >>> round(float(np.exp(AuditedDiscreteGaussian(1).log_density(0))), 6)
    0.398942
    """

    def _density(self, n: Reals) -> Reals:
        return -0.5 * (n * self._rate) ** 2 + float(_log_gaussian_tails(self._rate, 1)[0])

    def _upper(self, n: Reals) -> Reals:
        outer = np.where(n >= 1, n, 1 - n).astype(np.int64)
        tail = _log_gaussian_tails(self._rate, 1 << int(np.max(outer, initial=1)).bit_length())[outer]
        return np.where(n >= 1, tail, np.log1p(-np.exp(tail)))


class _Rounded(_OnALattice):
    """A law on the line, rounded to the nearest multiple of `step`: log-concave where the law is."""

    of: ClassVar[type[_OnTheLine]]

    def _density(self, n: Reals) -> Reals:
        return log_between(self._before_rounding, (n, -0.5), (n, 0.5))

    def _upper(self, n: Reals) -> Reals:
        return self._before_rounding.log_at_least(n, -0.5)

    def _lower(self, n: Reals) -> Reals:
        return self._before_rounding.log_below(n, 0.5)

    @property
    def _before_rounding(self) -> _OnTheLine:
        return self.of(1 / self._rate)


class AuditedRoundedGaussian(_Rounded):
    """The normal law with standard deviation `scale`, rounded to the nearest multiple of `step`.

    >>> round(float(np.exp(AuditedRoundedGaussian(1).log_density(0))), 6)
    0.382925
    """

    of = Gaussian


class AuditedRoundedLaplace(_Rounded):
    """The Laplace law of scale `scale`, rounded to the nearest multiple of `step`.

    >>> round(float(np.exp(AuditedRoundedLaplace(1).log_density(0))), 6)
    0.393469
    """

    of = Laplace


def just_above(offset: Offset, step: Fraction | None) -> Offset:
    """Return the offset that turns "more than" into "at least": the next lattice point; on the line, the same.

    >>> just_above(2, Fraction(1)), just_above(2.5, Fraction(1)), just_above(2, None)
    (Fraction(3, 1), Fraction(3, 1), 2)
    """
    return offset if step is None else (math.floor(Fraction(offset) / step) + 1) * step


def log_between(law: NoiseLaw, low: tuple[ArrayLike, Offset], high: tuple[ArrayLike, Offset]) -> Reals:
    """Return ln P(low <= noise < high), from the tail that keeps more digits.

    Each end is a pair (z, offset), whose offset may be infinite.

    >>> round(float(np.exp(log_between(Laplace(1), (0, 0), (0, 1)))), 6)
    0.31606
    """
    (at_least_low, below_low), (at_least_high, below_high) = _both_tails(law, *low), _both_tails(law, *high)
    from_above, from_below = _log_difference(at_least_low, at_least_high), _log_difference(below_high, below_low)
    return np.where(at_least_low < _LOG_HALF, from_above, from_below)


def _both_tails(law: NoiseLaw, z: ArrayLike, offset: Offset) -> tuple[Reals, Reals]:
    if not math.isinf(offset):
        return law.log_at_least(z, offset), law.log_below(z, offset)
    sure, never = np.zeros(np.shape(z)), np.full(np.shape(z), -np.inf)
    return (never, sure) if offset > 0 else (sure, never)


def _log_difference(larger: Reals, smaller: Reals) -> Reals:
    """Return ln(e^larger - e^smaller), minus infinity where nothing is left."""
    larger, smaller = np.broadcast_arrays(larger, smaller)
    left = larger > smaller
    drop = np.subtract(larger, smaller, out=np.zeros(larger.shape), where=left)
    return np.where(left, larger + _log_one_minus_exp(drop), -np.inf)


def _log_one_minus_exp(t: ArrayLike) -> Reals:
    """Return ln(1 - e^-t), minus infinity for t <= 0."""
    t = np.asarray(t, np.float64)
    inside = np.where(t > 0, t, 1.0)
    near, far = np.log(-np.expm1(-np.minimum(inside, 1.0))), np.log1p(-np.exp(-np.maximum(inside, 1.0)))
    return np.where(t > 0, np.where(inside < 1.0, near, far), -np.inf)


@lru_cache(maxsize=16)
def _log_gaussian_tails(rate: float, furthest: int) -> Reals:
    """Return ln P(0) of the discrete Gaussian, then ln P(at least n steps) for n = 1 ... furthest.

    The sums begin 40 standard deviations further out, so that they leave out less than one part in e^800.
    """
    n = np.arange(1, furthest + math.ceil(40 / rate) + 2, dtype=np.float64)
    tails = np.logaddexp.accumulate(-0.5 * (n[::-1] * rate) ** 2)[::-1]
    log_sum = float(np.logaddexp(0.0, math.log(2) + tails[0]))
    return np.append(-log_sum, tails[:furthest] - log_sum)


@dataclass(frozen=True)
class _Moved:
    """sign * noise + by."""

    law: NoiseLaw
    _: KW_ONLY
    by: Fraction = Fraction(0)
    sign: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if isinstance(self.law, NoNoise):
            raise ParameterError("law", self.law, reason="is not noise to move", remedy="move the values instead")
        by = exact("by", self.by)
        if self.law.step is not None and (by / self.law.step).denominator != 1:
            reason = f"leaves the lattice of step {self.law.step}"
            raise ParameterError("by", self.by, reason=reason, remedy="shift by a multiple of the step")
        fill(self, by=by)

    @property
    def scale(self) -> float:
        return self.law.scale

    @property
    def landmarks(self) -> tuple[float, ...]:
        return tuple(self.sign * mark + float(self.by) for mark in self.law.landmarks)

    @property
    def step(self) -> Fraction | None:
        return self.law.step

    def log_density(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        return self.law.log_density(self._turned(z), self.sign * (offset - self.by))

    def log_at_least(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        if self.sign > 0:
            return self.law.log_at_least(z, offset - self.by)
        return self.law.log_below(self._turned(z), just_above(self.by - offset, self.step))

    def log_below(self, z: ArrayLike, offset: Offset = 0) -> Reals:
        if self.sign > 0:
            return self.law.log_below(z, offset - self.by)
        return self.law.log_at_least(self._turned(z), just_above(self.by - offset, self.step))

    def _turned(self, z: ArrayLike) -> Reals:
        return self.sign * np.asarray(z, np.float64)


class Shifted(_Moved):
    """`law` plus the public constant `by` (on a lattice: a multiple of its step).

    >>> float(np.exp(Shifted(Exponential(2), by=-2).log_at_least(-2)))
    1.0
    """


class Mirrored(_Moved):
    """`law` with its sign turned round: one-sided noise that is pushed the wrong way.

    >>> float(np.exp(Mirrored(Exponential(2)).log_at_least(1)))
    0.0
    """

    sign: ClassVar[int] = -1
