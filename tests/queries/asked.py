"""Questions of every kind about the clinic, made by Hypothesis."""

import re
from datetime import date
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

import lapwing as ask
from engines.clinic import HOSTILE, NASTY_INTEGERS, clinic
from lapwing.queries.algebra.pattern import canonical, pieces, plain
from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.language.expressions import (
    Age,
    And,
    Applied,
    Arithmetic,
    CastTo,
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
    extreme,
)
from lapwing.queries.language.sql.reader import read_condition
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError

COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
DAYS = st.dates(date(1999, 12, 1), date(2021, 12, 31)) | st.sampled_from([date.min, date.max])
NUMBERS = st.integers(-3, 130) | st.sampled_from([*NASTY_INTEGERS, 2**70, -(2**70)])
POPULATION = clinic()


def constants(kind):
    match kind:
        case Integer():
            return NUMBERS | st.fractions(0, 100, max_denominator=4)
        case Real():
            return NUMBERS | st.fractions(-60, 1100, max_denominator=128) | st.fractions(-60, 60, max_denominator=10)
        case Category(values=values):
            return st.sampled_from(values)
        case Text():
            return st.sampled_from(HOSTILE)
        case Date():
            return DAYS
        case Boolean():
            return st.booleans()


def literals(kind):
    return constants(kind).map(
        lambda value: Literal(int(value) if isinstance(value, int) and not isinstance(value, bool) else value)
    )


def is_ordered(kind):
    return isinstance(kind, Integer | Real | Date) or (isinstance(kind, Category) and isinstance(kind.values[0], int))


_DERIVED = {
    "patients": [
        "month(born) = 2",
        "weekday(born) in (5, 6)",
        "extract(isodow from born) >= 6",
        "day(born) <> 31",
        "2 * age > 60",
        "bmi * 2 >= age + 1",
        "number_of(visits, 9) >= 2",
        "different_of(visits.kind, day > date '2019-01-01', 3) = 2",
        "first_of(visits.day) > born",
        "last_of(codes.day) - first_of(visits.day) between -300 and 300",
        "age(born, first_of(visits.day, nights >= 3)) >= 1",
        "number_of(visits, age(patients.born, day) >= 1, 2) = 1",
        "date_trunc('quarter', born) = date '2000-01-01'",
        "case when age > 18 then 'a' else 'b' end = 'b'",
        "floor(age / 10) * 10 = 30",
        "first_of(visits.cost) is null",
        "sum_of(visits.nights) >= 3",
        "mean_of(visits.nights) >= 2.5",
        "mean_of(visits.cost, kind = 'ER') < -20 or mean_of(visits.cost) = 4",
        "sum_of(visits.cost, kind = 'ER') between -20 and 1500.5",
        "sum_of(visits.cost) is null or sum_of(visits.nights, nights > 2) > age",
        "left(city, 1) = 'a'",
        "left(lower(trim(city)), 2) in ('a', 'ab')",
        "coalesce(first_of(visits.cost), 0) > 3",
        "smoker::int + (age >= 65)::int >= 1",
        "year(current_date) - age > 1990",
    ],
    "visits": [
        "patients.sex = 'F'",
        "patients.smoker",
        "starts_with(patients.city, 'a')",
        "patients.bmi > 20",
        "patients.born is null",
        "age(patients.born, day) >= 18",
        "year(day) - patients.age > 1990",
        "quarter(day) = 2",
        "week(day) in (1, 22, 53)",
        "date_trunc('week', day) >= date '2019-12-30'",
        "nights * 2 < patients.age",
        "number_of(visits, 2) = 2",
        "day = first_of(visits.day)",
        "day - first_of(codes.day) > 30",
        "date_trunc('month', day) < patients.born",
    ],
    "codes": [
        "patients.ward = 1",
        "month(day) < 7",
        "number_of(visits, kind = 'ER', 3) > 0",
        "day >= last_of(visits.day)",
    ],
}


