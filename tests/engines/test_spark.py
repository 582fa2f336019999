"""Spark: where tables come from, that settings, partitions and retries change nothing, that it always fails alike."""

import io
import logging
import math
import os
import re
import time
import warnings
from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

import lapwing as ask
import lapwing.engines.spark as driver
from engines.cancelling import cancel_one_of_two
from engines.parquet_writers import WRITERS, with_the_notes_of_another
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.emitter import Statement, emit
from lapwing.engines.spark import _PINNED, SPARK, Spark, SparkTable, bound
from lapwing.engines.text_hash import SAMPLE, murmur
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import EngineError, RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit

COLUMNS = (
    Column(name="age", type=Integer(low=0, high=120), nullable=True),
    Column(name="bmi", type=Real(low=10, high=60), nullable=True),
    Column(name="city", type=Text(), nullable=True),
    Column(name="seen", type=Date(), nullable=True),
    Column(name="smoker", type=Boolean(), nullable=True),
)
DATA = pa.table(
    {
        "pid": [1, 2, 3, 4],
        "age": pa.array([10, 40, None, 70], pa.int8()),
        "bmi": pa.array([20.5, None, 31.25, 1e9], pa.float32()),
        "city": ["a", "b", None, "é"],
        "seen": pa.array([date(1, 1, 1), date(1582, 10, 10), None, date(2020, 1, 1)]),
        "smoker": [False, True, None, True],
    }
)
QUESTIONS = {
    None: 4,
    "age >= 18": 2,
    "bmi > 21": 2,
    "city = 'é'": 1,
    "seen < '1582-10-11'": 2,
    "smoker": 2,
    "city is null": 1,
}


def patients(*columns, **options):
    table = Table(name="patients", columns=columns, **options)
    return Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=(table,))


def counted(engine, population, where=None):
    return engine.number(plan(ask.count("patients", where), population).aggregate).open_for_release()


def as_parquet(_, folder):
    pq.write_table(DATA, folder / "it's.parquet")
    return folder / "it's.parquet"


def as_table(spark, _):
    spark.createDataFrame(DATA).write.saveAsTable("people", mode="overwrite")
    return SparkTable(schema="default", table="people")


SOURCES = {"Parquet": as_parquet, "table": as_table, "data frame": lambda spark, _: spark.createDataFrame(DATA)}


@pytest.mark.parametrize("source", SOURCES)
def test_tables_come_from_files_catalogues_and_data_frames(spark, source, tmp_path) -> None:
    population = patients(*COLUMNS)
    with Spark(population, {"patients": SOURCES[source](spark, tmp_path)}, spark) as engine:
        for where, people in QUESTIONS.items():
            assert counted(engine, population, where) == people, where


def test_a_table_has_one_identity_however_its_name_is_spelt(spark, tmp_path) -> None:
    as_table(spark, tmp_path)
    spark.sql("CREATE OR REPLACE VIEW grown_up AS SELECT * FROM people WHERE age >= 18")

    def identity(**name):
        with Spark(patients(), {"patients": SparkTable(**name)}, spark) as engine:
            return engine.identities["patients"]

    of_each = []
    for table in ("people", "grown_up"):
        where = {}, {"schema": "Default"}, {"schema": "default", "catalog": "spark_catalog"}
        spellings = {identity(table=name, **before) for before in where for name in (table, table.upper())}
        assert len(spellings) == 1, table
        of_each.append(spellings.pop())
    assert len(set(of_each)) == 2


