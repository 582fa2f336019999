"""Derived columns as SQL: the relation of a table with one more column for each.

What comes from other rows of a person is joined from one grouped subselect for all columns that look at the same rows,
so that a statement stays linear and no row is there twice; what is computed from the row is added in layers, each
column after those that it needs. A person without such rows has no match: a number is 0 there, a value is missing.
"""

from collections.abc import Iterable, Sequence

from lapwing.engines.dialect import RowOf, Writer
from lapwing.engines.expression_sql import clipped, predicate_sql, present_sql, term_sql
from lapwing.queries.algebra.derived import (
    Beginning,
    CaseResult,
    Computed,
    ExtremeOfPerson,
    Filled,
    FilledDay,
    FirstCharacters,
    FromRows,
    LookedUp,
    MeanOfPerson,
    NumberOfPerson,
    OnlyWhere,
    PartOfDay,
    PersonRows,
    Respelled,
    SumOfPerson,
    inputs,
)
from lapwing.queries.algebra.functions import FUNCTIONS, Part, remainder
from lapwing.queries.algebra.predicate import ALWAYS
from lapwing.queries.algebra.term import columns
from lapwing.queries.catalogue.column import Boolean, DerivedColumn, Real


def widened_relation(writer: Writer, row: RowOf) -> str:
    """Return the relation of a row with its derived columns, under the alias of the row."""
    joined = [one for one in row.derived if isinstance(one, FromRows)]
    source = _joined(writer, row, joined) if joined else writer.stored(row)
    known = {one.name for one in joined}
    rest = [one for one in row.derived if one.name not in known]
    while rest:
        waiting = {one.name for one in rest}
        ready = [one for one in rest if not inputs(one) & waiting]
        added = [f"{_of_row(writer, row, one)} AS {writer.name(row, one.name)}" for one in ready]
        source = f"(SELECT {', '.join([f'{row.alias}.*', *added])} FROM {source}) AS {row.alias}"
        rest = [one for one in rest if one not in ready]
    return source


def _joined(writer: Writer, row: RowOf, derived: Sequence[FromRows]) -> str:
    by_rows: dict[PersonRows, list[FromRows]] = {}
    for one in derived:
        rows = PersonRows(table=one.table, where=ALWAYS, derived=()) if isinstance(one, LookedUp) else one.rows
        by_rows.setdefault(rows, []).append(one)
    added, joins = [f"{row.alias}.*"], []
    for i, (rows, several) in enumerate(by_rows.items()):
        alias = f"j{row.depth}_{i}"
        joins.append(
            f"LEFT JOIN ({_grouped(writer, row, rows, several)}) AS {alias} ON {alias}.p = {writer.person(row)}"
        )
        for v, one in enumerate(several):
            value = f"{alias}.v{v}"
            number = isinstance(one, NumberOfPerson)
            added.append(f"{f'COALESCE({value}, 0)' if number else value} AS {writer.name(row, one.name)}")
    return f"(SELECT {', '.join(added)} FROM {writer.stored(row)} {' '.join(joins)}) AS {row.alias}"


def _grouped(writer: Writer, row: RowOf, rows: PersonRows, derived: Iterable[FromRows]) -> str:
    """Return one row for each person who has such rows: the person p, and the values v0, v1, ..."""
    inner = writer.row_of(rows.table, rows.derived, row.depth + 1)
    person = writer.person(inner)
    values = [f"{_of_rows(writer, inner, one)} AS v{i}" for i, one in enumerate(derived)]
    where = f"{person} IS NOT NULL"
    if rows.where != ALWAYS:
        where += f" AND {predicate_sql(writer, inner, rows.where)}"
    return (
        f"SELECT {', '.join([f'{person} AS p', *values])} FROM {writer.relation(inner)} WHERE {where} GROUP BY {person}"
    )


def _of_rows(writer: Writer, row: RowOf, derived: FromRows) -> str:
    whole, least = writer.dialect.integer, writer.dialect.least
    match derived:
        case NumberOfPerson(column=None, most=most):
            return f"CAST({least.format('COUNT(*)', writer.value(most))} AS {whole})"
        case NumberOfPerson(column=str() as column, most=most):
            several = f"COUNT(DISTINCT {_known(writer, row, column)})"
            return f"CAST({least.format(several, writer.value(most))} AS {whole})"
        case SumOfPerson(term=term, low=low, high=high):
            value = f"CASE WHEN {present_sql(writer, row, term.column)} THEN {term_sql(writer, row, term)} END"
            total = f"CAST({clipped(writer, writer.dialect.total.format(value), low, high)} AS {whole})"
            if term.bits:
                total = f"CAST({total} AS {writer.dialect.real}) * {writer.value(2.0**-term.bits)}"
            # A sum of nothing is missing, and LEAST and GREATEST would leave it out.
            return f"CASE WHEN COUNT({value}) > 0 THEN {total} END"
        case MeanOfPerson():
            return _mean(writer, row, derived)
        case LookedUp(column=column) | ExtremeOfPerson(column=column):
            last = isinstance(derived, ExtremeOfPerson) and derived.last
            return _extreme(writer, row, str(column), "MAX" if last else "MIN")
        case _:
            raise TypeError(derived)


