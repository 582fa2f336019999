from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.vocabulary.errors import ParameterError
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


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "said"),
    [
        (50, 1, "epsilon = 50 is too large for sensitivity 1; stay at or below 20"),
        (61, 3, "epsilon = 61 is too large for sensitivity 3; stay at or below 60"),
        ("1e-12", 1, "epsilon = '1e-12' is too small for sensitivity 1; stay at or above 1/274877906944"),
    ],
    ids=["large", "large for three", "small"],
)
def test_an_epsilon_out_of_reach_is_refused_in_its_own_terms(epsilon, sensitivity, said) -> None:
    with pytest.raises(ParameterError) as refusal:
        GeometricMechanism(l1_sensitivity=sensitivity, epsilon=epsilon)
    assert str(refusal.value) == said
    assert GeometricMechanism(l1_sensitivity=3, epsilon=60).epsilon == 60


def test_a_dimension_is_kept_to_where_it_is_said() -> None:
    pair = GeometricMechanism(l1_sensitivity=1, epsilon=1, dimension=2)
    assert pair.release([1, 2]).shape == (2,)
    for wrong in (1, [1], [1, 2, 3]):
        with pytest.raises(ParameterError, match="does not have the 2 coordinates"):
            pair.release(wrong)
    assert isinstance(GeometricMechanism(l1_sensitivity=1, epsilon=1, dimension=1).release(1), int)
    with pytest.raises(ParameterError, match="dimension = 0 is out of range"):
        GeometricMechanism(l1_sensitivity=1, epsilon=1, dimension=0)
