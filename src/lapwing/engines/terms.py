"""Terms, cells and ranks as SQL: whole-number expressions that no row can make fail.

A term is read only from rows in which its columns are present (`Aggregate.counted`), and its range was checked when it
was built, so nothing here meets NULL or leaves 64 bits. NaN never gets here either, and an infinity is clipped first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lapwing.engines.predicates import condition
from lapwing.engines.writer import RowOf, Writer
from lapwing.queries import term as terms
from lapwing.queries.aggregate import BinnedKey, DeclaredKey, GridKey, Key, PrivateKey
from lapwing.queries.column import Boolean, Category, Date, Real, Text
from lapwing.queries.intervals import ymd
from lapwing.queries.predicate import InIntervals, Unit
from lapwing.queries.row_sampling import FACTOR, MODULUS, SHIFT, STRETCH
from lapwing.queries.term import ConstantTerm, Elapsed, OnGrid, Plus, Rounded, Term, Times


def term_sql(writer: Writer, row: RowOf, term: Term) -> str:
    """Return the SQL of a term of `row`."""
    match term:
        case OnGrid():
            return _on_grid(writer, row, term)
        case Elapsed():
            return _elapsed(writer, row, term)
        case ConstantTerm(value):
            return writer.value(value)
        case Plus(left, right):
            return f"({term_sql(writer, row, left)} + {term_sql(writer, row, right)})"
        case Times(left, right):
            return f"({term_sql(writer, row, left)} * {term_sql(writer, row, right)})"
        case Rounded(inner, bits):
            return _rounded(writer, f"CAST({term_sql(writer, row, inner)} AS {writer.dialect.real})", -bits)


def clipped(writer: Writer, number: str, low: float, high: float) -> str:
    """Return a number that is not missing, clipped to bounds of its own type."""
    return f"LEAST(GREATEST({number}, {writer.value(low)}), {writer.value(high)})"


def _on_grid(writer: Writer, row: RowOf, term: OnGrid) -> str:
    column = writer.column(row, term.column)
    if not isinstance(writer.type_of(row, term.column), Real):
        return clipped(writer, column, term.low, term.high)
    step = 2.0**-term.bits
    number = clipped(writer, column, term.low * step, term.high * step)
    if term.bits < 0:
        # PostgreSQL refuses to halve the smallest doubles; whatever is this near to zero lands on zero anyway.
        near = f"{number} BETWEEN {writer.value(-0.5)} AND {writer.value(0.5)}"
        number = f"CASE WHEN {near} THEN {writer.value(0.0)} ELSE {number} END"
    return _rounded(writer, number, term.bits)


def _rounded(writer: Writer, number: str, bits: int) -> str:
    """Return floor(number * 2^bits + 1/2) of a double, which is exact and cannot fail below 2^52."""
    scaled = f"{number} * {writer.value(2.0**bits)} + {writer.value(0.5)}"
    return f"CAST(FLOOR({scaled}) AS {writer.dialect.integer})"


def _elapsed(writer: Writer, row: RowOf, term: Elapsed) -> str:
    years = term.unit is Unit.YEARS

    def number(end: str | int) -> str:
        if isinstance(end, int):
            return writer.value(ymd(end) if years else end)
        column = writer.column(row, end)
        return writer.ymd(column) if years else writer.day_number(column)

    gap = f"({number(term.until)} - {number(term.since)})"
    if years:
        real, whole = writer.dialect.real, writer.dialect.integer
        gap = f"CAST(FLOOR(CAST({gap} AS {real}) / {writer.value(10_000.0)}) AS {whole})"
    return clipped(writer, gap, term.low, term.high)


@dataclass(frozen=True, slots=True)
class CellColumn:
    """One part of a cell's key, once it is a column: its name, a whole number for it, and how to order it."""

    name: str
    select: str
    number: str
    order: str


def cell_columns(writer: Writer, row: RowOf, keys: Sequence[Key]) -> list[CellColumn]:
    """Return the columns k0, k1, ... that say in which cell a row is."""
    return [_cell_column(writer, row, key, f"k{i}") for i, key in enumerate(keys)]


def _cell_column(writer: Writer, row: RowOf, key: Key, name: str) -> CellColumn:
    match key:
        case GridKey(term=term, width=width):
            low, _ = terms.bounds(term)
            offset = f"({term_sql(writer, row, term)} - {writer.value(low)})"
            return CellColumn(name, f"{offset} - MOD({offset}, {writer.value(width)})", name, name)
        case BinnedKey(column=column, domain=domain, bins=bins):
            cases = " ".join(
                f"WHEN {condition(writer, row, InIntervals(column=column, domain=domain, intervals=(one,)))} THEN {i}"
                for i, one in enumerate(bins)
            )
            select, number, order = f"CASE {cases} END", name, name
        case DeclaredKey(column=column) | PrivateKey(column=column):
            select, number, order = _value_column(writer, row, column, name)
    if key.missing:
        number, order = f"COALESCE({number}, -1)", f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END, {order}"
    return CellColumn(name, select, number, order)


def _value_column(writer: Writer, row: RowOf, column: str, name: str) -> tuple[str, str, str]:
    """Return how to select a column as `name`, a whole number for it, and how to order it."""
    select, dialect = writer.column(row, column), writer.dialect
    match writer.type_of(row, column):
        case Text():
            return select, dialect.text_number.format(name), dialect.text_order.format(name)
        case Category(values=values) if isinstance(values[0], str):
            return select, dialect.text_number.format(name), dialect.text_order.format(name)
        case Boolean():
            number = f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"
            return select, number, number
        case Date():
            return writer.day_number(select), name, name
        case _:
            return select, name, name


def row_number(writer: Writer, row: RowOf, column: str) -> str:
    """Return a whole number that tells a row of a person from their others; -1 where the column is missing."""
    name = writer.column(row, column)
    text = isinstance(writer.type_of(row, column), Text)
    return f"COALESCE({writer.dialect.text_number.format(name) if text else name}, -1)"


def fold(writer: Writer, salt: int, numbers: Sequence[str]) -> str:
    """Return the first half of `picking.rank`: the numbers folded into one residue."""
    state = ""
    for number in numbers:
        scaled = f"{state} * {FACTOR}" if state else writer.value(salt * FACTOR)
        state = f"MOD({scaled} + MOD({number}, {MODULUS}) + {MODULUS}, {MODULUS})"
    return f"MOD({state} * {STRETCH}, {MODULUS})"


def rank(folded: str) -> str:
    """Return the second half of `picking.rank`: two squarings of a residue that is a column."""
    square = f"MOD({folded} * {folded} + {SHIFT}, {MODULUS})"
    return f"MOD({square} * {square}, {MODULUS})"
