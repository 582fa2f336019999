"""A slip in lapwing.toml is found before anything is written, and can be put right as long as nothing was asked."""

from pathlib import Path

import pytest

import lapwing as lw
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import EngineError, RegistrationError, SettingsError

SETTINGS = """
[populations.clinic]
person_key = "id"
budget = { epsilon = "10" }

[populations.clinic.analysts]
ana = { epsilon = "4" }

[populations.clinic.tables.patients]
source = "patients.csv"
columns.age = { type = "integer", low = 0, high = 120 }

[populations.clinic.tables.visits]
source = "visits.csv"
rows = "many"
columns.ward = { type = "integer", low = 0, high = 9 }
"""


@pytest.fixture
def folder(quick_path) -> Path:
    people = "".join(f"{i},{i},{i % 100}\n" for i in range(200))
    (quick_path / "patients.csv").write_text("id,person,age\n" + people)
    (quick_path / "visits.csv").write_text("id,person,ward\n" + "".join(f"{i % 40},{i},{i % 9}\n" for i in range(200)))
    return quick_path


def write(folder: Path, text: str) -> None:
    (folder / "lapwing.toml").write_text(text)


def update(folder: Path) -> None:
    with lw.open_workspace(folder) as workspace:
        workspace.update()
        verify(workspace.ledger)


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        ('person_key = "pid"', "does not have exactly one column 'pid'; it has id, person, age"),
        ('person_key = "id"\ncolumns.aeg', "does not have exactly one column 'aeg'"),
    ],
    ids=["person_key", "column"],
)
def test_a_column_that_is_not_there_is_found_before_anything_is_written(folder, slip, said) -> None:
    old = 'person_key = "id"' if "columns" not in slip else "columns.age"
    slipped = SETTINGS.replace(old, slip if "columns" not in slip else "columns.aeg")
    before = {file.name for file in folder.iterdir()}
    with pytest.raises(RegistrationError, match=said):
        lw.create(folder, slipped)
    assert {file.name for file in folder.iterdir()} - before == {"failures.log"}
    lw.create(folder, SETTINGS).close()


def test_a_slip_in_an_update_leaves_the_ledger_as_it_is(folder) -> None:
    first, second = SETTINGS.split("\n[populations.clinic.tables.visits]")
    lw.create(folder, first).close()
    write(folder, f"{first}\n[populations.clinic.tables.visits]{second.replace('columns.ward', 'columns.wrad')}")
    with lw.open_workspace(folder) as workspace:
        before = workspace.ledger.head()
        with pytest.raises(RegistrationError, match="'wrad'"):
            workspace.update()
        assert workspace.ledger.head() == before


CORRECTIONS = {
    "person_key": ('person_key = "id"', 'person_key = "person"'),
    "adjacency": ('person_key = "id"', 'person_key = "id"\nadjacency = "replace"'),
    "groups": ('person_key = "id"', 'person_key = "id"\nprotects_groups_of = 3'),
    "segments": ('person_key = "id"', 'person_key = "id"\nsegments.a = { first = 1, last = 9 }'),
    "budget": ('epsilon = "10"', 'epsilon = "5"'),
    "kind of budget": ('budget = { epsilon = "10" }', 'budget = { epsilon = "5", delta = "1e-6" }'),
    "key of a table": ('source = "visits.csv"', 'source = "visits.csv"\nperson_key = "person"'),
}


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_what_was_never_asked_about_is_corrected_by_an_update(folder, correction) -> None:
    lw.create(folder, SETTINGS).close()
    corrected = SETTINGS.replace(*CORRECTIONS[correction])
    write(folder, corrected)
    with pytest.raises(SettingsError, match="bring the ledger up to date on purpose, with lapwing update"):
        lw.open(folder, analyst="ana")
    update(folder)
    with lw.open(folder, analyst="ana") as clinic:
        assert clinic.ask(lw.count("patients"), epsilon="1").free is False
    with lw.open_workspace(folder) as workspace:
        verify(workspace.ledger)
    update(folder)  # and nothing is left to be done


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_what_was_asked_about_stays(folder, correction) -> None:
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("patients", "has(visits, ward = 3)"), epsilon="1")
    write(folder, SETTINGS.replace(*CORRECTIONS[correction]))
    with lw.open_workspace(folder) as workspace:
        before = workspace.ledger.head()
        with pytest.raises(SettingsError, match=r"take the change back|raise the cap"):
            workspace.update()
        assert workspace.ledger.head() == before
    write(folder, SETTINGS)
    with lw.open(folder, analyst="ana") as clinic:
        assert clinic.budget().left == 3


def test_a_table_that_was_never_read_is_corrected_beside_one_that_was(folder) -> None:
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("patients"), epsilon="1")
    write(folder, SETTINGS.replace(*CORRECTIONS["key of a table"]))
    update(folder)
    with lw.open(folder, analyst="ana") as clinic:
        assert clinic.budget().left == 3
        assert clinic.ask(lw.count("patients"), epsilon="1").free, "its version is what it was"
        assert clinic.ask(lw.count("visits"), epsilon="1").value > 100, "each row is a person now"


