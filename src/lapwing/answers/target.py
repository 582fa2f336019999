"""What an analyst is willing to pay, or wants to know how accurately: one target, said in one way.

Prices have few digits: an account adds them up exactly, and must stay short for ever. A price is a multiple of 1e-12,
or such a multiple divided by a number up to 64; one with more digits is rounded up to the next 1e-12, and it is said.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, TypedDict

from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.exact import (
    Exact,
    as_written,
    ceil_to_grid,
    exactly_one_of,
    positive,
    probability,
    require_words,
)
from lapwing.vocabulary.wording import Setting

SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(20)
"""Beyond these a price is a slip of the pen: noise of a billion people, or none in all but one of 2e8 answers."""
FINEST: Final = Fraction(1, 10**12)
_FINEST_DELTA: Final = Fraction(1, 10**24)
_PARTS: Final = math.lcm(*range(1, 65))


@dataclass(frozen=True, slots=True, kw_only=True)
class AtEpsilon:
    """Pay `epsilon`; where a `delta` is given with it, noise that needs one may be used."""

    epsilon: Fraction
    delta: Fraction | None = None

    def shared(self, parts: int) -> "AtEpsilon":
        """Return an equal share of the target."""
        delta = None if self.delta is None else share_of("delta", self.delta, parts, _FINEST_DELTA)
        return AtEpsilon(epsilon=share_of("epsilon", self.epsilon, parts), delta=delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRho:
    """Pay `rho`, by Gaussian noise."""

    rho: Fraction

    def shared(self, parts: int) -> "AtRho":
        """Return an equal share of the target."""
        return AtRho(rho=share_of("rho", self.rho, parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Pay as little as it takes for all numbers to be off by at most `margin`, with probability `confidence`."""

    margin: Fraction
    confidence: Fraction

    def shared(self, parts: int) -> "Within":
        """Return the target as it is: each part is wanted as accurately as the whole."""
        del parts
        return self


class TargetWords(TypedDict, total=False):
    """The words for a target: `epsilon`, `epsilon` with `delta`, `rho`, or `within` at a `confidence`."""

    epsilon: Exact
    delta: Exact
    rho: Exact
    within: Exact
    confidence: Exact


Target: TypeAlias = AtEpsilon | AtRho | Within


def parse_target(
    *,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    within: Exact | None = None,
    confidence: Exact = "0.95",
    **others: object,
) -> Target:
    """Return the one target that was said; refuse none, several, and prices out of range.

    >>> parse_target(epsilon="0.1")
    AtEpsilon(epsilon=Fraction(1, 10), delta=None)
    >>> parse_target(epsilon=0.1) == parse_target(epsilon="0.1")  # a float is read as it is written
    True
    >>> parse_target(within=20)
    Within(margin=Fraction(20, 1), confidence=Fraction(19, 20))
    >>> parse_target(epsilon="0.1", within=20)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: epsilon, within = ('0.1', 20) says the price more than once; ...
    """
    require_words(others, TargetWords.__annotations__)
    given = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": within}
    require_price(given)
    match exactly_one_of("price", given, ("epsilon",), ("epsilon", "delta"), ("rho",), ("within",)):
        case ("rho",):
            return AtRho(rho=plausible_price("rho", rho))
        case ("within",):
            return Within(margin=positive("within", as_written(within)), confidence=as_confidence(confidence))
        case _:
            chance = None if delta is None else short("delta", probability("delta", as_written(delta)), _FINEST_DELTA)
            return AtEpsilon(epsilon=plausible_price("epsilon", epsilon), delta=chance)


def require_price(given: Mapping[str, object]) -> None:
    """Refuse a question for which nothing is offered."""
    if all(value is None for value in given.values()):
        raise BadQuestionError(
            "say what to pay, ",
            Setting("epsilon", "0.1"),
            ", or how exact it must be, ",
            Setting("within", 20),
            "; a preview of either is free",
        )


def as_confidence(confidence: Exact) -> Fraction:
    """Return a confidence as an exact number; a float is read as it is written."""
    return probability("confidence", as_written(confidence))


def plausible_price(name: str, given: object) -> Fraction:
    """Return a price that somebody can have meant."""
    number = positive(name, as_written(given))
    if not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        raise ParameterError(
            name,
            given,
            reason="is out of range",
            remedy=f"stay between 1e-9 and {LARGEST_EPSILON}; common prices are 0.01 to 1",
        )
    return short(name, number)


def short(name: str, number: Fraction, finest: Fraction = FINEST) -> Fraction:
    """Return a price if it has few digits, or the next larger one that has, and say so.

    >>> short("epsilon", Fraction(1, 3)), short("epsilon", Fraction(1, 8))
    (Fraction(1, 3), Fraction(1, 8))
    """
    if _is_short(number, finest):
        return number
    rounded = ceil_to_grid(number, finest)
    warnings.warn(
        f"{name} is rounded up to {float(rounded):.13g}, by less than {float(finest):g}: prices have few digits",
        stacklevel=2,
    )
    return rounded


def share_of(name: str, number: Fraction, parts: int, finest: Fraction = FINEST) -> Fraction:
    """Return an equal part of a price, with few digits; all of them together are no more than the price.

    >>> share_of("epsilon", Fraction(1), 3), share_of("epsilon", Fraction(1), 71)
    (Fraction(1, 3), Fraction(7042253521, 500000000000))
    """
    share = number / parts
    if not _is_short(share, finest):
        share = math.floor(share / finest) * finest
    if not share:
        raise ParameterError(
            name, number, reason=f"is too little for {parts} parts", remedy=f"offer {float(parts * finest):g} or more"
        )
    return share


def _is_short(number: Fraction, finest: Fraction) -> bool:
    return (finest.denominator * _PARTS) % number.denominator == 0
