"""The six workloads of the benchmark: tight to a thousandth, and from above.

The brackets were computed once with dp-accounting 0.6.0: the lower ends with losses rounded down, the upper ends with
its connect-the-dots on a grid five to ten times finer than its default. The truth lies between them.
"""

import math
from fractions import Fraction

import pytest
from mpmath import mpf

from accounting import reference
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import Composed, GaussianNoise, LaplaceNoise, PoissonSampled, PureRelease, Repeated

ONE = Fraction(1)
DELTA = 1e-6
MU = Fraction(0.23670438066343613)
LAPLACE = {10: 0.10010219090890042, 100: 0.024103654715172954, 1000: 0.007505122845751807, 10000: 0.002368289729087967}
BRACKETS = {
    10: (0.9999987487, 1.0000000238),
    100: (0.9965761651, 0.9999999937),
    1000: (0.9999296528, 0.9999992973),
    10000: (0.9998506683, 0.9999906528),
}
TIGHT = 1 + 1e-5


def laplace(epsilon):
    return LaplaceNoise(l1_sensitivity=Fraction(epsilon), scale=ONE)


def mixture(times):
    """350 Laplace of 50 scales, 350 Gaussian of 50, 300 randomized responses of 30, for each thousand."""
    shrink, more = math.sqrt(1000 / times), times // 1000

    def scales(count):
        return [Fraction((0.002 + 0.018 * k / (count - 1)) * shrink) for k in range(count)]

    gaussians = [GaussianNoise(l2_sensitivity_squared=e**2, sigma_squared=ONE) for e in scales(50)]
    return (
        [(laplace(e), 7 * more) for e in scales(50)]
        + [(event, 7 * more) for event in gaussians]
        + [(PureRelease(epsilon=e), 10 * more) for e in scales(30)]
    )


@pytest.mark.parametrize("times", [10, 100, 1000, 10000])
def test_a_equal_gaussians(times) -> None:
    part = GaussianNoise(l2_sensitivity_squared=MU**2 / times, sigma_squared=ONE)
    truth = reference.solve(lambda e: reference.gaussian_delta(mpf(float(MU)), e), DELTA, 5)
    assert truth <= price(Repeated(part=part, times=times)).epsilon(DELTA) <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize("times", LAPLACE)
def test_b_equal_laplace_releases(times) -> None:
    low, high = BRACKETS[times]
    assert low <= price(Repeated(part=laplace(LAPLACE[times]), times=times)).epsilon(DELTA) <= high * TIGHT


@pytest.mark.parametrize("times", [10, 100, 1000])
def test_b_equal_pure_releases(times) -> None:
    epsilon = mpf(LAPLACE[times])
    found = mpf(price(Repeated(part=PureRelease(epsilon=Fraction(LAPLACE[times])), times=times)).epsilon(DELTA))
    assert reference.optimal_delta(times, epsilon, found) <= mpf(DELTA)
    assert reference.optimal_delta(times, epsilon, found * (1 - mpf(10) ** -9)) > mpf(DELTA)


def test_c_a_thousand_releases_of_130_kinds() -> None:
    parts = tuple(Repeated(part=event, times=times) for event, times in mixture(1000))
    found = price(Composed(parts=parts)).epsilon(DELTA)
    assert 1.69256 <= found <= 1.69729  # the bracket; each of its ends rounds the losses of randomized response
    assert found == pytest.approx(1.69582, abs=2e-5)


def test_d_ten_thousand_steps_of_a_sampled_training_run() -> None:
    step = PoissonSampled(part=GaussianNoise(l2_sensitivity_squared=ONE, sigma_squared=ONE), rate=Fraction(1, 100))
    found = price(Repeated(part=step, times=10_000)).epsilon(DELTA)
    assert 6.8073 <= found <= 6.907385907 * TIGHT
