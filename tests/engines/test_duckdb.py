"""DuckDB: where tables come from, what is refused, that it is locked, that it always fails alike and can be stopped."""

import re
import time
import traceback
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as ask
from engines.cancelling import cancel_one_of_two
from lapwing.engines.duckdb import DuckDB, DuckDBTable
from lapwing.engines.files import write_frame
from lapwing.engines.reading import CancelledError, CancelScope
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import EngineError, ParameterError, RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit

COLUMNS = (
    Column(name="age", type=Integer(low=0, high=120), nullable=True),
    Column(name="bmi", type=Real(low=10, high=60), nullable=True),
    Column(name="sex", type=Category(values=("F", "M"))),
    Column(name="city", type=Text(), nullable=True),
    Column(name="born", type=Date(), nullable=True),
    Column(name="smoker", type=Boolean(), nullable=True),
)
DATA = {
    "pid": [1, 2, 3, 4],
    "age": [10, 40, None, 70],
    "bmi": [20.5, None, 31.25, 1e9],
    "sex": ["F", "M", "F", "F"],
    "city": ["a", "b", None, "é"],
    "born": [date(2014, 1, 1), date(1984, 1, 1), None, date(1954, 1, 1)],
    "smoker": [False, True, None, True],
}
QUESTIONS = {
    "age >= 18": 2,
    "bmi > 21": 2,
    "sex = 'F'": 3,
    "city = 'é'": 1,
    "born < '2000-01-01'": 2,
    "smoker": 2,
    "city is null": 1,
}


def patients(columns=COLUMNS, **options):
    table = Table(name="patients", columns=columns, **options)
    return Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=(table,))


def arrow(**changes):
    return pa.table({**DATA, **changes})


def as_parquet(folder):
    pq.write_table(arrow(), folder / "it's.parquet")
    return folder / "it's.parquet"


def as_csv(folder):
    arrow().to_pandas().to_csv(folder / "patients.csv", index=False)
    return str(folder / "patients.csv")


def as_duckdb(folder):
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.register("incoming", arrow())
        connection.execute("create table people as from incoming").fetchall()
    return DuckDBTable(path=folder / "clinic.duckdb", table="people")


SOURCES = {
    "Parquet": as_parquet,
    "CSV": as_csv,
    "DuckDB file": as_duckdb,
    "Arrow": lambda _: arrow(),
    "Polars": lambda _: pl.from_arrow(arrow()),
    "pandas": lambda _: pd.DataFrame(DATA).astype({"age": "Int64", "smoker": "boolean"}),
}


@pytest.mark.parametrize("source", SOURCES)
def test_tables_come_from_files_and_data_frames(source, tmp_path) -> None:
    population = patients()
    with DuckDB(population, {"patients": SOURCES[source](tmp_path)}) as engine:
        for where, counted in QUESTIONS.items():
            aggregate = plan(ask.count("patients", where), population).aggregate
            assert engine.number(aggregate).open_for_release() == counted, where


def test_a_data_frame_is_copied_when_it_is_registered() -> None:
    frame, population = pd.DataFrame({"pid": [1, 2, 3]}), patients(columns=())
    with DuckDB(population, {"patients": frame}) as engine:
        frame.loc[:, "pid"] = 7
        assert engine.number(plan(ask.count("patients"), population).aggregate).open_for_release() == 3


@pytest.mark.parametrize(
    ("column", "stored", "declared"),
    [
        ("age", pa.array([1.0, 2.0]), Integer()),
        ("age", pa.array([1, 2], pa.uint64()), Integer()),
        ("age", pa.array(["1", "2"]), Integer()),
        ("bmi", pa.array(["1.5", "x"]), Real(low=0, high=1)),
        ("sex", pa.array([1, 2]), Category(values=("F", "M"))),
        ("sex", pa.array(["1", "2"]), Category(values=(1, 2))),
        ("city", pa.array([1, 2]), Text()),
        ("born", pa.array(["2020-01-01", "x"]), Date()),
        ("smoker", pa.array([0, 1]), Boolean()),
        ("bmi", pa.array([Decimal(1), Decimal(2)], pa.decimal128(16, 3)), Real(low=0, high=9)),
    ],
    ids=[
        "float",
        "unsigned",
        "text",
        "text for a number",
        "number for text",
        "text for int",
        "int",
        "text day",
        "int truth",
        "long decimal",
    ],
)
def test_a_column_of_another_type_is_refused_at_registration(column, stored, declared) -> None:
    population = patients(columns=(Column(name=column, type=declared),))
    with pytest.raises(RegistrationError, match=f"holds '{column}' as .*declared as {type(declared).__name__}"):
        DuckDB(population, {"patients": pa.table({"pid": [1, 2], column: stored})})


