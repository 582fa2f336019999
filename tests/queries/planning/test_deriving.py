"""Which column a value is: its type, its bounds and its gaps follow from the catalogue, or it is refused."""

from datetime import date
from fractions import Fraction

import pytest

from lapwing.queries.algebra.derived import (
    CaseResult,
    Computed,
    Filled,
    FilledDay,
    NumberOfPerson,
    PartOfDay,
    Respelled,
)
from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real
from lapwing.queries.language.sql.reader import read_condition, read_value
from lapwing.queries.planning.deriving import can_be_unknown, derive
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import PATIENTS, POPULATION


def scope():
    return Scope(POPULATION, PATIENTS, "patients", derive=derive)


@pytest.mark.parametrize(
    ("text", "kind", "nullable"),
    [
        ("month(born)", Integer(low=1, high=12), True),
        ("year(born)", Integer(low=1900, high=2025), True),
        ("date_trunc('year', born)", Date(first=date(1900, 1, 1), last=date(2025, 1, 1)), True),
        ("2 * age + 1", Integer(low=1, high=241), True),
        ("bmi / 2", Real(low=5, high=30, step="1/128"), True),
        ("abs(age - 100)", Integer(low=0, high=100), True),
        ("sign(age - 30)", Integer(low=-1, high=1), True),
        ("age // 10", Integer(low=0, high=12), True),
        ("(age - 100) % 7", Integer(low=-6, high=6), True),
        ("year(born) % 4", Integer(low=0, high=3), True),
        ("floor(bmi)", Integer(low=10, high=60), True),
        ("round(age, -1)", Integer(low=0, high=120), True),
        ("greatest(age, 18)", Integer(low=18, high=120), False),
        ("least(bmi, 30)", Real(low=10, high=30, step="1/64"), False),
        ("coalesce(age, 130)", Integer(low=0, high=130), False),
        ("ward", Category(values=(1, 2, 3, -7)), False),
        ("coalesce(ward, 1)", Category(values=(1, 2, 3, -7)), False),
        ("left(sex, 1)", Category(values=("F", "M", "é")), True),
        ("upper(sex)", Category(values=("F", "M", "é")), True),
        ("case when age > 3 then 7 else -1 end", Integer(low=-1, high=7), False),
        ("case when age > 3 then 'a' end", Category(values=("a",)), True),
        ("age is null", Boolean(), False),
        ("age > 3", Boolean(), True),
        ("number_of(visits, 5)", Integer(low=0, high=5), False),
    ],
)
def test_what_a_value_may_be_follows_from_the_catalogue(text, kind, nullable) -> None:
    column = derive(read_value(text), scope())
    assert (column.type, column.nullable) == (kind, nullable)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("month(born)", [PartOfDay]),
        ("lower(city)", [Respelled]),
        ("lower(sex)", [CaseResult]),
        ("abs(age - 7)", [Computed]),
        ("greatest(age, 18)", [Computed, Filled]),
        ("coalesce(born, date '2000-01-01')", [FilledDay]),
        ("number_of(visits, 5)", [NumberOfPerson]),
        ("year(born) % 4", [PartOfDay, Computed]),
    ],
)
def test_a_value_is_made_of_few_columns_each_once(text, made) -> None:
    here = scope()
    first = derive(read_value(text), here)
    assert derive(read_value(text), here) == first
    assert [type(one) for one in here.in_order] == made


@pytest.mark.parametrize(
    "text",
    [
        "month(age)",
        "lower(age)",
        "left(age, 3)",
        "left(city, 0)",
        "left(city, 1001)",
        "current_date",
        "3",
        "age * 0",
        "0.3 * age",
        "case when age > 3 then age else bmi end",
        "case when age > 3 then 1 else 'a' end",
        "case when age > 3 then 9007199254740993 end",
        "coalesce(born, '2000')",
        "coalesce(bmi, 1000.001)",
        "greatest(age, bmi)",
        "bmi // 2",
        "floor(age / 2) // 3",
        "round(bmi, 1)",
        "first_of(visits.note)",
        "different_of(visits.cost, 3)",
        "number_of(codes)",
        "date '2020-01-01' - date '2019-01-01'",
        "true",
    ],
)
def test_what_is_no_value_of_a_row_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        derive(read_value(text), scope())


@pytest.mark.parametrize(
    ("text", "unknown"),
    [("age > 3", True), ("ward = 1", False), ("age is null", False), ("age > 3 and ward = 1", True)],
)
def test_a_condition_is_unknown_only_where_something_may_be_missing(text, unknown) -> None:
    assert can_be_unknown(read_condition(text), scope()) is unknown


def test_a_filling_is_on_the_grid_of_its_column() -> None:
    here = scope()
    derive(read_value("coalesce(bmi, 10.5)"), here)
    (filled,) = here.in_order
    assert filled.constant == Fraction(21, 2)
