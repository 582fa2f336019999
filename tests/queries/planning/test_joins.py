"""What a LEFT JOIN does not find is missing, for values, groups and conditions: the numbers are those of DuckDB."""

from datetime import date, datetime

import pytest

from fuzz.sql import BOUNDS, CLINIC, Truth
from lapwing import col, count, mean, total, variance
from lapwing.queries.algebra.aggregate import DeclaredKey
from lapwing.queries.planning.planner import plan, plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError

SMOKERS = "from visits v left join patients p on p.pid = v.pid and p.smoker"
CHOSEN = "from visits v left join (select * from patients where smoker) p on p.pid = v.pid"
OF_BOTH = "from visits v left join patients p on p.pid = v.pid and p.age > v.nights"
OF_THIS = "from visits v left join patients p on p.pid = v.pid and v.nights > 1"
NUMBERED = "from patients p left join (select pid, count(*) as n from visits group by pid) t on t.pid = p.pid"
SOME = (
    "from patients p left join (select pid, min(nights) as n from visits group by pid) t on t.pid = p.pid and p.smoker"
)
OFTEN = (
    "from patients p left join (select pid, count(*) as n from visits group by pid having count(*) >= 2) t "
    "on t.pid = p.pid"
)
COMPUTED = "from visits v left join (select pid, coalesce(age, 7) as n from patients where smoker) t on t.pid = v.pid"


@pytest.fixture(scope="module")
def truth():
    with Truth() as found:
        yield found


@pytest.mark.parametrize("source", [SMOKERS, CHOSEN, OF_BOTH, OF_THIS])
@pytest.mark.parametrize(
    "select",
    [
        "select count(p.pid), count(p.age), avg(p.age), count(*) {}",
        "select p.smoker, count(*) {} group by 1",
        "select p.sex, sum(v.nights) {} group by 1",
        "select p.sex is null, count(*) {} group by 1",
        "select case when p.age > 30 then 'old' when p.age is null then '?' else 'young' end, count(*) {} group by 1",
        "select count(distinct p.sex) {}",
        "select avg(coalesce(p.age, 0)) {}",
        "select count(*) filter (where p.age > 30), sum(case when p.age > 30 then 1 else 0 end) {}",
        "select count(*) {} where coalesce(p.age, 0) = 0",
        "select count(*) {} where p.age > v.nights",
        "select count(*) {} where p.pid is null",
        "select count(*) {} where p.pid is not null and (p.age > 50 or v.nights > 1)",
        "select corr(p.age, v.nights) {}",
    ],
)
def test_what_the_join_does_not_find_is_missing(source, select, truth) -> None:
    text = select.format(source)
    truth.check(text, plan_together(read_sql(text, **BOUNDS).questions, CLINIC))


OF_NOBODY = [
    "coalesce(v.nights, 0) = 0",
    "coalesce(v.nights, 5) < 3",
    "coalesce(v.day, date '2000-02-29') < date '2005-01-01'",
    "(v.nights > 3) is not true",
    "(v.nights > 3) is null",
    "(v.nights > 3 and p.age > 3) is not false",
    "(v.nights > 3 or p.age > 3) is not true",
    "(v.pid is null or p.age > 3) is true",
    "(v.pid is null) is not true",
    "(v.pid is null or v.nights > p.age) is not false",
    "v.nights is distinct from 3",
    "not coalesce(v.nights > 3, false)",
    "nullif(v.nights, 7) is null",
    "case when v.nights > 3 then 1 else 0 end = 0",
    "case when v.pid is null then 1 end = 1",
    "v.pid is null and v.pid is not null",
    "v.pid is null and coalesce(v.nights, 0) < 3",
    "v.pid is null and not (v.nights / 4 >= 27.25 and p.bmi = 63) and v.nights >= 0",
    "(v.pid is null or v.nights > 3 or p.sex <> 'F') and v.nights >= 0",
    "(v.pid is null or v.kind = 'ER') and v.nights >= 0",
    "v.pid is null or exists (select 1 from visits w where w.pid = p.pid and w.nights > v.nights)",
    "not exists (select 1 from visits w where w.pid = p.pid and w.nights > v.nights)",
    "v.pid in (select w.pid from visits w where w.nights > 1)",
    "p.pid is null",
]


