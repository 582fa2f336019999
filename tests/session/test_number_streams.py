"""Streams whose yes returns the number: fresh noise, at its price, on every kind of budget."""

import math
from fractions import Fraction

import pytest

from lapwing.answers.stream_terms import FurtherTerms, StreamTerms, Verdict
from lapwing.ledger.replay import verify
from lapwing.mechanisms.sparse_vector import stream as running
from lapwing.mechanisms.sparse_vector.pure import YesReveals
from lapwing.vocabulary.errors import EngineError, ParameterError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PureDP
from session.clinic import Broken, FixedNumber, door, new_ledger, spent

TERMS = {"at_least": 200, "yeses": 3, "epsilon": 1, "number": True}
BUDGETS = (
    PureDP(epsilon=Fraction(10)),
    ConcentratedDP(rho=Fraction(10)),
    ApproximateDP(epsilon=Fraction(10), delta=Fraction(1, 10**6)),
)


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "rho", "delta"])
def test_a_yes_brings_the_number_on_every_kind_of_budget(quick_path, budget) -> None:
    with new_ledger(quick_path, budget) as ledger:
        clinic = door(ledger, FixedNumber(10_000))
        with clinic.stream(**TERMS, name="cohorts") as stream:
            answers = [stream.ask("age > 40"), *stream.ask_many(["age > 50", "age > 60"])]
            assert all(abs(one.number - 10_000) < 500 for one in answers)
            assert stream.ask("age > 40").number == answers[0].number, "asked before, told as before"
        verify(ledger)


def test_its_price_is_part_of_a_yes_and_a_no_stays_free(ledger) -> None:
    plain, more = (
        StreamTerms.of(door(ledger, FixedNumber(0)).population, **TERMS | {"number": n}) for n in (False, True)
    )
    assert type(plain) is StreamTerms
    assert more.mechanism.reveals is YesReveals.NUMBER
    assert more.mechanism.threshold_epsilon + 3 * more.mechanism.yes_price == 1
    assert more.number_price == Fraction(1, 6) < more.mechanism.yes_price
    assert more.margin() > plain.margin(), "half of epsilon is left for deciding"
    with door(ledger, FixedNumber(0)).stream(**TERMS) as stream:
        answer = stream.ask("age > 40")
        assert (answer.verdict, answer.number, answer.price, answer.interval()) == (Verdict.BELOW, None, 0, None)
    assert spent(ledger) == more.mechanism.threshold_epsilon


def test_the_price_is_shown_before_and_the_record_says_it(ledger) -> None:
    preview = door(ledger, FixedNumber(0)).preview_stream(**TERMS)
    assert "of it for its number" in str(preview)
    assert "the number of a yes is within" in str(preview)
    told = preview.to_dict()
    assert (told["number"], Fraction(told["price"]["number"])) == (True, Fraction(1, 6))
    assert told["number_margin"] == preview.terms.number_margin() > 0


def test_terms_and_answers_are_read_back(quick_path) -> None:
    with new_ledger(quick_path) as ledger:
        stream = door(ledger, FixedNumber(10_000)).stream(**TERMS, name="cohorts")
        assert isinstance(stream.terms, FurtherTerms)
        answer = stream.ask("age > 40", key="first")
        assert answer.to_dict()["number"] == answer.number
        again = door(ledger, Broken()).resume("cohorts").ask("age > 40", key="first")
        assert (again.number, again.gap, again.free) == (answer.number, answer.gap, True)


def test_the_number_is_not_what_was_compared(ledger, monkeypatch) -> None:
    """The noise of the number is drawn apart: with the same comparison noise, the number differs from the gap."""
    fixed = [0]
    monkeypatch.setattr(running.SparseVectorStream, "_secret", lambda _: fixed[0])
    stream = door(ledger, FixedNumber(10_000)).stream(**TERMS | {"yeses": 40, "epsilon": 4})
    errors = [
        (one.gap + 200 - 10_000, one.number - 10_000) for one in stream.ask_many([f"age = {n}" for n in range(40)])
    ]
    gaps, numbers = zip(*errors, strict=True)
    assert len({gap - number for gap, number in errors}) > 10
    mean_gap, mean_number = (sum(some) / len(some) for some in (gaps, numbers))
    covariance = sum((g - mean_gap) * (n - mean_number) for g, n in errors) / len(errors)
    scales = [
        math.sqrt(sum((x - m) ** 2 for x in some) / len(some)) for some, m in ((gaps, mean_gap), (numbers, mean_number))
    ]
    assert abs(covariance / math.prod(scales)) < 0.75, "independent draws: 0.75 is five deviations at 40 of them"


def test_intervals_hold_all_at_once_and_are_shorter_than_the_free_ones(ledger) -> None:
    held, runs = 0, 60
    for run in range(runs):
        with door(ledger, FixedNumber(300)).stream(
            at_least=200, yeses=4, epsilon="0.1", number=True, key=f"run {run}"
        ) as stream:
            answers = [one for one in stream.ask_many([f"age = {n}" for n in range(4)]) if one]
            held += all(one.interval().low <= 300 <= one.interval().high for one in answers)
            near = [one for one in answers if abs(one.number - 300) > stream.terms.number_margin()]
            held -= len(near) > 2
    assert held >= 51, f"{held} of {runs}; at 95 % fewer than 51 come once in 4,000 runs"


@pytest.mark.parametrize("adjacency", Adjacency)
def test_groups_and_neighbours_scale_the_noise_of_the_number(quick_path, adjacency) -> None:
    unit = {"adjacency": adjacency, "protects_groups_of": 2}
    with new_ledger(quick_path, **unit) as ledger:
        terms = door(ledger, FixedNumber(0), **unit).preview_stream(**TERMS).terms
        assert terms.mechanism.rule.fresh_noise.scale == 2 / terms.number_price


def test_a_lost_question_costs_a_yes_with_its_number(quick_path) -> None:
    with new_ledger(quick_path) as ledger:
        stream = door(ledger, Broken()).stream(**TERMS, name="cohorts")
        with pytest.raises(EngineError):
            stream.ask("age > 40")
        assert stream.record.used == 1
        assert stream.spent == stream.terms.mechanism.threshold_epsilon + stream.terms.mechanism.yes_price


@pytest.mark.parametrize("given", [1, "yes", None, "true"])
def test_what_is_neither_true_nor_false_is_refused_before_the_charge(ledger, given) -> None:
    with pytest.raises(ParameterError, match="neither true nor false"):
        door(ledger, FixedNumber(0)).stream(**TERMS | {"number": given})
    assert spent(ledger) == 0


def test_too_little_epsilon_for_so_many_yeses_is_refused(ledger) -> None:
    with pytest.raises(ParameterError, match="too little for 10000 yeses"):
        door(ledger, FixedNumber(0)).stream(at_least=200, yeses=10_000, epsilon="1e-9", number=True)


def test_an_accuracy_buys_more_epsilon_with_numbers(ledger) -> None:
    clinic = door(ledger, FixedNumber(0))
    offer = {"at_least": 200, "yeses": 2, "within": 40}
    plain, more = (clinic.preview_stream(**offer, number=number) for number in (False, True))
    assert more.margin <= 40
    assert plain.total < more.total < 3 * plain.total
