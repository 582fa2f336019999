"""Random scores and random people: the exact loss of the winner and its gap, and of scores that are correlations."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from lapwing.mechanisms.permute_and_flip import NoisyMaxWithGap
from lapwing.mechanisms.sparse_vector.value_sensitivity import CorrelationScreen
from lapwing.vocabulary.guarantee import Adjacency

CASES = 40


def log_density(mechanism, scores, winner, gap):
    """ln of the density of (winner, gap), for exponential noise: a polynomial integral over what it had to reach.

    With y = e^-m for the highest m of the others, P(all others are below m) = ∏ (1 - a_j y) and the winner exceeds m by
    the gap with density a_i e^-gap y, where it starts below that.
    """
    lattice = mechanism.lattice
    weights = np.exp(lattice.offsets(scores) / 2.0**lattice.unit_bits)
    others = np.delete(weights, winner)
    below = Polynomial([1.0])
    for weight in others:
        below *= Polynomial([1.0, -weight])
    inner = (Polynomial([0.0, -1.0]) * below.deriv()).integ()
    most = min(1 / others.max(), math.exp(gap) / weights[winner])
    return math.log(weights[winner]) - gap + math.log(inner(most) - inner(0.0))


@pytest.mark.parametrize("monotone", [False, True], ids=["any", "monotone"])
def test_winner_and_gap_together_lose_at_most_epsilon_on_random_scores(monotone, times) -> None:
    rng = np.random.default_rng(11)
    most = 0.0
    for _ in range(CASES * times):
        n, moved = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        epsilon = Fraction(int(rng.integers(2, 30)), 10)
        mechanism = NoisyMaxWithGap(
            sensitivity=moved,
            candidates=n,
            epsilon=epsilon,
            monotone_under=Adjacency.ADD_REMOVE if monotone else None,
        )
        scores = rng.integers(-6, 7, n)
        ways = (0, moved) if monotone else (-moved, moved)
        for change in product(ways, repeat=n):
            for winner in range(n):
                for gap in (0.0, float(rng.exponential()), 3.0):
                    one, two = (log_density(mechanism, s, winner, gap) for s in (scores, scores + np.array(change)))
                    most = max(most, abs(one - two) / float(epsilon))
    assert 0.99 < most <= 1 + 1e-6


def test_a_group_moves_the_scores_of_correlations_by_no_more_than_is_said(times) -> None:
    rng = np.random.default_rng(12)
    most_up = most_down = 0.0
    for _ in range(20 * CASES * times):
        people = int(rng.integers(1, 4))
        screen = CorrelationScreen(at_least=Fraction(int(rng.integers(1, 9)), 9), resolution=int(rng.integers(1, 30)))
        come = int(rng.integers(0, people + 1))
        crowd = rng.uniform(-1, 1, (int(rng.integers(0, 6)), 3))
        extremes = rng.choice([-9.0, -1.0, 1.0, 0.0, 9.0, math.nan, math.inf], (people, 3))
        before, after = np.vstack([crowd, extremes[come:]]), np.vstack([crowd, extremes[:come]])
        change = screen.scores(after).open_for_release() - screen.scores(before).open_for_release()
        rise, span = screen.sensitivity(Adjacency.ADD_REMOVE, people=people).in_steps(Fraction(1))
        assert change.max() <= rise
        assert change.max() - change.min() <= span
        assert (np.abs(change) <= rise).all()
        most_up, most_down = max(most_up, change.max() / rise), max(most_down, -change.min() / rise)
    assert most_up > 0.9 < most_down
