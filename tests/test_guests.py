"""Verbs of rooms above the session: found by name, typed by a stub, and unknown to the session itself."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from lapwing import guests
from lapwing.session import Session
from session.clinic import FixedNumber, door, new_ledger

pytestmark = pytest.mark.one_budget("nothing is charged here")


@pytest.fixture
def clinic(tmp_path, budget):
    with new_ledger(tmp_path, budget.promise(1)) as ledger:
        yield door(ledger, FixedNumber(1))


def test_the_stub_and_the_table_name_the_same_verbs() -> None:
    stub = Path(guests.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert set(re.findall(r"^    (\w+) = ", stub, re.MULTILINE)) == set(guests.VERBS)


@pytest.mark.parametrize("verb", sorted(guests.VERBS))
def test_a_verb_is_a_function_of_its_room_about_this_session(clinic, verb) -> None:
    found = getattr(clinic, verb)
    assert found.__self__ is clinic
    assert found.__func__ is getattr(import_module(guests.VERBS[verb]), verb)
    assert next(iter(inspect.signature(found.__func__).parameters)) == "session"
    assert verb in dir(clinic)
    assert verb not in vars(Session), "the session has no line about it"


def test_what_is_no_verb_is_no_attribute(clinic) -> None:
    with pytest.raises(AttributeError, match="'Session' object has no attribute 'publsh'"):
        _ = clinic.publsh
    assert not hasattr(clinic, "__wrapped__")


@pytest.mark.parametrize(("guess", "builder"), [("mean", "lw.mean"), ("sum", "lw.total")])
def test_a_statistic_that_is_called_on_a_session_is_named(guess, builder) -> None:
    with pytest.raises(AttributeError, match=builder):
        getattr(guests.Guests(), guess)
