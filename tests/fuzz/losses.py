"""What every release tells apart, held against what it was charged: each operation on two neighbouring tables.

An operation is run on one table, and then on its neighbour with the very same outputs: whatever adds noise or chooses
gives again what it gave, and it is noted how far its exact numbers have moved. Of Laplace noise the moves over the
scale add up to an epsilon, of Gaussian noise half their squares over the variance to a rho, and a choice is as far off
as its scores have moved against each other. Neither may be above what the events are worth that were
charged. How an operation bounds people is not looked at, so no mistake is made twice.

\b
    python -m fuzz.losses --seconds 60 --seed 1
    python -m fuzz.losses --case 2357892
"""

import datetime as dt
import itertools
import math
import random
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import click
import numpy as np
import pyarrow as pa

import lapwing as lw
from fuzz.neighbours import FoundError, seeds_from
from lapwing.accounting import price
from lapwing.accounting.filters.charge import DeltaShares
from lapwing.ledger.ledger import create_ledger
from lapwing.ledger.questions import Questions
from lapwing.mechanisms import noise_mechanism, residual_basis, row_sums, running_counts, screening
from lapwing.mechanisms.exponential import ExponentialMechanism, ExponentialOnRange
from lapwing.mechanisms.noise_mechanism import IntegerNoise, ValueGrid, integers
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, RoundedGaussian, RoundedLaplace
from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PrivacyUnit, PureDP
from postgres_server import where_there_is_room
from session.clinic import KEY
from session.real_tables import Tables

NOISY = (noise_mechanism, residual_basis, row_sums, running_counts, screening)
"""Modules that add noise to numbers of theirs."""
CHOOSE = (ExponentialMechanism, ExponentialOnRange, PermuteAndFlip)
SLACK = 1 + 1e-9
YEAR = (dt.date(2024, 1, 1), dt.date(2024, 12, 31))
BUDGETS = {
    "epsilon": (PureDP(epsilon=Fraction(10**4)), {"epsilon": "10"}),
    "delta": (ApproximateDP(epsilon=Fraction(10**4), delta=Fraction(1, 10)), {"epsilon": "10", "delta": "1e-6"}),
    "rho": (ConcentratedDP(rho=Fraction(10**6)), {"rho": "10"}),
}
"""Kinds of budget, so large that nothing is refused, and a price in each."""
PURE = {"epsilon": "10"}


def population(unit):
    days = {"type": Date(first=YEAR[0], last=YEAR[1]), "fixed": True}
    return Population(
        name="clinic",
        unit=unit,
        tables=(
            Table(
                name="patients",
                columns=(
                    Column(name="sex", type=Category(values=("F", "M")), fixed=True),
                    Column(name="age", type=Integer(low=0, high=99)),
                    Column(name="bmi", type=Real(low=10, high=60, step="1/4")),
                    Column(name="survivor", type=Boolean()),
                    Column(name="city", type=Text()),
                    Column(name="came", **days),
                    Column(name="went", **days, nullable=True),
                ),
            ),
            Table(
                name="visits",
                rows=RowsPerPerson.MANY_A_PERSON,
                max_rows=3,
                columns=(
                    Column(name="kind", type=Category(values=("ER", "other")), fixed=True),
                    Column(name="ward", type=Integer(low=1, high=20)),
                    Column(name="day", **days),
                ),
            ),
        ),
    )


PATIENT = {
    "sex": (pa.string(), ["F", "M"], ["X", None]),
    "age": (pa.int64(), [0, 99, 50], [-3, 150, None]),
    "bmi": (pa.float64(), [10.0, 60.0], [math.nan, math.inf, -math.inf, None, 1e9, 33.3]),
    "survivor": (pa.bool_(), [True, False], [None]),
    "city": (pa.string(), ["a", "b"], ["c", None]),
    "came": (pa.date32(), list(YEAR), [dt.date(2023, 1, 1), None]),
    "went": (pa.date32(), [None, YEAR[1]], [YEAR[0], dt.date(2024, 6, 15)]),
}
VISIT = {
    "kind": (pa.string(), ["ER", "other"], ["?", None]),
    "ward": (pa.int64(), [1, 20], [0, 99, None, 7]),
    "day": (pa.date32(), list(YEAR), [dt.date(2024, 6, 15), None]),
}
"""Of each column what it is stored as, what is likely in it, and what else may be: not declared, no number, missing."""


def row(rng, columns):
    odd = rng.random() < 0.4
    return [rng.choice(likely + (others if odd else [])) for _, likely, others in columns.values()]


