"""What a stream tells: all of it released, none of it secret."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVectorAnswer:
    """Yes or no to "is the value at least the threshold?", after noise.

    Parameters
    ----------
    above : yes
    question : which question of its stream this was, counting from 1
    threshold : what the value was compared with
    price : what this answer added to the cost of the stream; a no adds nothing
    gap : on a yes, a noisy value less threshold. It was chosen for being large, so it errs upwards: see
        `SparseVector.interval` for what may be said, and never print it beside a plain margin of the noise
    number : on a yes, the value with noise of its own, where such noise was paid for
    """

    above: bool
    question: int
    threshold: Fraction
    price: Fraction = Fraction(0)
    gap: Fraction | None = None
    number: Fraction | None = None

    def __bool__(self) -> bool:
        return self.above


class SparseVectorAnswers(Sequence[SparseVectorAnswer]):
    """The answers to many questions, in order, up to the one that halted the stream.

    Examples
    --------
    >>> yes = SparseVectorAnswer(above=True, question=2, threshold=Fraction(10), price=Fraction(1, 5))
    >>> answers = SparseVectorAnswers(first=1, thresholds=np.array([10, 10, 10]), step=Fraction(1), yeses={1: yes})
    >>> len(answers), answers.positions, [bool(answer) for answer in answers]
    (3, (1,), [False, True, False])
    """

    __slots__ = ("_first", "_step", "_thresholds", "_yeses")

    def __init__(
        self, *, first: int, thresholds: NDArray[np.int64], step: Fraction, yeses: Mapping[int, SparseVectorAnswer]
    ) -> None:
        self._first, self._thresholds, self._step, self._yeses = first, thresholds, step, dict(yeses)

    @property
    def positions(self) -> tuple[int, ...]:
        """Which of the values got a yes, counting from 0."""
        return tuple(self._yeses)

    @property
    def yeses(self) -> tuple[SparseVectorAnswer, ...]:
        """The yeses, in order."""
        return tuple(self._yeses.values())

    def __len__(self) -> int:
        return len(self._thresholds)

    @overload
    def __getitem__(self, index: int) -> SparseVectorAnswer: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SparseVectorAnswer]: ...
    def __getitem__(self, index: int | slice) -> SparseVectorAnswer | Sequence[SparseVectorAnswer]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        if position in self._yeses:
            return self._yeses[position]
        threshold = int(self._thresholds[position]) * self._step
        return SparseVectorAnswer(above=False, question=self._first + position, threshold=threshold)

    def __iter__(self) -> Iterator[SparseVectorAnswer]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} answers, {len(self._yeses)} of them yes>"
