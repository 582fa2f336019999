"""Values and thresholds on their lattice: total on numbers, strict about types, one law for one and for many."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms.sparse_vector.rule import FARTHEST, ValueLattice
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive

QUARTERS, HUNDREDS = ValueLattice(Fraction(1, 4)), ValueLattice(Fraction(128))


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1))
def test_many_reals_have_the_places_of_each_one(values) -> None:
    for lattice in (QUARTERS, HUNDREDS):
        assert lattice.values(np.array(values)).tolist() == [lattice.value(value) for value in values]
        assert lattice.values(values).tolist() == [lattice.value(value) for value in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_many_integers_have_the_places_of_each_one(values) -> None:
    assert ValueLattice(1).values(np.array(values)).tolist() == [ValueLattice(1).value(value) for value in values]


def test_every_number_has_a_place() -> None:
    assert QUARTERS.value(math.nan) == 0
    assert QUARTERS.value(math.inf) == -QUARTERS.value(-math.inf) == 2**53
    assert ValueLattice(1).value(10**30) == FARTHEST == -ValueLattice(1).value(-(10**30))
    assert [QUARTERS.value(x) for x in (0.124, 0.125, -0.125, -0.126)] == [0, 1, 0, -1]
    assert QUARTERS.value(Sensitive(0.5)) == 2


def test_a_threshold_is_rounded_up() -> None:
    assert [ValueLattice(1).threshold(t) for t in ("1.5", 2, "-1.5", Fraction(7, 3))] == [2, 2, -1, 3]
    assert QUARTERS.threshold("0.26") == 2
    assert QUARTERS.thresholds(["0.26", 1]).tolist() == [2, 4]
    assert ValueLattice(1).thresholds(np.array([5, 2**62])).tolist() == [5, 2 * FARTHEST]
    assert ValueLattice(1).threshold(10**30) == 2 * FARTHEST
    assert QUARTERS.number(3) == Fraction(3, 4)


@pytest.mark.parametrize("grid", ["0.3", 3, 0, -1, math.inf, "fine"], ids=repr)
def test_a_grid_that_is_no_power_of_two_is_refused(grid) -> None:
    with pytest.raises(ParameterError, match="grid"):
        ValueLattice(grid)
