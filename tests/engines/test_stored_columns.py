"""Which stored column is meant: the one of the declared name, as the source itself calls it; of two, neither."""

import re

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import lapwing as ask
from engines.workbenches import as_reader
from lapwing.engines.duckdb import DuckDB, DuckDBTable, columns_of_file
from lapwing.engines.files import write_frame
from lapwing.engines.postgres import PostgreSQL, PostgresTable
from lapwing.engines.spark import Spark
from lapwing.queries.catalogue.column import Column, Integer
from lapwing.queries.catalogue.population import KeyType, Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit
from lapwing.workspace.creating import create


def people(*columns, key="pid", **options):
    declared = tuple(Column(name=name, type=Integer(low=0, high=9)) for name in columns)
    return Population(
        name="p", unit=PrivacyUnit(person_key=key), tables=(Table(name="t", columns=declared, **options),)
    )


def of(*names):
    """Return three people by the last column, who are one by each of the others."""
    return pa.table([[1, 1, 1]] * (len(names) - 1) + [[1, 2, 3]], names)


def in_csv(path, *names):
    place = path / "t.csv"
    rows = zip(*(column.to_pylist() for column in of(*names).columns), strict=True)
    place.write_text("".join(",".join(map(str, row)) + "\n" for row in (names, *rows)))
    return place


def in_parquet(path, *names):
    place = path / "t.parquet"
    pq.write_table(of(*names), place)
    return place


FRAMES = {
    "arrow": lambda _, *names: of(*names),
    "arrow batch": lambda _, *names: of(*names).to_batches()[0],
    "arrow reader": lambda _, *names: of(*names).to_reader(),
    "arrow dataset": lambda _, *names: pyarrow.dataset.dataset(of(*names)),
    "pandas": lambda _, *names: of(*names).to_pandas(),
    "polars": lambda _, *names: pl.DataFrame(of(*names).to_pydict()),
    "polars lazy": lambda _, *names: pl.LazyFrame(of(*names).to_pydict()),
}
PLACES = FRAMES | {"parquet": in_parquet, "csv": in_csv}
TWO = {
    "case": ("PID", "pid"),
    "case, the other way": ("pid", "PID"),
    "case, neither as declared": ("PID", "Pid"),
    "with a name that would be made up": ("PID", "pid_1", "pid"),
}
SAME = ("pid", "pid")


def refusal(*names):
    listed = ", ".join(map(repr, names))
    return re.escape(
        f"has {len(names)} columns called 'pid', whatever their case: {listed}; rename all but one of them"
    )


@pytest.mark.parametrize("names", TWO)
@pytest.mark.parametrize("place", PLACES)
def test_of_two_columns_that_differ_by_case_neither_is_meant(place, names, tmp_path) -> None:
    refused = refusal(*(name for name in TWO[names] if "1" not in name))
    with pytest.raises(RegistrationError, match=refused):
        DuckDB(people(), {"t": PLACES[place](tmp_path, *TWO[names])})
    with pytest.raises(RegistrationError, match=refused):
        DuckDB(people("pid", key="id"), {"t": PLACES[place](tmp_path, "id", *TWO[names])})


@pytest.mark.parametrize("place", [name for name in PLACES if "polars" not in name])  # Polars has no such frames
def test_of_two_columns_of_one_name_neither_is_meant(place, tmp_path) -> None:
    with pytest.raises(RegistrationError, match=refusal(*SAME)):
        DuckDB(people(), {"t": PLACES[place](tmp_path, *SAME)})


@pytest.mark.parametrize("place", PLACES)
def test_columns_that_nobody_declared_may_be_called_anything(place, tmp_path) -> None:
    with DuckDB(people(), {"t": PLACES[place](tmp_path, "X", "x", "", "pid")}) as engine:
        assert engine.number(plan(ask.count("t"), people()).aggregate).open_for_release() == 3


@pytest.mark.parametrize(("names", "made_up"), [(("x", "X"), "x_1"), (("", "x"), "c0"), (("", "x"), "v0")])
@pytest.mark.parametrize("place", PLACES)
def test_a_name_that_the_reader_makes_up_is_no_column(place, names, made_up, tmp_path) -> None:
    with pytest.raises(RegistrationError, match=f"does not have exactly one column '{made_up}'"):
        DuckDB(people(made_up), {"t": PLACES[place](tmp_path, *names, "pid")})


