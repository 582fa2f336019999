"""Analyses against their goals: coverage, error beside peers, size of tests, dashboards, and the time of five rounds.

    make bench-analysis
    python benchmarks/analysis.py --runs 1000        # runs a cell of coverage; peers get a fiftieth, and 30 at least
    python benchmarks/analysis.py --rows 1000000     # of the table that is timed

Every run has fresh outcomes, coefficients and noise, and all peers see the same people. Errors are root mean square
errors of all slopes over what the fit without privacy has, medians over runs. AdaSSP (Wang, UAI 2018), sums with a
ridge and objective perturbation are written here, at the same epsilon and delta; diffprivlib has a pure epsilon.
"""

import argparse
import importlib.util
import math
import sys
import tempfile
import warnings
from pathlib import Path

import duckdb
import numpy as np
from scipy.special import expit

import analyses_dashboard as dashboards
import analyses_regression as regressions
import analyses_tests as tests
import lapwing as lw
from _report import Goals, clock, table
from lapwing.analyses.simulated_draws import draws_from
from lapwing.mechanisms.running_counts import RootOfSumming

EXACT = [
    ("linear", ("good", 100_000, 5, 1, 0), 1.2),
    ("linear", ("wide", 100_000, 5, 1, 0), 1.2),
    ("logistic", ("good", 100_000, 5, 1, 0.3), 1.2),
    ("logistic", ("good", 100_000, 5, 1, 0.05), 1.3),
    ("poisson", ("good", 100_000, 5, 1, 0.5), 1.2),
    ("logistic", ("wide", 100_000, 5, 0.3, 0.3), None),
    ("logistic", ("wide", 100_000, 5, 1, 0.05), None),
]
"""Cells, and how much larger an error may be than without privacy; beside peers all are looked at."""
DELTA = 1e-6
LARGE = 2_000_000
"""Cells with more numbers than this get a fifth of the runs."""
NOT_PROMISED = {"uneven", "bent"}
"""Models that are wrong in a way of which no interval of this kind knows: they are shown, and hold no goal."""


def ada_ssp(z, y, epsilon, random, *, adapts=True):
    """Return slopes from noisy sums with a ridge: a public one, or one that adapts to the least eigenvalue."""
    x = np.column_stack([np.ones(len(z)), z])
    bound, d = math.sqrt(x.shape[1]), x.shape[1]
    size = math.sqrt(math.log(6 / DELTA)) / (epsilon / 3)
    square = x.T @ x
    noise = np.triu(random.standard_normal((d, d)))
    noisy = square + size * bound**2 * (noise + np.triu(noise, 1).T)
    reach = size * bound**2 * math.sqrt(d * math.log(2 * d**2 / 0.05))
    least = np.linalg.eigvalsh(square).min() + size * bound**2 * random.standard_normal() - size**2 * bound**2
    ridge = max(0.0, reach - max(least, 0.0)) if adapts else reach
    sums = x.T @ y + size * bound * random.standard_normal(d)
    return np.linalg.solve(noisy + ridge * np.eye(d), sums)[1:]


