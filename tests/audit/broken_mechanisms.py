"""The known liars, as programs: each draws many outputs at once from a seeded generator, and each must be caught.

First the sparse vectors. They are written from the documents that print them, with NumPy's own noise, and share no code
with the descriptions in `lapwing.auditor.liars`, whose names they carry. Then plain releases.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.vocabulary.guarantee import ApproximateDP, GaussianDP, Guarantee, PureDP

NOT_ASKED, NO, YES, ABORT, LOST = range(-1, 4)

Noise: TypeAlias = Callable[[int], NDArray[np.float64]]


@dataclass(frozen=True)
class Transcripts:
    """One row a run, one column a question: what was said, and the number that came with it (NaN for none)."""

    said: NDArray[np.int8]
    told: NDArray[np.float64]


def returns_the_value_it_compared_and_aborts_late(values, rng, size):
    """Document 002, line by line, at epsilon = 1 and c = 1."""
    noisy_threshold = laplace(rng, 2)(size)
    said, told = blank(values, size)
    count, running = np.zeros(size, int), np.ones(size, bool)
    for i, value in enumerate(values):
        noisy_value = value + laplace(rng, 2)(size)
        above = noisy_value >= noisy_threshold
        answered, aborted = running & above & (count < 1), running & above & (count >= 1)
        said[running & ~above, i], said[answered, i], said[aborted, i] = NO, YES, ABORT
        told[answered, i] = noisy_value[answered]
        count += answered
        running &= ~aborted
    return Transcripts(said, told)


def returns_the_value_it_compared(values, rng, size):
    return sparse_vector(values, size, threshold=laplace(rng, 2), query=laplace(rng, 2), tells="value")


def returns_the_value_it_compared_with_twice_the_noise(values, rng, size):
    return sparse_vector(values, size, threshold=laplace(rng, 2), query=laplace(rng, 4), tells="value")


def gives_all_questions_the_scale_of_monotone_ones(values, rng, size):
    return sparse_vector(values, size, threshold=laplace(rng, 2), query=laplace(rng, 2))


def gives_all_questions_the_exponential_scale_of_monotone_ones(values, rng, size):
    return sparse_vector(values, size, threshold=exponential(rng, 2), query=exponential(rng, 2))


def aborts_one_yes_too_late(values, rng, size):
    """Two yeses are decided on one threshold; the second is called an abort."""
    run = sparse_vector(values, size, threshold=laplace(rng, 2), query=laplace(rng, 2), yeses=2)
    second = (run.said == YES) & (np.cumsum(run.said == YES, axis=1) > 1)
    run.said[second] = ABORT
    return run


def forgets_the_number_of_yeses_in_its_noise(values, rng, size):
    return sparse_vector(values, size, threshold=laplace(rng, 4), query=laplace(rng, 4 / 3), yeses=2)


def leaves_the_questions_without_noise(values, rng, size):
    return sparse_vector(values, size, threshold=laplace(rng, 2), query=np.zeros)


def never_stops(values, rng, size):
    return sparse_vector(values, size, threshold=laplace(rng, 2), query=laplace(rng, 2), yeses=math.inf)


def tests_any_number_of_thresholds(values, rng, size):
    return sparse_vector(values, size, threshold=laplace(rng, 4), query=laplace(rng, 4 / 3), yeses=math.inf)


def leaves_the_threshold_without_noise(values, rng, size):
    return sparse_vector(values, size, threshold=np.zeros, query=laplace(rng, 2))


def pushes_the_threshold_down_with_one_sided_noise(values, rng, size):
    return sparse_vector(values, size, threshold=exponential(rng, 2, sign=-1), query=exponential(rng, 4))


def asks_about_halves_on_a_lattice_of_ones(values, rng, size):
    return sparse_vector(values, size, threshold=discrete_laplace(rng, 1), query=discrete_laplace(rng, 2))


def tells_the_gap_of_values_off_the_lattice(values, rng, size):
    return sparse_vector(values, size, threshold=geometric(rng, 2), query=geometric(rng, 4), tells="gap")


def asks_again_with_fresh_noise_after_a_crash(values, rng, size):
    """Every yes crashes the machine, so that it is neither answered nor counted; `values` lists the attempts."""
    run = sparse_vector(values, size, threshold=geometric(rng, 2), query=geometric(rng, 2), yeses=math.inf)
    run.said[run.said == YES] = LOST
    return run


LIARS = {
    liar.__name__: liar
    for liar in (
        returns_the_value_it_compared_and_aborts_late,
        returns_the_value_it_compared,
        returns_the_value_it_compared_with_twice_the_noise,
        gives_all_questions_the_scale_of_monotone_ones,
        gives_all_questions_the_exponential_scale_of_monotone_ones,
        aborts_one_yes_too_late,
        forgets_the_number_of_yeses_in_its_noise,
        leaves_the_questions_without_noise,
        never_stops,
        tests_any_number_of_thresholds,
        leaves_the_threshold_without_noise,
        pushes_the_threshold_down_with_one_sided_noise,
        asks_about_halves_on_a_lattice_of_ones,
        tells_the_gap_of_values_off_the_lattice,
        asks_again_with_fresh_noise_after_a_crash,
    )
}


def sparse_vector(values, size, *, threshold: Noise, query: Noise, yeses=1, tells=None) -> Transcripts:
    """Run `size` sparse vectors side by side; `values` are measured from the public threshold."""
    noisy_threshold = threshold(size)
    said, told = blank(values, size)
    count = np.zeros(size, int)
    for i, value in enumerate(values):
        running = count < yeses
        noisy_value = value + query(size)
        above = noisy_value >= noisy_threshold
        said[running, i] = np.where(above[running], YES, NO)
        numbers = {"value": noisy_value, "gap": noisy_value - noisy_threshold}.get(tells, np.full(size, math.nan))
        told[running & above, i] = numbers[running & above]
        count += running & above
    return Transcripts(said, told)


def blank(values, size) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    shape = (size, len(values))
    return np.full(shape, NOT_ASKED, np.int8), np.full(shape, math.nan)


def laplace(rng, scale) -> Noise:
    return lambda size: rng.laplace(0, scale, size)


def exponential(rng, scale, sign=1) -> Noise:
    return lambda size: sign * rng.exponential(scale, size)


def geometric(rng, scale) -> Noise:
    """Failures before the first success: P(x) ∝ e^(-x/scale) on 0, 1, 2, ..."""
    return lambda size: rng.geometric(-math.expm1(-1 / scale), size) - 1.0


def discrete_laplace(rng, scale) -> Noise:
    one = geometric(rng, scale)
    return lambda size: one(size) - one(size)


@dataclass(frozen=True)
class PlainLiar:
    """A release with a false claim, the neighbours that show it, and how many draws of each must be enough."""

    draw: Callable[..., NDArray[np.float64]]
    claim: Guarantee
    neighbours: tuple[object, object]
    samples: int


def half_the_noise(count, rng, size):
    return on_a_grid(count + rng.laplace(0, 0.5, size))


def a_tenth_too_little_noise(count, rng, size):
    return on_a_grid(count + rng.laplace(0, 0.9, size))


def noise_by_the_square_of_the_sensitivity(mean, rng, size):
    """A mean moves by 1/2 at most; the noise is scaled to 1/4."""
    return on_a_grid(mean + rng.laplace(0, (1 / 2) ** 2, size))


def textbook_gaussian_at_a_large_epsilon(count, rng, size):
    """The scale sqrt(2 ln(1.25/delta)) / epsilon, proved for epsilon < 1 only, at epsilon 7 and delta 0.1."""
    return on_a_grid(count + rng.normal(0, math.sqrt(2 * math.log(1.25 / 0.1)) / 7, size))


def half_the_deviation(count, rng, size):
    return on_a_grid(count + rng.normal(0, SIGMA / 2, size))


def a_fifth_too_little_deviation(count, rng, size):
    return on_a_grid(count + rng.normal(0, 0.8 * SIGMA, size))


def noise_of_floating_point_numbers(count, rng, size):
    """The right scale; but a sum of doubles keeps the grid of its summands, and the grid tells the count."""
    return count + rng.laplace(0, 1, size)


def noise_that_falls_short_in_the_last_bit_of_a_normal(count, rng, size):
    return count + rng.normal(0, SIGMA, size)


def keeps_a_key_at_its_threshold_already(people, rng, size):
    """The delta of "above 6" is claimed, and "at least 6" is done. A key that nobody has is never told."""
    noisy = people + discrete_laplace(rng, 1)(size)
    return np.where((noisy >= 6) & (people > 0), noisy, math.nan)


def names_and_shames(records, rng, size):
    """Publish each record as it is with probability 1/100."""
    chosen = rng.random((size, len(records))) < 1 / 100
    return np.where(chosen, np.array(records), math.nan)


def says_how_many_before_it_clips(values, rng, size):
    """A sum with enough noise, and the exact number of values that were clipped."""
    total = np.clip(values, 0, 1).sum() + rng.laplace(0, 1, size)
    return np.column_stack([on_a_grid(total), np.full(size, sum(value > 1 for value in values))])


SIGMA = 3.7305
"""Gives (1, 1e-5)-differential privacy, and mu = 1 / SIGMA exactly."""

ONE = PureDP(epsilon=1)
GAUSSIAN = GaussianDP(mu_squared=1 / SIGMA**2)

PLAIN_LIARS = {
    liar.draw.__name__: liar
    for liar in (
        PlainLiar(half_the_noise, ONE, (0, 1), 1_000),
        PlainLiar(a_tenth_too_little_noise, ONE, (0, 1), 50_000),
        PlainLiar(noise_by_the_square_of_the_sensitivity, ONE, (0, 0.5), 1_000),
        PlainLiar(textbook_gaussian_at_a_large_epsilon, ApproximateDP(epsilon=7, delta="0.1"), (0, 1), 1_000_000),
        PlainLiar(half_the_deviation, GAUSSIAN, (0, 1), 10_000),
        PlainLiar(a_fifth_too_little_deviation, GAUSSIAN, (0, 1), 100_000),
        PlainLiar(noise_of_floating_point_numbers, ONE, (0, 1), 1_000),
        PlainLiar(noise_that_falls_short_in_the_last_bit_of_a_normal, GAUSSIAN, (0, 1), 1_000),
        PlainLiar(
            keeps_a_key_at_its_threshold_already,
            ApproximateDP(epsilon=1, delta=math.exp(-6) / (1 + math.exp(-1))),
            (0, 1),
            100_000,
        ),
        PlainLiar(names_and_shames, ONE, ((3.0, 4.0, 5.0), (3.0, 4.0, 6.0)), 10_000),
        PlainLiar(says_how_many_before_it_clips, ONE, ((0.5, 0.5), (0.5, 2.0)), 1_000),
    )
}


def on_a_grid(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to multiples of 2^-12, so that a lie about the scale is not given away by the lowest bits."""
    return np.round(numbers * 4096) / 4096


