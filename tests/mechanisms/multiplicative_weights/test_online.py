"""Online multiplicative weights: free answers, paid answers, the halt, and the theorem where it says something."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import StreamHaltedError
from lapwing.mechanisms import OnlineMultiplicativeWeights, mistake_bound
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive

RNG = np.random.default_rng(11)
QUESTIONS = RNG.random((300, 64)) < RNG.random((300, 1))
PEOPLE = RNG.multinomial(10**8, RNG.dirichlet(np.full(64, 0.2)))
TRUTH = QUESTIONS @ PEOPLE


def plan(**given):
    usual = {"cells": 64, "population": 10**8, "threshold": 2 * 10**7, "updates": 1664, "epsilon": 1}
    return OnlineMultiplicativeWeights(**usual | given)


def test_half_of_the_price_finds_mistakes_and_half_answers_them() -> None:
    made = plan(updates=10, epsilon="0.5")
    assert made.loss.pure_epsilon == Fraction(1, 2)
    assert made.stream.epsilon == Fraction(1, 4)
    assert made.noise.event.scale == 40
    assert plan(updates=10, epsilon="0.5", people=3).noise.event.scale == 120


def test_what_is_watched_is_priced_for_values_that_rise_and_fall() -> None:
    """Somebody who joins raises the distance where the model says too little, and lowers it where it says too much."""
    assert plan().stream.sensitivity.in_steps(Fraction(1)) == (1, 2)
    assert plan(people=2).stream.sensitivity.in_steps(Fraction(1)) == (2, 4)


def test_all_answers_keep_the_bound_and_it_never_halts_with_as_many_updates_as_are_needed() -> None:
    made = plan()
    assert made.updates_needed == 1664 == mistake_bound(64, "0.1") + 1
    bound = made.bound(len(TRUTH))
    assert bound < 2.2 * 10**7
    for _ in range(5):
        answers = made.release(Sensitive(PEOPLE.tolist()), QUESTIONS)
        assert len(answers) == len(TRUTH)
        assert max(abs(one.people - true) for one, true in zip(answers, TRUTH, strict=True)) <= bound
        assert 3 <= sum(one.paid for one in answers) < 60


def test_a_free_answer_is_the_model_and_a_paid_one_teaches_it() -> None:
    row = QUESTIONS[0]
    truth, made = int(TRUTH[0]), plan(threshold=10**6, updates=50, epsilon=2)
    with made.open(PEOPLE) as model:
        before = model.model.guess(row[None])[0]
        first = model.ask(row)
        after = model.model.guess(row[None])[0]
        assert first.paid
        assert model.updates == 1
        assert abs(first.people - truth) < 10_000
        assert abs(after - truth) < abs(before - truth)
    with plan(threshold=10**8, updates=1).open(PEOPLE) as silent:
        free = silent.ask(row)
        assert not free.paid
        assert free.people == before
        assert silent.updates == 0


def test_after_the_last_update_nothing_is_answered() -> None:
    made = plan(threshold=10**6, updates=2)
    assert sum(one.paid for one in made.release(PEOPLE, QUESTIONS)) == 2
    with made.open(PEOPLE) as model:
        while model.updates < 2:
            model.ask(QUESTIONS[0])
        with pytest.raises(StreamHaltedError):
            model.ask(QUESTIONS[0])


def test_a_threshold_within_the_noise_has_no_bound_and_is_told_which_one_has() -> None:
    with pytest.raises(ParameterError, match=r"within the noise.*take") as refused:
        plan(threshold=1000).bound(100)
    least = int(refused.value.remedy.split()[1])
    assert plan(threshold=least).bound(100) > least
    with pytest.raises(ParameterError, match="within the noise"):
        plan(threshold=least - 1).bound(100)


def test_counts_of_another_domain_are_refused_before_anything_is_asked() -> None:
    with pytest.raises(ParameterError, match="64 coordinates"):
        plan().open([1, 2, 3])
    with plan().open(PEOPLE) as model, pytest.raises(ParameterError, match="of 64 cells"):
        model.ask(np.ones(3, bool))
