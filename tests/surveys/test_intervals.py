"""Intervals hold for every truth: computed for few people, seen for many; and lies are rejected."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import lapwing as lw
from lapwing.surveys.agreements import count_agreements
from lapwing.surveys.estimates import estimate_answers
from lapwing.surveys.intervals import AgreementLaw, nearest_counts
from lapwing.surveys.phone import hash_prefix
from lapwing.surveys.report_law import hash_all, name_some
from surveys.dice import drawn, drawn_many

RARELY = 1e-6  # the chance that a test of coverage raises a false alarm


@pytest.mark.parametrize("law", [name_some(3, Fraction(1)), name_some(20, Fraction(3)), hash_all(300, Fraction(2))])
@pytest.mark.parametrize("risk", [0.05, 0.2])
def test_for_few_people_intervals_hold_for_each_truth(law, risk) -> None:
    """Laws by convolution, and so by other means than tails."""
    agreement = AgreementLaw.of(law, 40)
    low, high = agreement.intervals(np.arange(41.0), risk)
    for having in range(41):
        one = binom.pmf(np.arange(having + 1), having, float(law.truth))
        other = binom.pmf(np.arange(41 - having), 40 - having, float(law.lie))
        chances = np.convolve(one, other)
        assert chances[(low <= having) & (having <= high)].sum() >= 1 - risk
        tail = chances[::-1].cumsum()[::-1]
        hits, people = np.arange(41.0), np.full(41, float(having))
        assert agreement.at_least(hits, people) == pytest.approx(tail, abs=1e-9)
        assert agreement.at_most(hits, people) == pytest.approx(chances.cumsum(), abs=1e-9)


@pytest.mark.parametrize("people", [1000, 100_000, 10_000_000])
def test_for_many_people_they_are_hardly_longer_than_they_must_be(people) -> None:
    law = name_some(10, Fraction(1))
    a, b = float(law.truth), float(law.lie)
    for share in (0.0, 0.01, 0.3):
        having = round(people * share)
        hits = np.full(1, round(having * a + (people - having) * b), np.float64)
        low, high = AgreementLaw.of(law, people).intervals(hits, 0.05)
        deviation = (having * a * (1 - a) + (people - having) * b * (1 - b)) ** 0.5 / (a - b)
        assert 1.96 * 0.97 < (high[0] - having) / deviation < 1.96 * 1.12
        assert low[0] <= having


def surprise(law, draw, rounds=60, people=2000):
    """Return how likely it is, at most, that intervals that hold would miss as often as those of some answer did."""
    rng, held = np.random.default_rng(1), np.zeros(law.domain)
    for _ in range(rounds):
        truths = rng.choice(law.domain, people, p=[0.5, 0.25, *[0.25 / (law.domain - 2)] * (law.domain - 2)])
        hits = count_agreements(law, draw(law, truths)).astype(float)
        low, high = AgreementLaw.of(law, people).intervals(hits, 0.05)
        counts = np.bincount(truths, minlength=law.domain)
        held += (low <= counts) & (counts <= high)
    return law.domain * binom.cdf(held.min(), rounds, 0.95)  # rounds are independent, and answers need not be


def one_seed_for_all(law, truths):
    """A liar: the collector chooses the hash, and takes the same for everybody."""
    reports = drawn_many(law, truths)
    seeds, value = reports[:, 1], reports[:, -1]
    lies = value != np.bitwise_count(seeds & truths) & 1
    reports[:, 1], reports[:, -1] = 11, (np.bitwise_count(11 & truths) & 1) ^ lies
    return reports


def named(law, truths):
    return np.array([drawn(law, int(truth)) for truth in truths])


@pytest.mark.parametrize(
    ("law", "draw"),
    [
        (name_some(6, Fraction(1)), named),
        (hash_all(16, Fraction(2)), drawn_many),
        (hash_all(27, Fraction(3)), drawn_many),
    ],
    ids=["named", "over bits", "over a prime"],
)
def test_estimates_of_reports_lie_in_their_intervals(law, draw) -> None:
    assert surprise(law, draw) > RARELY


def test_one_hash_for_everybody_is_rejected() -> None:
    assert surprise(hash_all(16, Fraction("0.3")), one_seed_for_all, rounds=20) < RARELY


def test_one_answer_is_in_its_interval_as_often_as_stated_and_not_in_that_of_a_naive_one() -> None:
    law, people, rounds = name_some(5, Fraction(1)), 400, 400
    agreement, having = AgreementLaw.of(law, people), 100
    truths = np.repeat([0, 1], [having, people - having])
    hits = np.array([(named(law, truths) == 0).any(axis=1).sum() for _ in range(rounds)], np.float64)
    low, high = agreement.intervals(hits, 0.05)
    held = int(((low <= having) & (having <= high)).sum())
    assert binom.cdf(held, rounds, 0.95) > RARELY
    naive = agreement.estimate(hits)
    half = 1.96 * (having * (1 - having / people)) ** 0.5  # of a sample, as if nobody lied
    held = int((np.abs(naive - having) <= half).sum())
    assert binom.cdf(held, rounds, 0.95) < RARELY


def test_what_is_shown_adds_up_and_is_not_negative() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        raw = rng.normal(0, 100, 40) + rng.choice([0, 500], 40)
        counts = nearest_counts(raw, 1000)
        assert counts.min() >= 0
        assert counts.sum() == pytest.approx(1000)
        for _ in range(20):  # no other such counts are nearer
            other = rng.dirichlet(np.ones(40)) * 1000
            assert ((raw - counts) ** 2).sum() <= ((raw - other) ** 2).sum()


def test_what_is_planned_is_what_is_seen() -> None:
    """By simulation: at the planned share, four of five are seen; with half as many people, few are."""
    survey = lw.survey(50, epsilon=2)
    law, plan = survey.asked.law, survey.plan(people=2000)
    agreement = AgreementLaw.of(law, 2000)
    threshold = agreement.first_seen(0.05 / 50)
    rng = np.random.default_rng(3)

    def seen(having):
        hits = rng.binomial(having, float(law.truth), 4000) + rng.binomial(2000 - having, float(law.lie), 4000)
        return int((hits >= threshold).sum())

    assert binom.cdf(seen(plan.smallest), 4000, 0.8) > RARELY
    assert binom.cdf(seen(plan.smallest // 2), 4000, 0.8) < RARELY
    assert seen(0) / 4000 < 0.005
    assert survey.plan(people=3).smallest is None
    assert "no answer is seen" in str(survey.plan(people=3))


def test_words_that_cannot_be_listed_are_found_with_the_people_who_wrote_them() -> None:
    survey = lw.survey(words=8, epsilon=4)
    law, code = survey.asked.law, survey.asked.code
    shares = {"influenza": 0.3, "asthma": 0.2, "flu": 0.1}
    counts = {code(word): round(30_000 * share) for word, share in shares.items()}
    others = np.random.default_rng(4).integers(0, law.domain, 30_000 - sum(counts.values()))
    truths = np.concatenate([np.repeat(list(counts), list(counts.values())), others])
    reports = drawn_many(law, truths)
    found = estimate_answers(law, reports, survey.asked.spell, epsilon=Fraction(4), confidence=Fraction(19, 20), most=8)
    assert [row.answer for row in found.rows[:3]] == ["influenz", "asthma", "flu"]
    assert law.groups > 1
    last = truths[reports[:, 0] == law.groups - 1]
    assert found.people == len(last)
    for word in shares:
        row = found[word[:8]]
        assert row.seen
        assert row.low <= (last == code(word)).sum() <= row.high
    with pytest.raises(KeyError):
        found["measles"]


@pytest.mark.parametrize("people", [1, 2])
def test_few_people_show_nothing_and_break_nothing(people) -> None:
    for survey in (lw.survey(words=10, epsilon=1), lw.survey(words=1, epsilon=1), lw.survey(5000, epsilon=1)):
        law = survey.asked.law
        reports = np.array([drawn(law, 7) for _ in range(people)])
        told = estimate_answers(
            law, reports, survey.asked.spell, epsilon=Fraction(1), confidence=Fraction(19, 20), most=5
        )
        assert not any(row.seen for row in told.rows)
        assert {(row.low, row.high) for row in told.rows} <= {(0, told.people)}


def test_words_are_spelled_as_they_were_read() -> None:
    survey = lw.survey(words=6, epsilon=2)
    spelled = {word: survey.asked.spell(survey.asked.code(word)) for word in ("flu", "Hay fever!", "", "zzzzzzz")}
    assert spelled == {"flu": "flu", "Hay fever!": "hayfev", "": "", "zzzzzzz": "zzzzzz"}


def test_one_seed_for_all_is_private_and_seen_in_the_coverage() -> None:
    """A collector that hands out the seed: all who answer alike agree with the same wrong answers, in every report."""
    law, people, rng = hash_all(2000, Fraction(1)), 3000, np.random.default_rng(1)
    truths = rng.integers(0, 5, people)
    honest = drawn_many(law, truths)
    one = honest[0, 1 : 1 + law.forms]
    values = np.array([hash_prefix(law.numbers(), one.tolist(), int(truth)) for truth in range(5)])[truths]
    lies = rng.integers(0, law.unit, people) >= law.heads
    said = np.where(lies, (values + rng.integers(1, law.answers, people)) % law.answers, values)
    liar = np.column_stack([np.zeros(people, np.int64), np.tile(one, (people, 1)), said])
    counts, held = np.bincount(truths, minlength=2000), []
    for reports in (honest, liar):
        hits = count_agreements(law, reports).astype(np.float64)
        low, high = AgreementLaw.of(law, people).intervals(hits, 0.05)
        held.append(float(np.mean((low <= counts) & (counts <= high))))
    assert held[0] > 0.92, "the intervals of separate seeds hold; 2,000 answers at 95 %"
    assert held[1] < 0.85, "a quarter of all answers agree with whatever most people say"
