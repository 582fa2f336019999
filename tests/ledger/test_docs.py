"""What docs/ledger.md shows is what happens."""

import doctest
import re
from pathlib import Path

import pytest

from lapwing.ledger.claims import FIELDS
from lapwing.ledger.export import export_json
from lapwing.ledger.store import ACTS
from ledger.clinic import Place, ask

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"


def test_its_examples_run() -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried > 5
    assert not failed


def test_its_recipe_follows_the_chain_of_an_export(quick_path, monkeypatch) -> None:
    (recipe,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    with Place.in_file(quick_path / "ledger.db").clinic() as ledger:
        ask(ledger, "k1", answer="naïve")
        export_json(ledger, quick_path / "ledger.jsonl")
    monkeypatch.chdir(quick_path)
    exec(compile(recipe, "recipe", "exec"), {})  # noqa: S102 - the page's own words
    path = quick_path / "ledger.jsonl"
    path.write_text(path.read_text("ascii").replace("na\\u00efve", "knowing"), "ascii")
    with pytest.raises(AssertionError, match="entry 5 of 2f1c/1 is not what was written"):
        exec(compile(recipe, "recipe", "exec"), {})  # noqa: S102 - the page's own words


def test_every_kind_of_entry_is_explained() -> None:
    page = PAGE.read_text("utf-8")
    assert len(FIELDS) == 14 + 2
    for kind in FIELDS:
        assert f"| `{kind}` |" in page, kind
    assert len(set(ACTS)) == len(ACTS)
