"""Linear reconstruction: ask about random groups of people, and solve for the people.

Each answer is a noisy linear equation in everybody's secret. Noise that is small against the square root of the number
of people leaves them solvable, however the noise is made (Dinur and Nissim 2003).

Proof: proofs/attacks.md

Irit Dinur and Kobbi Nissim, Revealing information while preserving privacy, PODS 2003. Cynthia Dwork, Frank McSherry
and Kunal Talwar, The price of privacy and the limits of LP decoding, STOC 2007.
"""

from math import sqrt
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import ndtr, ndtri

from lapwing.attacks.oracles import Coins, Interrogation, Mask, share_right

_SECRET_MEAN = 0.5
_RIDGE = 1e-6  # enough to make the shortest solution the only one; too little to move any other


def random_cohorts(people: int, questions: int, coins: Coins) -> Mask:
    """Return cohorts in which each person is with probability one half."""
    return coins.flips(questions, people)


def least_squares(heard: Interrogation) -> Mask:
    """Guess who has the trait from the least-squares solution; the shortest one where there are too few answers.

    >>> from lapwing.attacks.oracles import ExactAnswers, interrogate
    >>> trait = np.array([True, False, False, True])
    >>> heard = interrogate(ExactAnswers(trait), random_cohorts(4, 20, Coins(1, "cohorts")))
    >>> least_squares(heard).tolist()
    [True, False, False, True]
    """
    cohorts = heard.cohorts.astype(float)
    beyond = heard.answers - _SECRET_MEAN * cohorts.sum(axis=1)
    together = cohorts.T @ cohorts + _RIDGE * np.eye(cohorts.shape[1])
    return np.asarray(np.linalg.solve(together, cohorts.T @ beyond) > 0)


def linear_program(heard: Interrogation) -> Mask:
    """Guess who has the trait from secrets between 0 and 1 that miss the answers by the least in total (HiGHS)."""
    answered, people = heard.cohorts.shape
    cohorts, slack = sparse.csr_array(heard.cohorts.astype(float)), sparse.eye_array(answered, format="csr")
    above, below = sparse.hstack([cohorts, -slack]), sparse.hstack([-cohorts, -slack])
    constraints: Any = sparse.vstack([above, below]).tocsr()  # sparse is allowed, though the stubs know dense only
    solved = linprog(
        np.concatenate([np.zeros(people), np.ones(answered)]),
        A_ub=constraints,
        b_ub=np.concatenate([heard.answers, -heard.answers]),
        bounds=[(0, 1)] * people + [(0, None)] * answered,
        method="highs",
    )
    return np.asarray(np.asarray(solved.x)[:people] > _SECRET_MEAN)


def expected_share(people: int, questions: int, deviation: float) -> float:
    """Return the share of people whom least squares gets right, for noise of this deviation on each answer.

    A cohort's entries have variance 1/4, so a coordinate of the solution is off by a normal error of variance
    4 deviation^2/(questions - people), and wrong where that reaches 1/2.

    >>> round(expected_share(64, 256, 1.323), 3), round(expected_share(64, 256, 256 * 2**0.5), 3)
    (0.996, 0.504)
    """
    if questions <= people:
        return _SECRET_MEAN
    return float(ndtr(sqrt(questions - people) / (4 * deviation))) if deviation > 0 else 1.0


def questions_needed(people: int, deviation: float, share: float) -> float:
    """Return how many questions it takes to get this share of people right: people + (4 deviation Phi^-1(share))^2.

    >>> round(questions_needed(1000, 1.323, 0.99)), round(questions_needed(1000, 1000.0, 0.99))
    (1152, 86591...)
    """
    return people + (4 * deviation * float(ndtri(share))) ** 2


def measured_share(people: int, questions: int, deviation: float, coins: Coins, *, tables: int) -> float:
    """Return the share of made-up people whom least squares gets right, over several tables, with Laplace noise."""
    shares = []
    for _ in range(tables):
        trait, cohorts = coins.flips(people), random_cohorts(people, questions, coins)
        answers = cohorts @ trait.astype(float) + deviation / sqrt(2) * coins.laplaces(questions)
        heard = Interrogation(cohorts=cohorts, answers=answers, planned=questions)
        shares.append(share_right(least_squares(heard), trait))
    return float(np.mean(shares))
