"""The sparse vector against its textbook forms: how far off it is (computed, not sampled) and how fast it answers.

The error table is exact quadrature at epsilon 1 for 1000 questions: the smallest distance from the threshold at which
all 1000 are answered right with probability 0.9, if c of them lie so far above and the others so far below. No peer
library has an interactive sparse vector; the speed of the comparisons is set beside plain NumPy, and beside one OpenDP
Laplace release a question, which is what people build one from.
"""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from _report import Goals, rates, table
from lapwing.mechanisms.sparse_vector.pure import SparseVector
from lapwing.mechanisms.sparse_vector.stream_advice import Way, advise
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.guarantee import Adjacency

QUESTIONS, CONFIDENCE, GRID = 1000, "0.9", "1/64"
MOVES = {
    "general": ValueSensitivity.of_anything(sensitivity=1),
    "counts": ValueSensitivity.of_counts(Adjacency.ADD_REMOVE),
}
GOALS = {1: 0.55, 10: 0.36, 50: 0.32}

HALVES = {"noise": SparseVectorNoise.LAPLACE, "threshold_share": "1/2"}


def stream(yeses: int, moves: ValueSensitivity, *, epsilon: Fraction = Fraction(1), **changes) -> SparseVector:
    return SparseVector(epsilon=epsilon, yeses=yeses, threshold=0, sensitivity=moves, grid=GRID, **changes)


def margin(mechanism: SparseVector) -> float:
    return float(mechanism.margin(CONFIDENCE, questions=QUESTIONS))


def restarted(yeses: int, moves: ValueSensitivity) -> float:
    """AboveThreshold at epsilon/c, started anew after every yes; all c runs must be right."""
    run = stream(1, moves, epsilon=Fraction(1, yeses), **HALVES)
    each = float(CONFIDENCE) ** (1 / yeses)
    return float(run.margin(each, questions=(QUESTIONS - yeses) // yeses + 1))


def margins(yeses: int, moves: ValueSensitivity) -> dict[str, float]:
    advice = advise(
        questions=QUESTIONS,
        yeses=yeses,
        epsilon=1,
        delta="1e-6",
        sensitivity=moves,
        all_known=True,
        confidence=CONFIDENCE,
    )
    found = dict(advice.margins)
    return {
        "textbook: AboveThreshold, restarted": restarted(yeses, moves),
        "textbook: one threshold, halves": margin(stream(yeses, moves, **HALVES)),
        "two-sided, best split": margin(stream(yeses, moves, noise=SparseVectorNoise.LAPLACE)),
        "two-sided, best split, placed": margin(
            stream(yeses, moves, noise=SparseVectorNoise.LAPLACE).placed_for(QUESTIONS)
        ),
        "lapwing, centred": margin(stream(yeses, moves)),
        "lapwing, placed for 1000 questions": margin(stream(yeses, moves).placed_for(QUESTIONS)),
        "(1, 1e-6): lapwing, Gaussian": found[Way.GAUSSIAN_SPARSE_VECTOR],
        "(1, 1e-6): Gaussian noise on all": found[Way.GAUSSIAN_ON_ALL],
        "Laplace noise on all": found[Way.NOISE_ON_ALL],
        "all questions known: selection": found[Way.SELECTION],
    }


def errors(goals: Goals) -> None:
    columns = {(c, name): margins(c, moves) for c in GOALS for name, moves in MOVES.items()}
    rows = [[row, *(f"{column[row]:,.1f}" for column in columns.values())] for row in next(iter(columns.values()))]
    header = ["", *(f"{c} yeses, {name}" for c, name in columns)]
    table(f"Margin at epsilon 1: {QUESTIONS} questions, all right with probability {CONFIDENCE}", header, rows)
    for c, bound in GOALS.items():
        found = columns[c, "general"]
        ratio = found["lapwing, placed for 1000 questions"] / found["textbook: AboveThreshold, restarted"]
        goals.at_most(f"margin against the restarted textbook, {c} yeses", ratio, bound)


def speed(goals: Goals) -> None:
    dp.enable_features("contrib")
    below = np.full(10**7, -10_000)
    counts = SparseVector(epsilon=1, yeses=50, threshold=1000, sensitivity=MOVES["counts"])
    one = counts.open()
    insecure = np.random.default_rng(0)  # noqa: TID251 - a competitor
    laplace = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=50.0)

    def ask() -> None:
        one.ask(-10_000)

    def numpy_floats() -> bool:
        return bool((below + insecure.laplace(0.0, 68.0, below.size) >= 1000 + insecure.laplace(0.0, 3.9)).any())

    found = rates(
        {
            "lapwing, ask_many of 10^7": (lambda: counts.open().ask_many(below), below.size),
            "lapwing, ask": (ask, 1),
            "NumPy floats (insecure, porous), 10^7": (numpy_floats, below.size),
            "OpenDP, one Laplace release": (lambda: laplace(-10_000), 1),
        },
        rounds=3,
    )
    rows = [[name, f"{rate / 1e6:,.3f} M/s", f"{1e6 / rate:,.3f} us"] for name, rate in found.items()]
    table("Answers per CPU second", ["", "rate", "each"], rows)
    goals.at_least("ask_many over 10^7 values", found["lapwing, ask_many of 10^7"] / 1e6, 5, " M/s")
    goals.at_most("one ask", 1e6 / found["lapwing, ask"], 30, " us")


if __name__ == "__main__":
    all_goals = Goals()
    errors(all_goals)
    speed(all_goals)
    all_goals.close()
