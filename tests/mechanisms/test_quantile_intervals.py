"""Intervals of quantiles hold as often as they say, wherever rows lie, and their numbers count every row once."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.mechanisms.enclosed_quantiles import NUMBERS, SPANS, EnclosedQuantiles, Spans, _edges, _reaches
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, DiscreteLaplaceNoise, PureRelease

STATED, ROUNDS, FALSE_ALARM = 0.95, 2000, 1e-9
METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "linear", "hazen", "weibull"]


def mechanism(**changed) -> EnclosedQuantiles:
    usual = {"at": ["0.5"], "cells": 3, "sensitivities": [1], "l1_sensitivity": 1, "epsilon": 1}
    return EnclosedQuantiles(**{**usual, **changed})


def of_fraction(fraction, **changed) -> EnclosedQuantiles:
    moved = max(fraction.numerator, fraction.denominator - fraction.numerator)
    return mechanism(at=[fraction], sensitivities=[moved], **changed)


def intervals(chooser, counts, confidence="0.95"):
    return [chooser.ends(one, confidence) for one in chooser.spans(chooser.release(counts))]


def quantiles_of(counts, q) -> list[float]:
    """The quantile of these rows, as textbooks and databases define it in different ways."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return [float(np.quantile(rows, float(q), method=method)) for method in METHODS] if rows.size else [0.0]


@pytest.mark.parametrize("epsilon", [1, 5])
@pytest.mark.parametrize("q", ["0.5", "0.1", "0.75"])
def test_few_rows_nobody_and_ties_are_held_by_every_definition_of_a_quantile(q, epsilon) -> None:
    fraction = Fraction(q)
    chooser = of_fraction(fraction, epsilon=epsilon, selector=ExponentialMechanism)
    tables = [*product(range(4), repeat=3), (40, 0, 40), (40, 1, 40), (60, 0, 20), (20, 0, 60), (72, 0, 8), (8, 0, 72)]
    held = looked = 0
    for counts in tables:
        truths = quantiles_of(counts, fraction)
        for _ in range(25):
            ((low, high),) = intervals(chooser, counts)
            held, looked = held + (low <= min(truths) and max(truths) <= high), looked + 1
    assert binom.cdf(held, looked, STATED) > FALSE_ALARM


def held_on_the_worst_rows(chooser, rounds, confidence="0.95") -> int:
    """Half of the rows have the least value, and half the most: every value is a median."""
    counts = [10_000, *[0] * (chooser.cells - 2), 10_000]
    return sum(intervals(chooser, counts, confidence) == [(0, chooser.cells - 1)] for _ in range(rounds))


@pytest.mark.parametrize("selector", [PermuteAndFlip, ExponentialMechanism])
def test_the_worst_rows_are_held_as_often_as_is_said_and_hardly_more(selector) -> None:
    told = mechanism(cells=100, epsilon="0.03", selector=selector)
    held = held_on_the_worst_rows(told, ROUNDS)
    assert binom.cdf(held, ROUNDS, STATED) > FALSE_ALARM
    assert binom.sf(held, ROUNDS, 0.97) > FALSE_ALARM, "no wider than it must be"
    assert binom.cdf(held_on_the_worst_rows(told, ROUNDS, "0.85"), ROUNDS, STATED) <= FALSE_ALARM


def test_intervals_of_other_fractions_hold_on_the_worst_rows_at_every_confidence() -> None:
    """Nine in ten rows have the least value; between them and the others every value is the ninth decile."""
    chooser = of_fraction(Fraction(9, 10), cells=60, epsilon="0.05")
    counts = [18_000, *[0] * 58, 2_000]
    told = [chooser.spans(chooser.release(counts))[0] for _ in range(ROUNDS)]
    for confidence in (0.8, 0.95, 0.99):
        held = sum(chooser.ends(one, str(confidence)) == (0, 59) for one in told)
        assert binom.cdf(held, ROUNDS, confidence) > FALSE_ALARM
        assert confidence == 0.99 or binom.sf(held, ROUNDS, confidence + 0.02) > FALSE_ALARM


def test_either_cell_has_an_eighth_of_the_price_and_the_counts_have_the_rest() -> None:
    one, two = mechanism(epsilon=4), mechanism(at=["0.25", "0.5"], sensitivities=[3, 1], l1_sensitivity=6, epsilon=4)
    cell, counts = PureRelease(epsilon=Fraction(1, 2)), DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(1, 3))
    assert one.event == Composed(parts=(cell, cell, counts))
    cell, counts = PureRelease(epsilon=Fraction(1, 4)), DiscreteLaplaceNoise(l1_sensitivity=6, scale=Fraction(4))
    assert two.event == Composed(parts=(cell, cell, counts) * 2)
    assert one.loss.pure_epsilon == two.loss.pure_epsilon == 4


@pytest.mark.parametrize("first", [0, 5])
def test_every_cell_is_in_one_span_and_no_row_is_counted_twice(first) -> None:
    for last in range(first, 60):
        edges, padded = _edges(first, last), _edges(first, last, padded=True)
        assert (edges[0], edges[-1], len(padded)) == (first, last + 1, SPANS + 1)
        assert all(low < high for low, high in pairwise(edges)), "a span has a cell"
        assert padded == edges + [last + 1] * (SPANS + 1 - len(edges))


