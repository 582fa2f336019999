"""SQL dialects: how the pieces of SQL are written for each database: types, names, parameters, columns.

A dialect is data. The SQL is otherwise the same everywhere and uses only total functions, which cannot fail on any
value. Every value is a parameter and every name comes from the catalogue, so the text that is emitted reveals nothing
but its shape. (Spark is then sent the values in the text, in signs that can be nothing but a value: `spark.bound`.)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from string import ascii_lowercase, ascii_uppercase
from typing import Final, TypeAlias

from lapwing.queries.algebra.derived import widened
from lapwing.queries.algebra.ranges import FEW
from lapwing.queries.catalogue.column import (
    Boolean,
    Category,
    Column,
    ColumnType,
    Date,
    DerivedColumn,
    Integer,
    Real,
    Text,
)
from lapwing.queries.catalogue.domains import DAYS, INTEGERS, day
from lapwing.queries.catalogue.population import KeyType, Population, Table
from lapwing.vocabulary.frozen import frozen

Value: TypeAlias = int | float | str | bool | date
Parameter: TypeAlias = Value | list[int] | list[float] | list[str]
SMALL: Final = 2**20
"""Of so small terms 64 bits hold the sum of 2^43 rows, more than any table here can have."""
_MOST_DIGITS: Final = 15
"""A decimal of more digits is not one double divided by another, so engines would round it apart."""
_DECIMALS: Final = frozenset({"decimal", "numeric"})


class Kind(StrEnum):
    """The kind of a value in statements; two kinds may have one type, as days and texts in SQLite."""

    INTEGER = "integer"
    REAL = "real"
    TEXT = "text"
    DAY = "date"
    TRUTH = "boolean"

    @staticmethod
    def of(declared: "ColumnType | KeyType") -> "Kind":
        """Return the kind of the values of a column, or a person key, of a declared type.

        >>> Kind.of(Category(values=("F", "M"))), Kind.of(Category(values=(1, 2)))
        (<Kind.TEXT: 'text'>, <Kind.INTEGER: 'integer'>)
        """
        match declared:
            case Integer() | KeyType.INTEGER:
                return Kind.INTEGER
            case Real():
                return Kind.REAL
            case Category(values=values):
                return Kind.TEXT if isinstance(values[0], str) else Kind.INTEGER
            case Text() | KeyType.TEXT:
                return Kind.TEXT
            case Date():
                return Kind.DAY
            case Boolean():
                return Kind.TRUTH


@frozen(kw_only=False)
class StoredColumn:
    """A column as a database holds it: its name and type there, and the digits of a decimal where they are limited.

    >>> StoredColumn("cost", "DECIMAL(18,3)", 18).bare
    'decimal'
    """

    name: str
    type: str
    digits: int | None = None

    @property
    def bare(self) -> str:
        """The type without its brackets and its collation."""
        return self.type.partition("(")[0].partition(" collate ")[0].lower()


@frozen()
class Dialect:
    """How one database spells the operations that all of them have; the defaults are those of most databases.

    Parameters
    ----------
    quote : the character around names, doubled inside them
    mark : the mark of parameter n = 0, 1, ...; it may stand in more than one place
    integer, real, text, day, truth : the types of 64-bit integers, doubles, text, days and truth values
    narrow : the type of 32-bit integers, which take less room where rows are put in order
    integers, reals, texts, days, truths : the stored types of which every value becomes one of these, decimals left
        aside
    greatest, least : the greater and the smaller of two numbers; one that is missing is left out
    modulo : what is left of a whole number, with its sign, when it is divided by another
    quotient : a whole number divided by another, with the fraction cut off
    alike : whether two expressions have one value, or none
    total : the exact sum of a 64-bit integer expression, too wide to overflow
    small_total : the same for terms of at most `SMALL`, if that can be had quicker
    of_least : the value of an expression where another one, which no two rows share, is least, if that can be had
    day_number : the days since 1970-01-01 of a day expression
    ymd : year * 10000 + month * 100 + day of a day expression, as a 64-bit integer
    time_of_day : the seconds after midnight, as a 64-bit integer, of a stored column of days or of moments
    part_of_day : the year, quarter, month or day, whose name comes first, of a day expression
    text_number : the first 60 bits of the MD5 of a text expression, as a 64-bit integer (`aggregate.text_number`)
    text_order : a text expression, to be ordered byte by byte
    beginning : the first day of the year, quarter, month or week, whose name comes first, that a day expression is in
    small, capital : a text expression with the letters A to Z in small, or in capitals
    trimmed : a text expression without the blanks around it
    starts_with : whether a text expression starts with another
    ending : the last characters, how many comes second, of a text expression
    place : at which character, from 1, a text expression begins in another, 0 if nowhere
    in_list : whether an expression is in a list that is one parameter, given its mark and the type of its values
    side_by_side : a SELECT of several lists of whole numbers, each a parameter, as columns, given their names and marks
    item : the number at a place, from 0, of a list that is one parameter, given its mark and the type of its numbers;
        missing beyond the list; None where long comparisons are quicker
    text_hash : Murmur3 of 32 bits of the bytes of a text expression (`text_hash.murmur`), if that can be had quickly
    as_stored : the name of another column of a relation, with the texts of a column as they are stored, where the
        column itself is checked to be text; it is longer than any name of the catalogue
    groups_first : whether what groups are by is quicker looked at in each group than in each row
    bit : the power of two of a number from 0 to 62, as a 64-bit integer
    among : whether an expression, which is not missing where it counts, is one of what a SELECT gives
    compares_rows : whether a subquery may compare its rows with columns of the queries around it by other signs than
        equality; if not, each row is joined by its person with the values that it is compared with
    in_order : a SELECT that is best planned on its own, with its rows in an order that the next step can use
    """

    quote: str = '"'
    mark: Callable[[int], str] = lambda n: f"${n + 1}"
    integer: str = "BIGINT"
    narrow: str = "INTEGER"
    real: str = "DOUBLE"
    text: str
    day: str = "DATE"
    truth: str = "BOOLEAN"
    integers: frozenset[str]
    reals: frozenset[str]
    texts: frozenset[str]
    days: frozenset[str]
    truths: frozenset[str] = frozenset({"boolean"})
    greatest: str = "GREATEST({}, {})"
    least: str = "LEAST({}, {})"
    modulo: str = "MOD({}, {})"
    quotient: str = "({} / {})"
    alike: str = "{} IS NOT DISTINCT FROM {}"
    total: str = "SUM({})"
    small_total: str | None = None
    of_least: str | None = None
    day_number: str = "({} - DATE '1970-01-01')"
    ymd: str
    time_of_day: str = "CAST(hour({0}) * 3600 + minute({0}) * 60 + second({0}) AS BIGINT)"
    part_of_day: str = "EXTRACT({} FROM {})"
    beginning: str
    text_number: str
    text_order: str = "{}"
    small: str = f"translate({{}}, '{ascii_uppercase}', '{ascii_lowercase}')"
    capital: str = f"translate({{}}, '{ascii_lowercase}', '{ascii_uppercase}')"
    trimmed: str = "trim(BOTH ' ' FROM {})"
    starts_with: str = "starts_with({}, {})"
    ending: str = "right({}, {})"
    place: str = "position({} IN {})"
    in_list: str = "{0} IN (SELECT unnest(CAST({1} AS {2}[])))"
    side_by_side: Callable[[Sequence[str], Sequence[str]], str] = lambda names, marks: (
        "SELECT "
        + ", ".join(f"unnest(CAST({mark} AS BIGINT[])) AS {name}" for name, mark in zip(names, marks, strict=True))
    )
    item: str | None = None
    text_hash: str | None = None
    as_stored: Callable[[str], str] | None = None
    groups_first: bool = False
    bit: str = "(CAST(1 AS BIGINT) << CAST({} AS INTEGER))"
    among: str = "({0} IN ({1}))"
    in_order: str = "{0}"
    compares_rows: bool = True

    def name(self, name: str) -> str:
        """Return a name as an identifier.

        >>> from lapwing.engines.files import DUCKDB
        >>> DUCKDB.name('we"ird')
        '"we""ird"'
        """
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def type_of(self, declared: ColumnType | KeyType) -> str:
        """Return the type in which statements find a column, or a person key, that was declared so."""
        return self.type_of_kind(Kind.of(declared))

    def type_of_kind(self, kind: Kind) -> str:
        """Return the SQL type of values of a kind."""
        types = {Kind.INTEGER: self.integer, Kind.REAL: self.real, Kind.TEXT: self.text}
        return {**types, Kind.DAY: self.day, Kind.TRUTH: self.truth}[kind]

    def stored_as(self, kind: Kind) -> frozenset[str]:
        """Return the stored types that are of a kind by themselves."""
        types = {Kind.INTEGER: self.integers, Kind.REAL: self.reals, Kind.TEXT: self.texts}
        return {**types, Kind.DAY: self.days, Kind.TRUTH: self.truths}[kind]

    def accepts(self, stored: StoredColumn, kind: Kind) -> bool:
        """Return whether the cast of a stored column to the type of a kind can neither fail nor round."""
        decimal = stored.digits is not None and stored.digits <= _MOST_DIGITS
        if kind is Kind.REAL and (decimal or stored.bare in self.integers):
            return True
        return stored.bare in self.stored_as(kind)

    def kind_stored(self, type_: str) -> Kind | None:
        """Return the kind of a stored type, if it has one.

        >>> from lapwing.engines.files import DUCKDB
        >>> DUCKDB.kind_stored("BIGINT"), DUCKDB.kind_stored("DECIMAL(18,3)"), DUCKDB.kind_stored("BLOB")
        (<Kind.INTEGER: 'integer'>, <Kind.REAL: 'real'>, None)
        """
        bare = StoredColumn("", type_).bare
        if bare in _DECIMALS:
            return Kind.REAL
        return next((kind for kind in Kind if bare in self.stored_as(kind)), None)


def literal(text: str) -> str:
    """Return the SQL of a text that the custodian gave, where no parameter may stand."""
    return "'" + text.replace("'", "''") + "'"


@frozen(kw_only=False)
class RowOf:
    """A row of a table under an alias; `outer` is the row of the same person around it, if any.

    `table` has the `derived` columns that the row sees, too.
    `carried` holds columns of rows further out that this row was given, for itself and the rows inside it, where the
    database should see nothing of them but that they are equal: how many rows out and the name there, with the name
    here.
    """

    table: Table
    depth: int = 0
    outer: "RowOf | None" = None
    carried: Mapping[tuple[int, str], str] = field(default_factory=dict)
    derived: tuple[DerivedColumn, ...] = ()

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

    `relations` has for each table the SQL of a relation that holds its columns in the five types of the dialect;
    `widen` writes the relation of a row that sees derived columns.
    """

    dialect: Dialect
    population: Population
    relations: Mapping[str, str]
    widen: "Callable[[Writer, RowOf], str]"
    parameters: list[Parameter] = field(default_factory=list)

    def value(self, value: Value) -> str:
        """Return a typed parameter; one that its type cannot hold is refused."""
        dialect = self.dialect
        match value:
            case bool():
                kind = dialect.truth
            case int() if INTEGERS.lowest <= value <= INTEGERS.highest:
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

    def values(self, values: Sequence[Value]) -> str:
        """Return typed parameters with commas between them."""
        return ", ".join(self.value(value) for value in values)

    def listed(self, numbers: list[int] | list[float] | list[str]) -> str:
        """Return the mark of a list of whole numbers of 64 bits, of finite doubles, or of texts."""
        self.parameters.append(numbers)
        return self.dialect.mark(len(self.parameters) - 1)

    def one_of(self, expression: str, values: Sequence[Value]) -> str:
        """Return whether an expression is one of several values of one type; many numbers or texts are one list."""
        whole = all(type(value) is int and INTEGERS.lowest <= value <= INTEGERS.highest for value in values)
        if len(values) <= FEW or not (whole or all(isinstance(value, str) for value in values)):
            return f"{expression} IN ({self.values(values)})"
        self.parameters.append(list(values))  # type: ignore[arg-type] # of one type, as was just seen
        mark = self.dialect.mark(len(self.parameters) - 1)
        return self.dialect.in_list.format(expression, mark, self.dialect.integer if whole else self.dialect.text)

    def relation(self, row: RowOf) -> str:
        """Return the relation that a row comes from, under its alias."""
        return self.widen(self, row) if row.derived else self.stored(row)

    def stored(self, row: RowOf) -> str:
        """Return the relation that a row comes from without its derived columns, under its alias."""
        return f"{self.relations[row.table.name]} AS {row.alias}"

    def row_of(
        self, table: str, derived: tuple[DerivedColumn, ...], depth: int = 0, outer: RowOf | None = None
    ) -> RowOf:
        """Return a row of a table that sees derived columns."""
        declared = self.population.table(table)
        seen = widened(declared, derived, self.population) if derived else declared
        return RowOf(seen, depth, outer, derived=derived)

    def column(self, row: RowOf, name: str) -> str:
        """Return a column of a row."""
        return f"{row.alias}.{self.name(row, name)}"

    def compared(self, row: RowOf, name: str) -> str:
        """Return a column of a row for looking whether it equals a constant: of texts, as they are stored.

        What equals a text is one, so nobody needs to check it; missing and no text at all are then both unequal.
        """
        as_stored = self.dialect.as_stored
        computed = any(one.name == name for one in row.derived)
        if as_stored is None or computed or not self.is_text(self.type_of(row, name)):
            return self.column(row, name)
        return f"{row.alias}.{self.dialect.name(as_stored(name))}"

    def name(self, row: RowOf, name: str) -> str:
        """Return the name of a column of a row as an identifier.

        What a derived column is called may hold constants of the question, which must not get into a statement: there
        it has a number, behind letters with which no column of its table begins.
        """
        number = next((i for i, one in enumerate(row.derived) if one.name == name), None)
        if number is None:
            return self.dialect.name(name)
        made = {one.name for one in row.derived}
        stored = [column.name.casefold() for column in row.table.columns if column.name not in made]
        stored.append(self.population.person_key(row.table).casefold())
        letters = "d"
        while [each for each in stored if each.startswith(letters)]:
            letters += "_"
        return self.dialect.name(f"{letters}{number}")

    def is_text(self, kind: ColumnType) -> bool:
        """Return whether a column that was declared so holds text."""
        return Kind.of(kind) is Kind.TEXT

    def ordered(self, row: RowOf, column: Column) -> str:
        """Return a column of a row, to be ordered by: equal in this order means the same value."""
        name = self.column(row, column.name)
        return self.dialect.text_order.format(name) if self.is_text(column.type) else name

    def referred(self, row: RowOf, up: int, name: str) -> str:
        """Return a column of the row `up` rows out from `row`, or the copy of it that `row` carries."""
        if (up, name) in row.carried:
            return self.column(row, row.carried[up, name])
        return self.around(row, up, name)

    def around(self, row: RowOf, up: int, name: str) -> str:
        """Return a column of the row `up` rows out from `row`, or the copy of it that the row around carries."""
        if row.outer is not None and (up - 1, name) in row.outer.carried:
            return self.column(row.outer, row.outer.carried[up - 1, name])
        return self.column(row.up(up), name)

    def type_of(self, row: RowOf, name: str) -> ColumnType:
        """Return the type of a column by the catalogue."""
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
        return f"{column} BETWEEN {self.value(day(DAYS.lowest))} AND {self.value(day(DAYS.highest))}"

    def day_number(self, column: str, *, years: bool = False) -> str:
        """Return the days since 1970-01-01, or for years `ymd`, of a column, missing for a day that does not count."""
        number = self.dialect.ymd if years else self.dialect.day_number
        return f"CASE WHEN {self.on_calendar(column)} THEN {number.format(column)} END"