def test_a_table_of_a_format_that_was_not_tried_is_opened_with_a_warning(spark, tmp_path, monkeypatch) -> None:
    table = as_table(spark, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Spark(patients(), {"patients": table}, spark).close()
    monkeypatch.setattr(driver, "_UNTRIED", {"parquet"})  # which is what stands for Delta here
    with (
        pytest.warns(UserWarning, match="does not pin its version"),
        Spark(patients(), {"patients": table}, spark) as engine,
    ):
        assert counted(engine, patients()) == 4


def test_nothing_of_an_engine_stays_in_the_session(spark) -> None:
    before, views = spark.conf.getAll, "show views in global_temp"
    with Spark(patients(), {"patients": spark.createDataFrame(DATA)}, spark):
        assert spark.sql(views).collect()
    assert spark.sql(views).collect() == []
    assert spark.conf.getAll == before
    assert spark.range(3).count() == 3


@pytest.mark.parametrize(
    ("column", "stored", "declared"),
    [
        ("x", pa.array([1.0]), Integer()),
        ("x", pa.array(["1"]), Integer()),
        ("x", pa.array(["2020-01-01"]), Date()),
        ("x", pa.array([1]), Boolean()),
        ("x", pa.array([b"a"]), Text()),
        ("x", pa.array([Decimal(1)], pa.decimal128(19, 3)), Real(low=0, high=1)),
        ("pid", pa.array([1.0]), None),
    ],
    ids=["float", "text", "text day", "int truth", "bytes", "long decimal", "float key"],
)
def test_a_column_that_could_fail_or_round_is_refused_at_registration(spark, column, stored, declared) -> None:
    columns = () if declared is None else (Column(name="x", type=declared),)
    frame = spark.createDataFrame(pa.table({"pid": [1]} | {column: stored}))
    with pytest.raises(RegistrationError, match=f"holds (the person key )?'{column}' as"):
        Spark(patients(*columns), {"patients": frame}, spark)


def in_folders(_, folder):
    for key in ("7", "007"):
        (folder / f"pid={key}").mkdir()
        pq.write_table(pa.table({"x": [1]}), folder / f"pid={key}" / "part.parquet")
    return folder


def in_lines(spark, folder):
    (folder / "lines.csv").write_text("7\n007\n+7\n 7\n")
    return spark.read.csv(str(folder), schema="pid bigint")


def in_a_view_of_lines(spark, folder):
    in_lines(spark, folder).createOrReplaceTempView("lines")
    return spark.sql("select pid + 0 as pid from lines")


def filled_up(spark, _):
    spark.sql("create or replace temp view as_written as select col1 as pid from values ('a'), ('a ')")
    spark.sql("drop table if exists filled_up")
    spark.sql("create table filled_up (pid char(5)) using parquet")
    spark.sql("insert into filled_up select * from as_written")
    return SparkTable(table="filled_up")


MERGED = {
    "names of folders": (in_folders, KeyType.INTEGER, "has its person key in the names of folders, of which Spark"),
    "lines": (in_lines, KeyType.INTEGER, "is in files of CSV, of which Spark reads the person keys 7 and 007 as one"),
    "a view of lines": (in_a_view_of_lines, KeyType.INTEGER, "is in files of CSV, of which Spark reads"),
    "filled up": (filled_up, KeyType.TEXT, r"holds the person key 'pid' as char\(5\), not text"),
}


@pytest.mark.parametrize("source", MERGED)
def test_keys_of_which_spark_makes_one_are_refused(spark, source, tmp_path) -> None:
    made, kind, told = MERGED[source]
    with pytest.raises(RegistrationError, match=told):
        Spark(patients(key_type=kind), {"patients": made(spark, tmp_path)}, spark)


def test_keys_that_are_texts_in_lines_and_partitions_beside_the_key_are_read(spark, tmp_path) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "lines.csv").write_text("7\n007\n+7\n 7\n")
    lines = spark.read.csv(str(tmp_path / "lines"), schema="pid string")
    with Spark(patients(key_type=KeyType.TEXT), {"patients": lines}, spark) as engine:
        assert counted(engine, patients(key_type=KeyType.TEXT)) == 4
    for year in (2020, 2021):
        (tmp_path / "years" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"pid": [year]}), tmp_path / "years" / f"year={year}" / "part.parquet")
    population = patients(Column(name="year", type=Integer(low=2000, high=2030)))
    with Spark(population, {"patients": tmp_path / "years"}, spark) as engine:
        assert counted(engine, population, "year = 2021") == 1


def test_what_is_missing_is_named(spark, tmp_path) -> None:
    with pytest.raises(RegistrationError, match="does not have exactly one column 'age'; it has pid"):
        Spark(patients(COLUMNS[0]), {"patients": spark.createDataFrame(pa.table({"pid": [1]}))}, spark)
    with pytest.raises(RegistrationError, match="has no source"):
        Spark(patients(), {}, spark)
    with pytest.raises(RegistrationError, match="cannot be read"):
        Spark(patients(), {"patients": tmp_path / "nothing.parquet"}, spark)
    with pytest.raises(RegistrationError, match="cannot be read"):
        Spark(patients(), {"patients": SparkTable(table="nothing")}, spark)


