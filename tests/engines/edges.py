"""A population that is nothing but edges: every type at its extremes, and names that were chosen to hurt.

`rows` makes its tables, and `Asker` asks about them with every operation of the algebra and with constants from the
edges of every type. Many of these questions are refused; those that are not must be answered.
"""

import math
from datetime import date
from fractions import Fraction
from random import Random

import lapwing as ask
from engines.clinic import FAR_DAYS
from lapwing.queries.algebra.pattern import plain
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.language.expressions import (
    Age,
    And,
    Applied,
    Arithmetic,
    By,
    Clip,
    Coalesce,
    Compare,
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
from lapwing.vocabulary.guarantee import PrivacyUnit

LONG = "long" * 10_000
INTEGERS = [0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 2**52, -(2**52), 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63)]
REALS = [
    *[0.0, -0.0, 0.5, -0.5, 1.0, 0.49999999999999994, 2.5, 1e-300, -1e-300, 2.0**-400, 5e-324, -5e-324, 2.0**52],
    *[2.0**53 + 2, 2.0**80, -(2.0**85), 1e300, 1.7976931348623157e308, -1.7976931348623157e308],
    *[2.2250738585072014e-308, math.inf, -math.inf, math.nan],
]
TEXTS = ["", " ", "a", "A", "a ", "é", "e\u0301", "\U0001f426", "';--", "%s $1 ? :p0 {0}", "\\", "\n", LONG, LONG + "r"]
DAYS = [date.min, date.max, date(1, 1, 2), date(1582, 10, 10), date(1970, 1, 1), date(2000, 2, 29), date(2001, 3, 1)]
DAYS += [date(1900, 2, 28), date(9999, 2, 28)]

# As names of columns: parts of SQL, marks of parameters, quotes, and what statements call their own columns.
PEOPLE = (
    Column(name="x IS NOT NULL", type=Real(low=-1, high=1), nullable=True),
    Column(name="d IS NOT NULL", type=Date(first=date.min, last=date.max), nullable=True),
    Column(name="p", type=Integer(low=-(2**52), high=2**52), nullable=True),
    Column(name="k0", type=Integer(), nullable=True),
    Column(name='v0"`', type=Real(low=0, high=2**85, step=2**80), nullable=True),
    Column(name="facts", type=Real(low=0, high="1e-90", step=Fraction(1, 2**330)), nullable=True),
    Column(name="r0.n", type=Text(), nullable=True),
    Column(name=":p0 $1 ? %s {0}", type=Boolean(), nullable=True),
    Column(name="'--/*", type=Category(values=("", "a", "A", "é", "\\")), nullable=True),
    Column(name="passed", type=Category(values=(0, -1, 2**63 - 1, -(2**63))), nullable=True),
)
EVENTS = (
    Column(name="place", type=Integer(low=-3, high=3), nullable=True),
    Column(name="t IS NULL", type=Date(), nullable=True),
    Column(name="carried", type=Date(first=date(1900, 1, 1), last=date(2100, 1, 1)), nullable=True),
    Column(name="o", type=Real(low="-1e15", high="1e15", step=1), nullable=True),
    Column(name="select", type=Text(), nullable=True),
)
CODES = (Column(name="n", type=Integer(), nullable=True), Column(name="p0", type=Date(), nullable=True))
KEYS = {
    KeyType.INTEGER: [0, 1, -1, 2**63 - 1, -(2**63), 2**31, None],
    KeyType.TEXT: ["", "a", "A", "é", " ", LONG, None],
}


def edges(key=KeyType.INTEGER):
    """The catalogue."""
    many = {"rows": RowsPerPerson.MANY_A_PERSON, "key_type": key, "max_rows": 2}
    return Population(
        name="edges",
        unit=PrivacyUnit(person_key="id IS NOT NULL"),
        tables=(
            Table(name='pe"op`le', columns=PEOPLE, key_type=key),
            Table(name="events", columns=EVENTS, **many),
            Table(name="codes", columns=CODES, row_key="n", person_key="p", **many),
        ),
        now=date(2024, 2, 29),
        salt=2**31 - 2,
    )


def stored(kind):
    """Values that a column of a type may hold: its edges, whatever was declared."""
    match kind:
        case Category(values=values):
            return [*values, *(TEXTS if isinstance(values[0], str) else INTEGERS)]
        case Integer():
            return INTEGERS
        case Real():
            return REALS
        case Boolean():
            return [True, False]
        case Text():
            return TEXTS
        case Date():
            return [*DAYS, *FAR_DAYS]


