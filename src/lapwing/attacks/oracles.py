"""Whom an attacker asks, and the one question he has: how many of these people have the trait.

The people are known to the attacker by something public, a date of birth say. A cohort is a mask over them: he can ask
about any group of them that he likes, because he can name each. Only the trait is secret.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from lapwing.attacks.coins import Mask, Numbers
from lapwing.vocabulary.errors import BudgetError


class Answerer(Protocol):
    """Whoever answers how many people of a cohort have the trait."""

    @property
    def name(self) -> str:
        """What to call it in a table."""

    def count(self, members: Mask, *, spelling: int = 0) -> float:
        """Return the number, as it is shown; or refuse with a BudgetError.

        Parameters
        ----------
        members : which people are asked about
        spelling : which of the ways to write the same question; what it asks does not depend on it
        """


@dataclass(frozen=True, slots=True, eq=False)
class ExactAnswers:
    """Counts as a database does.

    Examples
    --------
    >>> ExactAnswers(np.array([True, False, True])).count(np.array([True, True, False]))
    1.0
    """

    trait: Mask
    name: ClassVar[str] = "exact"

    def count(self, members: Mask, *, spelling: int = 0) -> float:
        """Return how many there are."""
        del spelling
        return float(np.count_nonzero(self.trait & members))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interrogation:
    """What an attacker has in hand when he is done, or was stopped.

    Parameters
    ----------
    cohorts : whom he has been answered about, one row an answer
    answers : what he was told
    planned : how many questions he had
    refusal : what stopped him
    """

    cohorts: Mask
    answers: Numbers
    planned: int
    refusal: BudgetError | None = None


def interrogate(
    answerer: Answerer, cohorts: Mask, *, progress: Callable[[], None] = lambda: None, spellings: Iterable[int] = ()
) -> Interrogation:
    """Ask one question after the other until all are answered, or one is refused.

    Parameters
    ----------
    answerer : who is asked
    cohorts : whom to ask about, one row a question
    progress : told of each answer
    spellings : how to write each question; all the same way where it is not given
    """
    answers, refusal = [], None
    for members, spelling in zip(cohorts, [*spellings] or [0] * len(cohorts), strict=True):
        try:
            answers.append(answerer.count(members, spelling=spelling))
        except BudgetError as no:
            refusal = no
            break
        progress()
    return Interrogation(
        cohorts=cohorts[: len(answers)], answers=np.array(answers, float), planned=len(cohorts), refusal=refusal
    )


def share_right(guesses: Mask, trait: Mask) -> float:
    """Return the share of people about whom the guess is right."""
    return float(np.mean(guesses == trait))
