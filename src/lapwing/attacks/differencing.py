"""Differencing: two cohorts that differ in one person, asked about once, or again and again.

Noise that two questions share cancels in their difference; where noise is remembered by the true size, answers differ
only if the sizes do. Fresh noise cancels in the mean: that of k answers of deviation s is off by s/sqrt(k), and once
that is small the two cohorts give the person away. The defence: an answer that is given once is given again, as it was,
and any other question is charged.

Proof: proofs/attacks.md
"""

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from scipy.special import ndtr

from lapwing.attacks.oracles import Answerer, Coins, Interrogation, Mask, Numbers, interrogate

EVERYBODY_MORE_OFTEN = 4  # the cohort of everybody is in every difference, so it is asked more often than the others


def ask_again_and_again(
    answerer: Answerer,
    people: int,
    targets: int,
    times: int,
    *,
    spellings: Sequence[int] = (0,),
    progress: Callable[[], None] = lambda: None,
) -> Interrogation:
    """Ask about everybody, and about everybody but each of the first `targets` people, `times` times each.

    The questions are written in `spellings`, in turn; `progress` is called after each answer.
    """
    rounds = [EVERYBODY_MORE_OFTEN * times] + [times] * targets
    cohorts = np.repeat(_all_but_each(people, targets), rounds, axis=0)
    turns = np.concatenate([np.arange(times_) for times_ in rounds])
    order = np.argsort(turns, kind="stable")  # round after round, so that who is refused has some of each
    written = [spellings[turn % len(spellings)] for turn in turns[order]]
    return interrogate(answerer, cohorts[order], spellings=written, progress=progress)


def guess_targets(heard: Interrogation, targets: int) -> Mask:
    """Guess which targets have the trait: those without whom the mean is smaller by more than a half."""
    left_out = np.where(heard.cohorts.all(axis=1), -1, np.argmin(heard.cohorts, axis=1))
    everybody = _mean(heard.answers[left_out == -1])
    return np.array([everybody - _mean(heard.answers[left_out == one]) > 1 / 2 for one in range(targets)])


def averaged_share(times: int, deviation: float) -> float:
    """Return the share of targets that averaging gets right, for fresh noise of this deviation.

    >>> round(averaged_share(6, 1.354), 3), round(averaged_share(100, 1.354), 4)
    (0.791, 0.9995)
    """
    return float(ndtr(sqrt(times / (1 + 1 / EVERYBODY_MORE_OFTEN)) / (2 * deviation)))


def _mean(answers: Numbers) -> float:
    return float(answers.mean()) if answers.size else 0.0


def _all_but_each(people: int, targets: int) -> Mask:
    cohorts = np.ones((1 + targets, people), dtype=bool)
    cohorts[1:][np.arange(targets), np.arange(targets)] = False
    return cohorts


def by_difference(
    answerer: Answerer, people: int, *, progress: Callable[[], None] = lambda: None
) -> tuple[Interrogation, Mask]:
    """Ask about everybody, and about everybody but each person; guess that whoever lowers the answer has the trait."""
    heard = interrogate(answerer, _all_but_each(people, people), progress=progress)
    guesses = np.zeros(people, dtype=bool)
    without = heard.answers[1:]
    guesses[: without.size] = heard.answers[:1] - without > 1 / 2
    return heard, guesses


def by_equality(answerer: Answerer, people: int, pairs: int, coins: Coins) -> tuple[Interrogation, Mask]:
    """Ask about groups of many sizes with and without each person; guess that whoever changes an answer has the trait.

    For each person there are `pairs` groups, which `coins` choose.
    """
    target = np.repeat(np.arange(people), pairs)
    share = np.tile(np.linspace(1 / 4, 1, pairs), people)
    groups = coins.uniforms(target.size, people) < share[:, None]
    cohorts = np.repeat(groups, 2, axis=0)
    rows = np.arange(target.size)
    cohorts[2 * rows, target], cohorts[2 * rows + 1, target] = True, False
    heard = interrogate(answerer, cohorts)
    answered = heard.answers[: heard.answers.size // 2 * 2].reshape(-1, 2)
    changed = answered[:, 0] != answered[:, 1]
    guesses: Mask = np.bincount(target[: changed.size], weights=changed, minlength=people) > 0
    return heard, guesses
