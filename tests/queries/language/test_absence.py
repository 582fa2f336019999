"""What a condition says of a row that is not there: as SQL says of a row whose columns are all NULL."""

import pytest
from hypothesis import HealthCheck, given, settings

from lapwing.queries.language.absence import FALSE, TRUE, UNKNOWN, Absence
from lapwing.queries.language.expressions import Case, Compare, Literal, Missing, Name, Truth
from lapwing.queries.language.joined import Has
from lapwing.queries.language.parts import shape, walk
from lapwing.queries.language.sql.reader import read_condition, read_value
from queries.asked import PATIENTS, POPULATION, conditions
from queries.kleene import Kleene

GONE = Absence(lambda _name, around: not around)
NOBODY = Kleene(POPULATION, {table.name: [] for table in POPULATION.tables})
EMPTY = {"pid": None} | {column.name: None for column in PATIENTS.columns}
SAID = {True: TRUE, False: FALSE, None: UNKNOWN}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(conditions(PATIENTS))
def test_it_is_what_sql_says_of_nulls(condition) -> None:
    said = GONE.said(condition)
    if any(isinstance(part, Has) for part, _ in walk((condition,))):
        return  # rows of another table may be there
    if isinstance(said, Truth) and isinstance(said.value, Literal):
        assert said.value.value is NOBODY.truth(condition, [(PATIENTS, EMPTY)])
    assert GONE.needs_row(condition) <= (NOBODY.truth(condition, [(PATIENTS, EMPTY)]) is not True)


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("age > 3", None),
        ("not age > 3", None),
        ("age is null", True),
        ("age is not null", False),
        ("age > 3 is not true", True),
        ("coalesce(age, 5) > 3", True),
        ("coalesce(age, 1) > 3", False),
        ("age > 3 or age is null", True),
        ("age > 3 and age is null", None),
        ("case when age > 3 then 1 else 2 end = 2", True),
        ("nullif(age, 3) is null", True),
        ("sex in ('F', 'M')", None),
        ("city like 'a%'", None),
        ("age(born) >= 18", None),
    ],
)
def test_of_a_row_that_is_not_there_it_says(condition, truth) -> None:
    assert shape(GONE.said(read_condition(condition))) == shape(SAID[truth])


def test_names_of_other_rows_stay_open() -> None:
    other = Absence(lambda name, _: name.table == "v")
    open_ = Compare(">", Name("age", "p"), Literal(3))
    assert shape(other.said(open_)) == shape(open_)
    assert not other.needs_row(open_)
    assert other.needs_row(Compare(">", Name("nights", "v"), Name("age", "p")))
    assert shape(other.said(Missing(Name("nights", "v")))) == shape(TRUE)


def test_a_value_is_missing_where_one_that_it_is_computed_from_is() -> None:
    assert GONE.lacks(read_value("2 * age + 1"))
    assert GONE.lacks(Case(((Missing(Literal(1)), Literal(1)),)))
    assert not GONE.lacks(read_value("coalesce(age, 0)"))
    assert not GONE.lacks(Literal(1))
