"""The second line of defence: an exact answer that cannot be true is a failure, and never gets as far as the noise.

Noise hides one person's part only while that part is as bounded as the plan says. Should a database add up wrongly,
wrap around or send a cell twice, its number must not be released. So every number is held against what is publicly
known: the cells of the aggregate and the bounds of a person's part.

Nothing here tells anything about the rows. The checks follow from the aggregate alone, and on a database that computes
what it was asked they hold for all rows whatsoever (`proofs/totality.md`): only a broken database can fail them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.queries.aggregate import (
    Aggregate,
    BinnedKey,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    GridKey,
    Key,
    Label,
    LastStepPerPerson,
    PrivateKey,
)
from lapwing.queries.term import bounds
from lapwing.queries.totality import MOST_ROWS


class ImpossibleError(ValueError):
    """A database sent what cannot be true. Only the custodian hears of it."""


def possible_numbers(aggregate: Aggregate, sent: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of a cell, one for each term, from what a database sent for it.

    Where something is added up, the first number sent is how many parts were: `parts` times the bounds of a part bound
    the total.

    Proof: proofs/totality.md
    """
    bounding = aggregate.bounding
    summed = isinstance(bounding, ClippedSumPerPerson | BoundedRowsPerPerson)
    _require(len(sent) == aggregate.terms + summed, "more or fewer numbers than were asked for")
    _require(all(type(number) is int for number in sent), "a number that is not whole")
    # A cell of a key is sent because somebody is in it; without keys there is one row, whoever is in it.
    grouped = bool(aggregate.keys) and not isinstance(bounding, DistinctKeys)
    least = 1 if grouped or isinstance(bounding, LastStepPerPerson) else 0
    _require(least <= sent[0] < MOST_ROWS, "a count that cannot be")
    parts, *numbers = sent if summed else (0, *sent)
    match bounding:
        case ClippedSumPerPerson(low=low, high=high):
            _require(parts * low <= numbers[0] <= parts * high, "a total beyond the bounds of its parts")
        case BoundedRowsPerPerson():
            _require(_rows_fit(bounding, parts, numbers), "a total beyond the bounds of its rows")
        case DistinctKeys():
            cells = aggregate.cell_count
            _require(cells is None or sent[0] <= cells, "more cells than there are")
        case CountPerPerson() | LastStepPerPerson():
            pass
    return tuple(numbers)


def _rows_fit(bounding: BoundedRowsPerPerson, parts: int, numbers: Sequence[int]) -> bool:
    rows = parts * (1 if bounding.max_cells is None else bounding.max_rows)
    each = all(0 <= number <= rows * bounds(term)[1] for number, term in zip(numbers, bounding.terms, strict=True))
    return each and sum(numbers) <= rows * bounding.most


def possible_label(key: Key, part: Any) -> Label:
    """Return the label of a cell along a key, from what a database sent for it.

    Proof: proofs/totality.md
    """
    match key:
        case BinnedKey() | DeclaredKey() | PrivateKey() if part is None:
            _require(key.missing, "a cell for missing values that was not asked for")
            return None
        case BinnedKey(bins=bins):
            _require(type(part) is int and 0 <= part < len(bins), "a bin that there is not")
            return bins[part]
        case GridKey(width=width):
            _require(type(part) is int and part % width == 0, "a place between two cells")
            _require(0 <= part // width < key.cells, "a cell outside of the range")
            return int(part) // width
        case DeclaredKey(values=values):
            _require(type(part) is type(values[0]), "a value of another type than declared")
        case PrivateKey():
            _require(type(part) in {int, str}, "a value that is neither a number nor a text")
    label: Label = part
    return label


def possible_counts(sent: Sequence[Any], cohorts: int) -> list[int]:
    """Return the numbers of people in so many cohorts, from what was sent: how many people there are, then these.

    Proof: proofs/totality.md
    """
    people, *counts = sent
    _require(len(counts) == cohorts, "more or fewer counts than were asked for")
    _require(all(type(number) is int for number in sent), "a number that is not whole")
    _require(0 <= people < MOST_ROWS and all(0 <= count <= people for count in counts), "more people than there are")
    return counts


def possible_facts(people: NDArray[Any], facts: NDArray[Any], atoms: int) -> None:
    """Refuse facts that are not one whole number a row with a bit for each atom.

    Proof: proofs/totality.md
    """
    for column in (people, facts):
        _require(column.dtype == np.int64 and not np.ma.is_masked(column), "facts that are not whole")
    _require(people.shape == facts.shape, "facts about nobody")
    _require(not len(facts) or 0 <= facts.min() <= facts.max() < 2**atoms, "facts that were not asked for")


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - the words say what it is about
    if not holds:
        raise ImpossibleError(otherwise)