@pytest.mark.parametrize(
    ("keys", "kind"), [([1.0, 2.0], KeyType.INTEGER), ([1.5, 2.0], KeyType.TEXT)], ids=["int", "text"]
)
def test_float_person_keys_are_refused(keys, kind) -> None:
    with pytest.raises(RegistrationError, match="person key 'pid' as DOUBLE, which cannot tell people apart"):
        DuckDB(patients(columns=(), key_type=kind), {"patients": pa.table({"pid": keys})})


OF_TEXTS = patients((), key_type=KeyType.TEXT)


def objects(*keys):
    return pd.DataFrame({"pid": pd.Series(keys, dtype=object)})


SEVERAL = {
    "a number and a text": (objects(7, "7"), "int, str"),
    "a text and a number far behind": (objects(*map(str, range(3000)), 7), "int, str"),
    "a fraction and a text": (objects(7.0, "7.0"), "float, str"),
    "a UUID and a way to write it": (objects(UUID(int=10), str(UUID(int=10)).upper()), "UUID, str"),
    "whole numbers of two kinds": (objects(7, np.int64(7)), "int, int64"),
    "a truth value": (objects("True", *[True]), "bool, str"),
}


@pytest.mark.parametrize("keys", SEVERAL)
def test_keys_of_several_types_in_one_column_of_a_frame_are_refused(keys, tmp_path) -> None:
    frame, types = SEVERAL[keys]
    refused = re.escape(f"has person keys of several types in one column, {types}; make them of one type, such as")
    with pytest.raises(RegistrationError, match=refused):
        DuckDB(OF_TEXTS, {"patients": frame})
    with pytest.raises(RegistrationError, match=refused):
        write_frame("patients", frame, tmp_path / "p.parquet", "PID")
    assert not list(tmp_path.iterdir())


def test_keys_of_one_type_in_a_column_of_objects_are_read() -> None:
    for frame in (
        objects("7", "007", None),
        objects("7", float("nan"), pd.NA, "nan"),
        objects(UUID(int=1), UUID(int=2)),
    ):
        with DuckDB(OF_TEXTS, {"patients": frame}) as engine:
            assert engine.number(plan(ask.count("patients"), OF_TEXTS).aggregate).open_for_release() == 2


def test_a_frame_that_the_database_cannot_take_is_refused_in_a_sentence() -> None:
    for frame in (
        pl.DataFrame({"pid": pl.Series([7, "7"], dtype=pl.Object)}),
        pd.DataFrame({"pid": pd.Categorical([7, "7"])}),
    ):
        with pytest.raises(RegistrationError, match="cannot be taken from a DataFrame"):
            DuckDB(OF_TEXTS, {"patients": frame})


def test_keys_that_are_uuids_here_and_texts_there_are_refused(tmp_path) -> None:
    tables = (
        Table(name="patients", columns=(), key_type=KeyType.TEXT),
        Table(name="b", columns=(), key_type=KeyType.TEXT),
    )
    population = Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=tables)
    stored = in_a_duckdb_file(tmp_path / "clinic.duckdb", "create table patients as select uuid() as pid")
    spelt = pa.table({"pid": ["C0FFEE00-0000-0000-0000-000000000000"]})
    with pytest.raises(RegistrationError, match="b holds the person key as VARCHAR, and patients as UUID: one person"):
        DuckDB(population, {"patients": stored, "b": spelt})


