"""What is publicly known about a population: its tables, their columns, and what the columns may hold.

Everything here is declared by the custodian and none of it is read from the data, so it may be shown to anyone. A wrong
declaration costs accuracy (values are clipped, rows fall into no cell), never privacy.

A segment is a part of the people that nobody leaves: the person key alone decides, for ever. Questions about one
segment are paid by that segment only. That is right only if nobody is ever in two, in any table, at any data version. A
column could not promise it: somebody may have rows with two values, and move from one to the other when data is
renewed. The key can: whoever has another key is, to lapwing, somebody else.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import field, replace
from datetime import date
from enum import Enum
from typing import Any, Final, Self, TypeVar, overload

from lapwing.queries.catalogue.column import Column, Date, Integer, Text, check_title
from lapwing.queries.catalogue.domains import INTEGERS
from lapwing.queries.catalogue.public_tables import ConceptSet, Vocabulary
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import PrivacyUnit
from lapwing.vocabulary.results import Result, html_table
from lapwing.vocabulary.wording import is_printable

ELSEWHERE: Final = "elsewhere"
"""The segment of everyone whose key is in no declared segment: always there, so that everybody is in one."""


@frozen()
class Segment:
    """The people whose keys are whole numbers from `first` to `last`, both included.

    >>> Segment(name="north", first=1, last=4999).title
    'north: 1 to 4999'
    """

    name: str
    first: int
    last: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", as_int("first", self.first, least=INTEGERS.lowest, most=INTEGERS.highest))
        object.__setattr__(self, "last", as_int("last", self.last, least=self.first, most=INTEGERS.highest))
        if self.name == ELSEWHERE:
            raise ParameterError(
                "segment", self.name, reason="is for everyone in no other segment", remedy="choose another name"
            )

    @property
    def title(self) -> str:
        """What the ledger calls it: with its keys, so that an account is bound to who is in the segment."""
        return f"{self.name}: {self.first} to {self.last}"


def check_disjoint(segments: Sequence[Segment]) -> None:
    """Refuse segments that share a name or a key."""
    ordered = sorted(segments, key=lambda segment: segment.first)
    for one, other in itertools.pairwise(ordered):
        if other.first <= one.last:
            raise ParameterError(
                "segments",
                f"{one.title}; {other.title}",
                reason="share people",
                remedy="let each key be in one segment: nobody may spend from two accounts",
            )


LONGEST_NAME = 63  # bytes; PostgreSQL cuts longer identifiers, silently


COLUMN_LINE = ("column", "type", "values", "may be missing")
"""What `Table.lines` says of a column."""


class RowsPerPerson(Enum):
    """How many rows of a table one person may have."""

    ONE_A_PERSON = "one row a person"
    """A person table. Should a person bring more rows all the same, they still count once."""

    MANY_A_PERSON = "any number of rows a person"
    """An event table: visits, diagnoses, measurements."""


class KeyType(Enum):
    """What the person key is made of. Floats are not keys: 2^53 and 2^53 + 1 are one float, but two people."""

    INTEGER = "integer"
    TEXT = "text"


@frozen(repr=False)
class Table(Result):
    """One table of a population.

    Parameters
    ----------
    name : what questions call it
    columns : what may be asked about; other columns of the data do not exist for analysts
    rows : whether a person has one row or many
    person_key : the column that says whose row it is; the population's person key where it is not given
    key_type : integers or text
    row_key : a column that tells the rows of a person apart, if there is one: rows that have the same belong together
    max_rows : how many rows of one person count in row statistics, unless the question says otherwise
    title : what people call it, where that is not its name; pages show it, and questions never use it
    missing, day_order, decimal, thousands : how the cells of a CSV file are written: texts that stand for nothing, such
        as NA, days as 31.12.2025 (dmy), and the signs before decimals and between thousands

    >>> from lapwing.queries.catalogue.column import Category, Integer
    >>> patients = Table(
    ...     name="patients",
    ...     columns=(
    ...         Column(name="sex", type=Category(values=("F", "M"))),
    ...         Column(name="age", type=Integer(low=0, high=120)),
    ...     ),
    ... )
    >>> patients.column("AGE").name
    'age'
    """

    name: str
    columns: tuple[Column, ...]
    rows: RowsPerPerson = RowsPerPerson.ONE_A_PERSON
    person_key: str | None = None
    key_type: KeyType = KeyType.INTEGER
    row_key: str | None = None
    max_rows: int | None = None
    title: str = ""
    missing: tuple[str, ...] = ()
    day_order: str = "ymd"
    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        check_title(self.title)
        if self.thousands == self.decimal:
            reason = "also stands before the decimals, so that nobody can tell 1.250 from 1250"
            raise ParameterError(f"thousands of {self.name}", self.thousands, reason=reason, remedy="name another sign")
        _check_name("table", self.name)
        names = [*(c.name for c in self.columns), *(k for k in (self.person_key,) if k is not None)]
        for name in names:
            _check_name(f"column of {self.name}", name)
        _check_distinct(f"columns of {self.name}", names)
        if not isinstance(self.key_type, KeyType):
            raise ParameterError(
                f"key_type of {self.name}",
                self.key_type,
                reason="is not a type for a person key",
                remedy="write KeyType.INTEGER or KeyType.TEXT; a float cannot tell people apart",
            )
        if self.max_rows is not None:
            object.__setattr__(self, "max_rows", as_int("max_rows", self.max_rows, most=2**20))
        for column in self.columns:
            if column.time_of and not isinstance(self.column(column.time_of).type, Date):
                reason, remedy = "holds no days, so that it has no times of day", "name a column of days"
                raise ParameterError(f"time_of {column.name}", column.time_of, reason=reason, remedy=remedy)
        if self.row_key is not None and not isinstance(self.column(self.row_key).type, Integer | Text):
            raise ParameterError(
                f"row_key of {self.name}",
                self.row_key,
                reason="holds neither integers nor text",
                remedy="name a column that does, or none",
            )

    @property
    def cells_written(self) -> str:
        """How cells of a CSV file are written, in words; nothing where they are written as usual.

        >>> Table(name="t", columns=(), missing=("NA",), decimal=",").cells_written
        "missing ('NA',), day_order ymd, decimal ,, thousands "
        """
        usual = not self.missing and self.day_order == "ymd" and self.decimal == "." and not self.thousands
        return (
            ""
            if usual
            else ", ".join(f"{word} {getattr(self, word)}" for word in ("missing", "day_order", "decimal", "thousands"))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "table": self.name,
            **({"title": self.title} if self.title else {}),
            "rows": "one" if self.rows is RowsPerPerson.ONE_A_PERSON else "many",
            "max_rows": self.max_rows,
            "person_key": self.person_key,
            "key_type": self.key_type.value,
            "row_key": self.row_key,
            "columns": [column.to_dict() for column in self.columns],
        }

    def lines(self) -> list[list[str]]:
        """Return a line for each column: its name, its type, what it holds, and whether it may be missing."""
        return [[one.name, one.kind, one.told, "yes" if one.nullable else ""] for one in self.columns]

    @property
    def rows_in_words(self) -> str:
        """How many rows a person has, and how many of them count."""
        rows = "one row a person" if self.rows is RowsPerPerson.ONE_A_PERSON else "many rows a person"
        return rows if self.max_rows is None else f"{rows}, of which {self.max_rows} count"

    def __str__(self) -> str:
        lines = [[name, kind, values, missing and "may be missing"] for name, kind, values, missing in self.lines()]
        widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
        columns = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        return "\n".join([f"{self.name}: {self.rows_in_words}", *(f"  {column}" for column in columns)])

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.columns) or "no columns"
        return f"<table {self.name}: {names}; {self.rows_in_words}>"

    def facts(self) -> list[tuple[str, str | None]]:
        """Return its columns, in words."""
        return [
            (self.name, self.rows_in_words),
            *((name, f"{kind} {values}".rstrip()) for name, kind, values, _ in self.lines()),
        ]

    def _repr_html_(self) -> str:
        return html_table(COLUMN_LINE, self.lines(), f"{self.name}: {self.rows_in_words}")

    def with_column(self, column: Column) -> Self:
        """Return the table with one column more; what it has already was checked when it was made."""
        _check_name(f"column of {self.name}", column.name)
        held = {each.name.casefold() for each in self.columns}
        if column.name.casefold() in {*held, (self.person_key or "").casefold()}:
            _check_distinct(f"columns of {self.name}", [column.name, column.name])
        wider = copy(self)
        object.__setattr__(wider, "columns", (*self.columns, column))
        return wider

    def column(self, name: str) -> Column:
        """Return the column called `name`, whatever its case, or refuse and say which columns there are."""
        return named_among("column", name, self.columns, f"table {self.name}")


@frozen(repr=False)
class PeopleOf(Table):
    """Everybody who has a row in any of several tables: one row each, which holds their key and nothing else."""

    of: tuple[str, ...] = ()


@frozen()
class Population:
    """The people behind one or more tables, and who is protected.

    Parameters
    ----------
    name : what the population is called
    unit : who is protected, and the column that tells people apart
    tables : the tables, each with one row a person or with many, all with person keys of one type
    now : the date at which "age" without a date is meant; a question never asks the clock
    salt : a public number that decides which rows of a person count where not all may; it protects nothing
    segments : a public partition of the people by their keys, fixed for ever; each segment has a budget of its own
    segment : the one whose people are asked about, here; everybody if there is none
    vocabularies : public tables, with nobody in them, that conditions may use
    concept_sets : values that conditions may use by their names

    >>> clinic = Population(
    ...     name="clinic", unit=PrivacyUnit(person_key="patient_id"), tables=(Table(name="patients", columns=()),)
    ... )
    >>> clinic.table("doctors")
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: population clinic has no table 'doctors'; it has patients
    """

    name: str
    unit: PrivacyUnit
    tables: tuple[Table, ...]
    now: date | None = None
    salt: int = 0
    segments: tuple[Segment, ...] = ()
    segment: str | None = None
    vocabularies: tuple[Vocabulary, ...] = ()
    concept_sets: tuple[ConceptSet, ...] = ()
    has_times: bool = field(default=False, init=False, compare=False, repr=False)
    """Whether some column of days has times of day."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(self.tables))
        has_times = any(column.time_of for table in self.tables for column in table.columns)
        object.__setattr__(self, "has_times", has_times)
        object.__setattr__(self, "vocabularies", tuple(self.vocabularies))
        object.__setattr__(self, "segments", tuple(self.segments))
        if self.segments:
            self._check_segments()
        object.__setattr__(self, "salt", as_int("salt", self.salt, least=0, most=2**31 - 2))
        names = [*(table.name for table in self.tables), *(one.name for one in self.vocabularies)]
        _check_distinct(f"tables of {self.name}", names)
        for table in self.tables:
            key = self.person_key(table)
            _check_name("person_key", key)
            _check_distinct(f"columns of {table.name}", [key, *(c.name for c in table.columns)])
        self._check_key_types()

    def table(self, name: str) -> Table:
        """Return the table called `name`, whatever its case, or refuse and say which tables there are."""
        if self.vocabulary(name) is not None:
            raise BadQuestionError(
                f"{name!r} is a vocabulary, with nobody in it; use it in a condition: column in (select ...)"
            )
        return named_among("table", name, self.tables, f"population {self.name}")

    def with_people_of(self, tables: Sequence[str]) -> "tuple[Population, PeopleOf]":
        """Return the population with the people of several tables as one more table, and that table."""
        names = {table.name.casefold() for table in self.tables}
        fresh = next(name for i in itertools.count(1) if (name := f"people of tables {i}") not in names)
        people = PeopleOf(
            name=fresh,
            columns=(),
            person_key=self.unit.person_key,
            key_type=self.table(tables[0]).key_type,
            of=tuple(tables),
        )
        return replace(self, tables=(*self.tables, people)), people

    def vocabulary(self, name: str) -> Vocabulary | None:
        """Return the vocabulary called `name`, whatever its case, if there is one."""
        for one in self.vocabularies:
            if one.name.casefold() == name.casefold():
                return one
        return None

    def with_concept_set(self, given: ConceptSet) -> "Population":
        """Return the population with values that conditions may use by their name; an older set of that name goes."""
        others = (one for one in self.concept_sets if one.name != given.name)
        return replace(self, concept_sets=(*others, given))

    def person_key(self, table: Table) -> str:
        """Return the column of `table` that says whose row it is."""
        return table.person_key or self.unit.person_key

    @property
    def segment_titles(self) -> tuple[str, ...]:
        """What the ledger calls the segments of these people; none if they are not partitioned."""
        return (*(segment.title for segment in self.segments), ELSEWHERE) if self.segments else ()

    @property
    def touched(self) -> frozenset[str] | None:
        """The segments of the account that pay for a question, as the ledger calls them; `None` for all there are."""
        titles = {segment.name: segment.title for segment in self.segments}
        return None if self.segment is None else frozenset({titles.get(self.segment, ELSEWHERE)})

    def within(self, segment: str) -> "Population":
        """Return the population with only the people of one segment to ask about, or refuse and say which there are.

        >>> from lapwing.queries.catalogue.population import Segment
        >>> both = Population(
        ...     name="clinic",
        ...     unit=PrivacyUnit(person_key="patient_id"),
        ...     tables=(Table(name="patients", columns=()),),
        ...     segments=(Segment(name="north", first=1, last=4999), Segment(name="south", first=5000, last=9999)),
        ... )
        >>> both.within("north").touched
        frozenset({'north: 1 to 4999'})
        """
        names = [*(one.name for one in self.segments), *((ELSEWHERE,) if self.segments else ())]
        if segment not in names:
            raise BadQuestionError(
                f"population {self.name} has no segment {segment!r}; it has {', '.join(names) or 'none'}"
            )
        return replace(self, segment=segment)

    def _check_key_types(self) -> None:
        """Refuse keys of two types: a condition on two tables compares them, and one odd text would fail it for all."""
        for table in self.tables[1:]:
            first = self.tables[0]
            if table.key_type is not first.key_type:
                raise ParameterError(
                    f"key_type of {table.name}",
                    table.key_type.value,
                    reason=f"is not that of {first.name}, which is {first.key_type.value}",
                    remedy="declare, and store, the person keys of all tables of a population alike",
                )

    def _check_segments(self) -> None:
        _check_distinct(f"segments of {self.name}", [segment.name for segment in self.segments])
        check_disjoint(self.segments)
        for table in self.tables:
            if table.key_type is not KeyType.INTEGER:
                raise ParameterError(
                    "segments", table.name, reason="has keys that are text", remedy="partition people by whole numbers"
                )
        if self.unit.protects_groups_of > 1:
            raise ParameterError(
                "segments",
                self.unit.protects_groups_of,
                reason="people are protected together, and they may be in different segments",
                remedy="leave the segments out, or protect single people",
            )