def person(rng):
    """Return the row of a person, or none, and their visits; some have more than may count."""
    patient = row(rng, PATIENT) if rng.random() < 0.95 else None
    return patient, [row(rng, VISIT) for _ in range(rng.choice([0, 1, 2, 3, 6]))]


def tables(people):
    found = {"patients": [], "visits": []}
    for key, (patient, visits) in people.items():
        found["patients"] += [] if patient is None else [[key, *patient]]
        found["visits"] += [[key, *one] for one in visits]
    types = {"patients": PATIENT, "visits": VISIT}
    return {name: _table(rows, types[name]) for name, rows in found.items()}


def _table(rows, columns):
    types = {"id": pa.int64(), **{name: kind for name, (kind, *_) in columns.items()}}
    return pa.table(
        {name: pa.array([one[place] for one in rows], kind) for place, (name, kind) in enumerate(types.items())}
    )


CODES = ["sex", lw.bins("age", [0, 30, 60, 99]), "survivor"]
WIDE = [*CODES, lw.bins("bmi", [10, 20, 40, 60]), "has(visits, kind = 'ER')"]


def certify(session, price):
    session.synthesize("patients", CODES, **price).certify(up_to=2, epsilon="10", ranks=[1, "0.5"])


def dashboard(question, period, **more):
    def publish(session, price):
        words = {"name": "board", "period": period, "first": "2024-01-01", "every": "quarter", "releases": 4, **more}
        board = session.dashboard(question, **words, **price)
        for today in ("2024-07-02", "2025-01-01"):
            board.publish(today)
            for table in ("patients", "visits"):
                session.ledger.administration.advance_version("clinic", table)

    return publish


def asks(question, **pays):
    return lambda session, price: session.ask(question, **(pays or price))


OPERATIONS = {
    "publish": lambda s, p: s.publish("patients", CODES, **p),
    "publish one": lambda s, p: s.publish("patients", WIDE, marginals=["sex", ("age", "survivor")], **p),
    "publish rows": lambda s, p: s.publish("visits", ["kind", lw.bins("ward", [1, 5, 20])], rows=[1, 2, 4], **p),
    "synthesize": lambda s, p: s.synthesize("patients", CODES, **p),
    "synthesize much": lambda s, p: s.synthesize("patients", WIDE, up_to=3, **p),
    "certify": certify,
    "regress": lambda s, p: s.regress("patients", "bmi ~ age/10 + sex + survivor", **p),
    "regress a truth": lambda s, p: s.regress("patients", "survivor ~ age + sex:bmi", model="logistic", **p),
    "regress a count": lambda s, p: s.regress("visits", "ward ~ kind", model="poisson", **p),
    "compare": lambda s, p: s.compare("patients", "bmi", by="sex", **p),
    "compare ranks": lambda s, p: s.compare("patients", "age", by="sex", method="rank", **p),
    "survival": lambda s, p: s.survival(
        "patients", time="age", event="survivor", grid=range(0, 100, 20), by="sex", **p
    ),
    "dashboard": dashboard(lw.count("patients", by=["sex"]), "came"),
    "dashboard of stocks": dashboard(lw.count("patients"), "came", until="went"),
    "dashboard of first visits": dashboard(lw.count("visits"), "day"),
    "dashboard of who moves": dashboard(lw.count("visits", by=["ward > 10"]), "day"),
    "k-means": lambda s, _: s.k_means("patients", ["age", "bmi"], clusters=3, rounds=3, **PURE),
    "components": lambda s, _: s.principal_components("patients", ["age", "bmi"], **PURE),
    "tree": lambda s, _: s.decision_tree("patients", "survivor", ["sex", lw.bins("age", [0, 50, 99])], **PURE),
    "choose": lambda s, _: s.choose({"a": lw.count("patients", "age > 20"), "b": lw.count("visits")}, **PURE),
    "choose rows": lambda s, _: s.choose(
        {"a": lw.total("visits", "ward - 10", max_rows=2), "b": lw.total("visits", "ward", max_rows=3)}, **PURE
    ),
    "posterior": asks(lw.posterior_draw("visits", "kind = 'ER'", max_rows=2), **PURE),
    "several": lambda s, p: s.sql(
        "select sex, count(*), avg(age), sum(bmi), stddev(age) from patients group by sex", **p
    ),
    "rows": lambda s, p: s.sql(
        "select kind, count(*), sum(ward) from visits group by kind", max_rows=2, max_groups=2, **p
    ),
    "sums by person": asks(lw.total("patients", "clip(sum_of(visits.ward), 0, 25)", by=["sex"])),
    "different": asks(lw.count_distinct("visits", "ward", max_groups=2)),
    "sketched": asks(lw.count_distinct("visits", "ward", max_groups=2, sketch=64)),
    "quantiles": asks(lw.quantiles("visits", "ward", ["0.25", "0.5"], max_rows=2), **PURE),
    "correlation": asks(lw.correlation("patients", "age", "bmi")),
    "proportion": asks(lw.proportion("visits", "kind = 'ER'", max_rows=2)),
    "top": asks(lw.top("visits", "kind", 1, counts=True, max_groups=2), **PURE),
    "funnel": lambda s, p: s.funnel("patients", ["sex = 'M'", "age > 20", "has(visits)"], **p),
    "union": lambda s, p: s.sql(
        "select count(*) from (select id from patients where age > 10 union select id from visits where ward > 3)", **p
    ),
}

