"""Choices that are read off a histogram: quantiles, and the cells with the most people.

The scores are computed here, from counts that stay wrapped until then, and each choice is one private selection.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.margins import confidence_of_each
from lapwing.mechanisms.noise_mechanism import Integers, Priced, integers, wrong_size
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, Event
from lapwing.vocabulary.exact import Exact, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency

# permute-and-flip is never worse at a pure price; the exponential mechanism is cheaper in rho
Selector: TypeAlias = type[PermuteAndFlip] | type[ExponentialMechanism]


@frozen()
class _HistogramSelection(Priced[Event]):
    """One private selection after the other among the `cells` of a histogram."""

    cells: int
    selectors: tuple[PermuteAndFlip | ExponentialMechanism, ...]

    def _confidence_of_each(self, confidence: Exact) -> Fraction:
        return confidence_of_each(confidence, len(self.selectors))


@frozen(kw_only=False, init=False)
class PrivateQuantiles(_HistogramSelection):
    """Chooses for each fraction q the cell of the histogram in which the value lies that about q of the rows are below.

    With q = a/b, the score of a cell is minus the distance of a * (all rows) from the interval b * (rows below the
    cell) .. b * (rows below the next): 0 if it is inside. The statistic computes its sensitivity (`score_sensitivity`
    of `queries.statistics.quantiles`).

    There is a sensitivity for each fraction; `epsilon` is the price of all fractions, shared equally. If there
    are several `groups`, each has a histogram of its own, and a sensitivity is how far the protected people move the
    scores in all groups together: then all groups have their quantiles at the price of one.

    `EnclosedQuantiles` tells values with intervals.

    >>> median = PrivateQuantiles(at=[Fraction(1, 2)], cells=4, sensitivities=[1], epsilon=20)
    >>> median.release([0, 1500, 500, 0])
    (1,)

    Theorem: Smith, *Privacy-preserving statistical estimation with optimal convergence rates*, STOC 2011, section 3.
    Proof: proofs/ranked_choice.md
    """

    at: tuple[Fraction, ...]
    groups: int

    def __init__(
        self,
        *,
        at: Sequence[Exact],
        cells: int,
        groups: int = 1,
        sensitivities: Sequence[int],
        epsilon: Exact,
        selector: Selector = PermuteAndFlip,
    ) -> None:
        fractions = tuple(probability("at", fraction) for fraction in at)
        if len(sensitivities) != len(fractions):
            reason = "does not fit the fractions"
            raise ParameterError("sensitivities", list(sensitivities), reason=reason, remedy="give one for each")
        share = positive("epsilon", epsilon) / as_int("the number of quantiles", len(fractions))
        most = as_int("cells", cells)
        choices = tuple(selector(sensitivity=moved, candidates=most, epsilon=share) for moved in sensitivities)
        several = as_int("groups", groups)
        fill(self, event=_together(choices), at=fractions, cells=most, selectors=choices, groups=several)

    def release(self, value: Integers) -> tuple[int, ...]:
        """Return the number of the chosen cell for each fraction, group by group, from the rows in each cell."""
        counts = integers(value)
        if isinstance(counts, int) or counts.size != self.cells * self.groups:
            del counts
            raise wrong_size(self.cells * self.groups)
        chosen = []
        for rows in counts.reshape(self.groups, self.cells).tolist():
            below = list(accumulate(rows, initial=0))
            chosen += [one.release(ranks(below, q)) for one, q in zip(self.selectors, self.at, strict=True)]
        return tuple(chosen)

    def margin(self, confidence: Exact) -> float:
        """Return m such that every chosen cell is at most m rows away from where its fraction lies, all at once."""
        each = confidence_of_each(confidence, len(self.at) * self.groups)
        return max(one.margin(each) / q.denominator for one, q in zip(self.selectors, self.at, strict=True))


class TopK(_HistogramSelection):
    """Chooses `k` of the cells of a histogram, one after the other, each time one that has about the most people.

    `sensitivity` is how far the protected people move one count; `epsilon` is that of all choices, shared equally.

    >>> TopK(k=2, cells=4, sensitivity=1, epsilon=20).release([1000, 0, 9000, 0])
    (2, 0)

    Proof: proofs/ranked_choice.md
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        k: int,
        cells: int,
        sensitivity: int,
        epsilon: Exact,
        monotone_under: Adjacency | None = None,
        selector: Selector = PermuteAndFlip,
    ) -> None:
        most = as_int("cells", cells)
        share = positive("epsilon", epsilon) / as_int("k", k, most=most)
        spend(k)
        choices = tuple(
            selector(sensitivity=sensitivity, candidates=most - i, epsilon=share, monotone_under=monotone_under)
            for i in range(k)
        )
        super().__init__(event=_together(choices), cells=most, selectors=choices)

    def release(self, value: Integers) -> tuple[int, ...]:
        """Return the numbers of the chosen cells, in the order in which they were chosen."""
        counts = integers(value)
        left = [] if isinstance(counts, int) else list(enumerate(counts.tolist()))
        del counts
        if len(left) != self.cells:
            del left
            raise wrong_size(self.cells)
        return tuple(left.pop(one.release([count for _, count in left]))[0] for one in self.selectors)

    def margin(self, confidence: Exact) -> float:
        """Return m such that every choice has at most m people fewer than the best that was left, all at once."""
        each = self._confidence_of_each(confidence)
        spend(len(self.selectors))
        return max(one.margin(each) for one in self.selectors)


def ranks(below: Sequence[int], q: Fraction, shift: int = 0) -> list[int]:
    """Return the score of each cell, from the rows below each edge; the first and the last cell have no end.

    >>> ranks([0, 3, 4, 10], Fraction(1, 2)), ranks([0, 3, 4, 10], Fraction(1, 2), -12)
    ([-4, -2, 0], [0, -8, -10])
    """
    b, wanted = q.denominator, q.numerator * below[-1] + shift
    too_high = [0, *(max(0, b * first - wanted) for first in below[1:-1])]
    too_low = [*(max(0, wanted - b * last) for last in below[1:-1]), 0]
    return [-max(pair) for pair in zip(too_high, too_low, strict=True)]


def _together(choices: Sequence[PermuteAndFlip | ExponentialMechanism]) -> Event:
    events = tuple(one.event for one in choices)
    return events[0] if len(events) == 1 else Composed(parts=events)
