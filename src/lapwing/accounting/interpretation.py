"""What epsilon means: what an attacker can come to believe, how often he can be right, what a custodian should know.

The promise of differential privacy is not that nothing is learned about Alice. It is that (almost) the same is learned
whether or not her data was used. The functions here put numbers to that.

Proof: proofs/interpretation.md
"""

import math
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import Generic, TypeVar

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Loss
from lapwing.vocabulary.exact import ROUND_OFF, Exact, as_int, float_above, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

INFORMED = "somebody who knows everybody else's data"
"""The attacker of `belief_range`. The beliefs of any other have no bound: they may learn about her from the others."""

Table = TypeVar("Table", bound=Hashable)


@frozen(kw_only=False)
class Worlds(Generic[Table]):
    """An attacker's posterior beliefs after an answer computed with, and one computed without, one person's data."""

    with_data: dict[Table, float]
    without_data: dict[Table, float]

    @property
    def distance(self) -> float:
        """The largest |log ratio| between the two beliefs: at most 2 epsilon (document 004, Theorem 2.1)."""
        return max(
            (_log_ratio(self.with_data[table], self.without_data[table]) for table in self.with_data), default=0.0
        )


def compare_worlds(
    prior: Mapping[Table, float], likelihood: Callable[[Table], float], without: Callable[[Table], Table]
) -> Worlds[Table]:
    """Return what an attacker believes after an answer, with and without one person's data.

    `prior` is what he believed before about the whole table, whose entries may depend on each other in any way;
    `likelihood` the probability of the answer he saw, had the mechanism run on a table; `without` makes of a table the
    one with the person's entry replaced by a default.

    Smoking causes cancer, or it does not; the study says it does, and it says so without Alice, too:

    >>> prior = {("linked", "sick"): 0.5, ("independent", "sick"): 0.25, ("independent", "well"): 0.25}
    >>> study = {"linked": 0.9, "independent": 0.1}
    >>> worlds = compare_worlds(prior, lambda table: study[table[0]], lambda table: (table[0], "unknown"))
    >>> round(worlds.with_data["linked", "sick"], 3), worlds.distance
    (0.9, 0.0)
    """
    if not prior or any(belief < 0 for belief in prior.values()) or not sum(prior.values()):
        remedy = "give non-negative beliefs, not all 0"
        raise ParameterError("prior", prior, reason="is not a distribution", remedy=remedy)
    seen = {table: likelihood(table) * belief for table, belief in prior.items()}
    unseen = {table: likelihood(without(table)) * belief for table, belief in prior.items()}
    return Worlds(_normalised(seen), _normalised(unseen))


def belief_range(prior: object, epsilon: object) -> tuple[float, float]:
    """Return the range of an attacker's belief afterwards, if he knows everybody's data but one person's.

    The odds of somebody who knows everybody else's data move by a factor of at most e^epsilon, in either direction,
    with the pure epsilon of everything he sees (`likely_loss` has one for other guarantees). The belief is that the
    person is in the table; where people are replaced, any statement about her record. Under `ADD_REMOVE` two
    records that she may have are two steps apart (one removed, one added): for a statement about what her record says,
    give twice the epsilon.

    >>> low, high = belief_range("0.5", 1)
    >>> round(low, 3), round(high, 3)
    (0.269, 0.731)
    """
    belief, e = float(probability("prior", prior)), float(positive("epsilon", epsilon))
    odds = math.log(belief / (1 - belief))
    return _share(odds - e), _share(odds + e)


def belief_drift(belief: object, epsilon: object) -> tuple[float, float]:
    """Return the range of an attacker's belief with a person's data used, if it is `belief` without.

    He may know anything beforehand, and people's data may depend on each other: the factor is e^(2 epsilon) (document
    004, Theorem 2.1), and it is attained.

    >>> low, high = belief_drift("0.01", "0.1")
    >>> round(low, 5), round(high, 5)
    (0.00819, 0.01221)
    """
    b, e = float(probability("belief", belief)), 2 * float(positive("epsilon", epsilon))
    if e > _BEYOND:
        return 0.0, 1.0
    low = max(b * math.exp(-e), 1 - (1 - b) * math.exp(e))
    high = min(b * math.exp(e), 1 - (1 - b) * math.exp(-e))
    return max(low * (1 - ROUND_OFF), 0.0), min(high * (1 + ROUND_OFF), 1.0)


