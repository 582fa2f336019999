"""The class of a certificate: all boxes over up to so many columns, of ranges of codes that have an order.

It follows from what is declared, and from nothing else: whoever reads a certificate can list every question that it is
about. Of a column of numbers or dates a box takes codes that follow each other, of any other column one code; the code
for other and missing values is always by itself.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lapwing.mechanisms.residual_basis import Axes
from lapwing.mechanisms.worst_error import Ranges, Whole, box_sums
from lapwing.publishing.codes import CodedColumn
from lapwing.publishing.population_model import PopulationModel, in_people
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int, check_most
from lapwing.vocabulary.frozen import frozen

MOST_COLUMNS: Final = 6
MOST_BOXES: Final = 50_000_000
_WIDEST: Final = 1 << 24
"""Boxes of one set of columns, which are in memory together."""


@frozen()
class BoxClass:
    """All boxes over at most `up_to` of some columns."""

    columns: tuple[CodedColumn, ...]
    up_to: int

    @staticmethod
    def over(columns: Sequence[CodedColumn], up_to: object) -> "BoxClass":
        """Return the class, or refuse one that is too large to be gone through."""
        most = min(as_int("up_to", up_to, most=MOST_COLUMNS), len(columns))
        found = BoxClass(columns=tuple(columns), up_to=most)
        check_most("boxes of a certificate", found.boxes, MOST_BOXES, "certify fewer columns together, or wider bins")
        for axes in found.sets:
            check_most("boxes of one set", found.boxes_of(axes), _WIDEST, "certify fewer columns together")
        return found

    @property
    def choices(self) -> tuple[Ranges, ...]:
        """For each column, the ranges of codes that a box may take of it."""
        return tuple(_ranges(one) for one in self.columns)

    @property
    def sets(self) -> tuple[Axes, ...]:
        """The sets of columns, the smallest first: none, each alone, all pairs, and so on."""
        return tuple(self._sets())

    def _sets(self) -> Iterator[Axes]:
        for size in range(self.up_to + 1):
            yield from itertools.combinations(range(len(self.columns)), size)

    @property
    def boxes(self) -> int:
        """How many boxes it has."""
        many = [len(one) for one in self.choices]
        by_size = [1] + [0] * self.up_to  # the elementary symmetric polynomials of how many choices there are
        for one in many:
            for size in range(self.up_to, 0, -1):
                by_size[size] += one * by_size[size - 1]
        return sum(by_size)

    def boxes_of(self, axes: Axes) -> int:
        """Return how many boxes one set of columns has."""
        return math.prod(len(_ranges(self.columns[a])) for a in axes)

    def guesses(self, model: PopulationModel, axes: Axes) -> Whole:
        """Return what a model says about each box of some columns: for each the number that its `count` says."""
        return in_people(box_sums(model.units(axes), [_ranges(self.columns[a]) for a in axes]))

    def require(self, box: Mapping[int, Sequence[bool]]) -> None:
        """Refuse a box that is not in the class, and say why."""
        meant = {a: codes for a, codes in box.items() if not all(codes)}
        if len(meant) > self.up_to:
            names = ", ".join(self.columns[a].name for a in sorted(meant))
            raise BadQuestionError(
                f"the certificate is about boxes of up to {self.up_to} columns, and this one has {len(meant)}: {names}"
            )
        for a, codes in meant.items():
            column, chosen = self.columns[a], [place for place, one in enumerate(codes) if one]
            if not chosen or (chosen[0], chosen[-1]) not in _ranges(column) or len(chosen) <= chosen[-1] - chosen[0]:
                kind = "codes that follow each other" if column.ordered else "one code"
                called = ", ".join(column.called[place] for place in chosen) or "none"
                raise BadQuestionError(
                    f"the certificate is about boxes of {kind} of {column.name!r}, and this one takes {called}"
                )


def _ranges(column: CodedColumn) -> Ranges:
    declared = len(column.codes)
    if column.ordered:
        found = [(first, last) for first in range(declared) for last in range(first, declared)]
    else:
        found = [(code, code) for code in range(declared)]
    others = [(code, code) for code in range(declared, len(column))]  # none, where nothing else can be
    return (*found, *others)
