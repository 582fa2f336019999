"""Writes the pieces of SQL: typed parameters, quoted names, the columns of rows.

Every value travels as a parameter and every name comes from the catalogue, so the text of a query says nothing but its
shape.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TypeAlias

from lapwing.engines.dialect import Dialect
from lapwing.queries.catalogue import KeyType, Population, Table
from lapwing.queries.column import INT64_HIGHEST, INT64_LOWEST, Category, Column, ColumnType, Text
from lapwing.queries.intervals import DAYS, day

Value: TypeAlias = int | float | str | bool | date
FIRST_DAY, LAST_DAY = day(DAYS.lowest), day(DAYS.highest)


@dataclass(frozen=True, slots=True)
class RowOf:
    """A row of a table under an alias; `outer` is the row of the same person around it, if any.

    `carried` holds columns of rows further out that this row was given, for itself and the rows inside it, where the
    database should see nothing of them but that they are equal: how many rows out and the name there, with the name
    here.
    """

    table: Table
    depth: int = 0
    outer: "RowOf | None" = None
    carried: Mapping[tuple[int, str], str] = field(default_factory=dict)

    @property
    def alias(self) -> str:
        """The alias of the row."""
        return f"r{self.depth}"

    def up(self, levels: int) -> "RowOf":
        """Return the row `levels` further out."""
        row = self
        for _ in range(levels):
            if row.outer is None:
                raise ValueError("a reference leads out of the question")
            row = row.outer
        return row


@dataclass
class Writer:
    """Writes for one population in one dialect; `parameters` grows in the order of the marks.

    Parameters
    ----------
    relations : for each table, the SQL of a relation that holds its columns in the five types of the dialect
    """

    dialect: Dialect
    population: Population
    relations: Mapping[str, str]
    parameters: list[Value] = field(default_factory=list)

    def value(self, value: Value) -> str:
        """Return a typed parameter; one that its type cannot hold is refused."""
        dialect = self.dialect
        match value:
            case bool():
                kind = dialect.truth
            case int() if INT64_LOWEST <= value <= INT64_HIGHEST:
                kind = dialect.integer
            case float() if not math.isnan(value):
                kind = dialect.real
            case str():
                kind = dialect.text
            case date():
                kind = dialect.day
            case _:
                # A cast of it would fail, and only where a row asks for it: that must not be written at all.
                raise ValueError("a constant that its type cannot hold")
        self.parameters.append(value)
        return f"CAST({dialect.mark(len(self.parameters) - 1)} AS {kind})"

    def values(self, values: "tuple[Value, ...]") -> str:
        """Return typed parameters with commas between them."""
        return ", ".join(self.value(value) for value in values)

    def relation(self, row: RowOf) -> str:
        """Return the relation that a row comes from, under its alias."""
        return f"{self.relations[row.table.name]} AS {row.alias}"

    def column(self, row: RowOf, name: str) -> str:
        """Return a column of a row."""
        return f"{row.alias}.{self.dialect.name(name)}"

    def ordered(self, row: RowOf, column: Column) -> str:
        """Return a column of a row, to be ordered by: what is equal in this order is the same value."""
        name = self.column(row, column.name)
        match column.type:
            case Category(values=values) if not isinstance(values[0], str):
                return name
            case Text() | Category():
                return self.dialect.text_order.format(name)
            case _:
                return name

    def referred(self, row: RowOf, up: int, name: str) -> str:
        """Return a column of the row `up` rows out from `row`, or what it carries of that."""
        if (up, name) in row.carried:
            return self.column(row, row.carried[up, name])
        return self.around(row, up, name)

    def around(self, row: RowOf, up: int, name: str) -> str:
        """Return a column of the row `up` rows out from `row`, or what the row around it carries of that."""
        if row.outer is not None and (up - 1, name) in row.outer.carried:
            return f"{row.outer.alias}.{self.dialect.name(row.outer.carried[up - 1, name])}"
        return self.column(row.up(up), name)

    def type_of(self, row: RowOf, name: str) -> ColumnType:
        """Return what the catalogue says that a column holds."""
        return row.table.column(name).type

    def person(self, row: RowOf) -> str:
        """Return the person key of a row."""
        return self.column(row, self.population.person_key(row.table))

    def person_number(self, row: RowOf) -> str:
        """Return a whole number for the person key, to rank by."""
        key = self.person(row)
        return self.dialect.text_number.format(key) if row.table.key_type is KeyType.TEXT else key

    def on_calendar(self, column: str) -> str:
        """Return whether a day is one that counts: neither infinite nor outside the years 1 to 9999."""
        return f"{column} BETWEEN {self.value(FIRST_DAY)} AND {self.value(LAST_DAY)}"

    def day_number(self, column: str) -> str:
        """Return the days since 1970-01-01 of a column, missing for a day that does not count."""
        return f"CASE WHEN {self.on_calendar(column)} THEN {self.dialect.day_number.format(column)} END"

    def ymd(self, column: str) -> str:
        """Return year * 10000 + month * 100 + day of a column, missing for a day that does not count."""
        return f"CASE WHEN {self.on_calendar(column)} THEN {self.dialect.ymd.format(column)} END"
