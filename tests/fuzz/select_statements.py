"""SELECT statements of the accepted language, made at random, most of which any database understands as they are."""

from dataclasses import dataclass
from random import Random

NUMBERS = {"patients": ["age", "ward", "bmi"], "visits": ["nights", "cost"]}
TEXTS = {"patients": ["sex", "city"], "visits": ["kind", "note"]}
DAYS = {"patients": ["born"], "visits": ["day", "left"]}
VALUES = {
    "sex": ["'F'", "'M'", "'é'"],
    "kind": ["'surgery'", "'ER'", "'other'"],
    "city": ["'Bern'", "'Chur'", "''", "'O''Neil'", "'%'"],
    "note": ["'a'", "'A'", "'a '"],
    "ward": ["1", "2", "3", "-7"],
}
GROUPS = {
    "patients": [
        "sex",
        "ward",
        "age",
        "smoker",
        "year(born)",
        "month(born)",
        "age // 10",
        "year(born) % 4",
        "sign(age - 30)",
        "case when age < 18 then 'child' when age >= 65 then 'old' end",
        "bins(age, 0, 18, 65, 120)",
    ],
    "visits": [
        "kind",
        "'Q' || quarter(day)",
        "nights",
        "year(day)",
        "extract(year from day)",
        "quarter(day)",
        "(nights - 3) % 4",
        "least(nights, 5)",
        "greatest(nights, 2)",
        "floor(nights / 2)",
        "dayofweek(day)",
        "bins(cost, -50, 0, 10.5, 1000)",
    ],
}
OTHER = {"patients": "visits", "visits": "patients"}
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Rows:
    """What a FROM names: a table, its alias, and whether WITH gave it."""

    table: str
    alias: str
    source: str

    def column(self, name):
        return f"{self.alias}.{quoted(name)}"


def quoted(name):
    return '"left"' if name == "left" else name


