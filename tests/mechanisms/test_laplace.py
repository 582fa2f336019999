from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.laplace import LaplaceMechanism
from lapwing.vocabulary.event import LaplaceNoise
from mechanisms import laws_by_hand as by_hand
from statistical.goodness import fits, integer_p_value


@pytest.mark.parametrize("start", [0.0, 0.1, 0.24999999, -3.7])
@pytest.mark.parametrize(("sensitivity", "paid"), [("0.25", "0.25"), ("0.3", "0.5"), ("0.7", "0.75")])
def test_the_loss_between_neighbours_is_at_most_epsilon(start, sensitivity, paid) -> None:
    """On a grid of quarters, so that every outcome can be walked through; values off the grid included."""
    mechanism = LaplaceMechanism(l1_sensitivity=sensitivity, epsilon="0.8", grid="1/4")
    assert mechanism.event.l1_sensitivity == Fraction(paid)
    assert mechanism.epsilon == Fraction("0.8")
    law = by_hand.rounded_laplace(mechanism.event.scale * 4, 40)
    moved = start + float(Fraction(sensitivity))
    loss = by_hand.largest_loss(*(by_hand.released_law(mechanism, value, law) for value in (start, moved)))
    assert loss <= by_hand.number("0.8") + by_hand.ROUNDING


def test_the_whole_price_can_be_seen() -> None:
    """Two values that differ by 0.3 can be two quarters apart on the grid: the next multiple must be paid for."""
    mechanism = LaplaceMechanism(l1_sensitivity="0.3", epsilon="0.8", grid="1/4")
    law = by_hand.rounded_laplace(mechanism.event.scale * 4, 40)
    loss = by_hand.largest_loss(*(by_hand.released_law(mechanism, value, law) for value in (0.1, 0.4)))
    assert loss > by_hand.number("0.79")


def test_two_coordinates_that_move_together_stay_within_epsilon() -> None:
    """The joint law of two independent coordinates: their losses add up, rounding included."""
    mechanism = LaplaceMechanism(l1_sensitivity="0.5", epsilon=1, dimension=2, grid="1/4")
    assert mechanism.event.l1_sensitivity == Fraction(3, 4)
    law = by_hand.rounded_laplace(mechanism.event.scale * 4, 30)
    single = LaplaceMechanism(l1_sensitivity="0.5", scale=mechanism.event.scale, grid="1/4")
    for start in (0.1, 0.12, 0.0):
        for first in (0.0, 0.1, 0.25, 0.4):
            losses = [
                by_hand.largest_loss(*(by_hand.released_law(single, value, law) for value in (start, start + move)))
                for move in (first, 0.5 - first)
            ]
            assert sum(losses) <= 1 + by_hand.ROUNDING


def test_noise_of_the_scale_that_was_asked_for_is_added_and_no_other() -> None:
    mechanism = LaplaceMechanism(l1_sensitivity=1, scale="1.25", dimension=400_000, grid="1/4")
    sample = ((mechanism.release(np.full(400_000, 10.25)) - 10.25) * 4).astype(np.int64)
    scores = {
        scale: integer_p_value(sample, *by_hand.as_array(by_hand.rounded_laplace(Fraction(scale), 120)))
        for scale in ("5", "5.5", "4.5")
    }
    assert [fits(p) for p in scores.values()] == [True, False, False]


@pytest.mark.parametrize("value", [0.0, 1.0, 1 / 3, Fraction(1, 3), 7, 1e9, -1e-300])
def test_answers_are_multiples_of_one_step_whatever_the_value(value) -> None:
    """The precision of a textbook answer betrays its value; here the lattice is the same for all of them."""
    mechanism = LaplaceMechanism(l1_sensitivity=1, epsilon=1)
    for answer in (mechanism.release(value) for _ in range(200)):
        assert isinstance(answer, float)
        assert (Fraction(answer) / mechanism.grid.step).denominator == 1


def test_the_precision_attack_tells_nothing() -> None:
    """Haney et al. 2022: "the answer is not a multiple of 2^-53" has probability 0.27 at 0 and 0 at 1 in floats."""
    mechanism = LaplaceMechanism(l1_sensitivity=1, epsilon=1, dimension=5000)
    for value in (0.0, 1.0):
        answers = mechanism.release(np.full(5000, value))
        assert (np.ldexp(answers, 53) % 1 == 0).all()
    textbook = np.random.default_rng(7).laplace(size=5000)  # what is attacked
    assert (np.ldexp(0.0 + textbook, 53) % 1 != 0).mean() > 0.2
    assert (np.ldexp(1.0 + textbook, 53) % 1 != 0).mean() < 0.15


def test_the_default_grid_costs_less_than_a_millionth() -> None:
    for sensitivity, epsilon in (("1/3", 1), (1000, "0.001"), ("0.07", 10)):
        mechanism = LaplaceMechanism(l1_sensitivity=sensitivity, epsilon=epsilon)
        ideal = Fraction(sensitivity) / Fraction(epsilon)
        assert ideal <= mechanism.event.scale <= ideal * (1 + Fraction(2, 10**6))
        assert mechanism.epsilon == Fraction(epsilon)


def test_a_whole_sensitivity_costs_nothing_more() -> None:
    assert LaplaceMechanism(l1_sensitivity=2, epsilon="1/2").event == LaplaceNoise(
        l1_sensitivity=Fraction(2), scale=Fraction(4)
    )


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.9999"])
def test_a_wanted_accuracy_holds_for_values_off_the_grid(confidence) -> None:
    mechanism = LaplaceMechanism(l1_sensitivity=1, within="2.5", confidence=confidence, grid="1/8")
    law = by_hand.rounded_laplace(mechanism.event.scale * 8, 2000)
    assert 1 - by_hand.tail(law, 19) >= by_hand.number(confidence)  # 19.5 eighths with the half step of rounding
    cheaper = by_hand.rounded_laplace(mechanism.event.scale * 8 * Fraction(100_002, 100_000), 2000)
    assert 1 - by_hand.tail(cheaper, 19) < by_hand.number(confidence)
