"""The size of the tests: how often each rejects a true null at 5 %, at prices where ignoring the noise would mislead.

Each run draws people of whom the null is true, and the noise of the released cells, anew. A *null* is a way to draw
the exact cells of two groups; `size_of` says how often it is rejected.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np

from lapwing.analyses import group_tests
from lapwing.analyses.cell_noise import CellNoise
from lapwing.analyses.simulated_draws import draws_from
from lapwing.vocabulary.event import DiscreteLaplaceNoise

UNIT: Final = 256
Null: TypeAlias = Callable[[Any], Any]
FEWER_SIMULATIONS: Final = 399
"""A test with fewer simulated nulls has the same size, and is faster."""


def proportions(people: tuple[int, int], rate: float) -> Null:
    """Return two groups with the same share."""

    def draw(random: Any) -> Any:
        having = random.binomial(people, rate)
        return np.stack([np.array(people) - having, having], 1).astype(float)

    return draw


def independent(people: int, rows: tuple[float, ...], columns: tuple[float, ...]) -> Null:
    """Return a table whose rows and columns are independent."""
    chances = np.outer(rows, columns)
    return lambda random: random.multinomial(people, chances.ravel()).reshape(chances.shape).astype(float)


def sums(people: tuple[int, int], values: Callable[[Any, int], Any]) -> Null:
    """Return the Bernstein sums of two groups with values between 0 and 1 from one law."""

    def draw(random: Any) -> Any:
        groups = (np.clip(values(random, many), 0, 1) for many in people)
        return np.array([[((1 - u) ** 2).sum(), (2 * u * (1 - u)).sum(), (u**2).sum()] for u in groups])

    return draw


def histograms(people: tuple[int, int], bins: int, values: Callable[[Any, int], Any]) -> Null:
    """Return the histograms of two groups with values between 0 and 1 from one law."""

    def draw(random: Any) -> Any:
        groups = (np.clip(values(random, many), 0, 1) for many in people)
        return np.stack([np.histogram(one, bins=bins, range=(0, 1))[0] for one in groups]).astype(float)

    return draw


def leaving(people: tuple[int, int], periods: int, hazard: float, censored: tuple[float, float]) -> Null:
    """Return two arms with one hazard, each with its own way of leaving without an event."""

    def draw(random: Any) -> Any:
        cells = np.zeros((2, 2, periods))
        for arm, many in enumerate(people):
            event, left = random.geometric(hazard, many), random.geometric(censored[arm], many)
            time, seen = np.minimum(np.minimum(event, left), periods), (event <= left) & (event <= periods)
            np.add.at(cells[arm], (seen.astype(int), time - 1), 1)
        return cells

    return draw


def _normal(random: Any, many: int) -> Any:
    return 0.5 + 0.15 * random.standard_normal(many)


def _skewed(random: Any, many: int) -> Any:
    return random.exponential(0.12, many)


_UNEVEN: Final = (0.5, 0.3, 0.2)
_COLUMNS: Final = (0.4, 0.3, 0.2, 0.1)
NULLS: Final[list[tuple[str, Null, Any, tuple[str, ...]]]] = [
    ("proportions, 500 and 500, 10 %", proportions((500, 500), 0.1), group_tests.judge_proportions, ("0.1", "1")),
    ("proportions, 200 and 2,000, 2 %", proportions((200, 2000), 0.02), group_tests.judge_proportions, ("0.1", "1")),
    ("chi-square 2x2, 500", independent(500, (0.5, 0.5), (0.7, 0.3)), group_tests.judge_table, ("0.1", "1")),
    ("chi-square 3x4, 1,000", independent(1000, _UNEVEN, _COLUMNS), group_tests.judge_table, ("0.1", "0.5")),
    ("t, 300 and 300, normal", sums((300, 300), _normal), group_tests.judge_means, ("0.3", "1")),
    ("t, 1,000 and 1,000, skewed", sums((1000, 1000), _skewed), group_tests.judge_means, ("0.3", "1")),
    ("t, 100 and 1,000, skewed", sums((100, 1000), _skewed), group_tests.judge_means, ("1", "10")),
    ("rank, 300 and 300", histograms((300, 300), 16, _normal), group_tests.judge_ranks, ("0.3", "1")),
    ("rank, 100 and 1,000, skewed", histograms((100, 1000), 32, _skewed), group_tests.judge_ranks, ("0.3", "1")),
    ("log-rank, 500 an arm", leaving((500, 500), 24, 0.03, (0.02, 0.02)), group_tests.judge_log_rank, ("0.1", "1")),
    ("log-rank, 200 and 800", leaving((200, 800), 24, 0.01, (0.01, 0.05)), group_tests.judge_log_rank, ("0.3", "1")),
]


def size_of(null: Null, judge: Any, epsilon: str, runs: int) -> float:
    """Return how often a true null is rejected at 5 %."""
    unit = UNIT if judge is group_tests.judge_means else 1
    law = DiscreteLaplaceNoise(l1_sensitivity=unit, scale=Fraction(unit) / Fraction(epsilon))
    random, noise, rejected = draws_from(5), CellNoise(law, unit), 0
    before, group_tests.SIMULATIONS = group_tests.SIMULATIONS, FEWER_SIMULATIONS
    for _ in range(runs):
        exact = null(random)
        rejected += judge(exact + noise.draw(random, exact.shape), noise, random).p < 0.05
    group_tests.SIMULATIONS = before
    return rejected / runs
