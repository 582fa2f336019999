"""A finite pair of distributions that is at least as easy to tell apart as what a mechanism makes of neighbours.

A pair is written down by the law of its privacy loss L = log P/Q under P: atoms, and a mass at infinity. Everything is
rounded towards more loss, so a pair here dominates the mechanism it stands for, in floating point too.

Proof: proofs/connect_the_dots.md
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.vocabulary.exact import LARGEST_EXPONENT, ROUND_OFF
from lapwing.vocabulary.frozen import frozen

Floats: TypeAlias = NDArray[np.float64]


@frozen(kw_only=False, eq=False)
class DominatingPair:
    """One ordered pair (P, Q), by the law of log P/Q under P.

    `losses` are its finite values, increasing, `masses` their probabilities under P; with `infinite_mass`, the
    probability under P of what is impossible under Q, they sum to 1.

    Randomized response at epsilon = log 3 tells the truth three times out of four:

    >>> pair = DominatingPair(np.log([1 / 3, 3]), np.array([0.25, 0.75]), 0.0)
    >>> round(pair.delta(0.0), 9)
    0.5
    """

    losses: Floats
    masses: Floats
    infinite_mass: float

    @classmethod
    def worst(cls) -> "DominatingPair":
        """Return the pair that dominates every other: what is seen under P never is under Q."""
        return cls(np.zeros(1), np.zeros(1), 1.0)

    @classmethod
    def of_total_one(cls, losses: Floats, masses: Floats, infinite_mass: float) -> "DominatingPair":
        """Return the pair with these masses, none of which is below the true one, made to sum to 1.

        What was rounded up is taken away again at the lowest losses, so that mass has only moved upwards. What a sum
        in floating point misses is added to the largest mass.
        """
        if infinite_mass >= 1:
            return cls.worst()
        kept = np.maximum(masses, 0.0)
        excess = float(kept.sum()) + infinite_mass - 1.0
        if excess > 1:  # most of it is round-off, in which the rest would drown: counted from the top instead
            above = np.minimum(np.cumsum(kept[::-1])[::-1], 1.0 - infinite_mass)
            kept = -np.diff(above, append=0.0)
            losses, kept = losses[kept > 0], kept[kept > 0]
        elif excess > 0:
            kept = kept - np.diff(np.minimum(np.cumsum(kept), excess), prepend=0.0)
            losses, kept = losses[kept > 0], kept[kept > 0]
        else:
            kept[np.argmax(kept)] -= excess
        return cls(losses, kept, infinite_mass)

    @classmethod
    def through(cls, knots: Floats, heights: Floats) -> "DominatingPair":
        """Return the pair whose profile is the chord through `heights` at `knots`, where these are convex in e^x.

        On the chord between two knots the mass under P of what lies above is a constant, `height + drop/(e^gap - 1)`.
        The last height is the mass at infinity; what is left of the mass of 1 sits at the lowest knot.
        """
        run = np.expm1(np.minimum(np.diff(knots), LARGEST_EXPONENT))
        above = heights[:-1] + (heights[:-1] - heights[1:] + ROUND_OFF * heights[:-1]) / run
        above = np.append(above, heights[-1])
        above = np.minimum(np.maximum.accumulate(above[::-1])[::-1], 1.0)
        return cls.of_total_one(knots, -np.diff(above, prepend=1.0), float(above[-1]))

    @property
    def under_q(self) -> Floats:
        """The probabilities of the finite losses under Q."""
        return self.masses * np.exp(np.minimum(-self.losses, LARGEST_EXPONENT))

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta for which the pair is (epsilon, delta)-indistinguishable in this order."""
        above = int(np.searchsorted(self.losses, epsilon, side="right"))
        gain = -np.expm1(epsilon - self.losses[above:])
        return min(1.0, (self.infinite_mass + float((gain * self.masses[above:]).sum())) * (1 + ROUND_OFF))

    def coarsened(self, at_most: int) -> "DominatingPair":
        """Return a pair of at most `at_most` atoms that dominates this one: the profile's dots, connected.

        Half of the dots stand closer where there is more mass: an atom costs about (mass) * (gap)^2, which is least in
        total when the gaps go with the cube root of the density. The other half stand evenly, for the tails.
        """
        if len(self.losses) <= at_most:
            return self
        gaps = np.diff(self.losses)
        gaps = gaps / float(gaps.sum())
        weight = np.cbrt((self.masses[1:] + self.masses[:-1]) * gaps**2)
        weight = weight / (float(weight.sum()) or 1.0) + gaps  # none, where all mass sits at equal losses
        place = np.concatenate([[0.0], np.cumsum(weight)]) / float(weight.sum())
        chosen = np.searchsorted(place, np.linspace(0.0, 1.0, at_most))
        chosen[-1] = len(place) - 1  # however little lies between it and the one before
        return self.onto(np.unique(self.losses[chosen]))

    def onto(self, knots: Floats) -> "DominatingPair":
        """Return the pair with atoms at `knots` only, which must reach from the lowest to the highest loss.

        An atom between two knots is split between them so that its mass under P and under Q stays the same.
        """
        left = np.clip(np.searchsorted(knots, self.losses, side="right") - 1, 0, len(knots) - 2)
        up = -np.expm1(knots[left] - self.losses) / -np.expm1(knots[left] - knots[left + 1])
        raised = self.masses * np.clip(up * (1 + ROUND_OFF), 0.0, 1.0)
        masses = np.zeros(len(knots))
        np.add.at(masses, left, self.masses - raised)
        np.add.at(masses, left + 1, raised)
        return DominatingPair.of_total_one(knots, masses, self.infinite_mass)
