from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lapwing.noise.decay import exponential_bounds, is_below
from noise.oracle import real
from noise.sources import ExhaustedError, Script, Stream


def truth(exponent, bits):
    with mp.workprec(bits + 200):
        return mp.ldexp(mp.exp(-real(exponent)), bits)


@given(
    exponent=st.one_of(
        st.fractions(min_value=0, max_value=5),
        st.fractions(min_value=0, max_value=1000),
        st.floats(min_value=0, max_value=50).map(Fraction),
        st.integers(1, 2**80).map(lambda n: Fraction(1, n)),
    ),
    bits=st.integers(1, 300),
)
@example(exponent=Fraction(0), bits=1)
@example(exponent=Fraction(1, 10**100), bits=300)
@example(exponent=Fraction(10**100), bits=300)
@example(exponent=Fraction(7 * 301, 10), bits=300)  # the last that is worked out rather than called small
@example(exponent=Fraction(256, 1), bits=400)
def test_the_bounds_enclose_the_truth_and_are_at_most_2_apart(exponent, bits) -> None:
    low, high = exponential_bounds(exponent.numerator, exponent.denominator, bits)
    with mp.workprec(bits + 200):
        assert low <= truth(exponent, bits) <= high
    assert 0 <= high - low <= 2


@given(st.fractions(min_value=0, max_value=20), st.integers(2, 10**9))
def test_the_bounds_do_not_depend_on_how_the_fraction_is_written(exponent, factor) -> None:
    written = exponential_bounds(exponent.numerator * factor, exponent.denominator * factor, 90)
    assert written == exponential_bounds(exponent.numerator, exponent.denominator, 90)


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(1), Fraction(0.7), Fraction(9)], ids=str)
def test_every_string_of_12_bits_falls_on_the_right_side_or_asks_for_more(exponent) -> None:
    """The whole tree of bits: the mass that says yes, plus what is undecided, encloses e^-x."""

    def p(bits):
        return exponential_bounds(exponent.numerator, exponent.denominator, bits)

    yes = undecided = 0
    for prefix in range(1 << 12):
        try:
            decision = is_below(p, Script(), prefix, 12)
        except ExhaustedError:
            undecided += 1
        else:
            assert decision is bool(prefix < truth(exponent, 12))
            yes += decision
    assert undecided <= 1
    assert yes <= truth(exponent, 12) <= yes + undecided


def test_an_undecided_number_is_settled_by_the_bits_that_follow() -> None:
    def third(bits):
        return (1 << bits) // 3, -((-1 << bits) // 3)

    prefix = (1 << 12) // 3
    following = (1 << 76) // 3 - (prefix << 64)
    assert is_below(third, Script((following - 1).to_bytes(8, "little")), prefix, 12)
    assert not is_below(third, Script((following + 1).to_bytes(8, "little")), prefix, 12)
    # The very digits of one third settle nothing: ever more are asked for.
    with pytest.raises(ExhaustedError):
        is_below(third, Script(*[following.to_bytes(8, "little")] * 3), prefix, 12)


def test_certainties_take_no_luck() -> None:
    assert all(is_below(lambda bits: (1 << bits, 1 << bits), Stream(seed)) for seed in range(50))
    assert not any(is_below(lambda _: (0, 0), Stream(seed)) for seed in range(50))
