"""The pages for contributors name files that exist, and the walk of a count names the files that it walks through."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("architecture.md", "extending.md")
PLACES = ("src/lapwing", "", "src/lapwing/queries", "src/lapwing/mechanisms", "src/lapwing/queries/statistics")


@pytest.mark.parametrize("page", PAGES)
def test_the_files_it_names_exist(page) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+(?:\.(?:py|md|toml|jsonl)|/))`", text)) - {"lapwing.toml"}
    assert len(named) > 10
    assert [name for name in sorted(named) if not any((ROOT / place / name).exists() for place in PLACES)] == []


@pytest.mark.parametrize("page", [*PAGES, "glossary.md"])
def test_its_links_lead_somewhere(page) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not (ROOT / "docs" / link).exists()] == []
