"""A graph as it is counted in: unordered pairs of public people, each pair once, and nobody paired with themselves.

All is whole numbers. What is counted follows from the set of pairs alone: not from how often a pair stands in a table,
from which of the two comes first, nor from the order of rows.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Wholes: TypeAlias = NDArray[np.int64]

_AT_ONCE: Final = 1 << 22
"""Paths of two edges that are looked at together: 100 MiB."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SimpleGraph:
    """The edges between `people` people, of whom those with an edge are numbered 0, 1, ...

    Parameters
    ----------
    people : how many people there are, a public number; most of them may have no edge
    ends : the edges, one a line: the smaller number first, and all lines different
    known : how the people with an edge are called, in the order of their numbers
    """

    people: int
    ends: Wholes
    known: Wholes

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[Any, ...]], people: int) -> Self:
        """Return the graph of some pairs of names; pairs of one person and themselves are no edge."""
        listed = np.array(list(pairs), np.int64).reshape(-1, 2)
        listed = listed[listed[:, 0] != listed[:, 1]]
        known, numbers = np.unique(listed, return_inverse=True)
        ends = np.unique(np.sort(numbers.reshape(-1, 2), axis=1), axis=0)
        return cls(people=people, ends=ends.astype(np.int64), known=known)

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.ends)

    @cached_property
    def degrees(self) -> Wholes:
        """How many edges each of those has who have one."""
        return np.bincount(self.ends.ravel(), minlength=len(self.known)).astype(np.int64)

    @cached_property
    def neighbours(self) -> tuple[set[int], ...]:
        """With whom each of them is joined."""
        joined = tuple(set[int]() for _ in self.known)
        for one, other in self.ends.tolist():
            joined[one].add(other)
            joined[other].add(one)
        return joined

    def common(self) -> "Iterator[tuple[Wholes, Wholes, int]]":
        """Yield pairs with a common neighbour, some at a time: how many they have, how many are around, what is left.

        Around a pair are the neighbours of both, each other left out; a common one is there twice. People come by their
        degrees, the largest first, each with all after them; what is left is the largest degree of those who did not
        come yet. The memory is bounded; the work is that of all paths of two edges, for a caller who needs all.
        """
        joined, degrees = self._by_degree
        paths = np.cumsum(np.asarray(joined @ degrees))  # how many begin at each person, and at all before
        start = 0
        while start < degrees.size:
            before = int(paths[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(paths, before + _AT_ONCE, side="right")))
            found = (joined[start:end] @ joined[:, start:]).tocoo()
            one, other = (ends.astype(np.int64) + start for ends in found.coords)
            after = one < other
            one, other = one[after], other[after]
            around = degrees[one] + degrees[other] - 2 * np.asarray(joined[one, other]).ravel()
            yield found.data[after].astype(np.int64), around, int(degrees[end]) if end < degrees.size else 0
            start = end

    def count_triangles(self) -> int:
        """Return how many threes are joined to one another.

        Each is found at the one of the three with the smallest degree, so that people with many edges cost little.
        """
        from scipy.sparse import tril  # noqa: PLC0415 - as below

        joined, degrees = self._by_degree
        upward = tril(joined, -1, format="csr")  # from everybody to those of larger degree
        paths = np.cumsum(np.asarray(upward @ np.asarray(upward.sum(axis=1)).ravel()))
        start = count = 0
        while start < degrees.size:
            before = int(paths[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(paths, before + _AT_ONCE, side="right")))
            part = upward[start:end]
            count += int((part @ upward).multiply(part).sum())
            start = end
        return count

    @cached_property
    def _by_degree(self) -> "tuple[Any, Wholes]":
        """Who is joined to whom, as a sparse matrix, and the degrees: in their order, the largest first."""
        from scipy.sparse import csr_array  # noqa: PLC0415 - nothing else needs it

        order = np.argsort(-self.degrees, kind="stable")
        ranks = np.empty(order.size, np.int64)
        ranks[order] = np.arange(order.size)
        ends = ranks[self.ends]
        both = np.concatenate([ends, ends[:, ::-1]])
        ones = np.ones(len(both), np.int64)
        return csr_array((ones, (both[:, 0], both[:, 1])), shape=(order.size, order.size)), self.degrees[order]

    def truncated(self, most: int, salt: int) -> Self:
        """Return the graph whose edges were taken one by one while both ends had fewer than `most`.

        They are taken in the order of a public hash of the two names: the order of two edges does not depend on which
        others there are.

        Proof: proofs/truncated_graphs.md
        """
        named = self.known[self.ends]  # the smaller name first, as the numbers are in the order of the names
        order = sorted(range(len(named)), key=lambda line: _place(salt, *named[line].tolist()))
        held, kept = [0] * len(self.known), list[tuple[int, int]]()
        for line in order:
            one, other = self.ends[line].tolist()
            if held[one] < most and held[other] < most:
                held[one] += 1
                held[other] += 1
                kept.append((int(named[line, 0]), int(named[line, 1])))
        return self.of_pairs(kept, self.people)


def _place(salt: int, one: int, other: int) -> tuple[bytes, int, int]:
    """Return what says where in the public order an edge comes; no secret rests on the hash."""
    return hashlib.sha256(f"{salt} {one} {other}".encode()).digest(), one, other