GAUSSIAN = {"regress", "regress a truth", "regress a count"}
"""What no pure budget pays for."""


@dataclass
class Tape:
    """What was released on the first table, in order; and on the second, how far the two were told apart."""

    released: list = field(default_factory=list)
    place: int | None = None
    epsilon: float = 0.0
    rho: float = 0.0

    def play(self, law, exact, draw):
        """Return what was released here: drawn on the first table, and the same again on the second."""
        if self.place is None:
            self.released.append((law, exact, draw()))
            return self.released[-1][-1]
        before_law, before, told = self.released[self.place]
        assert str(before_law) == str(law), "what is released next depends on data"
        self.place += 1
        self.add(law, self.moved(before, exact))
        return told

    @staticmethod
    def moved(before, exact):
        if isinstance(exact, tuple):  # a step function: its pieces, and where each begins
            points = np.union1d(before[1], exact[1])
            one, other = (
                scores[np.searchsorted(starts, points, side="right") - 1] for scores, starts in (before, exact)
            )
            return [int(b) - int(a) for a, b in zip(one, other, strict=True)]
        assert len(before) == len(exact), "how many numbers are released depends on data"
        return [int(b) - int(a) for a, b in zip(before, exact, strict=True)]

    def add(self, law, moves):
        match law:
            case DiscreteLaplace(scale=scale):
                self.epsilon += float(sum(map(abs, moves)) / scale)
            case RoundedLaplace():
                self.epsilon += float(sum(map(abs, moves)) / law.scale_used)
            case DiscreteGaussian(sigma_squared=variance):
                self.rho += float(sum(one * one for one in moves) / (2 * variance))
            case RoundedGaussian():
                self.rho += float(sum(one * one for one in moves) / (2 * law.sigma_used**2))
            case _:  # the scale of a choice
                self.epsilon += float((max(moves) - min(moves)) / law)


@contextmanager
def taped(tape):
    """Let all that adds noise or chooses play on a tape, and yield the list of all events that are charged."""
    events, charge, reserve = [], Questions.charge_many, Session.reserve
    adds, gridded = noise_mechanism.add_noise, ValueGrid.add_noise

    def add_noise(value, law, size=None):
        exact = integers(value)
        return tape.play(law, np.ravel(exact).tolist(), lambda: adds(exact, law, size))

    def whole(self, value):
        alone = type(value) is int and self.dimension in {None, 1}
        return add_noise(value, self.law, None if alone else self.dimension)

    def on_grid(self, value, law, size):
        steps = np.ravel(self.steps(value)).tolist()
        return tape.play(law, steps, lambda: gridded(self, value, law, size))

    def charge_many(self, requests):
        events.extend(one.charge.event for one in requests)
        return charge(self, requests)

    def reserved(self, kind, **words):
        events.append(words["event"])
        return reserve(self, kind, **words)

    changed = [mock.patch.object(module, "add_noise", add_noise) for module in NOISY]
    changed += [mock.patch.object(kind, "release", _chosen(tape, kind.release)) for kind in CHOOSE]
    changed += [mock.patch.object(IntegerNoise, "release", whole), mock.patch.object(ValueGrid, "add_noise", on_grid)]
    changed += [
        mock.patch.object(Questions, "charge_many", charge_many),
        mock.patch.object(Session, "reserve", reserved),
    ]
    with ExitStack() as patches:
        for one in changed:
            patches.enter_context(one)
        yield events


def _chosen(tape, choose):
    """Return a mechanism's way to choose that plays on a tape; its scores may be those of the pieces of a range."""

    def release(self, value, **more):
        scores, scale = integers(value), self.noise_scale
        if more.get("starts") is None:
            return tape.play(scale, scores.tolist(), lambda: choose(self, value))
        starts = np.maximum.accumulate(np.clip(integers(more["starts"]), self.low, self.high + 1))
        starts[0] = self.low
        return tape.play(scale, (scores, starts), lambda: choose(self, value, **more))

    return release


