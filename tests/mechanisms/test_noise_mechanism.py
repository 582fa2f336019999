"""Where values meet noise: total, saturating, and no more sensitive than stated."""

import math
import traceback
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms.noise_mechanism import ValueGrid, add_noise, integers, saturating_sum
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive
from mechanisms.laws_by_hand import Scripted

STEPS = st.integers(-40, 40).map(lambda exponent: Fraction(2) ** exponent)
REALS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.fractions(),
    st.integers(-(10**30), 10**30),
)
END = 2**53


def nearest(value, step) -> int:
    """The nearest multiple, halves up, cut at 2^53: by exact fractions."""
    return min(max(math.floor(Fraction(value) / step + Fraction(1, 2)), -END), END)


@given(value=REALS, step=STEPS)
def test_a_number_goes_to_its_nearest_multiple(value, step) -> None:
    assert ValueGrid(step).steps(value) == nearest(value, step)


@given(values=st.lists(st.floats(allow_nan=False), max_size=8), step=STEPS)
def test_a_vector_goes_to_the_grid_as_its_numbers_do(values, step) -> None:
    grid = ValueGrid(step)
    one_by_one = [grid.steps(value) for value in values]
    assert grid.steps(np.array(values, np.float64)).tolist() == one_by_one
    assert grid.steps(tuple(values)).tolist() == one_by_one


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64, np.bool_, np.float32, np.float16])
def test_every_width_of_number_is_read_for_what_it_is(dtype) -> None:
    assert ValueGrid("1/4").steps(np.array([0, 1, 1], dtype)).tolist() == [0, 4, 4]


@given(value=REALS, move=st.fractions(-(10**6), 10**6), step=STEPS)
def test_rounding_moves_neighbours_apart_by_less_than_a_step(value, move, step) -> None:
    there, back = (ValueGrid(step).steps(Fraction(v)) for v in (Fraction(value), Fraction(value) + move))
    assert abs(there - back) <= math.ceil(abs(move) / step)


@given(
    moves=st.lists(st.fractions(-3, 3), min_size=1, max_size=5),
    start=st.fractions(-9, 9),
    step=st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(4)]),
)
def test_the_sensitivity_in_steps_covers_every_vector(moves, start, step) -> None:
    grid = ValueGrid(step)
    apart = [abs(grid.steps(start + move) - grid.steps(start)) for move in moves]
    l1, square = sum(map(abs, moves)), sum(move**2 for move in moves)
    if l1:
        assert sum(apart) <= grid.l1_steps(l1, len(moves))
        assert sum(d * d for d in apart) <= grid.l2_steps_squared(square, len(moves))


@pytest.mark.parametrize(("sensitivity", "steps"), [("0.25", 1), ("0.26", 2), (1, 4), ("1/1000", 1)])
def test_one_coordinate_pays_for_the_next_multiple_only(sensitivity, steps) -> None:
    grid = ValueGrid(Fraction(1, 4))
    assert grid.l1_steps(Fraction(sensitivity), 1) == steps
    assert grid.l2_steps_squared(Fraction(sensitivity) ** 2, 1) == steps**2


@pytest.mark.parametrize(
    ("value", "steps"),
    [(math.nan, 0), (math.inf, END), (-math.inf, -END), (1e308, END), (-5e-324, 0), (10**400, END), (-0.0, 0)],
)
def test_no_number_is_refused(value, steps) -> None:
    grid = ValueGrid(Fraction(1, 2))
    assert grid.steps(value) == grid.steps([value])[0] == steps
    if isinstance(value, float):
        assert grid.steps(np.array([value]))[0] == steps
    assert abs(grid.add_noise(value, Scripted(3), 1)) <= END / 2


def test_values_on_the_grid_are_exact_floats_and_end_where_floats_would_round() -> None:
    grid = ValueGrid(Fraction(1, 8))
    assert grid.add_noise(1.125, Scripted(-2), 1) == 0.875
    assert grid.add_noise(float(END), Scripted(5), 1) == END / 8
    assert grid.add_noise([1.0, -1e300], Scripted(1, -9), 2).tolist() == [1.125, -END / 8]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**70, 2**70 + 5),
        (True, 6),
        (np.int8(-3), 2),
        ([1, 2**80, -(2**80)], [6, 2**63 - 1, -(2**63) + 5]),
        (np.array([2**64 - 1], np.uint64), [2**63 - 1]),
        (np.array([True, False]), [6, 5]),
        ((), []),
    ],
    ids=["large", "bool", "int8", "beyond 64 bits", "uint64", "bools", "nothing"],
)
def test_integers_meet_noise_and_never_wrap(value, expected) -> None:
    noisy = add_noise(value, Scripted(5, 5, 5))
    assert noisy == expected if isinstance(noisy, int) else noisy.tolist() == expected


