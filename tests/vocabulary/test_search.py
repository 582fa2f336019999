"""Searches: the place of the turn is found exactly, at every edge, with few questions."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.vocabulary.search import (
    bisect_float,
    bisect_integer,
    decimals,
    first_integer,
    floats,
    integers,
)


@given(st.integers(-50, 50), st.integers(1, 10**9))
def test_the_first_integer_is_found_wherever_it_is(after, steps) -> None:
    assert first_integer(lambda n: n >= after + steps, after=after) == after + steps


@given(st.integers(1, 100), st.integers(1, 200))
def test_none_is_found_beyond_the_last_that_may_be_asked(first, most) -> None:
    asked = []

    def is_true(n: int) -> bool:
        asked.append(n)
        return n >= first

    if first <= most:
        assert first_integer(is_true, after=0, most=most) == first
    else:
        with pytest.raises(OverflowError, match=f"none up to {most}"):
            first_integer(is_true, after=0, most=most)
    assert all(0 < n <= most for n in asked)
    assert len(asked) == len(set(asked))


def test_what_is_true_at_once_is_asked_once() -> None:
    asked = []
    assert first_integer(lambda n: asked.append(n) is None, after=6) == 7
    assert asked == [7]


@given(st.integers(-50, 50), st.integers(1, 1000), st.integers(0, 1000))
def test_between_two_ends_the_first_is_found_and_the_ends_are_not_asked(below, steps, more) -> None:
    first, above, asked = below + steps, below + steps + more, []

    def is_true(n: int) -> bool:
        asked.append(n)
        return n >= first

    assert bisect_integer(is_true, below=below, above=above) == first
    assert all(below < n < above for n in asked)


def test_an_empty_range_holds_nothing() -> None:
    with pytest.raises(OverflowError, match="none up to 3"):
        first_integer(lambda _: True, after=3, most=3)


def turn(is_true, digits):
    search = decimals(digits=digits)
    while search.open:
        search.tell(is_true(search.guess))
    return search.below, search.above


@given(st.fractions(Fraction(1, 10**30), 10**30, max_denominator=10**30), st.integers(1, 8))
def test_the_two_decimals_are_neighbours_around_the_turn(place, digits) -> None:
    below, above = turn(lambda x: x >= place, digits)
    assert below < place <= above
    unit = above - below
    assert 10 ** (digits - 1) <= below / unit < 10**digits
    assert (below / unit).denominator == 1


@pytest.mark.parametrize("answer", [True, False])
def test_a_decimal_that_never_turns_is_given_up(answer) -> None:
    with pytest.raises(OverflowError, match=r"10\^"):
        turn(lambda _: answer, 3)


@given(st.floats(1e-300, 1e300))
def test_neighbouring_doubles_are_found(turn) -> None:
    low, high = bisect_float(lambda x: x >= turn)
    assert high == turn
    assert low == math.nextafter(turn, -math.inf)


@given(st.floats(-100, 100, exclude_min=True))
def test_doubles_are_found_from_another_start_and_to_a_share(turn) -> None:
    low, high = bisect_float(lambda x: x >= turn, low=-100.0, high=-99.0, relative=1e-6)
    assert low < turn <= high
    assert high - low <= 1e-6 * abs(high) or math.nextafter(low, high) == high


def test_a_double_that_is_never_true_is_given_up_at_the_last() -> None:
    asked = []
    with pytest.raises(OverflowError, match="none up to 5"):
        bisect_float(lambda x: asked.append(x) is not None, most=5.0)
    assert asked == [1.0, 2.0, 4.0, 5.0]
    with pytest.raises(OverflowError, match="none up to"):
        bisect_float(lambda _: False)


@pytest.mark.parametrize("search", [integers(after=2), decimals(digits=4), floats(relative=1e-9)])
def test_guesses_can_be_judged_from_outside(search) -> None:
    assert not hasattr(search, "above")
    answers = {}
    while search.open:
        answers[search.guess] = search.guess >= 77
        search.tell(answers[search.guess])
    assert not answers[search.below]
    assert answers[search.above]
