"""docs/settings.md names every key of lapwing.toml that the code takes, in its section, and no other."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from lapwing.vocabulary.errors import SettingsError
from lapwing.workspace.settings import read_settings
from lapwing.workspace.toml import Section

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
SHAPES = {
    "": "The file",
    "populations.*": "`[populations.NAME]`",
    "populations.*.budget": "Budgets",
    "populations.*.analysts.*": "Budgets",
    "populations.*.analysts.*.most": "Budgets",
    "populations.*.policy": "`[populations.NAME.policy]`",
    "populations.*.policy.most": "Budgets",
    "populations.*.segments.*": "`[populations.NAME.segments]`",
    "populations.*.tables.*": "`[populations.NAME.tables.TABLE]`",
    "populations.*.tables.*.source": "`source`",
    "populations.*.tables.*.columns.*": "Columns",
    "populations.*.tables.*.columns.*.values": "`values`",
    "vocabularies.*": "`values`",
}
"""Under which heading the keys of a section stand."""
NAMED = {"populations", "analysts", "segments", "tables", "columns", "vocabularies"}
"""Sections whose keys are names that the custodian chooses."""

COLUMNS = {
    "a": '{ type = "integer", low = 0, high = 9 }',
    "b": '{ type = "real", low = 0, high = 9, step = "1/2" }',
    "c": '{ type = "category", values = { vocabulary = "public", value = "v", label = "l", where = "v > 0" } }',
    "d": '{ type = "date", first = 2000-01-01, last = 2001-01-01 }',
    "e": '{ type = "boolean", nullable = true }',
    "f": '{ type = "text" }',
}
SOURCES = (
    '"p.csv"',
    '{ duckdb = "x.duckdb", table = "t" }',
    '{ postgres = "host=h", table = "t" }',
    '{ spark = "a.b" }',
)
TEXT = """
[vocabularies]
public = {{ file = "public.csv" }}
[populations.clinic]
person_key = "id"
budget = {{ epsilon = "3" }}
[populations.clinic.analysts]
ana = {{ epsilon = "1", tables = ["t"], most = {{ epsilon = "1" }} }}
[populations.clinic.policy]
most = {{ epsilon = "1" }}
[populations.clinic.segments]
north = {{ first = 1, last = 9 }}
[populations.clinic.tables.t]
source = {source}
[populations.clinic.tables.t.columns]
{columns}
"""


def taken(folder: Path, monkeypatch) -> dict[str, set[str]]:
    """Return which keys the code looks for, by the heading of their section."""
    found: dict[str, set[str]] = defaultdict(set)
    take = Section.take

    def noted(self: Section, name: str, *rest, **more):
        shape = ".".join(_shape(self.path))
        if not (self.path and self.path[-1] in NAMED and shape not in SHAPES):
            found[SHAPES[shape]].add(name)
        return take(self, name, *rest, **more)

    monkeypatch.setattr(Section, "take", noted)
    columns = "\n".join(f"{name} = {column}" for name, column in COLUMNS.items())
    for source in SOURCES:
        read_settings(folder, TEXT.format(source=source, columns=columns))
    return found


def _shape(path: tuple[str, ...]) -> list[str]:
    return ["*" if place and path[place - 1] in NAMED else name for place, name in enumerate(path)]


def on_the_page() -> dict[str, set[str]]:
    """Return the keys in the first column of the tables of the page, by their heading."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    heading = {h: next(s for s in sections if s.startswith(h)) for h in set(SHAPES.values())}
    return {h: set(re.findall(r"^\| `(\w+)`", text, flags=re.MULTILINE)) for h, text in heading.items()}


def test_the_page_has_every_key_and_no_other(quick_path, monkeypatch) -> None:
    (quick_path / "public.csv").write_text("v,l\n1,one\n2,two\n")
    assert on_the_page() == taken(quick_path, monkeypatch)


def test_the_example_of_the_page_can_be_read(quick_path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    declared = read_settings(quick_path, example[1]).declared()
    assert (declared.only_named, list(declared.sources)) == (True, ["patients"])


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ('{ frame = "df" }', "line 5: a data frame has no file that could be read again"),
        ('{ table = "t" }', "line 5: source names no place: it has table; write duckdb, postgres or"),
    ],
)
def test_a_source_of_no_known_place_is_told_what_it_has_and_what_to_write(quick_path, source, said) -> None:
    text = (
        f'[populations.c]\nperson_key = "id"\nbudget = {{ epsilon = 1 }}\n[populations.c.tables.t]\nsource = {source}\n'
    )
    with pytest.raises(SettingsError, match=said):
        read_settings(quick_path, text)
