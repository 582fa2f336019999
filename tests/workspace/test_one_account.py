"""The same people have one account: two hospitals that share patients, and populations by another name."""

import shutil
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import lapwing as lw
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerRolledBackError,
    LedgerUnwritableError,
    RegistrationError,
    SettingsError,
)
from lapwing.workspace.settings import read_settings
from lapwing.workspace.workspace import renew_key

HOSPITALS = """
[populations.patients]
person_key = "id"
budget = { epsilon = "1" }

[populations.patients.tables.north]
source = "north.csv"
columns.diabetic = { type = "boolean" }

[populations.patients.tables.south]
source = "south.csv"
columns.diabetic = { type = "boolean" }
"""


def write_hospital(path: Path, first: int, last: int) -> None:
    path.write_text("id,diabetic\n" + "".join(f"{i},{i % 3 == 0}\n" for i in range(first, last)))


def copy_hospitals(folder: Path, other: Path) -> None:
    for name in ("north.csv", "south.csv"):
        shutil.copy(folder / name, other)


def write_duckdb(path: Path, last: int) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for table in ("people", "staff"):
            connection.table_function("range", [last]).project("range AS id, range % 3 = 0 AS diabetic").create(table)


@pytest.fixture
def folder(quick_path) -> Path:
    write_hospital(quick_path / "north.csv", 0, 600)
    write_hospital(quick_path / "south.csv", 400, 1000)  # people 400 to 599 have been to both
    return quick_path


def test_two_hospitals_with_overlapping_patients_share_one_account(folder) -> None:
    """Scenario 1 of the lecture on composition: whoever is in both is protected by the sum of what both release."""
    lw.create(folder, HOSPITALS).close()
    with lw.open(folder, analyst="ana") as ana, lw.open(folder, analyst="bob") as bob:
        ana.ask(lw.count("north", "diabetic"), epsilon="3/5")
        with pytest.raises(BudgetExceededError, match=r"epsilon 0\.6 is asked and 0\.4 is left"):
            bob.ask(lw.count("south", "diabetic"), epsilon="3/5")
        bob.ask(lw.count("south", "diabetic"), epsilon="2/5")
        assert ana.budget().left == bob.budget().left == 0


def test_somebody_who_is_in_both_is_one_person_in_a_question_about_both(folder) -> None:
    lw.create(folder, HOSPITALS.replace('"1"', '"60"')).close()
    with lw.open(folder, analyst="ana") as clinic:
        answer = clinic.ask(lw.count("north", "has(south, diabetic)"), epsilon=20)
        assert abs(answer.value - 66) <= 3
        assert set(answer.versions) == {"north", "south"}


def test_hospitals_on_two_machines_share_one_account_on_a_server(folder, postgres, database) -> None:
    address = f"postgresql://postgres@/{database.rpartition('=')[2]}?host={postgres.folder}"
    north, south = HOSPITALS.split("[populations.patients.tables.south]")
    parts = {"north": north, "south": north.partition("[populations.patients.tables.north]")[0]}
    parts["south"] += f"[populations.patients.tables.south]{south}"
    for name, settings in parts.items():
        (folder / name).mkdir()
        (folder / f"{name}.csv").rename(folder / name / f"{name}.csv")
        (folder / name / "lapwing.toml").write_text(f'ledger = "{address}"\n{settings}')
    lw.create(folder / "north").close()
    renew_key(folder / "south")
    with lw.open_workspace(folder / "south") as workspace:
        workspace.update()
    with lw.open(folder / "north", analyst="ana") as ana, lw.open(folder / "south", analyst="bob") as bob:
        ana.ask(lw.count("north"), epsilon="3/5")
        with pytest.raises(BudgetExceededError, match=r"0\.4 is left"):
            bob.ask(lw.count("south"), epsilon="3/5")
        assert bob.budget().left == Fraction(2, 5)


@pytest.mark.catalogue("L21")
def test_a_table_belongs_to_one_population(folder) -> None:
    second = HOSPITALS.partition("[populations.patients.tables.south]")[0].replace("patients", "twice")
    with pytest.raises(SettingsError, match=r"line 19: .*table of population 'patients' too; let the same people"):
        lw.create(folder, HOSPITALS + second)


@pytest.mark.catalogue("L21")
def test_a_population_by_another_name_is_no_new_account(folder) -> None:
    lw.create(folder, HOSPITALS).close()
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("north"), epsilon=1)
    (folder / "lapwing.toml").write_text(HOSPITALS.replace("patients", "others"))
    with (
        lw.open_workspace(folder) as workspace,
        pytest.raises(SettingsError, match="the data of population 'patients'"),
    ):
        workspace.update()