def likely_loss(guarantee: Guarantee, but_for: Exact | None = None) -> tuple[float, Fraction]:
    """Return an epsilon, and a probability with which at most it is exceeded: for beliefs, where there is a delta.

    Only a pure epsilon bounds every belief. Under the others some rare answers reveal more: the privacy loss is above
    the returned epsilon with probability `but_for` at most, which has to be above delta; by default it is ten times
    delta, or one in a million where there is none. It is not delta itself: what (epsilon, delta) promises is that no
    event is likelier than e^epsilon times, and delta more.

    >>> likely_loss(PureDP(epsilon=Fraction(1)))
    (1.0, Fraction(0, 1))
    >>> epsilon, but_for = likely_loss(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    >>> round(epsilon, 4), but_for
    (1.1054, Fraction(1, 100000))
    >>> low, high = belief_range("0.5", epsilon)  # of who knows everybody else's data, but for one case in 100,000
    >>> round(high, 3)
    0.751

    Proof: proofs/interpretation.md
    """
    match guarantee:
        case PureDP(epsilon=epsilon):
            return float_above(epsilon), Fraction(0)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            chance = _chance(min(_TIMES_DELTA * delta, (1 + delta) / 2) if but_for is None else but_for, delta)
            return _raised(float(epsilon) - _log(1 - delta / chance)), chance
        case ConcentratedDP(rho=rho):
            half = rho
        case GaussianDP(mu_squared=mu_squared):
            half = mu_squared / 2
    chance = _chance(_ONE_IN_A_MILLION if but_for is None else but_for, Fraction(0))
    return _raised(float(half) + 2 * math.sqrt(-float(half) * _log(chance))), chance


def _log(number: Fraction) -> float:
    """Return the logarithm of a number from 0 to 1; near 1, where its digits would be lost, from its distance."""
    return math.log(number) if 2 * number < 1 else math.log1p(-float(1 - number))


def _chance(given: Exact, delta: Fraction) -> Fraction:
    chance = probability("but_for", given)
    if chance <= delta:
        remedy = "give a larger probability, ten times delta, say"
        raise ParameterError("but_for", given, reason=f"is not above delta, {float(delta):.3g}", remedy=remedy)
    return chance


def _raised(epsilon: float) -> float:
    return epsilon * (1 + ROUND_OFF)


_TIMES_DELTA, _ONE_IN_A_MILLION = 10, Fraction(1, 10**6)


def best_true_positive_rate(loss: Loss, false_positive_rate: object) -> float:
    """Return how often, at most, an attacker who sees the answers can rightly say "she is in it".

    `loss` is what he sees, priced; `false_positive_rate` how often he may say so wrongly.

    >>> from lapwing.accounting.pricing import price
    >>> from lapwing.vocabulary.event import PureRelease
    >>> loss = price(PureRelease(epsilon=Fraction(1)))
    >>> round(best_true_positive_rate(loss, "0.05"), 4)  # e times as often
    0.1359
    """
    rate = float(probability("false_positive_rate", false_positive_rate))

    def bound(epsilon: float) -> float:
        delta = loss.delta(epsilon)
        grown, left = math.exp(epsilon) * rate + delta, 1 - math.exp(-epsilon) * (1 - rate - delta)
        return min(grown, left, 1.0)

    highest = math.inf if loss.pure_epsilon is None else float_above(loss.pure_epsilon)
    highest = min(highest, loss.epsilon(rate * _NEGLIGIBLE) * (1 + 1e-9) + 1e-9, _HIGHEST)
    levels = [highest * step / _LEVELS for step in range(_LEVELS + 1)]
    best = min(range(_LEVELS + 1), key=lambda step: bound(levels[step]))
    low, high = levels[max(best - 1, 0)], levels[min(best + 1, _LEVELS)]
    for _ in range(_REFINEMENTS):  # every level gives a true bound; a better one gives a tighter bound
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if bound(left) <= bound(right) else (left, high)
    return min(1.0, min(bound(low), bound(high), bound(levels[best])) * (1 + ROUND_OFF))


_BEYOND = 700.0  # e to this is the end of floating point, and bounds nothing
_NEGLIGIBLE, _HIGHEST = 1e-6, 50.0
_LEVELS, _REFINEMENTS = 48, 24


@frozen()
class Shamed:
    """The damage of the name-and-shame mechanism among `people` people."""

    people: int
    delta: Fraction
    expected: Fraction  # how many are published in the clear, on average
    probability: float  # that at least one person is


