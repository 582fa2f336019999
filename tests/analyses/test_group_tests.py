"""Tests on noisy tables: their size holds, their power is as foretold, and one that ignores the noise is found out."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from lapwing.analyses import group_tests
from lapwing.analyses.cell_noise import CellNoise
from lapwing.analyses.group_tests import (
    judge_log_rank,
    judge_means,
    judge_proportions,
    judge_ranks,
    judge_table,
    log_rank_statistic,
    means_statistic,
    power_of_means,
    power_of_proportions,
    proportions_statistic,
    rank_statistic,
    table_statistic,
)
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise

UNIT = 256
RUNS = 100
EDGE = 1e-6
NONE = CellNoise(DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(1, 100)))


def laplace(epsilon, unit=1):
    return CellNoise(DiscreteLaplaceNoise(l1_sensitivity=unit, scale=Fraction(unit) / Fraction(epsilon)), unit)


def proportions(random, effect):
    having = np.array([random.binomial(500, 0.1), random.binomial(500, 0.1 + effect)])
    return np.stack([500 - having, having], 1).astype(float)


def table(random, effect):
    chances = np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])
    chances[0, 0], chances[0, 1] = chances[0, 0] + effect, chances[0, 1] - effect
    return random.multinomial(1000, chances.ravel()).reshape(3, 4).astype(float)


def sums(random, effect):
    several = []
    for moved in (0, effect):
        values = np.clip(0.5 + moved + 0.15 * random.standard_normal(300), 0, 1)
        several.append([((1 - values) ** 2).sum(), (2 * values * (1 - values)).sum(), (values**2).sum()])
    return np.array(several)


def ranks(random, effect):
    return np.stack(
        [
            np.histogram(np.clip(0.15 * random.standard_normal(300) + moved, -0.5, 0.5), bins=16, range=(-0.5, 0.5))[0]
            for moved in (0, effect)
        ]
    ).astype(float)


def leaving(random, effect):
    cells = np.zeros((2, 2, 24))
    for arm, hazard in enumerate((0.03, 0.03 + effect)):
        event, left = random.geometric(hazard, 500), random.geometric(0.02, 500)
        time, seen = np.minimum(np.minimum(event, left), 24), (event <= left) & (event <= 24)
        np.add.at(cells[arm], (seen.astype(int), time - 1), 1)
    return cells


CASES = {
    "two proportions": (proportions, judge_proportions, "0.3", 0.12, 1),
    "a table": (table, judge_table, "0.5", 0.08, 1),
    "two means": (sums, judge_means, "0.5", 0.05, UNIT),
    "two ranks": (ranks, judge_ranks, "0.5", 0.05, 1),
    "two curves": (leaving, judge_log_rank, "0.5", 0.025, 1),
}


@pytest.fixture(autouse=True)
def _few_simulations(monkeypatch) -> None:
    monkeypatch.setattr(group_tests, "SIMULATIONS", 299)  # which keeps the size, and loses little power


def rejections(name, effect):
    draw, judge, epsilon, _, unit = CASES[name]
    random, noise = np.random.default_rng(7), laplace(epsilon, unit)
    found = 0
    for _ in range(RUNS):
        exact = draw(random, effect)
        found += judge(exact + noise.draw(random, exact.shape), noise, random).p < 0.05
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_true_null_is_rejected_in_at_most_5_5_percent_and_a_difference_is_seen(name) -> None:
    assert binom.sf(rejections(name, 0) - 1, RUNS, 0.055) > EDGE
    assert rejections(name, CASES[name][3]) > RUNS / 2


def test_one_that_takes_noisy_cells_for_exact_ones_is_found_out() -> None:
    random, noise, found = np.random.default_rng(7), laplace("0.1"), 0
    for _ in range(RUNS):
        cells = np.maximum(proportions(random, 0) + noise.draw(random, (2, 2)), 0.5)
        found += abs(float(proportions_statistic(cells, 0.0))) > 1.96
    assert binom.sf(found - 1, RUNS, 0.055) < EDGE


def test_without_noise_statistics_are_those_of_the_textbooks() -> None:
    random = np.random.default_rng(3)
    cells = proportions(random, 0.05)
    pooled = stats.chi2_contingency(cells, correction=False).statistic
    assert float(proportions_statistic(cells, 0.0)) ** 2 == pytest.approx(pooled)
    several = table(random, 0.05)
    assert float(table_statistic(several, 0.0)) == pytest.approx(stats.chi2_contingency(several).statistic)
    one, other = random.random(50), random.random(60) ** 2
    both = np.array([[((1 - x) ** 2).sum(), (2 * x * (1 - x)).sum(), (x**2).sum()] for x in (one, other)])
    welch = stats.ttest_ind(one, other, equal_var=False).statistic
    assert float(means_statistic(both, 0.0)[0]) == pytest.approx(welch, rel=0.02)  # of a sample: n - 1
    histogram = ranks(random, 0.05)
    values = [np.repeat(np.arange(16), row.astype(int)) for row in histogram]
    ranked = stats.mannwhitneyu(*values, use_continuity=False, method="asymptotic")
    assert float(rank_statistic(histogram, 0.0)) == pytest.approx(-stats.norm.isf(ranked.pvalue / 2), rel=0.02)
    arms = leaving(random, 0.02)
    by_hand = _log_rank_by_hand(arms)
    assert float(log_rank_statistic(arms, 0.0)) == pytest.approx(by_hand, rel=0.02)


def _log_rank_by_hand(arms):
    """Go through the periods one by one, as the textbook does."""
    surplus = variance = 0.0
    for period in range(arms.shape[-1]):
        at_risk = arms[:, :, period:].sum((1, 2))
        together, events = at_risk.sum(), arms[:, 1, period].sum()
        if together > 1:
            surplus += arms[0, 1, period] - events * at_risk[0] / together
            variance += events * at_risk[0] * at_risk[1] / together**2
    return surplus / variance**0.5


def test_power_is_foretold() -> None:
    random = np.random.default_rng(5)
    foretold = power_of_proportions(np.array([500, 500]), np.array([0.1, 0.16]), laplace("1"), random)
    noise, seen, runs = laplace("1"), 0, 200
    for _ in range(runs):
        exact = proportions(random, 0.06)
        seen += judge_proportions(exact + noise.draw(random, (2, 2)), noise, random).p < 0.05
    assert abs(seen / runs - foretold) < 5 * (foretold * (1 - foretold) / runs) ** 0.5
    of_means = power_of_means(
        np.array([300, 300]), np.array([0.5, 0.54]), np.array([0.15, 0.15]), laplace("1", UNIT), random
    )
    assert 0.75 < of_means < 0.95
    assert power_of_proportions(np.array([500, 500]), np.array([0.1, 0.16]), laplace("0.05"), random) < foretold / 2


@pytest.mark.parametrize(
    "law", [DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(3)), DiscreteGaussianNoise(
        l2_sensitivity_squared=1, sigma_squared=Fraction(5), dimension=1
    )], ids=["laplace", "gaussian"]
)  # fmt: skip
def test_noise_is_drawn_from_its_law(law) -> None:
    noise = CellNoise(law)
    drawn = noise.draw(np.random.default_rng(11), (100_000,))
    assert np.all(drawn == np.rint(drawn))
    spread = np.var(drawn**2) ** 0.5 / len(drawn) ** 0.5
    assert abs(np.var(drawn) - noise.variance) < 6 * spread
    assert abs(np.mean(drawn)) < 6 * (noise.variance / len(drawn)) ** 0.5
