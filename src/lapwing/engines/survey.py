"""Exact facts about tables, for the custodian who owns them: how many rows do not fit what was declared.

They are not private. Nothing of them may reach an analyst, a log that analysts read, or an answer; no question goes
through here.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, cast

from lapwing.engines.dialect import RowOf, Value, Writer
from lapwing.engines.emitter import Statement
from lapwing.queries.catalogue.column import Category, Column, Date, Integer, Real
from lapwing.queries.catalogue.population import RowsPerPerson, Table
from lapwing.vocabulary.frozen import frozen

_MOST_VALUES: Final = 10_000
"""Of longer lists of declared values it is not counted which rows hold others: databases take no longer statements."""
_EXAMPLES: Final = 3

Run: TypeAlias = Callable[[Statement], Sequence[Sequence[Any]]]


@frozen()
class ColumnSurvey:
    """How many rows hold nothing, and how many a value that was not declared or is out of bounds.

    `occurring` is how many of the declared values of a category occur, and `examples` are the most frequent values that
    were not declared, each with its number of rows.
    """

    column: Column
    missing: int
    misfits: int
    occurring: int | None = None
    examples: tuple[tuple[Any, int], ...] = ()


@frozen()
class TableSurvey:
    """How many rows a table has, of how many people, and how many have no person key.

    `most` is how many rows one person has at most, and `above` how many people have more than count by default;
    `strangers` is how many people are in no table with one row a person, where there is one.
    """

    table: Table
    rows: int
    people: int
    without_key: int
    most: int
    above: int
    strangers: int
    columns: tuple[ColumnSurvey, ...]


def survey_table(table: Table, people: Table | None, write: Callable[[], Writer], run: Run) -> TableSurvey:
    """Count, in `table`; `people` is the table with one row a person in which everybody should be."""
    writer, row = write(), RowOf(table)
    key, relation = writer.person(row), writer.relation(row)
    parts = ["COUNT(*)", f"COUNT({key})", f"COUNT(DISTINCT {key})"]
    for column in table.columns:
        parts += _facts(writer, row, column)
    ((rows, keyed, known, *counted),) = run(_statement(writer, f"SELECT {', '.join(parts)} FROM {relation}"))
    each = [iter(counted)] * _NUMBERS
    columns = tuple(
        _column(column, (rows, *facts), table, write, run)
        for column, facts in zip(table.columns, zip(*each, strict=True), strict=True)
    )
    most, above = _most_rows(table, write, run) if known else (0, 0)
    return TableSurvey(
        table=table,
        rows=rows,
        people=known,
        without_key=rows - keyed,
        most=most,
        above=above,
        strangers=_strangers(table, people, write, run) if people is not None and people != table else 0,
        columns=columns,
    )


_NUMBERS: Final = 3
"""How many numbers there are about a column: those present, misfits, and declared values that occur."""


def _facts(writer: Writer, row: RowOf, column: Column) -> list[str]:
    name = writer.column(row, column.name)
    present, bounds = f"COUNT({name})", cast("tuple[Value | None, Value | None]", (None, None))
    match column.type:
        case Category(values=values) if len(values) <= _MOST_VALUES:
            other = f"COUNT(CASE WHEN {name} IN ({writer.values(values)}) THEN NULL ELSE {name} END)"
            return [present, other, f"COUNT(DISTINCT CASE WHEN {name} IN ({writer.values(values)}) THEN {name} END)"]
        case Integer(low=low, high=high) | Date(first=low, last=high):
            bounds = low, high
        case Real(low=low, high=high):
            bounds = float(Fraction(low)), float(Fraction(high))
        case _:
            pass
    low, high = bounds
    outside = [
        *([] if low is None else [f"{name} < {writer.value(low)}"]),
        *([] if high is None else [f"{name} > {writer.value(high)}"]),
    ]
    misfits = f"COUNT(CASE WHEN {' OR '.join(outside)} THEN 1 END)" if outside else "0"
    return [present, misfits, "0"]


def _column(column: Column, facts: Sequence[int], table: Table, write: Callable[[], Writer], run: Run) -> ColumnSurvey:
    rows, present, misfits, occurring = map(int, facts)
    is_list = isinstance(column.type, Category) and len(column.type.values) <= _MOST_VALUES
    return ColumnSurvey(
        column=column,
        missing=rows - present,
        misfits=misfits,
        occurring=occurring if is_list else None,
        examples=_others(column.type, table, column, write, run) if misfits and is_list else (),
    )


def _others(
    category: Any, table: Table, column: Column, write: Callable[[], Writer], run: Run
) -> tuple[tuple[Any, int], ...]:
    """Return the most frequent values that are not declared."""
    writer, row = write(), RowOf(table)
    name = writer.column(row, column.name)
    others = f"{name} NOT IN ({writer.values(category.values)})"
    text = f"SELECT {name}, COUNT(*) AS n FROM {writer.relation(row)} WHERE {others} GROUP BY {name}"
    found = run(_statement(writer, f"{text} ORDER BY n DESC, {name} LIMIT {_EXAMPLES}"))
    return tuple((value, int(number)) for value, number in found)


def _most_rows(table: Table, write: Callable[[], Writer], run: Run) -> tuple[int, int]:
    """Return how many rows one person has at most, and how many people have more than count by default."""
    writer, row = write(), RowOf(table)
    key, counted = writer.person(row), 1 if table.rows is RowsPerPerson.ONE_A_PERSON else table.max_rows
    each = f"SELECT COUNT(*) AS n FROM {writer.relation(row)} WHERE {key} IS NOT NULL GROUP BY {key}"
    above = "0" if counted is None else f"COUNT(CASE WHEN n > {writer.value(counted)} THEN 1 END)"
    ((most, more),) = run(_statement(writer, f"SELECT MAX(n), {above} FROM ({each}) AS people"))
    return int(most), int(more)


def _strangers(table: Table, people: Table, write: Callable[[], Writer], run: Run) -> int:
    """Return how many people of a table are not in the table in which everybody should be."""
    writer, row, other = write(), RowOf(table), RowOf(people, 1)
    key = writer.person(row)
    known = f"SELECT {writer.person(other)} AS k FROM {writer.relation(other)}"
    text = f"SELECT COUNT(DISTINCT {key}) FROM {writer.relation(row)} LEFT JOIN ({known}) AS known ON known.k = {key}"
    ((number,),) = run(_statement(writer, f"{text} WHERE known.k IS NULL"))
    return int(number)


def _statement(writer: Writer, text: str) -> Statement:
    return Statement(text, tuple(writer.parameters))
