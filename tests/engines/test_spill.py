"""Spilled rows: readable by nobody else, gone with the engine, and gone after a kill when the next one opens."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from lapwing.engines.duckdb import DuckDB, SpillFolder
from lapwing.queries.catalogue.population import Population, Table
from lapwing.vocabulary.guarantee import PrivacyUnit

KILLED = """
import os, signal
from lapwing.engines.duckdb import SpillFolder
folder = SpillFolder()
(folder.path / "rows.tmp").write_text("SECRET")
print(folder.path, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A place for temporary files of its own, here and in processes that are started."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def left_by_the_dead():
    """The folder of a process that was killed."""
    dead = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, check=False)
    assert dead.returncode == -signal.SIGKILL
    return Path(dead.stdout.decode().strip())


def test_what_a_killed_process_spilled_is_removed_when_the_next_engine_opens(place) -> None:
    folder = left_by_the_dead()
    assert folder.parent == place
    assert (folder / "rows.tmp").read_text(encoding="utf-8") == "SECRET"
    clinic = Population(name="clinic", unit=PrivacyUnit(person_key="pid"), tables=(Table(name="patients", columns=()),))
    with DuckDB(clinic, {"patients": pa.table({"pid": [1]})}):
        assert not folder.exists()
        assert len(list(place.iterdir())) == 1
    assert list(place.iterdir()) == []


def test_the_folder_of_a_living_process_is_left_alone_and_only_its_user_may_enter(place) -> None:
    living = SpillFolder()
    other = SpillFolder()
    assert {living.path, other.path} == set(place.iterdir())
    assert living.path.stat().st_mode & 0o777 == 0o700
    living.close()
    living.close()
    assert list(place.iterdir()) == [other.path]
    other.close()


def test_folders_that_are_not_ours_are_left_alone(place) -> None:
    (place / "lapwing-spill-being-made").mkdir()
    (place / "elsewhere").mkdir()
    (place / "lapwing-spill-link").symlink_to(place / "elsewhere")
    (place / "elsewhere" / "owner").write_text("", encoding="utf-8")
    SpillFolder().close()
    assert len(list(place.iterdir())) == 3


def test_a_process_that_was_forked_off_leaves_the_folder_to_the_one_that_made_it(place) -> None:
    folder = SpillFolder()
    child = os.fork()
    if child == 0:  # pragma: no cover - in the other process
        folder.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.exists()
    folder.close()
    assert list(place.iterdir()) == []