def rows(population, seed=0, each=60):
    """Tables that hold every edge of every column at least once."""
    chance, tables = Random(seed), {}
    for table in population.tables:
        people = KEYS[table.key_type]
        columns = {population.person_key(table): people} | {c.name: [*stored(c.type), None] for c in table.columns}
        shuffled = {name: chance.sample(values, len(values)) for name, values in columns.items()}
        tables[table.name] = [{name: values[i % len(values)] for name, values in shuffled.items()} for i in range(each)]
    return tables


CONSTANTS = [*INTEGERS, *(Fraction(x) for x in REALS if x == 0 or 1e-25 < abs(x) < 1e90), *range(-4, 5)]
CONSTANTS += [2**63, -(2**63) - 1, 10**30, -(10**30), Fraction(-3, 4), Fraction(1, 2**40), Fraction(1, 3)]
TIMES = [0, 1, -1, 30, 9998, 9999, 10_000, 3_652_058, -3_652_058, 3_652_059, 2**63, -(10**30)]
TRUTHS = [True, False, None]
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]


class Asker:
    """Asks about `population`, by chance: every statistic, every condition, every operation on values."""

    def __init__(self, population, seed):
        self.population, self.chance = population, Random(seed)

    def question(self):
        table = self.one(self.population.tables)
        common = {"table": table.name, "where": self.where(table)}
        rows, groups = {"max_rows": self.one([1, 2, 2**20])}, {"max_groups": self.one([1, 2, 2**20])}
        by = {"by": [self.by(table) for _ in range(self.one([0, 0, 1, 2]))]}
        of, column = {"of": self.value(table)}, {"column": self.one(table.columns).name}
        return self.one(
            [
                lambda: ask.count(**common, **by, **groups),
                lambda: ask.count_rows(**common, **by, **rows, **groups),
                lambda: ask.total(**common, **by, **of, **rows, **self.one([groups, {}])),
                lambda: ask.mean(**common, **by, **of, **rows, **groups),
                lambda: ask.variance(**common, **by, **of, **rows, **groups),
                lambda: ask.covariance(**common, **by, x=of["of"], y=self.value(table), **rows, **groups),
                lambda: ask.correlation(**common, **by, x=of["of"], y=self.value(table), **rows, **groups),
                lambda: ask.quantiles(**common, **of, at="0.5", cells=self.one([2, 7, 1000]), **rows),
                lambda: ask.top(**common, **column, k=1),
                lambda: ask.top(**common, **column, k=1, counts=True, **groups),
                lambda: ask.count_distinct(**common, **column, **groups),
                lambda: ask.funnel(**common, steps=[self.condition(table) for _ in range(self.one([1, 2, 3]))]),
                lambda: ask.at_least(3, **common),
            ]
        )()

    def one(self, of):
        return self.chance.choice(of)

    def where(self, table):
        return None if self.chance.random() < 0.3 else self.condition(table)

    def condition(self, table, outers=(), depth=3):
        others = [t for t in self.population.tables if t not in (table, *outers)] if depth else []
        joined = [self.every, self.some, self.negated] if depth else []
        return self.one([self.atom, self.atom, self.gap, self.pair, *joined, *([self.has] if others else [])])(
            table, outers, depth
        )

    def every(self, table, outers, depth):
        return And(tuple(self.condition(table, outers, depth - 1) for _ in range(self.one([1, 2, 3]))))

    def some(self, table, outers, depth):
        return Or(tuple(self.condition(table, outers, depth - 1) for _ in range(self.one([1, 2, 3]))))

    def negated(self, table, outers, depth):
        return Not(self.condition(table, outers, depth - 1))

    def has(self, table, outers, depth):
        other = self.one([t for t in self.population.tables if t not in (table, *outers)])
        where = self.condition(other, (table, *outers), depth - 1)
        return ask.has(other.name, where, at_least=self.one([1, 1, 2, 2**20]))

    def atom(self, table, *_):
        """A condition about one column."""
        column = self.one(table.columns)
        name, kind = Name(column.name), column.type
        options = [
            lambda: Missing(name),
            lambda: OneOf(name, tuple(self.literal(kind) for _ in range(self.one([1, 2, 4])))),
            lambda: Compare(self.one(COMPARISONS[:2]), name, self.literal(kind)),
        ]
        if isinstance(kind, Integer | Real | Date):
            options.append(lambda: Compare(self.one(COMPARISONS), name, self.literal(kind)))
            options.append(lambda: name.between(self.literal(kind), self.literal(kind)))
        if isinstance(kind, Text):
            options.append(lambda: Matches(name, self.pattern(kind), self.one([True, False])))
            options.append(lambda: Not(Matches(Applied("trim", name), self.pattern(kind))))
            options.append(lambda: OneOf(Applied("lower", name), (Literal(self.literal(kind).value.lower()),)))
        if isinstance(kind, Integer | Real):
            options.append(lambda: Compare(self.one(COMPARISONS), self.computed(name), self.literal(kind)))
            options.append(lambda: OneOf(self.computed(name), (self.literal(kind), self.literal(kind))))
        if isinstance(kind, Boolean):
            options.append(lambda: Truth(name))
        if isinstance(kind, Date):
            of = [Applied("year", name), Age(name), Age(name, self.literal(kind))]
            options.append(lambda: Compare(self.one(COMPARISONS), self.one(of), Literal(self.one(TIMES))))
        return self.one(options)()

    def pattern(self, kind):
        """A beginning, a piece and an end, with whatever may stand between them."""
        start, piece, end = (plain(self.literal(kind).value) for _ in range(3))
        one, other = self.one(["", "_"]), self.one(["", "_"])
        return self.one(
            [f"{start}{one}%", f"%{piece}%", f"%{other}{end}", f"{start}{one}%{piece}%{end}", f"{one}{start}_"]
        )

    def computed(self, value, depth=2):
        """A number that is computed from one column."""
        constant = Literal(self.one(CONSTANTS))
        made = self.one(
            [
                Applied(self.one(["abs", "floor", "ceil"]), value),
                Applied("round", value, Literal(self.one([-2, 0, 1, 20]))),
                Arithmetic(self.one("+-*"), value, constant),
                Arithmetic(self.one("+-*"), constant, value),
                Coalesce(value, constant),
            ]
        )
        return made if self.chance.random() < 0.5 or not depth else self.computed(made, depth - 1)

    def pair(self, table, outers, _):
        """A condition about two columns, of this row and of the rows of the same person around it."""
        columns = [(c.type, Name(c.name, t.name)) for t in (table, *outers) for c in t.columns]
        (_, mine), (_, other) = self.one([one for one in columns if one[1].table == table.name]), self.one(columns)
        return self.one([Compare(self.one(COMPARISONS), mine, other), Is(Compare("=", mine, other), self.one(TRUTHS))])

    def gap(self, table, outers, _):
        """A condition about two days, of this row and of the rows of the same person around it."""
        days = [Name(c.name, t.name) for t in (table, *outers) for c in t.columns if isinstance(c.type, Date)]
        mine, other = self.one([day for day in days if day.table == table.name]), self.one(days)
        gap = self.one([Age(mine, other), Arithmetic("-", mine, other)])
        later = Compare(self.one(COMPARISONS), mine, other)
        return self.one([later, Compare(self.one(COMPARISONS), gap, Literal(self.one(TIMES)))])

    def literal(self, kind):
        match kind:
            case Integer() | Real():
                return Literal(self.one(CONSTANTS))
            case Category(values=values):
                return Literal(self.one(values))
            case Boolean():
                return Literal(self.one([True, False]))
            case Text():
                return Literal(self.one([*(text for text in TEXTS if len(text) < len(LONG)), "l", "a\u0301"]))
            case Date():
                return Literal(self.one(DAYS))

    def value(self, table, depth=2):
        """An expression to add up, with bounds from the edges."""
        if depth and self.chance.random() < 0.5:
            return Arithmetic(self.one("+-*"), self.value(table, depth - 1), self.value(table, depth - 1))
        column = Name(self.one([c for c in table.columns if isinstance(c.type, Integer | Real)]).name)
        gap = self.one([Age(self.day(table), self.one([None, self.day(table)])), self.days(table)])
        small = Literal(self.one([-3, 0, 2])), Literal(self.one([3, 9]))
        wide = sorted([self.one(CONSTANTS), self.one(CONSTANTS)])
        return self.one(
            [
                *[column, gap, Clip(column, *small), Clip(column, *map(Literal, wide)), Clip(gap, *small)],
                *[Clip(gap, *map(Literal, sorted([self.one(TIMES), self.one(TIMES)]))), small[0]],
                Literal(self.one(CONSTANTS)),
            ]
        )

    def days(self, table):
        return Arithmetic("-", self.day(table), self.day(table))

    def day(self, table):
        return self.one([*(Name(c.name) for c in table.columns if isinstance(c.type, Date)), Literal(self.one(DAYS))])

    def by(self, table):
        """What to group by: the values of a column, years, or bins between edges of its type."""
        column = self.one(table.columns)
        options = [By(column=Name(column.name))]
        if isinstance(column.type, Date):
            options.append(ask.by_year(column.name))
        if isinstance(column.type, Integer | Real | Date):
            edges_ = {self.literal(column.type).value for _ in range(self.one([2, 3, 6]))}
            options.append(By(column=Name(column.name), edges=tuple(map(Literal, sorted(edges_)))))
        return self.one(options)
