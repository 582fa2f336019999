"""Propose, test, release: propose how far one person moves a value, test it privately, release only if it holds.

The test is a noisy count: how many people would have to change before the proposal was wrong? That distance moves by at
most one between neighbours, whatever the value does. Where it is large, the noise of the proposal is enough; where it
might be nothing, nothing is released but the word that the test failed.

Proof: proofs/propose_test_release.md
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from lapwing.mechanisms.noise_mechanism import Priced, add_noise, integers
from lapwing.mechanisms.smooth_sensitivity import log_of_inverse_above
from lapwing.noise.laws import DiscreteLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen

_FARTHEST: Final = 1 << 60
_LARGEST_DELTA: Final = Fraction(1, 2)


@frozen(init=False)
class ProposeTestRelease(Priced[ApproximateRelease]):
    """Releases a whole number with the noise of a proposed sensitivity, if the table is far from all where it is wrong.

    `release` takes the value and the table's distance: how many protected people (or groups) have to change before one
    of them can move the value by more than `bound`; 0 where one can already. A `share` of epsilon is spent on the test.

    >>> from lapwing.mechanisms.smooth_sensitivity import median_moves
    >>> numbers = [500_000 + 10 * i for i in range(101)]
    >>> moves = median_moves(numbers, low=0, high=1_000_000)
    >>> tested = ProposeTestRelease(bound=600, epsilon=2, delta="1e-6")
    >>> tested.threshold, distance_to_wider(moves, 600), distance_to_wider(moves, 20)
    (14, 50, 2)
    >>> isinstance(tested.release(numbers[50], 50), int)
    True

    Theorem: Dwork, Lei, *Differential privacy and robust statistics*, STOC 2009.
    Proof: proofs/propose_test_release.md
    """

    bound: int
    threshold: int
    """The least noisy distance at which the value is released."""
    law_of_test: DiscreteLaplace
    law_of_value: DiscreteLaplace

    def __init__(self, *, bound: int, epsilon: Exact, delta: Exact, share: Exact = "1/2") -> None:
        price, chance, part = positive("epsilon", epsilon), probability("delta", delta), probability("share", share)
        if chance > _LARGEST_DELTA:
            remedy = "write the chance that the promise fails, such as 1e-6"
            raise ParameterError("delta", delta, reason="is above 1/2", remedy=remedy)
        proposed, of_test = as_int("bound", bound), price * part
        # P(noise >= T) = q^T / (1 + q) with q = e^(-of_test), which is at most e^(-of_test T)
        threshold = max(1, math.ceil(log_of_inverse_above(chance) / of_test))
        fill(
            self,
            event=ApproximateRelease(epsilon=price, delta=chance),
            bound=proposed,
            threshold=threshold,
            law_of_test=DiscreteLaplace(1 / of_test),
            law_of_value=DiscreteLaplace(proposed / (price - of_test)),
        )

    def release(self, value: "Sensitive[int] | int", distance: "Sensitive[int] | int") -> int | None:
        """Return the value with noise, or None where the test failed. Both draws are made in any case."""
        noisy = int(add_noise(value, self.law_of_value))
        apart = integers(distance, remedy="hand in a whole number: how many people have to change")
        told = min(max(int(apart), 0), _FARTHEST) + self.law_of_test.draw()
        return noisy if told >= self.threshold else None

    def chance_of_release(self, distance: int) -> float:
        """Return how likely a table at this distance passes the test, for those who suppose one."""
        gap, fall = self.threshold - distance, math.exp(-1 / float(self.law_of_test.scale))
        return fall**gap / (1 + fall) if gap > 0 else 1 - fall ** (1 - gap) / (1 + fall)


def distance_to_wider(moves: Sequence[int], bound: int) -> int:
    """Return the first j at which A_j is above a bound; as many as there are where none is.

    >>> distance_to_wider([4, 5, 9], 4), distance_to_wider([4, 5, 9], 3)
    (1, 0)
    """
    return next((j for j, one in enumerate(moves) if one > bound), len(moves))