class Statements:
    """Makes statements; `plain` says whether the last one means the same in any database."""

    def __init__(self, random: Random) -> None:
        self.random, self.plain = random, True

    def statement(self) -> str:
        self.plain = True
        if self.random.random() < 0.25:
            return self.joined()
        named = self._named()
        table = self.random.choice(["patients", "visits"])
        rows = self._rows(table, named, "t")
        keys = self.random.sample(GROUPS[table], self.random.choice([0, 0, 1, 1, 2]))
        if any(key.startswith("bins") for key in keys):
            self.plain = False
        statistics = [self._told(rows, grouped=bool(keys)) for _ in range(self.random.choice([1, 1, 2, 3]))]
        where = f" where {self.condition(rows, named, 2)}" if self.random.random() < 0.8 else ""
        given = ", ".join(f"{name} as ({select})" for name, (_, select) in named.items())
        group = f" group by {', '.join(keys)}" if keys else ""
        used = self._all_used(named, where + rows.source)
        head = f"with {given} " if given and used else ""
        if given and not used:
            return self.statement()
        return f"{head}select {', '.join([*keys, *statistics])} from {rows.source}{where}{group}"

    def joined(self) -> str:
        """Return a statement about several tables: people over any of them, or rows of one beside people."""
        random = self.random
        patients, visits = Rows("patients", "p", "patients p"), Rows("visits", "v", "visits v")
        tables = [patients, visits] if random.random() < 0.6 else [visits, patients]
        several = random.random() < 0.3
        if several:
            tables.append(Rows("visits", "w", "visits w"))
        source, said = tables[0].source, []
        for rows in tables[1:]:
            tie = random.choice([f"{rows.alias}.pid = {tables[0].alias}.pid", f"p.pid = {rows.alias}.pid"])
            tie = f"p.pid = {tables[0].alias}.pid" if rows is patients else tie
            match random.choice(["on", "on", "comma", "left", "gone"] if rows is not patients else ["on", "comma"]):
                case "on":
                    also = f" and ({self.condition(rows, {}, 0)})" if random.random() < 0.4 else ""
                    source += f" join {rows.source} on {tie}{also}"
                case "comma" if " join " not in source:
                    source, said = f"{source}, {rows.source}", [*said, tie]
                case "gone":
                    also = f" and ({self.condition(rows, {}, 0)})" if random.random() < 0.4 else ""
                    source += f" left join {rows.source} on {tie}{also}"
                    gone = random.choice(
                        [f"{rows.alias}.pid is null", f"{rows.column(self._ordered('visits'))} is null"]
                    )
                    either = f"({gone} or {self._atom(rows)} or {self._atom(patients)})"
                    said.append(random.choice([gone, either, self._of_nobody(rows, gone, either)]))
                case _:
                    source += f" left join {rows.source} on {tie}"
                    said += [self._atom(rows)] if random.random() < 0.7 else []
        for rows in random.sample(tables, random.randint(0, len(tables))):
            atoms = [self._atom(random.choice(tables)) for _ in range(random.randint(1, 2))]
            said.append(random.choice([self._atom(rows), f"({' or '.join(atoms)})", f"not ({' and '.join(atoms)})"]))
        keys = random.choice([[], [], ["p.sex"], ["p.ward"]])
        simple = not several and " left " not in source
        rows_of_one = [f"count(*), avg({visits.column('nights')})", f"sum({visits.column('nights')})"] if simple else []
        what = random.choice(["count(distinct p.pid)", *rows_of_one])
        where = f" where {' and '.join(said)}" if said else ""
        group = f" group by {', '.join(keys)}" if keys else ""
        return f"select {', '.join([*keys, what])} from {source}{where}{group}"

    def _of_nobody(self, rows, gone, either):
        """Return a condition that may hold where a LEFT JOIN finds no row, and not because one must be missing."""
        number, day = rows.column(self.random.choice(NUMBERS[rows.table])), rows.column(DAYS[rows.table][0])
        truth, low = (
            self.random.choice(["true", "not true", "false", "not false", "null", "not null"]),
            self.random.randint(0, 3),
        )
        return self.random.choice(
            [
                f"({self._atom(rows)}) is {truth}",
                f"({either}) is {truth}",
                f"not ({gone} and {self._atom(rows)})",
                f"coalesce({number}, {low}) {self.random.choice(OPERATORS)} 1",
                f"coalesce({day}, date '2000-02-29') <= date '2010-01-01'",
                f"{number} is {self.random.choice(['', 'not '])}distinct from {low}",
                f"nullif({number}, {low}) is null",
                f"case when {self._atom(rows)} then 1 when {self._atom(rows)} then 2 else 3 end <> {low}",
            ]
        )

    def _all_used(self, named, text):
        texts = [text, *(select for _, select in named.values())]
        return all(any(f" {name} " in f" {each} " for each in texts) for name in named)

    def _named(self):
        named = {}
        for i in range(self.random.choice([0, 0, 0, 1, 2])):
            table = self.random.choice(["patients", "visits"])
            rows = self._rows(table, named, "w")
            columns = self.random.choice(["*", "*", "pid", "pid, " + quoted(self._ordered(table))])
            if columns == "*" and self.random.random() < 0.3:
                named[f"n{i}"] = (table, self._first(rows))
                continue
            named[f"n{i}"] = (table, f"select {columns} from {rows.source} where {self.condition(rows, {}, 1)}")
        return named

    def _first(self, rows):
        """Return the first rows of each person in an order; RANK keeps all that are equally early."""
        by = rows.column(self._ordered(rows.table)) + self.random.choice(["", " desc"])
        place = f"rank() over (partition by {rows.alias}.pid order by {by}) as place"
        where = self.condition(rows, {}, 0)
        return f"select * from (select *, {place} from {rows.source} where {where}) ranked where place = 1"

    def _rows(self, table, named, alias):
        names = [name for name, (of, select) in named.items() if of == table and select.startswith("select *")]
        source = self.random.choice(names) if names and self.random.random() < 0.7 else table
        if source == table and self.random.random() < 0.3:
            return Rows(table, table, table)
        return Rows(table, alias, f"{source} {self.random.choice(['', 'as '])}{alias} ".rstrip())

    def _ordered(self, table):
        return self.random.choice(NUMBERS[table] + DAYS[table])

    def _told(self, rows, *, grouped):
        """Return a statistic, one of some of the rows, or a quotient of two of a kind that has one."""
        if self.random.random() < 0.7:
            return self._statistic(rows, grouped=grouped)
        one, other = (self.random.choice(["count(*)", f"sum({self._value(rows)})"]) for _ in range(2))
        if not grouped and self.random.random() < 0.2:
            return f"100.0 * {one} / (select count(*) from {self.random.choice(['patients', 'visits'])})"
        one, other = (
            f"{each} filter (where {self._atom(rows)})" if self.random.random() < 0.7 else each for each in (one, other)
        )
        return self.random.choice(
            [one, one, f"{one} / nullif({other}, 0)", f"100.0 * {one} / {other}", f"{one} - {other}"]
        )

    def _statistic(self, rows, *, grouped):
        value = self._value(rows)
        return self.random.choice(
            [
                "count(*)",
                "count(*)",
                "count(distinct pid)",
                f"count({rows.column(self._ordered(rows.table))})",
                "count(*)" if grouped else f"count(distinct {TEXTS[rows.table][0]})",
                f"sum({value})",
                f"avg({value})",
                f"avg(nullif({value}, {self.random.randint(0, 3)}))",
                f"sum(case when {self._atom(rows)} then {value} end)",
                f"avg({value} / 4)",
                f"var_pop({value})",
                f"covar_pop({value}, {self._value(rows)})",
                f"corr({value}, {self._value(rows)})",
                f"avg({value})" if grouped else f"count(distinct (pid, {TEXTS[rows.table][0]}))",
            ]
        )

    def _value(self, rows):
        column = rows.column(self.random.choice([name for name in NUMBERS[rows.table] if name != "ward"]))
        low = self.random.randint(-3, 20)
        return self.random.choice(
            [
                column,
                column,
                f"2 * {column} + 1",
                f"{column} - {low}",
                f"clip({column}, {low}, {low + self.random.randint(1, 40)})",
                self._function(rows),
            ]
        )

    def _function(self, rows):
        """Return a function of the table of a number, or of several."""
        random = self.random
        column = rows.column(random.choice([name for name in NUMBERS[rows.table] if name != "ward"]))
        whole = rows.column("age" if rows.table == "patients" else "nights")
        low, width = random.randint(-3, 40), random.choice([1, 2, 3, 7, 10, -4])
        return random.choice(
            [
                f"abs({column} - {low})",
                f"sign({column} - {low})",
                f"floor({column})",
                f"ceil(-{column})",
                f"round({column} - {low})",
                f"round({whole}, -1)",
                f"floor({whole} / 4)",
                f"({whole} - {low}) // {width}",
                f"({low} - {whole}) % {width}",
                f"mod({whole}, {abs(width)})",
                f"greatest({column}, {low})",
                f"least({low}, {column}, {low + 5})",
                f"greatest(coalesce({column}, 0), coalesce({whole}, {low}))",
                f"least({column}, {whole} - 1, {low})",
            ]
        )

    def condition(self, rows, named, depth):
        """Return a condition about rows, with others within it."""
        if depth and self.random.random() < 0.5:
            parts = [self.condition(rows, named, depth - 1) for _ in range(self.random.randint(1, 3))]
            joined = f" {self.random.choice(['and', 'or'])} ".join(f"({part})" for part in parts)
            return self.random.choice([joined, joined, f"not ({joined})"])
        if depth and self.random.random() < 0.5:
            return self._about_others(rows, named, depth)
        return self._atom(rows)

    def _atom(self, rows):
        table, random = rows.table, self.random
        name = random.choice(NUMBERS[table] + TEXTS[table] + DAYS[table] + (["smoker"] if table == "patients" else []))
        column = rows.column(name)
        if random.random() < 0.1:
            return f"{column} is {random.choice(['', 'not '])}null"
        if name == "smoker":
            return random.choice([column, f"not {column}", f"{column} = true"])
        if name in VALUES:
            return self._among(column, VALUES[name])
        if name in DAYS[table]:
            return self._day(rows, column)
        constants = [str(random.randint(-5, 130)) for _ in range(3)] + ["2.5", "27.25"]
        return random.choice(
            [
                f"{column} {random.choice(OPERATORS)} {random.choice(constants)}",
                f"{random.choice(constants)} {random.choice(OPERATORS)} {column}",
                f"{column} between {random.choice(constants)} and {random.choice(constants)}",
                self._among(column, constants[:3]),
                f"{column} / 4 {random.choice(OPERATORS)} {random.choice(constants)}",
                f"floor({column} / 8.0) = {random.randint(-1, 12)}",
                f"{self._function(rows)} {random.choice(OPERATORS)} {random.randint(-3, 12)}",
                f"{random.choice(constants)} / nullif({column}, 0) {random.choice(OPERATORS)} {random.randint(-3, 12)}",
            ]
        )

    def _among(self, column, values):
        chosen = ", ".join(self.random.choices(values, k=self.random.randint(1, 3)))
        one = self.random.choice(values)
        texts = [f"starts_with({column}, {one})"] if "city" in column or "note" in column else []
        return self.random.choice(
            [
                f"{column} in ({chosen})",
                f"{column} not in ({chosen})",
                f"{column} = {one}",
                f"{column} <> {one}",
                *texts,
            ]
        )

    def _day(self, rows, column):
        random = self.random
        day = f"date '{random.randint(1999, 2024)}-0{random.randint(1, 9)}-{random.randint(10, 28)}'"
        year, days = random.randint(1950, 2024), random.randint(-400, 400)
        other = rows.column(random.choice(DAYS[rows.table]))
        return random.choice(
            [
                f"{column} {random.choice(OPERATORS)} {day}",
                f"{column} between {day} and {day}",
                f"year({column}) {random.choice(OPERATORS)} {year}",
                f"extract(year from {column}) = {year}",
                f"{column} + interval {abs(days)} day < {day}",
                f"datediff('day', {day}, {column}) > {days}",
                f"{column} >= {day} - interval {random.randint(1, 30)} {random.choice(['month', 'year'])}",
                f"{column} {random.choice(OPERATORS)} {other}" if other != column else f"{column} = {day}",
            ]
        )

    def _about_others(self, rows, named, depth):
        random = self.random
        inner = self._rows(OTHER[rows.table] if random.random() < 0.7 else rows.table, named, f"o{depth}")
        where = self.condition(inner, named, depth - 1)
        times = random.randint(1, 3)
        tie = f"{inner.alias}.pid = {rows.alias}.pid"
        several = f"group by {inner.alias}.pid having count(*) >= {times}"
        shapes = [
            f"exists (select 1 from {inner.source} where {tie} and ({where}))",
            f"not exists (select * from {inner.source} where ({where}) and {tie})",
            f"{rows.alias}.pid in (select {inner.alias}.pid from {inner.source} where {where})",
            f"{rows.alias}.pid not in (select {inner.alias}.pid from {inner.source} where {where})",
            f"{rows.alias}.pid in (select {inner.alias}.pid from {inner.source} where {where} {several})",
            f"(select count(*) from {inner.source} where {tie} and ({where})) {random.choice(OPERATORS)} {times}",
        ]
        if random.random() < 0.1:
            self.plain = False
            table = OTHER[rows.table]
            return f"has({table}, {self.condition(Rows(table, table, table), {}, 0)}, {times})"
        if inner.alias == rows.alias:
            return self._atom(rows)
        return random.choice(shapes)
