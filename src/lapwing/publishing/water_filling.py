"""How to spend the price of a stage: which residuals are measured, and how precisely. It reads released numbers only.

A question that looks at the columns w sees the residual s, a subset of w, with a factor f_s(w). With c_s, the sum of
these over all questions that matter, the squared error is Σ c_s v_s over what is measured, plus what is missing of the
rest. A residual of variance v_s costs p_s/v_s, p_s the squared length by which one person moves it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from lapwing.mechanisms.residual_basis import Axes, squared_move
from lapwing.publishing.measurements import subsets
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.guarantee import PrivacyUnit

_REWEIGHTED: Final = 7
_HALVINGS: Final = 100
_PAIR: Final = 2


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What matters about columns of so many `codes`: the tables of `workload`, or the ranges that cohorts have in them.

    `ordered` says which columns cohorts take ranges of; where it is None what matters are single cells.
    """

    codes: tuple[int, ...]
    workload: tuple[Axes, ...]
    unit: PrivacyUnit
    ordered: tuple[bool, ...] | None = None

    @cached_property
    def moves(self) -> dict[Axes, float]:
        """p_s: the squared length by which one protected person or group moves each residual."""
        return {
            axes: squared_move([self.codes[a] for a in axes], self.unit) / self.cells(axes) ** 2
            for axes in self.curvature
        }

    @cached_property
    def curvature(self) -> dict[Axes, float]:
        """c_s: how much a unit of variance of each residual counts.

        Tables are reweighted by their standard deviation until the sum of squares is one of absolute errors, and
        cohorts until it is one of fourth powers: each is asked for by itself, and none should be far off.
        """
        inner, outer = self._factors()
        seen = {
            w: {s: math.prod(inner[a] if a in s else outer[a] for a in w) for s in subsets(w)} for w in self.workload
        }
        weights = dict.fromkeys(self.workload, 1.0)
        for _ in range(_REWEIGHTED):
            found = dict[Axes, float]()
            for w, factors in seen.items():
                spend(2 ** len(w))
                for s, factor in factors.items():
                    found[s] = found.get(s, 0.0) + weights[w] * factor
            low = [s for s in found if len(s) <= _PAIR]
            length = {s: math.prod(1 - 1 / self.codes[a] for a in s) for s in low}
            variances = {s: math.sqrt(length[s] / found[s]) for s in low}
            for w, factors in seen.items():
                sd = math.sqrt(sum(variances[s] * factor for s, factor in factors.items() if len(s) <= _PAIR))
                weights[w] = self.cells(w) / sd if self.ordered is None else sd**2
        return {s: found[s] for s in sorted(found, key=lambda s: (len(s), s))}

    def _factors(self) -> tuple[list[float], list[float]]:
        """Return how much of a residual a question sees that takes a cell, or a random range, of each column in it."""
        inner, outer = [1 - 1 / n for n in self.codes], [1 / n**2 for n in self.codes]
        for a, ranges in enumerate(self.ordered or ()):
            if ranges:
                n, declared = self.codes[a], np.arange(self.codes[a] - 1)  # the last code is for what is not declared
                widths = np.abs(np.subtract.outer(declared, declared)) + 1.0
                inner[a] = float((widths - widths**2 / n).mean())
                outer[a] = float((widths**2).mean()) / n**2
        return inner, outer

    def root(self, axes: Axes) -> float:
        """√(p_s c_s): what a residual takes of the price, if all are measured."""
        return math.sqrt(self.moves[axes] * self.curvature[axes])

    def gain(self, axes: Axes, squared: float) -> float:
        """Return what measuring a residual is worth, if the model's distance from the table has this square."""
        free = math.prod(self.codes[a] - 1 for a in axes)
        return self.curvature[axes] / (self.cells(axes) * free) * max(0.0, squared)

    def cells(self, axes: Sequence[int]) -> int:
        """Return how many cells a table of some columns has."""
        return math.prod(self.codes[a] for a in axes)


def water_fill(
    worth: Worth, known: Mapping[Axes, float], gains: Mapping[Axes, float], paid: float
) -> dict[Axes, float]:
    """Return which precision to add to which residual for the price `paid`, the square of a mu.

    A residual that is not measured yet is worth its gain, and one that is `known`, with a precision, may be measured
    again. With a multiplier L the best precision is √(c/p)/L, where the gain is above 2L√(cp).
    """
    sets = [axes for axes in worth.curvature if axes in known or axes in gains]
    moves, weights = (np.array([of[axes] for axes in sets]) for of in (worth.moves, worth.curvature))
    before = np.array([known.get(axes, 0.0) for axes in sets])
    gain = np.array([math.inf if axes in known else gains[axes] for axes in sets])

    def added(level: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        taken = gain > 2 * level * np.sqrt(weights * moves)
        return np.where(taken, np.maximum(0.0, np.sqrt(weights / moves) / level - before), 0.0)

    low, high = 1e-12, 1e12
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if float(moves @ added(middle)) > paid else (low, middle)
    found = added(high)
    price = float(moves @ found)
    stretched = found * (paid / price if price > 0 else 1.0)
    return {axes: float(x) for axes, x in zip(sets, stretched, strict=True) if x > 0}