def atoms(table):
    """Conditions about one column."""

    def about(column):
        name, kind = Name(column.name), column.type
        options = [
            st.just(Missing(name)),
            st.lists(literals(kind), min_size=1, max_size=3).map(lambda values: OneOf(name, tuple(values))),
            st.builds(lambda o, v: Compare(o, name, v), st.sampled_from(["=", "<>"]), literals(kind)),
        ]
        if is_ordered(kind):
            options.append(st.builds(lambda o, v: Compare(o, name, v), COMPARISONS, literals(kind)))
            options.append(st.builds(name.between, literals(kind), literals(kind)))
        if isinstance(kind, Text) or (isinstance(kind, Category) and isinstance(kind.values[0], str)):
            options.append(about_text(name, kind))
        if isinstance(kind, Integer | Real):
            options.append(about_number(name, kind))
        if isinstance(kind, Boolean):
            options.append(st.just(Truth(name)))
            options.append(st.booleans().map(lambda truth: Truth(Coalesce(name, Literal(truth)))))
        if isinstance(kind, Date):
            years = st.integers(-1, 120).map(Literal)
            options.append(st.builds(lambda o, y: Compare(o, Age(name), y), COMPARISONS, years))
            options.append(
                st.builds(
                    lambda o, y: Compare(o, Applied("year", name), Literal(y)), COMPARISONS, st.integers(1999, 2022)
                )
            )
            day = DAYS.map(Literal)
            options.append(st.builds(lambda o, v, d: Compare(o, Coalesce(name, d), v), COMPARISONS, day, day))
        found = st.one_of(options)
        return found | st.builds(Is, found, st.sampled_from([True, False, None]))

    return st.sampled_from(table.columns).flatmap(about)


def about_text(name, kind):
    """Conditions about a text that fits a pattern, or is one of several if letters or blanks do not count."""
    texts = kind.values if isinstance(kind, Category) else HOSTILE
    if isinstance(kind, Category):
        likes = st.sampled_from(texts).map(lambda text: Matches(name, f"{text[0]}%", any_case=True))
    else:
        piece = st.sampled_from(texts).map(plain)
        wild = st.sampled_from(["%", "%", "_", ""])
        pattern = st.builds(lambda a, x, b, y, c: canonical(a + x + b + y + c, "\\"), wild, piece, wild, piece, wild)
        likes = st.builds(lambda p, any_case: Matches(name, p, any_case), pattern.filter(is_readable), st.booleans())
    small = st.sampled_from(texts).map(lambda text: Literal(re.sub("[A-Z]", lambda c: c[0].lower(), text)))
    lower = st.builds(lambda v: OneOf(Applied("lower", name), tuple(v)), st.lists(small, min_size=1, max_size=3))
    trimmed = st.sampled_from(texts).map(lambda text: Compare("<>", Applied("trim", name), Literal(text)))
    either = st.sampled_from(texts).map(lambda text: Compare("=", Coalesce(name, Literal("a")), Literal(text)))
    return likes | lower | trimmed | either


def is_readable(pattern):
    try:
        return pieces(pattern) is not None
    except BadQuestionError:
        return False


def about_number(name, kind):
    """Conditions about a number that is computed from a column; limits of doubles are doubles themselves."""
    halves = st.integers(-260, 260).map(lambda n: Literal(n // 2 if n % 2 == 0 else Fraction(n, 2)))
    factor = st.sampled_from([2, -2, Fraction(1, 2), -1, 0, *([3] if isinstance(kind, Integer) else [])]).map(Literal)
    value = st.one_of(
        st.sampled_from(["abs", "floor", "ceil", "round", "sign"]).map(lambda f: Applied(f, name)),
        st.builds(lambda f, c: extreme(f, [name, c]), st.sampled_from(["greatest", "least"]), halves),
        *([st.integers(1, 9).map(lambda n: Applied("//", name, Literal(n)))] if isinstance(kind, Integer) else []),
        st.builds(lambda o, c: Arithmetic(o, name, c), st.sampled_from("+-"), halves),
        st.builds(lambda c: Arithmetic("-", c, name), halves),
        st.builds(lambda c: Arithmetic("*", name, c), factor),
        st.builds(lambda c: Coalesce(name, c), halves),
        st.builds(lambda c: Coalesce(Applied("abs", Arithmetic("-", c, CastTo(name, "number"))), c), halves),
    )
    compared = st.builds(Compare, COMPARISONS, value, halves) | st.builds(Compare, COMPARISONS, halves, value)
    return compared | st.builds(lambda v, a, b: OneOf(v, (a, b)), value, halves, halves)


def pairs(table, outers):
    """Conditions about two columns that hold the same, of one row or of two rows of the same person."""
    mine, *rest = ([(c.type, Name(c.name, t.name)) for c in t.columns] for t in (table, *outers))

    def alike(pair):
        (one, _), (other, _) = pair
        return holds(one) == holds(other) and holds(one) != "day"

    both = [pair for pair in product(mine, sum(rest, mine)) if alike(pair)]
    if not both:
        return st.nothing()
    return st.sampled_from(both).flatmap(
        lambda pair: st.builds(
            lambda o: Compare(o, pair[0][1], pair[1][1]),
            COMPARISONS if holds(pair[0][0]) == "number" else st.sampled_from(["=", "<>"]),
        )
    )


def holds(kind):
    match kind:
        case Category(values=values):
            return "text" if isinstance(values[0], str) else "number"
        case Integer() | Real():
            return "number"
        case _:
            return {Text: "text", Date: "day", Boolean: "truth"}[type(kind)]


def derived(table):
    """Conditions about derived columns."""
    return st.sampled_from(_DERIVED[table.name]).map(read_condition)


def gaps(table, outers):
    """Conditions about two days, of one row or of two rows of the same person."""
    mine, *rest = ([Name(c.name, t.name) for c in t.columns if isinstance(c.type, Date)] for t in (table, *outers))
    others = sum(rest, mine)
    if not mine or len(others) < 2:
        return st.nothing()
    pair = st.tuples(st.sampled_from(mine), st.sampled_from(others)).filter(
        lambda p: (p[0].name, p[0].table) != (p[1].name, p[1].table)
    )
    days = st.integers(-400, 400).map(Literal)
    within = st.builds(lambda p, o, n: Compare(o, Arithmetic("-", p[0], p[1]), n), pair, COMPARISONS, days)
    later = st.builds(lambda p, o, n: Compare(o, p[0], Arithmetic("+", p[1], n)), pair, COMPARISONS, days)
    aged = st.builds(
        lambda p, o, n: Compare(o, Age(p[0], p[1]), n), pair, COMPARISONS, st.integers(-2, 25).map(Literal)
    )
    return within | later | aged


def conditions(table, outers=(), depth=2, *, with_derived=False):
    """Conditions about rows of a table; `outers` are the tables around it, when it is inside other conditions."""
    base = atoms(table) | gaps(table, outers) | pairs(table, outers)
    if with_derived:
        base |= derived(table)
    if depth > 0:
        around = {table.name, *(outer.name for outer in outers)}
        for other in (t for t in POPULATION.tables if t.name not in around):
            where = conditions(other, (table, *outers), depth - 1, with_derived=with_derived)
            base |= st.builds(lambda w, n, o=other: ask.has(o.name, w, at_least=n), where, st.integers(1, 3))
    return st.recursive(
        base,
        lambda part: (
            st.lists(part, min_size=1, max_size=3).map(lambda parts: And(tuple(parts)))
            | st.lists(part, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts)))
            | part.map(Not)
        ),
        max_leaves=4,
    )


