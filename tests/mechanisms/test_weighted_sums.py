"""The reach of weighted sums of noise: against exact laws, convolutions, simulation, and as a norm."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from lapwing.mechanisms.weighted_sums import Reach
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from statistical.goodness import FALSE_ALARM

SCALE = 10_000


def laplace(scale=SCALE):
    return DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(scale))


def gaussian(sigma=SCALE):
    return DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(sigma) ** 2, dimension=1)


def test_the_reach_of_one_number_is_its_margin() -> None:
    assert Reach(laplace(), 0.05).of([1]) == pytest.approx(SCALE * math.log(20) + 1, rel=1e-6)
    assert Reach(gaussian(), 0.05).of([1]) == pytest.approx(SCALE * 1.9599639845 + 1, rel=1e-6)


@pytest.mark.parametrize("chance", [0.3, 0.05, 1e-4, 1e-8])
def test_equal_weights_have_the_law_of_a_gamma_difference(chance) -> None:
    """Two: (1 + t/2) e^-t; three: (1 + 5t/8 + t²/8) e^-t."""
    for many, polynomial in ((2, (1, 1 / 2)), (3, (1, 5 / 8, 1 / 8))):
        t = (Reach(laplace(), chance).of([1.0] * many) - many) / SCALE
        beyond = sum(part * t**i for i, part in enumerate(polynomial)) * math.exp(-t)
        assert chance * 0.95 < beyond <= chance * (1 + 1e-6)


WEIGHTS = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=3, max_size=9)


@settings(max_examples=60)
@given(WEIGHTS, st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=9, max_size=9))
def test_the_reach_is_a_norm(one, other) -> None:
    for noise in (laplace(), gaussian()):
        reach, c, d = Reach(noise, 0.05), np.array(one), np.array(other[: len(one)])
        assert reach.of(c + d) <= (reach.of(c) + reach.of(d)) * (1 + 1e-3) + 1e-6
        assert reach.of(3 * c) == pytest.approx(3 * reach.of(c), rel=1e-6)


@pytest.mark.parametrize("chance", [0.05, 0.005])
@pytest.mark.parametrize("weights", [[1, 0.3], [0.5, -0.5, 0.2], [0.2, -0.9, 0.4, 0.4], list(np.linspace(-1, 0.7, 9))])
def test_drawn_noise_goes_beyond_as_often_as_said_and_not_beyond_a_shorter_reach(weights, chance) -> None:
    """Exact binomial limits: the truth passes, and so would a reach that is 20 % too short not."""
    many, random = 400_000, np.random.default_rng(13)
    for noise, draws in (
        (laplace(), random.laplace(scale=SCALE, size=(many, len(weights)))),
        (gaussian(), random.normal(scale=SCALE, size=(many, len(weights)))),
    ):
        far, reach = np.abs(np.round(draws) @ np.array(weights)), Reach(noise, chance).of(weights)
        least, most = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], many, chance)
        assert least * 0.98 <= (far > reach).sum() <= most
        assert (far > 0.8 * reach).sum() > most


@pytest.mark.parametrize("chance", [0.05, 0.001])
@pytest.mark.parametrize("scale", ["0.3", "1", "3", "7.5"])
def test_small_noise_is_bounded_exactly_and_hardly_further_than_it_reaches(scale, chance) -> None:
    """Every pair of whole draws is counted, in many directions."""
    numbers = np.arange(-160, 161)
    for noise, weight, most in (
        (laplace(scale), np.exp(-np.abs(numbers) / float(scale)), 0.35),
        (gaussian(scale), np.exp(-(numbers**2) / (2 * float(scale) ** 2)), 1.0),
    ):
        law, reach = np.multiply.outer(weight, weight) / weight.sum() ** 2, Reach(noise, chance)
        for m in (0.5, 0.3, 1 / 3, 0.01, 0.0, 0.123, 0.4991):
            sums = np.abs(np.add.outer((1 - m) * numbers, -m * numbers))
            assert law[sums > reach.of([1 - m, -m])].sum() <= chance
            assert law[sums > reach.of([1 - m, -m]) - most - 0.6].sum() > chance
