"""The test that saw a mistake the last time: it is asked first, so that a run is short when little has changed.

A mistake that lets no test of a file begin is seen by the file.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from mutation.mistakes import Mutant
from mutation.places import ROOT
from mutation.running import Ended, Rewriting, Run, run_all

FILE = Path(__file__).with_suffix(".json")


def name_of(mutant: Mutant) -> str:
    """Return what a mistake is known by, wherever in its file it stands."""
    return f"{mutant.path} {mutant.title}"


def read() -> dict[str, str]:
    """Return the witness of each mistake that was seen."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def remember(seen: Mapping[str, str]) -> None:
    """Keep the witnesses for the next run."""
    FILE.write_text(json.dumps(dict(sorted(seen.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def file_of(test: str) -> Path:
    """Return the file that a test is in."""
    return ROOT / test.partition("::")[0]


def sound(tests: Iterable[str], processes: int) -> set[str]:
    """Return those of the tests that are there and pass without a mistake; the others say nothing."""
    there = dict.fromkeys(sorted(test for test in set(tests) if file_of(test).exists()), 0.0)
    files = sorted({file_of(test) for test in there})
    passed: set[str] = set()

    def ended(part: int, how: Ended) -> None:
        whole = {test for test in there if how.told and "::" not in test and file_of(test) in files[part::processes]}
        passed.update({*how.told.get("tests", {}), *whole} - set(how.told.get("failed", ())))
        if how.code < 0:
            click.echo(f"without a mistake: {how.last_words}")

    nothing = Rewriting(frozenset(), lambda _path, _source: None)
    runs = ((part, Run(files[part::processes], nothing, there, to_the_end=True)) for part in range(processes))
    run_all(runs, processes, ended)
    return passed
