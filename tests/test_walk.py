"""The way of a question stays short, and goes down only: the goals of `benchmarks/walk.py`, held by every run."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def walk(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("walk")


def test_a_question_walks_through_few_modules_and_never_up(walk) -> None:
    found = walk.walks()
    modules = {name: len(found[name].modules) for name in walk.MOST_MODULES}
    assert {name: many for name, many in modules.items() if many > walk.MOST_MODULES[name]} == {}
    assert min(modules.values()) > 20, "calls were not traced"
    assert [step for one in found.values() for step in one.upward()] == []


def test_a_call_up_the_layers_is_seen(walk) -> None:
    """A noun of the vocabulary that called the ledger would be."""
    seen = walk.Walk()
    seen.steps = [("lapwing.session", "lapwing.ledger.ledger"), ("lapwing.vocabulary.exact", "lapwing.ledger.ledger")]
    assert seen.upward() == [("lapwing.vocabulary.exact", "lapwing.ledger.ledger")]
