"""SQL becomes the same plans as Python, or is refused by name with what to write instead. No text gets any further."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import lapwing as ask
from engines.clinic import clinic
from lapwing.queries.language.sql.nodes import LONGEST_TEXT, check_all_read
from lapwing.queries.language.sql.reader import read_condition
from lapwing.queries.planning.planner import plan, plan_together
from lapwing.queries.statements import select as sql
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

CLINIC = clinic()

SAME = {
    "select count(*) from patients": ask.count("patients"),
    "select count(distinct pid) from patients p where p.age > 3": ask.count("patients", "age > 3"),
    "select count(*) from visits where kind = 'ER'": ask.count_rows("visits", "kind = 'ER'"),
    "select count(distinct pid) from visits": ask.count("visits"),
    "select count(cost) from visits": ask.count_rows("visits", "cost is not null"),
    "select count(pid) from visits v": ask.count_rows("visits"),
    "select count(1) from patients": ask.count("patients"),
    "select bins(age, 0, 18, 120) as b, count(*) from patients group by b": ask.count(
        "patients", by=ask.bins("age", [0, 18, 120])
    ),
    "select year(born) y, count(*) from patients group by Y": ask.count("patients", by=ask.by_year("born")),
    "select sex, count(*) from patients group by sex": ask.count("patients", by="sex"),
    "select count(*) n, sex s from patients group by sex": ask.count("patients", by="sex"),
    "SELECT SUM(nights) AS total FROM visits AS v WHERE v.nights > 1": ask.total("visits", "nights", "nights > 1"),
    "select sum(2 * nights + 1) from visits": ask.total("visits", "1 + nights * 2"),
    "select sum(clip(cost, 0, 10)) from visits": ask.total("visits", "clip(cost, 0, 10)"),
    "select sum(least(greatest(cost, 0), 10)) from visits": ask.total("visits", "coalesce(clip(cost, 0, 10), 0)"),
    "select sum(greatest(least(cost, 10), 0)) from visits": ask.total("visits", "coalesce(clip(cost, 0, 10), 10)"),
    "select avg(age) from patients": ask.mean("patients", "age"),
    "select avg(age(born)) from patients": ask.mean("patients", "age(born)"),
    "select var_pop(bmi) from patients": ask.variance("patients", "bmi"),
    "select covar_pop(bmi, age) from patients": ask.covariance("patients", "bmi", "age"),
    "select corr(bmi, age) from patients": ask.correlation("patients", "bmi", "age"),
    "select median(age) from patients": ask.median("patients", "age"),
    "select quantile_cont(age, 0.9) from patients": ask.quantiles("patients", "age", "0.9"),
    "select quantile_cont(age, [0.9, 0.1]) from patients": ask.quantiles("patients", "age", ["0.1", "0.9"]),
    "select percentile_cont(0.25) within group (order by age) from patients": ask.quantiles("patients", "age", "0.25"),
    "select count(distinct ward) from patients": ask.count_distinct("patients", "ward"),
    "select year(born), count(*) from patients group by year(born)": ask.count("patients", by=ask.by_year("born")),
    "select bins(age, 0, 18, 120), count(*) from patients group by bins(age, 0, 18, 120)": ask.count(
        "patients", by=ask.bins("age", [0, 18, 120])
    ),
    "select histogram(age, 6) from patients": ask.count("patients", "age is not null", by=ask.bins("age", 6)),
    "select histogram(sex) from patients where age > 3": ask.count("patients", "sex is not null and age > 3", by="sex"),
    "select bins(age, 6) b, count(*) from patients group by b": ask.count(
        "patients", by=ask.bins("age", [0, 20, 40, 60, 80, 100, 120])
    ),
    "select count(*) from patients where born < date '2024-02-29' - interval '1 year'": ask.count(
        "patients", "born < date '2023-02-28'"
    ),
    "select count(*) from patients where age / 4 > 10 and floor(bmi / 10) = 2": ask.count(
        "patients", "age > 40 and bmi >= 20 and bmi < 30"
    ),
    "select avg(nullif(age, 0)) from patients": ask.mean("patients", "age", "age <> 0"),
    "select median(case when sex = 'F' then age end) from patients": ask.median("patients", "age", "sex = 'F'"),
    "with r as (select *, row_number() over (partition by pid order by day) as n from visits) "
    "select avg(nights) from r where n = 1": ask.mean(
        "visits",
        "nights",
        "day is not null and not exists (select 1 from visits o where o.pid = visits.pid and o.day < visits.day) or "
        "day is null and not exists (select 1 from visits o where o.pid = visits.pid and o.day is not null)",
        max_rows=1,
    ),
    "select sex from patients group by sex order by count(*) desc limit 2": ask.top("patients", "sex", 2),
    "with old as (select * from patients where age > 65) select count(*) from old where sex = 'F'": ask.count(
        "patients", "age > 65 and sex = 'F'"
    ),
    "with a as (select pid, age from patients p where p.age > 65), b as (select * from a x where x.age < 90) "
    "select avg(y.age) from b y": ask.mean("patients", "age", "age > 65 and age < 90"),
    "with codes as (select * from visits p where has(codes, p.day < codes.day)) select count(*) from codes": (
        ask.count_rows("visits", "has(codes, visits.day < codes.day)")
    ),
    "with v as (select * from visits p where has(codes, p.day < codes.day)) select count(*) from v as codes": (
        ask.count_rows("visits", "has(codes, visits.day < codes.day)")
    ),
    "with p as (select * from visits v where v.nights > 1) select count(*) from patients p where has(p, day > born)": (
        ask.count("patients", "has(visits, nights > 1 and day > born)")
    ),
    "with v as (select pid, day from visits where nights > 1), w as (select * from v where day > date '2020-01-01') "
    "select count(*) from patients where has(w)": ask.count(
        "patients", "has(visits, nights > 1 and day > date '2020-01-01')"
    ),
    "select kind from visits group by kind order by count(distinct pid) desc limit 2": ask.top("visits", "kind", 2),
    "with er as (select pid from visits v where v.kind = 'ER') select count(*) from patients "
    "where pid in (select pid from er)": ask.count("patients", "has(visits, kind = 'ER')"),
    "select count(*) from patients p where exists "
    "(select 1 from visits v where v.pid = p.pid and v.day > p.born)": ask.count(
        "patients", "has(visits, visits.day > patients.born)"
    ),
    "select count(*) from patients p where p.pid not in (select v.pid from visits v)": ask.count(
        "patients", "not has(visits)"
    ),
    "select count(*) from visits where pid in (select pid from patients where sex = 'F')": ask.count_rows(
        "visits", "has(patients, sex = 'F')"
    ),
    "select count(*) from patients /* hi */ where age = 3 -- bye": ask.count("patients", "age = 3"),
    "select count(*) from patients;": ask.count("patients"),
    "select stddev(bmi) from patients": ask.variance("patients", "bmi"),
    "select var_samp(bmi) from patients": ask.variance("patients", "bmi"),
    "select approx_quantile(age, 0.9) from patients": ask.quantiles("patients", "age", "0.9"),
    "select percentile_disc(0.9) within group (order by age) from patients": ask.quantiles("patients", "age", "0.9"),
    "select mode(sex) from patients": ask.top("patients", "sex", 1),
    "select count(*) filter (where age > 65) from patients": ask.count("patients", "age > 65"),
    "select sum(case when age > 65 then 1 else 0 end) from patients": ask.count("patients", "age > 65"),
    "select sum(case when kind = 'ER' then nights end) from visits": ask.total("visits", "nights", "kind = 'ER'"),
    "select count(if(age > 65, 1, null)) from patients": ask.count("patients", "age > 65"),
    "select count_if(age > 65) from patients": ask.count("patients", "age > 65"),
    "select count(*) from patients where abs(age - 50) <= 10 and abs(age) > 45": ask.count(
        "patients", "age - 50 <= 10 and age - 50 >= -10 and (age > 45 or age < -45)"
    ),
    "select count(distinct p.pid) from patients p join visits v on v.pid = p.pid where p.sex = 'F' and v.kind = 'ER'": (
        ask.count("patients", "sex = 'F' and has(visits, kind = 'ER')")
    ),
    "select count(distinct pid) from patients join visits using (pid)": ask.count("patients", "has(visits)"),
    "select count(distinct p.pid) from visits v, patients p, codes c where c.patient = p.pid and v.pid = p.pid "
    "and c.code = 3 and v.kind = 'ER' and c.day > v.day": ask.count(
        "patients", "has(visits, kind = 'ER' and has(codes, code = 3 and codes.day > visits.day))"
    ),
    "select count(*) from patients p left join visits v on v.pid = p.pid and v.kind = 'ER' where v.pid is null": (
        ask.count("patients", "not has(visits, kind = 'ER')")
    ),
    "select count(*) from visits v join patients p on p.pid = v.pid where p.sex = 'F'": ask.count_rows(
        "visits", "has(patients, sex = 'F')", max_rows=2
    ),
    "select avg(v.nights) from patients p join visits v using (pid) where p.sex = 'F' or v.kind = 'ER'": ask.mean(
        "visits", "nights", "has(patients, sex = 'F') or (kind = 'ER' and has(patients))", max_rows=2
    ),
    "with er as (select * from visits where kind = 'ER') select count(distinct p.pid) from patients p join er e on "
    "e.pid = p.pid where e.nights > 3": ask.count("patients", "has(visits, kind = 'ER' and nights > 3)"),
    "select count(*) from patients p join (select distinct pid from visits where kind = 'ER') v on p.pid = v.pid": (
        ask.count("patients", "has(visits, kind = 'ER')")
    ),
    "select count(*) from patients p where exists (select 1 from visits v join codes c on c.patient = v.pid where "
    "v.pid = p.pid and c.day > v.day)": ask.count("patients", "has(visits, has(codes, codes.day > visits.day))"),
    "select count(*) from patients where pid in (select v.pid from codes c join visits v on c.patient = v.pid)": (
        ask.count("patients", "has(visits, has(codes))")
    ),
    "select count(*) from omop.patients p where p.age > 3": ask.count("patients", "age > 3"),
    "select count(*) from (select * from patients where age > 3) where sex = 'F'": ask.count(
        "patients", "age > 3 and sex = 'F'"
    ),
    "with c as (select distinct pid from visits where kind = 'ER') select count(*) from c": ask.count(
        "visits", "kind = 'ER'"
    ),
    "with c as (select pid from visits group by pid) select count(1) from c": ask.count("visits"),
    "with c as (select pid from visits group by 1 having count(*) > 1) select count(*) from c": ask.count(
        "visits", ask.has("visits", at_least=2)
    ),
    "select count(*) from patients where pid in (select distinct pid from visits where kind = 'ER' union "
    "select pid from visits where nights > 3 except select patient from codes)": ask.count(
        "patients", "(has(visits, kind = 'ER') or has(visits, nights > 3)) and not has(codes)"
    ),
    "select count(*) from (select pid from visits intersect select patient from codes)": ask.count(
        "visits", "has(codes)"
    ),
    "select avg(t.n) from (select v.pid, v.nights as n from visits v) t where t.n > 3": ask.mean(
        "visits", "nights", "nights > 3"
    ),
    "select avg(t.nights) from (select v.nights from patients p join visits v on v.pid = p.pid where p.sex = 'F') t": (
        ask.mean("visits", "nights", "has(patients, sex = 'F')", max_rows=2)
    ),
    "select count(*) from patients order by 1 limit 1 offset 0": ask.count("patients"),
    "select sex, count(*) from patients group by 1 order by 2 desc nulls first limit 3": ask.count(
        "patients", by="sex"
    ),
    "select sex s, count(*) from patients group by all having count(*) >= 20 order by count(*), s": ask.count(
        "patients", by="sex"
    ),
    "select p.sex, count(*) as n from patients p group by sex having n between 3 and 20 and 7 < n": ask.count(
        "patients", by="sex"
    ),
    "select count(*) from patients where born > current_date - 365": ask.count(
        "patients", "born > date '2024-03-01' - 365"
    ),
}


@pytest.mark.parametrize("text", SAME)
def test_sql_and_python_make_the_same_plan(text) -> None:
    (question,) = read_sql(text).questions.values()
    assert plan(question, CLINIC).canonical == plan(SAME[text], CLINIC).canonical


def test_the_first_row_of_a_person_is_asked_for_in_three_ways() -> None:
    ranked = (
        "with r as (select v.*, row_number() over (partition by v.pid order by v.day) as n from visits v) "
        "select count(distinct pid) from r where n {}"
    )
    read = [read_sql(ranked.format(such)).questions.values() for such in ("= 1", "<= 1", "< 2")]
    plans = [plan(question, CLINIC).canonical for (question,) in read]
    assert plans[0] == plans[1] == plans[2]
    with pytest.raises(BadQuestionError):
        read_sql(ranked.format("<= 0"))


def test_twos_are_added_up_and_not_counted() -> None:
    (twos,) = read_sql("select sum(case when age > 65 then 2 else 0 end) from patients").questions.values()
    assert plan(twos, CLINIC).canonical != plan(ask.count("patients", "age > 65"), CLINIC).canonical


def test_a_select_asks_one_question_for_each_statistic() -> None:
    asked = read_sql("select sex as s, count(*), avg(age) as a, avg(bmi), avg(bmi) from patients group by sex")
    assert list(asked.questions) == ["count", "a", "avg", "avg_2"]
    assert asked.key_names == ("s",)


def test_bounds_come_beside_the_text() -> None:
    (question,) = read_sql(
        "select kind, sum(nights) from visits group by kind", max_rows=5, max_groups=2
    ).questions.values()
    same = ask.total("visits", "nights", by="kind", max_rows=5, max_groups=2)
    assert plan(question, CLINIC).canonical == plan(same, CLINIC).canonical


READ_WHOLE = [
    *SAME,
    "select count(*) from patients where age between 3 and 5 and not (smoker or sex in ('F')) and bmi is null",
    "select count(*) from patients where born + interval '30' day < date '2020-01-01' and starts_with(city, 'B')",
    "select count(*) from patients where has(visits, day - born > -30, 2) or extract(year from born) = 1990",
    "select count(*) from patients where datediff('day', born, date '2020-01-01') > 30 and age(born) >= 18",
    "select count(*) from patients p where (select count(*) from visits v where v.pid = p.pid) >= 2",
    "select count(*) from patients where pid in (select pid from visits group by pid having count(*) >= 2)",
    "select count(*) from patients where city like 'a!%' escape '!' or city not ilike '%b' or contains(city, 'c')",
    "select count(*) from patients where lower(trim(city)) = 'a' or ends_with(upper(city), 'B') or age <> ward",
    "select count(*) from patients where smoker is not true or (age < 3) is unknown or age is distinct from 3",
    "select count(*) from patients where coalesce(age, 3) < 5 or abs(bmi) > 2 or floor(bmi) = 3 or ceil(bmi) = 4",
    "select count(*) from patients where round(bmi, 1) = 3.5 or cast(age as integer) > 3 or born::date > '2000-01-01'",
]
MEANS_NOTHING = {
    ("Identifier", "quoted"): "names are compared without regard to case, quoted or not",
    ("Table", "db"): "the catalogue knows tables by their names alone",
    ("Subquery", "alias"): "a name for the rows, which columns may use",
    ("Table", "alias"): "a name for the rows, which columns may use",
    ("Literal", "is_string"): "bounds and numbers of times may be written as text; columns take their own type only",
    ("Count", "big_int"): "the width of a count in a database",
    ("Ordered", "nulls_first"): "no count is missing, and quantiles are of values that are there",
    ("DateDiff", "date_part_boundary"): "days have no smaller part here",
    ("Least", "ignore_nulls"): "rows whose value is missing are not added up",
    ("Greatest", "ignore_nulls"): "rows whose value is missing are not added up",
}
"""Arguments of the parser that may be there and change nothing, and why."""
MADE_OF = {
    **dict.fromkeys([("Column", part) for part in ("catalog", "db", "table")], exp.Identifier),
    **dict.fromkeys(
        [
            ("Select", clause)
            for clause in ("distinct", "group", "having", "limit", "offset", "order", "where", "with_")
        ],
        exp.Expr,
    ),
    **dict.fromkeys([("Select", "joins"), ("Join", "using")], list),
    **dict.fromkeys([("Join", "kind"), ("Join", "side")], str),
}
"""What every parser makes an argument of: of anything else a statement may fail in any way, for nobody can write it."""


def plans(text: str) -> list[str]:
    asked = read_sql(text)
    return [
        str(asked.key_names),
        repr(asked.arrangement),
        *(f"{name} {plan(one, CLINIC).canonical}" for name, one in asked.questions.items()),
    ]


@pytest.mark.parametrize("text", READ_WHOLE)
def test_nothing_that_the_parser_understands_is_dropped(text, monkeypatch) -> None:
    """Each node of a statement is given each argument that the parser knows for it and that is not there."""
    asked, tree = plans(text), sql.parsed(text)
    mutants = 0
    for i, node in enumerate(tree.walk()):
        for argument in node.arg_types:
            if node.args.get(argument) or (type(node).__name__, argument) in MEANS_NOTHING:
                continue
            for addition in (exp.to_identifier("extra"), exp.column("age"), [exp.column("age")], True):
                mutant = tree.copy()
                list(mutant.walk())[i].set(argument, addition)
                monkeypatch.setattr(sql, "parsed", lambda _, mutant=mutant: mutant)
                try:
                    changed = plans(text)
                except (BadQuestionError, ParameterError):
                    changed = None
                except (AttributeError, TypeError, ValueError):
                    assert not isinstance(addition, MADE_OF[type(node).__name__, argument])
                    changed = None
                assert changed != asked, f"{argument} = {addition!r} of {type(node).__name__} is dropped"
                mutants += 1
    assert mutants > 50


def test_a_node_that_nobody_reads_is_refused() -> None:
    tree = sql.parsed("select count(*) from patients where age = 3")
    with pytest.raises(BadQuestionError, match="SELECT here"):
        check_all_read(tree)


WHERE = "select count(*) from patients where "
HOSTILE = [
    "",
    ";",
    "(",
    "select",
    "select 1",
    "select * from patients",
    "select pid from patients group by pid",
    "select pid, count(*) from patients group by pid",
    "select age from patients",
    "select count(*) from patients; drop table patients",
    "select count(*) from patients; select 1",
    "drop table patients",
    "insert into patients values (1)",
    "update patients set age = 1",
    "create table x as select 1",
    "copy patients to 'x'",
    "attach 'x' as y",
    "pragma database_list",
    "explain select count(*) from patients",
    "set threads = 1",
    "install httpfs",
    "call pragma_version()",
    "from patients",
    "describe patients",
    "summarize patients",
    "select count(*) from read_csv('x.csv')",
    "select count(*) from 'x.parquet'",
    "select count(*) from patients, visits",
    "select count(*) from patients cross join visits",
    "select count(*) from patients left join visits on patients.pid = visits.pid",
    "select count(*) from patients as p(a, b)",
    "select count(*) from nowhere",
    "select count(*) from patients tablesample 10%",
    "select count(*) from patients using sample 10",
    "select count(*) from patients union select count(*) from visits",
    "select count(*) from patients intersect select 1",
    "select count(*) from patients except select 1",
    "select count(*) from patients having count(*) > 5",
    "select sex from patients group by sex order by count(*) limit 1",
    "select sex from patients group by sex order by sex desc limit 1",
    "select count(*) from patients qualify true",
    "select distinct count(*) from patients",
    "select count(*) over () from patients",
    "select sum(distinct age) from patients",
    "select max(age) from patients",
    "select min(age) from patients",
    "select any_value(age) from patients",
    "select first(age) from patients",
    "select list(age) from patients",
    "select string_agg(city, ',') from patients",
    "select sum(2 / age) from patients",
    "select sum(sqrt(age)) from patients",
    "select sum(city::int) from patients",
    "select sum(coalesce(born, 0)) from patients",
    "select avg(bmi::int) from patients",
    "select avg(left(city, 2)) from patients",
    "select sum(city) from patients",
    "select sum(code) from codes",
    "select avg(*) from patients",
    "select count(distinct sex, age) from patients",
    "select count(*) + 1 from patients",
    "select count(*) * count(*) from patients",
    "select avg(avg(age)) from patients",
    "select sex, count(*) from patients group by rollup(sex)",
    "select sex, count(*) from patients group by cube(sex)",
    "select sex, count(*) from patients group by grouping sets ((sex), ())",
    "select bmi, count(*) from patients group by bmi",
    "select born, count(*) from patients group by born",
    "select count(*) into x from patients",
    "select count(*) from patients for update",
    "select count(*) from patients at (version => 1)",
    "with recursive x as (select 1) select count(*) from x",
    "with x as (select count(*) from patients) select count(*) from x",
    "with x(a) as (select age from patients) select avg(a) from x",
    "with x as (select * from patients limit 3) select count(*) from x",
    "with x as (select * replace (5 as age) from patients) select avg(age) from x",
    "with x as (select * exclude (age) from patients) select avg(age) from x",
    "with x as (select * rename (age as years) from patients) select avg(age) from x",
    "with x as (select q.* from patients p) select avg(age) from x",
    "select count(*) from patients p where exists (select * exclude (day) from visits v where v.pid = p.pid)",
    "select count(*) from patients group by bins(age, 0, 2*3, 99)",
    "select count(*) from patients group by bins(age, 0, age, 99)",
    "select count(*) from patients group by bins(age, 0, null, 99)",
    "select count(*) from patients group by bins(age, 0, interval '3' day, 99)",
    "select count(*) from patients where age = interval '30' day",
    "select count(*) from patients where age in (interval '30' day)",
    "select count(*) from patients where age(born) > interval '30' day",
    "select count(*) from patients where born > date '2020-01-01' + interval age day",
    "select count(*) from patients where has(other.visits)",
    "select sum(age + interval '30' day) from patients",
    "select sum(clip(age, 0, interval '30' day)) from patients",
    "with p as (select age from patients) select count(sex) from p",
    "with p as (select age from patients) select avg(age) from p where sex = 'F'",
    "with p as (select age from patients), q as (select sex from p) select count(*) from q",
    "with p as (select age from patients), q as (select * from p where sex = 'F') select count(*) from q",
    "with p as (select unknown from patients) select count(*) from p",
    "with p as (select age from patients) select count(distinct pid) from p",
    "with p as (select * from patients), p as (select * from visits) select count(*) from p",
    "with p as (select * from patients), P as (select * from visits) select count(*) from p",
    "with p as (select * from patients) select count(*) from visits",
    "with v as (select * from visits where born < day) select count(*) from patients where has(v)",
    "with v as (select kind from visits) select count(*) from patients where pid in (select pid from v)",
    "with v as (select kind from visits) select count(*) from patients where has(v, nights = 1)",
    "with v as (select kind from visits) select count(*) from patients where exists (select 1 from v where v.pid = 1)",
    "select kind from visits group by kind order by count(*) desc limit 2",
    "select kind from visits group by kind order by count(distinct day) desc limit 2",
    "select sex from patients group by sex order by count(bmi) desc limit 2",
    "select count(*) from patients where age[1] = 1",
    "select count(*) from patients where [age] = 1",
    "select count(*) from patients where {'a': age} = 1",
    "with x as materialized (select * from patients) select count(*) from x",
    "with c as (select distinct age from patients) select avg(age) from c",
    (
        "with c as (select distinct pid from visits) select count(*) from patients p where (select count(*) from c "
        "where c.pid = p.pid) >= 2"
    ),
    "with c as (select distinct pid from visits) select count(*) from patients where has(c, true, 2)",
    (
        "with c as (select distinct pid from visits), d as (select pid, count(*) as n from c group by pid) "
        "select avg(n) from d"
    ),
    (
        "select count(*) from patients p where (select count(*) from visits v join codes c on c.patient = v.pid where "
        "v.pid = p.pid) >= 2"
    ),
    (
        "select count(*) from patients p join (select q.pid from patients q join visits v on v.pid = q.pid) t on "
        "t.pid = p.pid"
    ),
    (
        "select avg(n) from (select v.pid, count(c.patient) as n from visits v left join codes c on c.patient = v.pid "
        "group by v.pid) t"
    ),
    "select count(*) from patients p left join visits v on v.pid = p.pid where coalesce(v.nights, 0) = 0",
    "select count(*) from patients p left join visits v on v.pid = p.pid left join codes c on c.patient = v.pid",
    "select count(*) from patients p left join visits v on v.pid = p.pid",
    "select v.kind, c.code, count(distinct v.pid) from visits v join codes c on c.patient = v.pid group by 1, 2",
    "select count(*) from patients where pid = 7",
    "select count(*) from patients where pid in (1, 2)",
    "select count(*) from patients where cast(city as int) = 1",
    "select count(*) from patients where try_cast(city as int) = 1",
    "select count(*) from patients where age = (select max(age) from patients)",
    "select count(*) from patients where age > all (select 1)",
    "select count(*) from patients where age = any (select age from visits)",
    "select count(*) from patients where random() < 0.5",
    "select count(*) from patients where getenv('HOME') = 'x'",
    "select count(*) from patients where error('x') = 1",
    "select count(*) from patients where sleep_ms(1000) = 1",
    "select count(*) from patients where nextval('s') = 1",
    "select count(*) from patients where now() > born",
    "select count(*) from patients where city ~ '(a+)+$'",
    "select count(*) from patients where regexp_matches(city, 'a')",
    "select count(*) from patients where city similar to 'a'",
    "select count(*) from patients where city glob 'a*'",
    "select count(*) from patients where city || 'x' = 'ax'",
    "select count(*) from patients where city = 'a' collate nocase",
    "select count(*) from patients where city < 'b'",
    "select count(*) from patients where sex < 'M'",
    "select count(*) from patients where sex = 'X'",
    "select count(*) from patients where ward = 99",
    "select count(*) from patients where age = '5'",
    "select count(*) from patients where city = 5",
    "select count(*) from patients where smoker = 1",
    "select count(*) from patients where born = 5",
    "select count(*) from patients where born = 'yesterday'",
    "select count(*) from patients where born = '2020-02-30'",
    "select count(*) from patients where born > age",
    "select count(*) from patients where age",
    "select count(*) from patients where 1",
    "select count(*) from patients where age = null",
    "select count(*) from patients where age in (1, null)",
    "select count(*) from patients where age in ()",
    "select count(*) from patients where (age, sex) = (1, 'F')",
    "select count(*) from patients where age = $1",
    "select count(*) from patients where age = ?",
    "select count(*) from patients where age = 1e400",
    "select count(*) from patients where age = 0x1F",
    "select count(*) from patients where columns(*) > 3",
    "select count(*) from patients where unknown = 3",
    "select count(*) from patients where v.age = 3",
    "select count(*) from patients where nights = 3",
    "select count(*) from patients where exists (select 1 from visits)",
    "select count(*) from patients where exists (select 1 from visits v where v.pid = v.pid)",
    "select count(*) from patients where exists (select 1 from visits v where v.day = patients.born)",
    "select count(*) from patients where exists (select 1 from visits v where v.pid = patients.age)",
    "select count(*) from patients where exists (select 1 from visits v where v.pid = patients.pid or true)",
    "select count(*) from patients where exists (select 1 from visits v where v.pid = patients.pid limit 1)",
    "select count(*) from patients where exists (select count(*) from visits v where v.pid = patients.pid)",
    "select count(*) from patients where age in (select nights from visits)",
    "select count(*) from patients where pid in (select nights from visits)",
    "select count(*) from patients where has()",
    "select count(*) from patients where has(visits, kind = 'ER', 0)",
    "select count(*) from patients where has(visits, kind = 'ER', age)",
    "select count(*) from patients where has(nowhere)",
    "select count(*) from patients where age(city) > 3",
    "select count(*) from patients where age(born, 3) > 3",
    "select count(*) from patients where age(born) > 'x'",
    "select count(*) from patients where born - left > 3",
    WHERE + "(" * 900 + "age = 1" + ")" * 900,
    WHERE + "not " * 900 + "smoker",
    WHERE + " or ".join(["age = 1"] * 20_000),
    WHERE + "age in (" + ", ".join(map(str, range(10_000))) + ")",
    "select count(*) from patients where city = '\ud800'",
    "select count(*) from patients where city = 'a\x00b'",
]


@pytest.mark.parametrize("text", HOSTILE, ids=[f"{i} {t[:60]!a}" for i, t in enumerate(HOSTILE)])
def test_what_is_not_in_the_language_is_refused_with_what_to_write_instead(text) -> None:
    def asked() -> None:
        for question in read_sql(text).questions.values():
            plan(question, CLINIC)

    with pytest.raises(BadQuestionError) as refused:
        asked()
    what, _, instead = str(refused.value).partition(";")
    assert len(what) > 10
    assert len(instead) > 5


def test_a_refusal_names_what_it_refuses() -> None:
    for text, named in {
        "selct": "write a SELECT: select",
        "update patients set age = 1": "nothing here changes data",
        "select distinct sex from patients": "SELECT DISTINCT would show",
        "select width_bucket(age, 0, age, 3), count(*) from patients group by 1": "between two rising constants",
        "select width_bucket(age, 10, 0, 3), count(*) from patients group by 1": "between two rising constants",
    }.items():
        with pytest.raises(BadQuestionError, match=named):
            read_sql(text)
    for text, named in {
        "city like 'a\\%'": "backslash",
        "city like city": "in quotes",
        "median(age) > 3": "median",
        "frobnicate(age) > 3": "frobnicate",
        "cast(age as json) = '3'": "cast",
        "exists (select * replace (5 as day) from visits v where v.pid = pid)": "REPLACE",
    }.items():
        with pytest.raises(BadQuestionError, match=named):
            read_condition(text)


def test_long_chains_are_read_and_long_texts_refused() -> None:
    assert len(read_condition(" and ".join(["age = 1"] * 500)).parts) == 500
    with pytest.raises(BadQuestionError, match="ask several questions"):
        read_condition("age = 1 and " * LONGEST_TEXT)


PIECES = st.sampled_from(
    [
        "select",
        "count(*)",
        "sum(age)",
        "from",
        "patients",
        "where",
        "age",
        "and",
        "or",
        "not",
        "(",
        ")",
        ",",
        "=",
        "<",
        ">",
        "in",
        "(",
        "1",
        "2",
        "'a'",
        "null",
        "is",
        "between",
        "exists",
        "visits",
        "v.pid",
        "=",
        "patients.pid",
        "group",
        "by",
        "sex",
        "having",
        "limit",
        "union",
        "with",
        "x",
        "as",
        "case",
        "when",
        "then",
        "end",
        "::",
        "+",
        "-",
        "*",
        "/",
        "'",
        '"',
        ";",
        "--",
        "/*",
        "$1",
        "?",
        "@",
        "has(",
        "age(",
        "born",
        ")",
        "date",
        "'2020-01-01'",
        "interval",
        "3",
        "day",
        "[",
        "]",
        "{",
        "}",
        "|",
        "&",
        "^",
        "~",
        "%",
        "\\",
        "over",
        "window",
        "🐦",
    ]
)


@given(st.lists(PIECES, max_size=25))
def test_whatever_is_written_is_read_or_refused(pieces) -> None:
    text = " ".join(pieces)
    for read in (read_sql, read_condition, lambda t: ask.total("patients", t)):
        try:
            asked = read(text)
        except BadQuestionError:
            continue
        for question in getattr(asked, "questions", {}).values():
            try:
                plan(question, CLINIC)
            except BadQuestionError:
                continue


def test_several_quantiles_that_are_sorted_and_cut_keep_their_columns() -> None:
    """They were taken for a count of which the largest groups are wanted, and failed before anything was asked."""
    asked = read_sql(
        "select sex, quantile_cont(age, [0.1, 0.75]) as q from patients group by 1 order by 2 desc limit 1"
    )
    assert list(plan_together(asked.questions, CLINIC)) == ["q_0.1", "q_0.75"]


@pytest.mark.parametrize("statistic", ["avg(age)", "var_pop(age)", "stddev(age)", "count(*) filter (where age > 3)"])
@pytest.mark.parametrize(
    "text", ["select count(*) from patients where {} > 3", "select count(*) from patients group by {}"]
)
def test_a_statistic_where_a_row_is_asked_for_is_called_one(text, statistic) -> None:
    with pytest.raises(BadQuestionError) as refused:
        read_sql(text.format(statistic))
    named = statistic.partition("(")[0]
    assert str(refused.value).startswith(f"{named} is a statistic of many rows")
    assert "with having" in str(refused.value)
