from fractions import Fraction
from itertools import product

import pytest

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK, _ranks
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, ExponentialSelection, PureRelease
from lapwing.vocabulary.sensitive import Sensitive


def quantile(**changed) -> PrivateQuantiles:
    return PrivateQuantiles(
        **{"at": ["0.5"], "cells": 10, "rows": 1, "adjacency": Adjacency.ADD_REMOVE, "epsilon": 1, **changed}
    )


@pytest.mark.parametrize("adjacency", list(Adjacency), ids=str)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)], ids=str)
def test_scores_move_by_what_is_claimed_and_no_less(adjacency, q) -> None:
    """All pairs of some tables in three cells that differ in one person with at most two rows."""
    rows = [(0, 0, 0), *(tuple(int(i == j) for i in range(3)) for j in range(3)), (2, 0, 0), (0, 1, 1), (0, 0, 2)]
    most = 0
    for base, left, right in product([(0, 0, 0), (5, 0, 0), (0, 5, 0), (0, 0, 5), (3, 0, 3)], rows, rows):
        if adjacency is Adjacency.ADD_REMOVE and any(right):
            continue
        scores = [
            _ranks([sum(counts[:i]) for i in range(4)], q)
            for counts in ([a + b for a, b in zip(base, one, strict=True)] for one in (left, right))
        ]
        most = max(most, *(abs(a - b) for a, b in zip(*scores, strict=True)))
    (chooser,) = quantile(at=[q], cells=3, rows=2, adjacency=adjacency, epsilon=1).selectors
    allowed = chooser.lattice.scale / 2  # the noise of a choice at epsilon 1 is twice what one person may move a score
    assert most == pytest.approx(float(allowed), rel=1e-9)
    assert most <= allowed


def test_the_price_is_shared_and_the_event_says_so() -> None:
    three = quantile(at=["0.25", "0.5", "0.75"], epsilon=3)
    assert three.event == Composed(parts=(PureRelease(epsilon=Fraction(1)),) * 3)
    assert three.loss.pure_epsilon == 3
    assert quantile(selector=ExponentialMechanism).event == ExponentialSelection(epsilon=Fraction(1))
    assert TopK(k=2, cells=5, sensitivity=1, epsilon=1).loss.pure_epsilon == 1


def test_clear_choices_are_made() -> None:
    assert quantile(epsilon=20).release(Sensitive((0,) * 5 + (10_000,) + (0,) * 4)) == (5,)
    assert quantile(at=["0.15", "0.85"], epsilon=20).release([10_000] * 10) == (1, 8)
    assert TopK(k=3, cells=4, sensitivity=1, epsilon=20).release(Sensitive((5, 10**6, 10**5, 10**4))) == (1, 2, 3)


def test_an_empty_table_is_answered() -> None:
    assert quantile().release([0] * 10)[0] in range(10)
    assert TopK(k=1, cells=3, sensitivity=1, epsilon=1).release([0, 0, 0])[0] in range(3)


def test_margins_count_rows_and_people() -> None:
    assert quantile(epsilon=2).margin("0.95") * 2 == pytest.approx(quantile(epsilon=1).margin("0.95"), rel=1e-6)
    one, two = (TopK(k=k, cells=5, sensitivity=1, epsilon=k).margin("0.95") for k in (1, 2))
    assert one < two


@pytest.mark.parametrize("value", [[1, 2], 3, Sensitive((1,) * 11)], ids=["short", "a number", "long"])
def test_a_vector_of_another_size_is_refused_without_telling_it(value) -> None:
    for mechanism in (quantile(), TopK(k=1, cells=10, sensitivity=1, epsilon=1)):
        with pytest.raises(ParameterError, match="does not have the 10 coordinates"):
            mechanism.release(value)


@pytest.mark.parametrize("bad", [{"at": []}, {"at": [1]}, {"cells": 0}, {"rows": 0}, {"epsilon": 0}], ids=str)
def test_bad_parameters_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        quantile(**bad)
