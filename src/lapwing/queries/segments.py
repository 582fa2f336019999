"""Segments of people who cannot meet: each person is in exactly one, for ever, because the person key alone decides.

Questions about one segment are paid by that segment only. That is right only if nobody is ever in two, in any table,
at any data version. A column could not promise it: somebody may have rows with two values, and move from one to the
other when data is renewed. The key can: whoever has another key is, to lapwing, somebody else.
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
"""The segment of everyone whose key is in no declared segment: always there, so that everybody is in one."""


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
                "segment", self.name, reason="is the segment of everyone in no other", remedy="choose another name"
            )

    @property
    def title(self) -> str:
        """What the ledger calls it: with its keys, so that an account is bound to who is in the segment."""
        return f"{self.name}: {self.first} to {self.last}"


def check_disjoint(segments: Sequence[Segment]) -> None:
    """Refuse segments that share a name or a key."""
    ordered = sorted(segments, key=lambda segment: segment.first)
    for one, other in itertools.pairwise(ordered):
        if other.first <= one.last:
            raise ParameterError(
                "segments",
                f"{one.title}; {other.title}",
                reason="share people",
                remedy="let each key be in one segment: nobody may spend from two accounts",
            )


def in_segment(segments: Sequence[Segment], name: str, person_key: str) -> Predicate:
    """Return the condition that a row is of somebody in the segment called `name`, one of `segments` or `ELSEWHERE`."""
    keys = [(segment.first, segment.last) for segment in segments if name in {segment.name, ELSEWHERE}]
    intervals = INTEGERS.without(keys) if name == ELSEWHERE else INTEGERS.union(keys)
    return atom(InIntervals(column=person_key, domain=INTEGERS, intervals=intervals))
