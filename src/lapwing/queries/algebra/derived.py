"""Derived columns: what a row knows beside the columns of its table.

Each is a total function of the row, of the same person's rows in other tables, and of public constants. So whatever is
proved for columns holds for them: which rows and cells of a person count still depends on that person's rows alone. One
is *of the person* if it is the same in all of their rows: whoever is grouped by such columns only is in one group.

A derived column may be computed from others that come before it.

Proof: proofs/derived_columns.md
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import ClassVar, TypeAlias

from lapwing.queries.algebra import term as terms
from lapwing.queries.algebra.functions import FUNCTIONS, Part, begin
from lapwing.queries.algebra.predicate import GAPS, HasRows, LacksRows, Predicate, Ref, Unit
from lapwing.queries.algebra.term import Elapsed, OnGrid, Term
from lapwing.queries.catalogue.column import Boolean, Category, Column, ColumnType, Date, DerivedColumn, Integer, Real
from lapwing.queries.catalogue.domains import day, day_number, ymd
from lapwing.queries.catalogue.population import Population, Table
from lapwing.vocabulary.codec import in_text_order, stored


@stored("person-rows")
class PersonRows:
    """The same person's rows of `table`, which see `derived` too, for which `where` is true."""

    table: str
    where: Predicate
    derived: tuple[DerivedColumn, ...]


@stored("looked-up")
class LookedUp(DerivedColumn):
    """What the same person has in a column of a table with one row a person; of several rows, the least."""

    name: str
    table: str
    column: str


@stored("extreme-of-person")
class ExtremeOfPerson(DerivedColumn):
    """The first (least) or `last` (greatest) value of a column in rows of the same person; missing without any."""

    name: str
    rows: PersonRows
    column: str
    last: bool


@stored("number-of-person")
class NumberOfPerson(DerivedColumn):
    """How many such rows the same person has, or how many different values in a column of them; at most `most`."""

    name: str
    rows: PersonRows
    column: str | None
    most: int


@stored("sum-of-person")
class SumOfPerson(DerivedColumn):
    """What a term of such rows of the same person adds up to, in steps of 2^-bits; missing where it is in all of them.

    The sum is clipped to `low`..`high`.
    """

    name: str
    rows: PersonRows
    term: OnGrid
    low: int
    high: int


@stored("mean-of-person")
class MeanOfPerson(DerivedColumn):
    """The mean of a term of such rows of the same person, on a grid 2^finer times finer; missing where all of it is.

    It is rounded down: whatever the number of rows up to 2^finer, it compares with a multiple of 2^-bits as the mean.
    """

    name: str
    rows: PersonRows
    term: OnGrid
    finer: int

    MOST_SUM: ClassVar[int] = 2**60
    """The sum is clipped to so many steps, which more than 2^8 rows of the widest column can reach."""
    MOST_COUNTED: ClassVar[int] = 2**31

    @property
    def bits(self) -> int:
        """Return s where the step of the mean is 2^-s."""
        return self.term.bits + self.finer


FromRows: TypeAlias = LookedUp | ExtremeOfPerson | NumberOfPerson | SumOfPerson | MeanOfPerson
"""What comes from other rows of a person, and is the same in all rows of theirs."""


@stored("part-of-day")
class PartOfDay(DerivedColumn):
    """A part of a day."""

    name: str
    part: Part
    day: str


@stored("beginning")
class Beginning(DerivedColumn):
    """The first day of the year, quarter, month or week that a day is in."""

    name: str
    unit: Part
    day: str


@stored("branch", kw_only=False)
class Branch:
    """What a case is where its condition is true."""

    where: Predicate
    result: str | int | bool | None


@stored("case")
class CaseResult(DerivedColumn):
    """The result of the first branch whose condition is true, or `otherwise`; the results are public."""

    name: str
    branches: tuple[Branch, ...]
    otherwise: str | int | bool | None

    @property
    def results(self) -> tuple[str | int | bool, ...]:
        """What it can be, each once, in the order of the branches."""
        given = (*(branch.result for branch in self.branches), self.otherwise)
        return tuple(dict.fromkeys(result for result in given if result is not None))


@stored("only-where")
class OnlyWhere(DerivedColumn):
    """A column of the row where a condition about the row is true; missing elsewhere."""

    name: str
    column: str
    where: Predicate


class Spelling(Enum):
    """Another spelling of a text: of letters, only those from A to Z change, and only blanks are taken away."""

    LOWER = "lower"
    UPPER = "upper"
    TRIM = "trim"


@stored("respelled")
class Respelled(DerivedColumn):
    """A text in another spelling; missing where the text is."""

    name: str
    column: str
    spelling: Spelling


