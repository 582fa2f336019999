"""A small clinic with nasty data: every column type, missing values, NaN, infinities, extremes, hostile text."""

import math
from dataclasses import replace
from datetime import date
from functools import cache

import pyarrow as pa
from hypothesis import strategies as st

from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

HOSTILE = ("", "a", "A", "a ", "é", "e\u0301", "\u200b", "';--", 'x"y', "%s $1 ?", "\\", "\U0001f426", "ab", "abc")
NASTY_REALS = (
    0.0,
    -0.0,
    0.5,
    1.5,
    27.25,
    -3.0,
    1e308,
    -1e308,
    5e-324,
    math.inf,
    -math.inf,
    math.nan,
    0.49999999999999994,
)
NASTY_INTEGERS = (0, 1, 2, 3, 17, 30, 65, 119, 120, -1, 2**31, -(2**31), 2**63 - 1, -(2**63))
FAR_DAYS = {
    "infinity": 2**31 - 1,  # DuckDB's infinite days are the extreme day numbers
    "-infinity": -(2**31) + 1,
    "0001-12-31 BC": -719_163,
    "10000-01-01": 2_932_897,
    "4713-11-24 BC": -2_440_588,  # the first day of PostgreSQL
    "5874897-12-31": 2_145_042_905,  # and its last
}
"""Days that are none of the calendar, as PostgreSQL writes them, with their day numbers."""
NASTY_DAYS = (
    date(2000, 2, 29),
    date(1999, 12, 31),
    date(2001, 2, 28),
    date(2001, 3, 1),
    date(2020, 2, 29),
    date(2020, 6, 1),
    date(2021, 6, 1),
    date.min,
    date.max,
    *FAR_DAYS,
)

PATIENTS = (
    Column(name="sex", type=Category(values=("F", "M", "é")), nullable=True),
    Column(name="ward", type=Category(values=(1, 2, 3, -7))),
    Column(name="age", type=Integer(low=0, high=120), nullable=True),
    Column(name="bmi", type=Real(low=10, high=60, step="1/64"), nullable=True),
    Column(name="smoker", type=Boolean(), nullable=True),
    Column(name="city", type=Text(), nullable=True),
    Column(name="born", type=Date(first=date(1900, 1, 1), last=date(2025, 1, 1)), nullable=True),
)
VISITS = (
    Column(name="kind", type=Category(values=("surgery", "ER", "other"))),
    Column(name="day", type=Date(first=date(2000, 1, 1), last=date(2025, 1, 1)), nullable=True),
    Column(name="left", type=Date(), nullable=True),
    Column(name="nights", type=Integer(low=0, high=30), nullable=True),
    Column(name="cost", type=Real(low=-50, high=1000, step=1), nullable=True),
    Column(name="note", type=Text(), nullable=True),
)
CODES = (Column(name="code", type=Integer(), nullable=True), Column(name="day", type=Date(), nullable=True))


def clinic(key=KeyType.INTEGER, adjacency=Adjacency.ADD_REMOVE, groups_of=1, salt=0):
    """The catalogue; person keys are integers or text."""
    many = {"rows": RowsPerPerson.MANY_A_PERSON, "key_type": key}
    return Population(
        name="clinic",
        unit=PrivacyUnit(person_key="pid", adjacency=adjacency, protects_groups_of=groups_of),
        tables=(
            Table(name="patients", columns=PATIENTS, key_type=key),
            Table(name="visits", columns=VISITS, max_rows=2, **many),
            Table(name="codes", columns=CODES, person_key="patient", row_key="code", **many),
        ),
        now=date(2024, 3, 1),
        salt=salt,
    )


def _values(kind):
    match kind:
        case Category(values=values) if isinstance(values[0], str):
            return st.sampled_from([*values, "x", "f"])
        case Category(values=values):
            return st.sampled_from([*values, 4, 2**63 - 1])
        case Integer():
            return st.sampled_from(NASTY_INTEGERS) | st.integers(0, 120)
        case Real():
            return st.sampled_from(NASTY_REALS) | st.floats(-60, 1100, width=32) | st.floats()
        case Boolean():
            return st.booleans()
        case Text():
            return st.sampled_from(HOSTILE)
        case Date():
            return st.sampled_from(NASTY_DAYS) | st.dates(date(2018, 1, 1), date(2022, 1, 1))


def row_of(table):
    """Rows of a table without their person key."""
    return st.fixed_dictionaries({c.name: st.none() | _values(c.type) for c in table.columns})


def key_name(population, table):
    return population.person_key(table)


def with_key(population, table, person, row):
    return {population.person_key(table): person, **row}


PEOPLE = {KeyType.INTEGER: (1, 2, -5, 2**63 - 1, -(2**63), None), KeyType.TEXT: ("1", "01", "a", "A", "é", "", None)}


@cache
def rows_of_anyone(population, *, most=6):
    """All tables of a population, filled with rows of a few people."""
    people = PEOPLE[population.tables[0].key_type]

    def fill(table):
        person = st.sampled_from(people)
        row = st.builds(lambda p, r: with_key(population, table, p, r), person, row_of(table))
        return st.lists(row, max_size=most)

    return st.fixed_dictionaries({table.name: fill(table) for table in population.tables})


_ARROW = {
    Integer: pa.int64(),
    Real: pa.float64(),
    Boolean: pa.bool_(),
    Text: pa.string(),
    Date: pa.date32(),
}


def arrow_type(kind):
    if isinstance(kind, Category):
        return pa.string() if isinstance(kind.values[0], str) else pa.int64()
    return _ARROW[type(kind)]


def as_stored(population):
    """Return the population as the places hold it: times of day are whole numbers in columns of their own."""
    tables = tuple(
        replace(table, columns=tuple(replace(column, time_of="") for column in table.columns))
        for table in population.tables
    )
    return replace(population, tables=tables)


def arrow_tables(population, tables):
    """The tables as Arrow, ready for DuckDB."""
    made = {}
    for table in population.tables:
        rows, key = tables[table.name], population.person_key(table)
        columns = {
            key: pa.array([r[key] for r in rows], pa.int64() if table.key_type is KeyType.INTEGER else pa.string())
        }
        for column in table.columns:
            values = [r[column.name] for r in rows]
            columns[column.name] = _array(values, column.type)
        made[table.name] = pa.table(columns)
    return made


def _array(values, kind):
    if not isinstance(kind, Date):
        return pa.array(values, arrow_type(kind))
    epoch = date(1970, 1, 1).toordinal()
    days = [None if v is None else FAR_DAYS[v] if isinstance(v, str) else v.toordinal() - epoch for v in values]
    return pa.array(days, pa.int32()).cast(pa.date32())
