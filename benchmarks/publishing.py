"""Publishing marginals: how exact and how fast, beside every table measured and counted by itself, in one run.

Error is computed, not sampled: the standard deviation of a cell under the price that both pay, for sixteen columns of
the clinic, with and without the code for other and missing values that each has when it is published. Counting is in
DuckDB on one thread, on a table that it holds: CPU seconds of the cover in one pass and in one statement for each of
its tables, of one statement for each wanted table, and of a bare scan that adds the same columns up.

Synthetic tables of the same columns are made by stages and by the rules of AIM, at the same epsilon and delta, in the
same process: the mean total variation of all tables of three columns, of rows and of the model, and CPU seconds.

Beside them are the mechanisms of the lectures (`_publishing_students.py`), and AIM as private-pgm ships it, in an
environment of its own (`_publishing_private_pgm.py`), where that could be installed. At the end come the explorer and
certificates (`publishing_explorer.py`).
"""

import itertools
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
from pyarrow import parquet

import lapwing as lw
from _aim_rules import AimRules, rho_of
from _publishing_peers import compared_with_aims_rules, compared_with_private_pgm
from _publishing_students import students
from _report import Goals, PeakMemory, clock, table
from lapwing.engines.duckdb import DuckDB
from lapwing.made_up.clinic_files import write_tables
from lapwing.publishing.codes import count_in_codes, count_in_tables, read_columns
from lapwing.publishing.covers import cover, maximal
from lapwing.publishing.measurements import gaussian_residuals, geometric_cover
from lapwing.publishing.noise_for_target import rho_for
from lapwing.publishing.population_model import UNIT as UNIT_OF_MODEL
from lapwing.publishing.population_model import PopulationModel
from lapwing.publishing.stages import GaussianPlan
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.guarantee import PrivacyUnit
from publishing_explorer import explorer_and_certificates

PEOPLE = 500_000
SYNTHESIZED = 100_000
DELTA = Fraction(1, 10**9)
RELEASES = 100
UNIT = PrivacyUnit(person_key="id")
COLUMNS = [
    "sex",
    lw.bins("age", [*range(0, 100, 10), 110]),
    "site",
    "smoker",
    lw.bins("bmi", [10, "18.5", 25, 30, 35, 40, 60]),
    "hypertension",
    "diabetes",
    "cancer_survivor",
    "admitted_for_surgery",
    lw.bins("admissions", [0, 1, 2, 3, 6, 40]),
    lw.bins("visits", [0, 1, 3, 6, 11, 21, 40]),
    lw.col("age") >= 65,
    lw.col("bmi") >= 30,
    lw.col("visits") >= 5,
    lw.col("admissions") >= 2,
    lw.bins("born", ["1920-01-01", "1960-01-01", "1990-01-01", "2025-01-01"]),
]
MORE_COLUMNS = [
    *(lw.col("age") >= year for year in range(10, 90, 5)),
    *(lw.col("bmi") >= index for index in (20, 22, 24, 26, 28, 32, 35, 38)),
]
"""Further columns, for a table of forty."""
STUDIED = (2, 11, 8, 3, 7, 2, 2, 2, 2, 5, 6, 4, 2, 2, 2, 2)
"""The codes of sixteen columns as the method was first studied, most without a code for other and missing values."""
PUBLISHED = (3, 11, 9, 3, 7, 2, 2, 2, 2, 6, 7, 5, 2, 2, 2, 2)
"""The same columns as they are published: each has that code, but for truth values that are never missing."""
SUMS = ("length(sex)", "age", "length(site)", "smoker::int", "bmi", "hypertension::int", "diabetes::int")
SUMS += ("cancer_survivor::int", "admitted_for_surgery::int", "admissions", "visits")


def deviations(measured, wanted):
    return [math.sqrt(measured.variance(axes, (1,) * len(axes))) for axes in wanted]


def errors(goals):
    rho, rows = rho_for(Fraction(1), Fraction(1, 10**9)), []
    gaussian = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / (2 * rho))
    for (size, words), (codes, which) in itertools.product(
        ((2, "all pairs"), (3, "all triples")), ((STUDIED, "without other codes"), (PUBLISHED, "as published"))
    ):
        wanted = list(itertools.combinations(range(len(codes)), size))
        for price, measured, alone in (
            (
                "epsilon 1, delta 1e-9",
                gaussian_residuals(codes, wanted, UNIT, gaussian),
                math.sqrt(len(wanted) / 2 / rho),
            ),
            ("epsilon 1", geometric_cover(codes, wanted, UNIT, Fraction(1)), math.sqrt(2) * len(wanted)),
        ):
            found = deviations(measured, wanted)
            what, ratio = f"{words} {which}, {price}", median(found) / alone
            shown = [f"{one:.1f}" for one in (median(found), max(found), alone)]
            rows.append([what, len(wanted), measured.numbers, *shown, f"{ratio:.2f}"])
            goals.at_most(f"{what}: standard deviation of a cell, of each table by itself", ratio, 0.6)
    header = ["what", "tables", "numbers", "sd, median", "sd, worst", "each by itself", "ratio"]
    table("How exact: standard deviation of a cell, in people", header, rows)


