"""Names and texts that every database can hold, and the file that says how far a ledger has come."""

import os
import stat

import pytest

from lapwing.ledger.entries import HeadFile, Receipt, name, text
from lapwing.vocabulary.errors import ParameterError


@pytest.mark.parametrize("given", ["clinic", "St. Mary's, ward 3", "école", "診療所", "a" * 200])
def test_a_name_is_what_people_would_call_a_thing(given) -> None:
    assert name("population", given) == given


@pytest.mark.parametrize(
    "given",
    ["", " ", " x", "x\n", "a\0b", "a" * 201, "e\u0301cole", "x\u200by\u202e", "\ud800", None, 7, b"clinic"],
    ids=repr,
)
def test_other_names_are_refused(given) -> None:
    with pytest.raises(ParameterError, match="is not a name"):
        name("population", given)


@pytest.mark.parametrize("given", ["a\0b", "\ud800", 7, None, "x" * (1 << 24) + "x"], ids=lambda given: repr(given)[:9])
def test_text_that_some_database_cannot_hold_is_refused(given) -> None:
    with pytest.raises(ParameterError):
        text("answer", given)


def test_any_other_text_is_taken_as_it_is() -> None:
    assert text("answer", "\t\r\n\x01 é 診 \U0001f600") == "\t\r\n\x01 é 診 \U0001f600"


def test_a_head_file_is_on_the_disk_with_its_name_and_its_owner_alone_reads_it(tmp_path, monkeypatch) -> None:
    folders = []

    def watched(descriptor, fsync=os.fsync) -> None:
        found = os.fstat(descriptor)
        folders.extend([found.st_ino] if stat.S_ISDIR(found.st_mode) else [])
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    head = HeadFile(tmp_path / "ledger.head")
    head.begin("clinic")
    assert folders == [tmp_path.stat().st_ino]
    assert stat.S_IMODE(head.path.stat().st_mode) == 0o600
    head.accept(Receipt(ledger="clinic", seq=3, hash="00" * 32))
    assert folders == [tmp_path.stat().st_ino] * 2
    assert head.promised().seq == 3
    assert list(tmp_path.iterdir()) == [head.path]
