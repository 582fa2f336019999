"""Workspaces whose tables are in PostgreSQL or Spark: the same questions, and no password where others may look."""

import os
import time
import traceback
from itertools import combinations, product

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as lw
from engines.workbenches import as_reader
from lapwing.engines.duckdb import _Registry
from lapwing.engines.engine import Engine
from lapwing.vocabulary.errors import RegistrationError, SettingsError, UnavailableError
from workspace.test_workspace import SETTINGS

PEOPLE = 300
ROWS = pa.table(
    {
        "id": list(range(PEOPLE)),
        "age": [i % 100 for i in range(PEOPLE)],
        "sex": ["FM"[i % 2] for i in range(PEOPLE)],
    }
)
SECRET = "hunter2"  # noqa: S105 - it is looked for where it must not be


def in_postgres(request, _):
    dsn = request.getfixturevalue("database")
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("create schema ehr")
        admin.execute("create table ehr.people (id bigint primary key, age bigint, sex text)")
        with admin.cursor() as cursor, cursor.copy("copy ehr.people from stdin") as copy:
            for row in ROWS.to_pylist():
                copy.write_row(tuple(row.values()))
        reader = as_reader(admin, dsn)
        admin.execute("grant usage on schema ehr to reader")
        admin.execute("grant select on ehr.people to reader")
    return f'{{ postgres = "{reader}", schema = "ehr", table = "people" }}'


def in_spark(request, _):
    request.getfixturevalue("spark").createDataFrame(ROWS).write.saveAsTable("workspace_people", mode="overwrite")
    return '{ spark = "default.workspace_people" }'


def in_files_of_spark(request, folder):
    request.getfixturevalue("spark")
    pq.write_table(ROWS, folder / "people.parquet")
    return '{ spark = "./people.parquet" }'


PLACES = {"postgres": in_postgres, "spark": in_spark, "spark files": in_files_of_spark}


def settings(source):
    return SETTINGS.replace('"patients.csv"', source)


