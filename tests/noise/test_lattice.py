"""The lattice: dividing the integer part is as good as dividing the number."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.noise import lattice
from lapwing.noise.lattice import RoundedSampler, scale_of, steps_of
from lapwing.noise.per_coordinate import (
    CoordinateScales,
    draw_discrete_laplace_each,
    draw_rounded_gaussian_each,
    draw_rounded_laplace_each,
)
from lapwing.vocabulary.errors import ParameterError
from noise.sources import Stream

LATTICE = st.integers(0, 2**63 - 1)
STEPS = st.integers(2**17, 10 * 2**56).map(lambda half: 2 * half)
FRACTION = st.fractions(min_value=0, max_value=1).filter(lambda f: f < 1)


class Fixed:
    """Stands in for a standard variate: the lattice points and signs that are written down."""

    def __init__(self, points, negative) -> None:
        self.points, self.negative = points, negative

    def draw(self, count, _source):
        return np.array(self.points[:count], np.int64), np.array(self.negative[:count], np.int64)


@given(point=LATTICE, fraction=FRACTION, steps=STEPS)
def test_what_the_lattice_leaves_out_changes_neither_floor_nor_rounding(point, fraction, steps) -> None:
    variate = (point + fraction) / Fraction(2**56)
    assert floor(variate * scale_of(steps)) == point // steps
    assert floor(variate * scale_of(steps) + Fraction(1, 2)) == (point + steps // 2) // steps


@given(points=st.lists(LATTICE, min_size=1, max_size=20), steps=STEPS)
def test_the_division_of_arrays_is_that_of_integers_and_never_wraps(points, steps) -> None:
    points = [*points, 2**63 - 1]
    signs = [i % 2 for i in range(len(points))]
    draws = RoundedSampler(Fixed(points, signs), steps).draw_many(len(points), Stream(0))
    rounded = [(point + steps // 2) // steps for point in points]
    assert draws.tolist() == [-each if sign else each for each, sign in zip(rounded, signs, strict=True)]


@given(st.fractions(min_value=Fraction(1, 20), max_value=2**38))
def test_a_scale_is_rounded_up_to_the_nearest_on_the_lattice(scale) -> None:
    steps = steps_of(scale)
    assert steps % 2 == 0
    assert scale_of(steps) >= scale
    assert scale_of(steps + 2) < scale


def test_a_negative_zero_is_drawn_again_with_the_scale_of_its_coordinate(monkeypatch) -> None:
    unit = 2**56
    answers = iter([([0, 5 * unit, 3 * unit, 0], [1, 1, 0, 0]), ([7 * unit], [0])])

    class Twice:
        def draw(self, count, _source):
            points, negative = next(answers)
            assert len(points) == count
            return np.array(points, np.int64), np.array(negative, np.int64)

    monkeypatch.setattr(lattice, "standard_exponential", Twice)
    steps = np.array([unit // 4, unit, unit, unit], np.uint64)
    assert lattice.DiscreteLaplaceSampler(steps).draw_many(4, Stream(0)).tolist() == [28, -5, 3, 0]


EACH = [draw_discrete_laplace_each, draw_rounded_laplace_each, draw_rounded_gaussian_each]


@pytest.mark.parametrize("draw", EACH)
def test_each_coordinate_has_its_own_scale(draw) -> None:
    steps = CoordinateScales.of([Fraction(1, 20), 10**6, 2**38]).steps
    draws = draw(CoordinateScales(np.tile(steps, 20_000))).reshape(-1, 3)
    assert draws.flags.writeable
    spread = draws.astype(float).std(axis=0)
    assert spread[0] < 0.5
    assert 0.9e6 < spread[1] < 1.6e6
    assert 0.9 * 2**38 < spread[2] < 1.6 * 2**38


@pytest.mark.parametrize("draw", EACH)
@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 300_000])
def test_there_is_one_draw_for_each_scale_in_an_array_of_its_own(draw, count) -> None:
    scales = CoordinateScales(np.full(count, steps_of(Fraction(3)), np.uint64))
    draws = draw(scales)
    assert draws.shape == (count,)
    assert draws.flags.owndata


@pytest.mark.parametrize("draw", EACH)
def test_prepared_scales_draw_what_unprepared_ones_draw(draw) -> None:
    scales = [1, "2.5", 0.3, Fraction(22, 7)]
    prepared = draw(CoordinateScales.of(scales), source=Stream(4))
    assert np.array_equal(prepared, draw(scales, source=Stream(4)))


def test_a_bad_scale_is_named_with_its_place() -> None:
    with pytest.raises(ParameterError, match=r"scales\[2\] = 0 is zero"):
        draw_discrete_laplace_each([1, 2, 0])


@pytest.mark.parametrize(
    "steps",
    [[0], [2**18 + 1], [2**17], [2**62], [[2**56]], [2**56, 0]],
    ids=["none", "odd", "too few", "too many", "matrix", "one of them none"],
)
def test_steps_that_would_mean_no_noise_or_another_scale_are_refused(steps) -> None:
    with pytest.raises(ParameterError, match="no scales of the lattice"):
        CoordinateScales(np.array(steps, np.uint64))


def test_prepared_scales_are_a_copy_that_does_not_change() -> None:
    steps = np.full(3, 2**56, np.uint64)
    scales = CoordinateScales(steps)
    steps[:] = 0
    assert scales.used == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        scales.steps[0] = 0
