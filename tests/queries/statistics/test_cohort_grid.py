"""Plans of many questions are those of each question asked alone, to the last letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing import at_least, col, has
from lapwing.queries.language.builders import as_condition
from lapwing.queries.language.sql import reader as sql_reader
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.cohort_grid import CohortPlanner
from lapwing.vocabulary.errors import BadQuestionError
from session.clinic import population

PARTS = [
    "sex = 'F'",
    "sex <> 'F'",
    "sex in ('F', 'M')",
    "sex is null",
    "age > 17",
    "age between 20 and 30",
    "age = 200",
    "not age < 40",
    "bmi >= 30.5",
    "survivor",
    "not survivor",
    "starts_with(city, 'B')",
    "city = 'Bern'",
    "age > 60 or survivor",
    "has(visits, kind = 'ER')",
    "has(visits, ward = 3, 2)",
    "true",
    "false",
    "age + 1 > 30",
    "age > bmi",
    "age <= bmi",
    "survivor or age > 60",
    "has(visits, ward = 3)",
    "not has(visits, ward = 3)",
    "2 * age > bmi + 7",
    "case when age > 60 then 'old' else 'young' end = 'old'",
    "number_of(visits, 2) >= 1",
    "number_of(visits, ward = 3, 2) >= 1",
    "number_of(visits, 1) = 1",
    "case when age > 60 then 1 else 0 end in (1, 2)",
]
PEOPLE = population()


@given(parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=5), people=st.integers(0, 10**6))
def test_it_plans_what_is_planned_alone(parts, people) -> None:
    planner = CohortPlanner(PEOPLE, "patients")
    where = " and ".join(f"({part})" for part in parts)
    for condition in (as_condition(where), as_condition(where)):
        try:
            alone = plan(at_least(people, "patients", condition), PEOPLE)
        except BadQuestionError as refused:
            with pytest.raises(BadQuestionError) as again:
                planner.plan(condition, people)
            assert str(again.value) == str(refused)  # noqa: PT017
            return
        planned, text = planner.plan(condition, people)
        assert (planned, text) == (alone, alone.canonical)


def test_conditions_that_share_objects_are_planned_alike() -> None:
    planner = CohortPlanner(PEOPLE, "patients")
    sexes, ages = [col("sex") == sex for sex in ("F", "M")], [col("age") >= age for age in (20, 40)]
    for _ in range(2):
        for sex in sexes:
            for age in ages:
                where = sex & age & has("visits", "kind = 'ER'")
                planned, text = planner.plan(where, 200)
                alone = plan(at_least(200, "patients", where), PEOPLE)
                assert (planned, text) == (alone, alone.canonical)


def test_what_is_remembered_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr("lapwing.queries.statistics.cohort_grid._REMEMBERED", 5)
    planner = CohortPlanner(PEOPLE, "patients")
    for age in range(20):
        planned, _ = planner.plan(col("age") == age, 1)
        assert planned == plan(at_least(1, "patients", f"age = {age}"), PEOPLE)
    assert len(planner._kept) <= 5


def test_a_segment_and_a_question_near_a_limit_are_planned_alone() -> None:
    many = as_condition(" and ".join(f"age <> {age}" for age in range(60)))
    planned, text = CohortPlanner(PEOPLE, "patients").plan(many, 1)
    alone = plan(at_least(1, "patients", many), PEOPLE)
    assert (planned, text) == (alone, alone.canonical)


JOINED = [" and ", " AND ", "\n and -- a remark\n", " or ", " and not "]
ODD = [
    *(
        "and age > 3",
        "age > 3 and",
        "age > 3 and and sex = 'F'",
        "",
        "age between 20",
        "age between 20 and",
        "(age > 3",
    ),
    *("age > 3; drop table x", "age > 3) and (sex = 'F'", "sex = 'and' and age > 3", "sex = 'F", "end and age > 3"),
    *(
        "age between 1 and 2 and 3",
        "not age between 1 and 2 and survivor",
        "age > 3 and (survivor or sex = 'F' and true)",
    ),
    *(
        "age > 3 and exists (select 1 from visits)",
        "age > 3 xor survivor and true",
        "age > 3 and sex",
        "height > 3 and true",
    ),
    "case when survivor and age > 3 then 1 else 0 end = 1 and sex = 'F'",
]


def read(reader, text) -> str:
    try:
        return repr(reader(text))
    except BadQuestionError as refused:
        return f"refused: {refused}"


@given(parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), joined=st.sampled_from(JOINED))
def test_a_text_is_read_part_by_part_as_it_is_read_alone(parts, joined) -> None:
    text = joined.join(parts)
    sql_reader._read_part.cache_clear()
    assert read(as_condition, text) == read(sql_reader._read_alone, text)
    assert read(as_condition, text) == read(sql_reader._read_alone, text), "when its parts are known"


@pytest.mark.parametrize("text", ODD)
def test_a_text_that_cannot_be_read_is_refused_as_it_is_alone(text) -> None:
    assert read(as_condition, text) == read(sql_reader._read_alone, text)
