"""What `make fuzz` says: each fuzzer tells how much it has looked at, and one that looked at nothing has failed."""

import sys
from collections import Counter
from types import ModuleType

import pytest
from click.testing import CliRunner

from fuzz.__main__ import FUZZERS, main


def told(monkeypatch, run):
    """Return the exit status and the words of `make fuzz` with one fuzzer."""
    module = ModuleType("fuzz.sql")
    module.run = run
    monkeypatch.setitem(sys.modules, "fuzz.sql", module)
    result = CliRunner().invoke(main, ["--seconds", "1", "--seed", "5", "sql"])
    return result.exit_code, result.output


def test_a_line_says_how_much_was_looked_at(monkeypatch) -> None:
    status, words = told(monkeypatch, lambda *_: Counter(drawn=9000, compared=321))
    assert status == 0
    assert "fuzz.sql: 9,000 drawn, 321 compared; nothing found" in words


@pytest.mark.parametrize("tally", [None, Counter(), Counter(drawn=7, compared=0)])
def test_a_fuzzer_that_looked_at_nothing_fails(tally, monkeypatch) -> None:
    status, words = told(monkeypatch, lambda *_: tally)
    assert status == 1
    assert "it looked at nothing" in words


def test_what_was_found_is_told_and_fails(monkeypatch) -> None:
    def run(*_):
        raise AssertionError("a wrong number")

    status, words = told(monkeypatch, run)
    assert status == 1
    assert "a wrong number" in words
    assert "found something: sql" in words


def test_every_fuzzer_has_its_run() -> None:
    assert {"neighbours", "kills", "damage", "sql"} <= set(FUZZERS)
