"""The page for analysts is true."""

import doctest
import re
from pathlib import Path

import pytest

import lapwing as asking
from engines.clinic import clinic
from lapwing.queries.language.sql.reader import read_condition
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.scope import Scope

PAGE = Path(__file__).parents[3] / "docs" / "questions.md"


def test_the_examples_run() -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testfile(str(PAGE), module_relative=False, optionflags=flags).failed == 0


def test_every_word_for_asking_is_on_the_page() -> None:
    words = {name for name, thing in vars(asking).items() if callable(thing) and thing.__module__ == asking.__name__}
    text = PAGE.read_text(encoding="utf-8")
    assert {word for word in words if not word.startswith("_")} - set(re.findall(r"\w+", text)) == set()


@pytest.mark.parametrize(
    "where", ["age >= 18", "sex <> 'M'", "not smoker", "starts_with(city, 'New')", "age(born) >= 18"]
)
def test_the_conditions_of_the_page_are_understood(where) -> None:
    assert f"`{where}`" in PAGE.read_text(encoding="utf-8")
    assert bind(read_condition(where), Scope(clinic(), clinic().table("patients"), "patients"))
