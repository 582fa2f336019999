"""Counts on a secret sample that is really drawn: everybody has a coin of their own, and noise is added to the heads.

A person who counts once, in one cell, is in the sample with a public probability, whoever else is. So the number of
people of a cell in the sample is the number of heads of as many tosses: it is drawn from the count, exactly.

Proof: proofs/sampled_counts.md
"""

from collections.abc import Sequence
from fractions import Fraction
from math import sinh, sqrt
from typing import Final

import numpy as np

from lapwing.accounting.losses.sampled import amplified_epsilon
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.noise_mechanism import Priced
from lapwing.noise.coins_and_dice import Coin
from lapwing.noise.randomness import SYSTEM, RandomSource
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import Exact, Sensitive, fill, positive
from lapwing.vocabulary.frozen import frozen

_AT_ONCE: Final = 1 << 22
_DIGITS: Final = 10**6
_LARGEST: Final = Fraction(20)


@frozen(kw_only=False, init=False)
class SampledCounts(Priced[PureRelease]):
    """Counts people of a Poisson sample with noise: ε-differentially private, by amplification.

    Each person counts in one cell at most. The noise is that of a larger epsilon, `inner`, which the secret sample
    brings down to the price: log(1 + rate (e^inner - 1)) <= epsilon. One person is protected: people of a group have a
    coin each, so that no price for groups follows from it.

    >>> tenth = SampledCounts(rate="1/10", epsilon="0.1")
    >>> float(tenth.inner)
    0.718673
    >>> len(tenth.release([1000, 0, 20]))
    3

    Proof: proofs/sampled_counts.md
    """

    rate: Fraction
    inner: Fraction
    noise: GeometricMechanism

    def __init__(self, *, rate: Exact, epsilon: Exact) -> None:
        part, price = positive("rate", rate), positive("epsilon", epsilon)
        if part >= 1:
            raise ParameterError(
                "rate", rate, reason="leaves nobody out", remedy="write a fraction below 1, or count all"
            )
        low, high = 0, int(_LARGEST * _DIGITS)
        while high - low > 1:  # the largest of six digits whose amplified price is not above what is paid
            middle = (low + high) // 2
            low, high = (middle, high) if amplified_epsilon(Fraction(middle, _DIGITS), part) <= price else (low, middle)
        inner = max(price, Fraction(low, _DIGITS))
        if amplified_epsilon(inner, part) > price:  # pragma: no cover - a sample never costs more than all
            raise ParameterError("epsilon", epsilon, reason="is too little", remedy="offer more")
        noise = GeometricMechanism(l1_sensitivity=1, epsilon=inner)
        fill(self, event=PureRelease(epsilon=price), rate=part, inner=inner, noise=noise)

    def release(self, value: "Sensitive[Sequence[int]] | Sequence[int]", *, source: RandomSource = SYSTEM) -> list[int]:
        """Return how many people of each cell are in the sample, with noise."""
        opened = value.open_for_release() if isinstance(value, Sensitive) else value
        coin = Coin(self._bias)
        drawn = np.array([_heads(coin, int(count), source) for count in opened], np.int64)
        released: list[int] = np.asarray(self.noise.release(drawn)).tolist()
        return released

    def sd_if(self, people: int) -> float:
        """Return the standard deviation of the estimate, released number over rate, for a cell of so many people."""
        noise = 1 / (2 * sinh(float(self.inner) / 2) ** 2)
        return sqrt(noise / float(self.rate) ** 2 + people * float((1 - self.rate) / self.rate))

    def _bias(self, bits: int) -> tuple[int, int]:
        numerator, denominator = self.rate.numerator << bits, self.rate.denominator
        return numerator // denominator, -(-numerator // denominator)


def _heads(coin: Coin, tosses: int, source: RandomSource) -> int:
    heads = 0
    while tosses > 0:
        some = min(tosses, _AT_ONCE)
        heads += int(np.count_nonzero(coin.toss_many(some, source)))
        tosses -= some
    return heads