Named = TypeVar("Named", Table, Column)


def named_among(kind: str, name: str, things: tuple[Named, ...], owner: str) -> Named:
    """Return the thing of this name, whatever its case, or refuse and say which there are."""
    for thing in things:
        if thing.name == name:
            return thing
    for thing in things:
        if thing.name.casefold() == name.casefold():
            return thing
    there = ", ".join(sorted(t.name for t in things)) or "none"
    raise BadQuestionError(f"{owner} has no {kind} {name!r}; it has {there}")


def _check_name(kind: str, name: object) -> None:
    if not isinstance(name, str) or not is_name(name):
        remedy = f"write at most {LONGEST_NAME} bytes, all printable and not all blank"
        raise ParameterError(kind, name, reason="is not a name", remedy=remedy)


def is_name(text: str) -> bool:
    """Say whether a text can be the name of a table or a column: people and databases show it as what it is."""
    return is_printable(text) and bool(text.strip()) and len(text.encode()) <= LONGEST_NAME


def _check_distinct(kind: str, names: Iterable[str]) -> None:
    # DuckDB and Spark take "Age" and "age" for the same column, quoted or not.
    twice = sorted(name for name, times in Counter(n.casefold() for n in names).items() if times > 1)
    if twice:
        raise ParameterError(
            kind, twice[0], reason="is there twice, if case is ignored", remedy="give each a name of its own"
        )


