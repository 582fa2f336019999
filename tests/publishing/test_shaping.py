"""Tables that look like counts: the nearest ones, with the sum that was released."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as some
from scipy.optimize import minimize

from lapwing.publishing.shaping import in_whole_numbers, without_negatives

TABLES = some.lists(some.floats(-50, 200), min_size=1, max_size=8).map(np.array)


@given(TABLES)
def test_nothing_is_negative_and_the_sum_stays(table) -> None:
    made = without_negatives(table)
    assert (made >= 0).all()
    assert made.sum() == np.clip(table.sum(), 0, None) or abs(made.sum() - table.sum()) < 1e-6


def test_no_table_without_negatives_is_nearer() -> None:
    table = np.array([6.0, 3.0, -1.0, 0.5, -2.0])
    sums = {"type": "eq", "fun": lambda one: one.sum() - table.sum()}
    best = minimize(lambda one: ((one - table) ** 2).sum(), np.ones(5), bounds=[(0, None)] * 5, constraints=[sums]).x
    assert np.allclose(without_negatives(table), best, atol=1e-4)


@given(TABLES)
def test_whole_numbers_are_next_to_the_estimates_and_have_their_sum(table) -> None:
    made = in_whole_numbers(table.reshape(1, -1))
    assert (made == np.rint(made)).all()
    assert (np.abs(made - table) < 1 + 1e-9).all()
    assert abs(made.sum() - table.sum()) <= 0.5 + 1e-6


def test_both_together_are_counts() -> None:
    made = in_whole_numbers(without_negatives(np.array([[10.4, -3.2], [0.3, 5.1]])))
    assert made.min() >= 0
    assert made.sum() == 13
