"""The reach of weighted sums over the whole range of its parameters: exact laws, no bare error, always an end.

The exact laws are computed in 60 digits, by partial fractions: of equal weights the difference of two gamma variables,
of different ones a mixture of Laplace laws.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from lapwing.mechanisms.weighted_sums import Reach
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise

SCALE = 10**6
CHANCES = [1 - 1e-5, 0.999, 0.99, 0.9, 0.75, 0.5, 0.25, 0.05, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15, 1e-40, 1e-300]


def laplace(scale: Fraction | int = SCALE) -> DiscreteLaplaceNoise:
    return DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(scale))


def gaussian(variance: Fraction | int) -> DiscreteGaussianNoise:
    return DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(variance), dimension=1)


def continuous_reach(weights: list[float], chance: float) -> mpf:
    """How far the continuous sum reaches, for noise of scale 1: what whole numbers add is taken off."""
    return mpf(Reach(laplace(), chance).of(weights) - sum(map(abs, weights))) / SCALE


def gamma_difference(many: int) -> list[mpf]:
    """P(|G - H| > t) = e^-t times this polynomial in t, for G and H of law Gamma(many)."""
    parts = [mpf(0)] * many
    for j, i in itertools.combinations_with_replacement(range(many - 1, -1, -1), 2):
        moment = mp.gamma(many + i) / mp.gamma(many) / mpf(2) ** (many + i)  # E[H^i e^-H]
        parts[j - i] += 2 * mp.binomial(j, i) / mp.factorial(j) * moment
    return parts


def beyond_equal(parts: list[mpf], t: mpf) -> mpf:
    return mp.e**-t * mp.polyval(parts, t, asc=True)


def beyond_different(weights: list[float], t: mpf) -> mpf:
    """P(|S| > t) where no two weights are the same: each Laplace law with its coefficient."""
    squares = [mpf(weight) ** 2 for weight in weights]
    return sum(
        mp.e ** (-t / mp.sqrt(one)) * mp.fprod(one / (one - other) for other in squares if other != one)
        for one in squares
    )


def shorter(t: mpf, chance: float) -> mpf:
    """A reach a thousandth shorter; where hardly anything is asked for, by a thousandth of the scale of the noise."""
    return t / mpf("1.001") if chance < 0.8 else max(mpf(0), t - mpf("0.001"))


@pytest.mark.parametrize("many", [3, 6, 9, 12, 25, 60])
def test_equal_weights_reach_as_far_as_a_difference_of_gamma_variables_and_no_further(many) -> None:
    with mp.workdps(60):
        parts = gamma_difference(many)
        for chance in CHANCES[:12]:
            t = continuous_reach([1.0] * many, chance)
            assert beyond_equal(parts, t) <= mpf(chance)
            assert beyond_equal(parts, shorter(t, chance)) > mpf(chance)


@pytest.mark.parametrize("seed", range(4))
def test_different_weights_reach_as_far_as_partial_fractions_say_and_no_further(seed) -> None:
    random = np.random.default_rng(seed)
    with mp.workdps(60):
        for many, chance in itertools.product((3, 4, 6, 9), CHANCES[:12]):
            weights = [1.0, *(random.uniform(-1, 1, many - 1) ** random.choice([1, 3, 9])).tolist()]
            t = continuous_reach(weights, chance)
            assert beyond_different(weights, t) <= mpf(chance)
            assert beyond_different(weights, shorter(t, chance)) > mpf(chance)


NOISES = [laplace(scale) for scale in (Fraction(1, 10**4), Fraction(1, 3), 3, 9, 10**9)] + [
    gaussian(variance) for variance in (Fraction(1, 10**4), Fraction(1, 2), 1, 10**6, 10**18)
]
SOME_WEIGHTS = [
    [1.0],
    [1.0, 1.0],
    [1.0, 1e-9],
    [0.3, -0.7],
    [1.0, 1.0, 1.0],
    [1.0, 1e-8, 1e-12],
    [1.0, 0.999999, 1e-150],
    [-1.0, 2.0, -1.0],
    list(np.linspace(-1, 0.7, 9)),
    [1.0] * 25,
    [0.01] * 1000 + [1.0],
]


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_every_chance_has_a_reach_and_it_falls_as_the_chance_rises(noise) -> None:
    for weights in SOME_WEIGHTS:
        reaches = [Reach(noise, chance).of(weights) for chance in (1 - 1e-16, 1 - 1e-9, *CHANCES)]
        assert all(math.isfinite(reach) and reach >= 0 for reach in reaches)
        assert all(one <= other * (1 + 1e-9) for one, other in itertools.pairwise(reaches))


def test_close_chances_have_reaches_in_their_order() -> None:
    for weights in ([1.0, 1.0, 1.0], [1.0, 0.4, -0.2], [1.0] * 9):
        reaches = [Reach(laplace(), chance / 200).of(weights) for chance in range(199, 0, -1)]
        assert all(one < other for one, other in itertools.pairwise(reaches))
