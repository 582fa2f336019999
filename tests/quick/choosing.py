"""Which tests are run for which changed files, the nearest first. It follows from imports and names; nothing is kept.

How near a test is to a module is measured as the mutation tests measure it (`mutation.places.nearest_tests`). A file
that is not imported, such as a page or a template, is examined by the tests that name it.
"""

import re
import subprocess
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path

from mutation.places import ELSEWHERE, ROOT, SOURCE, TESTS, helpers_of, nearest_tests

GUARDS = ("tests/test_architecture.py", "tests/proofs/test_proofs.py", "tests/test_surface.py")
"""Tests that read the whole source, in seconds: rules that no linter knows, stamps of proofs, what is public."""
PAGES = (ROOT / "docs", ROOT / "README.md")
IGNORED = re.compile(r'"--ignore=([^"]+)"')
"""Pages that are no doctests, as pyproject.toml names them."""


def begun_at() -> str:
    """Return the commit where the work began: where this branch left main, or on main the last commit."""
    for main in ("main", "origin/main"):
        if base := _git("merge-base", "HEAD", main, check=False):
            return base[0]
    return "HEAD"


def changed(since: str) -> list[Path]:
    """List the files that are not as they were in a commit, new and deleted ones among them."""
    names = {*_git("diff", "--name-only", "--no-renames", since), *_git("ls-files", "--others", "--exclude-standard")}
    return [ROOT / name for name in sorted(names)]


def chosen(files: Iterable[Path]) -> list[Path]:
    """List what pytest runs for changed files: changed tests and examples, guards, then what is near each, in turns."""
    files = list(files)
    own = [file for file in files if file.exists() and _runs(file)]
    guards = [ROOT / name for name in GUARDS] if any(SOURCE in file.parents for file in files) else []
    near = chain.from_iterable(zip_longest(*map(near_to, files)))
    return list(dict.fromkeys(test for test in (*own, *guards, *near) if test is not None))


def near_to(file: Path) -> list[Path]:
    """List the test files that examine a file, the nearest first."""
    if file.suffix == ".py" and SOURCE in file.parents:
        path = file.relative_to(SOURCE / "lapwing")
        words = [word for word in ELSEWHERE if word not in str(path)]
        return sorted(nearest_tests(path, elsewhere=()), key=lambda test: _is_about(test, words))
    if file.name == "conftest.py":
        return sorted(file.parent.rglob("test_*.py"))
    if file.suffix == ".py" and TESTS in file.parents:
        needed_by = [test for test in _tests() if file in helpers_of(test)]
        return sorted(needed_by, key=lambda test: (file.parent not in test.parents, test))
    named = sorted(
        (test for test in _tests() if _names(test, file)), key=lambda test: file.parent.name not in test.stem
    )
    beside = next((found for folder in file.parents if (found := sorted(folder.glob("*.py")))), [])
    served = chain.from_iterable(zip_longest(*map(near_to, beside))) if SOURCE in file.parents else ()
    return list(dict.fromkeys(test for test in (*named, *served) if test is not None))


def _runs(file: Path) -> bool:
    """Whether pytest runs something in a file: a test, or the examples of a docstring or of a page."""
    if file.suffix == ".py":
        return SOURCE in file.parents or (TESTS in file.parents and file.name.startswith("test_"))
    ignored = IGNORED.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    is_page = file.suffix == ".md" and any(page in {file, *file.parents} for page in PAGES)
    return is_page and str(file.relative_to(ROOT)) not in ignored


def _names(test: Path, file: Path) -> bool:
    """Whether a test names a file, or the folder of the repository that it is in, as a whole word in quotes."""
    text = test.read_text(encoding="utf-8")
    folder = file.relative_to(ROOT).parts[0]
    return file.name in text or (folder not in {"docs", "src", "tests"} and f'"{folder}"' in text)


def _is_about(test: Path, words: Iterable[str]) -> bool:
    return any(word in str(test.relative_to(ROOT)) for word in words)


def _tests() -> list[Path]:
    return sorted(TESTS.rglob("test_*.py"))


def _git(*words: str, check: bool = True) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, check=check, capture_output=True, text=True)  # noqa: S607 - the one on the path
    return done.stdout.splitlines()