def _mean(writer: Writer, row: RowOf, derived: MeanOfPerson) -> str:
    """Return the mean of a person's rows in whole numbers: the quotient of sum and number, and what is left over."""
    dialect, term = writer.dialect, derived.term
    value = f"CASE WHEN {present_sql(writer, row, term.column)} THEN {term_sql(writer, row, term)} END"
    sum_ = clipped(writer, dialect.total.format(value), -derived.MOST_SUM, derived.MOST_SUM)
    total = f"CAST({sum_} AS {dialect.integer})"
    number = f"CAST({clipped(writer, f'COUNT({value})', 1, derived.MOST_COUNTED)} AS {dialect.integer})"
    left = remainder(dialect, total, number)
    whole = clipped(writer, dialect.quotient.format(f"({total} - {left})", number), term.low, term.high)
    finer = writer.value(2**derived.finer)
    rest = dialect.quotient.format(f"({left} * {finer})", number)
    mean = clipped(writer, f"({whole} * {finer} + {rest})", term.low << derived.finer, term.high << derived.finer)
    if derived.bits:
        mean = f"CAST({mean} AS {dialect.real}) * {writer.value(2.0**-derived.bits)}"
    return f"CASE WHEN COUNT({value}) > 0 THEN {mean} END"


def _extreme(writer: Writer, row: RowOf, column: str, function: str) -> str:
    kind, value = writer.type_of(row, column), _known(writer, row, column)
    if isinstance(kind, Boolean):
        return f"({function}(CASE WHEN {value} THEN 1 WHEN NOT {value} THEN 0 END) = 1)"
    return f"{function}({writer.dialect.text_order.format(value) if writer.is_text(kind) else value})"


def _known(writer: Writer, row: RowOf, column: str) -> str:
    """Return a column, missing where its value counts as missing."""
    return f"CASE WHEN {present_sql(writer, row, column)} THEN {writer.column(row, column)} END"


def _of_row(writer: Writer, row: RowOf, derived: DerivedColumn) -> str:
    match derived:
        case PartOfDay(part=part, day=day):
            column = writer.column(row, day)
            seven = writer.value(7) if part is Part.WEEKDAY else ""
            return f"CASE WHEN {writer.on_calendar(column)} THEN {_called(writer, part.value, column, seven)} END"
        case Beginning(unit=unit, day=day):
            column = writer.column(row, day)
            begin = _called(writer, "date_trunc", column, unit.value)
            return f"CASE WHEN {writer.on_calendar(column)} THEN {begin} END"
        case Respelled(column=of, spelling=spelling):
            return _called(writer, spelling.value, writer.column(row, of))
        case FirstCharacters(column=of, length=length):
            return _called(writer, "left", writer.column(row, of), writer.value(length))
        case Filled(column=of) | FilledDay(column=of):
            there, value = present_sql(writer, row, of), _instead(writer, row, derived)
            return f"CASE WHEN {there} THEN {writer.column(row, of)} ELSE {value} END"
        case OnlyWhere(column=of, where=where):
            return f"CASE WHEN {predicate_sql(writer, row, where)} THEN {writer.column(row, of)} END"
        case CaseResult(branches=branches, otherwise=otherwise):
            whens = " ".join(
                f"WHEN {predicate_sql(writer, row, branch.where)} THEN {_constant(writer, branch.result)}"
                for branch in branches
            )
            return f"CASE {whens} ELSE {_constant(writer, otherwise)} END"
        case Computed(term=term, bits=bits):
            there = " AND ".join(present_sql(writer, row, column) for column in sorted(columns(term)))
            value = term_sql(writer, row, term)
            if bits:
                value = f"CAST({value} AS {writer.dialect.real}) * {writer.value(2.0**-bits)}"
            return f"CASE WHEN {there} THEN {value} END"
        case _:
            raise TypeError(derived)


def _instead(writer: Writer, row: RowOf, filled: Filled | FilledDay) -> str:
    """Return what stands for a gap, in the type of the column."""
    if (
        isinstance(filled, Filled)
        and isinstance(filled.otherwise, int)
        and isinstance(writer.type_of(row, filled.column), Real)
    ):
        return writer.value(filled.otherwise * 2.0**-filled.bits)
    return writer.value(filled.constant if isinstance(filled, FilledDay) else filled.otherwise)


def _called(writer: Writer, function: str, column: str, argument: str = "") -> str:
    """Return the SQL of a function of a text or of a day, as its row of the table has it."""
    sql = FUNCTIONS[function].sql
    if sql is None:
        raise TypeError(function)
    return sql(writer.dialect, column, argument)


def _constant(writer: Writer, result: str | int | bool | None) -> str:  # noqa: FBT001 - a public value
    return "NULL" if result is None else writer.value(result)
