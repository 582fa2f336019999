"""Made-up rows that fit the declared columns, so that questions can be tried out without paying.

They follow from the catalogue alone: nothing is read from the data, so they may be shown to anyone, and they are the
same every time. They do not resemble the data either: every column is spread over all that it may hold.
"""

from datetime import date
from typing import Any, Final

import numpy as np

from lapwing.engines.dialect import Kind
from lapwing.engines.duckdb import DuckDB
from lapwing.queries.algebra.aggregate import MODULUS, rank, text_number
from lapwing.queries.catalogue.column import Boolean, Category, Column, ColumnType, Date, Integer, Real, Text
from lapwing.queries.catalogue.domains import day, day_number
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table

PEOPLE: Final = 1000
_ROWS_A_PERSON: Final = 3
_ONE_IN_MISSING: Final = 20
_WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
_TYPES: Final = {Kind.INTEGER: "int64", Kind.REAL: "float64", Kind.DAY: "datetime64[s]", Kind.TRUTH: "bool"}
_DAYS: Final = (date(1930, 1, 1), date(2025, 1, 1))


def rehearsal_engine(population: Population, people: int = PEOPLE) -> DuckDB:
    """Return an engine on made-up rows of this number of people.

    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> columns = (Column(name="age", type=Integer(low=0, high=99)),)
    >>> clinic = Population(
    ...     name="clinic", unit=PrivacyUnit(person_key="id"), tables=(Table(name="patients", columns=columns),)
    ... )
    >>> rehearsal_engine(clinic).close()
    """
    tables = {table.name: _table(population, table, people) for table in population.tables}
    return DuckDB(population, tables, threads=1, memory_limit="256MB")


def _table(population: Population, table: Table, people: int) -> dict[str, Any]:
    each = 1 if table.rows is RowsPerPerson.ONE_A_PERSON else _ROWS_A_PERSON
    keys = [person for person in range(1, people + 1) for _ in range(each)]
    whole = table.key_type is KeyType.INTEGER
    columns = {population.person_key(table): _array(keys if whole else [f"p{key}" for key in keys], table.key_type)}
    for column in table.columns:
        salt = text_number(f"{table.name} {column.name}") % MODULUS
        columns[column.name] = _array([_value(column, salt, row) for row in range(people * each)], column.type)
    for column in table.columns:
        if column.time_of:  # which is read from the days
            days = table.column(column.time_of).name
            columns[days] = columns[days] + columns.pop(column.name).astype("timedelta64[s]")
    return columns


def _array(values: list[Any], kind: ColumnType | KeyType) -> Any:
    """Return a column as DuckDB takes it: numbers, days and truth values with a mask, text as objects."""
    if Kind.of(kind) is Kind.TEXT:
        return np.array(values, dtype=object)
    missing = [value is None for value in values]
    filled = [0 if value is None else value for value in values]
    return np.ma.array(filled, mask=missing, dtype=_TYPES[Kind.of(kind)])


def _value(column: Column, salt: int, row: int) -> Any:
    place = rank(salt, [row, 1])
    if column.nullable and rank(salt, [row, 2]) % _ONE_IN_MISSING == 0:
        return None
    match column.type:
        case Integer(low=int() as low, high=int() as high):
            return low + place % (high - low + 1)
        case Integer():
            return place % PEOPLE
        case Real() as real:
            return float(real.low + place * (real.high - real.low) / MODULUS)  # type: ignore[operator]
        case Category(values=values):
            return values[place % len(values)]
        case Text():
            return _WORDS[place % len(_WORDS)]
        case Date(first=first, last=last):
            early, late = day_number(first or _DAYS[0]), day_number(last or _DAYS[1])
            return np.datetime64(day(early + place % (late - early + 1)), "s")
        case Boolean():
            return bool(place % 2)
