"""The mechanisms of the lectures beside published marginals, at one pure price: errors of cohort counts, in people.

Everybody is one of 5,544 cells of five columns; cohorts have one to three conditions. What each theorem promises stands
next to what happens.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from _report import clock, table
from lapwing.mechanisms import MWEM, DualQuery, GeometricMechanism, OnlineMultiplicativeWeights
from lapwing.publishing.measurements import geometric_cover, subsets
from lapwing.vocabulary.guarantee import PrivacyUnit

CODES = (11, 9, 7, 2, 4)
PEOPLE = 100_000
COHORTS = 400
EPSILON = 1


def made_up():
    """Return how many people are in each cell: a mixture of a few kinds of people, in which columns go together."""
    drawn = np.random.default_rng(1)  # noqa: TID251 - made-up people
    shares = np.zeros(CODES)
    for weight in drawn.dirichlet(np.ones(8)):
        parts = [drawn.dirichlet(np.full(n, 0.7)) for n in CODES]
        shares += weight * np.einsum("a,b,c,d,e->abcde", *parts)
    return drawn.multinomial(PEOPLE, shares.ravel() / shares.sum())


def cohorts():
    """Return the codes of each column that a cohort has, and all cohorts as truth values of cells."""
    drawn = np.random.default_rng(2)  # noqa: TID251 - public questions
    boxes = []
    for _ in range(COHORTS):
        box = {}
        for a in drawn.choice(len(CODES), drawn.integers(1, 4), replace=False):
            low, high = sorted(drawn.integers(0, CODES[a], 2))
            box[int(a)] = np.arange(low, high + 1)
        boxes.append(box)
    rows = np.zeros((COHORTS, *CODES), bool)
    for row, box in zip(rows, boxes, strict=True):
        row[np.ix_(*(box.get(a, np.arange(n)) for a, n in enumerate(CODES)))] = True
    return boxes, rows.reshape(COHORTS, -1)


def students(goals):
    """Print how far off each mechanism is, and hold it against its theorem."""
    people, (boxes, asked) = made_up(), cohorts()
    truth, rows = asked @ people, []
    given = {"questions": asked, "population": PEOPLE, "epsilon": EPSILON}

    def tell(name, promised, answer):
        start = clock()
        found = np.asarray(answer())
        off = np.abs(found - truth[: len(found)])
        promise = "-" if promised is None else f"{promised:,.0f}"
        shown = [f"{one:,.0f}" for one in (np.median(off), np.quantile(off, 0.95), off.max())]
        rows.append([name, f"{len(found)}", *shown, promise, f"{clock() - start:.2f}"])
        if promised is not None:
            goals.at_most(f"{name}: worst error, of what its theorem promises", off.max() / promised, 1)

    each = GeometricMechanism(l1_sensitivity=COHORTS, epsilon=EPSILON)
    tell("noise on each", None, lambda: each.release(truth))
    learner, printed = MWEM(**given, rounds=30, sweeps=5), MWEM(**given, rounds=30)
    tell("MWEM, 30 rounds", None, lambda: learner.release(people).counts(asked))
    tell("MWEM as printed, 30 rounds", printed.bound(), lambda: printed.release(people).counts(asked))
    plan = OnlineMultiplicativeWeights(
        cells=people.size, population=PEOPLE, threshold=6000, updates=60, epsilon=EPSILON
    )
    tell("online, 60 updates", plan.bound(COHORTS), lambda: [one.people for one in plan.release(people, asked)])
    maker = DualQuery(**given, rounds=100, draws=50)
    tell("DualQuery, 100 rounds", maker.bound(), lambda: maker.release(people).counts(asked))
    wanted = list(itertools.combinations(range(len(CODES)), 3))
    measured = geometric_cover(CODES, wanted, PrivacyUnit(person_key="id"), Fraction(EPSILON))
    tell("published triples", None, lambda: _published(measured, people, boxes))
    header = ["mechanism", "answered", "median", "95 %", "worst", "promised", "CPU s"]
    table(f"Lectures: {COHORTS} cohorts of {PEOPLE:,} people in {people.size:,} cells, epsilon {EPSILON}", header, rows)


def _published(measured, people, boxes):
    whole = people.reshape(CODES)
    counted = {
        axes: [int(one) for one in whole.sum(axis=tuple(a for a in range(len(CODES)) if a not in axes)).ravel()]
        for axes in measured.counted
    }
    residuals, answers = measured.residuals(measured.release(counted)), []
    for box in boxes:
        axes, total = tuple(sorted(box)), 0.0
        for inner in subsets(axes):
            spread = math.prod(len(box[a]) / CODES[a] for a in axes if a not in inner)
            total += spread * float(residuals[inner][np.ix_(*(box[a] for a in inner))].sum())
        answers.append(total)
    return answers
