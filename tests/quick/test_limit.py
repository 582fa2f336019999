"""The quick lane ends in time, runs what is nearest first, and says what it left out."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from mutation.places import ROOT, TESTS
from quick import __main__ as quick
from quick import limit

RUN = """
import json, sys, pytest
from quick import limit
code = pytest.main(["-q", "-p", "quick.limit", "-p", "no:cacheprovider", *sys.argv[1:]])
print(json.dumps([int(code), list(limit.there), list(limit.ran)]))
"""
LATER = "def test_on_spark(): pass\ndef test_one(): pass\n"
LONG = """
import os, signal, time
def test_long():
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 0  # somebody will ring; here it is made to be soon
    os.environ["LAPWING_QUICK_UNTIL"] = "0"
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(600)
def test_after_it(): pass
"""


def run(folder: Path, *options: str) -> tuple[int, list[str], list[str]]:
    """Run tests, the later file first; return how it ended, what there was and what was run."""
    environment = {**os.environ, limit.UNTIL: str(time.monotonic() + 600), "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", RUN, *options, "test_b.py", "test_a.py"]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    code, there, ran = json.loads(done.stdout.splitlines()[-1])
    return code, there, ran


@pytest.mark.parametrize("options", [("-n0",), ("-n1", "--dist=loadfile", "--no-loadscope-reorder")], ids=" ".join)
def test_a_test_that_takes_too_long_is_ended_and_no_other_begins(tmp_path, options) -> None:
    (tmp_path / "test_b.py").write_text(LATER)
    (tmp_path / "test_a.py").write_text(LONG)
    code, there, ran = run(tmp_path, *options)
    assert (code, ran) == (0, ["test_b.py::test_one", "test_b.py::test_on_spark"])
    assert set(there) == {*ran, "test_a.py::test_long", "test_a.py::test_after_it"}


def test_a_failure_is_a_failure(tmp_path) -> None:
    (tmp_path / "test_b.py").write_text(LATER)
    (tmp_path / "test_a.py").write_text("import pytest\n@pytest.fixture\ndef f(): 1 / 0\ndef test_it(f): pass\n")
    code, there, ran = run(tmp_path, "-n0")
    assert (code, sorted(ran)) == (1, sorted(there))
    assert ran == ["test_b.py::test_one", "test_b.py::test_on_spark", "test_a.py::test_it"]


@pytest.fixture
def told(monkeypatch):
    """Return a way to see what is said of a run, without running anything."""

    def tell(files, *options, there=(), ran=(), code=0):
        asked = []
        monkeypatch.setattr(quick, "changed", lambda _since: files)
        monkeypatch.setattr(quick.pytest, "main", lambda words: asked.extend(words) or code)
        monkeypatch.setattr(limit, "there", dict.fromkeys(there))
        monkeypatch.setattr(limit, "ran", dict.fromkeys(ran, 1))
        monkeypatch.setenv("PYTHONPATH", "")
        monkeypatch.setenv(limit.UNTIL, "")
        ended = CliRunner().invoke(quick.main, ["--since", "HEAD", *options])
        return ended.exit_code, ended.output, asked

    return tell


def test_it_says_what_was_run_and_what_was_not(told) -> None:
    files = [ROOT / "src" / "lapwing" / "vocabulary" / "exact.py"]  # which nearly everything stands on
    near = "tests/vocabulary/test_exact.py"
    code, output, asked = told(files, there=[f"{near}::one", f"{near}::two"], ran=[f"{near}::one"], code=1)
    assert code == 1
    assert "1 files have changed since HEAD\n  src/lapwing/vocabulary/exact.py" in output
    assert f"ran 1 tests\n      1 of {near}\n" in output
    assert f"LEFT OUT 1 tests of these files, for 100 seconds were over\n      1 of {near}\n" in output
    assert "test files that are farther away" in output
    assert "make test runs all that there is" in output
    assert near in asked
    assert "--dist=loadfile" in asked


def test_nothing_is_run_where_nothing_has_changed_or_a_list_is_enough(told) -> None:
    code, output, asked = told([])
    assert (code, asked) == (0, [])
    assert "0 test files examine them; nothing was run" in output
    code, output, asked = told([ROOT / "tests" / "test_readme.py"], "--list")
    assert (code, asked) == (0, [])
    assert "tests/test_readme.py\n1 test files examine them" in output


def test_it_is_in_the_makefile_and_ends_within_two_minutes() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "-m quick" in makefile
    seconds = next(option.default for option in quick.main.params if option.name == "seconds")
    assert seconds <= 100  # and 20 for what ends, and what is said