@stored("first-characters")
class FirstCharacters(DerivedColumn):
    """The first characters of a text, `length` of them or as many as it has; missing where the text is."""

    name: str
    column: str
    length: int


@stored("filled")
class Filled(DerivedColumn):
    """A text, or a number, and a constant where it is missing: `otherwise`, which for numbers is times 2^-bits."""

    name: str
    column: str
    otherwise: str | int
    bits: int

    @property
    def constant(self) -> str | Fraction:
        """What stands for a gap."""
        return self.otherwise if isinstance(self.otherwise, str) else self.otherwise * Fraction(2) ** -self.bits


@stored("filled-day")
class FilledDay(DerivedColumn):
    """A day, and a fixed one where it is missing: `otherwise`, as days since 1970-01-01."""

    name: str
    column: str
    otherwise: int

    @property
    def constant(self) -> date:
        """What stands for a gap."""
        return day(self.otherwise)


@stored("computed")
class Computed(DerivedColumn):
    """A term times 2^-bits; missing where a column of the term is."""

    name: str
    term: Term
    bits: int


def column_of(derived: DerivedColumn, row: Table, population: Population) -> Column:
    """Return what a derived column of `row` may hold: it follows from the catalogue and its definition."""
    match derived:
        case LookedUp(table=table, column=column) | ExtremeOfPerson(rows=PersonRows(table=table), column=column):
            seen = population.table(table)
            if isinstance(derived, ExtremeOfPerson):
                seen = widened(seen, derived.rows.derived, population)
            return Column(name=derived.name, type=seen.column(column).type, nullable=True)
        case NumberOfPerson() | SumOfPerson() | MeanOfPerson():
            return _number_column(derived)
        case PartOfDay(day=of) | Beginning(day=of):
            source = row.column(of)
            kind = _part_type(derived.part, source) if isinstance(derived, PartOfDay) else _begun(derived.unit, source)
            return Column(name=derived.name, type=kind, nullable=source.nullable)
        case CaseResult(branches=branches, otherwise=otherwise):
            missing = otherwise is None or any(branch.result is None for branch in branches)
            return Column(name=derived.name, type=_case_type(derived.results), nullable=missing)
        case OnlyWhere(column=of):
            return Column(name=derived.name, type=row.column(of).type, nullable=True)
        case Respelled(column=of) | FirstCharacters(column=of):
            return Column(name=derived.name, type=row.column(str(of)).type, nullable=row.column(str(of)).nullable)
        case Filled(column=of, constant=constant) | FilledDay(column=of, constant=constant):
            return Column(name=derived.name, type=_filled_type(row.column(of).type, constant))
        case Computed(term=term):
            nullable = any(row.column(name).nullable for name in terms.columns(term))
            return Column(name=derived.name, type=_computed_type(derived, row), nullable=nullable)
        case _:
            raise TypeError(derived)


def _number_column(derived: NumberOfPerson | SumOfPerson | MeanOfPerson) -> Column:
    match derived:
        case NumberOfPerson(most=most):
            return Column(name=derived.name, type=Integer(low=0, high=most))
        case SumOfPerson(low=low, high=high, term=term):
            kind = _on_grid_type(low, high, term.bits)
        case MeanOfPerson(term=term, finer=finer):
            kind = _on_grid_type(term.low * 2**finer, term.high * 2**finer, derived.bits)
    return Column(name=derived.name, type=kind, nullable=True)


def widened(table: Table, derived: Sequence[DerivedColumn], population: Population) -> Table:
    """Return the table as its rows are seen: with its derived columns."""
    for one in derived:
        table = table.with_column(column_of(one, table, population))
    return table


def inputs(derived: DerivedColumn) -> frozenset[str]:
    """Return the columns of its row that a derived column is computed from."""
    match derived:
        case PartOfDay(day=of) | Beginning(day=of):
            return frozenset({of})
        case Respelled(column=of) | FirstCharacters(column=of) | Filled(column=of) | FilledDay(column=of):
            return frozenset({str(of)})
        case OnlyWhere(column=of, where=where):
            return frozenset({of, *columns_read(where)})
        case CaseResult(branches=branches):
            return frozenset(name for branch in branches for name in columns_read(branch.where))
        case Computed(term=term):
            return terms.columns(term)
        case _:
            return frozenset()


def columns_read(part: object, depth: int = 0) -> Iterator[str]:
    """Yield the columns of a row that a predicate about it reads, from rows of the same person inside it too."""
    if isinstance(part, Ref):
        if part.up == depth:
            yield part.column
    elif isinstance(part, HasRows | LacksRows):
        yield from columns_read(part.where, depth + 1)
    elif isinstance(part, tuple):
        for each in part:
            yield from columns_read(each, depth)
    elif is_dataclass(part):
        for field in fields(part):
            held = getattr(part, field.name)
            if field.name == "column" and depth == 0:
                yield held
            else:
                yield from columns_read(held, depth)


