"""Coverage of the intervals of regressions, and how much the noise costs: fresh outcomes and noise in every run.

    python benchmarks/analyses_regression.py --runs 200 --model logistic

A cell is a model, the kind of its columns, people, columns, epsilon and the rate of events. Half of the columns are
normal and correlated, half two-valued with 10 to 50 % ones. "good" columns fill their declared bounds, "wide" ones a
tenth of them, "skewed" ones are lognormal, clipped at their bounds, and of "rare" ones a two-valued column has 5 %
ones. Counts that are "overdispersed" have rates that a gamma law of shape 2 blurs.

Some models are wrong: "heavy" residuals have a t law with 3 degrees of freedom, "uneven" ones a spread that grows with
the first column, "bent" ones a mean with the square of that column, and of "omitted" ones a normal column of spread 1
is not in the model. True coefficients are then those of the fit without privacy on what is expected of the outcome.

Coverage is that of all slopes together, over the runs that did not say that they did not settle; error and length are
those over what the non-private fit has.
"""

import argparse
import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from lapwing.analyses.regression_course import Course
from lapwing.analyses.regression_fit import Estimates
from lapwing.analyses.regression_rounds import ColumnGrid
from lapwing.analyses.simulated_draws import draws_from
from lapwing.mechanisms.gaussian import smallest_variance
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.guarantee import PrivacyUnit

CELLS = {
    "linear": [
        ("good", 1000, 2, 3, 0),
        ("good", 1000, 5, 3, 0),
        ("good", 10_000, 5, 1, 0),
        ("rare", 10_000, 5, 1, 0),
        ("skewed", 10_000, 5, 1, 0),
        ("heavy", 10_000, 5, 1, 0),
        ("uneven", 10_000, 5, 1, 0),
        ("bent", 10_000, 5, 1, 0),
        ("wide", 10_000, 20, 1, 0),
        ("wide", 20_000, 50, 3, 0),
        ("good", 100_000, 5, 1, 0),
        ("good", 100_000, 5, 0.1, 0),
        ("wide", 100_000, 50, 1, 0),
        ("wide", 1_000_000, 5, 0.1, 0),
    ],
    "logistic": [
        ("good", 1000, 2, 3, 0.3),
        ("good", 2000, 5, 3, 0.3),
        ("good", 10_000, 5, 1, 0.3),
        ("rare", 10_000, 5, 1, 0.3),
        ("skewed", 10_000, 5, 1, 0.3),
        ("omitted", 10_000, 5, 1, 0.3),
        ("bent", 10_000, 5, 1, 0.3),
        ("good", 10_000, 5, 1, 0.05),
        ("good", 10_000, 5, 3, 0.05),
        ("good", 10_000, 20, 3, 0.3),
        ("wide", 30_000, 5, 1, 0.05),
        ("good", 30_000, 50, 3, 0.3),
        ("good", 100_000, 5, 1, 0.05),
        ("good", 100_000, 5, 0.3, 0.05),
        ("good", 100_000, 50, 1, 0.3),
        ("good", 1_000_000, 5, 0.1, 0.05),
    ],
    "poisson": [
        ("good", 10_000, 5, 1, 0.5),
        ("wide", 10_000, 5, 3, 0.5),
        ("skewed", 10_000, 5, 1, 0.5),
        ("overdispersed", 10_000, 5, 1, 0.5),
        ("good", 100_000, 5, 0.3, 0.05),
        ("overdispersed", 100_000, 5, 1, 0.5),
        ("good", 100_000, 20, 1, 0.5),
        ("overdispersed", 1_000_000, 5, 0.1, 0.5),
    ],
}
EXTENT = 1024
MOST_COUNT = 20


