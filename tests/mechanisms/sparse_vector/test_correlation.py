"""The score of a correlation moves by what its proof says, and finds no correlation that is not there."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing.mechanisms.sparse_vector.value_sensitivity import CorrelationScreen
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency

features = st.floats(-1.5, 1.5) | st.just(math.nan)
tables = arrays(np.float64, st.tuples(st.integers(0, 6), st.just(3)), elements=features)
people = arrays(np.float64, (1, 3), elements=features)
screens = st.builds(CorrelationScreen, at_least=st.fractions("1/9", "8/9", max_denominator=9))


@given(table=tables, newcomer=people, screen=screens)
def test_one_person_moves_every_score_by_at_most_its_movement(table, newcomer, screen) -> None:
    moves = screen.sensitivity(Adjacency.ADD_REMOVE)
    before = screen.scores(table).open_for_release()
    after = screen.scores(Sensitive(np.vstack([table, newcomer]))).open_for_release()
    assert ((after - before) <= moves.up).all()
    assert ((after - before) >= -moves.down).all()


@given(table=tables, leaver=people, newcomer=people, screen=screens)
def test_a_person_who_is_replaced_moves_it_by_at_most_both(table, leaver, newcomer, screen) -> None:
    moves = screen.sensitivity(Adjacency.REPLACE)
    before, after = (screen.scores(np.vstack([table, person])).open_for_release() for person in (leaver, newcomer))
    assert (np.abs(after - before) <= moves.up).all()
    assert moves.up == moves.down


def test_both_bounds_are_attained() -> None:
    screen = CorrelationScreen(at_least="1/3")
    crowd = np.ones((5, 2))
    moves = screen.sensitivity(Adjacency.ADD_REMOVE)
    scores = [
        int(screen.scores(np.vstack([crowd, [person]])).open_for_release()[0])
        - int(screen.scores(crowd).open_for_release()[0])
        for person in ([1.0, 1.0], [1.0, -1.0])
    ]
    assert scores == [moves.up, -moves.down]


@given(table=tables, screen=screens)
def test_a_score_of_at_least_zero_means_a_correlation(table, screen) -> None:
    steps = [[Fraction(int(x)) for x in row] for row in np.rint(np.clip(np.nan_to_num(table), -1, 1) * 127)]
    for (j, k), score in zip(screen.pairs(3), screen.scores(table).open_for_release(), strict=True):
        product = sum(row[j] * row[k] for row in steps)
        squares = sum(row[j] ** 2 for row in steps), sum(row[k] ** 2 for row in steps)
        exact = 2 * screen.at_least.denominator * abs(product) - screen.at_least.numerator * sum(squares)
        assert score == exact
        if score >= 0 and any(squares):
            assert product**2 >= screen.at_least**2 * squares[0] * squares[1] > 0


def test_features_of_like_size_are_found_at_their_correlation() -> None:
    rng = np.random.default_rng(2)
    shared = rng.choice([-1.0, 1.0], (20_000, 1))
    table = np.where(rng.random((20_000, 2)) < 0.8, shared, -shared)  # correlated by (2 * 0.8 - 1)^2 = 0.36
    for tau, found in (("0.3", True), ("0.33", True), ("0.39", False), ("0.5", False)):
        assert (CorrelationScreen(at_least=tau).scores(table).open_for_release()[0] >= 0) == found


@pytest.mark.parametrize(
    "wrong",
    [{"at_least": 0}, {"at_least": 1}, {"at_least": "0.123456"}, {"at_least": "0.3", "resolution": 5000}],
    ids=repr,
)
def test_what_is_no_screen_is_refused(wrong) -> None:
    with pytest.raises(ParameterError):
        CorrelationScreen(**wrong)


@pytest.mark.parametrize("table", [np.ones(3), np.ones((2, 2), np.int64)], ids=["vector", "integers"])
def test_what_is_no_table_is_refused(table) -> None:
    with pytest.raises(ParameterError, match="<sensitive>"):
        CorrelationScreen(at_least="0.3").scores(table)


@pytest.mark.parametrize("width", [np.float16, np.float32])
def test_narrow_floats_are_summed_as_exactly_as_wide_ones(width) -> None:
    screen = CorrelationScreen(at_least="0.5", resolution=1023)
    table = np.ones((3001, 2), width)  # 3001 * 1023^2 has more digits than a float32
    assert screen.scores(table).open_for_release() == screen.scores(table.astype(np.float64)).open_for_release()
    assert screen.scores(table).open_for_release()[0] == 2 * 1023**2 * 3001


@pytest.mark.parametrize(
    "table",
    [
        np.ma.masked_array(np.ones((2, 2)), mask=[[True, False], [False, False]]),
        np.ones((2, 2), np.longdouble),
        np.ones((2, 2)).view(np.recarray),
        [[1.0, 1.0]],
        np.broadcast_to(np.float64(1), (2**30 + 1, 2)),
    ],
    ids=["masked", "long", "subclass", "list", "too many people"],
)
def test_tables_whose_sums_would_not_be_exact_are_refused(table) -> None:
    for given_table in (table, Sensitive(table)):
        with pytest.raises(ParameterError, match="features = <sensitive>"):
            CorrelationScreen(at_least="0.3").scores(given_table)
