"""Whom an attacker asks, and the one question he has: how many of these people have the trait.

The people are known to the attacker by something public, a date of birth say. A cohort is a mask over them: he can ask
about any group of them that he likes, because he can name each. Only the trait is secret.
"""

from collections.abc import Callable, Iterable
from hashlib import shake_256
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from lapwing.vocabulary.errors import BudgetError
from lapwing.vocabulary.frozen import frozen

Numbers: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

_BYTES = 8
_LOWEST_BITS = 11  # a double holds 53 bits: of 64 the lowest 11 are dropped


class Coins:
    """Chance for those who attack and those who are attacked: the same for the same seed, on every machine.

    The numbers are SHAKE256 of the seed, of what they are for, and of how many draws went before. Nothing here protects
    anybody: the noise of lapwing is drawn in `lapwing.noise`, and no attack can seed it.

    Two purposes share nothing.

    >>> bool((Coins(1, "cohorts").flips(5) == Coins(1, "cohorts").flips(5)).all())
    True
    >>> float(Coins(1, "cohorts").uniforms(10_000).mean().round(1))
    0.5
    """

    def __init__(self, seed: int, purpose: str) -> None:
        self._prefix, self._drawn = f"lapwing attacks/{seed}/{purpose}/", 0

    def flips(self, *shape: int) -> Mask:
        """Return fair coins."""
        count = int(np.prod(shape))
        bits = np.frombuffer(self._bytes(-(-count // 8)), dtype=np.uint8)
        return np.unpackbits(bits, count=count).astype(bool).reshape(shape)

    def uniforms(self, *shape: int) -> Numbers:
        """Return numbers strictly between 0 and 1."""
        words = np.frombuffer(self._bytes(_BYTES * int(np.prod(shape))), dtype="<u8") >> np.uint64(_LOWEST_BITS)
        return (words.astype(np.float64) + 0.5).reshape(shape) * 2.0 ** (_LOWEST_BITS - 8 * _BYTES)

    def normals(self, *shape: int) -> Numbers:
        """Return numbers of the normal law with mean 0 and deviation 1."""
        return np.asarray(ndtri(self.uniforms(*shape)))

    def laplaces(self, *shape: int) -> Numbers:
        """Return numbers of the Laplace law with scale 1."""
        centred = self.uniforms(*shape) - 0.5
        return np.asarray(-np.sign(centred) * np.log1p(-2 * np.abs(centred)))

    def _bytes(self, count: int) -> bytes:
        self._drawn += 1
        return shake_256(f"{self._prefix}{self._drawn}".encode()).digest(count)


class Answerer(Protocol):
    """A system that answers how many people of a cohort have the trait."""

    @property
    def name(self) -> str:
        """Its name in a table."""

    def count(self, members: Mask, *, spelling: int = 0) -> float:
        """Return the number, as it is shown; or refuse with a BudgetError.

        `spelling` is which of the ways to write the same question; what it asks does not depend on it.
        """


@frozen(kw_only=False, eq=False)
class ExactAnswers:
    """Counts as a database does.

    >>> ExactAnswers(np.array([True, False, True])).count(np.array([True, True, False]))
    1.0
    """

    trait: Mask
    name: ClassVar[str] = "exact"

    def count(self, members: Mask, *, spelling: int = 0) -> float:
        """Return how many there are."""
        del spelling
        return float(np.count_nonzero(self.trait & members))


@frozen(eq=False)
class Interrogation:
    """The answers that an attacker has when he is done, or was stopped by a refusal, with their cohorts.

    `cohorts` has one row for each answer; `planned` is how many questions he had.
    """

    cohorts: Mask
    answers: Numbers
    planned: int
    refusal: BudgetError | None = None


def interrogate(
    answerer: Answerer, cohorts: Mask, *, progress: Callable[[], None] = lambda: None, spellings: Iterable[int] = ()
) -> Interrogation:
    """Ask one question after the other until all are answered, or one is refused.

    `cohorts` has one row a question; all are written the same way where no `spellings` are given.
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
