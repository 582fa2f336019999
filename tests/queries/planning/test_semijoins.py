"""UNION, INTERSECT and EXCEPT count the people of the tables that they name, as DuckDB does: nobody is left out."""

from dataclasses import replace

import pytest

from fuzz.sql import BOUNDS, CLINIC, Truth
from lapwing.queries.algebra.aggregate import CountPeopleOfTables, tables_of
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import Adjacency

EITHER = "select pid from visits where nights > 1 union select pid from patients where smoker"


def asked(text):
    """Return the questions of a statement, in which EITHER stands for a UNION."""
    return read_sql(text.replace("EITHER", EITHER), **BOUNDS).questions


@pytest.fixture(scope="module")
def truth():
    with Truth() as found:
        yield found


@pytest.mark.parametrize(
    "text",
    [
        "select count(*), count(distinct pid) from (EITHER) t",
        "select count(*) from (select pid from visits union select pid from patients) t",
        "select count(*) from (select pid from visits intersect select pid from patients where smoker) t",
        "select count(*) from (select pid from visits except select pid from patients) t",
        "select count(*) from (select pid from visits where kind = 'ER' except (EITHER)) t",
        "select count(*) from (select v.pid from visits v join patients p using (pid) union select pid from visits) t",
        "with u as (EITHER) select count(*) from u",
        "with u as (EITHER), w as (select pid from u) select count(*) from w",
        "with u as (EITHER) select count(*) from patients where pid in (select pid from u)",
        "with u as (EITHER) select count(*) from visits where pid not in (select pid from u)",
        "with u as (EITHER) select p.sex, count(*) from u join patients p on p.pid = u.pid group by 1",
        "with u as (EITHER) select p.sex, count(*) from u left join patients p on p.pid = u.pid group by 1",
        "with u as (EITHER) select sex, count(*) from u left join patients p on p.pid = u.pid and smoker group by 1",
        "with u as (EITHER) select avg(p.age) from patients p join u on p.pid = u.pid",
        "with u as (EITHER) select avg(v.nights) from visits v join u on v.pid = u.pid",
        "with u as (EITHER) select count(*) from visits v left join u on v.pid = u.pid where u.pid is null",
    ],
)
def test_the_numbers_are_those_of_the_database(text, truth) -> None:
    truth.check(text.replace("EITHER", EITHER), plan_together(asked(text), CLINIC))


@pytest.mark.parametrize(("adjacency", "moved"), [(Adjacency.ADD_REMOVE, 1), (Adjacency.REPLACE, 1)])
def test_one_person_is_one_and_says_so(adjacency, moved) -> None:
    clinic = replace(CLINIC, unit=replace(CLINIC.unit, adjacency=adjacency))
    (planned,) = plan_together(asked("select count(*) from (EITHER) t"), clinic).values()
    assert planned.aggregate.bounding == CountPeopleOfTables(tables=("patients", "visits"), max_cells=1)
    assert planned.sensitivity.l1 == moved
    assert tables_of(planned.aggregate) == {"patients", "visits"}
    assert "the number of people, in patients or visits where" in planned.explain()


def test_the_order_of_the_selects_does_not_make_another_question() -> None:
    one, other = EITHER.split(" union ")
    plans = [
        plan_together(read_sql("select count(*) from (EITHER) t".replace("EITHER", text)).questions, CLINIC)[
            "count"
        ].canonical
        for text in (f"{one} union {other}", f"{other} union {one}")
    ]
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("with u as (EITHER) select avg(p.age) from u left join patients p on p.pid = u.pid", "people are counted"),
        ("select count(*) from (select nights from visits union select pid from patients) t", "does not tell"),
        ("select count(*) from (select pid from visits union all select pid from patients) t", "UNION ALL would count"),
    ],
)
def test_what_is_not_a_count_of_people_is_refused(text, why) -> None:
    with pytest.raises(BadQuestionError, match=why):
        plan_together(asked(text), CLINIC)
