"""Noisy sums of gradients: parts no longer than the clip, in whole numbers, one person's own; a true Poisson sample."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from lapwing.accounting.pricing import price
from lapwing.mechanisms import private_gradients
from lapwing.mechanisms.private_gradients import (
    LONGEST_CLIP,
    MOST_INPUT,
    Factors,
    NumpyArrays,
    PrivateGradients,
    as_rate,
    clip_errors,
    drop_long,
)
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise, PoissonSampled, Repeated
from lapwing.vocabulary.exact import Sensitive

NUMPY = NumpyArrays()
EXTREMES = [0, 1, -1, 2**31, 2**62, 2**63 - 1, -(2**63), 3**20, -(7**15), 2**26 + 1, 12345]


def exact_square(layers, errors, i):
    """Return the squared length of a person's part, by Python's whole numbers."""
    parts = zip(errors, layers, strict=True)
    return sum((int(e) * int(x)) ** 2 for some, one in parts for e in some[i] for x in one.inputs[i])


def squares_of_parts(layers, clip):
    clipped = clip_errors(layers, clip, NUMPY)
    return [exact_square(layers, clipped, i) for i in range(len(layers[0].errors))]


def wholes(least, most):
    return st.one_of(st.integers(least, most), st.sampled_from([one for one in EXTREMES if least <= one <= most]))


@st.composite
def gradients(draw):
    people = draw(st.integers(1, 4))
    layers = []
    for _ in range(draw(st.integers(1, 3))):
        outputs, inputs = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        rows = [[draw(wholes(-(2**63), 2**63 - 1)) for _ in range(outputs)] for _ in range(people)]
        columns = [[draw(wholes(-(2**17), 2**17)) for _ in range(inputs)] for _ in range(people)]
        layers.append(Factors(np.array(rows, np.int64), np.array(columns, np.int64)))
    return layers


@given(gradients(), st.sampled_from([1, 2, 1000, 2**20, 2**27 + 3, LONGEST_CLIP]))
def test_no_part_is_longer_than_the_clip_whatever_the_gradients_are(layers, clip) -> None:
    assert max(squares_of_parts(layers, clip)) <= clip**2


@st.composite
def nearly_clipped(draw):
    """Return parts that are about as long as a clip, or exactly, and the clip."""
    people, layers = draw(st.integers(1, 4)), []
    for _ in range(draw(st.integers(1, 3))):
        outputs, inputs = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        rows = [[draw(st.integers(-9, 9)) for _ in range(outputs)] for _ in range(people)]
        columns = [[draw(st.sampled_from([0, 1, -3, 4, 1024])) for _ in range(inputs)] for _ in range(people)]
        layers.append(Factors(np.array(rows, np.int64), np.array(columns, np.int64)))
    squares = [exact_square(layers, [one.errors for one in layers], i) for i in range(people)]
    clip = draw(st.sampled_from([max(1, math.isqrt(one) + more) for one in squares for more in (-1, 0, 1)]))
    return layers, squares, clip


@given(nearly_clipped())
def test_whoever_is_longer_than_the_clip_adds_nothing_and_whoever_is_not_stays(given_parts) -> None:
    layers, squares, clip = given_parts
    kept = drop_long(layers, clip, NUMPY)
    for i, square in enumerate(squares):
        stays = square <= clip**2
        for errors, one in zip(kept, layers, strict=True):
            assert (errors[i] == (one.errors[i] if stays else 0)).all()


def test_lengths_that_would_wrap_are_too_long() -> None:
    far = math.isqrt(2**62)
    layers = [Factors(np.array([[far], [0], [far]]), np.array([[MOST_INPUT], [MOST_INPUT], [0]]))]
    assert [one[0] for one in drop_long(layers, LONGEST_CLIP, NUMPY)[0]] == [0, 0, far]
    twice = [Factors(np.array([[3]]), np.array([[4]])), Factors(np.array([[5]]), np.array([[1]]))]
    assert [drop_long(twice, clip, NUMPY)[1][0][0] for clip in (12, 13)] == [0, 5], "144 and 25 are 169"


@given(gradients(), st.sampled_from([1000, 2**27 + 3]))
def test_a_part_is_a_function_of_one_person(layers, clip) -> None:
    together = clip_errors(layers, clip, NUMPY)
    for i in range(len(layers[0].errors)):
        alone = clip_errors([Factors(one.errors[i : i + 1], one.inputs[i : i + 1]) for one in layers], clip, NUMPY)
        assert all((own[0] == among[i]).all() for own, among in zip(alone, together, strict=True))


def test_what_is_short_stays_as_it_is_and_what_is_long_becomes_nearly_as_long_as_the_clip() -> None:
    layers = [Factors(np.array([[30, -40], [3_000_000, 4_000_001]]), np.array([[2], [2]]))]
    short, long = clip_errors(layers, 1000, NUMPY)[0]
    assert short.tolist() == [30, -40]
    assert 0.995 * 1000 < 2 * math.hypot(*long) <= 1000
    assert long[0] < long[1]


def test_inputs_beyond_the_largest_add_nothing() -> None:
    layers = [Factors(np.array([[1], [1], [1]]), np.array([[MOST_INPUT], [MOST_INPUT + 1], [-(2**63)]]))]
    assert [one[0] for one in clip_errors(layers, LONGEST_CLIP, NUMPY)[0]] == [1, 0, 0]


def test_sums_are_exact_in_blocks_of_any_size(monkeypatch) -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(-(2**15), 2**15, (500, 6))
    noiseless = PrivateGradients(rate=Fraction(1), sigma_squared=Fraction(1, 2**40), clip=2**20)

    def factors(some):
        return [Factors(some[:, :2] * 1000, some[:, 2:])]

    clipped = clip_errors(factors(rows), 2**20, NUMPY)[0]
    truth = [
        [sum(int(e) * int(x) for e, x in zip(clipped[:, a], rows[:, 2 + b], strict=True)) for b in range(4)]
        for a in (0, 1)
    ]
    for cells in (2**23, 60, 1):
        monkeypatch.setattr(private_gradients, "_BLOCK_CELLS", cells)
        (found,) = noiseless.release(Sensitive(rows), factors, [(2, 4)], NUMPY)
        assert np.abs(found - truth).max() <= 7, "noise of sigma 1, and nothing else"


def ones(rows):
    return [Factors(rows, np.ones_like(rows))]


def test_a_sample_holds_each_person_on_a_coin_of_their_own_and_is_never_capped() -> None:
    people, rate = 40_000, Fraction(3, 7)
    one_step = PrivateGradients(rate=rate, sigma_squared=Fraction(1, 400), clip=1)
    sizes = [int(one_step.release(np.ones((people, 1), np.int64), ones, [(1, 1)], NUMPY)[0][0, 0]) for _ in range(60)]
    law = binom(people, float(rate))
    assert law.ppf(1e-7) <= min(sizes) < max(sizes) <= law.ppf(1 - 1e-7)
    deviations = (np.array(sizes) - law.mean()) / law.std()
    assert 0.6 < deviations.std() < 1.5, "neither of fixed size, nor in lumps"
    assert (deviations > 1).any()


def test_noise_has_the_variance_that_is_paid_for() -> None:
    mechanism = PrivateGradients(rate=Fraction(1, 9), sigma_squared=Fraction(9, 4), clip=1 << 20)
    (noise,) = mechanism.release(np.zeros((0, 1), np.int64), ones, [(200, 100)], NUMPY)
    scaled = noise.ravel() / (1.5 * 2**20)
    assert abs(scaled.std() - 1) < 0.03
    assert abs(np.mean(scaled < 1) - norm.cdf(1)) < 0.02


def test_the_event_is_what_the_accounts_price() -> None:
    mechanism = PrivateGradients(rate=Fraction(1, 20), sigma_squared=Fraction(15), clip=1 << 27)
    noise = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(15))
    assert mechanism.event(400) == Repeated(part=PoissonSampled(part=noise, rate=Fraction(1, 20)), times=400)
    assert price(mechanism.event(400)).epsilon(1e-5) < 1.01
    everybody = PrivateGradients(rate=Fraction(1), sigma_squared=Fraction(15), clip=5, moved=2)
    assert everybody.event(3).part == GaussianNoise(l2_sensitivity_squared=Fraction(4), sigma_squared=Fraction(15))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"rate": Fraction(0)}, "rate"),
        ({"rate": Fraction(3, 2)}, "not a sampling rate"),
        ({"moved": 2}, "several coins"),
        ({"clip": 2**31}, "clip"),
        ({"sigma_squared": Fraction(2**20)}, "more than 256 clips"),
    ],
)
def test_what_would_not_be_private_is_not_built(words, said) -> None:
    right = {"rate": Fraction(1, 2), "sigma_squared": Fraction(1), "clip": LONGEST_CLIP}
    with pytest.raises(ParameterError, match=said):
        PrivateGradients(**(right | words)).release([], ones, [(1, 1)], NUMPY)


def test_a_rate_is_a_public_fraction() -> None:
    assert as_rate("1/50") == Fraction(1, 50)
    with pytest.raises(ParameterError, match="above 1"):
        as_rate(2)


def test_gradients_that_are_no_whole_numbers_are_refused() -> None:
    mechanism = PrivateGradients(rate=Fraction(1), sigma_squared=Fraction(1), clip=10)
    with pytest.raises(TypeError, match="whole numbers"):
        mechanism.release(np.ones((3, 1)), ones, [(1, 1)], NUMPY)