def test_texts_that_a_collation_takes_for_equal_stay_apart(spark) -> None:
    population = patients(Column(name="city", type=Text()), key_type=KeyType.TEXT)
    frame = spark.sql(
        "select p collate UTF8_LCASE as pid, c collate UTF8_LCASE as city "
        "from values ('a', 'x'), ('A', 'X'), ('b', 'x') as t(p, c)"
    )
    with Spark(population, {"patients": frame}, spark) as engine:
        assert counted(engine, population) == 3
        assert counted(engine, population, "city = 'x'") == 2
        assert counted(engine, population, "starts_with(city, 'X')") == 1


def test_every_setting_that_is_pinned_is_one_that_spark_knows(spark) -> None:
    """It takes any name: what it no longer calls so would be pinned for nothing, the memory of its parser included."""
    unknown = [name for name in _PINNED if not spark.conf.isModifiable(name)]
    assert unknown == ["spark.databricks.delta.stats.skipping"], "which is of Delta, and not installed here"
    with Spark(patients(), {"patients": spark.createDataFrame(DATA)}, spark) as engine:
        assert {name: engine._session.conf.get(name) for name in _PINNED} == _PINNED


def test_the_settings_of_the_session_change_nothing(spark) -> None:
    population = patients(
        Column(name="seen", type=Date(), nullable=True), Column(name="a${spark.app.name}.*", type=Integer())
    )
    frame = spark.sql(
        "select cast(id as int) as pid, timestamp '2020-01-01 23:30:00Z' + make_interval(0, 0, 0, 0, id) as seen, "
        "id as number from range(48)"
    ).withColumnRenamed("number", "a${spark.app.name}.*")
    hostile = {
        "spark.sql.session.timeZone": "Pacific/Kiritimati",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
        "spark.sql.parser.quotedRegexColumnNames": "true",
        "spark.sql.files.ignoreMissingFiles": "true",
    }
    other = spark.newSession()
    for name, value in hostile.items():
        other.conf.set(name, value)
    with Spark(population, {"patients": frame}, other) as engine:
        assert counted(engine, population, "seen = '2020-01-02'") == 24
        total = plan(ask.total("patients", 'clip("a${spark.app.name}.*", 0, 9)'), population).aggregate
        assert engine.number(total).open_for_release() == 36 + 9 * 39


def rows_of_many(rows=4_000):
    numbers = range(rows)
    return pa.table(
        {
            "pid": [i * 7919 % 900 for i in numbers],
            "kind": [i % 10 for i in numbers],
            "cost": [i * 0.37 % 1300 - 150 for i in numbers],
        }
    )


VISITS = patients(
    Column(name="kind", type=Integer(low=0, high=9)),
    Column(name="cost", type=Real(low=-100, high=1000)),
    rows=RowsPerPerson.MANY_A_PERSON,
    max_rows=2,
)
ASKED = [
    plan(question, VISITS).aggregate
    for question in (
        ask.total("patients", "cost", by="kind", max_groups=2),
        ask.mean("patients", "cost"),
        ask.median("patients", "cost", cells=50),
    )
]


def vectors(engine):
    return [engine.vector(aggregate).open_for_release() for aggregate in ASKED]


OFTEN, SEVEN = ask.has("patients", at_least=2), ask.col("kind") == 7
LISTED = ask.col("kind").is_in([3 * i for i in range(400)])


@pytest.mark.parametrize(
    "where",
    [
        ~OFTEN,
        ~OFTEN | (ask.col("kind") == 7),
        ~LISTED | (ask.col("kind") == 7),
        "kind = 7 or not has(patients, cost > 3)",
    ],
    ids=["not twice", "or", "not listed", "not compared"],
)
def test_no_row_is_compared_with_everybody_s(spark, where) -> None:
    """Rows are found by their person, or by the value that is looked up."""
    with Spark(VISITS, {"patients": spark.createDataFrame(rows_of_many())}, spark) as engine:
        aggregate = plan(ask.count("patients", where), VISITS).aggregate
        statement = emit(aggregate, VISITS, engine._dialect, engine._relations)
        planned = str(engine._session.sql(bound(statement))._jdf.queryExecution().executedPlan())
    assert "Join" in planned
    assert "NestedLoop" not in planned
    assert "Cartesian" not in planned


