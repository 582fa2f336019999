"""Tests on noisy tables: each knows the law of the noise, and its p-value is found by simulating the null with it.

A test that takes noisy cells for exact ones finds differences that the noise made: at epsilon 0.1 one of 500 and 500
people rejects a true null in a third of all cases. Here the noise is in the spread of the statistic *and* in every
simulated table, and where the null leaves something open (a rate), the largest p-value over a confidence set of it is
taken (Berger and Boos, JASA 1994), so that the size holds whatever it is.

There is no exact test of Fisher: it conditions on margins, and those of a noisy table are noisy.
"""

import math

import numpy as np

from lapwing.analyses.cell_noise import CellNoise, Numbers
from lapwing.analyses.simulated_draws import SimulatedDraws
from lapwing.vocabulary.frozen import frozen

SIMULATIONS = 1999
_OPEN = 0.001
"""The chance that the confidence set of what the null leaves open misses it; it is added to the p-value."""
_NEAR = 1.1
"""By what p-values are raised whose null is drawn from released spreads and shares: the true null is only near it."""
_MANY = 500
"""People of whom the mean is as good as normal, however skewed their values are."""
_REACH = 3.3
"""Standard deviations on both sides that such a set reaches."""
_LEAST = 1e-12


@frozen(kw_only=False)
class TestOutcome:
    """A statistic and its p-value: how often the null, with its noise, gives one at least as large."""

    __test__ = False  # pytest looks for classes of this name
    statistic: float
    p: float


def _p_value(observed: float, simulated: Numbers) -> float:
    """Return the share of statistics that are at least as large; the observed one is one of them."""
    return float((1 + (np.abs(simulated) >= abs(observed) - _LEAST).sum()) / (simulated.size + 1))


def _raised(p: float) -> float:
    return min(1.0, _NEAR * p)


# Two proportions


def proportions_statistic(cells: Numbers, noise: float) -> Numbers:
    """Return the difference of two shares over its spread; `cells` are (..., group, [without, with])."""
    people = np.maximum(cells.sum(-1), 1.0)
    having = cells[..., 1]
    rate = np.clip(having.sum(-1) / people.sum(-1), 1e-9, 1 - 1e-9)[..., None]
    spread = rate * (1 - rate) / people + noise * ((1 - rate) ** 2 + rate**2) / people**2
    shares = having / people
    found: Numbers = (shares[..., 0] - shares[..., 1]) / np.sqrt(np.maximum(spread.sum(-1), _LEAST))
    return found


def judge_proportions(cells: Numbers, noise: CellNoise, random: SimulatedDraws) -> TestOutcome:
    """Test whether two groups have the same share; `cells` are [[without, with], [without, with]]."""
    observed = float(proportions_statistic(cells, noise.variance))
    people = np.maximum(np.rint(cells.sum(1)), 1).astype(int)
    together = float(people.sum())
    rate = float(np.clip(cells[:, 1].sum() / together, 0, 1))
    sampled = max(rate * (1 - rate), 0.5 / together) / together
    reach = _REACH * math.sqrt(sampled + 2 * noise.variance / together**2)
    worst = 0.0
    for other in np.clip(rate + reach * np.array([-1, -0.5, 0, 0.5, 1]), 0, 1):
        simulated = proportions_statistic(
            _two_by_two(people, np.full(2, other), noise, random, SIMULATIONS), noise.variance
        )
        worst = max(worst, _p_value(observed, simulated))
    return TestOutcome(observed, min(1.0, worst + _OPEN))


def _two_by_two(people: Numbers, rates: Numbers, noise: CellNoise, random: SimulatedDraws, times: int) -> Numbers:
    having = random.binomial(people.astype(int), rates, (times, 2))
    return np.stack([people - having, having], -1) + noise.draw(random, (times, 2, 2))


def power_of_proportions(
    people: Numbers, rates: Numbers, noise: CellNoise, random: SimulatedDraws, *, size: float = 0.05
) -> float:
    """Return how likely a difference of these rates in so many people is seen at this size of the test.

    Nothing but assumed numbers is used, so it is known before anything is paid.
    """
    times = 4000

    def drawn(at: Numbers) -> Numbers:
        return np.abs(proportions_statistic(_two_by_two(people, at, noise, random, times), noise.variance))

    pooled = float((people * rates).sum() / people.sum())
    nulls = (pooled, float(rates.min()), float(rates.max()))
    edge = max(float(np.quantile(drawn(np.full(2, rate)), 1 - size + _OPEN)) for rate in nulls)
    return float((drawn(rates) > edge).mean())


# Tables of any size


