"""Where to look: the tilt at which a composed law has most of its mass near the answer.

Everything here is a plan. A bad plan makes a price loose or slow, never too low.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.frozen import frozen

Factor: TypeAlias = tuple[LossLaw, int]  # a law and how often it is met

SLOPES = np.geomspace(2.0**-10, 2.0**24, 137)
GAINS = SLOPES * np.log(SLOPES) - (SLOPES + 1) * np.log1p(SLOPES)
"""log of the largest e^(-slope y) (1 - e^-y): how far a profile lies below e^(cumulant - slope epsilon)."""

_STEEPEST = len(SLOPES) - 9  # the last slope that is used: a bound for what lies above needs a steeper one
_GENTLER = 12
_ATOMS = 256  # enough to see where the mass of a law goes
_STEPS = 50  # of work that the cumulants of a law count as
_LEAST_LOG_DELTA = -690.0
_LOG_SHARE = -14.0  # log of the share of delta that the copies may cost


@frozen(kw_only=False)
class TiltTarget:
    """About where a profile is wanted (`epsilon`, `log_delta`), and how to look at it.

    `index` is that of the slope to tilt by, `period` the distance at which copies of the tilted profile weigh next to
    nothing there.
    """

    index: int
    epsilon: float
    log_delta: float
    period: float

    @property
    def slope(self) -> float:
        """The slope of the tilt."""
        return float(SLOPES[self.index])


@lru_cache(maxsize=64)
def _at_all_slopes(law: Any) -> NDArray[np.float64]:
    """Return the cumulants of one law: those of noise on several numbers share few, in many compositions."""
    spend(_STEPS)
    if isinstance(law, AtomicLaw):
        law = replace(law, pair=law.pair.coarsened(_ATOMS))  # whose cumulants are no smaller
    return np.asarray(law.cumulant(SLOPES))


class Tilts:
    """The cumulants of a composition at all slopes."""

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.cumulants = np.zeros(len(SLOPES))
        for law, times in factors:
            one: Any = law
            self.cumulants += times * _at_all_slopes(one)

    def for_delta(self, delta: float) -> TiltTarget:
        """Return the target at `delta`; its epsilon is the bound of Canonne, Kamath and Steinke 2020."""
        bounds = (self.cumulants + GAINS - math.log(delta)) / SLOPES
        best = int(np.argmin(bounds))
        return self._target(best, max(float(bounds[best]), 0.0), math.log(delta))

    def for_epsilon(self, epsilon: float, log_delta: float | None = None) -> TiltTarget:
        """Return the target at `epsilon`; its delta is the same bound, read the other way, unless it is known."""
        bounds = self.cumulants + GAINS - SLOPES * epsilon
        best = int(np.argmin(bounds))
        return self._target(best, epsilon, min(0.0, float(bounds[best])) if log_delta is None else log_delta)

    def _target(self, best: int, epsilon: float, log_delta: float) -> TiltTarget:
        """Return the target with the slope near the best one that has the shortest period.

        A copy one period below weighs at most e^(-slope period). One above weighs e^(slope period) times the profile
        there, which any steeper slope bounds. Where the tail is heavy, a gentler slope than the best is much shorter.
        """
        log_delta = max(log_delta, _LEAST_LOG_DELTA)
        wanted = log_delta + _LOG_SHARE
        last = min(best, _STEEPEST)
        slopes = SLOPES[max(0, last - _GENTLER) : last + 1, None]
        bounds = self.cumulants + GAINS - SLOPES * epsilon - wanted
        with np.errstate(divide="ignore", invalid="ignore"):
            above = np.where(slopes < SLOPES, bounds / (SLOPES - slopes), math.inf).min(axis=1)
        periods = np.maximum(-wanted / slopes[:, 0], above)
        chosen = int(np.argmin(periods))
        return TiltTarget(last + 1 - len(slopes) + chosen, epsilon, log_delta, float(periods[chosen]))

    def highest(self, log_mass: float) -> float:
        """Return a loss above which at most e^log_mass lies (Chernoff)."""
        return float(np.min((self.cumulants - log_mass) / SLOPES))

    def lowest(self, target: TiltTarget, log_mass: float) -> float:
        """Return a loss below which at most e^log_mass of the tilted law lies (Chernoff again)."""
        reached = self.cumulants[target.index]
        gentler = slice(0, target.index)
        bounds = (reached - self.cumulants[gentler] + log_mass) / (target.slope - SLOPES[gentler])
        return float(np.max(bounds, initial=(reached + log_mass) / target.slope))
