"""Answers that are wrong: random statements of the whole language, before noise, against plain DuckDB on the same text.

Whole numbers have to be equal. Where a public grid rounds, the difference is no more than that grid allows (`allowed`).
The tables have what real ones have: missing values, rows that are there twice, people without a row in the table of
people, rows of nobody, empty tables, and in one of the places more rows of a person than count.
"""

import math
import time
from collections import Counter
from contextlib import ExitStack, closing
from datetime import date
from fractions import Fraction
from itertools import accumulate, count, takewhile
from random import Random

import duckdb

from engines.clinic import arrow_tables, clinic
from fuzz.select_statements import NUMBERS, OPERATORS, Rows, Statements, quoted
from fuzz.sql import divided, named
from lapwing.engines.duckdb import DuckDB
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, CountPeopleOfTables, CountPerPerson, GridKey
from lapwing.queries.planning.plan import Family
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.bernstein import Moment, ReleasedSums
from lapwing.queries.statistics.moments import Moments
from lapwing.queries.statistics.shared_releases import share
from lapwing.queries.statistics.total import Total
from lapwing.vocabulary.errors import LapwingError

CLINIC = clinic()
BOUNDS = {"max_rows": 4, "max_groups": 8}
MOST_ROWS = 2
"""The rows of a person that the catalogue counts: nobody has more but in the place where that is looked at."""
_KEYS = {"patients": "pid", "visits": "pid", "codes": "patient"}
_PATIENT, _VISIT = Rows("patients", "p", "patients p"), Rows("visits", "v", "visits v")
_SHARED = 0.2
_PLENTY = 9
PLACES = ((60, MOST_ROWS), (25, MOST_ROWS), (60, MOST_ROWS), (40, _PLENTY), (60, MOST_ROWS), (0, MOST_ROWS))
"""How many people the tables are of, and how many rows somebody has at most."""


def run(seconds: float, seed: int, *, most: int | None = None) -> Counter[str]:
    """Compare statements for so long, or so many; fail with the first that is answered wrongly."""
    random, until = Random(seed), time.monotonic() + seconds
    tally = Counter(drawn=0, answered=0, compared=0, numbers=0)
    with ExitStack() as stack:
        places = [stack.enter_context(closing(Place(Random(f"{seed} {i}"), *one))) for i, one in enumerate(PLACES)]
        texts = Texts(random)
        for i in takewhile(lambda _: time.monotonic() < until, count() if most is None else range(most)):
            places[i % len(places)].look(texts.text(), tally, shared=random.random() < _SHARED)
    return tally


