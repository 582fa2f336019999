"""Publishing marginals: how exact and how fast, beside every table measured and counted by itself, in one run.

Error is computed, not sampled: the standard deviation of a cell under the price that both pay, for sixteen columns of
the clinic, with and without the code for other and missing values that each has when it is published. Counting is in
DuckDB on one thread, on a table that it holds: CPU seconds of the cover, of one statement for each wanted table, and of
a bare scan that adds the same columns up.
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
from _report import Goals, clock, table
from lapwing.engines.duckdb import DuckDB
from lapwing.made_up.clinic_files import write_tables
from lapwing.publishing.codes import count_in_codes, read_columns
from lapwing.publishing.covers import cover
from lapwing.publishing.measurements import gaussian_residuals, geometric_cover
from lapwing.publishing.noise_for_target import rho_for
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.guarantee import PrivacyUnit

PEOPLE = 500_000
RELEASES = 30
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
STUDIED = (2, 11, 8, 3, 7, 2, 2, 2, 2, 5, 6, 4, 2, 2, 2, 2)
"""The codes of sixteen columns as the method was first studied, most without a code for other and missing values."""
PUBLISHED = (3, 11, 9, 3, 7, 3, 3, 3, 3, 6, 7, 5, 3, 3, 3, 3)
"""The same columns as they are published: each has that code."""
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
    """Return how often 95 % intervals hold, over releases of nobody: the error is what is released."""
    wanted = list(itertools.combinations(range(len(codes)), 2))
    event = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(50))
    for name, measured in (
        ("Gaussian", gaussian_residuals(codes, wanted, UNIT, event)),
        ("geometric", geometric_cover(codes, wanted, UNIT, Fraction(1))),
    ):
        counted = {axes: [0] * math.prod(codes[a] for a in axes) for axes in measured.counted}
        inside = cells = 0
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
        share = 100 * inside / cells
        print(f"\n{name} noise: 95 % intervals hold {share:.2f} % of {cells:,} cells in {RELEASES} releases")
        goals.at_least(f"95 % intervals of {name} noise hold", share, 94.5, " %")
        goals.at_most(f"95 % intervals of {name} noise hold", share, 97.5, " %")


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
        scanned = min(_timed(lambda: bare.execute(scan).fetchall()) for _ in range(5))
    with DuckDB(population, held_, threads=1) as engine:
        plans = {
            axes: count_in_codes("patient", [columns[a] for a in axes], population).aggregate
            for axes in {*tables, *wanted}
        }

        def count(sets):
            for axes in sets:
                engine.vector(plans[axes])

        count(tables[:1])
        together, each = _timed(lambda: count(tables)), _timed(lambda: count(wanted))
    for name, seconds in (
        ("a bare scan", scanned),
        (f"a cover of {len(tables)} tables", together),
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
    told.close()
