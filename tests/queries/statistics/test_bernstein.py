"""Bounds of moments against brute force: every table of sums in the box has its moment within them."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.plan import Scale
from lapwing.queries.statistics.bernstein import Moment, moment, moment_bounds

SCALE = Scale(low=Fraction(-1), step=Fraction(1, 2), extent=6)
TERMS = {Moment.MEAN: 2, Moment.VARIANCE: 3, Moment.COVARIANCE: 4, Moment.CORRELATION: 9}


def asked(kind: Moment):
    return kind, (SCALE,) * (1 if kind in {Moment.MEAN, Moment.VARIANCE} else 2)


@st.composite
def worlds(draw, kind: Moment):
    """Released sums, a margin, and exact sums that keep it: corners and points between."""
    released = [draw(st.integers(-30, 400)) for _ in range(TERMS[kind])]
    margin = draw(st.integers(0, 60))
    exact = [max(0, number + draw(st.sampled_from([-margin, margin, 0, margin // 2]))) for number in released]
    return released, margin, exact


@pytest.mark.parametrize("kind", list(Moment), ids=lambda kind: kind.value)
def test_whatever_keeps_the_margin_keeps_the_bounds(kind) -> None:
    meaning = asked(kind)

    @given(worlds(kind))
    def check(world) -> None:
        released, margin, exact = world
        if all(abs(a - b) <= margin for a, b in zip(released, exact, strict=True)):
            low, high = moment_bounds(*meaning, released, margin)
            assert low <= moment(*meaning, exact) <= high

    check()


def test_the_bounds_of_a_mean_are_reached() -> None:
    meaning, released, margin = asked(Moment.MEAN), [40, 25], 6
    corners = [moment(*meaning, [40 + x, 25 + y]) for x, y in itertools.product((-margin, margin), repeat=2)]
    assert moment_bounds(*meaning, released, margin) == (min(corners), max(corners))


@given(worlds(Moment.VARIANCE))
def test_the_lower_bound_of_a_variance_is_reached(world) -> None:
    released, margin, _ = world
    variance = asked(Moment.VARIANCE)
    ends = [{max(0, number - margin), max(0, number + margin)} for number in released]
    corners = [moment(*variance, corner) for corner in itertools.product(*ends)]
    assert moment_bounds(*variance, released, margin)[0] == min(corners)


def test_no_margin_gives_the_moment_itself() -> None:
    for kind in (Moment.MEAN, Moment.VARIANCE, Moment.COVARIANCE):
        sums = [3 * 36, 4 * 36, 5 * 36, 2 * 36][: TERMS[kind]]
        low, high = moment_bounds(*asked(kind), sums, 0)
        assert low == moment(*asked(kind), sums) == high


def test_where_there_may_be_nobody_the_public_rule_is_within_the_bounds() -> None:
    mean = asked(Moment.MEAN)
    middle = moment(*mean, [0, 0])
    assert moment_bounds(*mean, [-5, -9], 3) == (middle, middle)
    low, high = moment_bounds(*mean, [-5, 4], 4)
    assert low <= middle < high == SCALE.low + 3


def test_a_wider_margin_gives_wider_bounds() -> None:
    variance = asked(Moment.VARIANCE)
    bounds = [moment_bounds(*variance, [4000, 2000, 3000], margin) for margin in (0, 10, 100, 1000)]
    assert [low for low, _ in bounds] == sorted((low for low, _ in bounds), reverse=True)
    assert [high for _, high in bounds] == sorted(high for _, high in bounds)
    assert bounds[1][1] - bounds[1][0] < Fraction(1, 10)
