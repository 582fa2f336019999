"""Intervals of quantiles hold as often as they say: by the exact laws of small tables, and where rows are the worst."""

import math
from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, _ranks
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.vocabulary.event import Composed, PureRelease

STATED, ROUNDS, FALSE_ALARM = 0.95, 2000, 1e-9
METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "linear", "hazen", "weibull"]


def mechanism(**changed) -> PrivateQuantiles:
    usual = {"at": ["0.5"], "cells": 3, "sensitivities": [1], "epsilon": 1, "interval": "0.95"}
    return PrivateQuantiles(**{**usual, **changed})


def chances(chooser, scores):
    """The law of the exponential mechanism, from its lattice and its definition."""
    weights = [math.exp(offset / 2**chooser.lattice.unit_bits) for offset in chooser.lattice.offsets(scores).tolist()]
    return [weight / sum(weights) for weight in weights]


def quantiles_of(counts, q) -> set[float]:
    """The quantile of these rows, as textbooks and databases define it in different ways."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return {float(np.quantile(rows, float(q), method=method)) for method in METHODS} if rows.size else {0.0}


@pytest.mark.parametrize("epsilon", [1, 5, 20])
@pytest.mark.parametrize("q", ["0.5", "0.1", "0.75"])
def test_few_rows_nobody_and_ties_are_held_by_every_definition_of_a_quantile(q, epsilon) -> None:
    fraction = Fraction(q)
    sensitivity = max(fraction.numerator, fraction.denominator - fraction.numerator)
    chooser = mechanism(at=[q], sensitivities=[sensitivity], epsilon=epsilon, selector=ExponentialMechanism)
    tables = [*product(range(4), repeat=3), (40, 0, 40), (40, 1, 40), (60, 0, 20), (20, 0, 60), (72, 0, 8), (8, 0, 72)]
    for counts in tables:
        below = list(accumulate(counts, initial=0))
        low, _, high = (
            chances(one, _ranks(below, *what)) for one, what in zip(chooser.selectors, chooser.wanted, strict=True)
        )
        truths = quantiles_of(counts, fraction)
        held = sum(low[i] for i in range(3) if i <= min(truths)) * sum(high[i] for i in range(3) if i >= max(truths))
        assert held >= STATED, (counts, held)


def held_on_the_worst_rows(chooser, rounds) -> int:
    """Half of the rows have the least value, and half the most: every value is a median."""
    counts = [10_000, *[0] * (chooser.cells - 2), 10_000]
    chosen = (chooser.release(counts) for _ in range(rounds))
    return sum(low == 0 and high == chooser.cells - 1 for low, _, high in chosen)


@pytest.mark.parametrize("selector", [PermuteAndFlip, ExponentialMechanism])
def test_the_worst_rows_are_held_as_often_as_is_said_and_hardly_more(selector) -> None:
    told = mechanism(cells=100, epsilon="0.03", selector=selector)
    held = held_on_the_worst_rows(told, ROUNDS)
    assert binom.cdf(held, ROUNDS, STATED) > FALSE_ALARM
    assert binom.sf(held, ROUNDS, 0.97) > FALSE_ALARM, "no wider than it must be"
    less = mechanism(cells=100, epsilon="0.03", selector=selector, interval="0.85")
    assert binom.cdf(held_on_the_worst_rows(less, ROUNDS), ROUNDS, STATED) <= FALSE_ALARM


def test_the_ends_have_half_of_the_price_and_the_margin_is_that_of_the_quantile() -> None:
    three, alone = mechanism(epsilon=2), mechanism(interval=None)
    prices = [Fraction(1, 2), Fraction(1), Fraction(1, 2)]
    assert three.event == Composed(parts=tuple(PureRelease(epsilon=price) for price in prices))
    assert three.margin("0.95") == alone.margin("0.95")


def test_an_interval_is_read_up_to_its_confidence_and_not_where_scores_are_cut_off() -> None:
    assert mechanism().reads_interval("0.95")
    assert not mechanism().reads_interval("0.951")
    assert not mechanism(interval=None).reads_interval("0.5")
    wide = {"cells": 10_000, "interval": "0.9999999", "epsilon": "0.0001", "selector": ExponentialMechanism}
    assert mechanism(sensitivities=[10**10], **wide).reads_interval("0.95")
    assert not mechanism(sensitivities=[8 * 10**11], **wide).reads_interval("0.95")


@pytest.mark.parametrize(("groups", "at"), [(6, ["0.5"]), (1, ["0.25", "0.5", "0.75"])])
def test_all_intervals_hold_at_once(groups, at) -> None:
    together = mechanism(cells=20, groups=groups, at=at, sensitivities=[3] * len(at), epsilon="0.5")
    counts = [10_000, *[0] * 18, 10_000] if groups > 1 else [5_000, *[0] * 8, 5_000, 5_000, *[0] * 8, 5_000]
    held = 0
    for _ in range(600):
        chosen = together.release(counts * groups)
        truths = [(0, 19)] * groups if groups > 1 else [(0, 9), (9, 10), (10, 19)]
        ends = zip(chosen[::3], chosen[2::3], strict=True)
        held += all(low <= first and high >= last for (low, high), (first, last) in zip(ends, truths, strict=True))
    assert binom.cdf(held, 600, STATED) > FALSE_ALARM