def takes_the_textbook_gaussian_at_large_epsilon(value, rng, size):
    return value + rng.normal(0, math.sqrt(2 * math.log(1.25e6)) / 20, size)


def squares_the_sensitivity(value, rng, size):
    """For values that one person moves by 1/100."""
    return value + rng.normal(0, 0.01**2 * math.sqrt(2 * math.log(1.25e6)) / 0.9, size)


def adds_laplace_noise_in_floating_point(value, rng, size):
    """As the textbooks do: the logarithm of a uniform float."""
    uniform = rng.random(size)
    with np.errstate(divide="ignore"):
        return np.where(uniform < 0.5, value + np.log(2 * uniform), value - np.log(2 - 2 * uniform))


def adds_half_the_laplace_noise(value, rng, size):
    return value + rng.laplace(0, 0.5, size)


def shows_keys_at_the_threshold_and_not_only_above_it(value, rng, size):
    """The noisy count of one key that `value` people have, NaN where the key is not shown."""
    if not value:
        return np.full(size, math.nan)
    noisy = value + discrete_laplace(rng, 1)(size)
    return np.where(noisy >= 14, noisy, math.nan)


def counts_what_it_chose_with_the_noise_of_one_count(value, rng, size):
    """The sum of the counts that are told of the two largest of three cells, of which each has `value` people."""
    return 2 * value + discrete_laplace(rng, 2)(size) + discrete_laplace(rng, 2)(size)