@pytest.mark.parametrize("where", OF_NOBODY)
@pytest.mark.parametrize("on", ["", " and v.nights > 1", " and p.smoker"])
def test_a_condition_says_of_whoever_has_no_row_what_it_says_of_missing_values(on, where, truth) -> None:
    text = f"select count(distinct p.pid) from patients p left join visits v on v.pid = p.pid{on} where {where}"  # noqa: S608 - made here
    truth.check(text, plan_together(read_sql(text, **BOUNDS).questions, CLINIC))


@pytest.mark.parametrize(
    "where", ["coalesce(v.nights, 0) > 1", "(v.nights > 1) is true", "v.nights is not distinct from 2"]
)
def test_a_left_join_whose_row_must_be_there_is_a_join(where, truth) -> None:
    text = f"select count(*), avg(v.nights) from patients p left join visits v on v.pid = p.pid where {where}"  # noqa: S608 - made here
    truth.check(text, plan_together(read_sql(text, **BOUNDS).questions, CLINIC))


def test_whether_nobody_is_among_no_people_is_not_asked() -> None:
    text = (
        "select count(distinct p.pid) from patients p left join visits v on v.pid = p.pid "
        "where v.pid not in (select w.pid from visits w)"
    )
    with pytest.raises(BadQuestionError, match=r"a LEFT JOIN does not find; write JOIN, or say with has"):
        plan_together(read_sql(text, **BOUNDS).questions, CLINIC)


@pytest.mark.parametrize("where", ["null is null", "coalesce(nights, null) is null", "(null = 3) is not null"])
def test_null_is_missing(where, truth) -> None:
    text = f"select count(*) from visits where {where}"  # noqa: S608 - made here
    truth.check(text, plan_together(read_sql(text, **BOUNDS).questions, CLINIC))


@pytest.mark.parametrize("source", [NUMBERED, SOME, OFTEN, COMPUTED])
@pytest.mark.parametrize(
    "select",
    [
        "select avg(t.n), sum(t.n) {}",
        "select count(t.n), count(t.pid), count(*) {}",
        "select avg(coalesce(t.n, 0)) {}",
        "select count(*) {} where t.n is null",
        "select count(*) {} where t.n >= 2",
        "select count(*) {} where coalesce(t.n, 0) = 0",
        "select count(*) {} where t.pid is not null and t.n >= 1",
    ],
)
def test_so_is_what_a_select_has_made_of_rows(source, select, truth) -> None:
    text = select.format(source)
    truth.check(text, plan_together(read_sql(text, **BOUNDS).questions, CLINIC))


@pytest.mark.parametrize(
    "text",
    [
        "select sum(p.age) from patients p left join visits v on v.pid = p.pid",
        "select v.kind, avg(p.age) from patients p left join visits v on v.pid = p.pid group by 1",
        "select avg(coalesce(v.nights, 0)) from patients p left join visits v on v.pid = p.pid",
        "select avg((v.nights is null)::int) from patients p left join visits v on v.pid = p.pid",
    ],
)
def test_people_without_rows_are_not_left_out_of_what_counts_them_too(text) -> None:
    with pytest.raises(BadQuestionError, match="who has no row in v would count as a row of it"):
        plan_together(read_sql(text, **BOUNDS).questions, CLINIC)


def test_a_count_of_nothing_in_particular_is_one_of_rows(truth) -> None:
    text = "select kind, count() from visits group by 1"
    truth.check(text, plan_together(read_sql(text, **BOUNDS).questions, CLINIC))


def test_to_order_by_all_is_to_order_by_every_column() -> None:
    select = "select sex, ward, count(*) from patients group by all order by"
    orders = [read_sql(f"{select} {by}").arrangement.order for by in ("all desc", "1 desc, 2 desc, 3 desc")]
    assert orders[0] == orders[1]


