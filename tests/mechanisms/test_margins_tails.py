"""The certified tails enclose the truth, and tightly."""

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.mechanisms import margins
from mechanisms import laws_by_hand as by_hand
from mechanisms.laws_by_hand import number

SCALES = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(10**6))
BITS = st.sampled_from([8, 64, 130, 300])


def check(tail, m, bits, truth, *, width=2) -> None:
    with mp.workdps(150):
        low, high = tail(m, bits)
        scaled = truth() * mp.mpf(2) ** bits
        assert low <= scaled <= high
        assert high - low <= width


@given(scale=SCALES, m=st.integers(0, 10**7), bits=BITS)
def test_the_discrete_laplace_tail_is_enclosed(scale, m, bits) -> None:
    def truth():
        q = mp.exp(-1 / number(scale))
        return 2 * q ** (m + 1) / (1 + q)

    check(margins.discrete_laplace_tail(scale), m, bits, truth)


@given(scale=SCALES, m=st.integers(0, 10**7), bits=BITS)
def test_the_rounded_laplace_tail_is_enclosed(scale, m, bits) -> None:
    check(margins.rounded_laplace_tail(scale), m, bits, lambda: mp.exp(-(m + mp.mpf(1) / 2) / number(scale)))


@given(sigma=SCALES, steps=st.fractions(0, 12), bits=BITS)
def test_the_rounded_gaussian_tail_is_enclosed(sigma, steps, bits) -> None:
    m = int(steps * sigma)

    def truth():
        return mp.erfc((m + mp.mpf(1) / 2) / (number(sigma) * mp.sqrt(2)))

    check(margins.rounded_gaussian_tail(sigma), m, bits, truth)


@pytest.mark.parametrize("sigma_squared", ["1/400", "1/3", 1, "7.3", 100, "2500.7"])
@pytest.mark.parametrize("bits", [8, 100])
def test_the_discrete_gaussian_tail_is_enclosed_where_it_is_summed(sigma_squared, bits) -> None:
    variance = Fraction(sigma_squared)
    reach = int(18 * float(variance) ** 0.5) + 3
    law = by_hand.discrete_gaussian(variance, reach)
    for m in {0, 1, 2, reach // 6, reach // 3}:
        beyond = 2 * mp.fsum(law[x] for x in range(m + 1, reach + 1))
        low, high = margins.discrete_gaussian_tail(variance)(m, bits)
        assert low <= beyond * mp.mpf(2) ** bits <= high
        assert high - low <= 2


@pytest.mark.parametrize("m", [0, 1, 500, 1500, 3000])
def test_the_discrete_gaussian_tail_is_enclosed_where_it_is_smoothed(m) -> None:
    variance = Fraction(520**2) + Fraction(1, 7)
    rate = 1 / (2 * number(variance))
    weights = [mp.exp(-x * x * rate) for x in range(1, 9001)]
    truth = 2 * mp.fsum(weights[m:]) / (1 + 2 * mp.fsum(weights))
    one_step = 2 * weights[m] / (1 + 2 * mp.fsum(weights))
    low, high = margins.discrete_gaussian_tail(variance)(m, 150)
    assert low <= truth * mp.mpf(2) ** 150 <= high
    assert (high - low) / mp.mpf(2) ** 150 < one_step / 10**6


def test_both_ways_of_the_discrete_gaussian_tail_meet() -> None:
    summed, smoothed = (
        margins.discrete_gaussian_tail(Fraction(512**2) + extra)(900, 90) for extra in (0, Fraction(1, 9))
    )
    assert abs(summed[0] - smoothed[0]) < summed[0] / 10**5


@pytest.mark.parametrize("precision", [16, 100, 3000])
def test_pi_is_enclosed(precision) -> None:
    with mp.workprec(precision + 50):
        low, high = margins._pi(precision)
        assert low <= mp.pi * mp.mpf(2) ** precision <= high <= low + 3