@pytest.mark.catalogue("L21")
def test_a_population_that_was_left_out_and_comes_back_has_spent_what_it_had(folder) -> None:
    lw.create(folder, HOSPITALS).close()
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("north"), epsilon=1)
    settings = folder / "lapwing.toml"
    settings.write_text(HOSPITALS.partition("[populations.patients.tables.south]")[0])
    for _ in range(2):
        with lw.open_workspace(folder) as workspace:
            workspace.update()
            assert workspace.session(analyst="ana").budget().left == 0
        settings.write_text(HOSPITALS)


POPULATION = """
[populations."{name}"]
person_key = "id"
budget = {{ epsilon = "1" }}

[populations."{name}".tables.people]
source = {source}
columns.diabetic = {{ type = "boolean" }}
"""


def population(name: str, source: str) -> str:
    return POPULATION.format(name=name, source=source)


def in_duckdb(place: str, table: str = "people") -> str:
    return f'{{ duckdb = "{place}", table = "{table}" }}'


def on_server(address: str) -> str:
    return f'{{ postgres = "{address}", table = "people" }}'


def test_places_that_only_look_like_one_are_two(folder) -> None:
    for one, other in (
        ('{ spark = "./wards" }', '"wards2/a.parquet"'),
        (in_duckdb("c.duckdb"), in_duckdb("c.duckdb", "x")),
        ('{ spark = "./beds" }', '{ spark = "./rooms" }'),
    ):
        (folder / "beds").mkdir(exist_ok=True)
        (folder / "rooms").mkdir(exist_ok=True)
        (folder / "beds" / "_SUCCESS").touch()
        (folder / "rooms" / "_SUCCESS").unlink(missing_ok=True)
        (folder / "rooms" / "_SUCCESS").hardlink_to(folder / "beds" / "_SUCCESS")
        assert read_settings(folder, population("a", one) + population("b", other))


@pytest.mark.catalogue("L21")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"north.csv"', '"sub/../north.csv"'),
        ('"north.csv"', '"link.csv"'),
        ('"north.csv"', '"hard.csv"'),
        ('{ spark = "./wards" }', '"wards/a.parquet"'),
        ('"wards/a.parquet"', '{ spark = "./wards" }'),
        ('{ spark = "s3://beds/all" }', '{ spark = "s3://beds/all/a.parquet" }'),
        (in_duckdb("c.duckdb"), in_duckdb("./sub/../c.duckdb", "PEOPLE")),
        (on_server("postgresql://h/c"), on_server("postgresql://h/c")),
        ('{ spark = "ehr.people" }', '{ spark = "EHR.people" }'),
        ('{ spark = "./north.parquet" }', '"north.parquet"'),
        ('{ spark = "./linked" }', '"wards/a.parquet"'),
        ('{ spark = "./linked" }', '{ spark = "./wards" }'),
    ],
    ids=[
        *("path", "link", "hard-link", "spark-folder", "file-in-spark-folder", "spark-address"),
        *("duckdb", "postgres", "spark", "spark-files", "hard-link-in-spark-folder", "hard-link-in-two-spark-folders"),
    ],
)
def test_one_place_in_two_spellings_is_one_place(folder, one, other) -> None:
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to(folder / "north.csv")
    (folder / "hard.csv").hardlink_to(folder / "north.csv")
    for place in (folder / "wards", folder / "linked" / "day=1"):
        place.mkdir(parents=True)
        (place / "_SUCCESS").touch()
    (folder / "wards" / "a.parquet").write_bytes(b"rows")
    (folder / "linked" / "day=1" / "b.parquet").hardlink_to(folder / "wards" / "a.parquet")
    (folder / "linked" / "day=1" / "back").symlink_to(folder / "linked")
    with pytest.raises(SettingsError, match="table of population 'a' too"):
        lw.create(folder, population("a", one) + population("b", other))
    assert read_settings(folder, population("a", one) + population("b", '"south.csv"'))


@pytest.mark.catalogue("L21")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"north.csv"', '"north.csv"'),
        ('"north.csv"', '"copy.csv"'),
        (in_duckdb("c.duckdb"), in_duckdb("c.duckdb", "People")),
        (in_duckdb("c.duckdb"), in_duckdb("copy.duckdb")),
    ],
    ids=["file", "copied file", "duckdb", "copied duckdb"],
)
@pytest.mark.parametrize("renewed", [False, True], ids=["as it was", "renewed"])
def test_data_that_was_asked_about_stays_with_its_population(folder, one, other, renewed) -> None:
    """The population has a dot in its name; its data is declared anew, in a new population and in an old one."""
    write_duckdb(folder / "c.duckdb", 600)
    shutil.copy(folder / "north.csv", folder / "copy.csv")
    shutil.copy(folder / "c.duckdb", folder / "copy.duckdb")
    old = population("old", '"south.csv"')
    lw.create(folder, population("st.mary", one) + old).close()
    with lw.open(folder, "st.mary", analyst="ana") as clinic:
        clinic.ask(lw.count("people"), epsilon=1)
    if renewed:
        write_hospital(folder / "north.csv", 0, 601)
        write_duckdb(folder / "c.duckdb", 601)
        with lw.open_workspace(folder) as workspace:
            workspace.advance("people", "st.mary")
        with lw.open(folder, "st.mary", analyst="ana") as clinic, pytest.raises(BudgetExceededError):
            clinic.ask(lw.count("people"), epsilon=1)
    settings = folder / "lapwing.toml"
    added = old + population("old", other).partition("[populations")[2].partition("\n\n")[2].replace("people]", "more]")
    for text in (old + population("new", other), added):
        settings.write_text(text)
        with (
            lw.open_workspace(folder) as workspace,
            pytest.raises(SettingsError, match=r"the data of population 'st\.mary'"),
        ):
            workspace.update()
    settings.write_text(population("old", other))
    with (
        lw.open_workspace(folder) as workspace,
        pytest.raises(RegistrationError, match=r"old\.people holds the data of .* 'st\.mary'"),
    ):
        workspace.session("old", analyst="ana").ask(lw.count("people"), epsilon=1)


