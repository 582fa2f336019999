"""About how many different values made the marks in a sketch: an estimate, and bounds that hold for every number.

Values mark places independently (`aggregate.mark`, taken for random): a bucket of m evenly, a level j with a chance of
2^-(j+1). So a place of level j stays empty with probability (1 - 2^-(j+1)/m)^n, and each time n doubles, about m more
places are marked: from a thousand buckets on, a few per cent more or fewer values show, however many there are.

Proof: proofs/sketched_values.md
"""

from collections.abc import Callable
from math import ceil, exp, floor, log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lapwing.queries.algebra.aggregate import LEVELS
from lapwing.vocabulary.frozen import frozen

Floats = NDArray[np.float64]

MOST_VALUES: Final = 1 << 45
_CHANCES: Final = 0.5 ** np.minimum(np.arange(1, LEVELS + 1), LEVELS - 1)
"""How likely a value is on each level."""
_LARGEST: Final = 60.0  # of a tilt: a bound that asks for more is as small as it can be
_HALVINGS: Final = 48


@frozen()
class SketchLaw:
    """How many of the places of a sketch with so many buckets a number of different values marks.

    >>> law = SketchLaw(buckets=4096)
    >>> round(law.expected(1)), law.values(law.expected(1_000_000))
    (1, 1000000)
    >>> low, high = law.between(law.expected(1_000_000), law.expected(1_000_000), risk=0.05)
    >>> 950_000 < low < 1_000_000 < high < 1_050_000
    True
    """

    buckets: int

    def _marked(self, values: float) -> Floats:
        return np.asarray(-np.expm1(values * np.log1p(-_CHANCES / self.buckets)))

    def expected(self, values: float) -> float:
        """Return how many places so many different values mark on average."""
        return float(self.buckets * self._marked(values).sum())

    def values(self, marks: float) -> int:
        """Return the number of values that marks so many places on average, or nearly."""
        if marks <= 0:
            return 0
        above = _first(0, MOST_VALUES, lambda values: self.expected(values) >= marks)
        below = max(0, above - 1)
        return above if self.expected(above) - marks <= marks - self.expected(below) else below

    def between(self, fewest: float, most: float, *, risk: float) -> tuple[int, int]:
        """Return between which numbers of values the truth lies, but for this risk, if so many places are marked."""
        low = _first(0, MOST_VALUES, lambda values: values >= fewest and self._at_least(fewest, values) > risk / 2)
        beyond = _first(low, MOST_VALUES, lambda values: self._at_most(most, values) <= risk / 2)
        high = max(low, beyond - (self._at_most(most, beyond) <= risk / 2))
        return low, self._few_collide(low, high, most, risk / 2)

    def _few_collide(self, low: int, high: int, marks: float, risk: float) -> int:
        """Return the largest number up to `high` of which not too many would have to share a place.

        A value meets a marked place with a chance of at most n/2m, whatever the others did.
        """
        if high > self.buckets // 2:
            return high
        numbers = np.arange(max(low, 1), high + 1, dtype=np.float64)
        share, chance = np.maximum((numbers - marks) / numbers, 0), numbers / (2 * self.buckets)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.where(share < 1, (1 - share) * np.log((1 - share) / (1 - chance)), 0)
            shared = np.where(share > 0, share * np.log(share / chance), 0)
        rare = (share > chance) & (numbers * (kept + shared) >= -log(risk))
        possible = numbers[~rare]
        return int(possible.max()) if possible.size else low

    def _at_least(self, marks: float, values: float) -> float:
        return 1.0 if self.expected(values) >= marks else self._tail(marks, values, up=True)

    def _at_most(self, marks: float, values: float) -> float:
        return 1.0 if self.expected(values) <= marks else self._tail(marks, values, up=False)

    def _tail(self, marks: float, values: float, *, up: bool) -> float:
        """Bound a probability by Chernoff's inequality: places are marked less often together than if independent."""
        chance = self._marked(values)
        low, high = (0.0, _LARGEST) if up else (-_LARGEST, 0.0)
        for _ in range(_HALVINGS):  # the tilt under which the average is `marks`
            tilt = (low + high) / 2
            tilted = chance * exp(tilt)
            if self.buckets * (tilted / (1 - chance + tilted)).sum() < marks:
                low = tilt
            else:
                high = tilt
        tilt = (low + high) / 2
        return exp(min(0.0, self.buckets * np.log(1 - chance + chance * exp(tilt)).sum() - tilt * marks))


def released_between(law: SketchLaw, released: int, margin: float, risk: float) -> tuple[int, int]:
    """Return between which numbers of values the truth lies, if noise is at most `margin`, but for this risk."""
    most = law.buckets * LEVELS
    fewest, largest = max(0, ceil(released - margin)), min(most, max(0, floor(released + margin)))
    return law.between(min(fewest, most), largest, risk=risk)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number from `low` to `high` from which on it holds; `high` where it never does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
