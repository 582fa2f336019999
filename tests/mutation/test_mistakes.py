"""Mistakes are made where something is computed, follow from the seed, and are seen by tests that ask for it."""

import ast
import itertools
from pathlib import Path

import pytest

from mutation.control import Control
from mutation.equivalent import EQUIVALENT
from mutation.mistakes import drawn, mutants
from mutation.places import PLACES, SOURCE, TESTS, critical_files, nearest_tests, source_files

PATH = Path("made_up.py")


def written(source: str) -> dict[str, list[str]]:
    return {piece: [f"{one.before} -> {one.after}" for one in some] for piece, some in mutants(PATH, source).items()}


@pytest.mark.parametrize(
    ("line", "mistakes"),
    {
        "return a < b": {"return a < b -> return a <= b", "return a < b -> return a > b"},
        "return a + b": {"return a + b -> return a - b", "return a + b -> return a", "return a + b -> return b"},
        "return a - b": {"return a - b -> return a + b", "return a - b -> return a"},
        "return a**b": {"return a ** b -> return a * b"},
        "return a and b": {
            "return a and b -> return a or b",
            "return a and b -> return a",
            "return a and b -> return b",
        },
        "return not a": {"return not a -> return a"},
        "return -a": {"return -a -> return a"},
        "return 3": {"return 3 -> return 4", "return 3 -> return 2"},
        "return True": {"return True -> return False"},
        "return max(a, b)": {"return max(a, b) -> return min(a, b)"},
        "return abs(a)": {"return abs(a) -> return a"},
        "return math.ceil(a)": {"return math.ceil(a) -> return math.floor(a)"},
        "return Adjacency.REPLACE": {"return Adjacency.REPLACE -> return Adjacency.ADD_REMOVE"},
        "return a if c else b": {"return a if c else b -> return a", "return a if c else b -> return b"},
        "return [x for x in a if x]": {"for x in a if x -> for x in a"},
        "return {a, b}": {"return {a, b} -> return {b}", "return {a, b} -> return {a}"},
        "a += b": {"a += b -> a -= b", "a += b -> a = b"},
        "check(a)": {"check(a) -> pass"},
        'fault_point("a place")': set(),
        "raise ValueError(a + 1)": {"raise ValueError(a + 1) -> pass"},
        "return f'{a + 1}'": set(),
        "return -a * (1 + 2 * ROUND_OFF)": {"return -a * (1 + 2 * ROUND_OFF) -> return a * (1 + 2 * ROUND_OFF)"},
        "return Why(reason=a + b)": set(),
        "return a + 1  # pragma: no cover": set(),
    }.items(),
)
def test_each_kind_of_mistake_is_made_and_texts_are_left_alone(line, mistakes) -> None:
    assert set(written(f"def made(a: int) -> int:\n    {line}\n")["made"]) == mistakes


def test_a_condition_is_made_to_hold_always_and_never() -> None:
    assert written("def made(a):\n    if a:\n        return\n")["made"] == ["if a: -> if True:", "if a: -> if False:"]


def test_a_loop_is_left_after_its_first_round() -> None:
    assert written("def made(a):\n    for b in a:\n        c(b)\n")["made"][0].endswith("-> for b in a: ... break")


def test_what_only_tells_and_chosen_numbers_are_left_alone_and_tables_are_not() -> None:
    methods = "    def said(self) -> str:\n        return 1\n    def number(self) -> int:\n        return 1\n"
    source = f"MOST = 3\nTABLE = {{1, 2}}\nclass Noun:\n{methods}"
    assert set(written(source)) == {"TABLE", "Noun.number"}


def test_every_mistake_in_lapwing_is_python_and_differs_from_the_source() -> None:
    (path,) = source_files(("queries/algebra/aggregate.py",))
    source = (SOURCE / "lapwing" / path).read_text(encoding="utf-8")
    right = ast.dump(ast.parse(source))
    for mutant in itertools.chain(*mutants(path, source).values()):
        wrong = mutant.source_tree(source)
        compile(wrong, str(path), "exec")
        assert ast.dump(wrong) != right, mutant.title


def test_the_same_seed_draws_the_same_and_no_piece_twice_before_each_had_its_turn() -> None:
    possible = mutants(PATH, "A = {1, 3}\nB: set = {2, 4}\ndef c(a):\n    return a < 1\ndef d(a):\n    pass\n").values()
    first, again, other = (list(drawn(list(possible), seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first, key=str) == sorted(itertools.chain(*possible), key=str)
    assert {mutant.piece for mutant in first[:3]} == {"A", "B", "c"}


def test_the_order_of_mistakes_is_the_same_when_other_code_changes() -> None:
    source = "def a(x):\n    return x < 1\ndef b(x):\n    return x + 2\n"
    before, after = (
        [one.title for one in drawn(list(mutants(PATH, text).values()), 1)]
        for text in (source, f"def c(x):\n    return x * 3\n{source}")
    )
    assert [title for title in after if not title.startswith("c:")] == before


def test_every_place_has_tests_near_it_whatever_files_are_called() -> None:
    for path in source_files(PLACES):
        assert path.name == "__init__.py" or nearest_tests(path), path


def test_the_nearest_tests_are_those_that_import_a_file() -> None:
    near = nearest_tests(Path("session.py"))
    assert TESTS / "session" / "test_asking.py" in near
    assert nearest_tests(Path("queries/planning/planner.py"))[0] == TESTS / "queries" / "planning" / "test_planner.py"


def test_what_is_proved_and_the_session_is_critical_and_what_only_tells_is_not() -> None:
    critical = critical_files()
    assert {Path("session.py"), Path("streams.py"), Path("mechanisms/laplace.py")} < set(critical)
    assert Path("answers/preview.py") not in critical
    assert len(critical) > 40


def test_what_is_kept_as_no_mistake_can_still_be_made_and_has_a_reason() -> None:
    named = {title.partition(": ")[0] for title in EQUIVALENT}
    titles = set()
    for path in source_files(PLACES):
        possible = mutants(path, (SOURCE / "lapwing" / path).read_text(encoding="utf-8"), named)
        titles |= {mutant.title for mutant in itertools.chain(*possible.values())}
    assert [kept for kept in EQUIVALENT if not any(f"{title}\n".startswith(kept) for title in titles)] == []
    assert all(len(reason) > 20 for reason in EQUIVALENT.values())


def test_a_piece_is_examined_by_tests_that_reach_it_the_quickest_first() -> None:
    control = Control()
    told = {"slow": {"seconds": 5.0, "reached": ["a.py:f"]}, "quick": {"seconds": 0.1, "reached": ["a.py:f", "a.py:g"]}}
    control.add({"imported": [], "failed": [], "tests": {f"tests/test_a.py::{n}": t for n, t in told.items()}})
    near = [SOURCE.parent / "tests" / "test_a.py"]
    assert list(control.of(Path("a.py"), "f", near)) == ["tests/test_a.py::quick", "tests/test_a.py::slow"]
    assert list(control.of(Path("a.py"), "g", near)) == ["tests/test_a.py::quick"]
    assert list(control.of(Path("a.py"), "A_CONSTANT", near)) == ["tests/test_a.py::quick", "tests/test_a.py::slow"]
    assert not control.of(Path("a.py"), "f", [])
