"""Where prices were once far above what can be attained: they are held to exact sums, or to what has the same loss."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.accounting.losses.atoms import _largest_moves
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import (
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    GaussianNoise,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    Repeated,
)


def moved_profile(move, variance, level):
    """The profile of discrete Gaussian noise on several integers that move by `move`, by convolving all outcomes."""
    reach = math.ceil(14 * math.sqrt(variance))
    x = np.arange(-reach, reach + 1)
    masses = np.exp(-(x**2) / (2 * variance))
    masses /= masses.sum()
    law = {0: 1.0}
    for entry in move:
        longer: dict[int, float] = {}
        for total, mass in law.items():
            for at, weight in zip((entry * x).tolist(), masses.tolist(), strict=True):
                longer[total + at] = longer.get(total + at, 0.0) + mass * weight
        law = longer
    squared = sum(entry**2 for entry in move)
    losses = (squared + 2.0 * np.array(list(law))) / (2 * variance)
    return float((np.maximum(0.0, -np.expm1(np.minimum(level - losses, 0.0))) * np.array(list(law.values()))).sum())


MOVES = [(4, 2, 8), (6, 2, 8), (5, 3, 4), (9, 2, 6), (8, 3, 3)]


class TestDiscreteGaussianNoiseInSeveralDimensions:
    @pytest.mark.parametrize(("squared", "dimension", "variance"), MOVES)
    @pytest.mark.parametrize("level", [0.0, 0.4, 1.1, 2.5])
    def test_the_worst_move_is_priced_to_a_thousandth(self, squared, dimension, variance, level) -> None:
        entries = range(math.isqrt(squared) + 1)
        moves = [
            move
            for move in np.ndindex(*[len(entries)] * dimension)
            if sum(entry**2 for entry in move) <= squared and list(move) == sorted(move)
        ]
        truth = max(moved_profile(move, variance, level) for move in moves)
        event = DiscreteGaussianNoise(
            l2_sensitivity_squared=squared, sigma_squared=Fraction(variance), dimension=dimension
        )
        assert truth * (1 - 1e-12) <= price(event).delta(level) <= truth * (1 + 1e-3)

    @pytest.mark.parametrize(("squared", "dimension"), [(1, 1), (3, 2), (4, 3), (7, 2), (10, 3), (12, 5)])
    def test_every_move_is_within_one_of_the_largest(self, squared, dimension) -> None:
        largest = [
            sorted((entry for entry, times in move.items() for _ in range(times)), reverse=True)
            for move in _largest_moves(squared, dimension)
        ]
        assert len({tuple(move) for move in largest}) == len(largest)
        for move in np.ndindex(*[math.isqrt(squared) + 1] * dimension):
            if 0 < sum(entry**2 for entry in move) <= squared:
                entries = sorted((entry for entry in move if entry), reverse=True)
                assert any(
                    len(entries) <= len(longer) and all(a <= b for a, b in zip(entries, longer, strict=False))
                    for longer in largest
                )
        assert all(sum(entry**2 for entry in move) <= squared and len(move) <= dimension for move in largest)

    def test_a_histogram_for_groups_costs_hardly_more_than_continuous_noise(self) -> None:
        for group in (2, 3):
            discrete = DiscreteGaussianNoise(l2_sensitivity_squared=group**2, sigma_squared=200, dimension=100)
            continuous = GaussianNoise(l2_sensitivity_squared=group**2, sigma_squared=200)
            assert price(discrete).epsilon(1e-6) <= price(continuous).epsilon(1e-6) * 1.001


@pytest.mark.parametrize("scale", [Fraction(20), Fraction(37, 3), Fraction(7)])
def test_partitions_whose_losses_nearly_coincide_cost_what_the_worse_costs(scale) -> None:
    """The atoms of the first are every third of the second but for a rounding."""
    parts = (
        DiscreteLaplaceNoise(l1_sensitivity=3, scale=scale),
        DiscreteLaplaceNoise(l1_sensitivity=9, scale=3 * scale),
    )
    alone = max(price(Repeated(part=part, times=100)).epsilon(1e-6) for part in parts)
    together = price(Repeated(part=InParallel(parts=parts), times=100)).epsilon(1e-6)
    assert alone <= together * (1 + 1e-9) <= alone * 1.001


@pytest.mark.parametrize(("rate", "epsilon"), [(Fraction(1, 10**18), 60), (Fraction(1, 10**9), 30)])
def test_what_is_too_rare_to_matter_costs_next_to_nothing(rate, epsilon) -> None:
    small = Repeated(part=PureRelease(epsilon=Fraction(1, 1000)), times=100)
    rare = PoissonSampled(part=PureRelease(epsilon=epsilon), rate=rate)
    alone, together = (price(event).epsilon(1e-6) for event in (small, Composed(parts=(small, rare))))
    assert alone <= together * (1 + 1e-6) <= alone * 1.03


def test_ten_million_uses_of_discrete_noise_cost_what_continuous_noise_costs() -> None:
    noise = {"l2_sensitivity_squared": 1, "sigma_squared": 10**6}
    discrete = price(Repeated(part=DiscreteGaussianNoise(**noise), times=10**7)).epsilon(1e-9)
    continuous = price(Repeated(part=GaussianNoise(**noise), times=10**7)).epsilon(1e-9)
    assert continuous <= discrete <= continuous * 1.001


MOMENTS = {
    "discrete gaussian": DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=1000),
    "sampled gaussian": PoissonSampled(
        part=GaussianNoise(l2_sensitivity_squared=1, sigma_squared=25), rate=Fraction(1, 20)
    ),
    "sampled laplace": PoissonSampled(part=LaplaceNoise(l1_sensitivity=1, scale=10), rate=Fraction(1, 20)),
}


@pytest.mark.parametrize("part", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("delta", [1e-60, 1e-100, 1e-200])
def test_where_no_composition_resolves_delta_the_moments_do(part, delta) -> None:
    """A thousand uses, each with a known rho: epsilon is about rho + 2 sqrt(rho log(1/delta))."""
    loss = price(Repeated(part=part, times=1000))
    bound = float(loss.rho) + 2 * math.sqrt(float(loss.rho) * -math.log(delta))
    assert loss.epsilon(delta) <= bound
    assert loss.delta(bound * 1.1) <= delta
