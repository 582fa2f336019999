"""What SQL asks about the catalogue is answered from the declarations alone, as DuckDB would name it."""

import pytest

from lapwing.queries.statements.catalogue_statements import read_catalogue
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError, LapwingError
from queries.natural_statements import PAYROLL, SHOP, rows
from queries.sql_page import filled


@pytest.mark.parametrize(
    "text",
    [
        "show tables",
        "SHOW TABLES;",
        "-- all\nselect table_name as name from information_schema.tables order by 1",
        "select table_name from information_schema.tables where table_name like 'ord%'",
        "select column_name from information_schema.columns where table_name = 'orders' order by ordinal_position",
        "select column_name from information_schema.columns where table_name = 'orders' and not column_name like 'o%'",
        "select distinct table_name from information_schema.columns where column_name <> 'x' order by table_name desc",
        "select count(*) from information_schema.columns where table_name = 'customers' or table_name = 'orders'",
        "select column_name from information_schema.columns where table_name = 'orders' order by 1 limit 2",
    ],
)
def test_the_names_are_those_that_a_database_tells(text) -> None:
    found = read_catalogue(text, SHOP)
    assert found is not None
    with filled(SHOP, rows("shop")) as truth:
        assert list(found.rows) == truth.execute(text).fetchall()


def test_a_table_is_described_with_what_is_declared() -> None:
    described = [read_catalogue(text, SHOP) for text in ("describe orders", "desc Orders", "show columns from orders")]
    assert described[0] == described[1] == described[2]
    assert described[0] is not None
    assert described[0].columns == ("column_name", "data_type", "is_nullable", "declared_values")
    lines = repr(described[0]).splitlines()
    assert len(lines) == 9
    assert any(line.startswith("coupon") and "YES" in line for line in lines)
    assert "<td>coupon</td>" in described[0]._repr_html_()
    assert described[0].to_dict()["cost"] == "nothing"
    columns = read_catalogue("select * from information_schema.columns where table_name = 'employees'", PAYROLL)
    assert columns is not None
    assert [row[3] for row in columns.rows] == ["employee_id", *(one.name for one in PAYROLL.tables[0].columns)]


def test_what_asks_about_people_is_none_of_it() -> None:
    assert read_catalogue("select count(*) from orders", SHOP) is None
    assert read_catalogue("-- show tables\nselect count(*) from orders", SHOP) is None


@pytest.mark.parametrize(
    "text",
    [
        "describe nothing",
        "summarize orders",
        "pragma table_info('orders')",
        "select a from information_schema.columns",
        "select * from information_schema.columns join orders on true",
        "select * from information_schema.columns where (select count(*) from orders) > 3",
        "select * from orders, information_schema.tables",
        "select * from pg_catalog.pg_class",
        "select table_name, count(*) from information_schema.columns group by 1",
        "show databases",
    ],
)
def test_the_rest_is_refused(text) -> None:
    with pytest.raises(LapwingError):
        read_catalogue(text, SHOP)


def test_it_is_no_question_with_a_price() -> None:
    with pytest.raises(BadQuestionError, match="has no price"):
        read_sql("show tables")
