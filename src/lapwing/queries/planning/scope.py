"""What the names of a question mean: columns of a row, of rows around it, and what the row knows beside them."""

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from datetime import date
from typing import TypeAlias

from lapwing.queries.algebra.derived import LookedUp, OnlyWhere, in_order, widened
from lapwing.queries.algebra.derived_words import named_apart
from lapwing.queries.algebra.predicate import AllOf, Gap, InIntervals, Predicate
from lapwing.queries.catalogue.column import Column, Date, DerivedColumn
from lapwing.queries.catalogue.domains import DOUBLES, double_rank
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.language.expressions import (
    Applied,
    Case,
    Coalesce,
    Condition,
    Literal,
    Name,
    Now,
    Spelled,
    Value,
)
from lapwing.queries.language.joined import PerPerson
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

Derive: TypeAlias = Callable[[Value, "Scope"], Column]


@frozen(kw_only=False)
class Scope:
    """A table whose rows are asked about, under the name that the question gives it; `outer` is what is around it.

    Parameters
    ----------
    columns : those that may be named, where not all of the table may
    derive : what makes a derived column of a value, in a scope
    beyond : rows that cannot be named from here, but whose aliases may stand for their tables with one row a person
    derived : the derived columns of this row, as they are found; those that others are computed from come first
    bound : what conditions about this row were found to mean: one that is asked for again is not bound again
    made : the columns that values of this row were found to be, likewise: values within values would be each time
    holding : what is true of every row that is asked about, as far as it is known
    """

    population: Population
    table: Table
    alias: str
    outer: "Scope | None" = None
    columns: tuple[str, ...] | None = None
    derive: "Derive | None" = None
    beyond: "Scope | None" = None
    derived: dict[str, DerivedColumn] = field(default_factory=dict, compare=False)
    bound: dict[tuple[int, bool, bool], tuple[Condition, Predicate]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    made: dict[int, tuple[Value, tuple[int, Column]]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    holding: list[Predicate] = field(default_factory=list, init=False, compare=False, repr=False)
    person_key: str = field(init=False, compare=False, repr=False)
    _in_table: set[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        key = self.population.person_key(self.table)
        object.__setattr__(self, "person_key", key)
        object.__setattr__(
            self, "_in_table", {column.name.casefold() for column in self.table.columns} | {key.casefold()}
        )
        for column in self.columns or ():
            if column.casefold() not in self._in_table:
                raise self._unknown(Name(column))

    def find(self, name: Name) -> "tuple[int, Scope] | None":
        """Return how many rows further out `name` is, and the scope there; without a table it is the nearest."""
        for up, scope in enumerate(self.outwards()):
            if scope.owns(name):
                return up, scope
        return None

    def alone(self, alias: str, columns: tuple[str, ...] | None) -> "Scope":
        """Return the same row under another name, with nothing around it."""
        return replace(self, alias=alias, columns=columns, outer=None)

    def inner(self, table: Table, alias: str | None, columns: tuple[str, ...] | None) -> "Scope":
        """Return the scope of rows of the same person, inside of this one."""
        return Scope(self.population, table, alias or table.name, self, columns, self.derive)

    def spelled(self, value: Value) -> Value:
        """Return what a text stands for: the column of this row that is called so, or what it reads as."""
        if not isinstance(value, Spelled):
            return value
        if self.owns(Name(value.text)):
            return Name(value.text)
        if value.value is None:
            raise BadQuestionError(value.refusal)
        return value.value

    def outwards(self) -> "Iterator[Scope]":
        """Yield this scope and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def column(self, value: Value) -> Column:
        """Return the column of this row that a value is, a derived one if need be.

        One of a row further out is refused, unless the person has one such row: then it is the person's own value.
        """
        up, column = self.seen(value)
        if up:
            scope = list(self.outwards())[up]
            if scope.table.rows is RowsPerPerson.ONE_A_PERSON:
                return self.add(LookedUp(name="", table=scope.table.name, column=column.name))
            raise BadQuestionError(
                f"{scope.alias}.{column.name} belongs to {scope.table.name}, outside the condition about "
                f"{self.table.name}; move it out of the parentheses"
            )
        return column

    def seen(self, value: Value) -> tuple[int, Column]:
        """Return how many rows further out a value is, and the column there that it is."""
        spend()
        made = self.made.get(id(value))
        if made is None:  # the value is kept as well, so that no other has its place
            made = value, self._find_column(value) if isinstance(value, Name) else (0, self._derived(value))
            self.made[id(value)] = made
        return made[1]

    def _derived(self, value: Value) -> Column:
        if self.derive is None:
            raise BadQuestionError("a condition is about a column here; compare a column with a constant")
        return self.derive(self.spelled(value), self)

    def _find_column(self, name: Name) -> tuple[int, Column]:
        found = self.find(name)
        if found is None:
            return 0, self._looked_up(name)
        up, scope = found
        if scope.is_person_key(name):
            raise BadQuestionError(
                f"{name.name!r} tells people apart and cannot be asked about; ask about what people have in common"
            )
        return up, scope.table.column(name.name)

    def is_day(self, value: Value) -> bool:
        """Say whether a value is a day of the calendar."""
        match value:
            case Name() | PerPerson(function="first" | "last") | Applied("date_trunc") | Case() | Coalesce():
                return isinstance(self.seen(value)[1].type, Date)
            case Literal(constant):
                return isinstance(constant, date)
            case _:
                return isinstance(value, Now)

    def _looked_up(self, name: Name) -> Column:
        """Return the person's own value in another table that has one row a person."""
        table = self._other_table(name)
        if table is None:
            raise self._unknown(name)
        if table.rows is RowsPerPerson.MANY_A_PERSON:
            raise BadQuestionError(
                f"a person may have many rows in {table.name}, and a row of {self.table.name} sees none of them by "
                f"itself; write first_of({table.name}.{name.name}), last_of({table.name}.{name.name}), or "
                f"has({table.name}, ...)"
            )
        if name.name.casefold() == self.population.person_key(table).casefold():
            raise BadQuestionError(
                f"{name.name!r} tells people apart and cannot be asked about; ask about what people have in common"
            )
        return self.add(LookedUp(name="", table=table.name, column=table.column(name.name).name))

    def _other_table(self, name: Name) -> Table | None:
        """Return the table that a name speaks of, if it is neither that of this row nor that of one around it."""
        wanted = (name.table or "").casefold()
        further = self.beyond.outwards() if self.beyond is not None else ()
        tables = [scope.table for scope in further if scope.alias.casefold() == wanted]
        tables += [table for table in self.population.tables if table.name.casefold() == wanted]
        around = {scope.table.name for scope in self.outwards()}
        return next((table for table in tables if table.name not in around), None)

    def add(self, made: DerivedColumn) -> Column:
        """Return the column that a derived column is, under a name of its own."""
        named = named_apart(made, self._in_table, self.derived)
        self.derived[named.name.casefold()] = named
        return self.row.column(named.name)

    @property
    def row(self) -> Table:
        """The table as its rows are seen: with their derived columns."""
        return widened(self.table, tuple(self.derived.values()), self.population) if self.derived else self.table

    @property
    def in_order(self) -> tuple[DerivedColumn, ...]:
        """The derived columns that were found so far, in their one order."""
        return in_order(self.derived.values()) if self.derived else ()

    def time_of(self, value: Value | None) -> Name | None:
        """Return the times of day of a column of days, as a name; None of what has none."""
        if not isinstance(value, Name):
            return None
        found = self.find(value)
        table = self._other_table(value) if found is None else found[1].table
        known = (one for one in (() if table is None else table.columns) if one.time_of)
        wanted = value.name.casefold()
        return next((Name(one.name, value.table) for one in known if one.time_of.casefold() == wanted), None)

    def is_never_zero(self, name: str) -> bool:
        """Say whether a column is 0 in no row that is asked about: what is known of the rows says so."""
        made = self.derived.get(name.casefold())
        if isinstance(made, OnlyWhere) and _excludes_zero(made.where, made.column):
            return True
        return any(_excludes_zero(one, name) for one in self.holding)

    def never_same_day(self, until: str | int, since: str | int) -> bool:
        """Say whether two days are the same in no row that is asked about."""
        pair = {until, since}
        gaps = (part for one in self.holding for part in (one.parts if isinstance(one, AllOf) else (one,)))
        return any(
            isinstance(gap, Gap)
            and not gap.until.up
            and not gap.since.up
            and {gap.until.column, gap.since.column} == pair
            and not any(low <= 0 <= high for low, high in gap.intervals)
            for gap in gaps
        )

    def is_person_key(self, name: Name) -> bool:
        """Say whether `name` is the person key of this row."""
        return self._called(name) and name.name.casefold() == self.person_key.casefold()

    def _called(self, name: Name) -> bool:
        chosen = self.columns is None or name.name.casefold() in {column.casefold() for column in self.columns}
        return chosen and (name.table is None or name.table.casefold() == self.alias.casefold())

    def owns(self, name: Name) -> bool:
        """Say whether `name` is the person key or a column of this row."""
        return self._called(name) and name.name.casefold() in self._in_table

    def _unknown(self, name: Name) -> BadQuestionError:
        scopes = list(self.outwards())
        if name.table is not None and name.table.casefold() not in {s.alias.casefold() for s in scopes}:
            there = ", ".join(s.alias for s in scopes)
            return BadQuestionError(f"there is no table {name.table!r} here for column {name.name!r}; there is {there}")
        if self.columns is not None and name.name.casefold() in self._in_table:
            return BadQuestionError(
                f"{self.alias} has no column {name.name!r}, only {', '.join(self.columns)}; let WITH select it too"
            )
        columns = ", ".join(c.name for c in self.table.columns) or "none"
        elsewhere = [
            f"; {t.name} has it: write {t.name}.{name.name}"
            if t.rows is RowsPerPerson.ONE_A_PERSON
            else f"; {t.name} has it: write has({t.name}, ...)"
            for t in self.population.tables
            if t is not self.table and name.name.casefold() in {c.name.casefold() for c in t.columns}
        ]
        text = f"; to mean the text, write '{name.name}' in single quotes" if name.table is None else ""
        hint = elsewhere[0] if elsewhere else text
        return BadQuestionError(f"table {self.table.name} has no column {name.name!r}; it has {columns}{hint}")


def _excludes_zero(where: Predicate, name: str) -> bool:
    """Say whether a condition about a row is false where a column is 0."""
    match where:
        case AllOf(parts):
            return any(_excludes_zero(part, name) for part in parts)
        case InIntervals(column=column, domain=domain, intervals=intervals) if column == name:
            zero = double_rank(0.0) if domain == DOUBLES else 0
            return not any(low <= zero <= high for low, high in intervals)
        case _:
            return False