class Texts(Statements):
    """Makes statements of the whole language."""

    def text(self) -> str:
        """Return one that any database understands as it is."""
        while True:
            shapes = [self.statement, self.beside, self.beside, self.beside, self.together, self.of_people, self.first]
            made = self.random.choice(shapes)()
            if self.plain:
                return made

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def atom(self, rows):
        """Return a condition about rows, also one with LIKE, or about a value in the place of a missing one."""
        random = self.random
        if self.chance(0.75):
            return self._atom(rows)
        number = rows.column(random.choice([name for name in NUMBERS[rows.table] if name != "ward"]))
        text = rows.column("city" if rows.table == "patients" else "note")
        like = random.choice(["'B%'", "'%e%'", "'_'", "'a_'", "'%'", "'%''%'", "'é%'"])
        return random.choice(
            [
                f"{text} {random.choice(['like', 'not like'])} {like}",
                f"coalesce({number}, {random.randint(0, 3)}) {random.choice(OPERATORS)} {random.randint(0, 9)}",
                f"({self._atom(rows)}) is not true",
            ]
        )

    def beside(self) -> str:
        """Return a statement about a LEFT JOIN whose ON says something, or about a SELECT that was joined so."""
        random = self.random
        rows, base = (_PATIENT, _VISIT)
        tie, on = "p.pid = v.pid", []
        if self.chance(0.7):
            on += [self.atom(rows)] if self.chance(0.7) else []
            on += [self.atom(base)] if self.chance(0.3) else []
            on += ["p.age > v.nights"] if self.chance(0.1) else []
        joined = "patients p"
        if self.chance(0.3):
            joined = f"(select * from patients q where {self.atom(Rows('patients', 'q', ''))}) p"
        kind = "left join" if self.chance(0.8) else "join"
        source = f"visits v {kind} {joined} on {' and '.join([tie, *(f'({part})' for part in on)])}"
        if self.chance(0.3):
            return self.beside_made()
        if self.chance(0.15):
            return self.of_rows_beside()
        told = [self.value_beside() for _ in range(random.choice([1, 1, 2, 3]))]
        where = [random.choice([self.atom(rows), self.atom(base), "p.pid is null", "p.pid is not null"])]
        where += [f"({self.atom(rows)} or {self.atom(base)})"] if self.chance(0.3) else []
        by = random.choice([[], [], [self.key_beside()]])
        return self.select(by, told, source, where if self.chance(0.5) else [])

    def value_beside(self):
        random = self.random
        number = f"p.{random.choice(['age', 'bmi'])}"
        told = random.choice(
            [
                "count(*)",
                "count(p.pid)",
                f"count({number})",
                f"avg({number})",
                "sum(p.age)",
                "sum(v.nights)",
                "avg(p.age + v.nights)",
                "avg(coalesce(p.age, 5))",
                "sum(case when p.smoker then 1 else 0 end)",
                "avg(case when p.smoker then p.age end)",
                "count(case when p.age > 30 then 1 end)",
                "count(distinct p.pid)",
                "count(distinct v.pid)",
            ]
        )
        if self.chance(0.2):
            return f"{told} filter (where {self.atom(random.choice([_PATIENT, _VISIT]))})"
        return told

    def key_beside(self):
        return self.random.choice(
            [
                *("p.sex", "p.smoker", "p.ward", "v.kind", "p.age is null", "year(p.born)", "p.age", "v.nights > 1"),
                *(
                    "case when p.age > 40 then 'old' when p.age is null then '?' else 'young' end",
                    "coalesce(p.sex, '?')",
                    "concat(p.sex, '-', v.kind)",
                ),
            ]
        )

    def beside_made(self):
        """Return a statement about people beside what a SELECT made of their rows."""
        random, rows = self.random, Rows("visits", "w", "")
        made = self.of_person_rows(rows)
        tie = "t.pid = p.pid" + (f" and ({self.atom(_PATIENT)})" if self.chance(0.4) else "")
        source = f"patients p {random.choice(['left join', 'left join', 'join'])} ({made}) t on {tie}"
        days = "min(w.day)" in made or "max(w.day)" in made
        values = ["count(t.n)", "count(t.pid)", "count(*)", "count(distinct p.pid)", "count(distinct t.pid)"]
        values += [] if days else ["avg(t.n)", "sum(t.n)", "avg(coalesce(t.n, 0))", "avg(p.age)", "avg(p.age + t.n)"]
        told = [random.choice(values) for _ in range(random.choice([1, 2]))]
        limits = ["t.n is null", "t.n is not null", "t.pid is null", "t.pid is not null", self.atom(_PATIENT)]
        limits += [] if days else [f"t.n {random.choice(OPERATORS)} 1", "coalesce(t.n, 0) = 0", "t.n = 1 or p.age > 40"]
        keys = ["p.sex", "p.smoker"] if days else ["p.sex", "t.n", "t.n is null"]
        by = [random.choice(keys)] if self.chance(0.4) else []
        return self.select(by, told, source, [f"({random.choice(limits)})"] if self.chance(0.5) else [])

    def of_rows_beside(self):
        """Return a statement about the rows that a LEFT JOIN finds."""
        on = f" and ({self.atom(_VISIT)})" if self.chance(0.5) else ""
        told = self.random.choice(["count(v.pid)", "count(v.nights)", "sum(v.nights)", "avg(v.cost)", "avg(p.age)"])
        by = self.random.choice([[], ["p.sex"], ["v.kind"], ["p.smoker"]])
        where = [self.atom(self.random.choice([_PATIENT, _VISIT]))] if self.chance(0.3) else []
        return self.select(by, [told], f"patients p left join visits v on v.pid = p.pid{on}", where)

    def together(self) -> str:
        """Return a statement about people whom UNION, INTERSECT or EXCEPT give."""
        random = self.random
        people = self.people_of_one("visits", "patients")
        for _ in range(random.choice([1, 1, 2])):
            operation = random.choice(["union", "union", "intersect", "except"])
            people = f"{people} {operation} {self.people_of_one('visits', 'patients', 'codes')}"
        where = [self.atom(_PATIENT)] if self.chance(0.4) else []
        match random.randrange(6):
            case 0:
                return f"with u as ({people}) select count(*) from u"
            case 1:
                part = random.choice(["in", "not in"])
                return self.select([], ["count(*)"], "patients p", [f"p.pid {part} ({people})", *where])
            case 2:
                joined = random.choice(["join", "left join"])
                told = random.choice(["count(*)", "count(distinct u.pid)", "count(p.age)", "count(p.pid)"])
                source = f"u {joined} patients p on p.pid = u.pid"
                by = random.choice([[], ["p.sex"], ["p.smoker"]])
                return f"with u as ({people}) {self.select(by, [told], source, where)}"
            case 3:
                told = random.choice(["count(*)", "avg(p.age)", "count(p.age)"])
                source = "patients p join u on p.pid = u.pid"
                return f"with u as ({people}) {self.select([], [told], source, where)}"
            case _:
                return f"select count({random.choice(['*', 'distinct pid', 'pid'])}) from ({people}) t"

    def people_of_one(self, *tables):
        """Return a SELECT of people; the key of codes is called otherwise, and the first names them all."""
        table = self.random.choice(tables)
        if table == "codes":
            return self.random.choice(["select patient from codes", "select patient from codes where code > 3"])
        rows = Rows(table, "s", "")
        return (
            f"select s.pid from {table} s where {self.atom(rows)}" if self.chance(0.7) else f"select pid from {table}"
        )

    def of_person_rows(self, rows):
        """Return a SELECT with one row a person, and a number or a day n."""
        random = self.random
        made = random.choice(["count(*)", "count(distinct w.kind)", "min(w.nights)", "max(w.nights)"])
        if self.chance(0.3):
            made = random.choice(
                [
                    f"count(*) filter (where {self.atom(rows)})",
                    f"count(case when {self.atom(rows)} then 1 end)",
                    f"sum(case when {self.atom(rows)} then w.nights else 0 end)",
                    "sum(w.nights * 2 + 1)",
                    "max(w.nights - 3)",
                    "max(w.nights) - min(w.nights)",
                    "min(case when w.cost > 1 then w.nights end)",
                ]
            )
        made = random.choice(["min(w.day)", "max(w.day)"]) if self.chance(0.15) else made
        where = f" where {self.atom(rows)}" if self.chance(0.5) else ""
        having = random.choice(["", "", "", " having count(*) >= 2", f" having {made} is not null"])
        return f"select w.pid, {made} as n from visits w{where} group by w.pid{having}"

    def of_people(self) -> str:
        """Return a statement about one row a person."""
        random = self.random
        made = self.of_person_rows(Rows("visits", "w", ""))
        days = "min(w.day)" in made or "max(w.day)" in made
        values = ["count(*)", "count(n)", "count(pid)", "count(distinct pid)"]
        values += ["count(case when n is null then 1 end)"]
        values += [] if days else ["avg(n)", "sum(n)", "avg(coalesce(n, 2))", "count(*) filter (where n > 1)"]
        told = [random.choice(values) for _ in range(random.choice([1, 2, 3]))]
        where = ["n is not null"] if days else [f"n {random.choice(OPERATORS)} {random.randint(0, 3)}", "n is null"]
        by = (
            [random.choice(["year(n)", "n is null"] if days else ["n", "n is null", "n > 1"])]
            if self.chance(0.3)
            else []
        )
        source = f"({made}) t"
        if self.chance(0.2):
            return f"with t as ({made}) {self.select(by, told, 't', [random.choice(where)])}"
        return self.select(by, told, source, [random.choice(where)] if self.chance(0.4) else [])

    def first(self) -> str:
        """Return a statement about the first row of each person, or one with quantiles."""
        random = self.random
        rows = Rows("visits", "w", "visits w")
        by = random.choice(["day", "nights", quoted("left")]) + random.choice(["", " desc"])
        place = f"row_number() over (partition by w.pid order by w.{by}) as rn"
        where = f" where {self.atom(rows)}" if self.chance(0.6) else ""
        chosen = f"(select *, {place} from visits w{where}) r"
        if self.chance(0.5):
            return self.select([], [random.choice(["count(*)", "count(distinct pid)"])], chosen, ["rn = 1"])
        table = random.choice(["patients", "visits"])
        column = random.choice([name for name in NUMBERS[table] if name != "ward"])
        at = random.choice(["0.1", "0.25", "0.5", "0.9"])
        told = Rows(table, "t", f"{table} t")
        return self.select([], [f"quantile_disc(t.{column}, {at})"], f"{table} t", [self.atom(told)])

    def select(self, by, told, source, where):
        """Return a SELECT; in another order it is the same."""
        said = f" where {' and '.join(f'({part})' for part in where)}" if where else ""
        group = f" group by {', '.join(str(i + 1) for i in range(len(by)))}" if by else ""
        order = " order by 1" if by and self.chance(0.3) else ""
        return f"select {', '.join([*by, *told])} from {source}{said}{group}{order}"


