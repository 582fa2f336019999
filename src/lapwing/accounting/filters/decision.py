"""What a filter answers when a charge is put before it: the step it would take, or what is missing."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeAlias

from lapwing.accounting.filters.cost import Cost, refuse_below_zero
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.event import Event


@stored("accepted")
@dataclass(frozen=True, slots=True, kw_only=True)
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


class Filter(Protocol):
    """One promise, kept by saying no. Immutable: booking returns the filter after it."""

    def weigh(self, event: Event, cost: Cost) -> FilterDecision:
        """Return what booking `event` at `cost` would do, or why it is refused."""

    def book(self, cost: Cost, step: Accepted) -> Self:
        """Return the filter after `cost` was admitted with `step`."""

    def settle(self, amount: Fraction) -> Self:
        """Return the filter after `amount` of what was reserved has been spent."""

    def release(self, amount: Fraction) -> Self:
        """Return the filter after `amount` of what was reserved has been given back."""
