"""The SQL of a question says its shape and nothing else: values are parameters, names are those of the catalogue."""

import dataclasses
import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.clinic import HOSTILE, clinic
from engines.workbenches import DuckDBBench
from lapwing.engines.dialect import DUCKDB
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.emitter import emit
from lapwing.queries import asking as ask
from lapwing.queries.catalogue import Population, Table
from lapwing.queries.column import Column, Text
from lapwing.queries.planning import plan
from lapwing.queries.predicate import InTexts
from lapwing.vocabulary.privacy_unit import PrivacyUnit
from queries.asked import QUESTIONS

CLINIC = clinic()
RELATIONS = {table.name: DUCKDB.name(table.name) for table in CLINIC.tables}


def sql(aggregate, population=CLINIC, relations=RELATIONS):
    return emit(aggregate, population, DUCKDB, relations)


@given(QUESTIONS)
def test_quoted_texts_are_our_own(question) -> None:
    quoted = set(re.findall(r"'((?:[^']|'')*)'", sql(plan(question, CLINIC).aggregate).text))
    assert quoted <= {"1970-01-01", "0x"}


@given(QUESTIONS)
def test_names_are_those_of_the_catalogue(question) -> None:
    known = {c.name for t in CLINIC.tables for c in t.columns} | {t.name for t in CLINIC.tables} | {"pid", "patient"}
    assert set(re.findall(r'"([^"]*)"', sql(plan(question, CLINIC).aggregate).text)) <= known


@given(QUESTIONS)
def test_every_parameter_has_its_mark_and_every_mark_its_parameter(question) -> None:
    statement = sql(plan(question, CLINIC).aggregate)
    marks = {int(mark) for mark in re.findall(r"\$(\d+)", statement.text)}
    assert marks == set(range(1, len(statement.parameters) + 1))


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


INJECTIONS = [
    "'; drop table patients; --",
    "' or 1 = 1 --",
    "\\' or 1=1 --",
    "$1",
    "?",
    "%s",
    ":p0",
    "{x}",
    '"',
    "`",
    "/*",
    "\n;--",
    "\u2019 or 1=1",
    "0x27",
    *HOSTILE,
]


def test_hostile_texts_are_only_texts() -> None:
    with DuckDBBench(CLINIC) as engine:
        empty = {table.name: [] for table in CLINIC.tables}
        blank = dict.fromkeys(c.name for c in CLINIC.table("patients").columns)
        rows = [{"pid": i, **blank, "city": text} for i, text in enumerate(INJECTIONS)]
        engine.load({**empty, "patients": rows})
        for text in INJECTIONS:
            aggregate = plan(ask.count("patients", ask.col("city") == text), CLINIC).aggregate
            assert engine.number(aggregate).open_for_release() == INJECTIONS.count(text)
            prefixed = plan(ask.count("patients", ask.col("city").starts_with(text)), CLINIC).aggregate
            assert engine.number(prefixed).open_for_release() == sum(t.startswith(text) for t in INJECTIONS)


@pytest.mark.parametrize(
    "name", ['we"ird', "a`b", "x; drop table y --", "select", "a b", "a'b", "é", "$1", "%s", "r0", "p"]
)
def test_odd_names_are_only_names(name) -> None:
    table = Table(name=name, columns=(Column(name="x", type=Text()),), person_key=f"{name} key")
    population = Population(name="odd", unit=PrivacyUnit(person_key="pid"), tables=(table,))
    with DuckDB(population, {name: pa.table({f"{name} key": [1, 2], "x": ["a", "b"]})}) as engine:
        aggregate = plan(ask.count(name, ask.col("x") == "a"), population).aggregate
        assert engine.number(aggregate).open_for_release() == 1


@settings(max_examples=30)
@given(QUESTIONS)
def test_emission_is_a_function(question) -> None:
    aggregate = plan(question, CLINIC).aggregate
    assert sql(aggregate) == sql(aggregate)


def test_rows_are_never_picked_by_chance() -> None:
    aggregate = plan(ask.mean("visits", "cost", by="kind", max_groups=1), CLINIC).aggregate
    text = sql(aggregate).text.lower()
    assert not re.search(r"random|limit|sample|rowid|hash\(", text)