def test_what_is_counted_is_the_histogram_put_into_spans(monkeypatch) -> None:
    monkeypatch.setattr("lapwing.noise.laws.DiscreteLaplace.draw_many", lambda _, size: np.zeros(size, np.int64))
    chooser = mechanism(at=["0.25", "0.5"], sensitivities=[3, 1], cells=50, groups=2, epsilon=2)
    rows = np.arange(100) * 7 % 11
    told = chooser.release(rows)
    assert len(told) == 2 * 2 * NUMBERS
    for place, one in enumerate(chooser.spans(told)):
        group = rows[:50] if place < 2 else rows[50:]
        edges = [0, *one.edges, 50]
        assert one.counts[: len(edges) - 2] == tuple(group[a:b].sum() for a, b in pairwise(edges[:-1]))
        assert sum(one.counts) == group.sum()
        assert one.counts[-1] == group[one.last + 1 :].sum()


@pytest.mark.parametrize(("groups", "at"), [(6, ["0.5"]), (1, ["0.25", "0.5", "0.75"])])
def test_all_intervals_hold_at_once(groups, at) -> None:
    together = mechanism(cells=20, groups=groups, at=at, sensitivities=[3] * len(at), l1_sensitivity=2, epsilon="0.5")
    counts = [10_000, *[0] * 18, 10_000] if groups > 1 else [5_000, *[0] * 8, 5_000, 5_000, *[0] * 8, 5_000]
    truths = [(0, 19)] * groups if groups > 1 else [(0, 9), (9, 10), (10, 19)]
    held = 0
    for _ in range(600):
        told = zip(intervals(together, counts * groups), truths, strict=True)
        held += all(low <= first and high >= last for (low, high), (first, last) in told)
    assert binom.cdf(held, 600, STATED) > FALSE_ALARM


def test_values_lie_in_their_intervals_and_rise_with_what_was_counted() -> None:
    draw = np.random.Generator(np.random.Philox(5))
    for _ in range(300):
        first = int(draw.integers(0, 50))
        last = int(draw.integers(first, 60))
        counts = tuple(int(one) for one in draw.integers(-30, 40, SPANS + 2))
        one = Spans(at=Fraction(2, 5), cells=60, first=first, last=last, counts=counts)
        for far in (0.0, 5.0, 300.0):
            low, high = one.ends([far] * len(one.edges))
            assert 0 <= low <= high < 60
            assert min(low, last) <= one.value() <= max(high, first), "but where it lies beyond both cells"
    evenly = Spans(at=Fraction(1, 2), cells=160, first=16, last=143, counts=(16, *[8] * 16, 16))
    assert evenly.value() == 80
    assert evenly.ends([0.0] * 17) == (72, 87), "the last edges by which half of the rows are surely below, or above"


def test_a_value_is_no_further_off_than_is_promised_beforehand_for_all_rows() -> None:
    """A desert around the median: what is interpolated lies in it, and the place is off by half a span of rows."""
    chooser, rounds = mechanism(cells=200, epsilon="0.5"), 300
    promised, counts = chooser.margin("0.95"), [10] * 50 + [0] * 100 + [10] * 50
    below = np.concatenate([[0], np.cumsum(counts)])
    cells = [chooser.spans(chooser.release(counts))[0].value() for _ in range(rounds)]
    held = sum(below[one] - promised <= 500 <= below[one + 1] + promised for one in cells)
    assert binom.cdf(held, rounds, STATED) > FALSE_ALARM


def test_on_rows_that_lie_evenly_an_interval_is_a_quarter_of_what_choices_of_its_ends_would_give() -> None:
    """Chosen at a quarter of the price, with their margin for 1,000 cells, ends would be about 411 rows away."""
    chooser = mechanism(cells=1000, epsilon="0.1")
    halves = [(high - low + 1) * 20 / 2 for _ in range(60) for low, high in intervals(chooser, [20] * 1000)]
    assert np.median(halves) < 411 / 3


def test_weights_of_the_median_are_the_general_ones() -> None:
    """Where all numbers weigh the same their sum is exact, and about what the bound for any weights gives."""
    noise = DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(400))
    exact, general = _reaches(noise, Fraction(1, 2), SPANS, 0.05)[0], _reaches(noise, Fraction(2, 5), SPANS, 0.05)
    assert len(set(general)) == SPANS + 1
    assert 2 * exact < min(general) < max(general) < 3 * exact


@pytest.mark.parametrize(
    "bad",
    [{"at": []}, {"at": [1]}, {"cells": 0}, {"sensitivities": [0]}, {"sensitivities": [1, 1]}, {"l1_sensitivity": 0}],
    ids=str,
)
def test_bad_parameters_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        mechanism(**bad)
    with pytest.raises(ParameterError, match="does not have the 3 coordinates"):
        mechanism().release([1, 2])
