"""The SQL of a question says its shape and nothing else: values are parameters, names are those of the catalogue."""

import dataclasses
import re
import string
from datetime import date

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as ask
from engines.clinic import arrow_tables, clinic
from lapwing.engines.derived_sql import widened_relation
from lapwing.engines.dialect import Writer
from lapwing.engines.emitter import emit
from lapwing.engines.files import DUCKDB
from lapwing.engines.postgres import POSTGRES
from lapwing.engines.spark import SPARK
from lapwing.queries.algebra.predicate import InTexts
from lapwing.queries.catalogue.column import Column, Integer
from lapwing.queries.catalogue.population import Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.guarantee import PrivacyUnit
from queries.asked import QUESTIONS

CLINIC = clinic()
DIALECTS = {"duckdb": DUCKDB, "postgres": POSTGRES, "spark": SPARK}
OUR_TEXTS = {
    "quarter",
    string.ascii_lowercase,
    string.ascii_uppercase,
    "1970-01-01",
    "0x",
    "x",
    "year",
    "month",
    "week",
    "day",
}
OUR_TEXTS |= {" ", "array<BIGINT>", "array<STRING>"}
OUR_NAMES = {"pid", "patient", "C"} | {name for t in CLINIC.tables for name in (t.name, *(c.name for c in t.columns))}


@pytest.fixture(params=DIALECTS, scope="module")
def dialect(request):
    return DIALECTS[request.param]


def sql(aggregate, dialect=DUCKDB):
    return emit(aggregate, CLINIC, dialect, {table.name: dialect.name(table.name) for table in CLINIC.tables})


@given(question=QUESTIONS)
def test_quoted_texts_are_our_own(dialect, question) -> None:
    quoted = set(re.findall(r"'((?:[^']|'')*)'", sql(plan(question, CLINIC).aggregate, dialect).text))
    assert quoted <= OUR_TEXTS


@given(question=QUESTIONS)
def test_names_are_those_of_the_catalogue(dialect, question) -> None:
    text = sql(plan(question, CLINIC).aggregate, dialect).text
    names = re.findall(f"{dialect.quote}([^{dialect.quote}]*){dialect.quote}", text)
    # What a row carries is named so, and a text before it was checked.
    declared = {re.split(" of the row | as it is stored_", name)[0] for name in names}
    assert {name for name in declared if not re.fullmatch(r"d_?\d+", name)} <= OUR_NAMES  # derived columns have numbers


def test_a_derived_column_has_a_name_that_no_column_of_its_table_has() -> None:
    columns = tuple(Column(name=name, type=Integer(low=0, high=9)) for name in ("d", "D_0", "d__1", "x"))
    odd = Population(name="odd", unit=PrivacyUnit(person_key="d___"), tables=(Table(name="t", columns=columns),))
    cases = [f"case when {column} > 3 then 'much' else 'little' end" for column in ("x", "d")]
    aggregate = plan(ask.count("t", by=cases), odd).aggregate
    text = emit(aggregate, odd, DUCKDB, {"t": "t"}).text
    assert set(re.findall('AS "([^"]*)"', text)) == {"d____0", "d____1"}


@given(question=QUESTIONS)
def test_every_parameter_has_its_mark_and_every_mark_its_parameter(dialect, question) -> None:
    statement = sql(plan(question, CLINIC).aggregate, dialect)
    marks = {dialect.mark(n) for n in range(len(statement.parameters))}
    assert set(re.findall(r"\$\d+|:p\d+", statement.text)) == marks


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_the_text_does_not_depend_on_a_text_value(text) -> None:
    aggregate = plan(ask.count("patients", ask.col("city") == "x"), CLINIC).aggregate
    other = dataclasses.replace(aggregate, where=InTexts(column="city", texts=(text,)))
    assert sql(other).text == sql(aggregate).text
    assert sql(other).parameters == (text,)


@given(st.integers(), st.integers(1, 100), st.fractions(0, 1000, max_denominator=64))
def test_the_text_does_not_depend_on_numbers(age, rows, cost) -> None:
    def asked(age, rows, cost):
        where = (ask.col("nights") == age) | (ask.col("cost") == cost)
        return sql(plan(ask.mean("visits", "nights", where, max_rows=rows), CLINIC).aggregate).text

    if -(2**63) <= age < 2**63:
        assert asked(age, rows, cost) == asked(7, 2, 1)


@settings(max_examples=30)
@given(QUESTIONS)
def test_emission_is_a_function(question) -> None:
    aggregate = plan(question, CLINIC).aggregate
    assert sql(aggregate) == sql(aggregate)


