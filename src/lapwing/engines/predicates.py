"""Predicates as SQL: true exactly where the predicate is true, and false or NULL elsewhere.

WHERE and CASE take false and NULL alike, and there is no NOT above an atom, so no engine's idea of missing values
matters. NaN stands above every number in DuckDB, PostgreSQL and Spark: ranges are closed at infinity to keep it out.
"""

import math
from collections.abc import Iterator

from lapwing.engines.writer import RowOf, Value, Writer
from lapwing.queries.column import Date, Real
from lapwing.queries.intervals import DAYS, DOUBLES, TRUTHS, Domain, Interval, day, double_at
from lapwing.queries.predicate import (
    AllOf,
    AnyOf,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    NotInTexts,
    Predicate,
    Ref,
    StartsNotWith,
    StartsWith,
    Unit,
)

_YEAR = 10_000  # one year in year * 10000 + month * 100 + day


def condition(writer: Writer, row: RowOf, predicate: Predicate) -> str:
    """Return the SQL of a predicate about `row`."""
    match predicate:
        case AllOf(()):
            return "TRUE"
        case AnyOf(()):
            return "FALSE"
        case AllOf(parts):
            return "(" + " AND ".join(condition(writer, row, part) for part in parts) + ")"
        case AnyOf(parts):
            return "(" + " OR ".join(condition(writer, row, part) for part in parts) + ")"
        case Gap():
            return _gap(writer, row, predicate)
        case HasRows():
            return _has(writer, row, predicate)
        case LacksRows(table=table, where=where, at_least=at_least):
            return f"(NOT {_has(writer, row, HasRows(table=table, where=where, at_least=at_least))})"
        case _:
            return _about_column(writer, row, predicate)


def _about_column(
    writer: Writer,
    row: RowOf,
    atom: InIntervals | InTexts | NotInTexts | StartsWith | StartsNotWith | IsMissing | IsPresent,
) -> str:
    column = writer.column(row, atom.column)
    match atom:
        case InIntervals(domain=domain, intervals=intervals):
            return _in_intervals(writer, column, domain, intervals)
        case InTexts(texts=texts):
            return f"{column} IN ({writer.values(texts)})"
        case NotInTexts(texts=texts):
            return f"{column} NOT IN ({writer.values(texts)})"
        case StartsWith(prefix=prefix):
            return writer.dialect.starts_with.format(column, writer.value(prefix))
        case StartsNotWith(prefix=prefix):
            return f"(NOT {writer.dialect.starts_with.format(column, writer.value(prefix))})"
        case IsPresent():
            return _present(writer, row, atom.column)
        case IsMissing():
            return _missing(writer, row, atom.column)


def _present(writer: Writer, row: RowOf, name: str) -> str:
    column = writer.column(row, name)
    return f"({_counts(writer, row, name) or f'{column} IS NOT NULL'})"


def _missing(writer: Writer, row: RowOf, name: str) -> str:
    column, counts = writer.column(row, name), _counts(writer, row, name)
    return f"({column} IS NULL OR NOT ({counts}))" if counts else f"{column} IS NULL"


def _counts(writer: Writer, row: RowOf, name: str) -> str | None:
    """Return which values of a column count as present, or None where all but NULL do."""
    column = writer.column(row, name)
    if name == writer.population.person_key(row.table):  # which is no column of the catalogue
        return None
    match writer.type_of(row, name):
        case Real():
            return f"{column} <= {writer.value(math.inf)}"
        case Date():
            return writer.on_calendar(column)
        case _:
            return None


def _in_intervals(writer: Writer, column: str, domain: Domain, intervals: tuple[Interval, ...]) -> str:
    single = tuple(_point(domain, low) for low, high in intervals if low == high)
    pieces = [f"{column} IN ({writer.values(single)})"] if single else []
    for low, high in intervals:
        if low < high:
            pieces.append(_between(writer, column, domain, (low, high)))
    return pieces[0] if len(pieces) == 1 else "(" + " OR ".join(pieces) + ")"


def _between(writer: Writer, column: str, domain: Domain, interval: Interval) -> str:
    low, high = interval
    # Doubles need their upper end against NaN, days both ends against infinity.
    if domain not in (DAYS, DOUBLES) and high == domain.highest:
        return f"{column} >= {writer.value(_point(domain, low))}"
    if domain != DAYS and low == domain.lowest:
        return f"{column} <= {writer.value(_point(domain, high))}"
    return f"({column} BETWEEN {writer.value(_point(domain, low))} AND {writer.value(_point(domain, high))})"


