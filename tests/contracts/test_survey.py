"""What every engine counts for the custodian, exactly: the same numbers as a walk over the rows."""

from collections import Counter
from datetime import date

import pytest

from engines.workbenches import ENGINES
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.vocabulary.guarantee import PrivacyUnit
from lapwing.workspace.misfits import misfits_of

PEOPLE = Table(
    name="people",
    columns=(
        Column(name="sex", type=Category(values=("F", "M", "x y"))),
        Column(name="code", type=Category(values=(1, 2))),
        Column(name="age", type=Integer(low=0, high=120)),
        Column(name="bmi", type=Real(low=10, high=60), nullable=True),
        Column(name="born", type=Date(first=date(1900, 1, 1), last=date(2020, 12, 31))),
        Column(name="note", type=Text()),
        Column(name="smoker", type=Boolean()),
    ),
)
EVENTS = Table(
    name="events",
    rows=RowsPerPerson.MANY_A_PERSON,
    max_rows=2,
    columns=(Column(name="kind", type=Category(values=("a", "b"))),),
)


def clinic(key_type: KeyType = KeyType.INTEGER) -> Population:
    tables = tuple(
        Table(name=t.name, columns=t.columns, rows=t.rows, max_rows=t.max_rows, key_type=key_type)
        for t in (PEOPLE, EVENTS)
    )
    return Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=tables)


def person(pid, **given):
    usual = {"sex": "F", "code": 1, "age": 30, "bmi": 20.0, "born": date(1990, 5, 1), "note": "n", "smoker": True}
    return {"pid": pid, **usual, **given}


ROWS = {
    "people": [
        person(1),
        person(2, sex="m", age=121),
        person(3, sex="m", age=-1, bmi=61.0, born=date(1899, 12, 31)),
        person(3, sex="O'Neil", age=120, bmi=10.0, born=date(2020, 12, 31)),
        person(None, sex=None, code=None, age=None, bmi=None, born=None, note=None, smoker=None),
        person(4, sex="M", code=9, bmi=9.5, born=date(2021, 1, 1)),
    ],
    "events": [*({"pid": 1, "kind": "c"} for _ in range(3)), {"pid": 77, "kind": "c"}, {"pid": 2, "kind": None}],
}


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
@pytest.mark.parametrize("key_type", list(KeyType), ids=lambda one: one.value)
def test_every_engine_counts_what_does_not_fit(name, key_type, request) -> None:
    texts = key_type is KeyType.TEXT
    rows = {
        table: [{**row, "pid": str(row["pid"]) if texts and row["pid"] is not None else row["pid"]} for row in several]
        for table, several in ROWS.items()
    }
    with ENGINES[name](clinic(key_type), request) as bench:
        people, events = bench.load(rows).survey()
    assert (people.rows, people.people, people.without_key, people.most, people.above) == (6, 4, 1, 2, 1)
    assert {one.column.name: (one.missing, one.misfits, one.occurring) for one in people.columns} == {
        "sex": (1, 3, 2),
        "code": (1, 1, 1),
        "age": (1, 2, None),
        "bmi": (1, 2, None),
        "born": (1, 2, None),
        "note": (1, 0, None),
        "smoker": (1, 0, None),
    }
    by_name = {one.column.name: one for one in people.columns}
    assert by_name["sex"].examples == (("m", 2), ("O'Neil", 1))
    assert by_name["code"].examples == ((9, 1),)
    assert (events.rows, events.people, events.most, events.above, events.strangers) == (5, 3, 3, 1, 1)
    kinds = Counter((one.table, one.column, one.kind) for one in misfits_of([people, events]))
    assert set(kinds) == {
        ("people", None, "missing_keys"),
        ("people", None, "several_rows"),
        ("people", "sex", "missing"),
        ("people", "sex", "not_declared"),
        ("people", "sex", "never_occurs"),
        ("people", "code", "missing"),
        ("people", "code", "not_declared"),
        ("people", "code", "never_occurs"),
        ("people", "age", "missing"),
        ("people", "age", "out_of_bounds"),
        ("people", "bmi", "out_of_bounds"),
        ("people", "born", "missing"),
        ("people", "born", "out_of_bounds"),
        ("people", "note", "missing"),
        ("people", "smoker", "missing"),
        ("events", None, "more_rows"),
        ("events", None, "strangers"),
        ("events", "kind", "missing"),
        ("events", "kind", "no_value_occurs"),
    }


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
def test_tables_without_rows_and_tables_that_fit(name, request) -> None:
    with ENGINES[name](clinic(), request) as bench:
        found = misfits_of(bench.load({"people": [], "events": []}).survey())
        assert [(one.table, one.kind) for one in found] == [("people", "empty"), ("events", "empty")]
        fitting = [person(1), person(2, sex="M", code=2), person(3, sex="x y", bmi=None)]
        events = [{"pid": 1, "kind": "a"}, {"pid": 2, "kind": "b"}]
        found = misfits_of(bench.load({"people": fitting, "events": events}).survey())
        assert [(one.table, one.kind, one.number) for one in found] == [("events", "one_row", 2)]