@given(
    left=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
    right=st.integers(-(2**63), 2**63 - 1),
)
def test_sums_saturate(left, right) -> None:
    total = saturating_sum(np.array(left, np.int64), np.full(len(left), right, np.int64))
    assert total.tolist() == [min(max(x + right, -(2**63)), 2**63 - 1) for x in left]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_are_read_in_either_byte_order(kind, order) -> None:
    ends = np.iinfo(kind)
    array = np.array([ends.min, 1, ends.max], np.dtype(kind).newbyteorder(order))
    exact = [ends.min, 1, ends.max]
    assert integers(array).tolist() == [min(x, 2**63 - 1) for x in exact]
    assert add_noise(array, Scripted(0, 0, 3)).tolist()[2] == min(ends.max + 3, 2**63 - 1)
    for step in (Fraction(1, 4), Fraction(1), Fraction(2), Fraction(1024), *(Fraction(2) ** k for k in range(60, 68))):
        assert ValueGrid(step).steps(array).tolist() == [ValueGrid(step).steps(x) for x in exact]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_floats_are_read_in_either_byte_order(kind, order) -> None:
    array = np.array([1.5, -0.25, math.nan], np.dtype(kind).newbyteorder(order))
    assert ValueGrid("1/4").steps(array).tolist() == [6, -1, 0]


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), exponent=st.integers(-70, 70))
def test_a_vector_of_integers_goes_to_the_grid_as_its_numbers_do(values, exponent) -> None:
    grid = ValueGrid(Fraction(2) ** exponent)
    one_by_one = [grid.steps(value) for value in values]
    assert grid.steps(np.array(values, np.int64)).tolist() == grid.steps(values).tolist() == one_by_one


@pytest.mark.parametrize("value", [5, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("noise", [7, -7])
def test_an_array_of_no_dimension_is_a_number_whatever_the_noise(value, noise) -> None:
    assert add_noise(np.array(value), Scripted(noise)) == value + noise
    assert add_noise(Sensitive(np.array(value)), Scripted(noise), 1) == value + noise
    assert type(ValueGrid("1/4").add_noise(np.array(float(value)), Scripted(noise), 1)) is float
    assert saturating_sum(np.array(value), np.array(noise)) == min(max(value + noise, -(2**63)), 2**63 - 1)


@pytest.mark.parametrize(
    "value", [np.array("5"), np.array(5, object), np.array(1j), np.array(0.5, np.longdouble)], ids=repr
)
def test_an_array_of_no_dimension_is_refused_by_its_type(value) -> None:
    for convert in (integers, ValueGrid("1/4").steps):
        with pytest.raises(ParameterError, match=r"holds something that is not (an integer|a number)"):
            convert(value)


@pytest.mark.parametrize(
    "value", [[1, 2.5], (1, 2.5), np.array([1, 2.5]), [1, "2"]], ids=["list", "tuple", "array", "text"]
)
def test_who_brings_real_values_is_told_where_they_belong(value) -> None:
    with pytest.raises(ParameterError, match="holds something that is not an integer; use LaplaceMechanism or Gauss"):
        add_noise(Sensitive(value), Scripted(0, 0))


def test_a_release_leaves_the_callers_vector_alone() -> None:
    vector = np.arange(4)
    add_noise(vector, Scripted(1, 1, 1, 1))
    assert vector.tolist() == [0, 1, 2, 3]


def test_shapes_are_kept() -> None:
    assert add_noise(np.zeros((2, 3), np.int64), Scripted(*range(6))).tolist() == [[0, 1, 2], [3, 4, 5]]


SECRET = 8675309


@pytest.mark.parametrize(
    "call",
    [
        lambda: integers(Sensitive(f"{SECRET}")),
        lambda: integers(Sensitive([SECRET, "x"])),
        lambda: integers(Sensitive(np.array([SECRET, 0.5]))),
        lambda: ValueGrid("1/4").steps(Sensitive(complex(SECRET))),
        lambda: ValueGrid("1/4").steps(Sensitive([[SECRET]])),
        lambda: ValueGrid("1/4").steps(Sensitive(np.array([SECRET], np.longdouble))),
        lambda: add_noise(Sensitive([SECRET, SECRET]), Scripted(0, 0), 3),
        lambda: ValueGrid("1/4").add_noise(Sensitive([SECRET, SECRET]), Scripted(0, 0), 3),
    ],
    ids=["text", "text inside", "floats", "complex", "nested", "long double", "too short", "too short on a grid"],
)
def test_a_refusal_shows_nothing_of_the_value_not_even_in_its_frames(call) -> None:
    with pytest.raises(ParameterError) as refusal:
        call()
    report = traceback.TracebackException.from_exception(refusal.value, capture_locals=True)
    assert f"{SECRET}" not in "".join(line for line in report.format() if "test_noisy_sums" not in line)


@pytest.mark.parametrize("step", ["0.3", 0, -1, 3, "nan"])
def test_a_grid_is_a_power_of_two(step) -> None:
    with pytest.raises(ParameterError, match="grid = "):
        ValueGrid(step)


def test_the_default_grid_is_fine_and_within_reach_of_the_samplers() -> None:
    for noise, move in [(Fraction(10), Fraction(1)), (Fraction(1, 7), Fraction(9)), (Fraction(10**12), Fraction(1, 3))]:
        step = ValueGrid.for_noise(None, noise=noise, move=move).step
        assert step <= noise / 2**20
        assert step <= move / 2**20 or noise / step > 2**30
        assert noise / step <= 2**32
