"""What a page calls by a name of Python can be imported by it."""

import importlib
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
GLOSSARY = ROOT / "docs" / "glossary.md"
PACKAGES = ("accounting", "attacks", "auditor", "errors", "ledger", "mechanisms")
PUBLIC = tuple(importlib.import_module(name) for name in ("lapwing", *(f"lapwing.{name}" for name in PACKAGES)))
CLASS = re.compile(r"`([A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+(?:\.\w+)*)[(`]")
DOTTED = re.compile(r"`((?:lapwing|lw)(?:\.(?!toml`)\w+)+)[(`]")
OF_OTHERS = re.compile(r"\| (?:OpenDP|diffprivlib|part of a definition)\b")
"""How tables begin that list the names of other programs and formats."""


def unknown(text):
    """Return the names of a page that cannot be imported: classes in its tables, and dotted names anywhere."""
    tables = [table for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE) if not OF_OTHERS.match(table)]
    classes = {name for table in tables for name in CLASS.findall(table)}
    return {name for name in classes if not any(has(package, name) for package in PUBLIC)} | {
        name for name in DOTTED.findall(text) if not is_there(name.replace("lw.", "lapwing.", 1))
    }


def has(at, path):
    """Say whether a public package, or a class of one, has what is called so."""
    for name in path.split("."):
        if not hasattr(at, name) and name not in getattr(at, "__annotations__", {}):
            return False
        at = getattr(at, name, None)
    return True


def is_there(dotted):
    """Say whether a whole name, from lapwing on, can be imported."""
    try:
        resolve_name(dotted)
    except (AttributeError, ImportError):
        return has(PUBLIC[0], dotted.partition(".")[2])
    return True


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page != GLOSSARY], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_every_name_of_a_page_can_be_imported(page) -> None:
    assert unknown(page.read_text(encoding="utf-8")) == set()


def test_every_name_of_the_glossary_is_a_class_of_lapwing() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert {name for name in unknown(GLOSSARY.read_text(encoding="utf-8")) if f"class {name}" not in sources} == set()


def test_a_name_that_nothing_has_is_found() -> None:
    good = "| `SparseVector` | `Answer.map(...)` | `lapwing.mechanisms.advise` |"
    bad = "| `GaussianSparseVectorRelease` | `SparseVector.nothing` | `lw.counts` |"
    assert unknown(f"{good}\n{bad}\n") == {"GaussianSparseVectorRelease", "SparseVector.nothing", "lw.counts"}
