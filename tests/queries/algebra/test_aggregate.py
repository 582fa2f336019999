"""Sensitivities are exact: brute force over everything that one person could do reaches them and never passes them."""

import itertools

import pytest

from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountInSets,
    CountPeopleOfTables,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    LastStepPerPerson,
    PrivateKey,
    sensitivity,
)
from lapwing.queries.algebra.predicate import ALWAYS
from lapwing.queries.algebra.term import ConstantTerm, OnGrid
from lapwing.queries.statistics.bernstein import basis, products
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

ADDED, REPLACED = (PrivacyUnit(person_key="p", adjacency=adjacency) for adjacency in Adjacency)


def farthest(parts, *, replaced):
    """The largest L1, squared L2 and single difference over all pairs of what one person can add."""
    parts = list(parts)
    nothing = (0,) * len(parts[0])
    pairs = itertools.product([*parts, nothing], repeat=2) if replaced else ((part, nothing) for part in parts)
    gaps = [[abs(a - b) for a, b in zip(one, other, strict=True)] for one, other in pairs]
    return tuple(max(measure(gap) for gap in gaps) for measure in (sum, lambda g: sum(n * n for n in g), max))


def stated(bounding, cells, unit):
    keys = () if cells is None else (DeclaredKey(column="k", values=tuple(range(cells)), missing=False),)
    found = sensitivity(Aggregate(table="t", where=ALWAYS, keys=keys, bounding=bounding, salt=0), unit)
    return found.l1, found.l2_squared, found.linf


def in_cells(cells, most, values):
    """All vectors with a value in at most `most` of `cells` cells and nothing in the others."""
    for vector in itertools.product([None, *values], repeat=cells):
        if sum(value is not None for value in vector) <= most:
            yield tuple(value or 0 for value in vector)


@pytest.mark.parametrize("unit", [ADDED, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize(("cells", "most"), [(1, 1), (2, 1), (3, 1), (3, 2), (3, 3), (4, 2), (4, 3), (3, 5)])
def test_people_in_cells(unit, cells, most) -> None:
    far = farthest(in_cells(cells, most, [1]), replaced=unit is REPLACED)
    assert stated(CountPerPerson(max_cells=most), cells, unit) == far
    assert stated(CountPeopleOfTables(tables=("t", "u"), max_cells=most), cells, unit) == far


@pytest.mark.parametrize("unit", [ADDED, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize("sets", [((0,),), ((0, 1),), ((0, 1), (1, 2)), ((0,), (1,), (0, 2))])
def test_people_in_sets_of_keys(unit, sets) -> None:
    """A person is one row: a code of each of three keys, and so one cell of each set."""
    sizes = (2, 3, 2)
    keys = tuple(DeclaredKey(column=f"k{n}", values=tuple(range(size)), missing=False) for n, size in enumerate(sizes))
    aggregate = Aggregate(table="t", where=ALWAYS, keys=keys, bounding=CountInSets(sets=sets), salt=0)
    cells = [
        (place, codes) for place, one in enumerate(sets) for codes in itertools.product(*(range(sizes[a]) for a in one))
    ]
    assert list(aggregate.cells) == [(number,) for number in range(len(cells))]
    assert aggregate.cell_count == len(cells)
    everybody = itertools.product(*map(range, sizes))
    parts = [tuple(int(tuple(row[a] for a in sets[place]) == codes) for place, codes in cells) for row in everybody]
    found = sensitivity(aggregate, unit)
    assert (found.l1, found.l2_squared, found.linf) == farthest(parts, replaced=unit is REPLACED)
    assert found.monotone is (unit is ADDED)


@pytest.mark.parametrize("unit", [ADDED, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize(("low", "high"), [(0, 3), (-3, 0), (-1, 3), (-3, 3), (-2, 1), (0, 0)])
@pytest.mark.parametrize(("cells", "most"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (4, 3)])
def test_clipped_totals(unit, cells, most, low, high) -> None:
    bounding = ClippedSumPerPerson(term=ConstantTerm(1), low=low, high=high, max_cells=most)
    values = sorted({low, 0, high})
    assert stated(bounding, cells, unit) == farthest(in_cells(cells, most, values), replaced=unit is REPLACED)


def rows_added(terms, rows, cells, most):
    """What at most `rows` rows of one person add, with x from 0 to 2 in each and in any of the cells."""
    choices = [(cell, tuple(value(term, x) for term in terms)) for cell in range(cells) for x in range(3)]
    for count in range(1, rows * (cells if most is not None else 1) + 1):
        for chosen in itertools.combinations_with_replacement(choices, count):
            touched = [cell for cell, _ in chosen]
            if most is not None and (len(set(touched)) > most or max(map(touched.count, touched)) > rows):
                continue
            vector = [0] * (cells * len(terms))
            for cell, numbers in chosen:
                for i, number in enumerate(numbers):
                    vector[cell * len(terms) + i] += number
            yield tuple(vector)


def value(term, x):
    match term:
        case OnGrid():
            return x
        case ConstantTerm(number):
            return number
        case _:
            a, b = value(term.left, x), value(term.right, x)
            return a + b if type(term).__name__ == "Plus" else a * b


X = OnGrid(column="x", bits=0, low=0, high=2)


@pytest.mark.parametrize("unit", [ADDED, REPLACED], ids=["added", "replaced"])
@pytest.mark.parametrize(
    ("terms", "most_of_row"),
    [
        ((ConstantTerm(1),), 1),
        (tuple(basis(X, 1)), 2),
        (tuple(basis(X, 2)), 4),
        (products([basis(X, 1), basis(X, 1)]), 4),
    ],
    ids=["rows", "mean", "variance", "covariance"],
)
@pytest.mark.parametrize("limits", [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 2, 2), (2, 2, None), (1, 3, None)], ids=str)
def test_picked_rows(unit, terms, most_of_row, limits) -> None:
    rows, cells, most = limits
    bounding = BoundedRowsPerPerson(terms=terms, most=most_of_row, max_rows=rows, max_cells=most)
    l1, l2_squared, linf = stated(bounding, cells, unit)
    reached = farthest(rows_added(terms, rows, cells, most), replaced=unit is REPLACED)
    assert (l1, l2_squared) == reached[:2]
    assert linf >= reached[2]  # the range of a product is not always taken at one place


@pytest.mark.parametrize("unit", [ADDED, REPLACED], ids=["added", "replaced"])
def test_steps_and_distinct_values(unit) -> None:
    replaced = unit is REPLACED
    steps = Aggregate(table="t", where=ALWAYS, keys=(), bounding=LastStepPerPerson(steps=(ALWAYS, ALWAYS)), salt=0)
    found = sensitivity(steps, unit)
    one_of_three = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert (found.l1, found.l2_squared, found.linf) == farthest(one_of_three, replaced=replaced)
    assert stated(DistinctKeys(max_cells=2), 5, unit) == (2, 4, 2)


def test_cells_that_only_the_data_knows_need_a_limit() -> None:
    keys = (PrivateKey(column="k", missing=False),)
    with pytest.raises(ValueError, match="need a limit"):
        sensitivity(
            Aggregate(table="t", where=ALWAYS, keys=keys, bounding=CountPerPerson(max_cells=None), salt=0), ADDED
        )
