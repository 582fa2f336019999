"""The five documents, where they err or waste: each claim of docs/errata.md that a price can show."""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import exp, log, mpf

from accounting import reference
from lapwing.accounting.composition import CompositionRule, advanced_epsilon, compose
from lapwing.accounting.filters.residue import largest_mu_squared
from lapwing.accounting.interpretation import likely_loss
from lapwing.accounting.losses.sampled import amplified_epsilon
from lapwing.accounting.pricing import price
from lapwing.accounting.window import optimal_window
from lapwing.mechanisms import ExponentialMechanism, GaussianMechanism, PermuteAndFlip
from lapwing.vocabulary.event import (
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PureRelease,
    Repeated,
)
from lapwing.vocabulary.guarantee import ApproximateDP

ONE = Fraction(1)
MICRO = Fraction(1, 10**6)
ROOT = Path(__file__).parents[2]
TEST = re.compile(r"^ *def (test_\w+)", re.MULTILINE)


def textbook_variance(epsilon, delta, squared=ONE):
    """Document 001, Theorem 3: 2 ln(5/(4 delta)) Delta^2 / epsilon^2, taken for exactly what a double makes of it."""
    return Fraction(2 * math.log(1.25 / delta)) * squared / Fraction(epsilon) ** 2


def corollary(*, epsilon, times, delta):
    """What Corollary 5 of document 000 lets each of k pure releases spend."""
    return epsilon / math.sqrt(-8 * times * math.log(delta))


@pytest.mark.parametrize(
    ("delta", "first"), [(0.3, 4.97), (0.1, 5.74), (0.01, 6.77), (1e-3, 7.46), (1e-5, 8.42), (1e-6, 8.78), (1e-9, 9.62)]
)
def test_e14_the_textbook_gaussian_breaks_its_promise_beyond_a_certain_epsilon(delta, first) -> None:
    def broken(epsilon):
        loss = price(GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=textbook_variance(epsilon, delta)))
        return loss.delta(epsilon) > delta

    assert not broken(first - 0.02)
    assert broken(first + 0.02)


def test_e14_at_epsilon_twenty_the_textbook_gaussian_is_160_times_worse_than_it_says() -> None:
    noise = GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=textbook_variance(20, 1e-6))
    assert price(noise).delta(20.0) / 1e-6 == pytest.approx(161, abs=1)
    ours = mpf(largest_mu_squared(Fraction(20), MICRO)) ** 0.5
    assert reference.gaussian_delta(ours, 20) <= mpf(10) ** -6


def test_e14_below_one_the_textbook_gaussian_is_a_quarter_too_noisy() -> None:
    textbook = math.sqrt(textbook_variance(1, 1e-6))
    ours = 1 / math.sqrt(largest_mu_squared(ONE, MICRO))
    assert textbook == pytest.approx(5.2988, abs=1e-4)
    assert ours == pytest.approx(4.2247, abs=1e-4)


def test_e13_a_sensitivity_squared_once_too_often_leaves_no_privacy_at_all() -> None:
    """Delta = 0.01: squared twice, the noise is a hundred times too small, and delta is as good as 1."""
    sensitivity_squared = Fraction(1, 10**4)
    right = textbook_variance(Fraction(9, 10), 1e-6, sensitivity_squared)
    wrong = textbook_variance(Fraction(9, 10), 1e-6, sensitivity_squared**2)
    assert math.sqrt(right) == pytest.approx(5.9e-2, rel=0.01)
    assert math.sqrt(wrong) == pytest.approx(5.9e-4, rel=0.01)
    loss = price(GaussianNoise(l2_sensitivity_squared=sensitivity_squared, sigma_squared=wrong))
    assert loss.delta(0.9) > 0.999
    assert loss.epsilon(1e-6) == pytest.approx(224, abs=1)
    fine = price(GaussianNoise(l2_sensitivity_squared=sensitivity_squared, sigma_squared=right))
    assert fine.delta(0.9) < 1e-6


@pytest.mark.parametrize(("epsilon", "advanced", "optimal"), [("0.5", 58.7, 33.3), ("0.9", 178.7, 72.0)])
def test_e10_the_advanced_theorem_may_be_worse_than_adding_up(epsilon, advanced, optimal) -> None:
    costs = compose([Repeated(part=PureRelease(epsilon=Fraction(epsilon)), times=100)], delta="1e-6")
    assert costs.by(CompositionRule.ADVANCED).epsilon == pytest.approx(advanced, abs=0.05)
    assert costs.by(CompositionRule.BASIC).epsilon == pytest.approx(100 * float(epsilon))
    assert costs.by(CompositionRule.OPTIMAL).epsilon == pytest.approx(optimal, abs=0.05)
    assert costs.by(CompositionRule.ADVANCED).epsilon > costs.by(CompositionRule.BASIC).epsilon
    assert costs.best.rule is not CompositionRule.ADVANCED


