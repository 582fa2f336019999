"""Quantiles with intervals of values: two cells are chosen around each, and the rows between and beyond them counted.

The cells from the one to the other are put into a few spans. The rows of every span, of all cells below and of all
above are counted with noise of one known law, so that at every edge it is known how far off the noisy order is. What
an interval rests on is that law alone, and it holds wherever the two cells lie. No two numbers count the same row.

Proof: proofs/quantile_intervals.md
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.histogram_selection import Selector, ranks
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.margins import confidence_of_each
from lapwing.mechanisms.noise_mechanism import Integers, Priced, integers, wrong_size
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.weighted_sums import Reach, WholeNoise, margin_of_equal_sum
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed
from lapwing.vocabulary.exact import Exact, as_int, fill, float_below, positive, probability
from lapwing.vocabulary.frozen import frozen

SPANS = 16
"""How many there are between the two cells: with more, edges lie closer, and all spans together are noisier."""
NUMBERS = SPANS + 4
"""What is released for a quantile: the two cells, the rows below the first, of each span, and above the last."""
PARTS = 8
"""Of the price of a quantile: either cell has one, and the counts have six."""
_FAR = Fraction(7, 2)
"""How many scales of the noise of its choice a cell is looked for beyond what counts are off by: few miss."""
_LARGEST_SHIFT = 1 << 60  # scores are cut off at twice this


@frozen(kw_only=False, init=False)
class EnclosedQuantiles(Priced[Composed]):
    """Encloses for each fraction q the value that about q of the rows lie below, in a histogram of `cells`.

    Two cells are chosen, as many rows below and above as they and the counts may be off, and then rows are counted:
    those below the first, those of each of at most sixteen spans from the first to the last, and those above.

    Parameters
    ----------
    at : the fractions
    cells : how many cells the histogram of a group has
    groups : how many groups there are, each with a histogram of its own
    sensitivities : for each fraction, how far the protected people move its scores, in all groups together
    l1_sensitivity : how far they move the numbers of rows of all cells together
    epsilon : the price of all fractions, shared equally; of the part of one, an eighth is for either cell
    selector : the mechanism that chooses
    interval : the confidence for which the cells are looked for; intervals are read at any

    >>> median = EnclosedQuantiles(at=["0.5"], cells=4, sensitivities=[1], l1_sensitivity=1, epsilon=20)
    >>> spans = median.spans(median.release([0, 1500, 500, 0]))
    >>> [one.value() for one in spans], [median.ends(one, "0.95") for one in spans]
    ([1], [(1, 1)])

    Proof: proofs/ranked_choice.md, proofs/quantile_intervals.md
    """

    at: tuple[Fraction, ...]
    cells: int
    groups: int
    choosers: tuple[PermuteAndFlip | ExponentialMechanism, ...]
    """For each fraction, what chooses either cell."""
    shifts: tuple[tuple[int, int], ...]
    """For each fraction, how far below and how far above it they are looked for, in units of score."""
    counting: GeometricMechanism
    """What counts, once for each fraction and group."""

    def __init__(
        self,
        *,
        at: Sequence[Exact],
        cells: int,
        groups: int = 1,
        sensitivities: Sequence[int],
        l1_sensitivity: int,
        epsilon: Exact,
        selector: Selector = PermuteAndFlip,
        interval: Exact = "0.95",
    ) -> None:
        fractions = tuple(probability("at", fraction) for fraction in at)
        if len(sensitivities) != len(fractions):
            reason = "does not fit the fractions"
            raise ParameterError("sensitivities", list(sensitivities), reason=reason, remedy="give one for each")
        most, several = as_int("cells", cells), as_int("groups", groups)
        part = positive("epsilon", epsilon) / (PARTS * as_int("the number of quantiles", len(fractions)))
        counting = GeometricMechanism(l1_sensitivity=l1_sensitivity, epsilon=(PARTS - 2) * part)
        choosers = tuple(selector(sensitivity=moved, candidates=most, epsilon=part) for moved in sensitivities)
        chance = _chance(probability("interval", interval), len(fractions) * several)
        known = [_reaches(counting.event, q, SPANS, chance) for q in fractions]
        fill(
            self,
            event=Composed(parts=tuple(event for one in choosers for event in (one.event, one.event, counting.event))),
            at=fractions,
            cells=most,
            groups=several,
            choosers=choosers,
            shifts=tuple(
                (_shift(one.noise_scale, reaches[0]), _shift(one.noise_scale, reaches[-1]))
                for one, reaches in zip(choosers, known, strict=True)
            ),
            counting=counting,
        )

    def release(self, value: Integers) -> tuple[int, ...]:
        """Return, group by group, the two cells and the noisy counts for each fraction, from the rows in each cell."""
        counts = integers(value)
        if isinstance(counts, int) or counts.size != self.cells * self.groups:
            del counts
            raise wrong_size(self.cells * self.groups)
        told = list[int]()
        for rows in counts.reshape(self.groups, self.cells).tolist():
            below = list(accumulate(rows, initial=0))
            for chooser, q, (down, up) in zip(self.choosers, self.at, self.shifts, strict=True):
                first, last = sorted(int(chooser.release(ranks(below, q, shift))) for shift in (-down, up))
                edges = [0, *_edges(first, last, padded=True), self.cells]
                between = [below[high] - below[low] for low, high in pairwise(edges)]
                told += [first, last, *map(int, self.counting.release(between))]
        return tuple(told)

    def spans(self, released: Sequence[int]) -> list["Spans"]:
        """Return what was released for each fraction, group by group."""
        parts = [released[i : i + NUMBERS] for i in range(0, len(released), NUMBERS)]
        return [
            Spans(at=self.at[i % len(self.at)], cells=self.cells, first=first, last=last, counts=tuple(counts))
            for i, (first, last, *counts) in enumerate(parts)
        ]

    def ends(self, spans: "Spans", confidence: Exact) -> tuple[int, int]:
        """Return the first and the last cell of an interval; those of all fractions and groups hold at once."""
        chance = _chance(probability("confidence", confidence), len(self.at) * self.groups)
        return spans.ends(_reaches(self.counting.event, spans.at, len(spans.edges) - 1, chance))

    def margin(self, confidence: Exact) -> float:
        """Return m such that every value is at most m rows away from where its fraction lies, all at once.

        It holds for all rows, a desert around the fraction among them; of rows that lie evenly, a value is much nearer.
        """
        each = confidence_of_each(confidence, 2 * len(self.at) * self.groups)
        several = zip(self.choosers, self.shifts, self.at, strict=True)
        return max((one.margin(each) + max(both)) / q.denominator for one, both, q in several)

    def usual(self, confidence: Exact) -> float:
        """Return about how many rows off values are where rows lie evenly: what the counts alone are off by."""
        chance = _chance(probability("confidence", confidence), len(self.at) * self.groups)
        return max(_reaches(self.counting.event, q, SPANS, chance)[SPANS // 2] / q.denominator for q in self.at)


@frozen()
class Spans:
    """What was released for one quantile: two cells, and noisy counts below, between and above them."""

    at: Fraction
    cells: int
    first: int
    last: int
    counts: tuple[int, ...]

    @property
    def edges(self) -> list[int]:
        """The first cell of every span, and the cell after the last one."""
        return _edges(self.first, self.last)

    @property
    def orders(self) -> list[int]:
        """For the fraction a/b, b * (rows below an edge) - a * (all rows), at each edge, with noise."""
        a, b = self.at.numerator, self.at.denominator
        below = list(accumulate(self.counts[: len(self.edges)]))
        rows = below[-1] + self.counts[-1]
        return [b * one - a * rows for one in below]

    def value(self) -> int:
        """Return the cell in which the noisy order goes through zero, once it was made to rise."""
        edges, orders = self.edges, _risen(self.orders)
        before = [place for place, order in enumerate(orders) if order < 0]
        after = [place for place, order in enumerate(orders) if order > 0]
        if not before or not after:
            return self.last if before else self.first
        low, high = before[-1], after[0]
        rise = (edges[high] - edges[low]) / (orders[high] - orders[low])
        return min(math.floor(edges[low] - orders[low] * rise), self.last)

    def ends(self, reaches: Sequence[float]) -> tuple[int, int]:
        """Return the last edge up to which all orders are surely below that of the quantile, and so from above.

        Each noisy order is off by more than its reach with the probability that an interval may fail.
        """
        b, low, high = self.at.denominator, 0, self.cells - 1
        orders = list(zip(self.edges, self.orders, reaches, strict=True))
        for edge, order, reach in orders:
            if order >= -b - reach:
                break
            low = min(edge, self.cells - 1)
        for edge, order, reach in reversed(orders):
            if order < 2 * b + reach:
                break
            high = max(edge - 1, 0)
        return low, high


def _edges(first: int, last: int, *, padded: bool = False) -> list[int]:
    """Return where spans from the one cell to the other begin, and where the last one ends.

    >>> _edges(5, 6), _edges(0, 24)[:9], len(_edges(5, 6, padded=True))
    ([5, 6, 7], [0, 1, 3, 4, 6, 7, 9, 10, 12], 17)
    """
    cells = last + 1 - first
    many = min(SPANS, cells)
    edges = [first + i * cells // many for i in range(many + 1)]
    return edges + [last + 1] * (SPANS - many) if padded else edges


def _risen(orders: Sequence[int]) -> list[Fraction]:
    """Return the nearest numbers that do not fall: neighbours that do are replaced by their average.

    >>> [int(one) for one in _risen([-5, 3, 1, 9])]
    [-5, 2, 2, 9]
    """
    blocks = list[tuple[int, int]]()
    for order in orders:
        total, many = order, 1
        while blocks and blocks[-1][0] * many >= total * blocks[-1][1]:
            before, more = blocks.pop()
            total, many = total + before, many + more
        blocks.append((total, many))
    return [Fraction(total, many) for total, many in blocks for _ in range(many)]


def _shift(scale: Fraction, reach: float) -> int:
    """Return how far away a cell is looked for, so that the order there is hardly ever in doubt."""
    return min(_LARGEST_SHIFT, math.ceil(_FAR * scale) + math.ceil(reach))


def _chance(confidence: Fraction, many: int) -> float:
    """Return how often each of many intervals may fail, so that all hold with this confidence."""
    return float_below(1 - confidence_of_each(confidence, many))


@lru_cache(maxsize=256)
def _reaches(noise: WholeNoise, q: Fraction, spans: int, chance: float) -> tuple[float, ...]:
    """Return by how much the order at each edge is off at most, but for this chance.

    At the edge after i spans it is the noise of the i + 1 numbers below, b - a times each, and of the others, a times.
    """
    a, b = q.numerator, q.denominator
    if b == 2:  # noqa: PLR2004 - the median: all numbers weigh the same, and whole numbers are summed exactly
        return (float(margin_of_equal_sum(noise, spans + 2, 1 - Fraction(chance))),) * (spans + 1)
    reach = Reach(noise, chance)
    return tuple(reach.of([*[b - a] * (i + 1), *[a] * (spans + 1 - i)]) for i in range(spans + 1))