@pytest.mark.parametrize("asked_of", ["groups", "rows"])
def test_groups_are_looked_at_and_not_rows(spark, tmp_path, asked_of: str) -> None:
    """Whether a value is declared is asked once for each group; without the count in it Spark asks each row."""
    population = patients(Column(name="site", type=Category(values=("north", "south"))))
    pq.write_table(
        pa.table({"pid": range(100), "site": ["north", "south", "east", "west"] * 25}), tmp_path / "p.parquet"
    )
    with Spark(population, {"patients": tmp_path / "p.parquet"}, spark) as engine:
        aggregate = plan(ask.count("patients", by="site"), population).aggregate
        text = bound(emit(aggregate, population, engine._dialect, engine._relations, {"patients"}))
        if asked_of == "rows":
            text = re.sub(r"HAVING CASE WHEN COUNT\(\*\) > 0 THEN (.*) END", r"HAVING \1", text)
        planned = str(engine._session.sql(text)._jdf.queryExecution().executedPlan()).splitlines()
    (asked,) = [at for at, step in enumerate(planned) if re.match(r"[ +-]*Filter ", step)]
    grouped = [at for at, step in enumerate(planned) if "HashAggregate" in step]
    assert asked_of == ("groups" if asked < min(grouped) else "rows"), "the last step of a plan comes first"


def test_partitions_and_order_do_not_change_the_numbers(spark) -> None:
    data = rows_of_many()
    with DuckDB(VISITS, {"patients": data}) as engine:
        wanted = vectors(engine)
    frame = spark.createDataFrame(data)
    for shape in (frame.repartition(1), frame.repartition(5), frame.orderBy("cost", ascending=False)):
        with Spark(VISITS, {"patients": shape}, spark) as engine:
            engine._session.conf.set("spark.sql.shuffle.partitions", "4")
            assert vectors(engine) == wanted


def test_compiled_plans_give_the_numbers_of_interpreted_ones(spark) -> None:
    # The session of the tests interprets; clusters compile, and read many constants from a set.
    population = patients(Column(name="bmi", type=Real(low=-50, high=50), nullable=True))
    frame = spark.createDataFrame(pa.table({"pid": [1, 2, 3, 4], "bmi": [0.0, -0.0, float("nan"), 7.0]}))
    few, many = "bmi in (0, 1)", f"bmi in ({', '.join(map(str, range(40)))})"
    with Spark(population, {"patients": frame}, spark) as engine:
        for compiled, mode in (("true", "CODEGEN_ONLY"), ("false", "NO_CODEGEN")):
            engine._session.conf.set("spark.sql.codegen.wholeStage", compiled)
            engine._session.conf.set("spark.sql.codegen.factoryMode", mode)
            assert [counted(engine, population, where) for where in (few, many)] == [2, 3]


def test_a_task_that_fails_once_and_is_tried_again_changes_nothing(spark) -> None:
    def fails_at_first(batches):
        if TaskContext.get().attemptNumber() == 0 and TaskContext.get().partitionId() == 1:
            raise RuntimeError("this worker is lost")
        yield from batches

    data = rows_of_many(500)
    with DuckDB(VISITS, {"patients": data}) as engine:
        wanted = vectors(engine)[:1]
    frame = spark.createDataFrame(data).repartition(3)
    flaky = frame.mapInArrow(fails_at_first, frame.schema)
    with Spark(VISITS, {"patients": flaky}, spark) as engine:
        assert [engine.vector(ASKED[0]).open_for_release()] == wanted


def test_every_failure_looks_the_same_and_only_the_custodian_learns_why(spark, tmp_path) -> None:
    reasons, path = [], tmp_path / "patients.parquet"
    pq.write_table(DATA, path)
    with Spark(patients(), {"patients": path}, spark, on_failure=reasons.append) as engine:
        path.unlink()
        with pytest.raises(EngineError) as failed:
            counted(engine, patients())
    with pytest.raises(EngineError) as closed:
        counted(engine, patients())
    assert str(failed.value) == str(closed.value)
    assert failed.value.__context__ is None
    assert "patients.parquet" in str(reasons[0])
    assert len(reasons) == 2