class Place:
    """The same tables behind the engine and in plain DuckDB, where rows of nobody are left out."""

    def __init__(self, random: Random, people: int, rows: int) -> None:
        self.many = rows > MOST_ROWS
        tables = arrow_tables(CLINIC, made_up(random, people, rows))
        self._engine = DuckDB(CLINIC, tables, threads=1)
        self._database = duckdb.connect(config={"threads": 1})
        self._database.execute("pragma disable_optimizer")
        for name, table in tables.items():
            self._database.register("incoming", table)
            self._database.execute(f"create table {name} as from incoming where {_KEYS[name]} is not null")
            self._database.unregister("incoming")
        self._database.execute(
            "create macro clip(x, low, high) as case when x is null then null else least(greatest(x, low), high) end"
        )

    def close(self) -> None:
        """Let go of both."""
        self._engine.close()
        self._database.close()

    def look(self, text: str, tally: Counter[str], *, shared: bool) -> None:
        """Compare what one statement is told, if it is answered and nothing of it was bounded away."""
        tally["drawn"] += 1
        try:
            selection = read_sql(text.replace("quantile_disc", "quantile_cont"), **BOUNDS)
            planned = plan_together(selection.questions, CLINIC)
        except LapwingError:
            return
        tally["answered"] += 1
        if any(one.family in {Family.THRESHOLD, Family.SHOWN_KEYS} for one in planned.values()):
            return  # sums of a person, which only the data knows
        if self.many and not all(counts_everybody(one) for one in planned.values()):
            return
        rows = self._database.execute(text).fetchall()
        if any(not hasattr(one.meaning, "estimates") for one in planned.values()):
            tally["numbers"] += self._quantile(text, planned, rows)
        else:
            tally["numbers"] += self._numbers(text, selection, planned, rows, shared=shared)
        tally["compared"] += 1

    def _numbers(self, text, selection, planned, rows, *, shared):
        keys = next(iter(planned.values())).aggregate.keys
        names = selection.arrangement.columns or tuple(planned)
        width = len(rows[0]) - len(names) if rows else 0
        told = {row[:width]: row[width:] for row in rows}
        exact = {name: self.estimates(one) for name, one in planned.items()}
        moved = {name: self.moved(one) for name, one in planned.items()}
        if shared:
            self._check_shared(text, selection, planned, exact)
        for column, name in enumerate(names):
            made = selection.arrangement.made.get(name)
            ours = divided(made, exact) if made else exact[name]
            called = {cell: named(keys, cell) for cell in ours}
            missing = [row[column] for cell, row in told.items() if cell not in called.values()]
            assert not any(missing), f"groups are missing: {text}"  # without a row they are nothing, or 0
            of = made.names if made else (name,)
            for cell, value in ours.items():
                theirs = told[called[cell]][column] if called[cell] in told else None
                most = max(moved[each].get(cell, 0) for each in of)
                assert agree(planned[of[0]].meaning, value, theirs, most, made=made), (
                    f"{called[cell]}: {value} is not {theirs}, and grids move it by {float(most):.2g}: {text}"
                )
        return len(names) * len(told)

    def _quantile(self, text, planned, rows):
        """See that the quantile that DuckDB tells lies in the cell of the grid in which ours does."""
        (one,) = planned.values()
        counts = self._engine.vector(one.aggregate).open_for_release()
        (key,) = one.aggregate.keys
        assert isinstance(key, GridKey)
        value = rows[0][0]
        if value is None:
            assert not any(counts), f"{sum(counts)} values where there are none: {text}"
            return 1
        at = Fraction(text.split("quantile_disc(")[1].split(", ")[1].split(")")[0])
        scale = one.meaning.scale
        cell = min(int((Fraction(value) - scale.low) / scale.step), key.cells - 1)
        up_to = list(accumulate(counts))
        place = max(1, math.ceil(at * up_to[-1]))
        assert (up_to[cell - 1] if cell else 0) < place <= up_to[cell], f"{value} is not place {place}: {text}"
        return 1

    def estimates(self, one):
        """Return the numbers of a plan without noise, in each of its groups."""
        return one.meaning.estimates(one, self._engine.vector(one.aggregate).open_for_release())

    def moved(self, one):
        """Return by how much grids may have moved each of these numbers; what is not here, by nothing."""
        if not isinstance(one.meaning, Moments | Total) or is_fine(one):
            return {}
        released = self._engine.vector(one.aggregate).open_for_release()
        return {cell: allowed(one, sums) for cell, sums in one.blocks(released)}

    def _check_shared(self, text, selection, planned, exact):
        """See that what is read from a release that others are read from is what it is alone, where nothing rounds."""
        for one in share(selection.questions, planned, CLINIC):
            released = self._engine.vector(one.plan.aggregate).open_for_release()
            for name, reading in one.readings.items():
                ours = reading.estimates(one.plan, released)
                fine = is_fine(planned[name]) and is_fine(one.plan)
                assert not fine or ours == exact[name], f"{name} is {ours} where shared: {text}"