def held(codes, goals):
    """Say how often 95 % intervals hold, over releases of nobody: the error is what is released."""
    wanted = list(itertools.combinations(range(len(codes)), 2))
    event = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(50))
    for name, measured in (
        ("Gaussian", gaussian_residuals(codes, wanted, UNIT, event)),
        ("geometric", geometric_cover(codes, wanted, UNIT, Fraction(1))),
    ):
        counted = {axes: [0] * math.prod(codes[a] for a in axes) for axes in measured.counted}
        inside = cells = held_boxes = boxes = 0
        squares = 0.0
        for _ in range(RELEASES):
            found = measured.residuals(measured.release(counted))
            for axes in wanted:
                parts = [found[()] / math.prod(codes[a] for a in axes)]
                parts += [
                    found[(a,)].reshape([-1 if b == a else 1 for b in axes]) / codes[next(b for b in axes if b != a)]
                    for a in axes
                ]
                made = sum(parts, found[axes])
                inside += int((np.abs(made) <= measured.reach(axes, (1, 1), 0.05)).sum())
                cells += made.size
                squares += float((made**2).sum()) / measured.variance(axes, (1, 1))
                widths = tuple(max(1, codes[a] // 2) for a in axes)
                box = float(made[tuple(slice(width) for width in widths)].sum())
                held_boxes += abs(box) <= measured.reach(axes, widths, 0.05)
                boxes += 1
        deviation = math.sqrt(squares / cells)
        for what, share, number in (("cells", 100 * inside / cells, cells), ("boxes", 100 * held_boxes / boxes, boxes)):
            print(f"\n{name} noise: 95 % intervals hold {share:.2f} % of {number:,} {what} in {RELEASES} releases")
            goals.at_least(f"95 % intervals of {what}, {name} noise, hold", share, 94, " %")
            goals.at_most(f"95 % intervals of {what}, {name} noise, hold", share, 98, " %")
        goals.at_most(f"{name} noise: standard deviation of a cell, off its formula", abs(deviation - 1), 0.01)


def counting(folder, population, columns, goals):
    codes = [len(one) for one in columns]
    wanted = list(itertools.combinations(range(len(codes)), 2))
    tables = cover(codes, wanted)
    rows, held_ = [], {one.name: parquet.read_table(folder / f"{one.name}.parquet") for one in population.tables}
    with duckdb.connect(config={"threads": 1}) as bare:
        patient = held_["patient"]
        bare.register("arriving", patient)
        bare.execute("create table patient as from arriving")
        scan = f"select {', '.join(f'sum({one})' for one in SUMS)} from patient"  # noqa: S608 - columns of the clinic
        scanned = min(_timed(lambda: bare.execute(scan).fetchall()) for _ in range(15))
    with DuckDB(population, held_, threads=1) as engine:
        plans = {
            axes: count_in_codes("patient", [columns[a] for a in axes], population).aggregate
            for axes in {*tables, *wanted}
        }

        def count(sets):
            for axes in sets:
                engine.vector(plans[axes])

        passes = count_in_tables("patient", columns, tables, population)

        def count_together():
            for _, one in passes:
                engine.in_sets(one.aggregate)

        count(tables[:1])
        together, each = min(_timed(count_together) for _ in range(7)), _timed(lambda: count(wanted))
        one_by_one = min(_timed(lambda: count(tables)) for _ in range(3))
    for name, seconds in (
        ("a bare scan", scanned),
        (f"a cover of {len(tables)} tables, in one pass", together),
        (f"a cover of {len(tables)} tables, one by one", one_by_one),
        (f"{len(wanted)} tables, one by one", each),
    ):
        rows.append([name, f"{seconds:.3f}", f"{seconds / scanned:.1f}"])
    table(
        f"How fast: all pairs of {len(codes)} columns of {PEOPLE:,} people, CPU seconds",
        ["way", "seconds", "bare scans"],
        rows,
    )
    goals.at_most("counting by covers, of one statement for each table", together / each, 0.5)
    goals.at_most("counting by covers, of a bare scan", together / scanned, 20)


def synthesis(folder, population, columns, goals):
    codes, rows = tuple(len(one) for one in columns), []
    held_ = {one.name: parquet.read_table(folder / f"{one.name}.parquet") for one in population.tables}
    with DuckDB(population, held_, threads=1) as engine:
        truth = Truth(engine, columns, population, list(itertools.combinations(range(len(codes)), 3)))
        for epsilon, runs, most in ((Fraction(1, 10), 1, 0.95), (Fraction(1), 2, 0.9), (Fraction(10), 1, 0.9)):
            ours, theirs, cpu, peer = [], [], [], []
            for seed in range(runs):
                found, seconds = _synthesized(codes, truth, epsilon, degree=3)
                cpu.append(seconds)
                ours.append([*(truth.off(found.marginal, size) for size in (2, 3)), truth.off(found.model.marginal, 3)])
                start = clock()
                aim = AimRules(codes, truth, truth.people, seed=seed).run(rho_of(float(epsilon), float(DELTA)))
                peer.append(clock() - start)
                theirs.append([truth.off(aim.marginal, size) for size in (2, 3)])
            means = [*np.mean(ours, axis=0), *np.mean(theirs, axis=0)]
            ratio, at = means[1] / means[4], f"epsilon {float(epsilon):g}"
            shown = [f"{one:.4f}" for one in means]
            rows.append([at, *shown, f"{ratio:.2f}", f"{np.mean(cpu):.1f}", f"{np.mean(peer):.1f}"])
            goals.at_most(f"{at}: total variation of triples, of that of AIM's rules", ratio, most)
            goals.at_most(f"{at}: total variation of pairs, of that of AIM's rules", means[0] / means[3], 1)
            goals.at_most(f"{at}: CPU of a synthesis, without counting", float(np.mean(cpu)), 10, " s")
        wide = read_columns("patient", {f"c{i}": one for i, one in enumerate([*COLUMNS, *MORE_COLUMNS])}, population)
        pairs, some = list(itertools.combinations(range(len(wide)), 2)), [(a, a + 7, a + 15) for a in range(24)]
        truth = Truth(engine, wide, population, [*pairs, *some])
        peak = PeakMemory()
        found, seconds = _synthesized(tuple(len(one) for one in wide), truth, Fraction(1), degree=2)
        megabytes = peak.megabytes()
        off = float(np.mean([_total_variation(truth(axes), found.marginal(axes)) for axes in some]))
        print(
            f"\n{len(wide)} columns at epsilon 1: total variation of {len(some)} triples {off:.4f}, {seconds:.1f} s CPU"
        )
        goals.at_most(f"{len(wide)} columns: CPU of a synthesis, without counting", seconds, 20, " s")
        goals.at_most(f"{len(wide)} columns: memory of a synthesis", megabytes, 500, " MB")
        goals.at_most(f"{len(wide)} columns: total variation of triples", off, 0.005, "")
    header = ["", "2-way", "3-way", "model, 3-way", "AIM's 2-way", "3-way", "ratio, 3-way", "CPU s", "AIM's CPU s"]
    people = f"{SYNTHESIZED:,} people"
    table(f"Synthetic tables of {len(codes)} columns of {people}: mean total variation, delta 1e-9", header, rows)


class Rows:
    """Rows of a model, as many as there are people, and the model."""

    def __init__(self, model, people):
        made = model.equal_rows(people)
        self.model = model
        self.marginal = PopulationModel(model.codes, made, np.full(people, UNIT_OF_MODEL)).marginal


def _synthesized(codes, truth, epsilon, degree):
    start = clock()
    plan = GaussianPlan(codes=codes, unit=UNIT, degree=degree, mu_squared=2 * rho_for(epsilon, DELTA))
    stages = plan.stages()
    stage = next(stages)
    try:
        while True:
            counted = {axes: [int(one) for one in truth(axes).ravel()] for axes in maximal(stage.sets)}
            stage = stages.send(stage.release(counted))
    except StopIteration as end:
        return Rows(end.value.model, truth.people), clock() - start


class Truth:
    """The exact tables of some columns, counted by a cover of all triples."""

    def __init__(self, engine, columns, population, wanted):
        self.codes, self.tables = tuple(len(one) for one in columns), {}
        codes = self.codes
        for axes in cover(codes, wanted):
            counted = engine.vector(count_in_codes("patient", [columns[a] for a in axes], population).aggregate)
            self.tables[axes] = np.array(counted.open_for_release()).reshape([codes[a] for a in axes])
        self.people = int(next(iter(self.tables.values())).sum())

    def __call__(self, axes):
        """Return the table of some columns."""
        wider = next(one for one in self.tables if set(axes) <= set(one))
        return self.tables[wider].sum(axis=tuple(i for i, a in enumerate(wider) if a not in axes))

    def off(self, marginal, size):
        """Return the mean total variation of all tables of so many columns."""
        sets = itertools.combinations(range(len(self.codes)), size)
        return float(np.mean([_total_variation(self(axes), marginal(axes)) for axes in sets]))


def _total_variation(table, other):
    return 0.5 * np.abs(table / table.sum() - other / other.sum()).sum()


def _timed(call):
    start = clock()
    call()
    return clock() - start


if __name__ == "__main__":
    told = Goals()
    with tempfile.TemporaryDirectory() as made:
        place = lw.make_clinic(Path(made) / "small", people=1000)
        with lw.create(place) as workspace:
            people = workspace.session().population
        coded = read_columns("patient", COLUMNS, people)
        sizes = tuple(len(one) for one in coded)
        errors(told)
        held(sizes, told)
        counting(write_tables(Path(made) / "large", PEOPLE), people, coded, told)
        synthesis(write_tables(Path(made) / "middle", SYNTHESIZED), people, coded, told)
        compared_with_aims_rules(told)
        students(told)
        compared_with_private_pgm(told)
    explorer_and_certificates(told)
    told.close()