def test_a_table_that_was_left_out_comes_back_with_the_right_key(folder) -> None:
    lw.create(folder, SETTINGS).close()
    first, second = SETTINGS.split("\n[populations.clinic.tables.visits]")
    write(folder, first)
    update(folder)
    write(folder, f'{first}\n[populations.clinic.tables.visits]\nperson_key = "person"{second}')
    update(folder)
    with lw.open(folder, analyst="ana") as clinic:
        assert clinic.ask(lw.count("visits"), epsilon="1").value > 100


@pytest.mark.parametrize("about", ["population", "table"])
def test_who_had_the_old_terms_in_memory_reads_nothing_after_the_correction(folder, about) -> None:
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as early:
        with early.ledger.store.reading():
            pass
        early.preview(lw.count("visits"), epsilon="1")
        with early._tables.hold(early.ledger.population("clinic").tables):
            pass  # the tables are open, with the old key
        write(folder, SETTINGS.replace(*CORRECTIONS["person_key" if about == "population" else "key of a table"]))
        update(folder)
        with pytest.raises(EngineError):
            early.ask(lw.count("visits"), epsilon="1")
        assert early.budget().left == 4, "it was refused before it was charged"
    assert "was corrected: it has another person key" in (folder / "failures.log").read_text()


def test_a_correction_between_the_look_and_the_charge_refuses_the_question(folder, monkeypatch) -> None:
    lw.create(folder, SETTINGS).close()
    with lw.open(folder, analyst="ana") as early:
        charge = early.ledger.questions.charge

        def late(request):
            write(folder, SETTINGS.replace(*CORRECTIONS["person_key"]))
            update(folder)
            return charge(request)

        monkeypatch.setattr(early.ledger.questions, "charge", late)
        with pytest.raises(EngineError):
            early.ask(lw.count("visits"), epsilon="1")
        assert early.budget().left == 4
        assert "answer" not in {entry["kind"] for entry in early.ledger.history("clinic")}


def test_analysts_who_are_not_named_are_refused_where_it_is_said(folder) -> None:
    lw.create(folder, SETTINGS.replace('person_key = "id"', 'person_key = "id"\nunnamed_analysts = "refused"')).close()
    with lw.open(folder, analyst="carl") as clinic:
        with pytest.raises(lw.errors.UnnamedAnalystError, match="ask the custodian for an allowance"):
            clinic.ask(lw.count("patients"), epsilon="1")
        assert "carl" in str(clinic.preview(lw.count("patients"), epsilon="1"))
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("patients"), epsilon="1")
    write(folder, SETTINGS)
    with pytest.raises(SettingsError, match="analysts without an allowance: the ledger has them refused"):
        lw.open(folder, analyst="carl")
    update(folder)
    with lw.open(folder, analyst="carl") as clinic:
        clinic.ask(lw.count("patients"), epsilon="2")


LIMITS = """
[populations.clinic.policy]
most = { epsilon = "2" }
noes_a_day = 2
"""


def test_what_one_question_may_cost_and_who_may_ask_about_what_is_said_in_the_file_and_kept(folder) -> None:
    lw.create(folder, SETTINGS).close()
    limited = SETTINGS.replace('ana = { epsilon = "4" }', 'ana = { epsilon = "4", tables = ["visits"] }') + LIMITS
    assert "tables = [" in limited
    write(folder, limited)
    with pytest.raises(SettingsError, match="the ledger keeps other limits of 'ana'"):
        lw.open(folder, analyst="ana")
    update(folder)
    with lw.open(folder, analyst="ana") as clinic:
        with pytest.raises(lw.errors.PolicyError, match="'ana' may ask about visits, and this is about patients"):
            clinic.ask(lw.count("patients"), epsilon="1")
        seen = clinic.preview(lw.count("patients"), epsilon="1")
        assert "may ask about visits" in str(seen)
        assert "not allowed" in repr(seen)
        clinic.ask(lw.count("visits"), epsilon="1")
        with pytest.raises(lw.errors.PolicyError, match="this is about patients"):
            clinic.stream(table="patients", at_least=1, yeses=1, epsilon="1")
    with lw.open(folder, analyst="bob") as clinic:
        with pytest.raises(lw.errors.PolicyError, match=r"epsilon 2\.5 is asked at once.*at most epsilon 2 may be"):
            clinic.ask(lw.count("patients"), epsilon="2.5")
        with pytest.raises(lw.errors.PolicyError):
            clinic.stream(table="patients", at_least=1, yeses=1, epsilon="2.5")
        assert "at once" in str(clinic.preview_stream(table="patients", at_least=1, yeses=1, epsilon="2.5"))
    write(folder, SETTINGS)
    update(folder)
    with lw.open(folder, analyst="ana") as clinic:
        clinic.ask(lw.count("patients"), epsilon="1")


def test_a_table_that_there_is_not_is_refused_with_its_line(folder) -> None:
    lw.create(folder, SETTINGS).close()
    write(folder, SETTINGS.replace('ana = { epsilon = "4" }', 'ana = { epsilon = "4", tables = ["notes"] }'))
    with pytest.raises(SettingsError, match="notes"):
        update(folder)
