"""Tables that are added through a server: from places that the workspace uses already, all of it or nothing."""

import duckdb
import psycopg
import pytest

import lapwing as lw
from engines.workbenches import as_reader
from lapwing.vocabulary.errors import BadQuestionError, LapwingError, ParameterError, RegistrationError
from lapwing.workspace.changing import NewTable, add_table, columns_there, databases_of, files_of

SETTINGS = """
[populations.clinic]
person_key = "id"
budget = {{ epsilon = "1" }}
[populations.clinic.tables.patients]
source = {source}
columns.age = {{ type = "integer", low = 0, high = 120 }}
"""
AGES = {"integer": ("age=0..120",)}


def make(folder, source: str) -> lw.Workspace:
    return lw.create(folder, SETTINGS.format(source=source))


@pytest.fixture
def workspace(tmp_path):
    """A workspace whose data is in another folder, in a database with one more table."""
    data = tmp_path / "data"
    data.mkdir()
    with duckdb.connect(data / "clinic.duckdb") as connection:
        connection.execute("create table patients as select 1 as id, 31 as age")
        connection.execute("create table visits as select 1 as id, 31 as age")
    (data / "ward.csv").write_text("id,age\n1,31\n")
    (tmp_path / "elsewhere.csv").write_text("id,age\n1,31\n")
    with make(tmp_path / "clinic", '{ duckdb = "../data/clinic.duckdb", table = "patients" }') as made:
        yield made


def test_files_are_those_beside_the_settings_and_beside_the_data(workspace) -> None:
    (workspace.folder / "notes.txt").write_text("x")
    (workspace.folder / "new.parquet").write_text("x")
    assert files_of(workspace) == ["../data/clinic.duckdb", "../data/ward.csv", "new.parquet"]
    assert databases_of(workspace, "clinic") == ["patients"]
    for odd in ("../elsewhere.csv", "/etc/hosts.csv", "../data/../elsewhere.csv", "ledger.db"):
        with pytest.raises(ParameterError, match="is not there"):
            columns_there(workspace, "clinic", NewTable(name="x", file=odd))


def test_a_table_beside_another_is_found_in_its_database(workspace) -> None:
    new = NewTable(name="stays", beside="patients", inner="visits", rows="many", max_rows=2, columns=AGES)
    assert columns_there(workspace, "clinic", new) == {"id": "integer", "age": "integer"}
    add_table(workspace, "clinic", new, by="cleo")
    table = workspace.settings.declared("clinic").population.table("stays")
    assert (table.max_rows, [column.name for column in table.columns]) == (2, ["age"])
    assert workspace.session(analyst="ana").ask(lw.count("stays"), epsilon="0.1").rows
    with pytest.raises(BadQuestionError, match="declared already"):
        add_table(workspace, "clinic", new, by="cleo")


def test_what_cannot_be_read_changes_nothing(workspace) -> None:
    (workspace.folder / "broken.parquet").write_text("no Parquet")
    (workspace.folder / "text.csv").write_text("id,age\n1,old\n")
    before, entries = (workspace.folder / "lapwing.toml").read_text(), workspace.ledger.head().seq
    wrong = [
        NewTable(name="broken", file="broken.parquet"),
        NewTable(name="text", file="text.csv", columns={"integer": ("height=0..3",)}),
        NewTable(name="both", file="text.csv", beside="patients"),
        NewTable(name="none"),
        NewTable(name="beside", beside="absent"),
        NewTable(name="key", file="text.csv", person_key="nobody"),
        NewTable(name="crossed", file="text.csv", columns={"integer": ("age=9..3",)}),
    ]
    for new in wrong:
        with pytest.raises(LapwingError):
            add_table(workspace, "clinic", new, by="cleo")
    assert (workspace.folder / "lapwing.toml").read_text() == before
    assert workspace.ledger.head().seq == entries


def test_a_table_beside_another_in_postgresql(tmp_path, database) -> None:
    with psycopg.connect(database) as connection:
        for table in ("patients", "visits"):
            connection.execute(f"create table {table} (id bigint, age int)")
        reader = as_reader(connection, database)
    with make(tmp_path / "clinic", f'{{ postgres = "{reader}", table = "patients" }}') as workspace:
        new = NewTable(name="visits", beside="patients", rows="many", columns=AGES)
        assert columns_there(workspace, "clinic", new) == {"id": "integer", "age": "integer"}
        assert set(add_table(workspace, "clinic", new, by="cleo").columns) == {"age"}
        with pytest.raises(RegistrationError, match=r"public\.absent"):
            columns_there(workspace, "clinic", NewTable(name="absent", beside="patients"))
