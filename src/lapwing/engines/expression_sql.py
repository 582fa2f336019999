"""Predicates, terms, cells and ranks as SQL: expressions that no row can make fail.

A predicate is true exactly where it is true, and false or NULL elsewhere. WHERE and CASE take false and NULL alike, and
there is no NOT above an atom, so no engine's idea of missing values matters. NaN stands above every number in DuckDB,
PostgreSQL and Spark: ranges are closed at infinity to keep it out.

A term is read only from rows in which its columns are present (`Aggregate.counted`), and its range was checked when it
was built, so no term meets NULL or leaves 64 bits. NaN never gets to one either, and an infinity is clipped first.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from lapwing.engines.bins import bin_sql, point
from lapwing.engines.dialect import RowOf, Writer
from lapwing.queries.algebra.aggregate import (
    FACTOR,
    MODULUS,
    SHIFT,
    STRETCH,
    BinnedKey,
    DeclaredKey,
    GridKey,
    Key,
    PrivateKey,
)
from lapwing.queries.algebra.derived import needed_for
from lapwing.queries.algebra.functions import Grid
from lapwing.queries.algebra.pattern import End, pieces
from lapwing.queries.algebra.predicate import (
    About,
    AllOf,
    AnyOf,
    Compared,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    Like,
    NotInTexts,
    NotLike,
    Predicate,
    Ref,
    Unit,
)
from lapwing.queries.algebra.ranges import FEW, Listed, listed
from lapwing.queries.algebra.term import (
    ConstantTerm,
    Elapsed,
    FunctionOf,
    OnGrid,
    Plus,
    Rounded,
    SteppedDown,
    Term,
    Times,
    bounds,
    of_whole_numbers,
)
from lapwing.queries.catalogue.column import Boolean, Date, Real
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, Domain, ymd

_YEAR = 10_000  # one year in year * 10000 + month * 100 + day


def predicate_sql(writer: Writer, row: RowOf, predicate: Predicate) -> str:
    """Return the SQL of a predicate about `row`."""
    match predicate:
        case AllOf(()):
            return "TRUE"
        case AnyOf(()):
            return "FALSE"
        case AllOf(parts):
            return "(" + " AND ".join(predicate_sql(writer, row, part) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(predicate_sql(writer, row, part) for part in parts) + ")"
        case Gap() | Compared():
            return _two(writer, row, predicate)
        case HasRows():
            return _has(writer, row, predicate)
        case LacksRows():
            return f"(NOT {_has(writer, row, predicate)})"
        case _:
            return _about_column(writer, row, predicate)


def _about_column(writer: Writer, row: RowOf, atom: About) -> str:
    column = writer.column(row, atom.column)
    match atom:
        case InIntervals():
            return _in_intervals(writer, column, atom)
        case InTexts(texts=texts):
            return writer.one_of(writer.compared(row, atom.column), texts)
        case NotInTexts(texts=texts):
            return f"(NOT {writer.one_of(column, texts)})"
        case Like():
            return _like(writer, column, atom)
        case NotLike():
            return f"(NOT {_like(writer, column, atom)})"
        case IsPresent():
            return present_sql(writer, row, atom.column)
        case IsMissing():
            return _missing(writer, row, atom.column)


def present_sql(writer: Writer, row: RowOf, name: str) -> str:
    """Return where a column of `row` has a value."""
    column = writer.column(row, name)
    return f"({_counts(writer, row, name) or f'{column} IS NOT NULL'})"


def _missing(writer: Writer, row: RowOf, name: str) -> str:
    column, counts = writer.column(row, name), _counts(writer, row, name)
    return f"({column} IS NULL OR NOT ({counts}))" if counts else f"{column} IS NULL"


def _counts(writer: Writer, row: RowOf, name: str) -> str | None:
    """Return which values of a column count as present, or None where all but NULL do."""
    column = writer.column(row, name)
    if name == writer.population.person_key(row.table):  # which is not a column of the catalogue
        return None
    match writer.type_of(row, name):
        case Real():
            return f"{column} <= {writer.value(math.inf)}"
        case Date():
            return writer.on_calendar(column)
        case _:
            return None


def _in_intervals(writer: Writer, column: str, atom: InIntervals) -> str:
    many = listed(atom) if len(atom.intervals) > FEW else None
    if many is None:
        single = tuple(low for low, high in atom.intervals if low == high)
        many = Listed(single, tuple(interval for interval in atom.intervals if interval[0] < interval[1]))
    tests = [writer.one_of(column, [point(atom.domain, one) for one in many.points])] if many.points else []
    tests += [_between(writer, column, atom.domain, low, high) for low, high in many.ranges]
    found = tests[0] if len(tests) == 1 else "(" + " OR ".join(tests) + ")"
    return found if many.wanted else f"(NOT {found})"


def _between(writer: Writer, column: str, domain: Domain, low: int, high: int) -> str:
    # Doubles need their upper end against NaN, days both ends against infinity.
    if domain not in (DAYS, DOUBLES) and high == domain.highest:
        return f"{column} >= {writer.value(point(domain, low))}"
    if domain != DAYS and low == domain.lowest:
        return f"{column} <= {writer.value(point(domain, high))}"
    return f"({column} BETWEEN {writer.value(point(domain, low))} AND {writer.value(point(domain, high))})"


def _two(writer: Writer, row: RowOf, gap: Gap | Compared) -> str:
    if isinstance(gap, Compared):
        return _compared(writer, row, gap)
    years = gap.unit is Unit.YEARS

    def number(ref: Ref) -> str:
        return writer.day_number(writer.referred(row, ref.up, ref.column), years=years)

    pieces = []
    for low, high in gap.intervals:
        first, last = (low * _YEAR, high * _YEAR + _YEAR - 1) if years else (low, high)
        gap_number = f"({number(gap.until)} - {number(gap.since)})"
        pieces.append(f"({gap_number} BETWEEN {writer.value(first)} AND {writer.value(last)})")
    return "(" + " OR ".join(pieces) + ")"


def _like(writer: Writer, column: str, like: Like | NotLike) -> str:
    """Return whether the text of a column fits one of the patterns.

    LIKE itself is not used: databases differ in its escapes, and some try every way to fit a pattern, which a long text
    can make last for hours. Lengths and places are counted in characters, the same on every database.
    """
    text = writer.dialect.trimmed.format(column) if like.trimmed else column
    text = writer.dialect.small.format(text) if like.any_case else text
    taken = [(pattern, pieces(pattern).exact) for pattern in like.patterns]
    whole = tuple(exact for _, exact in taken if exact is not None)
    tests = [writer.one_of(text, whole)] if whole else []
    tests += [_fits(writer, text, pattern) for pattern, exact in taken if exact is None]
    return f"({' OR '.join(tests)})"


def _fits(writer: Writer, text: str, pattern: str) -> str:
    (start, middle, end), dialect = pieces(pattern), writer.dialect
    if end is None:
        return f"(length({text}) = {start.length}{_at(writer, text, start)})"
    if start.text is not None and not middle and not end.length:
        return dialect.starts_with.format(text, writer.value(start.text))
    outside = start.length + end.length
    tests = f"length({text}) >= {outside}{_at(writer, text, start)}"
    if end.length:
        tests += _at(writer, dialect.ending.format(text, end.length), end)
    rest = dialect.greatest.format(f"length({text}) - {outside}", 0)
    inside = f"substr({text}, {start.length + 1}, {rest})" if outside else text
    for number, piece in enumerate(middle, 1):
        place = dialect.place.format(writer.value(piece), inside)
        tests += f" AND {place} > 0"
        if number < len(middle):  # the next one comes after it, also if it is the same
            place = dialect.place.format(writer.value(piece), inside)
            inside = f"substr({inside}, {place} + {len(piece)})"
    return f"({tests})"


def _at(writer: Writer, text: str, end: End) -> str:
    """Return the conditions, each after an AND, that the fixed characters of one end are at their places."""
    return "".join(f" AND substr({text}, {place + 1}, {len(run)}) = {writer.value(run)}" for place, run in end.runs)


_SIGNS = {(-1,): "<", (-1, 0): "<=", (0,): "=", (0, 1): ">=", (1,): ">", (-1, 1): "<>"}


def _compared(writer: Writer, row: RowOf, compared: Compared) -> str:
    """Return the SQL of a comparison of two values: texts byte by byte, an integer and a double as doubles."""
    refs, sides, known = (compared.left, compared.right), [], ""
    kinds = [writer.type_of(row.up(ref.up), ref.column) for ref in refs]
    for ref, kind in zip(refs, kinds, strict=True):
        side = writer.referred(row, ref.up, ref.column)
        if isinstance(kind, Real):
            known += f" AND {side} <= {writer.value(math.inf)}"  # NaN is missing
        elif writer.is_text(kind):
            side = writer.dialect.text_order.format(side)
        elif any(isinstance(each, Real) for each in kinds):
            side = f"CAST({side} AS {writer.dialect.real})"
        sides.append(side)
    left, right = sides
    sign = _SIGNS.get(compared.signs)
    return f"({left} {sign} {right}{known})" if sign else f"({left} IS NOT NULL AND {right} IS NOT NULL{known})"


def _has(writer: Writer, row: RowOf, has: HasRows | LacksRows) -> str:
    inner = replace(writer.row_of(has.table, has.derived, row.depth + 1, row), carried=_carried(writer, has.where))
    source = _carrying(writer, inner) if inner.carried else writer.relation(inner)
    same = f"{writer.person(inner)} = {writer.person(row)}"
    for (up, name), carried in inner.carried.items():
        alike = writer.dialect.alike.format(writer.column(inner, carried), writer.around(inner, up, name))
        same += f" AND {alike}"
    if has.at_least == 1:
        return f"EXISTS (SELECT 1 FROM {source} WHERE {same} AND {predicate_sql(writer, inner, has.where)})"
    if any(_far(has.where)):
        counted = f"SELECT COUNT(*) FROM {source} WHERE {same} AND {predicate_sql(writer, inner, has.where)}"
        return f"(({counted}) >= {writer.value(has.at_least)})"
    key = writer.person(inner)
    where = f"{key} IS NOT NULL AND {predicate_sql(writer, inner, has.where)}"
    grouped = f"SELECT {key} FROM {source} WHERE {where} GROUP BY {key} HAVING COUNT(*) >= {writer.value(has.at_least)}"
    return writer.dialect.among.format(writer.person(row), grouped)


def _carried(writer: Writer, where: Predicate) -> dict[tuple[int, str], str]:
    """Return the columns of outer rows that a row has to carry, under names longer than any of the catalogue."""
    far = () if writer.dialect.compares_rows else sorted(set(_far(where)))
    return {(up, name): f"{f'{name} of the row {up} further out':_<99}" for up, name in far}


def _carrying(writer: Writer, row: RowOf) -> str:
    """Return the relation of a row together with every value that a person has in the columns it carries.

    Only one of the values is that of the row further out, and the caller picks it, so no row is there twice.
    """
    columns, joins = [f"{row.alias}.*"], []
    for i, ((up, name), carried) in enumerate(row.carried.items()):
        around = row.up(up)
        # Only what the value needs: a column that is being computed from these very rows is not there to be read.
        origin = replace(around, depth=0, outer=None, carried={}, derived=needed_for(name, around.derived))
        values = f"SELECT DISTINCT {writer.person(origin)} AS p, {writer.column(origin, name)} AS carried"
        joins.append(f"JOIN ({values} FROM {writer.relation(origin)}) AS c{i} ON c{i}.p = {writer.person(row)}")
        columns.append(f"c{i}.carried AS {writer.dialect.name(carried)}")
    return f"(SELECT {', '.join(columns)} FROM {writer.relation(row)} {' '.join(joins)}) AS {row.alias}"


def _far(predicate: Predicate, depth: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the references of a predicate to outer rows: how many rows out from this one, and the column there."""
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _far(part, depth)
        case Gap(until=one, since=other) | Compared(left=one, right=other):
            yield from ((ref.up - depth, ref.column) for ref in (one, other) if ref.up > depth)
        case HasRows(where=where) | LacksRows(where=where):
            yield from _far(where, depth + 1)
        case _:
            pass