def of_person(derived: Iterable[DerivedColumn]) -> frozenset[str]:
    """Return the names of those that are the same in all rows of a person; what one is computed from comes before."""
    names: set[str] = set()
    for one in derived:
        if isinstance(one, FromRows) or inputs(one) <= names:
            names.add(one.name)
    return frozenset(names)


def needed_for(name: str, derived: Sequence[DerivedColumn]) -> tuple[DerivedColumn, ...]:
    """Return, of columns `in_order`, those behind a column: itself if it is derived, and what it is computed from."""
    names, kept = {name}, []
    for one in reversed(derived):
        if one.name in names:
            names |= inputs(one)
            kept.append(one)
    return tuple(reversed(kept))


def in_order(derived: Iterable[DerivedColumn]) -> tuple[DerivedColumn, ...]:
    """Return derived columns in their one order: each after those that it is computed from."""
    levels: dict[str, int] = {}
    given = list(derived)
    for one in given:
        levels[one.name] = 1 + max((levels.get(name, 0) for name in inputs(one)), default=0)
    return tuple(sorted(in_text_order(given), key=lambda one: levels[one.name]))


def elapsed_bounds(until: ColumnType | int, since: ColumnType | int, unit: Unit) -> tuple[int, int] | None:
    """Return how long it is at least and at most between declared days, or None where one has no declared bounds."""
    latest, earliest = _day_bounds(until), _day_bounds(since)
    if latest is None or earliest is None:
        return None
    (first, last), (early, late) = latest, earliest
    if unit is Unit.DAYS:
        return first - late, last - early
    return (ymd(first) - ymd(late)) // 10_000, (ymd(last) - ymd(early)) // 10_000


def _day_bounds(end: ColumnType | int) -> tuple[int, int] | None:
    match end:
        case int():
            return end, end
        case Date(first=date() as first, last=date() as last):
            return day_number(first), day_number(last)
        case _:
            return None


def _part_type(part: Part, source: Column) -> Integer:
    highest = FUNCTIONS[part.value].highest
    if highest is not None:
        return Integer(low=1, high=highest)
    first, last = _day_bounds(source.type) or (day_number(date.min), day_number(date.max))
    return Integer(low=day(first).year, high=day(last).year)


def _begun(unit: Part, source: Column) -> Date:
    match source.type:
        case Date(first=date() as first, last=date() as last):
            return Date(first=begin(unit, first), last=begin(unit, last))
        case _:
            return Date()


def _case_type(results: tuple[str | int | bool, ...]) -> ColumnType:
    if any(isinstance(result, bool) for result in results):
        return Boolean()
    numbers = [result for result in results if isinstance(result, int)]
    if numbers:
        return Integer(low=min(numbers), high=max(numbers))
    return Category(values=tuple(result for result in results if isinstance(result, str)))


def _filled_type(source: ColumnType, constant: str | Fraction | date) -> ColumnType:
    """Return what a column may hold with a constant in the place of what is missing: bounds that include it."""
    match source, constant:
        case Integer(low=int() as low, high=int() as high), Fraction():
            return Integer(low=min(low, int(constant)), high=max(high, int(constant)))
        case Real(low=Fraction() as least, high=Fraction() as most, step=step), Fraction():
            return Real(low=min(least, constant), high=max(most, constant), step=step)
        case Date(first=date() as first, last=date() as last), date():
            return Date(first=min(first, constant), last=max(last, constant))
        case _:
            return source


def _computed_type(derived: Computed, row: Table) -> ColumnType:
    low, high = terms.bounds(derived.term)
    if isinstance(derived.term, Elapsed):
        ends = [
            end if isinstance(end, int) else row.column(end).type for end in (derived.term.until, derived.term.since)
        ]
        low, high = elapsed_bounds(ends[0], ends[1], derived.term.unit) or (low, high)
    return _on_grid_type(low, high, derived.bits)


def _on_grid_type(low: int, high: int, bits: int) -> ColumnType:
    """Return the type of numbers in steps of 2^-bits."""
    if bits == 0:
        return Integer(low=low, high=high)
    step = Fraction(2) ** -bits
    return Real(low=low * step, high=high * step, step=step)


def unclipped(until: str | int, since: str | int, unit: Unit) -> Elapsed:
    """Return the time between two days as it is: whatever the days, it is within the calendar."""
    return Elapsed(until=until, since=since, unit=unit, low=GAPS[unit].lowest, high=GAPS[unit].highest)