def test_a_question_is_cancelled_and_no_other(spark) -> None:
    few, many = (
        spark.range(n).selectExpr("id as pid").crossJoin(spark.range(n).selectExpr("id as x")) for n in (1, 10**6)
    )
    population = patients(Column(name="x", type=Integer()), rows=RowsPerPerson.MANY_A_PERSON)
    reasons = []
    with Spark(population, {"patients": few}, spark, on_failure=reasons.append) as engine:
        many.createOrReplaceGlobalTempView(engine._views["patients"])

        def both_run() -> None:
            while len(spark.sparkContext.statusTracker().getActiveJobsIds()) < 2:
                time.sleep(0.05)

        cancel_one_of_two(lambda: counted(engine, population, "x > 3"), both_run)
        assert all("cancelled" in str(reason) for reason in reasons)
    assert spark.range(3).count() == 3


WEIGHED = patients(Column(name="bmi", type=Real(low=10, high=60), nullable=True))
OTHERS = [20.0] * 50 + [math.nan] * 50 + [-0.0] * 5
ABOUT = {
    "bmi <= 30": lambda x: x is not None and x <= 30,
    "bmi is null": lambda x: x is None,
    "not (bmi <= 30)": lambda x: x is not None and x > 30,
    "bmi in (0, 20)": lambda x: x in {0, 20},
}


def by_spark(frame, place):
    hashed = {"parquet.bloom.filter.enabled": "true", "parquet.bloom.filter.expected.ndv": "9"}
    frame.coalesce(1).write.options(**hashed).parquet(str(place))


@pytest.mark.parametrize("writer", ["pyarrow", "polars, all noted", "spark"])
def test_a_row_is_decided_by_itself_whoever_wrote_the_file_and_whoever_else_is_in_it(spark, writer, tmp_path) -> None:
    for number, more in enumerate([[], [45.0], [None]]):
        bmis = OTHERS + more
        table, place = pa.table({"pid": list(range(len(bmis))), "bmi": pa.array(bmis)}), tmp_path / f"{number}.parquet"
        if writer == "spark":
            by_spark(spark.createDataFrame(table), place)
        else:
            WRITERS[writer](table, place)
        known = [None if bmi is None or math.isnan(bmi) else bmi for bmi in bmis]
        wanted = {where: sum(map(holds, known)) for where, holds in ABOUT.items()}
        for source in (place, spark.read.parquet(str(place)))[: 2 if writer == "spark" else 1]:
            with Spark(WEIGHED, {"patients": source}, spark) as engine:
                assert {where: counted(engine, WEIGHED, where) for where in ABOUT} == wanted, more


NOTED = {
    "numbers": (Integer(), pa.int64(), 5, 50, "x < 9"),
    "reals": (Real(low=0, high=99), pa.float64(), 5.0, 50.0, "x < 9"),
    "days": (Date(), pa.date32(), date(2020, 1, 1), date(2021, 1, 1), "x = '2020-01-01'"),
}


@pytest.mark.parametrize("noted", NOTED)
def test_a_file_that_notes_what_is_not_so_is_answered_by_its_rows(spark, noted, tmp_path) -> None:
    declared, kind, held, other, where = NOTED[noted]
    population = patients(Column(name="x", type=declared))
    with_the_notes_of_another(tmp_path / "patients.parquet", kind, held, other)
    with Spark(population, {"patients": tmp_path / "patients.parquet"}, spark) as engine:
        assert counted(engine, population, where) == 8


def no_text(*values):
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def test_bytes_that_are_no_text_are_missing(spark, tmp_path) -> None:
    population = patients(Column(name="city", type=Text()), rows=RowsPerPerson.MANY_A_PERSON, key_type=KeyType.TEXT)
    by_city = plan(ask.count("patients", by="city", max_groups=2), population)
    told = []
    for mine in ([], [("me", b"\xff"), ("me", b"\xfe"), (b"\xff", b"ok"), (b"\xfe", b"ok")]):
        people, cities = zip(("1", b"ok"), ("2", b"ok"), *mine, strict=True)
        people = no_text(*(one if isinstance(one, bytes) else one.encode() for one in people))
        pq.write_table(pa.table({"pid": people, "city": no_text(*cities)}), tmp_path / "patients.parquet")
        with Spark(population, {"patients": tmp_path / "patients.parquet"}, spark) as engine:
            told.append(engine.keyed(by_city.aggregate).open_for_release())
            assert counted(engine, population) == 2 + bool(mine)
    assert told == [{("ok",): (2,)}] * 2


