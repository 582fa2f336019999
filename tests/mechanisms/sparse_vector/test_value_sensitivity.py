"""How far one person moves values decides the price of a yes; the cheap case follows from facts, never from a flag."""

import copy
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms.sparse_vector.rule import ValueLattice
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency

ONE = Fraction(1)


@pytest.mark.parametrize(
    ("moves", "rise", "span"),
    [
        (ValueSensitivity.of_counts(Adjacency.ADD_REMOVE), 1, 1),
        (ValueSensitivity.of_counts(Adjacency.REPLACE), 1, 2),
        (ValueSensitivity.of_counts(Adjacency.ADD_REMOVE, people=4), 4, 4),
        (ValueSensitivity.of_sums(Adjacency.ADD_REMOVE, most=250), 250, 250),
        (ValueSensitivity.of_sums(Adjacency.REPLACE, most=250), 250, 500),
        (ValueSensitivity.of_arrivals(Adjacency.ADD_REMOVE, up=1, down=3), 3, 4),
        (ValueSensitivity.of_arrivals(Adjacency.REPLACE, up=1, down=3), 4, 8),
        (ValueSensitivity.of_anything(sensitivity="2.5"), 3, 6),
    ],
    ids=["counts", "replaced", "family", "sums", "sums replaced", "lopsided", "lopsided replaced", "anything"],
)
def test_the_reach_of_one_person_in_steps(moves, rise, span) -> None:
    assert moves.in_steps(ONE) == (rise, span)


def test_counts_are_one_way_only_where_people_come_or_go() -> None:
    assert ValueSensitivity.of_counts(Adjacency.ADD_REMOVE).in_steps(Fraction(1)) == (1, 1)
    assert ValueSensitivity.of_counts(Adjacency.REPLACE).in_steps(Fraction(1)) == (1, 2)
    assert ValueSensitivity.of_anything(sensitivity=1).in_steps(Fraction(1)) == (1, 2)


@pytest.mark.parametrize(
    "build",
    [
        lambda: ValueSensitivity.of_anything(sensitivity=0),
        lambda: ValueSensitivity.of_anything(sensitivity=-1),
        lambda: ValueSensitivity.of_anything(sensitivity=math.nan),
        lambda: ValueSensitivity.of_sums(Adjacency.ADD_REMOVE, most=-1),
        lambda: ValueSensitivity.of_sums(Adjacency.ADD_REMOVE, most=0),
        lambda: ValueSensitivity.of_arrivals(Adjacency.ADD_REMOVE, up=1, down=-1),
        lambda: ValueSensitivity.of_counts("add-remove"),
        lambda: ValueSensitivity.of_counts(Adjacency.ADD_REMOVE, people=0),
    ],
    ids=["zero", "negative", "nan", "negative sum", "zero sum", "negative down", "text", "nobody"],
)
def test_what_says_nothing_about_a_person_is_refused(build) -> None:
    with pytest.raises(ParameterError):
        build()


numbers = st.floats(-1e6, 1e6)
reach = st.fractions(0, 20, max_denominator=64)
grids = st.sampled_from([Fraction(2) ** n for n in range(-6, 4)])


@given(value=numbers, up=reach, down=reach, share=st.fractions(0, 1, max_denominator=1000), grid=grids)
def test_a_value_that_moves_within_its_bounds_stays_within_them_on_the_lattice(value, up, down, share, grid) -> None:
    if not up + down:
        return
    lattice, moves = ValueLattice(grid), ValueSensitivity.of_arrivals(Adjacency.ADD_REMOVE, up=up, down=down)
    moved = Fraction(value) - down + share * (up + down)
    change = lattice.value(moved if grid != 1 else math.floor(moved)) - lattice.value(
        Fraction(value) if grid != 1 else math.floor(value)
    )
    rise, span = moves.in_steps(grid)
    highest, lowest = math.ceil(up / grid), math.ceil(down / grid)
    assert -lowest <= change <= highest
    assert max(highest, lowest) == rise
    assert highest + lowest == span


def test_the_cheap_case_cannot_be_written_down_without_an_adjacency() -> None:
    moves = ValueSensitivity.of_anything(sensitivity=1)
    for build in (
        lambda: ValueSensitivity(up=1, down=0),
        lambda: ValueSensitivity(1, 0, 1),
        lambda: replace(moves, down=0),
    ):
        with pytest.raises(ParameterError, match="of_counts, of_sums, of_arrivals or of_anything"):
            build()
    assert copy.deepcopy(moves) == moves
