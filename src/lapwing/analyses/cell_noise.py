"""The noise of an answer, to be drawn again from its law: for simulations of what the noise alone could have done.

Simulations see released numbers and public laws, so they cost nothing. Their draws protect nobody and are made by
NumPy, from a seed that the receipt of the answer fixes: the same answer gives the same p-value again.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.analyses.simulated_draws import SimulatedDraws, draws_from
from lapwing.answers.answer import Answer
from lapwing.mechanisms.weighted_sums import WholeNoise
from lapwing.queries.planning.plan import CellKey
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.frozen import frozen

Numbers = NDArray[np.float64]


@frozen(kw_only=False)
class CellNoise:
    """Independent noise on each released number, which is counted in `unit`: 1 for people.

    >>> from fractions import Fraction
    >>> noise = CellNoise(DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(2)))
    >>> round(noise.variance, 2)
    7.84
    """

    law: WholeNoise
    unit: int = 1

    @property
    def variance(self) -> float:
        """Its variance, in units."""
        match self.law:
            case DiscreteLaplaceNoise(scale=scale):
                return 1 / (2 * math.sinh(1 / (2 * float(scale))) ** 2) / self.unit**2
            case DiscreteGaussianNoise(sigma_squared=variance):
                return float(variance) / self.unit**2

    def draw(self, random: SimulatedDraws, shape: Sequence[int]) -> Numbers:
        """Return noise that was drawn from the law, in units."""
        match self.law:
            case DiscreteLaplaceNoise(scale=scale):
                ends = -math.expm1(-1 / float(scale))
                drawn = random.geometric(ends, shape) - random.geometric(ends, shape)
            case DiscreteGaussianNoise(sigma_squared=variance):
                drawn = _discrete_gaussian(random, float(variance), shape)
        return np.asarray(drawn, dtype=np.float64) / self.unit


def _discrete_gaussian(random: SimulatedDraws, variance: float, shape: Sequence[int]) -> NDArray[np.int64]:
    """Return whole numbers with chances in proportion to exp(-k²/2σ²), by their table where it is short."""
    sigma = math.sqrt(variance)
    if sigma > 100:  # noqa: PLR2004 - rounding then moves the law by less than a simulation can see
        return np.rint(random.normal(0, sigma, shape)).astype(np.int64)
    most = math.ceil(12 * sigma) + 1
    whole = np.arange(-most, most + 1)
    chances = np.exp(-(whole**2) / (2 * variance))
    return random.choice(whole, size=shape, p=chances / chances.sum())


def released_cells(answer: Answer) -> tuple[dict[CellKey, list[int]], CellNoise]:
    """Return the released numbers of each cell of an answer with one column, and the law of their noise."""
    ((column, release),) = answer.asked.releases.items()
    numbers = answer.numbers[column]
    plan: Any = release.source.plan
    terms, unit = plan.aggregate.terms, getattr(plan.aggregate.bounding, "most", 1)
    several = {key: list(numbers[i * terms : (i + 1) * terms]) for i, key in enumerate(plan.aggregate.cells or ())}
    return several, CellNoise(release.mechanism.event, unit)


def seeded(answer: Answer, what: str) -> SimulatedDraws:
    """Return a generator of public draws that is the same whenever this is computed from the same answer."""
    seed = digest([what, str(answer.receipt), {name: list(numbers) for name, numbers in answer.numbers.items()}])
    return draws_from(int(seed, 16))
