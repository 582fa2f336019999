"""Counts by keys that only the data knows: noise on every count, and only those above a threshold are shown.

The presence of a key reveals that at least one person has it. So the threshold is so high that keys which one person
alone has pass it with probability at most delta, which is charged.

Small counts are shown for having met large noise, so the noise of what is shown is not that of the law: value ± margin
would be wrong for nearly all small counts. Bounds that hold for a count *given that it is shown* come from that
conditional law. Near the threshold they reach far down, for there the value carries little information.
"""

from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any, TypeVar

from lapwing.mechanisms.margins import Tail, discrete_laplace_tail
from lapwing.mechanisms.noise_mechanism import Priced, add_noise
from lapwing.noise.decay import exponential_bounds
from lapwing.noise.laws import DiscreteLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.search import integers

Key = TypeVar("Key", bound=Hashable)

_PRECISIONS = (64, 256, 1024, 4096)
_BITS = 256
_FARTHEST = 1 << 48


def shown_bounds(tail: Tail, *, threshold: int, shown: int, confidence: Exact) -> tuple[int, int]:
    """Return bounds on a count of at least 1 that was shown as `shown`, its noise included.

    For every count: given that it is shown, these bounds hold with probability at least `confidence`. The noise has a
    symmetric and log-concave law on the integers, of which `tail` is P(|Z| > m).

    >>> one = discrete_laplace_tail(Fraction(1))
    >>> shown_bounds(one, threshold=15, shown=100, confidence="0.95")
    (97, 103)
    >>> shown_bounds(one, threshold=15, shown=16, confidence="0.95")  # it may be anybody's luck
    (1, 19)

    Proof: proofs/shown_counts.md
    """
    chance = 1 - probability("confidence", confidence)

    def last(step: int) -> int:
        """Return the last plausible count from `shown` on, which is one; beyond the last there are none."""
        search = integers(after=0)
        while search.open:
            count = shown + step * search.guess
            search.tell(count < 1 or not _may_be_as_far(tail, threshold, count, search.guess, chance))
        return shown + step * search.below

    return last(-1), last(1)


def _may_be_as_far(tail: Tail, threshold: int, count: int, far: int, chance: Fraction) -> bool:
    """Return whether P(|Z| >= far | count + Z >= threshold) is above `chance`; in doubt, yes."""
    if far == 0:
        return True
    for bits in _PRECISIONS:
        lift = threshold - count
        shown_low, shown_high = _at_least(tail, lift, bits)
        low, high = _at_least(tail, far, bits)
        if lift <= -far:  # as far below the count is shown, too
            near_low, near_high = _at_least(tail, 1 - far, bits)
            low, high = low + max(0, shown_low - near_high), high + shown_high - near_low
        if high <= chance * shown_low:
            return False
        if low > chance * shown_high:
            return True
    return True


def _at_least(tail: Tail, lift: int, bits: int) -> tuple[int, int]:
    """Bound 2^(bits+1) P(Z >= lift): half of the tail on its side, as the law is symmetric."""
    if lift > 0:
        return tail(lift - 1, bits)
    low, high = tail(-lift, bits)
    return (2 << bits) - high, (2 << bits) - low


@frozen(kw_only=False, init=False)
class PartitionSelection(Priced[ApproximateRelease]):
    """Releases counts of people by keys that are not public: (epsilon, delta)-differentially private.

    If adding, removing or replacing the protected people moves the counts by at most Δ in L1 norm, and no count that is
    zero without them exceeds `people`, their number, then noise of scale Δ/ε on every count above zero, of which those
    are shown that reach `threshold`, is (ε, δ)-differentially private.

    >>> cities = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-6")
    >>> cities.threshold, cities.event
    (15, ApproximateRelease(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000)))
    >>> list(cities.release({"Bern": (100_000,), "a hamlet": (1,)})) in (["Bern"], ["Bern", "a hamlet"])
    True

    Theorem: Korolova, Kenthapadi, Mishra, Ntoulas, *Releasing search queries and clicks privately*, WWW 2009.
    Proof: proofs/stable_keys.md
    """

    threshold: int
    law: DiscreteLaplace

    def __init__(self, *, l1_sensitivity: int, epsilon: Exact, delta: Exact, people: int = 1) -> None:
        moved = as_int("l1_sensitivity", l1_sensitivity)
        event = ApproximateRelease(epsilon=positive("epsilon", epsilon), delta=probability("delta", delta))
        law = DiscreteLaplace(moved / event.epsilon)
        fill(self, event=event, law=law, threshold=as_int("people", people) + _lift(law.scale, event.delta / moved))

    def release(self, value: Mapping[Key, tuple[int]] | Sensitive[Mapping[Key, tuple[int]]]) -> dict[Key, int]:
        """Return the keys whose noisy count reaches the threshold, with that count, sorted."""
        opened = value.open_for_release() if isinstance(value, Sensitive) else value
        # A key without people is not a key: whether it came must not depend on how the counts were gathered.
        keys = sorted((key for key, (count,) in opened.items() if count > 0), key=_in_order)
        noisy = add_noise([opened[key][0] for key in keys], self.law)
        counts = [noisy] if isinstance(noisy, int) else noisy.tolist()
        return {key: count for key, count in zip(keys, counts, strict=True) if count >= self.threshold}

    def bounds(self, shown: int, confidence: Exact) -> tuple[int, int]:
        """Return bounds on the count of a key that is shown with `shown` people.

        They hold for each key for itself, with this probability among the times that it is shown. There is no margin:
        small counts are shown for having met large noise, and their bounds reach down to 1.

        Proof: proofs/shown_counts.md
        """
        tail = discrete_laplace_tail(self.law.scale)
        return shown_bounds(tail, threshold=self.threshold, shown=shown, confidence=confidence)


def numbers_of_keys(
    value: Mapping[Key, tuple[int, ...]] | Sensitive[Mapping[Key, tuple[int, ...]]], keys: Sequence[Key], terms: int
) -> Sensitive[list[int]]:
    """Return the exact numbers of some keys, in their order, still wrapped: `terms` for each, 0 where there are none.

    The keys are those that were shown before; what is not among them stays where it is.

    Proof: proofs/numbers_of_keys.md
    """
    opened = value.open_for_release() if isinstance(value, Sensitive) else value
    zeros = (0,) * terms
    return Sensitive([number for key in keys for number in opened.get(key, zeros)])


def _lift(scale: Fraction, chance: Fraction) -> int:
    """Return the smallest t such that P(Z >= t) is certainly at most `chance` and at most 1 - e^(-1/scale)."""
    tail = discrete_laplace_tail(scale)
    one = 1 << _BITS
    decay = exponential_bounds(scale.denominator, scale.numerator, _BITS)[1]
    allowed = min(chance, Fraction(one - decay, one)) * 2 * one  # the tail is two-sided

    search = integers(after=0, most=_FARTHEST)
    try:
        while search.open:
            search.tell(tail(search.guess - 1, _BITS)[1] <= allowed)
    except OverflowError:
        raise ParameterError("delta", chance, reason="asks for a threshold out of reach", remedy="raise it") from None
    return search.above


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
            reason = "is not a kind of key that has an order"
            remedy = "use text, whole numbers, truth values, days, spans of whole numbers and None"
            raise ParameterError("keys", type(part).__name__, reason=reason, remedy=remedy)
