"""Prices beside those of OpenDP 0.16.0, autodp 0.2.3.1 and dp-accounting 0.6.0, computed once and written down.

OpenDP: `gaussian(scale)` is `make_gaussian(atom_domain(T=int), absolute_distance(T=int), scale)`, `laplace(scale)`
likewise; vectors have `l2_distance(T=float)` or `l1_distance(T=int)`. autodp: `RenyiDP` and `get_approxDP` of the
mechanisms named. dp-accounting: `privacy_loss_distribution.from_...`, optimistic and pessimistic, on a grid of
1e-4 (1e-5 for Laplace noise); the truth lies between. A price of ours is never above a peer by more than is said,
and where both are the exact number they are equal.
"""

import math
from fractions import Fraction

import pytest

from lapwing.accounting.conversions import epsilon_from_rho
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import (
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    RandomizedResponseRelease,
    Repeated,
)

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


VECTORS = [  # scale, squared L2 sensitivity, vector gaussian(scale).map, the epsilons at 1e-6 and 1e-9
    (10, 1, 0.005, 0.42994146883694934, 0.5648932843020362),
    (10, 2, 0.010000000000000002, 0.6216926545596028, 0.8101744678675344),
    (30, 9, 0.005, 0.42994146883694934, 0.5648932843020362),
]


@pytest.mark.parametrize(("scale", "squared", "rho", "at_six", "at_nine"), VECTORS)
def test_vectors_cost_the_same_rho_and_no_more_epsilon(scale, squared, rho, at_six, at_nine) -> None:
    loss = price(DiscreteGaussianNoise(l2_sensitivity_squared=squared, sigma_squared=scale**2, dimension=50))
    assert float(loss.rho) == pytest.approx(rho, rel=1e-15)
    assert loss.epsilon(1e-6) < at_six
    assert loss.epsilon(1e-9) < at_nine


@pytest.mark.parametrize(("moved", "epsilon"), [(1, 0.13333333333333336), (3, 0.4), (11, 1.4666666666666668)])
def test_vectors_with_laplace_noise_cost_the_same_epsilon(moved, epsilon) -> None:
    loss = price(DiscreteLaplaceNoise(l1_sensitivity=moved, scale="7.5"))
    assert float(loss.pure_epsilon) == pytest.approx(epsilon, rel=1e-15)


def test_a_noisy_maximum_costs_the_same_rho_as_a_selection() -> None:
    """`make_noisy_max` at scale 4 is 0.5-DP, and 0.03125-zCDP: an eighth of the square."""
    assert price(ExponentialSelection(epsilon="0.5")).rho == Fraction(0.03125)


def test_randomized_response_among_five_costs_the_same() -> None:
    """`make_randomized_response(five categories, prob=.6)`; its epsilon is log(.6/.1)."""
    assert math.log(6) == pytest.approx(1.7917594692280552, rel=1e-14)
    loss = price(RandomizedResponseRelease(epsilon=Fraction(1.7917594692280552), categories=5))
    assert loss.delta(0.0) == pytest.approx(0.5, rel=1e-9)  # .6 - .1


RENYI = {  # autodp, at the orders 1.5, 2, 8 and 64
    "GaussianMechanism(3)": (
        GaussianNoise(l2_sensitivity_squared=1, sigma_squared=9),
        (0.08333333333333333, 0.1111111111111111, 0.4444444444444444, 3.5555555555555554),
    ),
    "LaplaceMechanism(2)": (
        LaplaceNoise(l1_sensitivity=1, scale=2),
        (0.1559778784857393, 0.20030389617361594, 0.41026788176229145, 0.48912215868096953),
    ),
    "RandresponseMechanism(.75)": (
        RandomizedResponseRelease(epsilon=Fraction(math.log(3))),
        (0.7339691750802005, 0.8472978603872036, 1.0575148597023862, 1.0940459065657002),
    ),
}


@pytest.mark.parametrize(("event", "divergences"), RENYI.values(), ids=RENYI)
def test_renyi_divergences_are_the_same(event, divergences) -> None:
    for alpha, divergence in zip((1.5, 2.0, 8.0, 64.0), divergences, strict=True):
        assert price(event).renyi(alpha) == pytest.approx(divergence, rel=1e-9)


