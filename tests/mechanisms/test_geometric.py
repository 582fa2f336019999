from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from mechanisms import laws_by_hand as by_hand
from statistical.goodness import fits, integer_p_value


@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "7/2"])
def test_the_loss_between_neighbours_is_epsilon_exactly(sensitivity, epsilon) -> None:
    mechanism = GeometricMechanism(l1_sensitivity=sensitivity, epsilon=epsilon)
    law = by_hand.discrete_laplace(Fraction(sensitivity) / Fraction(epsilon), 60)
    left, right = (by_hand.released_law(mechanism, value, law) for value in (17, 17 + sensitivity))
    assert abs(by_hand.largest_loss(left, right) - by_hand.number(epsilon)) < by_hand.ROUNDING


def test_noise_of_the_scale_that_was_asked_for_is_added_and_no_other() -> None:
    mechanism = GeometricMechanism(l1_sensitivity=2, epsilon="0.4")
    sample = mechanism.release(np.full(400_000, -3)) + 3
    scores = {
        scale: integer_p_value(sample, *by_hand.as_array(by_hand.discrete_laplace(Fraction(scale), 120)))
        for scale in ("5", "5.5", "4.5")
    }
    assert [fits(p) for p in scores.values()] == [True, False, False]


def test_single_releases_follow_the_same_law() -> None:
    mechanism = GeometricMechanism(l1_sensitivity=1, scale="1.5")
    sample = np.array([mechanism.release(7) - 7 for _ in range(60_000)])
    assert fits(integer_p_value(sample, *by_hand.as_array(by_hand.discrete_laplace("1.5", 40))))
    assert not fits(integer_p_value(sample, *by_hand.as_array(by_hand.discrete_laplace("1.65", 40))))


def test_epsilon_and_scale_say_the_same() -> None:
    by_price = GeometricMechanism(l1_sensitivity=3, epsilon="0.3")
    by_noise = GeometricMechanism(l1_sensitivity=3, scale=10)
    assert by_price == by_noise
    assert by_price.event == DiscreteLaplaceNoise(l1_sensitivity=3, scale=Fraction(10))
    assert by_price.epsilon == Fraction(3, 10)


@pytest.mark.parametrize("values", [1, 12])
@pytest.mark.parametrize(("within", "confidence"), [(20, "0.95"), (0, "0.5"), (3, "0.999")])
def test_a_wanted_accuracy_costs_the_smallest_epsilon_of_six_digits(within, confidence, values) -> None:
    mechanism = GeometricMechanism(l1_sensitivity=2, within=within, confidence=confidence, values=values)
    digits = len(str(int(mechanism.epsilon)).lstrip("0"))
    last_digit = Fraction(10) ** (digits - 6) if digits else Fraction(1, 10**6)
    for epsilon, enough in ((mechanism.epsilon, True), (mechanism.epsilon - last_digit, False)):
        law = by_hand.discrete_laplace(2 / epsilon, 1500)
        assert ((1 - by_hand.tail(law, within)) ** values >= by_hand.number(confidence)) is enough
    assert mechanism.margin(confidence, values=values) == within
