"""What an engine computes: rows of one table, sorted into cells, each person's part bounded, then added up.

This is the whole language between `queries` and `engines`. Every engine gives the same whole numbers for the same
aggregate, whatever the order of rows, the number of threads or the partitions, because

- which rows and cells of a person count depends on that person's rows and the public salt alone (`rank`), and
- everything that is added up is a whole number (`term`).

Rows without a person key belong to no one and never count. How far one person can move the answer follows from the
bounding and the adjacency of the population; the data has no say.

Proof: proofs/contribution_bounds.md
"""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

from lapwing.queries.algebra import term as terms
from lapwing.queries.algebra.predicate import InIntervals, InTexts, IsMissing, IsPresent, Predicate, atom, every, some
from lapwing.queries.algebra.term import Term
from lapwing.queries.catalogue.column import DerivedColumn
from lapwing.queries.catalogue.domains import INTEGERS, TRUTHS, Domain, Interval
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

Label: TypeAlias = str | int | bool | Interval | None
"""What names a cell along one key: a declared value, the first and last number of a bin, or None for missing values."""


@stored("declared-key")
class DeclaredKey:
    """One cell for each declared value, and one for missing values if `missing`; other values are in no cell."""

    column: str
    values: tuple[str, ...] | tuple[int, ...] | tuple[bool, ...]
    missing: bool


@stored("binned-key")
class BinnedKey:
    """One cell for each bin, a interval on the column's domain; what is in no bin is in no cell."""

    column: str
    domain: Domain
    bins: tuple[Interval, ...]
    missing: bool


@stored("grid-key")
class GridKey:
    """Cells of `width` grid steps that cover the range of a term; a row is in cell (term - low) // width."""

    term: Term
    width: int

    @property
    def cells(self) -> int:
        """How many cells cover the range."""
        low, high = terms.bounds(self.term)
        return (high - low) // self.width + 1


@stored("private-key")
class PrivateKey:
    """One cell for each value that the data holds, and one for missing values if `missing`.

    The values are as secret as the counts are.
    """

    column: str
    missing: bool


KeyOfColumn: TypeAlias = DeclaredKey | BinnedKey | PrivateKey
Key: TypeAlias = KeyOfColumn | GridKey


@stored("count-per-person")
class CountPerPerson:
    """A person counts 1 in each of at most `max_cells` cells they have a row in; in all of them where it is None."""

    max_cells: int | None


@stored("count-people-of-tables")
class CountPeopleOfTables:
    """A person who has a row in any of `tables` counts 1, in each of at most `max_cells` cells.

    The row that is looked at is the person's key and nothing else: condition and keys are about derived columns, and
    about rows of the person.
    """

    tables: tuple[str, ...]
    max_cells: int | None


@stored("count-in-sets")
class CountInSets:
    """A person counts 1 in one cell of each of `sets` of the keys: the cells of one row, that of lowest rank.

    It is SQL's GROUPING SETS. A set has the places of its keys. Cells are numbered, those of one set after those of the
    set before it, the last key fastest; each key has the declared values 0, 1, 2, ...
    """

    sets: tuple[tuple[int, ...], ...]


@stored("last-step-per-person")
class LastStepPerPerson:
    """A person counts 1 in one cell: how many of the `steps`, in order, their best row passes before it fails."""

    steps: tuple[Predicate, ...]


@stored("clipped-sum-per-person")
class ClippedSumPerPerson:
    """A person adds, to each of at most `max_cells` cells, the total of `term` over their rows, clipped to bounds."""

    term: Term
    low: int
    high: int
    max_cells: int


@stored("bounded-rows-per-person")
class BoundedRowsPerPerson:
    """A person adds the `terms` of at most `max_rows` rows.

    They are spread evenly over the person's rows in their order, from a start that is picked by hash: each row has the
    same chance, and those that count are as various as the person's rows are. With `max_cells` those are rows of one
    cell, in at most `max_cells` cells; where it is None, rows of all cells together. The terms are never negative and
    add up to at most `most` in one row.
    """

    terms: tuple[Term, ...]
    most: int
    max_rows: int
    max_cells: int | None


@stored("distinct-keys")
class DistinctKeys:
    """The number of cells that someone is in, where a person is in at most `max_cells` of those they have a row in."""

    max_cells: int