@frozen(kw_only=False, repr=False)
class TableList(Result, Sequence[Table]):
    """The tables of a population: `tables["patients"]` is one of them, and so is `tables[0]`.

    `vocabularies` are public tables with nobody in them, which conditions may use for nothing.
    """

    population: str
    tables: tuple[Table, ...]
    vocabularies: tuple[Vocabulary, ...] = ()

    def __len__(self) -> int:
        return len(self.tables)

    @overload
    def __getitem__(self, which: int | str) -> Table: ...
    @overload
    def __getitem__(self, which: slice) -> Self: ...
    def __getitem__(self, which: int | str | slice) -> Table | Self:
        if isinstance(which, slice):
            return type(self)(self.population, self.tables[which], self.vocabularies)
        return (
            named_among("table", which, self.tables, self.population) if isinstance(which, str) else self.tables[which]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON values."""
        return {
            "population": self.population,
            "tables": [table.to_dict() for table in self.tables],
            "vocabularies": vocabulary_records(self.vocabularies),
        }

    def facts(self) -> list[tuple[str, str | None]]:
        """Return the tables and their columns, in words."""
        public = [(one.name, vocabulary_words(one)) for one in self.vocabularies]
        return [*(fact for table in self.tables for fact in table.facts()), *public]

    def _repr_html_(self) -> str:
        lines = [[f"{table.name}: {table.rows_in_words}", *line] for table in self.tables for line in table.lines()]
        lines += [
            [f"{one.name}: vocabulary", *(column, "", "", "")]
            for one in self.vocabularies
            for column in one.column_names
        ]
        return html_table(("table", "column", "type", "values", "may be missing"), lines, self.population)

    def __repr__(self) -> str:
        public = [f"{one.name}: {vocabulary_words(one)}" for one in self.vocabularies]
        tables = [*map(str, self.tables), *(["\n".join(public)] if public else [])]
        return "\n\n".join(tables) or f"<population {self.population} has no tables>"


def vocabulary_words(vocabulary: Vocabulary) -> str:
    """Return what a vocabulary is and has, in words."""
    return f"a vocabulary, public and with nobody in it: {', '.join(vocabulary.column_names)}"


def vocabulary_records(vocabularies: Iterable[Vocabulary]) -> list[dict[str, Any]]:
    """Return vocabularies as JSON values."""
    return [{"vocabulary": one.name, "columns": list(one.column_names)} for one in vocabularies]


def public_population(vocabulary: str, columns: tuple[Column, ...]) -> Population:
    """Return the population of a vocabulary: nobody, and no other table that a condition could name."""
    table = Table(name=vocabulary, columns=columns)
    return Population(name="the vocabularies", unit=PrivacyUnit(person_key="(nobody)"), tables=(table,))
