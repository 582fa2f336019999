"""The largest cells with their counts: priced as its parts, and each part has its own law."""

import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.counted_top import CountedTop
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, DiscreteLaplaceNoise, PureRelease
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency
from statistical.goodness import fits, integer_p_value

ROUNDS = 4000


def top(**changed) -> CountedTop:
    given = {"k": 2, "cells": 5, "sensitivity": 1, "choosing": 1, "counting": 1}
    return CountedTop(**{**given, **changed})


def test_the_price_is_that_of_the_choices_and_of_the_counts() -> None:
    half = PureRelease(epsilon=Fraction(1, 2))
    assert top().event == Composed(parts=(half, half, DiscreteLaplaceNoise(l1_sensitivity=2, scale=Fraction(2))))
    assert top(choosing="0.3", counting="0.4").loss.pure_epsilon == Fraction(7, 10)
    assert top(selector=ExponentialMechanism).loss.pure_epsilon == 2


def test_protected_groups_move_every_count() -> None:
    assert top(sensitivity=3).event.parts[-1] == DiscreteLaplaceNoise(l1_sensitivity=6, scale=Fraction(6))


def test_clear_choices_are_made_and_counted() -> None:
    mechanism = top(choosing=20, counting=40)
    assert mechanism.release(Sensitive((5, 10**6, 0, 10**5, 7))) == (1, 10**6, 3, 10**5)


def test_the_counts_have_noise_of_their_own_on_the_scale_of_k() -> None:
    """Cells are far apart, so that always the same two are chosen; P(Z = z) = (1 - a)/(1 + a) a^|z|, a = e^(-1/2)."""
    mechanism = top(choosing=20, counting=1)
    drawn = np.array([mechanism.release([0, 10_000, 0, 90_000, 0]) for _ in range(ROUNDS)])
    assert set(drawn[:, 0]) == {3}
    assert set(drawn[:, 2]) == {1}
    noise = np.concatenate([drawn[:, 1] - 90_000, drawn[:, 3] - 10_000])
    lowest, highest = -60, 60

    def law(scale: float) -> np.ndarray:
        decay = math.exp(-1 / scale)
        return np.array([(1 - decay) / (1 + decay) * decay ** abs(z) for z in range(lowest, highest + 1)])

    assert fits(integer_p_value(noise, lowest, law(2)))
    assert not fits(integer_p_value(noise, lowest, law(1))), "noise for one count would be too small for two"


def test_the_margin_holds_for_choices_and_counts_together() -> None:
    counts, confidence = [100, 120, 90, 115, 80], "0.8"
    mechanism = top(monotone_under=Adjacency.ADD_REMOVE)
    margin, of_choice = mechanism.margin(confidence), mechanism.margin_of_choice(confidence)
    held = 0
    for _ in range(ROUNDS):
        (first, one, second, other) = mechanism.release(counts)
        left = [count for cell, count in enumerate(counts) if cell not in (first, second)]
        near = max(abs(one - counts[first]), abs(other - counts[second])) <= margin
        held += near and max(left) - min(counts[first], counts[second]) <= of_choice
    assert held >= ROUNDS * 0.8 - 6.2 * math.sqrt(ROUNDS * 0.8 * 0.2)


def test_the_margin_of_the_counts_holds_as_often_as_it_says_and_not_much_more() -> None:
    mechanism = top(choosing=20)
    margin = mechanism.margin("0.8")
    held = 0
    for _ in range(ROUNDS):
        _, one, _, other = mechanism.release([0, 10_000, 0, 90_000, 0])
        held += max(abs(one - 90_000), abs(other - 10_000)) <= margin
    deviation = 6.2 * math.sqrt(ROUNDS * 0.9 * 0.1)
    assert ROUNDS * 0.9 - deviation <= held <= ROUNDS * 0.95 + deviation


@pytest.mark.parametrize("value", [[1, 2], 3, Sensitive((1,) * 11)], ids=["short", "a number", "long"])
def test_a_vector_of_another_size_is_refused_without_telling_it(value) -> None:
    with pytest.raises(ParameterError, match="does not have the 5 coordinates"):
        top().release(value)


@pytest.mark.parametrize(
    "bad", [{"k": 0}, {"k": 6}, {"cells": 0}, {"sensitivity": 0}, {"choosing": 0}, {"counting": 0}], ids=str
)
def test_bad_parameters_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        top(**bad)
