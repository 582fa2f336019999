"""How often intervals hold: thousands of askings for each kind of answer, against the exact truth.

    make bench-coverage                     some minutes
    python benchmarks/coverage.py 500       fewer askings of each

Every asking is a release of the same exact numbers through the mechanism that a session takes, read with its bounds at
95 %. A bound that is true holds 95 times in 100 or more, and one that is tight not much more often: between 95 and 97.
What chance explains, but for once in a thousand, is allowed for. Some answers cannot be that tight:

- Whole numbers with little noise: there is no margin for exactly 95 %. The goal is what the least margin that is long
  enough gives, by the exact law.
- Moments of few rows (a correlation of 300 people, the mean of a group of 3): that there is anybody is not known, or
  means and variances are known so badly that their squares count. They must hold, and are shown.
- Quantiles: places in the order, and intervals of values, hold for *all* data. The worst data attains it, and is shown;
  smooth data does better, and nobody who sees the answer alone could know.

How much wider than needed an interval is, is told of answers of one number: half of it over the error that 95 of 100
values have. Of a quantile that is kind to bad values: one that is smoothed less is further off, and the figure falls.
So half of its interval is also held against how far off 95 of 100 values are that are chosen alone for the whole price.
"""

import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import binom

import lapwing as ask
from _report import Goals, clock, table
from lapwing.answers.computed_columns import quotient
from lapwing.answers.releases import ChosenOnes, NoisyNumbers, OpenKeys, PricedQuestion, Release
from lapwing.answers.target import AtEpsilon, AtRho, Target, release_of, release_together
from lapwing.engines.duckdb import DuckDB
from lapwing.mechanisms.enclosed_quantiles import EnclosedQuantiles
from lapwing.queries.catalogue.column import Category, Column, Integer, Real, Text
from lapwing.queries.catalogue.population import Population, Table
from lapwing.queries.planning.plan import BoundedValue, CellKey
from lapwing.queries.planning.planner import Question, plan, plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.funnel import Steps
from lapwing.queries.statistics.moments import Moments
from lapwing.queries.statistics.total import Total
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PrivacyUnit, PureDP

ASKINGS = 3000
STATED = Fraction(95, 100)
CHANCE = 1e-3
GROUPS = tuple("abcdef")
PEOPLE = Population(
    name="people",
    unit=PrivacyUnit(person_key="person_id"),
    tables=(
        Table(
            name="people",
            columns=(
                Column(name="grp", type=Category(values=GROUPS)),
                Column(name="town", type=Text()),
                Column(name="age", type=Integer(low=0, high=120)),
                Column(name="cost", type=Real(low=0, high=500, step="1/4")),
                Column(name="pressure", type=Integer(low=60, high=220)),
                Column(name="smokes", type=Integer(low=0, high=1)),
                Column(name="rare", type=Integer(low=0, high=999)),
                Column(name="torn", type=Integer(low=0, high=999)),
            ),
        ),
    ),
)
PURE, RHO, DELTA = PureDP(epsilon=9), ConcentratedDP(rho=9), ApproximateDP(epsilon=9, delta="0.01")


