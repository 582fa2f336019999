"""Thousands of cohorts of one table, counted without reading it thousands of times.

Each atom of a predicate ("age between 20 and 30", "kind is ER") becomes a bitmap with one bit for each row of a table.
"And" and "or" of atoms are those of their bitmaps, and a count is the number of people who have a bit that is set:
for every predicate, one person moves the count by at most one.

What is asked of a person's rows in another table ("has a visit for which ...", "has 3 of them") is counted on the
bitmaps of that table, and becomes a bitmap of this one; so thousands of such conditions are made of few atoms, too.
What compares rows with one another, and other derived columns, are atoms that the database reads, once each.

How a table is counted does not depend on one person's rows, for it shows in the time: on bitmaps, unless all its rows
are too many for the memory. Then the database counts (`grouped_atoms`). Both give the same whole numbers.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from threading import Lock
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.emitter import MOST_COUNTS, MOST_FACTS, Fact
from lapwing.engines.grouped_atoms import MOST_CELLS, MOST_IN_SETS, Cells, batches
from lapwing.engines.rows_of_person import Integers, Look, Truths, look_of
from lapwing.queries.algebra.derived import Beginning, Computed, PartOfDay, columns_read, inputs
from lapwing.queries.algebra.predicate import ALWAYS, AllOf, AnyOf, HasRows, LacksRows, Predicate
from lapwing.queries.catalogue.column import DerivedColumn

Bitmap: TypeAlias = NDArray[np.uint64]
ReadSize: TypeAlias = Callable[[str], tuple[int, int]]
ReadFacts: TypeAlias = Callable[[str, Sequence[Fact]], tuple[Integers, Integers]]
ReadCells: TypeAlias = Callable[[str, Cells, Truths], Sequence[int]]
ReadCounts: TypeAlias = Callable[[str, Sequence[Fact]], Sequence[int]]

_PATIENCE = 3
"""How often bitmaps are begun anew when people come or go while they are built."""
_EACH = 24
"""Bytes that are needed for each row to build bitmaps: who it is of, the facts, and where its bit is."""
_MOST_LOOKS = 8
"""How many facts about other rows stand in one statement: a database takes very much longer for many at once."""


class Cohorts:
    """Counts cohorts on bitmaps that are built when they are first needed.

    Parameters
    ----------
    read_size : given a table, the number of its rows that have a person key, and of their people
    read_facts : given a table and at most 62 facts, the people of its rows and, as bits, which facts are true for each,
        in one and the same order each time, the rows of a person together
    read_counts : given a table and at most 10 facts, the number of people who have a row for which each is true
    read_cells : given a table, cells of its rows, and for each of several cohorts which cells are in it: how many
        people have a row in one of them
    one_row : says of a table whether each person was seen to have one row in it
    memory : how many bytes of bitmaps of a table are kept, those not used for longest going first; a table whose rows
        alone take more is left to the database

    Proof: proofs/cohort_bitmaps.md
    """

    def __init__(
        self,
        read_size: ReadSize,
        read_facts: ReadFacts,
        read_counts: ReadCounts,
        read_cells: ReadCells,
        *,
        one_row: Callable[[str], bool],
        memory: int,
    ) -> None:
        self._read_size, self._read_facts, self._read_counts = read_size, read_facts, read_counts
        self._read_cells, self._one_row = read_cells, one_row
        self._memory, self._lock = memory, Lock()
        self._versions: Mapping[str, int] = {}
        self._caches: dict[str, BitmapCache | None] = {}  # None: not for bitmaps
        self._links: dict[tuple[str, str], _Link] = {}

    def counts(self, table: str, asked: Iterable[Fact], *, versions: Mapping[str, int]) -> list[int]:
        """Return the number of people in each cohort; bitmaps of other data versions are forgotten first."""
        with self._lock:
            if versions != self._versions:
                self._versions, self._caches, self._links = dict(versions), {}, {}
            numbers: list[int] = []
            for group in self._groups(table, _questions(asked)):
                ready = self._ready(table, group)
                if ready is None:
                    numbers += self._by_database(table, group)
                else:
                    cache, bitmaps = ready
                    numbers += [cache.count(question.tree, bitmaps) for question in group]
            return numbers

    def _cache(self, table: str) -> "BitmapCache | None":
        if table not in self._caches:
            rows, people = self._read_size(table)
            fits = rows * _EACH <= self._memory
            self._caches[table] = BitmapCache(np.arange(people), self._memory, read=False) if fits else None
        return self._caches[table]

    def _groups(self, table: str, questions: "Iterable[_Question]") -> "Iterator[list[_Question]]":
        """Group cohorts whose bitmaps fit into memory together; a group of one may still not fit."""
        group: list[_Question] = []
        numbers: set[int] = set()
        for question in questions:
            cache = self._cache(table)
            together = numbers | question.atoms.keys()
            if group and cache is not None and len(together) > cache.capacity:
                yield group
                group, together = [], set(question.atoms)
            group.append(question)
            numbers = together
        yield group

    def _ready(self, table: str, group: "Sequence[_Question]") -> "tuple[BitmapCache, list[Bitmap]] | None":
        """Return a cache that holds all atoms of a group, and their bitmaps by number; None where there is none."""
        atoms = {number: atom for question in group for number, atom in question.atoms.items()}
        for _ in range(_PATIENCE):
            cache = self._cache(table)
            if cache is None or len(atoms) > cache.capacity:
                return None
            bitmaps, missing = cache.take(atoms)
            if not missing:
                return cache, bitmaps
            self._build(table, missing)
        return None

    def _build(self, table: str, facts: Sequence[Fact]) -> None:
        looks: dict[str, list[Look]] = {}
        plain: list[Fact] = []
        for fact in facts:
            look = look_of(fact) if _looks(fact) else None
            if look is None:
                plain.append(fact)
            else:
                looks.setdefault(look.table, []).append(look)
        for batch in _batches(plain, MOST_FACTS):
            self._read(table, batch)
        left = [fact for inner, several in looks.items() for fact in self._count_elsewhere(table, inner, several)]
        for batch in _batches(left, MOST_FACTS):
            self._read(table, batch)

    def _read(self, table: str, batch: Sequence[Fact]) -> None:
        """Read facts, and begin a new cache where the rows are not those of the old one."""
        people, facts = self._read_facts(table, batch)
        if np.any(people[1:] < people[:-1]):
            raise ValueError("rows that are not in the order that was asked for")
        cache = self._caches[table]
        if cache is None or not cache.read or cache.who != _digest(people):
            known = None if cache is None else cache.people
            cache = BitmapCache(people, self._memory)
            if cache.people != known and cache.people != self._read_size(table)[1]:
                self._caches[table] = None  # two people of one number, which text keys may have
                return
            self._caches[table] = cache
        for bit, fact in enumerate(batch):
            cache.add(fact, (facts & np.int64(1 << bit)) != 0)

    def _count_elsewhere(self, table: str, inner: str, looks: "Sequence[Look]") -> list[Fact]:
        """Add the bitmaps of facts about rows of the same person in `inner`; return those that must be read."""
        waiting, left = iter(looks), list[Fact]()
        for group in self._groups(inner, _questions(look.inside for look in looks)):
            ready = self._ready(inner, group)
            if ready is not None and not ready[0].read:  # nothing was asked but that there are rows
                self._read(inner, ())
                ready = self._ready(inner, group)
            for question in group:
                look = next(waiting)
                places = None if ready is None else self._places(table, inner)
                cache = self._caches[table]
                if places is None or ready is None or cache is None or ready[0] is not self._caches[inner]:
                    left.append(look.fact)
                else:
                    cache.add_of_people(look.fact, _seen(look, places, question.tree, *ready))
        return left

    def _places(self, table: str, inner: str) -> Integers | None:
        """Return where the people of `table` are among those of `inner`, behind all if nowhere; None: not known."""
        cache = self._caches[table]
        if cache is not None and not cache.read:
            self._read(table, ())
        cache, other = self._caches[table], self._caches[inner]
        if cache is None or other is None:
            return None
        link = self._links.get((table, inner))
        if link is None or link.cache is not cache or link.other is not other:
            places = np.searchsorted(other.numbers, cache.numbers)
            places[np.append(other.numbers, 0)[places] != cache.numbers] = other.people
            both = int((places < other.people).sum())
            # Keys that are equal have one number; if as many have, no others do.
            (counted,) = self._read_counts(table, [Fact(HasRows(table=inner, where=ALWAYS))])
            link = self._links[table, inner] = _Link(cache, other, places if counted == both else None)
        return link.places

    def _by_database(self, table: str, group: "Sequence[_Question]") -> list[int]:
        """Count by cells what asks about few enough of them, and everything else a few at a time."""
        counts, most = dict[int, int](), MOST_CELLS if self._one_row(table) else MOST_IN_SETS
        for batch in batches([question.atoms for question in group], most, _looks, _MOST_LOOKS):
            if len(batch) == 1 and not self._one_row(table):
                continue  # the greatest of each person is found with less
            cells = Cells(atom for number in batch for atom in group[number].atoms.values())
            wanted = np.array([cells.everywhere(_held(group[number], cells)) for number in batch])
            counts |= zip(batch, self._read_cells(table, cells, wanted), strict=True)
        left = [number for number in range(len(group)) if number not in counts]
        found = (
            count
            for batch in _batches([group[number].fact for number in left], MOST_COUNTS)
            for count in self._read_counts(table, batch)
        )
        counts |= zip(left, found, strict=True)
        return [counts[number] for number in range(len(group))]


def _held(question: "_Question", cells: Cells) -> Truths:
    """Return in which cells a question holds."""

    def held(tree: "_Tree") -> Truths:
        if isinstance(tree, int):
            return cells.truths(question.atoms[tree])
        start = np.full((1,), tree.by is np.bitwise_and)
        return reduce(tree.by, map(held, tree.parts), start)

    return held(question.tree)


def _seen(look: Look, places: Integers, tree: "_Tree", inner: "BitmapCache", bitmaps: "Sequence[Bitmap]") -> Truths:
    """Return for whom a fact about their rows in another table is true; people without rows have the last place."""
    if look.turn is None:
        return look.holds(np.append(inner.rows_of_each(tree, bitmaps), 0)[places])
    reached = np.append(inner.reaching(look.turn, tree, bitmaps), False)[places]
    below, above = look.holds(np.array([0, look.turn])).tolist()
    return np.full(len(reached), above) if above == below else reached if above else ~reached


class _Link(NamedTuple):
    cache: "BitmapCache"
    other: "BitmapCache"
    places: Integers | None


class _Join(NamedTuple):
    """A node of "and" or "or" in the tree of a predicate; its atoms come first."""

    by: np.ufunc
    parts: "tuple[_Tree, ...]"


_Tree: TypeAlias = int | _Join
"""A predicate in which each atom is a number: numbers are looked up ten times as fast."""


class _Question(NamedTuple):
    fact: Fact
    tree: _Tree
    atoms: Mapping[int, Fact]


def _questions(asked: Iterable[Fact]) -> Iterator[_Question]:
    numbers: dict[Fact, int] = {}

    def tree(predicate: Predicate, derived: tuple[DerivedColumn, ...], atoms: dict[int, Fact]) -> _Tree:
        match predicate:
            case AllOf(parts) | AnyOf(parts):
                below = sorted((tree(part, derived, atoms) for part in parts), key=lambda part: isinstance(part, _Join))
                return _Join(np.bitwise_and if isinstance(predicate, AllOf) else np.bitwise_or, tuple(below))
            case where:
                atom = Fact(where, _needed(where, derived) if derived else ())
                number = numbers.setdefault(atom, len(numbers))
                atoms[number] = atom
                return number

    for fact in asked:
        atoms: dict[int, Fact] = {}
        yield _Question(fact, tree(fact.where, fact.derived, atoms), atoms)


def _needed(where: Predicate, derived: tuple[DerivedColumn, ...]) -> tuple[DerivedColumn, ...]:
    """Return the derived columns that an atom is about, with those that they are computed from."""
    if isinstance(where, HasRows | LacksRows) and where.derived:
        return derived  # columns of its rows may be computed from this row
    names = set(columns_read(where))
    for one in reversed(derived):  # each comes after those that it is computed from
        if one.name in names:
            names |= inputs(one)
    return tuple(one for one in derived if one.name in names)


def _looks(fact: Fact) -> bool:
    """Return whether a fact depends on other rows than the one it is about."""
    of_row = (PartOfDay, Beginning, Computed)
    return isinstance(fact.where, HasRows | LacksRows) or not all(isinstance(one, of_row) for one in fact.derived)


def _batches(facts: Iterable[Fact], most: int) -> Iterator[list[Fact]]:
    """Yield the facts of one statement: few, fewer that depend on other rows, no two columns of one name."""
    batch, seen, looks = list[Fact](), dict[str, DerivedColumn](), 0
    for fact in facts:
        mine, look = {one.name.casefold(): one for one in fact.derived}, _looks(fact)
        alike = all(seen.get(name, one) == one for name, one in mine.items())
        if len(batch) == most or looks + look > _MOST_LOOKS or not alike:
            yield batch
            batch, seen, looks = [], {}, 0
        batch.append(fact)
        seen |= mine
        looks += look
    if batch:
        yield batch


class BitmapCache:
    """The bitmaps of one table over `rows`, the person's number of each in order; those used last are at the end.

    `read` is true if these rows were read; if not, only the number of people is true of them. The bits of a person with
    at most 64 rows are contiguous in one word; a person with more rows has words of their own.
    """

    def __init__(self, rows: Integers, memory: int, *, read: bool = True) -> None:
        self.who, self.read = _digest(rows), read
        first = np.concatenate([np.ones(min(1, len(rows)), np.bool_), rows[1:] != rows[:-1]])
        begins = np.flatnonzero(first)
        self.numbers, self.people = rows[begins], len(begins)
        self._sizes = np.diff(begins, append=len(rows))
        starts, words = _places_of_people(self._sizes)
        self._words, self.capacity = words, memory // (8 * words)
        self._several = len(rows) > self.people
        self._place = np.repeat(starts - begins, self._sizes) + np.arange(len(rows)) if self._several else None
        self._bitmaps: OrderedDict[Fact, Bitmap] = OrderedDict()
        self._everyone = self._packed(np.ones(len(rows), np.bool_))
        self._scratch: list[Bitmap] = []
        self._bits_of_word = np.empty(self._words, np.uint8)
        if self._several:
            self._mark_people(starts)

    def _mark_people(self, starts: Integers) -> None:
        """Note the last bit of each person in each word, the others, and the words of people who have several."""
        self._by_place = np.argsort(starts)  # between two people there are only bits that are never set
        self._starts = starts[self._by_place]
        self._counting = np.uint8 if self._sizes.max() <= np.iinfo(np.uint8).max else np.int64
        self._ends = ends = starts + self._sizes - 1
        self._heavy = heavy = np.flatnonzero(self._sizes > _WORD)
        words_each = ends[heavy] // _WORD - starts[heavy] // _WORD + 1
        self._heavy_begins = np.cumsum(words_each) - words_each
        within = np.arange(words_each.sum()) - np.repeat(self._heavy_begins, words_each)
        self._heavy_words = np.repeat(starts[heavy] // _WORD, words_each) + within
        last = np.zeros(self._words * _WORD, np.bool_)
        last[self._heavy_words * _WORD + _WORD - 1] = True
        last[ends[heavy] // _WORD * _WORD + _WORD - 1] = False
        last[ends] = True
        self._last = np.packbits(last, bitorder="little").view(np.uint64)
        self._others = self._everyone & ~self._last
        self._fields = np.empty(self._words, np.uint64)
        self._to_first = np.zeros(self._words, np.uint64)  # in a word of several people all have as many bits
        light = self._sizes <= _WORD
        self._to_first[starts[light] // _WORD] = self._sizes[light] - 1

    def take(self, atoms: Mapping[int, Fact]) -> tuple[list[Bitmap], list[Fact]]:
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

    def add(self, fact: Fact, truths: Truths) -> None:
        """Add the bitmap of a fact, one truth for each row; the least recently used bitmaps are evicted (LRU)."""
        while len(self._bitmaps) >= self.capacity:
            self._bitmaps.popitem(last=False)
        self._bitmaps[fact] = self._packed(truths)

    def add_of_people(self, fact: Fact, truths: Truths) -> None:
        """Add the bitmap of a fact, one truth for each person, in the same way."""
        self.add(fact, np.repeat(truths, self._sizes) if self._several else truths)

    def _packed(self, truths: Truths) -> Bitmap:
        spread = np.zeros(self._words * _WORD, np.bool_)
        spread[slice(self.people) if self._place is None else self._place] = truths
        return np.packbits(spread, bitorder="little").view(np.uint64)

    def count(self, tree: _Tree, bitmaps: Sequence[Bitmap]) -> int:
        """Return how many people have a bit that is set in the bitmap that `tree` makes of `bitmaps`."""
        counts = np.bitwise_count(self._found(tree, bitmaps), out=self._bits_of_word)
        people = int(counts.sum(dtype=np.uint32 if self._words < _NARROW else np.uint64))
        if self._several and len(self._heavy):
            of_each = np.add.reduceat(counts[self._heavy_words].astype(np.int64), self._heavy_begins)
            people -= int(np.maximum(of_each - 1, 0).sum())
        return people

    def rows_of_each(self, tree: _Tree, bitmaps: Sequence[Bitmap]) -> Integers:
        """Return how many bits of each person are set in that bitmap."""
        bits = _unpacked(self._joined(tree, bitmaps, 0))
        if self._place is None:
            return bits[: self.people].astype(np.int64)
        of_each = np.empty(self.people, np.int64)
        of_each[self._by_place] = np.add.reduceat(bits, self._starts, dtype=self._counting)
        return of_each

    def reaching(self, least: int, tree: _Tree, bitmaps: Sequence[Bitmap]) -> Truths:
        """Return for each person whether at least `least` of their bits are set in that bitmap."""
        if not self._several or least > _FEW:
            return self.rows_of_each(tree, bitmaps) >= least
        bits = left = self._joined(tree, bitmaps, 0)
        found = self._last_of_each(bits)
        for _ in range(least - 1):
            left = left & (left - (found >> self._to_first))  # without the first bit that is set of each person
            found = self._last_of_each(left)
        reached = _unpacked(found)[self._ends].view(np.bool_)
        if len(self._heavy):
            of_word = np.bitwise_count(bits[self._heavy_words]).astype(np.int64)
            reached[self._heavy] = np.add.reduceat(of_word, self._heavy_begins) >= least
        return reached

    def _found(self, tree: _Tree, bitmaps: Sequence[Bitmap]) -> Bitmap:
        """Return that bitmap with one bit for each person and word, the last of theirs: whether one of them is set."""
        bits = self._joined(tree, bitmaps, 0)
        return self._last_of_each(bits) if self._several else bits

    def _last_of_each(self, bits: Bitmap) -> Bitmap:
        # The other bits of a person, plus as many ones, carry into the last bit exactly if one of them is set.
        found = self._fields
        np.bitwise_and(bits, self._others, out=found)
        found += self._others
        found |= bits
        found &= self._last
        return found

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


def _places_of_people(sizes: Integers) -> tuple[Integers, int]:
    """Return at which bit the rows of each person begin, and how many words there are: people of one size together."""
    starts, word = np.empty(len(sizes), np.int64), 0
    small = sizes <= _WORD
    for size in np.unique(sizes[small]).tolist():
        people, in_word = np.flatnonzero(sizes == size), _WORD // size
        number = np.arange(len(people))
        starts[people] = (word + number // in_word) * _WORD + number % in_word * size
        word += -(-len(people) // in_word)
    each = -(-sizes[~small] // _WORD)
    starts[~small] = (word + np.cumsum(each) - each) * _WORD
    return starts, max(1, word + int(each.sum()))


def _unpacked(bitmap: Bitmap) -> NDArray[np.uint8]:
    return np.unpackbits(bitmap.view(np.uint8), bitorder="little")


def _digest(rows: Integers) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(rows, np.int64).tobytes()).digest()


_WORD = 64
_FEW = 16  # rows up to which they are found one after the other, and not counted
_NARROW = 2**26  # words whose bits 32 bits can count, which is twice as fast
