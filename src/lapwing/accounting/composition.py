"""Several releases on the same people: what they cost together, by every rule that applies.

`compose` is for comparing and explaining. Its best line is true of releases whose parameters were fixed in advance. The
advanced theorem is there to be compared: it is often worse than adding up, and never better than the optimal
composition, so nothing in lapwing is priced by it.

Proof: proofs/classical_composition.md
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from lapwing.accounting.pricing import PricedLoss, price
from lapwing.accounting.renyi import curve, epsilon_from_renyi, epsilon_from_rho
from lapwing.accounting.window import MOST_USES, optimal_epsilon
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease, Composed, Event, Repeated
from lapwing.vocabulary.exact import ROUND_OFF, as_int, float_above, float_below, positive, probability


def advanced_epsilon(*, epsilon: float, times: int, delta: float, delta_each: float = 0.0) -> float:
    """Return epsilon sqrt(2 k ln(1/delta')) + k epsilon (e^epsilon - 1), delta' = delta - k delta_each, rounded up.

    This is Theorem 4 of document 000 and Theorem 2.1 of document 001 (Dwork, Rothblum and Vadhan 2010), for k = `times`
    releases that are (epsilon, delta_each)-DP each. Infinite if the deltas of the releases already use up `delta`.

    At epsilon = 1/2 a hundred times, it promises less than adding up does:

    >>> round(advanced_epsilon(epsilon=0.5, times=100, delta=1e-6), 1), 0.5 * 100
    (58.7, 50.0)
    """
    e, k = float(positive("epsilon", epsilon)), as_int("times", times)
    left = float(probability("delta", delta)) - k * delta_each
    if left <= 0:
        return math.inf
    return (e * math.sqrt(-2 * k * math.log(left)) + k * e * math.expm1(e)) * (1 + ROUND_OFF)


class CompositionRule(Enum):
    """The rules by which costs add up."""

    BASIC = "adding up epsilon and delta"
    ADVANCED = "advanced composition"
    OPTIMAL = "optimal composition of equal releases"
    CONCENTRATED = "adding up zCDP"
    RENYI = "adding up Renyi divergences"
    DISTRIBUTION = "privacy loss distribution"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedCost:
    """What one rule says: all releases together are (epsilon, delta)-differentially private."""

    rule: CompositionRule
    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleComparison:
    """What every rule that applies says, the best first."""

    costs: tuple[ComposedCost, ...]

    @property
    def best(self) -> ComposedCost:
        """The least cost."""
        return self.costs[0]

    def by(self, rule: CompositionRule) -> ComposedCost | None:
        """Return what `rule` says, or None where it does not apply."""
        return next((cost for cost in self.costs if cost.rule is rule), None)

    def __str__(self) -> str:
        width = max(len(cost.rule.value) for cost in self.costs)
        return "\n".join(f"{c.rule.value:<{width}}  epsilon {c.epsilon:.6g}  delta {c.delta:.3g}" for c in self.costs)


def compose(events: Iterable[Event], *, delta: object) -> RuleComparison:
    """Return what `events` cost together on the same people, at one delta.

    Their parameters are fixed in advance; which of them is asked next may depend on earlier answers.

    A hundred Laplace releases at a tenth each: knowing the noise beats knowing epsilon only.

    >>> from fractions import Fraction
    >>> from lapwing.vocabulary.event import LaplaceNoise
    >>> hundred = Repeated(part=LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(10)), times=100)
    >>> print(compose([hundred], delta="1e-6"))
    privacy loss distribution              epsilon 4.69267  delta 1e-06
    optimal composition of equal releases  epsilon 4.77457  delta 1e-06
    adding up Renyi divergences            epsilon 4.99613  delta 1e-06
    adding up zCDP                         epsilon 5.12491  delta 1e-06
    advanced composition                   epsilon 6.30823  delta 1e-06
    adding up epsilon and delta            epsilon 10  delta 1e-06
    """
    releases, at = _Releases.of(events), float_below(probability("delta", delta))
    costs = [ComposedCost(rule=rule, epsilon=releases.epsilon(rule, at), delta=at) for rule in CompositionRule]
    applying = [cost for cost in costs if math.isfinite(cost.epsilon)]
    return RuleComparison(costs=tuple(sorted(applying or costs, key=lambda cost: cost.epsilon)))


@dataclass(frozen=True, slots=True)
class _Releases:
    """Single releases, with how often each is made, and what they cost alone and together."""

    uses: dict[Event, int]
    alone: dict[Event, PricedLoss]
    together: PricedLoss

    @classmethod
    def of(cls, events: Iterable[Event]) -> "_Releases":
        uses = taken_apart(Counter(events))
        if not uses:
            raise ParameterError("events", (), reason="is empty", remedy="name at least one event")
        together = price(Composed(parts=tuple(Repeated(part=event, times=times) for event, times in uses.items())))
        return cls(uses, {event: price(event) for event in uses}, together)

    def epsilon(self, rule: CompositionRule, delta: float) -> float:
        """Return the epsilon at `delta` by `rule`; infinity where the rule does not apply."""
        match rule:
            case CompositionRule.BASIC:
                return self._basic(delta)
            case CompositionRule.ADVANCED:
                return self._advanced(delta)
            case CompositionRule.OPTIMAL:
                return self._optimal(delta)
            case CompositionRule.CONCENTRATED:
                return math.inf if self.together.rho is None else epsilon_from_rho(self.together.rho, delta)
            case CompositionRule.RENYI:
                return epsilon_from_renyi(curve(self.together.renyi), delta)
            case CompositionRule.DISTRIBUTION:
                return self.together.epsilon(delta)

    def _basic(self, delta: float) -> float:
        """Add up epsilons: what has none is taken at an equal share of the delta that the others leave."""
        stated = [(self._stated(event), times) for event, times in self.uses.items()]
        left = Fraction(delta) - sum(each[1] * times for each, times in stated if each is not None)
        sharing = sum(times for each, times in stated if each is None)
        if left < 0 or (sharing and left <= 0):
            return math.inf
        total = float_above(Fraction(sum(each[0] * times for each, times in stated if each is not None)))
        for event, times in self.uses.items():
            if self._stated(event) is None:
                total += times * self.alone[event].epsilon(float(left) / sharing * (1 - ROUND_OFF))
        return total

    def _advanced(self, delta: float) -> float:
        stated = [self._stated(event) for event in self.uses]
        known = [each for each in stated if each is not None]
        if len(known) < len(stated):
            return math.inf
        worst, lost = max(each[0] for each in known), max(each[1] for each in known)
        times = sum(self.uses.values())
        return advanced_epsilon(epsilon=float_above(worst), times=times, delta=delta, delta_each=float_above(lost))

    def _optimal(self, delta: float) -> float:
        stated = {self._stated(event) for event in self.uses}
        times = sum(self.uses.values())
        each = stated.pop()
        if stated or each is None or times > MOST_USES:
            return math.inf
        return optimal_epsilon(epsilon=each[0], times=times, delta=delta, delta_each=each[1])

    def _stated(self, event: Event) -> tuple[Fraction, Fraction] | None:
        """Return the (epsilon, delta) that is all the classical rules know of a release, if it has one."""
        if isinstance(event, ApproximateRelease):
            return event.epsilon, event.delta
        pure = self.alone[event].pure_epsilon
        return None if pure is None else (pure, Fraction(0))


def taken_apart(events: Mapping[Event, int]) -> dict[Event, int]:
    """Return the releases that are made, each with how often: plans and repetitions are taken apart."""
    uses: dict[Event, int] = {}
    for event, repeated in events.items():
        inner = {event: 1}
        if isinstance(event, Composed):
            inner = taken_apart(Counter(event.parts))
        elif isinstance(event, Repeated):
            inner = taken_apart({event.part: as_int("times", event.times)})
        for release, times in inner.items():
            uses[release] = uses.get(release, 0) + times * repeated
    return uses
