"""How far off answers are: computed, against the oracle, closed forms, published tables and the mechanism itself."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from auditor.exact_laws import probability
from lapwing.auditor.outcomes import NO, YES
from lapwing.mechanisms.sparse_vector import stream_accuracy as accuracy
from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.law_probabilities import (
    depth,
    log_at_least,
    log_below,
    mean,
    quadrature,
    reach,
    variance,
)
from lapwing.mechanisms.sparse_vector.pure import AboveThreshold, AdaptiveSparseVector, SparseVector
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import DiscreteLaplace, Geometric, RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from mechanisms.sparse_vector.suspects import COUNTS, NAMES, REALS, shipped, variant_of

ANYTHING = ValueSensitivity.of_anything(sensitivity=1)
LAWS = [Geometric(Fraction(5, 2)), DiscreteLaplace(Fraction(7)), RoundedGaussian(Fraction(4))]


def by_hand(law):
    """The probabilities of all integers that matter, from the definition of the law."""
    x = np.arange(-400, 401)
    match law:
        case Geometric():
            weights = np.where(x >= 0, np.exp(-x / float(law.scale)), 0.0)
        case DiscreteLaplace():
            weights = np.exp(-np.abs(x) / float(law.scale))
        case RoundedGaussian():
            edges = np.array([math.erf((n - 0.5) / float(law.sigma_used) / math.sqrt(2)) for n in range(-400, 402)])
            weights = np.diff(edges)
    return x, weights / weights.sum()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_the_tails_are_those_of_the_law(law) -> None:
    x, weights = by_hand(law)
    at = np.arange(-20.0, 21.0)
    assert np.allclose(np.exp(log_at_least(law, at)), [weights[x >= n].sum() for n in at], atol=1e-12)
    assert np.allclose(np.exp(log_below(law, at)), [weights[x < n].sum() for n in at], atol=1e-12)
    assert mean(law) == pytest.approx(weights @ x, abs=1e-9)
    assert variance(law) == pytest.approx(weights @ x**2 - (weights @ x) ** 2, rel=1e-6)
    points, log_weights = quadrature(law, (), finest=1.0)
    assert np.exp(log_weights).sum() == pytest.approx(1, abs=1e-12)
    assert np.exp(log_weights) @ points == pytest.approx(weights @ x, abs=1e-9)
    for chance in (0.3, 0.01, 1e-6):
        assert weights[x > reach(law, chance)].sum() <= chance < weights[x >= max(reach(law, chance), -399)].sum()
        assert weights[x < -depth(law, chance)].sum() <= chance


@pytest.mark.parametrize(
    "law",
    [Geometric(Fraction(5000)), DiscreteLaplace(Fraction(5000)), RoundedGaussian(Fraction(5000))],
    ids=lambda law: type(law).__name__,
)
def test_a_wide_law_is_integrated_as_well_as_summed(law) -> None:
    points, log_weights = quadrature(law, (70.0,), finest=4000.0)
    assert len(points) < 5000
    assert np.exp(log_weights).sum() == pytest.approx(1, abs=1e-7)
    tail = np.exp(log_weights) @ np.where(points > 69.5, np.exp(-points / 4000), 0.0)
    x = np.arange(70, 400_000)
    density = np.diff(np.exp(log_below(law, np.append(x, 400_000.0))))
    assert tail == pytest.approx(density @ np.exp(-x / 4000), rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-15, -3, 0, 4, 30])
def test_the_chance_of_a_yes_is_what_the_oracle_says(name, value) -> None:
    mechanism = shipped()[name]
    no = probability(variant_of(mechanism), [value], (NO,))
    assert mechanism.chance_of_yes(value) == pytest.approx(1 - no, abs=1e-12)
    assert mechanism.chance_of_yes(value + 3, threshold=3) == pytest.approx(1 - no, abs=1e-12)


def test_the_chance_of_a_yes_on_a_grid_is_that_of_its_lattice() -> None:
    mechanism = shipped(REALS, grid="1/4")["gap"]
    no = probability(variant_of(mechanism), [Fraction(-3, 4)], (NO,))
    assert mechanism.chance_of_yes("-0.7") == pytest.approx(1 - no, abs=1e-12)


@pytest.mark.parametrize("name", ["above threshold", "bare", "two-sided"])
def test_the_chance_that_all_are_right_is_what_the_oracle_says(name) -> None:
    mechanism = shipped()[name]
    below, above = 7, mechanism.yeses
    here = probability(variant_of(mechanism), [-9] * below + [9] * above, (NO,) * below + (YES,) * above)
    found = mechanism.chance_all_right(9, questions=below + above)
    assert found == pytest.approx(here, rel=1e-9)


def test_an_adaptive_stream_is_right_as_often_as_its_sampled_self() -> None:
    mechanism = AdaptiveSparseVector(epsilon=1, yeses=2, threshold=0, sensitivity=COUNTS, clear_by=12)
    expected = mechanism.chance_all_right(10, questions=12)
    trials = 4000
    right = 0
    for _ in range(trials):
        answers = mechanism.open().ask_many([-10] * 10 + [10] * 2)
        right += [bool(answer) for answer in answers] == [False] * 10 + [True] * 2
    assert 0.5 < expected < 0.8
    assert binom.cdf(right, trials, expected) > 1e-10
    assert binom.sf(right - 1, trials, expected) > 1e-10
    assert binom.cdf(right, trials, expected * 1.2) < 1e-9 > binom.sf(right - 1, trials, expected * 0.8)


@pytest.mark.parametrize(
    ("yeses", "moves", "placed", "printed"),
    [
        (1, ANYTHING, 17.9, 34.7),
        (1, COUNTS, 11.5, 18.4),
        (10, ANYTHING, 118.1, 338.9),
        (10, COUNTS, 64.8, 169.6),
        (50, ANYTHING, 521, 1694),
        (50, COUNTS, 272, 847),
    ],
    ids=["1", "1 counts", "10", "10 counts", "50", "50 counts"],
)
def test_the_margins_are_those_computed_for_continuous_noise(yeses, moves, placed, printed) -> None:
    """At epsilon 1 and 1000 questions, 90 %: figures that were computed before this code was written."""
    ours = SparseVector(epsilon=1, yeses=yeses, threshold=0, sensitivity=moves).placed_for(1000)
    textbook = SparseVector(
        epsilon=1, yeses=yeses, threshold=0, sensitivity=moves, noise=SparseVectorNoise.LAPLACE, threshold_share="1/2"
    )
    assert float(ours.margin("0.9", questions=1000)) == pytest.approx(placed, abs=1, rel=0.01)
    assert float(textbook.margin("0.9", questions=1000)) == pytest.approx(printed, abs=1.5, rel=0.01)


def test_the_margin_is_the_first_at_which_the_confidence_is_reached() -> None:
    mechanism = SparseVector(epsilon=1, yeses=3, threshold=0, sensitivity=COUNTS, grid="1/2").placed_for(50)
    margin = mechanism.margin("0.9", questions=50)
    assert mechanism.chance_all_right(margin, questions=50) >= 0.9
    assert mechanism.chance_all_right(margin - Fraction(1, 2), questions=50) < 0.9


def test_the_theorem_holds_and_is_a_little_looser_than_the_truth() -> None:
    for mechanism in [
        *shipped().values(),
        GaussianSparseVector(
            threshold_sigma=9, query_sigma=20, yeses=3, questions=100, threshold=0, sensitivity=COUNTS
        ),
    ]:
        guaranteed = mechanism.guaranteed_margin("0.9", questions=100)
        assert mechanism.margin("0.9", questions=100) <= guaranteed <= 3 * mechanism.margin("0.9", questions=100)


def test_the_theorem_about_one_sided_noise_is_half_of_two_scales() -> None:
    mechanism = SparseVector(epsilon="0.1", yeses=5, threshold=0, sensitivity=ANYTHING)
    b1, b2 = (float(law.scale) for law in (mechanism.rule.threshold_noise, mechanism.rule.comparisons[0].noise))
    middle = (b2 * math.log(2 * 995 / 0.05) - b1 * math.log(2 / 0.05)) / 2
    placed = accuracy.lifted(mechanism.rule, round(middle) - mechanism.rule.comparisons[0].bar)
    expected = (b2 * math.log(2 * 995 / 0.05) + b1 * math.log(2 / 0.05)) / 2
    assert accuracy.guaranteed_margin(placed, below=995, above=5, beta=0.05) == pytest.approx(expected, abs=2)


def test_textbook_theorems_are_true_of_the_textbook_mechanism_and_loose() -> None:
    """8 (ln k + ln(2/beta))/epsilon: Dwork, Roth (2014), Theorem 3.24. (k/epsilon) ln(k/beta): Laplace noise on all."""
    printed = AboveThreshold.as_printed(epsilon=1, threshold=0, sensitivity=1)
    for k in (10, 100, 1000):
        theorem = 8 * (math.log(k) + math.log(2 / 0.05))
        truth = float(printed.margin("0.95", questions=k))
        assert 2 * truth < theorem < 3.2 * truth
    alone = 100 / 2 * math.log(100 / 0.05)
    assert 1 - (1 - math.exp(-alone * 2 / 100)) ** 100 <= 0.05  # what the slides print fails this at epsilon 2
    slides = 50 * math.log(50 / 0.05)
    assert 1 - (1 - math.exp(-slides * 2 / 100)) ** 100 > 0.09


def test_the_smallest_epsilon_for_a_margin_reaches_it_and_less_does_not() -> None:
    stream = SparseVector(epsilon=1, yeses=5, threshold=200, sensitivity=COUNTS)
    priced = stream.for_margin(50, questions=200, confidence="0.9")
    assert priced.margin("0.9", questions=200) <= 50
    cheaper = stream.for_margin(51, questions=200, confidence="0.9")
    assert cheaper.epsilon <= priced.epsilon < 1
    thousandth = priced.epsilon * Fraction(99, 100)
    less = SparseVector(epsilon=thousandth, yeses=5, threshold=200, sensitivity=COUNTS).placed_for(200)
    assert less.margin("0.9", questions=200) > 50
    assert (priced.yeses, priced.threshold, priced.questions) == (5, 200, 200)


def test_margins_that_no_epsilon_gives_are_refused_and_very_wide_ones_take_the_least_there_is() -> None:
    coarse = SparseVector(epsilon=1, yeses=1, threshold=0, sensitivity=COUNTS, grid=4)
    with pytest.raises(ParameterError, match="finer grid"):
        coarse.for_margin("0.5", questions=5)
    wide = SparseVector(epsilon=1, yeses=1, threshold=0, sensitivity=COUNTS).for_margin(10**14, questions=5)
    assert 0 < wide.epsilon < Fraction(1, 10**10)
    with pytest.raises(ParameterError, match="questions"):
        coarse.for_margin(5, questions=0)


def test_placing_helps_a_search_and_is_undone_by_placing_anew() -> None:
    for kind in (SparseVector, AdaptiveSparseVector):
        stream = kind(epsilon=1, yeses=5, threshold=0, sensitivity=COUNTS)
        placed = stream.placed_for(1000)
        assert placed.margin("0.9", questions=1000) < stream.margin("0.9", questions=1000)
        assert placed.placed_for(1000).shift == pytest.approx(placed.shift, abs=1)


def test_margins_of_nothing_are_refused() -> None:
    stream = SparseVector(epsilon=1, yeses=5, threshold=0, sensitivity=COUNTS)
    for wrong in (
        {"questions": 0},
        {"questions": 10, "above": 6},
        {"questions": 10, "confidence": 1},
        {"questions": 10, "confidence": "0.99999999999999999999"},
        {"questions": None},
    ):
        with pytest.raises(ParameterError):
            stream.margin(**wrong)
    assert stream.margin(questions=3, above=0) < stream.margin(questions=300, above=0)
    assert stream.placed_for(300).margin("0.9") == stream.placed_for(300).margin("0.9", questions=300)


def test_the_theorem_holds_for_two_sided_noise_however_small() -> None:
    for epsilon in ("2", "3", "5"):
        stream = SparseVector(
            epsilon=epsilon, yeses=1, threshold=0, sensitivity=COUNTS, noise=SparseVectorNoise.LAPLACE
        )
        for confidence in ("0.5", "0.6", "0.7", "0.8", "0.9", "0.99"):
            for above in (0, 1):
                within = stream.guaranteed_margin(confidence, questions=1, above=above)
                assert stream.chance_all_right(within, questions=1, above=above) >= float(confidence) - 1e-9


def test_a_margin_is_that_of_a_number_of_questions() -> None:
    open_ended = SparseVector(epsilon=1, yeses=1, threshold=10, sensitivity=COUNTS)
    with pytest.raises(ParameterError, match="questions = None are not counted; say how many will be asked"):
        open_ended.margin("0.9")