@pytest.mark.parametrize("place", PLACES)
def test_tables_stay_in_their_database(place, request, quick_path) -> None:
    lw.create(quick_path, settings(PLACES[place](request, quick_path))).close()
    with lw.open(quick_path, analyst="ana") as clinic:
        assert abs(clinic.ask(lw.count("patients", "sex = 'M'"), epsilon=20).value - PEOPLE // 2) <= 3
        table = clinic.sql("select sex, count(*), avg(age) from patients group by sex", epsilon=20)
        assert [row.key for row in table.rows] == [("F",), ("M",)]
        with clinic.stream(at_least=100, yeses=1, epsilon=10) as stream:
            assert not stream.ask("age = 7")
            assert stream.ask("age >= 0")
    assert not (quick_path / "failures.log").exists()


def test_a_stream_of_hundreds_of_questions_reads_the_table_once(quick_path, monkeypatch) -> None:
    statements = []
    write = Engine._writer
    monkeypatch.setattr(Engine, "_writer", lambda engine: (statements.append(engine), write(engine))[1])
    pq.write_table(ROWS, quick_path / "patients.parquet")
    lw.create(quick_path, settings('"patients.parquet"')).close()
    with lw.open(quick_path) as clinic, clinic.stream(at_least=290, yeses=2, epsilon=20) as stream:
        ages, sexes = [f"age >= {low}" for low in range(20)], ["sex = 'F'", "sex = 'M'"]
        for age, sex in product(ages, sexes):
            stream.ask(f"{age} and {sex}")
        read = len(statements)
        assert read <= 1 + len(ages) + len(sexes), "how many people there are, and each atom"
        for age, other in combinations(ages, 2):
            stream.ask(f"sex = 'F' and ({age} or {other} or sex = 'M')")
        assert len(statements) == read, "these are made of atoms that were read"
        with lw.open_workspace(quick_path) as workspace:
            workspace.advance("patients")
        stream.ask("sex = 'F' and age >= 3")
        assert len(statements) > read, "a new version is read anew"


def test_a_file_is_read_to_its_last_cell_once_and_again_when_it_is_another(quick_path, monkeypatch) -> None:
    checked, run = [], _Registry._run

    def watch(registry, text, *given):
        checked.extend(["patients"] if "hash(COLUMNS(*))" in text else [])
        return run(registry, text, *given)

    def ask_anew(where: str) -> int:
        del checked[:]
        with lw.open(quick_path) as clinic:
            clinic.ask(lw.count("patients", where), epsilon=1)
        return len(checked)

    monkeypatch.setattr(_Registry, "_run", watch)
    file, declared = quick_path / "patients.parquet", settings('"patients.parquet"')
    pq.write_table(ROWS, file)
    lw.create(quick_path, declared).close()
    assert [ask_anew("age > 1"), ask_anew("age > 2")] == [1, 0]
    os.utime(file)
    assert [ask_anew("age > 3"), ask_anew("age > 4")] == [1, 0], "what looks different is read again"
    pq.write_table(ROWS.slice(1), file)
    with lw.open_workspace(quick_path) as workspace:
        workspace.advance("patients")
    assert [ask_anew("age > 5"), ask_anew("age > 6")] == [1, 0]


WITH_A_PASSWORD = {
    "a word": f"host=/nowhere user=reader password={SECRET}",
    "a word with blanks": f"host=/nowhere password = {SECRET} {SECRET}",
    "in a URL": f"postgresql://reader:{SECRET}@localhost:1/db",
    "no such escape": f"postgresql://reader:{SECRET}%zz@localhost/db",
    "a slash": f"postgresql://reader:{SECRET}/x@localhost/db",
    "a parameter": f"postgresql://reader@localhost/db?password={SECRET}",
    "in disguise": f"postgresql://reader@localhost/db?pass%77ord={SECRET}",
    "of a key": f"host=/nowhere sslpassword={SECRET}",
}


@pytest.mark.parametrize("address", WITH_A_PASSWORD)
def test_an_address_with_a_password_is_refused_and_not_repeated(quick_path, address) -> None:
    source = f'{{ postgres = "{WITH_A_PASSWORD[address]}", table = "people" }}'
    with pytest.raises(SettingsError, match=r"holds a password, .*~/.pgpass") as refused:
        lw.create(quick_path, settings(source))
    assert refused.value.line == settings(source).split("source =")[0].count("\n") + 1
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_an_address_of_a_ledger_with_a_password_is_refused_and_not_repeated(quick_path) -> None:
    with pytest.raises(SettingsError, match="line 1: ledger = 'an address' holds a password") as refused:
        lw.create(quick_path, f'ledger = "postgresql://reader:{SECRET}@localhost/db"\n{SETTINGS}')
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("address", ["host=/nowhere user=reader", "postgresql://reader@localhost:1/db", "no address"])
def test_a_database_that_is_not_there_costs_nothing(quick_path, monkeypatch, address) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    gone = settings(f'{{ postgres = "{address}", table = "people" }}')
    with pytest.raises(RegistrationError):
        lw.create(quick_path, gone)
    assert [file.name for file in quick_path.iterdir()] == ["failures.log"], "nothing was written"
    pq.write_table(ROWS, quick_path / "patients.parquet")
    lw.create(quick_path, settings('"patients.parquet"')).close()
    (quick_path / "lapwing.toml").write_text(gone)
    with lw.open(quick_path) as clinic:
        with pytest.raises(UnavailableError) as failed:
            clinic.ask(lw.count("patients"), epsilon=1)
        assert clinic.budget().left == 100
    assert failed.value.__context__ is None
    log = (quick_path / "failures.log").read_text()
    assert "RegistrationError" in log
    assert SECRET not in log


def test_a_database_that_goes_away_after_it_was_opened_costs_nothing(quick_path, request, postgres) -> None:
    """It was noticed after the charge only, so that everybody paid for nothing until it was back."""
    lw.create(quick_path, settings(in_postgres(request, quick_path))).close()
    with lw.open(quick_path) as clinic:
        clinic.ask(lw.count("patients"), epsilon=1)
        postgres.stop()
        try:
            for _ in range(2):
                with pytest.raises(UnavailableError):
                    clinic.ask(lw.count("patients", "age > 3"), epsilon=1, key="once")
            assert clinic.stored(lw.count("patients"), epsilon=1).free, "what was answered is told"
        finally:
            postgres.start()
        assert clinic.budget().left == 99
        assert not clinic.ask(lw.count("patients", "age > 3"), epsilon=1, key="once").free
        assert clinic.budget().left == 98


CHANGED = (
    "is another table than it was, or has other columns, and its data version is still 1; bring the old data back, or"
)
OTHER = ROWS.slice(0, 7)


def other_in_postgres(statements):
    def change(request, _):
        with psycopg.connect(request.getfixturevalue("database"), autocommit=True) as admin:
            for statement in statements:
                admin.execute(statement)
            admin.execute("grant select on all tables in schema ehr to reader")

    return change


def other_in_spark(request, _):
    time.sleep(1.1)  # the catalogue tells when a table was made to the second
    request.getfixturevalue("spark").createDataFrame(OTHER).write.saveAsTable("workspace_people", mode="overwrite")


def other_in_files_of_spark(_, folder):
    pq.write_table(OTHER, folder / "people.parquet")


MADE_ANEW = "create table ehr.people (id bigint primary key, age bigint, sex text)"
SWAPS = {
    "another table": ("postgres", other_in_postgres(["alter table ehr.people rename to old", MADE_ANEW])),
    "the same made anew": ("postgres", other_in_postgres(["drop table ehr.people", MADE_ANEW])),
    "a view in its place": (
        "postgres",
        other_in_postgres(
            ["alter table ehr.people rename to old", "create view ehr.people as select * from ehr.old where id < 7"]
        ),
    ),
    "another type": ("postgres", other_in_postgres(["alter table ehr.people alter age type smallint"])),
    "a table of Spark": ("spark", other_in_spark),
    "files of Spark": ("spark files", other_in_files_of_spark),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_another_table_under_the_same_version_is_refused_before_a_charge(swap, request, quick_path) -> None:
    place, change = SWAPS[swap]
    lw.create(quick_path, settings(PLACES[place](request, quick_path))).close()
    with lw.open(quick_path) as clinic:
        clinic.ask(lw.count("patients"), epsilon=1)
        change(request, quick_path)
        with pytest.raises(RegistrationError, match=CHANGED):
            clinic.ask(lw.count("patients", "age > 3"), epsilon=1)
    with lw.open(quick_path) as clinic:
        for act in (
            lambda: clinic.ask(lw.count("patients", "age > 3"), epsilon=1),
            lambda: clinic.stream(at_least=100, yeses=1, epsilon=10),
        ):
            with pytest.raises(RegistrationError, match=CHANGED):
                act()
        assert clinic.budget().left == 99
        assert clinic.stored(lw.count("patients"), epsilon=1).free, "what was answered is told"
    with lw.open_workspace(quick_path) as workspace:
        assert workspace.changed() == ["patients"]
        workspace.advance("patients")
        assert workspace.changed() == []
        assert not workspace.session().ask(lw.count("patients", "age > 3"), epsilon=1).free
    with lw.open(quick_path) as clinic:
        assert not clinic.ask(lw.count("patients", "age > 4"), epsilon=1).free


def test_a_view_that_shows_something_else_is_another_table(request, quick_path) -> None:
    source = in_postgres(request, quick_path).replace('"people"', '"shown"')
    shown = "create or replace view ehr.shown as select * from ehr.people where id {} 100"
    other_in_postgres([shown.format("<")])(request, quick_path)
    lw.create(quick_path, settings(source)).close()
    with lw.open(quick_path) as clinic:
        clinic.ask(lw.count("patients"), epsilon=1)
        other_in_postgres([shown.format("<")])(request, quick_path)
        clinic.ask(lw.count("patients", "age > 2"), epsilon=1)
        other_in_postgres([shown.format(">")])(request, quick_path)
        with pytest.raises(RegistrationError, match=CHANGED):
            clinic.ask(lw.count("patients", "age > 3"), epsilon=1)
        assert clinic.budget().left == 98


def test_rows_and_columns_that_are_not_declared_may_come_and_go(request, quick_path) -> None:
    lw.create(quick_path, settings(in_postgres(request, quick_path))).close()
    changes = ["insert into ehr.people values (1000, 3, 'F')", "alter table ehr.people add note text"]
    with lw.open(quick_path) as clinic:
        clinic.ask(lw.count("patients"), epsilon=1)
        other_in_postgres([*changes, "alter table ehr.people alter note type varchar"])(request, quick_path)
        assert abs(clinic.ask(lw.count("patients", "age >= 0"), epsilon=20).value - PEOPLE - 1) <= 3
    with lw.open(quick_path) as clinic:
        assert not clinic.ask(lw.count("patients", "age > 3"), epsilon=1).free


def test_a_table_is_known_again_by_another_address(request, quick_path) -> None:
    """Whoever asks about the same people as two populations has twice the budget."""
    source = in_postgres(request, quick_path)
    again = settings(source.replace('postgres = "', 'postgres = "application_name=again '))
    lw.create(quick_path, settings(source) + again.replace("populations.clinic", "populations.again")).close()
    with lw.open(quick_path, population="clinic") as clinic:
        clinic.ask(lw.count("patients"), epsilon=1)
    with lw.open(quick_path, population="again") as clinic:
        with pytest.raises(RegistrationError, match="holds the data of population 'clinic', whose account goes on"):
            clinic.ask(lw.count("patients"), epsilon=1)
        assert clinic.budget().left == 100


def test_an_address_in_the_wrong_place_is_not_repeated(quick_path) -> None:
    with pytest.raises(SettingsError, match="source = 'an address' is not a file") as refused:
        lw.create(quick_path, settings(f'"postgresql://reader:{SECRET}@localhost/db"'))
    assert SECRET not in str(refused.value)


def test_tables_of_one_population_are_in_one_database(quick_path) -> None:
    other = '\n[populations.clinic.tables.visits]\nsource = { postgres = "host=/nowhere", table = "visits" }\n'
    pq.write_table(ROWS, quick_path / "patients.parquet")
    with pytest.raises(RegistrationError):
        lw.create(quick_path, settings('"patients.parquet"') + other)
    assert "several databases" in (quick_path / "failures.log").read_text()