def names_and_shames(value, rng, size):
    """The record of one person, NaN where it is not published."""
    return np.where(rng.random(size) < 1e-3, float(value), math.nan)


def counts_stars_on_a_ladder_of_the_two_largest_degrees(value, rng, size):
    """The stars of three points in a graph of five people; `value` says whether the two largest degrees are joined.

    Without the edge nobody has three others; with it there is one star, and the first width is not 3, as it may be at
    most, but 4.
    """
    widths = np.array([4, 7, 9] if value else [1, 3, 6, 7, 9])
    widths = np.concatenate([widths, np.full(200, 12)])
    weights = np.concatenate([[1.0], 2 * widths * np.exp(-0.5 * np.arange(1, widths.size + 1))])
    rungs = rng.choice(weights.size, size, p=weights / weights.sum())
    ends = np.concatenate([[0], np.cumsum(widths)])
    far = ends[np.maximum(rungs - 1, 0)] + 1 + np.floor(rng.random(size) * widths[np.maximum(rungs - 1, 0)])
    return int(value) + np.where(rungs == 0, 0, far * rng.choice([-1, 1], size))


ONE_SHOT_LIARS = {
    liar.__name__: liar
    for liar in (
        takes_the_textbook_gaussian_at_large_epsilon,
        squares_the_sensitivity,
        adds_laplace_noise_in_floating_point,
        adds_half_the_laplace_noise,
        shows_keys_at_the_threshold_and_not_only_above_it,
        counts_what_it_chose_with_the_noise_of_one_count,
        names_and_shames,
        counts_stars_on_a_ladder_of_the_two_largest_degrees,
    )
}
"""Each takes the true value on one table, and returns `size` answers."""
