"""What costs an asker nothing must cost the house next to nothing: texts that grow towards the most work and memory.

A genome says what a question is made of and how many times: names of WITH that use one another, columns that multiply
themselves, cases, filters, joins, lists, conditions within conditions, groups, targets and kinds of budget. It is
changed a little, and the change is kept where a preview takes longer. No question of the allowed length may take more
than `SECONDS` of the processor or `MEMORY` bytes to be read, planned, priced and shown, or be refused by anything but a
sentence. Questions that are built in Python, and definitions of cohorts, are grown in the same way.

Under budgets that Gaussian noise is paid from, prices are computed and not only added up: twenty statistics take up to
0.7 s. There `ENDED` must hold.
"""

import functools
import gc
import json
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from itertools import count, takewhile
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import lapwing as lw
from lapwing.accounting.filters.charge import DeltaShares
from lapwing.answers.preview import OfferedTerms, Pricing
from lapwing.answers.target import parse_target
from lapwing.ledger.ledger import create_ledger
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.language.expressions import And, Case, Literal, Not, Or, TruthOf, condition
from lapwing.queries.limits import LONGEST_TEXT
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PrivacyUnit, PureDP
from queries.omop import omop
from session.clinic import FixedNumber

SECONDS = 2.0
MEMORY = 200 * 2**20
ENDED = 2.0
LOADED = 2
"""How many times as slow as it should be a machine may be: a finding is slow each of three times."""
FEWEST = 100
"""Characters that a shorter text counts as."""
ANSWERED, REFUSED = {"shown", "told", "rehearsed", "looked up"}, 50
"""What comes of a question that is not refused, and how much longer one that is must take to be grown further."""
BUDGETS = {
    "epsilon": PureDP(epsilon=Fraction(10)),
    "epsilon and delta": ApproximateDP(epsilon=Fraction(10), delta=Fraction(1, 10**6)),
    "rho": ConcentratedDP(rho=Fraction(5)),
}
OMOP = omop()
MANY = RowsPerPerson.MANY_A_PERSON
PEOPLE = Population(
    name="people",
    unit=PrivacyUnit(person_key="pid"),
    now=date(2024, 3, 1),
    tables=(
        Table(
            name="person",
            columns=(
                Column(name="sex", type=Category(values=("F", "M"))),
                Column(name="age", type=Integer(low=0, high=120), nullable=True),
                Column(name="place", type=Integer(low=0, high=999)),
                Column(name="bmi", type=Real(low=10, high=60, step="1/64")),
                Column(name="smoker", type=Boolean(), nullable=True),
                Column(name="born", type=Date(first=date(1900, 1, 1), last=date(2024, 1, 1))),
                Column(name="city", type=Text(), nullable=True),
                *(Column(name=f"x{i}", type=Integer(low=-1000, high=1000)) for i in range(12)),
            ),
        ),
        Table(
            name="visit",
            rows=MANY,
            max_rows=3,
            columns=(
                Column(name="kind", type=Category(values=("ER", "surgery", "other"))),
                Column(name="ward", type=Integer(low=1, high=99)),
                Column(name="day", type=Date(first=date(2000, 1, 1), last=date(2024, 1, 1)), nullable=True),
                Column(name="cost", type=Real(low=0, high=1000, step="1/4")),
            ),
        ),
        Table(name="code", rows=MANY, max_rows=2, columns=(Column(name="icd", type=Text()),)),
    ),
)
TARGETS = (
    {"epsilon": "0.1"},
    {"within": 50},
    {"within": "0.7"},
    {"within": 100_000},
    {"within": 20, "confidence": "0.999999"},
    {"epsilon": "0.001"},
    {"epsilon": "0.1", "delta": "1e-9"},
    {"rho": "0.001"},
)
CONDITIONS = (
    "x{i} > {n}", "age = {n}", "age between {n} and 99", "bmi < {n}.5", "city like '%a{n}%b_'", "city in ('a', 'b{n}')",
    "not smoker", "smoker is null", "smoker is null is null", "sex = 'F'", "age + x{i} > {n}", "x{i} < x{j} + {n}",
    "age(born) > {n}", "year(born) = {n}", "born > date '2000-01-01' + interval '{n}' day", "age is distinct from {n}",
    "lower(trim(city)) = 'a{n}'", "abs(x{i} - x{j}) > {n}", "coalesce(age, {n}) > 3",
    "case when x{i} > {n} then true end", "(age = {n} or smoker) is null",
    "(select count(*) from visit v where v.pid = person.pid and v.ward > {n}) > 2", "has(visit, ward = {n})",
    "has(visit, cost > {n}, 3)", "pid in (select pid from visit where ward = {n})",
    "exists (select 1 from visit v where v.pid = person.pid and v.ward > {n})",
    "pid in (select pid from visit where ward > {n} union select pid from code except select pid from visit)",
    "person.pid in (select pid from visit group by pid having count(*) > {n})", "width_bucket(age, 0, 100, {n}) = 3",
    "number_of(visit, ward > {n}) > 1", "first_of(visit.day, kind = 'ER') < born + {n}", "month(born) in ({n}, 2, 3)",
)  # fmt: skip
VALUES = (
    "age", "x{i}", "x{i} + x{j}", "x{i} * 2 - {n}", "bmi", "clip(age, 0, {n})", "coalesce(age, {n})", "abs(x{i})",
    "case when x{i} > {n} then 1 else 0 end", "case when {c} then {n} when {c} then 2 else 3 end",
    "floor(age / 10) * 10",
    "age(born)", "(select count(*) from visit v where v.pid = person.pid)", "round(bmi, 1)", "number_of(visit, {c1})",
    "least(greatest(x{i}, 0), {n})", "nullif(x{i}, {n})", "extract(year from born)", "cast(smoker as integer)",
)  # fmt: skip
STATISTICS = (
    "count(*)", "count(*) filter (where {c})", "avg({v})", "sum({v})", "avg({v}) filter (where {c})", "var_pop({v})",
    "corr({v}, {v})", "regr_slope({v}, {v})", "stddev({v})", "count(distinct pid)", "median({v})", "count({v})",
    "quantile_cont({v}, [0.1, 0.5, 0.9])", "sum({v}) / count(*)", "100.0 * count(*) filter (where {c}) / count(*)",
    "sum(case when {c} then 1 else 0 end)", "count_if({c})", "covar_pop({v}, {v})", "count(distinct place)",
    "sqrt(avg({v}))",
)  # fmt: skip
GROUPS = (
    "sex", "place", "age", "smoker", "year(born)", "bins(age, 0, 18, 65, 120)", "floor(age / 10) * 10", "x{i}",
    "case when {c} then 'a' else 'b' end", "date_trunc('month', born)", "width_bucket(age, 0, 100, 10)", "city",
    "{c}", "bins(x{i}, {n}, 200, 300)", "month(born)", "lower(city)", "histogram",
)  # fmt: skip
NAMED = (
    "select *, {self} as q{k} from {before}",
    "select *, case when {self} > 1 and {self} > 2 then {self} else 0 end as q{k} from {before}",
    "select * from {before} where {c}",
    "select * from person where pid in (select pid from {before} where {c}) or pid in (select pid from {before})",
    "select *, coalesce({self}, {self}) as q{k} from {before} where q{b} > {n} or q{b} < {n}",
    "select a.*, a.q{b} + b.q{b} as q{k} from {before} a join {before} b on a.pid = b.pid",
    "select pid, count(*) as q{k} from visit where pid in (select pid from {before}) group by pid",
    "select *, row_number() over (partition by pid order by born) as q{k} from {before}",
)
JOINS = (
    "join visit v{i} on v{i}.pid = person.pid and v{i}.ward > {n}", "left join visit v{i} on v{i}.pid = person.pid",
    "join person p{i} on p{i}.pid = person.pid", "left join person p{i} on p{i}.pid = person.pid and p{i}.age > {n}",
    "join (select pid, count(*) as n{i} from visit group by pid) s{i} on s{i}.pid = person.pid",
    "join code c{i} on c{i}.pid = person.pid", "cross join person p{i}",
)  # fmt: skip
KINDS = {
    "statistic": len(STATISTICS), "other": len(STATISTICS), "value": len(VALUES), "condition": len(CONDITIONS),
    "second": len(CONDITIONS), "group": len(GROUPS), "beside": len(GROUPS), "named": len(NAMED), "join": len(JOINS),
    "target": len(TARGETS), "budget": len(BUDGETS), "joiner": 3, "wrapped": 8, "shown": 4,
}  # fmt: skip
NUMBERS = {
    "statistics": 20, "values": 60, "conditions": 220, "listed": 1000, "deep": 19, "names": 19, "times": 40,
    "joins": 100, "groups": 10, "where": 220, "ordered": 1,
}  # fmt: skip


