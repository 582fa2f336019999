"""Differencing: two cohorts that differ in one person.

Noise that two questions share cancels in their difference; noise that is remembered by the true size says, by being
equal, that the sizes are.
"""

from collections.abc import Callable

import numpy as np

from lapwing.attacks.coins import Coins, Mask
from lapwing.attacks.oracles import Answerer, Interrogation, interrogate


def by_difference(
    answerer: Answerer, people: int, *, progress: Callable[[], None] = lambda: None
) -> tuple[Interrogation, Mask]:
    """Ask about everybody, and about everybody but each person; guess that whoever lowers the answer has the trait."""
    cohorts = np.concatenate([np.ones((1, people), dtype=bool), ~np.eye(people, dtype=bool)])
    heard = interrogate(answerer, cohorts, progress=progress)
    guesses = np.zeros(people, dtype=bool)
    without = heard.answers[1:]
    guesses[: without.size] = heard.answers[:1] - without > 1 / 2
    return heard, guesses


def by_equality(
    answerer: Answerer, people: int, pairs: int, coins: Coins, *, progress: Callable[[], None] = lambda: None
) -> tuple[Interrogation, Mask]:
    """Ask about groups of many sizes with and without each person; guess that whoever changes an answer has the trait.

    Parameters
    ----------
    answerer : who is asked
    people : how many people there are
    pairs : how many groups are asked about, twice each, for one person
    coins : which groups
    progress : told of each answer
    """
    target = np.repeat(np.arange(people), pairs)
    share = np.tile(np.linspace(1 / 4, 1, pairs), people)
    groups = coins.uniforms(target.size, people) < share[:, None]
    cohorts = np.repeat(groups, 2, axis=0)
    rows = np.arange(target.size)
    cohorts[2 * rows, target], cohorts[2 * rows + 1, target] = True, False
    heard = interrogate(answerer, cohorts, progress=progress)
    answered = heard.answers[: heard.answers.size // 2 * 2].reshape(-1, 2)
    changed = answered[:, 0] != answered[:, 1]
    guesses: Mask = np.bincount(target[: changed.size], weights=changed, minlength=people) > 0
    return heard, guesses
