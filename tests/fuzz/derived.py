"""Random values that a row knows beside its columns: from other rows of its person, parts of days, cases and steps."""

from fuzz.terms import function_of
from lapwing.queries.algebra.functions import DATE_PARTS, DATE_UNITS
from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.queries.language.expressions import (
    Age,
    And,
    Applied,
    Arithmetic,
    Case,
    CastTo,
    Coalesce,
    Compare,
    Literal,
    Missing,
    Name,
    TimeBetween,
    TimeOf,
    TruthOf,
)
from lapwing.queries.language.joined import PerPerson


def number(rng, population, table, depth=1):
    """Draw a whole number or a real; None where the tables have nothing to make one of."""
    options = [_count(rng, population), _case(rng, table, [0, 1, -7, 2**31])]
    days = _days(rng, population, table)
    if days:
        one, other = rng.choice(days), rng.choice(days)
        options += [Applied(rng.choice(DATE_PARTS), one), Age(one), Age(one, other), Arithmetic("-", one, other)]
    moments = [Name(one.time_of) for one in table.columns if one.time_of]
    if moments:
        one, other = rng.choice(moments), rng.choice(moments)
        options += [TimeOf(rng.choice(["hour", "minute", "second", "time"]), one)]
        options += [TimeBetween(rng.choice(["hour", "minute", "second"]), one, other)]
    numbers = [*_own(table, Integer, Real), *_elsewhere(population, table, Integer, Real)]
    if numbers:
        taken = rng.choice(numbers)
        options += [Coalesce(taken, Literal(rng.choice([0, 1, -7, 2**40]))), CastTo(TruthOf(Missing(taken)), "integer")]
        options += [Case(((condition(rng, population, table, depth - 1), taken),))] if depth else []
        options += [
            taken,
            Applied("step", taken, Literal(rng.choice([1, 7, 10, 2**40]))),
            Arithmetic("*", taken, Literal(3)),
            function_of(rng, taken, rng.choice([Literal(rng.choice([0, 18, 2**40])), *numbers])),
        ]
    return rng.choice(options)


def anything(rng, population, table):
    """Draw a value to group by: a number, a day in its month, a category, a truth value or a text."""
    options = [_case(rng, table, ["a", "b", "é"]), _case(rng, table, [True, False]), number(rng, population, table)]
    options += _elsewhere(population, table, Category, Boolean, Text)
    options += [Applied("date_trunc", day, Literal(rng.choice(DATE_UNITS))) for day in _days(rng, population, table)]
    options += [TruthOf(_where(rng, table)), TruthOf(condition(rng, population, table))]
    for text in [*_own(table, Text, Category), *_elsewhere(population, table, Text)]:
        options += [
            Applied(rng.choice(["lower", "upper", "trim"]), text),
            Applied("left", text, Literal(rng.choice([1, 2, 1000]))),
        ]
        options += [Coalesce(text, Literal(rng.choice(["", "a", "é "])))]
        options += [Case(((condition(rng, population, table), text),))]
    return rng.choice(options)


def condition(rng, population, table, depth=1):
    """Draw a condition about such a value."""
    taken = number(rng, population, table, depth)
    constant = Literal(rng.choice([0, 1, 2, 7, 30, 2000, 2**40, -(2**70)]))
    plain = [Compare(rng.choice(["=", "<>", "<", "<=", ">", ">="]), taken, constant), Missing(taken)]
    days = _days(rng, population, table)
    if len(days) > 1:
        plain.append(Compare(rng.choice(["=", "<", ">="]), *rng.sample(days, 2)))
    texts = _elsewhere(population, table, Boolean, Text, Category)
    return rng.choice([*plain, *(Missing(name) for name in texts)])


def _own(table, *kinds):
    return [Name(c.name) for c in table.columns if isinstance(c.type, kinds)]


def _elsewhere(population, table, *kinds):
    """Columns of other tables that have one row a person."""
    others = [t for t in population.tables if t is not table and t.rows is RowsPerPerson.ONE_A_PERSON]
    return [Name(c.name, other.name) for other in others for c in other.columns if isinstance(c.type, kinds)]


def _days(rng, population, table):
    firsts = [
        PerPerson(rng.choice(["first", "last"]), t.name, Name(c.name, t.name), _where(rng, t), t.name)
        for t in population.tables
        for c in t.columns
        if isinstance(c.type, Date)
    ]
    return [*_own(table, Date), *_elsewhere(population, table, Date), *firsts[:1]]


def _count(rng, population):
    other = rng.choice(population.tables)
    different = [Name(c.name, other.name) for c in other.columns if not isinstance(c.type, Real)]
    if different and rng.random() < 0.4:
        named = rng.choice(different)
        return PerPerson(
            "distinct", other.name, named, _where(rng, other), other.name, most=Literal(rng.choice([1, 3]))
        )
    return PerPerson("count", other.name, None, _where(rng, other), other.name, most=Literal(rng.choice([1, 2, 20])))


def _where(rng, table):
    return Missing(Name(rng.choice(table.columns).name)) if table.columns and rng.random() < 0.5 else And(())


def _case(rng, table, results):
    whens = tuple((_where(rng, table), Literal(rng.choice(results))) for _ in range(rng.randint(1, 3)))
    return Case(whens, rng.choice([None, Literal(results[0])]))
