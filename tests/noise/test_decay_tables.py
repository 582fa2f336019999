"""Every number in every table against another computation; then the lanes that are hardly ever taken, forced."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.noise.decay import LARGEST, UNSURE, Decay, GuideTable, TableSampler
from lapwing.noise.fine_lattice import standard_exponential, standard_half_normal
from lapwing.noise.strips import Strips
from lapwing.vocabulary.errors import RandomnessError
from noise import oracle
from noise.sources import Script, Stream
from noise.tabulated_laws import LARGE, SMALL
from statistical.goodness import fits, integer_p_value

EXTRA = 48


def guides():
    for name, decay in SMALL.items():
        yield pytest.param(lambda d=decay: (TableSampler(d).guide, d), 17 - decay.sides, id=name)
    for name, decay in LARGE.items():
        yield pytest.param(lambda d=decay: _of_strips(Strips(d), d), 16, id=f"strips of {name}")
    yield pytest.param(lambda: _of_strips(standard_exponential(), Decay.exponential(Fraction(64), sides=1)), 16, id="E")
    yield pytest.param(lambda: _of_strips(standard_half_normal(), Decay.gaussian(Fraction(4096), sides=1)), 16, id="Z")


def _of_strips(strips, decay):
    """Strips begin at 0, 2^bits, 2 * 2^bits, ...: 64 to 128 of them to one scale."""
    step = 1
    while decay.whole_scale() >= 128 * step:
        step *= 2
    return strips.guide, Decay(decay.rate * step**decay.power, decay.power, 1)


@pytest.mark.parametrize(("make", "cell_bits"), list(guides()))
def test_every_threshold_and_every_cell_is_what_the_oracle_says(make, cell_bits) -> None:
    guide, law = make()
    size = guide.thresholds.size
    ends = oracle.cumulative(law.rate, law.power, law.sides, size - 1)
    assert guide.thresholds.tolist() == oracle.floors(ends, cell_bits + EXTRA)

    # A cell c holds U from c/n to (c + 1)/n. Its magnitude v is right if F(v - 1) <= c/n and (c + 1)/n <= F(v).
    cells = np.arange(1 << cell_bits)
    below = np.array(oracle.floors(ends, cell_bits))  # floor(n F(v)): irrational, so never itself an integer
    sure = guide.magnitudes != UNSURE
    value = guide.magnitudes[sure].astype(np.int64)
    assert (cells[sure] < below[value]).all()
    assert (cells[sure] > np.append(-1, below)[value]).all()
    # And no cell is unsure without a reason: it holds an end, or lies beyond the last.
    assert np.array_equal(cells[~sure], np.union1d(below, np.arange(below[-1], 1 << cell_bits)))


@pytest.mark.parametrize("decay", SMALL.values(), ids=SMALL)
def test_a_table_ends_where_2_to_the_minus_40_is_left(decay) -> None:
    ends = decay.thresholds(64, 40)
    nearly_all = (1 << 64) - (1 << 24)
    assert ends[-1] > nearly_all
    assert all(end <= nearly_all for end in ends[:-1])


def test_a_negative_word_mirrors_a_positive_one() -> None:
    sampler = TableSampler(SMALL["discrete Laplace 22/7"])
    words = np.arange(1 << 15, dtype="<u2")
    words = words[sampler.guide.magnitudes != UNSURE]
    positive = sampler.draw_many(words.size, Script(words.tobytes()))
    negative = sampler.draw_many(words.size, Script((words | np.uint16(1 << 15)).tobytes()))
    assert np.array_equal(positive, -negative)
    assert np.array_equal(positive, sampler.guide.magnitudes[words])


@pytest.mark.parametrize("name", ["discrete Laplace 22/7", "geometric 10/3", "discrete Gaussian 7/3"])
def test_a_number_that_touches_a_threshold_is_decided_by_the_bits_that_follow(name) -> None:
    decay = SMALL[name]
    sampler = TableSampler(decay)
    thresholds = sampler.guide.thresholds.tolist()
    ends = oracle.cumulative(decay.rate, decay.power, decay.sides, len(thresholds) - 1)
    refined = oracle.floors(ends, 65 - decay.sides + 64)
    for magnitude, (threshold, end) in enumerate(zip(thresholds, refined, strict=True)):
        word, rest = threshold >> EXTRA, (threshold & ((1 << EXTRA) - 1)) << 16
        following = end - (threshold << 64)  # the 64 bits of F(magnitude) that come after the threshold
        for step, drawn in ((-1, magnitude), (1, magnitude + 1)):
            parts = (word, 2), (rest, 8), (following + step, 8)
            source = Script(*(value.to_bytes(size, "little") for value, size in parts))
            assert sampler.draw_many(1, source)[0] == drawn


def test_what_lies_beyond_a_table_is_found_and_saturates(monkeypatch) -> None:
    sampler = TableSampler(SMALL["geometric 10/3"])
    everything = Script(b"\xff" * 2, b"\xff" * 8, bytes(8))
    far = sampler.draw_many(1, everything)[0]
    # 1 - U lies just below 2^-64, so that x is floor(scale * ln 2^64), as seen from 64 bits and one bit further
    assert 147 <= far <= 148
    monkeypatch.setattr(Decay, "locate", lambda *_: 1 << 70)
    assert sampler.draw_many(1, Script(b"\xff" * 10))[0] == LARGEST


def test_a_law_with_too_many_thresholds_is_refused_a_table() -> None:
    with pytest.raises(RandomnessError, match="too many for a table"):
        GuideTable(Decay.exponential(Fraction(2000), sides=1), 16)


def test_a_table_that_cannot_be_certified_is_not_used(monkeypatch) -> None:
    monkeypatch.setattr(Decay, "cumulative_bounds", lambda *_: ([0], [1 << 2000]))
    with pytest.raises(RandomnessError, match="could not be certified"):
        TableSampler(SMALL["geometric 10/3"])


def test_thresholds_near_an_integer_are_certified_with_more_bits(monkeypatch) -> None:
    honest, asked = Decay.cumulative_bounds, []

    def blunt(self, last, bits):
        """Bounds so wide that 32 guard bits leave some floor open."""
        asked.append(bits)
        lows, highs = honest(self, last, bits)
        slack = 1 << 40
        return [low - slack for low in lows], [high + slack for high in highs]

    law = SMALL["geometric 10/3"]
    expected = law.thresholds(64, 40)
    monkeypatch.setattr(Decay, "cumulative_bounds", blunt)
    assert law.thresholds(64, 40) == expected
    assert asked == [64 + 32, 64 + 64]


def test_draws_are_a_function_of_the_law_and_of_the_bytes() -> None:
    sampler = TableSampler(SMALL["discrete Laplace 100"])
    assert np.array_equal(sampler.draw_many(3000, Stream(1)), sampler.draw_many(3000, Stream(1)))
    assert not np.array_equal(sampler.draw_many(3000, Stream(1)), sampler.draw_many(3000, Stream(2)))


def all_to_64_bits(sampler):
    sampler._values = np.full(1 << 16, UNSURE, np.int16)


def all_to_large_integers(sampler):
    all_to_64_bits(sampler)
    sampler.guide.thresholds = np.zeros(1, np.uint64)  # every number lies beyond such a table


@pytest.mark.parametrize("name", ["discrete Laplace 22/7", "geometric 10/3", "discrete Gaussian 7/3"])
@pytest.mark.parametrize(("force", "count"), [(all_to_64_bits, 10**6), (all_to_large_integers, 8000)])
def test_each_slow_lane_alone_draws_the_law_and_no_other(name, force, count) -> None:
    law = SMALL[name]
    sampler = TableSampler(law)
    force(sampler)
    draws = sampler.draw_many(count, Stream(12))
    assert fits(p_of(draws, law))
    assert not fits(p_of(draws, Decay(law.rate * Fraction(3, 2), law.power, law.sides)))


def p_of(draws, law):
    ends = np.array(oracle.cumulative(law.rate, law.power, law.sides, 99), float)
    halves = np.diff(ends, prepend=0.0) / [1, *[law.sides] * 99]
    return integer_p_value(draws, -99, np.append((law.sides - 1) * halves[:0:-1], halves))
