"""Workspaces: made once, opened often, and careful about data that changed and keys that anyone can read."""

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lapwing as lw
from lapwing.vocabulary.errors import (
    EngineError,
    ParameterError,
    RegistrationError,
    SettingsError,
    UnansweredError,
    UnavailableError,
)
from lapwing.vocabulary.guarantee import PureDP
from lapwing.workspace.workspace import Recovery, open_workspace, read_key, renew_key

SETTINGS = """
[populations.clinic]
person_key = "id"
budget = { epsilon = "100" }

[populations.clinic.tables.patients]
source = "patients.csv"

[populations.clinic.tables.patients.columns]
age = { type = "integer", low = 0, high = 120 }
sex = { type = "category", values = ["F", "M"] }
"""
HEADER = "id,age,sex\n"


def write_patients(folder: Path, people: int = 300) -> None:
    rows = "".join(f"{i},{i % 100},{'FM'[i % 2]}\n" for i in range(people))
    (folder / "patients.csv").write_text(HEADER + rows)


@pytest.fixture
def folder(quick_path) -> Path:
    write_patients(quick_path)
    lw.create(quick_path, SETTINGS).close()
    return quick_path


@pytest.fixture
def clinic(folder) -> Iterator[lw.Session]:
    with lw.open(folder, analyst="ana") as session:
        yield session


def test_a_workspace_is_made_and_asked(clinic, folder) -> None:
    answer = clinic.ask(lw.count("patients", "sex = 'M'"), epsilon=20)
    assert abs(answer.value - 150) <= 3
    with clinic.stream(at_least=100, yeses=1, epsilon=10, name="mine") as stream:
        assert stream.ask("age < 100")
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("ledger")) == [
        "fingerprints.json",
        "fingerprints.lock",
        "lapwing.toml",
        "patients.csv",
        "stream.key",
    ]
    assert {(folder / name).stat().st_mode & 0o777 for name in ("stream.key", "fingerprints.json")} == {0o600}


def test_data_that_changed_unannounced_is_refused_before_anything_is_charged(clinic, folder) -> None:
    question = lw.count("patients")
    clinic.ask(question, epsilon=1)
    write_patients(folder, 301)
    for _ in range(2):
        with pytest.raises(
            RegistrationError,
            match="has changed, and its data version is still 1; bring the old data back, or lapwing advance",
        ):
            clinic.ask(lw.count("patients", "age > 3"), epsilon=1)
        with pytest.raises(RegistrationError, match="has changed"):
            clinic.stream(at_least=10, yeses=1, epsilon=1)
    assert clinic.budget().left == 99
    with lw.open_workspace(folder) as workspace:
        assert workspace.advance("patients") == 2
    again = clinic.ask(question, epsilon=1)
    assert (again.free, again.versions) == (False, {"patients": 2})
    assert clinic.budget().left == 98, "a new version resets nothing"


def test_fingerprints_are_never_readable_by_others(clinic, folder, monkeypatch) -> None:
    modes, replace = [], Path.replace
    before = os.umask(0)
    try:
        monkeypatch.setattr(Path, "write_text", forbidden)
        monkeypatch.setattr(Path, "replace", lambda fresh, at: (modes.append(fresh.stat().st_mode), replace(fresh, at)))
        clinic.ask(lw.count("patients"), epsilon=1)
    finally:
        os.umask(before)
    assert {mode & 0o777 for mode in modes} == {0o600}
    assert (folder / "fingerprints.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        *("", "{", "[]", "7", '{"kind":"known-data","ledger":null,"seen":{},"tables":{"clinic.patients":3}}'),
        '{"kind":"known-data","ledger":null,"seen":{},"tables":{"clinic.patients":{"kind":"fingerprint","version":1}}}',
        *('{"kind":"known-data","ledger":null,"seen":[],"tables":{}}', '{"ledger":4}', "[" * 200_000, "\x00"),
    ],
    ids=["empty", "torn", "a list", "a number", "a table", "half a table", "seen", "ledger", "deep", "NUL"],
)
def test_damaged_fingerprints_are_said(clinic, folder, damage) -> None:
    (folder / "fingerprints.json").write_text(damage)
    with pytest.raises(
        SettingsError, match=r"fingerprints\.json: is damaged, so nobody knows .* bring it back"
    ) as told:
        clinic.ask(lw.count("patients"), epsilon=1)
    assert os.sep not in str(told.value)
    assert clinic.budget().left == 100


