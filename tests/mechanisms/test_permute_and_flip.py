from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from lapwing.mechanisms import permute_and_flip
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.guarantee import Adjacency
from mechanisms import choices_by_hand
from mechanisms.laws_by_hand import ROUNDING, number
from statistical.goodness import fits, p_value

SCORES = (4, 0, 0, 0, 0, 0, 0)  # where a scale that is wrong by a tenth shows most


def law(mechanism, scores) -> list[mp.mpf]:
    """Permute-and-flip over the offsets that the mechanism makes of the scores."""
    return choices_by_hand.permute_and_flip([int(o) for o in mechanism.lattice.offsets(scores)], 2**40)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_the_loss_between_neighbours_is_at_most_epsilon(epsilon) -> None:
    mechanism = PermuteAndFlip(sensitivity=1, candidates=3, epsilon=epsilon)
    worst = 0
    for scores in np.ndindex(4, 4, 4):
        for moves in np.ndindex(3, 3, 3):
            there = [score + move - 1 for score, move in zip(scores, moves, strict=True)]
            pairs = zip(law(mechanism, scores), law(mechanism, there), strict=True)
            worst = max(worst, *(abs(mp.log(p / q)) for p, q in pairs))
    assert worst <= number(epsilon) + ROUNDING
    assert worst > number(epsilon) * mp.mpf("0.99")


def test_monotone_scores_keep_epsilon_at_half_the_noise() -> None:
    mechanism = PermuteAndFlip(sensitivity=1, candidates=3, epsilon=1, monotone_under=Adjacency.ADD_REMOVE)
    for scores in np.ndindex(4, 4, 4):
        for moves in np.ndindex(2, 2, 2):
            there = [score + move for score, move in zip(scores, moves, strict=True)]
            pairs = zip(law(mechanism, scores), law(mechanism, there), strict=True)
            assert max(abs(mp.log(p / q)) for p, q in pairs) <= 1 + ROUNDING


def test_candidates_are_chosen_as_permute_and_flip_chooses() -> None:
    mechanism = PermuteAndFlip(sensitivity=1, candidates=7, epsilon=1)
    counts = np.bincount([mechanism.release(SCORES) for _ in range(20_000)], minlength=7)
    truth, lie = (choices_by_hand.permute_and_flip(SCORES, scale) for scale in (2, "2.2"))
    assert fits(p_value(counts, np.array(truth, float)))
    assert not fits(p_value(counts, np.array(lie, float)))
    assert not fits(p_value(counts, np.array(choices_by_hand.exponential_weights(SCORES, 2), float)))


def test_it_is_never_worse_than_the_exponential_mechanism() -> None:
    for scores in np.ndindex(5, 5, 5):
        flipped = choices_by_hand.permute_and_flip(scores, 1)
        weighed = choices_by_hand.exponential_weights(scores, 1)
        for bar in range(6):
            below = [i for i, score in enumerate(scores) if score < bar]
            short, shorter = (mp.fsum(chosen[i] for i in below) for chosen in (weighed, flipped))
            assert shorter <= short + ROUNDING


def test_no_more_than_epsilon_is_claimed() -> None:
    """Its loss does not lie in an interval of length epsilon, so that ε²/8 must not be charged."""
    mechanism = PermuteAndFlip(sensitivity=1, candidates=3, epsilon=1)
    assert mechanism.event == PureRelease(epsilon=Fraction(1))
    widest = 0
    for scores in np.ndindex(5, 5, 5):
        for moves in np.ndindex(3, 3, 3):
            there = [score + move - 1 for score, move in zip(scores, moves, strict=True)]
            losses = [mp.log(p / q) for p, q in zip(law(mechanism, scores), law(mechanism, there), strict=True)]
            widest = max(widest, max(losses) - min(losses))
    assert widest > mp.mpf("1.1")


def worst_chance(candidates, margin, scale) -> mp.mpf:
    """All but one candidate are `margin` behind the best: how likely one of them wins, by integrating over the best's
    noise."""
    behind = mp.exp(-number(margin) / number(scale))
    return mp.quad(lambda e: mp.exp(-e) * (1 - (1 - behind * mp.exp(-e)) ** (candidates - 1)), [0, 1, 5, 40, 120])


@pytest.mark.parametrize("candidates", [2, 10, 1000])
@pytest.mark.parametrize("confidence", ["0.6", "0.95", "0.99999999"])
def test_the_margin_is_attained_by_the_worst_scores(candidates, confidence) -> None:
    mechanism = PermuteAndFlip(sensitivity=1, candidates=candidates, epsilon=1)
    margin = Fraction(mechanism.margin(confidence))
    failure = 1 - number(confidence)
    assert worst_chance(candidates, margin, 2) <= failure
    assert worst_chance(candidates, margin * (1 - Fraction(1, 10**6)), 2) > failure * (1 - mp.mpf("1e-5"))
    assert mechanism.confidence(margin) <= 1 - worst_chance(candidates, margin, 2)
    assert mechanism.confidence(margin) == pytest.approx(float(Fraction(confidence)), abs=1e-6)
    assert mechanism.confidence(0) == pytest.approx(1 / candidates)
    assert mechanism.confidence(-1) == 0


def test_an_accuracy_buys_the_smallest_epsilon_of_six_digits() -> None:
    mechanism = PermuteAndFlip(sensitivity=2, candidates=50, within=30, confidence="0.95")
    for epsilon, enough in ((mechanism.epsilon, True), (mechanism.epsilon - Fraction(1, 10**6), False)):
        assert (worst_chance(50, 30, 4 / epsilon) <= mp.mpf("0.05")) is enough


def test_a_tie_goes_to_the_lower_index_and_noise_decides_nothing_else(monkeypatch) -> None:
    mechanism = PermuteAndFlip(sensitivity=1, candidates=3, epsilon=Fraction(2, 2**40))  # one step is one lattice step
    for noise, winner in (([4, 3, 2], 0), ([0, 5, 4], 1), ([0, 0, 9], 2), ([3, 2, 1], 0)):
        steps = np.array(noise, np.uint64) << np.uint64(16)
        monkeypatch.setattr(permute_and_flip, "exponential_lattice", lambda _, steps=steps: steps)
        assert mechanism.release([10, 11, 12]) == winner
