"""Posteriors: the exact law of the noise, for nothing; one draw of one, at its price."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from lapwing.auditor import audit
from lapwing.bayes.posterior import NoiseLikelihood, mean_posterior, number_posterior, proportion_posterior
from lapwing.ledger.replay import verify
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.tempered_likelihood import PosteriorDraw
from lapwing.queries.planning.plan import Scale
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.moments import Moments
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PureDP
from session.clinic import FixedNumber, door, new_ledger, population, spent
from session.real_tables import Tables

BUDGETS = (
    PureDP(epsilon=Fraction(100)),
    ConcentratedDP(rho=Fraction(100)),
    ApproximateDP(epsilon=Fraction(100), delta=Fraction(1, 10**6)),
)
KNOWN = {"about": "it", "sources": frozenset({("here",)})}
LAPLACE = NoiseLikelihood.of(DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(2)))


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "rho", "delta"])
def test_posteriors_of_all_kinds_under_every_budget_cost_nothing(quick_path, budget) -> None:
    with new_ledger(quick_path, budget) as ledger:
        clinic = door(ledger, Tables())
        several = clinic.ask(lw.count("patients", by="sex"), epsilon=1)
        share = clinic.ask(lw.proportion("patients", "survivor", by="sex"), epsilon=1)
        ages = clinic.ask(lw.mean("patients", "age"), epsilon=1)
        before = ledger.account("clinic")
        women, men = (several.posterior(row=sex) for sex in "FM")
        assert 190 < women.median < 210
        low, high = (women / men).interval("0.9999")
        assert low < 1 < high
        assert abs((women - men).mean) < 20
        p = share.posterior(lw.beta(1, 1), row="F")
        assert p.interval("0.9999").low < 0.2 < p.interval("0.9999").high
        assert 0.1 < (p / share.posterior(row="M")).median < 3
        assert ages.posterior().interval("0.9999").low < 49.5 < ages.posterior().interval("0.9999").high
        assert ages.posterior(lw.flat(49, 50)).interval().low >= 49
        assert dict(p.facts())["cost"].startswith("nothing")
        assert ledger.account("clinic") == before
        verify(ledger)


def test_the_law_of_a_count_is_bayes_rule_exactly() -> None:
    found = number_posterior(7, LAPLACE, lw.flat(0, 10), 1.0, signed=False, **KNOWN)
    weights = [math.exp(-abs(7 - a) / 2) for a in range(11)]
    assert found.points.tolist() == list(range(11))
    assert np.allclose(found.weights, np.array(weights) / sum(weights), rtol=1e-12)
    assert math.isclose(found.probability(">= 7") + found.probability("< 7"), 1)
    below = number_posterior(-30, LAPLACE, lw.flat(0, 10), 1.0, signed=False, **KNOWN)
    assert below.interval("0.5").low == 0, "nobody is fewer than none"
    by_function = number_posterior(7, LAPLACE, lambda n: (n <= 10) * 1.0, 1.0, signed=False, **KNOWN)
    assert math.isclose(by_function.mean, found.mean, rel_tol=1e-6)


def test_noise_taken_for_gaussian_would_be_another_law() -> None:
    wrong = NoiseLikelihood(width=LAPLACE.width * math.sqrt(2), gaussian=True)
    right, other = (number_posterior(50, law, None, 1.0, signed=False, **KNOWN) for law in (LAPLACE, wrong))
    assert abs(right.interval("0.99").high - other.interval("0.99").high) >= 1


def test_priors_and_numbers_that_were_not_released_are_seen_in_a_posterior() -> None:
    """What is computed from the exact count, or with a prior that is fitted to it, is no post-processing."""
    noise = GeometricMechanism(l1_sensitivity=1, epsilon=1)
    law = NoiseLikelihood.of(noise.event)

    def middle(told, prior):
        return number_posterior(told, law, prior, 1.0, signed=False, **KNOWN).median

    def released(truth):
        return int(noise.release(Sensitive(truth)))

    honest = lambda truth: middle(released(truth), lw.flat(0, 30))  # noqa: E731 - beside the others
    from_the_exact = lambda truth: middle(truth, lw.flat(0, 30))  # noqa: E731
    fitted = lambda truth: middle(released(truth) + 60, lw.flat(0, truth))  # noqa: E731 - it ends where the truth is
    told = [
        audit(one, claim=PureDP(epsilon=1), neighbours=(10, 11), samples=400).refuted
        for one in (honest, from_the_exact, fitted)
    ]
    assert told == [False, True, True]


def test_a_proportion_with_hardly_any_noise_is_a_beta_law() -> None:
    from scipy.stats import beta  # noqa: PLC0415 - slow, and only here

    sharp = NoiseLikelihood(width=0.01, gaussian=False)
    found = proportion_posterior([70, 30], sharp, None, **KNOWN)
    low, high = beta(30.5, 70.5).ppf([0.025, 0.975])
    assert np.allclose(found.interval(), (low, high), atol=2e-4)
    blurred = proportion_posterior([70, 30], NoiseLikelihood(width=20, gaussian=False), None, **KNOWN)
    assert blurred.sd > 1.5 * found.sd, "the noise is part of what is not known"


def test_posteriors_hold_on_average_over_their_prior() -> None:
    """A short version of benchmarks/width_bayes.py: 300 counts and 40 means, at 95 %."""
    noise = GeometricMechanism(l1_sensitivity=1, epsilon="0.2")
    law, hits = NoiseLikelihood.of(noise.event), 0
    for n in range(300):
        truth = (n * 7919) % 101  # each number from 0 to 100 about alike
        told = int(noise.release(Sensitive(truth)))
        low, high = number_posterior(told, law, lw.flat(0, 100), 1.0, signed=False, **KNOWN).interval()
        hits += low <= truth <= high
    assert 270 <= hits <= 299, f"{hits} of 300: fewer than 270 come once in 10,000 times"
    sums, meaning, hits = GeometricMechanism(l1_sensitivity=100, epsilon=1), _ages(), 0
    for n in range(40):
        above = 10_000 * ((n * 37) % 61) // 61
        block = [int(sums.release(Sensitive(one))) for one in (10_000 - above, above)]
        low, high = mean_posterior(block, NoiseLikelihood.of(sums.event), None, meaning, 100, **KNOWN).interval()
        hits += low <= above / 100 <= high
    assert hits >= 31, f"{hits} of 40: fewer than 31 come once in 20,000 times"


def _ages() -> Moments:
    return Moments(moment=Moment.MEAN, scales=(Scale(low=Fraction(0), step=Fraction(1), extent=100),))


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda clinic: clinic.ask(lw.median("patients", "age"), epsilon=1).posterior(), "no likelihood"),
        (lambda clinic: clinic.ask(lw.count("patients"), epsilon=1).posterior(lw.beta(1, 1)), "is for a proportion"),
        (lambda clinic: clinic.ask(lw.count("patients"), epsilon=1).posterior("normal"), "is not a prior"),
        (lambda clinic: clinic.ask(lw.count("patients"), epsilon=1).posterior(lambda _: -1), "does not return weights"),
        (lambda clinic: clinic.ask(lw.count("patients", by="sex"), epsilon=1).posterior(), "say which"),
        (lambda clinic: clinic.ask(lw.count("patients", by="sex"), epsilon=1).posterior(row="X"), "not in this answer"),
        (lambda clinic: clinic.ask(lw.count("patients"), epsilon=1).map(float).posterior(), "before changing"),
        (lambda clinic: clinic.ask(lw.variance("patients", "age"), epsilon=1).posterior(), "several released numbers"),
        (lambda clinic: clinic.ask(lw.count("patients"), epsilon=1).posterior().probability("many"), "is not one"),
        (lambda _: lw.flat(3, 3), "is not above low"),
        (lambda _: lw.beta(0, 1), "yes"),
        (lambda clinic: clinic.ask(lw.proportion("patients", "survivor"), epsilon=1).posterior("x"), "of a proportion"),
    ],
)
def test_what_has_no_posterior_says_why(clinic, ask, match) -> None:
    with pytest.raises((BadQuestionError, ParameterError), match=match):
        ask(clinic)


def test_what_was_computed_from_the_same_numbers_is_not_independent(clinic) -> None:
    answer = clinic.ask(lw.count("patients"), epsilon=1)
    with pytest.raises(BadQuestionError, match="same released numbers"):
        answer.posterior() - answer.posterior(lw.flat(0, 500))
    few = door(clinic.ledger, FixedNumber(0)).ask(lw.count("patients", "age = 3"), epsilon="0.1")
    with pytest.raises(BadQuestionError, match="nothing is divided by that"):
        answer.posterior() / few.posterior()


def test_it_is_drawn_and_told(clinic, tmp_path) -> None:
    found = clinic.ask(lw.count("patients"), epsilon=1).posterior()
    assert found._repr_html_().startswith("<svg")
    assert "free>" in repr(found)
    assert len(found.draws(10)) == 10
    assert found.to_dict()["price"] == "0"
    assert found.plot(tmp_path / "after.svg").exists()


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "rho", "delta"])
def test_one_draw_has_a_price(quick_path, budget) -> None:
    with new_ledger(quick_path, budget) as ledger:
        clinic = door(ledger, Tables())
        answer = clinic.ask(lw.posterior_draw("patients", "survivor"), epsilon=2)
        assert 0.01 <= answer.value <= 0.6
        assert answer.asked.price.epsilon == 2
        with pytest.raises(ParameterError, match="cannot be promised"):
            clinic.preview(lw.posterior_draw("patients", "survivor"), within="0.1")
        with pytest.raises(BadQuestionError, match="no likelihood"):
            answer.posterior()
        if isinstance(budget, PureDP):
            assert spent(ledger) == 2


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_draw_has_the_sensitivity_of_the_rows_that_count(adjacency) -> None:
    planned = plan(lw.posterior_draw("visits", "kind = 'ER'", max_rows=3), population(adjacency, 2))
    draw = planned.meaning.selection(planned, Fraction(1), None)
    bound = -min(min(pair) for pair in draw.scores)
    one_way = adjacency is Adjacency.ADD_REMOVE
    assert draw.chooser.noise_scale >= 6 * bound * (1 if one_way else 2)
    assert draw.temper < 1


def test_the_exact_loss_of_a_draw_stays_within_its_price() -> None:
    """All neighbours of small tables: the law is e^(u/s), computed from the integer scores that are used."""
    draw = PosteriorDraw(points=9, sensitivity=1, epsilon=1, one_way=True)
    scale = float(draw.chooser.noise_scale)

    def law(no: int, yes: int) -> np.ndarray:
        scores = np.array([no * against + yes * for_ for against, for_ in draw.scores]) / scale
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()

    losses = [
        np.abs(np.log(law(no, yes)) - np.log(law(*more))).max()
        for no in range(6)
        for yes in range(6)
        for more in ((no + 1, yes), (no, yes + 1))
    ]
    assert max(losses) <= 1 + 1e-9
    assert max(losses) > 0.7, "the bound is not idle"
    untempered = PosteriorDraw(points=9, sensitivity=1, epsilon=20, one_way=True)
    assert untempered.temper <= 1
    counted = Counter(untempered.release([5, 5])[0] for _ in range(300))
    assert len(counted) >= 2, "a posterior is random at any price"
