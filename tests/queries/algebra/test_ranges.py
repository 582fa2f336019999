"""How many numbers are written in a statement, and the ranges within which nothing overflows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.algebra.predicate import InIntervals, Unit
from lapwing.queries.algebra.ranges import FEW, MOST_LISTED, Held, listed, of_term
from lapwing.queries.algebra.term import ConstantTerm, Elapsed, OnGrid, SteppedDown
from lapwing.queries.catalogue.domains import DAYS, INTEGERS

PIECES = st.lists(st.tuples(st.integers(-3000, 3000), st.integers(0, 40)), min_size=FEW + 1, max_size=60)


def atom(pieces, domain=INTEGERS):
    return InIntervals(column="x", domain=domain, intervals=domain.union(pieces))


def among(found, number):
    """Say whether a number is among those that a list means."""
    inside = number in set(found.points) or any(low <= number <= high for low, high in found.ranges)
    return inside is found.wanted


@given(PIECES.map(lambda pieces: [(low, low + width) for low, width in pieces]), st.booleans())
def test_a_list_means_what_the_intervals_mean(pieces, without) -> None:
    intervals = INTEGERS.without(pieces) if without else INTEGERS.union(pieces)
    found = listed(InIntervals(column="x", domain=INTEGERS, intervals=intervals))
    if found is None:
        assert len(intervals) <= FEW
        return
    for number in (*range(-3050, 3050, 7), *(end + by for piece in pieces for end in piece for by in (-1, 0, 1))):
        assert among(found, number) is any(low <= number <= high for low, high in intervals)


def test_few_intervals_and_other_domains_are_written_one_by_one() -> None:
    assert listed(atom([(3 * i, 3 * i) for i in range(FEW)])) is None
    assert listed(atom([(3 * i, 3 * i) for i in range(FEW + 1)], DAYS)) is None
    assert listed(atom([(3 * i, 3 * i) for i in range(FEW + 1)])) is not None


def test_a_list_is_never_too_long() -> None:
    wide = [(2000 * i, 2000 * i + 998) for i in range(MOST_LISTED // 999 + 50)]
    found = listed(atom(wide))
    assert found is not None
    assert len(found.points) <= MOST_LISTED
    assert among(found, wide[-1][0])
    assert not among(found, wide[-1][1] + 1)


@pytest.mark.parametrize(
    ("term", "fits"),
    [
        (OnGrid(column="x", bits=10, low=0, high=2**52), True),
        (OnGrid(column="x", bits=10, low=0, high=2**53), False),
        (OnGrid(column="x", bits=901, low=0, high=1), False),
        (ConstantTerm(2**62), True),
        (ConstantTerm(2**62 + 1), False),
        (Elapsed(until=0, since="born", unit=Unit.DAYS, low=0, high=9), True),
        (Elapsed(until=10**9, since="born", unit=Unit.DAYS, low=0, high=9), False),
        (SteppedDown(ConstantTerm(5), 1), True),
    ],
)
def test_every_number_on_the_way_fits_what_holds_it(term, fits) -> None:
    found = [held.value.lowest <= low and high <= held.value.highest for _, low, high, held in of_term(term)]
    assert found
    assert all(found) is fits
    assert Held.TERM.value.highest < Held.WHOLE.value.highest
