"""Files are known by their content: what changed under one data version is noticed, whatever it looks like outside."""

import os

import pytest

from crashes.forking import waits_for_its_fork
from lapwing.fingerprints import Fingerprints
from lapwing.vocabulary.errors import RegistrationError

BEFORE, AFTER = "id,age\n1,30\n2,40\n", "id,age\n1,30\n2,41\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "patients.csv"
    path.write_text(BEFORE)
    return path


@pytest.fixture
def known(tmp_path):
    return Fingerprints(tmp_path / "fingerprints.json")


def overwrite(path) -> None:
    path.write_text(AFTER)


def overwrite_and_set_the_clock_back(path) -> None:
    was = path.stat()
    path.write_text(AFTER)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def put_another_file_there(path) -> None:
    was = path.stat()
    other = path.with_suffix(".new")
    other.write_text(AFTER)
    os.utime(other, ns=(was.st_atime_ns, was.st_mtime_ns))
    other.rename(path)


@pytest.mark.parametrize("edit", [overwrite, overwrite_and_set_the_clock_back, put_another_file_there])
def test_an_edit_of_the_same_size_is_refused_under_the_same_version(known, file, edit) -> None:
    content = known.check("clinic", "patients", 1, file)
    edit(file)
    assert file.stat().st_size == len(BEFORE)
    assert known.changed("clinic.patients", 1, file)
    for _ in range(2):  # a refusal takes nothing down
        with pytest.raises(RegistrationError, match="has changed, and its data version is still 1"):
            known.check("clinic", "patients", 1, file)
    assert known.check("clinic", "patients", 2, file) != content


def test_a_file_that_was_only_touched_or_copied_is_the_same(known, file) -> None:
    content = known.check("clinic", "patients", 1, file)
    os.utime(file)
    file.write_text(BEFORE)
    assert not known.changed("clinic.patients", 1, file)
    assert known.check("clinic", "patients", 1, file) == content


def test_a_fork_while_fingerprints_are_written_keeps_nobody_waiting(known, file, monkeypatch) -> None:
    def check_two_versions() -> None:
        for version in (1, 2):
            known.check("clinic", "patients", version, file)

    assert not waits_for_its_fork(check_two_versions, os, "fsync", monkeypatch)
