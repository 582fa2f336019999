"""The geometric mechanism: integers with two-sided geometric noise. The workhorse for counts, sums and histograms.

Proof: proofs/geometric.md
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms.margins import Accuracy, Spread
from lapwing.mechanisms.noise_addition import Integer, Integers, add_noise
from lapwing.mechanisms.tails import discrete_laplace_tail
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, DiscreteLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int, exactly_one_of, positive


@dataclass(frozen=True, slots=True, init=False)
class GeometricMechanism:
    """Releases integers with noise P(x) ∝ e^(-|x| ε/Δ): ε-differentially private, exactly.

    If one person moves the released integers by at most Δ in L1 norm (all of them together: a histogram is one release
    of sensitivity 1 under add-remove and 2 under replace), then every event is at most e^ε times as likely with them as
    without. Of all ε-differentially private answers to a count none is better, whatever the analyst believed beforehand
    and for every loss that grows with the distance from the truth.

    Parameters
    ----------
    l1_sensitivity : Δ, a whole number
    epsilon : the price; or
    scale : the noise, Δ/ε; or
    within, confidence : the accuracy; the smallest epsilon of six digits is taken that gives it
    values : for how many answers at once the accuracy is wanted
    dimension : how many integers are released together; by default as many as come, as the price is that of Δ alone

    Examples
    --------
    >>> count = GeometricMechanism(l1_sensitivity=1, epsilon="0.1")
    >>> isinstance(count.release(1234), int)
    True
    >>> count.event
    DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(10, 1))
    >>> count.margin("0.95")
    30
    >>> float(GeometricMechanism(l1_sensitivity=1, within=20, confidence="0.95").epsilon)
    0.146004

    Theorem: Ghosh, Roughgarden, Sundararajan, *Universally utility-maximizing privacy mechanisms*, STOC 2009.
    Proof: proofs/geometric.md
    """

    event: DiscreteLaplaceNoise
    dimension: int | None
    _law: DiscreteLaplace = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        l1_sensitivity: Exact,
        epsilon: Exact | None = None,
        scale: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        values: int = 1,
        dimension: int | None = None,
    ) -> None:
        sensitivity, many = as_int("l1_sensitivity", l1_sensitivity), as_int("values", values)
        size = None if dimension is None else as_int("dimension", dimension)
        given = {"epsilon": epsilon, "scale": scale, "within": within, "confidence": confidence}
        match exactly_one_of("noise", given, ("epsilon",), ("scale",), ("within", "confidence")):
            case ("epsilon",):
                noise = sensitivity / _epsilon_in_range(epsilon, sensitivity)
            case ("scale",):
                noise = positive("scale", scale)
            case _:
                noise = sensitivity / _smallest_epsilon(sensitivity, Accuracy(within, confidence, many))
        object.__setattr__(self, "event", DiscreteLaplaceNoise(l1_sensitivity=sensitivity, scale=noise))
        object.__setattr__(self, "dimension", size)
        object.__setattr__(self, "_law", DiscreteLaplace(noise))

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return self.event.l1_sensitivity / self.event.scale

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    @overload
    def release(self, value: Integer) -> int: ...
    @overload
    def release(self, value: Integers) -> NDArray[np.int64]: ...
    def release(self, value: Integer | Integers) -> int | NDArray[np.int64]:
        """Return the integer with noise, or the vector with independent noise on every coordinate."""
        if type(value) is int and (self.dimension is None or self.dimension == 1):
            return value + self._law.draw()
        return add_noise(value, self._law, self.dimension)

    def margin(self, confidence: Exact, *, values: int = 1) -> int:
        """Return the smallest m such that `values` answers are all off by at most m, with this probability or more."""
        return int(Spread(discrete_laplace_tail(self.event.scale)).margin(confidence, values))

    def confidence(self, margin: Exact, *, values: int = 1) -> float:
        """Return the probability, rounded down, that `values` answers are all off by at most `margin`."""
        return Spread(discrete_laplace_tail(self.event.scale)).confidence(margin, values)


def _epsilon_in_range(given: object, sensitivity: int) -> Fraction:
    epsilon = positive("epsilon", given)
    largest, smallest = sensitivity / SMALLEST_SCALE, sensitivity / LARGEST_SCALE
    if epsilon > largest:
        reason, remedy = "is too large", f"stay at or below {largest}"
    elif epsilon < smallest:
        reason, remedy = "is too small", f"stay at or above {smallest}"
    else:
        return epsilon
    raise ParameterError("epsilon", given, reason=f"{reason} for sensitivity {sensitivity}", remedy=remedy)


def _smallest_epsilon(sensitivity: int, wish: Accuracy) -> Fraction:
    return wish.turning_point(lambda epsilon: wish.met_by(Spread(discrete_laplace_tail(sensitivity / epsilon))))[1]
