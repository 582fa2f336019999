"""At lapwing's door every attack is left with chance and an empty account; at a broken door it is not."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

import lapwing as lw
from attacks.made_up import FALSE_ALARM, SETTINGS, Unaccounted, at_chance, half_of, leeway, target_of
from lapwing.attacks import differencing, hadamard, reconstruction, tracing
from lapwing.attacks.campaigns import TRIVIAL
from lapwing.attacks.oracles import Coins, interrogate
from lapwing.vocabulary.errors import BudgetExceededError

ONE = Fraction(1)


def refused_now(door, people) -> bool:
    """Whether a question that was never asked is refused, for lack of budget."""
    with pytest.raises(BudgetExceededError) as no:
        door.count(np.arange(people) < 3, spelling=50)
    return no.value.left == 0 == door.left


def test_reconstruction_is_at_chance_and_the_account_is_empty(doors) -> None:
    people, questions = 128, 256
    made, trait = doors(), half_of(people)
    cohorts = reconstruction.random_cohorts(people, questions, Coins(7, "cohorts"))
    door = made.open(target_of(trait), ONE / questions)
    heard = interrogate(door, cohorts)
    assert (heard.answers.size, heard.refusal, made.spent()) == (questions, None, ONE)
    assert refused_now(door, people)
    margin = leeway(cohorts, trait, door.epsilon)
    assert margin < 5, "256 cohorts of about 64 people, off their half by 2.3 on average"
    assert at_chance(reconstruction.least_squares(heard), trait, margin)
    assert at_chance(reconstruction.linear_program(heard), trait, margin)


def test_an_impatient_attacker_is_stopped_by_the_ledger_after_the_questions_he_paid(doors) -> None:
    made, trait = doors(), half_of(64)
    door = made.open(target_of(trait), ONE / 10)
    heard = interrogate(door, reconstruction.random_cohorts(64, 256, Coins(7, "cohorts")))
    assert (heard.answers.size, heard.planned, made.spent()) == (10, 256, ONE)
    assert isinstance(heard.refusal, BudgetExceededError)
    assert heard.refusal.asked == ONE / 10
    assert heard.refusal.left == 0


def test_the_fourier_attack_is_at_chance_and_the_account_is_empty(doors) -> None:
    people = 256
    made, trait = doors(), half_of(people)
    door = made.open(target_of(trait), ONE / people)
    heard = interrogate(door, hadamard.hadamard_cohorts(people))
    assert (heard.answers.size, made.spent()) == (people, ONE)
    assert refused_now(door, people)
    margin = leeway(heard.cohorts, trait, door.epsilon)
    assert margin <= np.sqrt(people) / 4, "by Parseval, where half have the trait"
    assert at_chance(hadamard.guess_from(heard), trait, margin)


def test_differencing_is_at_chance_and_the_account_is_empty(doors) -> None:
    people = 199  # with everybody, 200 questions: a price of few digits
    made, trait = doors(), half_of(people)
    door = made.open(target_of(trait), ONE / (people + 1))
    heard, guesses = differencing.by_difference(door, people)
    assert (heard.answers.size, made.spent()) == (people + 1, ONE)
    assert refused_now(door, people)
    assert at_chance(guesses, trait, leeway(heard.cohorts, trait, door.epsilon))


def test_averaging_in_words_that_differ_is_charged_each_time_and_at_chance(doors) -> None:
    people, times = 128, 2
    questions = (people + differencing.EVERYBODY_MORE_OFTEN) * times
    made, trait = doors(), half_of(people)
    door = made.open(target_of(trait), ONE / questions)
    padded = range(len(TRIVIAL), len(TRIVIAL) + 20)
    heard = differencing.ask_again_and_again(door, people, people, times, spellings=padded)
    assert (heard.answers.size, made.spent(), door.free) == (questions, ONE, 0)
    assert refused_now(door, people)
    guesses = differencing.guess_targets(heard, people)
    assert at_chance(guesses, trait, leeway(heard.cohorts, trait, door.epsilon))


def test_the_same_question_in_other_words_is_answered_as_before_for_free(doors) -> None:
    made, trait = doors(), half_of(16)
    door = made.open(target_of(trait), ONE / 4)
    members = np.arange(16) < 9
    told = {door.count(members, spelling=spelling) for spelling in range(len(TRIVIAL)) for _ in range(3)}
    assert len(told) == 1
    assert (door.free, made.spent()) == (3 * len(TRIVIAL) - 1, ONE / 4)


def test_tracing_is_at_chance_and_the_account_is_empty(doors) -> None:
    """Of the 19 people who score highest of 384, chance has as many among the 16 members as a lottery does."""
    people, members, questions = 384, 16, 256
    made = doors()
    group = np.random.default_rng().permutation(people) < members
    cohorts = reconstruction.random_cohorts(people, questions, Coins(7, "cohorts"))
    door = made.open(target_of(group), ONE / questions)
    heard = interrogate(door, cohorts)
    assert (heard.answers.size, made.spent()) == (questions, ONE)
    assert refused_now(door, people)
    off = float(np.abs(cohorts @ group.astype(int) - members // 2).sum() * door.epsilon)
    assert off < 4
    most = np.flatnonzero(np.exp(off) * hypergeom.sf(np.arange(17) - 1, people, members, 19) > FALSE_ALARM).max()
    named = np.argsort(-tracing.trace(heard, group).scores)[:19]
    assert np.count_nonzero(group[named]) <= most < 12


def test_the_strongest_question_is_right_as_often_as_epsilon_allows_and_no_more_often(quick_path) -> None:
    """A count grouped by a column that tells people apart: each cell is right with probability e^eps/(1 + e^eps)."""
    people, trait = 512, half_of(512)
    rows = "".join(f"{i},{i},{bool(ill)}\n" for i, ill in enumerate(trait))
    (quick_path / "patients.csv").write_text("id,number,ill\n" + rows)
    numbers = f'{{ type = "category", values = {[*range(people)]} }}'
    settings = SETTINGS.format(budget=1).replace('{ type = "integer" }', numbers)
    with lw.create(quick_path, settings) as workspace, workspace.session(analyst="mallory") as session:
        answer = session.ask(lw.count("patients", "ill", by="number"), epsilon=1)
        assert session.budget().left == 0
    guesses = np.array([row["answer"] >= 1 for row in answer.rows])
    right, law = np.count_nonzero(guesses == trait), binom(people, 1 / (1 + np.exp(-1)))
    assert law.ppf(FALSE_ALARM / 2) <= right <= law.isf(FALSE_ALARM / 2)
    assert not at_chance(guesses, trait, 0.0), "it beats chance by 23 points: that is what epsilon 1 means"


def test_a_door_without_a_ledger_is_reconstructed(doors) -> None:
    """At epsilon 1 a question (deviation 1.36) 99.5 % are right; 13 wrong of 96 have a probability below 1e-14."""
    people, questions = 96, 288
    trait = half_of(people)
    door = doors(kind=Unaccounted).open(target_of(trait), ONE)
    heard = interrogate(door, reconstruction.random_cohorts(people, questions, Coins(7, "cohorts")))
    assert (heard.answers.size, door.left) == (questions, 1), "288 times epsilon 1, and nobody has booked it"
    guesses = reconstruction.least_squares(heard)
    assert np.count_nonzero(guesses == trait) >= 84
    assert not at_chance(guesses, trait, 0.0)


def test_a_door_that_draws_fresh_noise_for_the_same_question_is_averaged_away(doors) -> None:
    """At epsilon 2 (deviation 0.6) a mean of 32 is wrong about a person once in 50,000; never about three of twelve."""
    trait = half_of(24)
    door = doors(kind=Unaccounted).open(target_of(trait), Fraction(2))
    heard = differencing.ask_again_and_again(door, 24, 12, 32)
    assert len({*heard.answers[heard.cohorts.all(axis=1)]}) > 1
    assert np.count_nonzero(differencing.guess_targets(heard, 12) == trait[:12]) >= 10
