"""What is trusted of NumPy and SciPy, and which way numbers go."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import erfc, exp, expm1, log1p, mpf, pi, sqrt
from scipy.fft import irfft, rfft
from scipy.special import erfcx, ndtr

from accounting.reference import normal
from lapwing.vocabulary.exact import ROUND_OFF, UNIT, float_above, float_below, fraction_above, root_above


def test_the_normal_law_is_far_better_than_it_is_trusted_to_be() -> None:
    for x in np.linspace(-21.3, 6, 129).tolist():  # 1e-100 is the finest tail that is ever asked for
        assert abs(mpf(float(ndtr(x))) / normal(mpf(x)) - 1) < ROUND_OFF / 2


def test_the_scaled_error_function_is_far_better_than_it_is_trusted_to_be() -> None:
    for x in np.linspace(-4.3, 25, 129).tolist():
        assert abs(mpf(float(erfcx(x))) / (exp(mpf(x) ** 2) * erfc(mpf(x))) - 1) < ROUND_OFF / 8
    for x in np.geomspace(1e4, 1e8, 17).tolist():  # two terms of the asymptotic series, which is exact enough there
        assert abs(mpf(float(erfcx(x))) * sqrt(pi) * x / (1 - 1 / (2 * mpf(x) ** 2)) - 1) < ROUND_OFF / 8


def test_exponentials_and_logarithms_are_good_to_a_few_units() -> None:
    for x in [*np.geomspace(1e-12, 300, 60).tolist(), *(-np.geomspace(1e-12, 700, 60)).tolist()]:
        assert abs(mpf(float(np.expm1(x))) / expm1(mpf(x)) - 1) < 4 * UNIT
        assert abs(mpf(float(np.exp(x))) / exp(mpf(x)) - 1) < 4 * UNIT
        assert abs(mpf(float(np.log1p(abs(x)))) / log1p(mpf(abs(x))) - 1) < 4 * UNIT


@pytest.mark.parametrize("points", [7 * 11 * 13, 4096, 5000, 30375])
def test_the_fourier_transform_is_better_than_it_is_trusted_to_be(points) -> None:
    """A point mass has a transform of modulus 1 everywhere; there and back again gives it back."""
    masses = np.zeros(points)
    masses[points // 3] = 1.0
    spectrum = rfft(masses)
    trusted = 8 * np.log2(points) * UNIT
    angle = -2 * np.pi * np.array([(points // 3) * j % points for j in range(points // 2 + 1)]) / points
    assert np.abs(spectrum - np.exp(1j * angle)).max() < trusted
    assert np.abs(irfft(spectrum, points) - masses).max() < trusted


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_doubles_lie_on_the_side_they_are_asked_for(number) -> None:
    assert float_below(number) <= number <= float_above(number)
    assert Fraction(float_above(number)) / number < 1 + Fraction(1, 2**52)
    assert Fraction(root_above(number)) ** 2 >= number
    assert fraction_above(float(number)) > number
