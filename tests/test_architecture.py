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


SIMULATES = {"analyses/simulated_draws.py"}
"""Draws of public laws, which decide no release: p-values and bands are made with them."""


def test_randomness_is_imported_by_noise_only() -> None:
    others = (file for file in FILES if folder_of(file) != "noise" and place(file) not in SIMULATES)
    used = {place(file): RANDOM & set(names(file)) for file in others}
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
    """Say whether a name is private: not `__repr__`, nor `_repr_svg_`, which a notebook calls."""
    return name.startswith("_") and not name.endswith("_")


def test_no_class_name_occurs_twice() -> None:
    names = Counter(node.name for written in nodes().values() for node in written if isinstance(node, ast.ClassDef))
    assert {name for name, times in names.items() if times > 1 and not private(name)} == set()


def test_no_module_name_occurs_twice_but_for_twins_that_are_told_apart_by_their_folder() -> None:
    names = Counter(file.stem for file in FILES if file.stem != "__init__")
    assert {name for name, times in names.items() if times > 1} == set(TWINS)


SAME_NAMES = {
    **dict.fromkeys(["ask", "rehearse", "redraw"], "the form and the page of SQL have the same buttons"),
    "draft": "each form of custodians has one",
    "act": "a step of the cohort builder, and what every page does when a form is sent",
    **dict.fromkeys(["funnel", "stream"], "a command, and the scene of the demo that shows it"),
    "attack": "a scene of the demo, and the command for sceptics",
    "register": "what every engine has",
    **dict.fromkeys(["expected_share", "measured_share"], "what every reconstruction attack has"),
    "in_words": "a finding, and a pair of laws",
}
"""Public functions of one name in one layer, with the reason."""
NOT_YET_RENAMED = {
    *("called", "column_of", "conjuncts", "ends_of", "fits", "is_computed", "leaves", "name_of", "plain", "times"),
    *("within", "answered"),
}
"""Those without a reason; none may be added."""


def layer_of(file):
    """Return what tells layers apart: the floor, and which door it is: a command is named like the operation it is."""
    inside = file.relative_to(SOURCE)
    return inside.parent.as_posix() if inside.parts[0] == "doors" else inside.parts[0]


def namesakes(functions):
    """Return the public functions that occur in several files of a layer; given are a layer, a file and a name each."""
    places: dict[tuple[str, str], set[str]] = {}
    for layer, file, name in functions:
        places.setdefault((layer, name), set()).add(file)
    return {name for (_, name), files in places.items() if len(files) > 1}


def test_no_two_public_functions_of_a_layer_have_one_name() -> None:
    functions = [
        (layer_of(file), place(file), node.name)
        for file, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    ]
    assert namesakes(functions) - SAME_NAMES.keys() - NOT_YET_RENAMED == set()


def test_namesakes_of_a_layer_are_seen_and_those_of_two_layers_are_not() -> None:
    assert namesakes([("queries", "a.py", "fits"), ("queries", "b.py", "fits"), ("ledger", "c.py", "read")]) == {"fits"}
    assert namesakes([("doors/cli", "a.py", "ask"), ("doors/server", "b.py", "ask")]) == set()


SLICES = {
    "TargetWords": "the words of a price are among those of a question; a dictionary has no code to follow",
    "Guests": "a session finds the verbs of the rooms above it by name, and has no code of theirs",
    "DuckDBTable": "what the engine opens; the source of the settings adds how it is written and whose data it is",
    "StreamTerms": "every door reads the terms of any stream; a corridor adds its width, and explorers alone open one",
    "StoredColumn": "a contract of the engines: one of them knows more of a column than the others",
}
"""Classes with one heir, in another file, and the reason."""


