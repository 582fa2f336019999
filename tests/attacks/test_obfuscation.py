"""The blur of tools in use, and what undoes it. Everything here is seeded, so it holds always or never."""

import numpy as np
import pytest

from lapwing.attacks import differencing, hadamard, reconstruction, tracing
from lapwing.attacks.obfuscation import Bunny, I2b2, Leaf, LockedOutError, Samply, leaf_shift
from lapwing.attacks.oracles import Coins, ExactAnswers, interrogate, share_right

PEOPLE = 128
TRAIT = Coins(3, "trait").flips(PEOPLE)
EVERYBODY = np.ones(PEOPLE, dtype=bool)


def cohorts(each: int) -> np.ndarray:
    return reconstruction.random_cohorts(PEOPLE, each * PEOPLE, Coins(3, "cohorts"))


@pytest.mark.parametrize("solve", [reconstruction.least_squares, reconstruction.linear_program])
def test_exact_answers_are_solved_exactly(solve) -> None:
    assert share_right(solve(interrogate(ExactAnswers(TRAIT), cohorts(2))), TRAIT) == 1


def test_exact_answers_are_transformed_exactly_up_to_a_million_people() -> None:
    trait = Coins(3, "many").flips(2**20)
    assert (hadamard.guess(hadamard.exact_answers(trait)) == trait).all()


def test_the_answers_of_the_transform_are_those_of_its_cohorts() -> None:
    asked = interrogate(ExactAnswers(TRAIT), hadamard.hadamard_cohorts(PEOPLE))
    assert (asked.answers == hadamard.exact_answers(TRAIT)).all()


@pytest.mark.parametrize("solve", [reconstruction.least_squares, reconstruction.linear_program])
def test_i2b2_noise_is_solved_away(solve) -> None:
    """Least squares expects 99.99 % at this noise; eight of 128 wrong would be far outside of any luck."""
    heard = interrogate(I2b2(TRAIT, Coins(3, "i2b2")), cohorts(4))
    assert share_right(solve(heard), TRAIT) >= 0.95


def test_rounding_to_tens_is_solved_away() -> None:
    heard = interrogate(Bunny(TRAIT), cohorts(16))
    assert share_right(reconstruction.least_squares(heard), TRAIT) >= 0.97


def test_i2b2_noise_is_averaged_away_and_takes_colleagues() -> None:
    i2b2 = I2b2(TRAIT, Coins(3, "i2b2"))
    heard = differencing.ask_again_and_again(i2b2, PEOPLE, 32, 100)
    assert share_right(differencing.guess_targets(heard, 32), TRAIT[:32]) >= 31 / 32
    assert i2b2.accounts_used > 100


def test_the_lock_out_allows_six_answers_of_a_size_for_each_account() -> None:
    i2b2 = I2b2(TRAIT, Coins(3, "i2b2"), accounts=2)
    heard = interrogate(i2b2, np.repeat(EVERYBODY[None], 20, axis=0))
    assert heard.answers.size == 12
    assert isinstance(heard.refusal, LockedOutError)
    assert heard.refusal.accounts == 2


def test_i2b2_shows_zero_for_three_and_the_lock_out_counts_true_sizes() -> None:
    three, four = (np.arange(PEOPLE) < n for n in (3, 4))
    everyone = I2b2(EVERYBODY, Coins(3, "i2b2"))
    assert {everyone.count(three) for _ in range(50)} == {0.0}
    shown = [everyone.count(four) for _ in range(2000)]
    assert abs(np.mean(shown) - 4) < 0.2
    assert abs(np.std(shown) - np.hypot(1.323, 12**-0.5)) < 0.1


def test_a_shift_without_a_secret_cancels_and_can_be_recomputed() -> None:
    leaf = Leaf(TRAIT, ("a", "b"))
    _, guesses = differencing.by_difference(leaf, PEOPLE)
    assert (guesses == TRAIT).all()
    assert leaf.count(EVERYBODY) - leaf_shift(("b", "a")) == np.count_nonzero(TRAIT)
    assert leaf.count(np.arange(PEOPLE) < 5) == 10
    assert -10 <= min(leaf_shift((str(i),)) for i in range(500)) < max(leaf_shift((str(i),)) for i in range(500)) <= 9


def test_noise_remembered_by_the_true_size_tells_whether_sizes_are_equal() -> None:
    samply = Samply(TRAIT, Coins(3, "samply"))
    assert samply.count(EVERYBODY) == samply.count(TRAIT), "two questions, one true size, one answer"
    assert samply.count(~TRAIT) == 0
    assert samply.count(TRAIT & (np.cumsum(TRAIT) <= 4)) == 10
    _, guesses = differencing.by_equality(samply, PEOPLE, 24, Coins(3, "groups"))
    assert share_right(guesses, TRAIT) >= 0.98


def test_equal_answers_of_exact_counts_are_right_about_everybody() -> None:
    _, guesses = differencing.by_equality(ExactAnswers(TRAIT[:32]), 32, 1, Coins(3, "groups"))
    assert (guesses == TRAIT[:32]).all()


@pytest.mark.parametrize("blurred", [False, True], ids=["exact", "i2b2"])
def test_members_of_a_small_group_are_traced(blurred) -> None:
    group = Coins(3, "order").uniforms(400).argsort() < 16
    asked = reconstruction.random_cohorts(400, 24 * 16, Coins(3, "cohorts"))
    heard = interrogate(I2b2(group, Coins(3, "i2b2")) if blurred else ExactAnswers(group), asked)
    assert tracing.trace(heard, group).true_positives() >= 14 / 16


def test_nobody_is_traced_by_noise() -> None:
    group = Coins(3, "order").uniforms(4000).argsort() < 400
    asked = reconstruction.random_cohorts(4000, 100, Coins(3, "cohorts"))
    noise = interrogate(ExactAnswers(np.zeros(4000, dtype=bool)), asked)
    traced = tracing.trace(
        type(noise)(cohorts=noise.cohorts, answers=Coins(3, "noise").normals(100), planned=100), group
    )
    assert 0.01 < traced.true_positives() < 0.12
    others, members = traced.curve()
    assert (others[0], members[0], others[-1], members[-1]) == (0, 0, 1, 1)
    assert abs(members - others).max() < 0.15
