"""The door of lapwing, as an attacker uses it: real questions, asked of a real session, paid from its ledger."""

from collections.abc import Callable, Sequence
from datetime import date
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from lapwing.attacks.coins import Mask
from lapwing.queries.expressions import Condition, Value, col, condition
from lapwing.queries.statistics.counts import CountPeople, count
from lapwing.session import Session
from lapwing.vocabulary.exact import Exact, positive

Name: TypeAlias = int | str | date
"""What is public about a person, and nobody else's in the table: a date of birth, a number on a list."""


class AttackedDoor:
    """A session that is asked how many of some people have a trait.

    Parameters
    ----------
    session : an analyst at the door
    table : where the people are
    column : the public column by which the attacker tells them apart
    names : what that column holds for each person
    trait : the secret column
    epsilon : what the attacker offers for each question
    """

    name: Final = "lapwing"

    def __init__(
        self, session: Session, *, table: str, column: str, names: Sequence[Name], trait: str, epsilon: Exact
    ) -> None:
        self._session, self._table, self._column, self._names = session, table, column, tuple(names)
        self._trait, self.epsilon = trait, positive("epsilon", epsilon)
        self.free = 0
        """How many answers cost nothing, because they had been given before."""

    def question(self, members: Mask, *, spelling: int = 0) -> CountPeople:
        """Return the question about a cohort, written in one of many ways."""
        named = [self._names[person] for person in np.flatnonzero(members)]
        return count(self._table, spelled(spelling, col(self._column), named, condition(col(self._trait))))

    def count(self, members: Mask, *, spelling: int = 0) -> float:
        """Ask, and pay; refused with a BudgetError when the account is empty."""
        answer = self._session.ask(self.question(members, spelling=spelling), epsilon=self.epsilon)
        self.free += answer.free
        return float(answer.value)

    def margin(self, members: Mask) -> float:
        """Return how far off an answer is at most, 95 times in 100; it is free to know."""
        (margin,) = self._session.preview(self.question(members), epsilon=self.epsilon).margin.values()
        return float("nan") if margin is None else float(margin)

    @property
    def left(self) -> Fraction | None:
        """What the account has left."""
        return self._session.budget().left


Spelling: TypeAlias = Callable[[Value, Sequence[Name], Condition], Condition]

TRIVIAL: Final[tuple[Spelling, ...]] = (
    lambda public, names, trait: public.is_in([*names]) & trait,
    lambda public, names, trait: trait & public.is_in([*reversed(names)]),
    lambda public, names, trait: (public.is_in([*names[::2]]) | public.is_in([*names[1::2], *names[:1]])) & trait,
    lambda public, names, trait: ~~(trait & trait & public.is_in([*names, *names])),
    lambda public, names, trait: ~(~public.is_in([*names]) | ~trait),
)
"""Ways to write one question that are one question to lapwing, too: asked again, it gives what it gave, for nothing."""


def spelled(spelling: int, public: Value, names: Sequence[Name], trait: Condition) -> Condition:
    """Return a condition that is always the same, and looks different for each `spelling`.

    From the sixth on no two have the same canonical form ("ill, and ill or born by such a day"), so each is charged.
    """
    if not names:
        return trait & ~trait
    if spelling < len(TRIVIAL):
        return TRIVIAL[spelling](public, names, trait)
    padding = _other(names[0], spelling - len(TRIVIAL))
    return TRIVIAL[0](public, names, trait) & (trait | (public <= padding))


def _other(name: Name, number: int) -> Name:
    match name:
        case date():
            return date.fromordinal(date.max.toordinal() - 1 - number)
        case int():
            return 2**40 + number
        case str():
            return f"{name}{number}"
