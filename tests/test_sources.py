"""Where tables are: one identity for all spellings of a place, and the same place read from what is written of it."""

from pathlib import Path

import pytest

from lapwing.queries.catalogue.population import Population, Table
from lapwing.sources import (
    SOURCES,
    DuckDBSource,
    FileSource,
    PostgresSource,
    SparkSource,
    named_source,
    open_engine,
)
from lapwing.vocabulary.errors import BadQuestionError, ParameterError, RegistrationError, SettingsError
from lapwing.vocabulary.guarantee import PrivacyUnit
from lapwing.workspace.settings import read_settings
from lapwing.workspace.toml import value

TWO = """
[populations.a]
person_key = "id"
budget = {{ epsilon = 1 }}
[populations.a.tables.t]
source = {}
[populations.b]
person_key = "id"
budget = {{ epsilon = 1 }}
[populations.b.tables.t]
source = {}
"""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"data/a.csv"', '"data/../data/a.csv"'),
        ('{ duckdb = "a.duckdb", table = "T" }', '{ duckdb = "./a.duckdb", table = "t" }'),
        ('{ postgres = "postgresql://db/x", table = "t" }', '{ postgres = "postgres://DB:5432/x", table = "t" }'),
        ('{ postgres = "host=db dbname=x", table = "t" }', '{ postgres = "dbname=x  host=db", table = "t" }'),
        (
            '{ postgres = "postgresql:///x?a=1&b=2", table = "t" }',
            '{ postgres = "postgres:///x?b=2&a=1", table = "t" }',
        ),
        ('{ spark = "ehr.T" }', '{ spark = "EHR.t" }'),
        ('{ spark = "t" }', '{ spark = "default.T" }'),
        ('{ spark = "t" }', '{ spark = "spark_catalog.default.t" }'),
        ('{ spark = "ehr.t" }', '{ spark = "Spark_Catalog.ehr.t" }'),
        ('"a.parquet"', '{ spark = "./a.parquet" }'),
        ('"a.parquet"', '{ spark = "./nothing/../a.parquet" }'),
        ('"/srv/a.parquet"', '{ spark = "file:/srv/a.parquet" }'),
        ('"/srv/a.parquet"', '{ spark = "file:///srv/a.parquet" }'),
        ('"/srv/a.parquet"', '{ spark = "FILE:////srv/./b/..//a.parquet/" }'),
        ('"/srv/a%20b.parquet"', '{ spark = "file:///srv/a%20b.parquet" }'),
        ('{ spark = "s3://bucket/t" }', '{ spark = "S3://Bucket//t/" }'),
        ('{ spark = "s3://bucket" }', '{ spark = "s3://bucket/" }'),
    ],
)
def test_two_spellings_of_one_place_are_no_two_budgets(tmp_path, one, other) -> None:
    with pytest.raises(SettingsError, match="table of population 'a' too"):
        read_settings(tmp_path, TWO.format(one, other))


def test_an_address_as_it_is_mostly_written_is_the_identity_that_workspaces_remember(tmp_path) -> None:
    source = PostgresSource(address="postgresql://reader@db/ehr?sslmode=require", table="t")
    assert source.place(tmp_path) == ("postgres", "postgresql://reader@db/ehr?sslmode=require", "public", "t")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{ postgres = "postgresql://db/x", table = "t" }', '{ postgres = "postgresql://db/y", table = "t" }'),
        ('{ postgres = "postgresql://db/x", table = "t" }', '{ postgres = "postgresql://db:5433/x", table = "t" }'),
        ('{ postgres = "postgresql://db/x", table = "t" }', '{ postgres = "postgresql://db/x", table = "T" }'),
        ('{ duckdb = "a.duckdb", table = "t" }', '{ duckdb = "a.duckdb", table = "u" }'),
        ('{ spark = "t" }', '{ spark = "ehr.t" }'),
        ('{ spark = "ehr.t" }', '{ spark = "lake.ehr.t" }'),
        ('{ spark = "s3://bucket/t" }', '{ spark = "hdfs://bucket/t" }'),
    ],
)
def test_other_places_are_told_apart(tmp_path, one, other) -> None:
    assert set(read_settings(tmp_path, TWO.format(one, other)).populations) == {"a", "b"}


