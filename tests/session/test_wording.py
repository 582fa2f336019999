"""What a session says: prices as they are written, what is bounded away, in what an error is counted, what is lost."""

import math
import re
from fractions import Fraction

import pytest

from lapwing import count, count_rows, covariance, mean, median, total
from lapwing.vocabulary.errors import BudgetExceededError
from lapwing.vocabulary.guarantee import ApproximateDP, PureDP
from session.clinic import FixedNumber, door, new_ledger
from session.real_tables import Tables

MEN = count("patients", "sex = 'M'")


@pytest.fixture
def ledger(quick_path):
    with new_ledger(quick_path, PureDP(epsilon=Fraction(1000))) as opened:
        yield opened


@pytest.mark.parametrize("offer", [{"epsilon": 0.1}, {"within": 30.5}, {"within": 31, "confidence": 0.9}], ids=str)
def test_a_float_price_is_the_decimal_it_is_written_as(ledger, offer) -> None:
    """0.1 and "0.1" are one price, and so one question: it is paid once."""
    clinic = door(ledger, FixedNumber(10))
    written = {word: str(number) for word, number in offer.items()}
    first = clinic.ask(MEN, **written)
    again = clinic.ask(MEN, **offer)
    assert again.free
    assert again.price == first.price
    assert again.to_dict(0.9)["confidence"] == "0.9"


def test_a_float_delta_and_a_float_rho_are_what_is_written(quick_path) -> None:
    with new_ledger(quick_path, ApproximateDP(epsilon=Fraction(3), delta=Fraction(1, 10**6))) as ledger:
        clinic = door(ledger, FixedNumber(1000))
        for offer in ({"rho": 0.01}, {"epsilon": 0.1, "delta": 1e-8}):
            assert not clinic.ask(MEN, **{word: str(number) for word, number in offer.items()}).free
            assert clinic.ask(MEN, **offer).free


def test_a_preview_warns_of_what_an_approximate_budget_loses(quick_path) -> None:
    """One release by rho leaves little for one by epsilon, and a group-by of open keys takes all of its delta."""
    with new_ledger(quick_path, ApproximateDP(epsilon=Fraction(3), delta=Fraction(1, 10**6))) as ledger:
        clinic = door(ledger, FixedNumber(1000))
        preview = clinic.preview(MEN, rho="0.1")
        assert "is 3 now and 0.3" in str(preview)
        grouped = clinic.preview(count("patients", by="city"), epsilon="1", delta="5e-7")
        assert any("delta 5e-7 is there" in warning and "0 afterwards" in warning for warning in grouped.warnings)
        assert clinic.preview(MEN, rho="5").refusal is not None
        assert str(clinic.preview(MEN, rho="5").refusal).startswith("rho 5 is asked and rho 0.1")
        assert re.fullmatch(r"<budget: one question of epsilon 3 or rho 0\.1\d+ is left>", repr(clinic.budget()))


def test_a_refusal_does_not_say_that_more_is_left_than_was_asked(quick_path) -> None:
    """Whole-number noise takes a little more of an (epsilon, delta) budget than a Gaussian of the same rho does."""
    with new_ledger(quick_path, ApproximateDP(epsilon=Fraction(12), delta=Fraction(1, 10**6))) as ledger:
        clinic = door(ledger, FixedNumber(1000))
        left = clinic.budget().remaining.gaussian / 2
        near = Fraction(math.floor(left * 998)) / 1000
        assert near < left
        refused = clinic.preview(MEN, rho=near).refusal
        assert refused is not None
        assert "is asked and less than that, for its kind of noise, is left: ask at epsilon 12 or less" in str(refused)
        assert "or ask at a smaller rho, or ask the custodian" in str(refused)
        with pytest.raises(BudgetExceededError, match="is asked and less than that, for its kind of noise, is left"):
            clinic.ask(MEN, rho=near)


@pytest.mark.parametrize(
    ("question", "bounding"),
    [
        (count("patients"), ""),
        (count("visits", by="kind", max_groups=1), "one group a person"),
        (count_rows("visits", max_rows=3), "at most 3 rows a person"),
        (total("visits", "ward", max_rows=3), "values clipped to 1..20, a person's total to 0..60"),
        (total("patients", "bmi"), "values clipped to 10..60"),
        (mean("visits", "ward", by="kind", max_groups=2), "at most 2 rows a person, at most 2 groups a person, values"),
        (median("patients", "age"), "one row a person, values clipped to 0..99"),
        (covariance("patients", "age", "bmi"), "one row a person, values clipped to 0..99 and 10..60"),
    ],
    ids=["people", "groups", "rows", "totals", "clipped", "mean", "median", "two values"],
)
def test_what_is_bounded_away_is_said(ledger, question, bounding) -> None:
    clinic = door(ledger, Tables())
    preview, answer = clinic.preview(question, epsilon=1), clinic.rehearse(question, epsilon=1)
    assert answer.to_dict()["bounding"].startswith(bounding)
    assert bool(bounding) is bool(answer.to_dict()["bounding"])
    for said in (str(preview), answer.sentence):
        assert bounding in said
        assert ("about noise only" in said) is bool(bounding)


def test_a_funnel_counts_people_here_and_at_the_command_line(ledger) -> None:
    answer = door(ledger, Tables()).funnel("patients", ["sex = 'M'", "age < 50"], epsilon=1)
    assert answer.columns == ("people",)


def test_the_margin_of_a_median_is_in_rows(ledger) -> None:
    preview = door(ledger, Tables()).preview(median("patients", "age"), epsilon="0.1")
    assert re.search(r"within [\d.,]+ rows for all data; about [\d.]+ where values lie evenly with 0.95", str(preview))
    assert preview.asked.units == {"answer": "rows in the order"}