def counts_everybody(one) -> bool:
    """Say whether no row of anybody is bounded away, however many there are: people are counted, and no rows."""
    bounding = one.aggregate.bounding
    of_people = isinstance(bounding, CountPerPerson | CountPeopleOfTables) and not one.aggregate.keys
    return of_people and "number-of-person" not in one.canonical


def agree(meaning, value, theirs, most, *, made=None) -> bool:
    """Say whether a number is DuckDB's, or as near to it as grids allow that may have moved it by `most`."""
    if value is None or theirs is None or (isinstance(theirs, float) and not math.isfinite(theirs)):
        nothing = made is not None or isinstance(meaning, Moments)  # a mean of no rows is any number
        return nothing or (value or 0) == (theirs or 0)
    if made is None and not isinstance(meaning, Moments) and most == 0:
        return Fraction(value) == Fraction(theirs)
    return most == math.inf or math.isclose(value, theirs, rel_tol=1e-9, abs_tol=float(most) + 1e-9)


def is_fine(one) -> bool:
    """Say whether no grid rounds: the values lie on theirs, and so do the products of which moments are made."""
    match one.meaning:
        case Total(step=step):
            return step <= _finest(one)
        case Moments(scales=scales) as meaning:
            return one.aggregate.bounding.most == _whole(meaning) and all(
                scale.step <= _finest(one) for scale in scales
            )
        case _:
            return True