@pytest.mark.parametrize(
    "source",
    [
        FileSource(path=Path("a.csv")),
        DuckDBSource(path=Path("a.duckdb"), table="t"),
        PostgresSource(address="postgresql://db/x", table="t", schema="s"),
        PostgresSource(address="postgresql://db/x", table="t"),
        SparkSource(table="ehr.t"),
        SparkSource(table="s3://bucket/t"),
        SparkSource(table="./t.parquet"),
        SparkSource(table="file:/srv/t.parquet"),
    ],
    ids=str,
)
def test_what_is_written_of_a_place_is_read_as_the_same_place(tmp_path, monkeypatch, source) -> None:
    monkeypatch.chdir(tmp_path)
    written = TWO.format(value(source.entry(tmp_path)), '"other.csv"')
    again = read_settings(tmp_path, written).populations["a"].sources["t"]
    assert (type(again), again.place(tmp_path)) == (type(source), source.place(tmp_path))


def test_a_link_before_two_dots_is_left_out_as_spark_does(tmp_path) -> None:
    (tmp_path / "elsewhere" / "inside").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "inside")
    source = SparkSource(table=f"{tmp_path}/link/../a.parquet")
    assert source.place(tmp_path) == ("file", "a.parquet")
    assert source.entry(tmp_path) == {"spark": str(tmp_path.resolve() / "a.parquet")}


@pytest.mark.parametrize("name", ["/srv/a.parque[t]", "./?.parquet", "s3://bucket/*", "/srv/{a}.parquet", "`ehr`.t"])
def test_a_name_that_spark_would_read_otherwise_than_it_is_written_is_refused(tmp_path, name) -> None:
    with pytest.raises(ParameterError, match=r"has backquotes|of a pattern"):
        SparkSource.from_settings({"spark": name, "remote": ""}, tmp_path)


def test_only_a_database_has_neighbours() -> None:
    assert FileSource(path=Path("a.csv")).neighbour("u", "s") is None
    assert SparkSource(table="t").neighbour("u", "s") is None
    found = PostgresSource(address="postgresql://db/x", table="t").neighbour("u", "s")
    assert found == PostgresSource(address="postgresql://db/x", table="u", schema="s")
    assert DuckDBSource(path=Path("a.duckdb"), table="t").neighbour("u", "") == DuckDBSource(
        path=Path("a.duckdb"), table="u"
    )


def test_options_name_a_table_only_where_it_is_called_otherwise() -> None:
    source = PostgresSource(address="postgresql://db/x", table="t", schema="s")
    assert source.options("t") == {"--postgres": "postgresql://db/x", "--schema": "s"}
    assert source.options("people")["--name"] == "t"
    assert FileSource(path=Path("a.csv")).options("t") == {"--source": "a.csv"}
    inside = DuckDBSource(path=Path("a.duckdb"), table="t")
    assert (inside.options("t"), inside.options("u")["--name"]) == ({"--source": "a.duckdb"}, "t")


def test_a_population_in_several_databases_is_refused() -> None:
    tables = tuple(Table(name=name, columns=()) for name in ("a", "b"))
    people = Population(name="p", unit=PrivacyUnit(person_key="id"), tables=tables)
    sources = {"a": FileSource(path=Path("a.csv")), "b": SparkSource(table="b")}
    with pytest.raises(RegistrationError, match="in several databases"):
        open_engine(people, sources, time_limit=1, on_failure=print)


def test_a_place_is_named_once_and_is_one_that_can_be_read(tmp_path) -> None:
    with pytest.raises(BadQuestionError, match="no place is named"):
        named_source("t")
    with pytest.raises(BadQuestionError, match="two places are named"):
        named_source("t", source=tmp_path, postgres="postgresql://db/x")
    with pytest.raises(ParameterError, match="not a file that can be read"):
        named_source("t", source=tmp_path / "a.xlsx")
    with pytest.raises(BadQuestionError, match="there is no file"):
        named_source("t", source=tmp_path / "a.csv")
    with pytest.raises(ParameterError, match="holds a password"):
        named_source("t", postgres="postgresql://a:b@db/x")


def test_columns_are_not_looked_up_where_that_would_start_a_cluster() -> None:
    with pytest.raises(RegistrationError, match="write its columns into"):
        SparkSource(table="t").columns("t")


def test_each_place_with_a_word_says_how_it_is_written() -> None:
    for word, source in SOURCES.items():
        assert source.written.startswith(f"{{ {word} = ")
