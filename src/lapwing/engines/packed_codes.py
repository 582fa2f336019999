"""Counting people in many tables at once, in memory: the database sends the codes of each person, a few bits for each.

It is for an engine inside this process. There a statement with GROUPING SETS builds a hash table for each of the
tables; here a cell is computed from codes by shifts, and counted in an array. Elsewhere people would have to be sent,
and the database counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.engine import ImpossibleError
from lapwing.queries.algebra.aggregate import Aggregate, CountInSets, cell_count
from lapwing.queries.algebra.ranges import PACKED_BITS
from lapwing.vocabulary.frozen import frozen

_TOGETHER: Final = 1 << 15
"""People who are counted in all tables before the next ones are: their codes stay in the cache of a processor."""


@frozen()
class Packing:
    """Which bits of which word hold the code of each key: for each word the places of its keys, and where they begin.

    >>> Packing.of((3, 200, 2)).words
    ({0: 0, 1: 2, 2: 10},)
    """

    sizes: tuple[int, ...]
    words: tuple[Mapping[int, int], ...]

    @staticmethod
    def of(sizes: Sequence[int]) -> "Packing":
        """Return the packing of keys of so many codes, in as few words as their order allows."""
        words, used = [dict[int, int]()], 0
        for place, size in enumerate(sizes):
            if used + _bits(size) > PACKED_BITS:
                words.append({})
                used = 0
            words[-1][place] = used
            used += _bits(size)
        return Packing(sizes=tuple(sizes), words=tuple(words))

    @staticmethod
    def for_sets(aggregate: Aggregate) -> "Packing":
        """Return the packing of the keys of an aggregate that counts in sets."""
        return Packing.of([cell_count([key]) or 0 for key in aggregate.keys])

    def unpacked(self, words: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]]:
        """Return the codes of each key, or fail: a database that sends a code that there is not has failed."""
        codes = list[NDArray[np.int64]]()
        for word, places in zip(words, self.words, strict=True):
            wide = word.astype(np.int64)
            for place, shift in places.items():
                size, bits = self.sizes[place], _bits(self.sizes[place])
                codes.append(wide >> shift & (1 << bits) - 1)
                _require(size == 1 << bits or int(codes[-1].max(initial=0)) < size, "a code that was not asked for")
        return codes

    def require(self, words: Sequence[NDArray[Any]]) -> None:
        """Fail on what cannot be the codes of people."""
        _require(len(words) == len(self.words), "more or fewer codes than were asked for")
        _require(len({word.shape for word in words}) == 1, "columns of different length")
        for word, places in zip(words, self.words, strict=True):
            _require(word.dtype == np.int32 and not np.ma.is_masked(word), "codes that are not whole")
            bits = sum(_bits(self.sizes[place]) for place in places)
            within = not len(word) or 0 <= int(word.min()) <= int(word.max()) < 1 << bits
            _require(within, "a code that was not asked for")


def counted_in_sets(aggregate: Aggregate, words: Sequence[NDArray[Any]]) -> list[tuple[int, ...]]:
    """Return the number of people in each cell of each set of keys, from the packed codes of each person.

    Proof: proofs/totality.md
    """
    if not isinstance(aggregate.bounding, CountInSets):
        raise TypeError(aggregate.bounding)
    packing, sets = Packing.for_sets(aggregate), aggregate.bounding.sets
    packing.require(words)
    plain = [np.asarray(word) for word in words]
    tables = [np.zeros(size, np.int64) for size in aggregate.sizes]
    for start in range(0, len(plain[0]), _TOGETHER):
        codes = packing.unpacked([word[start : start + _TOGETHER] for word in plain])
        for places, table in zip(sets, tables, strict=True):
            cell = codes[places[0]]
            for place in places[1:]:
                cell = cell * packing.sizes[place] + codes[place]
            np.add(table, np.bincount(cell, minlength=len(table)), out=table)
    return [tuple(table.tolist()) for table in tables]


def _bits(size: int) -> int:
    return max(1, (size - 1).bit_length())


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - as an assertion reads
    if not holds:
        raise ImpossibleError(otherwise)
