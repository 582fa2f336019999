"""Noise on a ladder has the law that its widths say, to the last bit of the uniform number behind it."""

import itertools
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from lapwing.noise.rungs import _drawn_rung, _even_below, draw_on_ladder
from noise.sources import ExhaustedError, Script, Stream
from statistical.goodness import fits, integer_p_value

LADDERS = [
    ([1, 1, 2, 3], Fraction(1, 2)),
    ([0, 0, 2, 2, 5], Fraction(1, 4)),
    ([7, 1, 3], Fraction(2)),
    ([10**6], Fraction(1, 3)),
    ([0, 0], Fraction(1)),
]


def rung_weights(widths, rate):
    """Return the weight of all numbers on each rung, from the definition, the tail last."""
    rate = mp.mpf(rate.numerator) / rate.denominator
    weights = [mp.mpf(1), *(2 * width * mp.exp(-rate * (t + 1)) for t, width in enumerate(widths))]
    return [*weights, 2 * widths[-1] * mp.exp(-rate * (len(widths) + 1)) / (1 - mp.exp(-rate))]


def law_of_numbers(widths, rate, reach):
    """Return the probabilities of -reach ... reach, number by number."""
    rungs = [0]
    for rung in itertools.count(1):
        rungs += [rung] * widths[min(rung, len(widths)) - 1]
        if len(rungs) > reach:
            break
    weights = np.exp(-float(rate) * np.array(rungs[: reach + 1]))
    return np.concatenate([weights[:0:-1], weights]) / float(sum(rung_weights(widths, rate)))


@pytest.mark.parametrize(("widths", "rate"), LADDERS, ids=str)
def test_bits_beside_each_sum_of_weights_decide_and_those_at_it_wait_for_more(widths, rate) -> None:
    with mp.workprec(400):
        weights = rung_weights(widths, rate)
        ends = [mp.fsum(weights[: t + 1]) / mp.fsum(weights) for t in range(len(weights))]
        places = [int(mp.floor(mp.ldexp(end, 128))) for end in ends[:-1] if end < 1]
    for place in places:
        rung = next(t for t, end in enumerate(ends) if end > mp.ldexp(place - 2**40, -128))
        after = next(t for t, end in enumerate(ends) if end > mp.ldexp(place + 2**40, -128))
        first, following = place >> 64, place & (2**64 - 1)

        def drawn(*words):
            return _drawn_rung(widths, rate, Script(*(word.to_bytes(8, "little") for word in words)))

        assert (drawn(first - 2), drawn(first + 2)) == (rung, after)
        with pytest.raises(ExhaustedError):
            drawn(first)
        assert drawn(first, following - 2) == rung
        assert drawn(first, following + 2) == after


@pytest.mark.parametrize(("widths", "rate"), LADDERS[:3], ids=str)
def test_numbers_have_their_law_and_not_that_of_a_ladder_with_a_rung_more(widths, rate) -> None:
    source = Stream(7)
    sample = np.array([draw_on_ladder(widths, rate, source=source) for _ in range(8000)])
    assert fits(integer_p_value(sample, -60, law_of_numbers(widths, rate, 60)))
    assert not fits(integer_p_value(sample, -60, law_of_numbers([1, *widths], rate, 60)))


def test_a_ladder_without_width_says_the_truth() -> None:
    assert {draw_on_ladder([0, 0], Fraction(1)) for _ in range(50)} == {0}


def test_numbers_beyond_the_last_rung_are_drawn_too() -> None:
    source = Stream(3)
    drawn = [draw_on_ladder([1], Fraction(1, 20), source=source) for _ in range(400)]
    assert max(map(abs, drawn)) > 40
    assert min(drawn) < 0 < max(drawn)


@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_a_place_on_a_rung_is_even_and_as_many_bytes_are_taken_for_every_width(n) -> None:
    size = ((200).bit_length() + 64 + 7) // 8
    assert _even_below(n, 200, Script((n - 1 + 7 * n).to_bytes(size, "little"))) == n - 1
    last = (1 << 8 * size) // n * n
    if last < 1 << 8 * size:
        again = Script(last.to_bytes(size, "little"), (0).to_bytes(size, "little"))
        assert _even_below(n, 200, again) == 0


class Counting(Stream):
    """Counts the bytes that are taken."""

    taken = 0

    def take(self, count):
        self.taken += count
        return super().take(count)


def test_as_many_bytes_are_taken_whatever_the_secret_widths_are() -> None:
    sources = [Counting(5), Counting(5)]
    for source, widths in zip(sources, ([0] * 99 + [5000], [4999] * 99 + [5000]), strict=True):
        draw_on_ladder(widths, Fraction(1, 20), source=source)
    assert sources[0].taken == sources[1].taken > 0
