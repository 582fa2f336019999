"""Workspaces, tables and columns as a custodian declares them: age=0..120, sex=F,M. No row is read.

Whatever is said here is public, so it must not come from the data: names and types of columns may be looked up, because
a schema is public, and values never. The smallest age that is there would tell about somebody.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import date
from pathlib import Path
from typing import Any, Final

from lapwing.queries.catalogue.population import Population
from lapwing.sources import Source
from lapwing.vocabulary.errors import ParameterError, SettingsError
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.settings import FILE, as_folder
from lapwing.workspace.toml import head_text, population_text, table_text

KINDS: Final = ("integer", "real", "category", "date", "boolean", "text")
_UNBOUNDED: Final = {"integer", "date", "boolean", "text"}
"""Kinds that can be declared without bounds or values."""
FITTING: Final[Mapping[str | None, tuple[str, ...]]] = {
    None: KINDS,
    "integer": ("integer", "real", "category"),
    "real": ("real",),
    "text": ("category", "text"),
    "date": ("date",),
    "boolean": ("boolean",),
}
"""As what a column can be declared that is stored as one kind: the others could not be read."""
_ITEM: Final = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>(?!")[^,]*?))\s*(?P<more>,|$)')
_WHOLE: Final = re.compile("0|-?[1-9][0-9]*")
"""A whole number in the one way that nobody takes for a code: 01 is text."""


@frozen()
class Declared:
    """The columns of a table: those that are declared, as lapwing.toml says them, and those that are left out."""

    columns: Mapping[str, Mapping[str, Any]]
    left_out: Mapping[str, str | None]

    def columns_record(self) -> dict[str, dict[str, Any]]:
        """Return the declared columns as JSON values."""
        return {
            name: {word: str(entry) if isinstance(entry, date) else entry for word, entry in column.items()}
            for name, column in self.columns.items()
        }


def declared_columns(
    table: str, given: Mapping[str, tuple[str, ...]], stored: Mapping[str, str | None], *, key: str, take_all: bool
) -> Declared:
    """Return what was declared, checked against the names that are there.

    Parameters
    ----------
    table : what the table is called
    given : for each kind, what was written, such as "age=0..120"; and what may be missing under "nullable"
    stored : the kind of each column that is there; None where it is not known
    key : the person key, which is not a column
    take_all : whether the other columns are declared as what they are stored as

    >>> there = {"id": "integer", "age": "integer", "sex": "text", "city": "text"}
    >>> found = declared_columns(
    ...     "patients", {"integer": ("age=0..120",), "category": ("sex=F,M",)}, there, key="id", take_all=False
    ... )
    >>> found.columns["age"], dict(found.left_out)
    ({'type': 'integer', 'low': 0, 'high': 120}, {'city': 'text'})
    """
    nullable = {name.strip() for text in given.get("nullable", ()) for name in text.split(",")}
    columns: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        for text in given.get(kind, ()):
            name, _, said = text.partition("=")
            if name in columns:
                raise ParameterError(kind, text, reason=f"declares {name} a second time", remedy="declare it once")
            columns[name] = {"type": kind, **bounds_of(kind, text, said, stored.get(name))}
    rest = {name: kind for name, kind in stored.items() if name not in columns and name != key}
    taken = {name for name, kind in rest.items() if take_all and kind in _UNBOUNDED}
    columns |= {name: {"type": rest[name], "nullable": True} for name in rest if name in taken}
    _require_stored(table, [*columns, *nullable], stored, key)
    if set(stored.values()) == {None}:  # a CSV file, which alone does not say what it holds
        _require_no_empty_value(columns)
    for name in sorted(nullable - {name for name in columns if name not in taken}):
        if name not in columns:
            raise ParameterError(
                "nullable", name, reason="is not declared", remedy=f"declare it, too: --integer {name}"
            )
    columns = {name: {**column, "nullable": True} if name in nullable else column for name, column in columns.items()}
    in_order = {name: columns[name] for name in stored if name in columns}
    return Declared(columns=in_order, left_out={name: kind for name, kind in rest.items() if name not in taken})


def _remarks(declared: Declared) -> dict[str, str]:
    """Return how columns that were left out stand in lapwing.toml: as comments, ready to be filled in."""
    ready = {
        "integer": '{ type = "integer", low = ..., high = ... }',
        "real": '{ type = "real", low = ..., high = ... }',
        "text": '{ type = "category", values = [...] }    or { type = "text" }',
        "date": '{ type = "date" }',
        "boolean": '{ type = "boolean" }',
    }
    return {name: ready.get(kind or "", "{ type = ... }") for name, kind in declared.left_out.items()}


def _require_stored(table: str, names: list[str], stored: Mapping[str, str | None], key: str) -> None:
    there = ", ".join(stored) or "no columns"
    if key not in stored:
        raise ParameterError(
            "person_key",
            key,
            reason=f"is not in {table}, which has {there}",
            remedy="name the column of this table that tells people apart: --person-key COLUMN",
        )
    for name in names:
        if name not in stored:
            raise ParameterError("column", name, reason=f"is not in {table}", remedy=f"it has {there}")


def _require_no_empty_value(columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a value that no cell of a CSV file can have: nobody would be in its group, and many in none."""
    for name, column in columns.items():
        if "" in column.get("values", ()):
            raise ParameterError(
                "category",
                name,
                reason="has an empty value, and in a CSV file an empty cell is a missing one",
                remedy=f"leave the empty value out, and write --nullable {name}",
            )


