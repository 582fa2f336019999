"""The laws of noise from their formulas, in fifty digits: what the mechanisms are held against.

Nothing here is imported from the code under test.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np

mp.mp.dps = 50
ROUNDING = mp.mpf(10) ** -40
"""More than the fifty digits lose on the way."""


def number(value) -> mp.mpf:
    value = Fraction(value)
    return mp.mpf(value.numerator) / value.denominator


def discrete_laplace(scale, reach) -> dict[int, mp.mpf]:
    rate = 1 / number(scale)
    return {x: mp.tanh(rate / 2) * mp.exp(-abs(x) * rate) for x in range(-reach, reach + 1)}


def rounded_laplace(scale, reach) -> dict[int, mp.mpf]:
    rate = 1 / number(scale)
    side = {x: mp.sinh(rate / 2) * mp.exp(-x * rate) for x in range(1, reach + 1)}
    return {-x: p for x, p in side.items()} | {0: 1 - mp.exp(-rate / 2)} | side


def discrete_gaussian(sigma_squared, reach) -> dict[int, mp.mpf]:
    twice = 2 * number(sigma_squared)
    weights = {x: mp.exp(-x * x / twice) for x in range(-reach, reach + 1)}
    total = mp.jtheta(3, 0, mp.exp(-1 / twice))  # Σ q^(x²) over all integers
    return {x: weight / total for x, weight in weights.items()}


def rounded_gaussian(sigma, reach) -> dict[int, mp.mpf]:
    unit = mp.sqrt(2) * number(sigma)
    tails = [mp.erfc((mp.mpf(x) - mp.mpf(1) / 2) / unit) / 2 for x in range(1, reach + 2)]
    side = {x: tails[x - 1] - tails[x] for x in range(1, reach + 1)}
    return {-x: p for x, p in side.items()} | {0: 1 - 2 * tails[0]} | side


def tail(law, margin) -> mp.mpf:
    """P(|X| > margin), by adding up what is inside."""
    return 1 - mp.fsum(p for x, p in law.items() if abs(x) <= margin)


def largest_loss(left, right) -> mp.mpf:
    """The largest log-ratio of the probabilities of one outcome, in both orders, as far as both were walked through."""
    both = left.keys() & right.keys()
    assert 2 * len(both) > len(left)
    return max(abs(mp.log(left[outcome] / right[outcome])) for outcome in both)


def delta(left, right, epsilon) -> mp.mpf:
    """The smallest delta for which no event is more than e^epsilon times as likely plus delta, in both orders."""
    factor = mp.exp(number(epsilon))
    orders = ((left, right), (right, left))
    return max(mp.fsum(max(mp.mpf(0), p.get(x, 0) - factor * q.get(x, 0)) for x in p) for p, q in orders)


def as_array(law) -> tuple[int, np.ndarray]:
    """The lowest outcome and the probabilities from there on, as floats."""
    lowest = min(law)
    return lowest, np.array([float(law[x]) for x in range(lowest, max(law) + 1)])


class Scripted:
    """A law of noise that draws what it is told, so that every outcome of a release can be walked through."""

    def __init__(self, *draws: int) -> None:
        self.draws = draws

    def draw(self) -> int:
        return self.draws[0]

    def draw_many(self, count: int) -> np.ndarray:
        return np.array(self.draws[:count], np.int64)


def released_law(mechanism, value, law) -> dict:
    """The law of `mechanism.release(value)`: every draw of the noise is walked through, each with its probability."""
    honest = mechanism.law
    outcomes: dict = {}
    try:
        for draw, p in law.items():
            object.__setattr__(mechanism, "law", Scripted(draw))
            outcome = mechanism.release(value)
            outcomes[outcome] = outcomes.get(outcome, mp.mpf(0)) + p
    finally:
        object.__setattr__(mechanism, "law", honest)
    return outcomes