PATIENTS, VISITS, CODES = POPULATION.tables
_GROUPS = {
    "patients": [
        "sex",
        "ward",
        "age",
        "smoker",
        ask.bins("bmi", [10, 20, "27.25", 60]),
        ask.bins("age", [0, 18, 65, 120]),
        ask.by_year("born"),
        ask.bins("age(born)", [0, 18, 65, 120]),
        "month(born)",
        "isodow(born)",
        "case when age >= 65 then 'old' when has(visits, month(day) = 6) then 'é' end",
        "floor(age / 30) * 30",
        "age >= 65 and smoker",
        "coalesce(sex, 'unknown')",
        "left(upper(sex), 1)",
        ask.number_of("visits", most=3),
        ask.bins(ask.number_of("visits", "kind = 'ER'", most=20), [0, 1, 2, 20]),
        "different_of(visits.kind, nights > 0, 2)",
        ask.bins("first_of(visits.day) - born", [-9000, 0, 6000, 9000]),
        ask.by_year(ask.last_of("visits.day", "age(patients.born, day) >= 1")),
    ],
    "visits": [
        "kind",
        ask.bins("nights", [0, 1, 7, 30]),
        ask.bins("day", [date(2018, 1, 1), date(2020, 6, 1), date(2022, 1, 1)]),
        "quarter(day)",
        "date_trunc('quarter', day)",
        "patients.sex",
        "patients.smoker",
        "year(patients.born)",
        ask.bins("age(patients.born, day)", [0, 18, 65]),
        ask.bins("patients.bmi", [10, 20, 60]),
        "number_of(codes, 2)",
        "case when patients.age > 30 then 7 when nights > 3 then 0 else 1 end",
    ],
}
_VALUES = {
    "patients": [
        "age",
        "bmi",
        "2 * age - bmi",
        "age(born)",
        "clip(bmi, -1000, 1000)",
        "clip(age, 18, 65)",
        "number_of(visits, kind = 'ER', 20)",
        "different_of(visits.note, 5)",
        "age(born, first_of(visits.day))",
        "sum_of(visits.nights)",
        "mean_of(visits.cost, nights > 1)",
        "clip(sum_of(visits.cost, kind = 'ER'), -60, 3000)",
        "clip(last_of(visits.day, kind = 'ER') - born, 0, 9999)",
        "weekday(born)",
        "year(born) - age",
        "floor(bmi / 5) * 5",
        "clip(last_of(visits.cost), 0, 999)",
        "case when smoker then 1 else 0 end",
        "smoker",
        "(age >= 65)::int + coalesce(bmi, 25)",
    ],
    "visits": [
        "nights",
        "cost",
        "nights * cost",
        "clip(cost, 0, 99)",
        "cost - 3",
        'clip("left" - day, 0, 30)',
        "age(patients.born, day)",
        "number_of(visits, 5)",
        "patients.bmi",
        "quarter(day) * nights",
        "clip(patients.age, 18, 65) + number_of(codes, code > 3, 4)",
    ],
}