def test_bytes_that_are_no_text_equal_none_and_are_missing_to_every_condition(spark, tmp_path) -> None:
    """With one row a person, where declared texts are compared as they are stored, and looked up by their hashes."""
    named = ("ab", "ok", "site 1", "é", "")
    cities = [b"ok", b"\xff", b"ok\xff", "é".encode(), b"\xc3", b"", None, b"elsewhere", b"OK", b"ok", b"site 1"]
    stored = pa.Array.from_buffers(pa.string(), len(cities), pa.array(cities, pa.binary()).buffers())
    pq.write_table(pa.table({"pid": range(len(cities)), "city": stored}), tmp_path / "patients.parquet")
    population = patients(Column(name="city", type=Category(values=named), nullable=True))
    wanted = {
        "city = 'ok'": 2,
        "city in ('ok', 'é', 'ab')": 3,
        "not (city in ('ok', 'é', 'ab'))": 4,
        "city not in ('ok', 'é', '', 'ab', 'site 1')": 2,
        "city is null": 4,
        "city is not null": 7,
        "city <> ''": 6,
    }
    with Spark(population, {"patients": tmp_path / "patients.parquet"}, spark) as engine:
        assert engine._one_row == {"patients"}
        assert {where: counted(engine, population, where) for where in wanted} == wanted
        asked = [plan(ask.count("patients", where), population).aggregate for where in wanted]
        engine._bitmap_memory = 1
        together = engine.numbers(asked, versions={"patients": 1})
        assert [one.open_for_release() for one in together] == list(wanted.values())
        by_city = plan(ask.count("patients", by="city"), population).aggregate
        assert len(engine.vector(by_city).open_for_release()) == len(by_city.cells)
        told = dict(zip(by_city.cells, engine.vector(by_city).open_for_release(), strict=True))
        missing = {(None,): 4} if (None,) in told else {}
        assert told == {("ab",): 0, ("ok",): 2, ("site 1",): 1, ("é",): 1, ("",): 1} | missing


def test_groups_of_what_was_not_declared_are_left_out_and_nobody_else_with_them(spark, tmp_path) -> None:
    cities = ["a", "b", "c", None, "a", "z"]
    pq.write_table(
        pa.table({"pid": range(6), "city": cities, "age": [1, 2, 3, 4, None, 6]}), tmp_path / "patients.parquet"
    )
    columns = (
        Column(name="city", type=Category(values=("a", "b", "q"))),
        Column(name="age", type=Integer(low=0, high=9)),
    )
    population = patients(*columns)
    with Spark(population, {"patients": tmp_path / "patients.parquet"}, spark) as engine:
        assert engine._one_row == {"patients"}
        for question, wanted in [
            (ask.count("patients", by="city"), (2, 1, 0)),
            (ask.count("patients", "age > 1", by="city"), (0, 1, 0)),
            (ask.total("patients", "age", by="city"), (1, 2, 0)),
        ]:
            aggregate = plan(question, population).aggregate
            assert "HAVING" in emit(aggregate, population, SPARK, engine._relations, engine._one_row).text
            assert engine.vector(aggregate).open_for_release() == wanted


def test_a_constant_is_read_as_it_was_written(spark) -> None:
    values = [True, False, 0, -1, 2**63 - 1, -(2**63), 0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf]
    values += [date(1, 1, 1), date(9999, 12, 31), "", "a'b\\`:p0", "\0é€😀\n--", "${x}", "' OR TRUE --", "\\"]
    kinds = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", date: "DATE", str: "STRING"}
    marks = [f"CAST({SPARK.mark(n)} AS {kinds[type(value)]}) AS `:p{n}``` " for n, value in enumerate(values)]
    session = spark.newSession()
    for setting, value in _PINNED.items():
        session.conf.set(setting, value)
    (told,) = session.sql(bound(Statement(f"SELECT {', '.join(marks)}, ':p0'", tuple(values)))).collect()
    assert list(told) == [*values, ":p0"]
    assert [math.copysign(1, one) for one in told if one == 0 and isinstance(one, float)] == [-1]
    assert told.__fields__[:2] == [":p0`", ":p1`"]