def table_statistic(cells: Numbers, noise: float) -> Numbers:
    """Return the squares of what margins do not explain, over their spreads; `cells` are (..., row, column)."""
    rows, columns = cells.sum(-1, keepdims=True), cells.sum(-2, keepdims=True)
    expected = np.maximum(rows, 0) * np.maximum(columns, 0) / np.maximum(cells.sum((-1, -2), keepdims=True), 1.0)
    found: Numbers = ((cells - expected) ** 2 / (np.maximum(expected, 0.5) + noise)).sum((-1, -2))
    return found


def judge_table(cells: Numbers, noise: CellNoise, random: SimulatedDraws) -> TestOutcome:
    """Test whether rows and columns of a table are independent.

    The margins of the null are those that were released, and both moved by two standard deviations of their noise, from
    the flattest to the steepest: the largest p-value counts.
    """
    observed = float(table_statistic(cells, noise.variance))
    people = max(1, round(float(cells.sum())))
    worst = 0.0
    for moved in (-2.0, 0.0, 2.0):
        rows, columns = (
            _margin(cells.sum(axis), moved * math.sqrt(noise.variance * cells.shape[axis])) for axis in (1, 0)
        )
        chances = np.outer(rows, columns).ravel()
        drawn = random.multinomial(people, chances / chances.sum(), SIMULATIONS).reshape(-1, *cells.shape)
        simulated = table_statistic(drawn + noise.draw(random, drawn.shape), noise.variance)
        worst = max(worst, _p_value(observed, simulated))
    return TestOutcome(observed, worst)


def _margin(sums: Numbers, moved: float) -> Numbers:
    """Return a margin as chances, steeper or flatter than it was released."""
    middle = float(np.mean(sums))
    direction = np.sign(sums - middle)
    found = np.maximum(sums + moved * direction, 0.5)
    return np.asarray(found / found.sum())


# Two means


