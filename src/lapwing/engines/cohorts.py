"""Thousands of cohorts of one table, counted without reading it thousands of times.

Each atom of a predicate ("age between 20 and 30", "has a visit of kind ER") becomes a bitmap with one bit for each row
of the table. "And" and "or" of atoms are those of their bitmaps, and a count is the number of bits that are set, where
the bits of one person count once: whatever the predicate, one person moves the count by at most one.

Which tables are counted like this is declared, and not seen in the data, for it shows in the time: those with one row a
person. Should somebody have more rows after all, they are counted rightly, and nearly as fast. Tables with many rows a
person are counted by the database, a few cohorts at a time. Both ways give the whole numbers of one statement for each.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.emitter import MOST_COUNTS, MOST_FACTS
from lapwing.queries.predicate import ALWAYS, AllOf, AnyOf, Predicate

Integers: TypeAlias = NDArray[np.int64]
Bitmap: TypeAlias = NDArray[np.uint64]
ReadFacts: TypeAlias = Callable[[str, Sequence[Predicate]], tuple[Integers, Integers]]
ReadCounts: TypeAlias = Callable[[str, Sequence[Predicate]], Sequence[int]]

_PATIENCE = 3
"""How often bitmaps are begun anew when people come or go while they are built."""
_READ = 16
"""Bytes that are read for each row to build bitmaps: who it is of, and the facts."""


class Cohorts:
    """Counts cohorts on bitmaps that are built when they are first needed.

    Parameters
    ----------
    read_facts : given a table and at most 62 atoms, the people of its rows and, as bits, which atoms are true for each,
        in one and the same order each time, the rows of a person together
    read_counts : given a table and at most 10 predicates, the number of people in each cohort
    one_a_person : the tables that are declared to have one row a person; the database counts the others
    memory : how many bytes of bitmaps of a table are kept, those not used for longest going first; a table whose people
        alone take more is left to the database

    Proof: proofs/cohort_bitmaps.md
    """

    def __init__(
        self, read_facts: ReadFacts, read_counts: ReadCounts, *, one_a_person: Collection[str], memory: int
    ) -> None:
        self._read_facts, self._read_counts = read_facts, read_counts
        self._one_a_person, self._memory, self._lock = one_a_person, memory, Lock()
        self._versions: Mapping[str, int] = {}
        self._caches: dict[str, BitmapCache | None] = {}  # None: not for bitmaps

    def counts(self, table: str, predicates: Sequence[Predicate], *, versions: Mapping[str, int]) -> list[int]:
        """Return the number of people in each cohort; bitmaps of other data versions are forgotten first."""
        with self._lock:
            if versions != self._versions:
                self._versions, self._caches = dict(versions), {}
            if table not in self._caches:
                self._caches[table] = self._empty_cache(table) if table in self._one_a_person else None
            numbers: list[int] = []
            for group in self._groups(table, _questions(predicates)):
                on_bitmaps = self._on_bitmaps(table, group)
                numbers += self._by_database(table, group) if on_bitmaps is None else on_bitmaps
            return numbers

    def _empty_cache(self, table: str) -> "BitmapCache | None":
        (people,) = self._read_counts(table, [ALWAYS])
        return BitmapCache(np.arange(people), self._memory) if people * _READ <= self._memory else None

    def _groups(self, table: str, questions: "Iterable[_Question]") -> "Iterator[list[_Question]]":
        """Put together what fits the memory together; a group of one may still not fit."""
        group: list[_Question] = []
        numbers: set[int] = set()
        for question in questions:
            cache = self._caches[table]
            together = numbers | question.atoms.keys()
            if group and cache is not None and len(together) > cache.capacity:
                yield group
                group, together = [], set(question.atoms)
            group.append(question)
            numbers = together
        yield group

    def _on_bitmaps(self, table: str, group: "Sequence[_Question]") -> list[int] | None:
        atoms = {number: atom for question in group for number, atom in question.atoms.items()}
        for _ in range(_PATIENCE):
            cache = self._caches[table]
            if cache is None or len(atoms) > cache.capacity:
                return None
            bitmaps, missing = cache.take(atoms)
            if not missing:
                return [cache.count(question.tree, bitmaps) for question in group]
            self._build(table, missing)
        return None

    def _build(self, table: str, atoms: Sequence[Predicate]) -> None:
        for i in range(0, len(atoms), MOST_FACTS):
            batch = atoms[i : i + MOST_FACTS]
            people, facts = self._read_facts(table, batch)
            if np.any(people[1:] < people[:-1]):
                raise ValueError("rows that are not in the order that was asked for")
            cache = self._caches[table]
            if cache is None or cache.who != _digest(people):
                known = None if cache is None else cache.people
                cache = BitmapCache(people, self._memory)
                if cache.people != known and [cache.people] != list(self._read_counts(table, [ALWAYS])):
                    self._caches[table] = None  # two people of one number, which text keys may have
                    return
                self._caches[table] = cache
            for bit, atom in enumerate(batch):
                cache.add(atom, (facts & np.int64(1 << bit)) != 0)

    def _by_database(self, table: str, group: "Sequence[_Question]") -> list[int]:
        predicates = [question.predicate for question in group]
        batches = (predicates[i : i + MOST_COUNTS] for i in range(0, len(group), MOST_COUNTS))
        return [number for batch in batches for number in self._read_counts(table, batch)]


class _Join(NamedTuple):
    """Parts joined by "and" or "or"; atoms, which stand for themselves, come first."""

    by: np.ufunc
    parts: "tuple[_Tree, ...]"


_Tree: TypeAlias = int | _Join
"""A predicate in which each atom is a number: numbers are looked up ten times as fast."""


class _Question(NamedTuple):
    predicate: Predicate
    tree: _Tree
    atoms: Mapping[int, Predicate]


def _questions(predicates: Iterable[Predicate]) -> Iterator[_Question]:
    numbers: dict[Predicate, int] = {}

    def tree(predicate: Predicate, atoms: dict[int, Predicate]) -> _Tree:
        match predicate:
            case AllOf(parts) | AnyOf(parts):
                below = sorted((tree(part, atoms) for part in parts), key=lambda part: isinstance(part, _Join))
                return _Join(np.bitwise_and if isinstance(predicate, AllOf) else np.bitwise_or, tuple(below))
            case atom:
                number = numbers.setdefault(atom, len(numbers))
                atoms[number] = atom
                return number

    for predicate in predicates:
        atoms: dict[int, Predicate] = {}
        yield _Question(predicate, tree(predicate, atoms), atoms)


class BitmapCache:
    """The bitmaps of one table over `rows`, the person's number of each in order; those used last are at the end."""

    def __init__(self, rows: Integers, memory: int) -> None:
        self.who = _digest(rows)
        self._words = max(1, -(-len(rows) // 64))
        self.capacity = memory // (8 * self._words)
        self._bitmaps: OrderedDict[Predicate, Bitmap] = OrderedDict()
        self._everyone = self._packed(np.ones(len(rows), np.bool_))
        first = np.concatenate([np.ones(min(1, len(rows)), np.bool_), rows[1:] != rows[:-1]])
        self.people = int(first.sum())
        # The rows of people who have several: where their bits are, and where a new person begins among them.
        several = np.flatnonzero(~first | np.append(~first[1:], np.False_)[: len(rows)])
        self._word, self._bit = several >> 6, (several & 63).astype(np.uint64)
        self._begins = np.flatnonzero(first[several])
        self._scratch: list[Bitmap] = []
        self._bits_of_word = np.empty(self._words, np.uint8)

    def take(self, atoms: Mapping[int, Predicate]) -> tuple[list[Bitmap], list[Predicate]]:
        """Return the bitmaps of `atoms` by their numbers, and the atoms that have none yet."""
        bitmaps = [self._everyone] * (max(atoms, default=-1) + 1)
        missing = []
        for number, atom in atoms.items():
            found = self._bitmaps.get(atom)
            if found is None:
                missing.append(atom)
            else:
                bitmaps[number] = found
                self._bitmaps.move_to_end(atom)
        return bitmaps, missing

    def add(self, atom: Predicate, truths: NDArray[np.bool_]) -> None:
        """Put a bitmap into the cache, in the place of the one that was not used for longest."""
        while len(self._bitmaps) >= self.capacity:
            self._bitmaps.popitem(last=False)
        self._bitmaps[atom] = self._packed(truths)

    def _packed(self, truths: NDArray[np.bool_]) -> Bitmap:
        bits = np.packbits(truths, bitorder="little")
        return np.pad(bits, (0, self._words * 8 - len(bits))).view(np.uint64)

    def count(self, tree: _Tree, bitmaps: Sequence[Bitmap]) -> int:
        """Return how many people have a bit that is set in the bitmap that `tree` makes of `bitmaps`."""
        bits = self._joined(tree, bitmaps, 0)
        counts = np.bitwise_count(bits, out=self._bits_of_word)
        rows = int(counts.sum(dtype=np.uint32 if self._words < _NARROW else np.uint64))
        if not len(self._begins):
            return rows
        of_each = np.add.reduceat((bits[self._word] >> self._bit & np.uint64(1)).astype(np.int64), self._begins)
        return rows - int(np.maximum(of_each - 1, 0).sum())

    def _joined(self, tree: _Tree, bitmaps: Sequence[Bitmap], depth: int) -> Bitmap:
        """Return the bitmap of a tree. That of a join lives until the next join at the same depth."""
        if isinstance(tree, int):
            return bitmaps[tree]
        if depth == len(self._scratch):
            self._scratch.append(np.empty(self._words, np.uint64))
        mine = self._scratch[depth]
        if not tree.parts:
            mine[:] = self._everyone if tree.by is np.bitwise_and else 0
            return mine
        first, *others = tree.parts
        total = self._joined(first, bitmaps, depth + 1)
        if isinstance(first, _Join):
            mine[:] = total
            total = mine
        for part in others:
            total = tree.by(total, self._joined(part, bitmaps, depth + 1), out=mine)
        return total


def _digest(rows: Integers) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(rows, np.int64).tobytes()).digest()


_NARROW = 2**26  # words whose bits 32 bits can count, which is twice as fast
