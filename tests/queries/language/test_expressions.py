"""Questions as Python writes them: each operator makes the expression that its SQL spelling is read into."""

import math
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction

import pytest

from lapwing.queries.language.expressions import (
    EVERYONE,
    Applied,
    Arithmetic,
    Coalesce,
    Literal,
    Name,
    Truth,
    col,
    condition,
    day_of,
    extreme,
    value,
)
from lapwing.queries.language.parts import shape
from lapwing.queries.language.sql.reader import read_condition, read_value
from lapwing.vocabulary.errors import BadQuestionError

AGE, BMI = col("age"), col("bmi")


@pytest.mark.parametrize(
    ("python", "sql"),
    [
        (AGE + 1, "age + 1"),
        (2 * AGE - BMI, "2 * age - bmi"),
        (abs(AGE), "abs(age)"),
        (round(BMI, 1), "round(bmi, 1)"),
        (math.floor(BMI), "floor(bmi)"),
        (math.ceil(BMI), "ceil(bmi)"),
        (AGE // 10, "floor(age / 10)"),
        (AGE % 4, "(age % 4 + 4) % 4"),
        (AGE.sign(), "sign(age)"),
        (AGE.greatest(18), "greatest(age, 18)"),
        (AGE.least(BMI), "least(age, bmi)"),
        (AGE.clip(0, 10), "clip(age, 0, 10)"),
        (AGE.coalesce(0), "coalesce(age, 0)"),
        (col("city").lower(), "lower(city)"),
        (col("city").upper(), "upper(city)"),
        (col("city").trim(), "trim(city)"),
        (col("city").prefix(3), "left(city, 3)"),
        (col("visits.day"), "visits.day"),
    ],
    ids=str,
)
def test_a_value_is_the_one_that_sql_writes(python, sql) -> None:
    assert shape(python) == shape(read_value(sql))


@pytest.mark.parametrize(
    ("python", "sql"),
    [
        (AGE == 3, "age = 3"),
        (AGE != 3, "age <> 3"),
        (AGE < BMI, "age < bmi"),
        (AGE >= 3, "age >= 3"),
        (AGE.is_null(), "age is null"),
        (AGE.is_in([1, 2]), "age in (1, 2)"),
        (col("city").starts_with("50%"), "starts_with(city, '50%')"),
        (col("city").contains("_"), "contains(city, '_')"),
        (col("city").like("a!%", escape="!"), "city like 'a!%' escape '!'"),
        (col("city").like("A_", any_case=True), "city ilike 'A_'"),
        (~(AGE > 3), "not (age > 3)"),
        ((AGE > 3) & "bmi < 2", "age > 3 and bmi < 2"),
        ((AGE > 3) | col("smoker"), "age > 3 or smoker"),
    ],
    ids=str,
)
def test_a_condition_is_the_one_that_sql_writes(python, sql) -> None:
    assert shape(python) == shape(read_condition(sql))


def test_chains_are_one_level() -> None:
    assert len(((AGE > 1) & (AGE > 2) & (AGE > 3)).parts) == 3
    assert len(((AGE > 1) | (AGE > 2) | (AGE > 3)).parts) == 3


def test_numbers_are_taken_exactly() -> None:
    assert value(0.5).value == Fraction(1, 2)
    assert value(0.1).value != Fraction(1, 10)
    assert type(value(3.0).value) is int
    assert value(datetime(2024, 1, 2)).value == date(2024, 1, 2)  # noqa: DTZ001 - midnight is the day
    moment = value(datetime(2024, 1, 2, 3, 0, 5))  # noqa: DTZ001
    assert (moment.day, moment.seconds) == (date(2024, 1, 2), 10_805)
    with pytest.raises(BadQuestionError, match="no time zone"):
        value(datetime(2024, 1, 2, 3, tzinfo=UTC))
    assert value(time(8, 30)).value == 30_600
    assert value(timedelta(days=1, minutes=2)).seconds == 120


@pytest.mark.parametrize("width", [0, -3, "x", BMI, True])
def test_a_column_is_divided_by_a_number_above_zero(width) -> None:
    with pytest.raises(BadQuestionError, match="above 0"):
        AGE // width
    with pytest.raises(BadQuestionError, match="above 0"):
        AGE % width


def test_there_is_no_truth_before_a_row() -> None:
    for truth in (lambda: bool(AGE), lambda: bool(AGE > 3), lambda: 1 < AGE < 3):
        with pytest.raises(BadQuestionError, match="no truth value"):
            truth()


def test_only_conditions_are_conditions() -> None:
    assert isinstance(condition(AGE), Truth)
    assert condition(EVERYONE) is EVERYONE
    with pytest.raises(BadQuestionError, match="not a condition"):
        condition(3)


def test_the_greatest_of_several_leaves_out_what_is_missing() -> None:
    of_one = extreme("greatest", [AGE, Literal(3), Literal(7)])
    assert shape(of_one) == shape(Coalesce(Applied("greatest", AGE, Literal(7)), Literal(7)))
    assert extreme("least", [Literal(3), Literal(7)]).value == 3
    assert isinstance(extreme("least", [AGE, BMI]), Applied)
    both = extreme("least", [AGE, BMI, Literal(5)])
    assert isinstance(both.value, Coalesce)
    assert isinstance(both.argument, Coalesce)
    with pytest.raises(BadQuestionError, match="numbers"):
        extreme("least", [AGE, Literal("x")])


@pytest.mark.parametrize("text", ["2024-02-30", "2024-01-01 12:00", "24-01-01", "soon"])
def test_a_day_is_one_of_the_calendar(text) -> None:
    with pytest.raises(BadQuestionError):
        day_of(Literal(text))


def test_a_part_counts_what_is_in_it() -> None:
    assert isinstance(AGE, Name)
    assert Arithmetic("+", AGE, BMI).size == 3
    assert Applied("abs", Arithmetic("+", AGE, BMI)).depth == 2
