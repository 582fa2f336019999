"""Pages and proofs name files, modules and classes that exist, and their links lead somewhere."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROOFS = sorted((ROOT / "proofs").glob("*.md"))
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *PROOFS, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SOURCE = ROOT / "src" / "lapwing"
PLACES = (
    SOURCE,
    ROOT,
    *(SOURCE / part for part in ("queries", "mechanisms", "queries/statistics")),
    ROOT / "tests/fuzz",
)
MADE_IN_A_WORKSPACE = {"lapwing.toml", "answers.toml", "fingerprints.json", "door.toml"}
NAME = re.compile(r"`(lapwing(?:\.\w+)+)(?:\(.*?\))?`")
FILE = re.compile(r"`([\w/-]+(?:\.(?:pyi?|md|toml|jsonl?)|/))`")
MEMBER = re.compile(r"`([A-Z][a-z]\w*)(?:\.(\w+))?(?:\([^`]*\))?`")


def _said(pattern: re.Pattern[str], page: Path) -> list[str]:
    """Return what a page says outside of its examples, which run."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return sorted(set(pattern.findall(text)))


def _exists(name: str) -> bool:
    """Say whether a dotted name is a module or is found in one."""
    home, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(home), last) or bool(importlib.import_module(name))
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_it_names_exists(page) -> None:
    files = set(_said(FILE, page)) - MADE_IN_A_WORKSPACE
    assert [
        file for file in sorted(files) if not any((place / file).exists() for place in (*PLACES, page.parent))
    ] == []
    assert [name for name in _said(NAME, page) if name not in MADE_IN_A_WORKSPACE and not _exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_it_was_merged_to_its_end(page) -> None:
    assert re.findall(r"^(?:<{7}|={7}|>{7})(?: .*)?$", page.read_text(encoding="utf-8"), flags=re.MULTILINE) == []


def test_the_page_about_the_architecture_names_many_files() -> None:
    assert len(_said(FILE, ROOT / "docs" / "architecture.md")) > 10


def test_a_dead_name_is_seen() -> None:
    assert not _exists("lapwing.gone")
    assert not _exists("lapwing.noise.gone")
    assert not _exists("lapwing.gone.Gone")


def test_proofs_name_classes_and_members_of_the_source() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    classes, words = (
        set(re.findall(r"^ *class (\w+)", source, re.MULTILINE)) | {"None"},
        set(re.findall(r"\w+", source)),
    )
    said = {(page.name, *name) for page in PROOFS for name in _said(MEMBER, page)}
    assert len(said) > 50
    assert {one for one in said if one[1] not in classes or (one[2] and one[2] not in words)} == set()


@pytest.mark.parametrize("page", sorted({*PAGES} - {*PROOFS}), ids=lambda page: str(page.relative_to(ROOT)))
def test_its_links_lead_somewhere(page) -> None:
    links = _said(re.compile(r"\]\(([^)#:]+)[^):]*\)"), page)
    assert [link for link in links if not (page.parent / link).exists()] == []
