"""What an attacker can believe: attained bounds, and the two documents' examples."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting import reference
from lapwing.accounting.interpretation import (
    INFORMED,
    belief_drift,
    belief_range,
    best_true_positive_rate,
    budget_concerns,
    compare_worlds,
    likely_loss,
    name_and_shame,
)
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease, GaussianNoise, LaplaceNoise, PureRelease, Repeated
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP

ONE = Fraction(1)
MICRO = Fraction(1, 10**6)


def told(bit, answer, epsilon):
    """The probability that randomized response says `answer`."""
    return math.exp(epsilon * (bit == answer)) / (1 + math.exp(epsilon))


def test_the_factor_of_two_is_attained() -> None:
    """Two people's exclusive or by randomized response, and an attacker who is almost sure that both have the trait.

    With the first one's data left out (0), the answer is about the second alone. Document 004, Theorem 2.1.
    """
    prior = {(1, 1): 1 - 1e-9, (1, 0): 1e-9}
    worlds = compare_worlds(prior, lambda t: told(t[0] ^ t[1], 1, 1.0), lambda t: (0, t[1]))
    assert worlds.distance <= 2.0
    assert worlds.distance == pytest.approx(1.9999999976, abs=2e-9)


@given(
    st.lists(st.floats(0.001, 1), min_size=8, max_size=8),
    st.floats(0.05, 3),
    st.integers(0, 1),
    st.lists(st.integers(0, 1), min_size=8, max_size=8),
)
def test_no_prior_and_no_question_beats_twice_epsilon(weights, epsilon, answer, bits) -> None:
    """Three people, any dependence between them, any yes-or-no question to the table, answered by a coin."""
    tables = list(product((0, 1), repeat=3))
    prior, question = dict(zip(tables, weights, strict=True)), dict(zip(tables, bits, strict=True)).__getitem__
    worlds = compare_worlds(prior, lambda t: told(question(t), answer, epsilon), lambda t: (0, *t[1:]))
    assert worlds.distance <= 2 * epsilon * (1 + 1e-12)
    assert sum(worlds.with_data.values()) == pytest.approx(1)


def test_what_is_learned_about_everybody_is_learned_without_her_too() -> None:
    """A study finds the link; the insurer's belief about Alice moves from a half to over nine tenths, either way."""
    prior = {("linked", 1): 0.5, ("unlinked", 1): 0.25, ("unlinked", 0): 0.25}
    worlds = compare_worlds(prior, lambda t: 0.95 if t[0] == "linked" else 0.05, lambda t: (t[0], None))
    assert worlds.with_data["linked", 1] == worlds.without_data["linked", 1] > 0.9
    assert worlds.distance == 0.0


def test_naming_and_shaming_is_beyond_every_factor() -> None:
    """Additive secrecy is as small as one likes, yet who is named is known for sure (document 004, Exercise 2.3)."""
    prior = {0: 0.999, 1: 0.001}
    worlds = compare_worlds(prior, lambda record: 1e-6 if record == 1 else 0.0, lambda _: 1)
    assert worlds.with_data == {0: 0.0, 1: 1.0}
    assert math.isinf(worlds.distance)
    loss = price(ApproximateRelease(epsilon=Fraction(1, 10**9), delta=Fraction(1, 1000)))
    assert loss.delta(0.0) == pytest.approx(1e-3, rel=1e-5)
    shamed = name_and_shame(people=5000, delta="1e-3")
    assert shamed.expected == 5
    assert shamed.probability == pytest.approx(1 - 0.999**5000)


@pytest.mark.parametrize("prior", [{}, {"a": -1.0}, {"a": 0.0}], ids=["empty", "negative", "zero"])
def test_a_prior_is_a_distribution(prior) -> None:
    with pytest.raises(ParameterError, match="is not a distribution"):
        compare_worlds(prior, lambda _: 1.0, lambda t: t)