def term_sql(writer: Writer, row: RowOf, term: Term, known: Mapping[Term, str] = MappingProxyType({})) -> str:
    """Return the SQL of a term of `row`; `known` has the parts of it that are columns already."""

    def inside(part: Term) -> str:
        return term_sql(writer, row, part, known)

    match term:
        case _ if term in known:
            return known[term]
        case OnGrid():
            return _on_grid(writer, row, term)
        case Elapsed():
            return _elapsed(writer, row, term)
        case ConstantTerm(value):
            return writer.value(value)
        case Plus(left, right):
            return f"({inside(left)} + {inside(right)})"
        case Times(left, right):
            return f"({inside(left)} * {inside(right)})"
        case Rounded(inner, bits):
            return _rounded(writer, f"CAST({inside(inner)} AS {writer.dialect.real})", -bits)
        case SteppedDown() | FunctionOf():
            function = of_whole_numbers(term)
            width = writer.value(term.width) if function.grid in {Grid.QUOTIENT, Grid.STEP, Grid.SHARE} else ""
            return function.sql(writer.dialect, tuple(map(inside, term.terms)), width)


def clipped(writer: Writer, number: str, low: float, high: float) -> str:
    """Return a number that is not missing, clipped to bounds of its own type."""
    at_least = writer.dialect.greatest.format(number, writer.value(low))
    return writer.dialect.least.format(at_least, writer.value(high))


