"""Files: what a file notes about its rows decides none of them, and the file that is named is the file that is read."""

import math
from dataclasses import replace
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as ask
from engines.neighbours import cells, excess, moves
from engines.parquet_writers import WRITERS, with_the_notes_of_another
from engines.rows_in_memory import RowsInMemory
from lapwing.engines.duckdb import DuckDB, DuckDBTable
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit

ALMOST_ALIKE = "x" * 99
"""A text that is longer than what writers note of it."""


def clinic(*columns, **options):
    table = Table(name="patients", columns=columns, **options)
    return Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=(table,))


WEIGHED = clinic(
    Column(name="bmi", type=Real(low=10, high=60), nullable=True), Column(name="city", type=Text(), nullable=True)
)
OTHERS = [20.0] * 20 + [math.nan] * 20 + [0.0] * 6
MORE = {
    "nobody": [],
    "above all others": [45.0],
    "below all others": [-45.0],
    "on both sides": [-45.0, 45.0],
    "missing": [None],
    "no number": [math.nan],
    "infinite": [math.inf],
    "infinite below": [-math.inf],
    "zero below zero": [-0.0],
}
ASKED = [
    *(ask.count("patients", where) for where in ("bmi <= 30", "bmi > 30", "bmi is null", "bmi is not null", "bmi = 0")),
    *(ask.count("patients", where) for where in ("not (bmi <= 30)", "bmi <= 30 or bmi is null", "bmi in (0, 20)")),
    ask.count("patients", ask.col("city") == f"{ALMOST_ALIKE}b"),
    ask.count("patients", by=ask.bins("bmi", [0, 20, 30, 60])),
    ask.total("patients", "bmi"),
    ask.mean("patients", "bmi"),
    ask.quantiles("patients", "bmi", "0.5", cells=50),
]
PLANS = [plan(question, WEIGHED) for question in ASKED]


def weighed(bmis):
    """One person for each number, in one of two cities that begin alike."""
    return [{"pid": i, "bmi": bmi, "city": f"{ALMOST_ALIKE}{'ab'[i % 2]}"} for i, bmi in enumerate(bmis)]


def as_arrow(rows):
    kinds = {"pid": pa.int64(), "bmi": pa.float64(), "city": pa.string()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def all_cells(engine):
    return [cells(engine, p.aggregate) for p in PLANS]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_row_is_decided_by_itself_whoever_wrote_the_file_and_whoever_else_is_in_it(writer, tmp_path) -> None:
    told = {}
    for name, more in MORE.items():
        rows = weighed(OTHERS + more)
        WRITERS[writer](as_arrow(rows), tmp_path / "patients.parquet")
        with DuckDB(WEIGHED, {"patients": tmp_path / "patients.parquet"}, threads=1) as engine:
            told[name] = all_cells(engine)
        assert told[name] == all_cells(RowsInMemory(WEIGHED, {"patients": rows})), name
    for name in [name for name, more in MORE.items() if len(more) == 1]:
        for planned, before, after in zip(PLANS, told["nobody"], told[name], strict=True):
            assert not excess(planned.sensitivity, moves(before, after)), name


NOTED = {
    "numbers": (Integer(), pa.int64(), 5, 50, "x = 5", "x < 9", "x is not null"),
    "reals": (Real(low=0, high=99), pa.float64(), 5.0, 50.0, "x = 5", "x < 9", "x is not null"),
    "texts": (Text(), pa.string(), "a", "b", "x = 'a'", "starts_with(x, 'a')", "x is not null"),
    "days": (Date(), pa.date32(), date(2020, 1, 1), date(2021, 1, 1), "x = '2020-01-01'", "x < '2020-02-01'"),
    "categories": (Category(values=("a", "b")), pa.string(), "a", "b", "x = 'a'", "x <> 'b'"),
    "truths": (Boolean(), pa.bool_(), True, False, "x", "x is not null"),
}


@pytest.mark.parametrize("noted", NOTED)
def test_a_file_that_notes_what_is_not_so_is_answered_by_its_rows(noted, tmp_path) -> None:
    declared, kind, held, other, *wheres = NOTED[noted]
    population = clinic(Column(name="x", type=declared))
    with_the_notes_of_another(tmp_path / "patients.parquet", kind, held, other)
    with DuckDB(population, {"patients": tmp_path / "patients.parquet"}) as engine:
        for where in wheres:
            asked = plan(ask.count("patients", where), population).aggregate
            assert engine.number(asked).open_for_release() == 8, where


def one_person(folder, name, pid):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".csv"):
        (folder / name).write_text(f"pid\n{pid}\n", encoding="utf-8")
    else:
        pq.write_table(pa.table({"pid": [pid]}), folder / name)
    return folder / name