@pytest.mark.parametrize("place", [name for name in PLACES if name != "csv"])
def test_a_column_whose_name_another_one_gets_is_refused(place, tmp_path) -> None:
    source = PLACES[place](tmp_path, "x", "X", "x_1")
    with pytest.raises(RegistrationError, match=r"has a column 'x_1' that is read as 'x_1_[12]'; rename"):
        DuckDB(people(key="x_1"), {"t": source})


def test_a_column_inside_of_another_is_not_one_of_the_table(tmp_path) -> None:
    inside = pa.array([{"PID": 1, "deep": {"pid": 2}}] * 3)
    pairs = pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64()))
    table = pa.table({"inside": inside, "list": [[1]] * 3, "pairs": pairs, "pid": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    with DuckDB(people(), {"t": tmp_path / "t.parquet"}) as engine:
        assert engine.number(plan(ask.count("t"), people()).aggregate).open_for_release() == 3


def test_of_two_columns_of_a_duckdb_file_neither_is_meant(tmp_path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute('create table t ("É" bigint, "é" bigint)')  # of ASCII letters it takes no such names
    with pytest.raises(RegistrationError, match="has 2 columns called 'é', whatever their case: 'É', 'é'"):
        DuckDB(people(key="é"), {"t": DuckDBTable(path=tmp_path / "t.duckdb", table="t")})


@pytest.mark.parametrize("place", FRAMES)
def test_a_frame_is_not_written_under_other_names(place, tmp_path) -> None:
    (tmp_path / "new").mkdir()
    for names in (("PID", "pid"), ("pid", "X", "x"), ("", "pid")):
        with pytest.raises(RegistrationError, match=r"has a column '\w*' that is read as '\w+'; rename"):
            write_frame("t", FRAMES[place](tmp_path, *names), tmp_path / "new" / "t.parquet", "pid")
    assert not list((tmp_path / "new").iterdir())
    write_frame("t", FRAMES[place](tmp_path, "x", "pid"), tmp_path / "new" / "t.parquet", "pid")
    assert pq.read_table(tmp_path / "new" / "t.parquet").to_pydict() == of("x", "pid").to_pydict()


def test_columns_are_offered_under_the_names_that_they_have_in_the_file(tmp_path) -> None:
    assert columns_of_file("t", in_parquet(tmp_path, "x", "X", "pid")) == dict.fromkeys(("x", "X", "pid"), "integer")


def test_of_two_columns_in_postgres_neither_is_meant(database) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute('create table t ("PID" bigint, pid bigint)')
        reader = as_reader(admin, database)
    with pytest.raises(RegistrationError, match=refusal("PID", "pid")):
        PostgreSQL(people(), {"t": PostgresTable(table="t")}, reader)


def test_of_two_columns_in_spark_neither_is_meant(spark, tmp_path) -> None:
    with pytest.raises(RegistrationError, match=refusal("PID", "pid")):
        Spark(people(), {"t": spark.createDataFrame(of("PID", "pid"))}, spark)
    with pytest.raises(RegistrationError, match="COLUMN_ALREADY_EXISTS"):
        Spark(people(), {"t": in_parquet(tmp_path, "PID", "pid")}, spark)


@pytest.mark.parametrize("name", ["pid", "PID"])
def test_a_column_that_is_in_spark_a_folder_too_is_refused(spark, name, tmp_path) -> None:
    (tmp_path / f"{name}=a").mkdir()
    pq.write_table(pa.table({"pid": ["1", "2", "3"], "id": ["1", "2", "3"]}), tmp_path / f"{name}=a" / "t.parquet")
    with pytest.raises(RegistrationError, match=f"has '{name}' in the names of folders and inside of the files, .*ren"):
        Spark(people(key_type=KeyType.TEXT), {"t": tmp_path}, spark)
    by_id = people(key="id", key_type=KeyType.TEXT)
    with Spark(by_id, {"t": tmp_path}, spark) as engine:  # for nobody declared it
        assert engine.number(plan(ask.count("t"), by_id).aggregate).open_for_release() == 3


SETTINGS = """
[populations.p]
person_key = "pid"
budget = {}
[populations.p.tables.t]
source = "t.parquet"
"""


@pytest.mark.parametrize("frames", [True, False], ids=["a frame", "a file"])
def test_nothing_is_made_of_two_columns_of_one_name(frames, budget, tmp_path) -> None:
    given = {"t": of("PID", "pid")} if frames else None
    before = set() if frames else {in_parquet(tmp_path, "PID", "pid")}
    with pytest.raises(RegistrationError, match="rename"):
        create(tmp_path, settings=SETTINGS.format(budget.toml()), frames=given)
    assert {*tmp_path.iterdir()} - {tmp_path / "failures.log"} == before
