"""Tables and people that are added through a server: from places that the workspace uses already, all or nothing."""

from contextlib import nullcontext

import duckdb
import psycopg
import pytest

import lapwing as lw
from engines.workbenches import as_reader
from lapwing.vocabulary.errors import (
    BadQuestionError,
    LapwingError,
    LedgerUnwritableError,
    ParameterError,
    RegistrationError,
    SettingsError,
)
from lapwing.workspace.changing import (
    NewTable,
    add_table,
    columns_there,
    create_population,
    databases_of,
    files_of,
)
from lapwing.workspace.declaring import ColumnInput
from lapwing.workspace.draft import Draft

SETTINGS = """
[populations.clinic]
person_key = "id"
budget = {{ epsilon = "1" }}
[populations.clinic.tables.patients]
source = {source}
columns.age = {{ type = "integer", low = 0, high = 120 }}
"""


def said(name, values):
    return {name: ColumnInput(type="integer", values=values)}


AGES = said("age", "0..120")


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
    new = NewTable(
        name="stays", beside="patients", inner="visits", options={"rows": "many", "max_rows": 2}, columns=AGES
    )
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
        NewTable(name="text", file="text.csv", columns=said("height", "0..3")),
        NewTable(name="both", file="text.csv", beside="patients"),
        NewTable(name="none"),
        NewTable(name="beside", beside="absent"),
        NewTable(name="key", file="text.csv", options={"person_key": "nobody"}),
        NewTable(name="crossed", file="text.csv", columns=said("age", "9..3")),
    ]
    for new in wrong:
        with pytest.raises(LapwingError):
            add_table(workspace, "clinic", new, by="cleo")
    assert (workspace.folder / "lapwing.toml").read_text() == before
    assert workspace.ledger.head().seq == entries


def new_people(**more) -> tuple[Draft, NewTable]:
    table = more.pop("table", NewTable(name="people", file="../data/ward.csv", columns=AGES))
    return Draft(**{"population": "ward 3", "person_key": "id", "budget": {"epsilon": "2"}} | more), table


def test_new_people_have_an_account_of_their_own(workspace) -> None:
    stays = NewTable(name="stays", beside="clinic.patients", inner="visits", columns=AGES)
    assert databases_of(workspace, None) == ["clinic.patients"]
    assert columns_there(workspace, None, stays) == {"id": "integer", "age": "integer"}
    create_population(workspace, *new_people(adjacency="replace", groups_of=3, only_named=True), by="cleo")
    create_population(workspace, *new_people(population="guests", table=stays), by="cleo")
    declared = workspace.settings.declared("ward 3")
    unit = declared.population.unit
    assert (unit.person_key, unit.adjacency.value, unit.protects_groups_of) == ("id", "replace", 3)
    assert declared.only_named
    assert workspace.ledger.population("ward 3").only_named
    assert workspace.session("guests", analyst="ana").ask(lw.count("stays"), epsilon="2").rows
    assert str(workspace.session("guests", analyst="ana").budget()) == "epsilon 0"
    assert str(workspace.session("clinic", analyst="ana").budget()) == "epsilon 1"
    (opened,) = workspace.ledger.entries("guests", kinds=("population",))
    assert opened["by"] == "cleo"


def test_two_tables_that_would_be_called_alike_are_refused(workspace) -> None:
    """They would be one in the list of databases, and one in what is known of their files."""
    inner = NewTable(name="b.stays", beside="clinic.patients", inner="visits", columns=AGES)
    create_population(workspace, *new_people(population="a", table=inner), by="cleo")
    assert databases_of(workspace, None) == ["a.b.stays", "clinic.patients"]
    alike = NewTable(name="stays", file="../data/ward.csv", columns=AGES)
    said = "table 'stays' of 'a.b' and table 'b.stays' of 'a' are both a.b.stays; write one of the names without a dot"
    before, entries = (workspace.folder / "lapwing.toml").read_text(), workspace.ledger.head().seq
    with pytest.raises(SettingsError, match=said):
        create_population(workspace, *new_people(population="a.b", table=alike), by="cleo")
    assert ((workspace.folder / "lapwing.toml").read_text(), workspace.ledger.head().seq) == (before, entries)
    create_population(workspace, *new_people(population="a.c", table=alike), by="cleo")


def test_a_csv_file_is_told_whether_its_key_is_text(workspace) -> None:
    (workspace.folder / "codes.csv").write_text("id,age\nA1,31\n")
    for kind in ("text", "integer"):
        table = NewTable(name="people", file="codes.csv", options={"key_type": kind}, columns=AGES)
        with nullcontext() if kind == "text" else pytest.raises(LapwingError):
            create_population(workspace, *new_people(population=kind, table=table), by="cleo")
    assert set(workspace.ledger.populations()) == {"clinic", "text"}


