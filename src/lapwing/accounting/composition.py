"""Several releases on the same people: what they cost together, by every rule that applies.

`compose` is for comparing and explaining. Its best line is true of releases whose parameters were fixed in advance. The
advanced theorem is there to be compared: it is often worse than adding up, and never better than the optimal
composition, so nothing in lapwing is priced by it.

`planned_total` is the same for the whole book of an account: a number to look at, which gates nothing. For a list that
was fixed in advance it is a guarantee, and a tight one. For a list that was chosen on the way it is none: an adversary
who stops by such a total passes it several times over (docs/decisions/admission.md). It is not an odometer in the sense
of Rogers, Roth, Ullman and Vadhan 2016, which would hold at all times; the guarantee is the account's budget, and
filters keep it.

Proof: proofs/classical_composition.md
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

from lapwing.accounting.conversions import curve, epsilon_from_renyi, epsilon_from_rho
from lapwing.accounting.filters.account import Account, Admission, Booking
from lapwing.accounting.filters.charge import Reservation
from lapwing.accounting.pricing import PricedLoss, price, product
from lapwing.accounting.window import MOST_USES, optimal_epsilon
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    Event,
    GaussianSparseVectorRelease,
    Repeated,
)
from lapwing.vocabulary.exact import ROUND_OFF, as_int, float_above, float_below, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP
from lapwing.vocabulary.results import Result
from lapwing.vocabulary.wording import format_exact


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


@frozen()
class ComposedCost:
    """The bound of one composition rule: all releases together are (epsilon, delta)-differentially private."""

    rule: CompositionRule
    epsilon: float
    delta: float


@frozen()
class RuleComparison:
    """The bounds of all rules that apply, the best first."""

    costs: tuple[ComposedCost, ...]

    @property
    def best(self) -> ComposedCost:
        """The least cost."""
        return self.costs[0]

    def by(self, rule: CompositionRule) -> ComposedCost | None:
        """Return the bound of `rule`, or None where it does not apply."""
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


@frozen(kw_only=False)
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
        """Add up epsilons: a release without one is converted at an equal share of the delta that the others leave."""
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
        """Return the (epsilon, delta) of a release for the classical rules, if it has one."""
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


MOST_BOOKINGS = 5000  # of a longer book nothing is computed: reading it would take the better part of a second
_USUAL_DELTA = Fraction(1, 10**6)
_MOST_COMPOSED, _MOST_ADDED = 32, 256  # how many different releases are composed, or their rhos added up, in a moment
_SLOW = {GaussianSparseVectorRelease: 16, DiscreteGaussianNoise: 8}  # as many others are priced in the same time


@frozen()
class PlannedTotal(Result):
    """The `epsilon`, at `delta`, of all releases of an account together, had their parameters been fixed in advance.

    `epsilon` is None where the releases, or the different ones among them, are too many to be composed in a moment; it
    is infinite where what they may fail by adds up to more than `delta`. With `streams` that are paid per yes among
    them, it is that of all yeses, given or not: more than what was spent, perhaps.
    """

    epsilon: float | None
    delta: Fraction
    streams: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; an epsilon that is infinite, or was not computed, is null."""
        epsilon = self.epsilon if self.epsilon is not None and math.isfinite(self.epsilon) else None
        return {"epsilon": epsilon, "delta": format_exact(self.delta), "says": str(self)}

    def facts(self) -> Sequence[tuple[str, str | None]]:
        """Return the total as one sentence."""
        return (("planned", str(self)),)

    def __str__(self) -> str:
        yeses = " and every yes been given" if self.streams else ""
        at = f"at delta {float(self.delta):.4g}, had everything been fixed in advance{yeses}; it decides nothing"
        match self.epsilon:
            case None:
                return "not computed: there are too many different releases"
            case math.inf:
                return f"no epsilon {at}"
            case epsilon:
                return f"epsilon {epsilon:.4g} {at}"


def planned_total(
    account: Account, bookings: Sequence[Booking], *, delta: object = None, segments: Collection[str] | None = None
) -> PlannedTotal:
    """Return what all charges of an account would cost one person as one plan, rounded up.

    A stream counts whole, also what it gave back at its closing. Where the population is partitioned, a person meets
    the charges of one segment; under `REPLACE` perhaps those of two, and all of them are taken. The epsilon is that at
    `delta`: without one, at that of an (epsilon, delta) budget, else at a millionth.

    >>> from lapwing.accounting import PureDP, PureRelease, SingleRelease, open_account
    >>> account = open_account(PureDP(epsilon=Fraction(20)))
    >>> book = [account.quote(SingleRelease(event=PureRelease(epsilon=Fraction(1, 100))))] * 1000
    >>> print(planned_total(account, book))
    epsilon 1.365 at delta 1e-06, had everything been fixed in advance; it decides nothing

    Proof: proofs/planned_total.md
    """
    promised = account.budget.delta if isinstance(account.budget, ApproximateDP) else _USUAL_DELTA
    wanted = probability("delta", promised if delta is None else delta)
    if len(bookings) > MOST_BOOKINGS:
        return PlannedTotal(epsilon=None, delta=wanted)
    admitted = [line for line in bookings if isinstance(line, Admission)]
    epsilon = _epsilon(_met(admitted, account.adjacency, segments), float_below(wanted))
    streams = sum(isinstance(line.charge, Reservation) for line in admitted)
    return PlannedTotal(epsilon=epsilon, delta=wanted, streams=streams)


def _met(admitted: Iterable[Admission], adjacency: Adjacency, segments: Collection[str] | None) -> Counter[Event]:
    """Return the most events that one person meets: of each event, its largest number in any one segment."""
    charged: dict[str, Counter[Event]] = {}
    for one in admitted:
        touched = [segment for segment in one.steps if segments is None or segment in segments]
        for segment in touched if adjacency is Adjacency.ADD_REMOVE else touched[:1] and [""]:
            charged.setdefault(segment, Counter())[one.charge.event] += 1
    most: Counter[Event] = Counter()
    for met in charged.values():
        most |= met
    return most


def _epsilon(met: Counter[Event], delta: float) -> float | None:
    """Compose these events; where that would take long, use that rhos add up (Bun and Steinke 2016, Lemma 1.7)."""
    uses = taken_apart(met)
    work = sum(_SLOW.get(type(event), 1) for event in uses)
    if not uses:
        return 0.0
    if work > _MOST_ADDED or (
        work > _MOST_COMPOSED and any(isinstance(one, GaussianSparseVectorRelease) for one in uses)
    ):
        return None  # a stream with Gaussian noise has no rho
    together = product((price(event), times) for event, times in uses.items())
    if work <= _MOST_COMPOSED:
        return together.epsilon(delta)
    pure = math.inf if together.pure_epsilon is None else float_above(together.pure_epsilon)
    return None if together.rho is None else min(pure, epsilon_from_rho(together.rho, delta))
