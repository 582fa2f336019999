from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms import permute_and_flip
from lapwing.mechanisms.permute_and_flip import NoisyMaxWithGap, Winner
from lapwing.vocabulary.errors import ParameterError
from mechanisms import choices_by_hand
from statistical.goodness import fits, p_value

STEP_IS_LATTICE_STEP = Fraction(2, 2**40)


@given(
    scores=st.lists(st.integers(-5, 5), min_size=2, max_size=5),
    noise=st.lists(st.integers(0, 9), min_size=5, max_size=5),
)
def test_winner_and_gap_are_what_they_say(scores, noise) -> None:
    mechanism = NoisyMaxWithGap(sensitivity=1, candidates=len(scores), epsilon=STEP_IS_LATTICE_STEP)
    steps = np.array(noise[: len(scores)], np.uint64) << np.uint64(16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(permute_and_flip, "exponential_lattice", lambda _: steps)
        winner = mechanism.release(scores)
    index, gap = choices_by_hand.winner_and_gap([s + w for s, w in zip(scores, noise, strict=False)])
    assert winner == Winner(index=index, gap=gap)


Q = Fraction(1, 2)


def worst_ratio(moves_of) -> Fraction:
    worst = Fraction(0)
    laws = {
        scores: choices_by_hand.winner_and_gap_law(scores, Q, reach=50, gaps=4)
        for scores in product(range(-1, 4), repeat=3)
    }
    for scores in product(range(3), repeat=3):
        for moves in moves_of:
            there = laws[tuple(score + move for score, move in zip(scores, moves, strict=True))]
            worst = max(worst, *(max(p / there[o], there[o] / p) for o, p in laws[scores].items()))
    return worst


def test_index_and_gap_together_cost_what_the_index_costs() -> None:
    """With noise that halves at every step, a move by one costs a factor of 4 (of 2 where all move the same way)."""
    almost = 1 + Fraction(1, 2**50)  # the sums stop at 2^-100 of their terms
    assert Q**-2 * Fraction(99, 100) <= worst_ratio(list(product((-1, 0, 1), repeat=3))) <= Q**-2 * almost
    assert Q**-1 * Fraction(99, 100) <= worst_ratio(list(product((0, 1), repeat=3))) <= Q**-1 * almost


def test_the_winning_score_itself_may_never_be_released() -> None:
    """Index 0 can win with the noisy score 0 where all scores are 0; where its rivals have 1 it never can."""

    def chance(scores, value):
        return (1 - Q) * Q ** (value - scores[0]) * prod(1 - Q ** max(0, value - rival + 1) for rival in scores[1:])

    assert chance((0, 0, 0), 0) > 0 == chance((0, 1, 1), 0)


def test_the_winner_follows_permute_and_flip_and_its_gap_is_too_large_on_average() -> None:
    scores = (4, 0, 0, 0, 0, 0, 0)
    mechanism = NoisyMaxWithGap(sensitivity=1, candidates=7, epsilon=1)
    winners = [mechanism.release(scores) for _ in range(12_000)]
    counts = np.bincount([winner.index for winner in winners], minlength=7)
    assert fits(p_value(counts, np.array(choices_by_hand.permute_and_flip(scores, 2), float)))
    assert not fits(p_value(counts, np.array(choices_by_hand.permute_and_flip(scores, 3), float)))
    assert np.mean([winner.gap for winner in winners if winner.index]) > 1  # where the true gap is negative


def test_large_gaps_are_told_in_full() -> None:
    mechanism = NoisyMaxWithGap(sensitivity=1, candidates=2, epsilon=1)
    assert mechanism.release([10**6, 0]).gap == pytest.approx(10**6, abs=300)


def test_a_gap_needs_two_candidates() -> None:
    with pytest.raises(ParameterError, match="candidates = 1 is out of range"):
        NoisyMaxWithGap(sensitivity=1, candidates=1, epsilon=1)
