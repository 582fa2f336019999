"""What is refused says what to write instead, in words that can be written."""

import datetime as dt
import re
from dataclasses import replace

import pytest

from lapwing import col, count
from lapwing.queries.catalogue.column import Boolean, Column, Date, Integer, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.language.expressions import Condition
from lapwing.queries.planning.planner import plan
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import PrivacyUnit

PEOPLE = Table(
    name="people",
    rows=RowsPerPerson.ONE_A_PERSON,
    person_key="Patient Nr",
    columns=(
        Column(name="born", type=Date()),
        Column(name="year", type=Integer(low=1900, high=2020)),
        Column(name="smoker", type=Boolean()),
        Column(name="city", type=Text()),
        Column(name="town", type=Text()),
        Column(name="code", type=Integer()),
    ),
)
VISITS = Table(
    name="visits",
    rows=RowsPerPerson.MANY_A_PERSON,
    person_key="Patient Nr",
    max_rows=3,
    columns=(Column(name="day", type=Date()),),
)
CLINIC = Population(
    name="clinic", unit=PrivacyUnit(person_key="Patient Nr"), tables=(PEOPLE, VISITS), now=dt.date(2025, 1, 1)
)
_DECLARED = Date(first=dt.date(1990, 1, 1), last=dt.date(2024, 12, 31))
BOUNDED = replace(
    CLINIC,
    tables=tuple(
        replace(
            table,
            columns=tuple(replace(one, type=_DECLARED) if one.type == Date() else one for one in table.columns),
        )
        for table in CLINIC.tables
    ),
)
"""The same, with days that have a first and a last one: what a refusal advises on days can be planned."""
ADVICE = {
    "select count(*) * avg(year) from people": "compute the rest with the answers",
    "select strftime(day, '%d.%m.%Y') m, count(*) from visits group by m": "date_trunc('month', day)",
    "select to_char(day, 'DD.MM.YYYY') m, count(*) from visits group by m": "date_trunc('month', day)",
    "select avg(born) from people": "age(born, date '2025-01-01')",
    "select count(*) from people where born > 1980": "year(day) >= 2000",
    "select count(*) from people where date_diff('week', born, current_date) >= 65": "age(born, day)",
    "select substr(day, 2, 3), count(*) from visits group by 1": "left(code, 3)",
    "select count(*) from people where year // 0 = 197": "write year // 10",
    "select count(*) from people where year // 2.5 = 197": "floor(cost / 10)",
    "select count(*) from people where floor(year / 2) // 3 = 197": "floor(year / 10)",
    "select avg(2.0 * year // 3) from people": "floor(cost / 10)",
    "with t as (select *, year * 2.0 as y from people) select avg(y // 3) from t": "compute it there",
    "select avg(cast(year as double) // 3) from people": "floor(cost / 10)",
    "select year / 10, count(*) from people group by 1": "floor(year / 10) * 10",
    "select count(*) from visits where day > day - interval 1 month": "day + interval 365 day",
    "select top 5 year, count(*) from people group by 1": "limit 5 at the end",
    "select histogram(year, [1900, 1950]) from people": "histogram(age, 10)",
    "select count(*) from people p join visits v on p.id = v.id": 'on p."Patient Nr" = v."Patient Nr"',
    'select count(*) from visits v join visits V on v."Patient Nr" = V."Patient Nr"': "two tables are called 'V'",
    "select count(*) from people where 4 % year = 0": "write year % 4",
    "select count(*) from people where year(born) % year = 0": "write born % 4",
    "select count(*) from people where code % 4 = 0": "clip(code, 0, 100)",
    "select count(*) from people where born >= timestamp '2023-01-01 12:30:00'": "write date '2023-01-01'",
    "select regr_intercept(year, year) from people": "regr_slope(year)",
    "select make_date(2020, month(born), 1), count(*) from people group by 1": "year(born), month(born)",
    "select greatest(year, city), count(*) from people group by 1": "holds no numbers",
    "select greatest(year, 'A'), count(*) from people group by 1": "greatest(age, 18)",
    "select city || '-' || town, count(*) from people group by 1": "group by the column itself",
    "select city, median(year) from people group by 1": "where city in ('A', 'B'), which makes these groups public",
    "select code, median(year) from people group by 1": "where code in (1, 2), which makes these groups public",
    "select lower(city), median(year) from people group by 1": "there are counts, totals and means only; ask for one",
    'select p.city, median(p.year) from visits v join people p using ("Patient Nr") group by 1': "city in ('A', ",
    "show tables": "session.sql(...), `lapwing sql`",
    "describe people": "session.sql(...)",
    "summarize people": "session.sql(...)",
    "show columns from people": "session.sql(...)",
    "select * from information_schema.tables": "session.sql(...)",
    "select count(*) from people where quartr(born) = 2": "the nearest is quarter",
    "select sqrt(year), count(*) from people group by 1": "write year as it is",
    "select mode(smoker) - count(*) from people": "mode(smoker) is a category",
    "select 100 * sqrt(avg(year)) from people": "sqrt(avg(year))",
    "select avg(sqrt(year)) from people": "sqrt(avg(year))",
    "select kurtosis(year) from people": "the means of year and of its powers",
    "select bitor(year) from people": "there is no function",
    'select count(*) from people p full join visits v on p."Patient Nr" = v."Patient Nr"': "write JOIN or LEFT JOIN",
}


