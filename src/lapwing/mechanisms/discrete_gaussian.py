"""The discrete Gaussian mechanism: integers with Gaussian noise on the integers. For many answers under one budget."""

import math
from fractions import Fraction
from typing import Final

from lapwing.mechanisms.calibration import smallest_variance, squared_l2_sensitivity
from lapwing.mechanisms.margins import ByAccuracy, Spread, discrete_gaussian_tail
from lapwing.mechanisms.noise_mechanism import ByEpsilonDelta, ByRho, BySize, IntegerNoise, parse_noise
from lapwing.noise.laws import DiscreteGaussian
from lapwing.vocabulary.event import DiscreteGaussianNoise, GaussianNoise
from lapwing.vocabulary.exact import Exact, as_int

# a variance from which on discrete noise costs what continuous noise does, to four digits, and takes long to price
_MUCH: Final = 10**4


class DiscreteGaussianMechanism(IntegerNoise[DiscreteGaussianNoise, DiscreteGaussian]):
    """Releases integers with noise P(x) ∝ e^(-x²/2σ²): Δ²/(2σ²)-zero-concentrated differentially private.

    If one person moves the released integers by at most Δ in L2 norm (all of them together: a histogram is one release
    of Δ² = 1 under add-remove and Δ² = 2 under replace), then for every order α > 1 the Renyi divergence between the
    answers with them and without is at most αΔ²/(2σ²). For an (ε, δ) the smallest σ² is taken whose own price, not a
    bound on it by rho, is within it: to ten digits, to four where it is large. For an accuracy (`within` with
    `confidence`, of as many `values` at once) the largest σ² of six digits is taken. Δ² is a whole number.

    >>> count = DiscreteGaussianMechanism(l2_sensitivity=1, rho="0.005")
    >>> isinstance(count.release(1234), int)
    True
    >>> count.event
    DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(100, 1), dimension=1)
    >>> count.margin("0.95")
    20

    Theorem: Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, NeurIPS 2020, Theorem 4.
    Proof: proofs/discrete_gaussian.md
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        l2_sensitivity: Exact | None = None,
        l2_sensitivity_squared: Exact | None = None,
        sigma_squared: Exact | None = None,
        rho: Exact | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        values: int = 1,
        dimension: int = 1,
    ) -> None:
        square = squared_l2_sensitivity(l2_sensitivity, l2_sensitivity_squared)
        move, size = as_int("l2_sensitivity_squared", square), as_int("dimension", dimension)
        asked = parse_noise(
            values=values,
            sigma_squared=sigma_squared,
            rho=rho,
            epsilon=epsilon,
            delta=delta,
            within=within,
            confidence=confidence,
        )

        def event_at(variance: Fraction) -> DiscreteGaussianNoise:
            return DiscreteGaussianNoise(l2_sensitivity_squared=move, sigma_squared=variance, dimension=size)

        match asked:
            case BySize(variance):
                pass
            case ByRho(price):
                variance = move / (2 * price)
            case ByEpsilonDelta(price, chance):
                variance = smallest_variance(event_at, epsilon=price, delta=chance, near=_near(move, size, asked))
            case ByAccuracy():
                variance = asked.bisect(lambda one: not asked.met_by(Spread(discrete_gaussian_tail(one))))[0]
            case _:  # pragma: no cover - it is asked for in no other way
                raise AssertionError
        super().__init__(event=event_at(variance), law=DiscreteGaussian(variance), dimension=size)

    @property
    def rho(self) -> Fraction:
        """The price of a release in zero-concentrated differential privacy."""
        return self.event.l2_sensitivity_squared / (2 * self.event.sigma_squared)


def _near(move: int, dimension: int, asked: ByEpsilonDelta) -> Fraction | None:
    """Return the variance of continuous noise, where the exact one takes long: with many coordinates, or much noise."""
    moved = math.isqrt(move) ** 2 if dimension == 1 else move

    def continuous(variance: Fraction) -> GaussianNoise:
        return GaussianNoise(l2_sensitivity_squared=Fraction(moved), sigma_squared=variance)

    found = smallest_variance(continuous, epsilon=asked.epsilon, delta=asked.delta)
    return None if dimension == 1 and found < _MUCH else found
