"""Sentences for a custodian: where a budget promises too little, or allows too little to be useful."""

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from lapwing.accounting.interpretation import name_and_shame
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

_LARGE, _NO_FACTOR, _BEYOND_FLOATS = 10, Fraction(1, 100), 700
_MANY, _FEW = 1_000_000, 1_000
"""Where nobody says how many people there are: a budget that is too small for so many, or a delta too large for so few,
is so for nearly everybody."""


class Concern(Enum):
    """What there is to be said about a guarantee."""

    DELTA_REACHES_PEOPLE = "delta is not below 1/people"
    EPSILON_BELOW_USE = "epsilon is so small that nothing useful can come out"
    EPSILON_PROMISES_LITTLE = "epsilon is so large that little is promised"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAdvice:
    """A concern, in a sentence with its numbers, and what to do."""

    concern: Concern
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text}; {self.remedy}"


def advise(guarantee: Guarantee, people: int | None = None) -> tuple[BudgetAdvice, ...]:
    """Return what a custodian of `people` people should know about a guarantee; of any number of them, if not said.

    Examples
    --------
    >>> budget = ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 1000))
    >>> [advice.concern.name for advice in advise(budget, people=5000)]
    ['DELTA_REACHES_PEOPLE']
    >>> advise(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**9)), people=5000)
    ()
    >>> [advice.concern.name for advice in advise(PureDP(epsilon=Fraction(1, 10**7)))]
    ['EPSILON_BELOW_USE']
    """
    few, many = (_FEW, _MANY) if people is None else (as_int("people", people),) * 2
    delta = guarantee.delta if isinstance(guarantee, ApproximateDP) else Fraction(0)
    advice = []
    if delta * few >= 1:
        advice.append(_delta_reaches_people(delta, few))
    if _largest_change(guarantee, many) < 1:
        advice.append(_nothing_useful(guarantee, many))
    epsilon = guarantee.epsilon if isinstance(guarantee, PureDP | ApproximateDP) else Fraction(0)
    if epsilon >= _LARGE:
        advice.append(_little_promised(epsilon))
    return tuple(advice)


def _delta_reaches_people(delta: Fraction, people: int) -> BudgetAdvice:
    shamed = name_and_shame(people=people, delta=delta) if delta < 1 else None
    published = people if shamed is None else float(shamed.expected)
    return BudgetAdvice(
        concern=Concern.DELTA_REACHES_PEOPLE,
        text=f"delta = {float(delta):.3g} for {people:,} people allows a mechanism that publishes {published:,.3g} of "
        "them in the clear",
        remedy=f"choose delta far below 1/{people:,}, for example {0.01 / people:.1g}",
    )


def _nothing_useful(guarantee: Guarantee, people: int) -> BudgetAdvice:
    return BudgetAdvice(
        concern=Concern.EPSILON_BELOW_USE,
        text=f"with {_in_words(guarantee)} even exchanging all {people:,} people changes no probability by more than a "
        f"factor of {math.exp(_largest_change(guarantee, people)):.2f}: the answers would be noise",
        remedy=f"epsilon has to be well above 1/{people:,}; ask about more people, or allow a larger epsilon",
    )


def _little_promised(epsilon: Fraction) -> BudgetAdvice:
    return BudgetAdvice(
        concern=Concern.EPSILON_PROMISES_LITTLE,
        text=f"epsilon = {float(epsilon):.3g} lets an attacker's odds grow by a factor of {factor(epsilon)}",
        remedy="a promise that people can rely on has an epsilon of a few units at most",
    )


def factor(epsilon: Fraction) -> str:
    """Return e^epsilon for people to read."""
    if epsilon < _NO_FACTOR:
        return f"1 + {math.expm1(float(epsilon)):.1g}"
    return f"{math.exp(float(epsilon)):,.4g}" if epsilon < _BEYOND_FLOATS else f"e^{float(epsilon):.4g}"


def _in_words(guarantee: Guarantee) -> str:
    match guarantee:
        case PureDP(epsilon=epsilon):
            return f"epsilon {float(epsilon):.3g}"
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return f"epsilon {float(epsilon):.3g} and delta {float(delta):.3g}"
        case ConcentratedDP(rho=rho):
            return f"rho {float(rho):.3g}"
        case GaussianDP(mu_squared=mu_squared):
            return f"mu {math.sqrt(mu_squared):.3g}"


def _largest_change(guarantee: Guarantee, people: int) -> float:
    """Return the epsilon of the group of all people: below 1, the answers hardly depend on the data at all."""
    match guarantee:
        case PureDP(epsilon=epsilon) | ApproximateDP(epsilon=epsilon):
            return float(people * epsilon)
        case ConcentratedDP(rho=rho):
            return math.sqrt(2 * float(people**2 * rho))
        case GaussianDP(mu_squared=mu_squared):
            return math.sqrt(float(people**2 * mu_squared))