def test_what_is_written_about_a_file_can_be_read_again_also_by_a_process_that_is_new(clinic, folder) -> None:
    clinic.ask(lw.count("patients"), epsilon=1)
    with lw.open(folder) as anew:
        assert anew.ask(lw.count("patients", "age > 3"), epsilon=1).price.epsilon == 1


def test_a_settings_file_that_is_nested_too_deeply_is_said(quick_path) -> None:
    with pytest.raises(SettingsError, match="nested too deeply"):
        lw.create(quick_path, "a = " + "[" * 100_000)


def forbidden(*_: object, **__: object) -> None:
    raise AssertionError("this makes a file that others can read, for a moment at least")


@pytest.mark.parametrize("failure", [RuntimeError, OSError, duckdb.FatalException, KeyError])
def test_whatever_a_driver_raises_at_opening_is_the_one_failure(clinic, folder, monkeypatch, failure) -> None:
    def fails(*_: object, **__: object) -> None:
        raise failure("patient 7 has the plague")

    with monkeypatch.context() as patched:
        patched.setattr("lapwing.sources.DuckDB", fails)
        with pytest.raises(EngineError) as failed:
            clinic.ask(lw.count("patients"), epsilon=1)
    assert type(failed.value) is UnavailableError
    told = (
        "the tables cannot be opened just now, so nothing was charged; ask again later; the custodian can find out why"
    )
    assert str(failed.value) == told
    assert (failed.value.__cause__, failed.value.__context__) == (None, None)
    assert "patient 7 has the plague" in (folder / "failures.log").read_text()
    assert clinic.budget().left == 100
    clinic.ask(lw.count("patients"), epsilon=1)


def test_a_file_that_cannot_be_read_is_said(clinic, monkeypatch) -> None:
    open_ = Path.open

    def guarded(path: Path, *words: str, **named: str) -> object:
        if path.name == "patients.csv":
            raise PermissionError(path)
        return open_(path, *words, **named)

    monkeypatch.setattr(Path, "open", guarded)
    with pytest.raises(RegistrationError, match=r"cannot be read from patients\.csv; let this user read it") as told:
        clinic.ask(lw.count("patients"), epsilon=1)
    assert os.sep not in str(told.value), "where the folder is, is not a matter of analysts"


BAD_TABLES = {
    "a time on no day": {"seen": pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("ms"))},
    "bytes that are not text": {
        "city": pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff"], pa.binary()).buffers())
    },
}


@pytest.mark.parametrize("bad", BAD_TABLES)
def test_a_cell_that_cannot_be_read_costs_nothing(quick_path, bad) -> None:
    good = {"id": [1, 2], "seen": pa.array([0, 0], pa.timestamp("ms")), "city": ["a", "b"]}
    pq.write_table(pa.table(good), quick_path / "patients.parquet")
    columns = 'seen = { type = "date" }\ncity = { type = "text" }\n'
    declared = SETTINGS.replace(".csv", ".parquet").partition("age =")[0] + columns
    with lw.create(quick_path, declared) as workspace:
        pq.write_table(pa.table(good | BAD_TABLES[bad]), quick_path / "patients.parquet")
        workspace.advance("patients")
    with lw.open(quick_path) as clinic:
        for where in ("seen = '1970-01-01'", "city = 'a'"):
            with pytest.raises(EngineError):
                clinic.ask(lw.count("patients", where), epsilon=1)
        assert clinic.budget().left == 100
    assert "RegistrationError" in (quick_path / "failures.log").read_text()


def test_the_same_content_under_another_date_is_the_same_data(clinic, folder) -> None:
    clinic.ask(lw.count("patients"), epsilon=1)
    os.utime(folder / "patients.csv", (1, 1))
    assert clinic.ask(lw.count("patients"), epsilon=1).free


def test_nothing_derived_from_the_data_is_in_the_ledger(clinic, folder) -> None:
    clinic.ask(lw.count("patients"), epsilon=1)
    fingerprint = (folder / "fingerprints.json").read_text().split('"sha256":"')[1][:64]
    clinic.close()
    assert fingerprint.encode() not in (folder / "ledger.db").read_bytes()


class Died(BaseException):
    """What happens to a process."""


def die(*_: object) -> None:
    raise Died


