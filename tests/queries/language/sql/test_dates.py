"""Days as SQL writes them: what each spelling means, against the spelling in Python and against DuckDB."""

from datetime import date

import duckdb
import pytest

from lapwing.queries.language.expressions import Age, Applied, Arithmetic, Days, Literal, Now, col
from lapwing.queries.language.parts import shape
from lapwing.queries.language.sql.reader import read_value
from lapwing.queries.planning.scope import Scope
from lapwing.queries.planning.simplifying import simplified
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import PATIENTS, POPULATION

BORN, DAY = col("born"), col("day")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("date '2024-02-29'", Literal(date(2024, 2, 29))),
        ("cast('2024-02-29' as date)", Literal(date(2024, 2, 29))),
        ("current_date", Now()),
        ("age(born)", Age(BORN)),
        ("age(born, day)", Age(BORN, DAY)),
        ("age(current_date, born)", Age(BORN)),
        ("extract(year from age(day, born))", Age(BORN, DAY)),
        ("year(born)", Applied("year", BORN)),
        ("extract(month from born)", Applied("month", BORN)),
        ("date_part('quarter', born)", Applied("quarter", BORN)),
        ("date_trunc('month', born)", Applied("date_trunc", BORN, Literal("month"))),
        ("date_trunc('month', date '2024-02-29')", Applied("date_trunc", Literal(date(2024, 2, 29)), Literal("month"))),
        ("datediff('day', born, day)", Arithmetic("-", DAY, BORN)),
        ("date_diff('day', born, day)", Arithmetic("-", DAY, BORN)),
        ("datesub('year', born, day)", Age(BORN, DAY)),
        ("born + interval 2 week", Arithmetic("+", BORN, Days(14))),
        ("born - interval '3' month", Arithmetic("-", BORN, Days(0, 3))),
        ("dateadd(year, 1, born)", Arithmetic("+", BORN, Days(0, 12))),
    ],
)
def test_it_reads(text, value) -> None:
    assert shape(read_value(text)) == shape(value)


@pytest.mark.parametrize(
    "text",
    [
        "datediff('year', date '2020-12-31', date '2021-01-01')",
        "datediff('month', date '2020-12-31', date '2022-02-01')",
        "datediff('day', date '2020-02-28', date '2020-03-01')",
        "year(date '2024-02-29')",
        "extract(quarter from date '2024-05-01')",
        "date_trunc('quarter', date '2024-05-20')",
        "date '2024-03-31' - interval 1 month",
        "date '2024-02-29' + interval 1 year",
    ],
)
def test_of_constants_it_is_what_duckdb_has(text) -> None:
    found = simplified(read_value(text), Scope(POPULATION, PATIENTS, "p"))
    ((expected,),) = duckdb.connect().sql(f"select {text}").fetchall()
    expected = expected.date() if hasattr(expected, "date") else expected
    if isinstance(found, Literal):
        assert found.value == expected
    else:  # the difference of two constant days is compared with a number, and never computed alone
        assert shape(found) == shape(Arithmetic("-", Literal(date(2020, 3, 1)), Literal(date(2020, 2, 28))))
        assert expected == 2


@pytest.mark.parametrize(
    "text",
    [
        "datediff('week', born, day)",
        "cast(born as timestamp)",
        "date '2024-02-30'",
        "born + interval (age) day",
        "extract(epoch from born)",
        "age(born, day, day)",
    ],
)
def test_what_days_do_not_have_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        read_value(text)
