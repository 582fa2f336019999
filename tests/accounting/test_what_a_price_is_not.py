"""Two readings of an event that its price does not cover, computed by hand: why the pages and the nouns say so.

Nothing in lapwing releases or prices either of them; the numbers show what the sentences are for.
"""

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm

import lapwing
from lapwing.accounting.conversions import guarantee_for_group
from lapwing.accounting.pricing import price
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteGaussianNoise, GaussianNoise, PoissonSampled
from lapwing.vocabulary.guarantee import ApproximateDP

FAR = 14
HALVES = 2 * 120
"""Losses of moves by whole numbers under variance 1 are halves: (k² + 2kx)/2. They are looked at from -120 to 120."""


def one_after_the_other(length: int, epsilon: int) -> float:
    """The delta of whoever chooses the move of each coordinate after having seen those before, variance 1."""
    draws = np.arange(-FAR, FAR + 1)
    law = np.exp(-(draws**2) / 2) / np.exp(-(np.arange(-60, 61) ** 2) / 2).sum()
    losses = np.arange(-HALVES, HALVES + 1) / 2
    end = np.maximum(0.0, 1 - np.exp(np.minimum(0, epsilon - losses)))
    values = dict.fromkeys(range(length + 1), end)
    for _ in range(length):
        values = {
            left: np.max([_moved(values[left - k * k], law, draws, k) for k in range(math.isqrt(left) + 1)], axis=0)
            for left in values
        }
    return float(values[length][HALVES])


def _moved(value, law, draws, k):
    places = np.arange(len(value))
    steps = k * k + 2 * k * draws
    return sum(p * value[np.clip(places + step, 0, len(value) - 1)] for p, step in zip(law, steps, strict=True))


def test_coordinates_chosen_one_after_the_other_beat_the_worst_fixed_move() -> None:
    """So a discrete Gaussian vector is released at once, or priced coordinate by coordinate."""
    event = DiscreteGaussianNoise(l2_sensitivity_squared=5, sigma_squared=Fraction(1), dimension=5)
    assert one_after_the_other(5, 13) / price(event).delta(13) > 1.31
    apart = price(DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(1), dimension=1))
    assert one_after_the_other(1, 2) <= apart.delta(2) * (1 + 1e-9)


def in_a_sample(people: int, rate: float, epsilon: float) -> float:
    """The delta of people who each have a coin of their own, under Gaussian noise of variance 1."""
    x = np.linspace(-12, 16, 400_001)
    weights = binom.pmf(range(people + 1), people, rate)
    with_them = sum(weight * norm.pdf(x, k) for k, weight in enumerate(weights))
    gain = np.maximum(0.0, with_them - math.exp(epsilon) * norm.pdf(x))
    return float(gain.sum() * (x[1] - x[0]))


def test_the_sensitivity_of_a_group_inside_a_sample_is_too_cheap_and_the_group_of_its_guarantee_is_not() -> None:
    rate = Fraction(1, 10)
    for people, beaten in ((1, 0.999), (2, 1.09), (3, 1.27)):
        event = PoissonSampled(
            part=GaussianNoise(l2_sensitivity_squared=Fraction(people**2), sigma_squared=Fraction(1)), rate=rate
        )
        assert in_a_sample(people, 0.1, 0.0) / price(event).delta(0.0) > beaten
    alone = price(
        PoissonSampled(part=GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(1)), rate=rate)
    )
    for people in (1, 2, 3):
        for epsilon in ("0.05", "0.2", "0.5"):
            delta = Fraction(alone.delta(float(epsilon)))
            promised = guarantee_for_group(ApproximateDP(epsilon=Fraction(epsilon), delta=delta), people)
            assert in_a_sample(people, 0.1, float(promised.epsilon)) <= float(promised.delta) * (1 + 1e-6)


def made_in(name):
    """Return the modules in which an event of this name is made, the examples of docstrings left aside."""
    source = Path(lapwing.__file__).parent
    made = re.compile(rf"^(?!.*\bcase\b)(?! *>>> | {{4}}{name}).*\b{name}\(", re.MULTILINE)
    return {str(one.relative_to(source)) for one in source.rglob("*.py") if made.search(one.read_text("utf-8"))}


def test_nothing_makes_the_event_of_a_vector_but_what_draws_it_at_once_and_nothing_that_of_a_sample() -> None:
    audited = "doors/auditing/one_shot_suspects.py"  # of one number, against which accounting is held
    assert made_in("DiscreteGaussianNoise") == {"mechanisms/gaussian.py", "vocabulary/event.py", audited}
    sampled = {"vocabulary/event.py", "mechanisms/private_gradients.py"}  # which tosses the coins itself
    assert made_in("PoissonSampled") | made_in("SampledWithoutReplacement") == sampled


@pytest.mark.parametrize("part", [3, [3], [1, 2, 3, 4]])
def test_a_vector_is_released_whole_or_not_at_all(part) -> None:
    noise = DiscreteGaussianMechanism(l2_sensitivity_squared=5, sigma_squared=1, dimension=5)
    with pytest.raises(ParameterError, match="5"):
        noise.release(part)
    assert len(noise.release([0] * 5)) == 5