def test_rows_are_never_picked_by_chance() -> None:
    aggregate = plan(ask.mean("visits", "cost", by="kind", max_groups=1), CLINIC).aggregate
    text = sql(aggregate).text.lower()
    assert not re.search(r"random|limit|sample|rowid|hash\(", text)


@pytest.mark.parametrize("times", [1, 2])
def test_on_spark_a_row_is_tied_to_the_rows_around_it_by_equality_alone(times) -> None:
    # Any other comparison makes Spark pair every row with the values of everybody: quadratic in the number of people.
    where = ask.has("visits", "age(patients.born, visits.day) < 40", at_least=times)
    text = sql(plan(ask.count("patients", where), CLINIC).aggregate, SPARK).text
    assert re.findall(r"(\S+) r0\.`born`(?! AS carried)", text) == ["<=>"]


def test_on_spark_a_row_carries_each_value_of_its_person_once() -> None:
    where = ask.has("visits", ask.has("codes", "codes.day >= visits.day and codes.day >= patients.born", at_least=2))
    text = sql(plan(ask.count("patients", where), CLINIC).aggregate, SPARK).text
    assert re.findall(r"JOIN .*? ON \S+ = \S+`", text) == [
        "JOIN (SELECT DISTINCT r0.`pid` AS p, r0.`born` AS carried FROM `patients` AS r0) AS c0 ON c0.p = r1.`pid`",
        "JOIN (SELECT DISTINCT r0.`pid` AS p, r0.`day` AS carried FROM `visits` AS r0) AS c0 ON c0.p = r2.`patient`",
        "JOIN (SELECT DISTINCT r0.`pid` AS p, r0.`born` AS carried FROM `patients` AS r0) AS c1 ON c1.p = r2.`patient`",
    ]


@pytest.mark.parametrize(
    "where",
    [
        ask.has("visits", "age(patients.born, visits.day) < 40"),
        ask.has("visits", "age(patients.born, visits.day) < 40", at_least=2),
        ask.has("visits", "visits.day > patients.born and visits.left > patients.born and nights > 2", at_least=2),
        ~ask.has("visits", "visits.day < patients.born"),
        ask.has("visits", ask.has("codes", "codes.day >= visits.day and codes.day >= patients.born")),
        ask.has("visits", ask.has("codes", "codes.day >= visits.day and codes.day >= patients.born", at_least=2)),
    ],
    ids=range(6),
)
def test_rows_that_carry_values_of_the_rows_around_them_are_counted_as_those_that_look_outwards(where) -> None:
    """What Spark is sent, on DuckDB: a database that knows both ways to write it."""
    carries = dataclasses.replace(DUCKDB, compares_rows=False)
    aggregates = [
        plan(question, CLINIC).aggregate
        for question in (ask.count("patients", where), ask.count("patients", where, by="ward"))
    ]
    rows = {
        "patients": [
            {"pid": i, "ward": i % 3 + 1, "born": None if i % 7 == 0 else date(1950 + i % 30, 1, 3)} for i in range(60)
        ],
        "visits": [
            {
                "pid": i % 60,
                "day": date(1966 + i % 20 + (i // 60 * 10 if i % 2 else i // 120 * 8), 3, 1),
                "left": date(1970 + i % 41, 3, 1),
                "nights": i % 5,
            }
            for i in range(300)
        ],
        "codes": [{"patient": i % 59, "code": i, "day": date(1970 + i * 7 % 40, 6, 1)} for i in range(200)],
    }
    filled = {t.name: [dict.fromkeys(c.name for c in t.columns) | row for row in rows[t.name]] for t in CLINIC.tables}
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, table in arrow_tables(CLINIC, filled).items():
            connection.register(name, table)
        for aggregate in aggregates:
            outwards, carried = sql(aggregate), sql(aggregate, carries)
            assert "further out" in carried.text
            text = carried.text.replace("<=>", "IS NOT DISTINCT FROM")
            told = sorted(connection.execute(outwards.text, outwards.parameters).fetchall(), key=str)
            assert sorted(connection.execute(text, carried.parameters).fetchall(), key=str) == told
            assert any(0 < row[-1] < 60 for row in told), told


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, float("nan")])
def test_a_constant_that_its_type_cannot_hold_is_not_written(dialect, value) -> None:
    with pytest.raises(ValueError, match="a constant that its type cannot hold"):
        Writer(dialect, CLINIC, {}, widened_relation).value(value)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 0.0, float("inf"), float("-inf"), 5e-324])
def test_the_edges_of_a_type_are_written(dialect, value) -> None:
    writer = Writer(dialect, CLINIC, {}, widened_relation)
    assert writer.value(value).startswith("CAST(")
    assert writer.parameters == [value]
