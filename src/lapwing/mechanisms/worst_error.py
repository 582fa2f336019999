"""How far off public guesses at many counts are: the worst error of all, or an order statistic, in one noisy number.

One person moves each count by at most one, and so each absolute error, and so the largest of them, and the second
largest, and each other order statistic. It does not matter how many counts there are: millions have one worst error.

Proof: proofs/certificate.md
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.noise_mechanism import Priced, wrong_size
from lapwing.mechanisms.residual_basis import Axes
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise, Event, Repeated
from lapwing.vocabulary.exact import Exact, Sensitive, exact, fill, positive
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import PrivacyUnit

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The choices of one column in a box: each is all codes from a first to a last one."""
Whole: TypeAlias = NDArray[np.int64]


def box_sums(table: Whole, choices: Sequence[Ranges]) -> Whole:
    """Return the sum of a table in each box: an axis for each column, with a place for each of its choices.

    >>> box_sums(np.array([[1, 2], [3, 4]]), [((0, 0), (0, 1)), ((1, 1),)]).tolist()
    [[2], [6]]
    """
    for axis, ranges in enumerate(choices):
        first, last = np.array(ranges, np.int64).T
        none = np.zeros_like(table.take([0], axis))
        rising = np.concatenate([none, np.cumsum(table, axis=axis)], axis=axis)
        table = rising.take(last + 1, axis) - rising.take(first, axis)
    return table


@frozen(init=False)
class ErrorStatistics(Priced[Event]):
    """Releases order statistics of |count - guess| over all boxes of some sets of columns, with geometric noise.

    `codes` says how many codes each column has, `choices` which ranges of them boxes are made of, and `ranks` which
    order statistics: 1 is the worst error, 1/2 the median. Each costs `epsilon`. Guesses are public whole numbers.

    If everybody has at most one row, all numbers together are (ranks * epsilon)-differentially private, under both
    adjacencies: whoever joins, leaves or changes moves each count by at most one.

    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> unit, sides = PrivacyUnit(person_key="id"), ((0, 0), (1, 1))
    >>> one = ErrorStatistics(codes=(2,), choices=[sides], sets=[(0,)], epsilon=1, unit=unit)
    >>> one.boxes, one.event
    (2, DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(1, 1)))
    >>> abs(one.release({(0,): [40, 60]}, lambda _: np.array([45, 58]))[0] - 5) < 60
    True

    Proof: proofs/certificate.md
    """

    codes: tuple[int, ...]
    choices: tuple[Ranges, ...]
    sets: tuple[Axes, ...]
    ranks: tuple[Fraction, ...]
    mechanism: GeometricMechanism

    def __init__(
        self,
        *,
        codes: Sequence[int],
        choices: Sequence[Ranges],
        sets: Sequence[Axes],
        epsilon: Exact,
        unit: PrivacyUnit,
        ranks: Sequence[Exact] = (1,),
    ) -> None:
        wanted = tuple(exact("ranks", rank) for rank in ranks)
        if not wanted or not all(0 < rank <= 1 for rank in wanted):
            raise ParameterError("ranks", ranks, reason="are no parts of a class", remedy='write 1, or "0.5" for half')
        for ranges, many in zip(choices, codes, strict=True):
            if not ranges or not all(0 <= first <= last < many for first, last in ranges):
                raise ParameterError("choices", ranges, reason=f"are no ranges of {many} codes", remedy="name some")
        each = GeometricMechanism(l1_sensitivity=unit.protects_groups_of, epsilon=positive("epsilon", epsilon))
        part: DiscreteLaplaceNoise = each.event
        event: Event = part if len(wanted) == 1 else Repeated(part=part, times=len(wanted))
        fields = {"codes": tuple(codes), "choices": tuple(choices), "sets": tuple(sets), "ranks": wanted}
        fill(self, **fields, mechanism=each, event=event)

    @property
    def boxes(self) -> int:
        """How many boxes there are."""
        return sum(math.prod(len(self.choices[a]) for a in axes) for axes in self.sets)

    def release(
        self,
        counted: "Mapping[Axes, Sensitive[Sequence[int]] | Sequence[int]]",
        guesses: Callable[[Axes], Whole],
    ) -> list[int]:
        """Return each order statistic with noise.

        `counted` are tables that hold all sets; `guesses` gives the guess at each box of a set, as `box_sums` has them.
        """
        tables = {axes: self._opened(axes, counts) for axes, counts in counted.items()}
        errors = self._errors(tables, guesses)
        if set(self.ranks) == {Fraction(1)} and len(self.ranks) == 1:
            return [self.mechanism.release(Sensitive(max(int(one.max()) for one in errors)))]
        every = np.concatenate([one.ravel() for one in errors])
        places = [math.ceil(rank * every.size) - 1 for rank in self.ranks]
        every.partition(sorted(set(places)))
        return [self.mechanism.release(Sensitive(int(every[place]))) for place in places]

    def _errors(self, tables: Mapping[Axes, Whole], guesses: Callable[[Axes], Whole]) -> Iterator[Whole]:
        """Yield the absolute error of every box, set by set: whole numbers, far from where 64 bits end."""
        for axes in self.sets:
            wider = next(one for one in tables if set(axes) <= set(one))
            table = tables[wider].sum(axis=tuple(i for i, a in enumerate(wider) if a not in axes))
            sums, guessed = box_sums(table, [self.choices[a] for a in axes]), guesses(axes)
            if guessed.shape != sums.shape or guessed.dtype != np.int64:
                raise AssertionError  # pragma: no cover - nothing may broadcast or round here
            yield np.abs(sums - guessed)

    def _opened(self, axes: Axes, counts: "Sensitive[Sequence[int]] | Sequence[int]") -> Whole:
        opened = counts.open_for_release() if isinstance(counts, Sensitive) else counts
        shape = tuple(self.codes[a] for a in axes)
        if len(opened) != math.prod(shape):
            del opened
            raise wrong_size(math.prod(shape), "hand in every cell of the columns")
        return np.array(opened, np.int64).reshape(shape)