def test_an_impossible_answer_teaches_nothing() -> None:
    with pytest.raises(ParameterError, match="is zero on every table"):
        compare_worlds({"a": 1.0}, lambda _: 0.0, lambda t: t)


@given(st.floats(0.001, 0.999), st.floats(0.01, 5))
def test_an_attacker_who_knows_all_others_gains_a_factor_of_e_to_the_epsilon_in_odds(prior, epsilon) -> None:
    low, high = belief_range(prior, epsilon)
    for answer in (0, 1):
        belief = prior * told(1, answer, epsilon)
        belief /= belief + (1 - prior) * told(0, answer, epsilon)
        assert low - 1e-12 <= belief <= high + 1e-12
    assert belief_range(prior, epsilon)[1] == pytest.approx(
        prior * math.exp(epsilon) / (prior * math.exp(epsilon) + 1 - prior)
    )


@given(st.floats(0.001, 0.999), st.floats(0.01, 3))
def test_the_drift_of_a_belief_keeps_to_both_bounds(belief, epsilon) -> None:
    low, high = belief_drift(belief, epsilon)
    assert 0 <= low <= belief <= high <= 1
    assert high <= belief * math.exp(2 * epsilon) * (1 + 1e-9)
    assert 1 - low <= (1 - belief) * math.exp(2 * epsilon) * (1 + 1e-9)


@given(st.floats(0.01, 5), st.floats(1e-9, 0.05), st.floats(1.01, 19))
def test_a_loss_is_rarely_larger_than_said_and_an_event_attains_it(epsilon, delta, times) -> None:
    """An event of probability q with her, and q e^-likely without, is just what (epsilon, delta) allows."""
    guarantee = ApproximateDP(epsilon=Fraction(epsilon), delta=Fraction(delta))
    likely, chance = likely_loss(guarantee, but_for=Fraction(delta * times))
    with_her, without = float(chance), float(chance) * math.exp(-likely)
    assert with_her - math.exp(epsilon) * without == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("chance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 4.0])
def test_the_loss_of_a_gaussian_is_rarely_larger_than_said(mu, chance) -> None:
    for guarantee in (ConcentratedDP(rho=Fraction(mu) ** 2 / 2), GaussianDP(mu_squared=Fraction(mu) ** 2)):
        likely, _ = likely_loss(guarantee, but_for=Fraction(chance))
        assert reference.normal(mu / 2 - likely / mu) <= chance
        assert reference.normal(mu / 2 - 0.7 * likely / mu) > chance  # so that it is not far too large


def test_a_loss_that_is_exceeded_nearly_always_is_rounded_up_as_well() -> None:
    rho, rest = Fraction(1, 10**6), Fraction(1, 10**18)  # no float tells 1 - 1e-18 from 1
    least = float(rho) + 2 * math.sqrt(float(rho * rest))  # -log(1 - x) is above x
    assert likely_loss(ConcentratedDP(rho=rho), but_for=1 - rest)[0] >= least
    assert likely_loss(ApproximateDP(epsilon=rho, delta=rest), but_for=1 - rest)[0] >= float(rho) + float(rest)


def test_the_loss_of_a_budget_is_told_with_how_rare_a_larger_one_is() -> None:
    assert likely_loss(PureDP(epsilon=ONE)) == (1.0, 0)
    likely, chance = likely_loss(ApproximateDP(epsilon=ONE, delta=MICRO))
    assert (likely, chance) == (pytest.approx(1 + math.log(10 / 9)), 10 * MICRO)
    likely, chance = likely_loss(ConcentratedDP(rho=Fraction(1, 2)))
    assert (likely, chance) == (pytest.approx(0.5 + math.sqrt(2 * math.log(1e6))), MICRO)
    assert likely_loss(ApproximateDP(epsilon=ONE, delta=Fraction(1, 5)))[1] < 1
    with pytest.raises(ParameterError, match="is not above delta, 1e-06"):
        likely_loss(ApproximateDP(epsilon=ONE, delta=MICRO), but_for=MICRO)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5])
