"""A finite pair of distributions that is at least as easy to tell apart as what a mechanism makes of neighbours.

A pair is written down by the law of its privacy loss L = log P/Q under P: atoms, and a mass at infinity. Everything is
rounded towards more loss, so a pair here dominates the mechanism it stands for, in floating point too.

Proof: proofs/connect_the_dots.md
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.vocabulary.exact import LARGEST_EXPONENT, ROUND_OFF, UNIT
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

    def deltas(self, epsilons: Floats) -> Floats:
        """Return `delta` at each of increasing epsilons, rounded up a little more, in one pass over the atoms.

        From the highest place down, what is added on the way from one place to the next below it is what the atoms
        between them gain and what all above gain more: nothing is subtracted, so nothing cancels.
        """
        above = np.searchsorted(epsilons, self.losses, side="left")  # how many places lie below an atom
        counted = above > 0
        above, losses, masses = above[counted] - 1, self.losses[counted], self.masses[counted]
        fall = epsilons[above] - losses
        gained = np.bincount(above, -np.expm1(fall) * masses, len(epsilons)).tolist()
        kept = np.bincount(above, np.exp(fall) * masses, len(epsilons)).tolist()  # under Q, times e^place
        gaps = np.append(np.diff(epsilons), math.inf)
        shrinks, gains = np.exp(-gaps).tolist(), (-np.expm1(-gaps)).tolist()
        found, delta, under_q = list[float](), self.infinite_mass, 0.0
        for here, stays, shrink, gain in zip(
            reversed(gained), reversed(kept), reversed(shrinks), reversed(gains), strict=True
        ):
            delta, under_q = delta + gain * under_q + here, shrink * under_q + stays
            found.append(delta)
        roundings = 8 * (len(self.losses) + len(epsilons)) * UNIT
        return np.minimum(np.array(found[::-1]) * (1 + ROUND_OFF + roundings), 1.0)

    def coarsened(self, at_most: int) -> "DominatingPair":
        """Return a pair of at most `at_most` atoms that dominates this one: the profile's dots, connected.

        Half of the dots stand closer where there is more mass: an atom costs about (mass) * (gap)^2, which is least in
        total when the gaps go with the cube root of the density. The other half stand evenly, for the tails.
        """
        return self if len(self.losses) <= at_most else self.onto(self.outline(at_most))

    def outline(self, at_most: int, turn: float = 0.5) -> Floats:
        """Return the losses at which `coarsened` leaves atoms, both ends among them.

        Those of pairs that are nearly alike fall between one another where each has a `turn` of its own, in [0, 1].
        """
        if len(self.losses) <= at_most:
            return self.losses
        gaps = np.diff(self.losses)
        gaps = gaps / float(gaps.sum())
        weight = np.cbrt((self.masses[1:] + self.masses[:-1]) * gaps**2)
        weight = weight / (float(weight.sum()) or 1.0) + gaps  # none, where all mass sits at equal losses
        place = np.concatenate([[0.0], np.cumsum(weight)]) / float(weight.sum())
        inner = np.searchsorted(place[:-1], (np.arange(at_most - 2) + turn) / (at_most - 2))
        return np.unique(self.losses[[0, *inner.tolist(), -1]])

    def onto(self, knots: Floats) -> "DominatingPair":
        """Return the pair with atoms at `knots` only, which must reach from the lowest to the highest loss.

        An atom between two knots is split between them so that its mass under P and under Q stays the same.
        """
        left = np.clip(np.searchsorted(knots, self.losses, side="right") - 1, 0, len(knots) - 2)
        up = -np.expm1(knots[left] - self.losses) / -np.expm1(knots[left] - knots[left + 1])
        raised = self.masses * np.clip(up * (1 + ROUND_OFF), 0.0, 1.0)
        masses = np.zeros(len(knots))
        masses += np.bincount(left, self.masses - raised, len(knots))
        masses += np.bincount(left + 1, raised, len(knots))
        return DominatingPair.of_total_one(knots, masses, self.infinite_mass)
