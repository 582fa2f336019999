"""Random conditions about a row of a table, with every node of the language, nested as far as `depth` says."""

from datetime import date
from fractions import Fraction

from fuzz import derived
from fuzz.tables import nasty, usual
from fuzz.terms import EDGES
from lapwing.queries.algebra.pattern import canonical, plain
from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.language.expressions import (
    Age,
    And,
    Applied,
    Arithmetic,
    Coalesce,
    Compare,
    Days,
    Instant,
    Is,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    Truth,
)
from lapwing.queries.language.joined import Has

SIGNS = ("=", "<>", "<", "<=", ">", ">=")


def condition(rng, population, table, around=(), depth=2):
    """Draw a condition about a row of `table`; `around` are the (alias, table) of rows outside, the nearest first."""
    match rng.randrange(10):
        case 0 | 1 if depth:
            kind = rng.choice([And, Or])
            parts = (condition(rng, population, table, around, depth - 1) for _ in range(rng.randint(1, 3)))
            return kind(tuple(parts))
        case 2 if depth:
            return Not(condition(rng, population, table, around, depth - 1))
        case 3 | 4 if depth:
            return _has(rng, population, around or ((table.name, table),), depth - 1)
        case 6:
            return _pair(rng, table, around)
        case 5 if any(isinstance(c.type, Date) for c in table.columns):
            return _gap(rng, table, around)
        case 6:
            return derived.condition(rng, population, table)
        case _:
            return _atom(rng, rng.choice(table.columns))


def _has(rng, population, around, depth):
    """Draw a condition about other rows of the person, which may look at the rows around them."""
    other = rng.choice(population.tables)
    taken = {alias.casefold() for alias, _ in around}
    alias = other.name if other.name.casefold() not in taken else f"inner {len(around)}"
    inside = ((alias, other), *around)
    where = condition(rng, population, other, inside, depth) if rng.random() < 0.8 else And(())
    return Has(other.name, where, rng.choice([1, 1, 1, 2, 3]), alias)


def _atom(rng, column):
    name, kind = Name(column.name), column.type
    several = tuple(_literal(rng, kind) for _ in range(rng.randint(1, 3)))
    options = [Missing(name), OneOf(name, several), Compare(rng.choice(SIGNS[:2]), name, several[0])]
    match kind:
        case Text():
            options += [Matches(name, _pattern(rng, kind), rng.random() < 0.5)]
            options += [Compare(rng.choice(SIGNS[:2]), Applied(rng.choice(["lower", "trim"]), name), several[0])]
        case Boolean():
            options += [Truth(name), Truth(Coalesce(name, Literal(rng.random() < 0.5)))]
        case Category(values=(str(), *_)):
            pass
        case _:
            options += [Compare(rng.choice(SIGNS), name, several[0]) for _ in range(2)]
            options += [name.between(several[0], several[-1]), Compare(rng.choice(SIGNS), several[0], name)]
            options += [Compare(rng.choice(SIGNS), Coalesce(name, several[0]), several[-1])]
    if isinstance(kind, Integer | Real):
        options += [Compare(rng.choice(SIGNS), _computed(rng, name, several[0]), several[-1]) for _ in range(2)]
    found = rng.choice(options)
    return Is(found, rng.choice([True, False, None])) if rng.random() < 0.1 else found


def _pattern(rng, kind):
    """Draw a pattern: a beginning, a piece and an end, each of which may be empty."""
    texts = [plain(_literal(rng, kind).value[:5]) for _ in range(rng.randint(1, 2))]
    wild = ["%", "%", "_", ""]
    return canonical("".join(rng.choice(wild) + text for text in texts) + rng.choice(wild), "\\")


def _computed(rng, name, constant):
    functions = [Applied(rng.choice(["abs", "floor", "ceil", "round"]), name), Applied("round", name, Literal(1))]
    return rng.choice([*functions, Arithmetic(rng.choice("+-*"), name, constant), Arithmetic("-", constant, name)])


def _pair(rng, table, around):
    """Draw a comparison of two columns: of this row, or of this and of a row outside."""
    here = around[0][0] if around else table.name
    one = rng.choice(table.columns)
    others = [(here, table), *around[1:]]
    alias, other = rng.choice(others)
    alike = [c for c in other.columns if isinstance(c.type, type(one.type))] or other.columns
    column = rng.choice(alike)
    ordered = isinstance(one.type, Integer | Real | Date)
    return Compare(rng.choice(SIGNS if ordered else SIGNS[:2]), Name(one.name, here), Name(column.name, alias))


def _literal(rng, kind):
    match kind:
        case Category(values=values):
            return Literal(rng.choice(values))
        case Integer():
            return Literal(rng.choice([*usual(kind), *nasty(kind), rng.choice(EDGES), Fraction(35, 2)]))
        case Real():
            finite = [Fraction(number) for number in usual(kind)]
            return Literal(_plain(rng.choice([*finite, 30, 0, -rng.choice(EDGES), Fraction(1, 3), 10**310])))
        case Date():
            days = [day for day in (*usual(kind), *nasty(kind)) if isinstance(day, date)]
            return Literal(rng.choice(days))
        case _:
            return Literal(rng.choice([*usual(kind), *nasty(kind)]))


def _plain(number):
    return int(number) if number.denominator == 1 else number


def _gap(rng, table, around):
    """Draw a comparison of days: two of this row, one of this and one of a row outside, or an age or a year."""
    here = around[0][0] if around else table.name
    mine = [Name(c.name, here) for c in table.columns if isinstance(c.type, Date)]
    outside = [Name(c.name, alias) for alias, t in around[1:] for c in t.columns if isinstance(c.type, Date)]
    one, sign = rng.choice(mine), rng.choice(SIGNS)
    other = rng.choice([name for name in (*mine, *outside, *outside) if name is not one] or [Literal(date(2020, 6, 1))])
    days = rng.choice([0, 1, 30, -400, 3_652_058, -3_652_059, 10**7])
    years = Literal(rng.choice([-1, 0, 18, 65, 9998, Fraction(35, 2), 10**10]))
    return rng.choice(
        [
            Compare(sign, Arithmetic("-", one, other), Literal(days)),
            Compare(sign, Arithmetic("-", one, other), Days(rng.choice([0, 3]), 0, rng.choice([0, 1, 7200]))),
            Compare(sign, one, Instant(date(2020, 6, 1), rng.choice([0, 1, 43_200, 86_399]))),
            Compare(sign, one, Arithmetic("+", other, Days(days))),
            Compare(sign, Age(one), years),
            Compare(sign, Age(one, other), years),
            Compare(sign, Age(one, Literal(date(2020, 2, 29))), years),
            Compare(sign, Applied("year", one), Literal(rng.choice([0, 1, 1999, 2020, 9999, 10**5]))),
        ]
    )
