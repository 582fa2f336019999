"""Composition without a grid: the profile as a sum over the characteristic functions of the losses.

Along the vertical line z = slope + i f, the profile of a composed law is

    delta(epsilon) = 1/(2 pi) * integral of e^(K(z) - z epsilon) / (z (z + 1)) over f,     K = sum of the cumulants.

A sum over evenly spaced frequencies is that integral plus copies of the profile, shifted and tilted and all of them
positive (Poisson's summation formula): it is an upper bound for any spacing. So that few frequencies suffice, a
little Gaussian noise is composed in: one release more can only raise the profile, and the frequencies left out are
bounded by its decay.

Proof: proofs/spectral_composition.md
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.dominating_pair import Floats
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.selections import SelectionsLaw
from lapwing.accounting.tilting import Factor, TiltTarget
from lapwing.vocabulary.exact import UNIT

_LOG_SHARE = -14.0  # log of the share of delta that the frequencies left out may cost
_MOST_FREQUENCIES = 1 << 16
_PRECISION = 1e-8
_LARGEST = 1e15
_SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class SpectralLine:
    """Evenly spaced points of a vertical line in the complex plane, and the Gaussian that makes them enough.

    The real part, `slope`, is the tilt; `period` is 2 pi over the spacing of the frequencies, of which `count` lie
    above zero; `smoothing` is the mu^2 of the Gaussian that is composed in.
    """

    slope: float
    period: float
    count: int
    smoothing: float

    @classmethod
    def through(
        cls, target: TiltTarget, *, gaussian: float, tolerance: float, scale: float | None = None
    ) -> "SpectralLine":
        """Return a line that is good for `target` when Gaussian releases of mu^2 = `gaussian` are there already.

        A Gaussian of mu^2 costs about (slope + 1) mu^2 / 2 of epsilon: `tolerance` is the share of `scale` it may cost.
        """
        slope, period = target.slope, target.period
        needed = 2 * tolerance * (scale or max(target.epsilon, 1 / slope)) / (slope + 1)
        smoothing = 0.0 if gaussian > needed else needed
        highest = 2 * slope
        for _ in range(4):
            decay = max(math.log(slope / highest) - _LOG_SHARE, 1.0)
            highest = max(2 * slope, math.sqrt(2 * decay / (gaussian + smoothing)))
        affordable = 2 * math.pi * _MOST_FREQUENCIES / period
        if highest > affordable:
            highest, smoothing = affordable, max(smoothing, 2 * decay / affordable**2 - gaussian)
        return cls(slope, period, min(math.ceil(highest * period / (2 * math.pi)), _MOST_FREQUENCIES), smoothing)

    @cached_property
    def frequencies(self) -> Floats:
        """The imaginary parts, from zero upwards; those below zero are their mirror image."""
        return 2 * math.pi / self.period * np.arange(self.count + 1.0)

    @cached_property
    def points(self) -> NDArray[Any]:
        """The points of the line."""
        return self.slope + 1j * self.frequencies

    @cached_property
    def kernel(self) -> NDArray[Any]:
        """1 / (z (z + 1)), times the weight of the frequency: those above zero stand for two."""
        kernel = 2 / (self.period * self.points * (self.points + 1))
        kernel[0] /= 2
        return np.asarray(kernel)


class Spectrum:
    """The transform of the composition of `factors` along a line, which is asked for its profile."""

    def __init__(self, factors: Sequence[Factor], line: SpectralLine) -> None:
        f, smoothing = line.frequencies, line.smoothing
        self.line = line
        self.infinite_log, self.gaussian = 0.0, smoothing
        self.cumulant = line.slope * (line.slope + 1) * smoothing / 2
        self.transform = np.asarray(np.exp(smoothing / 2 * (1j * f * (2 * line.slope + 1) - f**2))) * line.kernel
        self._roundings, self._reach = 1.0, 0.0
        for law, times in factors:
            self._include(law, times)

    def _include(self, law: LossLaw, times: int) -> None:
        """Compose `times` uses of a law in, each tilted so that its transform is 1 at frequency zero."""
        cumulants = law.cumulant(self.line.points)
        cumulant = float(cumulants[0].real)
        low, high = law.span(1e-30)
        self.cumulant += times * cumulant
        self.transform *= np.exp(times * (cumulants - cumulant))
        self.infinite_log += times * math.log1p(-law.infinite_mass)
        self.gaussian += times * (0.0 if law.mu_squared is None else float(law.mu_squared) * (1 - 4 * UNIT))
        self._roundings += times * (1 + terms_of(law) / 16)
        self._reach += times * (max(-low, high) + 2 * abs(cumulant) / self.line.slope)  # what the phases must resolve

    def epsilon(self, delta: float, start: float) -> float:
        """Return an epsilon >= 0 at which the composed profile is at most `delta`, looking from `start`."""
        if -math.expm1(self.infinite_log) >= delta:
            return math.inf
        if self.profile(0.0)[0] <= delta:
            return 0.0
        low, high = 0.0, start
        while (found := self.profile(high))[0] > delta:
            low, high = high, 1.25 * high + 1e-9
            if high > _LARGEST:
                return math.inf
        height, fall = found
        while (gap := math.log(delta / height)) > _PRECISION and high - low > _PRECISION * high:
            # the logarithm of a profile is nearly concave: Newton's steps from above stay above, aimed a hair short
            newton = high - (gap - _PRECISION / 2) * height / fall if fall > 0 else low
            middle = newton if low < newton < high else (low + high) / 2
            found = self.profile(middle)
            if found[0] > delta:
                low = middle
            else:
                high, (height, fall) = middle, found
        return high

    def profile(self, epsilon: float) -> tuple[float, float]:
        """Return an upper bound of the composed profile at `epsilon`, and how fast it falls there."""
        line = self.line
        terms = self.transform * np.exp(-1j * epsilon * line.frequencies)
        scale = math.exp(min(self.cumulant - line.slope * epsilon, 700.0))
        scale *= 1 + 16 * UNIT * (self._roundings + line.slope * (self._reach + abs(epsilon)))
        # each term errs by 16 units for every rounding that it went through, and for the phase that it resolves
        error = 16 * UNIT * (self._roundings * self._moduli[0] + (self._reach + abs(epsilon)) * self._moduli[1])
        highest = float(line.frequencies[-1])
        left_out = math.exp(-self.gaussian * highest**2 / 2) / (math.pi * highest)
        height = scale * (float(terms.real.sum()) + error + left_out) - math.expm1(self.infinite_log)
        return max(height, _SMALLEST), scale * float((terms * line.points).real.sum())

    @cached_property
    def _moduli(self) -> tuple[float, float]:
        """The sum of the moduli of the terms, and of these by the moduli of their points."""
        moduli, sizes = np.abs(self.transform), np.hypot(self.line.slope, self.line.frequencies)
        return float(moduli.sum()), float((moduli * sizes).sum())


def terms_of(law: LossLaw) -> int:
    """Return how many terms a value of the characteristic function is the sum of; 0 for a closed form."""
    match law:
        case SelectionsLaw(atoms=AtomicLaw(pair=pair)) | AtomicLaw(pair=pair):
            return len(pair.losses)
        case _:
            return 0
