"""The liars of a single release: each is computed to lose more than it claims, by as much as is known."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from audit.broken_mechanisms import ONE_SHOT_LIARS as PROGRAMS
from lapwing.auditor.liars import ONE_SHOT_LIARS, textbook_sigma
from lapwing.vocabulary.guarantee import PureDP
from statistical.goodness import fits, p_value

SAMPLES = 200_000
BY_NAME = {liar.name: liar for liar in ONE_SHOT_LIARS}
FOUND = {}


def found(name):
    if name not in FOUND:
        FOUND[name] = BY_NAME[name].box.worst(BY_NAME[name].claim)
    return FOUND[name]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_liar_is_caught(name) -> None:
    assert found(name).refuted
    assert found(name).finding(name).refuted


def test_the_textbook_gaussian_loses_161_times_its_delta_at_epsilon_20() -> None:
    sigma = textbook_sigma(20, 1e-6)
    exact = norm.cdf(0.5 / sigma - 20 * sigma) - math.exp(20) * norm.cdf(-0.5 / sigma - 20 * sigma)
    lost = found("takes_the_textbook_gaussian_at_large_epsilon").delta
    assert exact / 1e-6 == pytest.approx(161, abs=0.5)
    assert 0.99 * exact <= lost <= exact


def test_the_textbook_gaussian_keeps_its_claim_where_the_textbook_says_so() -> None:
    sigma = textbook_sigma(1, 1e-6)
    assert norm.cdf(0.5 / sigma - sigma) - math.e * norm.cdf(-0.5 / sigma - sigma) < 1e-6


def test_a_squared_sensitivity_loses_epsilon_224() -> None:
    assert found("squares_the_sensitivity").number == pytest.approx(224, abs=0.5)


def test_half_the_noise_loses_twice_the_epsilon() -> None:
    assert found("adds_half_the_laplace_noise").number == pytest.approx(2, abs=1e-12)


def test_an_inclusive_threshold_loses_e_to_the_epsilon_times_what_the_exclusive_one_does() -> None:
    at_threshold = math.exp(-13) / (1 + math.exp(-1))
    lost = found("shows_keys_at_the_threshold_and_not_only_above_it").delta
    assert lost == pytest.approx(at_threshold, rel=1e-9)
    assert lost / math.e < 1e-6 < lost


def test_two_counts_that_are_paid_as_one_lose_half_an_epsilon_more() -> None:
    """The choice costs a half, and two counts that are each moved by one lose a half each."""
    assert found("counts_what_it_chose_with_the_noise_of_one_count").number == pytest.approx(1.5, abs=1e-9)


def test_names_and_floats_are_beyond_any_epsilon() -> None:
    assert found("names_and_shames").delta == pytest.approx(1e-3)
    assert found("names_and_shames").number == found("adds_laplace_noise_in_floating_point").number == math.inf
    assert isinstance(BY_NAME["adds_laplace_noise_in_floating_point"].claim, PureDP)


STAR_LADDER = "counts_stars_on_a_ladder_of_the_two_largest_degrees"


def test_a_star_ladder_that_is_none_breaks_a_condition_and_loses_1_0441_on_five_people() -> None:
    assert found(STAR_LADDER).number == pytest.approx(1.0441, abs=5e-5)
    assert "above the next width" in BY_NAME[STAR_LADDER].box.broken[0]


def test_the_program_of_the_star_ladder_has_the_law_that_was_computed() -> None:
    laws = found(STAR_LADDER).laws()
    truths = ("(1, 2)]" in laws.inputs[0] and "(0, 1)" in laws.inputs[0], True)
    grid = np.array([one for one in laws.outcomes if isinstance(one, int)])
    for joined, law in zip(truths, (laws.here, laws.there), strict=True):
        answers = PROGRAMS[STAR_LADDER](joined, np.random.default_rng(6), SAMPLES)
        counts = np.array([np.count_nonzero(answers == number) for number in range(-30, 31)])
        chances = np.exp(law[: grid.size])[np.isin(grid, np.arange(-30, 31))]
        assert fits(p_value(np.append(counts, SAMPLES - counts.sum()), chances))


def test_every_program_has_a_description_and_every_description_a_program() -> None:
    assert list(PROGRAMS) == list(BY_NAME)


def binned(answers, edges):
    return np.histogram(answers, [-np.inf, *edges, np.inf])[0]


LAWS = {
    "takes_the_textbook_gaussian_at_large_epsilon": (norm.cdf, textbook_sigma(20, 1e-6)),
    "squares_the_sensitivity": (norm.cdf, textbook_sigma(0.9, 1e-6, 0.01**2)),
    "adds_half_the_laplace_noise": (
        lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.abs(x)) / 2),
        0.5,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_program_adds_the_noise_of_its_description_and_not_a_little_more(name) -> None:
    cdf, scale = LAWS[name]
    answers = PROGRAMS[name](0, np.random.default_rng(3), SAMPLES)
    edges = scale * np.linspace(-2, 2, 21)
    for times, right in ((1.0, True), (1.05, False)):
        chances = np.diff([0.0, *cdf(edges / scale / times), 1.0])
        assert fits(p_value(binned(answers, edges), chances)) is right


def test_the_programs_of_keys_and_names_say_what_they_should() -> None:
    rng = np.random.default_rng(4)
    shown = PROGRAMS["shows_keys_at_the_threshold_and_not_only_above_it"](14, rng, SAMPLES)
    assert shown[~np.isnan(shown)].min() == 14
    assert np.isnan(shown).mean() == pytest.approx(1 / (1 + math.e), abs=0.01)  # noise below 0
    named = PROGRAMS["names_and_shames"](1, rng, SAMPLES)
    assert set(named[~np.isnan(named)].tolist()) == {1.0}


def test_the_program_in_floats_reaches_from_one_count_what_it_cannot_from_the_other() -> None:
    """The event of Mironov: a small answer whose last bit is below 2^-53."""
    draw = PROGRAMS["adds_laplace_noise_in_floating_point"]
    fine = [
        np.count_nonzero((np.abs(answers) < 0.25) & (np.fmod(answers, 2.0**-53) != 0))
        for answers in (draw(count, np.random.default_rng(5), SAMPLES) for count in (0, 1))
    ]
    assert fine[0] > 0.1 * SAMPLES
    assert fine[1] == 0