def _on_grid(writer: Writer, row: RowOf, term: OnGrid) -> str:
    column = writer.column(row, term.column)
    if not isinstance(writer.type_of(row, term.column), Real):
        return clipped(writer, column, term.low, term.high)
    step = 2.0**-term.bits
    number = clipped(writer, column, term.low * step, term.high * step)
    if term.bits < 0:
        # PostgreSQL refuses to halve the smallest doubles; a value this near to zero is rounded to zero anyway.
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
        return writer.day_number(writer.column(row, end), years=years)

    gap = f"({number(term.until)} - {number(term.since)})"
    if years:
        real, whole = writer.dialect.real, writer.dialect.integer
        gap = f"CAST(FLOOR(CAST({gap} AS {real}) / {writer.value(10_000.0)}) AS {whole})"
    return clipped(writer, gap, term.low, term.high)


class CellColumn(NamedTuple):
    """One part of a cell's key, once it is a column: its name, a whole number for it, and how to order it."""

    name: str
    select: str
    number: str
    order: str


def cell_columns(writer: Writer, row: RowOf, keys: Sequence[Key]) -> list[CellColumn]:
    """Return the columns k0, k1, ... that are the key of the cell of a row."""
    return [_cell_column(writer, row, key, f"k{i}") for i, key in enumerate(keys)]


