"""A workspace that is not made yet: what is decided is written so that it is read again, the rest is a comment."""

from pathlib import Path

import pytest

from lapwing.sources import FileSource
from lapwing.vocabulary.errors import ParameterError, SettingsError
from lapwing.workspace.declaration import Declaration
from lapwing.workspace.draft import Draft, require_new
from lapwing.workspace.settings import read_settings

WHOLE = {"person_key": "patient id", "budget": {"epsilon": "3"}}


def test_all_that_is_decided_is_read_again(tmp_path) -> None:
    table = Declaration(name="t", source=FileSource(path=tmp_path / "t.csv"), left_out={"x": None, "y": "text"})
    draft = Draft(
        folder=tmp_path,
        population="the ward",
        adjacency="replace",
        groups_of=2,
        only_named=True,
        ledger="postgresql://db/x",
        analysts={"ana o": {"epsilon": "1"}},
        tables=(table,),
        **WHOLE,
    )
    settings = read_settings(tmp_path, draft.text())
    declared = settings.declared("the ward")
    unit = declared.population.unit
    assert (unit.person_key, unit.adjacency.value, unit.protects_groups_of) == ("patient id", "replace", 2)
    assert (declared.only_named, list(declared.analysts), list(declared.sources)) == (True, ["ana o"], ["t"])
    assert (settings.ledger, declared.population.tables[0].columns) == ("postgresql://db/x", ())
    assert '# y = { type = "category", values = [...] }    or { type = "text" }' in draft.text()
    assert "# x = { type = ... }" in draft.text()


def test_what_is_not_decided_is_a_comment_and_named_as_missing() -> None:
    draft = Draft()
    for line in ('# person_key = "patient_id"', '# budget = { epsilon = "3" }', "# protects_groups_of = 1"):
        assert line in draft.text().splitlines()
    assert draft.missing == ["FOLDER", "--person-key COLUMN", "--epsilon NUMBER (or --rho NUMBER)"]
    assert Draft(folder=Path("clinic"), **WHOLE).missing == []


def test_people_are_called_like_their_folder_if_nobody_decides_otherwise(tmp_path) -> None:
    assert Draft(folder=tmp_path / "clinic").name == "clinic"
    assert Draft(folder=tmp_path / "clinic", population="ward").name == "ward"
    assert Draft(folder=Path("/")).name == "people"


def test_a_folder_that_is_a_workspace_already_or_no_folder_is_refused(tmp_path) -> None:
    require_new(tmp_path)
    (tmp_path / "lapwing.toml").write_text("")
    with pytest.raises(SettingsError, match="is there already"):
        require_new(tmp_path)
    with pytest.raises(ParameterError, match="cannot be a folder"):
        Draft(folder=Path("a\0b"))
