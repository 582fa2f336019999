"""Tables that look like counts: never negative, and whole. It is post-processing, and costs nothing but what it says.

A published estimate is unbiased and agrees with all others, and so it may be negative or broken. Whoever wants a table
of counts gives up both: what is moved up from below zero is taken from the others.
"""

import numpy as np

from lapwing.publishing.measurements import Table


def without_negatives(values: Table) -> Table:
    """Return the nearest table without negative numbers that has the same sum, or all zeros if that is not above zero.

    It is the projection on a simplex: the same amount is taken from all cells that stay above zero.

    >>> without_negatives(np.array([6.0, 3.0, -1.0]))
    array([5.5, 2.5, 0. ])
    """
    total = float(values.sum())
    if total <= 0:
        return np.zeros_like(values)
    falling = np.sort(values, axis=None)[::-1]
    surplus = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    taken = float(surplus[falling > surplus][-1])
    return np.maximum(values - taken, 0.0)


def in_whole_numbers(values: Table) -> Table:
    """Return the table in whole numbers with the rounded sum: cells are rounded down, and up where the rest is largest.

    >>> in_whole_numbers(np.array([5.6, 2.3, 0.3]))
    array([6., 2., 0.])
    """
    down = np.floor(values)
    missing = round(float(values.sum())) - round(float(down.sum()))
    raised = np.argsort(-(values - down), axis=None, kind="stable")[:missing]
    whole = down.ravel().copy()
    whole[raised] += 1
    return whole.reshape(values.shape)
