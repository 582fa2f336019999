from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.vocabulary.errors import LapwingError, ParameterError
from lapwing.vocabulary.exact import as_int, exact, positive, probability

HUGE = 10**5000


@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        ("0.1", Fraction(1, 10)),
        (" 1e-6 ", Fraction(1, 10**6)),
        ("1/3", Fraction(1, 3)),
        ("1 / 3", Fraction(1, 3)),
        (".5", Fraction(1, 2)),
        (2, Fraction(2)),
        (0.1, Fraction(3602879701896397, 36028797018963968)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(22, 7), Fraction(22, 7)),
        (np.float64(0.5), Fraction(1, 2)),
        (np.float32(0.1), Fraction(13421773, 134217728)),
        (np.int64(3), Fraction(3)),
    ],
)
def test_a_number_is_taken_for_exactly_what_it_is(given_, meant) -> None:
    assert exact("epsilon", given_) == meant


@pytest.mark.parametrize(
    ("given_", "reason"),
    [
        (float("nan"), "is not a number"),
        ("nan", "is not a number"),
        (Decimal("NaN"), "is not a number"),
        (float("inf"), "is infinite"),
        (float("-inf"), "is infinite"),
        ("-inf", "is infinite"),
        (np.float64("inf"), "is infinite"),
        (0, "is zero"),
        ("0.0", "is zero"),
        (-0.0, "is zero"),
        (-1, "is negative"),
        ("-0.1", "is negative"),
        (True, "is a truth value"),
        (np.bool_(0), "is a truth value"),
        ("a lot", "is not a number"),
        ("", "is not a number"),
        ("0x10", "is not a number"),
        ("1_000", "is not a number"),
        ("١", "is not a number"),
        ("1/0", "divides by zero"),
        (None, "is a NoneType, no number"),
        (1j, "is a complex, no number"),
        ([1], "is a list, no number"),
        ("1e999", "is absurdly large"),
        ("1e99999999999", "is not a number"),
        (HUGE, "is absurdly large"),
        ("1e-101", "is absurdly small"),
        (5e-324, "is absurdly small"),
        (Fraction(10**400 + 1, 10**400), "has absurdly many digits"),
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:20]}" if value is not HUGE else "int 10**5000",
)
def test_each_bad_number_has_its_own_reason(given_, reason) -> None:
    with pytest.raises(ParameterError) as refusal:
        positive("epsilon", given_)
    assert refusal.value.reason == reason
    assert refusal.value.name == "epsilon"
    assert refusal.value.remedy in str(refusal.value)
    assert len(str(refusal.value)) < 250


def test_a_refusal_is_a_value_error_and_a_lapwing_error() -> None:
    with pytest.raises(ValueError, match="epsilon"):
        positive("epsilon", -1)
    with pytest.raises(LapwingError):
        positive("epsilon", -1)


def test_a_hostile_repr_does_not_replace_the_refusal() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    with pytest.raises(ParameterError, match="<Hostile>"):
        exact("epsilon", Hostile())


@pytest.mark.parametrize("given_", ["1.0", 1, "1.5", 0, "-0.1", 95])
def test_a_probability_lies_strictly_between_zero_and_one(given_) -> None:
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        probability("delta", given_)


@pytest.mark.parametrize("given_", ["1.5", 0, -3, 11])
def test_a_whole_number_lies_in_its_range(given_) -> None:
    with pytest.raises(ParameterError, match="from 1 to 10"):
        as_int("yeses", given_, most=10)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9, max_denominator=10**9))
def test_what_is_written_is_what_is_read(number) -> None:
    assert exact("x", str(number)) == number
    assert exact("x", number) == number


@given(st.floats(min_value=1e-90, max_value=1e90))
def test_a_float_is_never_rounded(number) -> None:
    assert float(exact("x", number)) == number
    assert exact("x", repr(number)) == Fraction(repr(number))


@given(st.text(max_size=30))
def test_no_text_does_worse_than_a_refusal(text) -> None:
    try:
        exact("x", text)
    except ParameterError as refusal:
        assert refusal.reason  # noqa: PT017 - either outcome is right; a third one would be an error