def _cell_column(writer: Writer, row: RowOf, key: Key, name: str) -> CellColumn:
    match key:
        case GridKey(term=term, width=width):
            low, _ = bounds(term)
            offset = term_sql(writer, row, term)
            offset = f"({offset} - {writer.value(low)})" if low else offset
            left = f" - {writer.dialect.modulo.format(offset, writer.value(width))}" if width > 1 else ""
            return CellColumn(name, f"{offset}{left}", name, name)
        case BinnedKey(column=column, domain=domain, bins=bins):
            select, number, order = bin_sql(writer, writer.column(row, column), domain, bins), name, name
        case DeclaredKey(column=column) | PrivateKey(column=column):
            select, number, order = _value_column(writer, row, column, name)
            if isinstance(key, DeclaredKey) and not key.missing:  # only rows with a declared value count
                select = writer.compared(row, column) if writer.is_text(writer.type_of(row, column)) else select
    if key.missing:
        number, order = f"COALESCE({number}, -1)", f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END, {order}"
    return CellColumn(name, select, number, order)


def _value_column(writer: Writer, row: RowOf, column: str, name: str) -> tuple[str, str, str]:
    """Return how to select a column as `name`, a whole number for it, and how to order it."""
    select, dialect, kind = writer.column(row, column), writer.dialect, writer.type_of(row, column)
    match kind:
        case _ if writer.is_text(kind):
            return select, dialect.text_number.format(name), dialect.text_order.format(name)
        case Boolean():
            number = f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"
            return select, number, number
        case Date():
            return writer.day_number(select), name, name
        case _:
            return select, name, name


def fold(writer: Writer, salt: int, numbers: Sequence[str]) -> str:
    """Return the first half of `aggregate.rank`: the numbers folded into one residue."""
    state, modulo = "", writer.dialect.modulo
    for number in numbers:
        scaled = f"{state} * {FACTOR}" if state else writer.value(salt * FACTOR)
        state = modulo.format(f"{scaled} + {modulo.format(number, MODULUS)} + {MODULUS}", MODULUS)
    return modulo.format(f"{state} * {STRETCH}", MODULUS)


def rank(writer: Writer, folded: str) -> str:
    """Return the second half of `aggregate.rank`: two squarings of a residue that is a column."""
    modulo = writer.dialect.modulo
    square = modulo.format(f"{folded} * {folded} + {SHIFT}", MODULUS)
    return modulo.format(f"{square} * {square}", MODULUS)
