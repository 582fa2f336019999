"""One decision of a stream, in lattice steps, and what it costs. Everything here is public.

With distance = value - threshold - (threshold noise), a comparison is passed if distance + (its own noise) reaches its
bar. The first comparison that is passed says yes; if none is, the answer is no and costs nothing.

The rule not to break: noise may reach far to the right only. All proofs shift it up by what one person can do, and
that must change its probabilities by no more than the price; noise that is cut off on the right fails at any price.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.mechanisms.sparse_vector.lattice import Steps
from lapwing.mechanisms.sparse_vector.tails import Law, mean
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, DiscreteLaplace, Geometric
from lapwing.noise.randomness import RandomSource
from lapwing.vocabulary.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdComparison:
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
class AnswerRule:
    """How a stream decides, when it stops, and what it has cost by then.

    Parameters
    ----------
    threshold_noise : drawn once
    comparisons : tried in this order
    fresh_noise : added to the value of a yes and shown, if there is any
    shows_gap : whether a yes comes with the estimate of its comparison
    units : how many units of price there are; the stream halts when the dearest yes is more than is left
    questions : the stream halts after so many, if it is bounded
    opening_price : the epsilon of a transcript without any yes; None where the stream has no pure epsilon
    unit_price : what one unit adds to it

    Proof: proofs/sparse_vector.md
    """

    threshold_noise: Law
    comparisons: tuple[ThresholdComparison, ...]
    units: int
    opening_price: Fraction | None
    unit_price: Fraction = Fraction(0)
    fresh_noise: Law | None = None
    shows_gap: bool = True
    questions: int | None = None

    @property
    def dearest(self) -> int:
        """What the dearest yes costs, in units."""
        return max(comparison.units for comparison in self.comparisons)

    @property
    def is_pure(self) -> bool:
        """Whether a transcript has a pure epsilon, which its yeses add up to."""
        return self.opening_price is not None

    def price_of(self, units: int) -> Fraction | None:
        """Return the epsilon of a transcript whose yeses cost so many units."""
        return None if self.opening_price is None else self.opening_price + units * self.unit_price

    def decide(self, distance: int, noises: Sequence[int]) -> tuple[ThresholdComparison, int] | None:
        """Return the first comparison that is passed and the noisy distance that passed it; None if the answer is no.

        Parameters
        ----------
        distance : value less threshold less the threshold's noise
        noises : one draw for each comparison
        """
        for comparison, noise in zip(self.comparisons, noises, strict=True):
            if distance + noise >= comparison.bar:
                return comparison, distance + noise
        return None

    def decide_many(self, distances: Steps, noises: Sequence[Steps]) -> Iterator[tuple[int, ThresholdComparison, int]]:
        """Yield the index of every yes, in order, with what `decide` returns for it."""
        noisy = [distances + noise for noise in noises]
        passed = [one >= comparison.bar for comparison, one in zip(self.comparisons, noisy, strict=True)]
        for at in np.flatnonzero(np.logical_or.reduce(passed)).tolist():
            which = next(i for i in range(len(passed)) if passed[i][at])
            yield at, self.comparisons[which], int(noisy[which][at])

    def draw(self, source: RandomSource) -> list[int]:
        """Draw the noise of one question."""
        return [comparison.noise.draw(source=source) for comparison in self.comparisons]

    def draw_many(self, count: int, source: RandomSource) -> list[Steps]:
        """Draw the noise of many questions."""
        return [comparison.noise.draw_many(count, source=source) for comparison in self.comparisons]

    def draw_fresh(self, count: int, source: RandomSource) -> Iterator[int]:
        """Draw the noise of as many numbers, if yeses show numbers."""
        return iter([] if self.fresh_noise is None else self.fresh_noise.draw_many(count, source=source).tolist())


def one_sided(reach: int, epsilon: Fraction) -> Geometric:
    """Return noise that is at most e^epsilon times likelier than itself shifted up by `reach` steps."""
    return Geometric(_scale(reach, epsilon))


def two_sided(reach: int, epsilon: Fraction) -> DiscreteLaplace:
    """Return noise that is at most e^epsilon times likelier than itself shifted by `reach` steps either way."""
    return DiscreteLaplace(_scale(reach, epsilon))


def comparison(noise: Law, threshold_noise: Law, *, lifted: int = 0, units: int = 1) -> ThresholdComparison:
    """Return a comparison that is centred, with the threshold lifted by `lifted` steps."""
    centre = round(mean(noise)) - round(mean(threshold_noise))
    return ThresholdComparison(noise=noise, centre=centre, bar=centre + lifted, units=units)


def _scale(reach: int, epsilon: Fraction) -> Fraction:
    scale = reach / epsilon
    if scale < SMALLEST_SCALE:
        raise ParameterError(
            "epsilon",
            f"{float(epsilon):.6g} for one noise",
            reason=f"leaves noise of {float(scale):.3g} steps, less than can be drawn",
            remedy=f"ask for less, at most {float(reach / SMALLEST_SCALE):.6g} for this one, or choose a finer grid",
        )
    if scale > LARGEST_SCALE:
        raise ParameterError(
            "grid",
            f"1/{reach} of what one person can do",
            reason=f"needs noise of {float(scale):.3g} steps at epsilon {float(epsilon):.3g}",
            remedy=f"choose a coarser grid or more epsilon, for a scale of at most {float(LARGEST_SCALE):.3g} steps",
        )
    return scale
