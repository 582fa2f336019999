"""Prices beside those of OpenDP 0.16.0, computed once with the constructors named here and written down.

`gaussian(scale)` is `make_gaussian(atom_domain(T=int), absolute_distance(T=int), scale)`, `laplace(scale)` likewise. A
price of ours is never above the peer's bound by more than is said, and where both are the exact number they are equal.
"""

from fractions import Fraction

import pytest

from lapwing.accounting.concentrated import epsilon_from_rho
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise

GAUSSIAN = [  # scale, gaussian(scale).map(1), delta, make_zCDP_to_approxDP(gaussian(scale)).map(1).epsilon(delta)
    ("2", 0.125, 1e-6, 2.4190931768671953),
    ("2", 0.125, 1e-9, 3.0581221668459135),
    ("4.2", 0.028344671201814057, 1e-6, 1.0846491461366836),
    ("4.2", 0.028344671201814057, 1e-9, 1.3963128588748037),
    ("10", 0.005, 1e-6, 0.42994146883694934),
    ("10", 0.005, 1e-9, 0.5648932843020362),
    ("50", 0.0002, 1e-6, 0.07773597369831034),
    ("50", 0.0002, 1e-9, 0.10648971240588459),
]
LAPLACE = [  # scale, laplace(scale).map(1), .map(7), make_pureDP_to_zCDP(laplace(scale)).map(1)
    ("0.5", 2.0, 14.0, 2.0),
    ("3", 0.33333333333333337, 2.3333333333333335, 0.05555555555555557),
    ("10", 0.1, 0.7000000000000001, 0.005000000000000001),
]


@pytest.mark.parametrize(("scale", "rho", "delta", "epsilon"), GAUSSIAN)
def test_concentrated_losses_mean_the_same_epsilon(scale, rho, delta, epsilon) -> None:
    event = DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(scale) ** 2, dimension=1)
    loss = price(event)
    assert float(loss.rho) == pytest.approx(rho, rel=1e-15)
    assert epsilon <= epsilon_from_rho(loss.rho, delta) <= epsilon * (1 + 2e-5)  # the best of 2049 orders, not of all
    assert loss.epsilon(delta) < epsilon  # the law itself says more than its rho does


@pytest.mark.parametrize(("scale", "one", "seven", "rho"), LAPLACE)
def test_laplace_noise_costs_the_same_epsilon_and_no_more_rho(scale, one, seven, rho) -> None:
    losses = [price(DiscreteLaplaceNoise(l1_sensitivity=moved, scale=Fraction(scale))) for moved in (1, 7)]
    assert [float(loss.pure_epsilon) for loss in losses] == pytest.approx([one, seven], rel=1e-15)
    assert float(losses[0].rho) < rho