ADVISED = (
    r"group by (?P<group>date_trunc\(.+?\)|month\(.+?\), day\(.+?\)|dayofweek\(.+?\))",
    r"where (?P<condition>\w+ in \(.+?\)), which makes",
)
"""Where a refusal writes out a condition or groups, which can be asked as they stand."""
FOLLOWED = {
    **{text: text.partition(" from ")[2].split()[0] for text in ADVICE if text.startswith("select ")},
    "select dayofyear(born), count(*) from people group by 1": "people",
    "select last_day(day), count(*) from visits group by 1": "visits",
    "select hour(born), count(*) from people group by 1": "people",
}
"""What is refused, and the table that it is about."""


def refused(text: str) -> str:
    with pytest.raises(BadQuestionError) as found:
        plan(next(iter(read_sql(text).values())), BOUNDED)
    return str(found.value)


def advised(text: str, table: str) -> list[str]:
    """Return the statements that the refusal of a text advises."""
    match = next((found for pattern in ADVISED if (found := re.search(pattern, refused(text)))), None)
    parts = match.groupdict() if match else {}
    asked = [f"select count(*) from {table} where {parts['condition']}"] if parts.get("condition") else []  # noqa: S608
    if group := parts.get("group"):
        places = ", ".join(str(place + 1) for place in range(group.count("), ") + 1))
        asked += [f"select {group}, count(*) from {table} group by {places}"]  # noqa: S608 - a test
    return asked


@pytest.mark.parametrize("text", ADVICE)
def test_the_advice_is_given(text) -> None:
    with pytest.raises(BadQuestionError, match=re.escape(ADVICE[text])):
        plan(next(iter(read_sql(text).values())), CLINIC)


@pytest.mark.parametrize("text", FOLLOWED)
def test_the_advice_can_be_followed(text) -> None:
    for asked in advised(text, FOLLOWED[text]):
        plan(next(iter(read_sql(asked, max_groups=3).values())), BOUNDED)


def test_most_kinds_of_advice_are_followed() -> None:
    found = [len(advised(text, table)) for text, table in FOLLOWED.items()]
    assert sum(found) >= 8
    for pattern in ADVISED:
        assert any(re.search(pattern, refused(text)) for text in FOLLOWED), pattern


@pytest.mark.parametrize("text", [*ADVICE, "select foo(city), count(*) from people group by 1"])
def test_no_refusal_lists_the_whole_language(text) -> None:
    with pytest.raises(BadQuestionError) as refused:
        plan(next(iter(read_sql(text).values())), CLINIC)
    words = {"coalesce", "datediff", "date_trunc", "clip", "has", "between", "trim"}
    assert len(words & set(re.findall(r"\w+", str(refused.value)))) < len(words) - 3


@pytest.mark.parametrize(
    "moment", ["timestamp '2023-01-01 00:00:00'", "'2023-01-01 00:00'", "cast('2023-01-01T00:00:00.000' as timestamp)"]
)
def test_midnight_is_a_day(moment) -> None:
    def asked(day: str) -> str:
        (question,) = read_sql(f"select count(*) from people where born >= {day}").values()  # noqa: S608 - a test
        return plan(question, CLINIC).canonical

    assert asked(moment) == asked("date '2023-01-01'")


def test_a_text_stands_beside_a_condition_in_python() -> None:
    def asked(where: Condition | str) -> str:
        return plan(count("people", where), CLINIC).canonical

    assert asked((col("year") > 1950) | "smoker") == asked("year > 1950 or smoker")
    assert asked(col("smoker") & "year > 1950") == asked("smoker and year > 1950")


@pytest.mark.parametrize(
    "said",
    [
        "strftime(day, '%Y-%m') = '2020-02-01'",
        "make_date(year(day), month(day), 2) = day",
        "to_char(day, 'YYYY') > '2'",
    ],
)
def test_a_day_as_text_is_a_group_and_nothing_that_is_compared(said) -> None:
    with pytest.raises(BadQuestionError, match=r"a day (as text|made of numbers)"):
        read_sql(f"select count(*) from visits where {said}")  # noqa: S608 - made here