def made_columns(kind: str, people: int, columns: int, random: Any) -> Any:
    """Return columns on [-1, 1], on the grid that a declaration with 1025 values has."""
    many = columns // 2
    match kind:
        case "wide":
            real = -0.3 + 0.12 * random.standard_normal((people, many))
        case "skewed":
            real = np.exp(random.standard_normal((people, many)) * 0.8) / 4 - 1
        case _:
            together = 0.3 ** np.abs(np.subtract.outer(np.arange(many), np.arange(many)))
            real = 0.1 + 0.35 * random.standard_normal((people, many)) @ np.linalg.cholesky(together).T
    whole = np.rint((np.clip(real, -1, 1) + 1) / 2 * EXTENT)
    shares = np.linspace(0.05 if kind == "rare" else 0.1, 0.5, columns - many)
    two = random.random((people, columns - many)) < shares
    return np.column_stack([whole, two]).astype(np.int64)


def made_outcome(model: str, kind: str, z: Any, rate: float, random: Any) -> tuple[Any, Any]:
    """Return outcomes as whole numbers, and the true coefficients on [-1, 1]."""
    beta = random.standard_normal(z.shape[1])
    beta /= np.linalg.norm(beta) * z.std(axis=0)
    if model == "linear":
        beta, at = 0.1 * beta, 0.1 * z @ beta
        first = (-0.4 if kind == "wide" else 0.0) - at.mean()
        mean = first + at + (_bend(z, 0.05) if kind == "bent" else 0)
        y = np.clip(mean + 0.15 * _residuals(kind, z, random), -1, 1)
        right = np.concatenate([[first], beta])
        return np.rint((y + 1) / 2 * 4096).astype(np.int64), limit_of(model, z, mean) if kind == "bent" else right
    if model == "logistic":
        at = z @ beta + (_bend(z, 0.7) if kind == "bent" else 0)
        first = brentq(lambda a: expit(a + at[:5000]).mean() - rate, -30, 30)
        blurred = random.standard_normal(len(z)) if kind == "omitted" else 0
        y = (random.random(len(z)) < expit(first + at + blurred)).astype(np.int64)
        if kind not in {"omitted", "bent"}:
            return y, np.concatenate([[first], beta])
        nodes, chances = np.polynomial.hermite_e.hermegauss(24)
        spread = 1 if kind == "omitted" else 0
        expected = expit(first + at[:, None] + spread * nodes) @ (chances / chances.sum())
        return y, limit_of(model, z, expected)
    beta, at = 0.5 * beta, 0.5 * z @ beta
    first = math.log(rate) - math.log(np.exp(at).mean())
    rates = np.exp(first + at)
    if kind == "overdispersed":
        rates = rates * random.gamma(2.0, 0.5, len(rates))
    return np.minimum(random.poisson(rates), MOST_COUNT), np.concatenate([[first], beta])


def _bend(z: Any, much: float) -> Any:
    """Return the square of the first column, so scaled."""
    one = (z[:, 0] - z[:, 0].mean()) / z[:, 0].std()
    return much * (one**2 - 1)


def _residuals(kind: str, z: Any, random: Any) -> Any:
    """Return residuals of spread 1: normal, with heavy tails, or with a spread that grows with the first column."""
    if kind == "heavy":
        return random.standard_t(3, len(z)) / math.sqrt(3)
    normal = random.standard_normal(len(z))
    return normal * np.exp(0.5 * (z[:, 0] - 0.1) / 0.35 - 0.25) if kind == "uneven" else normal


def limit_of(model: str, z: Any, expected: Any) -> Any:
    """Return the coefficients that a fit has of what is expected of each outcome: those of a model that is wrong."""
    x = np.column_stack([np.ones(len(z)), z])
    if model == "linear":
        return np.linalg.lstsq(x, expected, rcond=None)[0]
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        p = expit(x @ beta)
        beta += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x, x.T @ (expected - p))
    return beta


def classical_errors(model: str, z: Any, beta: Any) -> Any:
    """Return the standard deviations that a non-private fit of the slopes has."""
    x = np.column_stack([np.ones(min(len(z), 8000)), z[:8000]])
    eta = x @ beta
    slopes = {"linear": np.full(len(x), 1 / 0.15**2), "logistic": expit(eta) * expit(-eta), "poisson": np.exp(eta)}[
        model
    ]
    return np.sqrt(np.diag(np.linalg.inv((x * slopes[:, None]).T @ x)) * len(x) / len(z))[1:]