def bounds_of(kind: str, text: str, said: str, stored: str | None) -> dict[str, Any]:
    """Return what is said about the values of a column, as lapwing.toml has it; `text` is how the whole was written."""
    match kind:
        case "category":
            return {"values": _values(text, said, stored)}
        case "integer" | "real" | "date" if said:
            low, dots, high = said.partition("..")
            if not dots:
                raise ParameterError(
                    kind, text, reason="does not have two bounds", remedy="write LOW..HIGH, such as age=0..120"
                )
            return dict(
                zip(("first", "last") if kind == "date" else ("low", "high"), _ends(kind, text, low, high), strict=True)
            )
        case "real":
            raise ParameterError(
                kind, text, reason="has no bounds", remedy="write COLUMN=LOW..HIGH, such as bmi=10..60"
            )
        case "boolean" | "text" if said:
            raise ParameterError(kind, text, reason="takes no values", remedy="write the name of the column alone")
        case _:
            return {}


def _ends(kind: str, text: str, low: str, high: str) -> list[Any]:
    ends: list[Any] = [_day(text, low), _day(text, high)] if kind == "date" else [exact(text, low), exact(text, high)]
    if ends != sorted(ends):
        reason = "has its bounds the wrong way round"
        raise ParameterError(kind, text, reason=reason, remedy="write the lower one first")
    if kind == "integer" and any(end.denominator != 1 for end in ends):
        raise ParameterError(kind, text, reason="has bounds that are not whole", remedy="write --real, or whole bounds")
    return [end if kind == "date" else int(end) if end.denominator == 1 else str(end) for end in ends]


def _day(text: str, day: str) -> Any:
    try:
        return date.fromisoformat(day.strip())
    except ValueError:
        raise ParameterError(
            "date", text, reason="has no days", remedy="write FIRST..LAST as 1900-01-01..2025-12-31"
        ) from None


def _values(text: str, said: str, stored: str | None) -> list[Any]:
    """Return the values of a category: numbers if all are whole numbers, unless the source says that it holds text.

    >>> _values("x=8507,8532", "8507,8532", None), _values("x=8507,8532", "8507,8532", "text")
    ([8507, 8532], ['8507', '8532'])
    >>> _values("x=01,02", "01,02", None), _values("city=,Bern", ",Bern", "text")
    (['01', '02'], ['', 'Bern'])
    """
    values = read_list(said)
    if values == [""]:
        raise ParameterError("category", text, reason="has no values", remedy="write COLUMN=A,B,C")
    whole = all(_WHOLE.fullmatch(one) for one in values)
    if stored == "integer" and not whole:
        raise ParameterError(
            "category",
            text,
            reason="has values that are not whole numbers, like the column",
            remedy="write whole numbers",
        )
    return [int(one) for one in values] if whole and stored in {"integer", None} else values