def _where(table):
    return st.none() | conditions(table) | conditions(table, with_derived=True)


def _by(name, most=2):
    return st.lists(st.sampled_from(_GROUPS[name]), max_size=most, unique_by=id)


def _of_rows(name):
    """Each statistic of rows, about one table."""
    table, value = POPULATION.table(name), st.sampled_from(_VALUES[name])
    limits = {"max_rows": st.integers(1, 3), "max_groups": st.integers(1, 3)}
    common = {"table": st.just(name), "where": _where(table)}
    grouped = {**common, "by": _by(name), **limits, "max_groups": st.none() | limits["max_groups"]}
    quantiles = {"at": st.just(["0.1", "0.5"]), "cells": st.sampled_from([2, 7, 50]), "max_rows": limits["max_rows"]}
    return {
        "rows": st.builds(ask.count_rows, **grouped),
        "total": st.builds(ask.total, **grouped, of=value),
        "mean by what is there": st.builds(
            ask.mean, **{**grouped, "by": st.just("city" if name == "patients" else "note")}, of=value
        ),
        "mean": st.builds(ask.mean, **grouped, of=value),
        "variance": st.builds(ask.variance, **grouped, of=value),
        "proportion": st.builds(ask.proportion, **grouped, of=conditions(table, depth=0)),
        "covariance": st.builds(ask.covariance, **grouped, x=value, y=value),
        "correlation": st.builds(ask.correlation, **grouped, x=value, y=value),
        "quantiles": st.builds(ask.quantiles, **common, of=value, **quantiles),
        "quantile of groups": st.builds(
            ask.quantiles, **common, of=value, **{**quantiles, "at": st.sampled_from(["0.1", "0.5"])}, by=_by(name, 1)
        ),
    }


def _of_people(name):
    """Each statistic of people, about one table."""
    table = POPULATION.table(name)
    common = {"table": st.just(name), "where": _where(table)}
    few, steps = st.integers(1, 3), conditions(table, depth=1, with_derived=True)
    columns = st.sampled_from({"patients": ["sex", "ward", "city", "age"], "visits": ["kind", "note"]}[name])
    categories = st.sampled_from({"patients": ["sex", "ward"], "visits": ["kind"]}[name])
    return {
        "people": st.builds(ask.count, **common, by=_by(name), max_groups=few),
        "people by what is there": st.builds(ask.count, **common, by=columns, max_groups=few),
        "distinct": st.builds(
            ask.count_distinct, **common, column=columns, max_groups=few, sketch=st.sampled_from([None, 64, 4096])
        ),
        "top": st.builds(ask.top, **common, column=categories, k=st.just(1)),
        "top with counts": st.builds(
            ask.top, **common, column=categories, k=st.just(1), counts=st.just(value=True), max_groups=st.none() | few
        ),
        "funnel": st.builds(ask.funnel, **common, steps=st.lists(steps, min_size=1, max_size=3)),
        "at least": st.builds(ask.at_least, **common, people=st.just(3)),
    }


def _of_codes():
    """The table whose rows have a key of their own."""
    value, where = st.just("clip(code, 0, 100)"), _where(CODES)
    about = {"table": st.just("codes"), "where": where}
    of_value = {**about, "of": value, "max_rows": st.integers(1, 3)}
    return {
        "people": st.builds(ask.count, **about),
        "people by what is there": st.builds(ask.count, **about, by=st.just("code"), max_groups=st.integers(1, 2)),
        "total": st.builds(ask.total, **of_value),
        "mean": st.builds(ask.mean, **of_value),
        "quantiles": st.builds(ask.median, **of_value),
    }


def _has_groups(question):
    """Leave out the question whose groups are too many, none, or must be bounded: totals of what may be below zero."""
    try:
        plan(question, POPULATION)
    except BadQuestionError as refused:
        known = ("more than 100000", "leaves none of the groups", "in any number of groups")
        return not any(reason in str(refused) for reason in known)
    return True


_ASKED = [_of_people("patients"), _of_people("visits"), _of_rows("patients"), _of_rows("visits"), _of_codes()]
STATISTICS = {
    name: st.one_of([asked[name] for asked in _ASKED if name in asked]).filter(_has_groups)
    for name in dict.fromkeys(name for asked in _ASKED for name in asked)
}
"""Questions about any table, by their statistic."""
QUESTIONS = st.one_of(*STATISTICS.values())
