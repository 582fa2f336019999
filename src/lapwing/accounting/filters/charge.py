"""What can be written into an account (a charge, a yes of a stream, the closing of a stream), and what a charge costs.

A charge is admitted or refused before any data is read. A yes and a closing are never refused: they only turn what was
reserved at the opening into what is spent, or give it back.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease, Composed, Event, PureRelease, Repeated, checked_event
from lapwing.vocabulary.exact import as_int, coerce_fields, positive


@stored("single-release")
class SingleRelease:
    """One release, or one plan: a `Composed` or `Repeated` event whose parameters are fixed before its first answer.

    Parameters
    ----------
    event : what will happen
    segments : the segments of the partition whose people the release can tell apart; `None` for all of them
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

    Parameters
    ----------
    stream : the name of the stream
    opening : the pure epsilon of a stream that answers no for ever (the noise of its threshold)
    price : the pure epsilon of one yes
    yeses : how many may be given; after the last one the stream halts
    segments : the scope, every segment that any question of the stream may touch; each yes is charged to *all* of them

    Examples
    --------
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
        """What the stream costs if every yes is given."""
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
        raise ParameterError(
            "segments", segments, reason="is not a set of segments", remedy='write for example {"north"}'
        )
    return frozenset(segments)


def refuse_below_zero(record: object, *names: str) -> None:
    """Refuse a record with a number below zero, or none at all: booked, it would give budget back."""
    for name in names:
        amount = getattr(record, name)
        if amount is not None and not amount >= 0:
            raise ParameterError(name, amount, reason="is below zero", remedy="replay the records as they were written")


@stored("cost")
class Cost:
    """What a charge costs in exact numbers; `None` where no finite bound is known.

    Parameters
    ----------
    epsilon : what a sum of pure epsilons spends at once
    reserved : what it holds in reserve besides
    delta : the probability that the release fails to keep `epsilon`
    rho : what a sum of zero-concentrated losses spends
    """

    epsilon: Fraction | None
    reserved: Fraction
    delta: Fraction
    rho: Fraction | None

    def __post_init__(self) -> None:
        refuse_below_zero(self, "epsilon", "reserved", "delta", "rho")

    @property
    def whole(self) -> Fraction | None:
        """What a sum of pure epsilons must have left: with every yes."""
        return None if self.epsilon is None else self.epsilon + self.reserved


def cost_of(charge: Charge) -> Cost:
    """Return what `charge` costs.

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> cost_of(SingleRelease(event=PureRelease(epsilon=Fraction(1, 10)))).epsilon
    Fraction(1, 10)
    >>> stream = Reservation(stream="s", opening=Fraction(1, 4), price=Fraction(3, 20), yeses=5)
    >>> cost_of(stream).epsilon, cost_of(stream).reserved
    (Fraction(1, 4), Fraction(3, 4))
    """
    cost = cost_of_event(charge.event)
    if isinstance(charge, SingleRelease):
        return cost
    return replace(cost, epsilon=charge.opening, reserved=charge.whole - charge.opening)


@lru_cache(maxsize=1024)
def priced(event: Event) -> PricedLoss:
    """Return the price of `event`, which is asked for more than once on its way through a filter."""
    return price(event)


@lru_cache(maxsize=1024)
def cost_of_event(event: Event) -> Cost:
    """Return what one release of `event` costs."""
    loss = priced(event)
    epsilon, delta = _approximate_bound(event) or (None, Fraction(0))
    return Cost(epsilon=epsilon, reserved=Fraction(0), delta=delta, rho=loss.rho)


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
