"""Sets of numbers on a line obey the laws of sets, and doubles stand on it in their order."""

import math
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.catalogue.domains import (
    DAYS,
    DOUBLES,
    Domain,
    day,
    day_number,
    double_at,
    double_rank,
    intersection,
    ymd,
)

LINE = Domain(-20, 20)
PIECES = st.lists(st.tuples(st.integers(-25, 25), st.integers(-25, 25)), max_size=5)


def members(spans):
    return {n for a, b in spans for n in range(a, b + 1)} & set(range(-20, 21))


@given(PIECES, PIECES)
def test_spans_are_sets(left, right) -> None:
    a, b = LINE.union(left), LINE.union(right)
    assert members(a) == members(left)
    assert members(intersection(a, b)) == members(left) & members(right)
    assert members(LINE.without(left)) == set(range(-20, 21)) - members(left)
    assert LINE.union([*left, *right]) == LINE.union([*right, *left]) == LINE.union([*a, *b])


@given(PIECES)
def test_equal_sets_have_equal_spans(pieces) -> None:
    singles = [(n, n) for n in sorted(members(pieces), reverse=True)]
    assert LINE.union(pieces) == LINE.union(singles)
    assert LINE.without(LINE.without(pieces)) == LINE.union(pieces)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_doubles_stand_in_their_order(a, b) -> None:
    assert (double_rank(a) < double_rank(b)) is (a < b)
    assert double_at(double_rank(a)) == a
    assert DOUBLES.lowest <= double_rank(a) <= DOUBLES.highest


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_double_is_left_out(a) -> None:
    assert double_at(double_rank(a) + 1) == math.nextafter(a, math.inf)


@given(st.dates(), st.dates())
def test_completed_years_are_differences_of_ymd(born, at) -> None:
    years = at.year - born.year - ((at.month, at.day) < (born.month, born.day))
    assert (ymd(day_number(at)) - ymd(day_number(born))) // 10_000 == years
    assert day(day_number(born)) == born


def test_the_calendar_ends_where_pythons_does() -> None:
    assert (day(DAYS.lowest), day(DAYS.highest)) == (date.min, date.max)