@pytest.mark.parametrize("texts", [["it's", "é`", ""], [], ["\\", '"']])
def test_a_list_is_read_as_it_was_written(spark, texts) -> None:
    statement = Statement(
        "SELECT from_json(:p0, 'array<STRING>'), from_json(:p1, 'array<BIGINT>')", (texts, [2**62, -1])
    )
    assert list(spark.sql(bound(statement)).collect()[0]) == [texts, [2**62, -1]]


def test_spark_hashes_texts_as_we_do_or_is_refused(spark, monkeypatch) -> None:
    texts = [*SAMPLE, *("é€😀"[: i % 4] + "x" * i for i in range(70))]
    hashed = spark.createDataFrame([(text,) for text in texts], "t string").selectExpr("hash(t)").collect()
    assert [row[0] for row in hashed] == list(map(murmur, texts))
    monkeypatch.setattr(driver, "murmur", lambda text: murmur(text) + (text == "é€"))
    with pytest.raises(RegistrationError, match="hash of texts is not that of Apache Spark"):
        Spark(patients(), {"patients": spark.createDataFrame(DATA)}, spark)


FAR = 1_000
LIMITS = {
    "whole numbers": (Integer(low=-9, high=9), pa.int64(), ["x < -3", "x between -1 and 4", "x >= 7", "x = 4"]),
    "far whole numbers": (Integer(low=-9, high=9), pa.int64(), [f"x < {i * FAR}" for i in range(5)]),
    "days": (Date(), pa.date32(), [f"x < '2020-01-{i:02}'" for i in (1, 5, 6)] + ["x >= '2020-02-01'"]),
}


@pytest.mark.parametrize("case", LIMITS)
def test_a_value_is_looked_up_in_the_piece_it_is_in(spark, case, tmp_path) -> None:
    kind, stored, conditions = LIMITS[case]
    near = [*range(-12, 12), *(i * FAR + off for i in range(5) for off in (-1, 0, 1)), 2**63 - 1, -(2**63)]
    around = [date(2020, 1, 1) + timedelta(off) for off in range(-2, 40)] + [date.min, date.max]
    values = [*(around if case == "days" else near), None]
    table = pa.table({"pid": range(len(values)), "x": pa.array(values, stored)})
    pq.write_table(table, tmp_path / "patients.parquet")
    population = patients(Column(name="x", type=kind, nullable=True))
    asked = [plan(ask.count("patients", one), population).aggregate for one in conditions]
    with (
        Spark(population, {"patients": tmp_path / "patients.parquet"}, spark) as engine,
        DuckDB(population, {"patients": tmp_path / "patients.parquet"}) as other,
    ):
        engine._bitmap_memory = 1
        texts, read = [], engine._rows
        monkey = lambda statement: texts.append(statement.text) or read(statement)  # noqa: E731
        engine._rows = monkey
        told = [one.open_for_release() for one in engine.numbers(asked, versions={"patients": 1})]
        assert told == [counted(other, population, one) for one in conditions]
        assert ("from_json" in texts[-1]) == (case != "far whole numbers")


@pytest.mark.parametrize("number", [2**62, -(2**63)], ids=["large", "least"])
def test_a_time_that_parquet_cannot_be_read_with_is_met_at_registration(spark, number, tmp_path) -> None:
    times = pa.array([0, number], pa.int64()).cast(pa.timestamp("ms"))
    pq.write_table(pa.table({"pid": [1, 2], "seen": times}), tmp_path / "patients.parquet")
    with pytest.raises(RegistrationError, match="cannot be read") as refused:
        Spark(patients(COLUMNS[3]), {"patients": tmp_path / "patients.parquet"}, spark)
    assert "\tat " not in str(refused.value)


