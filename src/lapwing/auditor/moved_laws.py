"""Laws of noise that are moved: by a public constant, or with their sign turned round."""

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lapwing.auditor.noise_laws import NoiseLaw, NoNoise, Offset, Reals, just_above
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import exact


@dataclass(frozen=True)
class _Moved:
    """sign * noise + by."""

    law: NoiseLaw
    _: KW_ONLY
    by: Fraction = Fraction(0)
    sign: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if isinstance(self.law, NoNoise):
            raise ParameterError("law", self.law, reason="is no noise to move", remedy="move the values instead")
        by = exact("by", self.by)
        if self.law.step is not None and (by / self.law.step).denominator != 1:
            raise ParameterError(
                "by",
                self.by,
                reason=f"leaves the lattice of step {self.law.step}",
                remedy="shift by a multiple of the step",
            )
        object.__setattr__(self, "by", by)

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

    >>> from lapwing.auditor.noise_laws import Exponential
    >>> float(np.exp(Shifted(Exponential(2), by=-2).log_at_least(-2)))
    1.0
    """


class Mirrored(_Moved):
    """`law` with its sign turned round: one-sided noise that is pushed the wrong way.

    >>> from lapwing.auditor.noise_laws import Exponential
    >>> float(np.exp(Mirrored(Exponential(2)).log_at_least(1)))
    0.0
    """

    sign: ClassVar[int] = -1
