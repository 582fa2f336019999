from fractions import Fraction

import numpy as np
import pytest

from lapwing.auditor.answer_factors import log_integral, log_sum


@pytest.mark.parametrize("centre", [0.0, 1e3, -12345.678])
@pytest.mark.parametrize("width", [1e-3, 1.0, 50.0])
def test_a_bell_is_found_and_measured_wherever_it_lies_and_however_wide_it_is(centre, width) -> None:
    """The landmarks are far from the mass: it is found because the logarithm is concave."""
    found = log_integral(lambda z: -0.5 * ((z - centre) / width) ** 2, [0.0], 1.0)
    # Near -12345.678 a float has about 1e-12 left behind the point, of which a bell 1e-3 wide feels 1e-9.
    assert found == pytest.approx(np.log(width * np.sqrt(2 * np.pi)), abs=1e-13 + 1e-15 * abs(centre) / width)


@pytest.mark.parametrize("height", [0.0, -1000.0, 700.0])
def test_the_answer_does_not_overflow_or_underflow(height) -> None:
    assert log_integral(lambda z: height - np.abs(z) / 3, [0.0], 3.0) == pytest.approx(
        height + np.log(6), abs=1e-13 + 1e-15 * abs(height)
    )


def test_a_power_with_a_far_maximum_is_integrated_exactly() -> None:
    """The integral over z > 0 of (1 - e^-z)^999 e^-z is 1/1000; of z^400 e^-z it is 400!."""
    with np.errstate(all="ignore"):
        assert log_integral(
            lambda z: np.where(z > 0, 999 * np.log(-np.expm1(-z)) - z, -np.inf), [0.0], 1.0
        ) == pytest.approx(-np.log(1000), abs=1e-12)
        assert log_integral(lambda z: np.where(z > 0, 400 * np.log(z) - z, -np.inf), [0.0], 1.0) == pytest.approx(
            float(np.log(np.arange(1, 401, dtype=float)).sum()), abs=2e-12
        )


def test_an_interval_between_landmarks_is_all_there_is() -> None:
    assert log_integral(lambda z: np.where((z > 2) & (z < 5), 0.0, -np.inf), [2.0, 5.0], 1.0) == pytest.approx(
        np.log(3), abs=1e-14
    )
    assert log_integral(lambda z: np.full_like(z, -np.inf), [0.0], 1.0) == -np.inf


def test_sums_over_a_lattice() -> None:
    assert log_sum(lambda z: -np.abs(z - 70) / 4, [0.0], Fraction(1, 4)) == pytest.approx(
        -np.log(np.tanh(1 / 32)), abs=1e-13
    )
    only_five = log_sum(lambda z: np.where(z == 5, -3.0, -np.inf), [5.0], Fraction(1))
    assert only_five == -3.0
    assert log_sum(lambda z: np.full_like(z, -np.inf), [0.0], Fraction(1)) == -np.inf


def test_what_does_not_settle_raises() -> None:
    jagged = np.random.default_rng(0)
    with pytest.raises(ArithmeticError, match="did not settle"):
        log_integral(lambda z: jagged.uniform(0, 1, z.shape) - 0.5 * z**2, [0.0], 1.0)
    with pytest.raises(ArithmeticError, match="lattice points"):
        log_sum(lambda z: -np.abs(z), [0.0], Fraction(1, 2**40))
