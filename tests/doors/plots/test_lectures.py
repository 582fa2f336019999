"""The pictures of the lectures show what is true, and docs/pictures has them as they are drawn.

`PYTHONPATH=src python tests/doors/plots/test_lectures.py` draws them anew. Look at them before they are committed.
"""

import math
import re
from pathlib import Path

import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, ndtr

from lapwing.doors.plots.lectures import (
    COUNTS,
    MANY,
    density_of_gaussian,
    density_of_laplace,
    deviation_of_gaussian,
    deviations,
    draw_lectures,
    scale_of_laplace,
    threshold_steps,
)

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
NAMES = ("laws", "threshold", "dashed_box", "sampling_error")


def words(file):
    """Return the texts of a picture, in order, with how many strokes it has: what a reader would see change."""
    text = file.read_text(encoding="utf-8")
    return re.findall(r"<!-- (.*?) -->", text), text.count("<path"), text.count("<use")


def test_the_pictures_of_the_lectures_are_those_that_are_drawn(tmp_path) -> None:
    drawn = draw_lectures(tmp_path)
    assert [file.name for file in drawn] == [f"lecture_{name}.svg" for name in NAMES]
    for file in drawn:
        assert words(file) == words(PICTURES / file.name)
        assert len(words(file)[0]) > 10


def area_and_variance(density, spread):
    """Return both integrals of a symmetric density."""
    parts = [lambda x: density(x, spread), lambda x: x * x * density(x, spread)]
    return tuple(2 * quad(part, 0, 40 * spread)[0] for part in parts)


@pytest.mark.parametrize("counts", [1, MANY])
def test_the_densities_of_the_picture_are_those_of_laws_at_one_price(counts) -> None:
    scale, deviation = scale_of_laplace(counts), deviation_of_gaussian(counts)
    assert area_and_variance(density_of_laplace, scale) == pytest.approx((1, 2 * scale**2))
    assert area_and_variance(density_of_gaussian, deviation) == pytest.approx((1, deviation**2))
    # all counts move by one: Laplace noise loses exactly 1, and the delta of Gaussian noise at 1 is a millionth
    loss = counts * math.log(density_of_laplace(0, scale) / density_of_laplace(1, scale))
    assert loss == pytest.approx(1)
    mu = math.sqrt(counts) / deviation
    delta = ndtr(mu / 2 - 1 / mu) - math.exp(1 + log_ndtr(-mu / 2 - 1 / mu))
    assert delta == pytest.approx(1e-6, rel=1e-5)


def test_the_picture_of_the_threshold_says_what_the_algorithm_says() -> None:
    for seed in range(50):
        bar, steps = threshold_steps(seed, at_least=200, epsilon=0.2)
        assert [step.count for step in steps] == list(COUNTS[: len(steps)])
        assert [step.yes for step in steps] == [step.noisy >= bar for step in steps]
        assert not any(step.yes for step in steps[:-1])  # it halts with the first yes
        assert steps[-1].yes or len(steps) == len(COUNTS)
    drawn = threshold_steps(10, at_least=200, epsilon=0.2)[1]
    assert (len(drawn), drawn[-1].yes) == (8, True)


def test_the_noise_of_the_threshold_has_the_scales_of_the_document() -> None:
    """Mean sizes of Laplace noise are its scales; a scale of the other's would be off by a factor of two."""
    runs = [threshold_steps(seed, at_least=0, epsilon=1, counts=[-1000] * 20) for seed in range(400)]
    bars = [abs(bar) for bar, _ in runs]
    noises = [abs(step.noisy - step.count) for _, steps in runs for step in steps]
    assert math.fsum(bars) / len(bars) == pytest.approx(2, rel=0.2)
    assert math.fsum(noises) / len(noises) == pytest.approx(4, rel=0.05)


def test_the_noise_of_the_picture_grows_as_the_slide_says() -> None:
    small, large = deviations(100), deviations(10_000)
    assert [big / little for big, little in zip(large, small, strict=True)] == pytest.approx([100, 10, 10])
    divided, gaussian, sampling = large
    assert divided == pytest.approx(math.sqrt(2) * 10_000)
    assert sampling == pytest.approx(math.sqrt(10_000 * 0.5 * 0.5))
    assert gaussian / sampling == pytest.approx(8.449, abs=0.001)


if __name__ == "__main__":
    draw_lectures(PICTURES)