def allowed(one, sums) -> float | Fraction:
    """Return by how much grids may move a number of a group whose sums these are; of a total nobody knows.

    All is counted in parts of the widths of the values. A value on a grid of the step s is moved by at most s. A row
    adds to T sums, and each of its terms is rounded down by less than one of the u steps that they have together: so
    the row counts as 1 - f with f < T/u, and a power of its values as less by e, 0 <= e <= f. An average a becomes
    (a - e)/(1 - f), which is moved by |a f - e|/(1 - f) < T/(u - T).
    """
    meaning, bounding = one.meaning, one.aggregate.bounding
    if isinstance(meaning, Total):
        return math.inf
    assert isinstance(bounding, BoundedRowsPerPerson)
    terms, most = len(bounding.terms), bounding.most
    rounded = 0 if most == _whole(meaning) else Fraction(terms, most - terms)
    placed = [0 if scale.step <= _finest(one) else scale.step / scale.width for scale in meaning.scales]
    widths = math.prod(scale.width for scale in meaning.scales)
    match meaning.moment:
        case Moment.MEAN:
            return widths * (rounded + placed[0])
        case Moment.VARIANCE:
            return widths**2 * second_moment(rounded, *placed * 2)
        case Moment.COVARIANCE:
            return widths * second_moment(rounded, *placed)
        case Moment.CORRELATION:
            return of_correlation(sums, rounded, *placed)


