"""A mistake is handed to the import system, and a run says how it ended."""

import importlib.util
import os
import signal
from pathlib import Path

from lapwing.vocabulary import exact
from mutation import witnesses
from mutation.mistakes import mutants
from mutation.places import SOURCE
from mutation.running import Rewriting, Run, run_all

PATH = Path("vocabulary/exact.py")


def rewriting(title: str) -> Rewriting:
    possible = mutants(PATH, (SOURCE / "lapwing" / PATH).read_text(encoding="utf-8"))
    (mutant,) = [one for some in possible.values() for one in some if one.title == title]
    return Rewriting(frozenset({PATH}), lambda _path, source: mutant.source_tree(source))


def test_a_file_is_loaded_with_its_mistake_and_no_other_file_is() -> None:
    wrong = rewriting("float_below: return -float_above(-number) -> return float_above(-number)")
    spec = wrong.find_spec("lapwing.vocabulary.exact")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (exact.float_below(2), module.float_below(2)) == (2, -2)
    assert module.__file__ == exact.__file__
    assert wrong.find_spec("lapwing.accounting.pricing") is None
    assert wrong.find_spec("lapwing") is None


class Ending(Run):
    """A run that only ends, in some way."""

    def __call__(self, folder: str) -> int:
        (Path(folder) / "told.json").write_text('{"failed": ["a test"]}', encoding="utf-8")
        if self.tests:
            os.kill(os.getpid(), signal.SIGKILL)
        return 1


def test_it_is_known_how_every_run_ended() -> None:
    none = Rewriting(frozenset(), lambda _path, _source: None)
    ended = {}
    run_all([("fails", Ending([], none)), ("dies", Ending([PATH], none))], 2, ended.__setitem__)
    assert (ended["fails"].code, ended["fails"].told) == (1, {"failed": ["a test"]})
    assert ended["dies"].last_words == "ended by SIGKILL before the first test"


def test_a_mistake_that_lets_no_test_begin_is_seen_by_the_file(tmp_path) -> None:
    path = tmp_path / "test_broken.py"
    path.write_text("raise ImportError", encoding="utf-8")
    ended = {}
    run_all([("it", Run([path], Rewriting(frozenset(), lambda _path, _source: None)))], 1, ended.__setitem__)
    assert [Path(name).name for name in ended["it"].told["failed"]] == [path.name]


def test_a_witness_is_believed_only_if_it_is_there_and_passes_without_a_mistake() -> None:
    here = "tests/mutation/test_running.py"
    there = f"{here}::test_a_file_is_loaded_with_its_mistake_and_no_other_file_is"
    gone = [f"{here}::test_that_is_gone", "tests/nowhere/test_gone.py::test_it", "tests/nowhere/test_gone.py"]
    assert witnesses.sound([here, there, *gone], 1) == {here, there}


def test_witnesses_are_kept_in_order(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(witnesses, "FILE", tmp_path / "witnesses.json")
    assert witnesses.read() == {}
    witnesses.remember({"b.py f: 1 -> 2": "tests/test_b.py::é", "a.py g: x -> y": "tests/test_a.py::one"})
    assert next(iter(witnesses.read().items())) == ("a.py g: x -> y", "tests/test_a.py::one")
