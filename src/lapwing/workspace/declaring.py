"""From what is typed at a door to a declaration: the values of a column are one text, "0..120" or "F,M"."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import date
from typing import Any, Final

from lapwing.queries.catalogue.population import Population
from lapwing.sources import Source
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, exact
from lapwing.vocabulary.frozen import frozen
from lapwing.workspace.declaration import (
    COLUMN_OPTIONS,
    KINDS,
    TABLE_OPTIONS,
    Declaration,
    Option,
    without_defaults,
)

_ITEM: Final = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>(?!")[^,]*?))\s*(?P<more>,|$)')
_WHOLE: Final = re.compile("0|-?[1-9][0-9]*")
"""A whole number in its one canonical spelling; 01 may be a code, so it is text."""


@frozen()
class ColumnInput:
    """The declaration of a column as typed: its type, its values as text such as "0..120", and its options by name.

    Without a type it has only the options, of a column that is declared in another way.
    """

    type: str = ""
    values: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


def read_options(given: Mapping[str, Sequence[str]]) -> dict[str, ColumnInput]:
    """Return the declaration of each column from the options of a command, each under a type or the word of an option.

    >>> said = read_options({"integer": ["age=0..120"], "text": ["city"], "nullable": ["age,city"]})
    >>> said["age"].values, said["age"].options, said["city"].type
    ('0..120', {'nullable': True}, 'text')
    """
    columns: dict[str, ColumnInput] = {}
    for kind in KINDS:
        for text in given.get(kind, ()):
            name, _, said = text.partition("=")
            if name in columns:
                raise ParameterError(kind, text, reason=f"declares {name} a second time", remedy="declare it once")
            columns[name] = ColumnInput(type=kind, values=said)
    for option in COLUMN_OPTIONS:
        for name, entry in (pair for text in given.get(option.word, ()) for pair in _option(option, text)):
            known = columns.get(name, ColumnInput())
            options = {**known.options, option.word: entry}
            columns[name] = ColumnInput(type=known.type, values=known.values, options=options)
    return columns


def _option(option: Option, text: str) -> list[tuple[str, Any]]:
    """Return the columns that an option names on a line, each with the value of the option."""
    if option.is_flag:
        return [(name.strip(), read_option(option, name)) for name in text.split(",")]
    name, equals, said = text.partition("=")
    if not equals:
        remedy = f"write {option.on_the_line} {option.metavar}"
        raise ParameterError(option.word, text, reason="does not say of which column", remedy=remedy)
    return [(name, read_option(option, said))]


def read_option(option: Option, text: str) -> Any:
    """Return the value of an option of a table or a column from the text that was typed for it."""
    if option.is_flag:
        return True
    return as_int(option.word, text) if option.kind is int else read_list(text) if option.kind is list else text


def write_option(option: Option, entry: Any) -> str:
    """Return the text from which `read_option` makes an entry again."""
    return write_list(entry) if option.kind is list else str(entry)


def declare(
    name: str,
    source: Source,
    stored: Mapping[str, str | None],
    *,
    options: Mapping[str, Any],
    columns: Mapping[str, ColumnInput],
    usual: str,
    people: Population | None = None,
    take_all: bool = False,
) -> Declaration:
    """Return the declaration of a table, checked against the names that are there.

    Parameters
    ----------
    name, source : what the table is called, and where it is
    stored : the kind of each column that is there; None where it is not known
    options : the options of the table, by the words of `TABLE_OPTIONS`
    columns : the declarations of its columns
    usual : the person key of its population
    people : the population, if it has tables already
    take_all : whether the other columns are declared as what they are stored as
    """
    key = options.get("person_key") or usual
    declared, left_out = declared_columns(name, columns, stored, key=key, take_all=take_all)
    key_type = options.get("key_type") or key_type_of(stored.get(key), people)
    said = without_defaults(TABLE_OPTIONS, {**options, "key_type": key_type})
    return Declaration(name=name, source=source, options=said, columns=declared, left_out=left_out)


def declared_columns(
    table: str, said: Mapping[str, ColumnInput], stored: Mapping[str, str | None], *, key: str, take_all: bool = False
) -> tuple[dict[str, dict[str, Any]], dict[str, str | None]]:
    """Return the entries of the columns that are declared, and the kinds of those that are left out.

    >>> there = {"id": "integer", "age": "integer", "sex": "text", "city": "text"}
    >>> said = {"age": ColumnInput(type="integer", values="0..120"), "sex": ColumnInput(type="category", values="F,M")}
    >>> columns, left_out = declared_columns("patients", said, there, key="id")
    >>> columns["age"], left_out
    ({'type': 'integer', 'low': 0, 'high': 120}, {'city': 'text'})
    """
    columns = {name: _entries(name, one, stored.get(name)) for name, one in said.items() if one.type}
    rest = {name: kind for name, kind in stored.items() if name not in columns and name != key}
    if take_all:
        taken = {name: kind for name, kind in rest.items() if kind is not None and not KINDS[kind].needed}
        columns |= {
            name: {"type": kind, "nullable": True, **said.get(name, ColumnInput()).options}
            for name, kind in taken.items()
        }
    _require_stored(table, [*columns, *said], stored, key)
    if set(stored.values()) == {None}:  # a CSV file, which has no types
        _require_no_empty_value(columns)
    for name, one in sorted(said.items()):
        if name not in columns:
            remedy = f"declare it, too: --integer {name}"
            raise ParameterError(next(iter(one.options)), name, reason="is not declared", remedy=remedy)
    in_order = {name: columns[name] for name in stored if name in columns}
    return in_order, {name: kind for name, kind in rest.items() if name not in columns}


def _entries(name: str, said: ColumnInput, stored: str | None) -> dict[str, Any]:
    options = without_defaults(COLUMN_OPTIONS, said.options)
    return {"type": said.type, **entries_of(name, said.type, said.values, stored), **options}


def entries_of(name: str, kind: str, said: str, stored: str | None) -> dict[str, Any]:
    """Return the entries of lapwing.toml for the values of a column."""
    row, text = KINDS[kind], f"{name}={said}" if said else name
    if kind == "category":
        return {"values": _values(text, said, stored)}
    if row.ends and said:
        low, dots, high = said.partition("..")
        if not dots:
            remedy = "write LOW..HIGH, such as age=0..120"
            raise ParameterError(kind, text, reason="does not have two bounds", remedy=remedy)
        return dict(zip(row.ends, _ends(kind, text, low, high), strict=True))
    if row.needed:
        remedy = f"write {row.metavar}, such as bmi=10..60"
        raise ParameterError(kind, text, reason="has no bounds", remedy=remedy)
    if said:
        raise ParameterError(kind, text, reason="takes no values", remedy="write the name of the column alone")
    return {}


def written_values(entries: Mapping[str, Any]) -> str:
    """Return the values of a column's entries as one text; `entries_of` is the inverse.

    >>> written_values({"type": "integer", "low": 0, "high": 120}), written_values({"type": "text"})
    ('0..120', '')
    >>> written_values({"type": "category", "values": ["north, upper", "south"]})
    '"north, upper",south'
    """
    if "values" in entries:
        return write_list(map(str, entries["values"]))
    return "..".join(str(entries[end]) for end in KINDS[entries["type"]].ends if end in entries)


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


def key_type_of(stored: str | None, population: Population | None) -> str | None:
    """Return the default type of the person key: as it is stored, and in a CSV as in the other tables."""
    if stored is None and population is not None and population.tables:
        stored = population.tables[0].key_type.value
    return "text" if stored == "text" else None