def test_a_type_that_is_no_key_type_is_refused_in_the_catalogue() -> None:
    with pytest.raises(ParameterError, match="a float cannot tell people apart"):
        Table(name="t", columns=(), key_type=float)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(RegistrationError, match="does not have exactly one column 'age'; it has pid"):
        DuckDB(patients(columns=COLUMNS[:1]), {"patients": pa.table({"pid": [1]})})
    with pytest.raises(RegistrationError, match="has no source"):
        DuckDB(patients(), {})
    with pytest.raises(RegistrationError, match=r"give a .parquet or a .csv file"):
        DuckDB(patients(), {"patients": "patients.xlsx"})


def test_a_bad_cell_of_a_csv_is_met_at_registration(tmp_path) -> None:
    (tmp_path / "bad.csv").write_text("pid,age\n1,10\n2,ten\n", encoding="utf-8")
    with pytest.raises(RegistrationError, match="cannot be read"):
        DuckDB(patients(columns=COLUMNS[:1]), {"patients": tmp_path / "bad.csv"})


@pytest.mark.parametrize(
    "probe",
    [
        "select * from read_csv('{folder}/other.csv')",
        "select content from read_text('{folder}/other.csv')",
        "select * from glob('{folder}/*')",
        "copy (select 1) to '{folder}/out.csv'",
        "attach '{folder}/new.duckdb' as x",
        "install httpfs",
        "load httpfs",
        "set threads = 1",
        "set enable_external_access = true",
        "set allowed_paths = ['{folder}/other.csv']",
        "select * from outsider",
    ],
)
def test_the_database_is_locked_once_the_tables_are_registered(probe, tmp_path) -> None:
    (tmp_path / "other.csv").write_text("a\n1\n", encoding="utf-8")
    outsider = pa.table({"a": [1]})  # replacement scans would find it by its name
    with DuckDB(patients(), {"patients": as_parquet(tmp_path)}) as engine:
        assert engine.number(plan(ask.count("patients"), patients()).aggregate).open_for_release() == 4
        with pytest.raises(duckdb.Error):
            engine._connection.execute(probe.format(folder=tmp_path)).fetchall()
    assert outsider.num_rows == 1


def test_every_failure_looks_the_same_and_only_the_custodian_learns_why(tmp_path) -> None:
    reasons, population = [], patients(columns=COLUMNS[:1])
    path = tmp_path / "patients.parquet"
    pq.write_table(arrow(), path)
    with DuckDB(population, {"patients": path}, on_failure=reasons.append) as engine:
        path.write_bytes(b"secret-ssn-123")
        with pytest.raises(EngineError) as first:
            engine.number(plan(ask.count("patients"), population).aggregate)
        path.unlink()
        with pytest.raises(EngineError) as second:
            engine.number(plan(ask.count("patients", "age > 3"), population).aggregate)
    assert str(first.value) == str(second.value) == "the question could not be answered; the custodian can find out why"
    assert first.value.__cause__ is None
    assert first.value.__context__ is None
    assert "patients.parquet" not in "".join(traceback.format_exception(second.value))
    assert len(reasons) == 2


def test_a_custodian_who_fails_does_not_change_the_failure(tmp_path) -> None:
    def fail(reason) -> None:
        raise reason

    path = tmp_path / "patients.parquet"
    pq.write_table(arrow(), path)
    with DuckDB(patients(), {"patients": path}, on_failure=fail) as engine:
        path.unlink()
        with pytest.raises(EngineError):
            engine.number(plan(ask.count("patients"), patients()).aggregate)


def test_a_closed_engine_fails_like_any_other() -> None:
    population = patients(columns=())
    engine = DuckDB(population, {"patients": pa.table({"pid": [1]})})
    engine.close()
    with pytest.raises(EngineError):
        engine.number(plan(ask.count("patients"), population).aggregate)


