from fractions import Fraction

import pytest
from mpmath import mp, mpf

from lapwing.mechanisms.margins import _chernoff, _tails_of_sum, margin_of_sum
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise


def laplace(scale) -> DiscreteLaplaceNoise:
    return DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(scale))


def gaussian(sigma_squared) -> DiscreteGaussianNoise:
    return DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(sigma_squared))


def tail_by_convolution(event, terms: int, beyond: int, reach: int) -> float:
    """P(|S| > beyond), by plain convolution in fifty digits."""
    with mp.workdps(50):
        if isinstance(event, DiscreteLaplaceNoise):
            weights = [mp.exp(-mpf(abs(x)) / mpf(event.scale.numerator)) for x in range(-reach, reach + 1)]
        else:
            variance = mpf(event.sigma_squared.numerator)
            weights = [mp.exp(-mpf(x * x) / (2 * variance)) for x in range(-reach, reach + 1)]
        total = mp.fsum(weights)
        one = [weight / total for weight in weights]
        law = one
        for _ in range(terms - 1):
            law = [
                mp.fsum(law[i] * one[k - i] for i in range(max(0, k - len(one) + 1), min(k, len(law) - 1) + 1))
                for k in range(len(law) + len(one) - 1)
            ]
        centre = len(law) // 2
        return float(mp.fsum(p for i, p in enumerate(law) if abs(i - centre) > beyond))


@pytest.mark.parametrize(("event", "terms"), [(laplace(1), 2), (laplace(2), 3), (gaussian(4), 3)], ids=str)
def test_the_tail_is_that_of_the_convolution(event, terms) -> None:
    tails = _tails_of_sum(event, terms)
    for beyond in (0, 3, 7):
        exact = tail_by_convolution(event, terms, beyond, reach=70)
        assert 0 <= tails[beyond] - exact <= 2e-12


@pytest.mark.parametrize("event", [laplace(3), laplace(100), gaussian(9), gaussian(10**4)], ids=str)
def test_a_margin_is_the_first_that_holds(event) -> None:
    for terms in (1, 2, 7):
        margins = [margin_of_sum(event, terms, confidence) for confidence in ("0.5", "0.9", "0.99")]
        assert margins == sorted(margins)
        assert margins[2] <= _chernoff(event, terms, 0.01)
        if terms > 1:
            tails = _tails_of_sum(event, terms)
            assert tails[margins[1]] <= 0.1 < tails[margins[1] - 1]


@pytest.mark.parametrize("event", [laplace(2), gaussian(4)], ids=str)
def test_chernoff_is_above_the_truth(event) -> None:
    for beta in (0.1, 1e-4, 1e-8):
        assert _tails_of_sum(event, 4)[_chernoff(event, 4, beta)] <= beta


def test_beyond_what_can_be_transformed_chernoff_answers() -> None:
    assert margin_of_sum(laplace(10**6), 3, "0.95") == _chernoff(laplace(10**6), 3, 0.05)
    assert margin_of_sum(laplace(2), 3, "0.999999999999") == _chernoff(laplace(2), 3, 1e-12)