def read_list(text: str) -> list[str]:
    """Return the values of a list as a line of a CSV file has them: what holds a comma stands in quotes.

    >>> read_list("F, M"), read_list('"A, or B",C')
    (['F', 'M'], ['A, or B', 'C'])
    """
    found, place, more = list[str](), 0, True
    while more:
        item = _ITEM.match(text, place)
        if item is None:
            reason = "has a quote that does not end where a value ends"
            raise ParameterError("list", text, reason=reason, remedy='write "A, or B",C')
        found.append(item["plain"] if item["quoted"] is None else item["quoted"].replace('""', '"'))
        place, more = item.end(), bool(item["more"])
    return found


def write_list(values: Iterable[str]) -> str:
    """Return values as one line, from which `read_list` makes them again.

    >>> write_list(["A, or B", "C"]), read_list(write_list(['"', " a ", "", "b"]))
    ('"A, or B",C', ['"', ' a ', '', 'b'])
    """
    return ",".join(
        f'"{one.replace(chr(34), chr(34) * 2)}"' if "," in one or one.startswith('"') or one != one.strip() else one
        for one in values
    )


@frozen()
class DeclaredTable:
    """A table as lapwing.toml will have it.

    Parameters
    ----------
    name : what analysts call it
    source : where it is
    columns : what may be asked about, and what is left out
    rows : "one" row a person, or "many"
    max_rows : of how many rows of a person a question counts, if it does not say it itself
    person_key : whose row it is, where that is another column than the population's
    key_type : "text" or "integer", if it is said
    """

    name: str
    source: Source
    columns: Declared
    rows: str = "one"
    max_rows: int | None = None
    person_key: str | None = None
    key_type: str | None = None

    def text(self, folder: Path, population: str) -> str:
        """Return its sections of lapwing.toml."""
        entries = {
            "source": self.source.entry(folder),
            "rows": None if self.rows == "one" else self.rows,
            "max_rows": self.max_rows,
            "person_key": self.person_key,
            "key_type": self.key_type,
        }
        said = {name: entry for name, entry in entries.items() if entry is not None}
        return table_text(
            population, self.name, entries=said, columns=self.columns.columns, left_out=_remarks(self.columns)
        )


def key_type_of(stored: str | None, population: Population | None) -> str | None:
    """Return what the person key holds if it is not said: what is stored, and in a CSV what the other tables have."""
    if stored is None and population is not None and population.tables:
        stored = population.tables[0].key_type.value
    return "text" if stored == "text" else None


@frozen()
class Draft:
    """A workspace that is not made yet: what was said of it so far."""

    folder: Path | None = None
    population: str | None = None
    person_key: str | None = None
    budget: dict[str, str] = field(default_factory=dict)
    adjacency: str | None = None
    groups_of: int | None = None
    people: int | None = None
    ledger: str | None = None
    only_named: bool = False
    analysts: dict[str, dict[str, str]] = field(default_factory=dict)
    tables: tuple[DeclaredTable, ...] = ()

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
        """What the people are called: like the folder, if nobody says otherwise."""
        return self.population or self.place.resolve().name or "people"

    def text(self) -> str:
        """Return the lapwing.toml."""
        return head_text(self.ledger) + self.sections()

    def sections(self) -> str:
        """Return what the lapwing.toml says of the population and its tables."""
        opening = population_text(
            self.name,
            person_key=self.person_key,
            budget=self.budget or None,
            adjacency=self.adjacency,
            groups_of=self.groups_of,
            only_named=self.only_named,
            analysts=self.analysts,
        )
        return opening + "".join(table.text(self.place, self.name) for table in self.tables)


def require_new(folder: Path) -> None:
    """Refuse a folder that is a workspace already."""
    if (as_folder(folder) / FILE).exists():
        remedy = f"edit it, then lapwing update -w {folder}"
        raise SettingsError(str(folder / FILE), 0, reason="is there already", remedy=remedy)