def test_a_question_is_cancelled_and_no_other() -> None:
    reasons, population = [], patients(columns=())
    aggregate = plan(ask.count("patients"), population).aggregate
    with DuckDB(population, {"patients": pa.table({"pid": [1, 1]})}, threads=1, on_failure=reasons.append) as engine:
        kept, engine._relations = engine._relations, {"patients": "(SELECT range AS pid FROM range(10000000000000))"}
        cancel_one_of_two(lambda: engine.number(aggregate), lambda: time.sleep(0.2))
        assert [type(reason) for reason in reasons] == [duckdb.InterruptException] * 2
        engine._relations = kept
        with CancelScope() as scope:
            assert engine.number(aggregate).open_for_release() == 1
            scope.cancel()
            with pytest.raises(EngineError):
                engine.number(aggregate)
        assert engine.number(aggregate).open_for_release() == 1
        assert [type(reason) for reason in reasons[2:]] == [CancelledError]


def test_threads_do_not_change_the_numbers() -> None:
    columns = (Column(name="kind", type=Integer(low=0, high=9)), Column(name="cost", type=Real(low=-100, high=1000)))
    population = patients(columns=columns, rows=RowsPerPerson.MANY_A_PERSON, max_rows=2)
    rows = range(250_000)
    people, kinds, costs = (
        [i * 7919 % 40_000 for i in rows],
        [i % 10 for i in rows],
        [i * 0.37 % 1300 - 150 for i in rows],
    )
    table = pa.table({"pid": people, "kind": kinds, "cost": costs})
    asked = [
        ask.total("patients", "cost", by="kind", max_groups=2),
        ask.mean("patients", "cost"),
        ask.median("patients", "cost"),
    ]

    def answers(threads):
        with DuckDB(population, {"patients": table}, threads=threads) as engine:
            return [engine.vector(plan(question, population).aggregate).open_for_release() for question in asked]

    assert answers(1) == answers(2)


def test_a_person_table_with_a_person_twice_is_still_bounded() -> None:
    population = patients(columns=COLUMNS[:1])
    with DuckDB(population, {"patients": pa.table({"pid": [1, 1, 2, None], "age": [90, 90, 10, 10]})}) as engine:
        assert engine.number(plan(ask.count("patients"), population).aggregate).open_for_release() == 2
        assert engine.vector(plan(ask.total("patients", "age"), population).aggregate).open_for_release() == (130,)


@pytest.mark.parametrize("most", [1, 3, 6, 9])
def test_every_row_of_a_person_has_the_same_chance_to_count(most) -> None:
    people, places = 2000, 7
    column = Column(name="a", type=Integer(low=0, high=places - 1))
    population = patients(columns=(column,), rows=RowsPerPerson.MANY_A_PERSON)
    rows = {"pid": np.repeat(np.arange(people), places), "a": np.tile(np.arange(places), people)}
    planned = plan(ask.count_rows("patients", by="a", max_rows=most), population)
    with DuckDB(population, {"patients": pa.table(rows)}) as engine:
        counted = engine.vector(planned.aggregate).open_for_release()
    chance = min(most, places) / places
    assert sum(counted) == people * min(most, places)
    for number in counted:  # a count of independent starts: seven standard deviations are one in 10^11
        assert abs(number - people * chance) <= 7 * (people * chance * (1 - chance)) ** 0.5


