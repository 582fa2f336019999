"""Times of day are read from the stored moments, the same on every engine and from every kind of file."""

from contextlib import closing
from datetime import UTC, date, datetime

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as lw
from engines.workbenches import as_reader
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.postgres import PostgreSQL, PostgresTable
from lapwing.engines.rehearsal import rehearsal_engine
from lapwing.engines.spark import Spark
from lapwing.queries.catalogue.column import TIME_OF_DAY, Column, Date, Integer, Text
from lapwing.queries.catalogue.population import Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import ParameterError, RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit

DAYS = Date(first=date(2020, 1, 1), last=date(2024, 12, 31))
CALLED = Column(name="called", type=DAYS, nullable=True)
TIME = Column(name="called at", type=Integer(), nullable=True, time_of="Called")
MOMENTS = [
    datetime(2024, 5, 1, 0, 0, tzinfo=UTC),
    datetime(2024, 5, 1, 8, 30, 59, 999_000, tzinfo=UTC),
    datetime(2024, 5, 1, 23, 59, 59, tzinfo=UTC),
    datetime(2020, 2, 29, 8, 0, tzinfo=UTC),
    None,
]
HOURS = {0: 1, 8: 2, 23: 1, None: 1}
AT_LEAST = (
    ("called >= timestamp '2024-05-01 08:30:59'", 2),
    ("called > timestamp '2024-05-01 08:30:59'", 1),
    ("called <= date '2024-05-01'", 2),
    ("called = date '2024-05-01'", 1),
    ("called::date = date '2024-05-01'", 3),
    ("called::time between '08:00' and '08:30:59'", 2),
    ("called in ('2020-02-29 08:00', '2024-05-01')", 2),
    ("called is null", 1),
    ("not called < timestamp '2024-05-01 23:59:59'", 1),
    ("called - timestamp '2024-05-01 00:00:01' > interval '8 hours'", 2),
)


def calls(*columns: Column) -> Population:
    return Population(
        name="calls",
        unit=PrivacyUnit(person_key="pid"),
        tables=(Table(name="calls", columns=columns or (CALLED, TIME)),),
    )


def check(engine) -> None:
    population = calls()
    hours = plan(lw.count("calls", by=lw.col("called").hour()), population)
    cells = zip(
        (cell[0] for cell in hours.aggregate.cells), engine.vector(hours.aggregate).open_for_release(), strict=True
    )
    assert {hour: number for hour, number in cells if number} == HOURS
    for where, number in AT_LEAST:
        assert engine.number(plan(lw.count("calls", where), population).aggregate).open_for_release() == number, where


def stored(kind: pa.DataType) -> pa.Table:
    naive = [moment and moment.replace(tzinfo=None) for moment in MOMENTS]
    return pa.table({"pid": range(len(MOMENTS)), "Called": pa.array(naive, pa.timestamp("ms")).cast(kind)})


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_of_a_frame_and_of_parquet(unit, tmp_path) -> None:
    table = stored(pa.timestamp(unit))
    pq.write_table(table, tmp_path / "calls.parquet")
    for source in (table, tmp_path / "calls.parquet"):
        with closing(DuckDB(calls(), {"calls": source}, threads=1)) as engine:
            check(engine)


def test_of_csv_in_both_orders_of_a_day(tmp_path) -> None:
    file = tmp_path / "calls.csv"
    file.write_text(
        "pid,Called\n0,2024-05-01\n1,2024-05-01T08:30:59.999\n2,2024-05-01 23:59:59Z\n3, 2020-02-29 8:00 \n4,\n"
    )
    with closing(DuckDB(calls(), {"calls": file}, threads=1)) as engine:
        check(engine)
    file.write_text("pid,Called\n0,1.5.2024\n1,1.5.2024 08:30:59\n2,01.05.2024 23:59:59\n3,29.2.2020 08:00\n4,NA\n")
    table = Table(name="calls", columns=(CALLED, TIME), day_order="dmy", missing=("NA",))
    population = Population(name="calls", unit=PrivacyUnit(person_key="pid"), tables=(table,))
    with closing(DuckDB(population, {"calls": file}, threads=1)) as engine:
        check(engine)
    file.write_text("pid,Called\n0,2024-05-01 25:00\n")
    with pytest.raises(RegistrationError, match="line 2 has a cell in column Called that is not a day with a time"):
        DuckDB(calls(), {"calls": file}, threads=1)


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz"])
def test_of_postgres(kind, database) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("set timezone = 'UTC'")
        admin.execute(f'create table calls (pid bigint, "Called" {kind})')
        for pid, moment in enumerate(MOMENTS):
            admin.execute("insert into calls values (%s, %s)", (pid, moment))
        engine = PostgreSQL(calls(), {"calls": PostgresTable(table="calls")}, as_reader(admin, database))
        with closing(engine):
            check(engine)


def test_of_spark(spark) -> None:
    frame = spark.createDataFrame(stored(pa.timestamp("us")))
    with closing(Spark(calls(), {"calls": frame}, spark)) as engine:
        check(engine)


def test_a_moment_that_is_none_has_no_time() -> None:
    beyond = pa.array([2**63 - 1, 0], pa.int64()).cast(pa.timestamp("us"))
    with closing(DuckDB(calls(), {"calls": pa.table({"pid": [1, 2], "Called": beyond})}, threads=1)) as engine:
        hours = plan(lw.count("calls", by=lw.col("called").hour()), calls())
        assert sum(engine.vector(hours.aggregate).open_for_release()) == 2


def test_made_up_rows_have_times() -> None:
    with closing(rehearsal_engine(calls(CALLED, TIME), people=400)) as engine:
        hours = plan(lw.count("calls", by=lw.col("called").hour()), calls())
        assert sum(number > 0 for number in engine.vector(hours.aggregate).open_for_release()) >= 20


def test_what_has_no_times_is_refused() -> None:
    with pytest.raises(ParameterError, match="is of seconds after midnight"):
        Column(name="at", type=Text(), time_of="called")
    with pytest.raises(ParameterError, match="holds no days"):
        calls(Column(name="city", type=Text()), Column(name="at", type=TIME_OF_DAY, time_of="city"))
    with pytest.raises(RegistrationError, match="holds 'called'"):
        DuckDB(calls(), {"calls": pa.table({"pid": [1], "Called": ["x"]})}, threads=1)
