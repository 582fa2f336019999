"""The paradigm by itself: how often it can be wrong, what is regretted, and how far one person moves what it asks."""

import itertools
import math

import numpy as np
import pytest

from lapwing.mechanisms import WeightedCells, best_rate, mistake_bound, regret_bound
from lapwing.mechanisms.multiplicative_weights.weighted_cells import exact_counts, open_cells, read_questions
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive


def divergence(people, model):
    shares = people / people.sum()
    return float((shares[shares > 0] * np.log(shares[shares > 0] / model.weights[shares > 0])).sum())


@pytest.mark.parametrize("alpha", [0.1, 0.2])
@pytest.mark.parametrize(
    "people", [[1000, *[0] * 63], [*range(64)], [0, 500, *[1] * 62]], ids=["one cell", "slope", "two"]
)
def test_no_sequence_of_mistakes_is_longer_than_the_theorem_says(people, alpha) -> None:
    """An adversary who asks the question that is most wrong, among all single cells and all starts of the domain."""
    people = np.array(people)
    questions = np.vstack((np.eye(64, dtype=bool), np.tri(64, dtype=bool)))
    truth, model, updates = questions @ people / people.sum(), WeightedCells.uniform(cells=64, population=1), 0
    while True:
        gaps = truth - model.shares(questions)
        worst = int(np.abs(gaps).argmax())
        if abs(gaps[worst]) < alpha:
            break
        before = divergence(people, model)
        model = model.tilted(questions[worst], math.copysign(alpha / 2, gaps[worst]))
        assert divergence(people, model) <= before - alpha**2 / 4 + 1e-12, (
            "each update learns as much as the proof says"
        )
        updates += 1
    assert 0 < updates <= mistake_bound(64, str(alpha))


def test_weights_that_learn_the_wrong_way_are_wrong_more_often_than_the_theorem_says() -> None:
    people, cell = np.array([100, *[0] * 15]), np.eye(16, dtype=bool)[0]
    model, updates = WeightedCells.uniform(cells=16, population=1), 0
    while updates <= mistake_bound(16, "0.3") and people[0] / 100 - model.weights[0] >= 0.3:
        model, updates = model.tilted(cell, -0.15), updates + 1
    assert updates > mistake_bound(16, "0.3")


def test_the_best_expert_earns_little_more_than_the_weights() -> None:
    rounds = 400
    rate, rng = best_rate(10, rounds), np.random.default_rng(5)
    for bias in (0.0, 0.5, 0.9):
        gains = np.clip(rng.normal([bias, *[0] * 9], 0.4, (rounds, 10)), -1, 1)
        weights, earned = np.full(10, 0.1), 0.0
        for gain in gains:
            earned += float(weights @ gain)
            weights = weights * np.exp(rate * gain)
            weights /= weights.sum()
        assert gains.sum(axis=0).max() / rounds - earned / rounds <= regret_bound(10, rounds, rate)
    assert regret_bound(10, rounds, rate) == pytest.approx(2 * math.sqrt(math.log(10) / rounds))
    assert all(regret_bound(10, rounds, rate * factor) > regret_bound(10, rounds, rate) for factor in (0.5, 2))


def test_nobody_moves_any_count_by_more_than_one() -> None:
    """All tables of up to two people on three cells, all who join, leave or move, and all eight questions."""
    questions = np.array(list(itertools.product((False, True), repeat=3)))
    tables = [np.array(one) for one in itertools.product(range(3), repeat=3)]
    moves = {0, 1}
    for one, other in itertools.product(tables, tables):
        distance = np.abs(one - other).sum()
        neighbours = distance == 1 or (distance == 2 and one.sum() == other.sum())
        if neighbours:
            for population in (1, 3, 100):
                counted = [exact_counts(questions, table, population) for table in (one, other)]
                assert set(np.abs(counted[0] - counted[1]).tolist()) <= moves


def test_counts_of_any_size_are_taken_and_never_wrap_around() -> None:
    cells = open_cells(Sensitive([2**63 - 1, -5, 3]), 3)
    assert exact_counts(np.ones((1, 3), bool), cells, 10**6).tolist() == [10**6]
    assert exact_counts(np.array([[False, True, True]]), cells, 10**6).tolist() == [3]
    with pytest.raises(ParameterError, match="3 coordinates") as refused:
        open_cells(Sensitive([98765, 2]), 3)
    assert "98765" not in str(refused.value)


def test_questions_that_do_not_fit_are_refused_with_a_remedy() -> None:
    for wrong in (np.ones((2, 3)), np.ones(3, bool), [[True]], np.ma.masked_array(np.ones((1, 2), bool))):
        with pytest.raises(ParameterError, match="a numpy array of bool"):
            read_questions(wrong)
    with pytest.raises(ParameterError, match="of 4 cells"):
        WeightedCells.uniform(cells=4, population=10).counts(np.ones((1, 3), bool))
    with pytest.raises(ParameterError, match="synthesize"):
        WeightedCells.uniform(cells=2**20 + 1, population=10)
    with pytest.raises(ParameterError, match="`publish` marginals"):
        read_questions(np.broadcast_to(np.array([[True]]), (2**14, 2**15)).view(np.ndarray))
    with pytest.raises(ParameterError, match="at most 1"):
        regret_bound(10, 10, 2)


def test_a_domain_of_a_million_cells_is_asked_and_learned() -> None:
    model = WeightedCells.uniform(cells=2**20, population=1000)
    half = np.arange(2**20) % 2 == 0
    assert model.tilted(half, math.log(3)).counts(half[None])[0] == pytest.approx(750)
