"""The profile of a Gaussian release, against fifty digits and against its own laws."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.accounting.filters.residue import ROUNDING, largest_mu_squared, terms


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def exact_terms(mu, r):
    mu, r = mpmath.mpf(mu), mpmath.mpf(r)
    return mpmath.ncdf(mu / 2 - r / mu), mpmath.exp(r) * mpmath.ncdf(-mu / 2 - r / mu)


@given(st.floats(1e-4, 30), st.floats(-24, 24))
def test_each_term_keeps_its_relative_accuracy(mu, u) -> None:
    r = (u + mu / 2) * mu
    computed = terms(mu, np.array([r]))
    for value, exact in zip((computed.upper[0], computed.lower[0]), exact_terms(mu, r), strict=True):
        assert abs(mpmath.mpf(float(value)) / exact - 1) < ROUNDING / 4


@given(st.floats(0.01, 5), st.floats(-3, 3))
def test_slope_bend_and_growth_are_the_derivatives_they_are_used_as(mu, u) -> None:
    r = (u + mu / 2) * mu
    parts = terms(mu, np.array([r]))
    lower, density = float(parts.lower[0]), float(parts.density[0])

    def value(s, level):
        upper, below = exact_terms(mpmath.sqrt(s), level)
        return upper - below

    assert float(mpmath.diff(lambda x: value(mu * mu, x), r)) == pytest.approx(-lower, rel=1e-9, abs=1e-12)
    assert float(mpmath.diff(lambda x: value(mu * mu, x), r, 2)) == pytest.approx(
        density / mu - lower, rel=1e-9, abs=1e-9
    )
    assert float(mpmath.diff(lambda s: value(s, r), mu * mu)) == pytest.approx(density / (2 * mu), rel=1e-9, abs=1e-12)


@given(st.floats(0.01, 40), st.integers(1, 60))
def test_the_largest_mu_keeps_the_promise_and_wastes_nothing(epsilon, digits) -> None:
    delta = Fraction(1, 10**digits)
    s = largest_mu_squared(Fraction(epsilon), delta)

    def exact(mu_squared):
        upper, lower = exact_terms(mpmath.sqrt(mpmath.mpf(mu_squared)), epsilon)
        return upper - lower

    promised = mpmath.mpf(delta.numerator) / delta.denominator
    assert exact(s) <= promised
    assert exact(s * (1 + 1e-9)) > promised
