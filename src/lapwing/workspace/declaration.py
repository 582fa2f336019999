"""The options of tables and columns and the types of columns: one row each, from which every interface is made.

lapwing.toml, the options of `lapwing add`, the questions of `lapwing init`, the body of a request and the form of a
page have the rows of this file, and no list of their own. A new option of a column is a row in `COLUMN_OPTIONS` and a
field of the catalogue's `Column` that has its name; one of a table is a row in `TABLE_OPTIONS` and a field of `Table`.

A declaration is public, so it must not come from the data: names and types of columns may be looked up, because a
schema is public, and values never. The smallest age in the data would reveal somebody's.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from lapwing.queries.catalogue.column import Boolean, Category, Column, ColumnType, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, RowsPerPerson, Table
from lapwing.sources import Source
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.toml import Section, key, value

NUMBER: Final = (str, int, float)


@frozen()
class Option:
    """An option of a column or of a table, and how each interface shows it.

    Parameters
    ----------
    word : its name in lapwing.toml and in a body, and of the field of the catalogue that it becomes
    kind : what it is: bool, int, str, or list for a list of texts
    default : its value where it is not declared
    choices : the words that it may be, each with its value; others are refused
    metavar, help : how the command line shows it
    flag : its name there, where that is not the word
    question : what `lapwing init` asks, of each column; nothing, where it is empty
    """

    word: str
    kind: type
    default: Any = None
    choices: Mapping[str, Any] = field(default_factory=dict)
    metavar: str | None = None
    help: str
    flag: str | None = None
    question: str = ""

    @property
    def on_the_line(self) -> str:
        """Its name on the command line."""
        return f"--{self.flag or self.word.replace('_', '-')}"

    @property
    def is_flag(self) -> bool:
        """Whether it is a flag: given or not, with no value."""
        return self.kind is bool

    def read(self, section: Section) -> Any:
        """Return the value of the option in a section of lapwing.toml."""
        if self.choices:
            return section.one_of(self.word, self.choices, self.default)
        given = section.take(self.word, self.kind, self.default)
        if self.kind is list and not all(isinstance(one, str) for one in given):
            raise section.error((self.word,), f"{self.word} are texts", f'write {self.word} = ["A", "B"]')
        return tuple(given) if self.kind is list else given


COLUMN_OPTIONS: Final = (
    Option(
        word="nullable",
        kind=bool,
        default=False,
        metavar="COLUMN",
        help="A column that may be missing.",
        question="may it be missing",
    ),
    Option(
        word="title",
        kind=str,
        default="",
        metavar="COLUMN=TEXT",
        help="What pages call a column, if not by its name.",
        flag="column-title",
    ),
    Option(
        word="unit",
        kind=str,
        default="",
        metavar="COLUMN=TEXT",
        help="In what a column is counted or measured, such as kg.",
    ),
    Option(
        word="description",
        kind=str,
        default="",
        metavar="COLUMN=TEXT",
        help="What a column holds, in a sentence.",
    ),
    Option(
        word="fixed",
        kind=bool,
        default=False,
        metavar="COLUMN",
        help="A column whose values never change once they are there, and whose later rows have no earlier day.",
    ),
    Option(
        word="time_of",
        kind=str,
        default="",
        metavar="COLUMN=DAY",
        help="A column of whole numbers that has the times of day, in seconds, of a column of days with times.",
    ),
)
TABLE_OPTIONS: Final = (
    Option(
        word="person_key", kind=str, metavar="COLUMN", help="Whose row it is, if it is not the population's person key."
    ),
    Option(
        word="key_type",
        kind=str,
        default=KeyType.INTEGER,
        choices={one.value: one for one in KeyType},
        help="What the person key holds.",
    ),
    Option(
        word="rows",
        kind=str,
        default=RowsPerPerson.ONE_A_PERSON,
        choices={"one": RowsPerPerson.ONE_A_PERSON, "many": RowsPerPerson.MANY_A_PERSON},
        help="Rows a person.  [default: one]",
    ),
    Option(word="max_rows", kind=int, metavar="N", help="How many rows of a person count, by default."),
    Option(
        word="row_key", kind=str, metavar="COLUMN", help="What tells the rows of a person apart, if it is a column."
    ),
    Option(word="title", kind=str, default="", metavar="TEXT", help="What pages call it, if not by its name."),
    Option(
        word="missing",
        kind=list,
        default=(),
        metavar="A,B",
        help="Cells of a CSV file that stand for nothing, such as NA,n/a; an empty one always does.",
    ),
    Option(
        word="day_order",
        kind=str,
        default="ymd",
        choices={one: one for one in ("ymd", "dmy", "mdy")},
        help="How a CSV file writes days: 2025-12-31, 31.12.2025 or 12/31/2025.  [default: ymd]",
    ),
    Option(
        word="decimal",
        kind=str,
        default=".",
        choices={".": ".", ",": ","},
        help="What stands before the decimals in a CSV file.  [default: .]",
    ),
    Option(
        word="thousands",
        kind=str,
        default="",
        choices={one: one for one in ("", "'", "’", " ", "_", ".", ",")},
        help="What stands between thousands in a CSV file, as in 1'250.  [default: nothing]",
    ),
)
OF_CELLS: Final = ("missing", "day_order", "decimal", "thousands")
"""The options that say how cells of a CSV file are written."""


@frozen()
class ColumnKind:
    """A type that a column may be declared as, and how each interface shows its values.

    Parameters
    ----------
    build : makes the catalogue's type of the entries
    entries : the entries of lapwing.toml about the values, with the types of TOML
    ends : the entries that are the two bounds, where it has them: LOW..HIGH on a line
    needed : whether entries about the values are required
    stored : the stored types that can be read as this one
    metavar, help : how the command line shows it
    example : a whole entry of lapwing.toml
    remark : the comment in lapwing.toml for a column that is stored so and was left out, to be filled in
    question : what `lapwing init` asks of its values; nothing, where it is empty
    """

    build: Callable[..., ColumnType]
    entries: Mapping[str, Any] = field(default_factory=dict)
    ends: tuple[str, ...] = ()
    needed: bool = False
    stored: tuple[str, ...]
    metavar: str = "COLUMN"
    help: str
    example: str
    remark: str
    question: str = ""


KINDS: Final[Mapping[str, ColumnKind]] = {
    "integer": ColumnKind(
        build=Integer,
        entries={"low": int, "high": int},
        ends=("low", "high"),
        stored=("integer",),
        metavar="COLUMN=LOW..HIGH",
        help="Whole numbers. Without bounds they cannot be added up.",
        example='{ type = "integer", low = 0, high = 120 }',
        remark='{ type = "integer", low = ..., high = ... }',
        question="its bounds, LOW..HIGH, or Enter: it cannot be added up",
    ),
    "real": ColumnKind(
        build=Real,
        entries={"low": NUMBER, "high": NUMBER, "step": NUMBER},
        ends=("low", "high"),
        needed=True,
        stored=("integer", "real"),
        metavar="COLUMN=LOW..HIGH",
        help="Numbers, clipped to the bounds.",
        example='{ type = "real", low = 10, high = 60 }',
        remark='{ type = "real", low = ..., high = ... }',
        question="its bounds, LOW..HIGH",
    ),
    "category": ColumnKind(
        build=lambda values: Category(values=tuple(values or ())),
        entries={"values": (list, dict), "labels": list},
        needed=True,
        stored=("integer", "text"),
        metavar="COLUMN=A,B,C",
        help='One of these values, "in quotes, like this" with a comma: numbers, '
        "or texts if one is or the file says so.",
        example='{ type = "category", values = ["F", "M"] }',
        remark="",
        question="its values, A,B,C",
    ),
    "date": ColumnKind(
        build=Date,
        entries={"first": date, "last": date},
        ends=("first", "last"),
        stored=("date",),
        metavar="COLUMN[=FIRST..LAST]",
        help="Days.",
        example='{ type = "date", first = 1900-01-01, last = 2025-12-31 }',
        remark='{ type = "date" }',
        question="its bounds, FIRST..LAST, or Enter for none",
    ),
    "boolean": ColumnKind(
        build=Boolean,
        stored=("boolean",),
        help="True or false.",
        example='{ type = "boolean" }',
        remark='{ type = "boolean" }',
    ),
    "text": ColumnKind(
        build=Text,
        stored=("text",),
        help="Text whose values are not public.",
        example='{ type = "text" }',
        remark='{ type = "category", values = [...] }    or { type = "text" }',
    ),
}


def kinds_for(stored: str | None) -> list[str]:
    """Return as what a column can be declared that is stored so; as anything, where that is not known.

    >>> kinds_for("integer"), kinds_for("text")
    (['integer', 'real', 'category'], ['category', 'text'])
    """
    return [name for name, kind in KINDS.items() if stored is None or stored in kind.stored]


def read_table(name: str, section: Section, values: Callable[[Section], Category]) -> Table:
    """Return the table that a section of lapwing.toml declares; `values` reads categories from a public file."""
    columns = section.section("columns", {})
    with section.blamed():
        return Table(
            name=name,
            columns=tuple(_read_column(column, one, values) for column, one in columns.sections()),
            **{option.word: option.read(section) for option in TABLE_OPTIONS},
        )


def _read_column(name: str, section: Section, values: Callable[[Section], Category]) -> Column:
    said = section.take("type", str)
    if said not in KINDS:
        raise section.error(("type",), f"type = {said!r} is unknown", f"write one of {', '.join(KINDS)}")
    kind = KINDS[said]
    words = {word: section.take(word, types, None) for word, types in kind.entries.items()}
    options = {option.word: option.read(section) for option in COLUMN_OPTIONS}
    section.done()
    missing = [word for word in kind.ends if kind.needed and words[word] is None]
    if missing:
        raise section.error((), f"{section.title} has no {missing[0]}", f"give the bounds {' and '.join(kind.ends)}")
    labels = words.pop("labels", None)
    if not all(isinstance(label, str) for label in labels or ()):
        raise section.error(("labels",), "labels are texts", 'write labels = ["Male", "Female"]')
    if isinstance(words.get("values"), dict):
        if labels is not None:
            raise section.error(("labels",), "the file has the labels", 'write label = "concept_name" inside values')
        made: ColumnType = values(section.section("values"))
    else:
        with section.blamed():
            made = kind.build(**words)
            if isinstance(made, Category) and labels is not None:
                made = replace(made, labels=tuple(labels), label_name=f"{name}_name")
    with section.blamed():
        return Column(name=name, type=made, **options)


@frozen()
class Declaration:
    """A table as lapwing.toml will have it.

    Parameters
    ----------
    name : what analysts call it
    source : where it is
    options : what is declared of the table, by the words of `TABLE_OPTIONS`; what has its default is left out
    columns : what may be asked about: the entries of each column
    left_out : the columns that were not declared, each with the kind that it is stored as, where that is known
    """

    name: str
    source: Source
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    left_out: Mapping[str, str | None] = field(default_factory=dict)

    def text(self, folder: Path, population: str) -> str:
        """Return its sections of lapwing.toml; what is left out is a comment, to be filled in."""
        place = f"populations.{key(population)}.tables.{key(self.name)}"
        entries = {"source": self.source.entry(folder), **self.options}
        lines = [f"\n[{place}]", *(f"{word} = {value(entry)}" for word, entry in entries.items())]
        lines += [f"\n[{place}.columns]", *(f"{key(name)} = {value(dict(one))}" for name, one in self.columns.items())]
        if self.left_out:
            lines += ["# These columns cannot be asked about. To declare one, say what it is, then lapwing update:"]
            lines += [f"#     {kind.example}" for kind in KINDS.values()]
            lines += ["# and with nullable = true where it may be missing."]
        lines += [f"# {key(name)} = {_remark(stored)}" for name, stored in self.left_out.items()]
        return "\n".join(lines) + "\n"

    def columns_record(self) -> dict[str, dict[str, Any]]:
        """Return the declared columns as JSON values."""
        return {
            name: {word: str(entry) if isinstance(entry, date) else entry for word, entry in column.items()}
            for name, column in self.columns.items()
        }


def _remark(stored: str | None) -> str:
    return KINDS[stored].remark if stored is not None else "{ type = ... }"


def without_defaults(options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their defaults, in the order of their rows."""
    found = {option.word: (option, given[option.word]) for option in options if given.get(option.word) is not None}
    return {
        word: entry
        for word, (option, entry) in found.items()
        if (option.choices.get(entry, entry) if option.choices else entry) != option.default and entry != ""
    }
