"""What is spelt reads back as what it was: conditions, values and groups, and what has no text is refused."""

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings

from lapwing.queries.language.expressions import Compare, Literal, Name, col
from lapwing.queries.language.speller import Speller, described, written
from lapwing.queries.language.sql.reader import read_condition, read_group, read_value
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.deriving import derive
from lapwing.queries.planning.scope import Scope
from lapwing.queries.statistics.counts import count
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import PATIENTS, POPULATION, conditions


def meant(condition):
    return bind(condition, Scope(POPULATION, PATIENTS, "patients", derive=derive))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(conditions(PATIENTS))
def test_what_is_spelt_means_what_was_meant(condition) -> None:
    try:
        text = Speller(POPULATION, PATIENTS).part(condition)
    except BadQuestionError:
        return  # no text is ever a guess
    assert meant(read_condition(text)) == meant(condition)


@pytest.mark.parametrize(
    "text",
    [
        "age >= 65 and city like 'B%'",
        "not (age < 3 or sex = 'F')",
        '"order" = 3',
        "has(visits, kind = 'ER', 2)",
        "case when age > 18 then 'a' else 'b' end = 'b'",
        "city = 'O''Hara'",
        "born >= date '2001-02-03' + interval 3 day",
        "age is not null",
    ],
)
def test_it_is_written_as_one_would(text) -> None:
    once = written(read_condition(text))
    assert written(read_condition(once)) == once


def test_values_and_groups_read_back() -> None:
    for text in ("2 * cost + 1", "age(born, day)", "coalesce(age, 0)", "floor(age / 10) * 10", "round(bmi, 1)"):
        assert written(read_value(written(read_value(text)))) == written(read_value(text))
    assert written(read_group(written(read_group("bins(age, 0, 18, 65)")))) == written(
        read_group("bins(age, 0, 18, 65)")
    )


def test_what_no_text_means_exactly_is_refused() -> None:
    with pytest.raises(BadQuestionError, match="1/3 cannot be written"):
        Speller(POPULATION, PATIENTS).part(Compare(">", Name("bmi"), Literal(Fraction(1, 3))))


def test_a_question_is_one_line() -> None:
    said = described(count("patients", (col("age") >= 65) & (col("sex") == "F"), by="city"))
    assert said == "<count people: patients where age >= 65 and sex = 'F' by city>"