KEYS = clinic(Column(name="age", type=Integer()), key_type=KeyType.INTEGER)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["p[1]", "p*", "p?", "a[b/p"], ids=["set", "star", "question mark", "folder"])
def test_a_name_that_is_a_pattern_is_refused(name, ending, tmp_path) -> None:
    one_person(tmp_path, f"p1.{ending}", 2)
    source = one_person(tmp_path, f"{name}.{ending}", 1)
    with pytest.raises(RegistrationError, match=r"takes . in a name for a pattern of many names; take . out of"):
        DuckDB(clinic(), {"patients": source})


@pytest.mark.parametrize("folder", ["age=M", "pid=5", "~", "age=7/pid=5"])
def test_columns_are_those_of_the_file_whatever_its_folders_are_called(folder, tmp_path, monkeypatch) -> None:
    place = tmp_path / folder / "p.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(pa.table({"pid": [1, 2, 3], "age": [30, 40, 50]}), place)
    monkeypatch.chdir(tmp_path)
    with DuckDB(KEYS, {"patients": Path(folder) / "p.parquet"}) as engine:
        for where, counted in ((None, 3), ("age = 40", 1)):
            asked = plan(ask.count("patients", where), KEYS).aggregate
            assert engine.number(asked).open_for_release() == counted


def in_a_duckdb_file(place, *statements):
    with duckdb.connect(str(place)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
    return DuckDBTable(path=place, table="patients")


@pytest.mark.parametrize(
    "statements",
    [
        ["create table all_of_it (pid bigint)", "create view patients as from all_of_it"],
        ["create view patients as select range as pid from range(extract(second from now())::bigint)"],
    ],
    ids=["of a table", "of the clock"],
)
def test_a_view_is_refused_for_it_may_change_while_the_file_does_not(statements, tmp_path) -> None:
    with pytest.raises(RegistrationError, match=r"is a view, patients, which may change .*; store what it shows"):
        DuckDB(clinic(), {"patients": in_a_duckdb_file(tmp_path / "clinic.duckdb", *statements)})


def test_a_column_that_is_computed_when_it_is_read_is_refused_if_it_is_declared(tmp_path) -> None:
    made = "create table patients (pid bigint, Age bigint generated always as (extract(second from now())) virtual)"
    source = in_a_duckdb_file(tmp_path / "clinic.duckdb", made)
    with pytest.raises(RegistrationError, match="has 'Age' computed when it is read"):
        DuckDB(KEYS, {"patients": source})
    DuckDB(clinic(), {"patients": source}).close()


@pytest.mark.parametrize("name", ["Patients", "PATIENTS"])
def test_a_view_and_a_computed_column_are_found_however_the_name_of_their_table_is_written(name, tmp_path) -> None:
    view = in_a_duckdb_file(tmp_path / "view.duckdb", "create view patients as select range as pid from range(3)")
    with pytest.raises(RegistrationError, match=f"is a view, {name}"):
        DuckDB(clinic(), {"patients": replace(view, table=name)})
    made = "create table patients (pid bigint, age bigint generated always as (extract(second from now())) virtual)"
    computed = in_a_duckdb_file(tmp_path / "computed.duckdb", made)
    with pytest.raises(RegistrationError, match="has 'age' computed when it is read"):
        DuckDB(KEYS, {"patients": replace(computed, table=name)})
    stored = in_a_duckdb_file(tmp_path / "stored.duckdb", "create table patients (pid bigint)")
    DuckDB(clinic(), {"patients": replace(stored, table=name)}).close()


def test_what_a_duckdb_file_does_not_hold_as_a_table_is_refused_by_its_name(tmp_path) -> None:
    other = in_a_duckdb_file(tmp_path / "clinic.duckdb", "create table visits (pid bigint)")
    with pytest.raises(RegistrationError, match="is not in its file as a table patients; name a table that"):
        DuckDB(clinic(), {"patients": other})