def people(many: int) -> DuckDB:
    """Return an engine with this number of people: ages, costs with a tail, a pressure that goes with the age."""
    draw = np.random.Generator(np.random.Philox(3))  # noqa: TID251 - the same tables in every run
    age = np.clip(draw.normal(52, 19, many), 0, 120).round().astype(np.int64)
    rare = np.repeat([0, 500, 999], [many // 2 - 92, 184, many - many // 2 - 92])  # the margin is 91.75 rows
    columns = {
        "person_id": np.arange(many),
        "grp": draw.choice(GROUPS, many, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]),
        "town": [f"town {n}" for n in np.minimum(draw.pareto(0.8, many) * 4, 200).astype(int)],
        "age": age,
        "cost": draw.lognormal(4, 1, many).round(2),
        "pressure": np.clip(0.5 * age + draw.normal(105, 14, many), 60, 220).round().astype(np.int64),
        "smokes": (draw.random(many) < 0.2).astype(np.int64),
        "rare": rare,
        "torn": np.repeat([0, 999], many // 2),
    }
    return DuckDB(PEOPLE, {"people": pa.table(columns)})


@dataclass(frozen=True)
class Cell:
    """One question, asked often: at this target, of this number of people."""

    name: str
    many: int
    question: Question
    target: Target
    budget: Guarantee
    most: float | None = 0.97
    share: float = 1.0

    def release(self) -> Release:
        """Return what releases it."""
        return release_of(plan(self.question, PEOPLE), self.target, self.budget)


def at(epsilon: str, delta: str | None = None) -> AtEpsilon:
    return AtEpsilon(epsilon=Fraction(epsilon), delta=None if delta is None else Fraction(delta))


def cells() -> Iterator[Cell]:
    moments = {
        "mean": ask.mean("people", "age"),
        "mean of costs": ask.mean("people", "cost"),
        "share": ask.mean("people", "smokes"),
        "variance": ask.variance("people", "age"),
        "covariance": ask.covariance("people", "age", "pressure"),
        "correlation": ask.correlation("people", "age", "pressure"),
    }
    by = {"by": "grp"}
    for many in (300, 20_000):
        yield Cell("count, epsilon 1", many, ask.count("people", "age > 60"), at("1"), PURE)
        yield Cell("count, epsilon 0.05", many, ask.count("people", "age > 60"), at("0.05"), PURE)
        yield Cell("six counts", many, ask.count("people", **by), at("0.1"), PURE)
        yield Cell("six counts, rho", many, ask.count("people", **by), AtRho(rho=Fraction("0.001")), RHO)
        yield Cell("total", many, ask.total("people", "cost"), at("1"), PURE)
        yield Cell("different values", many, ask.count_distinct("people", "age"), at("0.1"), PURE)
        yield Cell("three steps", many, ask.funnel("people", ["age > 30", "cost > 20", "grp = 'a'"]), at("0.1"), PURE)
        for name, question in moments.items():
            few = many < 1000 and name == "correlation"
            yield Cell(name, many, question, at("1"), PURE, None if few else 0.97, 0.3 if name == "correlation" else 1)
        yield Cell("mean, rho", many, moments["mean"], AtRho(rho=Fraction("0.1")), RHO)
        yield Cell("variance, rho", many, moments["variance"], AtRho(rho=Fraction("0.1")), RHO)
        yield Cell("six means", many, ask.mean("people", "age", **by), at("1"), PURE, None if many < 1000 else 0.97)
        yield Cell("six variances", many, ask.variance("people", "age", **by), at("1"), PURE, None, 0.3)
        for data, of, most in (("smooth", "age", None), ("worst", "rare", 0.97)):
            alone = ask.median("people", of, interval=None)
            yield Cell(f"median, place, {data} data", many, alone, at("0.1"), PURE, most)
        for data, of, most in (("smooth", "age", None), ("worst", "torn", 0.97)):
            yield Cell(f"median, interval, {data} data", many, ask.median("people", of), at("0.1"), PURE, most)
            yield Cell(f"median, interval, {data} data, rho", many, ask.median("people", of), at("0.1"), RHO, most)
            yield Cell(f"median, interval, {data} data, delta", many, ask.median("people", of), at("0.1"), DELTA, most)
            six = ask.median("people", of, **by)
            yield Cell(f"six medians, intervals, {data} data", many, six, at("1"), PURE, None, 0.3)
        tenths = ask.quantiles("people", "cost", ["0.1", "0.5", "0.9"])
        yield Cell("three quantiles of costs, intervals", many, tenths, at("0.5"), PURE, None)
        yield Cell("towns, each", many, ask.count("people", by="town"), at("0.5", "1e-6"), DELTA)


SELECTS = {
    "share of smokers": "select count(*) filter (where smokes = 1) / count(*) as r from people",
    "one part over another": (
        "select count(*) filter (where age > 60) / count(*) filter (where age < 30) as r from people"
    ),
    "total over number": "select sum(cost) / count(*) as r from people",
    "number beside a mean": "select avg(age), count(*) as r from people",
    "sum of three parts": (
        "select count(*) filter (where age > 60) a, count(*) filter (where age < 30) b, count(*) as r from people"
    ),
    "deviation of a sample": "select stddev(age) as r from people",
}
"""Columns r that are read from a release which others are read from too, or are computed from it."""


def held_in_select(text: str, engine: DuckDB, askings: int) -> int:
    """Return how often the bounds of the column r held."""
    selection = read_sql(text)
    releases = release_together(selection, plan_together(selection, PEOPLE), PEOPLE, at("0.5"), PURE)
    asked = PricedQuestion(releases=releases, arrangement=selection.arrangement)
    exact = [one.read(engine).open_for_release() for one in asked.sources]
    truth, good = _column(asked, [list(numbers) for numbers in exact]).value, 0
    for _ in range(askings):
        cell = _column(asked, [one.release(Sensitive(n)) for one, n in zip(asked.sources, exact, strict=True)])
        good += cell.low is None or cell.low <= truth <= cell.high
    return good


def _column(asked: PricedQuestion, released: list[Sequence[int]]) -> Any:
    numbers, made = asked.by_column(released), asked.arrangement.made if asked.arrangement else {}
    (cell,) = quotient(asked, made["r"], numbers, STATED) if "r" in made else asked.values("r", numbers["r"], STATED)
    return cell


WIDTHS = {
    "mean of costs": (ask.mean("people", "cost"), "0.5"),
    "total of costs": (ask.total("people", "cost"), "0.5"),
    "share of smokers": (ask.mean("people", "smokes"), "0.5"),
    "variance of ages": (ask.variance("people", "age"), "0.5"),
    "median of costs": (ask.median("people", "cost"), "0.05"),  # with more, nearly all values are in the right cell
    "9 in 10 of costs": (ask.quantiles("people", "cost", ["0.9"]), "0.05"),
}
QUOTIENTS = ("share of smokers", "one part over another", "total over number")
"""Answers of one number, of whose interval half is held against the error that 95 of 100 values have."""
WIDEST = 1.3


def over_needed(told: Sequence[BoundedValue], least: float, most: float) -> float:
    """Return how many times as wide intervals are as 95 of 100 values need, which are off from `least` to `most`."""
    halves = [float(one.high - one.low) / 2 for one in told if one.low is not None]
    errors = [max(least - float(one.value), float(one.value) - most, 0.0) for one in told if one.value is not None]
    return float(np.median(halves) / np.quantile(errors, float(STATED)))


def width_of(question: Question, epsilon: str, engine: DuckDB, askings: int) -> tuple[float, float | None]:
    """Return how much wider than needed the intervals of a question are; and than a quantile alone would need."""
    release = release_of(plan(question, PEOPLE), at(epsilon), PURE)
    exact = release.read(engine).open_for_release()
    told = [release.values(release.release(Sensitive(exact)), STATED)[0] for _ in range(askings)]
    if not isinstance(release, ChosenOnes):
        (truth,) = release.meaning.estimates(release.plan, list(exact)).values()
        return over_needed(told, float(truth), float(truth)), None
    below, scale, (at_fraction,) = np.cumsum(exact), release.meaning.scale, release.meaning.fractions
    place = int(np.searchsorted(below, float(at_fraction) * below[-1]))
    least = float(scale.low + place * scale.step)
    alone = release_of(plan(replace(question, interval=None), PEOPLE), at(epsilon), PURE)
    values = [alone.values(alone.release(Sensitive(exact)), STATED)[0] for _ in range(askings)]
    ends = [replace(one, value=other.value) for one, other in zip(told, values, strict=True)]
    return tuple(over_needed(several, least, least + float(scale.step)) for several in (told, ends))


def width_of_quotient(text: str, engine: DuckDB, askings: int) -> float:
    """Return how much wider than needed the intervals of the column r are."""
    selection = read_sql(text)
    releases = release_together(selection, plan_together(selection, PEOPLE), PEOPLE, at("0.5"), PURE)
    asked = PricedQuestion(releases=releases, arrangement=selection.arrangement)
    exact = [one.read(engine).open_for_release() for one in asked.sources]
    truth = float(_column(asked, [list(numbers) for numbers in exact]).value)
    told = [
        _column(asked, [one.release(Sensitive(n)) for one, n in zip(asked.sources, exact, strict=True)])
        for _ in range(askings)
    ]
    return over_needed(told, truth, truth)


def held(cell: Cell, engine: DuckDB, askings: int) -> tuple[int, int]:
    """Return how often the bounds held, of how often they were looked at."""
    release = cell.release()
    exact = release.read(engine).open_for_release()
    match release:
        case OpenKeys():
            return _each_shown(release, exact, askings)
        case ChosenOnes():
            hold = _in_interval if isinstance(release.mechanism, EnclosedQuantiles) else _in_place
            return sum(hold(release, exact, release.release(Sensitive(exact))) for _ in range(askings)), askings
        case NoisyNumbers():
            truth = release.meaning.estimates(release.plan, list(exact))
            return sum(_all_at_once(release, exact, truth) for _ in range(askings)), askings
        case _:
            raise TypeError(release)


def _all_at_once(release: NoisyNumbers, exact: Any, truth: Mapping[CellKey, Any]) -> bool:
    bounded = release.values(release.release(Sensitive(exact)), STATED)
    return all(one.low <= truth[one.key] <= one.high for one in bounded)


def _in_place(release: ChosenOnes, counts: Sequence[int], chosen: Sequence[int]) -> bool:
    """Say whether the middle of the rows is no further outside the chosen cell than the margin says."""
    edges = np.concatenate([[0], np.cumsum(counts)])
    outside = max(0.0, edges[chosen[0]] - edges[-1] / 2, edges[-1] / 2 - edges[chosen[0] + 1])
    return bool(outside <= release.margin(STATED))


def _in_interval(release: ChosenOnes, counts: Sequence[int], chosen: Sequence[int]) -> bool:
    """Say whether the values on both sides of every fraction of the rows of every group lie in its interval."""
    cells, scale, fractions = release.mechanism.cells, release.meaning.scale, release.mechanism.at
    asked = itertools.product(np.reshape(counts, (-1, cells)).astype(np.int64), fractions)
    for told, (rows, fraction) in zip(release.values(chosen, STATED), asked, strict=True):
        below, many = np.cumsum(rows), int(rows.sum())
        if many:
            places = np.searchsorted(below, [math.ceil(many * fraction), math.floor(many * fraction) + 1])
            low, high = (scale.low + int(place) * scale.step for place in places)
            if not told.low <= low <= high <= told.high:
                return False
    return True


def _each_shown(release: OpenKeys, exact: Mapping[CellKey, tuple[int]], askings: int) -> tuple[int, int]:
    good = shown = 0
    for _ in range(askings // 10):
        for one in release.values(release.release(Sensitive(exact)), STATED):
            good, shown = good + (one.low <= exact[one.key][0] <= one.high), shown + 1
    return good, shown


def attained(release: Release) -> float:
    """Return how often whole numbers keep the least margin that is long enough: more than stated, with little noise."""
    if not isinstance(release, NoisyNumbers) or isinstance(release.meaning, Moments | Steps):
        return 0.0
    step = release.meaning.step if isinstance(release.meaning, Total) else 1
    return release.mechanism.confidence(release.margin(STATED) / step, values=release.plan.numbers)


def main(askings: int) -> None:
    goals, rows, engines = Goals(), [], {}
    for cell in cells():
        started = clock()
        engine = engines.setdefault(cell.many, people(cell.many))
        good, looked = held(cell, engine, max(1, int(askings * cell.share)))
        least, most = float(STATED), cell.most and max(cell.most, attained(cell.release()))
        name, often = f"{cell.name}, {cell.many:,} people", good / looked
        told = "" if most is None else f"{100 * most:.1f} %"
        rows.append([name, f"{looked:,}", f"{100 * often:.2f} %", told, f"{clock() - started:.1f}"])
        print(".", end="", flush=True)
        goals.at_least(f"{name}, held", 100 * often, 100 * binom.ppf(CHANCE, looked, least) / looked, " %")
        if most is not None:
            goals.at_most(f"{name}, not more", 100 * often, 100 * binom.ppf(1 - CHANCE, looked, most) / looked, " %")
    for many, (label, text) in itertools.product((300, 20_000), SELECTS.items()):
        started = clock()
        often = held_in_select(text, engines[many], askings) / askings
        name = f"{label}, {many:,} people"
        rows.append([name, f"{askings:,}", f"{100 * often:.2f} %", "97.0 %", f"{clock() - started:.1f}"])
        goals.at_least(f"{name}, held", 100 * often, 100 * binom.ppf(CHANCE, askings, float(STATED)) / askings, " %")
        goals.at_most(f"{name}, not more", 100 * often, 100 * binom.ppf(1 - CHANCE, askings, 0.97) / askings, " %")
    widths = {name: width_of(*asked, engines[20_000], askings // 3) for name, asked in WIDTHS.items()}
    widths |= {
        f"{name}, a quotient": (width_of_quotient(SELECTS[name], engines[20_000], askings // 3), None)
        for name in QUOTIENTS
    }
    for name, (times, _) in widths.items():
        goals.at_most(f"{name}, interval over what is needed", times, WIDEST, "x")
    table(
        "Intervals at 95 %, of 20,000 people",
        ["answer", "times what is needed", "times the error of a value alone"],
        [[name, f"{times:.2f}", "" if alone is None else f"{alone:.2f}"] for name, (times, alone) in widths.items()],
    )
    table("Bounds at 95 %", ["answer", "askings", "held", "at most", "CPU s"], rows)
    goals.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ASKINGS)