def test_a_type_is_that_of_the_column_that_is_read(spark) -> None:
    population = patients(Column(name="straße", type=Integer(low=0, high=9)))
    total = plan(ask.total("patients", "straße"), population).aggregate
    for columns in ({"straße": ["1", "x"], "strasse": [1, 2]}, {"strasse": [1, 2], "straSSe": ["1", "x"]}):
        frame = spark.createDataFrame(pa.table({"pid": [1, 2], **columns}))
        with pytest.raises(RegistrationError):
            Spark(population, {"patients": frame}, spark)
    with Spark(
        population, {"patients": spark.createDataFrame(pa.table({"pid": [1], "STRASSE": [3]}))}, spark
    ) as engine:
        assert engine.number(total).open_for_release() == 3


def test_no_value_is_printed_when_a_statement_fails_and_the_host_still_sees_its_own(spark, capfd) -> None:
    heard, logger = io.StringIO(), PySparkLogger.getLogger("SQLQueryContextLogger")
    handler = logging.StreamHandler(heard)
    logger.addHandler(handler)
    failing = spark.sql("select id as pid, cast(concat('hunter', id) as bigint) as x from range(2)")
    population, reasons = patients(Column(name="x", type=Integer())), []
    try:
        with pytest.raises(RegistrationError, match="hunter"):
            Spark(population, {"patients": failing}, spark)
        fine = spark.sql("select id as pid, id as x from range(2)")
        with Spark(population, {"patients": fine}, spark, on_failure=reasons.append) as engine:
            failing.createOrReplaceGlobalTempView(engine._views["patients"])
            with pytest.raises(EngineError):
                counted(engine, population, "x > 0")
            aggregate = plan(ask.at_least(1, "patients", "x > 0"), population).aggregate
            with pytest.raises(EngineError):
                engine.numbers([aggregate], versions={"patients": 1})
        assert all("hunter" in str(reason) for reason in reasons)
        assert len(reasons) == 2
        assert heard.getvalue() == ""
        assert "hunter" not in "".join(capfd.readouterr())
        with pytest.raises(PySparkException):
            failing.collect()
        assert "hunter" in heard.getvalue(), "what is the host's is logged as before"
    finally:
        logger.removeHandler(handler)


ONE_EACH = patients(COLUMNS[0])


def test_files_that_hold_one_row_a_person_are_trusted_as_long_as_they_are_what_was_seen(spark, tmp_path) -> None:
    path, reasons = tmp_path / "patients.parquet", []
    pq.write_table(DATA, path)
    with Spark(ONE_EACH, {"patients": path}, spark, on_failure=reasons.append) as engine:
        assert engine._one_row == {"patients"}
        assert counted(engine, ONE_EACH, "age >= 18") == 2
        assert engine.identities_now() == engine.identities
        before = path.stat()
        twice = DATA.set_column(0, "pid", pa.array([1, 1, 1, 1]))  # as long as it was
        pq.write_table(twice, path)
        os.truncate(path, path.stat().st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
        assert engine.identities_now() != engine.identities, "seen before anything is charged"
        with pytest.raises(EngineError):
            counted(engine, ONE_EACH, "age >= 18")
    assert len(reasons) == 1


@pytest.mark.parametrize("keys", [[1, 2, 3, 3], [1, 2, 3, None]], ids=["twice", "nobody's"])
def test_files_that_do_not_hold_one_row_a_person_are_not_trusted(spark, keys, tmp_path) -> None:
    pq.write_table(DATA.set_column(0, "pid", pa.array(keys, pa.int64())), tmp_path / "patients.parquet")
    with Spark(ONE_EACH, {"patients": tmp_path / "patients.parquet"}, spark) as engine:
        assert engine._one_row == set()
        assert counted(engine, ONE_EACH) == 3
    with Spark(ONE_EACH, {"patients": spark.createDataFrame(DATA)}, spark) as engine:
        assert engine._one_row == set(), "of a data frame nobody knows when it changes"


def test_a_file_that_comes_beside_those_that_were_listed_is_not_read_and_changes_nothing(spark, tmp_path) -> None:
    pq.write_table(DATA, tmp_path / "one.parquet")
    with Spark(ONE_EACH, {"patients": tmp_path}, spark) as engine:
        pq.write_table(DATA, tmp_path / "two.parquet")
        assert engine._one_row == {"patients"}
        assert counted(engine, ONE_EACH) == 4
        assert engine.identities_now() == engine.identities
