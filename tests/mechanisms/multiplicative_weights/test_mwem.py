"""MWEM: its law round by round, its price, and its theorem on small domains."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms import MWEM
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive
from statistical.goodness import FALSE_ALARM, p_value

RNG = np.random.default_rng(7)
QUESTIONS = RNG.random((40, 64)) < 0.3
PEOPLE = RNG.multinomial(10**6, RNG.dirichlet(np.full(64, 0.2)))
TRUTH = QUESTIONS @ PEOPLE


def worst(model):
    return float(np.abs(model.counts(QUESTIONS) - TRUTH).max())


def test_its_price_is_what_was_asked_for_in_all_rounds_together() -> None:
    learner = MWEM(questions=QUESTIONS, population=1000, rounds=7, epsilon="0.7")
    assert learner.loss.pure_epsilon == Fraction(7, 10)
    assert learner.choice.epsilon == learner.noise.epsilon == Fraction(1, 20)
    pairs = MWEM(questions=QUESTIONS, population=1000, rounds=7, epsilon="0.7", people=2)
    assert pairs.loss.pure_epsilon == Fraction(7, 10)
    assert pairs.noise.event.scale == 2 * learner.noise.event.scale
    assert pairs.choice.noise_scale == pytest.approx(2 * learner.choice.noise_scale, rel=1e-9)


def test_a_round_chooses_and_measures_as_the_paper_has_it() -> None:
    """Chosen with weights e^(epsilon |error| / 4T), measured with geometric noise of scale 2T / epsilon."""
    questions = np.array([[True, False, False, False], [True, True, False, False], [False, False, True, True]])
    learner = MWEM(questions=questions, population=20, rounds=1, epsilon=1)
    measured = [learner.release(Sensitive([9, 3, 4, 4])).measured[0] for _ in range(8_000)]
    errors = np.abs(np.array([9, 12, 8]) - [5, 10, 10])
    chosen = np.bincount([question for question, _ in measured], minlength=3)
    law = np.exp(errors / 4)
    assert p_value(chosen, law / law.sum()) > FALSE_ALARM
    doubled = np.exp(errors / 2)
    assert p_value(chosen, doubled / doubled.sum()) < FALSE_ALARM, "a choice at twice the price would be seen"
    noise = np.array([count for question, count in measured if question == 0]) - 9
    decay = math.exp(-1 / 2)
    inside = np.array([(1 - decay) / (1 + decay) * decay ** abs(k) for k in range(-15, 16)])
    counts = np.array([int((noise == k).sum()) for k in range(-15, 16)])
    assert p_value(np.append(counts, noise.size - counts.sum()), inside) > FALSE_ALARM


def test_what_it_returns_follows_from_what_was_measured() -> None:
    """The mean of the models before each update, computed here again, in another way."""
    learner = MWEM(questions=QUESTIONS, population=10**6, rounds=5, epsilon=1)
    model = learner.release(PEOPLE)
    exponents, models = np.zeros(64), []
    for question, count in model.measured:
        weights = np.exp(exponents) / np.exp(exponents).sum()
        models.append(weights)
        wanted = min(max(count / 10**6, 0), 1)
        exponents += QUESTIONS[question] * (wanted - weights[QUESTIONS[question]].sum()) / 2
    assert model.weights == pytest.approx(np.mean(models, axis=0))
    assert model.weights.sum() == pytest.approx(1)


def test_no_run_misses_what_its_theorem_promises_and_the_bound_is_about_this_mechanism() -> None:
    learner = MWEM(questions=QUESTIONS, population=10**6, rounds=150, epsilon=5)
    promised, (printed, _) = learner.bound("0.95"), learner.printed_bound()
    errors = [worst(learner.release(PEOPLE)) for _ in range(6)]
    assert promised < 0.35 * 10**6
    assert promised <= printed * 1.1
    assert all(error <= promised for error in errors)
    assert max(errors) < 2 * 65_000, "stored: 63,000 in the middle"
    few = MWEM(questions=QUESTIONS, population=10**6, rounds=19, epsilon=5)
    assert few.printed_bound()[1] == pytest.approx(1 - 38 / 40)
    assert few.printed_bound()[0] == pytest.approx(2e6 * math.sqrt(math.log(64) / 19) + 38 * math.log(40) + 2)


def test_two_hundred_runs_of_few_rounds_keep_the_bound() -> None:
    learner = MWEM(questions=QUESTIONS, population=10**6, rounds=20, epsilon="0.1")
    errors = np.array([worst(learner.release(PEOPLE)) for _ in range(200)])
    assert (errors <= learner.bound("0.5")).all()
    assert np.median(errors) < 2 * 165_000


def test_learning_again_is_better_and_has_no_theorem() -> None:
    again = MWEM(questions=QUESTIONS, population=10**6, rounds=20, epsilon=1, sweeps=5)
    once = MWEM(questions=QUESTIONS, population=10**6, rounds=20, epsilon=1)
    assert worst(again.release(PEOPLE)) < worst(once.release(PEOPLE)) / 2
    with pytest.raises(ParameterError, match="build it with sweeps=0"):
        again.bound()


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"epsilon": 0}, {"population": 0}, {"sweeps": -1}, {"people": 0}])
def test_bad_numbers_are_refused_when_it_is_built(wrong) -> None:
    with pytest.raises(ParameterError):
        MWEM(**{"questions": QUESTIONS, "population": 10, "rounds": 2, "epsilon": 1} | wrong)