def objective_perturbed(model, z, y, epsilon, random):
    """Return slopes that minimise a loss with a random linear term and a ridge (Kifer, Smith and Thakurta, 2012).

    Columns are at most √(d+1) long. A linear fit is held to coefficients of length 1, which those here are within.
    """
    x = np.column_stack([np.ones(len(z)), z])
    longest = math.sqrt(x.shape[1])
    gradient, bend = (longest * (1 + longest), longest**2) if model == "linear" else (longest, longest**2 / 4)
    size = gradient * math.sqrt(8 * math.log(2 / DELTA) + 4 * epsilon) / epsilon
    pull, ridge = size * random.standard_normal(x.shape[1]), 2 * bend / epsilon
    if model == "linear":
        square, sums, more = x.T @ x, x.T @ y - pull, ridge
        while np.linalg.norm(beta := np.linalg.solve(square + more * np.eye(len(sums)), sums)) > 1:
            more *= 1.1
        return beta[1:]
    beta = np.zeros(x.shape[1])
    for _ in range(60):
        p = expit(x @ beta)
        slope = (x * (p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(beta))
        step = np.linalg.solve(slope, x.T @ (p - y) + ridge * beta + pull)
        beta -= step * min(1.0, 2 / np.linalg.norm(step))
    return beta[1:]


def peers_of(model, z, y, epsilon, random):
    """Yield the name and the slopes of each peer there is for a model."""
    if model == "linear":
        y = 2 * y / 4096 - 1
        yield "AdaSSP", ada_ssp(z, y, epsilon, random)
        yield "sums with ridge", ada_ssp(z, y, epsilon, random, adapts=False)
    if model in {"linear", "logistic"}:
        yield "objective perturbation", objective_perturbed(model, z, y, epsilon, random)
    if importlib.util.find_spec("diffprivlib") is None:
        return
    from diffprivlib import models  # noqa: PLC0415 - a peer that may be missing

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model == "linear":
            ends = (np.full(z.shape[1], -1.0), np.full(z.shape[1], 1.0))
            fitted = models.LinearRegression(epsilon=epsilon, bounds_X=ends, bounds_y=(-1, 1)).fit(z, y)
            yield "diffprivlib", fitted.coef_.ravel()
        elif model == "logistic":
            longest = math.sqrt(z.shape[1] + 1)
            fitted = models.LogisticRegression(epsilon=epsilon, data_norm=longest, C=1e4, max_iter=500).fit(z, y)
            yield "diffprivlib", fitted.coef_.ravel()


def errors(model, cell, runs):
    """Return the median error of lapwing and of each peer, over that of the fit without privacy."""
    kind, people, columns, epsilon, rate = cell
    random, found = draws_from(3), {}
    course, extents = regressions.course_of(model, cell)
    for _ in range(runs):
        whole = regressions.made_columns(kind, people, columns, random)
        z = 2 * whole / np.array(extents[:-1]) - 1
        y, beta = regressions.made_outcome(model, kind, z, rate, random)
        fits = {"lapwing": regressions.fitted(course, np.column_stack([whole, y])).beta[1:]}
        fits |= dict(peers_of(model, z, y, epsilon, random))
        se = regressions.classical_errors(model, z, beta)
        for name, slopes in fits.items():
            found.setdefault(name, []).append(math.sqrt(np.mean(((slopes - beta[1:]) / se) ** 2)))
    return {name: float(np.median(several)) for name, several in found.items()}


def coverage(goals, every):
    """Look at each cell, and at the size of tests."""
    rows = []
    for model, cell in [(model, cell) for model, cells in regressions.CELLS.items() for cell in cells]:
        runs = every if cell[1] * cell[2] <= LARGE else every // 5
        told = regressions.measure_cell(model, cell, runs)
        rows.append(
            [
                f"{model}, {cell[0]}, n {cell[1]:,}, d {cell[2]}, epsilon {cell[3]}"
                + (f", {cell[4]} events" if cell[4] else ""),
                *(f"{told[one]:.3f}" for one in ("coverage", "worst", "error", "length", "unsettled")),
                str(runs),
            ]
        )
        if cell[0] not in NOT_PROMISED:
            goals.at_least(f"coverage, {rows[-1][0]}", told["coverage"], 0.94, "")
            goals.at_most(f"coverage, {rows[-1][0]}", told["coverage"], 0.98, "")
    table("Coverage of 95 % intervals", ["cell", "all slopes", "worst", "error", "length", "unsettled", "runs"], rows)


def sizes(goals, runs):
    """Reject true nulls of every test, at prices where ignoring the noise would reject a third of some."""
    rows = []
    for name, null, judge, prices in tests.NULLS:
        for epsilon in prices:
            rejected = tests.size_of(null, judge, epsilon, runs)
            rows.append([f"{name}, epsilon {epsilon}", f"{rejected:.4f}", str(runs)])
            goals.at_most(f"size of {rows[-1][0]}", rejected, 0.055, "")
    table("True nulls that are rejected at 5 %", ["test", "share", "runs"], rows)


def beside_peers(goals, runs):
    """Compare errors with those of the fit without privacy, and with those of peers."""
    rows, names = [], ["lapwing", "AdaSSP", "sums with ridge", "objective perturbation", "diffprivlib"]
    for model, cell, bound in EXACT:
        told = errors(model, cell, runs)
        named = f"{model}, {cell[0]}, epsilon {cell[3]}" + (f", {cell[4]} events" if cell[4] else "")
        rows.append([named, *(f"{told[one]:.2f}" if one in told else "-" for one in names)])
        if bound is not None:
            goals.at_most(f"error over the non-private fit's, {named}", told["lapwing"], bound)
        best = min((one for name, one in told.items() if name != "lapwing"), default=None)
        if best is not None and best > 2:
            goals.at_most(f"error over the best peer's, {named}", told["lapwing"] / best, 0.5)
    table(f"Error over the fit without privacy's, n 100,000, d 5, {runs} runs", ["model", *names], rows)


def over_time(goals):
    """Compare dashboards with the binary tree and the best dense factorisation."""
    tree = dashboards.errors(RootOfSumming(releases=1000))[0] / dashboards.binary_tree(1000)[0]
    ours = dashboards.errors(RootOfSumming(releases=120))[0]
    dense, least = ours / dashboards.best_dense(120)[0], ours / dashboards.least_largest(120)[0]
    print(f"\nLargest error at 120 releases, of the least that any factorisation can have: {least:.3f}")
    goals.at_most("largest error at 1,000 releases, of the binary tree's", tree, 0.35)
    goals.at_most("largest error at 120 releases, of the best dense factorisation's", dense, 1.04)


def seconds(call):
    """Return the processor time of a call."""
    begun = clock()
    call()
    return clock() - begun


def time_of_rounds(goals, rows):
    """Fit 20 columns on a DuckDB table, and compare with one scatter matrix in plain SQL on the same table."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        names = [f"x{i}" for i in range(20)]
        with duckdb.connect(str(place / "people.duckdb")) as database:
            columns = ", ".join(f"(hash(i * 31 + {j}) % 1025)::integer as {name}" for j, name in enumerate(names))
            database.execute(
                f"create table people as select i as id, {columns}, (hash(i * 7) % 2001)::integer as y "  # noqa: S608 - ours
                f"from range({rows}) t(i)"
            )
            every = [*names, "y"]
            sums = ", ".join(f"sum({a}::double * {b})" for k, a in enumerate(every) for b in every[k:])
            plain = min(seconds(lambda: database.execute(f"select {sums} from people").fetchall()) for _ in range(4))  # noqa: S608 - ours
        bounded = "\n".join(f'{name} = {{ type = "integer", low = 0, high = 1024 }}' for name in names)
        (place / "lapwing.toml").write_text(
            '[populations.all]\nperson_key = "id"\nbudget = { rho = "10" }\n[populations.all.tables.people]\n'
            'source = { duckdb = "people.duckdb", table = "people" }\nrows = "one"\n'
            "[populations.all.tables.people.columns]\n"
            f'{bounded}\ny = {{ type = "integer", low = 0, high = 2000 }}\n',
            encoding="utf-8",
        )
        with lw.create(place) as workspace:
            clinic = workspace.session()
            clinic.regress("people", "y ~ x1", where="x0 < 2", rho="0.001")  # modules and the database are loaded
            formula = f"y ~ {' + '.join(names)}"
            ours = min(
                seconds(lambda rho=rho: clinic.regress("people", formula, rho=rho)) for rho in ("1", "1.1", "1.2")
            )
    print(f"\nFive rounds of 20 columns on {rows:,} rows: {ours:.2f} s; one scatter matrix in SQL: {plain:.2f} s")
    goals.at_most(f"five rounds of 20 columns on {rows:,} rows, of one scatter in SQL", ours / plain, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", choices=["coverage", "sizes", "peers", "dashboards", "time"])
    options = parser.parse_args()
    goals = Goals()
    parts = {
        "coverage": lambda: coverage(goals, options.runs),
        "sizes": lambda: sizes(goals, max(options.runs, 2000)),
        "peers": lambda: beside_peers(goals, max(30, options.runs // 50)),
        "dashboards": lambda: over_time(goals),
        "time": lambda: time_of_rounds(goals, options.rows),
    }
    for name, part in parts.items():
        if not options.only or name in options.only:
            part()
    goals.close()


if __name__ == "__main__":
    sys.exit(main())
