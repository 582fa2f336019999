"""Which of thousands of pairs of features are correlated? Only the pairs that are found are paid for.

This is the other use that lectures name for the sparse vector technique. Pearson's coefficient cannot be asked: one
person can move it from 0 to 1 where a feature hardly varies. The score asked here moves by a bounded amount, whoever
comes or goes (proofs/correlation_sensitivity.md), and is at least 0 only where the correlation is what was asked for.

    python examples/correlation_screening.py
"""

from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from lapwing import Adjacency
from lapwing.mechanisms import CorrelationScreen, Sensitive, SparseVector, advise

PEOPLE, FEATURES = 20_000, 80
PLANTED = [(3, 40), (7, 8), (12, 71), (20, 66), (33, 34), (50, 79)]
"""The pairs of features that are correlated, by about 0.8; all others are not."""


def survey() -> NDArray[np.float64]:
    """Return made-up answers between -1 and 1, always the same: one row a person."""
    noise = np.frombuffer(shake_256(b"a survey").digest(PEOPLE * FEATURES), np.int8) / 128
    table = noise.reshape(PEOPLE, FEATURES).copy()
    for first, second in PLANTED:
        table[:, second] = 0.8 * table[:, first] + 0.6 * table[:, second]
    return table


def screening() -> tuple[CorrelationScreen, SparseVector]:
    """Return the score of a pair, and the stream that asks whether it reaches a correlation of 0.5."""
    screen = CorrelationScreen(at_least="0.5")
    pairs = len(screen.pairs(FEATURES))
    stream = SparseVector(epsilon=1, yeses=10, threshold=0, sensitivity=screen.sensitivity(Adjacency.ADD_REMOVE))
    return screen, stream.placed_for(pairs)


def find(table: Sensitive[NDArray[np.float64]]) -> tuple[list[tuple[int, int]], float]:
    """Return the pairs that got a yes, and what that cost."""
    screen, mechanism = screening()
    with mechanism.open(name="screening") as stream:
        answers = stream.ask_many(screen.scores(table))
        return [screen.pairs(FEATURES)[at] for at in answers.positions], float(stream.spent or 0)


def main() -> None:
    """Screen all pairs, and say what else could have been done at the same price."""
    screen, mechanism = screening()
    pairs = len(screen.pairs(FEATURES))
    one_feature = PEOPLE * screen.resolution**2 / 3  # the sum of squares of a feature that is spread evenly
    one_correlation = 2 * screen.at_least.denominator * one_feature  # what a score counts, in steps of its lattice
    margin = float(mechanism.margin(questions=pairs)) / one_correlation
    print(f"{pairs} pairs; correlation at least {float(screen.at_least)}, with 95 % never wrong by over {margin:.2f}")
    found, spent = find(Sensitive(survey()))
    for first, second in found:
        print(f"  feature {first:2} and feature {second:2}")
    print(f"epsilon {spent:.3f} spent for {len(found)} yeses; {pairs - len(found)} noes were free\n")
    advice = advise(questions=pairs, yeses=10, epsilon=1, sensitivity=screen.sensitivity(Adjacency.ADD_REMOVE))
    for way, steps in advice.margins:
        print(f"{advice.times(way):6.2f}x  +-{steps / one_correlation:.2f}  {way.value}")


if __name__ == "__main__":
    main()
