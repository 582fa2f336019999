"""What is refused says what to write instead, in words that can be written."""

import datetime as dt
import re

import pytest

from lapwing.queries.catalogue import Population, RowsPerPerson, Table
from lapwing.queries.column import Boolean, Column, Date, Integer
from lapwing.queries.planning import plan
from lapwing.queries.sql import read_sql
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
ADVICE = {
    "select count(*) * avg(year) from people": "compute the rest with the answers",
    "select strftime(day, '%Y-%m') m, count(*) from visits group by m": "date_trunc('month', day)",
    "select to_char(day, 'YYYY-MM') m, count(*) from visits group by m": "date_trunc('month', day)",
    "select avg(born) from people": "age(born, date '2025-01-01')",
    "select count(*) from people where born > 1980": "year(day) >= 2000",
    "select count(*) from people where date_diff('week', born, current_date) >= 65": "age(born, day)",
    "select substr(day, 2, 3), count(*) from visits group by 1": "left(code, 3)",
    "select count(*) from people where year // 10 = 197": "floor(age / 10) = 6",
    "select year / 10, count(*) from people group by 1": "floor(age / 10) * 10",
    "select count(*) from visits where day > day - interval 1 month": "day + interval 365 day",
    'select avg(n) from (select "Patient Nr", sum(1) n from visits group by 1)': "sum(cost) / count(distinct person)",
    "select top 5 year, count(*) from people group by 1": "limit 5 at the end",
    "select smoker, count(*) / (select count(*) from people) from people group by 1": "divide each by the sum",
    "select histogram(year, [1900, 1950]) from people": "histogram(age, 10)",
    "select count(*) from people p join visits v on p.id = v.id": 'on p."Patient Nr" = v."Patient Nr"',
    'select count(*) from visits v join visits V on v."Patient Nr" = V."Patient Nr"': "two tables are called 'V'",
    'select count(*) from people p full join visits v on p."Patient Nr" = v."Patient Nr"': "write JOIN or LEFT JOIN",
}


@pytest.mark.parametrize("text", ADVICE)
def test_the_advice_can_be_followed(text) -> None:
    with pytest.raises(BadQuestionError, match=re.escape(ADVICE[text])):
        plan(next(iter(read_sql(text).values())), CLINIC)
