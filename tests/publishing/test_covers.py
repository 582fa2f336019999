"""Tables to count: every wanted one is in one of them, none is too large, and they are few."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lapwing.publishing.covers import FEW_CELLS, cover, maximal
from lapwing.queries.limits import MOST_KEYS

CLINIC = (2, 11, 8, 3, 7, 2, 2, 2, 2, 5, 6, 4, 2, 2, 2, 2)
"""The codes of sixteen columns: sex, age in decades, site, ..."""


def sets_of(size):
    return list(itertools.combinations(range(len(CLINIC)), size))


@pytest.mark.parametrize(("size", "few"), [(2, 13), (3, 35)])
def test_all_pairs_and_all_triples_of_a_clinic_are_in_few_tables(size, few) -> None:
    tables = cover(CLINIC, sets_of(size))
    assert len(tables) <= few
    assert all(math.prod(CLINIC[a] for a in table) <= FEW_CELLS for table in tables)
    assert all(any(set(axes) <= set(table) for table in tables) for axes in sets_of(size))


@given(some.data())
def test_a_cover_holds_all_that_is_wanted(data) -> None:
    codes = data.draw(some.lists(some.integers(2, 60), min_size=1, max_size=14))
    places = some.lists(some.integers(0, len(codes) - 1), max_size=3, unique=True).map(lambda one: tuple(sorted(one)))
    wanted, most = data.draw(some.lists(places, min_size=1, max_size=12)), data.draw(some.integers(1, 5000))
    tables = cover(codes, wanted, most)
    cells = [math.prod(codes[a] for a in axes) for axes in wanted]
    assert all(any(set(axes) <= set(table) for table in tables) for axes in wanted)
    assert all(math.prod(codes[a] for a in table) <= max(most, *cells) for table in tables)
    assert all(len(table) <= MOST_KEYS for table in tables)
    assert tables == cover(codes, wanted[::-1], most), "whatever the order"


def test_what_is_in_another_set_is_not_counted_by_itself() -> None:
    assert maximal([(1,), (0, 1), (0, 1), (2,), ()]) == [(0, 1), (2,)]
    assert cover((2, 2), [()]) == [(0, 1)], "the total is the sum of any table"
