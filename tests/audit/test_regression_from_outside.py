"""A round of a regression watched from outside, on neighbours that are as far apart as there are; and its liars."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from lapwing.analyses.regression_rounds import RESIDUAL, WHITE, Affine, ColumnGrid, OutcomeLink, step
from lapwing.auditor.black_box import audit
from lapwing.mechanisms import row_sums
from lapwing.mechanisms.row_sums import BoundedSum, RowSumMechanism
from lapwing.vocabulary.guarantee import Adjacency, GaussianDP, PrivacyUnit

UNIT, GRID = PrivacyUnit(person_key="id"), ColumnGrid(extents=(4096, 2))
FEW = np.array([[2000, 1], [2100, 1]], np.int64)
MORE = np.concatenate([FEW, [[4096, 2]]])
"""One person more: at the end of the column, with the largest residual."""
DRAWS = 1_500
RHO = [Fraction(1), Fraction(1, 2), Fraction(1, 2)]
CLAIM = GaussianDP(mu_squared=4)


def a_round():
    white = Affine.near([[0.0, 0.85 * WHITE / 4096 * 2.2]], [WHITE, 0.0])
    link = OutcomeLink(outcome=np.array([-RESIDUAL, 0, RESIDUAL]))
    return step(GRID, white, Affine.near([[0.0]], [0.0]), link, RHO)


def found(release, claim=CLAIM, neighbours=(FEW, MORE)):
    return audit(lambda rows: np.concatenate(release(rows)), claim=claim, neighbours=neighbours, samples=DRAWS)


ASKED = a_round()
SUMMING = RowSumMechanism(sums=ASKED.sums, unit=UNIT)


def honest(rows):
    return SUMMING.release(rows, ASKED.add)


def test_a_round_keeps_its_promise_and_comes_close_to_it() -> None:
    assert not found(honest).refuted
    assert found(honest, GaussianDP(mu_squared=1)).refuted, "the person is as far away as one can be"


def test_it_keeps_it_where_somebody_replaces_somebody_else() -> None:
    gradient = replace(ASKED.sums[0], rho=Fraction(2))
    other = np.concatenate([FEW, [[4096, 0]]])

    def refuted(adjacency):
        summing = RowSumMechanism(sums=[gradient], unit=PrivacyUnit(person_key="id", adjacency=adjacency))
        return found(lambda rows: summing.release(rows, lambda b: ASKED.add(b)[:1]), CLAIM, (other, MORE)).refuted

    assert not refuted(Adjacency.REPLACE)
    assert refuted(Adjacency.ADD_REMOVE), "the noise for who comes or goes is too little then"


def test_people_whose_length_nobody_looked_at_are_seen(monkeypatch) -> None:
    one = BoundedSum(longest=1000, numbers=1, rho=Fraction(2))
    summing = RowSumMechanism(sums=[one], unit=UNIT)

    def first_column(rows):
        return summing.release(rows, lambda block: [(block.T[:1].astype(float), None)])

    assert not found(first_column).refuted
    monkeypatch.setattr(row_sums, "within_bounds", lambda vectors, factors, *_: (vectors, factors))
    assert found(first_column).refuted


def test_a_round_that_is_drawn_again_with_fresh_noise_is_seen() -> None:
    assert found(lambda rows: [*honest(rows), *honest(rows), *honest(rows)]).refuted


def test_a_curvature_that_rides_along_for_nothing_is_seen() -> None:
    sums = [replace(one, rho=Fraction(2)) for one in ASKED.sums]
    liar = RowSumMechanism(sums=sums, unit=UNIT)
    assert found(lambda rows: liar.release(rows, ASKED.add)).refuted
