"""Random catalogues: tables with one row a person or many, every type of column, bounds at the edges, hostile names."""

from datetime import date
from fractions import Fraction

from lapwing.queries.catalogue.column import TIME_OF_DAY, Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

PLAIN_NAMES = ("age", "bmi", "ward", "born", "day", "seen", "smoker", "city", "kind", "cost", "nights", "left")
HOSTILE_NAMES = (
    "x IS NOT NULL",
    "day IS NOT NULL OR 1",
    "(bmi IS NOT NULL)",
    "y IS NULL",
    'quo"te',
    "it's",
    "two  words",
    "select",
    "from",
    "null",
    "has",
    "é",
    "ключ",
    "\U0001f426",
    "a.b",
    "%s",
    "$1",
    "?",
    ":p0",
    "`tick`",
    "/* c",
    "\\",
    "COUNT(*)",
    "p",
    "n",
    "v0",
    "k0",
    "place",
    "passed",
)
"""Names that hold SQL, are SQL, or are what the emitter calls its own columns."""
PLAIN_TABLES = ("patients", "visits", "codes")
HOSTILE_TABLES = ("order", 'ta"ble', "two words", "parts", "r0", "Ä", "data of x", "person")

_INTEGER_BOUNDS = ((None, None), (0, 120), (-3, 7), (-(2**52), 2**52), (2**52 - 1, 2**52), (-40, -1), (5, 5))
_REALS = (
    {"low": 10, "high": 60, "step": "1/64"},
    {"low": -50, "high": 1000, "step": 1},
    {"low": 0, "high": 1},
    {"low": -(2**51), "high": 2**51, "step": 1},
    {"low": 0, "high": 2**60, "step": 2**9},
    {"low": -1, "high": 1, "step": Fraction(1, 2**51)},
)
_CATEGORIES = (("F", "M"), ("a", "A", "", "é"), (1, 2, 3, -7), (2**63 - 1, -(2**63), 0), ("only",))
_DATES = (
    {},
    {"first": date(1900, 1, 1), "last": date(2025, 1, 1)},
    {"first": date(2019, 12, 30), "last": date(2021, 3, 1)},
    {"first": date.min, "last": date(30, 1, 1)},
    {"first": date(9990, 1, 1), "last": date.max},
)


def catalogue(rng):
    """Draw a population: who is protected, and what its tables may hold."""
    key = rng.choice(list(KeyType))
    names = _names(rng, PLAIN_TABLES, HOSTILE_TABLES, rng.randint(1, 3))
    tables = tuple(
        _table(rng, name, key, RowsPerPerson.ONE_A_PERSON if i == 0 else None) for i, name in enumerate(names)
    )
    return Population(
        name="clinic",
        unit=PrivacyUnit(
            person_key="pid",
            adjacency=rng.choice([Adjacency.ADD_REMOVE, Adjacency.ADD_REMOVE, Adjacency.REPLACE]),
            protects_groups_of=rng.choice([1, 1, 1, 1, 2]),
        ),
        tables=tables,
        now=rng.choice([date(2024, 2, 29), date(2024, 3, 1), date.min, date.max]),
        salt=rng.choice([0, 7, 2**31 - 2]),
    )


def _table(rng, name, key, rows):
    columns = [Column(name=n, type=_type(rng), nullable=rng.random() < 0.6) for n in _column_names(rng)]
    columns += _times(rng, columns)
    rows = rows or rng.choice(list(RowsPerPerson))
    apart = [c.name for c in columns if isinstance(c.type, Integer | Text)]
    return Table(
        name=name,
        columns=tuple(columns),
        rows=rows,
        person_key=rng.choice([None, None, "patient", 'the "key"']),
        key_type=key,
        row_key=rng.choice(apart) if apart and rows is RowsPerPerson.MANY_A_PERSON and rng.random() < 0.3 else None,
        max_rows=rng.choice([None, 1, 2]) if rows is RowsPerPerson.MANY_A_PERSON else None,
    )


def _times(rng, columns):
    """Draw the times of day of some columns of days."""
    days = [column for column in columns if isinstance(column.type, Date) and rng.random() < 0.4]
    return [
        Column(name=f"{column.name[:20]} at", type=TIME_OF_DAY, nullable=column.nullable, time_of=column.name)
        for column in days
    ]


def _type(rng):
    """Draw a type; numbers and days, of which most can be asked, are the most frequent."""
    match rng.randrange(10):
        case 0 | 1:
            low, high = rng.choice(_INTEGER_BOUNDS)
            return Integer(low=low, high=high)
        case 2 | 3 | 4:
            return Real(**rng.choice(_REALS))
        case 5:
            return Category(values=rng.choice(_CATEGORIES))
        case 6 | 7:
            return Date(**rng.choice(_DATES))
        case 8:
            return Boolean()
        case _:
            return Text()


def _column_names(rng):
    return _names(rng, PLAIN_NAMES, HOSTILE_NAMES, rng.randint(2, 6))


def _names(rng, plain, hostile, how_many):
    """Draw names of which every third is hostile; no two differ in nothing but their case."""
    found = {}
    while len(found) < how_many:
        name = rng.choice(hostile if rng.random() < 0.33 else plain)
        found.setdefault(name.casefold(), name)
    return list(found.values())
