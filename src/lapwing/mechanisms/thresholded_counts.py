"""Counts by keys that only the data knows: noise on every count, and nothing of those that stay below a threshold.

A key that a single person brought must hardly ever be seen, so its noisy count has to reach a threshold that one person
and noise together reach with probability at most delta. `>=` and `>` are one apart here, and one apart is a factor of
e^(1/scale) in delta: `threshold` is the smallest noisy count that *is* shown.

Proof: proofs/thresholded_counts.md
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms.margins import Spread
from lapwing.mechanisms.tails import discrete_laplace_tail
from lapwing.noise.exact_exponential import exponential_bounds
from lapwing.noise.laws import DiscreteLaplace
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease
from lapwing.vocabulary.exact import Exact, positive, probability, whole
from lapwing.vocabulary.sensitive import Sensitive

Key = TypeVar("Key", bound=Hashable)
_BITS = 96
"""Tails are known to 2^-96; no delta below 1e-20 is accepted."""


@dataclass(frozen=True, slots=True, init=False)
class ThresholdedCounts:
    """Releases the counts that reach a threshold with noise on them, by key: (ε, δ)-differentially private.

    If each person is counted once in each of at most `keys_per_person` keys, then all that is shown, keys included, is
    (ε, δ)-differentially private: the noise pays ε for the keys that both tables hold, and δ is the chance that one is
    shown which a single table holds.

    Parameters
    ----------
    keys_per_person : in how many keys one person counts
    adjacency : what it means that two tables differ in one person
    protects_groups_of : how many people are protected together
    epsilon, delta : the price

    Examples
    --------
    >>> cities = ThresholdedCounts(keys_per_person=1, adjacency=Adjacency.ADD_REMOVE, epsilon=1, delta="1e-6")
    >>> cities.threshold
    15
    >>> sorted(cities.release({"Bath": 5000, "Wells": 9000, "Eel Pie Island": 0}))
    ['Bath', 'Wells']
    >>> cities.event
    ApproximateRelease(epsilon=Fraction(1, 1), delta=Fraction(1, 1000000))

    Theorem: Korolova, Kenthapadi, Mishra, Ntoulas, *Releasing search queries and clicks privately*, WWW 2009, for
    Laplace noise; the proof here is for integers, with the threshold to the last unit.
    Proof: proofs/thresholded_counts.md
    """

    event: ApproximateRelease
    threshold: int
    _law: DiscreteLaplace = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        keys_per_person: int,
        adjacency: Adjacency,
        protects_groups_of: int = 1,
        epsilon: Exact,
        delta: Exact,
    ) -> None:
        people = whole("protects_groups_of", protects_groups_of)
        keys = whole("keys_per_person", keys_per_person) * people
        price_, chance = positive("epsilon", epsilon), probability("delta", delta)
        if chance < Fraction(1, 10**20):
            raise ParameterError("delta", delta, reason="is too small to be kept exactly", remedy="stay above 1e-20")
        scale = (keys if adjacency is Adjacency.ADD_REMOVE else 2 * keys) / price_
        object.__setattr__(self, "event", ApproximateRelease(epsilon=price_, delta=chance))
        object.__setattr__(self, "threshold", smallest_threshold(scale, people, chance / keys))
        object.__setattr__(self, "_law", DiscreteLaplace(scale))

    @property
    def epsilon(self) -> Fraction:
        """The price of a release; delta comes with it."""
        return self.event.epsilon

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    def release(self, value: Mapping[Key, int] | Sensitive[Mapping[Key, int]]) -> dict[Key, int]:
        """Return the noisy counts that reach the threshold, in the order of their keys."""
        counts = value.open_for_release() if isinstance(value, Sensitive) else value
        if not isinstance(counts, Mapping) or any(type(count) is not int for count in counts.values()):
            del counts, value
            raise ParameterError("value", "...", reason="is no table of counts", remedy="hand in whole numbers by key")
        noisy = {key: count + self._law.draw() for key, count in counts.items() if count > 0}
        return {key: noisy[key] for key in sorted(noisy, key=repr) if noisy[key] >= self.threshold}

    def margin(self, confidence: Exact, *, values: int = 1) -> int:
        """Return the smallest m such that `values` counts get noise of at most m, with this probability or more."""
        return int(Spread(discrete_laplace_tail(self._law.scale)).margin(confidence, values))

    def chance(self, people: int) -> float:
        """Return about how likely a key is to be shown that so many people have.

        >>> cities = ThresholdedCounts(keys_per_person=1, adjacency=Adjacency.ADD_REMOVE, epsilon=1, delta="1e-6")
        >>> cities.chance(15) > 0.5, cities.chance(1) < 1e-6
        (True, True)
        """
        short = self.threshold - people
        _, two_sided = discrete_laplace_tail(self._law.scale)(max(short - 1, -short), _BITS)
        one_sided = float(Fraction(two_sided, 2 << _BITS))
        return one_sided if short > 0 else 1 - one_sided


def smallest_threshold(scale: Fraction, people: int, delta_per_key: Fraction) -> int:
    """Return the smallest threshold that `people` people and noise reach with probability at most `delta_per_key`.

    The probability is rounded up. It is also kept at or below 1 - e^(-1/scale), as the proof asks.

    Proof: proofs/thresholded_counts.md
    """
    tail = discrete_laplace_tail(scale)
    _, decay = exponential_bounds(scale.denominator, scale.numerator, _BITS)
    allowed = min(delta_per_key * (1 << _BITS), Fraction((1 << _BITS) - decay))

    def safe(threshold: int) -> bool:
        # P(people + Z >= threshold) = P(|Z| > threshold - people - 1) / 2
        return Fraction(tail(threshold - people - 1, _BITS)[1], 2) <= allowed

    low, high = people, people + 1  # `low` is never safe: half of all noise reaches it
    while not safe(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if safe(middle) else (middle, high)
    return high
