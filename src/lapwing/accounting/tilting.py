"""Where to look: the tilt at which a composed law has most of its mass near the answer.

Everything here is a plan. A bad plan makes a price loose or slow, never too low.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lapwing.accounting.dominating_pair import Floats
from lapwing.accounting.losses.law import LossLaw

Factor: TypeAlias = tuple[LossLaw, int]
"""A law and how often it is met."""

SLOPES = np.geomspace(2.0**-6, 2.0**24, 121)
GAINS = SLOPES * np.log(SLOPES) - (SLOPES + 1) * np.log1p(SLOPES)
"""log of the largest e^(-slope y) (1 - e^-y): by so much a profile lies below e^(cumulant - slope epsilon)."""

_STEEPEST = len(SLOPES) - 9
"""The last slope that is used: a bound for what lies above needs a steeper one."""


@dataclass(frozen=True, slots=True)
class Target:
    """About where a profile is wanted, (epsilon, e^log_delta), and which of the slopes is best there."""

    index: int
    epsilon: float
    log_delta: float

    @property
    def slope(self) -> float:
        """The slope of the tilt."""
        return float(SLOPES[self.index])


class Tilts:
    """The cumulants of a composition at all slopes."""

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.cumulants = np.zeros(len(SLOPES))
        for law, times in factors:
            self.include(law.cumulant(SLOPES), times)

    def include(self, cumulants: Floats, times: int) -> None:
        """Add `times` uses of a law with these cumulants."""
        self.cumulants += times * cumulants

    def for_delta(self, delta: float) -> Target:
        """Return the target at `delta`; its epsilon is the bound of Canonne, Kamath and Steinke 2020."""
        bounds = (self.cumulants + GAINS - math.log(delta)) / SLOPES
        best = min(int(np.argmin(bounds)), _STEEPEST)
        return Target(best, max(float(bounds[best]), 0.0), math.log(delta))

    def for_epsilon(self, epsilon: float) -> Target:
        """Return the target at `epsilon`; its delta is the same bound, read the other way."""
        bounds = self.cumulants + GAINS - SLOPES * epsilon
        best = min(int(np.argmin(bounds)), _STEEPEST)
        return Target(best, epsilon, min(0.0, float(bounds[best])))

    def highest(self, log_mass: float) -> float:
        """Return a loss above which at most e^log_mass lies (Chernoff)."""
        return float(np.min((self.cumulants - log_mass) / SLOPES))

    def lowest(self, target: Target, log_mass: float) -> float:
        """Return a loss below which at most e^log_mass of the tilted law lies (Chernoff again)."""
        reached = self.cumulants[target.index]
        gentler = slice(0, target.index)
        bounds = (reached - self.cumulants[gentler] + log_mass) / (target.slope - SLOPES[gentler])
        return float(np.max(bounds, initial=(reached + log_mass) / target.slope))

    def period(self, target: Target, log_share: float) -> float:
        """Return a period whose copies of the profile, tilted, weigh at most e^log_share of what is wanted."""
        wanted = target.log_delta + log_share
        steeper = slice(target.index + 1, None)
        above = self.cumulants[steeper] + GAINS[steeper] - SLOPES[steeper] * target.epsilon - wanted
        upper = float(np.min(above / (SLOPES[steeper] - target.slope)))
        return max(-wanted / target.slope, upper)
