"""One decision of a stream, in lattice steps, and what it costs. Everything here is public.

With distance = value - threshold - (threshold noise), a comparison is passed if distance + (its own noise) reaches its
bar. The first comparison that is passed says yes; if none is, the answer is no and costs nothing.

The rule not to break: noise may reach far to the right only. All proofs shift it up by what one person can do, and
that must change its probabilities by no more than the price; noise that is cut off on the right fails at any price.
"""

from dataclasses import dataclass
from fractions import Fraction

from lapwing.mechanisms.sparse_vector.tails import Law, mean
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, DiscreteLaplace, Geometric
from lapwing.vocabulary.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Passed if distance + noise >= `bar`; then distance + noise - `centre` estimates value - threshold.

    Parameters
    ----------
    noise : drawn afresh for every question
    centre : the mean of this noise less the mean of the threshold noise, to the nearest step
    bar : `centre`, plus what is added to the threshold to make false yeses rarer
    units : what a yes costs, in units of the rule
    """

    noise: Law
    centre: int
    bar: int
    units: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How a stream decides, when it stops, and what it has cost by then.

    Parameters
    ----------
    threshold_noise : drawn once
    comparisons : tried in this order
    fresh_noise : added to the value of a yes and shown, if there is any
    shows_gap : whether a yes comes with the estimate of its comparison
    units : how many units of price there are; the stream halts when the dearest yes is more than is left
    questions : the stream halts after so many, if it is bounded
    opening_price : the cost of a transcript without any yes
    unit_price : what one unit adds

    Proof: proofs/sparse_vector.md
    """

    threshold_noise: Law
    comparisons: tuple[Comparison, ...]
    units: int
    opening_price: Fraction
    unit_price: Fraction
    fresh_noise: Law | None = None
    shows_gap: bool = True
    questions: int | None = None

    @property
    def dearest(self) -> int:
        """What the dearest yes costs, in units."""
        return max(comparison.units for comparison in self.comparisons)

    @property
    def price(self) -> Fraction:
        """What the stream costs at most: what must be reserved before it opens."""
        return self.opening_price + self.units * self.unit_price


def one_sided(reach: int, epsilon: Fraction) -> Geometric:
    """Return noise that is at most e^epsilon times likelier than itself shifted up by `reach` steps."""
    return Geometric(_scale(reach, epsilon))


def two_sided(reach: int, epsilon: Fraction) -> DiscreteLaplace:
    """Return noise that is at most e^epsilon times likelier than itself shifted by `reach` steps either way."""
    return DiscreteLaplace(_scale(reach, epsilon))


def comparison(noise: Law, threshold_noise: Law, *, lifted: int = 0, units: int = 1) -> Comparison:
    """Return a comparison that is centred, with the threshold lifted by `lifted` steps."""
    centre = round(mean(noise)) - round(mean(threshold_noise))
    return Comparison(noise=noise, centre=centre, bar=centre + lifted, units=units)


def _scale(reach: int, epsilon: Fraction) -> Fraction:
    scale = max(reach / epsilon, SMALLEST_SCALE)  # more noise than asked for where less cannot be drawn
    if scale > LARGEST_SCALE:
        raise ParameterError(
            "grid",
            f"1/{reach} of what one person can do",
            reason=f"needs noise of {float(scale):.3g} steps at epsilon {float(epsilon):.3g}",
            remedy=f"choose a coarser grid or more epsilon, for a scale of at most {float(LARGEST_SCALE):.3g} steps",
        )
    return scale