@pytest.mark.parametrize("times", [2, 10, 50, 110, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_e11_the_corollary_is_safe_below_one(times, epsilon, delta) -> None:
    each = corollary(epsilon=epsilon, times=times, delta=delta)
    assert optimal_window(Fraction(each), times).delta(epsilon) <= delta
    assert advanced_epsilon(epsilon=each, times=times, delta=delta) < 0.73 * epsilon


@pytest.mark.parametrize("times", [1, 10, 50, 100, 110])
def test_e11_the_corollary_is_worse_than_dividing_for_fewer_than_eight_log_uses(times) -> None:
    assert times < 8 * math.log(1e6)
    assert corollary(epsilon=0.999, times=times, delta=1e-6) < 0.999 / times


def test_e11_what_each_of_k_uses_may_spend_of_a_total_of_one() -> None:
    """Corollary, dividing, optimum: the table of the errata page."""
    rows = {
        10: (0.030, 0.1, 0.10006),
        50: (0.0135, 0.02, 0.0344),
        100: (0.0095, 0.01, 0.0240),
        1000: (0.003, 0.001, 0.0075),
    }
    for times, (printed, divided, optimum) in rows.items():
        assert corollary(epsilon=0.9999, times=times, delta=1e-6) == pytest.approx(printed, rel=0.02)
        assert 1 / times == pytest.approx(divided)
        assert optimal_window(Fraction(optimum) * Fraction(99, 100), times).delta(1.0) < 1e-6
        assert optimal_window(Fraction(optimum) * Fraction(102, 100), times).delta(1.0) > 1e-6


@pytest.mark.parametrize(("epsilon", "tight", "stated"), [("0.5", 0.281, 0.5), ("0.1", 0.01046, 0.02)])
def test_e17_sampling_amplifies_about_twice_as_well_as_lemma_41_says(epsilon, tight, stated) -> None:
    e = Fraction(epsilon)
    found = float(amplified_epsilon(e, e))
    assert found == pytest.approx(tight, rel=2e-3)
    assert 2 * float(e) ** 2 == pytest.approx(stated)
    assert found < (math.e - 1) * float(e) ** 2 + 1e-15


def test_e17_the_last_line_of_the_printed_proof_is_not_what_is_claimed() -> None:
    """It ends with e^(2 epsilon) where e^(2 epsilon^2) is claimed; the side of removal is always the smaller one."""
    e = mpf("0.3")
    found = amplified_epsilon(Fraction("0.3"), Fraction("0.3"))
    reached = mpf(found.numerator) / found.denominator
    assert reached < 2 * e * e < 2 * e
    assert -log(1 - e * (1 - exp(-e))) < reached


def test_e16_gaussians_need_no_advanced_composition() -> None:
    """A hundred Gaussians of mu = 0.1 are one of mu = 1, exactly; every general rule says more."""
    hundred = Repeated(part=GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=Fraction(100)), times=100)
    costs = compose([hundred], delta="1e-6")
    exact = reference.solve(lambda e: reference.gaussian_delta(1, e), 1e-6, 20)
    assert price(hundred).gaussian_mu_squared == 1
    assert costs.best.rule is CompositionRule.DISTRIBUTION
    assert exact <= costs.best.epsilon <= exact * (1 + mpf(10) ** -9)
    assert costs.by(CompositionRule.RENYI).epsilon > 1.02 * float(exact)


def test_e18_the_generic_analysis_of_the_exponential_mechanism_wastes_a_factor_of_four_in_rho() -> None:
    selection, generic = (
        price(ExponentialSelection(epsilon=Fraction(1, 10))),
        price(PureRelease(epsilon=Fraction(1, 10))),
    )
    assert float(generic.rho) / float(selection.rho) == pytest.approx(4, rel=0.01)


def test_e6_a_histogram_has_one_sensitivity_per_adjacency() -> None:
    """One joint release at L1 sensitivity 1 (add or remove) or 2 (replace): half the noise, or twice the price."""
    scale = Fraction(10)
    assert price(LaplaceNoise(l1_sensitivity=ONE, scale=scale)).pure_epsilon == Fraction(1, 10)
    assert price(LaplaceNoise(l1_sensitivity=Fraction(2), scale=scale)).pure_epsilon == Fraction(1, 5)


def test_e15_no_single_factor_describes_how_a_gaussian_fails() -> None:
    """ "With probability delta it is c epsilon-DP instead": its loss is unbounded, so no c will do."""
    mu_squared = Fraction(largest_mu_squared(ONE, MICRO))
    loss = price(GaussianNoise(l2_sensitivity_squared=mu_squared, sigma_squared=ONE))
    assert loss.pure_epsilon is None
    for factor in (2, 5, 10):
        assert 0 < loss.delta(float(factor)) < 1e-6


def test_every_test_that_the_page_names_is_there_and_every_erratum_has_one_or_says_why_not() -> None:
    page = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    there = {name for path in (ROOT / "tests").rglob("test_*.py") for name in TEST.findall(path.read_text("utf-8"))}
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 40
    assert named - there == set()
    entries = re.split(r"^\*\*E(?=\d)", page, flags=re.MULTILINE)[1:]
    assert sorted(int(re.match(r"\d+", one)[0]) for one in entries) == [*range(1, 33)]
    assert [one[:40] for one in entries if "`test_" not in one and "No test" not in one] == []


@pytest.mark.parametrize(("epsilon", "times"), [("0.1", 149), (1, 20), (3, 8)])
def test_e26_a_gaussian_exceeds_its_epsilon_many_times_as_often_as_delta_says(epsilon, times) -> None:
    """The loss of Gaussian noise is normal, with mean mu^2/2 and deviation mu: P(loss > eps) = Phi(mu/2 - eps/mu)."""
    mechanism = GaussianMechanism(l2_sensitivity=1, epsilon=epsilon, delta=MICRO)
    mu, above = 1 / mpf(float(mechanism.sigma)), mpf(str(epsilon))
    assert reference.gaussian_delta(mu, above) == pytest.approx(1e-6, rel=1e-3)  # it keeps its promise, and just so
    assert reference.normal(mu / 2 - above / mu) / MICRO == pytest.approx(times, abs=0.5)
    likely, chance = likely_loss(ApproximateDP(epsilon=Fraction(str(epsilon)), delta=MICRO))
    assert reference.normal(mu / 2 - likely / mu) <= chance


def test_e27_permute_and_flip_chooses_better_than_the_exponential_mechanism() -> None:
    ours = PermuteAndFlip(sensitivity=1, candidates=100, epsilon=1).margin("0.95")
    theirs = ExponentialMechanism(sensitivity=1, candidates=100, epsilon=1).margin("0.95")
    assert float(ours) == pytest.approx(13.73, abs=0.01)
    assert float(theirs) == pytest.approx(15.08, abs=0.01)


def test_e28_the_order_of_advanced_composition_hides_a_factor_that_matters() -> None:
    k, epsilon = 100, 0.1
    theorem = math.sqrt(2 * k * math.log(1e6)) * epsilon + k * epsilon * math.expm1(epsilon)
    assert theorem == pytest.approx(6.31, abs=0.01)
    assert advanced_epsilon(epsilon=epsilon, times=k, delta=1e-6) == pytest.approx(theorem, rel=1e-9)
    assert k * epsilon**2 + math.sqrt(k * epsilon**2) == pytest.approx(2)
    assert theorem > 3 * 2


@pytest.mark.parametrize("others", [8, 1000, 100_000])
def test_e29_one_person_moves_a_correlation_from_zero_to_one(others) -> None:
    """The others have all four pairs of 0 and 1 equally often; one more is far away in both."""
    one, two = np.resize([0.0, 1.0, 0.0, 1.0], others), np.resize([0.0, 0.0, 1.0, 1.0], others)
    far = 1e3 * others
    assert np.corrcoef(one, two)[0, 1] == pytest.approx(0, abs=1e-12)
    assert np.corrcoef([*one, far], [*two, far])[0, 1] > 0.999


def test_e31_laplace_noise_by_the_other_norm_loses_more_with_every_count() -> None:
    counts, epsilon = 100, Fraction(1, 2)
    right = price(LaplaceNoise(l1_sensitivity=Fraction(counts), scale=counts / epsilon))
    misread = price(LaplaceNoise(l1_sensitivity=Fraction(counts), scale=Fraction(math.isqrt(counts)) / epsilon))
    assert (right.pure_epsilon, misread.pure_epsilon) == (epsilon, 10 * epsilon)
