"""The declarations of a population, in a shape for building cohorts and for searching. Never data."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Final

from lapwing.doors.server.pages.name_search import NameSearch
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, written_name
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.language.expressions import Name, Spelled, Value
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_short

_BORN: Final = ("birth", "born")
_AGE: Final = "age"
_BINS: Final = 6
_COMMAS_FROM: Final = 10_000
_MOST_LISTED: Final = 60
ANCESTORS: Final = "concept_ancestor"
_OF_ANCESTORS: Final = frozenset({"ancestor_concept_id", "descendant_concept_id"})
"""The public table of OMOP that says which concept is a kind of which, and its two columns."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column as pages show it: what it is called, and what may be chosen of it.

    `has_kinds` says that its values are concepts, of which a public table knows the kinds.
    """

    table: str
    name: str
    kind: str
    nullable: bool
    title: str
    values: tuple[tuple[str, str], ...] = ()
    numbers: bool = False
    has_kinds: bool = False
    computed: str = ""
    low: str = ""
    high: str = ""
    unit: str = ""
    description: str = ""

    @property
    def heading(self) -> str:
        """Its title, with its unit where it has one."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def path(self) -> str:
        """Its name in the document of a cohort."""
        return f"{self.table}.{self.name}"

    @property
    def written(self) -> str:
        """Its name, in a condition; or how it is computed."""
        return self.computed or written_name(self.name)

    @property
    def value(self) -> Value:
        """The subject of a condition: the column, or an expression of another one."""
        return Spelled(self.computed, None) if self.computed else Name(self.name)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The labels of its values."""
        return dict(self.values)

    @property
    def is_long(self) -> bool:
        """Whether it has too many values to list them all: they are searched."""
        return len(self.values) > _MOST_LISTED

    def called(self, value: str) -> str:
        """Return the label of a value."""
        return self.names.get(value, value)

    @cached_property
    def _names(self) -> NameSearch:
        return NameSearch(f"{called} {value}" for value, called in self.values)

    def search(self, text: str, most: int = 1000) -> list[tuple[str, str]]:
        """Return the first values that hold every word of a text, with what they are called."""
        return [self.values[place] for place in self._names.find(text, most)]

    @property
    def edges(self) -> list[int]:
        """Round numbers between its bounds, for groups; none where there are no bounds."""
        if self.kind not in {"integer", "real"} or not self.low or not self.high:
            return []
        low, high = (float(bound.replace(",", "")) for bound in (self.low, self.high))
        steps = (size * 10**place for place in range(7) for size in (1, 2, 5))
        step = next((one for one in steps if (high - low) / one <= _BINS), 0)
        first = int(low // step) * step if step else 0
        return [first + step * place for place in range(ceil((high - first) / step) + 1)] if step else []


@frozen()
class Source:
    """A table as pages show it; `references` are columns that only point at rows, of this table or of others."""

    name: str
    title: str
    is_person: bool
    fields: tuple[Field, ...]
    rows: str
    references: frozenset[str] = frozenset()

    @property
    def written(self) -> str:
        """Its name, in a condition."""
        return written_name(self.name)

    @property
    def happened(self) -> Field | None:
        """The day of an event: its first date."""
        return next((one for one in self.fields if one.kind == "date"), None)

    @property
    def categories(self) -> tuple[Field, ...]:
        """The columns of which values can be chosen."""
        return tuple(one for one in self.fields if one.kind == "category")

    def field(self, name: str) -> Field | None:
        """Return a column."""
        return next((one for one in self.fields if one.name == name), None)


@frozen(kw_only=False)
class Found:
    """Something that can be added to a cohort: a column, an event, or one value of either."""

    of: str
    column: str
    value: str
    title: str
    where: str
    about: str = ""

    @property
    def button(self) -> str:
        """The value that the button which adds it sends to the server."""
        return f"{self.of}|{self.column}|{self.value}"


class Dictionary:
    """All tables of a population that a cohort can be built of: one with a row a person, and events.

    With `only`, these columns of people and nothing else.
    """

    def __init__(self, population: Population, only: Collection[str] | None = None) -> None:
        kinds = any(one.name == ANCESTORS and set(one.column_names) >= _OF_ANCESTORS for one in population.vocabularies)
        tables = [one for one in population.tables if only is None or one.rows is RowsPerPerson.ONE_A_PERSON]
        self.sources = {table.name: _source(table, has_kinds=kinds) for table in tables}
        self.person_key = written_name(population.unit.person_key)
        self.person = next((one for one in self.sources.values() if one.is_person), None)
        own = () if self.person is None else self.person.fields
        dates = [one for one in own if one.kind == "date"]
        self.born = next((one for one in dates if any(word in one.name.casefold() for word in _BORN)), None)
        if self.person is not None and self.born is not None and population.now is not None:
            self.person = _with_age(self.person, self.born)
            self.sources[self.person.name] = self.person
        if self.person is not None and only is not None:
            fields = tuple(one for one in self.person.fields if one.name in only)
            self.person = replace(self.person, fields=fields)
            self.sources = {self.person.name: self.person}
        self._owners = {table.row_key: table.name for table in population.tables if table.row_key is not None}
        found = sorted(self._everything(), key=lambda one: bool(one.value))
        self._all, self._names = found, NameSearch(f"{one.title} {one.where} {one.column} {one.about}" for one in found)
        self._columns = [one for one in found if not one.value]

    @property
    def events(self) -> list[Source]:
        """The tables with many rows a person."""
        return [one for one in self.sources.values() if not one.is_person]

    @property
    def groupings(self) -> list[Field]:
        """The columns by which people can be counted in declared groups."""
        return [] if self.person is None else self.groupings_of(self.person.name)

    def groupings_of(self, table: str) -> list[Field]:
        """Return the columns of a table that have declared groups."""
        return [one for one in self.sources[table].fields if one.kind in {"category", "boolean"} or one.edges]

    @property
    def values(self) -> list[Field]:
        """The numbers between declared bounds, of which there are means, medians and sums."""
        return [one for one in self._fields() if one.kind in {"integer", "real"} and one.low]

    @property
    def days(self) -> list[Field]:
        """The days between declared ends, over which there are time lines; those of events come first."""
        found = [one for one in self._fields() if one.kind == "date" and one.low]
        return sorted(found, key=lambda one: self.sources[one.table].is_person)

    def _fields(self) -> Iterator[Field]:
        told = (one for one in self.sources.values() if not one.is_person or one is self.person)
        return (field for source in told for field in source.fields)

    def source(self, name: str) -> Source | None:
        """Return a table."""
        return self.sources.get(name)

    def field(self, path: str) -> Field | None:
        """Return a column, by the name it has in a document."""
        table, _, column = path.partition(".")
        found = self.sources.get(table)
        return None if found is None else found.field(column)

    def beside(self, one: Source) -> list[Source]:
        """Return the events that can be combined with one: both have a day, or share a reference such as a visit."""
        others = (other for other in self.events if other is not one)
        return [other for other in others if (one.happened and other.happened) or self.same(one, other)]

    def same(self, one: Source, other: Source) -> tuple[str, Source] | None:
        """Return the column that joins rows of two tables which belong to one event, and the table of these events."""
        shared = sorted(one.references & other.references & set(self._owners))
        return (shared[0], self.sources[self._owners[shared[0]]]) if shared else None

    def search(self, text: str, most: int = 40) -> list[Found]:
        """Return the entries that match every word of a text, prefix matches first; for no word all columns."""
        if not text.strip():
            return self._columns[:most]
        return [self._all[place] for place in self._names.find(text, most)]

    def _everything(self) -> Iterator[Found]:
        for source in self.sources.values():
            mine = source is self.person
            if source.is_person and not mine:
                continue
            if not mine:
                yield Found(source.name, "", "", source.title, "")
            for field in source.fields:
                if mine:
                    yield Found(field.path, field.name, "", field.title, source.title, field.description)
                for value, called in field.values if field.kind == "category" else ():
                    of = field.path if mine else source.name
                    yield Found(of, field.name, value, called, field.title if mine else source.title)


def _with_age(person: Source, born: Field) -> Source:
    """Return a table of people with their age now, computed from the day of birth, where no column has it."""
    if any(one.name.casefold() == _AGE for one in person.fields):
        return person
    age = Field(
        table=person.name,
        name=_AGE,
        kind="integer",
        nullable=born.nullable,
        title=_AGE,
        computed=f"{_AGE}({born.written})",
        low="0",
        high="120",
    )
    return replace(person, fields=(*person.fields, age))


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _source(table: Table, *, has_kinds: bool) -> Source:
    shown = [one for one in table.columns if one.name != table.row_key and not _is_reference(one)]
    references = frozenset(one.name for one in table.columns if one not in shown)
    is_person = table.rows is RowsPerPerson.ONE_A_PERSON
    fields = tuple(_field(table.name, one, has_kinds=has_kinds) for one in shown)
    title = table.title or _plain(table.name)
    return Source(
        name=table.name,
        title=title,
        is_person=is_person,
        fields=fields,
        rows=table.rows_in_words,
        references=references,
    )


def _is_reference(column: Column) -> bool:
    """Say whether a column only points at other rows: a whole number without bounds, called so."""
    kind = column.type
    return isinstance(kind, Integer) and kind.low is None and column.name.casefold().endswith("_id")


def bound_text(bound: int | Fraction) -> str:
    """Return a bound of a column; four digits may be a year, and have no comma.

    >>> bound_text(1900), bound_text(250_000), bound_text(Fraction(5, 2))
    ('1900', '250,000', '2.5')
    """
    return str(bound) if bound.denominator == 1 and -_COMMAS_FROM < bound < _COMMAS_FROM else format_short(bound)


def _field(table: str, column: Column, *, has_kinds: bool) -> Field:
    title = column.title or _plain(column.name)
    words = {"table": table, "name": column.name, "kind": column.kind, "nullable": column.nullable, "title": title}
    words |= {"unit": column.unit, "description": column.description}
    match column.type:
        case Category(values=values, labels=labels):
            called = labels or tuple(map(str, values))
            pairs = tuple(zip(map(str, values), called, strict=True))
            numbers = isinstance(values[0], int)
            return Field(**words, values=pairs, numbers=numbers, has_kinds=has_kinds and numbers and bool(labels))  # type: ignore[arg-type]
        case Boolean():
            return Field(**words, values=(("true", "true"), ("false", "false")))  # type: ignore[arg-type]
        case Integer(low=low, high=high) | Real(low=low, high=high) if low is not None and high is not None:
            return Field(**words, low=bound_text(low), high=bound_text(high))  # type: ignore[arg-type]
        case Date(first=date() as first, last=date() as last):
            return Field(**words, low=first.isoformat(), high=last.isoformat())  # type: ignore[arg-type]
        case _:
            return Field(**words)  # type: ignore[arg-type]
