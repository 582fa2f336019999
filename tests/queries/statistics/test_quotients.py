"""Quotients of answers: what is computed, between which bounds it lies, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

import lapwing as lw
from engines.clinic import clinic
from lapwing.answers.computed_columns import quotient
from lapwing.answers.releases import PricedQuestion
from lapwing.answers.target import parse_target, release_together
from lapwing.queries.planning.plan import BoundedValue
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.planning.presentation import Arrangement, Quotient, of_sample
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.postprocessing import quotient_of_boxes
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.guarantee import PureDP

CLINIC = clinic()
ROUNDS = 4000
SELECT = "select {} as r from patients"


def priced(text, epsilon="0.5"):
    asked = read_sql(text, max_rows=3)
    plans = plan_together(asked, CLINIC)
    releases = release_together(asked, plans, CLINIC, parse_target(epsilon=epsilon), PureDP(epsilon=10))
    return PricedQuestion(releases=releases, arrangement=asked.arrangement)


def held(asked, exact, truth, confidence=Fraction(95, 100)):
    """Release exact numbers often, and say how often the quotient's bounds hold the truth, and how wide they are."""
    (made,) = asked.arrangement.made.values()
    inside, widths = 0, []
    for _ in range(ROUNDS):
        released = [one.release(np.array(numbers)) for one, numbers in zip(asked.sources, exact, strict=True)]
        (cell,) = quotient(asked, made, asked.by_column(released), confidence)
        inside += cell.low <= truth <= cell.high
        widths.append(float(cell.high - cell.low))
    return inside / ROUNDS, float(np.mean(widths))


def test_the_bounds_of_a_proportion_hold_as_often_as_they_say_and_hardly_more() -> None:
    asked = priced("select count(*) filter (where smoker) / count(*) as r from patients")
    assert len(asked.sources) == 1
    share, width = held(asked, [(300, 700)], 0.3)
    deviation = 6.2 * math.sqrt(0.95 * 0.05 / ROUNDS)
    assert 0.95 - deviation <= share <= 0.97 + deviation
    separate = held(
        priced("select count(distinct pid) filter (where kind = 'ER') / count(distinct pid) as r from visits"),
        [(300,), (1000,)],
        0.3,
    )
    assert separate[0] >= 0.95 - deviation
    assert width < separate[1] / 2


def test_a_mean_that_is_divided_out_is_the_mean_with_its_bounds() -> None:
    asked = priced("select sum(age) / count(age) as r, avg(age) as m from patients")
    numbers = asked.by_column([(70_000, 30_000)])
    (divided,) = quotient(asked, asked.arrangement.made["r"], numbers, Fraction(95, 100))
    (mean,) = asked.values("m", numbers["m"], Fraction(95, 100))
    for one, other in ((divided.value, mean.value), (divided.low, mean.low), (divided.high, mean.high)):
        assert math.isclose(one, other, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100.0 * count(*) filter (where smoker) / count(*)", 30),
        ("count(*) filter (where smoker)::float / nullif(count(*), 0)", 0.3),
        ("1 - count(*) filter (where smoker) / count(*)", 0.7),
        ("round(count(*) filter (where smoker) / count(*) / 7, 3)", 0.043),
        ("(count(*) - count(*) filter (where smoker)) / 2", 350),
        ("-2 * count(*) + count(*) filter (where smoker)", -1700),
    ],
)
def test_what_is_computed_is_arithmetic_on_released_numbers(text, value) -> None:
    asked = priced(SELECT.format(text))
    (cell,) = quotient(asked, asked.arrangement.made["r"], asked.by_column([(300, 700)]), Fraction(95, 100))
    assert math.isclose(cell.value, value, rel_tol=1e-9)
    assert cell.low < cell.value < cell.high
    assert asked.columns == ("r",)


def test_a_proportion_stays_within_0_and_1_and_knows_nothing_where_there_may_be_nobody() -> None:
    asked = priced("select count(*) filter (where smoker) / count(*) as r from patients")
    for released in ((-3, 2), (9, -2), (1, 1)):
        (cell,) = quotient(asked, asked.arrangement.made["r"], asked.by_column([released]), Fraction(95, 100))
        assert (cell.value, cell.low, cell.high) == (None, 0, 1)


def test_a_quotient_of_which_one_part_has_no_bounds_has_none() -> None:
    """What is known of the others does not help."""
    one = Fraction(1)
    known = BoundedValue(key=(), value=6.0, low=5.0, high=7.0)
    unknown = BoundedValue(key=(), value=2.0, low=None, high=None)
    half = BoundedValue(key=(), value=2.0, low=1.0, high=None)
    for other in (unknown, half):
        columns = {"a": {(): known}, "b": {(): other}}
        for made in (Quotient((("a", one), ("b", one))), Quotient((("a", one),), (("b", one), ("a", one)))):
            (cell,) = quotient_of_boxes(made, columns)
            assert cell.value == (8.0 if not made.below else 6 / 8)
            assert (cell.low, cell.high) == (None, None)


def test_answers_that_cancel_leave_nothing_to_divide_by() -> None:
    asked = priced(SELECT.format("count(*) filter (where smoker) / (count(*) - count(*))"))
    (cell,) = quotient(asked, asked.arrangement.made["r"], asked.by_column([(300, 700)]), Fraction(95, 100))
    assert (cell.value, cell.low, cell.high) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("count(*) + 5", "a constant beside answers"),
        ("1 / count(*)", "a constant beside answers"),
        ("count(*) * count(*)", "answers are added"),
        ("count(*) / (count(*) / 3) / sum(age)", "answers are added"),
        ("round(count(*), 99)", "digits"),
    ],
)
def test_other_arithmetic_is_refused(text, told) -> None:
    with pytest.raises(BadQuestionError, match=told):
        read_sql(SELECT.format(text))


def test_no_margin_is_promised_for_a_quotient() -> None:
    with pytest.raises(ParameterError, match="cannot be promised"):
        Arrangement(made={"r": Quotient((("n", Fraction(1)),))}).check_within(Fraction(3))


def test_the_variance_of_a_sample_is_over_one_row_less() -> None:
    rows = BoundedValue(key=(), value=5, low=1, high=9)
    told = of_sample(BoundedValue(key=(), value=8, low=4, high=16, rows=rows), rows)
    assert (told.value, told.low, told.high) == (10, 4.5, 32)
    sample, whole = (lw.stddev("patients", "age", sample=one).arranged("s") for one in (True, False))
    assert (sample.samples, whole.samples, sample.roots) == ({"s"}, frozenset(), {"s"})
