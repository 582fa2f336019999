"""Made-up rows: they fit what is declared, are the same every time, and need no data."""

from datetime import date

import pytest

from lapwing import count
from lapwing.engines.rehearsal import rehearsal_engine
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.guarantee import PrivacyUnit

EVERYTHING = Population(
    name="clinic",
    unit=PrivacyUnit(person_key="id"),
    tables=(
        Table(
            name="patients",
            key_type=KeyType.TEXT,
            columns=(
                Column(name="sex", type=Category(values=("F", "M"))),
                Column(name="ward", type=Category(values=(3, 5, 8))),
                Column(name="age", type=Integer(low=-5, high=5)),
                Column(name="number", type=Integer(), nullable=True),
                Column(name="bmi", type=Real(low=10, high=60), nullable=True),
                Column(name="born", type=Date(first=date(1990, 1, 1), last=date(1990, 12, 31))),
                Column(name="seen", type=Date(), nullable=True),
                Column(name="smoker", type=Boolean(), nullable=True),
                Column(name="city", type=Text(), nullable=True),
            ),
        ),
        Table(
            name="visits",
            rows=RowsPerPerson.MANY_A_PERSON,
            key_type=KeyType.TEXT,
            columns=(Column(name="kind", type=Category(values=("ER", "other"))),),
        ),
    ),
)


@pytest.fixture(scope="module")
def engine():
    with rehearsal_engine(EVERYTHING, people=400) as opened:
        yield opened


def counted(engine, where: str) -> int:
    return engine.number(plan(count("patients", where), EVERYTHING).aggregate).open_for_release()


@pytest.mark.parametrize(
    "where",
    [
        "sex in ('F', 'M') and ward in (3, 5, 8) and age between -5 and 5",
        "bmi between 10 and 60 or bmi is null",
        "born between date '1990-01-01' and date '1990-12-31'",
        "has(visits, kind = 'ER') or has(visits, kind = 'other')",
        "smoker or not smoker or smoker is null",
    ],
)
def test_every_row_is_within_what_is_declared(engine, where) -> None:
    assert counted(engine, where) == 400


@pytest.mark.parametrize(
    "where", ["sex = 'M'", "ward = 5", "age < 0", "bmi > 35", "born < date '1990-07-01'", "smoker"]
)
def test_values_are_spread(engine, where) -> None:
    assert 80 < counted(engine, where) < 320


@pytest.mark.parametrize("column", ["number", "bmi", "seen", "smoker", "city"])
def test_nullable_columns_miss_some_values(engine, column) -> None:
    assert 5 <= counted(engine, f"{column} is null") <= 45


def test_the_rows_are_the_same_every_time(engine) -> None:
    with rehearsal_engine(EVERYTHING, people=400) as again:
        for where in ("sex = 'M' and age > 2", "bmi > 30 and smoker", "has(visits, kind = 'ER')"):
            assert counted(engine, where) == counted(again, where)
