from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.gaussian import GaussianMechanism
from mechanisms import laws_by_hand as by_hand
from mechanisms.laws_by_hand import mp
from statistical.goodness import fits, integer_p_value


def analytic_delta(sensitivity, sigma, epsilon) -> mp.mpf:
    """Balle and Wang 2018, Theorem 8, in fifty digits."""
    a, b = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return mp.ncdf(a - b) - mp.exp(epsilon) * mp.ncdf(-a - b)


def sigma_of(mechanism) -> mp.mpf:
    return mp.sqrt(by_hand.number(mechanism.event.sigma_squared))


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), (1, "1e-6"), (1, "1e-12"), (20, "1e-6"), (5, "0.1")])
@pytest.mark.parametrize("sensitivity", [1, "0.01"])
def test_the_analytic_sigma_is_taken_to_nine_digits(sensitivity, epsilon, delta) -> None:
    mechanism = GaussianMechanism(l2_sensitivity=sensitivity, epsilon=epsilon, delta=delta)
    move = mp.sqrt(by_hand.number(mechanism.event.l2_sensitivity_squared))
    rate, failure = by_hand.number(epsilon), by_hand.number(delta)
    assert analytic_delta(move, sigma_of(mechanism), rate) <= failure
    assert analytic_delta(move, sigma_of(mechanism) * (1 - mp.mpf("3e-9")), rate) > failure


def test_the_textbook_sigma_fails_where_epsilon_is_large_and_ours_does_not() -> None:
    """Erratum: sigma = Δ sqrt(2 ln(1.25/δ))/ε has no meaning at ε = 20."""
    textbook = mp.sqrt(2 * mp.log(mp.mpf("1.25e6"))) / 20
    assert analytic_delta(1, textbook, 20) > mp.mpf("160e-6")
    ours = GaussianMechanism(l2_sensitivity=1, epsilon=20, delta="1e-6")
    assert analytic_delta(1, sigma_of(ours), 20) <= mp.mpf("1e-6")


def test_the_textbook_sigma_wastes_a_quarter_at_epsilon_one() -> None:
    ours = GaussianMechanism(l2_sensitivity=1, epsilon=1, delta="1e-6")
    assert mp.mpf("1.25") < mp.sqrt(2 * mp.log(mp.mpf("1.25e6"))) / sigma_of(ours) < mp.mpf("1.26")


def test_a_sensitivity_is_never_squared_twice() -> None:
    """Erratum: with Δ = 0.01 read as Δ², the noise shrinks a hundredfold and δ becomes almost 1."""
    ours = GaussianMechanism(l2_sensitivity="0.01", epsilon="0.9", delta="1e-6")
    again = GaussianMechanism(l2_sensitivity_squared="0.0001", epsilon="0.9", delta="1e-6")
    assert ours.event == again.event
    assert analytic_delta(mp.mpf("0.01"), sigma_of(ours), mp.mpf("0.9")) <= mp.mpf("1e-6")
    assert analytic_delta(mp.mpf("0.01"), sigma_of(ours) / 100, mp.mpf("0.9")) > mp.mpf("0.999")


@pytest.mark.parametrize("start", [0.0, 0.12, -7.3])
@pytest.mark.parametrize("move", [0.25, 0.3])
def test_the_law_of_the_answers_keeps_the_price(start, move) -> None:
    """On a grid of quarters, so that every outcome can be walked through; values off the grid included."""
    mechanism = GaussianMechanism(l2_sensitivity=str(move), epsilon=1, delta="1e-4", grid="1/4")
    assert mechanism.event.l2_sensitivity_squared == (Fraction(1, 16) if move == 0.25 else Fraction(1, 4))
    law = by_hand.rounded_gaussian(4 * Fraction(mechanism.sigma), 90)
    both = (by_hand.released_law(mechanism, value, law) for value in (start, start + move))
    assert by_hand.delta(*both, 1) <= mp.mpf("1e-4") + 2 * by_hand.tail(law, 85)


def test_noise_of_the_sigma_that_was_asked_for_is_added_and_no_other() -> None:
    mechanism = GaussianMechanism(l2_sensitivity=1, sigma="0.75", dimension=300_000, grid="1/4")
    sample = ((mechanism.release(np.full(300_000, -2.5)) + 2.5) * 4).astype(np.int64)
    scores = {
        sigma: integer_p_value(sample, *by_hand.as_array(by_hand.rounded_gaussian(sigma, 40)))
        for sigma in ("3", "3.3", "2.7")
    }
    assert [fits(p) for p in scores.values()] == [True, False, False]


@pytest.mark.parametrize("value", [0.0, 1.0, 1 / 3, Fraction(1, 3), 7, 1e9])
def test_answers_are_multiples_of_one_step_whatever_the_value(value) -> None:
    mechanism = GaussianMechanism(l2_sensitivity=1, rho="0.5")
    for answer in (mechanism.release(value) for _ in range(200)):
        assert isinstance(answer, float)
        assert (Fraction(answer) / mechanism.grid.step).denominator == 1


def test_rho_is_kept_and_hardly_wasted() -> None:
    for sensitivity, rho in ((1, "0.1"), ("1/3", "2"), (1000, "1e-4")):
        mechanism = GaussianMechanism(l2_sensitivity=sensitivity, rho=rho)
        assert mechanism.rho == Fraction(rho)
        assert mechanism.sigma**2 * 2 * float(Fraction(rho)) < float(Fraction(sensitivity)) ** 2 * (1 + 1e-5)


def test_many_coordinates_cost_little_more() -> None:
    ideal = 1 / (3 * 2**0.5)
    assert ideal <= GaussianMechanism(l2_sensitivity="1/3", rho=1, dimension=1000).sigma < ideal * 1.001


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.9999"])
def test_a_wanted_accuracy_holds_for_values_off_the_grid(confidence) -> None:
    mechanism = GaussianMechanism(l2_sensitivity=1, within="2.5", confidence=confidence, grid="1/8")
    sigma = 8 * Fraction(mechanism.sigma)
    assert 1 - by_hand.tail(by_hand.rounded_gaussian(sigma, 300), 19) >= by_hand.number(confidence)
    wider = by_hand.rounded_gaussian(sigma * Fraction(100_002, 100_000), 300)
    assert 1 - by_hand.tail(wider, 19) < by_hand.number(confidence)
