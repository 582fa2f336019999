"""Prices at deltas far below round-off: the check of a price never cries out at one that is right."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import DiscreteLaplaceNoise, ExponentialSelection, LaplaceNoise, RandomizedResponseRelease

DELTAS = (1e-300, 1e-60, 1e-30, 1e-20, 1e-17, 1e-16, 1e-15, 1e-14, 1e-12, 1e-10, 1e-6, 0.5)


def true_delta(sensitivity: int, scale: Fraction, epsilon: float) -> mpf:
    """The profile of the discrete Laplace law: of x >= 0, and of each of the few numbers between the two peaks."""
    q = mp.e ** (-mpf(scale.denominator) / scale.numerator)
    parts = [(1 / (1 + q), sensitivity)] + [
        (q**j * (1 - q) / (1 + q), sensitivity - 2 * j) for j in range(1, sensitivity)
    ]
    losses = ((weight, mpf(steps) * scale.denominator / scale.numerator) for weight, steps in parts)
    return sum(weight * max(mpf(0), 1 - mp.e ** (mpf(epsilon) - loss)) for weight, loss in losses)


@pytest.mark.parametrize("seed", range(8))
def test_every_discrete_laplace_law_has_a_price_at_every_delta_and_it_is_enough(seed) -> None:
    random = np.random.default_rng(seed)
    with mp.workdps(60):
        for _ in range(40):
            sensitivity = int(random.integers(1, 6))
            scale = Fraction(int(random.integers(1, 10**5)), int(random.integers(1, 1000)))
            loss = price(DiscreteLaplaceNoise(l1_sensitivity=sensitivity, scale=scale))
            found = [loss.epsilon(delta) for delta in DELTAS]
            assert found == sorted(found, reverse=True)
            for delta, epsilon in zip(DELTAS, found, strict=True):
                assert true_delta(sensitivity, scale, epsilon) <= mpf(delta) * (1 + mpf("1e-9"))
            assert found[-2] <= sensitivity / float(scale) * (1 + 1e-12)


@pytest.mark.parametrize(
    "event",
    [
        LaplaceNoise(l1_sensitivity=Fraction(3), scale=Fraction(7, 3)),
        RandomizedResponseRelease(epsilon=Fraction(2, 7), categories=3),
        ExponentialSelection(epsilon=Fraction(1, 3)),
        DiscreteLaplaceNoise(l1_sensitivity=2, scale=Fraction(99393, 692)),
    ],
    ids=lambda event: type(event).__name__,
)
def test_no_pure_event_is_refused_a_price(event) -> None:
    loss = price(event)
    for delta in DELTAS:
        assert 0 <= loss.epsilon(delta) <= math.nextafter(float(loss.pure_epsilon), math.inf)
