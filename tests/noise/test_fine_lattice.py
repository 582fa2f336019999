"""The lattice: dividing the integer part is as good as dividing the number."""

from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lapwing.noise.fine_lattice import RoundedSampler, scale_of, steps_of
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
