"""How far one person can move the answer, and why.

The bounding of an aggregate decides it, together with the adjacency of the population; the data has no say. Each number
is exact: there are tables on which it is reached.

Proof: proofs/contribution_bounds.md
"""

from dataclasses import dataclass

from lapwing.queries import term as terms
from lapwing.queries.aggregate import (
    Aggregate,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountPerPerson,
    DistinctKeys,
    LastStepPerPerson,
)
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit


@dataclass(frozen=True, slots=True, kw_only=True)
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
        case CountPerPerson(max_cells=limit):
            return _in_cells(_at_most(limit, cells), cells, (1, 1), adjacency, _once_reason(limit, cells))
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
        case DistinctKeys(max_cells=most):
            limit = _at_most(most, aggregate.cell_count)
            reason = f"a person can be the only one in at most {limit} cells"
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
