"""Terms of whole numbers: their bounds against every value they take, what they read, and what is too large."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.rows_in_memory import function_of
from lapwing.queries.algebra.term import (
    MOST_TERM,
    ConstantTerm,
    FunctionOf,
    OnGrid,
    Plus,
    Rounded,
    SteppedDown,
    Times,
    bounds,
    columns,
    leaves,
    plus,
    times,
)
from lapwing.vocabulary.errors import BadQuestionError

FUNCTIONS = st.sampled_from(["abs", "sign", "floor", "ceil", "round", "//", "%"])
EXTREMES = ["greatest", "least"]
LEAVES = st.builds(
    lambda name, low, width: OnGrid(column=name, bits=0, low=low, high=low + width),
    st.sampled_from("xy"),
    st.integers(-4, 4),
    st.integers(0, 4),
) | st.builds(ConstantTerm, st.integers(-5, 5))
TERMS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(Plus, inner, inner)
        | st.builds(Times, inner, inner)
        | st.builds(Rounded, inner, st.integers(0, 3))
        | st.builds(SteppedDown, inner, st.integers(1, 4))
        | st.builds(lambda name, one, width: FunctionOf(name, (one,), width), FUNCTIONS, inner, st.integers(1, 4))
        | st.builds(lambda name, one, two: FunctionOf(name, (one, two)), st.sampled_from(EXTREMES), inner, inner)
    ),
    max_leaves=5,
)


def value(term, row):
    """Return what a term is in a row, as its docstring says it."""
    match term:
        case OnGrid(column=name, low=low, high=high):
            return min(max(row[name], low), high)
        case ConstantTerm(number):
            return number
        case Plus(left, right):
            return value(left, row) + value(right, row)
        case Times(left, right):
            return value(left, row) * value(right, row)
        case Rounded(inner, bits):
            return (2 * value(inner, row) + 2**bits) // 2 ** (bits + 1)
        case SteppedDown(inner, width):
            return value(inner, row) // width * width
        case FunctionOf(function, terms, width):
            return function_of(function, [value(each, row) for each in terms], width)


@given(TERMS)
def test_no_row_leaves_the_bounds(term) -> None:
    low, high = bounds(term)
    found = [value(term, {"x": x, "y": y}) for x, y in product(range(-9, 10), repeat=2)]
    assert low <= min(found)
    assert max(found) <= high


@given(LEAVES, st.integers(0, 3), st.integers(1, 4))
def test_the_bounds_of_one_column_are_taken(leaf, bits, width) -> None:
    for term in (leaf, Rounded(leaf, bits), SteppedDown(leaf, width), Times(ConstantTerm(-2), leaf)):
        found = [value(term, {"x": x, "y": x}) for x in range(-9, 10)]
        assert bounds(term) == (min(found), max(found))


@given(TERMS, TERMS)
def test_the_order_of_parts_does_not_matter(one, other) -> None:
    assert plus(one, other) == plus(other, one)
    assert times(one, other) == times(other, one)
    assert columns(plus(one, other)) == columns(one) | columns(other)
    assert set(leaves(one, other)) == {*leaves(one), *leaves(other)}


@pytest.mark.parametrize(
    ("function", "terms"), [("sqrt", 1), ("lower", 1), ("abs", 2), ("greatest", 1), ("greatest", 3)]
)
def test_a_function_that_is_not_in_the_table_or_of_others_makes_no_term(function, terms) -> None:
    with pytest.raises(BadQuestionError, match="no function"):
        FunctionOf(function, (ConstantTerm(1),) * terms)


def test_what_leaves_62_bits_is_refused_where_it_is_made() -> None:
    wide = OnGrid(column="x", bits=0, low=0, high=2**31)
    assert bounds(Times(wide, wide)) == (0, MOST_TERM)
    with pytest.raises(BadQuestionError, match=r"2\^62"):
        Plus(Times(wide, wide), ConstantTerm(1))
    with pytest.raises(BadQuestionError, match=r"2\^52"):
        Rounded(Times(wide, wide), 1)
