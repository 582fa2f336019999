"""Rules about the source that no linter knows."""

import ast
import importlib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import lapwing

SOURCE = Path(lapwing.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
LONGEST = 460
MOST_MODULES = 250
MOST_OF_SERVER = 35
MOST_OF_CLIENT = 8
MOST_OF_PAGES = 40
TWINS = {
    "ledger": "the commands about the ledger are in the door's file of that name",
    "questions": "so are those that ask",
    "streams": "so are those of streams; the ledger and the session have a part each",
    "errors": "the public module shows what the vocabulary holds",
    "postgres": "an engine and a store",
}
RANDOM = {"random", "secrets", "numpy.random", "os.urandom", "ssl.RAND_bytes", "np.random", "uuid.uuid4"}


@cache
def trees():
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in FILES}


@cache
def nodes():
    return {file: list(ast.walk(tree)) for file, tree in trees().items()}


def place(file):
    return file.relative_to(SOURCE).as_posix()


def names(file):
    for node in nodes()[file]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield str(node.module)
        elif isinstance(node, ast.Attribute):
            yield dotted(node)


def dotted(node):
    """Return a name with its dots as it is written; what comes of a call has none."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{dotted(value)}.{name}"
    return ""


def folder_of(file):
    """Return the folder of the design a file lies in, or the file itself."""
    return file.relative_to(SOURCE).parts[0]


def test_randomness_is_imported_by_noise_only() -> None:
    used = {place(file): RANDOM & set(names(file)) for file in FILES if folder_of(file) != "noise"}
    assert {file: found for file, found in used.items() if found} == {}
    assert any(RANDOM & set(names(file)) for file in FILES if folder_of(file) == "noise")


def test_only_mechanisms_open_an_exact_value() -> None:
    opening = {
        file
        for file, written in nodes().items()
        for node in written
        if isinstance(node, ast.Attribute) and node.attr == "open_for_release"
    }
    assert {folder_of(file) for file in opening} == {"mechanisms"}, sorted(map(place, opening))


def private(name):
    return name.startswith("_") and not name.startswith("__")


def test_no_class_name_occurs_twice() -> None:
    names = Counter(node.name for written in nodes().values() for node in written if isinstance(node, ast.ClassDef))
    assert {name for name, times in names.items() if times > 1 and not private(name)} == set()


def test_no_module_name_occurs_twice_but_for_twins_that_are_told_apart_by_their_folder() -> None:
    names = Counter(file.stem for file in FILES if file.stem != "__init__")
    assert {name for name, times in names.items() if times > 1} == set(TWINS)


def test_modules_stay_few() -> None:
    server = [file for file in FILES if place(file).startswith("app/server/")]
    pages = [file for file in server if place(file).startswith("app/server/pages/")]
    client = [file for file in FILES if place(file).startswith("app/client/")]
    assert len(FILES) - len(server) - len(client) < MOST_MODULES
    assert len(client) < MOST_OF_CLIENT
    assert len(server) - len(pages) < MOST_OF_SERVER
    assert len(pages) < MOST_OF_PAGES


def test_a_file_can_be_read_at_one_sitting() -> None:
    assert {file.name for file in FILES if len(file.read_text(encoding="utf-8").splitlines()) > LONGEST} == set()


def test_nobody_reads_what_is_private_to_another_folder() -> None:
    own: dict[str, set[str]] = {}
    for file, written in nodes().items():
        for node in written:
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    own.setdefault(name, set()).add(folder_of(file))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    own.setdefault(name, set()).add(folder_of(file))
    read = {
        (place(file), node.attr)
        for file, written in nodes().items()
        for node in written
        if isinstance(node, ast.Attribute) and private(node.attr) and folder_of(file) not in own.get(node.attr, set())
    }
    imported = {
        (place(file), alias.name)
        for file, written in nodes().items()
        for node in written
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("lapwing.")
        for alias in node.names
        if private(alias.name)
    }
    assert read | imported == set()


@pytest.fixture
def walk(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("walk")


def test_a_question_walks_through_few_modules_and_never_up(walk) -> None:
    """The goals of `benchmarks/walk.py`, held by every run; it names the modules with `--modules`."""
    found = walk.walks()
    modules = {name: len(found[name].modules) for name in walk.MOST_MODULES}
    assert {name: many for name, many in modules.items() if many > walk.MOST_MODULES[name]} == {}
    assert min(modules.values()) > 20, "calls were not traced"
    assert [step for one in found.values() for step in one.upward()] == []


def test_a_call_up_the_layers_is_seen(walk) -> None:
    seen = walk.Walk()
    seen.steps = [("lapwing.session", "lapwing.ledger.ledger"), ("lapwing.vocabulary.exact", "lapwing.ledger.ledger")]
    assert seen.upward() == [("lapwing.vocabulary.exact", "lapwing.ledger.ledger")]
