"""DualQuery: which questions it draws, what all draws cost, and its theorem."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms import DualQuery
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive
from statistical.goodness import FALSE_ALARM, p_value

RNG = np.random.default_rng(13)
QUESTIONS = RNG.random((12, 16)) < 0.4
PEOPLE = RNG.multinomial(10**7, RNG.dirichlet(np.full(16, 0.4)))
TRUTH = QUESTIONS @ PEOPLE


def worst(model):
    return float(np.abs(model.counts(QUESTIONS) - TRUTH).max())


def test_its_price_is_that_of_the_paper() -> None:
    maker = DualQuery(questions=QUESTIONS, population=1000, rounds=20, draws=5, epsilon=2)
    assert maker.loss.pure_epsilon == 2 == maker.rate * 20 * 19 * 5 / 1000
    assert [one.epsilon for one in maker.choices] == [2 * maker.rate * made / 1000 for made in range(1, 20)]
    pair = DualQuery(questions=QUESTIONS, population=1000, rounds=20, draws=5, epsilon=2, people=2)
    assert pair.rate == maker.rate / 2
    assert pair.loss.pure_epsilon == 2


def test_a_round_draws_questions_by_how_far_behind_the_made_up_people_are() -> None:
    """Two rounds of one draw each: the second is drawn with weights e^(rate * gain), gains in shares of the people."""
    questions = np.array([[True, True, False, False], [True, False, True, False]])
    maker = DualQuery(questions=questions, population=10, rounds=2, draws=1, epsilon="0.2")
    assert maker.rate == 1
    pairs = np.zeros((4, 4))
    for _ in range(8_000):
        rows = np.repeat(np.arange(4), np.rint(maker.release(Sensitive([6, 2, 1, 1])).weights * 2).astype(int))
        pairs[tuple(rows)] += 1
    shares, law = np.array([0.8, 0.7]), np.zeros((4, 4))
    cells = [0, 0, 2, 1]  # the first cell that satisfies: a question, the other, and the negation of each
    for first in cells:
        gains = shares - questions[:, first]
        weights = np.exp(np.concatenate((gains, -gains)))
        for second, weight in zip(cells, weights / weights.sum(), strict=True):
            law[tuple(sorted((first, second)))] += weight / 4
    there = law > 0
    assert pairs[~there].sum() == 0
    assert p_value(pairs[there], law[there]) > FALSE_ALARM
    even = np.zeros((4, 4))
    for first in cells:
        for second in cells:
            even[tuple(sorted((first, second)))] += 1 / 16
    assert p_value(pairs[there], even[there]) < FALSE_ALARM, "draws that see no data would be seen"


def test_what_is_made_for_an_accuracy_keeps_it() -> None:
    maker = DualQuery.for_accuracy(questions=QUESTIONS, population=10**7, alpha="0.6")
    rounds = len(maker.choices) + 1
    assert rounds == math.ceil(16 * math.log(24) / 0.36)
    assert maker.rate == Fraction(3, 20)
    assert maker.draws == math.ceil(8 * math.log(2 * 16 * rounds / 0.05) / 0.36)
    assert maker.loss.pure_epsilon == maker.rate * rounds * (rounds - 1) * maker.draws / 10**7
    assert 0.5 < maker.bound() / 10**7 <= 0.6
    error = worst(maker.release(PEOPLE))
    assert error <= maker.bound()
    assert error < 2 * 0.02 * 10**7, "stored: the bound is far from what happens"


def test_more_rounds_of_more_draws_answer_better() -> None:
    some = [
        np.median([worst(DualQuery(questions=QUESTIONS, population=10**7, **one).release(PEOPLE)) for _ in range(5)])
        for one in ({"rounds": 4, "draws": 2, "epsilon": "1e-4"}, {"rounds": 60, "draws": 30, "epsilon": "0.005"})
    ]
    assert some[1] < some[0] / 2


def test_one_round_would_see_no_data_and_is_refused() -> None:
    with pytest.raises(ParameterError, match="rounds"):
        DualQuery(questions=QUESTIONS, population=10, rounds=1, draws=5, epsilon=1)
    with pytest.raises(ParameterError, match="16 coordinates"):
        DualQuery(questions=QUESTIONS, population=10, rounds=2, draws=5, epsilon=1).release([1])