@dataclass
class Case:
    """An operation, who is protected, the kind of budget, and two neighbouring sets of people."""

    seed: int
    operation: str
    unit: PrivacyUnit
    budget: str
    sides: tuple[dict, dict]

    @staticmethod
    def drawn(seed, operation=None):
        rng = random.Random(seed)
        unit = PrivacyUnit(
            person_key="id", adjacency=rng.choice(list(Adjacency)), protects_groups_of=rng.choice([1, 1, 2])
        )
        budget, among = rng.choice(list(BUDGETS)), rng.choice(list(OPERATIONS))
        if budget == "epsilon" and (operation or among) in GAUSSIAN:
            budget = "rho"
        here = {key: person(rng) for key in range(rng.choice([0, 1, 4]))}
        alike = rng.random() < 0.5  # a group does most where all of it are alike
        size = unit.protects_groups_of
        one, other = ([person(rng)] * size if alike else [person(rng) for _ in range(size)] for _ in "ab")
        there = {**here, **dict(enumerate(one, 1000))}
        if unit.adjacency is Adjacency.REPLACE:
            here = {**here, **dict(enumerate(other, 2000))}
        return Case(seed, operation or among, unit, budget, (here, there))

    def __str__(self):
        unit = f"{self.unit.adjacency.value}, groups of {self.unit.protects_groups_of}"
        return f"{self.operation} (case {self.seed}: {unit}, {self.budget})\n{self.sides[0]}\n{self.sides[1]}"


def examined(case):
    """Run an operation on both sides; return what it told apart of what was charged, as parts of 1, or fail."""
    tape, (budget, pays) = Tape(), BUDGETS[case.budget]
    with taped(tape) as events:
        for side in case.sides:
            charged = len(events)
            with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:
                _run(case, side, budget, pays, Path(folder))
            if tape.place is None:
                tape.place = 0
            elif tape.place != len(tape.released) or list(map(str, events[:charged])) != list(
                map(str, events[charged:])
            ):
                raise FoundError(f"what is released, or its price, depends on data: {case}")
    worth = _worth(events[: len(events) // 2])
    parts = [_part(found, paid) for found, paid in zip((tape.epsilon, tape.rho), worth, strict=True)]
    if max(parts) > SLACK:
        raise FoundError(f"{tape.epsilon} and rho {tape.rho} were told, and {worth} were charged: {case}")
    return max(parts)


def _run(case, side, budget, pays, folder):
    with create_ledger(folder / "ledger.db", name="1055") as ledger:
        shares = DeltaShares(failures=Fraction(1, 2))
        ledger.administration.create_population("clinic", unit=case.unit, budget=budget, shares=shares)
        for table in ("patients", "visits"):
            ledger.administration.add_table("clinic", table)
        people = population(case.unit)
        data = Tables(sources=tables(side), population=people)
        try:
            OPERATIONS[case.operation](Session(people, ledger, data, analyst="ana", key=KEY), pays)
        finally:
            data.close()


def _worth(events):
    """Return the epsilon of all events that have one, and the rho of all others."""
    epsilon = rho = Fraction(0)
    for one in map(price, events):
        if one.pure_epsilon is not None and one.pure_epsilon < math.inf:
            epsilon += Fraction(one.pure_epsilon)
        else:
            rho += (one.gaussian_mu_squared or 0) / 2 or Fraction(one.rho or 0)
    return float(epsilon), float(rho)


def _part(found, paid):
    return found / paid if paid else math.inf if found else 0.0


def run(seconds, seed, *, most=None):
    """Examine cases for so long, or so many; fail with what is found. Return how often each came near its price."""
    tally, until = Counter(pairs=0, nearly_all=0), time.monotonic() + seconds
    for number, one in enumerate(itertools.islice(seeds_from(seed), most)):
        if time.monotonic() > until:
            break
        case = Case.drawn(one, list(OPERATIONS)[number % len(OPERATIONS)])
        tally["pairs"] += 1
        tally["nearly_all"] += examined(case) > 0.9
    return tally


@click.command(help=__doc__)
@click.option("--seconds", default=60.0, help="how long to look")
@click.option("--seed", default=1, help="where to begin")
@click.option("--case", type=int, help="look at this case only, with every operation")
def main(seconds, seed, case):
    try:
        if case is not None:
            for name in OPERATIONS:
                click.echo(f"{name}: {examined(Case.drawn(case, name)):.3f}")
        else:
            click.echo(f"nothing found: {dict(run(seconds, seed))}")
    except (FoundError, LapwingError) as found:
        sys.exit(str(found))


if __name__ == "__main__":
    main()