def test_the_best_test_against_gaussian_noise_is_neyman_and_pearsons(mu, rate) -> None:
    loss = price(GaussianNoise(l2_sensitivity_squared=Fraction(mu) ** 2, sigma_squared=ONE))
    quantile = reference.solve(lambda z: reference.normal(-z), rate, 10) if rate < 0.5 else 0
    truth = float(reference.normal(mu - quantile))
    assert truth <= best_true_positive_rate(loss, rate) <= truth * (1 + 1e-3)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.4])
def test_the_best_test_against_a_coin_is_to_believe_it(rate) -> None:
    loss = price(PureRelease(epsilon=ONE))
    lie = 1 / (1 + math.e)
    truth = min(rate * math.e, 1 - (1 - rate) / math.e)
    assert best_true_positive_rate(loss, rate) == pytest.approx(truth, rel=1e-6)
    assert best_true_positive_rate(loss, lie) == pytest.approx(1 - lie, rel=1e-6)


def test_the_best_test_against_laplace_noise_lies_between_guessing_and_the_pure_bound() -> None:
    loss = price(Repeated(part=LaplaceNoise(l1_sensitivity=ONE, scale=Fraction(10)), times=20))
    rate = best_true_positive_rate(loss, "0.01")
    assert 0.01 < rate < 0.01 * math.exp(2)


@pytest.mark.parametrize(
    ("guarantee", "people", "concern"),
    [
        (ApproximateDP(epsilon=ONE, delta=Fraction(1, 10**9)), 10_000, None),
        (ApproximateDP(epsilon=ONE, delta=Fraction(1, 10_000)), 10_000, "publishes 1 of them in the clear"),
        (ApproximateDP(epsilon=ONE, delta=Fraction(1, 10_001)), 10_000, None),
        (PureDP(epsilon=Fraction(1, 200)), 100, "the answers would be noise"),
        (PureDP(epsilon=Fraction(1, 50)), 100, None),
        (ConcentratedDP(rho=Fraction(1, 10**6)), 100, "the answers would be noise"),
        (GaussianDP(mu_squared=Fraction(1, 10**6)), 100, "the answers would be noise"),
        (PureDP(epsilon=Fraction(20)), 100, "lets an attacker's odds grow"),
        (PureDP(epsilon=Fraction(2000)), 100, "lets an attacker's odds grow"),
    ],
)
def test_a_budget_that_promises_or_allows_too_little_is_told(guarantee, people, concern) -> None:
    found = budget_concerns(guarantee, people)
    assert len(found) == (concern is not None)
    assert all(concern in one for one in found)


def test_what_is_told_has_its_numbers_in_it() -> None:
    (told,) = budget_concerns(ApproximateDP(epsilon=ONE, delta=Fraction(1, 1000)), people=5000)
    assert all(part in told for part in ("0.001", "5,000 people", "publishes 5 of them", "2e-06"))
    (told,) = budget_concerns(PureDP(epsilon=Fraction(1, 1000)), people=100)
    assert "1.11" in told


@pytest.mark.parametrize(
    ("guarantee", "factor", "but_for"),
    [
        (PureDP(epsilon=Fraction(20)), "485 million", None),
        (ApproximateDP(epsilon=Fraction(20), delta=Fraction(1, 10**6)), "539 million", "one case in 100,000"),  # 10/9
        (ConcentratedDP(rho=Fraction(2)), "272,000", "one case in 1,000,000"),  # 2 + 2 sqrt(2 ln(10^6))
    ],
)
def test_odds_are_those_of_whom_they_are_bounded_for_and_rare_cases_are_named(guarantee, factor, but_for) -> None:
    (told,) = budget_concerns(guarantee, people=10_000)
    assert f"by a factor of {factor}, those of {INFORMED}" in told
    assert ("but for" in told) == (but_for is not None)
    assert but_for is None or but_for in told