def means_statistic(sums: Numbers, noise: float) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return Welch's statistic with the noise in its spread, and the people, means and variances of both groups.

    `sums` are those of (1-u)², 2u(1-u) and u² over the people of a group, u between 0 and 1: (..., group, 3).
    """
    people = np.maximum(sums.sum(-1), 4.0)
    mean = np.clip((sums[..., 1] / 2 + sums[..., 2]) / people, 0, 1)
    variance = np.clip(sums[..., 2] / people - mean**2, 0.0005, 0.25)
    of_noise = noise * (mean**2 + (0.5 - mean) ** 2 + (1 - mean) ** 2) / people**2
    spread = (variance / people + of_noise).sum(-1)
    return (mean[..., 0] - mean[..., 1]) / np.sqrt(spread), people, mean, variance


def judge_means(sums: Numbers, noise: CellNoise, random: SimulatedDraws) -> TestOutcome:
    """Test whether two groups have the same mean, as Welch does; the larger p-value of two nulls counts.

    The one is drawn from normal values, of which mean and scatter are independent, so that no row needs to be drawn.
    In the other, values of small groups lie within their bounds as skewed as a mean near one of them makes them.
    """
    observed, people, mean, variance = means_statistic(sums, noise.variance)
    common, worst = float((mean * people).sum() / people.sum()), 0.0
    for draw in (_normal_sums, _bounded_sums):
        simulated = np.stack([draw(people[one], common, variance[one], random, SIMULATIONS) for one in (0, 1)], 1)
        noisy = simulated + noise.draw(random, simulated.shape)
        worst = max(worst, _p_value(float(observed), means_statistic(noisy, noise.variance)[0]))
    return TestOutcome(float(observed), _raised(worst))


def power_of_means(
    people: Numbers,
    means: Numbers,
    deviations: Numbers,
    noise: CellNoise,
    random: SimulatedDraws,
    *,
    size: float = 0.05,
) -> float:
    """Return how likely a difference of these means, of values between 0 and 1, is seen at this size of the test."""
    times = 4000

    def drawn(at: Numbers) -> Numbers:
        sums = np.stack(
            [
                _normal_sums(many, mean, sd**2, random, times)
                for many, mean, sd in zip(people, at, deviations, strict=True)
            ],
            1,
        )
        return np.abs(means_statistic(sums + noise.draw(random, sums.shape), noise.variance)[0])

    common = float((people * means).sum() / people.sum())
    return float((drawn(means) > np.quantile(drawn(np.full(2, common)), 1 - size / _NEAR)).mean())


def _normal_sums(people: float, mean: float, variance: float, random: SimulatedDraws, times: int) -> Numbers:
    """Return the sums of groups of normal values: their mean and their scatter are independent."""
    many = max(2, round(float(people)))
    drawn = mean + math.sqrt(variance / many) * random.standard_normal(times)
    second = variance * random.chisquare(many - 1, times) + many * drawn**2
    return np.stack([many - 2 * many * drawn + second, 2 * (many * drawn - second), second], -1)


def _bounded_sums(people: float, mean: float, variance: float, random: SimulatedDraws, times: int) -> Numbers:
    """Return the sums of groups of values from a beta law; those of many people are as good as normal."""
    many = max(2, round(float(people)))
    if many > _MANY or not 0 < mean < 1:
        return _normal_sums(people, mean, variance, random, times)
    both = max(mean * (1 - mean) / variance - 1, 0.05)
    drawn = random.beta(mean * both, (1 - mean) * both, (times, many))
    first, second = drawn.sum(1), (drawn**2).sum(1)
    return np.stack([many - 2 * first + second, 2 * (first - second), second], -1)


# Two distributions, by rank


def rank_statistic(cells: Numbers, noise: float) -> Numbers:
    """Return the difference of the mean ranks of two groups over its spread; `cells` are (..., group, bin)."""
    people, pooled = np.maximum(cells.sum(-1), 1.0), cells.sum(-2)
    together = np.maximum(pooled.sum(-1), 2.0)
    ranks = (np.cumsum(pooled, -1) - pooled / 2) / together[..., None]
    means = (cells * ranks[..., None, :]).sum(-1) / people
    ties = np.clip(1 - ((np.maximum(pooled, 0) / together[..., None]) ** 3).sum(-1), 0.05, 1) / 12
    of_noise = noise * ((ranks[..., None, :] - means[..., None]) ** 2).sum(-1) / people**2
    spread = (ties[..., None] / people + of_noise).sum(-1)
    found: Numbers = (means[..., 0] - means[..., 1]) / np.sqrt(spread)
    return found


def judge_ranks(cells: Numbers, noise: CellNoise, random: SimulatedDraws) -> TestOutcome:
    """Test whether the values of one group tend to be larger, as Mann and Whitney do, on a public grid."""
    observed = float(rank_statistic(cells, noise.variance))
    pooled = np.maximum(cells.sum(0), 0.0) + 1e-9
    people = np.maximum(np.rint(cells.sum(1)), 1).astype(int)
    drawn = np.stack([random.multinomial(many, pooled / pooled.sum(), SIMULATIONS) for many in people], 1)
    simulated = rank_statistic(drawn + noise.draw(random, drawn.shape), noise.variance)
    return TestOutcome(observed, _raised(_p_value(observed, simulated)))


# Two survival curves


def log_rank_statistic(cells: Numbers, noise: float) -> Numbers:
    """Return the events of the first arm less those expected, over their spread; (..., arm, [left, event], period)."""
    leaving = cells.sum(-2)
    at_risk = np.maximum(leaving[..., ::-1].cumsum(-1)[..., ::-1], 1.0)
    events = cells[..., 1, :]
    share = at_risk[..., 0, :] / at_risk.sum(-2)
    of_both = events.sum(-2)
    surplus = (events[..., 0, :] - of_both * share).sum(-1)
    variance = (np.maximum(of_both, 0) * share * (1 - share)).sum(-1)
    of_noise = noise * ((1 - share) ** 2 + share**2).sum(-1)
    found: Numbers = surplus / np.sqrt(np.maximum(variance, 1) + of_noise)
    return found


def judge_log_rank(cells: Numbers, noise: CellNoise, random: SimulatedDraws) -> TestOutcome:
    """Test whether two arms have the same hazard; in the null each keeps its own way of leaving without an event."""
    observed = float(log_rank_statistic(cells, noise.variance))
    pooled = np.maximum(cells.sum(0), 0.0)
    hazard = np.clip(pooled[1] / np.maximum(pooled.sum(0)[::-1].cumsum()[::-1], 1.0), 0, 0.9)
    periods = cells.shape[-1]
    people = np.maximum(np.rint(cells.sum((1, 2))), 1).astype(int)
    drawn = np.stack(
        [
            random.multinomial(people[arm], _leaving(cells[arm], hazard), SIMULATIONS).reshape(-1, 2, periods)
            for arm in (0, 1)
        ],
        1,
    )
    simulated = log_rank_statistic(drawn + noise.draw(random, drawn.shape), noise.variance)
    return TestOutcome(observed, _raised(_p_value(observed, simulated)))


def _leaving(arm: Numbers, hazard: Numbers) -> Numbers:
    """Return with what chances somebody of an arm leaves in each period, without and with an event."""
    there = np.maximum(arm, 0)
    at_risk = np.maximum(there.sum(0)[::-1].cumsum()[::-1], 1.0)
    left = np.clip(there[0] / at_risk, 0, 1)
    left[-1] = 1.0
    present = np.concatenate([[1.0], np.cumprod((1 - hazard) * (1 - left))[:-1]])
    chances = np.concatenate([present * (1 - hazard) * left, present * hazard])
    return np.asarray(chances / chances.sum())
