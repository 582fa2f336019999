"""What is declared about a population, in a shape for building cohorts and for searching. Never data."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from math import ceil
from typing import Final

from lapwing.queries.catalogue import Population, RowsPerPerson, Table
from lapwing.queries.column import Boolean, Category, Column, Date, Integer, Real, written_name
from lapwing.vocabulary.wording import format_short

_BORN: Final = ("birth", "born")
_BINS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A column as pages show it: what it is called, and what may be chosen of it."""

    table: str
    name: str
    kind: str
    nullable: bool
    values: tuple[tuple[str, str], ...] = ()
    numbers: bool = False
    low: str = ""
    high: str = ""

    @property
    def path(self) -> str:
        """What it is called in the document of a cohort."""
        return f"{self.table}.{self.name}"

    @property
    def title(self) -> str:
        """Its name, for people."""
        return self.name.replace("_", " ")

    @property
    def written(self) -> str:
        """Its name, in a condition."""
        return written_name(self.name)

    def called(self, value: str) -> str:
        """Return what a value is called."""
        return dict(self.values).get(value, value)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table as pages show it; `happened` is the column that says when, of a table of events."""

    name: str
    is_person: bool
    fields: tuple[Field, ...]
    rows: str

    @property
    def title(self) -> str:
        """Its name, for people."""
        return self.name.replace("_", " ")

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


@dataclass(frozen=True, slots=True)
class Found:
    """Something that can be added to a cohort: a column, an event, or one value of either."""

    of: str
    column: str
    value: str
    title: str
    where: str

    @property
    def button(self) -> str:
        """What the button that adds it says to the server."""
        return f"{self.of}|{self.column}|{self.value}"


class Dictionary:
    """All tables of a population that a cohort can be built of: one with a row a person, and events."""

    def __init__(self, population: Population) -> None:
        self.sources = {table.name: _source(table) for table in population.tables}
        self.person = next((one for one in self.sources.values() if one.is_person), None)
        own = () if self.person is None else self.person.fields
        dates = [one for one in own if one.kind == "date"]
        self.born = next((one for one in dates if any(word in one.name.casefold() for word in _BORN)), None)
        self._all = list(self._everything())

    @property
    def events(self) -> list[Source]:
        """The tables with many rows a person."""
        return [one for one in self.sources.values() if not one.is_person]

    @property
    def groupings(self) -> list[Field]:
        """The columns by which people can be counted in declared groups."""
        own = () if self.person is None else self.person.fields
        return [one for one in own if one.kind in {"category", "boolean"} or one.edges]

    def source(self, name: str) -> Source | None:
        """Return a table."""
        return self.sources.get(name)

    def field(self, path: str) -> Field | None:
        """Return a column, by the name it has in a document."""
        table, _, column = path.partition(".")
        found = self.sources.get(table)
        return None if found is None else found.field(column)

    def search(self, text: str, most: int = 40) -> list[Found]:
        """Return what matches every word of a text, names that begin with it first; for no word all columns."""
        words = text.casefold().split()
        hits = [one for one in self._all if all(word in f"{one.title} {one.where}".casefold() for word in words)]
        if not words:
            hits = [one for one in hits if not one.value]
        first = words[0] if words else ""
        return sorted(hits, key=lambda one: (not one.title.casefold().startswith(first), bool(one.value)))[:most]

    def _everything(self) -> Iterator[Found]:
        for source in self.sources.values():
            mine = source is self.person
            if source.is_person and not mine:
                continue
            if not mine:
                yield Found(source.name, "", "", source.title, "")
            for field in source.fields:
                if mine:
                    yield Found(field.path, field.name, "", field.title, source.title)
                for value, called in field.values if field.kind == "category" else ():
                    of = field.path if mine else source.name
                    yield Found(of, field.name, value, called, field.title if mine else source.title)


def _source(table: Table) -> Source:
    shown = [one for one in table.columns if one.name != table.row_key and not _is_reference(one)]
    is_person = table.rows is RowsPerPerson.ONE_A_PERSON
    fields = tuple(_field(table.name, one) for one in shown)
    return Source(name=table.name, is_person=is_person, fields=fields, rows=table.rows_in_words)


def _is_reference(column: Column) -> bool:
    """Say whether a column only points at other rows: a whole number without bounds, called so."""
    kind = column.type
    return isinstance(kind, Integer) and kind.low is None and column.name.casefold().endswith("_id")


def _field(table: str, column: Column) -> Field:
    words = {"table": table, "name": column.name, "kind": column.kind, "nullable": column.nullable}
    match column.type:
        case Category(values=values, labels=labels):
            called = labels or tuple(map(str, values))
            pairs = tuple(zip(map(str, values), called, strict=True))
            return Field(**words, values=pairs, numbers=isinstance(values[0], int))  # type: ignore[arg-type]
        case Boolean():
            return Field(**words, values=(("true", "true"), ("false", "false")))  # type: ignore[arg-type]
        case Integer(low=low, high=high) | Real(low=low, high=high) if low is not None and high is not None:
            return Field(**words, low=format_short(low), high=format_short(high))  # type: ignore[arg-type]
        case Date(first=date() as first, last=date() as last):
            return Field(**words, low=first.isoformat(), high=last.isoformat())  # type: ignore[arg-type]
        case _:
            return Field(**words)  # type: ignore[arg-type]
