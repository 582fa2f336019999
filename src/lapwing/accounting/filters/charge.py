"""Charges of an account, their costs, and the filters that add costs up.

A charge is admitted or refused before any data is read. A yes and a closing are never refused: they only turn what was
reserved at the opening into what is spent, or give it back.

A privacy filter keeps one guarantee by refusing charges. It is a value: `weigh` returns the effect of a charge, or what
the filter lacks; `book` returns the filter after an admitted charge; `settle` the one after reserved amounts were spent
or given back.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from lapwing.accounting.pricing import PricedLoss, price
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease, Composed, Event, PureRelease, Repeated, checked_event
from lapwing.vocabulary.exact import as_int, coerce_fields, exact, float_below, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP


@stored("single-release")
class SingleRelease:
    """One release, or one plan: a `Composed` or `Repeated` event whose parameters are fixed before its first answer.

    `segments` are those of the partition whose people the release depends on; `None` for all of them.
    """

    event: Event
    segments: frozenset[str] | None = None

    def __post_init__(self) -> None:
        checked_event(self.event)
        object.__setattr__(self, "segments", _scope(self.segments))


@stored("reservation")
class Reservation:
    """A stream of questions that pays for its yeses: `opening` at once, `price` for each of at most `yeses` yeses.

    All of it is reserved at the opening, so that a yes can always be paid: a refusal at that moment would itself
    announce the yes. Closing gives back what no yes has used; the opening never comes back.

    `opening` is the pure epsilon of a stream that answers no for ever (the noise of its threshold), `price` that of one
    yes; after the last yes the stream halts. `segments` is the scope, every segment that any question of the stream may
    touch; each yes is charged to *all* of them.

    >>> Reservation(stream="s", opening="1/4", price="3/20", yeses=5).whole
    Fraction(1, 1)
    """

    stream: str
    opening: Fraction
    price: Fraction
    yeses: int
    segments: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.stream, str) or not self.stream:
            raise ParameterError("stream", self.stream, reason="names no stream", remedy="give the stream a name")
        coerce_fields(self, positive, "opening", "price")
        coerce_fields(self, as_int, "yeses")
        object.__setattr__(self, "segments", _scope(self.segments))

    @property
    def whole(self) -> Fraction:
        """The cost of the stream if every yes is given."""
        return self.opening + self.yeses * self.price

    @property
    def event(self) -> Event:
        """The stream as one pure release: what every arm but the pure sum has to book, whole and at the opening."""
        return PureRelease(epsilon=self.whole)


@stored("yes")
class YesCharge:
    """A yes that a stream has given, or an answer of it that was lost and counts as one."""

    stream: str


@stored("closing")
class StreamClosing:
    """The end of a stream, with no question in flight."""

    stream: str


Charge: TypeAlias = SingleRelease | Reservation


def _scope(segments: object) -> frozenset[str] | None:
    if segments is None or isinstance(segments, frozenset):
        return segments
    if isinstance(segments, str) or not isinstance(segments, Iterable):
        remedy = 'write for example {"north"}'
        raise ParameterError("segments", segments, reason="is not a set of segments", remedy=remedy)
    return frozenset(segments)


def refuse_below_zero(record: object, *names: str) -> None:
    """Refuse a record with a number below zero, or none at all: booked, it would give budget back."""
    for name in names:
        amount = getattr(record, name)
        if amount is not None and not amount >= 0:
            raise ParameterError(name, amount, reason="is below zero", remedy="replay the records as they were written")


@stored("cost")
class Cost:
    """The cost of a charge in exact numbers; `None` where no finite bound is known.

    A sum of pure epsilons spends `epsilon` at once and reserves `reserved`; the failure probability of the release is
    `delta`; a sum of zero-concentrated losses spends `rho`.
    """

    epsilon: Fraction | None
    reserved: Fraction
    delta: Fraction
    rho: Fraction | None

    def __post_init__(self) -> None:
        refuse_below_zero(self, "epsilon", "reserved", "delta", "rho")

    @property
    def whole(self) -> Fraction | None:
        """The epsilon that a sum of pure epsilons must have left: with every yes."""
        return _sum(self.epsilon, self.reserved) if self.epsilon is not None else None


def _sum(amount: Fraction, reserved: Fraction) -> Fraction:
    """Return an amount with what is reserved; most often that is nothing, and a sum of fractions takes its time."""
    return amount + reserved if reserved else amount


def cost_of(charge: Charge) -> Cost:
    """Return what `charge` costs."""
    cost = cost_of_event(charge.event)
    if isinstance(charge, SingleRelease):
        return cost
    return replace(cost, epsilon=charge.opening, reserved=charge.whole - charge.opening)


@lru_cache(maxsize=1024)
def priced(event: Event) -> PricedLoss:
    """Return the price of an event, which is asked for more than once on its way through a filter."""
    return price(event)


@lru_cache(maxsize=1024)
def cost_of_event(event: Event) -> Cost:
    """Return what one release of `event` costs."""
    epsilon, delta = _approximate_bound(event) or (None, Fraction(0))
    return Cost(epsilon=epsilon, reserved=Fraction(0), delta=delta, rho=priced(event).rho)


def _approximate_bound(event: Event) -> tuple[Fraction, Fraction] | None:
    """Return (epsilon, delta) such that, but for a coin of probability delta, the event is pure epsilon-DP."""
    match event:
        case ApproximateRelease(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case Composed(parts=parts):
            bounds = [bound for part in parts if (bound := _approximate_bound(part))]
            total = sum((e for e, _ in bounds), Fraction(0)), sum((d for _, d in bounds), Fraction(0))
            return total if len(bounds) == len(parts) else None
        case Repeated(part=part, times=times):
            bound = _approximate_bound(part)
            return bound and (times * bound[0], times * bound[1])
        case _:
            pure = priced(event).pure_epsilon
            return None if pure is None else (pure, Fraction(0))


@stored("accepted")
class Accepted:
    """The effect of an admitted charge on a filter beyond its cost; the part of a record that is trusted on replay.

    `residue` is what the residue arm has left, `None` if there is no such arm, or none any more; its certificate took
    `slack` from delta, the release's own failure probability took `failure`.
    """

    residue: float | None = None
    slack: Fraction = Fraction(0)
    failure: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        refuse_below_zero(self, "residue", "slack", "failure")


@frozen()
class Insufficient:
    """Why a charge does not fit: `asked` is more than `left`, or `None` where the currency has no price for it."""

    currency: str
    asked: Fraction | None
    left: Fraction


FilterDecision: TypeAlias = Accepted | Insufficient

_AS_IT_COSTS: Final = Accepted()
"""The effect of a charge that is added up by its cost alone."""

# what all denominators divide: those of decimals, of their parts up to 64, of the squares of these, and of floats
_COMMON: Final = 2**1100 * 5**100 * math.lcm(*range(1, 65)) ** 2


def require_carried(name: str, amount: Fraction | None) -> None:
    """Refuse an amount that is not a multiple of 1/`_COMMON`: sums of such amounts stay below 560 digits.

    Proof: proofs/sum_filters.md
    """
    if amount is not None and _COMMON % amount.denominator:
        remedy = "offer a decimal with at most 12 digits after the point"
        raise ParameterError(name, str(amount), reason="has a denominator that an account cannot carry", remedy=remedy)


@stored("pure-filter")
class PureFilter:
    """A pure budget: what is spent and what is reserved never exceeds `epsilon`.

    Every adaptive interaction that goes through it is `epsilon`-differentially private, also if streams are
    interleaved: the charge of a transcript is its *realised* loss (an opening and its yeses), not what was reserved. A
    privacy filter of realised losses, as in Rogers, Samorodnitsky, Wu and Ramdas 2023.

    Proof: proofs/sum_filters.md
    """

    epsilon: Fraction
    spent: Fraction = Fraction(0)
    reserved: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """The epsilon that is neither spent nor reserved; as an arm of two it may be below zero."""
        return self.epsilon - _sum(self.spent, self.reserved)

    def weigh(self, _: Event, cost: Cost) -> FilterDecision:
        """Admit `cost` if it is pure and no more than what is left."""
        if cost.delta:
            return Insufficient(currency="delta", asked=cost.delta, left=Fraction(0))
        whole = cost.whole
        if whole is None or whole > self.left:
            return Insufficient(currency="epsilon", asked=whole, left=self.left)
        return _AS_IT_COSTS

    def require_carried(self, cost: Cost) -> None:
        """Refuse a cost whose sums would grow longer with every charge."""
        require_carried("epsilon", cost.epsilon)
        require_carried("epsilon", cost.reserved)

    def book(self, cost: Cost, _: Accepted) -> "PureFilter":
        """Add an admitted cost."""
        epsilon = _require_bounded_cost("epsilon", cost.epsilon)
        reserved = _sum(self.reserved, cost.reserved)
        return PureFilter(epsilon=self.epsilon, spent=self.spent + epsilon, reserved=reserved)

    def settle(self, *, spent: Fraction = Fraction(0), returned: Fraction = Fraction(0)) -> "PureFilter":
        """Return the filter after a part of what was reserved has been spent, or given back."""
        return replace(self, spent=self.spent + spent, reserved=self.reserved - spent - returned)


@stored("concentrated-filter")
class ConcentratedFilter:
    """A zero-concentrated budget: the rhos of all charges never exceed `rho`; streams pay whole at the opening.

    Every adaptive interaction that goes through it is `rho`-zCDP (Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers
    and Wu 2023, Theorem 1). Realised losses do not bound moments, so nothing is given back here.

    Proof: proofs/sum_filters.md
    """

    rho: Fraction
    spent: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """The rho that is not spent."""
        return self.rho - self.spent

    def weigh(self, _: Event, cost: Cost) -> FilterDecision:
        """Admit `cost` if it has a rho, and one that is no more than what is left."""
        if cost.rho is None or cost.rho > self.left:
            return Insufficient(currency="rho", asked=cost.rho, left=self.left)
        return _AS_IT_COSTS

    def require_carried(self, cost: Cost) -> None:
        """Refuse a cost whose sums would grow longer with every charge."""
        require_carried("rho", cost.rho)

    def book(self, cost: Cost, _: Accepted) -> "ConcentratedFilter":
        """Add an admitted cost."""
        return replace(self, spent=self.spent + _require_bounded_cost("rho", cost.rho))

    def settle(self, **_: Fraction) -> "ConcentratedFilter":
        """Change nothing: the whole stream was paid at its opening."""
        return self


def _require_bounded_cost(currency: str, amount: Fraction | None) -> Fraction:
    if amount is None:
        raise ParameterError(currency, amount, reason="is not a price", remedy="book only what was admitted")
    return amount


def excess_over(charge: Charge, promise: Guarantee) -> Insufficient | None:
    """Return what one charge, by itself, asks beyond a promise, or None where it keeps it.

    Of an (epsilon, delta) promise the whole delta counts: an account has to keep shares of its delta for what may come
    later, one charge has not. What it asks is an epsilon at that delta, or more delta where no epsilon would do.
    """
    cost = cost_of(charge)
    match promise:
        case PureDP(epsilon=epsilon):
            decision = PureFilter(epsilon=epsilon).weigh(charge.event, cost)
        case ConcentratedDP(rho=rho):
            decision = ConcentratedFilter(rho=rho).weigh(charge.event, cost)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            is_within = cost.whole is not None and cost.whole <= epsilon and cost.delta <= delta
            decision = Accepted() if is_within else _excess(charge.event, cost, promise)
        case _:
            remedy = "write an epsilon, an epsilon with a delta, or a rho"
            raise ParameterError("promise", promise, reason="is not one that a charge is held against", remedy=remedy)
    return None if isinstance(decision, Accepted) else decision


def _excess(event: Event, cost: Cost, promise: ApproximateDP) -> FilterDecision:
    loss = priced(event)
    at, target = float_below(promise.epsilon), float_below(promise.delta)
    if loss.delta(at) <= target:
        return Accepted()
    if cost.delta > promise.delta or (asked := loss.epsilon(target)) == math.inf:
        return Insufficient(currency="delta", asked=cost.delta or Fraction(loss.delta(at)), left=promise.delta)
    return Insufficient(currency="epsilon", asked=cost.whole or Fraction(asked), left=promise.epsilon)


@stored("delta-shares")
class DeltaShares:
    """How a delta is divided: to certificates in floating point, to releases that may fail, the rest to the residue."""

    numerical: Fraction = Fraction(1, 1000)
    failures: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numerical", probability("numerical", self.numerical))
        object.__setattr__(self, "failures", exact("failures", self.failures))
        if not 0 <= self.failures < 1 - self.numerical:
            reason = f"leaves no delta to the residue beside a numerical share of {self.numerical}"
            remedy = 'write a share from 0 up to less than 1, such as "0.1"'
            raise ParameterError("failures", self.failures, reason=reason, remedy=remedy)