class Texts:
    """SELECTs, by what they are made of and how many times."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def fresh(self) -> dict[str, int]:
        """Return a small question of any kind."""
        small = {name: self.random.choice([0, 0, 0, 0, 1]) for name in NUMBERS}
        return {**{name: self.random.randrange(most) for name, most in KINDS.items()}, **small}

    def changed(self, genome: dict[str, int]) -> dict[str, int]:
        """Return a question with a few things more, or of other kinds."""
        made = dict(genome)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            name = self.random.choice([*NUMBERS, *NUMBERS, *KINDS])
            if name in KINDS:
                made[name] = self.random.randrange(KINDS[name])
                continue
            now = made[name]
            grown = self.random.choice([now + 1, 2 * now + 1, now - 1, now // 2, NUMBERS[name], 0])
            made[name] = min(max(grown, 0), NUMBERS[name])
        return made

    def written(self, genome: dict[str, int]) -> str:
        """Return the SELECT."""
        number = count(1)

        def filled(text: str, **more: str) -> str:
            n = next(number)
            return text.format(i=n % 12, j=(n + 5) % 12, n=n % 97 + 1, **more)

        def one(kind: str) -> str:
            return filled(CONDITIONS[genome[kind]])

        def several(n: int) -> str:
            joiner = (" and ", " or ", " or not ")[genome["joiner"]]
            parts = [one("condition") if place % 2 == 0 else one("second") for place in range(max(n, 1))]
            if genome["listed"]:
                parts.append(f"place in ({', '.join(str(2 * i) for i in range(genome['listed']))})")
            return deep(joiner.join(parts))

        def deep(inner: str) -> str:
            before, after = (
                ("(", ")"), ("not (", ")"), ("has(person, ", ")"), ("pid in (select pid from person where ", ")"),
                ("exists (select 1 from person z where z.pid = person.pid and ", ")"), ("(", ") is null"),
                ("case when ", " then true else false end"), ("((", ") is distinct from true)"),
            )[genome["wrapped"]]  # fmt: skip
            return before * genome["deep"] + inner + after * genome["deep"]

        def value() -> str:
            parts = [
                filled(VALUES[genome["value"]], c=several(genome["conditions"]), c1=filled("ward > {n}"))
                for _ in range(max(genome["values"], 1))
            ]
            return " + ".join(parts)

        def statistic(kind: str) -> str:
            return filled(STATISTICS[genome[kind]], c=several(genome["conditions"]), v=of or value())

        names, last = self._named(genome, filled, several)
        of = f"q{genome['names']}" if names and genome["named"] not in {2, 3} else ""
        asked = [statistic("statistic" if i % 2 == 0 else "other") for i in range(max(genome["statistics"], 1))]
        groups = [
            filled(GROUPS[genome["group" if i % 2 == 0 else "beside"]], c=several(1)) for i in range(genome["groups"])
        ]
        joins = " ".join(filled(JOINS[genome["join"]]) for _ in range(genome["joins"]))
        text = f"{names}select {', '.join([*groups, *asked])} from {last} as person {joins}"
        text += f" where {several(genome['where'])}" if genome["where"] else ""
        text += f" group by {', '.join(str(i + 1) for i in range(len(groups)))}" if groups else ""
        return text + (f" order by {len(groups) + 1} desc limit 5" if genome["ordered"] else "")

    @staticmethod
    def _named(genome: dict[str, int], filled: Callable[..., str], several: Callable[[int], str]) -> tuple[str, str]:
        if not genome["names"]:
            return "", "person"
        named, times = ["a0 as (select *, age as q0 from person)"], max(genome["times"], 1)
        for k in range(1, genome["names"] + 1):
            itself = " + ".join([f"q{k - 1}"] * times)
            text = filled(NAMED[genome["named"]], self=itself, before=f"a{k - 1}", k=str(k), b=str(k - 1), c=several(1))
            named.append(f"a{k} as ({text})")
        return f"with {', '.join(named)} ", f"a{genome['names']}"


class House:
    """A session for each kind of budget, with tables that nobody reads."""

    def __init__(self, folder: Path) -> None:
        self._sessions = {}
        for place, (name, budget) in enumerate(BUDGETS.items()):
            ledger = create_ledger(folder / f"{place}.db", name=f"c057{place}")
            ledger.administration.create_population(
                "people", unit=PEOPLE.unit, budget=budget, shares=DeltaShares(failures=Fraction(1, 2))
            )
            for table in PEOPLE.tables:
                ledger.administration.add_table("people", table.name)
            self._sessions[name] = Session(PEOPLE, ledger, FixedNumber(7), analyst="ana", key=bytes(range(32)))

    def look(self, question: object, genome: dict[str, int]) -> str:
        """Look at what a question would cost, and at all that is shown of it; return what came of it."""
        session = self._sessions[list(BUDGETS)[genome["budget"]]]
        words = dict(TARGETS[genome["target"]])
        told = session.preview(question, **words)
        match genome["shown"]:
            case 0:
                return str(told)[:0] + "shown"
            case 1:
                json.dumps(told.to_dict())
                return "told"
            case 2:
                json.dumps(session.rehearse(question, **words).to_dict())
                return "rehearsed"
            case _:
                session.stored(question, **words)
                return "looked up"


@contextmanager
def house() -> Iterator[House]:
    """Open the house."""
    with TemporaryDirectory(prefix="lapwing-") as folder:
        yield House(Path(folder))


class Costs:
    """What was found to cost most."""

    def __init__(self) -> None:
        self.tally, self.last = Counter[str](), ""
        self.slowest, self.dearest, self.largest, self.densest = (0.0, ""), (0.0, ""), (0, ""), (0.0, "")

    def measured(self, work: Callable[[], str], shown: str, *, exact: bool = True) -> float:
        """Do work, and return its seconds of the processor; fail where it takes too long or fails."""
        took, allowed = [], (SECONDS if exact else ENDED) * LOADED
        for _ in range(3):
            gc.collect(0)
            started = time.process_time()
            said = tried(work, shown, exact=exact)
            took.append(time.process_time() - started)
            if took[-1] < allowed:
                break
        assert min(took) < allowed, f"takes {min(took):.2f} s, {len(shown)} characters: {shown[:3000]!r}"
        self.tally[said] += 1
        self.last = said
        if exact:
            self.slowest = max(self.slowest, (took[-1], shown))
        else:
            self.dearest = max(self.dearest, (took[-1], shown))
        self.densest = max(self.densest, (took[-1] / max(len(shown), FEWEST), shown))
        return took[-1]

    def held(self, work: Callable[[], str], shown: str) -> int:
        """Do work, and return how many bytes it held at most; fail where it is too much."""
        tracemalloc.start()
        try:
            tried(work, shown, exact=False)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most < MEMORY, f"holds {most / 2**20:.0f} MiB, {len(shown)} characters: {shown[:3000]!r}"
        self.largest = max(self.largest, (most, shown))
        return most

    def __str__(self) -> str:
        lines = [", ".join(f"{number:,} {what}" for what, number in self.tally.most_common(12))]
        for what, (number, text), unit in (
            ("slowest", self.slowest, "s"),
            ("slowest with Gaussian noise", self.dearest, "s"),
            ("slowest for its length", (1000 * self.densest[0], self.densest[1]), "ms a character"),
            ("largest", (self.largest[0] / 2**20, self.largest[1]), "MiB"),
        ):
            lines.append(f"{what}: {number:.3g} {unit}, {len(text)} characters: {text[:300]}")
        return "\n".join(lines)


def tried(work: Callable[[], str], shown: str, *, exact: bool) -> str:
    """Return what came of it; a refusal is a sentence, and names no deadline where nothing should come near it."""
    try:
        return work()
    except LapwingError as refused:
        said = str(refused)
    except BaseException as failure:
        raise AssertionError(f"{type(failure).__name__} ({failure}): {shown[:3000]!r}") from failure
    if "seconds of work" in said:
        assert not exact, f"{said}: {shown[:3000]!r}"
        return "ended by the deadline"
    return "refused for its size" if "more than" in said else "refused"


def run(seconds: float, seed: int, *, most: int | None = None) -> Counter[str]:
    """Grow questions for so long, or so many; print the worst, and fail with the first that costs too much."""
    random, until, costs = Random(seed), time.monotonic() + seconds, Costs()
    texts = Texts(random)
    with house() as inside:
        inside.look("select count(*) from person", dict.fromkeys(KINDS, 0))  # what is loaded at first costs no question
        best, score, tired = begun(texts, inside), 0.0, 0
        for turn in takewhile(lambda _: time.monotonic() < until, count() if most is None else range(most)):
            genome = texts.changed(best)
            text = texts.written(genome)
            if len(text) > LONGEST_TEXT + FEWEST:
                continue
            exact = genome["budget"] == 0
            took = costs.measured(lambda text=text, genome=genome: inside.look(text, genome), text, exact=exact)
            took /= 1 if costs.last in ANSWERED else REFUSED  # what is refused early leads nowhere
            if took > score:
                best, score, tired = genome, took, 0
                if turn % 5 == 0:
                    costs.held(lambda text=text, genome=genome: inside.look(f"{text} ", genome), text)
            tired += 1
            if tired > 60:
                best, score, tired = begun(texts, inside), 0.0, 0
            if turn % 10 == 0:
                built = grown(random)
                shown = f"built from {built}"
                costs.measured(lambda built=built, genome=genome: _built(inside, built, genome), shown, exact=exact)
                defined = definition(random)
                costs.measured(lambda defined=defined: _defined(defined), json.dumps(defined)[:LONGEST_TEXT])
    print(costs)  # noqa: T201 - what it is asked for
    return costs.tally


def begun(texts: Texts, inside: House) -> dict[str, int]:
    """Return a small question that is answered, to be grown."""
    for _ in range(20):
        genome = texts.fresh()
        if tried(lambda genome=genome: inside.look(texts.written(genome), genome), "", exact=False) in ANSWERED:
            break
    return genome


def grown(random: Random) -> list[str]:
    """Return how a condition is built in Python, step by step."""
    return [random.choice([*STEPS]) for _ in range(random.choice([3, 10, 30, 300]))]


STEPS: dict[str, Callable] = {
    "add": lambda v, c: (v + v, c),
    "times": lambda v, c: (v * 2 - v, c),
    "clip": lambda v, c: (v.clip(0, 9), c),
    "else": lambda v, c: (v.coalesce(1), c),
    "compare": lambda v, _: (v, v > v * 1),
    "and": lambda v, c: (v, c & c),
    "or": lambda v, c: (v, Or((c, c, v > 1))),
    "not": lambda v, c: (v, ~c),
    "case": lambda v, c: (Case(((c, v), (Not(c), Literal(3)))), c),
    "truth": lambda _, c: (TruthOf(c), c),
    "has": lambda v, c: (v, lw.has("person", c)),
    "between": lambda v, _: (v, v.between(v, v)),
    "in": lambda v, _: (v, v.is_in([1, 2, 3])),
    "wrap": lambda v, c: (v, And((c,))),
    "round": lambda v, c: (round(abs(v), 1), c),
}
"""What makes a larger value and condition of a value and a condition."""


def _built(inside: House, steps: list[str], genome: dict[str, int]) -> str:
    made = functools.reduce(lambda so_far, step: STEPS[step](*so_far), steps, (lw.col("age"), lw.col("x1") > 1))
    question = lw.count("person", condition(made[1])) if len(steps) % 2 else lw.mean("person", made[0])
    repr(question)
    return inside.look(question, {**genome, "shown": 0})


def definition(random: Random) -> dict:
    """Return a definition of a cohort that is nested, or long, or names the same again and again."""

    def group(depth: int) -> dict:
        around = {"StartWindow": {"UseIndexEnd": True, "Start": {"Days": 3, "Coeff": -1}}} if ends else {}
        criteria = [{"Criteria": {"DrugExposure": {"First": first}}, **around} for _ in range(wide)]
        if depth and correlated:
            criteria.append({"Criteria": {"DrugExposure": {"CorrelatedCriteria": group(depth - 1)}}, **around})
        inner = [group(depth - 1)] * twice if depth and not correlated else []
        return {"Type": kind, "Count": random.choice([1, 2, 4]), "CriteriaList": criteria, "Groups": inner}

    wide, depth, twice = random.choice([0, 1, 8, 100]), random.choice([1, 3, 6, 30]), random.choice([1, 1, 2])
    depth = min(depth, 8 if twice == 1 or wide < 8 else 3) if twice > 1 or wide > 1 else depth
    kind, ends, first = (
        random.choice(["ALL", "ANY", "AT_LEAST", "AT_MOST"]),
        random.random() < 0.5,
        random.random() < 0.5,
    )
    correlated = random.random() < 0.5
    number = random.choice([1, 2, float("nan"), 10**200])
    event = (
        {"ConditionOccurrence": {"Age": {"Op": "gt", "Value": number}}}
        if random.random() < 0.2
        else {"ConditionOccurrence": {}}
    )
    return {
        "ConceptSets": [],
        "PrimaryCriteria": {
            "CriteriaList": [event] * random.choice([1, 1, 5, 40]),
            "PrimaryCriteriaLimit": {"Type": random.choice(["All", "First"])},
        },
        "InclusionRules": [{"expression": group(depth)}] * random.choice([1, 3, 90 if wide * depth < 20 else 5]),
    }


def _defined(found: dict) -> str:
    read = lw.cohort_definition(found)
    str(read)
    for asked in (read.funnel(anyway=True), read.count(anyway=True)):
        repr(asked)
        Pricing().price(asked, OMOP, OfferedTerms(parse_target(epsilon="0.1"), BUDGETS["epsilon"], None, None))
    return "defined"