def test_new_people_who_cannot_be_protected_change_nothing(workspace) -> None:
    workspace.session(analyst="ana").ask(lw.count("patients"), epsilon="0.1")
    (workspace.folder / "copy.csv").write_text((workspace.folder / "../data/ward.csv").read_text())
    add_table(workspace, "clinic", NewTable(name="ward", file="../data/ward.csv", columns=AGES), by="cleo")
    workspace.check()
    before, entries = (workspace.folder / "lapwing.toml").read_text(), workspace.ledger.head().seq
    same = NewTable(name="p", beside="clinic.patients", inner="patients", columns=AGES)
    copied = NewTable(name="p", file="copy.csv", columns=AGES)
    wrong = [
        (new_people(population="clinic"), "is there already"),
        (new_people(), "this is a table of population 'clinic' too"),
        (new_people(table=same), "this is a table of population 'clinic' too"),
        (new_people(table=copied), "this is the data of population 'clinic'"),
        (new_people(population=""), "population"),
        (new_people(population="ward/3"), "cannot be a part of an address"),
        (new_people(population=".."), "cannot be a part of an address"),
        (new_people(table=copied, person_key="nobody"), "is not in p"),
        (new_people(table=copied, budget={}), "budget"),
        (new_people(table=copied, budget={"epsilon": "-1"}), "is negative"),
        (new_people(table=copied, groups_of=0), "protects_groups_of"),
    ]
    for new, said in wrong:
        with pytest.raises(LapwingError, match=said):
            create_population(workspace, *new, by="cleo")
    assert (workspace.folder / "lapwing.toml").read_text() == before
    assert workspace.ledger.head().seq == entries


def test_an_account_that_the_settings_do_not_name_is_not_opened_anew(workspace) -> None:
    file = workspace.folder / "lapwing.toml"
    without = file.read_text()
    create_population(workspace, *new_people(only_named=True), by="cleo")
    decided = workspace.ledger.population("ward 3")
    file.write_text(without)
    workspace.reload()
    (workspace.folder / "other.csv").write_text("id,age\n5,50\n")
    other = NewTable(name="others", file="other.csv", columns=AGES)
    with pytest.raises(ParameterError, match=r"has an account in the ledger, though lapwing\.toml does not name it"):
        create_population(workspace, *new_people(table=other, budget={"epsilon": "50"}), by="cleo")
    assert (file.read_text(), workspace.ledger.population("ward 3")) == (without, decided)
    assert str(workspace.ledger.account("ward 3").budget.epsilon) == "2"


def test_an_edit_that_waits_for_an_update_comes_first(workspace) -> None:
    file = workspace.folder / "lapwing.toml"
    file.write_text(file.read_text().replace('epsilon = "1"', 'epsilon = "5"'))
    before, entries = file.read_text(), workspace.ledger.head().seq
    with pytest.raises(SettingsError, match="this is not the budget that the ledger keeps"):
        create_population(workspace, *new_people(), by="cleo")
    assert (file.read_text(), workspace.ledger.head().seq) == (before, entries)


def test_an_account_whose_opening_ended_half_way_is_opened(workspace, monkeypatch) -> None:
    with monkeypatch.context() as broken:
        broken.setenv("LAPWING_FAULT", "policy.begun:full")
        with pytest.raises(LedgerUnwritableError):
            create_population(workspace, *new_people(), by="cleo")
    assert not workspace.ledger.population("ward 3").tables
    create_population(workspace, *new_people(), by="cleo")
    assert workspace.session("ward 3", analyst="ana").ask(lw.count("people"), epsilon="0.1").rows


def test_a_table_beside_another_in_postgresql(tmp_path, database) -> None:
    with psycopg.connect(database) as connection:
        for table in ("patients", "visits"):
            connection.execute(f"create table {table} (id bigint, age int)")
        reader = as_reader(connection, database)
    with make(tmp_path / "clinic", f'{{ postgres = "{reader}", table = "patients" }}') as workspace:
        new = NewTable(name="visits", beside="patients", options={"rows": "many"}, columns=AGES)
        assert columns_there(workspace, "clinic", new) == {"id": "integer", "age": "integer"}
        assert set(add_table(workspace, "clinic", new, by="cleo").columns) == {"age"}
        with pytest.raises(RegistrationError, match=r"public\.absent"):
            columns_there(workspace, "clinic", NewTable(name="absent", beside="patients"))
