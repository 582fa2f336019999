"""Random questions of every statistic about a random catalogue. Not all can be asked: refusing some is part of it."""

from fractions import Fraction

import lapwing as ask
from fuzz import derived
from fuzz.conditions import condition
from fuzz.tables import nasty, usual
from fuzz.terms import value
from lapwing.analyses.regression_design import RowOfPerson
from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.queries.language.builders import as_condition, as_value
from lapwing.queries.language.expressions import EVERYONE, And, Applied, Name, Not, Or
from lapwing.queries.language.joined import Has
from lapwing.queries.statistics.counts import CountRows


def question(rng, population):
    """Draw a question about one of the tables."""
    table = rng.choice(population.tables)
    where = condition(rng, population, table) if rng.random() < 0.75 else None
    kinds = _OF_PEOPLE + (_OF_VALUES if value(rng, table) is not None else ())
    return rng.choice(kinds)(rng, population, table, where)


def _people(rng, population, table, where):
    return ask.count(table.name, where, **_grouped(rng, population, table, "max_groups"))


def _rows(rng, population, table, where):
    return ask.count_rows(table.name, where, **_grouped(rng, population, table, "max_groups", "max_rows"))


def _people_by_what_is_there(rng, population, table, where):
    opened = [c.name for c in table.columns if isinstance(c.type, Text | Integer)]
    if not opened:
        return _people(rng, population, table, where)
    return ask.count(table.name, where, by=Name(rng.choice(opened)), max_groups=rng.randint(1, 3))


def _distinct(rng, population, table, where):
    column = Name(rng.choice(table.columns).name)
    if rng.random() < 0.3:
        several = [Name(rng.choice(table.columns).name) for _ in range(rng.choice([1, 2]))]
        several += [Name(population.person_key(table))] if rng.random() < 0.6 else several[:1]
        return ask.count_distinct(table.name, several, where, max_groups=rng.choice([None, 1, 3]))
    sketch = rng.choice([None, None, 64])
    return ask.count_distinct(table.name, column, where, max_groups=rng.choice([None, 1, 3]), sketch=sketch)


def _top(rng, population, table, where):
    categories = [c for c in table.columns if isinstance(c.type, Category)]
    if not categories:
        return _people(rng, population, table, where)
    column = rng.choice(categories)
    k, counts = rng.randint(1, len(column.type.values)), rng.random() < 0.5
    groups = rng.choice([None, 1, 3]) if counts else None
    return ask.top(table.name, Name(column.name), k, where, counts=counts, max_groups=groups)


def _funnel(rng, population, table, where):
    steps = [condition(rng, population, table, depth=1) for _ in range(rng.randint(1, 3))]
    return ask.funnel(table.name, steps, where)


def _at_least(rng, _population, table, where):
    return ask.at_least(rng.choice([0, 1, 3, 2**62]), table.name, where)


def _total(rng, population, table, where):
    return ask.total(
        table.name,
        _value(rng, population, table, wild=0.2),
        where,
        **_grouped(rng, population, table, "max_groups", "max_rows"),
    )


def _moment(rng, population, table, where):
    asked = rng.choice([ask.mean, ask.variance, ask.covariance, ask.correlation])
    of_two = asked in {ask.covariance, ask.correlation}
    values = [_value(rng, population, table, wild=0.05) for _ in range(2 if of_two else 1)]
    return asked(table.name, *values, where, **_grouped(rng, population, table, "max_groups", "max_rows"))


def _quantiles(rng, population, table, where):
    at = rng.sample(["0.01", "0.5", "0.9", Fraction(2, 7)], rng.randint(1, 2))
    limits = {name: number for name, number in _limits(rng, table).items() if name == "max_rows"}
    return ask.quantiles(
        table.name, _value(rng, population, table), at, where, cells=rng.choice([2, 3, 7, None]), **limits
    )


def _anywhere(rng, population, _table, _where):
    """Draw the number of people who are in one of several tables: what UNION asks for."""
    tables = [rng.choice(population.tables) for _ in range(rng.choice([1, 2, 2, 3]))]
    key = Name(population.unit.person_key)
    parts = [
        Has(one.name, where, 1, one.name, (Name(population.person_key(one)), key))
        for one in tables
        for where in [condition(rng, population, one, depth=1) if rng.random() < 0.5 else EVERYONE]
    ]
    some = [Not(part) if rng.random() < 0.2 else part for part in parts[1:]]
    said = And((Or((parts[0], *some)), parts[-1])) if rng.random() < 0.2 else Or((parts[0], *some))
    return CountRows(table="", alias="people", where=said, each=key)


def _value(rng, population, table, **how):
    return derived.number(rng, population, table) if rng.random() < 0.2 else value(rng, table, **how)


def row_of_person(rng, population):
    """Draw what analyses compute on: some values of one row a person; None where a table has none."""
    table = rng.choice(population.tables)
    if value(rng, table) is None:
        return None
    where = condition(rng, population, table) if rng.random() < 0.75 else EVERYONE
    values = tuple(as_value(_value(rng, population, table, wild=0.05)) for _ in range(rng.randint(1, 2)))
    return RowOfPerson(table=table.name, where=as_condition(where), values=values)


_OF_PEOPLE = (_people, _people, _rows, _people_by_what_is_there, _distinct, _top, _funnel, _at_least, _anywhere)
_OF_VALUES = (_total, _total, _moment, _moment, _quantiles, _quantiles, _quantiles)


def _grouped(rng, population, table, *limits):
    by = [_by(rng, population, table) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    given = _limits(rng, table)
    return {"by": by, **{name: number for name, number in given.items() if name in limits}}


def _limits(rng, table):
    """Draw how many rows and groups of a person count; a table of one row a person needs no limit."""
    if table.rows is RowsPerPerson.ONE_A_PERSON and rng.random() < 0.8:
        return {}
    return {"max_rows": rng.choice([1, 2, 3, 2**20]), "max_groups": rng.choice([None, 1, 2, 3, 2**20])}


def _by(rng, population, table):
    if rng.random() < 0.3:
        made = derived.anything(rng, population, table)
        return ask.bins(made, sorted(rng.sample([-9, 0, 1, 2, 7, 18, 2000, 9999], 3))) if rng.random() < 0.5 else made
    column = rng.choice(table.columns)
    name, kind = Name(column.name), column.type
    if isinstance(kind, Category | Boolean | Text):
        return name
    if isinstance(kind, Date) and rng.random() < 0.4:
        return Applied("year", name)
    if isinstance(kind, Integer) and rng.random() < 0.4:
        return name
    return ask.bins(name, _edges(rng, kind))


def _edges(rng, kind):
    """Draw edges that rise, from what a column usually holds and what it should not."""
    days = isinstance(kind, Date)
    pool = {e for e in (*usual(kind), *nasty(kind)) if not days or not isinstance(e, str)}
    if isinstance(kind, Real):
        pool = {Fraction(e) for e in pool if e == 0 or 2**-63 < abs(e) < 2**63}
    return sorted(rng.sample(sorted(pool), min(len(pool), rng.randint(2, 4))))
