"""A condition about a grouped column leaves the groups that it can leave rows in, decided without any data."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as ask
from engines.clinic import clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from lapwing.queries.algebra.aggregate import DeclaredKey, PrivateKey
from lapwing.queries.algebra.predicate import InIntervals
from lapwing.queries.catalogue.domains import INTEGERS
from lapwing.queries.planning.keys import narrow
from lapwing.queries.planning.plan import Family
from lapwing.queries.planning.planner import plan
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import conditions
from queries.kleene import Kleene

CLINIC = clinic()


def groups(table: str, by: object, where: str | None = None, **bounds: int) -> list[object]:
    return [cell[0] for cell in plan(ask.count(table, where, by=by, **bounds), CLINIC).aggregate.cells]


def years(spans: list[object]) -> list[int]:
    return [date.fromordinal(date(1970, 1, 1).toordinal() + first).year for first, _ in spans]


def test_years_that_the_condition_excludes_are_no_groups() -> None:
    left = groups("visits", ask.by_year("day"), "day >= date '2022-06-01'", max_groups=2)
    assert years(left) == [2022, 2023, 2024, 2025]
    assert years(groups("visits", ask.by_year("day"), "year(day) = 2003 or year(day) = 2010", max_groups=2)) == [
        2003,
        2010,
    ]
    assert len(groups("visits", ask.by_year("day"), max_groups=2)) == 27, "26 years, and those without a day"
    assert len(groups("visits", ask.by_year("day"), "nights = 1", max_groups=2)) == 27
    assert len(groups("visits", ask.by_year("day"), "day > date '2022-01-01' or nights = 1", max_groups=2)) == 27


@pytest.mark.parametrize(
    ("by", "where", "left"),
    [
        ("sex", "sex in ('F', 'M')", ["F", "M"]),
        ("sex", "sex <> 'F'", ["M", "é"]),
        ("sex", "sex is not null", ["F", "M", "é"]),
        ("sex", "age > 3", ["F", "M", "é", None]),
        ("sex", "not (sex = 'F' or age = 3)", ["M", "é"]),
        ("ward", "ward in (1, -7) and ward <> 1", [-7]),
        ("ward", "ward >= 2", [2, 3]),
        ("age", "age between 118 and 200", [118, 119, 120]),
        ("smoker", "smoker", [True]),
        ("smoker", "not smoker", [False]),
        ("city", "city in ('b', 'a')", ["a", "b"]),
        (ask.bins("age", [0, 18, 65, 120]), "age < 18", [(0, 17)]),
        (ask.bins("age", [0, 18, 65, 120]), "age <= 18", [(0, 17), (18, 64)]),
        (ask.bins("bmi", [10, 20, 60]), "bmi > 30", None),
    ],
)
def test_groups_are_those_that_the_condition_leaves(by, where, left) -> None:
    told = groups("patients", by, where)
    assert told == left if left is not None else len(told) == 1


def test_a_list_of_values_makes_groups_public_that_only_the_data_knew() -> None:
    asked = plan(ask.count("patients", "city in ('Bern', 'Chur')", by="city"), CLINIC)
    assert (asked.family, asked.numbers) == (Family.NOISE, 2)
    assert plan(ask.count("codes", "code between 1 and 9", by="code", max_groups=2), CLINIC).numbers == 9
    assert (
        plan(ask.count("codes", "code between 1 and 9999", by="code", max_groups=2), CLINIC).family is Family.THRESHOLD
    )
    assert plan(ask.count("patients", "starts_with(city, 'B')", by="city"), CLINIC).family is Family.THRESHOLD


def test_a_condition_that_leaves_no_group_is_refused() -> None:
    with pytest.raises(BadQuestionError, match="leaves none of the groups of 'age'"):
        groups("patients", "age", "age > 200")


def test_the_largest_groups_are_chosen_among_those_that_are_left() -> None:
    assert plan(ask.top("patients", "sex", 1, "sex <> 'F'"), CLINIC).aggregate.cells == (("M",), ("é",))


PATIENTS = CLINIC.table("patients")


@given(conditions(PATIENTS), st.sampled_from(["sex", "ward", "age", "smoker"]), rows_of_anyone(CLINIC))
def test_no_group_is_left_out_that_holds_a_row_for_which_the_condition_is_true(condition, column, tables) -> None:
    declared, sql = groups("patients", column), Kleene(CLINIC, tables)
    held = {row[column] for row in tables["patients"] if sql.truth(condition, [(PATIENTS, row)]) is True} & set(
        declared
    )
    try:
        left = groups("patients", column, condition)
    except BadQuestionError:
        left = []
    assert held <= set(left)
    assert [label for label in declared if label in left] == left, "in the order they are declared in"


@pytest.mark.parametrize(
    ("table", "by", "where", "left"),
    [
        ("patients", ask.bins("age(born)", [0, 18, 65, 120]), "age(born) < 18", [(0, 17)]),
        ("patients", ask.bins("age(born)", [0, 18, 65, 120]), "born <= date '1970-01-01'", [(18, 64), (65, 120)]),
        ("patients", "month(born)", "month(born) in (1, 12)", [1, 12]),
        ("patients", "floor(age / 10) * 10", "age between 25 and 30", [(20, 29), (30, 39)]),
        ("patients", "number_of(visits, 3)", "number_of(visits, 3) >= 2", [2, 3]),
        ("patients", "case when age > 64 then 'old' else 'young' end", None, ["old", "young"]),
        ("visits", ask.bins("day - patients.born", [0, 100, 200]), "day - patients.born > 100", [(100, 200)]),
        ("visits", ask.bins("patients.born - day", [0, 100, 200]), "day - patients.born < -100", [(100, 200)]),
        ("visits", ask.bins("age(patients.born, day)", [0, 18, 65]), "age(patients.born, day) = 17", [(0, 17)]),
        ("visits", "patients.sex", "patients.sex <> 'F'", ["M", "é"]),
    ],
)
def test_conditions_narrow_the_groups_of_derived_columns(table, by, where, left) -> None:
    assert groups(table, by, where, max_groups=2) == left


def test_a_condition_says_where_months_without_declared_ends_begin_and_end() -> None:
    by = "date_trunc('month', \"left\")"
    left = groups("visits", by, "\"left\" between '2019-12-31' and '2020-02-01'", max_groups=2)
    begins = [date.fromordinal(date(1970, 1, 1).toordinal() + first) for first, _ in left]
    assert begins == [date(2019, 12, 1), date(2020, 1, 1), date(2020, 2, 1)]
    with pytest.raises(BadQuestionError, match="declares no first and last day, so its months have no end"):
        groups("visits", by, "\"left\" >= '2019-12-31'", max_groups=2)


_KEYS = {
    "patients": [ask.bins("age(born)", [0, 1, 2, 18, 120]), ask.by_year("born"), "month(born)", "number_of(visits, 2)"],
    "visits": [ask.bins("age(patients.born, day)", [0, 1, 18]), ask.bins("day - patients.born", [-400, 0, 9, 400])],
}
_WHERES = {
    "patients": [
        "age(born) >= {}",
        "born > date '20{:02}-06-01'",
        "year(born) in (20{0:02}, 2020)",
        "not (month(born) = {})",
        "number_of(visits, 2) < {}",
        "born between date '2018-05-05' and date '20{:02}-06-01'",
    ],
    "visits": ["age(patients.born, day) < {}", "day - patients.born > {}", "not patients.born - day < {}"],
}


@given(st.data(), st.sampled_from(["patients", "visits"]), rows_of_anyone(CLINIC))
def test_no_group_of_a_derived_column_is_left_out_that_holds_somebody(data, table, tables) -> None:
    by = data.draw(st.sampled_from(_KEYS[table]))
    chosen = data.draw(st.lists(st.sampled_from(_WHERES[table]), min_size=1, max_size=2))
    where = " and ".join(text.format(data.draw(st.integers(0, 21))) for text in chosen)
    every = plan(ask.count(table, by=by, max_groups=99), CLINIC).aggregate
    try:
        left = plan(ask.count(table, where, by=by, max_groups=99), CLINIC).aggregate
    except BadQuestionError as refused:
        if "leaves none" not in str(refused):
            raise
        return
    held = RowsInMemory(CLINIC, tables).cells(replace(left, keys=every.keys))
    assert held.keys() <= set(left.cells)


def test_open_keys_stay_open_and_lose_what_is_missing() -> None:
    key = PrivateKey(column="code", missing=True)
    wide = InIntervals(column="code", domain=INTEGERS, intervals=((0, 10**9),))
    assert narrow(key, wide) == PrivateKey(column="code", missing=False)
    assert narrow(key, InIntervals(column="other", domain=INTEGERS, intervals=((0, 1),))) == key
    few = InIntervals(column="code", domain=INTEGERS, intervals=((0, 1), (5, 5)))
    assert narrow(key, few) == DeclaredKey(column="code", values=(0, 1, 5), missing=False)


def test_what_is_asked_together_keeps_the_same_groups() -> None:
    asked = read_sql("select sex, count(*), count(sex), count(bmi) from patients group by sex").questions
    keys = {plan(one, CLINIC).aggregate.keys for one in asked.values()}
    assert len(keys) == 1


def test_sql_narrows_alike() -> None:
    (asked,) = read_sql(
        "select year(day), count(distinct pid) from visits where day >= date '2024-01-01' group by year(day)",
        max_groups=2,
    ).questions.values()
    assert years([cell[0] for cell in plan(asked, CLINIC).aggregate.cells]) == [2024, 2025]
