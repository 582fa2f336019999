import math
from itertools import permutations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.noise import coins_and_dice as selection
from lapwing.noise.coins_and_dice import (
    UNIT_BITS,
    choose_exponential,
    choose_exponential_sized,
    exponential_lattice,
)
from lapwing.vocabulary.errors import ParameterError
from noise.sources import Stream
from statistical.goodness import fits, integer_p_value, p_value

UNIT = 1 << UNIT_BITS


def test_the_lattice_has_the_tail_of_the_exponential_law_and_no_other() -> None:
    points = exponential_lattice(10**7)
    assert points.dtype == np.uint64
    twentieths = np.minimum((points >> np.uint64(36)).astype(np.int64) * 20 >> 20, 400)
    cells = np.arange(401) / 20
    assert fits(integer_p_value(twentieths, 0, -np.diff(np.exp(-cells))))
    assert not fits(integer_p_value(twentieths, 0, -np.diff(np.exp(-cells / 1.03))))


@pytest.mark.parametrize("count", [0, 1, 255, 256, 70_000])
def test_there_are_as_many_points_as_asked_for_in_an_array_of_their_own(count) -> None:
    points = exponential_lattice(count)
    assert points.shape == (count,)
    assert points.flags.owndata


def test_the_low_bits_of_the_lattice_are_fair() -> None:
    low = (exponential_lattice(10**6) & np.uint64(255)).astype(np.int64)
    assert fits(integer_p_value(low, 0, np.full(256, 1 / 256)))
    assert not fits(integer_p_value(low | 1, 0, np.full(256, 1 / 256)))


OFFSETS = {
    "four": [0, -UNIT, -2 * UNIT, -UNIT // 2],
    "above zero": [7 * UNIT, 6 * UNIT],
    "far below zero": [-100 * UNIT, -101 * UNIT, -(2**63)],
    "ties": [-UNIT] * 5 + [0],
}


@pytest.mark.parametrize("offsets", OFFSETS.values(), ids=OFFSETS)
def test_a_candidate_is_chosen_by_its_exponential_weight_and_no_other(offsets) -> None:
    gaps = np.array([(offset - max(offsets)) / UNIT for offset in offsets])
    chosen = np.array([choose_exponential(offsets) for _ in range(12_000)])

    def p(slope):
        weights = np.exp(slope * gaps)
        return integer_p_value(chosen, 0, weights / weights.sum())

    assert fits(p(1))
    assert not fits(p(1.5))


@given(gaps=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50))
def test_the_weights_are_upper_bounds_and_tight_where_it_matters(gaps) -> None:
    weights, bits = selection._upper_weights(np.array(gaps, np.uint64))
    with mp.workprec(200):
        for gap, weight in zip(gaps, weights.tolist(), strict=True):
            truth = mp.ldexp(mp.exp(-mp.mpf(gap) / UNIT), bits)
            assert truth <= weight <= truth * mp.mpf("1.005") + (1 << 10)


@pytest.mark.parametrize("candidates", [1, 2, 2**21, 2**22 - 1, 2**22, 2**23, 2**30 + 1])
def test_the_weights_of_many_candidates_add_up_within_63_bits(candidates) -> None:
    largest = (1 << selection._weight_bits(candidates)) + 1
    assert candidates * largest < 1 << 63
    assert selection._upper_weights(np.zeros(1, np.uint64))[0].tolist() == [2**40 + 1]


def test_noise_on_scores_is_permute_and_flip() -> None:
    """Report-noisy-max with this lattice, against the probabilities of permute-and-flip, order by order."""
    scores = np.array([0, -UNIT, -UNIT // 2, -3 * UNIT])
    points = exponential_lattice(4 * 10**6).reshape(-1, 4).astype(np.int64)
    chosen = (points + scores).argmax(axis=1)
    heads = np.exp(scores / UNIT)

    def flip(heads):
        probabilities = np.zeros(4)
        for order in permutations(range(4)):
            left = 1.0
            for candidate in order:
                probabilities[candidate] += left * heads[candidate] / 24
                left *= 1 - heads[candidate]
        return probabilities

    assert fits(integer_p_value(chosen, 0, flip(heads)))
    assert not fits(integer_p_value(chosen, 0, heads / heads.sum()))  # the exponential mechanism is another law


def test_a_choice_from_a_source_is_a_function_of_its_bytes() -> None:
    offsets = -np.arange(1000) * (UNIT // 50)
    assert len({choose_exponential(offsets, source=Stream(5)) for _ in range(5)}) == 1
    assert len({choose_exponential(offsets, source=Stream(seed)) for seed in range(20)}) > 1


@pytest.mark.parametrize(
    "offsets",
    [[], [0.5], [[0, 1]], ["a"], [2**63], [0, None], np.zeros(3), np.zeros((2, 2), int), np.uint64([2**63])],
    ids=["none", "float", "list", "text", "65 bits", "missing", "array of floats", "matrix", "array of 65 bits"],
)
def test_scores_off_the_lattice_are_refused(offsets) -> None:
    with pytest.raises(ParameterError, match="offsets"):
        choose_exponential(offsets)


def test_a_trillion_candidates_far_behind_are_as_likely_as_the_best_if_they_weigh_as_much() -> None:
    many = 2**40
    gap = round(math.log(many) * 2**UNIT_BITS)
    far = [choose_exponential_sized([0, -gap], [1, many]) for _ in range(2000)]
    counts = np.bincount([index for index, _ in far], minlength=2)
    assert fits(p_value(counts, np.array([0.5, 0.5])))
    assert not fits(p_value(counts, np.array([0.65, 0.35])))
    places = np.array([place for index, place in far if index])
    assert 0 <= places.min() < many / 20  # uniform among them
    assert many * 19 / 20 < places.max() < many


def test_every_candidate_of_a_size_is_as_likely_as_one_of_its_own() -> None:
    """Sizes of 0 are left out, however good their score is; places are counted from 0 in every size."""
    offsets, sizes = [0, -(1 << UNIT_BITS), 1 << 62, -(1 << UNIT_BITS)], [1, 2, 0, 3]
    chosen = [choose_exponential_sized(offsets, sizes) for _ in range(5000)]
    kinds = [(0, 0), (1, 0), (1, 1), (3, 0), (3, 1), (3, 2)]
    weights = np.array([1.0] + [math.exp(-1)] * 5)
    counts = np.array([chosen.count(kind) for kind in kinds])
    assert counts.sum() == len(chosen)
    assert fits(p_value(counts, weights / weights.sum()))
    by_size = np.array([1, *[math.exp(-1) / 2] * 2, *[math.exp(-1) / 3] * 3])  # the mistake: a size, then one of it
    assert not fits(p_value(counts, by_size / by_size.sum()))


@pytest.mark.parametrize("scales", [0, 1e-9, 0.3, 7.5, 63.9])
@pytest.mark.parametrize("bits", [1, 24, 200])
def test_the_part_that_is_kept_is_enclosed_to_less_than_three_units(scales, bits) -> None:
    gap = round(scales * 2**UNIT_BITS)
    for high in (1 << 192, 5 << 190, (1 << 192) // 3):
        with mp.workdps(150):
            truth = mp.exp(-mp.mpf(gap) / 2**UNIT_BITS) * mp.mpf(2) ** (192 + bits) / high
            low, above = selection._ratio(gap, high, bits)
            assert low <= truth <= above
        assert above - low < 3
