"""Choices that are read off a histogram: quantiles, and the cells with the most people.

The scores are computed here, from counts that stay wrapped until then, and each choice is one private selection.
"""

import math
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
_PARTS_OF_INTERVAL = 4  # of the price of one fraction: one for either end, and two for itself
_LARGEST_SHIFT = 1 << 60  # scores are cut off at twice this


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

    With an `interval`, a confidence, three cells are chosen for each fraction: the quantile, for half of its price, and
    before and after it, for a quarter each, one as many rows lower or higher as lets all quantiles lie between the two,
    with this confidence for all data.

    >>> median = PrivateQuantiles(at=[Fraction(1, 2)], cells=4, sensitivities=[1], epsilon=20)
    >>> median.release([0, 1500, 500, 0])
    (1,)
    >>> bounded = PrivateQuantiles(at=[Fraction(1, 2)], cells=4, sensitivities=[1], epsilon=20, interval="0.95")
    >>> bounded.release([400, 400, 400, 0])
    (1, 1, 1)

    Theorem: Smith, *Privacy-preserving statistical estimation with optimal convergence rates*, STOC 2011, section 3.
    Proof: proofs/ranked_choice.md, proofs/quantile_intervals.md
    """

    at: tuple[Fraction, ...]
    groups: int
    interval: Fraction | None
    wanted: tuple[tuple[Fraction, int], ...]
    """Of each choice, the fraction a/b and what is added to a * (all rows): below zero for the lower end."""

    def __init__(
        self,
        *,
        at: Sequence[Exact],
        cells: int,
        groups: int = 1,
        sensitivities: Sequence[int],
        epsilon: Exact,
        selector: Selector = PermuteAndFlip,
        interval: Exact | None = None,
    ) -> None:
        fractions = tuple(probability("at", fraction) for fraction in at)
        many = as_int("the number of quantiles", len(fractions))
        sure = None if interval is None else probability("interval", interval)
        part = positive("epsilon", epsilon) / (many if sure is None else _PARTS_OF_INTERVAL * many)
        if len(sensitivities) != len(fractions):
            reason = "does not fit the fractions"
            raise ParameterError("sensitivities", list(sensitivities), reason=reason, remedy="give one for each")
        most, several = as_int("cells", cells), as_int("groups", groups)
        choices, wanted = list[PermuteAndFlip | ExponentialMechanism](), list[tuple[Fraction, int]]()
        for moved, q in zip(sensitivities, fractions, strict=True):
            if sure is None:
                choices.append(selector(sensitivity=moved, candidates=most, epsilon=part))
                wanted.append((q, 0))
                continue
            end = selector(sensitivity=moved, candidates=most, epsilon=part)
            shift = _shift(end, q, confidence_of_each(sure, 2 * many * several))
            choices += [end, selector(sensitivity=moved, candidates=most, epsilon=2 * part), end]
            wanted += [(q, -shift), (q, 0), (q, shift)]
        fill(
            self,
            event=_together(choices),
            at=fractions,
            cells=most,
            selectors=tuple(choices),
            groups=several,
            interval=sure,
            wanted=tuple(wanted),
        )

    def release(self, value: Integers) -> tuple[int, ...]:
        """Return the number of the chosen cell for each fraction, group by group, from the rows in each cell.

        With an interval it is three cells: that of the lower end, of the quantile, and of the upper end.
        """
        counts = integers(value)
        if isinstance(counts, int) or counts.size != self.cells * self.groups:
            del counts
            raise wrong_size(self.cells * self.groups)
        chosen = []
        for rows in counts.reshape(self.groups, self.cells).tolist():
            below = list(accumulate(rows, initial=0))
            chosen += [one.release(_ranks(below, *what)) for one, what in zip(self.selectors, self.wanted, strict=True)]
        return tuple(chosen)

    def margin(self, confidence: Exact) -> float:
        """Return m such that every chosen cell is at most m rows away from where its fraction lies, all at once."""
        each = confidence_of_each(confidence, len(self.at) * self.groups)
        points = [(one, q) for one, (q, shift) in zip(self.selectors, self.wanted, strict=True) if not shift]
        return max(one.margin(each) / q.denominator for one, q in points)

    def reads_interval(self, confidence: Exact) -> bool:
        """Return whether the chosen ends hold at this confidence, and are no nonsense of scores that were cut off."""
        told = self.interval is not None and probability("confidence", confidence) <= self.interval
        return told and all(abs(shift) < _LARGEST_SHIFT for _, shift in self.wanted)


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


def _ranks(below: Sequence[int], q: Fraction, shift: int = 0) -> list[int]:
    """Return the score of each cell, from the rows below each edge; the first and the last cell have no end.

    >>> _ranks([0, 3, 4, 10], Fraction(1, 2)), _ranks([0, 3, 4, 10], Fraction(1, 2), -12)
    ([-4, -2, 0], [0, -8, -10])
    """
    b, wanted = q.denominator, q.numerator * below[-1] + shift
    too_high = [0, *(max(0, b * first - wanted) for first in below[1:-1])]
    too_low = [*(max(0, wanted - b * last) for last in below[1:-1]), 0]
    return [-max(pair) for pair in zip(too_high, too_low, strict=True)]


def _shift(chooser: PermuteAndFlip | ExponentialMechanism, q: Fraction, confidence: Fraction) -> int:
    """Return how much lower, in units of score, an end is looked for so that it holds: its error, and two rows."""
    return math.floor(chooser.margin(confidence)) + 2 * q.denominator


def _together(choices: Sequence[PermuteAndFlip | ExponentialMechanism]) -> Event:
    events = tuple(one.event for one in choices)
    return events[0] if len(events) == 1 else Composed(parts=events)
