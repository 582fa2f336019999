"""Sample and aggregate: a statistic without any useful bound, computed on parts of the people and then aggregated.

Everybody falls into one of k chunks, by a die of their own. The statistic, any function at all, is computed on each
chunk by itself and put on a public grid. One person is in one chunk and changes one of k numbers, whatever the function
does. What is released is the mean of the k numbers, or a median, with noise for a change in one of them.

Proof: proofs/sample_and_aggregate.md
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.exponential import ExponentialOnRange
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.noise_mechanism import Priced
from lapwing.mechanisms.smooth_sensitivity import SmoothSensitivityMechanism, median_moves
from lapwing.noise.coins_and_dice import uniform_below_many
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ApproximateRelease, DiscreteLaplaceNoise, ExponentialSelection
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, fill
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import PrivacyUnit

WholeRows: TypeAlias = NDArray[np.int64]
Chunked: TypeAlias = Callable[[Sequence[WholeRows]], Sequence[int]]
"""From the rows of each chunk to one number each. A chunk's number must follow from its own rows alone."""
Aggregator: TypeAlias = Literal["median", "mean", "smooth median"]
AGGREGATORS: Final = ("median", "mean", "smooth median")
LEAST_CHUNKS: Final = 5
MOST_CHUNKS: Final = 10_000


@frozen(init=False)
class SampleAndAggregate(Priced[ExponentialSelection | DiscreteLaplaceNoise | ApproximateRelease]):
    """Releases the median or the mean of what a function gives on `chunks` parts of the people, from 0 to `extent`.

    "median" chooses a number by how evenly it parts those of the chunks (the exponential mechanism), "mean" adds noise
    to their sum, and "smooth median", for which a delta is needed, adds noise to the median itself.

    >>> unit = PrivacyUnit(person_key="id")
    >>> spread = SampleAndAggregate(chunks=200, extent=1000, epsilon=1, aggregate="median", unit=unit)
    >>> rows = np.arange(20_000).reshape(-1, 1) % 1000
    >>> 400 < spread.release(rows, lambda chunks: [int(np.mean(one)) for one in chunks]) < 600
    True

    Theorem: Nissim, Raskhodnikova, Smith, *Smooth sensitivity and sampling in private data analysis*, STOC 2007, 4.
    Proof: proofs/sample_and_aggregate.md
    """

    chunks: int
    extent: int
    aggregate: str
    unit: PrivacyUnit
    _inner: ExponentialOnRange | GeometricMechanism | SmoothSensitivityMechanism

    def __init__(
        self,
        *,
        chunks: int,
        extent: int,
        epsilon: Exact,
        aggregate: str,
        unit: PrivacyUnit,
        delta: Exact | None = None,
    ) -> None:
        parts = as_int("chunks", chunks, least=LEAST_CHUNKS, most=MOST_CHUNKS)
        end, changed = as_int("extent", extent, most=1 << 40), unit.protects_groups_of
        inner: ExponentialOnRange | GeometricMechanism | SmoothSensitivityMechanism
        match aggregate, delta:
            case "median", None:
                inner = ExponentialOnRange(low=0, high=end, sensitivity=2 * changed, epsilon=epsilon)
            case "mean", None:
                inner = GeometricMechanism(l1_sensitivity=changed * end, epsilon=epsilon)
            case "smooth median", delta if delta is not None:
                inner = SmoothSensitivityMechanism(most=end, epsilon=epsilon, delta=delta)
            case "smooth median", None:
                raise ParameterError("delta", None, reason="is missing for a smooth median", remedy="offer one with it")
            case "median" | "mean", _:
                remedy = "offer an epsilon alone, or take the smooth median"
                raise ParameterError("delta", str(delta), reason=f"buys nothing for a {aggregate}", remedy=remedy)
            case _:
                remedy = f"write one of {', '.join(AGGREGATORS)}"
                raise ParameterError("aggregate", aggregate, reason="is unknown", remedy=remedy)
        fill(self, event=inner.event, chunks=parts, extent=end, aggregate=aggregate, unit=unit, _inner=inner)

    def release(
        self, rows: "Sensitive[WholeRows] | WholeRows", evaluate: Chunked, *, source: RandomSource = SYSTEM
    ) -> int:
        """Return the aggregate of what `evaluate` makes of the chunks, on the grid; a mean times the number of chunks.

        Rows are one a person. Those of a chunk come sorted, so that their order tells nothing.
        """
        opened = rows.open_for_release() if isinstance(rows, Sensitive) else rows
        dice = uniform_below_many(self.chunks, len(opened), source=source)
        numbers = evaluate([_sorted(opened[dice == chunk]) for chunk in range(self.chunks)])
        del opened, dice
        told = [min(max(int(one), 0), self.extent) for one in numbers]
        if len(told) != self.chunks:
            del told, numbers
            raise ParameterError(
                "evaluate", Sensitive(None), reason="gave another number of numbers", remedy="give one"
            )
        match self._inner:
            case ExponentialOnRange():
                starts, scores = pieces_of_median(told)
                return self._inner.release(scores, starts=starts)
            case GeometricMechanism():
                return int(self._inner.release(sum(told)))
            case SmoothSensitivityMechanism():
                changed = self.unit.protects_groups_of
                moves = median_moves(told, low=0, high=self.extent, changed=changed, reach=self._inner.reach)
                return min(max(self._inner.release(sorted(told)[(self.chunks - 1) // 2], moves), 0), self.extent)

    def reach(self, confidence: Exact) -> float:
        """Return how far the noise reaches, with this confidence: of a mean, as a part of the range from 0 to `extent`.

        Of a median it is by how many the chunks on its two sides may differ. Of a smooth median nobody may know it.
        """
        match self._inner:
            case ExponentialOnRange():
                return float(self._inner.margin(confidence))
            case GeometricMechanism():
                return float(self._inner.margin(confidence)) / self.chunks / self.extent
            case SmoothSensitivityMechanism():
                return 0.0


def _sorted(rows: WholeRows) -> WholeRows:
    """Return rows in an order that follows from what they hold."""
    return rows[np.lexsort(rows.T[::-1])]


def pieces_of_median(numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return where pieces of equal score begin, and the scores: how unevenly a place parts the numbers, below zero.

    The score of a place r is -max(0, 2·#(below r) - k, 2·#(above r) - k). There are 2k + 1 pieces, some of them empty.

    >>> pieces_of_median([3, 3, 8])
    ([0, 3, 3, 4, 4, 8, 9], [-3, 0, 0, -1, -1, -1, -3])
    """
    many, values = len(numbers), np.array(numbers, np.int64)
    starts = np.sort(np.concatenate([[0], values, values + 1]))
    ordered = np.sort(values)
    below = np.searchsorted(ordered, starts, side="left")
    above = many - np.searchsorted(ordered, starts, side="right")
    scores = -np.maximum(0, np.maximum(2 * below - many, 2 * above - many))
    return starts.tolist(), scores.tolist()
