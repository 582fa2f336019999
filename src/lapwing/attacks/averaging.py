"""Averaging: ask the same again and again, and let fresh noise cancel itself.

The mean of k answers with fresh noise of deviation s is off by s/sqrt(k). Once that is small, two cohorts that differ
in one person give that person away. Against it: an answer that is given once is given again, as it was, and whatever is
not the same question is charged.

Proof: proofs/attacks.md
"""

from collections.abc import Callable, Sequence
from math import sqrt

import numpy as np
from scipy.special import ndtr

from lapwing.attacks.coins import Mask, Numbers
from lapwing.attacks.oracles import Answerer, Interrogation, interrogate

EVERYBODY_MORE_OFTEN = 4
"""The cohort of everybody is in every difference, so it is asked more often than the others."""


def ask_again_and_again(
    answerer: Answerer,
    people: int,
    targets: int,
    times: int,
    *,
    spellings: Sequence[int] = (0,),
    progress: Callable[[], None] = lambda: None,
) -> Interrogation:
    """Ask about everybody, and about everybody but each of the first `targets` people, many times over.

    Parameters
    ----------
    answerer : who is asked
    people : how many people there are
    targets : how many of them to find out about
    times : how often each question is asked
    spellings : how to write it, in turn
    progress : told of each answer
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


def expected_share(times: int, deviation: float) -> float:
    """Return the share of targets that averaging gets right, for fresh noise of this deviation.

    Examples
    --------
    >>> round(expected_share(6, 1.354), 3), round(expected_share(100, 1.354), 4)
    (0.791, 0.9995)
    """
    return float(ndtr(sqrt(times / (1 + 1 / EVERYBODY_MORE_OFTEN)) / (2 * deviation)))


def _mean(answers: Numbers) -> float:
    return float(answers.mean()) if answers.size else 0.0


def _all_but_each(people: int, targets: int) -> Mask:
    cohorts = np.ones((1 + targets, people), dtype=bool)
    cohorts[1:][np.arange(targets), np.arange(targets)] = False
    return cohorts
