"""Whatever is written is read or refused at once: each limit of the language is counted before the work it bounds."""

import functools
import logging
import operator
import time

import pytest

import lapwing as ask
from engines.clinic import clinic
from lapwing.queries import limits
from lapwing.queries.language.expressions import And, Literal, Not, col
from lapwing.queries.language.sql.reader import read_condition, read_value
from lapwing.queries.planning.planner import plan, plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError, LapwingError

CLINIC = clinic()
WHERE = "select count(*) from patients where "
SECONDS = 0.2
LOADED = 5
"""A fifth of a second, on a machine that may be five times as slow as it should be."""


def doubling(names: int) -> str:
    """WITH names of which each names the one before twice."""
    named = ["a0 as (select * from visits where nights > 1)"]
    named += [
        f"a{i} as (select * from visits where has(a{i - 1}, nights > {i}) or has(a{i - 1}, nights < {i}))"
        for i in range(1, names + 1)
    ]
    return f"with {', '.join(named)} select count(*) from a{names}"


def chained(names: int) -> str:
    """WITH names of which each chooses rows of the one before."""
    named = [f"a{i} as (select * from {f'a{i - 1}' if i else 'visits'} where nights > {i})" for i in range(names)]
    return f"with {', '.join(named)} select count(*) from a{names - 1}"


def computed(names: int, made: str) -> str:
    """WITH names of which each computes a column from that of the one before, `q`."""
    named = [f"a{i} as (select *, {made.replace('q', f'q{i - 1}')} as q{i} from a{i - 1})" for i in range(1, names)]
    first = "with a0 as (select *, age as q0 from patients), "
    return f"{first}{', '.join(named)} select avg(q{names - 1}) from a{names - 1}"


def left_joined(conditions: int) -> str:
    """A LEFT JOIN whose ON is long: each column of it that is named has the ON with it."""
    on = " and ".join(f"p.age <> {i}" for i in range(1, conditions + 1))
    return f"from visits v left join patients p on p.pid = v.pid and {on}"


def named_again(names: int, conditions: int) -> str:
    """WITH names of which the first is a column of such a LEFT JOIN, and each doubles the one before."""
    named = [f"a{i} as (select *, q{i - 1} + q{i - 1} as q{i} from a{i - 1})" for i in range(1, names)]
    first = f"with a0 as (select v.*, p.age as q0 {left_joined(conditions)})"
    return f"{', '.join([first, *named])} select avg(q{names - 1}) from a{names - 1}"


def listed(how_many: int) -> str:
    return ", ".join(str(number) for number in range(how_many))


