"""What an engine computes: rows of one table, sorted into cells, each person's part bounded, then added up.

This is the whole language between `queries` and `engines`. Every engine gives the same whole numbers for the same
aggregate, whatever the order of rows, the number of threads or the partitions, because

- which rows and cells of a person count depends on that person's rows and the public salt alone (`pick`), and
- everything that is added up is a whole number (`term`).

Rows without a person key belong to no one and never count.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lapwing.queries import term as terms
from lapwing.queries.intervals import INTEGERS, TRUTHS, Domain, Interval
from lapwing.queries.predicate import InIntervals, InTexts, IsMissing, IsPresent, Predicate, atom, every, some
from lapwing.queries.term import Term
from lapwing.vocabulary.codec import stored

Label: TypeAlias = str | int | bool | Interval | None
"""What names a cell along one key: a declared value, the first and last number of a bin, or None for missing values."""


@stored("declared-key")
@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredKey:
    """One cell for each declared value, and one for missing values if `missing`; other values are in no cell."""

    column: str
    values: tuple[str, ...] | tuple[int, ...] | tuple[bool, ...]
    missing: bool


@stored("binned-key")
@dataclass(frozen=True, slots=True, kw_only=True)
class BinnedKey:
    """One cell for each bin, a interval on the column's domain; what is in no bin is in no cell."""

    column: str
    domain: Domain
    bins: tuple[Interval, ...]
    missing: bool


@stored("grid-key")
@dataclass(frozen=True, slots=True, kw_only=True)
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
@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKey:
    """One cell for each value that the data holds, and one for missing values if `missing`.

    The values are as secret as the counts are.
    """

    column: str
    missing: bool


KeyOfColumn: TypeAlias = DeclaredKey | BinnedKey | PrivateKey
Key: TypeAlias = KeyOfColumn | GridKey


@stored("count-per-person")
@dataclass(frozen=True, slots=True, kw_only=True)
class CountPerPerson:
    """A person counts 1 in each of at most `max_cells` cells they have a row in; in all of them where it is None."""

    max_cells: int | None


@stored("last-step-per-person")
@dataclass(frozen=True, slots=True, kw_only=True)
class LastStepPerPerson:
    """A person counts 1 in one cell: how many of the `steps`, in order, their best row passes before it fails."""

    steps: tuple[Predicate, ...]


@stored("clipped-sum-per-person")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedSumPerPerson:
    """A person adds, to each of at most `max_cells` cells, the total of `term` over their rows, clipped to bounds."""

    term: Term
    low: int
    high: int
    max_cells: int


@stored("bounded-rows-per-person")
@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedRowsPerPerson:
    """A person adds the `terms` of at most `max_rows` rows, picked by hash.

    With `max_cells` those are rows of one cell, in each of at most so many cells; where it is None, rows of all cells
    together. The terms are never negative and add up to at most `most` in one row.
    """

    terms: tuple[Term, ...]
    most: int
    max_rows: int
    max_cells: int | None


@stored("distinct-keys")
@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctKeys:
    """The number of cells that someone is in, where a person is in at most `max_cells` of those they have a row in."""

    max_cells: int


Bounding: TypeAlias = CountPerPerson | LastStepPerPerson | ClippedSumPerPerson | BoundedRowsPerPerson | DistinctKeys


@stored("aggregate")
@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """Rows of `table` where `where` is true, sorted into the cells of `keys`, bounded and added up."""

    table: str
    where: Predicate
    keys: tuple[Key, ...]
    bounding: Bounding
    salt: int

    @property
    def cells(self) -> tuple[tuple[Label, ...], ...] | None:
        """The public cells in the order of the answer, or None where only the data knows them."""
        match self.bounding:
            case LastStepPerPerson(steps=steps):
                return tuple((passed,) for passed in range(len(steps) + 1))
            case DistinctKeys():
                return ((),)
            case _:
                labels = [_labels(key) for key in self.keys]
                return None if None in labels else tuple(itertools.product(*(known for known in labels if known)))

    @property
    def cell_count(self) -> int | None:
        """How many cells the keys have, or None where only the data knows."""
        return cell_count(self.keys)

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
    labels = [_labels(key) for key in keys]
    return None if None in labels else math.prod(len(known) for known in labels if known is not None)


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
