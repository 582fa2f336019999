"""What every filter answers, and the filters that add up: pure epsilons, or zero-concentrated rhos.

A filter is one promise, kept by saying no. It is a value: `weigh` says what a charge would do to it, or what it lacks;
`book` returns the filter after an admitted charge; `settle` the one after reserved amounts were spent or given back.


A sum is exact, and optimal for what it promises. It takes the denominators of all that is added to it, so amounts with
denominators of their own would let an account grow until nobody can write it. What is booked in a ledger is therefore a
multiple of one small fraction.

Proof: proofs/sum_filters.md
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, TypeAlias

from lapwing.accounting.filters.charge import Cost, refuse_below_zero
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event


@stored("accepted")
class Accepted:
    """What an admitted charge does to a filter beyond its cost; the part of a record that is trusted on replay.

    Parameters
    ----------
    residue : what the residue arm has left; `None` if there is no such arm, or none any more
    slack : what the certificate of the residue took from delta
    failure : what the release's own probability of failing took from delta
    """

    residue: float | None = None
    slack: Fraction = Fraction(0)
    failure: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        refuse_below_zero(self, "residue", "slack", "failure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Insufficient:
    """Why a charge does not fit: `asked` is more than `left`, or `None` where the currency has no price for it."""

    currency: str
    asked: Fraction | None
    left: Fraction


FilterDecision: TypeAlias = Accepted | Insufficient


_COMMON: Final = 2**1100 * 5**100 * math.lcm(*range(1, 65)) ** 2
"""What all denominators divide: those of decimals, of their parts up to 64, of the squares of these, and of floats."""


def require_carried(name: str, amount: Fraction | None) -> None:
    """Refuse an amount that is not a multiple of 1/`_COMMON`: sums of such amounts stay below 560 digits.

    Proof: proofs/sum_filters.md

    Examples
    --------
    >>> require_carried("epsilon", Fraction(1, 3))
    >>> require_carried("epsilon", Fraction(1, 10**9 + 7))
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: epsilon = '1/1000000007' has a denominator that an account cannot ...
    """
    if amount is not None and _COMMON % amount.denominator:
        raise ParameterError(
            name,
            str(amount),
            reason="has a denominator that an account cannot carry",
            remedy="offer a decimal with at most 12 digits after the point",
        )


@stored("pure-filter")
class PureFilter:
    """A pure budget: what is spent and what is reserved never exceeds `epsilon`.

    Every interaction that goes through it is `epsilon`-differentially private, whatever is asked after whatever answer
    and however streams are interleaved: the charge of a transcript is what it has *realised* (an opening and its
    yeses), not what was reserved. A privacy filter of realised losses, as in Rogers, Samorodnitsky, Wu and Ramdas 2023.

    Proof: proofs/sum_filters.md

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> from lapwing.accounting.filters.charge import cost_of_event
    >>> tenth = PureRelease(epsilon=Fraction(1, 10))
    >>> PureFilter(epsilon=Fraction(1, 5)).weigh(tenth, cost_of_event(tenth))
    Accepted(residue=None, slack=Fraction(0, 1), failure=Fraction(0, 1))
    >>> PureFilter(epsilon=Fraction(1, 20)).weigh(tenth, cost_of_event(tenth))
    Insufficient(currency='epsilon', asked=Fraction(1, 10), left=Fraction(1, 20))
    """

    epsilon: Fraction
    spent: Fraction = Fraction(0)
    reserved: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What is neither spent nor reserved; as an arm of two it may be below zero."""
        return self.epsilon - self.spent - self.reserved

    def weigh(self, event: Event, cost: Cost) -> FilterDecision:
        """Admit `cost` if it is pure and no more than what is left."""
        del event
        if cost.delta:
            return Insufficient(currency="delta", asked=cost.delta, left=Fraction(0))
        if cost.epsilon is None or cost.epsilon + cost.reserved > self.left:
            return Insufficient(currency="epsilon", asked=cost.whole, left=self.left)
        return Accepted()

    def require_carried(self, cost: Cost) -> None:
        """Refuse a cost whose sums would grow longer with every charge."""
        require_carried("epsilon", cost.epsilon)
        require_carried("epsilon", cost.reserved)

    def book(self, cost: Cost, step: Accepted) -> "PureFilter":
        """Add an admitted cost."""
        del step
        epsilon = _require_price("epsilon", cost.epsilon)
        return replace(self, spent=self.spent + epsilon, reserved=self.reserved + cost.reserved)

    def settle(self, *, spent: Fraction = Fraction(0), returned: Fraction = Fraction(0)) -> "PureFilter":
        """Return the filter after so much of what was reserved has been spent, or given back."""
        return replace(self, spent=self.spent + spent, reserved=self.reserved - spent - returned)


@stored("concentrated-filter")
class ConcentratedFilter:
    """A zero-concentrated budget: the rhos of all charges never exceed `rho`; streams pay whole at the opening.

    Every interaction that goes through it is `rho`-zCDP, whatever is asked after whatever answer (Feldman and Zrnic
    2021; Whitehouse, Ramdas, Rogers and Wu 2023, Theorem 1). Realised losses do not bound moments, so nothing is given
    back here.

    Proof: proofs/sum_filters.md
    """

    rho: Fraction
    spent: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What is not spent."""
        return self.rho - self.spent

    def weigh(self, event: Event, cost: Cost) -> FilterDecision:
        """Admit `cost` if it has a rho, and one that is no more than what is left."""
        del event
        if cost.rho is None or cost.rho > self.left:
            return Insufficient(currency="rho", asked=cost.rho, left=self.left)
        return Accepted()

    def require_carried(self, cost: Cost) -> None:
        """Refuse a cost whose sums would grow longer with every charge."""
        require_carried("rho", cost.rho)

    def book(self, cost: Cost, step: Accepted) -> "ConcentratedFilter":
        """Add an admitted cost."""
        del step
        return replace(self, spent=self.spent + _require_price("rho", cost.rho))

    def settle(self, **_: Fraction) -> "ConcentratedFilter":
        """Change nothing: the whole stream was paid at its opening."""
        return self


def _require_price(currency: str, amount: Fraction | None) -> Fraction:
    if amount is None:
        raise ParameterError(currency, amount, reason="is not a price", remedy="book only what was admitted")
    return amount