LARGEST = {
    "conditions": WHERE + " or ".join(f"age = {2 * i}" for i in range(limits.MOST_CONDITIONS)),
    "conditions about others": WHERE
    + " or ".join(f"has(visits, nights = {i})" for i in range(limits.MOST_CONDITIONS // 2)),
    "conditions about days": WHERE
    + " or ".join(f"has(visits, age(born, day) > {i})" for i in range(limits.MOST_CONDITIONS // 2)),
    "values": WHERE + f"age in ({', '.join(str(2 * i) for i in range(limits.MOST_VALUES))})",
    "values in two lists": WHERE
    + f"age not in ({', '.join(str(4 * i) for i in range(limits.MOST_VALUES // 2))})"
    + f" and age not in ({', '.join(str(4 * i + 2) for i in range(limits.MOST_VALUES // 2))})",
    "brackets": WHERE + "(" * limits.MOST_BRACKETS + "age = 1" + ")" * limits.MOST_BRACKETS,
    "subqueries": WHERE
    + "pid in (select pid from visits where " * (limits.MOST_BRACKETS - 1)
    + "nights = 1"
    + ")" * (limits.MOST_BRACKETS - 1),
    "others within others": WHERE + "has(visits, " * limits.MOST_BRACKETS + "nights = 1" + ")" * limits.MOST_BRACKETS,
    "terms": f"select corr({' + '.join(['clip(age, 0, 9)'] * 25)}, {' + '.join(['bmi'] * 25)}) from patients",
    "statistics": "select "
    + ", ".join(f"corr(age, clip(bmi, 0, {i}))" for i in range(1, limits.MOST_STATISTICS + 1))
    + " from patients",
    "names": chained(limits.MOST_NAMED),
    "names that double": doubling(5),
    "a LEFT JOIN named again": f"select avg({' + '.join(['p.age'] * 24)}) {left_joined(60)}",
    "a LEFT JOIN named again in WITH": named_again(5, 50),
}
"""Statements at the limits, all of which are answered."""


@pytest.mark.parametrize("text", LARGEST.values(), ids=LARGEST)
def test_what_is_within_the_limits_is_planned_at_once(text) -> None:
    started = time.process_time()
    assert plan_together(read_sql(text).questions, CLINIC)
    assert time.process_time() - started < SECONDS * LOADED


TOO_LARGE = {
    "characters": (WHERE + "age = 1 " + " " * limits.LONGEST_TEXT, "characters, more than 20000"),
    "words": (WHERE + "(" + "1," * 3000 + ")", "words and signs, more than 3000"),
    "brackets": (WHERE + "(" * 9000 + "age = 1" + ")" * 9000, "more than"),
    "few brackets": (WHERE + "(" * 21 + "age = 1" + ")" * 21, "more than 20 brackets"),
    "nots": (WHERE + "not " * 1900 + "smoker", "more than 20 brackets or signs"),
    "signs": (WHERE + "age = " + "- " * 1900 + "1", "more than 20 brackets or signs"),
    "cases": ("select " + "case when " * 500 + "1", "more than 20 brackets or signs"),
    "parts of a value": (WHERE + "age" + "[1]" * 500 + " = 1", r"\[ has no meaning here"),
    "structures": ("select " + "{'a': " * 500 + "1" + "}" * 500, "has no meaning here"),
    "lists": ("select quantile_cont(age, " + "[0.5, " * 500, "more than 20 brackets"),
    "conditions": (WHERE + " or ".join(["age = 1"] * 201), "201 conditions joined by and, or, not, more than 200"),
    "negations": (WHERE + " or ".join(["not smoker"] * 101), "202 conditions"),
    "values": (WHERE + f"age in ({listed(1001)})", "1001 values in lists, more than 1000"),
    "values in all": (WHERE + f"age in ({listed(501)}) and age in ({listed(501)})", "1002 values in lists"),
    "digits": (WHERE + f"age < 1{'0' * 100}", "digits|absurdly large"),
    "terms": (f"select sum({' + '.join(['age'] * 52)}) from patients", "51 sums and products, more than 50"),
    "more terms": (f"select sum({' + '.join(['age'] * 120)}) from patients", "levels deep, more than 100"),
    "chained names": (chained(21), "21 names in its WITH, more than 20"),
    "names": (chained(299), "words and signs, more than 3000|names in its WITH, more than 20"),
    "names that double": (doubling(14), "more than"),
    "names that double and double": (doubling(19), "more than"),
    "statistics": (f"select {', '.join(['count(*)'] * 21)} from patients", "21 statistics, more than 20"),
    "many statistics": (f"select {', '.join(['count(*)'] * 500)} from patients", "statistics, more than 20"),
    "numbers": (
        f"select {', '.join(['corr(age, bmi)'] * 20)} from patients group by age, sex, ward, smoker",
        "numbers in its answer, more than 100000|cells, more than 100000",
    ),
    "groupings": ("select count(*) from patients group by " + ", ".join(["sex"] * 11), "11 groupings, more than 10"),
    "quantiles": (
        f"select quantile_cont(age, [{', '.join(f'0.{i:03}' for i in range(1, 102))}]) from patients",
        "101 quantiles, more than 100",
    ),
    "columns that double": (computed(16, "q + q"), "parts, more than 5000"),
    "columns times eight": (computed(9, " + ".join("q" * 8)), "parts, more than 5000"),
    "columns for ever": (computed(20, " + ".join("q" * 40)), "parts, more than 5000"),
    "cases that double": (
        computed(16, "case when q = 1 and q = 1 then 1 else 0 end"),
        "parts, more than 5000",
    ),
    "a LEFT JOIN named in all parts": (
        f"select p.sex, p.smoker, p.ward, avg({' + '.join(['p.age'] * 16)}) {left_joined(90)} group by 1, 2, 3",
        "parts, more than 5000",
    ),
    "a LEFT JOIN named in all statistics": (
        (
            "select p.smoker, p.sex, p.ward, month(p.born), quarter(p.born), "
            f"{', '.join(['avg(p.age + p.bmi + p.age + p.bmi)'] * 12)} {left_joined(15)} group by 1, 2, 3, 4, 5"
        ),
        "parts with what its joins find, more than 5000",
    ),
    "a LEFT JOIN named in many cases": (
        (
            f"select case {' '.join(f'when p.age > {i} then {i}' for i in range(60))} end, count(*) {left_joined(100)} "
            "group by 1"
        ),
        "parts, more than 5000",
    ),
    "a LEFT JOIN that WITH names again": (named_again(6, 50), "parts, more than 5000"),
    "tables of tables": (WHERE + "a." * 1400 + "a = 1", "levels deep, more than 100"),
}


@pytest.mark.parametrize("shape", TOO_LARGE)
def test_what_is_beyond_a_limit_is_refused_at_once_with_the_numbers(shape) -> None:
    text, said = TOO_LARGE[shape]
    started = time.process_time()
    with pytest.raises(LapwingError, match=said):
        plan_together(read_sql(text).questions, CLINIC)
    assert time.process_time() - started < SECONDS * LOADED


def test_what_the_parser_would_try_again_and_again_is_stopped(monkeypatch) -> None:
    monkeypatch.setattr("lapwing.queries.language.sql.nodes._MOST_STEPS", 10)
    with pytest.raises(BadQuestionError, match="more than 10 steps"):
        read_condition("age = 1 or age = 2 or age = 3")
    read_condition("age = 1")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (lambda: functools.reduce(operator.or_, [col("age") == 1] * 400), "conditions joined"),
        (lambda: functools.reduce(lambda inner, _: Not(inner), range(5000), col("age") == 1), "levels deep"),
        (lambda: functools.reduce(lambda inner, _: inner & inner, range(30), col("age") == 1), "parts"),
        (lambda: functools.reduce(lambda inner, _: inner + inner, range(60), col("age")) > 1, "parts, more than 5000"),
        (
            lambda: functools.reduce(lambda inner, _: And((inner, inner)), range(60), col("age") == 1),
            "parts, more than 5000",
        ),
        (lambda: functools.reduce(lambda inner, _: And((inner,)), range(5000), col("age") == 1), "levels deep"),
        (lambda: functools.reduce(lambda inner, _: inner.coalesce(1), range(5000), col("age")) > 1, "levels deep"),
        (
            lambda: functools.reduce(lambda inner, _: ask.has("visits", inner), range(200), col("nights") == 1),
            "levels deep",
        ),
        (lambda: col("age").is_in(list(range(100_001))), "100001 values in a concept set, more than 100000"),
        (lambda: col("city") == "a" * 30_000, "characters in its names and constants, more than 20000"),
        (lambda: col("a" * 30_000) == 1, "characters in its names and constants, more than 20000"),
        (lambda: col("age") < Literal(10**200), "more than 100 digits"),
    ],
    ids=[
        "long",
        "negated",
        "shared",
        "added",
        "joined",
        "alone",
        "wrapped",
        "nested",
        "listed",
        "text",
        "name",
        "digits",
    ],
)
def test_conditions_that_are_built_in_python_have_the_same_limits(where, said) -> None:
    started = time.process_time()
    with pytest.raises(BadQuestionError, match=said):
        plan(ask.count("patients", where()), CLINIC)
    assert time.process_time() - started < SECONDS * LOADED


def test_a_funnel_and_its_steps_have_the_same_limits() -> None:
    with pytest.raises(BadQuestionError, match="conditions joined"):
        plan(ask.funnel("patients", [" and ".join(["age = 1"] * 150)] * 2), CLINIC)
    with pytest.raises(BadQuestionError, match="101 steps, more than 100"):
        plan(ask.funnel("patients", ["smoker"] * 101), CLINIC)


def test_numbers_are_counted_over_all_that_is_asked_together() -> None:
    one = ask.correlation("patients", "age", "bmi", by=["age", "sex", "ward"])
    many = plan(one, CLINIC).numbers
    fits = limits.MOST_NUMBERS // many
    assert 1 < fits < limits.MOST_STATISTICS
    assert len(plan_together({f"a{i}": one for i in range(fits)}, CLINIC)) == fits
    with pytest.raises(BadQuestionError, match=f"has {(fits + 1) * many} numbers in its answer, more than 100000"):
        plan_together({f"a{i}": one for i in range(fits + 1)}, CLINIC)


def test_arithmetic_has_no_end_but_the_limits() -> None:
    with pytest.raises(BadQuestionError, match="levels deep"):
        read_value(" + ".join(["age"] * 1400))


@pytest.mark.parametrize(
    "text", ["copy patients to 'secret'", "pragma secret", "select a -> 'x..secret[' from patients"]
)
def test_what_analysts_write_is_not_logged(text, caplog) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(LapwingError):
        read_sql(text)
    assert "secret" not in caplog.text
    logging.getLogger("sqlglot").warning("others may log")
    assert "others may log" in caplog.text
