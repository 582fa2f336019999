from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency
from mechanisms import choices_by_hand
from mechanisms.laws_by_hand import ROUNDING, number
from statistical.goodness import fits, p_value

SCORES = (0, 3, 5, 5, 1)
NEIGHBOURS = ((0, 3, 5, 5, 1), (1, 2, 4, 6, 2), (-1, 4, 6, 4, 0), (0, 3, 6, 5, 1), (1, 4, 6, 6, 2))


def law(mechanism, scores) -> list[mp.mpf]:
    """The probabilities by which `choose_exponential` is specified to choose from the mechanism's offsets."""
    return choices_by_hand.exponential_weights([int(o) for o in mechanism.lattice.offsets(scores)], 2**56)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_the_loss_is_at_most_epsilon_and_lies_in_an_interval_of_length_epsilon(epsilon) -> None:
    mechanism = ExponentialMechanism(sensitivity=1, candidates=5, epsilon=epsilon)
    for here in NEIGHBOURS[:1]:
        for there in NEIGHBOURS[1:]:
            losses = [mp.log(p / q) for p, q in zip(law(mechanism, here), law(mechanism, there), strict=True)]
            assert max(map(abs, losses)) <= number(epsilon) + ROUNDING
            assert max(losses) - min(losses) <= number(epsilon) + ROUNDING


def test_the_whole_epsilon_can_be_seen() -> None:
    """Many candidates that rise while one falls: two epsilon halves."""
    mechanism = ExponentialMechanism(sensitivity=1, candidates=2, epsilon=1)
    here, there = law(mechanism, (0, 40)), law(mechanism, (1, 39))
    assert mp.log(there[0] / here[0]) > mp.mpf("0.999999")


def test_monotone_scores_keep_epsilon_at_half_the_noise() -> None:
    mechanism = ExponentialMechanism(sensitivity=1, candidates=5, epsilon=1, monotone_under=Adjacency.ADD_REMOVE)
    for moves in np.ndindex(2, 2, 2, 2, 2):
        there = [score + move for score, move in zip(SCORES, moves, strict=True)]
        pairs = zip(law(mechanism, SCORES), law(mechanism, there), strict=True)
        assert max(abs(mp.log(p / q)) for p, q in pairs) <= 1 + ROUNDING
    mixed = zip(law(mechanism, (0, 40, 0, 0, 0)), law(mechanism, (1, 39, 1, 1, 1)), strict=True)
    assert max(abs(mp.log(p / q)) for p, q in mixed) > mp.mpf("1.9")


def test_candidates_are_chosen_by_their_weights() -> None:
    scores = (4, 0, 0, 0, 0, 0, 0)  # where a scale that is wrong by a tenth shows most
    mechanism = ExponentialMechanism(sensitivity=1, candidates=7, epsilon=1)
    counts = np.bincount([mechanism.release(scores) for _ in range(25_000)], minlength=7)
    truth, lie = (choices_by_hand.exponential_weights(scores, scale) for scale in (2, "2.2"))
    assert fits(p_value(counts, np.array(truth, float)))
    assert not fits(p_value(counts, np.array(lie, float)))


def worst_chance(candidates, margin, scale) -> mp.mpf:
    """All but one candidate are `margin` behind the best: how likely one of them is chosen."""
    behind = (candidates - 1) * mp.exp(-number(margin) / number(scale))
    return behind / (1 + behind)


@pytest.mark.parametrize("candidates", [2, 10, 1000])
@pytest.mark.parametrize("confidence", ["0.6", "0.95", "0.999999"])
def test_the_margin_is_attained_by_the_worst_scores(candidates, confidence) -> None:
    mechanism = ExponentialMechanism(sensitivity=1, candidates=candidates, epsilon=1)
    margin = Fraction(mechanism.margin(confidence))
    failure = 1 - number(confidence)
    assert worst_chance(candidates, margin, 2) <= failure
    assert worst_chance(candidates, margin * (1 - Fraction(1, 10**9)), 2) > failure
    assert mechanism.confidence(margin) <= 1 - worst_chance(candidates, margin, 2)
    assert mechanism.confidence(margin) == pytest.approx(float(Fraction(confidence)))


def test_no_scores_are_worse_than_the_worst() -> None:
    mechanism = ExponentialMechanism(sensitivity=1, candidates=4, epsilon=1)
    margin = Fraction(mechanism.margin("0.9"))
    for scores in np.ndindex(12, 12, 12):
        chosen = choices_by_hand.exponential_weights((0, *(-score for score in scores)), 2)
        short = mp.fsum(p for p, score in zip(chosen[1:], scores, strict=True) if score >= margin)
        assert short <= mp.mpf("0.1")


@pytest.mark.parametrize("t", ["0.5", 3, 10])
@pytest.mark.parametrize(("candidates", "optimal"), [(2, 1), (100, 1), (100, 20)])
def test_lemma_3_2_is_said_and_holds(t, candidates, optimal) -> None:
    mechanism = ExponentialMechanism(sensitivity=3, candidates=candidates, epsilon="0.5")
    x = Fraction(mechanism.utility(t, optimal=optimal))
    lemma = 2 * 3 / mp.mpf("0.5") * (mp.log(mp.mpf(candidates) / optimal) + number(t))
    assert lemma <= number(x) <= lemma * (1 + mp.mpf("1e-9"))
    worst = (candidates - optimal) * mp.exp(-number(x) / 12)
    assert worst / (optimal + worst) <= mp.exp(-number(t))


def test_an_accuracy_buys_the_smallest_epsilon_of_six_digits() -> None:
    mechanism = ExponentialMechanism(sensitivity=2, candidates=50, within=30, confidence="0.95")
    for epsilon, enough in ((mechanism.epsilon, True), (mechanism.epsilon - Fraction(1, 10**6), False)):
        assert (worst_chance(50, 30, 4 / epsilon) <= mp.mpf("0.05")) is enough


def test_one_candidate_is_chosen_without_fail() -> None:
    alone = ExponentialMechanism(sensitivity=1, candidates=1, epsilon=1)
    assert (alone.release([5]), alone.margin("0.99")) == (0, 0)
    assert alone.confidence(0) == pytest.approx(1)


def test_a_promise_below_the_floor_of_scores_is_refused() -> None:
    mechanism = ExponentialMechanism(sensitivity=1, candidates=100, epsilon=1)
    with pytest.raises(ParameterError, match="more than 44 noise scales behind the best"):
        mechanism.margin(1 - Fraction(1, 10**20))
    with pytest.raises(ParameterError, match="t = 50 is about scores"):
        mechanism.utility(50)


@pytest.mark.parametrize("epsilon", [1, 39])
def test_weights_are_right_as_far_as_promises_reach(epsilon) -> None:
    mechanism = ExponentialMechanism(sensitivity=1, candidates=2, epsilon=epsilon)
    assert mechanism.lattice.floor * mechanism.lattice.multiplier >= 44 << 56
