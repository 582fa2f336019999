"""A workspace is made as a whole or not at all, and what the ledger knows is written as settings that agree with it."""

import stat

import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.vocabulary.errors import LapwingError, RegistrationError, SettingsError
from lapwing.workspace.creating import _segment, _settings_of, create
from lapwing.workspace.settings import read_settings

TEXT = """
[populations.clinic]
person_key = "id"
adjacency = "replace"
budget = { epsilon = "3" }
unnamed_analysts = "refused"
[populations.clinic.analysts]
ana = { epsilon = "1", tables = ["patients"], most = { epsilon = "0.5" } }
[populations.clinic.policy]
most = { epsilon = "0.5" }
noes_a_day = 7
[populations.clinic.segments]
"north: upper" = { first = 1, last = 9 }
[populations.clinic.tables.patients]
source = "patients.parquet"
"""
FRAME = pa.table({"id": [1, 2, 3]})


def test_a_frame_becomes_a_file_that_only_its_owner_reads(quick_path) -> None:
    create(quick_path / "clinic", TEXT, frames={"patients": FRAME}).close()
    written = (quick_path / "clinic" / "patients.parquet").stat()
    assert stat.S_IMODE(written.st_mode) == 0o600
    with lw.open(quick_path / "clinic", analyst="ana") as session:
        assert session.preview(lw.count("patients"), epsilon="0.1").price


@pytest.mark.parametrize(
    ("text", "frames", "said"),
    [
        (TEXT, {}, "patients.parquet"),
        (TEXT, {"others": FRAME}, "is not declared"),
        (TEXT.replace(".parquet", ".csv"), {"patients": FRAME}, r"no \.parquet file"),
        (TEXT.replace('"id"', '"pid"'), {"patients": FRAME}, "pid"),
        ("[populations]", {}, "no population is declared"),
    ],
    ids=["no file", "another frame", "no parquet", "no key", "nobody"],
)
def test_what_cannot_be_made_leaves_nothing_behind_but_its_reason(quick_path, text, frames, said) -> None:
    with pytest.raises(LapwingError, match=said):
        create(quick_path / "clinic", text, frames=frames)
    assert {path.name for path in (quick_path / "clinic").glob("*")} <= {"failures.log"}  # which has the reason


def test_what_is_there_already_is_not_written_over(quick_path) -> None:
    create(quick_path, TEXT, frames={"patients": FRAME}).close()
    before = {path.name: path.read_bytes() for path in quick_path.iterdir() if path.suffix != ".lock"}
    with pytest.raises(SettingsError, match="is there already"):
        create(quick_path, TEXT)
    (quick_path / "lapwing.toml").unlink()
    with pytest.raises((RegistrationError, SettingsError)):
        create(quick_path, TEXT, frames={"patients": FRAME})
    del before["lapwing.toml"]
    assert {name: (quick_path / name).read_bytes() for name in before} == before


def test_what_the_ledger_knows_is_written_as_settings_that_agree_with_it(quick_path) -> None:
    with create(quick_path, TEXT, frames={"patients": FRAME}) as workspace:
        text = _settings_of(workspace.ledger, "postgresql://db/x")
        ours = workspace.settings.declared()
    again = read_settings(quick_path, text)
    theirs = again.declared("clinic")
    assert again.ledger == "postgresql://db/x"
    for name in ("budget", "analysts", "limits", "most", "noes_a_day", "only_named"):
        assert getattr(theirs, name) == getattr(ours, name), name
    assert theirs.population.unit == ours.population.unit
    assert theirs.population.segments == ours.population.segments
    assert theirs.sources == {}


def test_a_segment_is_read_from_what_the_ledger_calls_it() -> None:
    assert _segment("north: upper: 1 to 9") == ("north: upper", {"first": 1, "last": 9})