def in_a_duckdb_file(place, *statements):
    with duckdb.connect(str(place)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
    return DuckDBTable(path=place, table="patients")


@pytest.mark.parametrize("rows", [10, 1000])
def test_people_whom_a_collation_takes_for_one_are_two(rows, tmp_path) -> None:
    population = patients(
        columns=(Column(name="a", type=Integer(low=-3, high=5)),),
        key_type=KeyType.TEXT,
        rows=RowsPerPerson.MANY_A_PERSON,
    )
    planned = plan(ask.total("patients", "a", max_rows=10), population)
    alone = [
        "create table patients (pid varchar collate nocase, a bigint)",
        "insert into patients select 'a', 5 from range(10)",
    ]
    more = f"insert into patients select 'A', -3 from range({rows})"  # noqa: S608 - a number of ours
    totals = []
    for name, statements in (("without", alone), ("with", [*alone, more])):
        with DuckDB(population, {"patients": in_a_duckdb_file(tmp_path / name, *statements)}) as engine:
            totals.append(engine.number(planned.aggregate).open_for_release())
    assert totals == [50, 20]
    assert abs(totals[0] - totals[1]) <= planned.sensitivity.l1


def test_texts_that_a_collation_takes_for_equal_stay_apart(tmp_path) -> None:
    columns = (Column(name="sex", type=Category(values=("F", "M"))), Column(name="city", type=Text()))
    source = in_a_duckdb_file(
        tmp_path / "clinic.duckdb",
        "create type letter as enum ('x', 'X')",
        "create table patients (pid uuid, sex varchar collate nocase, city letter)",
        "insert into patients select uuid(), s, c from (values ('F', 'x'), ('f', 'X'), ('M', 'x')) as t(s, c)",
    )
    population = patients(columns=columns, key_type=KeyType.TEXT)
    with DuckDB(population, {"patients": source}) as engine:
        by_sex = plan(ask.count("patients", by="sex"), population).aggregate
        assert engine.vector(by_sex).open_for_release() == (1, 1)
        by_city = plan(ask.count("patients", by="city"), population).aggregate
        assert engine.keyed(by_city).open_for_release() == {("x",): (2,), ("X",): (1,)}
        assert engine.number(plan(ask.count("patients", "sex = 'F'"), population).aggregate).open_for_release() == 1


def test_a_type_is_that_of_the_column_that_is_read(tmp_path) -> None:
    population = patients(columns=(Column(name="straße", type=Integer(low=0, high=9)),))

    def stored(**columns):
        pq.write_table(pa.table({"pid": [1, 2], **columns}), tmp_path / "patients.parquet")
        return {"patients": tmp_path / "patients.parquet"}

    for name in ("straße", "STRAßE"):
        with pytest.raises(RegistrationError, match=f"has 2 columns called 'straße', .*: '{name}', 'strasse';"):
            DuckDB(population, stored(**{name: ["1", "x"], "strasse": [1, 2]}))
    with pytest.raises(RegistrationError, match="holds 'straße' as VARCHAR"):
        DuckDB(population, stored(STRASSE=["1", "x"]))
    with DuckDB(population, stored(STRASSE=[1, 2])) as engine:
        assert engine.number(plan(ask.total("patients", "straße"), population).aggregate).open_for_release() == 3


DAYS = patients(columns=(Column(name="born", type=Date(), nullable=True),))


@pytest.mark.parametrize("number", [2**62, -(2**63), 2**63 - 1, 10**15], ids=["large", "least", "infinite", "far"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_that_is_on_no_day_is_missing(unit, number, tmp_path) -> None:
    times = pa.array([0, number], pa.int64()).cast(pa.timestamp(unit))
    place = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(place)) as connection:
        connection.register("incoming", pa.table({"pid": [1, 2], "born": times}))
        connection.execute("create table patients as from incoming").fetchall()
    for source in (pa.table({"pid": [1, 2], "born": times}), DuckDBTable(path=place, table="patients")):
        with DuckDB(DAYS, {"patients": source}) as engine:
            asked = ("born = '1970-01-01'", "born < '1600-01-01' or born > '2400-01-01'")
            counts = [engine.number(plan(ask.count("patients", where), DAYS).aggregate) for where in asked]
            assert counts[0].open_for_release() in {1, 2}  # 10^15 nanoseconds are eleven days
            assert counts[1].open_for_release() == 0
            days = plan(ask.total("patients", "clip(born - date '1970-01-01', 0, 9)"), DAYS).aggregate
            assert engine.number(days).open_for_release() in {0, 9}


@pytest.mark.parametrize("number", [2**62, -(2**63)], ids=["large", "least"])
def test_a_time_that_parquet_cannot_be_read_with_is_met_at_registration(number, tmp_path) -> None:
    times = pa.array([0, number], pa.int64()).cast(pa.timestamp("ms"))
    pq.write_table(pa.table({"pid": [1, 2], "born": times}), tmp_path / "patients.parquet")
    with pytest.raises(RegistrationError, match="cannot be read"):
        DuckDB(DAYS, {"patients": tmp_path / "patients.parquet"})


def test_cells_are_read_again_unless_they_were_read_in_the_very_same_way(tmp_path) -> None:
    """A mark is trusted, so a file that became unreadable since is met only where the mark is of another reading."""
    file = tmp_path / "patients.parquet"

    def write(number: int) -> None:
        times = pa.array([0, number], pa.int64()).cast(pa.timestamp("ms"))
        pq.write_table(pa.table({"pid": [1, 2], "born": times}), file)

    write(1)
    with DuckDB(DAYS, {"patients": file}) as engine:
        marks = dict(engine.readable)
    write(2**62)
    DuckDB(DAYS, {"patients": file}, readable=marks).close()
    file.rename(tmp_path / "elsewhere.parquet")
    with pytest.raises(RegistrationError, match="cannot be read"):
        DuckDB(DAYS, {"patients": tmp_path / "elsewhere.parquet"}, readable=marks)


@pytest.mark.parametrize("column", ["pid", "city"])
def test_bytes_that_are_no_text_are_met_at_registration(column, tmp_path) -> None:
    raw = pa.array([b"ok", b'a "secret" \xff'], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    columns = {"pid": ["1", "2"], "city": ["a", "b"]} | {column: text}
    pq.write_table(pa.table(columns), tmp_path / "patients.parquet")
    population = patients(columns=(Column(name="city", type=Text()),), key_type=KeyType.TEXT)
    with pytest.raises(RegistrationError, match="cannot be read") as refused:
        DuckDB(population, {"patients": tmp_path / "patients.parquet"})
    assert "secret" not in str(refused.value), "what the cell holds is nobody's business"


def test_a_duckdb_file_with_changes_beside_it_is_refused(tmp_path) -> None:
    place = tmp_path / "clinic.duckdb"
    begun = ["create table patients (pid bigint)", "insert into patients values (1)", "checkpoint"]
    source = in_a_duckdb_file(place, *begun, "pragma disable_checkpoint_on_shutdown", "insert into patients values (2)")
    with pytest.raises(RegistrationError, match=r"changes are still in clinic.duckdb.wal; .* run CHECKPOINT"):
        DuckDB(patients(columns=()), {"patients": source})
    in_a_duckdb_file(place, "checkpoint")
    with DuckDB(patients(columns=()), {"patients": source}) as engine:
        assert engine.number(plan(ask.count("patients"), patients(columns=())).aggregate).open_for_release() == 2


@pytest.fixture
def far_east(monkeypatch):
    """A machine whose clock is fourteen hours ahead."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Pacific/Kiritimati")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_times_are_days_of_utc_where_they_are_copied_and_where_they_are_read_in_place(tmp_path) -> None:
    late = pa.array([datetime(2020, 5, 13, 23, 30, tzinfo=UTC)], pa.timestamp("us", tz="Pacific/Kiritimati"))
    table = pa.table({"pid": [1], "born": late})
    pq.write_table(table, tmp_path / "patients.parquet")
    asked = plan(ask.count("patients", "born = '2020-05-13'"), DAYS).aggregate
    for source in (table, tmp_path / "patients.parquet"):
        with DuckDB(DAYS, {"patients": source}) as engine:
            assert engine.number(asked).open_for_release() == 1


@pytest.mark.parametrize(("pattern", "people"), [("%a%a%", 3), ("%ab%ab%", 1), ("a%a", 2), ("%a%b%a%", 2)])
def test_a_piece_of_a_pattern_that_comes_twice_is_looked_for_twice(tmp_path, pattern, people) -> None:
    rows = "".join(f"{number},{text}\n" for number, text in enumerate(["ab", "a", "aba", "aa", "abxab", "b"]))
    (tmp_path / "t.csv").write_text(f"id,word\n{rows}")
    settings = """
        [populations.p]
        person_key = "id"
        budget = { epsilon = "100" }
        [populations.p.tables.t]
        source = "t.csv"
        columns.word = { type = "text" }
    """
    told = (
        duckdb.connect()
        .execute("select count(*) from read_csv(?) where word like ?", [f"{tmp_path}/t.csv", pattern])
        .fetchone()
    )
    assert told == (people,)
    with ask.create(tmp_path, settings) as workspace:
        answer = workspace.session(analyst="ana").ask(ask.count("t", f"word like '{pattern}'"), epsilon=20)
    assert answer.value == people
