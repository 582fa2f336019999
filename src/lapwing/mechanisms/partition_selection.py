"""Counts by keys that only the data knows: noise on every count, and only those above a threshold are shown.

That a key is there at all tells that somebody has it. So a key must be rare to show by accident: the threshold is so
high that the keys of one person alone pass it with probability at most delta, which is charged.

Proof: proofs/stable_keys.md
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, TypeVar

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms.noise_addition import add_noise
from lapwing.mechanisms.selected_count_bounds import shown_bounds
from lapwing.mechanisms.tails import discrete_laplace_tail
from lapwing.noise.decay import exponential_bounds
from lapwing.noise.laws import DiscreteLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease
from lapwing.vocabulary.exact import Exact, as_int, positive, probability
from lapwing.vocabulary.sensitive import Sensitive

Key = TypeVar("Key", bound=Hashable)

_BITS = 256
_FARTHEST = 1 << 48


@dataclass(frozen=True, slots=True, init=False)
class PartitionSelection:
    """Releases counts of people by keys that are not public: (epsilon, delta)-differentially private.

    If adding, removing or replacing the protected people moves the counts by at most Δ in L1 norm, and no count that is
    zero without them exceeds `people`, then noise of scale Δ/ε on every count above zero, of which those are shown that
    reach `threshold`, is (ε, δ)-differentially private.

    Parameters
    ----------
    l1_sensitivity : Δ, a whole number
    people : how many people are protected together
    epsilon, delta : the price

    Examples
    --------
    >>> cities = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-6")
    >>> cities.threshold, cities.event
    (15, ApproximateRelease(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000)))
    >>> list(cities.release({"Bern": (100_000,), "a hamlet": (1,)})) in (["Bern"], ["Bern", "a hamlet"])
    True

    Theorem: Korolova, Kenthapadi, Mishra, Ntoulas, *Releasing search queries and clicks privately*, WWW 2009.
    Proof: proofs/stable_keys.md
    """

    event: ApproximateRelease
    scale: Fraction
    threshold: int
    _law: DiscreteLaplace = field(repr=False, compare=False)

    def __init__(self, *, l1_sensitivity: int, epsilon: Exact, delta: Exact, people: int = 1) -> None:
        moved = as_int("l1_sensitivity", l1_sensitivity)
        event = ApproximateRelease(epsilon=positive("epsilon", epsilon), delta=probability("delta", delta))
        scale = moved / event.epsilon
        object.__setattr__(self, "event", event)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "_law", DiscreteLaplace(scale))
        object.__setattr__(self, "threshold", as_int("people", people) + _lift(scale, event.delta / moved))

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    def release(self, value: Mapping[Key, tuple[int]] | Sensitive[Mapping[Key, tuple[int]]]) -> dict[Key, int]:
        """Return the keys whose noisy count reaches the threshold, with that count, sorted."""
        opened = value.open_for_release() if isinstance(value, Sensitive) else value
        # A key without people is no key: whether it came must not depend on how the counts were gathered.
        keys = sorted((key for key, (count,) in opened.items() if count > 0), key=_in_order)
        noisy = add_noise([opened[key][0] for key in keys], self._law)
        counts = [noisy] if isinstance(noisy, int) else noisy.tolist()
        return {key: count for key, count in zip(keys, counts, strict=True) if count >= self.threshold}

    def bounds(self, shown: int, confidence: Exact) -> tuple[int, int]:
        """Return bounds on the count of a key that is shown with `shown` people.

        They hold for each key for itself, with this probability among the times that it is shown. There is no margin:
        small counts are shown for having met large noise, and their bounds reach down to 1.

        Proof: proofs/shown_counts.md
        """
        tail = discrete_laplace_tail(self.scale)
        return shown_bounds(tail, threshold=self.threshold, shown=shown, confidence=confidence)


def _lift(scale: Fraction, chance: Fraction) -> int:
    """Return the smallest t such that P(Z >= t) is certainly at most `chance` and at most 1 - e^(-1/scale)."""
    tail = discrete_laplace_tail(scale)
    one = 1 << _BITS
    decay = exponential_bounds(scale.denominator, scale.numerator, _BITS)[1]
    allowed = min(chance, Fraction(one - decay, one)) * 2 * one  # the tail is two-sided

    def rare(lift: int) -> bool:
        return tail(lift - 1, _BITS)[1] <= allowed

    low, high = 0, 1
    while not rare(high):
        low, high = high, 2 * high
        if high > _FARTHEST:
            raise ParameterError("delta", chance, reason="asks for a threshold out of reach", remedy="raise it")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rare(middle) else (middle, high)
    return high


def _in_order(key: Hashable) -> tuple[Any, ...]:
    """Return the place of a key in an order of all keys, so that nothing is left to the order in which they came."""
    return tuple(map(_place, key if isinstance(key, tuple) else (key,)))


def _place(part: object) -> tuple[Any, ...]:
    """Return the place of a part of a key: each kind has a number, and only parts of one kind are compared."""
    match part:
        case bool():
            return 0, part
        case int():
            return 1, part
        case str():
            return 2, part
        case date():
            return 3, part.isoformat()
        case tuple():
            return 4, *map(_place, part)
        case None:
            return (5,)
        case _:
            raise ParameterError(
                "keys",
                type(part).__name__,
                reason="is no kind of key that has an order",
                remedy="use text, whole numbers, truth values, days, spans of whole numbers and None",
            )
