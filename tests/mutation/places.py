"""Where mistakes are made, and which tests must notice them.

Tests mirror the source: a file `a/b/c.py` of lapwing is examined by the tests in `tests/a/b` and in `tests/a`, and by
those of `MORE`. Which of them reach the piece of code in question is seen in a run without mistakes.
"""

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"

CRITICAL = (
    "accounting/filters/*",
    "accounting/losses/*",
    "answers/choosing.py",
    "answers/releases.py",
    "ledger/book.py",
    "ledger/questions.py",
    "ledger/replay.py",
    "ledger/spending.py",
    "ledger/streams.py",
    "mechanisms/*",
    "queries/aggregate.py",
    "queries/planning.py",
    "queries/sensitivity.py",
    "queries/totality.py",
    "session.py",
    "streams.py",
)
"""What bounds, prices or charges: no mistake may stay unseen there."""

ACCURACY = (
    "mechanisms/margins.py",
    "mechanisms/sparse_vector/law_probabilities.py",
    "mechanisms/sparse_vector/stream_accuracy.py",
    "mechanisms/sparse_vector/stream_advice.py",
)
"""What only says how far off an answer is."""

FURTHER = ("accounting/*", "answers/*", "ledger/*", "queries/*", *ACCURACY)
"""What the critical files stand on, and what is said of their answers."""

MORE = {
    "accounting": ("tests/mechanisms/test_partition_selection.py",),
    "answers": ("tests/session",),
    "ledger": ("tests/contracts/test_ledger.py", "tests/session"),
    "mechanisms": ("tests/contracts/test_mechanism.py", "tests/answers"),
    "queries": ("tests/answers", "tests/engines/test_totality.py", "tests/session"),
    "session.py": ("tests/session", "tests/answers"),
    "streams.py": ("tests/session", "tests/answers"),
}
"""Tests of a part beside those that lie where it lies."""

ELSEWHERE = (
    "postgres",
    "test_after_the_charge.py",
    "test_turns.py",
    "test_damage.py",
    "test_docs.py",
    "test_documentation.py",
)
"""Test files that wait for servers or other processes, run documents, or take minutes."""


def critical_files() -> list[Path]:
    """List the files in which no mistake may stay unseen."""
    accuracy = source_files(ACCURACY)
    return [path for path in source_files(CRITICAL) if path not in accuracy]


def source_files(patterns: tuple[str, ...]) -> list[Path]:
    """List the files of lapwing that one of `patterns` names, as paths from its own folder."""
    package = SOURCE / "lapwing"
    files = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    missing = [pattern for pattern in patterns if not any(fnmatch(str(path), pattern) for path in files)]
    if missing:
        raise FileNotFoundError(f"no file of lapwing is called {', '.join(missing)}; correct the lists in {__file__}")
    return [path for path in files if any(fnmatch(str(path), pattern) for pattern in patterns)]


def nearest_tests(path: Path) -> list[Path]:
    """List the test files for a file of lapwing, the nearest first."""
    return list(dict.fromkeys(_nearest_tests(path)))


def _nearest_tests(path: Path) -> Iterator[Path]:
    tests = ROOT / "tests"
    for folder in path.parents:
        nearest = tests / folder / f"test_{path.stem}.py"
        if nearest.exists():
            yield nearest
    for folder in path.parents:
        if folder.parts:
            yield from sorted((tests / folder).glob("test_*.py"))
    for more in MORE.get(path.parts[0], ()):
        found = ROOT / more
        yield from sorted(found.glob("test_*.py")) if found.is_dir() else [found]


def waits_for_others(test: Path) -> bool:
    """Whether a test file takes servers, documents or minutes."""
    return any(word in test.name for word in ELSEWHERE)
