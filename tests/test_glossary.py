"""Every public noun is in the glossary."""

import importlib
import inspect
import re
from pathlib import Path

GLOSSARY = Path(__file__).parents[1] / "docs" / "glossary.md"
PUBLIC = ("lapwing", "lapwing.mechanisms", "lapwing.accounting", "lapwing.auditor")


def test_each_public_noun_is_in_the_glossary() -> None:
    defined = set(re.findall(r"`(?:lw\.)?(\w+)`", GLOSSARY.read_text(encoding="utf-8")))
    nouns = {
        name
        for package in map(importlib.import_module, PUBLIC)
        for name in getattr(package, "__all__", ())
        if inspect.isclass(getattr(package, name))
    }
    assert len(nouns) > 20
    assert nouns - defined == set()
