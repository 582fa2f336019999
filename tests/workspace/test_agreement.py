"""Settings and ledger agree: an edit is refused with its line until an update brings it along, and some never are."""

import pytest

import lapwing as lw
from lapwing.tables import Fingerprints
from lapwing.vocabulary.errors import SettingsError
from lapwing.workspace.agreement import Agreement, unreadable
from lapwing.workspace.settings import read_settings

TEXT = """\
[populations.clinic]
person_key = "id"
budget = { epsilon = "3" }
unnamed_analysts = "allowed"
[populations.clinic.analysts]
ana = { epsilon = "1" }
[populations.clinic.policy]
noes_a_day = 9
[populations.clinic.tables.patients]
source = "patients.csv"
columns.age = { type = "integer", low = 0, high = 120 }
"""
MORE = '[populations.clinic.tables.more]\nsource = "more.csv"\n'
EDITS = {
    "a population": ("clinic", "ward", 1, "population 'ward' is not in the ledger"),
    "the budget": ('"3"', '"4"', 3, "this is not the budget that the ledger keeps"),
    "an allowance": ('ana = { epsilon = "1" }', 'ana = { epsilon = "2" }', 6, "another allowance of 'ana'"),
    "limits": ('epsilon = "1" }', 'epsilon = "1", tables = ["patients"] }', 6, "other limits of 'ana'"),
    "the policy": ("noes_a_day = 9", "noes_a_day = 8", 7, "noes a day"),
    "who may ask": ('"allowed"', '"refused"', 4, "the ledger has them allowed"),
    "who is protected": (
        'person_key = "id"',
        'person_key = "id"\nprotects_groups_of = 2',
        3,
        "protects_groups_of is not what",
    ),
}


@pytest.fixture
def workspace(quick_path):
    for name in ("patients", "more"):
        (quick_path / f"{name}.csv").write_text("id,age\n1,5\n2,7\n" + f"{len(name)},9\n")
    with lw.create(quick_path, TEXT) as made:
        yield made


def agreement(workspace) -> Agreement:
    return Agreement(workspace.ledger, Fingerprints(workspace.folder / "fingerprints.json"))


def declared(workspace, text=TEXT):
    return read_settings(workspace.folder, text).declared()


def test_what_was_made_together_agrees(workspace) -> None:
    agreement(workspace).require(declared(workspace))
    assert not agreement(workspace).is_new(declared(workspace), "patients")


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_waits_for_an_update_which_brings_it_along(workspace, edit) -> None:
    old, new, line, said = EDITS[edit]
    edited, both = declared(workspace, TEXT.replace(old, new)), agreement(workspace)
    with pytest.raises(SettingsError, match="bring the ledger up to date on purpose") as refused:
        both.require(edited)
    assert said in str(refused.value)
    assert refused.value.line == line
    if edit != "a population":
        both.require_possible(edited)
        both.update(edited)
        both.require(edited)


def test_a_new_table_is_new_until_the_ledger_has_it(workspace) -> None:
    edited, both = declared(workspace, TEXT + MORE), agreement(workspace)
    assert (both.is_new(edited, "more"), both.is_new(edited, "patients")) == (True, False)
    with pytest.raises(SettingsError, match="table 'more' is not in the ledger"):
        both.require(edited)
    both.update(edited)
    both.require(edited)
    assert not both.is_new(edited, "more")


def test_once_something_was_asked_a_budget_never_falls_and_people_stay_who_they_are(workspace) -> None:
    workspace.session(analyst="ana").ask(lw.count("patients"), epsilon="0.5")
    both = agreement(workspace)
    for old, new in (('"3"', '"2"'), ('person_key = "id"', 'person_key = "age"')):
        with pytest.raises(SettingsError):
            both.require_possible(declared(workspace, TEXT.replace(old, new)))
    both.require_possible(declared(workspace, TEXT.replace('"3"', '"4"')))


def test_what_cannot_be_read_is_named_alone_and_logged(workspace) -> None:
    (workspace.folder / "more.csv").write_text("id,age\n1,5,6\n")
    logged: list[Exception] = []
    found = unreadable(declared(workspace, TEXT + MORE), logged.append)
    assert list(found) == ["more"]
    assert logged
    assert unreadable(declared(workspace), logged.append) == {}
