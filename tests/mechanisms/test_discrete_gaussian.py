from fractions import Fraction

import numpy as np
import pytest

from lapwing.accounting.pricing import price
from lapwing.mechanisms import gaussian
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteGaussianNoise
from mechanisms import laws_by_hand as by_hand
from mechanisms.laws_by_hand import mp
from statistical.goodness import fits, integer_p_value


def neighbours(mechanism, move, reach=200):
    law = by_hand.discrete_gaussian(mechanism.event.sigma_squared, reach)
    return tuple(by_hand.released_law(mechanism, value, law) for value in (5, 5 + move))


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("alpha", ["1.5", 2, 8])
def test_the_renyi_divergence_is_at_most_rho_alpha(sensitivity, alpha) -> None:
    mechanism = DiscreteGaussianMechanism(l2_sensitivity=sensitivity, rho="0.1")
    left, right = neighbours(mechanism, sensitivity)
    order = by_hand.number(alpha)
    moment = mp.fsum(left[x] ** order * right[x] ** (1 - order) for x in left.keys() & right.keys())
    divergence = mp.log(moment) / (order - 1)
    assert divergence <= order / 10 + mp.mpf(10) ** -30
    assert divergence > order / 10 * mp.mpf("0.99")
    assert mechanism.rho == Fraction(1, 10)


@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.3", "1e-3"), ("4", "1e-9")])
def test_the_smallest_noise_for_a_price_is_taken(sensitivity, epsilon, delta) -> None:
    mechanism = DiscreteGaussianMechanism(l2_sensitivity=sensitivity, epsilon=epsilon, delta=delta)
    assert by_hand.delta(*neighbours(mechanism, sensitivity), epsilon) <= by_hand.number(delta)
    less = DiscreteGaussianMechanism(
        l2_sensitivity=sensitivity, sigma_squared=mechanism.event.sigma_squared * Fraction(998, 1000)
    )
    assert by_hand.delta(*neighbours(less, sensitivity), epsilon) > by_hand.number(delta)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(3, "0.001"), (30, "0.01"), (100_000, "0.1")])
def test_much_noise_for_a_price_is_found_in_few_questions(sensitivity, epsilon, monkeypatch) -> None:
    """Each takes milliseconds, analysts ask for them in twenties, and a preview is free."""
    asked = []

    def counted(event):
        asked.append(isinstance(event, DiscreteGaussianNoise))
        return price(event)

    monkeypatch.setattr(gaussian, "price", counted)
    mechanism = DiscreteGaussianMechanism(l2_sensitivity=sensitivity, epsilon=epsilon, delta="1e-9")
    assert sum(asked) <= 4
    assert price(mechanism.event).delta(float(epsilon)) <= 1e-9
    less = DiscreteGaussianMechanism(
        l2_sensitivity=sensitivity, sigma_squared=mechanism.event.sigma_squared * Fraction(998, 1000)
    )
    assert price(less.event).delta(float(epsilon)) > 1e-9


def test_two_coordinates_that_move_together_keep_their_price() -> None:
    """One person replaced moves two bins by one each: the joint law of both is walked through."""
    mechanism = DiscreteGaussianMechanism(l2_sensitivity_squared=2, epsilon=1, delta="1e-4", dimension=2)
    variance = mechanism.event.sigma_squared
    reach = int(9 * float(variance) ** 0.5)
    law = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * float(variance)))
    law /= law.sum()
    here, there = np.multiply.outer(law[1:], law[1:]), np.multiply.outer(law[:-1], law[:-1])
    together = np.maximum(here - np.e * there, 0).sum()
    assert together <= 1e-4
    separately = 2 * np.maximum(law[1:] - np.exp(0.5) * law[:-1], 0).sum()
    assert together < separately  # what two releases at half the epsilon each would have to claim


def test_noise_of_the_variance_that_was_asked_for_is_added_and_no_other() -> None:
    mechanism = DiscreteGaussianMechanism(l2_sensitivity=1, sigma_squared=9, dimension=300_000)
    sample = mechanism.release(np.full(300_000, 100)) - 100
    scores = {
        sigma: integer_p_value(sample, *by_hand.as_array(by_hand.discrete_gaussian(Fraction(sigma) ** 2, 40)))
        for sigma in ("3", "3.3", "2.7")
    }
    assert [fits(p) for p in scores.values()] == [True, False, False]


def test_both_names_of_the_sensitivity_mean_what_they_say() -> None:
    assert DiscreteGaussianMechanism(l2_sensitivity=3, rho=1) == DiscreteGaussianMechanism(
        l2_sensitivity_squared=9, rho=1
    )
    assert DiscreteGaussianMechanism(l2_sensitivity_squared=2, rho="1/50").event == DiscreteGaussianNoise(
        l2_sensitivity_squared=2, sigma_squared=Fraction(50)
    )


@pytest.mark.parametrize("values", [1, 5])
def test_a_wanted_accuracy_gives_the_largest_variance_of_six_digits(values) -> None:
    mechanism = DiscreteGaussianMechanism(l2_sensitivity=1, within=20, confidence="0.95", values=values)
    last_digit = Fraction(10) ** (len(str(int(mechanism.event.sigma_squared))) - 6)
    for variance, enough in (
        (mechanism.event.sigma_squared, True),
        (mechanism.event.sigma_squared + last_digit, False),
    ):
        law = by_hand.discrete_gaussian(variance, 300)
        assert ((1 - by_hand.tail(law, 20)) ** values >= mp.mpf("0.95")) is enough


@pytest.mark.parametrize("value", [5, [5], [5, 5, 5]], ids=["a number", "too few", "too many"])
def test_a_vector_has_the_coordinates_that_are_paid_for(value) -> None:
    mechanism = DiscreteGaussianMechanism(l2_sensitivity=1, rho=1, dimension=2)
    with pytest.raises(ParameterError, match="does not have the 2 coordinates"):
        mechanism.release(value)