@stored("sketched-keys")
class SketchedKeys:
    """The number of places of a sketch that somebody's cells mark, of at most `max_cells` of each person.

    A cell marks one place (`mark`): a bucket, and a level that is each next one with half the chance. However many
    cells there are, no more than `buckets` times `LEVELS` places can be marked, and nothing else has to be kept.
    """

    max_cells: int
    buckets: int


Bounding: TypeAlias = (
    CountPerPerson
    | CountPeopleOfTables
    | CountInSets
    | LastStepPerPerson
    | ClippedSumPerPerson
    | BoundedRowsPerPerson
    | DistinctKeys
    | SketchedKeys
)


@stored("aggregate")
class Aggregate:
    """Rows of `table` where `where` is true, sorted into the cells of `keys`, bounded and added up.

    The rows see the columns of their table and `derived` ones, each after those that it is computed from.
    """

    table: str
    where: Predicate
    keys: tuple[Key, ...]
    bounding: Bounding
    salt: int
    derived: tuple[DerivedColumn, ...] = ()

    @property
    def cells(self) -> tuple[tuple[Label, ...], ...] | None:
        """The public cells in the order of the answer, or None where only the data knows them."""
        match self.bounding:
            case LastStepPerPerson(steps=steps):
                return tuple((passed,) for passed in range(len(steps) + 1))
            case DistinctKeys() | SketchedKeys():
                return ((),)
            case CountInSets():
                return tuple(zip(range(sum(self.sizes)), strict=True))
            case _:
                labels = list(map(_labels, self.keys))
                return None if None in labels else tuple(itertools.product(*filter(None, labels)))

    @property
    def cell_count(self) -> int | None:
        """How many cells the keys have, in all sets of them, or None where only the data knows."""
        return sum(self.sizes) if isinstance(self.bounding, CountInSets) else cell_count(self.keys)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each set of keys has, where people are counted in sets."""
        sets = self.bounding.sets if isinstance(self.bounding, CountInSets) else ()
        return tuple(cell_count([self.keys[place] for place in places]) or 0 for places in sets)

    @property
    def counted(self) -> Predicate:
        """The rows that count: `where` is true, they are in a cell, and nothing that is added up is missing."""
        values: set[str] = set()
        match self.bounding:
            case ClippedSumPerPerson(term=term):
                values = set(terms.columns(term))
            case BoundedRowsPerPerson(terms=picked):
                values = {column for term in picked for column in terms.columns(term)}
            case _:
                pass
        present = [IsPresent(column=column) for column in sorted(values)]
        needed = [*(_in_a_cell(key) for key in self.keys), *present]
        return every([self.where, *needed]) if needed else self.where

    @property
    def terms(self) -> int:
        """How many numbers there are in each cell."""
        return len(self.bounding.terms) if isinstance(self.bounding, BoundedRowsPerPerson) else 1


def cell_count(keys: Sequence[Key]) -> int | None:
    """Return how many cells `keys` have, or None where only the data knows."""
    count = 1
    for key in keys:
        labels = _labels(key)
        if labels is None:
            return None
        count *= len(labels)
    return count


def _labels(key: Key) -> tuple[Label, ...] | None:
    match key:
        case DeclaredKey(values=values, missing=missing):
            return (*values, *((None,) if missing else ()))
        case BinnedKey(bins=bins, missing=missing):
            return (*bins, *((None,) if missing else ()))
        case GridKey():
            return tuple(range(key.cells))
        case PrivateKey():
            return None


def _in_a_cell(key: Key) -> Predicate:
    match key:
        case DeclaredKey(column=column, values=values):
            listed = _holds_one_of(column, values)
        case BinnedKey(column=column, domain=domain, bins=bins):
            listed = atom(InIntervals(column=column, domain=domain, intervals=domain.union(bins)))
        case PrivateKey(column=column):
            listed = IsPresent(column=column)
        case GridKey(term=term):
            return every(IsPresent(column=column) for column in terms.columns(term))
    return some([listed, IsMissing(column=column)]) if key.missing else listed


def _holds_one_of(column: str, values: tuple[str, ...] | tuple[int, ...] | tuple[bool, ...]) -> Predicate:
    texts = tuple(value for value in values if isinstance(value, str))
    if texts:
        return atom(InTexts(column=column, texts=texts))
    domain = TRUTHS if isinstance(values[0], bool) else INTEGERS
    numbers = [int(value) for value in values]
    return atom(
        InIntervals(column=column, domain=domain, intervals=domain.union((number, number) for number in numbers))
    )


@frozen()
class Sensitivity:
    """The most by which the answers of two neighbouring populations differ, as whole numbers of grid steps.

    Parameters
    ----------
    l1 : the sum of the absolute differences over all numbers of the answer
    l2_squared : the sum of the squared differences
    linf : the largest single difference
    monotone : whether all numbers move the same way (or stay) whenever one person is added
    reason : why, in a sentence
    """

    l1: int
    l2_squared: int
    linf: int
    monotone: bool
    reason: str


def sensitivity(aggregate: Aggregate, unit: PrivacyUnit) -> Sensitivity:
    """Return how far one protected person or group can move the answer of `aggregate`.

    Proof: proofs/contribution_bounds.md
    """
    cells = aggregate.cells
    one = _of_one_person(aggregate, None if cells is None else len(cells), unit.adjacency)
    size = unit.protects_groups_of
    if size == 1:
        return one
    return Sensitivity(
        l1=one.l1 * size,
        l2_squared=one.l2_squared * size**2,
        linf=one.linf * size,
        monotone=one.monotone,
        reason=f"{one.reason}; {size} people are protected together, so {size} times that",
    )


def _of_one_person(aggregate: Aggregate, cells: int | None, adjacency: Adjacency) -> Sensitivity:
    replaced = adjacency is Adjacency.REPLACE
    match aggregate.bounding:
        case CountPerPerson(max_cells=limit) | CountPeopleOfTables(max_cells=limit):
            return _in_cells(_at_most(limit, cells), cells, (1, 1), adjacency, _once_reason(limit, cells))
        case CountInSets(sets=sets):
            moved = (2 if replaced else 1) * len(sets)
            reason = f"each person is in one cell of each of {len(sets)} tables"
            return Sensitivity(
                l1=moved, l2_squared=moved, linf=1, monotone=not replaced, reason=_why(reason, adjacency)
            )
        case LastStepPerPerson():
            moved = 2 if replaced else 1
            reason = "each person is in exactly one step, the first they fail or the end"
            return Sensitivity(
                l1=moved, l2_squared=moved, linf=1, monotone=not replaced, reason=_why(reason, adjacency)
            )
        case ClippedSumPerPerson(low=low, high=high, max_cells=limit):
            touched = _at_most(limit, cells)
            reason = f"a person's total is clipped to {low}..{high} grid steps" + _cells_reason(touched, cells)
            return _in_cells(touched, cells, (low, high), adjacency, reason)
        case BoundedRowsPerPerson():
            return _of_rows(aggregate.bounding, cells, adjacency)
        case DistinctKeys(max_cells=most) | SketchedKeys(max_cells=most):
            limit = _at_most(most, aggregate.cell_count)
            places = "marks" if isinstance(aggregate.bounding, SketchedKeys) else "cells"
            reason = f"a person can be the only one in at most {limit} {places}"
            return Sensitivity(
                l1=limit, l2_squared=limit**2, linf=limit, monotone=not replaced, reason=_why(reason, adjacency)
            )


def _in_cells(
    touched: int, cells: int | None, range_: tuple[int, int], adjacency: Adjacency, reason: str
) -> Sensitivity:
    # A person adds a number in `range_` to each of at most `touched` cells, and nothing to the others.
    low, high = range_
    alone, both = max(abs(low), abs(high)), high - low
    if adjacency is Adjacency.ADD_REMOVE:
        l1, l2_squared = touched * alone, touched * alone**2
    else:
        # `shared` cells hold a number before and after, the other cells only one of the two: linear between the corners
        corners = {0, touched, touched if cells is None else max(0, 2 * touched - cells)}
        single = {s: 2 * (touched - s) if cells is None else min(2 * (touched - s), cells - s) for s in corners}
        l1 = max(s * both + single[s] * alone for s in corners)
        l2_squared = max(s * both**2 + single[s] * alone**2 for s in corners)
    return Sensitivity(
        l1=l1,
        l2_squared=l2_squared,
        linf=alone if adjacency is Adjacency.ADD_REMOVE else max(alone, both),
        monotone=adjacency is Adjacency.ADD_REMOVE and low >= 0,
        reason=_why(reason, adjacency),
    )


def _of_rows(bounding: BoundedRowsPerPerson, cells: int | None, adjacency: Adjacency) -> Sensitivity:
    # A person adds a vector without negative numbers whose sum is at most `block` in each cell they touch.
    block, rows = bounding.max_rows * bounding.most, bounding.max_rows
    touched = 1 if bounding.max_cells is None else _at_most(bounding.max_cells, cells)
    blocks = touched
    if adjacency is Adjacency.REPLACE:
        # One number can only move by `block`; two or more can lose it in one place and gain it in another.
        alone = len(bounding.terms) == 1 and (bounding.max_cells is not None or cells == 1)
        blocks = min(2 * touched, cells or 2 * touched) if alone else 2 * touched
    plural = "row counts" if rows == 1 else "rows count"
    where = " in all" if bounding.max_cells is None else _cells_reason(touched, cells)
    reason = f"at most {rows} {plural} for a person{where}, and a row adds at most {bounding.most} grid steps"
    return Sensitivity(
        l1=blocks * block,
        l2_squared=blocks * block**2,
        linf=rows * max(terms.bounds(term)[1] for term in bounding.terms),
        monotone=adjacency is Adjacency.ADD_REMOVE,
        reason=_why(reason, adjacency),
    )


def _at_most(limit: int | None, cells: int | None) -> int:
    limits = [number for number in (limit, cells) if number is not None]
    if not limits:
        raise ValueError("cells that only the data knows need a limit for one person")
    return min(limits)


def _once_reason(limit: int | None, cells: int | None) -> str:
    return "a person counts once" + _cells_reason(_at_most(limit, cells), cells)


def _cells_reason(touched: int, cells: int | None) -> str:
    if cells == 1:
        return ""
    return " in one cell" if touched == 1 else f" in each of at most {touched} cells"


def _why(reason: str, adjacency: Adjacency) -> str:
    change = "one person is added or removed" if adjacency is Adjacency.ADD_REMOVE else "one person replaces another"
    return f"{reason}; {change}"


def tables_of(noun: object) -> set[str]:
    """Return the tables that an aggregate reads: its own, and those its conditions look into."""
    found, stack = set[str](), [noun]
    while stack:
        part: Any = stack.pop()
        if isinstance(part, tuple):
            stack += part
        elif is_dataclass(part):
            for field in fields(part):
                held = getattr(part, field.name)
                match field.name:
                    case "table":
                        found.add(held)
                    case "tables":
                        found.update(held)
                    case _:
                        stack.append(held)
    return found


MODULUS = 2**31 - 1
"""Products of two residues fit 62 bits."""
FACTOR = 1_103_515_245
STRETCH = 48_271
SHIFT = 12_345


LAST_PLACE = 2**42
"""Rows of a person beyond this place are not picked: a place times `max_rows` has to fit 64 bits."""


def rank(salt: int, numbers: Iterable[int]) -> int:
    """Return the rank of a choice that is told apart by `numbers`.

    >>> sorted(range(5), key=lambda cell: rank(0, [17, cell]))
    [1, 4, 0, 3, 2]
    """
    state = salt
    for number in numbers:
        state = (state * FACTOR + number % MODULUS) % MODULUS
    state = state * STRETCH % MODULUS
    state = (state * state + SHIFT) % MODULUS
    return state * state % MODULUS


OTHER_MODULUS = 2**31 - 19
"""A prime, too: two numbers of 60 bits that leave the same rest by both are rare."""
MOST_BUCKETS = 2**16
LEVELS = 24
LEVEL_EDGES = tuple(MODULUS >> level for level in range(1, LEVELS))
"""A value is on level j of a sketch if its rank is below the first j of them: for one in 2^j it is."""


def mark(salt: int, buckets: int, number: int) -> tuple[int, int]:
    """Return the bucket and the level that the value with this number marks in a sketch.

    >>> mark(7, 1024, 12345) == mark(7, 1024, 12345), mark(7, 1024, 12345)[0] < 1024
    (True, True)
    """
    rests = (number % MODULUS, number % OTHER_MODULUS)
    drawn = rank(salt + 2, rests[::-1])
    return rank(salt + 1, rests) % buckets, sum(drawn < edge for edge in LEVEL_EDGES)


def text_number(text: str) -> int:
    """Return a number for a text, the same on every engine: the first 60 bits of its MD5 (no secret rests on it)."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:15], 16)