def test_midnight_is_the_day_and_another_hour_is_refused() -> None:
    days = [plan(count("patients", col("born") < day), CLINIC) for day in (datetime(2000, 1, 1), date(2000, 1, 1))]  # noqa: DTZ001 - of no place
    assert days[0].canonical == days[1].canonical
    with pytest.raises(BadQuestionError, match="its days have none here; write date '2000-01-01'"):
        plan(count("patients", col("born") < datetime(2000, 1, 1, 3)), CLINIC)  # noqa: DTZ001 - of no place


@pytest.mark.parametrize("made", ["min(nights)", "max(nights)", "count(*)", "count(distinct kind)", "min(day)"])
@pytest.mark.parametrize("beside", ["", ", count(*)", ", count(pid)"])
def test_a_value_of_a_person_that_is_missing_is_not_counted(made, beside, truth) -> None:
    text = f"select count(n){beside} from (select pid, {made} as n from visits group by pid) t"  # noqa: S608 - made here
    truth.check(text, plan_together(read_sql(text, **BOUNDS).questions, CLINIC))


LISTED = [
    "select p.city, sum(v.nights) from visits v join patients p using (pid) where p.city in ('a', 'A') group by 1",
    (
        "select p.city, avg(v.nights), count(*) from visits v "
        "join patients p on p.pid = v.pid and p.city in ('a', 'ab') "
        "where v.kind = 'ER' group by 1"
    ),
    "select p.city, count(*) from visits v left join patients p on p.pid = v.pid where p.city in ('a', 'A') group by 1",
    (
        "select p.city, count(*) from visits v left join patients p on p.pid = v.pid and p.smoker "
        "where p.city = 'a' or p.city = 'A' group by 1"
    ),
    (
        "select p.city, v.note, sum(v.nights) from visits v join patients p using (pid) "
        "where p.city in ('a', 'A', 'é') and v.note in ('a', 'ab') group by 1, 2"
    ),
    (
        "with a as (select * from patients where city in ('a', 'A')) select a.city, sum(v.nights) from visits v join a "
        "using (pid) group by 1"
    ),
    "select p.sex, count(*) from visits v join patients p using (pid) where p.sex = 'F' group by 1",
    "select count(*), avg(v.nights) from patients p left join visits v on v.pid = p.pid where v.nights > 1",
]


@pytest.mark.parametrize("text", LISTED)
def test_a_list_makes_the_groups_of_a_joined_table_public(text, truth) -> None:
    planned = plan_together(read_sql(text, **BOUNDS).questions, CLINIC)
    truth.check(text, planned)
    for one in planned.values():
        assert all(isinstance(key, DeclaredKey) and not key.missing for key in one.aggregate.keys)


def test_a_list_in_the_on_of_a_left_join_leaves_those_for_whom_none_is_found(truth) -> None:
    text = (
        "select p.city, sum(v.nights) from visits v left join patients p on p.pid = v.pid and p.city in ('a', 'A') "
        "group by 1"
    )
    planned = plan_together(read_sql(text, **BOUNDS).questions, CLINIC)
    truth.check(text, planned)
    (one,) = planned.values()
    assert one.aggregate.keys[0].values == ("A", "a")
    assert one.aggregate.keys[0].missing


def test_a_condition_about_other_rows_of_the_person_makes_no_groups_public() -> None:
    text = "select v.note, sum(v.nights) from visits v where has(visits, note in ('a', 'A')) group by 1"
    (one,) = plan_together(read_sql(text, **BOUNDS).questions, CLINIC).values()
    assert one.aggregate.cells is None


@pytest.mark.parametrize(("word", "ask"), [("avg", mean), ("sum", total), ("var_pop", variance)])
def test_a_case_that_is_a_value_or_missing_is_a_filter_in_python_and_in_sql(word, ask) -> None:
    case = "case when kind = 'ER' then nights end"
    texts = [f"{word}({case})", f"{word}(nights) filter (where kind = 'ER')"]
    asked = [read_sql(f"select {one} from visits", **BOUNDS).questions.popitem()[1] for one in texts]  # noqa: S608 - made here
    plans = {plan(one, CLINIC).canonical for one in [*asked, ask("visits", case, **BOUNDS)]}
    assert len(plans) == 1