def second_moment(rounded, x, y):
    """Return by how much E[XY] - E[X] E[Y] is moved, of values from 0 to 1 that are moved by at most x and y."""
    return (rounded + x + y) + (rounded + x) + (rounded + y)


def of_correlation(sums, rounded, x, y) -> float:
    """Return by how much a correlation is moved: c/sqrt(V W), whose three parts are moved as second moments are.

    With the spreads at least V - v and W - w it is moved by at most d/sqrt((V - v)(W - w)) by the covariance, and by
    |r| (sqrt(V W/((V - v)(W - w))) - 1) by the spreads. Where a spread may be 0, it is any correlation.
    """
    if not any(sums):
        return 2.0
    found = ReleasedSums(tuple(sums), 2)
    spreads = found.spread((1, 0), (1, 0)), found.spread((0, 1), (0, 1))
    least = [spread - float(second_moment(rounded, by, by)) for spread, by in zip(spreads, (x, y), strict=True)]
    if min(least) <= 0:
        return 2.0
    together = found.spread((1, 0), (0, 1)) / math.sqrt(math.prod(spreads))
    by_spread = abs(together) * (math.sqrt(math.prod(spreads) / math.prod(least)) - 1)
    return float(second_moment(rounded, x, y)) / math.sqrt(math.prod(least)) + by_spread


def _whole(meaning) -> int:
    """Return what a row adds to all sums of a moment, where their terms are not rounded."""
    degree = 1 if meaning.moment in {Moment.MEAN, Moment.COVARIANCE} else 2
    return math.prod(scale.extent**degree for scale in meaning.scales)


def _finest(one) -> Fraction:
    """Return the finest step of a column that a plan may be about."""
    return Fraction(1, 64) if "bmi" in one.canonical else Fraction(1)


def made_up(random: Random, people: int, most: int):
    """Rows within what is declared, at most so many of somebody: any database counts them alike."""

    def some(*values):
        return random.choice([*values, None])

    patients = [
        {
            "pid": some(pid, pid, pid, pid, pid, pid, pid, pid),
            "sex": some("F", "M", "é"),
            "ward": random.choice([1, 2, 3, -7]),
            "age": some(*range(0, 121, 7)),
            "bmi": some(10.0, 20.5, 27.25, 31.015625, 60.0),
            "smoker": some(*[True, False]),
            "city": some("Bern", "Chur", "", "O'Neil", "%", "bern", "é", "e\u0301", "a_", "\u200b"),
            "born": some(date(1950, 5, 5), date(1999, 12, 31), date(2000, 2, 29), date(1900, 1, 1)),
        }
        for pid in range(people)
    ]
    visits = [
        row
        for pid in [*range(max(people, 30)), *range(100, 115)]
        for row in [
            {
                "pid": some(*[pid] * 12),
                "kind": random.choice(["surgery", "ER", "other"]),
                "day": some(date(2000, 2, 29), date(2010, 1, 1), date(2020, 6, 1), date(2024, 3, 1)),
                "left": some(date(2010, 1, 5), date(2020, 6, 1), date(2021, 6, 1)),
                "nights": some(0, 1, 2, 7, 30),
                "cost": some(-50.0, 0.0, 3.0, 999.0, 1000.0),
                "note": some("a", "A", "a ", "ab", "%"),
            }
        ]
        * random.choice([0, 1, 1, 1, most])
    ]
    codes = [
        {"patient": some(*range(200)), "code": number, "day": some(date(2011, 1, 1), date(2020, 6, 1))}
        for number in range(random.choice([0, 20]))
    ]
    return {"patients": patients, "visits": visits, "codes": codes}
