"""The last bits of a noisy float betray what it was added to. On a grid there are no last bits.

S. Haney, D. Desfontaines, L. Hartman, R. Shrestha, M. Hay: Precision-based attacks and interval refining. TPDP 2022.
"""

import numpy as np
import pytest

from lapwing.noise.laws import DiscreteLaplace, RoundedGaussian, RoundedLaplace

GRID_BITS = 20
COUNT = 200_000
RELEASES = {
    "rounded Laplace": lambda exact: on_the_grid(exact, RoundedLaplace(2**GRID_BITS)),
    "rounded Gaussian": lambda exact: on_the_grid(exact, RoundedGaussian(2**GRID_BITS)),
    "discrete Laplace": lambda exact: on_the_grid(exact, DiscreteLaplace(2**GRID_BITS)),
}
RNG = np.random.default_rng(1)
LIARS = {
    "NumPy's Laplace": lambda exact: exact + RNG.laplace(0, 1, COUNT),
    "NumPy's normal": lambda exact: exact + RNG.normal(0, 1, COUNT),
}


def on_the_grid(exact, law):
    """Return exact + noise of scale 1, both as integers on the grid of 2^-20, and then as a float, which is exact."""
    return np.ldexp((exact * 2**GRID_BITS + law.draw_many(COUNT)).astype(float), -GRID_BITS)


def off_the_grid(released, bits):
    """Return how often an answer is not a multiple of 2^-bits."""
    steps = np.ldexp(released, bits)
    return np.mean(steps != np.floor(steps))


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
@pytest.mark.parametrize("exact", [0, 1])
def test_every_answer_lies_on_the_grid_whatever_it_hides(release, exact) -> None:
    answers = release(exact)
    assert off_the_grid(answers, GRID_BITS) == off_the_grid(answers, 53) == 0
    assert off_the_grid(answers, GRID_BITS - 1) > 0.4  # and not on a coarser one


@pytest.mark.parametrize("release", LIARS.values(), ids=LIARS)
def test_the_attack_tells_apart_what_noise_in_floats_was_added_to(release) -> None:
    assert off_the_grid(release(0), 53) > 0.2
    assert off_the_grid(release(1), 53) == 0  # an event that one neighbour alone can show: no epsilon covers it