def test_a_custodian_settles_what_dead_processes_left(clinic, folder, monkeypatch) -> None:
    stream = clinic.stream(at_least=100, yeses=2, epsilon=20, name="mine")
    with monkeypatch.context() as patched:
        patched.setattr(type(stream), "_decide", die)
        patched.setattr("lapwing.session.hide_failures", die)
        with pytest.raises(Died):
            stream.ask("age < 100", key="s")
        with pytest.raises(Died):
            clinic.ask(lw.count("patients"), epsilon=1, key="q")
    with lw.open_workspace(folder) as workspace:
        assert workspace.recover().settled == 2
        assert workspace.recover() == Recovery(settled=0, unsettled={})
    assert stream.ask("age < 100", key="s").verdict is lw.Verdict.ABOVE
    with pytest.raises(UnansweredError, match="lost after it was charged"):
        clinic.ask(lw.count("patients"), epsilon=1, key="q")


@pytest.mark.parametrize(
    ("source", "statement"),
    [
        ('"patients.parquet"', "copy ({}) to '{}/patients.parquet'"),
        ('{{ duckdb = "all.duckdb", table = "people" }}', "attach '{1}/all.duckdb' as a; create table a.people as {0}"),
    ],
    ids=["parquet", "duckdb"],
)
def test_tables_are_read_where_they_lie(quick_path, source, statement) -> None:
    rows = (
        "select i as id, (i % 100)::int as age, case when i % 2 = 0 then 'F' else 'M' end as sex from range(300) t(i)"
    )
    with duckdb.connect() as connection:
        connection.execute(statement.format(rows, quick_path))
    settings = SETTINGS.replace('"patients.csv"', source.format())
    with lw.create(quick_path, settings) as workspace:
        answer = workspace.session().ask(lw.count("patients", "sex = 'M'"), epsilon=20)
        assert abs(answer.value - 150) <= 3


def test_another_table_of_the_same_file_is_other_data(quick_path) -> None:
    rows = "select i as id, (i % 100)::int as age, 'F' as sex from range({}) t(i)"
    with duckdb.connect(str(quick_path / "all.duckdb")) as connection:
        for table, people in (("few", 100), ("many", 900)):
            connection.execute(f"create table {table} as {rows.format(people)}").fetchall()
    settings = SETTINGS.replace('"patients.csv"', '{ duckdb = "all.duckdb", table = "few" }')
    with lw.create(quick_path, settings) as workspace:
        assert abs(workspace.session().ask(lw.count("patients"), epsilon=20).value - 100) <= 3
    (quick_path / "lapwing.toml").write_text(settings.replace('"few"', '"many"'))
    with open_workspace(quick_path) as workspace:
        assert workspace.changed() == ["patients"]
        with pytest.raises(RegistrationError, match="has changed, and its data version is still 1"):
            workspace.session().ask(lw.count("patients"), epsilon=1)
        workspace.advance("patients")
        assert abs(workspace.session().ask(lw.count("patients"), epsilon=20).value - 900) <= 3


def test_a_preview_and_a_rehearsal_need_no_data(folder) -> None:
    (folder / "patients.csv").unlink()
    with lw.open(folder) as clinic:
        assert clinic.preview(lw.count("patients"), epsilon=1).affordable
        assert clinic.rehearse(lw.count("patients"), epsilon=20).rehearsal
        with pytest.raises(RegistrationError, match="bring the file back"):
            clinic.ask(lw.count("patients"), epsilon=1)
        assert clinic.budget().left == 100


def test_data_of_the_wrong_type_is_for_the_custodian(folder) -> None:
    (folder / "patients.csv").write_text(HEADER + "1,old,F\n")
    (folder / "fingerprints.json").unlink(missing_ok=True)
    with lw.open(folder) as clinic:
        with pytest.raises(EngineError) as failed:
            clinic.ask(lw.count("patients"), epsilon=1)
        assert "line 2" not in str(failed.value)
        assert failed.value.__context__ is None
        assert clinic.budget().left == 100
    log = folder / "failures.log"
    assert "line 2 has a cell in column age" in log.read_text()
    assert "old" not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"100"', '"200"', 4, "not the budget that the ledger keeps"),
        ('person_key = "id"', 'person_key = "age2"', 3, "person_key is not what this population was opened with"),
        (
            'budget = { epsilon = "100" }',
            'budget = { epsilon = "100" }\nanalysts.bob = { epsilon = 1 }',
            5,
            "allowance of 'bob'",
        ),
        (
            "[populations.clinic]",
            '[populations.other]\nperson_key="id"\nbudget={epsilon=1}\ntables.t.source="t.csv"\n[populations.clinic]',
            2,
            "'other' is not in the ledger",
        ),
    ],
    ids=["budget", "person", "allowance", "population"],
)
def test_settings_that_the_ledger_does_not_know_of_are_refused(folder, old, new, line, said) -> None:
    path = folder / "lapwing.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    with lw.open_workspace(folder) as workspace, pytest.raises(SettingsError, match=said) as refused:
        workspace.session("other" if "other" in said else "clinic")
    assert refused.value.line == line


