"""Every kind of law has prices over the whole range of parameters: they come, they fall, and none is a bare error."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest

from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    RandomizedResponseRelease,
    Repeated,
)

DELTAS = (1e-300, 1e-60, 1e-12, 1e-3, 0.5)
EPSILONS = (0.0, 1e-6, 1.0, 1e4)


def laws(epsilon: Fraction):
    gaussian = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / epsilon**2)
    laplace = LaplaceNoise(l1_sensitivity=Fraction(1), scale=1 / epsilon)
    return {
        "laplace": laplace,
        "discrete laplace": DiscreteLaplaceNoise(l1_sensitivity=3, scale=3 / epsilon),
        "gaussian": gaussian,
        "discrete gaussian": DiscreteGaussianNoise(l2_sensitivity_squared=5, sigma_squared=1 / epsilon**2, dimension=5),
        "response": RandomizedResponseRelease(epsilon=epsilon, categories=3),
        "selection": ExponentialSelection(epsilon=epsilon),
        "sampled": PoissonSampled(part=gaussian, rate=Fraction(1, 100)),
        "many": Repeated(part=laplace, times=100),
        "many gaussians": Repeated(part=gaussian, times=1000),
    }


@pytest.mark.parametrize("kind", laws(Fraction(1)))
@pytest.mark.parametrize("epsilon", ["1e-6", "1", "1e4"])
def test_prices_come_at_every_level_and_fall(kind, epsilon) -> None:
    loss = price(laws(Fraction(epsilon))[kind])
    asked = [loss.epsilon(delta) for delta in DELTAS]
    assert all(found >= 0 and not math.isnan(found) for found in asked)
    assert all(one >= other * (1 - 1e-9) for one, other in pairwise(asked))
    told = [loss.delta(level) for level in EPSILONS]
    assert all(0 <= found <= 1 for found in told)
    assert all(one >= other * (1 - 1e-9) for one, other in pairwise(told))