def name_and_shame(*, people: int, delta: object) -> Shamed:
    """Return what a mechanism may do that is (0, delta)-DP, "delta-additively secret" (document 004, Exercise 2.3).

    It publishes each person's record with probability delta, in the clear. An attacker is certain about a published
    person, however unsure he was before: no factor bounds that. So delta has to be far below 1/people.

    >>> shamed = name_and_shame(people=10_000, delta="1e-3")
    >>> shamed.expected, round(shamed.probability, 4)
    (Fraction(10, 1), 1.0)
    """
    n, d = as_int("people", people), probability("delta", delta)
    return Shamed(people=n, delta=d, expected=n * d, probability=-math.expm1(n * math.log1p(-float(d))))


def _normalised(weights: dict[Table, float]) -> dict[Table, float]:
    total = math.fsum(weights.values())
    if total <= 0:
        remedy = "condition on an answer that is possible"
        raise ParameterError("likelihood", total, reason="is zero on every table", remedy=remedy)
    return {table: weight / total for table, weight in weights.items()}


def _log_ratio(one: float, two: float) -> float:
    if one == two:
        return 0.0
    return abs(math.log(one / two)) if one > 0 and two > 0 else math.inf


def _share(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > 0 else math.exp(log_odds) / (1 + math.exp(log_odds))


_LARGE, _NO_FACTOR, _BEYOND_WORDS, _THOUSANDS = 10, Fraction(1, 100), 34, 10**4
_UNITS = {"trillion": 10**12, "billion": 10**9, "million": 10**6}
# if the number of people is unknown: a budget too small for a million, or a delta too large for a thousand
_MANY, _FEW = 1_000_000, 1_000


def budget_concerns(guarantee: Guarantee, people: int | None = None) -> tuple[str, ...]:
    """Return what a custodian of `people` people should know about a guarantee; by default, of any number of people.

    >>> print(*budget_concerns(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 1000)), people=5000))
    delta = 0.001 for 5,000 people allows a mechanism that publishes 5 of them in the clear; choose delta far below
    1/5,000, for example 2e-06
    >>> budget_concerns(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**9)), people=5000)
    ()
    """
    few, many = (_FEW, _MANY) if people is None else (as_int("people", people),) * 2
    delta = guarantee.delta if isinstance(guarantee, ApproximateDP) else Fraction(0)
    likely, chance = likely_loss(guarantee)
    epsilon = guarantee.epsilon if isinstance(guarantee, PureDP | ApproximateDP) else Fraction(likely)
    concerns = []
    if delta * few >= 1:
        concerns.append(
            f"delta = {float(delta):.3g} for {few:,} people allows a mechanism that publishes "
            f"{float(few * delta):,.3g} of them in the clear; choose delta far below 1/{few:,}, for example "
            f"{0.01 / few:.1g}"
        )
    if (change := _largest_change(guarantee, many)) < 1:
        concerns.append(
            f"with {_in_words(guarantee)} even exchanging all {many:,} people changes no probability by more than a "
            f"factor of {math.exp(change):.2f}: the answers would be noise; epsilon has to be well above 1/{many:,}; "
            "ask about more people, or allow a larger epsilon"
        )
    if epsilon >= _LARGE:
        pure = isinstance(guarantee, PureDP)
        whose = f"epsilon = {float(epsilon):.3g}" if pure else f"a budget of {_in_words(guarantee)}"
        rare = "" if pure else f", but for one case in {int(1 / chance):,}"
        concerns.append(
            f"{whose} lets an attacker's odds grow by a factor of {factor(epsilon if pure else Fraction(likely))}, "
            f"those of {INFORMED}{rare}; a promise that people can rely on has an epsilon of a few units"
        )
    return tuple(concerns)


def factor(epsilon: Fraction) -> str:
    """Return e^epsilon for people to read.

    >>> [factor(Fraction(one)) for one in (1, 10, 20, 40)]
    ['2.718', '22,000', '485 million', 'e^40']
    """
    if epsilon < _NO_FACTOR:
        return f"1 + {math.expm1(float(epsilon)):.1g}"
    if epsilon >= _BEYOND_WORDS:
        return f"e^{float(epsilon):.4g}"
    number = math.exp(float(epsilon))
    for name, unit in _UNITS.items():
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:,.4g}" if number < _THOUSANDS else f"{float(f'{number:.3g}'):,.0f}"


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
