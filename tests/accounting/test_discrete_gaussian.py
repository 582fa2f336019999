"""Discrete Gaussian noise: exact for one coordinate, safe for many."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import exp, log, mpf

from accounting import reference
from lapwing.accounting.losses.atoms import _largest_moves, _shifted_gaussian, discrete_gaussian
from lapwing.accounting.losses.continuous import gaussian_delta
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import DiscreteGaussianNoise, Repeated

LEVELS = [0.0, 0.1, 0.5, 1.0, 2.0]


@pytest.mark.parametrize(("sensitivity", "variance"), [(1, 4), (3, 25), (2, 1), (1, "0.25")], ids=str)
@pytest.mark.parametrize("level", LEVELS)
def test_one_coordinate_is_the_sum_over_its_outcomes(sensitivity, variance, level) -> None:
    (((law, times),),) = discrete_gaussian(sensitivity**2, Fraction(variance), 1)
    truth = reference.profile_of_atoms(reference.discrete_gaussian(sensitivity, variance, 120), level)
    assert times == 1
    assert truth <= mpf(law.delta(level)) <= truth * (1 + mpf(10) ** -9) + mpf(10) ** -14


def moves(squared, dimension):
    reach = range(math.isqrt(squared) + 1)
    return [move for move in product(reach, repeat=dimension) if 0 < sum(m * m for m in move) <= squared]


@pytest.mark.parametrize(("squared", "dimension"), [(2, 2), (3, 2), (3, 3), (4, 2), (5, 2), (9, 2)], ids=str)
def test_no_way_to_move_several_coordinates_costs_more_than_the_price(squared, dimension) -> None:
    """The truth is enumerated: all moves of that length, all outcomes of each coordinate that moves."""
    variance = 9
    loss = price(
        DiscreteGaussianNoise(l2_sensitivity_squared=squared, sigma_squared=Fraction(variance), dimension=dimension)
    )
    for level in (0.0, 0.3, 1.0):
        worst = 0.0
        for move in moves(squared, dimension):
            coordinates = [
                [(float(loss), float(mass)) for loss, mass in reference.discrete_gaussian(m, variance, 20)]
                for m in move
                if m
            ]
            atoms = np.array(reference.enumerate_sums(*coordinates))
            worst = max(worst, float((np.maximum(-np.expm1(level - atoms[:, 0]), 0) * atoms[:, 1]).sum()))
        assert worst <= loss.delta(level) * (1 + 1e-12)
        assert loss.delta(level) <= worst * (1.6 if squared > 3 else 1 + 1e-5) + 1e-12


def test_a_large_sigma_costs_hardly_more_than_the_continuous_gaussian() -> None:
    event = DiscreteGaussianNoise(l2_sensitivity_squared=10**12, sigma_squared=Fraction(18 * 10**12), dimension=100)
    exact = reference.solve(lambda e: reference.gaussian_delta(1 / math.sqrt(18), e), 1e-6, 5)
    assert exact < price(event).epsilon(1e-6) < exact * (1 + mpf(10) ** -4)


def test_many_atoms_are_thinned_out_without_losing_any_mass() -> None:
    for sigma in (300, 5000):
        (((law, _),),) = discrete_gaussian(1, Fraction(sigma**2), 1)
        assert len(law.pair.losses) <= 30 * sigma + 4
        assert abs(law.pair.masses.sum() + law.pair.infinite_mass - 1) < 1e-12
        assert gaussian_delta(1 / sigma, 0.0) * 0.99 < law.delta(0.0) < gaussian_delta(1 / sigma, 0.0) * 1.01


def test_the_shifted_gaussian_dominates_the_exact_atoms() -> None:
    (((exact, _),),) = discrete_gaussian(49, Fraction(100), 1)
    shifted = _shifted_gaussian(49, Fraction(100), 1)
    for level in np.linspace(-1, 4, 51).tolist():
        assert exact.delta(level) <= shifted.delta(level) + 1e-14
        assert shifted.delta(level) < 1.3 * exact.delta(level) + 1e-9


@pytest.mark.parametrize("alpha", [1.5, 2, 10])
def test_the_divergence_stays_below_rho_alpha(alpha) -> None:
    outcomes = reference.discrete_gaussian(2, 5, 120)
    truth = log(sum(mass * exp((mpf(alpha) - 1) * loss) for loss, mass in outcomes)) / (mpf(alpha) - 1)
    loss = price(DiscreteGaussianNoise(l2_sensitivity_squared=4, sigma_squared=Fraction(5)))
    assert loss.rho == Fraction(2, 5)
    assert truth <= mpf(loss.renyi(alpha)) <= mpf("0.4") * alpha * (1 + mpf(10) ** -9)


def test_composing_it_is_as_good_as_composing_the_continuous_one() -> None:
    discrete = Repeated(part=DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(17847)), times=1000)
    exact = reference.solve(lambda e: reference.gaussian_delta(math.sqrt(1000 / 17847), e), 1e-6, 5)
    assert exact * (1 - mpf(10) ** -6) < price(discrete).epsilon(1e-6) < exact * (1 + mpf(10) ** -3)


def test_more_ways_to_move_than_are_looked_at_are_covered_by_one_law_for_all() -> None:
    """Up to 24 ways are worst cases of their own; of 25 and more none may be left out."""
    ways = {squared: sum(1 for _ in _largest_moves(squared, 40)) for squared in range(1, 60)}
    few = max(squared for squared, many in ways.items() if many <= 24)
    many = min(squared for squared, many in ways.items() if many > 24)
    assert len(discrete_gaussian(few, Fraction(900), 40)) == ways[few]
    (covered,) = discrete_gaussian(many, Fraction(900), 40)
    assert [(law.is_attained, times) for law, times in covered] == [(False, 1)]