def test_an_update_raises_budgets_adds_tables_and_gives_allowances(folder) -> None:
    path = folder / "lapwing.toml"
    visits = '\n[populations.clinic.tables.visits]\nsource = "visits.csv"\nrows = "many"\n'
    (folder / "visits.csv").write_text("id\n1\n")
    raised = path.read_text().replace('"100"', '"200"') + visits
    path.write_text(raised + "[populations.clinic.analysts]\nana = { epsilon = 3 }\n")
    with lw.open_workspace(folder) as workspace:
        workspace.update()
        assert workspace.ledger.account("clinic").budget == PureDP(epsilon=Fraction(200))
        assert dict(workspace.ledger.population("clinic").tables) == {"patients": 1, "visits": 1}
        assert workspace.session(analyst="ana").budget().left == 3
    path.write_text(raised)
    with lw.open_workspace(folder) as workspace:
        workspace.update()
        assert workspace.session(analyst="ana").budget().left == 200


def test_a_budget_is_never_lowered_once_something_was_asked(folder, clinic) -> None:
    clinic.ask(lw.count("patients"), epsilon=1)
    path = folder / "lapwing.toml"
    path.write_text(path.read_text().replace('"100"', '"50"'))
    with lw.open_workspace(folder) as workspace, pytest.raises(SettingsError, match="line 4"):
        workspace.update()


def test_a_key_that_others_can_read_or_that_is_gone_is_refused(folder) -> None:
    key = folder / "stream.key"
    key.chmod(0o644)
    with pytest.raises(SettingsError, match="can be read by others; chmod 600"):
        read_key(folder)
    key.chmod(0o600)
    key.write_text("17")
    with pytest.raises(SettingsError, match="holds no key"):
        read_key(folder)
    key.unlink()
    with pytest.raises(SettingsError, match="open streams cannot go on without it"):
        read_key(folder)
    renew_key(folder)
    assert len(read_key(folder)) == 32


def test_a_workspace_is_not_made_twice(folder) -> None:
    with pytest.raises(SettingsError, match="is there already"):
        lw.create(folder, SETTINGS)


def test_an_unknown_population_is_refused_with_those_there_are(folder) -> None:
    with lw.open_workspace(folder) as workspace, pytest.raises(ParameterError, match="name one of clinic"):
        workspace.session("school")


@pytest.mark.parametrize("name", ["", " ", " ana"])
def test_an_analyst_without_a_name_is_nobody_and_not_whoever_is_logged_in(folder, name) -> None:
    with pytest.raises(lw.LapwingError, match="is not a name; write 1 to 200 printable characters"):
        lw.open(folder, analyst=name)


@pytest.mark.parametrize(
    ("small", "large", "advice"),
    [
        ('epsilon = "1"', 'epsilon = "30"', "epsilon = 30 lets an attacker's odds grow by a factor of 10.7 trillion"),
        ('epsilon = "1", delta = "1e-9"', 'epsilon = "1", delta = "0.1"', "for 1,000 people allows a mechanism that"),
        ('rho = "1/2"', 'rho = "50"', "rho 50 lets an attacker's odds grow by a factor of"),
    ],
    ids=["epsilon", "delta", "rho"],
)
def test_what_speaks_against_a_budget_is_told_when_it_is_made_and_when_it_is_raised(
    quick_path, small, large, advice
) -> None:
    text = '[populations.clinic]\nperson_key = "id"\nbudget = { %s }\n'
    with lw.create(quick_path / "loud", text % large) as workspace:
        assert advice in workspace.advice["clinic"][0]
        assert advice in repr(workspace)
    with lw.create(quick_path / "quiet", text % small) as workspace:
        assert workspace.advice == {}
        assert "advice" not in repr(workspace)
    (quick_path / "quiet" / "lapwing.toml").write_text(text % large)
    with lw.open_workspace(quick_path / "quiet") as workspace:
        workspace.update()
        assert advice in workspace.advice["clinic"][0]
