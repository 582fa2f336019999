"""Ten million draws of every law through every lane: its own formula fits, the same law 3 % off does not."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import laplace, norm

from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Geometric, RoundedGaussian, RoundedLaplace
from noise import reference_samplers
from noise.sources import Stream
from statistical.goodness import fits, integer_p_value

COUNT = 10**7


def window(scale):
    return round(min(25 * scale + 4, 5000))


def discrete_laplace(scale, reach):
    ratio = np.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1))


def discrete_gaussian(sigma, reach):
    every = np.arange(-20 * (int(sigma) + 1), 20 * (int(sigma) + 1) + 1)
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return weights / np.exp(-(every**2) / (2 * sigma**2)).sum()


def geometric(scale, reach):
    """Everything below zero has probability 0."""
    return np.append(np.zeros(reach), -np.expm1(-1 / scale) * np.exp(-np.arange(reach + 1) / scale))


def rounded_laplace(scale, reach):
    return np.diff(laplace.cdf((np.arange(-reach, reach + 2) - 0.5) / scale))


def rounded_gaussian(sigma, reach):
    return np.diff(norm.cdf((np.arange(-reach, reach + 2) - 0.5) / sigma))


SMALL = [
    (DiscreteLaplace, discrete_laplace, ["1/8", "1", "22/7", 0.3, "10", "100", "150.5"]),
    (Geometric, geometric, ["1/3", "10", "100", "1000/7"]),
    (DiscreteGaussian, discrete_gaussian, ["1/2", "1", "7/3", "10", "100", "600"]),
    (RoundedLaplace, rounded_laplace, ["1/5", "10"]),
    (RoundedGaussian, rounded_gaussian, ["1/2", "3", "64"]),
]


@pytest.mark.parametrize(
    ("kind", "probabilities", "parameter"),
    [pytest.param(kind, p, scale, id=f"{kind.__name__} {scale}") for kind, p, scales in SMALL for scale in scales],
)
def test_ten_million_draws_fit_their_law_and_no_law_3_percent_off(kind, probabilities, parameter) -> None:
    exact = Fraction(parameter)
    law, scale = kind(exact**2 if kind is DiscreteGaussian else exact), float(exact)
    draws, reach = law.draw_many(COUNT), window(scale)
    assert fits(integer_p_value(draws, -reach, probabilities(scale, reach)))
    assert not fits(integer_p_value(draws, -reach, probabilities(scale * 1.03, reach)))
    assert not fits(integer_p_value(draws, -reach, probabilities(scale / 1.03, reach)))


def below_of_laplace(scale):
    """Return P(X < x) at integers x; that of the other laws follows."""
    q = np.exp(-1 / scale)
    return lambda x: np.where(x > 0, 1 - np.exp(-np.abs(x) / scale) / (1 + q), q * np.exp(-np.abs(x) / scale) / (1 + q))


def below_of_geometric(scale):
    return lambda x: np.where(x > 0, -np.expm1(-np.abs(x) / scale), 0)


def below_of_gaussian(sigma):
    """The sum over the integers below x is the integral to x - 1/2, up to a part in sigma²."""
    return lambda x: norm.cdf((x - 0.5) / sigma)


def below_of_rounded_laplace(scale):
    return lambda x: laplace.cdf((x - 0.5) / scale)


LARGE = [
    (DiscreteLaplace, below_of_laplace, [10**6, 10**9, 2**38]),
    (Geometric, below_of_geometric, [10**6, 2**38]),
    (DiscreteGaussian, below_of_gaussian, [10**6, 10**9, 2**38]),
    (RoundedLaplace, below_of_rounded_laplace, [10**6, 2**38]),
    (RoundedGaussian, below_of_gaussian, [10**6, 2**38]),
]


@pytest.mark.parametrize(
    ("kind", "below", "scale"),
    [
        pytest.param(kind, below, scale, id=f"{kind.__name__} {scale}")
        for kind, below, scales in LARGE
        for scale in scales
    ],
)
def test_at_large_scales_both_the_shape_and_the_last_bits_fit(kind, below, scale) -> None:
    law = kind(scale**2 if kind is DiscreteGaussian else scale)
    draws = law.draw_many(COUNT)
    width = scale // 16
    ends = np.arange(-250, 251) * width
    coarse = draws // width

    def p(claimed):
        return integer_p_value(coarse, -250, np.diff(below(claimed)(ends)))

    assert fits(p(scale))
    assert not fits(p(scale * 1.03))
    assert not fits(p(scale / 1.03))
    last = draws & 255
    assert fits(integer_p_value(last, 0, np.full(256, 1 / 256)))
    assert not fits(integer_p_value(last & ~1, 0, np.full(256, 1 / 256)))


REFERENCE = [
    (reference_samplers.discrete_laplace, 22 / 7, discrete_laplace),
    (reference_samplers.geometric, 22 / 7, geometric),
    (reference_samplers.discrete_gaussian, (22 / 7) ** 0.5, discrete_gaussian),
]


@pytest.mark.parametrize(
    ("draw", "scale", "probabilities"), [pytest.param(*each, id=each[0].__name__) for each in REFERENCE]
)
def test_the_published_samplers_draw_the_same_laws(draw, scale, probabilities) -> None:
    """Canonne, Kamath and Steinke on plain integers share nothing with the tables: they confirm the formulas."""
    source = Stream(11)
    draws = np.array([draw(Fraction(22, 7), source) for _ in range(20_000)])
    reach = window(scale)
    assert fits(integer_p_value(draws, -reach, probabilities(scale, reach)))
    assert not fits(integer_p_value(draws, -reach, probabilities(scale * 1.2, reach)))
