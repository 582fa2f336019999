"""The plausible mistakes of private gradient descent, each priced as the honest step: all of them are caught."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.accounting.pricing import price
from lapwing.auditor.black_box import audit
from lapwing.mechanisms.private_gradients import Factors, NumpyArrays, PrivateGradients, clip_errors, descent_event
from lapwing.vocabulary.exact import fraction_above
from lapwing.vocabulary.guarantee import ApproximateDP
from learning.step_audit import StepSuspect, clipped, delta, honest, law_of, of_fixed_size, poisson

RATE, SIGMA = 0.25, 1.0
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)
PEOPLE = [
    [[], [[3.0]]],
    [[[-1.0]], [[3.0]]],
    [[[-1.0], [-1.0], [-1.0]], [[5.0]]],
    [[[1.0], [1.0]], [[-9.0]]],
    [[[1.0]] * 5, [[1.0]]],
    [[[1.0], [0.5], [0.25]], [[4.0, 4.0, 4.0]]],
    [[[0.2], [0.2]], [[0.9, -0.1, 0.9]]],
]
"""Some people, and one more: each is a list of the gradients of their rows."""


def excess(suspect):
    """Return the largest ratio of the delta of a step to that of its price, over tables with and without a person."""
    loss = price(descent_event(Fraction(1, 4), Fraction(1), 1))
    pairs = [(others, [*others, *one]) for others, one in PEOPLE]
    return max(
        delta(law_of(suspect, here), law_of(suspect, there), epsilon) / loss.delta(epsilon)
        for here, there in pairs
        for epsilon in EPSILONS
    )


def capped(rate, most):
    return lambda people: [(chance, sample[-most:]) for chance, sample in poisson(rate)(people)]


def sum_of(people):
    return sum(clipped(sum(rows)) for rows in people)


def mean_of_rows(people):
    rows = [row for person in people for row in person]
    return sum(clipped(row) for row in rows)


def clipped_together(people):
    """Clip the mean gradient of the batch: the length of one person's part depends on the others'."""
    return clipped(sum(sum(rows) for rows in people) / max(1, len(people))) * len(people)


LIARS = {
    "a shuffled batch of fixed size, called Poisson": StepSuspect(of_fixed_size(1), lambda p: (sum_of(p), SIGMA)),
    "a capped batch": StepSuspect(capped(RATE, 1), lambda p: (sum_of(p), SIGMA)),
    "divided by the real size of the batch": StepSuspect(
        poisson(RATE), lambda p: (sum_of(p) / max(1, len(p)), SIGMA / max(1, len(p)))
    ),
    "clipped row by row, and not person by person": StepSuspect(poisson(RATE), lambda p: (mean_of_rows(p), SIGMA)),
    "clipped by the mean of the batch": StepSuspect(poisson(RATE), lambda p: (clipped_together(p), SIGMA)),
    "not clipped": StepSuspect(poisson(RATE), lambda p: (sum(sum(rows) for rows in p), SIGMA)),
    "noise for each block, divided among them": StepSuspect(
        poisson(RATE), lambda p: (sum_of(p), SIGMA / max(1, len(p)) ** 0.5)
    ),
    "a last batch that is too small is dropped": StepSuspect(
        poisson(RATE), lambda p: (sum_of(p) if len(p) > 2 else 0.0, SIGMA)
    ),
    "no sampling, priced as a sample": StepSuspect(lambda n: [(1.0, tuple(range(n)))], lambda p: (sum_of(p), SIGMA)),
    "a scale that counts the batch": StepSuspect(poisson(RATE), lambda p: (sum_of(p), SIGMA * (1 + 0.5 * len(p)))),
}


def test_the_honest_step_keeps_its_price_and_nearly_uses_it_up() -> None:
    found = excess(honest(RATE, SIGMA))
    assert 0.99 < found <= 1 + 1e-6


@pytest.mark.parametrize("liar", LIARS)
def test_a_liar_is_caught(liar) -> None:
    assert excess(LIARS[liar]) > 1.02


def nearest(layers, clip):
    """Clip in floats, make whole by rounding to the nearest, and check nothing: the usual way."""
    lengths = [
        np.sqrt((one.errors.astype(float) ** 2).sum(1) * (one.inputs.astype(float) ** 2).sum(1)) for one in layers
    ]
    scale = np.minimum(1, clip / np.maximum(np.sqrt(sum(length**2 for length in lengths)), 1e-9))
    return [np.rint(one.errors * scale[:, None]).astype(np.int64) for one in layers]


def checked_in_floats(layers, clip):
    """Check the norm in float32, as it is computed on devices."""
    rounded = nearest(layers, clip)
    squares = sum(
        (one.astype(np.float32) ** 2).sum(1) * (layer.inputs.astype(np.float32) ** 2).sum(1)
        for one, layer in zip(rounded, layers, strict=True)
    )
    fits = squares <= np.float32(clip) ** 2
    return [one * fits[:, None] for one in rounded]


def layer_by_layer(layers, clip):
    """Clip each layer at the clip of all of them together."""
    return [clip_errors([one], clip, NumpyArrays())[0] for one in layers]


def longest(clipping, clip):
    """Return the longest part over many gradients, in clips, by Python's whole numbers."""
    rng = np.random.default_rng(11)
    layers = [
        Factors(rng.integers(-(2**20), 2**20, (3000, 7)), rng.integers(-1024, 1024, (3000, 5))),
        Factors(rng.integers(-(2**20), 2**20, (3000, 3)), rng.integers(-1024, 1024, (3000, 8))),
    ]
    squares = sum(
        (one.astype(object) ** 2).sum(1) * (layer.inputs.astype(object) ** 2).sum(1)
        for one, layer in zip(clipping(layers, clip), layers, strict=True)
    )
    return max(squares) / clip**2


def test_parts_are_as_long_as_the_clip_at_most_and_liars_are_longer() -> None:
    clip = 2**23 + 1
    assert 0.99 < longest(lambda layers, one: clip_errors(layers, one, NumpyArrays()), clip) <= 1
    assert longest(nearest, clip) > 1
    assert longest(checked_in_floats, clip) > 1
    assert longest(layer_by_layer, clip) > 1.5


def two_steps(noise):
    """Return draws of the difference of two steps of one clip each, whose noise is as `noise` has it."""

    def many(parts, size):
        first, second = noise(size)
        return (parts[0] + first - parts[1] - second).reshape(size, 1)

    return many


def test_noise_that_is_seeded_anew_in_every_epoch_is_seen() -> None:
    """The same noise in two steps is no noise on their difference; the price is that of two draws."""
    clip, law = 1 << 20, PrivateGradients(rate=Fraction(1), sigma_squared=Fraction(4), clip=1 << 20).law
    loss = price(descent_event(Fraction(1), Fraction(4), 2))
    claim = ApproximateDP(epsilon=Fraction(3, 2), delta=fraction_above(float(loss.delta(1.5))))
    neighbours = ((0, 0), (clip, -clip))
    honest_noise = two_steps(lambda size: (law.draw_many(size), law.draw_many(size)))
    seeded = two_steps(lambda size: (law.draw_many(size),) * 2)
    assert not audit(many=honest_noise, claim=claim, neighbours=neighbours, samples=2000).refuted
    assert audit(many=seeded, claim=claim, neighbours=neighbours, samples=2000).refuted
