"""A workspace, or a population, that is not made yet: what was decided so far, and the lapwing.toml that it becomes."""

from dataclasses import field
from datetime import date
from pathlib import Path
from typing import Any

from lapwing.vocabulary.errors import SettingsError
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.declaration import Declaration
from lapwing.workspace.settings import FILE, as_folder
from lapwing.workspace.toml import key, value

_HEAD = """\
# lapwing.toml: what is publicly known about the people in your tables. Anyone may read it.
# Nothing in it may be looked up in the data: bounds and categories are decided, not measured.
# After an edit: lapwing update
"""

_POPULATION = """
[populations.{name}]
# The column that tells people apart, in every table. Everything about one person is protected together.
{person_key}
# The lifetime cap of all answers to all analysts. It can be raised later, and never lowered.
# Others: {{ epsilon = "3", delta = "1e-6" }} or {{ rho = "1/2" }}.
{budget}
# Who is hidden among neighbours: "add-remove" one person, or "replace" one by another.
{adjacency}
# Protect groups of this size, such as families, not only people.
{groups}
# The day that "age" is meant on; no question asks the clock.
{now}

# Who has no allowance may spend what the budget leaves; safer is: nothing.
{unnamed}

# An allowance is a part of the budget that one analyst may spend.
[populations.{name}.analysts]
{analysts}
# Tables are added with: lapwing add TABLE --source FILE --integer age=0..120 --category sex=F,M
# [populations.{name}.tables.patients]
# source = "patients.parquet"
# rows = "one"                       # one row a person, or "many" with max_rows = 3
# [populations.{name}.tables.patients.columns]
# sex = {{ type = "category", values = ["F", "M"] }}
# age = {{ type = "integer", low = 0, high = 120 }}
"""


@frozen()
class Draft:
    """The settings, so far, of a workspace that is not made yet."""

    folder: Path | None = None
    population: str | None = None
    person_key: str | None = None
    budget: dict[str, str] = field(default_factory=dict)
    adjacency: str | None = None
    groups_of: int | None = None
    people: int | None = None
    now: date | None = None
    ledger: str | None = None
    only_named: bool = False
    analysts: dict[str, dict[str, str]] = field(default_factory=dict)
    tables: tuple[Declaration, ...] = ()

    def __post_init__(self) -> None:
        if self.folder is not None:
            as_folder(self.folder)

    @property
    def missing(self) -> list[str]:
        """The options without which there is no account."""
        options = {
            "FOLDER": self.folder,
            "--person-key COLUMN": self.person_key,
            "--epsilon NUMBER (or --rho NUMBER)": self.budget,
        }
        return [option for option, given in options.items() if not given]

    @property
    def place(self) -> Path:
        """The folder, where it is known."""
        return self.folder or Path()

    @property
    def name(self) -> str:
        """The name of the population; by default that of the folder."""
        return self.population or self.place.resolve().name or "people"

    def text(self) -> str:
        """Return the lapwing.toml."""
        return _HEAD + (f"\nledger = {value(self.ledger)}\n" if self.ledger else "") + self.sections()

    def sections(self) -> str:
        """Return its part of the lapwing.toml; what is not decided is a comment."""
        analysts = (f"{key(name)} = {value(dict(part))}\n" for name, part in self.analysts.items())
        opening = _POPULATION.format(
            name=key(self.name),
            person_key=_line("person_key", self.person_key, "patient_id"),
            budget=_line("budget", self.budget or None, {"epsilon": "3"}),
            adjacency=_line("adjacency", self.adjacency, "add-remove"),
            groups=_line("protects_groups_of", self.groups_of, 1),
            now=f"now = {self.now}" if self.now else "# now = 2025-01-01",
            unnamed=_line("unnamed_analysts", "refused" if self.only_named else None, "refused"),
            analysts="".join(analysts) or '# ana = { epsilon = "1" }\n',
        )
        return opening + "".join(table.text(self.place, self.name) for table in self.tables)


def require_new(folder: Path) -> None:
    """Refuse a folder that is a workspace already."""
    if (as_folder(folder) / FILE).exists():
        remedy = f"edit it, then lapwing update -w {folder}"
        raise SettingsError(str(folder / FILE), 0, reason="is there already", remedy=remedy)


def _line(name: str, given: Any, example: Any) -> str:
    return f"# {name} = {value(example)}" if given is None else f"{name} = {value(given)}"