def _point(domain: Domain, number: int) -> Value:
    if domain == DAYS:
        return day(number)
    if domain == DOUBLES:
        return double_at(number)
    return bool(number) if domain == TRUTHS else number


def _gap(writer: Writer, row: RowOf, gap: Gap) -> str:
    years = gap.unit is Unit.YEARS

    def number(ref: Ref) -> str:
        column = writer.referred(row, ref.up, ref.column)
        return writer.ymd(column) if years else writer.day_number(column)

    pieces = []
    for low, high in gap.intervals:
        first, last = (low * _YEAR, high * _YEAR + _YEAR - 1) if years else (low, high)
        gap_number = f"({number(gap.until)} - {number(gap.since)})"
        pieces.append(f"({gap_number} BETWEEN {writer.value(first)} AND {writer.value(last)})")
    return "(" + " OR ".join(pieces) + ")"


def _has(writer: Writer, row: RowOf, has: HasRows) -> str:
    table = writer.population.table(has.table)
    inner = RowOf(table, row.depth + 1, row, _carried(writer, has.where))
    source = _carrying(writer, inner) if inner.carried else writer.relation(inner)
    same = f"{writer.person(inner)} = {writer.person(row)}"
    for (up, name), carried in inner.carried.items():
        same += f" AND {writer.column(inner, carried)} <=> {writer.around(inner, up, name)}"
    if has.at_least == 1:
        return f"EXISTS (SELECT 1 FROM {source} WHERE {same} AND {condition(writer, inner, has.where)})"
    if _leads_out(has.where, 1):
        counted = f"SELECT COUNT(*) FROM {source} WHERE {same} AND {condition(writer, inner, has.where)}"
        return f"(({counted}) >= {writer.value(has.at_least)})"
    key = writer.person(inner)
    where = f"{key} IS NOT NULL AND {condition(writer, inner, has.where)}"
    grouped = f"SELECT {key} FROM {source} WHERE {where} GROUP BY {key} HAVING COUNT(*) >= {writer.value(has.at_least)}"
    return f"({writer.person(row)} IN ({grouped}))"


def _carried(writer: Writer, where: Predicate) -> dict[tuple[int, str], str]:
    """Return what a row has to carry of rows further out, under names longer than any of the catalogue."""
    far = () if writer.dialect.compares_rows else sorted(set(_far(where)))
    return {(up, name): f"{f'{name} of the row {up} further out':_<99}" for up, name in far}


def _carrying(writer: Writer, row: RowOf) -> str:
    """Return the relation of a row together with every value that a person has in the columns it carries.

    Only one of the values is that of the row further out, and the caller picks it, so no row is there twice.
    """
    columns, joins = [f"{row.alias}.*"], []
    for i, ((up, name), carried) in enumerate(row.carried.items()):
        origin = RowOf(row.up(up).table)
        values = f"SELECT DISTINCT {writer.person(origin)} AS p, {writer.column(origin, name)} AS carried"
        joins.append(f"JOIN ({values} FROM {writer.relation(origin)}) AS c{i} ON c{i}.p = {writer.person(row)}")
        columns.append(f"c{i}.carried AS {writer.dialect.name(carried)}")
    return f"(SELECT {', '.join(columns)} FROM {writer.relation(row)} {' '.join(joins)}) AS {row.alias}"


def _far(predicate: Predicate, depth: int = 0) -> Iterator[tuple[int, str]]:
    """Yield what this row and those inside refer to beyond it: how many rows out from here, and the name there."""
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _far(part, depth)
        case Gap(until=until, since=since):
            yield from ((ref.up - depth, ref.column) for ref in (until, since) if ref.up > depth)
        case HasRows(where=where) | LacksRows(where=where):
            yield from _far(where, depth + 1)
        case _:
            pass


def _leads_out(predicate: Predicate, depth: int) -> bool:
    """Say whether a reference inside `predicate` leads `depth` or more rows out."""
    match predicate:
        case AllOf(parts) | AnyOf(parts):
            return any(_leads_out(part, depth) for part in parts)
        case Gap(until=until, since=since):
            return max(until.up, since.up) >= depth
        case HasRows(where=where) | LacksRows(where=where):
            return _leads_out(where, depth + 1)
        case _:
            return False
