"""What derived columns are called, and what their names leave out is said."""

import pytest

from lapwing.queries.algebra.derived_words import explained, named_apart, numbered, spell, title
from lapwing.queries.algebra.term import ConstantTerm, FunctionOf, OnGrid, SteppedDown, plus, times
from lapwing.queries.catalogue.population import LONGEST_NAME
from lapwing.queries.language.sql.reader import read_value
from lapwing.queries.planning.deriving import derive
from lapwing.queries.planning.scope import Scope
from queries.asked import PATIENTS, POPULATION

AGE = OnGrid(column="age", bits=0, low=0, high=120)
BMI = OnGrid(column="bmi", bits=6, low=640, high=3840)


def made(text):
    scope = Scope(POPULATION, PATIENTS, "patients", derive=derive)
    derive(read_value(text), scope)
    return scope.in_order[-1]


@pytest.mark.parametrize(
    ("text", "called", "said"),
    [
        ("month(born)", "month(born)", None),
        ("date_trunc('month', born)", "month of born", None),
        ("left(city, 3)", "left(city, 3)", None),
        ("lower(city)", "lower(city)", "lower(city) changes the letters A to Z and no others, so Ä and ä stay two"),
        ("coalesce(age, 5)", "coalesce(age, 5)", None),
        ("age > 3", "age is at least 4", None),
        ("first_of(visits.day)", "first_of(visits.day)", None),
        (
            "sum_of(visits.cost)",
            "sum_of(visits.cost)",
            "sum_of(visits.cost) is the sum of cost, clipped to -50..1,000, of all rows of the person in visits",
        ),
        ("age(born)", "age(born)", "age(born) is counted to 2024-03-01"),
        (
            "case when age > 3 then 'a' else 'b' end",
            "case (a, b)",
            "case (a, b) is 'a' where age is at least 4, else 'b'",
        ),
        (
            "number_of(visits, kind = 'ER', 5)",
            "number_of(visits where kind is 'ER')",
            (
                "number_of(visits where kind is 'ER') is the number of rows that the person has in visits where (kind "
                "is 'ER'), at most 5"
            ),
        ),
        ("age // 10", "(age // 10)", None),
        ("year(born) % 4", "(year(born) % 4)", None),
        ("datediff('day', born, current_date) // 7", "((2024-03-01 - born) // 7)", None),
    ],
)
def test_a_column_is_called_much_as_it_is_written(text, called, said) -> None:
    derived = made(text)
    assert title(derived) == called
    assert derived.name == called
    assert explained(derived, {}) == said


@pytest.mark.parametrize(
    ("term", "spelled"),
    [
        (plus(AGE, times(ConstantTerm(-1), BMI)), "(age - bmi)"),
        (times(ConstantTerm(2), AGE), "age * 2"),
        (SteppedDown(AGE, 10), "age in steps of 10"),
        (FunctionOf("floor", (BMI,), 64), "floor(bmi)"),
        (FunctionOf("floor", (AGE,), 10), "floor(age / 10)"),
        (FunctionOf("abs", (AGE,)), "abs(age)"),
        (FunctionOf("sign", (AGE,)), "sign(age)"),
        (FunctionOf("greatest", (AGE, BMI)), "greatest(age, bmi)"),
        (FunctionOf("//", (AGE,), 7), "(age // 7)"),
    ],
)
def test_a_term_is_spelled_much_as_it_is_written(term, spelled) -> None:
    assert spell(term) == spelled


def test_no_two_columns_share_a_name_and_none_is_too_long() -> None:
    derived = made("month(born)")
    assert named_apart(derived, {"month(born)"}, {}).name == "month(born) (2)"
    assert named_apart(derived, set(), {"month(born)": derived}) == derived
    long = numbered("é" * LONGEST_NAME, 12)
    assert len(long.encode()) <= LONGEST_NAME
    assert long.endswith("... (12)")