@pytest.mark.catalogue("L21")
def test_two_tables_of_one_duckdb_file_may_hold_different_people(folder) -> None:
    write_duckdb(folder / "c.duckdb", 600)
    lw.create(folder, population("a", in_duckdb("c.duckdb")) + population("b", in_duckdb("c.duckdb", "staff"))).close()
    for name in ("a", "b"):
        with lw.open(folder, name, analyst="ana") as clinic:
            assert clinic.ask(lw.count("people"), epsilon=1).free is False


@pytest.mark.catalogue("L21")
@pytest.mark.parametrize("change", ['person_key = "other"', 'key_type = "text"'], ids=["person_key", "key_type"])
def test_whose_row_it_is_never_changes_once_it_was_asked_about(folder, change) -> None:
    only_north = HOSPITALS.partition("[populations.patients.tables.south]")[0]
    lw.create(folder, only_north).close()
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("north"), epsilon=1)
    (folder / "lapwing.toml").write_text(only_north.replace('source = "north.csv"', f'source = "north.csv"\n{change}'))
    with lw.open_workspace(folder) as workspace:
        for use in (workspace.update, workspace.session):
            with pytest.raises(SettingsError, match=r"was added with the person key 'id' \(integer\), and this is"):
                use()
        assert verify(workspace.ledger).entries == 4
    (folder / "lapwing.toml").write_text(only_north)
    with lw.open_workspace(folder) as workspace:
        assert workspace.session(analyst="ana").budget().left == 0


@pytest.mark.catalogue("L21")
def test_a_ledger_that_is_gone_is_not_begun_anew(folder) -> None:
    lw.create(folder, HOSPITALS).close()
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("north"), epsilon=1)
    for file in folder.glob("ledger.db*"):
        file.unlink()
    with pytest.raises(
        SettingsError,
        match=r"names a ledger that is gone; bring the ledger back.*newest backup.*delete this file",
    ):
        lw.create(folder)
    (folder / "fingerprints.json").unlink()
    with pytest.raises(LedgerUnwritableError, match=r"ledger\.head names ledger .*; bring it back"):
        lw.create(folder)
    (folder / "ledger.head").unlink()
    with pytest.raises(LedgerUnwritableError, match=r"ledger\.head\.1 names ledger .*; bring it back"):
        lw.create(folder)
    assert not (folder / "ledger.db").exists()
    (folder / "ledger.head.1").unlink()
    lw.create(folder).close()


@pytest.mark.catalogue("L21")
def test_the_ledger_of_another_workspace_is_refused(folder, tmp_path) -> None:
    lw.create(folder, HOSPITALS).close()
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("north"), epsilon=1)
        ours = clinic.ledger.name
    copy_hospitals(folder, tmp_path)
    with lw.create(tmp_path, HOSPITALS) as other:
        theirs = other.ledger.name
    kept = (folder / "ledger.db").read_bytes()
    for file in folder.glob("ledger.db-*"):
        file.unlink()
    (folder / "ledger.db").write_bytes((tmp_path / "ledger.db").read_bytes())
    with pytest.raises(LedgerRolledBackError, match=f"this is ledger {theirs}, and its place belongs to ledger {ours}"):
        lw.open_workspace(folder)
    (folder / "ledger.db").write_bytes(kept)
    with lw.open_workspace(folder) as workspace:
        assert workspace.session(analyst="ana").budget().left == 0


def test_a_workspace_of_an_older_lapwing_belongs_to_the_ledger_that_it_is_opened_with(folder, tmp_path) -> None:
    lw.create(folder, HOSPITALS).close()
    (folder / "fingerprints.json").unlink()
    lw.open_workspace(folder).close()
    copy_hospitals(folder, tmp_path)
    lw.create(tmp_path, HOSPITALS).close()
    (folder / "ledger.db").write_bytes((tmp_path / "ledger.db").read_bytes())
    with pytest.raises(LedgerRolledBackError, match="bring back the right one"):
        lw.open_workspace(folder)