def rho_of(epsilon: float, delta: str = "1e-6") -> Fraction:
    """Return the rho of Gaussian noise at an epsilon and a delta."""

    def noise(variance: Fraction) -> GaussianNoise:
        return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)

    return 1 / (2 * smallest_variance(noise, epsilon=epsilon, delta=delta))


def course_of(model: str, cell: Sequence[Any]) -> tuple[Course, tuple[int, ...]]:
    """Return the rounds of a cell, and the extents of its columns and its outcome."""
    _, _, columns, epsilon, _ = cell
    many = columns // 2
    outcome = {"linear": 4096, "logistic": 1, "poisson": MOST_COUNT}[model]
    extents = (*([EXTENT] * many), *([1] * (columns - many)), outcome)
    course = Course(
        grid=ColumnGrid(extents=extents),
        two_valued=tuple(range(many, columns)),
        model=model,
        outcome_low=0,
        rho=rho_of(epsilon),
        unit=PrivacyUnit(person_key="id"),
    )
    return course, extents


def fitted(course: Course, rows: Any) -> Estimates:
    """Return the estimates of all rounds on made-up rows."""

    def ask(_number: int, at: Any, build: Any) -> Any:
        asked = build(at)
        return {"at": at, "released": course.mechanism(asked).release(rows, asked.add)}

    return course.run(ask, 0.95)[0]


def measure_cell(model: str, cell: Sequence[Any], runs: int, *, quiet: bool = False) -> dict[str, float]:
    """Fit made-up people again and again, and tell what came of it."""
    kind, people, columns, epsilon, rate = cell
    random, (course, extents) = draws_from(11), course_of(model, cell)
    hits, lengths, errors, settled, began = [], [], [], [], time.process_time()
    whole = np.zeros((0, 0), np.int64)
    for run in range(runs):
        if run % 10 == 0:
            whole = made_columns(kind, people, columns, random)
        z = 2 * whole / np.array(extents[:-1]) - 1
        y, beta = made_outcome(model, kind, z, rate, random)
        found = fitted(course, np.column_stack([whole, y]))
        se = classical_errors(model, z, beta)
        hits.append(((found.low <= beta) & (beta <= found.high))[1:])
        lengths.append(np.median((found.high - found.low)[1:] / 3.92 / se))
        errors.append(np.mean(((found.beta - beta)[1:] / se) ** 2))
        settled.append(found.settled)
    hit, good = np.array(hits), np.array(settled)
    told = {
        "coverage": float(hit[good].mean()) if good.any() else math.nan,
        "all": float(hit.mean()),
        "worst": float(hit[good].mean(0).min()) if good.any() else math.nan,
        "error": math.sqrt(np.median(errors)),
        "root_mean_square": math.sqrt(np.mean(errors)),
        "length": float(np.median(lengths)),
        "unsettled": 1 - float(good.mean()),
    }
    if not quiet:
        print(
            f"{model:8} {kind:13} n={people:7} d={columns:2} epsilon={epsilon:4} rate={rate:4} | coverage "
            f"{told['coverage']:.3f} (all {told['all']:.3f}, worst column {told['worst']:.3f}) | error / non-private: "
            f"median {told['error']:.2f}, root mean square {told['root_mean_square']:.2f} | length "
            f"x{told['length']:.2f} | did not settle {told['unsettled']:.3f} | {runs} runs, "
            f"{(time.process_time() - began) / runs:.3f} s each",
            flush=True,
        )
    return told


def main() -> None:
    """Measure the cells of one model, or of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--model", choices=sorted(CELLS))
    parser.add_argument("--cell", type=int, help="only the cell of this place")
    options = parser.parse_args()
    for model in [options.model] if options.model else CELLS:
        cells = CELLS[model] if options.cell is None else [CELLS[model][options.cell]]
        for cell in cells:
            measure_cell(model, cell, options.runs)


if __name__ == "__main__":
    main()
