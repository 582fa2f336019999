"""Cells of people who cannot meet: each person is in exactly one, for ever, because the person key alone decides.

Questions about one cell are paid by that cell only. That is right only if nobody is ever in two cells, in any table, at
any data version. A column could not promise it: somebody may have rows with two values, and move from one to the other
when data is renewed. The key can: whoever has another key is, to lapwing, somebody else.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lapwing.queries.intervals import INTEGERS
from lapwing.queries.predicate import InIntervals, Predicate, atom
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int

ELSEWHERE: Final = "elsewhere"
"""The cell of everyone whose key is in no declared cell: always there, so that everybody is in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The people whose keys are whole numbers from `first` to `last`, both included.

    >>> Segment(name="north", first=1, last=4999).title
    'north: 1 to 4999'
    """

    name: str
    first: int
    last: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", as_int("first", self.first, least=INTEGERS.lowest, most=INTEGERS.highest))
        object.__setattr__(self, "last", as_int("last", self.last, least=self.first, most=INTEGERS.highest))
        if self.name == ELSEWHERE:
            raise ParameterError(
                "cell", self.name, reason="is the cell of everyone in no other", remedy="choose another name"
            )

    @property
    def title(self) -> str:
        """What the ledger calls it: with its keys, so that an account is bound to who is in the cell."""
        return f"{self.name}: {self.first} to {self.last}"


def check_disjoint(cells: Sequence[Segment]) -> None:
    """Refuse cells that share a name or a key."""
    ordered = sorted(cells, key=lambda cell: cell.first)
    for one, other in itertools.pairwise(ordered):
        if other.first <= one.last:
            raise ParameterError(
                "cells",
                f"{one.title}; {other.title}",
                reason="share people",
                remedy="let each key be in one cell: nobody may spend from two accounts",
            )


def in_cell(cells: Sequence[Segment], name: str, person_key: str) -> Predicate:
    """Return the condition that a row is of somebody in the cell called `name`, one of `cells` or `ELSEWHERE`."""
    keys = [(cell.first, cell.last) for cell in cells if name in {cell.name, ELSEWHERE}]
    spans = INTEGERS.without(keys) if name == ELSEWHERE else INTEGERS.spans(keys)
    return atom(InIntervals(column=person_key, line=INTEGERS, spans=spans))
