"""Where mistakes are made, and which tests must notice them. Both follow from the source, so that files may move.

What bounds, prices or charges is what a proof speaks of (its stamps say where), and the seam between the proved parts:
answers, session and streams. A file is examined by the tests that import it, or that import what imports it; which of
them reach the piece of code in question is seen in a run without mistakes.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"

PLACES = ("accounting/*", "answers/*", "ledger/*", "mechanisms/*", "queries/*", "session.py", "streams.py", "rounds.py")
SEAM = ("answers/*", "session.py", "streams.py", "rounds.py")
STAMP = re.compile(r"^- `lapwing\.([\w.]+)(?::[\w.]+)?` `[0-9a-f]{16}`$", re.MULTILINE)

TELLING = (
    "margin",
    "accuracy",
    "advice",
    "estimates",
    "tails",
    "bounds",
    "law_probabilities",
    "interpretation",
    "answer.py",
    "budget.py",
)
TELLING += (
    "budget.py",
    "preview",
    "verdicts",
    "canvas",
    "pictures",
    "frames",
    "history",
    "cells",
    "stream_answers",
    "__init__",
)
"""Words of files that say how far off an answer is, or what it means, and decide nothing."""

ELSEWHERE = ("postgres", "spark", "crashes", "fuzz", "golden", "audit/", "proofs", "mutation", "browser", "test_readme")
ELSEWHERE += ("test_after_the_charge", "documentation", "test_docs", "examples", "benchmark")
"""Words of test files that wait for servers or other processes, run documents, take minutes, or see everything."""

SERVED = "postgres"
"""The word in the name of a file that only tests with a server can examine, and of such tests."""


def critical_files() -> list[Path]:
    """List the files in which no mistake may stay unseen."""
    stamps = [STAMP.findall(proof.read_text(encoding="utf-8")) for proof in ROOT.glob("proofs/*.md")]
    proved = {Path(*module.split(".")).with_suffix(".py") for some in stamps for module in some}
    seam = source_files(SEAM)
    deciding = [path for path in source_files(PLACES) if not any(word in path.name for word in TELLING)]
    return [path for path in deciding if path in proved or path in seam]


def source_files(patterns: Iterable[str]) -> list[Path]:
    """List the files of lapwing that one of `patterns` names, as paths from its own folder."""
    package = SOURCE / "lapwing"
    files = sorted(path.relative_to(package) for path in package.rglob("*.py"))
    missing = [pattern for pattern in patterns if not any(fnmatch(str(path), pattern) for path in files)]
    if missing:
        raise FileNotFoundError(f"no file of lapwing is called {', '.join(missing)}")
    return [path for path in files if any(fnmatch(str(path), pattern) for pattern in patterns)]


def nearest_tests(path: Path, elsewhere: Iterable[str] = ELSEWHERE) -> list[Path]:
    """List the test files for a file of lapwing, the nearest first: those that import it, and what imports it."""
    module = ".".join(("lapwing", *path.with_suffix("").parts)).removesuffix(".__init__")
    elsewhere = [word for word in elsewhere if word != SERVED or not is_served(path)]
    steps = {
        test: away[module]
        for test, away in _distances().items()
        if module in away and not any(word in str(test.relative_to(ROOT)) for word in elsewhere)
    }

    def rank(test: Path) -> tuple[bool, bool, int, Path]:
        beside = TESTS != test.parent in (TESTS / (path if path.parent.parts else Path("session", path))).parents
        alike = f"test_{path.stem}_".startswith(f"{test.stem}_")  # test_sql is about sql_rows, too
        return not (alike and beside), not alike, steps[test] + 1 - beside, test

    return sorted(steps, key=rank)


@cache
def _distances() -> Mapping[Path, Mapping[str, int]]:
    """Return, for each test file, how many imports it is away from each module of lapwing."""
    graph = {_module(path): _imported(path) for path in (SOURCE / "lapwing").rglob("*.py")}
    return {test: _away(_imported_by_test(test), graph) for test in TESTS.rglob("test_*.py")}


def is_served(path: Path) -> bool:
    """Whether a file of lapwing is examined by tests that need a server, too."""
    return SERVED in path.name


def sources_of(test: Path) -> list[Path]:
    """List the files on which it depends what a test reaches: itself, what helps it, and what is imported."""
    modules = {_module(path): path for path in (SOURCE / "lapwing").rglob("*.py")}
    reached = (modules[name] for name in _distances()[test] if name in modules)
    return [test, *sorted({*helpers_of(test), *reached})]


def _away(first: Iterable[str], graph: Mapping[str, Iterable[str]]) -> dict[str, int]:
    away, step, edge = {}, 0, set(first)
    while edge:
        away |= dict.fromkeys(edge, step)
        edge = {near for module in edge for near in graph.get(module, ())} - away.keys()
        step += 1
    return away


def _module(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported_by_test(path: Path) -> set[str]:
    """Return the modules of lapwing that a test, or a module that helps it, imports."""
    found = {name for file in (path, *helpers_of(path)) for name in _imported(file)}
    return {name for name in found if name.startswith("lapwing")}


def helpers_of(path: Path, seen: tuple[Path, ...] = ()) -> set[Path]:
    """Return the modules that help a test, and what helps these."""
    found = _imported(path)
    beside = [path.parent / "conftest.py"] if path.name.startswith("test_") else []
    helpers = [TESTS / Path(*name.split(".")).with_suffix(".py") for name in found if not name.startswith("lapwing")]
    new = {helper for helper in (*helpers, *beside) if helper.exists() and helper not in seen}
    return new.union(*(helpers_of(helper, (*seen, *new)) for helper in new))


@cache
def _imported(path: Path) -> frozenset[str]:
    """Return what a file imports: modules, and modules that a public package shows a name of."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found, shown, front = set(), _public_names(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            front |= {alias.asname or "lapwing" for alias in node.names if alias.name == "lapwing"}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {node.module, *names, *(shown[name] for name in names if name in shown)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in front:
            found |= {shown.get(f"lapwing.{node.attr}", "lapwing")}
    return frozenset(found)


@cache
def _public_names() -> Mapping[str, str]:
    """Return where each public name is at home."""
    stubs = {stub: ast.parse(stub.read_text(encoding="utf-8")) for stub in (SOURCE / "lapwing").rglob("__init__.pyi")}
    return {
        f"{_module(stub.with_suffix('.py'))}.{alias.name}": str(node.module)
        for stub, tree in stubs.items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
