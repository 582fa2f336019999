"""MWEM, online multiplicative weights and DualQuery watched from outside, and their plausible mistakes."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from lapwing.auditor.black_box import audit
from lapwing.auditor.stream_models import AuditedStream
from lapwing.doors.auditing.stream_suspects import variant_of
from lapwing.mechanisms import MWEM, DualQuery, OnlineMultiplicativeWeights, ValueSensitivity
from lapwing.vocabulary.guarantee import Adjacency, PureDP

QUESTIONS = np.array([[True, True, False, False], [True, False, True, False]])
FEW, MORE = [2, 1, 1, 0], [3, 1, 1, 0]
"""One person more, whom both questions count."""
DRAWS = 1_200


def found(release, epsilon, samples=DRAWS):
    return audit(release, claim=PureDP(epsilon=epsilon), neighbours=(FEW, MORE), samples=samples)


def mwem(epsilon, population=4):
    learner = MWEM(questions=QUESTIONS, population=population, rounds=2, epsilon=epsilon)
    return lambda table: tuple(np.ravel(learner.release(table).measured).tolist())


def test_mwem_keeps_its_promise() -> None:
    assert not found(mwem(2), 2).refuted


def test_releases_of_which_each_takes_the_whole_price_are_seen() -> None:
    """Two rounds release four times; at 2 each that is 8."""
    assert found(mwem(8), 2, samples=1000).refuted


def test_the_number_of_rows_taken_for_the_population_is_seen() -> None:
    def liar(table):
        learner = MWEM(questions=QUESTIONS, population=sum(table), rounds=2, epsilon=1)
        return learner.release(table).counts(np.ones((1, 4), bool))[0]

    assert found(liar, 1, samples=200).refuted


def online(epsilon, threshold=1):
    plan = OnlineMultiplicativeWeights(cells=4, population=4, threshold=threshold, updates=1, epsilon=epsilon)
    asked = np.vstack((QUESTIONS, QUESTIONS))

    def release(table):
        told = [(one.people, one.paid) for one in plan.release(table, asked)]
        return (*(float(one) for pair in told for one in pair), *[-1.0] * 2 * (4 - len(told)))

    return release


def test_online_weights_keep_their_promise() -> None:
    assert not found(online(2), 2).refuted


def test_online_weights_at_another_price_are_seen() -> None:
    assert found(online(8), 1, samples=1000).refuted


def test_a_yes_that_is_answered_with_the_exact_count_is_seen() -> None:
    plan = OnlineMultiplicativeWeights(cells=4, population=4, threshold=1, updates=1, epsilon=1)

    def liar(table):
        with plan.open(table) as model:
            paid = model.ask(QUESTIONS[0]).paid
        return float(QUESTIONS[0] @ np.array(table)) if paid else -1.0

    assert found(liar, 1, samples=500).refuted


def watched(stream):
    """Return what a stream loses on distances of which some rise by 1 while others fall by 1, by its own laws."""
    return AuditedStream(variant=variant_of(stream), sensitivity=1).worst(PureDP(epsilon=stream.epsilon)).number


def test_distances_that_rise_and_fall_cost_twice_what_counts_do_and_cheaper_ones_are_computed_to_lie() -> None:
    stream = OnlineMultiplicativeWeights(cells=4, population=100, threshold=20, updates=2, epsilon=2).stream
    assert watched(stream) <= stream.epsilon * (1 + 1e-9)
    cheap = replace(stream, sensitivity=ValueSensitivity.of_counts(Adjacency.ADD_REMOVE))
    assert watched(cheap) > 1.3 * cheap.epsilon


def dual(rounds, draws, epsilon):
    maker = DualQuery(questions=QUESTIONS, population=4, rounds=rounds, draws=draws, epsilon=epsilon)
    return lambda table: tuple(maker.release(table).weights.tolist())


def test_dual_query_keeps_its_promise() -> None:
    assert not found(dual(3, 4, 2), 2, samples=600).refuted


def lost(rate, rounds, draws, population=4):
    """Return the most that draws reveal of the person more, for the worst of all sequences of one made-up cell."""
    worst = 0.0
    for cell in range(4):
        total = 0.0
        for made in range(1, rounds):
            laws = []
            for table in (FEW, MORE):
                behind = made * (QUESTIONS @ np.array(table)) - population * made * QUESTIONS[:, cell]
                scores = np.concatenate((behind, -behind)) * (float(rate) / population)
                laws.append(scores - np.logaddexp.reduce(scores))
            total += draws * float(np.abs(laws[0] - laws[1]).max())
        worst = max(worst, total)
    return worst


def test_draws_that_are_priced_as_if_made_up_people_did_not_add_up_are_computed_to_lie() -> None:
    rounds, draws = 12, 6
    honest = DualQuery(questions=QUESTIONS, population=4, rounds=rounds, draws=draws, epsilon=1)
    assert 0.4 < lost(honest.rate, rounds, draws) <= 1
    forgotten = Fraction(4, 2 * draws * (rounds - 1))  # as if each draw cost 2 η / n, whatever round it is in
    assert lost(forgotten, rounds, draws) > 2


@pytest.mark.parametrize("adjacency", Adjacency)
def test_scores_move_by_no_more_than_is_paid_for_whatever_was_made_up(adjacency) -> None:
    """By brute force: the gains of all made-up people together, for everybody who joins or is exchanged."""
    for made in ([0], [0, 3], [1, 2, 2]):
        satisfied = QUESTIONS[:, made].sum(axis=1)
        before = np.array(FEW)
        for cell in range(4):
            after = before + np.eye(4, dtype=int)[cell] - (adjacency is Adjacency.REPLACE) * np.eye(4, dtype=int)[0]
            scores = [len(made) * (QUESTIONS @ table) - 10 * satisfied for table in (before, after)]
            assert np.abs(scores[0] - scores[1]).max() <= len(made)
    maker = DualQuery(questions=QUESTIONS, population=10, rounds=4, draws=1, epsilon=1)
    paid = [float(one.epsilon / (2 * made)) for made, one in enumerate(maker.choices, start=1)]
    used = [1 / float(one.noise_scale) for one in maker.choices]
    assert used == pytest.approx(paid)
    assert all(math.isclose(one, float(maker.rate) / 10) for one in paid)
