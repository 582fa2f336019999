"""Random neighbouring tables: a base population, and one person more, or one in the place of another.

Rows are dicts as in `engines.rows_in_memory`. The others are made plain, with few different values and some missing
ones, so that a database may think that it knows what a column holds; the newcomer's rows are made to hurt.
"""

import math
from dataclasses import dataclass
from datetime import date, timedelta

from engines.clinic import HOSTILE, NASTY_DAYS, NASTY_INTEGERS, NASTY_REALS, PEOPLE
from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, RowsPerPerson
from lapwing.vocabulary.guarantee import Adjacency

LONG = "é" * 300
NEWCOMERS = {KeyType.INTEGER: (42, 43, 44, 45), KeyType.TEXT: ("newcomer", "Newcomer", "newcomer ", "newcömer")}
"""Keys that nobody else has: two people may be protected together, and replaced by two."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring populations: rows of the others, and those of the protected people before and after."""

    others: dict
    leaving: dict
    coming: dict

    @property
    def before(self):
        return _joined(self.others, self.leaving)

    @property
    def after(self):
        return _joined(self.others, self.coming)


def _joined(others, mine):
    """Mix the rows of the protected people among those of others: nothing may hang on the order."""
    return {name: rows[::2] + mine[name] + rows[1::2] for name, rows in others.items()}


def neighbours(rng, population):
    """Draw two populations that differ in what one protected person, or group, brings."""
    size, keys = population.unit.protects_groups_of, NEWCOMERS[population.tables[0].key_type]
    coming, leaving = keys[:size], ()
    if population.unit.adjacency is Adjacency.REPLACE:
        leaving = coming if rng.random() < 0.3 else keys[size : 2 * size]
    pools = {t.name: {column.name: _plain(rng, column.type) for column in t.columns} for t in population.tables}
    return Pair(
        _others(rng, population, pools),
        _rows_of(rng, population, leaving, pools),
        _rows_of(rng, population, coming, pools),
    )


def _plain(rng, kind):
    """Draw the few values that the others have in a column."""
    pool = [rng.choice(usual(kind)) for _ in range(rng.randint(1, 4))]
    if isinstance(kind, Real):
        pool += [math.nan] * rng.randint(0, 2)
    return pool + [None] * rng.randint(0, 1)


def _others(rng, population, pools):
    """Draw a few people, each with a row or a few in each table; some rows name nobody, in some populations."""
    kind = population.tables[0].key_type
    numbers = range(100, 100 + rng.choice([0, 1, 3, 8, 20]))
    keys = [*(numbers if kind is KeyType.INTEGER else map(str, numbers)), *rng.sample(PEOPLE[kind], rng.randint(0, 3))]
    if rng.random() < 0.7:
        keys = [key for key in keys if key is not None]
    tables = {}
    for table in population.tables:
        most = 1 if table.rows is RowsPerPerson.ONE_A_PERSON and rng.random() < 0.8 else 3
        tables[table.name] = [
            {population.person_key(table): key, **{name: rng.choice(pool) for name, pool in pools[table.name].items()}}
            for key in keys
            for _ in range(rng.randint(1, most))
        ]
    return tables


def _rows_of(rng, population, people, pools):
    """Draw what people bring: rows of theirs, and a few that name nobody."""
    tables = {}
    for table in population.tables:
        how_many, key = rng.choice([0, 1, 1, 2, 5, 12]), population.person_key(table)
        rows = [
            {
                key: None if rng.random() < 0.1 else person,
                **{c.name: _brought(rng, c.type, pools[table.name][c.name]) for c in table.columns},
            }
            for person in people
            for _ in range(how_many)
        ]
        tables[table.name] = rows + rows[: rng.choice([0, 0, 1, 3])]  # a row may be there twice
    return tables


def _brought(rng, kind, pool):
    """Draw a value that others have too, one that they might have, a nasty one, or none."""
    return rng.choice([rng.choice(pool), rng.choice(usual(kind)), rng.choice(nasty(kind)), rng.choice([*pool, None])])


def usual(kind):
    """Return values that are near to what is declared: its ends, its middle, just outside."""
    match kind:
        case Integer(low=int() as low, high=int() as high):
            return (low - 1, low, low + 1, (low + high) // 2, high - 1, high, high + 1)
        case Integer():
            return (-1, 0, 1, 5, 17, 100)
        case Real(low=low, high=high, step=step):
            ends = (low - 1, low, low + step, low + step / 2, (low + high) / 2, high - step, high, high + 1)
            return tuple(float(end) for end in ends)
        case Category(values=values):
            return values
        case Text():
            return ("a", "ab", "b", "")
        case Date(first=date() as first, last=date() as last):
            return (first, last, first + (last - first) // 2, *_around(first), *_around(last))
        case Date():
            return (date(2020, 2, 28), date(2020, 2, 29), date(2020, 6, 1), date(2021, 6, 1))
        case Boolean():
            return (False, True)


def _around(day):
    steps = [timedelta(days=n) for n in (-1, 1) if date.min.toordinal() <= day.toordinal() + n <= date.max.toordinal()]
    return tuple(day + step for step in steps)


def nasty(kind):
    """Return the values of a type that databases disagree about, or fail on."""
    match kind:
        case Integer():
            return NASTY_INTEGERS
        case Real():
            return (*NASTY_REALS, -1e-320, 2.0**53, -(2.0**62), 1.7976931348623157e308)
        case Category(values=values):
            return ("x", "f", "", LONG) if isinstance(values[0], str) else (4, 2**63 - 1, -(2**63))
        case Text():
            return (*HOSTILE, LONG)
        case Date():
            return NASTY_DAYS
        case Boolean():
            return (False, True)