def test_the_divergence_of_a_selection_is_no_larger() -> None:
    """autodp: `ExponentialMechanism(1.)` by its bounded range."""
    loss = price(ExponentialSelection(epsilon=1))
    for alpha, divergence in zip(
        (1.5, 2.0, 8.0, 64.0), (0.1875, 0.25, 0.9552483740548644, 0.9950275922616154), strict=True
    ):
        assert loss.renyi(alpha) <= divergence


def test_sampled_gaussian_noise_has_the_same_divergence() -> None:
    """autodp: `AmplificationBySampling(PoissonSampling=True)(GaussianMechanism(1.), .01, improved_bound_flag=True)`."""
    event = PoissonSampled(part=GaussianNoise(l2_sensitivity_squared=1, sigma_squared=1), rate="0.01")
    for alpha, divergence in ((2.0, 0.00017181342207450565), (4.0, 0.0003631540489106813), (16.0, 3.087850783696245)):
        assert price(event).renyi(alpha) == pytest.approx(divergence, rel=1e-9)
    assert price(Repeated(part=event, times=1000)).epsilon(1e-6) < 2.436693808033378


APPROXIMATE = [  # autodp, get_approxDP: exact for one release, by moments for many
    (GaussianNoise(l2_sensitivity_squared=1, sigma_squared=25), 1e-6, 0.8341175486240484, 1e-9),
    (GaussianNoise(l2_sensitivity_squared=1, sigma_squared=25), 1e-10, 1.1816013082342445, 1e-9),
    (LaplaceNoise(l1_sensitivity=1, scale=2), 1e-6, 0.49999799999999994, 1e-9),
    (RandomizedResponseRelease(epsilon=Fraction(math.log(3))), 1e-6, 1.0986109553338872, 2e-7),
    (Repeated(part=LaplaceNoise(l1_sensitivity=1, scale=10), times=100), 1e-6, 4.984173958639625, None),
    (
        Composed(
            parts=(
                Repeated(part=GaussianNoise(l2_sensitivity_squared=1, sigma_squared=400), times=50),
                Repeated(part=LaplaceNoise(l1_sensitivity=1, scale=30), times=20),
            )
        ),
        1e-6,
        1.8077859167142258,
        None,
    ),
]


@pytest.mark.parametrize(("event", "delta", "epsilon", "within"), APPROXIMATE)
def test_epsilon_is_the_same_for_one_release_and_less_for_many(event, delta, epsilon, within) -> None:
    found = price(event).epsilon(delta)
    assert found < epsilon if within is None else found == pytest.approx(epsilon, rel=within)


BRACKETS = [  # dp-accounting: event, uses, delta, optimistic, pessimistic
    (LaplaceNoise(l1_sensitivity=1, scale=10), 100, 1e-6, 4.6926455773447975, 4.69266741655913),
    (LaplaceNoise(l1_sensitivity=1, scale=10), 1000, 1e-12, 26.01985410943526, 26.03772036528517),
    (GaussianNoise(l2_sensitivity_squared=1, sigma_squared=25), 30, 1e-6, 5.421011453210631, 5.42251153015478),
    (
        DiscreteGaussianNoise(l2_sensitivity_squared=4, sigma_squared=9),
        10,
        1e-6,
        11.724432769780675,
        11.725346583411175,
    ),
    (DiscreteLaplaceNoise(l1_sensitivity=3, scale="10/3"), 20, 1e-6, 17.9304453576594, 17.9324453576594),
    (
        PoissonSampled(part=GaussianNoise(l2_sensitivity_squared=1, sigma_squared=1), rate="0.01"),
        1000,
        1e-6,
        2.074518421385777,
        2.1245225256759905,
    ),
    (
        PoissonSampled(part=LaplaceNoise(l1_sensitivity=1, scale=2), rate="0.1"),
        100,
        1e-6,
        2.137872084932353,
        2.1433569516381503,
    ),
]


@pytest.mark.parametrize(("event", "times", "delta", "below", "above"), BRACKETS)
def test_compositions_lie_where_dp_accounting_says_the_truth_lies(event, times, delta, below, above) -> None:
    assert below <= price(Repeated(part=event, times=times)).epsilon(delta) <= above * (1 + 1e-5)