def heirs(sources):
    """Return for each class the files in which classes are made from it; given are files with their trees."""
    home = {
        (f"lapwing.{file.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__"), node.name): file
        for file, tree in sources
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    found: dict[tuple[str, str], list[str]] = {}
    for file, tree in sources:
        imported = {
            alias.asname or alias.name: (str(node.module), alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        own = f"lapwing.{file.removesuffix('.py').replace('/', '.')}"
        for node in ast.walk(tree):
            for base in node.bases if isinstance(node, ast.ClassDef) else []:
                name = base.value if isinstance(base, ast.Subscript) else base
                if isinstance(name, ast.Name) and (base_of := imported.get(name.id, (own, name.id))) in home:
                    found.setdefault(base_of, []).append(file)
    return {name: (home[module, name], files) for (module, name), files in found.items()}


def sliced(sources):
    """Return the classes whose only heir is in another file: one class, cut in two; errors may be."""
    return {
        name
        for name, (home, files) in heirs(sources).items()
        if len(files) == 1 and files != [home] and not name.endswith("Error")
    }


def test_no_class_is_sliced_over_files() -> None:
    assert sliced([(place(file), tree) for file, tree in trees().items()]) - SLICES.keys() == set()


def test_a_sliced_class_is_seen() -> None:
    whole, half = (
        ast.parse("class Reader:\n    pass"),
        ast.parse("from lapwing.a import Reader\nclass More(Reader): pass"),
    )
    assert sliced([("a.py", whole), ("b.py", half)]) == {"Reader"}
    assert sliced([("a.py", whole), ("b.py", half), ("c.py", half)]) == set()


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
    # In which files a frame is, and how they look, PySpark tells in no other way.
    of_spark = {("engines/spark.py", name) for name in ("_jdf", "_jvm", "_jsparkSession")}
    assert (read | imported) - of_spark == set()


@pytest.fixture(scope="module")
def walk():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        return importlib.import_module("walk")


@pytest.fixture(scope="module")
def walked(walk):
    return walk.walks()


def test_a_question_never_walks_up(walked) -> None:
    assert min(len(one.modules) for one in walked.values()) > 20, "calls were not traced"
    assert [step for one in walked.values() for step in one.upward()] == []


MOST_FOLDER_CHANGES, MOST_STATEMENTS = 190, 18
"""What is reached; the goal of the first is 100."""


def test_the_way_of_a_count_does_not_go_back_and_forth_more_than_it_does(walk, walked) -> None:
    changes = walked["ask(count)"].changes(walk.folder_of)
    assert changes <= MOST_FOLDER_CHANGES, f"ask(count) changes folders {changes} times; the goal is 100, not more"


def test_an_http_question_is_priced_and_looked_for_once(walked) -> None:
    asked = walked["HTTP ask"].counted
    assert (asked["plans"], asked["statements"] <= MOST_STATEMENTS) == (1, True), asked


def test_a_call_up_the_layers_is_seen(walk) -> None:
    seen = walk.Walk()
    seen.steps = [("lapwing.session", "lapwing.ledger.ledger"), ("lapwing.vocabulary.exact", "lapwing.ledger.ledger")]
    assert seen.upward() == [("lapwing.vocabulary.exact", "lapwing.ledger.ledger")]


SPINE = ("session.py", "streams.py", "rounds.py", "tables.py", "fingerprints.py", "answers")
GUESTS = {"analyses", "publishing", "learning", "graphs", "procedures"}
INSIDE = (
    "lapwing.ledger",
    "lapwing.engines",
    "lapwing.noise",
    "lapwing.tables",
    "lapwing.fingerprints",
    "lapwing.sources",
)
"""What guests never see: they ask the session, and draw in rounds (`lapwing.rounds`)."""


def test_the_spine_stays_small() -> None:
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in FILES if folder_of(file) in SPINE)
    assert 3000 < lines < 6400, "a new room brings its own files, and does not make the spine longer"


def seen_inside(source: str) -> set[str]:
    """Return what a source imports that is none of a guest's business."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if f"{name}.".startswith(tuple(f"{one}." for one in INSIDE))}


def test_guests_see_the_session_and_nothing_inside_it() -> None:
    toy = Path(__file__).parent / "ledger" / "three_rounds.py"
    guests = [toy, *(file for file in FILES if folder_of(file) in GUESTS)]
    assert {file.name: found for file in guests if (found := seen_inside(file.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import lapwing.ledger.ledger",
        "from lapwing.ledger import ledger",
        "from lapwing import noise",
        "from lapwing.engines.duckdb import DuckdbEngine",
        "def draw():\n    from lapwing.noise.laws import Geometric",
    ],
)
def test_a_guest_that_looks_inside_is_seen(line) -> None:
    assert seen_inside(line)
    assert not seen_inside(
        "from lapwing.rounds import Rounds\nfrom lapwing.session import Session\nimport lapwing as lw"
    )
